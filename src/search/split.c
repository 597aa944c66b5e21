/* One walk over the nodes. For each node there is its value in the new graph; for values that are linear in
 * exponentials shifted by a maximum over the axis there is only the value shifted by the part's own maximum,
 * and the maximum that it must be scaled to. */
#include "search/split.h"

#include <stdio.h>

typedef struct {
    mo_arena *arena;
    const mo_prim *from;
    mo_prim *to;
    mo_axes inner, outer;
    int *value;   /* node of `to` */
    int *shift;   /* the maximum (a node of `from`) that `value` is shifted by part, or -1 */
    int *partial; /* of a maximum: that of the part (a node of `to`), or -1 */
    int *weight;  /* of a maximum: exp(part's maximum - maximum), or -1 */
    bool *stored; /* nodes of `to` */
} splitting;

static void split_access(const splitting *s, mo_access *access, mo_axes axes)
{
    int axis = mo_axes_first(s->inner), outer = mo_axes_first(s->outer);
    if (!(axes & s->inner)) return;
    for (int d = 0; d < access->rank; d++) {
        if (access->dim_axis[d] != axis) continue;
        access->dim_axis[d] = (int8_t)outer;
        access->dim_inner[d] = (int8_t)(axis + 1);
    }
    access->stride[outer] = access->stride[axis] * s->to->axes[axis].extent;
}

/* Was this axis split before? Then a dimension would have three parts. */
static bool is_split(const mo_prim *g, int axis)
{
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_access *access = &g->nodes[i].access;
        for (int d = 0; g->nodes[i].op == MO_OP_ITER && d < access->rank; d++)
            if (access->dim_inner[d] > 0 && (access->dim_inner[d] == axis + 1 || access->dim_axis[d] == axis))
                return true;
    }
    return false;
}

static int weight_of(splitting *s, int maximum)
{
    if (s->weight[maximum] < 0) {
        int difference = mo_prim_binary(s->to, MO_OP_SUB, s->partial[maximum], s->value[maximum]);
        s->weight[maximum] = mo_prim_unary(s->to, MO_OP_EXP, difference);
    }
    return s->weight[maximum];
}

/* The value itself: scaled, where it is shifted by part. */
static int full_value(splitting *s, int node)
{
    if (s->shift[node] < 0) return s->value[node];
    return mo_prim_binary(s->to, MO_OP_MUL, s->value[node], weight_of(s, s->shift[node]));
}

/* exp(x - max of x over the axis): the maximum, or -1. */
static int shift_of(const splitting *s, const mo_prim_node *node)
{
    if (node->op != MO_OP_EXP || s->from->nodes[node->in[0]].op != MO_OP_SUB) return -1;
    const mo_prim_node *difference = &s->from->nodes[node->in[0]];
    int shift = difference->in[1];
    bool matches = s->from->nodes[shift].op == MO_OP_MAX && s->from->nodes[shift].in[0] == difference->in[0];
    return matches && s->partial[shift] >= 0 ? shift : -1;
}

/* The maximum that the result is shifted by when the operands' values shifted by part are used; -1 if they
 * have to be scaled first. */
static int linear(const splitting *s, const mo_prim_node *node)
{
    int x = node->n_in > 0 ? s->shift[node->in[0]] : -1, y = node->n_in > 1 ? s->shift[node->in[1]] : -1;
    switch (node->op) {
    case MO_OP_NEG: return x;
    case MO_OP_ADD:
    case MO_OP_SUB: return x == y ? x : -1;
    case MO_OP_DIV: return y < 0 ? x : -1;
    case MO_OP_MUL:
    case MO_OP_MATMUL:
    case MO_OP_SUM:
        if (x >= 0 && y >= 0) return -1;
        x = x >= 0 ? x : y;
        return x >= 0 && (s->from->nodes[x].axes & node->reduced) == 0 ? x : -1;
    default: return -1;
    }
}

/* A copy of the node over operands of the new graph. */
static int copy_node(splitting *s, const mo_prim_node *node, bool scaled)
{
    mo_prim_node copy = *node;
    for (int j = 0; j < node->n_in; j++)
        copy.in[j] = scaled ? full_value(s, node->in[j]) : s->value[node->in[j]];
    copy.axes = node->op == MO_OP_ITER ? node->axes : 0;
    for (int j = 0; j < node->n_in; j++) copy.axes |= s->to->nodes[copy.in[j]].axes;
    copy.axes &= ~node->reduced;
    if (node->op == MO_OP_ITER && node->axes & s->inner) copy.axes |= s->outer;
    if (node->op == MO_OP_CONST && node->const_axes & s->inner) copy.const_axes |= s->outer;
    if (node->op == MO_OP_ITER) split_access(s, &copy.access, node->axes);
    return mo_prim_append(s->to, copy);
}

static bool is_sum(mo_op op)
{
    return op == MO_OP_SUM || op == MO_OP_MATMUL;
}

/* A reduction over the axis: by part, then over the parts. */
static void split_reduction(splitting *s, int i)
{
    const mo_prim_node *node = &s->from->nodes[i];
    int shift = linear(s, node);
    int part = copy_node(s, node, shift < 0), whole = part;
    s->stored[part] = true;
    if (!is_sum(node->op)) s->partial[i] = part;
    if (shift >= 0) whole = mo_prim_binary(s->to, MO_OP_MUL, part, weight_of(s, shift));
    s->value[i] = mo_prim_reduce(s->to, is_sum(node->op) ? MO_OP_SUM : node->op, whole, s->outer);
    if (node->reduced != s->inner)
        s->partial[i] = -1; /* a maximum over more than this axis shifts nothing here */
}

static void visit(splitting *s, int i)
{
    const mo_prim_node *node = &s->from->nodes[i];
    s->shift[i] = s->partial[i] = s->weight[i] = -1;
    int maximum = shift_of(s, node);
    if (maximum >= 0) {
        int argument = s->from->nodes[node->in[0]].in[0];
        int difference = mo_prim_binary(s->to, MO_OP_SUB, s->value[argument], s->partial[maximum]);
        s->value[i] = mo_prim_unary(s->to, MO_OP_EXP, difference);
        s->shift[i] = maximum;
        return;
    }
    if (node->reduced & s->inner) {
        split_reduction(s, i);
        return;
    }
    s->shift[i] = linear(s, node);
    s->value[i] = copy_node(s, node, s->shift[i] < 0);
}

/* Copies that nothing needs (of what was replaced by values of the parts) do not count. */
static bool *needed_nodes(const splitting *s)
{
    bool *needed = MO_NEW_ARRAY(s->arena, bool, s->to->n_nodes + 1);
    for (int i = 0; i < s->to->n_savers; i++) needed[s->to->savers[i].node] = true;
    for (int i = s->to->n_nodes - 1; i >= 0; i--)
        for (int j = 0; needed[i] && j < s->to->nodes[i].n_in; j++) needed[s->to->nodes[i].in[j]] = true;
    return needed;
}

/* Everything with the axis must come before the partial results: a second kernel has only these. */
static bool ends_before_parts(const splitting *s)
{
    const bool *needed = needed_nodes(s);
    bool *late = MO_NEW_ARRAY(s->arena, bool, s->to->n_nodes + 1);
    for (int i = 0; i < s->to->n_nodes; i++) {
        s->stored[i] &= needed[i];
        if (!needed[i]) continue;
        const mo_prim_node *node = &s->to->nodes[i];
        late[i] = (node->reduced & s->outer) != 0;
        for (int j = 0; j < node->n_in; j++) late[i] |= late[node->in[j]];
        if (late[i] && (node->axes | node->reduced) & s->inner) return false;
        if (late[i] && s->stored[i]) return false;
    }
    return true;
}

bool mo_split_axis(mo_arena *arena, const mo_prim *graph, int axis, int64_t parts, mo_split *split)
{
    mo_axes reduced = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        reduced |= graph->nodes[i].reduced;
        if (mo_mask_axes(&graph->nodes[i]) >> axis & 1u) return false; /* it looks at the whole index */
    }
    for (int i = 0; i < graph->n_savers; i++)
        if (graph->nodes[graph->savers[i].node].axes >> axis & 1u) return false;
    if (!(reduced >> axis & 1u) || graph->n_axes == MO_MAX_AXES || is_split(graph, axis)) return false;
    splitting s = {.arena = arena, .from = graph, .to = mo_prim_new(arena, graph->program)};
    int outer = graph->n_axes, n = graph->n_nodes + 1;
    s.to->n_axes = graph->n_axes + 1;
    for (int a = 0; a < graph->n_axes; a++) s.to->axes[a] = graph->axes[a];
    s.to->axes[axis].extent = graph->axes[axis].extent / parts;
    s.to->axes[outer].extent = parts;
    snprintf(s.to->axes[outer].name, sizeof s.to->axes[outer].name, "%.12s_p", graph->axes[axis].name);
    s.inner = 1u << axis;
    s.outer = 1u << outer;
    s.value = MO_NEW_ARRAY(arena, int, n);
    s.shift = MO_NEW_ARRAY(arena, int, n);
    s.partial = MO_NEW_ARRAY(arena, int, n);
    s.weight = MO_NEW_ARRAY(arena, int, n);
    s.stored = MO_NEW_ARRAY(arena, bool, 8 * n);
    for (int i = 0; i < graph->n_nodes; i++) visit(&s, i);
    for (int i = 0; i < graph->n_savers; i++)
        mo_prim_save(s.to, full_value(&s, graph->savers[i].node), &graph->savers[i].access);
    mo_prim_infer_dtypes(s.to);
    if (!ends_before_parts(&s)) return false;
    *split = (mo_split){.graph = s.to, .partial = s.stored, .parts_axis = outer};
    return true;
}
