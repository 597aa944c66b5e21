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
    if (s->parts > 1)
        mo_gen_line(gen, "constexpr int PARTS = %d; // blocks that share the loop; the last one finishes",
                    s->parts);
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
                            : i == 0 && w->s->parts > 1 ? "blockIdx.x / PARTS"
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
    mo_gen_line(gen, "extern __shared__ __align__(%d) unsigned char mo_smem[];",
                w->plan.n_boxes > 0 ? 1024 : 128);
    mo_gen_line(gen, "const int warp = threadIdx.x / 32, group = warp / (WARPS_P * WARPS_Q);");
    mo_gen_line(gen, "const int warp_p = warp %% WARPS_P, warp_q = warp / WARPS_P %% WARPS_Q;");
    mo_gen_line(gen, "const int g = threadIdx.x %% 32 / 4, t = threadIdx.x %% 4; // place in a fragment");
    mo_gen_line(gen, "(void)warp_p, (void)warp_q, (void)g, (void)t;");
    block_indices(w);
    if (w->s->cluster > 1) mo_gen_line(gen, "const int rank = mo_cluster_rank(); // in the pair");
    if (w->s->parts > 1) mo_gen_line(gen, "const int part = blockIdx.x %% PARTS;");
    mo_gen_line(gen,
                "unsigned char *const ring = mo_smem + RESIDENT_BYTES + group * (STAGES * STAGE_BYTES);");
    if (w->plan.n_boxes > 0) mo_stream_gen_barriers(w);
}

bool mo_gen_stream(mo_gen *gen, mo_gen_launch *launch)
{
    mo_stream_gen w = {.gen = gen, .s = &gen->kernel->schedule};
    mo_plan_context context = mo_plan_context_of(gen->arena, gen->mugraph);
    gen->reason = mo_stream_plan_make(gen->arena, &context, gen->kernel, mo_shared_limit(gen->arch), &w.plan);
    if (gen->reason != NULL) return false;
    w.group_threads = w.s->warps_p * w.s->warps_q * 32;
    w.value = MO_NEW_ARRAY(gen->arena, const char *, gen->g->n_nodes);
    w.fragment = MO_NEW_ARRAY(gen->arena, const char *, gen->g->n_nodes);
    w.stored = MO_NEW_ARRAY(gen->arena, const mo_post *, gen->g->n_nodes);
    *launch = (mo_gen_launch){.block = {(unsigned)w.s->threads, 1, 1},
                              .shared_bytes = (unsigned)w.plan.shared_bytes};
    if ((w.s->cluster > 1 || w.plan.n_boxes > 0) && gen->arch < 90) {
        gen->reason = "clusters and tensor copies need sm_90";
        return false;
    }
    if (w.plan.n_boxes > 0) mo_stream_gen_maps(&w);
    launch->cluster = (unsigned)w.s->cluster;
    int64_t grid[3];
    if (!mo_stream_grid(gen->g, w.s, grid)) {
        gen->reason = "more blocks than a launch has";
        return false;
    }
    for (int i = 0; i < 3; i++) launch->grid[i] = (unsigned)grid[i];
    if (w.s->parts > 1) launch->parts_bytes = grid[0] * grid[1] * grid[2] * w.plan.part_floats * 4;
    mo_gen_start_early(gen);
    mo_gen_open_kernel(gen);
    mo_stream_gen_setup(&w);
    mo_gen_wait_for_others(gen);
    mo_stream_gen_copies(&w);
    mo_stream_gen_loop(&w);
    mo_stream_gen_tail(&w);
    mo_gen_line(gen, "}");
    return gen->reason == NULL;
}
