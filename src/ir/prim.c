/* Construction, typing, cleaning and checking of primitive graphs. */
#include "ir/prim.h"

#include "base/status.h"

#include <string.h>

mo_prim *mo_prim_new(mo_arena *arena, const mo_program *program)
{
    mo_prim *g = MO_NEW(arena, mo_prim);
    g->arena = arena;
    g->program = program;
    g->node_capacity = 32;
    g->nodes = MO_NEW_ARRAY(arena, mo_prim_node, g->node_capacity);
    g->saver_capacity = 4;
    g->savers = MO_NEW_ARRAY(arena, mo_saver, g->saver_capacity);
    return g;
}

mo_prim *mo_prim_copy(mo_arena *arena, const mo_prim *graph)
{
    mo_prim *g = MO_NEW(arena, mo_prim);
    *g = *graph;
    g->arena = arena;
    g->nodes = MO_NEW_ARRAY(arena, mo_prim_node, g->node_capacity);
    memcpy(g->nodes, graph->nodes, sizeof *g->nodes * (size_t)g->n_nodes);
    g->savers = MO_NEW_ARRAY(arena, mo_saver, g->saver_capacity);
    memcpy(g->savers, graph->savers, sizeof *g->savers * (size_t)g->n_savers);
    return g;
}

int mo_prim_append(mo_prim *g, mo_prim_node node)
{
    if (g->n_nodes == g->node_capacity) {
        mo_prim_node *grown = MO_NEW_ARRAY(g->arena, mo_prim_node, g->node_capacity * 2);
        memcpy(grown, g->nodes, sizeof *grown * (size_t)g->n_nodes);
        g->nodes = grown;
        g->node_capacity *= 2;
    }
    for (int i = 0; i < node.n_in; i++) MO_CHECK(node.in[i] >= 0 && node.in[i] < g->n_nodes);
    g->nodes[g->n_nodes] = node;
    return g->n_nodes++;
}

mo_access mo_access_make(int tensor, mo_shape shape, const int64_t *strides, const int8_t *dim_axis)
{
    mo_access access = {.tensor = tensor, .rank = shape.rank};
    for (int d = 0; d < shape.rank; d++) {
        access.dim_axis[d] = dim_axis[d];
        if (dim_axis[d] >= 0) access.stride[dim_axis[d]] += strides[d];
    }
    return access;
}

mo_axes mo_access_axes(const mo_access *access)
{
    mo_axes axes = 0;
    for (int d = 0; d < access->rank; d++) {
        if (access->dim_axis[d] >= 0) axes |= 1u << access->dim_axis[d];
        if (access->dim_inner[d] > 0) axes |= 1u << (access->dim_inner[d] - 1);
    }
    return axes;
}

void mo_access_steps(const mo_access *access, const int64_t *dim_strides, const int *extent,
                     int64_t steps[MO_MAX_AXES])
{
    memset(steps, 0, sizeof *steps * MO_MAX_AXES);
    for (int d = 0; d < access->rank; d++) {
        int outer = access->dim_axis[d], inner = access->dim_inner[d] - 1;
        if (inner >= 0) steps[inner] += dim_strides[d];
        if (outer >= 0) steps[outer] += dim_strides[d] * (inner < 0 ? 1 : extent[inner]);
    }
}

int mo_prim_iter(mo_prim *g, mo_dtype dtype, mo_dtype compute, const mo_access *access)
{
    mo_prim_node node = {.op = MO_OP_ITER, .dtype = dtype, .compute = compute, .access = *access};
    node.axes = mo_access_axes(access);
    return mo_prim_append(g, node);
}

int mo_prim_const(mo_prim *g, double number)
{
    return mo_prim_append(
        g, (mo_prim_node){.op = MO_OP_CONST, .number = number, .dtype = MO_F32, .compute = MO_F32});
}

int mo_prim_extent_const(mo_prim *g, mo_axes axes)
{
    int node = mo_prim_const(g, (double)mo_prim_extent(g, axes));
    g->nodes[node].const_axes = axes;
    return node;
}

/* dtype and compute dtype of a node from its operands. Numbers do not count. */
static void infer_node(const mo_prim *g, mo_prim_node *node)
{
    if (node->op == MO_OP_ITER || node->op == MO_OP_CONST) return;
    bool first = true;
    mo_dtype dtype = MO_F32, compute = MO_F32;
    for (int i = 0; i < node->n_in; i++) {
        const mo_prim_node *in = &g->nodes[node->in[i]];
        if (in->op == MO_OP_CONST) continue;
        dtype = first ? in->dtype : mo_dtype_promote(dtype, in->dtype);
        compute = first ? in->compute : mo_dtype_promote(compute, in->compute);
        first = false;
    }
    if (node->op == MO_OP_CAST) {
        if (node->dtype != MO_F32) compute = node->dtype;
    } else {
        node->dtype = dtype;
    }
    node->compute = compute;
}

int mo_prim_unary(mo_prim *g, mo_op op, int a)
{
    mo_prim_node node = {.op = op, .n_in = 1, .in = {a, 0}, .axes = g->nodes[a].axes};
    infer_node(g, &node);
    return mo_prim_append(g, node);
}

int mo_prim_binary(mo_prim *g, mo_op op, int a, int b)
{
    mo_prim_node node = {.op = op, .n_in = 2, .in = {a, b}, .axes = g->nodes[a].axes | g->nodes[b].axes};
    infer_node(g, &node);
    return mo_prim_append(g, node);
}

int mo_prim_reduce(mo_prim *g, mo_op op, int a, mo_axes reduced)
{
    MO_CHECK((g->nodes[a].axes & reduced) == reduced);
    mo_prim_node node = {
        .op = op, .n_in = 1, .in = {a, 0}, .axes = g->nodes[a].axes & ~reduced, .reduced = reduced};
    infer_node(g, &node);
    return mo_prim_append(g, node);
}

int mo_prim_matmul(mo_prim *g, int a, int b, mo_axes reduced)
{
    mo_axes joined = g->nodes[a].axes | g->nodes[b].axes;
    MO_CHECK((joined & reduced) == reduced);
    mo_prim_node node = {
        .op = MO_OP_MATMUL, .n_in = 2, .in = {a, b}, .axes = joined & ~reduced, .reduced = reduced};
    infer_node(g, &node);
    return mo_prim_append(g, node);
}

void mo_prim_save(mo_prim *g, int node, const mo_access *access)
{
    if (g->n_savers == g->saver_capacity) {
        mo_saver *grown = MO_NEW_ARRAY(g->arena, mo_saver, g->saver_capacity * 2);
        memcpy(grown, g->savers, sizeof *grown * (size_t)g->n_savers);
        g->savers = grown;
        g->saver_capacity *= 2;
    }
    g->savers[g->n_savers++] = (mo_saver){.node = node, .access = *access};
}

void mo_prim_infer_dtypes(mo_prim *g)
{
    for (int i = 0; i < g->n_nodes; i++) infer_node(g, &g->nodes[i]);
}

int64_t mo_prim_extent(const mo_prim *g, mo_axes axes)
{
    int64_t product = 1;
    MO_FOR_AXES(a, axes) product *= g->axes[a].extent;
    return product;
}

static bool same_access(const mo_access *a, const mo_access *b)
{
    return a->tensor == b->tensor && a->rank == b->rank &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0 &&
           (a->rank < 0 || (memcmp(a->dim_axis, b->dim_axis, (size_t)a->rank) == 0 &&
                            memcmp(a->dim_inner, b->dim_inner, (size_t)a->rank) == 0));
}

static bool commutes(mo_op op)
{
    return op == MO_OP_ADD || op == MO_OP_MUL || op == MO_OP_MATMUL || op == MO_OP_MAXIMUM ||
           op == MO_OP_MINIMUM;
}

/* Equal up to the order of commuting operands; operands are already numbered in the new graph. */
static bool same_node(const mo_prim_node *a, const mo_prim_node *b)
{
    if (a->op != b->op || a->n_in != b->n_in || a->axes != b->axes || a->reduced != b->reduced) return false;
    if (a->op == MO_OP_CAST && a->dtype != b->dtype) return false;
    if (memcmp(&a->number, &b->number, sizeof a->number) != 0 || a->const_axes != b->const_axes) return false;
    if (memcmp(&a->min, &b->min, sizeof a->min) != 0 || memcmp(&a->max, &b->max, sizeof a->max) != 0)
        return false;
    if (a->approximate_tanh != b->approximate_tanh) return false;
    if (a->mask_rows != b->mask_rows || a->mask_columns != b->mask_columns ||
        a->mask_offset != b->mask_offset)
        return false;
    if (a->op == MO_OP_ITER) return same_access(&a->access, &b->access);
    bool same = true, crossed = a->n_in == 2 && commutes(a->op);
    for (int i = 0; i < a->n_in; i++) {
        same &= a->in[i] == b->in[i];
        crossed &= a->in[i] == b->in[1 - i];
    }
    return same || crossed;
}

void mo_prim_clean(mo_prim *g)
{
    bool *needed = MO_NEW_ARRAY(g->arena, bool, g->n_nodes + 1);
    int *number = MO_NEW_ARRAY(g->arena, int, g->n_nodes + 1);
    for (int s = 0; s < g->n_savers; s++) needed[g->savers[s].node] = true;
    for (int i = g->n_nodes - 1; i >= 0; i--)
        for (int j = 0; needed[i] && j < g->nodes[i].n_in; j++) needed[g->nodes[i].in[j]] = true;
    int count = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        if (!needed[i]) continue;
        mo_prim_node node = g->nodes[i];
        for (int j = 0; j < node.n_in; j++) node.in[j] = number[node.in[j]];
        int same = 0;
        while (same < count && !same_node(&g->nodes[same], &node)) same++;
        if (same == count) g->nodes[count++] = node;
        number[i] = same;
    }
    for (int s = 0; s < g->n_savers; s++) g->savers[s].node = number[g->savers[s].node];
    g->n_nodes = count;
}

static mo_axes renamed(mo_axes axes, int from, int to)
{
    return axes >> from & 1u ? (axes & ~(1u << from)) | 1u << to : axes;
}

static void rename_access(mo_access *access, int from, int to)
{
    for (int d = 0; d < access->rank; d++) {
        if (access->dim_axis[d] == from) access->dim_axis[d] = (int8_t)to;
        if (access->dim_inner[d] == from + 1) access->dim_inner[d] = (int8_t)(to + 1);
    }
    access->stride[to] += access->stride[from];
    access->stride[from] = 0;
}

void mo_prim_rename_axis(mo_prim *g, int from, int to)
{
    MO_CHECK(g->axes[from].extent == g->axes[to].extent);
    for (int i = 0; i < g->n_nodes; i++) {
        mo_prim_node *node = &g->nodes[i];
        node->axes = renamed(node->axes, from, to);
        node->reduced = renamed(node->reduced, from, to);
        node->const_axes = renamed(node->const_axes, from, to);
        if (node->mask_rows == from + 1) node->mask_rows = (int8_t)(to + 1);
        if (node->mask_columns == from + 1) node->mask_columns = (int8_t)(to + 1);
        if (node->op == MO_OP_ITER) rename_access(&node->access, from, to);
    }
    for (int s = 0; s < g->n_savers; s++) rename_access(&g->savers[s].access, from, to);
}
