#include "optimize/threads.h"

#include "optimize/layout.h"
#include "optimize/stream_plan.h"

#define MOST_ROW_FLOATS 64      /* of a resident row in each thread, all iterators together */
#define MOST_BLOCK_FLOATS 32768 /* of all resident rows of a block: half of the registers */

bool mo_threads_resident(const mo_prim *g, const mo_schedule *s, mo_passes off)
{
    if (off & MO_PASS_THREADS) return false;
    bool divided = s->place[s->row_axis] == MO_PLACE_GRID;
    int64_t chunk = (int64_t)s->lanes * s->vector;
    int64_t extent = divided ? s->tile[s->row_axis] : g->axes[s->row_axis].extent;
    int64_t per_thread = (extent + chunk - 1) / chunk * s->vector;
    int iterators = 0;
    for (int i = 0; i < g->n_nodes; i++)
        iterators += g->nodes[i].op == MO_OP_ITER && g->nodes[i].axes >> s->row_axis & 1u;
    int64_t floats = per_thread * iterators;
    return floats <= MOST_ROW_FLOATS && floats * s->threads <= MOST_BLOCK_FLOATS;
}

static bool on_grid(const mo_kernel *kernel, mo_axes axes)
{
    MO_FOR_AXES(a, axes)
        if (kernel->schedule.place[a] != MO_PLACE_GRID) return false;
    return true;
}

/* An axis of the value on one side of the tile, and how many elements of it a block has. */
static int side_of(const mo_kernel *kernel, mo_axes axes, int axis, int *size)
{
    bool has = axis >= 0 && axes >> axis & 1u;
    *size = has ? (int)kernel->schedule.tile[axis] : 1;
    return has ? axis : -1;
}

void mo_threads_posts(mo_arena *arena, const mo_kernel *kernel, mo_passes off, mo_stream_plan *plan)
{
    const mo_prim *g = kernel->body;
    plan->posts = MO_NEW_ARRAY(arena, mo_post, g->n_nodes);
    if (!(off & MO_PASS_THREADS)) return;
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_prim_node *n = &g->nodes[i];
        if (!plan->at_end[i] || !mo_op_is_pointwise(n->op) || mo_stream_plan_accumulated(plan, i)) continue;
        if (!on_grid(kernel, n->axes)) continue;
        mo_post post = {.node = i};
        post.p_axis = side_of(kernel, n->axes, kernel->schedule.p_axis, &post.p_size);
        post.q_axis = side_of(kernel, n->axes, kernel->schedule.q_axis, &post.q_size);
        plan->posts[plan->n_posts++] = post;
    }
}
