#include "optimize/chain_plan.h"

#include "optimize/layout.h"
#include "optimize/memory.h"

typedef struct {
    mo_arena *arena;
    const mo_plan_context *context;
    const mo_kernel *kernel;
    mo_chain_plan *plan;
} planner;

static int round_up(int64_t x, int unit)
{
    return (int)((x + unit - 1) / unit * unit);
}

/* Elements of an axis in shared memory, padded to fragments of 16. */
static int tile_size(const planner *p, int axis)
{
    const mo_schedule *s = &p->kernel->schedule;
    if (axis == s->p_axis) return p->plan->rows;
    return round_up(s->tile[axis], 16);
}

/* Largest copy whose size divides every stride and extent involved, in elements; 0: none. */
static int copy_chunk(const planner *p, const mo_chain_tile *tile)
{
    const mo_prim_node *n = &p->kernel->body->nodes[tile->node];
    int size = mo_dtype_size(p->context->dtype[n->access.tensor]);
    if (tile->col_step != 1) return 0;
    for (int chunk = 16 / size; chunk * size >= 4; chunk /= 2) {
        bool fits = p->kernel->body->axes[tile->col_axis].extent % chunk == 0;
        fits &= mo_plan_offset(p->context, n->access.tensor) % chunk == 0;
        MO_FOR_AXES(a, n->axes)
            if (a != tile->col_axis && n->access.stride[a] % chunk != 0) fits = false;
        if (fits) return chunk;
    }
    return 0;
}

static void plan_tile(planner *p, int node)
{
    const mo_prim_node *n = &p->kernel->body->nodes[node];
    mo_chain_plan *plan = p->plan;
    mo_chain_tile tile = {.node = node, .row_axis = -1, .col_axis = -1};
    MO_FOR_AXES(a, mo_chain_tile_axes(p->kernel, n->axes)) {
        bool inner = tile.col_axis < 0 || n->access.stride[a] < n->access.stride[tile.col_axis];
        if (inner) tile.row_axis = tile.col_axis;
        *(inner ? &tile.col_axis : &tile.row_axis) = a;
    }
    tile.rows = tile_size(p, tile.row_axis);
    tile.cols = tile_size(p, tile.col_axis);
    tile.row_step = n->access.stride[tile.row_axis];
    tile.col_step = n->access.stride[tile.col_axis];
    tile.streamed = n->axes >> p->kernel->schedule.loop_axis & 1u;
    mo_dtype dtype = p->context->dtype[n->access.tensor];
    tile.stride = mo_layout_choose(tile.cols, dtype, false, p->context->off).stride;
    tile.chunk = copy_chunk(p, &tile);
    int *total = tile.streamed ? &plan->stage_bytes : &plan->resident_bytes;
    tile.offset = *total;
    *total += round_up((int64_t)tile.rows * tile.stride * mo_dtype_size(dtype), 128);
    plan->tiles[plan->n_tiles++] = tile;
}

static void collect_parts(planner *p)
{
    mo_chain_plan *plan = p->plan;
    for (int i = 0; i < p->kernel->body->n_nodes; i++) {
        mo_chain_role role = plan->chain.role[i];
        bool row = role == MO_CHAIN_ROW && p->kernel->body->nodes[i].reduced != 0;
        if (role != MO_CHAIN_ACCUM && role != MO_CHAIN_STAT && !row) continue;
        int size = role == MO_CHAIN_ACCUM ? plan->rows * plan->column_stride : plan->rows;
        plan->parts[plan->n_parts++] = (mo_chain_part){.node = i, .size = size};
    }
}

/* Offsets of the parts beside each other, in the bytes of the ring, which has ended; returns what ring and
 * parts take. */
static int place_parts(planner *p)
{
    mo_chain_plan *plan = p->plan;
    const mo_schedule *s = &p->kernel->schedule;
    mo_buffer *buffers = MO_NEW_ARRAY(p->arena, mo_buffer, plan->n_parts + 1);
    buffers[0] = (mo_buffer){.bytes = plan->stage_bytes * s->stages * s->groups, .first = 0, .last = 0};
    for (int i = 0; i < plan->n_parts; i++) {
        bool row = plan->chain.role[plan->parts[i].node] == MO_CHAIN_ROW;
        buffers[i + 1] =
            (mo_buffer){.bytes = (row ? 1 : s->groups) * plan->parts[i].size * 4, .first = 1, .last = 1};
    }
    int peak = mo_memory_place(buffers, plan->n_parts + 1, p->context->off);
    for (int i = 0; i < plan->n_parts; i++) plan->parts[i].offset = buffers[i + 1].offset;
    return peak;
}

static const char *check(const planner *p)
{
    const mo_prim *g = p->kernel->body;
    const mo_schedule *s = &p->kernel->schedule;
    const mo_chain_plan *plan = p->plan;
    if (s->groups > 15 && s->warps_p > 1) return "more groups than named barriers";
    if (plan->rows % (16 * s->warps_p) != 0) return "rows that the warps cannot share";
    if (s->tile[s->loop_axis] % 16 != 0 && s->tile[s->loop_axis] != g->axes[s->loop_axis].extent)
        return "a slab that is no multiple of the fragment";
    if (s->q_axis >= 0 && s->tile[s->q_axis] % 8 != 0 && s->tile[s->q_axis] != g->axes[s->q_axis].extent)
        return "a tile that is no multiple of the fragment";
    for (int i = 0; i < plan->n_tiles; i++) {
        const mo_prim_node *n = &g->nodes[plan->tiles[i].node];
        if (p->context->dtype[n->access.tensor] != plan->chain.mma_dtype) return "an operand stored in f32";
        if (plan->tiles[i].row_step == plan->tiles[i].col_step)
            return "an operand that is the same along an axis";
    }
    return NULL;
}

const char *mo_chain_plan_make(mo_arena *arena, const mo_plan_context *context, const mo_kernel *kernel,
                               int shared_limit, mo_chain_plan *plan)
{
    planner p = {.arena = arena, .context = context, .kernel = kernel, .plan = plan};
    const mo_schedule *s = &kernel->schedule;
    const mo_prim *g = kernel->body;
    *plan = (mo_chain_plan){0};
    const char *wrong = mo_chain_analyse(arena, kernel, &plan->chain);
    if (wrong != NULL) return wrong;
    plan->rows = round_up(s->tile[s->p_axis], 16 * s->warps_p);
    plan->row_fragments = plan->rows / (16 * s->warps_p);
    plan->columns = s->q_axis < 0 ? 0 : round_up(s->tile[s->q_axis], 16);
    plan->column_stride = mo_layout_exchange(plan->columns, true, context->off);
    plan->slab = round_up(s->tile[s->loop_axis], 16);
    plan->slabs = (int)((g->axes[s->loop_axis].extent + plan->slab - 1) / plan->slab);
    plan->iterations = (plan->slabs + s->groups - 1) / s->groups;
    plan->tiles = MO_NEW_ARRAY(arena, mo_chain_tile, g->n_nodes);
    plan->parts = MO_NEW_ARRAY(arena, mo_chain_part, g->n_nodes);
    for (int i = 0; i < g->n_nodes; i++)
        if (plan->chain.shared[i]) plan_tile(&p, i);
    collect_parts(&p);
    plan->shared_bytes = plan->resident_bytes + place_parts(&p);
    wrong = check(&p);
    if (wrong != NULL) return wrong;
    return plan->shared_bytes > shared_limit ? "more shared memory than a block has" : NULL;
}

const mo_chain_tile *mo_chain_plan_tile(const mo_chain_plan *plan, int node)
{
    for (int i = 0; i < plan->n_tiles; i++)
        if (plan->tiles[i].node == node) return &plan->tiles[i];
    return NULL;
}

const mo_chain_part *mo_chain_plan_part(const mo_chain_plan *plan, int node)
{
    for (int i = 0; i < plan->n_parts; i++)
        if (plan->parts[i].node == node) return &plan->parts[i];
    return NULL;
}
