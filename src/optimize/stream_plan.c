#include "optimize/stream_plan.h"

#include "base/status.h"
#include "optimize/direct.h"

typedef struct {
    mo_arena *arena;
    const mo_plan_tensors *tensors;
    const mo_kernel *kernel;
    const mo_prim *g;
    mo_stream_plan *plan;
    const char *wrong;
} planner;

mo_plan_tensors mo_plan_tensors_of(mo_arena *arena, const mo_mugraph *graph)
{
    mo_dtype *dtype = MO_NEW_ARRAY(arena, mo_dtype, graph->n_tensors + 1);
    int64_t *offset = MO_NEW_ARRAY(arena, int64_t, graph->n_tensors + 1);
    for (int t = 0; t < graph->n_tensors; t++) {
        dtype[t] = graph->tensors[t].dtype;
        offset[t] = graph->tensors[t].offset;
    }
    return (mo_plan_tensors){dtype, offset};
}

static int64_t offset_of(const planner *p, const mo_prim_node *node)
{
    return p->tensors->offset == NULL ? 0 : p->tensors->offset[node->access.tensor];
}

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

/* Elements per row so that the row is an odd number of 16-byte chunks: no bank conflicts in ldmatrix. Where
 * the lanes of a quad read f32 elements of four rows, it is twice an odd number. */
static int padded_stride(const planner *p, const mo_tile *tile)
{
    int per_chunk = 16 / mo_dtype_size(tile->dtype);
    int chunks = (tile->cols + per_chunk - 1) / per_chunk;
    bool across = tile->dtype == MO_F32 && tile->inner_rows && !p->plan->roles.mma;
    return (across ? (chunks + 1) / 4 * 4 + 2 : chunks | 1) * per_chunk;
}

static bool used_as_operand(const planner *p, int node)
{
    for (int i = 0; i < p->g->n_nodes; i++) {
        const mo_prim_node *n = &p->g->nodes[i];
        if (n->op == MO_OP_MATMUL && (n->in[0] == node || n->in[1] == node)) return true;
    }
    return false;
}

/* Largest copy whose size divides every stride and extent involved. */
static void choose_copy(mo_tile *tile, const mo_prim_node *node, int64_t contiguous_extent, int64_t offset)
{
    int size = mo_dtype_size(tile->dtype);
    tile->copy = MO_TILE_SCALAR;
    tile->chunk = 1;
    if (tile->col_step != 1) return;
    for (int chunk = 16 / size; chunk * size >= 4; chunk /= 2) {
        bool fits = contiguous_extent % chunk == 0 && tile->row_step % chunk == 0 && tile->cols % chunk == 0;
        fits &= offset % chunk == 0;
        int contiguous = tile->inner_rows ? tile->axis : tile->inner;
        MO_FOR_AXES(a, node->axes)
            if (a != contiguous && node->access.stride[a] % chunk != 0) fits = false;
        if (!fits) continue;
        tile->copy = MO_TILE_CHUNKS;
        tile->chunk = chunk;
        return;
    }
}

/* Columns of a panel and the swizzle, so that the 8 rows of an ldmatrix phase lie in different banks (rows of
 * 96 and 160 bytes: two at a time in the same ones, still better than narrower boxes). */
static void choose_panel(mo_tile *tile)
{
    enum { BYTES = 2 };
    static const int widths[] = {64, 32, 16};
    tile->panel = tile->cols;
    tile->swizzle = 0;
    if (tile->cols / 8 % 2 == 1 || tile->cols == 48 || tile->cols == 80) return;
    for (int i = 0; i < 3; i++) {
        if (tile->cols % widths[i] != 0) continue;
        tile->panel = widths[i];
        tile->swizzle = widths[i] * BYTES;
        return;
    }
}

/* Can the tensor copy engine fill the tile? Strides and the start of the tensor are multiples of 16 bytes, a
 * box has at most 256 rows, and there is one coordinate for a third axis. */
static void choose_box(const planner *p, mo_tile *tile)
{
    enum { UNIT = 8, MOST_ROWS = 256 };
    const mo_prim_node *node = &p->g->nodes[tile->node];
    bool fits = p->plan->roles.mma && mo_dtype_size(tile->dtype) == 2 && tile->col_step == 1;
    fits &= tile->row_step % UNIT == 0 && offset_of(p, node) % UNIT == 0;
    fits &= tile->cols % UNIT == 0 && tile->rows <= MOST_ROWS && tile->rows % UNIT == 0;
    fits &= tile->row_step > 0 || tile->axis < 0;
    tile->batch_axis = -1;
    MO_FOR_AXES(a, node->axes) {
        if (a == tile->axis || a == tile->inner || node->access.stride[a] == 0) continue;
        fits &= tile->batch_axis < 0 && node->access.stride[a] % UNIT == 0;
        tile->batch_axis = a;
    }
    if (!fits) return;
    tile->copy = MO_TILE_BOX;
    choose_panel(tile);
    tile->stride = tile->panel;
}

static mo_tile plan_tile(planner *p, int index, int inner)
{
    const mo_prim_node *node = &p->g->nodes[index];
    mo_tile tile = {.node = index, .inner = inner, .side = p->plan->roles.side[index]};
    tile.axis = mo_stream_tile_axis(p->kernel, node->axes, inner);
    tile.dtype = p->tensors->dtype[node->access.tensor];
    int64_t inner_step = node->access.stride[inner],
            axis_step = tile.axis < 0 ? 0 : node->access.stride[tile.axis];
    int across = tile.axis < 0 && !used_as_operand(p, index) ? 1 : padded(p, tile.axis, tile.side);
    tile.inner_rows = tile.axis >= 0 && axis_step == 1 && inner_step != 1;
    tile.rows = tile.inner_rows ? inner_size(p, inner) : across;
    tile.cols = tile.inner_rows ? across : inner_size(p, inner);
    tile.row_step = tile.inner_rows ? inner_step : axis_step;
    tile.col_step = tile.inner_rows ? axis_step : inner_step;
    tile.stride = padded_stride(p, &tile);
    choose_copy(&tile, node, p->g->axes[tile.inner_rows ? tile.axis : inner].extent,
                offset_of(p, node));
    if (p->kernel->schedule.copy != MO_COPY_ASYNC && inner == p->kernel->schedule.loop_axis)
        choose_box(p, &tile);
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
    if (p->kernel->schedule.copy == MO_COPY_DIRECT) mo_stream_make_direct(p->tensors, p->kernel, plan);
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
        tile.stride = padded_stride(p, &tile);
        plan->between[plan->n_between++] = tile;
    }
}

static void place_tail(planner *p)
{
    mo_stream_plan *plan = p->plan;
    int groups = p->kernel->schedule.groups;
    for (int i = 0; i < plan->n_stats; i++) {
        plan->stats[i].offset = plan->tail_bytes;
        plan->tail_bytes += round_up((int64_t)groups * plan->stats[i].size * 4, 128);
    }
    for (int i = 0; i < plan->n_between; i++) {
        plan->between[i].offset = plan->tail_bytes;
        plan->tail_bytes += tile_bytes(&plan->between[i]);
    }
    for (int i = 0; i < plan->n_accums; i++) {
        mo_accum *accum = &plan->accums[i];
        accum->stride = accum->p_size + 4;
        accum->offset = plan->tail_bytes;
        plan->tail_bytes += round_up((int64_t)groups * accum->q_size * accum->stride * 4, 128);
    }
}

/* A tile as the matrix units read it: panels of 64 elements, swizzled by 128 bytes. */
static bool is_wgmma_tile(const mo_stream_plan *plan, int node)
{
    for (int i = 0; i < plan->n_tiles; i++)
        if (plan->tiles[i].node == node)
            return plan->tiles[i].copy == MO_TILE_BOX && plan->tiles[i].panel == 64 && plan->tiles[i].swizzle == 128;
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
        if (accum->q_size != 64 && accum->q_size != 128) return "a warp-group product of neither 64 nor 128 columns";
    }
    return NULL;
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

const char *mo_stream_plan_make(mo_arena *arena, const mo_plan_tensors *tensors, const mo_kernel *kernel,
                                int shared_limit, mo_stream_plan *plan)
{
    planner p = {.arena = arena, .tensors = tensors, .kernel = kernel, .g = kernel->body, .plan = plan};
    const mo_schedule *s = &kernel->schedule;
    *plan = (mo_stream_plan){0};
    const char *wrong = mo_stream_analyse(arena, kernel, &plan->roles);
    if (wrong == NULL) wrong = check_schedule(&p);
    if (wrong != NULL) return wrong;
    int64_t extent = p.g->axes[s->loop_axis].extent;
    plan->slab = round_up(s->tile[s->loop_axis], 16);
    plan->slabs = (int)((extent + plan->slab - 1) / plan->slab);
    plan->iterations = (plan->slabs + s->groups * s->cluster - 1) / (s->groups * s->cluster);
    plan_tiles(&p);
    plan_accums(&p);
    plan_stats(&p);
    plan_between(&p);
    place_tail(&p);
    plan->ring_bytes = plan->stage_bytes * s->stages * s->groups;
    int work = plan->ring_bytes > plan->tail_bytes ? plan->ring_bytes : plan->tail_bytes;
    plan->barrier_offset = round_up(plan->resident_bytes + work, 8);
    plan->shared_bytes = plan->barrier_offset + (plan->n_boxes > 0 ? 8 * s->stages * s->groups : 0);
    if (s->copy != MO_COPY_ASYNC && plan->n_boxes == 0) return "no tile that a tensor copy could fill";
    if (s->copy == MO_COPY_DIRECT && plan->n_direct == 0) return "no operand that registers could take";
    if (plan->n_boxes == 0 && s->stages < 2) return "a ring of one slab";
    wrong = s->wgmma ? check_wgmma(&p) : NULL;
    if (wrong != NULL) return wrong;
    return plan->shared_bytes <= shared_limit ? NULL : "more shared memory than a block has";
}
