#include "ir/chain.h"

#define MOST_BLOCKS_YZ 65535

typedef struct {
    const mo_kernel *kernel;
    const mo_prim *g;
    mo_chain *chain;
    mo_axes p, q, k;
    bool *late; /* depends on an accumulator */
    bool first; /* no product seen yet */
} analysis;

static mo_axes axis_mask(int axis)
{
    return axis < 0 ? 0 : 1u << axis;
}

mo_axes mo_chain_tile_axes(const mo_kernel *kernel, mo_axes axes)
{
    mo_axes tile = 0;
    const mo_schedule *s = &kernel->schedule;
    MO_FOR_AXES(a, axes)
        if (a == s->p_axis || a == s->q_axis || s->place[a] != MO_PLACE_GRID) tile |= 1u << a;
    return tile;
}

static mo_axes tile_axes(const analysis *a, int node)
{
    return mo_chain_tile_axes(a->kernel, a->g->nodes[node].axes);
}

int mo_chain_shift(const mo_prim *g, const mo_chain *chain, int node)
{
    const mo_prim_node *n = &g->nodes[node];
    if (n->op != MO_OP_EXP || g->nodes[n->in[0]].op != MO_OP_SUB) return -1;
    int shift = g->nodes[n->in[0]].in[1];
    return chain->block.running[node] == shift ? shift : -1;
}

bool mo_chain_grid(const mo_kernel *kernel, int64_t grid[3])
{
    const mo_schedule *s = &kernel->schedule;
    const mo_prim *g = kernel->body;
    mo_axes used = 0;
    for (int i = 0; i < g->n_nodes; i++) used |= g->nodes[i].axes;
    grid[0] = grid[1] = 1;
    if (s->q_axis >= 0) grid[0] = (g->axes[s->q_axis].extent + s->tile[s->q_axis] - 1) / s->tile[s->q_axis];
    if (s->p_axis >= 0) grid[1] = (g->axes[s->p_axis].extent + s->tile[s->p_axis] - 1) / s->tile[s->p_axis];
    grid[2] = mo_prim_extent(g, used & ~mo_chain_tile_axes(kernel, used));
    return grid[1] <= MOST_BLOCKS_YZ && grid[2] <= MOST_BLOCKS_YZ;
}

/* An operand that is read from memory as it is, in the 16 bits of the matrix units. */
static bool is_tile(analysis *a, int node, mo_axes axes)
{
    const mo_prim_node *n = &a->g->nodes[node];
    if (n->op != MO_OP_ITER || tile_axes(a, node) != axes || n->dtype != a->chain->mma_dtype) return false;
    a->chain->shared[node] = true;
    a->chain->role[node] = MO_CHAIN_TILE;
    return true;
}

/* Does everything below a value of {k, d} come from tiles of these axes? They become shared. */
static bool comes_from_tiles(analysis *a, int node, mo_axes axes)
{
    const mo_prim_node *n = &a->g->nodes[node];
    if (n->op == MO_OP_CONST) return true;
    if (tile_axes(a, node) != axes || n->reduced != 0) return false;
    if (n->op == MO_OP_ITER) {
        a->chain->shared[node] = true;
        a->chain->role[node] = MO_CHAIN_TILE;
        return true;
    }
    for (int j = 0; j < n->n_in; j++)
        if (!comes_from_tiles(a, n->in[j], axes)) return false;
    return true;
}

static bool first_dtype(analysis *a, const mo_prim_node *n)
{
    mo_dtype x = a->g->nodes[n->in[0]].compute, y = a->g->nodes[n->in[1]].compute;
    if (a->first) a->chain->mma_dtype = x;
    a->first = false;
    return x == y && x != MO_F32 && x == a->chain->mma_dtype;
}

static const char *visit_product(analysis *a, int i)
{
    const mo_prim_node *n = &a->g->nodes[i];
    mo_axes r = n->reduced;
    if (mo_axes_count(r) != 1) return "a product over several axes";
    if (!first_dtype(a, n)) return "a product that does not run on the matrix units";
    for (int side = 0; side < 2; side++) {
        int x = n->in[side], y = n->in[1 - side];
        if (r == a->k) {
            if (a->chain->role[x] != MO_CHAIN_SCORE || !is_tile(a, y, a->k | a->q)) continue;
            a->chain->role[i] = MO_CHAIN_ACCUM;
            return a->q == 0 ? "an accumulator without columns" : NULL;
        }
        if (!is_tile(a, x, a->p | r) || !is_tile(a, y, a->k | r)) continue;
        a->chain->role[i] = MO_CHAIN_SCORE;
        return NULL;
    }
    return "a product of values that are not where it needs them";
}

static const char *visit_reduction(analysis *a, int i)
{
    const mo_prim_node *n = &a->g->nodes[i];
    int x = n->in[0];
    if (n->reduced == a->k) {
        a->chain->role[i] = MO_CHAIN_STAT;
        return a->chain->role[x] == MO_CHAIN_SCORE ? NULL : "a statistic of something else than scores";
    }
    if (mo_axes_count(n->reduced) != 1) return "a reduction over several axes";
    if (a->late[x]) return "a reduction behind the loop";
    if (tile_axes(a, x) == (a->k | n->reduced) && comes_from_tiles(a, x, a->k | n->reduced)) {
        a->chain->role[i] = MO_CHAIN_COLUMN;
        return NULL;
    }
    if ((tile_axes(a, x) & ~(a->p | n->reduced)) != 0) return "a reduction of something else than rows";
    a->chain->role[i] = MO_CHAIN_ROW;
    return NULL;
}

static const char *visit_elementwise(analysis *a, int i)
{
    mo_axes axes = tile_axes(a, i);
    if (a->late[i]) {
        a->chain->role[i] = MO_CHAIN_POST;
        return axes & ~(a->p | a->q) ? "a value over an axis that is no output's" : NULL;
    }
    if ((axes & ~a->p) == 0)
        a->chain->role[i] = MO_CHAIN_ROW;
    else if (axes == a->k)
        a->chain->role[i] = MO_CHAIN_COLUMN;
    else if (axes == (a->p | a->k))
        a->chain->role[i] = MO_CHAIN_SCORE;
    else
        a->chain->role[i] = (axes & ~(a->p | a->q)) == 0 ? MO_CHAIN_POST : MO_CHAIN_TILE;
    return NULL;
}

static bool is_shift_of(const analysis *a, int difference)
{
    for (int i = difference + 1; i < a->g->n_nodes; i++) {
        const mo_prim_node *n = &a->g->nodes[i];
        if (n->n_in > 0 && n->in[0] == difference && mo_chain_shift(a->g, a->chain, i) < 0) return false;
        if (n->n_in > 1 && n->in[1] == difference) return false;
    }
    return true;
}

static const char *visit(analysis *a, int i)
{
    const mo_prim_node *n = &a->g->nodes[i];
    bool with_loop = (n->axes & a->k) != 0;
    for (int j = 0; j < n->n_in; j++)
        a->late[i] |= a->late[n->in[j]] && mo_chain_shift(a->g, a->chain, i) < 0;
    bool difference =
        n->op == MO_OP_SUB && with_loop && is_shift_of(a, i); /* s - max s, only for its exponential */
    if (difference) a->late[i] = false;
    if (with_loop && a->late[i]) return "a value is needed before its loop has ended";
    const char *wrong = NULL;
    if (n->op == MO_OP_MATMUL)
        wrong = visit_product(a, i);
    else if (n->reduced != 0)
        wrong = visit_reduction(a, i);
    else
        wrong = visit_elementwise(a, i);
    if (n->reduced & a->k) a->late[i] = true;
    return wrong;
}

const char *mo_chain_analyse(mo_arena *arena, const mo_kernel *kernel, mo_chain *chain)
{
    const mo_prim *g = kernel->body;
    const mo_schedule *s = &kernel->schedule;
    const char *wrong = mo_block_analyse(arena, kernel, &chain->block);
    if (wrong != NULL) return wrong;
    if (s->loop_axis < 0 || s->p_axis < 0) return "no loop or no rows";
    if (chain->block.loops != 1) return "a value is needed before its loop has ended";
    analysis a = {.kernel = kernel, .g = g, .chain = chain, .first = true};
    a.p = axis_mask(s->p_axis);
    a.q = axis_mask(s->q_axis);
    a.k = axis_mask(s->loop_axis);
    a.late = MO_NEW_ARRAY(arena, bool, g->n_nodes);
    chain->role = MO_NEW_ARRAY(arena, mo_chain_role, g->n_nodes);
    chain->shared = MO_NEW_ARRAY(arena, bool, g->n_nodes);
    for (int i = 0; i < g->n_nodes; i++) {
        wrong = visit(&a, i);
        if (wrong != NULL) return wrong;
    }
    for (int i = 0; i < g->n_savers; i++) {
        mo_axes axes = tile_axes(&a, g->savers[i].node);
        if ((axes & ~(a.p | a.q)) != 0 || !(axes & a.p))
            return "an output over other axes than rows and columns";
    }
    return a.first ? "no product" : NULL;
}
