#include "optimize/stream_plan.h"

#include "base/status.h"
#include "optimize/direct.h"
#include "optimize/layout.h"
#include "optimize/memory.h"
#include "optimize/pipeline.h"
#include "optimize/threads.h"

typedef struct {
    mo_arena *arena;
    const mo_plan_context *context;
    const mo_kernel *kernel;
    const mo_prim *g;
    mo_stream_plan *plan;
    const char *wrong;
} planner;

static int round_up(int64_t x, int unit)
{
    return (int)((x + unit - 1) / unit * unit);
}

/* Elements of an axis in a block, padded to the fragment size of its side. */
static int padded(const planner *p, int axis, mo_side side)
{
    int unit = side == MO_SIDE_P ? 16 : p->kernel->schedule.wgmma ? MO_WGMMA_Q : 8;
    return axis < 0 ? unit : round_up(p->kernel->schedule.tile[axis], unit);
}

static int inner_size(const planner *p, int inner)
{
    if (inner == p->kernel->schedule.loop_axis) return p->plan->slab;
    return round_up(p->g->axes[inner].extent, 16);
}

static bool used_as_operand(const planner *p, int node)
{
    for (int i = 0; i < p->g->n_nodes; i++) {
        const mo_prim_node *n = &p->g->nodes[i];
        if (n->op == MO_OP_MATMUL && (n->in[0] == node || n->in[1] == node)) return true;
    }
    return false;
}

/* How the tile lies: by the layout pass. */
static void lay(const planner *p, mo_tile *tile)
{
    if (tile->dtype == MO_F32 && tile->inner_rows && !p->plan->roles.mma) {
        tile->stride = mo_layout_across(tile->cols, p->context->off);
        tile->panel = tile->cols;
        return;
    }
    mo_layout layout = mo_layout_choose(tile->cols, tile->dtype, tile->copy == MO_TILE_BOX, p->context->off);
    tile->stride = layout.stride;
    tile->panel = layout.panel;
    tile->swizzle = layout.swizzle;
}

static mo_tile plan_tile(planner *p, int index, int inner)
{
    const mo_prim_node *node = &p->g->nodes[index];
    mo_tile tile = {.node = index, .inner = inner, .side = p->plan->roles.side[index]};
    tile.axis = mo_stream_tile_axis(p->kernel, node->axes, inner);
    tile.dtype = p->context->dtype[node->access.tensor];
    int64_t inner_step = node->access.stride[inner],
            axis_step = tile.axis < 0 ? 0 : node->access.stride[tile.axis];
    int across = tile.axis < 0 && !used_as_operand(p, index) ? 1 : padded(p, tile.axis, tile.side);
    tile.inner_rows = tile.axis >= 0 && axis_step == 1 && inner_step != 1;
    tile.rows = tile.inner_rows ? inner_size(p, inner) : across;
    tile.cols = tile.inner_rows ? across : inner_size(p, inner);
    tile.row_step = tile.inner_rows ? inner_step : axis_step;
    tile.col_step = tile.inner_rows ? axis_step : inner_step;
    mo_pipeline_tile(p->context, p->kernel, &p->plan->roles, &tile);
    lay(p, &tile);
    return tile;
}

static int tile_bytes(const mo_tile *tile)
{
    int row = tile->copy == MO_TILE_BOX ? tile->cols : tile->stride;
    return round_up((int64_t)tile->rows * row * mo_dtype_size(tile->dtype), 128);
}

/* A swizzle repeats after eight rows, and a box starts where it does. */
static int tile_alignment(const mo_tile *tile)
{
    return tile->copy == MO_TILE_BOX && tile->swizzle > 0 ? 8 * tile->swizzle : 128;
}

static int inner_axis_of(const planner *p, int node)
{
    mo_axes axes = p->g->nodes[node].axes;
    if (axes >> p->kernel->schedule.loop_axis & 1u) return p->kernel->schedule.loop_axis;
    MO_FOR_AXES(a, axes)
        if (p->kernel->schedule.place[a] == MO_PLACE_WHOLE) return a;
    return -1;
}

static void collect_tiles(planner *p)
{
    mo_stream_plan *plan = p->plan;
    plan->tiles = MO_NEW_ARRAY(p->arena, mo_tile, p->g->n_nodes);
    plan->resident = MO_NEW_ARRAY(p->arena, mo_tile, p->g->n_nodes);
    for (int i = 0; i < p->g->n_nodes; i++) {
        if (p->g->nodes[i].op != MO_OP_ITER) continue;
        mo_stream_role role = plan->roles.role[i];
        if (role == MO_ROLE_LOOP)
            plan->tiles[plan->n_tiles++] = plan_tile(p, i, inner_axis_of(p, i));
        else if (role == MO_ROLE_RESIDENT)
            plan->resident[plan->n_resident++] = plan_tile(p, i, inner_axis_of(p, i));
    }
}

/* Offsets of `count` tiles one behind the other; *alignment grows to what the strictest needs. */
static int place_tiles(mo_tile *tiles, int count, int *alignment)
{
    int end = 0;
    for (int i = 0; i < count; i++) {
        if (tiles[i].copy == MO_TILE_DIRECT) continue;
        int unit = tile_alignment(&tiles[i]);
        if (unit > *alignment) *alignment = unit;
        tiles[i].offset = round_up(end, unit);
        end = tiles[i].offset + tile_bytes(&tiles[i]);
    }
    return end;
}

static void plan_tiles(planner *p)
{
    mo_stream_plan *plan = p->plan;
    int alignment = 128;
    collect_tiles(p);
    if (p->kernel->schedule.copy == MO_COPY_DIRECT) mo_stream_make_direct(p->context, p->kernel, plan);
    int stage = place_tiles(plan->tiles, plan->n_tiles, &alignment);
    int resident = place_tiles(plan->resident, plan->n_resident, &alignment);
    plan->stage_bytes = round_up(stage, alignment);
    plan->resident_bytes = round_up(resident, alignment);
    for (int i = 0; i < plan->n_tiles; i++) {
        const mo_tile *tile = &plan->tiles[i];
        plan->n_boxes += tile->copy == MO_TILE_BOX;
        plan->n_chunks += tile->copy == MO_TILE_CHUNKS;
        plan->n_direct += tile->copy == MO_TILE_DIRECT;
        plan->box_bytes += tile->copy == MO_TILE_BOX ? tile_bytes(tile) : 0;
    }
}

static int uses(const mo_prim *g, int node)
{
    int count = 0;
    for (int i = 0; i < g->n_nodes; i++)
        for (int j = 0; j < g->nodes[i].n_in; j++) count += g->nodes[i].in[j] == node;
    for (int s = 0; s < g->n_savers; s++) count += g->savers[s].node == node;
    return count;
}

static bool mergeable(const planner *p, int node)
{
    return p->plan->accum_of[node] >= 0 && p->plan->accums[p->plan->accum_of[node]].value == node &&
           uses(p->g, node) == 1;
}

/* The sum of two products with the same axes is one accumulator fed by both. */
static void merge_sum(planner *p, int index)
{
    const mo_prim_node *n = &p->g->nodes[index];
    mo_stream_plan *plan = p->plan;
    if (n->op != MO_OP_ADD || n->in[0] == n->in[1] || !mergeable(p, n->in[0]) || !mergeable(p, n->in[1]))
        return;
    int keep = plan->accum_of[n->in[0]], drop = plan->accum_of[n->in[1]];
    if (plan->accums[keep].p_axis != plan->accums[drop].p_axis) return;
    if (plan->accums[keep].q_axis != plan->accums[drop].q_axis) return;
    if (keep > drop) {
        int swap = keep;
        keep = drop;
        drop = swap;
    }
    for (int i = 0; i < p->g->n_nodes; i++) {
        if (plan->accum_of[i] == drop) plan->accum_of[i] = keep;
        if (plan->accum_of[i] > drop) plan->accum_of[i]--;
    }
    for (int a = drop; a + 1 < plan->n_accums; a++) plan->accums[a] = plan->accums[a + 1];
    plan->n_accums--;
    plan->accum_of[index] = keep;
    plan->accums[keep].value = index;
}

static void plan_accums(planner *p)
{
    mo_stream_plan *plan = p->plan;
    plan->accums = MO_NEW_ARRAY(p->arena, mo_accum, p->g->n_nodes);
    plan->accum_of = MO_NEW_ARRAY(p->arena, int, p->g->n_nodes);
    for (int i = 0; i < p->g->n_nodes; i++) plan->accum_of[i] = -1;
    for (int i = 0; i < p->g->n_nodes; i++) {
        const mo_prim_node *n = &p->g->nodes[i];
        if (n->op == MO_OP_MATMUL) {
            int inner = mo_axes_first(n->reduced);
            mo_accum accum = {.value = i, .p_axis = -1, .q_axis = -1};
            for (int j = 0; j < 2; j++) {
                int axis = mo_stream_tile_axis(p->kernel, p->g->nodes[n->in[j]].axes, inner);
                mo_side side = plan->roles.side[n->in[j]];
                *(side == MO_SIDE_P ? &accum.p_axis : &accum.q_axis) = axis;
            }
            accum.p_size = padded(p, accum.p_axis, MO_SIDE_P);
            accum.q_size = padded(p, accum.q_axis, MO_SIDE_Q);
            accum.stride = mo_layout_exchange(accum.p_size, false, p->context->off);
            plan->accum_of[i] = plan->n_accums;
            plan->accums[plan->n_accums++] = accum;
        }
        merge_sum(p, i);
    }
}

static void plan_stats(planner *p)
{
    mo_stream_plan *plan = p->plan;
    plan->stats = MO_NEW_ARRAY(p->arena, mo_stat, p->g->n_nodes);
    for (int i = 0; i < p->g->n_nodes; i++) {
        if (plan->roles.role[i] != MO_ROLE_STAT) continue;
        mo_stat stat = {.node = i, .side = plan->roles.side[i]};
        stat.axis = mo_stream_tile_axis(p->kernel, p->g->nodes[i].axes, -1);
        stat.size = padded(p, stat.axis, stat.side);
        plan->stats[plan->n_stats++] = stat;
    }
}

/* Intermediate tiles: operands of products over a whole axis that are made from accumulated values. */
static void plan_between(planner *p)
{
    mo_stream_plan *plan = p->plan;
    plan->between = MO_NEW_ARRAY(p->arena, mo_tile, p->g->n_nodes);
    for (int i = 0; i < p->g->n_nodes; i++) {
        if (plan->roles.role[i] != MO_ROLE_ACCUM2) continue;
        const mo_prim_node *n = &p->g->nodes[i];
        int operand = n->in[plan->roles.late[n->in[0]] ? 0 : 1];
        bool known = false;
        for (int b = 0; b < plan->n_between; b++) known |= plan->between[b].node == operand;
        if (known) continue;
        mo_tile tile = {
            .node = operand, .inner = mo_axes_first(n->reduced), .side = plan->roles.side[operand]};
        tile.axis = mo_stream_tile_axis(p->kernel, p->g->nodes[operand].axes, tile.inner);
        tile.dtype = plan->roles.mma ? plan->roles.mma_dtype : MO_F32;
        tile.rows = padded(p, tile.axis, tile.side);
        tile.cols = inner_size(p, tile.inner);
        lay(p, &tile);
        plan->between[plan->n_between++] = tile;
    }
}

/* Marks what an output needs, down to accumulated values. */
static void mark_at_end(planner *p)
{
    mo_stream_plan *plan = p->plan;
    plan->at_end = MO_NEW_ARRAY(p->arena, bool, p->g->n_nodes);
    for (int s = 0; s < p->g->n_savers; s++) plan->at_end[p->g->savers[s].node] = true;
    for (int i = p->g->n_nodes - 1; i >= 0; i--) {
        const mo_prim_node *n = &p->g->nodes[i];
        if (!plan->at_end[i] || mo_stream_plan_accumulated(plan, i)) continue;
        for (int j = 0; j < n->n_in; j++) plan->at_end[n->in[j]] = true;
    }
}

static bool depends_on(const mo_prim *g, int node, int on)
{
    if (node <= on) return node == on;
    for (int j = 0; j < g->nodes[node].n_in; j++)
        if (depends_on(g, g->nodes[node].in[j], on)) return true;
    return false;
}

static void mark_early(planner *p)
{
    mo_stream_plan *plan = p->plan;
    for (int a = 0; a < plan->n_accums; a++)
        for (int b = 0; b < plan->n_between; b++)
            plan->accums[a].early |= depends_on(p->g, plan->between[b].node, plan->accums[a].value);
}

static int bytes_of(const planner *p, mo_step step)
{
    const mo_stream_plan *plan = p->plan;
    int64_t groups = p->kernel->schedule.groups;
    switch (step.kind) {
    case MO_STEP_STAT: return (int)(groups * plan->stats[step.index].size * 4);
    case MO_STEP_ACCUM:
        return (int)(groups * plan->accums[step.index].q_size * plan->accums[step.index].stride * 4);
    case MO_STEP_BETWEEN: return tile_bytes(&plan->between[step.index]);
    case MO_STEP_POST: return plan->posts[step.index].p_size * plan->posts[step.index].q_size * 4;
    case MO_STEP_PRODUCT:
    case MO_STEP_SAVE: break;
    }
    return 0;
}

/* The last depth at which what a step leaves in memory is read; one block of a pair may be behind the other
 * by the barriers that are not the pair's. */
static int last_read(const planner *p, mo_step step, int end)
{
    const mo_stream_plan *plan = p->plan;
    if (step.kind == MO_STEP_BETWEEN) return step.depth + 1;
    if (step.kind != MO_STEP_ACCUM || plan->at_end[plan->accums[step.index].value]) return end;
    return step.depth + (p->kernel->schedule.cluster > 1 ? 2 : 1);
}

static void set_offset(mo_stream_plan *plan, mo_step step, int offset)
{
    switch (step.kind) {
    case MO_STEP_STAT: plan->stats[step.index].offset = offset; return;
    case MO_STEP_ACCUM: plan->accums[step.index].offset = offset; return;
    case MO_STEP_BETWEEN: plan->between[step.index].offset = offset; return;
    case MO_STEP_POST: plan->posts[step.index].offset = offset; return;
    case MO_STEP_PRODUCT:
    case MO_STEP_SAVE: return;
    }
}

/* A tile as the matrix units read it: panels of 64 elements, swizzled by 128 bytes. */
static bool is_wgmma_tile(const mo_stream_plan *plan, int node)
{
    for (int i = 0; i < plan->n_tiles; i++)
        if (plan->tiles[i].node == node)
            return plan->tiles[i].copy == MO_TILE_BOX && plan->tiles[i].panel == 64 &&
                   plan->tiles[i].swizzle == 128;
    return false;
}

static const char *check_wgmma(const planner *p)
{
    const mo_stream_plan *plan = p->plan;
    if (!plan->roles.mma) return "warp-group products of other types than f16 and bf16";
    for (int i = 0; i < p->g->n_nodes; i++) {
        if (plan->roles.role[i] != MO_ROLE_ACCUM) continue;
        const mo_prim_node *n = &p->g->nodes[i];
        const mo_accum *accum = &plan->accums[plan->accum_of[i]];
        if (!is_wgmma_tile(plan, n->in[0]) || !is_wgmma_tile(plan, n->in[1]))
            return "a warp-group product of an operand that is no swizzled box";
        if (accum->p_axis < 0 || accum->q_axis < 0 || accum->p_size % (16 * p->kernel->schedule.warps_p) != 0)
            return "a warp-group product of less than 64 rows for each warp group";
        if (accum->q_size != 64 && accum->q_size != 128)
            return "a warp-group product of neither 64 nor 128 columns";
    }
    return NULL;
}

/* What a block that shares the loop with others leaves for the last one: the first part of each array. */
static void place_parts(mo_stream_plan *plan)
{
    for (int i = 0; i < plan->n_stats; i++) plan->part_floats += plan->stats[i].size;
    for (int i = 0; i < plan->n_accums; i++)
        plan->part_floats += plan->accums[i].q_size * plan->accums[i].stride;
}

/* Offsets behind the resident tiles. Those are alive from the start to the last product; what is alive behind
 * that was so at its barrier, too, and cannot use their bytes. */
static void place_work(planner *p)
{
    mo_stream_plan *plan = p->plan;
    mo_buffer *buffers = MO_NEW_ARRAY(p->arena, mo_buffer, plan->n_steps + 1);
    int count = 0, end = plan->steps[plan->n_steps - 1].depth;
    buffers[count++] = (mo_buffer){.bytes = plan->ring_bytes, .first = -1, .last = -1};
    for (int i = 0; i < plan->n_steps; i++) {
        mo_step step = plan->steps[i];
        if (bytes_of(p, step) == 0) continue;
        buffers[count++] =
            (mo_buffer){.bytes = bytes_of(p, step), .first = step.depth, .last = last_read(p, step, end)};
    }
    plan->work_bytes = mo_memory_place(buffers, count, p->context->off);
    count = 1;
    for (int i = 0; i < plan->n_steps; i++)
        if (bytes_of(p, plan->steps[i]) > 0) set_offset(plan, plan->steps[i], buffers[count++].offset);
}

static const char *check_schedule(const planner *p)
{
    const mo_schedule *s = &p->kernel->schedule;
    for (int i = 0; i < 2; i++) {
        int axis = i == 0 ? s->p_axis : s->q_axis, unit = i == 0 ? 16 : 8;
        if (axis >= 0 && s->tile[axis] % unit != 0 && s->tile[axis] != p->g->axes[axis].extent)
            return "tile not a multiple of the fragment";
    }
    if (s->groups > 15 && s->warps_p * s->warps_q > 1) return "more groups than named barriers";
    return NULL;
}

const char *mo_stream_plan_make(mo_arena *arena, const mo_plan_context *context, const mo_kernel *kernel,
                                int shared_limit, mo_stream_plan *plan)
{
    planner p = {.arena = arena, .context = context, .kernel = kernel, .g = kernel->body, .plan = plan};
    const mo_schedule *s = &kernel->schedule;
    *plan = (mo_stream_plan){0};
    const char *wrong = mo_stream_analyse(arena, kernel, &plan->roles);
    if (wrong == NULL) wrong = check_schedule(&p);
    if (wrong != NULL) return wrong;
    int64_t extent = p.g->axes[s->loop_axis].extent;
    plan->slab = round_up(s->tile[s->loop_axis], 16);
    plan->slabs = (int)((extent + plan->slab - 1) / plan->slab);
    int sharing = s->groups * s->cluster * s->parts;
    plan->iterations = (plan->slabs + sharing - 1) / sharing;
    plan_tiles(&p);
    plan_accums(&p);
    plan_stats(&p);
    plan_between(&p);
    mark_at_end(&p);
    mark_early(&p);
    mo_threads_posts(arena, kernel, context->off, plan);
    mo_schedule_tail(arena, kernel, context->off, plan);
    plan->ring_bytes = plan->stage_bytes * s->stages * s->groups;
    place_work(&p);
    plan->barrier_offset = round_up(plan->resident_bytes + plan->work_bytes, 8);
    place_parts(plan);
    plan->last_offset = plan->barrier_offset + (plan->n_boxes > 0 ? 8 * s->stages * s->groups : 0);
    plan->shared_bytes = plan->last_offset + (s->parts > 1 ? 8 : 0);
    if (s->parts > 1 && plan->n_between > 0)
        return "a loop shared by blocks in front of products over whole axes";
    if (s->copy != MO_COPY_ASYNC && plan->n_boxes == 0) return "no tile that a tensor copy could fill";
    if (s->copy == MO_COPY_DIRECT && plan->n_direct == 0) return "no operand that registers could take";
    wrong = s->wgmma ? check_wgmma(&p) : NULL;
    if (wrong != NULL) return wrong;
    return plan->shared_bytes <= shared_limit ? NULL : "more shared memory than a block has";
}

bool mo_stream_plan_accumulated(const mo_stream_plan *plan, int node)
{
    int accum = plan->accum_of[node];
    return plan->roles.role[node] == MO_ROLE_STAT || (accum >= 0 && plan->accums[accum].value == node);
}
