/* From labelled nodes to primitives. */
#include "lower/lower.h"

#include "lower/labels.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const mo_program *program;
    mo_prim *graph;
    mo_label_set set;
    int *axis_of;  /* label root -> axis, or -1 */
    int *value_of; /* program tensor -> primitive node, or -1 */
} lowering;

/* Axis of a label, made on first sight; -1 if there are too many. */
static int axis_of(lowering *low, int var)
{
    int root = mo_label_find(&low->set, var);
    if (low->axis_of[root] >= 0) return low->axis_of[root];
    mo_prim *g = low->graph;
    if (g->n_axes == MO_MAX_AXES) return -1;
    g->axes[g->n_axes].extent = low->set.extent[root];
    low->axis_of[root] = g->n_axes;
    return g->n_axes++;
}

static mo_axes axes_of(lowering *low, const mo_labels *labels)
{
    mo_axes axes = 0;
    for (int d = 0; d < labels->rank; d++)
        if (labels->var[d] >= 0) axes |= 1u << axis_of(low, labels->var[d]);
    return axes;
}

static mo_access access_of(lowering *low, int tensor, const mo_labels *labels)
{
    const mo_tensor *t = &low->program->tensors[tensor];
    int8_t dim_axis[MO_MAX_RANK];
    for (int d = 0; d < labels->rank; d++)
        dim_axis[d] = labels->var[d] < 0 ? (int8_t)-1 : (int8_t)axis_of(low, labels->var[d]);
    return mo_access_make(tensor, t->shape, t->strides, dim_axis);
}

static int operand(lowering *low, const mo_node *node, const mo_node_labels *labels, int i)
{
    int tensor = node->inputs[i].tensor;
    if (tensor < 0) return mo_prim_const(low->graph, node->inputs[i].number);
    if (low->value_of[tensor] >= 0) return low->value_of[tensor];
    const mo_tensor *t = &low->program->tensors[tensor];
    mo_access access = access_of(low, tensor, &labels->inputs[i]);
    return mo_prim_iter(low->graph, t->dtype, t->compute, &access);
}

/* Axes that a reduction or norm runs over. */
static mo_axes reduced_axes(lowering *low, const mo_node *node, const mo_node_labels *labels)
{
    mo_labels reduced = {0};
    for (int i = 0; i < node->attrs.n_axes; i++)
        reduced.var[reduced.rank++] = labels->inputs[0].var[node->attrs.axes[i]];
    return axes_of(low, &reduced);
}

static int reduce(mo_prim *g, mo_op op, int x, mo_axes axes)
{
    return axes == 0 ? x : mo_prim_reduce(g, op, x, axes);
}

static int mean(mo_prim *g, int x, mo_axes axes)
{
    if (axes == 0) return x;
    int sum = mo_prim_reduce(g, MO_OP_SUM, x, axes); /* first: the order of nodes is that of evaluation */
    return mo_prim_binary(g, MO_OP_DIV, sum, mo_prim_extent_const(g, axes));
}

static int root_of(mo_prim *g, int x, double eps)
{
    if (eps != 0.0) x = mo_prim_binary(g, MO_OP_ADD, x, mo_prim_const(g, eps));
    return mo_prim_unary(g, MO_OP_SQRT, x);
}

static int square(mo_prim *g, int x)
{
    return mo_prim_binary(g, MO_OP_MUL, x, x);
}

static int lower_softmax(mo_prim *g, int x, mo_axes axes)
{
    int shifted = mo_prim_binary(g, MO_OP_SUB, x, reduce(g, MO_OP_MAX, x, axes));
    int e = mo_prim_unary(g, MO_OP_EXP, shifted);
    return mo_prim_binary(g, MO_OP_DIV, e, reduce(g, MO_OP_SUM, e, axes));
}

static int lower_norm(lowering *low, const mo_node *node, const mo_node_labels *labels, int x)
{
    mo_prim *g = low->graph;
    mo_axes axes = reduced_axes(low, node, labels);
    if (node->op == MO_OP_LAYER_NORM) x = mo_prim_binary(g, MO_OP_SUB, x, mean(g, x, axes));
    int squares =
        node->op == MO_OP_L2_NORM ? reduce(g, MO_OP_SUM, square(g, x), axes) : mean(g, square(g, x), axes);
    int y = mo_prim_binary(g, MO_OP_DIV, x, root_of(g, squares, node->attrs.eps));
    if (node->n_inputs > 1) y = mo_prim_binary(g, MO_OP_MUL, y, operand(low, node, labels, 1));
    if (node->n_inputs > 2) y = mo_prim_binary(g, MO_OP_ADD, y, operand(low, node, labels, 2));
    return y;
}

static int lower_unary(mo_prim *g, const mo_node *node, int x)
{
    if (node->op == MO_OP_SQUARE) return square(g, x);
    if (node->op == MO_OP_CAST && node->attrs.dtype == g->nodes[x].dtype) return x;
    int y = mo_prim_unary(g, node->op, x);
    g->nodes[y].min = node->attrs.min;
    g->nodes[y].max = node->attrs.max;
    g->nodes[y].approximate_tanh = node->attrs.approximate_tanh;
    if (node->op == MO_OP_CAST) g->nodes[y].dtype = node->attrs.dtype;
    return y;
}

static int lower_matmul(lowering *low, const mo_node *node, const mo_node_labels *labels, int a, int b)
{
    mo_labels left = labels->inputs[0];
    int k = left.var[left.rank - 1 - (node->attrs.transpose_a ? 1 : 0)];
    if (k < 0) return mo_prim_binary(low->graph, MO_OP_MUL, a, b);
    return mo_prim_matmul(low->graph, a, b, 1u << axis_of(low, k));
}

static int lower_mask(lowering *low, const mo_node *node, const mo_node_labels *labels, int x)
{
    const mo_labels *dims = &labels->output;
    int rows = dims->var[dims->rank - 2], columns = dims->var[dims->rank - 1];
    mo_prim_node mask = {.op = MO_OP_MASK, .n_in = 1, .in = {x, 0}, .mask_offset = node->attrs.offset};
    mask.axes = low->graph->nodes[x].axes;
    mask.dtype = low->graph->nodes[x].dtype;
    mask.compute = low->graph->nodes[x].compute;
    if (rows >= 0) mask.mask_rows = (int8_t)(1 + axis_of(low, rows));
    if (columns >= 0) mask.mask_columns = (int8_t)(1 + axis_of(low, columns));
    return mo_prim_append(low->graph, mask);
}

static int lower_operator(lowering *low, const mo_node *node, const mo_node_labels *labels)
{
    mo_prim *g = low->graph;
    int x = operand(low, node, labels, 0);
    switch (mo_op_kind_of(node->op)) {
    case MO_KIND_PRODUCT: return lower_matmul(low, node, labels, x, operand(low, node, labels, 1));
    case MO_KIND_BINARY: return mo_prim_binary(g, node->op, x, operand(low, node, labels, 1));
    case MO_KIND_UNARY: return lower_unary(g, node, x);
    case MO_KIND_REDUCE:
        if (node->op == MO_OP_MEAN) return mean(g, x, reduced_axes(low, node, labels));
        return reduce(g, node->op, x, reduced_axes(low, node, labels));
    default: break;
    }
    if (node->op == MO_OP_CAUSAL_MASK) return lower_mask(low, node, labels, x);
    if (node->op == MO_OP_SOFTMAX) return lower_softmax(g, x, reduced_axes(low, node, labels));
    return lower_norm(low, node, labels, x);
}

static bool used_outside(const mo_program *program, const int *nodes, int n_nodes, int tensor)
{
    for (int i = 0; i < program->n_outputs; i++)
        if (program->outputs[i] == tensor) return true;
    for (int n = 0; n < program->n_nodes; n++) {
        bool inside = false;
        for (int i = 0; i < n_nodes; i++) inside |= nodes[i] == n;
        for (int j = 0; !inside && j < program->nodes[n].n_inputs; j++)
            if (program->nodes[n].inputs[j].tensor == tensor) return true;
    }
    return false;
}

/* A product over an axis that is an output's as well could not divide the output among blocks. */
static bool must_stay_apart(const mo_prim *g, int a, int b)
{
    mo_axes both = 1u << a | 1u << b;
    bool saved = false, product = false;
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_prim_node *node = &g->nodes[i];
        if (((node->axes | node->reduced) & both) == both) return true;
        product |= node->op == MO_OP_MATMUL && (node->reduced & both) != 0;
    }
    for (int s = 0; s < g->n_savers; s++) saved |= (g->nodes[g->savers[s].node].axes & both) != 0;
    return saved && product;
}

/* Would renaming b to a make two iterators equal? */
static bool shares_iterator(const mo_prim *g, int a, int b)
{
    for (int i = 0; i < g->n_nodes; i++)
        for (int j = 0; j < g->n_nodes; j++) {
            const mo_prim_node *x = &g->nodes[i], *y = &g->nodes[j];
            if (x->op != MO_OP_ITER || y->op != MO_OP_ITER || x->access.tensor != y->access.tensor) continue;
            if (!(x->axes >> a & 1u) || !(y->axes >> b & 1u)) continue;
            bool same = true;
            for (int d = 0; d < x->access.rank; d++) {
                int theirs = y->access.dim_axis[d] == b ? a : y->access.dim_axis[d];
                same &= x->access.dim_axis[d] == theirs;
            }
            if (same) return true;
        }
    return false;
}

/* Bound axes are names: two that never meet in one value may share one, also one that is free elsewhere (a
 * norm that is spelled out reads its row twice). */
static void share_bound_axes(mo_prim *g)
{
    for (int a = 0; a < g->n_axes; a++)
        for (int b = a + 1; b < g->n_axes; b++) {
            if (g->axes[a].extent != g->axes[b].extent) continue;
            if (must_stay_apart(g, a, b) || !shares_iterator(g, a, b)) continue;
            mo_prim_rename_axis(g, b, a);
        }
}

/* Names for people: n, m, b0, b1 ... from the last dimension of the savers, k, k1 ... for the rest. */
static void name_axes(mo_prim *g)
{
    int bound = 0, batch = 0;
    for (int s = 0; s < g->n_savers; s++) {
        const mo_access *access = &g->savers[s].access;
        for (int d = access->rank - 1; d >= 0; d--) {
            int a = access->dim_axis[d];
            if (a < 0 || g->axes[a].name[0] != '\0') continue;
            int from_end = access->rank - 1 - d;
            if (s == 0 && from_end < 2)
                snprintf(g->axes[a].name, sizeof g->axes[a].name, "%s", from_end == 0 ? "n" : "m");
            else
                snprintf(g->axes[a].name, sizeof g->axes[a].name, "b%d", batch++);
        }
    }
    for (int a = 0; a < g->n_axes; a++) {
        if (g->axes[a].name[0] != '\0') continue;
        if (bound == 0)
            snprintf(g->axes[a].name, sizeof g->axes[a].name, "k");
        else
            snprintf(g->axes[a].name, sizeof g->axes[a].name, "k%d", bound);
        bound++;
    }
}

/* Makes the axes of every label in a fixed order; false if there are too many. */
static bool number_axes(lowering *low, const mo_node_labels *labels, int n_nodes)
{
    low->axis_of = MO_NEW_ARRAY(low->set.arena, int, low->set.count + 1);
    for (int i = 0; i < low->set.count; i++) low->axis_of[i] = -1;
    for (int i = 0; i < n_nodes; i++)
        for (int j = 0; j < 4; j++) {
            const mo_labels *use = j < 3 ? &labels[i].inputs[j] : &labels[i].output;
            for (int d = 0; d < use->rank; d++)
                if (use->var[d] >= 0 && axis_of(low, use->var[d]) < 0) return false;
        }
    return true;
}

mo_prim *mo_lower_nodes(mo_arena *arena, const mo_program *program, const int *nodes, int n_nodes,
                        const char **reason)
{
    lowering low = {.program = program, .graph = mo_prim_new(arena, program)};
    mo_node_labels *labels = MO_NEW_ARRAY(arena, mo_node_labels, n_nodes);
    mo_label_set_init(&low.set, arena);
    if (!mo_label_nodes(&low.set, program, nodes, n_nodes, labels, reason)) return NULL;
    if (!number_axes(&low, labels, n_nodes)) {
        *reason = "too many axes";
        return NULL;
    }
    low.value_of = MO_NEW_ARRAY(arena, int, program->n_tensors);
    for (int t = 0; t < program->n_tensors; t++) low.value_of[t] = -1;
    for (int i = 0; i < n_nodes; i++) {
        const mo_node *node = &program->nodes[nodes[i]];
        low.value_of[node->outputs[0]] = lower_operator(&low, node, &labels[i]);
    }
    for (int i = 0; i < n_nodes; i++) {
        int tensor = program->nodes[nodes[i]].outputs[0];
        if (!used_outside(program, nodes, n_nodes, tensor)) continue;
        mo_access access = access_of(&low, tensor, &labels[i].output);
        mo_prim_save(low.graph, low.value_of[tensor], &access);
    }
    share_bound_axes(low.graph);
    name_axes(low.graph);
    mo_prim_clean(low.graph);
    mo_prim_infer_dtypes(low.graph);
    const char *wrong = mo_prim_check(low.graph);
    if (wrong != NULL) MO_BUG("lowering made a malformed graph: %s", wrong);
    return low.graph;
}
