/* STREAM schedule: each group of warps owns a ring over its own slabs of the loop axis (copy, wait, multiply,
 * refill) without a block barrier in the loop; the partial accumulators of the groups meet in shared memory
 * behind it, where the elementwise rest runs and the output leaves in wide stores. */
#include "codegen/limits.h"
#include "codegen/stream_gen.h"

#include "base/status.h"

static bool is_batch(const mo_stream_gen *w, int axis)
{
    return axis != w->s->p_axis && axis != w->s->q_axis && w->s->place[axis] == MO_PLACE_GRID;
}

static mo_axes batch_axes(const mo_stream_gen *w)
{
    mo_axes axes = 0, used = 0;
    for (int i = 0; i < w->gen->g->n_nodes; i++) used |= w->gen->g->nodes[i].axes;
    MO_FOR_AXES(a, used)
        if (is_batch(w, a)) axes |= 1u << a;
    return axes;
}

static const char *axis_name(const mo_stream_gen *w, int axis)
{
    return w->gen->g->axes[axis].name;
}

static void constants(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    const mo_prim *g = gen->g;
    const mo_schedule *s = w->s;
    const char *k = axis_name(w, s->loop_axis);
    mo_gen_line(gen,
                "constexpr int GROUPS = %d, STAGES = %d; // warp groups, slabs in flight in each one's ring",
                s->groups, s->stages);
    if (s->cluster > 1)
        mo_gen_line(gen, "constexpr int CLUSTER = %d; // blocks that share the loop", s->cluster);
    mo_gen_line(
        gen, "constexpr int WARPS_P = %d, WARPS_Q = %d; // warps of a group over the 16-side and the 8-side",
        s->warps_p, s->warps_q);
    mo_gen_line(gen, "constexpr int GROUP_THREADS = WARPS_P * WARPS_Q * 32;");
    mo_gen_line(gen, "constexpr int SLAB = %d, SLABS = %d; // of axis %s (%lld)", w->plan.slab, w->plan.slabs,
                k, (long long)g->axes[s->loop_axis].extent);
    mo_gen_line(gen, "constexpr int STAGE_BYTES = %d, RESIDENT_BYTES = %d;", w->plan.stage_bytes,
                w->plan.resident_bytes);
}

static void block_indices(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    const mo_prim *g = gen->g;
    const int axis[2] = {w->s->q_axis, w->s->p_axis};
    for (int i = 0; i < 2; i++) {
        if (axis[i] < 0) continue;
        const char *name = axis_name(w, axis[i]);
        const char *block = i == 0 && w->s->cluster > 1 ? "blockIdx.x / CLUSTER"
                            : i == 0                    ? "blockIdx.x"
                                                        : "blockIdx.y";
        mo_gen_line(gen, "const int %s0 = %s * %lld; // this block's part of axis %s (%lld)", name, block,
                    (long long)w->s->tile[axis[i]], name, (long long)g->axes[axis[i]].extent);
    }
    mo_axes batch = batch_axes(w);
    if (batch != 0) mo_gen_line(gen, "int rest = blockIdx.z;");
    while (batch != 0) {
        int a = 31 - __builtin_clz(batch);
        batch &= ~(1u << a);
        w->index[a] = mo_arena_printf(gen->arena, "i_%s", axis_name(w, a));
        long long extent = (long long)g->axes[a].extent;
        if (batch == 0) {
            mo_gen_line(gen, "const int %s = rest;", w->index[a]);
        } else {
            mo_gen_line(gen, "const int %s = rest %% %lld;", w->index[a], extent);
            mo_gen_line(gen, "rest /= %lld;", extent);
        }
    }
}

void mo_stream_gen_setup(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    constants(w);
    mo_gen_line(gen, "extern __shared__ __align__(128) unsigned char mo_smem[];");
    mo_gen_line(gen, "const int warp = threadIdx.x / 32, group = warp / (WARPS_P * WARPS_Q);");
    mo_gen_line(gen, "const int warp_p = warp %% WARPS_P, warp_q = warp / WARPS_P %% WARPS_Q;");
    mo_gen_line(gen, "const int g = threadIdx.x %% 32 / 4, t = threadIdx.x %% 4; // place in a fragment");
    mo_gen_line(gen, "(void)warp_p, (void)warp_q, (void)g, (void)t;");
    block_indices(w);
    if (w->s->cluster > 1) mo_gen_line(gen, "const int rank = mo_cluster_rank(); // in the pair");
    mo_gen_line(gen,
                "unsigned char *const ring = mo_smem + RESIDENT_BYTES + group * (STAGES * STAGE_BYTES);");
}

static const char *start_of(mo_stream_gen *w, int axis)
{
    if (axis < 0 || axis != w->s->p_axis) {
        if (axis < 0 || axis != w->s->q_axis) return "0";
    }
    return mo_arena_printf(w->gen->arena, "%s0", axis_name(w, axis));
}

/* No tile runs over the end of the axis. */
static bool never_over(const mo_stream_gen *w, int axis, int size)
{
    return axis < 0 ? size == 1 : w->gen->g->axes[axis].extent % size == 0;
}

/* How many rows or columns from `start` on exist: a constant when the tile never runs over the end. */
static const char *valid(mo_stream_gen *w, int axis, const char *start, int size)
{
    if (axis < 0) return "1";
    if (never_over(w, axis, size)) return mo_arena_printf(w->gen->arena, "%d", size);
    return mo_arena_printf(w->gen->arena, "%lld - %s", (long long)w->gen->g->axes[axis].extent, start);
}

static void copy_tile(mo_stream_gen *w, const mo_tile *tile, const char *inner_start, const char *base,
                      const char *threads, const char *thread)
{
    mo_gen *gen = w->gen;
    const mo_prim_node *n = &gen->g->nodes[tile->node];
    const char *type = mo_gen_type(tile->dtype), *tensor = mo_gen_tensor(gen, n->access.tensor);
    const char *axis_start = start_of(w, tile->axis);
    const char *index[MO_MAX_AXES];
    for (int a = 0; a < MO_MAX_AXES; a++) index[a] = w->index[a];
    index[tile->inner] = inner_start;
    if (tile->axis >= 0) index[tile->axis] = axis_start;
    const char *from = mo_gen_offset(gen, n->axes, &n->access, index);
    const char *inner_valid = valid(w, tile->inner, inner_start, tile->inner_rows ? tile->rows : tile->cols);
    const char *axis_valid = valid(w, tile->axis, axis_start, tile->inner_rows ? tile->cols : tile->rows);
    const char *rows = tile->inner_rows ? inner_valid : axis_valid,
               *cols = tile->inner_rows ? axis_valid : inner_valid;
    bool whole = never_over(w, tile->axis, tile->inner_rows ? tile->cols : tile->rows) &&
                 never_over(w, tile->inner, tile->inner_rows ? tile->rows : tile->cols);
    if (tile->async)
        mo_gen_line(
            gen, "mo_copy_tile<%s, %d, %d, %d, %d, %s, %s>((%s *)(%s + %d), g_%s + %s, %lld, %s, %s, %s);",
            type, tile->rows, tile->cols, tile->stride, tile->chunk, threads, whole ? "true" : "false", type,
            base, tile->offset, tensor, from, (long long)tile->row_step, rows, cols, thread);
    else
        mo_gen_line(
            gen,
            "mo_copy_tile_scalar<%s, %d, %d, %d, %s>((%s *)(%s + %d), g_%s + %s, %lld, %lld, %s, %s, %s);",
            type, tile->rows, tile->cols, tile->stride, threads, type, base, tile->offset, tensor, from,
            (long long)tile->row_step, (long long)tile->col_step, rows, cols, thread);
}

void mo_stream_gen_copies(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    const char *block_threads = mo_arena_printf(gen->arena, "%d", w->s->threads);
    for (int i = 0; i < w->plan.n_resident; i++) {
        const mo_tile *tile = &w->plan.resident[i];
        copy_tile(w, tile, "0", "mo_smem", block_threads, "threadIdx.x");
    }
    const char *k = axis_name(w, w->s->loop_axis);
    mo_gen_line(gen,
                "// Starts the copy of this group's i-th slab; past the end it only closes an empty batch.");
    mo_gen_line(gen, "auto start_copy = [&](int i) {");
    mo_gen_line(gen, "const int slab = %s, %s0 = slab * SLAB;", mo_stream_gen_slab(w), k);
    mo_gen_line(gen, "unsigned char *const stage = ring + i %% STAGES * STAGE_BYTES;");
    mo_gen_line(gen, "const int thread = threadIdx.x %% GROUP_THREADS;");
    mo_gen_line(gen, "if (slab < SLABS) {");
    for (int i = 0; i < w->plan.n_tiles; i++)
        copy_tile(w, &w->plan.tiles[i], mo_arena_printf(gen->arena, "%s0", k), "stage", "GROUP_THREADS",
                  "thread");
    mo_gen_line(gen, "}");
    mo_gen_line(gen, "mo_cp_commit();");
    mo_gen_line(gen, "};");
}

bool mo_gen_stream(mo_gen *gen, mo_gen_launch *launch)
{
    mo_stream_gen w = {.gen = gen, .s = &gen->kernel->schedule};
    gen->reason =
        mo_stream_plan_make(gen->arena, gen->mugraph, gen->kernel, mo_shared_limit(gen->arch), &w.plan);
    if (gen->reason != NULL) return false;
    w.group_threads = w.s->warps_p * w.s->warps_q * 32;
    w.value = MO_NEW_ARRAY(gen->arena, const char *, gen->g->n_nodes);
    w.fragment = MO_NEW_ARRAY(gen->arena, const char *, gen->g->n_nodes);
    *launch = (mo_gen_launch){.block = {(unsigned)w.s->threads, 1, 1},
                              .shared_bytes = (unsigned)w.plan.shared_bytes};
    if (w.s->cluster > 1 && gen->arch < 90) {
        gen->reason = "clusters need sm_90";
        return false;
    }
    launch->cluster = (unsigned)w.s->cluster;
    int64_t grid[3];
    if (!mo_stream_grid(gen->g, w.s, grid)) {
        gen->reason = "more blocks than a launch has";
        return false;
    }
    for (int i = 0; i < 3; i++) launch->grid[i] = (unsigned)grid[i];
    mo_gen_open_kernel(gen);
    mo_stream_gen_setup(&w);
    mo_stream_gen_copies(&w);
    mo_stream_gen_loop(&w);
    mo_stream_gen_tail(&w);
    mo_gen_line(gen, "}");
    return gen->reason == NULL;
}
