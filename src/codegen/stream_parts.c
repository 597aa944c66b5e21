/* Blocks that share the loop of a STREAM kernel meet in device memory: each leaves its sums there, and the
 * one that comes last adds all of them up, in their order, and goes on alone. Nobody waits for another block.
 */
#include "codegen/stream_gen.h"

/* One array: its combination, its name, and where it lies in a part. */
typedef struct {
    const char *op, *name;
    int size, at;
} array;

static int arrays_of(mo_stream_gen *w, array *arrays)
{
    mo_gen *gen = w->gen;
    int n = 0, at = 0;
    for (int i = 0; i < w->plan.n_stats; i++) {
        const mo_stat *stat = &w->plan.stats[i];
        arrays[n++] = (array){mo_gen_reduction(gen->g->nodes[stat->node].op),
                              mo_gen_value_name(gen, stat->node), stat->size, at};
        at += stat->size;
    }
    for (int i = 0; i < w->plan.n_accums; i++) {
        const mo_accum *accum = &w->plan.accums[i];
        int size = accum->q_size * accum->stride;
        arrays[n++] = (array){"mo_sum_op", mo_gen_value_name(gen, accum->value), size, at};
        at += size;
    }
    return n;
}

static void leave(mo_stream_gen *w, const array *a)
{
    mo_gen_line(w->gen, "for (int e = threadIdx.x; e < %d; e += %d)", a->size, w->s->threads);
    mo_gen_line(w->gen, "parts[part * PART_FLOATS + %d + e] = mo_reduce_parts<%s, GROUPS, %d>(part_%s + e);",
                a->at, a->op, a->size, a->name);
}

static void gather(mo_stream_gen *w, const array *a)
{
    mo_gen_line(w->gen, "for (int e = threadIdx.x; e < %d; e += %d)", a->size, w->s->threads);
    mo_gen_line(w->gen, "part_%s[e] = mo_reduce_parts<%s, PARTS, PART_FLOATS>(parts + %d + e);", a->name,
                a->op, a->at);
}

void mo_stream_gen_parts(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    array *arrays = MO_NEW_ARRAY(gen->arena, array, w->plan.n_stats + w->plan.n_accums);
    int n = arrays_of(w, arrays);
    mo_gen_line(gen, "// What the blocks of a tile leave for the last of them.");
    mo_gen_line(gen, "constexpr int PART_FLOATS = %d;", w->plan.part_floats);
    mo_gen_line(
        gen,
        "const int tile = (blockIdx.z * gridDim.y + blockIdx.y) * (gridDim.x / PARTS) + blockIdx.x / PARTS;");
    mo_gen_line(gen, "float *const parts = g_parts + (long long)tile * (PARTS * PART_FLOATS);");
    mo_gen_line(gen, "unsigned *const last = (unsigned *)(mo_smem + %d);", w->plan.last_offset);
    for (int i = 0; i < n; i++) leave(w, &arrays[i]);
    mo_gen_line(gen, "__syncthreads();");
    mo_gen_line(gen,
                "if (threadIdx.x == 0) *last = mo_atomic_add_acq_rel(g_arrived + tile, 1) + 1 == PARTS;");
    mo_gen_line(gen, "__syncthreads();");
    mo_gen_line(gen, "if (*last == 0) return;");
    mo_gen_line(gen, "if (threadIdx.x == 0) g_arrived[tile] = 0; // for the next launch");
    for (int i = 0; i < n; i++) gather(w, &arrays[i]);
    mo_gen_line(gen, "__syncthreads();");
}
