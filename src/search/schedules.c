/* Enumeration of schedules. Tile sizes need not divide the extents: tails are guarded. */
#include "search/schedules.h"

#include "base/status.h"
#include "ir/stream.h"
#include "optimize/pipeline.h"
#include "optimize/threads.h"
#include "search/chains.h"

#include <string.h>

#define MAX_ACCUMULATORS 128    /* floats in each thread */
#define MAX_F32_ACCUMULATORS 64 /* of f32 products, whose fragments take three times the registers */

typedef struct {
    mo_arena *arena;
    const mo_cost_context *context;
    mo_prim *body;
    bool boxes; /* this GPU has a tensor copy engine */
    mo_scheduled *best;
    int count, capacity;
    int64_t tried, too_large;
} enumeration;

static bool good_enough(const enumeration *e, int64_t cost)
{
    return e->count < e->capacity || cost < e->best[e->count - 1].cost_ns;
}

static void insert_at(enumeration *e, const mo_schedule *schedule, int64_t cost)
{
    e->tried++;
    if (!good_enough(e, cost)) return;
    int at = e->count < e->capacity ? e->count++ : e->count - 1;
    while (at > 0 && e->best[at - 1].cost_ns > cost) {
        e->best[at] = e->best[at - 1];
        at--;
    }
    e->best[at] = (mo_scheduled){.schedule = *schedule, .cost_ns = cost};
}

static void offer_chain(void *to, const mo_schedule *schedule, int64_t cost_ns)
{
    enumeration *e = to;
    if (cost_ns == INT64_MAX)
        e->too_large++;
    else
        insert_at(e, schedule, cost_ns);
}

static void offer(enumeration *e, const mo_schedule *schedule)
{
    insert_at(e, schedule, mo_cost_kernel(e->context, e->body, schedule));
}

static bool fits(enumeration *e, const mo_schedule *schedule)
{
    mo_arena_mark mark = mo_arena_get_mark(e->arena);
    mo_kernel kernel = {.name = "", .program_node = -1, .body = e->body, .schedule = *schedule};
    bool valid = mo_kernel_check(e->arena, &kernel) == NULL;
    mo_arena_reset(e->arena, mark);
    return valid;
}

static mo_axes saved_axes(const mo_prim *g)
{
    mo_axes axes = 0;
    for (int i = 0; i < g->n_savers; i++) axes |= g->nodes[g->savers[i].node].axes;
    return axes;
}

/* ---- ROW ---- */

static mo_schedule row_schedule(const mo_prim *g, int axis)
{
    mo_schedule s = {.kind = MO_SCHEDULE_ROW,
                     .threads = 32,
                     .lanes = 32,
                     .row_axis = axis,
                     .vector = 1,
                     .loop_axis = -1,
                     .p_axis = -1,
                     .q_axis = -1};
    for (int a = 0; a < g->n_axes; a++) {
        s.place[a] = a == axis ? MO_PLACE_WHOLE : MO_PLACE_GRID;
        s.tile[a] = a == axis ? g->axes[a].extent : 1;
    }
    return s;
}

static const mo_access *access_at(const mo_prim *g, int i, mo_axes *axes)
{
    if (i < g->n_nodes) {
        *axes = g->nodes[i].axes;
        return g->nodes[i].op == MO_OP_ITER ? &g->nodes[i].access : NULL;
    }
    *axes = g->nodes[g->savers[i - g->n_nodes].node].axes;
    return &g->savers[i - g->n_nodes].access;
}

/* Largest vector for the row: it divides the row, and 16 bytes hold it. */
static int row_vector(const mo_cost_context *c, const mo_prim *g, int axis)
{
    int vector = 8;
    while (vector > 1 && g->axes[axis].extent % vector != 0) vector /= 2;
    for (int i = 0; i < g->n_nodes + g->n_savers; i++) {
        mo_axes axes;
        const mo_access *access = access_at(g, i, &axes);
        if (access == NULL || !(axes >> axis & 1u)) continue;
        if (mo_dtype_size(c->tensor_dtype[access->tensor]) == 4 && vector > 4 && access->stride[axis] == 1)
            vector = 4;
    }
    return vector;
}

/* Bytes that are read or written along the axis with stride 1. */
static int64_t contiguous_elements(const mo_prim *g, int axis)
{
    int64_t total = 0;
    for (int i = 0; i < g->n_nodes + g->n_savers; i++) {
        mo_axes axes;
        const mo_access *access = access_at(g, i, &axes);
        if (access != NULL && axes >> axis & 1u && access->stride[axis] == 1)
            total += mo_prim_extent(g, axes);
    }
    return total;
}

static void offer_row(enumeration *e, mo_schedule s, int lanes, int rows)
{
    s.lanes = lanes;
    s.threads = lanes * rows;
    if (s.threads > 1024 || s.threads < 32) return;
    s.resident = mo_threads_resident(e->body, &s, e->context->off);
    offer(e, &s);
}

/* Where nothing is reduced, blocks may divide the rows. */
static void offer_parts(enumeration *e, mo_schedule s)
{
    const mo_prim *g = e->body;
    s.place[s.row_axis] = MO_PLACE_GRID;
    for (s.lanes = 64; s.lanes <= 512; s.lanes *= 2)
        for (int items = 1;; items *= 2) {
            s.threads = s.lanes;
            s.tile[s.row_axis] = (int64_t)s.lanes * s.vector * items;
            s.resident = mo_threads_resident(g, &s, e->context->off);
            if (!s.resident || s.tile[s.row_axis] >= g->axes[s.row_axis].extent) break;
            if (fits(e, &s)) offer(e, &s);
        }
}

static void enumerate_rows_along(enumeration *e, int axis)
{
    const mo_prim *g = e->body;
    mo_schedule s = row_schedule(g, axis);
    if (!fits(e, &s)) return;
    int64_t along = contiguous_elements(g, axis), beside = 0;
    MO_FOR_AXES(a, saved_axes(g) & ~(1u << axis))
        if (contiguous_elements(g, a) > beside) beside = contiguous_elements(g, a);
    s.rows_fast = beside > along;
    s.vector = s.rows_fast ? 1 : row_vector(e->context, g, axis);
    for (int lanes = 1; lanes <= 1024; lanes *= 2) {
        if (lanes > 1 && (int64_t)lanes / 2 * s.vector >= g->axes[axis].extent) break;
        for (int rows = 1; rows <= 256; rows *= 2)
            if (!s.rows_fast || rows >= 16) offer_row(e, s, lanes, rows);
    }
    if (!s.rows_fast) offer_parts(e, s);
}

/* ---- STREAM ---- */

static void enumerate_tiles(enumeration *e, mo_schedule s);

static mo_schedule stream_schedule(const mo_prim *g, int loop, int p, int q)
{
    mo_schedule s = {.kind = MO_SCHEDULE_STREAM,
                     .threads = 32,
                     .row_axis = -1,
                     .loop_axis = loop,
                     .cluster = 1,
                     .parts = 1,
                     .groups = 1,
                     .warps_p = 1,
                     .warps_q = 1,
                     .stages = 2,
                     .p_axis = p,
                     .q_axis = q};
    mo_axes saved = saved_axes(g);
    for (int a = 0; a < g->n_axes; a++) {
        bool grid = saved >> a & 1u;
        s.place[a] = a == loop ? MO_PLACE_LOOP : grid ? MO_PLACE_GRID : MO_PLACE_WHOLE;
        s.tile[a] = a == loop || !grid ? g->axes[a].extent : 1;
        if (a == p || a == q) s.tile[a] = g->axes[a].extent;
    }
    return s;
}

/* The axis along which the first output lies contiguous, or -1. */
static int contiguous_axis(const mo_prim *g)
{
    MO_FOR_AXES(a, g->nodes[g->savers[0].node].axes)
        if (g->savers[0].access.stride[a] == 1) return a;
    return -1;
}

/* The 16-side takes the output's contiguous axis, so that stores are wide; other choices only where the
 * graph does not allow that. */
static void enumerate_streams(enumeration *e)
{
    const mo_prim *g = e->body;
    mo_axes saved = saved_axes(g), loops = 0;
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == MO_OP_MATMUL) loops |= g->nodes[i].reduced;
    int preferred = contiguous_axis(g);
    for (int round = 0; round < 2; round++) {
        int64_t tried = e->tried;
        MO_FOR_AXES(loop, loops & ~saved)
            for (int p = -1; p < g->n_axes; p++)
                for (int q = -1; q < g->n_axes; q++) {
                    if ((p == preferred) != (round == 0) || (p == q && p >= 0)) continue;
                    if ((p >= 0 && !(saved >> p & 1u)) || (q >= 0 && !(saved >> q & 1u))) continue;
                    mo_schedule s = stream_schedule(g, loop, p, q);
                    if (fits(e, &s)) enumerate_tiles(e, s);
                }
        if (e->tried > tried) return;
    }
}

/* Sizes worth trying for a tile on one side: multiples of the fragment up to the padded extent. */
static int tile_sizes(const mo_prim *g, int axis, mo_side side, int64_t sizes[8])
{
    static const int64_t p_sizes[] = {16, 32, 48, 64, 96, 128}, q_sizes[] = {8, 16, 32, 64, 128};
    const int64_t *from = side == MO_SIDE_P ? p_sizes : q_sizes;
    int n = side == MO_SIDE_P ? 6 : 5, count = 0;
    if (axis < 0) {
        sizes[0] = 1;
        return 1;
    }
    int64_t extent = g->axes[axis].extent;
    for (int i = 0; i < n && from[i] < extent; i++) sizes[count++] = from[i];
    if (extent <= from[n - 1]) sizes[count++] = extent;
    return count;
}

/* A split over a pair of blocks is for grids that leave half of the processors idle. */
static bool cluster_fits(const enumeration *e, const mo_schedule *s, const mo_kernel_facts *facts)
{
    const mo_device *d = e->context->device;
    int64_t slabs = (e->body->axes[s->loop_axis].extent + s->tile[s->loop_axis] - 1) / s->tile[s->loop_axis];
    return d->arch >= 90 && facts->blocks <= d->sms && slabs >= 2 * s->groups;
}

/* Which tiles boxes and registers can take, the plan knows. */
static bool plans(enumeration *e, const mo_schedule *s)
{
    mo_arena_mark mark = mo_arena_get_mark(e->arena);
    mo_kernel kernel = {.name = "", .program_node = -1, .body = e->body, .schedule = *s};
    mo_plan_context context = {e->context->tensor_dtype, NULL, e->context->off};
    mo_stream_plan plan;
    bool ok =
        mo_stream_plan_make(e->arena, &context, &kernel, e->context->device->shared_per_block, &plan) == NULL;
    mo_arena_reset(e->arena, mark);
    return ok;
}

static void offer_stream(enumeration *e, const mo_schedule *s)
{
    int64_t grid[3];
    if (!mo_stream_grid(e->body, s, grid)) return;
    mo_kernel_facts facts = mo_cost_facts(e->context, e->body, s);
    if (facts.accumulators > (mo_cost_uses_f32(e->body) ? MAX_F32_ACCUMULATORS : MAX_ACCUMULATORS)) return;
    if (s->cluster > 1 && !cluster_fits(e, s, &facts)) return;
    if (facts.shared_bytes > e->context->device->shared_per_block) {
        e->too_large++;
        return;
    }
    int64_t cost = mo_cost_of_facts(e->context, e->body, s, &facts);
    /* What fits by the cost model can be planned. */
    bool certain = s->copy == MO_COPY_ASYNC && s->parts == 1 && e->context->off == 0;
    if (!certain && good_enough(e, cost) && !plans(e, s)) return;
    insert_at(e, s, cost);
}

/* The loop on one block or a pair, or, where the tiles leave most of the processors idle, on more: as many
 * blocks as run at once. */
static void offer_shared(enumeration *e, mo_schedule s)
{
    enum { MOST_PARTS = 16 };
    for (s.cluster = 1; s.cluster <= 2; s.cluster++) offer_stream(e, &s);
    int64_t grid[3];
    s.cluster = 1;
    if (!mo_stream_grid(e->body, &s, grid)) return;
    int64_t blocks = grid[0] * grid[1] * grid[2], extent = e->body->axes[s.loop_axis].extent;
    int64_t slabs = (extent + s.tile[s.loop_axis] - 1) / s.tile[s.loop_axis];
    for (s.parts = 2; s.parts <= MOST_PARTS; s.parts *= 2)
        if (blocks * s.parts <= e->context->device->sms && slabs >= s.parts * s.groups) offer_stream(e, &s);
}

/* Products by warp groups: for tiles with many columns, where the fragments of one warp would be read by
 * many.
 */
static void enumerate_wgmma(enumeration *e, mo_schedule s)
{
    enum { FEWEST_COLUMNS = 33 };
    if (!e->boxes || e->context->device->arch != 90 || s.warps_p % 4 != 0 || s.warps_q != 1) return;
    if (s.p_axis < 0 || s.q_axis < 0 || s.tile[s.q_axis] < FEWEST_COLUMNS) return;
    mo_pipeline choices[MO_PIPELINE_CHOICES];
    int count = mo_pipeline_wgmma(e->context->off, choices);
    s.wgmma = true;
    for (int i = 0; i < count; i++) {
        s.copy = choices[i].copy;
        s.stages = choices[i].stages;
        offer_shared(e, s);
    }
}

static void enumerate_rings(enumeration *e, mo_schedule s)
{
    enumerate_wgmma(e, s);
    if (s.warps_p > 4) return;
    mo_pipeline choices[MO_PIPELINE_CHOICES];
    int count = mo_pipeline_stream(e->boxes, e->context->off, choices);
    for (int i = 0; i < count; i++) {
        s.copy = choices[i].copy;
        s.stages = choices[i].stages;
        offer_shared(e, s);
    }
}

static void enumerate_warps(enumeration *e, mo_schedule s)
{
    static const int groups[] = {1, 2, 4, 8},
                     warps[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {4, 1}, {4, 2}, {2, 4}, {8, 1}};
    int64_t extent = e->body->axes[s.loop_axis].extent;
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        for (size_t w = 0; w < sizeof warps / sizeof *warps; w++) {
            s.groups = groups[g];
            s.warps_p = warps[w][0];
            s.warps_q = warps[w][1];
            s.threads = s.groups * s.warps_p * s.warps_q * 32;
            if (s.threads > 512 || s.threads < 64) continue;
            if (s.p_axis >= 0 && s.warps_p * 16 > s.tile[s.p_axis] && s.warps_p > 1) continue;
            if (s.q_axis >= 0 ? s.warps_q * 8 > s.tile[s.q_axis] && s.warps_q > 1 : s.warps_q > 1) continue;
            if (s.groups > 1 && (s.groups - 1) * s.tile[s.loop_axis] >= extent) continue;
            enumerate_rings(e, s);
        }
}

static void enumerate_tiles(enumeration *e, mo_schedule s)
{
    static const int64_t slabs[] = {16, 32, 64, 128};
    int64_t p_sizes[8], q_sizes[8];
    int n_p = tile_sizes(e->body, s.p_axis, MO_SIDE_P, p_sizes),
        n_q = tile_sizes(e->body, s.q_axis, MO_SIDE_Q, q_sizes);
    int64_t extent = e->body->axes[s.loop_axis].extent;
    for (int p = 0; p < n_p; p++)
        for (int q = 0; q < n_q; q++)
            for (size_t k = 0; k < sizeof slabs / sizeof *slabs; k++) {
                if (s.p_axis >= 0) s.tile[s.p_axis] = p_sizes[p];
                if (s.q_axis >= 0) s.tile[s.q_axis] = q_sizes[q];
                if (k > 0 && slabs[k - 1] >= extent) break;
                s.tile[s.loop_axis] = slabs[k] < extent ? slabs[k] : extent;
                enumerate_warps(e, s);
            }
}

int mo_schedules(mo_arena *arena, const mo_cost_context *context, mo_prim *body, int capacity,
                 mo_scheduled *best, int64_t *tried, int64_t *too_large)
{
    enumeration e = {.arena = arena, .context = context, .body = body, .best = best, .capacity = capacity};
    e.boxes = context->device->arch >= 90 && !mo_cost_uses_f32(body);
    mo_schedule plain = mo_schedule_plain(body);
    offer(&e, &plain);
    mo_axes used = 0;
    for (int i = 0; i < body->n_nodes; i++) used |= body->nodes[i].axes;
    MO_FOR_AXES(a, used) enumerate_rows_along(&e, a);
    enumerate_streams(&e);
    mo_chains(arena, context, body, offer_chain, &e);
    *tried += e.tried;
    *too_large += e.too_large;
    return e.count;
}
