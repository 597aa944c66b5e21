#include "ir/stream.h"

#include <string.h>

#define MOST_BLOCKS_X 2147483647
#define MOST_BLOCKS_YZ 65535

static int64_t tiles_of(const mo_prim *body, const mo_schedule *s, int axis)
{
    return axis < 0 ? 1 : (body->axes[axis].extent + s->tile[axis] - 1) / s->tile[axis];
}

bool mo_stream_grid(const mo_prim *body, const mo_schedule *s, int64_t grid[3])
{
    mo_axes used = 0, batch = 0;
    for (int i = 0; i < body->n_nodes; i++) used |= body->nodes[i].axes;
    MO_FOR_AXES(a, used) {
        if (a != s->p_axis && a != s->q_axis && s->place[a] == MO_PLACE_GRID) batch |= 1u << a;
    }
    grid[0] = tiles_of(body, s, s->q_axis) * s->cluster * s->parts;
    grid[1] = tiles_of(body, s, s->p_axis);
    grid[2] = mo_prim_extent(body, batch);
    return grid[0] <= MOST_BLOCKS_X && grid[1] <= MOST_BLOCKS_YZ && grid[2] <= MOST_BLOCKS_YZ;
}

int mo_stream_tile_axis(const mo_kernel *kernel, mo_axes axes, int inner)
{
    const mo_schedule *s = &kernel->schedule;
    int found = -1;
    MO_FOR_AXES(a, axes) {
        if (a == inner || (s->place[a] == MO_PLACE_GRID && s->tile[a] == 1)) continue;
        if (found >= 0) return -2;
        found = a;
    }
    return found;
}

/* The side of a product's operand: that of its grid axis, or the one that the other operand leaves. */
static const char *product_sides(const mo_kernel *kernel, const mo_prim_node *product, mo_side sides[2])
{
    const mo_prim *g = kernel->body;
    int inner = mo_axes_first(product->reduced), axis[2];
    for (int i = 0; i < 2; i++) {
        mo_axes axes = g->nodes[product->in[i]].axes;
        if (!(axes >> inner & 1u)) return "a product's operand lacks the reduced axis";
        axis[i] = mo_stream_tile_axis(kernel, axes, inner);
        if (axis[i] == -2) return "a product's operand has more than one tile axis";
        sides[i] = MO_SIDE_NONE;
        if (axis[i] >= 0 && axis[i] == kernel->schedule.p_axis) sides[i] = MO_SIDE_P;
        if (axis[i] >= 0 && axis[i] == kernel->schedule.q_axis) sides[i] = MO_SIDE_Q;
    }
    if (axis[0] >= 0 && axis[0] == axis[1]) return "a product whose operands share their tile axis";
    if (sides[0] == MO_SIDE_NONE && sides[1] == MO_SIDE_NONE) sides[0] = axis[0] >= 0 ? MO_SIDE_P : MO_SIDE_Q;
    if (sides[0] == MO_SIDE_NONE) sides[0] = sides[1] == MO_SIDE_P ? MO_SIDE_Q : MO_SIDE_P;
    if (sides[1] == MO_SIDE_NONE) sides[1] = sides[0] == MO_SIDE_P ? MO_SIDE_Q : MO_SIDE_P;
    return sides[0] == sides[1] ? "both operands of a product on one side" : NULL;
}

/* Gives `node` and everything below it that has the inner axis the side and the role. */
static const char *mark(const mo_kernel *kernel, mo_stream *stream, int node, int inner, mo_side side,
                        mo_stream_role role)
{
    const mo_prim *g = kernel->body;
    memset(stream->pending, 0, sizeof *stream->pending * (size_t)g->n_nodes);
    stream->pending[node] = true;
    for (int i = node; i >= 0; i--) {
        const mo_prim_node *n = &g->nodes[i];
        if (!stream->pending[i] || !(n->axes >> inner & 1u)) continue;
        bool vector = mo_stream_tile_axis(kernel, n->axes, inner) == -1;
        if (stream->side[i] != MO_SIDE_NONE && stream->side[i] != side && !vector)
            return "one value on both sides of the mma";
        if (stream->side[i] == MO_SIDE_NONE) stream->side[i] = side;
        stream->role[i] = role;
        for (int j = 0; n->reduced == 0 && j < n->n_in; j++) stream->pending[n->in[j]] = true;
    }
    return NULL;
}

static const char *mark_product(const mo_kernel *kernel, mo_stream *stream, int index)
{
    const mo_prim *g = kernel->body;
    const mo_prim_node *node = &g->nodes[index];
    int inner = mo_axes_first(node->reduced);
    bool loop = inner == kernel->schedule.loop_axis;
    if (kernel->schedule.place[inner] == MO_PLACE_GRID) return "a reduction over a grid axis";
    mo_side sides[2];
    const char *wrong = product_sides(kernel, node, sides);
    stream->role[index] = loop ? MO_ROLE_ACCUM : MO_ROLE_ACCUM2;
    if (!loop && stream->late[node->in[0]] == stream->late[node->in[1]])
        return "a product over a whole axis needs one accumulated operand";
    for (int i = 0; i < 2 && wrong == NULL; i++) {
        bool late = stream->late[node->in[i]];
        if (loop && late) return "a value is needed before its loop has ended";
        mo_stream_role role = loop ? MO_ROLE_LOOP : late ? MO_ROLE_TILE : MO_ROLE_RESIDENT;
        if (role == MO_ROLE_TILE) {
            if (stream->role[node->in[i]] != MO_ROLE_POST && stream->role[node->in[i]] != MO_ROLE_ACCUM &&
                stream->role[node->in[i]] != MO_ROLE_TILE)
                return "a chain of products over whole axes";
            if (stream->side[node->in[i]] == MO_SIDE_NONE) stream->side[node->in[i]] = sides[i];
            if (stream->role[node->in[i]] == MO_ROLE_POST) stream->role[node->in[i]] = MO_ROLE_TILE;
        } else {
            wrong = mark(kernel, stream, node->in[i], inner, sides[i], role);
        }
        if (wrong == NULL && stream->side[node->in[i]] != sides[i])
            wrong = "one value on both sides of the mma";
    }
    return wrong;
}

static const char *mark_statistic(const mo_kernel *kernel, mo_stream *stream, int index)
{
    const mo_prim *g = kernel->body;
    const mo_prim_node *node = &g->nodes[index];
    int k = kernel->schedule.loop_axis;
    if (node->reduced != 1u << k) return "a reduction over an axis that is not the loop's";
    if (stream->late[node->in[0]]) return "a value is needed before its loop has ended";
    int axis = mo_stream_tile_axis(kernel, g->nodes[node->in[0]].axes, k);
    if (axis == -2) return "a row statistic with more than one tile axis";
    mo_side side = stream->side[node->in[0]];
    if (axis >= 0 && axis == kernel->schedule.p_axis) side = MO_SIDE_P;
    if (axis >= 0 && axis == kernel->schedule.q_axis) side = MO_SIDE_Q;
    if (side == MO_SIDE_NONE) side = MO_SIDE_Q;
    stream->role[index] = MO_ROLE_STAT;
    stream->side[index] = side;
    return mark(kernel, stream, node->in[0], k, side, MO_ROLE_LOOP);
}

static const char *analyse_node(const mo_kernel *kernel, mo_stream *stream, int index)
{
    const mo_prim *g = kernel->body;
    const mo_prim_node *node = &g->nodes[index];
    if (node->op == MO_OP_MATMUL && mo_axes_count(node->reduced) != 1) return "a product over several axes";
    if (node->op == MO_OP_MATMUL) return mark_product(kernel, stream, index);
    if (node->reduced != 0) return mark_statistic(kernel, stream, index);
    return NULL;
}

static const char *choose_arithmetic(const mo_prim *g, mo_stream *stream)
{
    bool first = true;
    stream->mma = true;
    for (int i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != MO_OP_MATMUL) continue;
        mo_dtype a = g->nodes[g->nodes[i].in[0]].compute, b = g->nodes[g->nodes[i].in[1]].compute;
        if (first) stream->mma_dtype = a;
        first = false;
        if (a != b || a == MO_F32 || a != stream->mma_dtype) stream->mma = false;
    }
    return first ? "no product" : NULL;
}

const char *mo_stream_analyse(mo_arena *arena, const mo_kernel *kernel, mo_stream *stream)
{
    const mo_prim *g = kernel->body;
    int k = kernel->schedule.loop_axis;
    if (k < 0) return "no loop axis";
    stream->role = MO_NEW_ARRAY(arena, mo_stream_role, g->n_nodes);
    stream->side = MO_NEW_ARRAY(arena, mo_side, g->n_nodes);
    stream->late = MO_NEW_ARRAY(arena, bool, g->n_nodes);
    stream->pending = MO_NEW_ARRAY(arena, bool, g->n_nodes);
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_prim_node *node = &g->nodes[i];
        for (int j = 0; j < node->n_in; j++) stream->late[i] |= stream->late[node->in[j]];
        if (stream->late[i] && node->axes >> k & 1u) return "a value is needed before its loop has ended";
        if (node->reduced >> k & 1u) stream->late[i] = true;
        const char *wrong = analyse_node(kernel, stream, i);
        if (wrong != NULL) return wrong;
    }
    for (int i = 0; i < g->n_nodes; i++) {
        mo_axes inside = 0;
        MO_FOR_AXES(a, g->nodes[i].axes)
            if (kernel->schedule.place[a] != MO_PLACE_GRID) inside |= 1u << a;
        bool placed = stream->role[i] == MO_ROLE_LOOP || stream->role[i] == MO_ROLE_RESIDENT;
        if (g->nodes[i].op == MO_OP_MASK && placed) return "a mask in front of a product";
        if (inside >> k & 1u && !placed) return "a value in the loop that nothing accumulates";
    }
    for (int s = 0; s < g->n_savers; s++)
        MO_FOR_AXES(a, g->nodes[g->savers[s].node].axes)
            if (kernel->schedule.place[a] != MO_PLACE_GRID)
                return "an output over an axis that is not on the grid";
    return choose_arithmetic(g, stream);
}
