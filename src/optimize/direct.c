#include "optimize/direct.h"

#define LOAD 8       /* elements of 16 bits in one load */
#define GROUP 32     /* elements of the loop axis that share a load of each lane */
#define MOST_LOADS 8 /* of a lane for one slab: four registers each, twice */

static mo_tile *tile_of(mo_stream_plan *plan, int node)
{
    for (int i = 0; i < plan->n_tiles; i++)
        if (plan->tiles[i].node == node) return &plan->tiles[i];
    return NULL;
}

static bool depends_on(const mo_prim *g, int node, int on)
{
    if (node == on) return true;
    for (int j = 0; j < g->nodes[node].n_in; j++)
        if (depends_on(g, g->nodes[node].in[j], on)) return true;
    return false;
}

/* Is `iterator` the only streamed value that `node` depends on, and the place of an element unimportant? */
static bool alone_in(const mo_prim *g, const mo_stream_plan *plan, int node, int iterator)
{
    const mo_prim_node *n = &g->nodes[node];
    if (n->op == MO_OP_MASK) return false;
    if (n->op == MO_OP_ITER) return node == iterator || plan->roles.role[node] != MO_ROLE_LOOP;
    for (int j = 0; j < n->n_in; j++)
        if (!alone_in(g, plan, n->in[j], iterator)) return false;
    return true;
}

/* Every use is as a whole operand of a product, or in a statistic of nothing else. */
static bool used_plainly(const mo_prim *g, const mo_stream_plan *plan, int iterator)
{
    for (int i = iterator + 1; i < g->n_nodes; i++) {
        const mo_prim_node *n = &g->nodes[i];
        mo_stream_role role = plan->roles.role[i];
        if (role == MO_ROLE_STAT && depends_on(g, i, iterator) && !alone_in(g, plan, i, iterator))
            return false;
        if (role != MO_ROLE_ACCUM) continue;
        for (int j = 0; j < 2; j++)
            if (n->in[j] != iterator && depends_on(g, n->in[j], iterator)) return false;
    }
    return true;
}

static bool aligned(const mo_plan_context *context, const mo_kernel *kernel, const mo_tile *tile)
{
    const mo_prim_node *n = &kernel->body->nodes[tile->node];
    bool ok = mo_plan_offset(context, n->access.tensor) % LOAD == 0 && n->access.stride[tile->inner] == 1;
    MO_FOR_AXES(a, n->axes)
        if (a != tile->inner) ok &= n->access.stride[a] % LOAD == 0;
    return ok && mo_dtype_size(tile->dtype) == 2;
}

static bool few_loads(const mo_kernel *kernel, const mo_stream_plan *plan, const mo_tile *tile)
{
    int rows = tile->inner_rows ? tile->cols : tile->rows, warps = kernel->schedule.warps_q;
    return (rows / 8 + warps - 1) / warps * (plan->slab / GROUP) <= MOST_LOADS;
}

/* The 8-side operand of this product, if it can be direct. */
static mo_tile *candidate(const mo_plan_context *context, const mo_kernel *kernel, mo_stream_plan *plan,
                          int product)
{
    const mo_prim *g = kernel->body;
    const mo_prim_node *n = &g->nodes[product];
    int at = plan->roles.side[n->in[0]] == MO_SIDE_Q ? 0 : 1;
    mo_tile *q = tile_of(plan, n->in[at]), *p = tile_of(plan, n->in[1 - at]);
    if (p == NULL || q == NULL || n->in[0] == n->in[1]) return NULL;
    if (p->copy != MO_TILE_BOX || !p->inner_rows || q->inner_rows) return NULL;
    if (!aligned(context, kernel, q) || !few_loads(kernel, plan, q)) return NULL;
    return used_plainly(g, plan, q->node) ? q : NULL;
}

void mo_stream_make_direct(const mo_plan_context *context, const mo_kernel *kernel, mo_stream_plan *plan)
{
    const mo_prim *g = kernel->body;
    int64_t extent = g->axes[kernel->schedule.loop_axis].extent;
    if (!plan->roles.mma || plan->slab % GROUP != 0 || extent % plan->slab != 0) return;
    for (int i = 0; i < g->n_nodes; i++)
        if (plan->roles.role[i] == MO_ROLE_ACCUM && candidate(context, kernel, plan, i) == NULL) return;
    for (int i = 0; i < g->n_nodes; i++) {
        if (plan->roles.role[i] != MO_ROLE_ACCUM) continue;
        mo_tile *tile = candidate(context, kernel, plan, i);
        tile->copy = MO_TILE_DIRECT;
    }
}
