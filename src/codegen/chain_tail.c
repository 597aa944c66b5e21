/* Behind the loop: the groups' states meet in shared memory, scaled to one maximum; then every thread takes
 * elements of the outputs. */
#include "codegen/chain_gen.h"

static void unroll(mo_chain_gen *w)
{
    mo_gen_line(w->gen, "#pragma unroll");
}

static void open_rows(mo_chain_gen *w)
{
    unroll(w);
    mo_gen_line(w->gen, "for (int i = 0; i < ROWS; i++) {");
    unroll(w);
    mo_gen_line(w->gen, "for (int r = 0; r < 2; r++) {");
    mo_gen_line(w->gen, "const int row = warp_row + i * 16 + g + r * 8;");
}

static void close_rows(mo_chain_gen *w)
{
    mo_gen_line(w->gen, "}");
    mo_gen_line(w->gen, "}");
}

static void declare_parts(mo_chain_gen *w)
{
    mo_gen *gen = w->gen;
    mo_gen_line(gen, "unsigned char *const tail = mo_smem + RESIDENT_BYTES;");
    for (int i = 0; i < w->plan.n_parts; i++)
        mo_gen_line(gen, "float *const part_%s = (float *)(tail + %d);",
                    mo_gen_value_name(gen, w->plan.parts[i].node), w->plan.parts[i].offset);
}

/* Scales what runs along with this maximum to the largest of all groups. */
static void scale_group(mo_chain_gen *w, int maximum)
{
    mo_gen *gen = w->gen;
    const char *name = mo_gen_value_name(gen, maximum);
    open_rows(w);
    mo_gen_line(gen, "const float top = mo_reduce_parts<mo_max_op, GROUPS, %d>(part_%s + row);", w->plan.rows,
                name);
    mo_gen_line(gen, "const float shift = top == mo_max_op::start() ? 0.0f : top;");
    mo_gen_line(gen, "const float factor = mo_ex2((stat_%s[i][r] - shift) * LOG2_E);", name);
    for (int i = 0; i < gen->g->n_nodes; i++) {
        const char *scaled = mo_gen_value_name(gen, i);
        if (w->plan.chain.block.rescaled[i] != maximum) continue;
        if (w->plan.chain.role[i] == MO_CHAIN_STAT) {
            mo_gen_line(gen, "stat_%s[i][r] *= factor;", scaled);
            continue;
        }
        unroll(w);
        mo_gen_line(gen, "for (int j = 0; j < %d; j++) {", w->plan.columns / 8);
        mo_gen_line(gen, "acc_%s[i][j][2 * r] *= factor;", scaled);
        mo_gen_line(gen, "acc_%s[i][j][2 * r + 1] *= factor;", scaled);
        mo_gen_line(gen, "}");
    }
    close_rows(w);
}

static void exchange_statistic(mo_chain_gen *w, const mo_chain_part *part)
{
    mo_gen *gen = w->gen;
    const char *name = mo_gen_value_name(gen, part->node);
    bool runs = mo_chain_gen_is_maximum(w, part->node);
    open_rows(w);
    if (runs)
        mo_gen_line(gen, "if (t == 0) part_%s[group * %d + row] = stat_%s[i][r];", name, part->size, name);
    else
        mo_gen_line(gen, "const float x = mo_reduce_quad<%s>(stat_%s[i][r]);",
                    mo_gen_reduction(gen->g->nodes[part->node].op), name);
    if (!runs) mo_gen_line(gen, "if (t == 0) part_%s[group * %d + row] = x;", name, part->size);
    close_rows(w);
}

static void exchange_accumulator(mo_chain_gen *w, const mo_chain_part *part)
{
    mo_gen *gen = w->gen;
    const char *name = mo_gen_value_name(gen, part->node);
    open_rows(w);
    unroll(w);
    mo_gen_line(gen, "for (int j = 0; j < %d; j++) {", w->plan.columns / 8);
    mo_gen_line(gen, "float *const to = part_%s + group * %d + row * %d + j * 8 + 2 * t;", name, part->size,
                part->size / w->plan.rows);
    mo_gen_line(gen, "to[0] = acc_%s[i][j][2 * r];", name);
    mo_gen_line(gen, "to[1] = acc_%s[i][j][2 * r + 1];", name);
    mo_gen_line(gen, "}");
    close_rows(w);
}

static void exchange_row(mo_chain_gen *w, const mo_chain_part *part)
{
    mo_gen *gen = w->gen;
    open_rows(w);
    mo_gen_line(gen, "if (group == 0 && t == 0) part_%s[row] = %s[i][r];", mo_gen_value_name(gen, part->node),
                mo_chain_gen_array(w, part->node));
    close_rows(w);
}

/* Elements that a thread stores at once along `axis`, the one that the output lies along. */
static int store_width(const mo_chain_gen *w, const mo_saver *saver, mo_axes axes, int axis)
{
    const mo_prim *g = w->gen->g;
    int width = 16 / mo_dtype_size(w->gen->mugraph->tensors[saver->access.tensor].dtype) / 2;
    if (saver->access.stride[axis] != 1) return 1;
    for (; width > 1; width /= 2) {
        bool fits = g->axes[axis].extent % width == 0 && w->s->tile[axis] % width == 0;
        MO_FOR_AXES(a, axes)
            if (a != axis && saver->access.stride[a] % width != 0) fits = false;
        if (fits) break;
    }
    return width;
}

static void bind_output(mo_chain_gen *w, int axis, const char *local)
{
    const char *name = w->gen->g->axes[axis].name;
    mo_chain_gen_bind(w, axis, local, mo_arena_printf(w->gen->arena, "(%s0 + %s)", name, local), 1);
}

static void skip_outside(mo_chain_gen *w, int axis)
{
    int64_t extent = w->gen->g->axes[axis].extent;
    if (extent % w->s->tile[axis] != 0)
        mo_gen_line(w->gen, "if (%s >= %lld) continue;", w->index[axis], (long long)extent);
}

static void store_output(mo_chain_gen *w, const mo_saver *saver)
{
    mo_gen *gen = w->gen;
    mo_axes axes = gen->g->nodes[saver->node].axes;
    int p = w->s->p_axis, q = w->s->q_axis >= 0 && axes >> w->s->q_axis & 1u ? w->s->q_axis : -1;
    int fast = q >= 0 && saver->access.stride[q] == 1 ? q : p, slow = fast == p ? q : p;
    int vec = store_width(w, saver, axes, fast);
    long long runs = (long long)w->s->tile[fast] / vec,
              total = runs * (slow < 0 ? 1 : (long long)w->s->tile[slow]);
    mo_gen_line(gen, "// %s", mo_gen_tensor(gen, saver->access.tensor));
    mo_gen_line(gen, "for (int e = threadIdx.x; e < %lld; e += %d) {", total, w->s->threads);
    mo_gen_line(gen, "const int fast = e %% %lld * %d, slow = e / %lld;", runs, vec, runs);
    mo_gen_line(gen, "(void)slow;");
    bind_output(w, fast, "fast");
    skip_outside(w, fast);
    if (slow >= 0) bind_output(w, slow, "slow");
    if (slow >= 0) skip_outside(w, slow);
    const char *to = mo_gen_offset(gen, axes, &saver->access, w->index);
    mo_gen_line(gen, "float out[%d];", vec);
    unroll(w);
    mo_gen_line(gen, "for (int v = 0; v < %d; v++) {", vec);
    bind_output(w, fast, vec > 1 ? "fast + v" : "fast");
    w->at = MO_CHAIN_AT_TAIL;
    mo_chain_gen_forget(w);
    mo_gen_line(gen, "out[v] = %s;", mo_chain_gen_value(w, saver->node));
    mo_gen_line(gen, "}");
    mo_gen_line(gen, "mo_store_vec<%d>(g_%s + %s, out);", vec, mo_gen_tensor(gen, saver->access.tensor), to);
    mo_gen_line(gen, "}");
    mo_chain_gen_unbind(w, fast);
    if (slow >= 0) mo_chain_gen_unbind(w, slow);
}

static void exchange(mo_chain_gen *w, const mo_chain_part *part)
{
    switch (w->plan.chain.role[part->node]) {
    case MO_CHAIN_ACCUM: exchange_accumulator(w, part); return;
    case MO_CHAIN_STAT: exchange_statistic(w, part); return;
    default: exchange_row(w, part); return;
    }
}

static void exchange_and_wait(mo_chain_gen *w, const mo_chain_part *part)
{
    exchange(w, part);
    if (w->gen->mugraph->off & MO_PASS_SCHEDULE) mo_gen_line(w->gen, "__syncthreads();");
}

void mo_chain_gen_tail(mo_chain_gen *w)
{
    mo_gen *gen = w->gen;
    declare_parts(w);
    bool running = false;
    for (int i = 0; i < w->plan.n_parts; i++) {
        if (!mo_chain_gen_is_maximum(w, w->plan.parts[i].node)) continue;
        exchange_and_wait(w, &w->plan.parts[i]);
        running = true;
    }
    if (running && w->s->groups > 1) {
        mo_gen_line(gen, "__syncthreads();");
        for (int i = 0; i < w->plan.n_parts; i++)
            if (mo_chain_gen_is_maximum(w, w->plan.parts[i].node)) scale_group(w, w->plan.parts[i].node);
    }
    for (int i = 0; i < w->plan.n_parts; i++)
        if (!mo_chain_gen_is_maximum(w, w->plan.parts[i].node)) exchange_and_wait(w, &w->plan.parts[i]);
    mo_gen_line(gen, "__syncthreads();");
    for (int i = 0; i < gen->g->n_savers; i++) store_output(w, &gen->g->savers[i]);
}
