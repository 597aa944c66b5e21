/* CHAIN schedule: products inside the loop whose results stay in matrix fragments, are worked on there and
 * become operands of products over the loop, with maxima and sums of rows that run along (FlashAttention-2;
 * Dao, arXiv:2307.08691). Each group of warps walks its own slabs through its own ring; their states meet in
 * shared memory behind the loop. */
#include "codegen/chain_gen.h"

#include "base/status.h"
#include "codegen/limits.h"

#include <string.h>

static const char *axis_name(const mo_chain_gen *w, int axis)
{
    return w->gen->g->axes[axis].name;
}

static void constants(mo_chain_gen *w)
{
    mo_gen *gen = w->gen;
    const mo_schedule *s = w->s;
    mo_gen_line(gen,
                "constexpr int GROUPS = %d, STAGES = %d; // warp groups, slabs in flight in each one's ring",
                s->groups, s->stages);
    mo_gen_line(gen, "constexpr int WARPS = %d, GROUP_THREADS = WARPS * 32; // of a group", s->warps_p);
    mo_gen_line(gen, "constexpr int ROWS = %d; // m16 fragments of a warp along %s", w->plan.row_fragments,
                axis_name(w, s->p_axis));
    mo_gen_line(gen, "constexpr int SLAB = %d, SLABS = %d; // of axis %s (%lld)", w->plan.slab, w->plan.slabs,
                axis_name(w, s->loop_axis), (long long)gen->g->axes[s->loop_axis].extent);
    mo_gen_line(gen, "constexpr int STAGE_BYTES = %d, RESIDENT_BYTES = %d;", w->plan.stage_bytes,
                w->plan.resident_bytes);
}

static void block_indices(mo_chain_gen *w)
{
    mo_gen *gen = w->gen;
    const mo_prim *g = gen->g;
    const int axis[2] = {w->s->q_axis, w->s->p_axis};
    for (int i = 0; i < 2; i++)
        if (axis[i] >= 0)
            mo_gen_line(gen, "const int %s0 = blockIdx.%c * %lld; // this block's part of axis %s (%lld)",
                        axis_name(w, axis[i]), "xy"[i], (long long)w -> s -> tile[axis[i]],
                        axis_name(w, axis[i]), (long long)g -> axes[axis[i]].extent);
    mo_axes used = 0;
    for (int i = 0; i < g->n_nodes; i++) used |= g->nodes[i].axes;
    mo_axes batch = used & ~mo_chain_tile_axes(gen->kernel, used);
    if (batch != 0) mo_gen_line(gen, "int rest = blockIdx.z;");
    while (batch != 0) {
        int a = 31 - __builtin_clz(batch);
        batch &= ~(1u << a);
        w->index[a] = mo_arena_printf(gen->arena, "i_%s", axis_name(w, a));
        long long extent = (long long)g->axes[a].extent;
        mo_gen_line(gen, batch == 0 ? "const int %s = rest;" : "const int %s = rest %% %lld;", w->index[a],
                    extent);
        if (batch != 0) mo_gen_line(gen, "rest /= %lld;", extent);
    }
}

void mo_chain_gen_setup(mo_chain_gen *w)
{
    mo_gen *gen = w->gen;
    constants(w);
    mo_gen_line(gen, "extern __shared__ __align__(128) unsigned char mo_smem[];");
    mo_gen_line(gen, "const int warp = threadIdx.x / 32, group = warp / WARPS;");
    mo_gen_line(gen, "const int g = threadIdx.x %% 32 / 4, t = threadIdx.x %% 4; // place in a fragment");
    mo_gen_line(gen,
                "const int warp_row = warp %% WARPS * ROWS * 16; // first row of this warp in the block");
    block_indices(w);
    mo_gen_line(gen,
                "unsigned char *const ring = mo_smem + RESIDENT_BYTES + group * (STAGES * STAGE_BYTES);");
}

/* First index of a tile along an axis. */
static const char *start_of(mo_chain_gen *w, int axis)
{
    if (axis != w->s->p_axis && axis != w->s->q_axis && axis != w->s->loop_axis) return "0";
    return mo_arena_printf(w->gen->arena, "%s0", axis_name(w, axis));
}

/* How many rows or columns of a tile exist: a constant when the tile never runs over the end. */
static const char *valid(mo_chain_gen *w, int axis, int size, bool *whole)
{
    long long extent = (long long)w->gen->g->axes[axis].extent;
    if (extent % size == 0) return mo_arena_printf(w->gen->arena, "%d", size);
    *whole = false;
    return mo_arena_printf(w->gen->arena, "%lld - %s", extent, start_of(w, axis));
}

static void copy_tile(mo_chain_gen *w, const mo_chain_tile *tile)
{
    mo_gen *gen = w->gen;
    const mo_prim_node *n = &gen->g->nodes[tile->node];
    const char *index[MO_MAX_AXES];
    memcpy(index, w->index, sizeof index);
    index[tile->row_axis] = start_of(w, tile->row_axis);
    index[tile->col_axis] = start_of(w, tile->col_axis);
    bool whole = true;
    const char *rows = valid(w, tile->row_axis, tile->rows, &whole),
               *cols = valid(w, tile->col_axis, tile->cols, &whole);
    const char *type = mo_gen_type(n->dtype), *base = tile->streamed ? "stage" : "mo_smem";
    const char *threads = tile->streamed ? "GROUP_THREADS" : mo_arena_printf(gen->arena, "%d", w->s->threads);
    const char *thread = tile->streamed ? "thread" : "threadIdx.x";
    const char *from = mo_arena_printf(gen->arena, "g_%s + %s", mo_gen_tensor(gen, n->access.tensor),
                                       mo_gen_offset(gen, n->axes, &n->access, index));
    if (tile->chunk > 0)
        mo_gen_line(gen, "mo_copy_tile<%s, %d, %d, %d, %d, %s, %s>((%s *)(%s + %d), %s, %lld, %s, %s, %s);",
                    type, tile->rows, tile->cols, tile->stride, tile->chunk, threads,
                    whole ? "true" : "false", type, base, tile->offset, from, (long long)tile->row_step, rows,
                    cols, thread);
    else
        mo_gen_line(gen,
                    "mo_copy_tile_scalar<%s, %d, %d, %d, %s>((%s *)(%s + %d), %s, %lld, %lld, %s, %s, %s);",
                    type, tile->rows, tile->cols, tile->stride, threads, type, base, tile->offset, from,
                    (long long)tile->row_step, (long long)tile->col_step, rows, cols, thread);
}

void mo_chain_gen_copies(mo_chain_gen *w)
{
    mo_gen *gen = w->gen;
    for (int i = 0; i < w->plan.n_tiles; i++)
        if (!w->plan.tiles[i].streamed) copy_tile(w, &w->plan.tiles[i]);
    mo_gen_line(gen, "mo_cp_commit();");
    mo_gen_line(gen,
                "// Starts the copy of this group's i-th slab; past the end it only closes an empty batch.");
    mo_gen_line(gen, "auto start_copy = [&](int i) {");
    mo_gen_line(gen, "const int slab = i * GROUPS + group, %s0 = slab * SLAB;",
                axis_name(w, w->s->loop_axis));
    mo_gen_line(gen, "unsigned char *const stage = ring + i %% STAGES * STAGE_BYTES;");
    mo_gen_line(gen, "const int thread = threadIdx.x %% GROUP_THREADS;");
    mo_gen_line(gen, "if (slab < SLABS) {");
    for (int i = 0; i < w->plan.n_tiles; i++)
        if (w->plan.tiles[i].streamed) copy_tile(w, &w->plan.tiles[i]);
    mo_gen_line(gen, "}");
    mo_gen_line(gen, "mo_cp_commit();");
    mo_gen_line(gen, "};");
    if (w->s->stages > 1) mo_gen_line(gen, "for (int i = 0; i < STAGES - 1; i++) start_copy(i);");
}

bool mo_gen_chain(mo_gen *gen, mo_gen_launch *launch)
{
    mo_chain_gen w = {.gen = gen, .s = &gen->kernel->schedule};
    mo_plan_context context = mo_plan_context_of(gen->arena, gen->mugraph);
    gen->reason = mo_chain_plan_make(gen->arena, &context, gen->kernel, mo_shared_limit(gen->arch), &w.plan);
    int64_t grid[3];
    if (gen->reason == NULL && !mo_chain_grid(gen->kernel, grid))
        gen->reason = "more blocks than a launch has";
    if (gen->reason != NULL) return false;
    w.group_threads = w.s->warps_p * 32;
    w.value = MO_NEW_ARRAY(gen->arena, const char *, gen->g->n_nodes);
    w.stored = MO_NEW_ARRAY(gen->arena, bool, gen->g->n_nodes);
    *launch = (mo_gen_launch){.block = {(unsigned)w.s->threads, 1, 1},
                              .shared_bytes = (unsigned)w.plan.shared_bytes};
    for (int i = 0; i < 3; i++) launch->grid[i] = (unsigned)grid[i];
    mo_gen_start_early(gen);
    mo_gen_open_kernel(gen);
    mo_chain_gen_setup(&w);
    mo_gen_wait_for_others(gen);
    mo_chain_gen_copies(&w);
    mo_chain_gen_rows(&w);
    mo_chain_gen_loop(&w);
    mo_chain_gen_tail(&w);
    mo_gen_line(gen, "}");
    return gen->reason == NULL;
}
