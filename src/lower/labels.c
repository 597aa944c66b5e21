/* Dimensions get a variable each; an operator unifies the variables of the dimensions that it matches up.
 * A tensor made inside the set keeps one set of variables for all its uses (labels unify along edges); a
 * tensor from outside gets fresh ones for every use (they never unify through an input). */
#include "lower/labels.h"

#include "base/status.h"

#include <string.h>

void mo_label_set_init(mo_label_set *set, mo_arena *arena)
{
    *set = (mo_label_set){.arena = arena, .capacity = 256};
    set->parent = MO_NEW_ARRAY(arena, int, set->capacity);
    set->extent = MO_NEW_ARRAY(arena, int64_t, set->capacity);
}

int mo_label_find(const mo_label_set *set, int var)
{
    while (set->parent[var] != var) var = set->parent[var];
    return var;
}

static int fresh(mo_label_set *set, int64_t extent)
{
    if (extent == 1) return -1;
    if (set->count == set->capacity) {
        int *parent = MO_NEW_ARRAY(set->arena, int, set->capacity * 2);
        int64_t *extents = MO_NEW_ARRAY(set->arena, int64_t, set->capacity * 2);
        memcpy(parent, set->parent, sizeof *parent * (size_t)set->count);
        memcpy(extents, set->extent, sizeof *extents * (size_t)set->count);
        set->parent = parent;
        set->extent = extents;
        set->capacity *= 2;
    }
    set->parent[set->count] = set->count;
    set->extent[set->count] = extent;
    return set->count++;
}

static mo_labels fresh_labels(mo_label_set *set, mo_shape shape)
{
    mo_labels labels = {.rank = shape.rank};
    for (int d = 0; d < shape.rank; d++) labels.var[d] = fresh(set, shape.dim[d]);
    return labels;
}

/* Extent 1 (-1) meets anything: a broadcast. */
static void unify(mo_label_set *set, int a, int b)
{
    if (a < 0 || b < 0) return;
    a = mo_label_find(set, a);
    b = mo_label_find(set, b);
    MO_CHECK(set->extent[a] == set->extent[b]);
    if (a < b)
        set->parent[b] = a;
    else
        set->parent[a] = b;
}

/* Unifies the trailing dimensions of `in` with those of `out`, skipping the last `skip` of both. */
static void unify_trailing(mo_label_set *set, mo_labels in, mo_labels out, int skip)
{
    for (int i = skip; i < in.rank && i < out.rank; i++)
        unify(set, in.var[in.rank - 1 - i], out.var[out.rank - 1 - i]);
}

static void label_matmul(mo_label_set *set, const mo_attrs *attrs, mo_node_labels *node)
{
    mo_labels a = node->inputs[0], b = node->inputs[1], c = node->output;
    int ta = attrs->transpose_a ? 1 : 0, tb = attrs->transpose_b ? 1 : 0;
    unify(set, a.var[a.rank - 2 + ta], c.var[c.rank - 2]);
    unify(set, b.var[b.rank - 1 - tb], c.var[c.rank - 1]);
    unify(set, a.var[a.rank - 1 - ta], b.var[b.rank - 2 + tb]);
    unify_trailing(set, a, c, 2);
    unify_trailing(set, b, c, 2);
}

static bool reduces(const mo_attrs *attrs, int dim)
{
    for (int i = 0; i < attrs->n_axes; i++)
        if (attrs->axes[i] == dim) return true;
    return false;
}

static void label_reduction(mo_label_set *set, const mo_attrs *attrs, mo_node_labels *node)
{
    int out = 0;
    for (int d = 0; d < node->inputs[0].rank; d++) {
        if (reduces(attrs, d)) {
            if (attrs->keepdims) out++;
            continue;
        }
        unify(set, node->inputs[0].var[d], node->output.var[out++]);
    }
}

static bool label_operator(mo_label_set *set, const mo_node *node, mo_node_labels *labels)
{
    switch (mo_op_kind_of(node->op)) {
    case MO_KIND_PRODUCT: label_matmul(set, &node->attrs, labels); return true;
    case MO_KIND_REDUCE: label_reduction(set, &node->attrs, labels); return true;
    case MO_KIND_UNARY:
    case MO_KIND_BINARY: break;
    case MO_KIND_COMPOUND: break;
    case MO_KIND_VIEW:
    case MO_KIND_STRUCTURE: return false;
    }
    for (int i = 0; i < node->n_inputs; i++) unify_trailing(set, labels->inputs[i], labels->output, 0);
    return true;
}

static bool distinct(const mo_label_set *set, mo_labels labels)
{
    for (int d = 0; d < labels.rank; d++)
        for (int e = 0; e < d; e++)
            if (labels.var[d] >= 0 && labels.var[e] >= 0 &&
                mo_label_find(set, labels.var[d]) == mo_label_find(set, labels.var[e]))
                return false;
    return true;
}

/* The reduced label of a matmul must not be one of its output's. */
static bool contraction_is_bound(const mo_label_set *set, const mo_node *node, const mo_node_labels *labels)
{
    if (node->op != MO_OP_MATMUL) return true;
    mo_labels a = labels->inputs[0];
    int k = a.var[a.rank - 1 - (node->attrs.transpose_a ? 1 : 0)];
    if (k < 0) return true;
    for (int d = 0; d < labels->output.rank; d++)
        if (labels->output.var[d] >= 0 && mo_label_find(set, labels->output.var[d]) == mo_label_find(set, k))
            return false;
    return true;
}

static int position_of(const mo_program *program, const int *nodes, int n_nodes, int tensor)
{
    int producer = program->tensors[tensor].producer;
    for (int i = 0; producer >= 0 && i < n_nodes; i++)
        if (nodes[i] == producer) return i;
    return -1;
}

bool mo_label_nodes(mo_label_set *set, const mo_program *program, const int *nodes, int n_nodes,
                    mo_node_labels *labels, const char **reason)
{
    for (int i = 0; i < n_nodes; i++) {
        const mo_node *node = &program->nodes[nodes[i]];
        if (node->n_inputs > 3 || node->n_outputs != 1) {
            *reason = "no primitive form";
            return false;
        }
        labels[i].output = fresh_labels(set, program->tensors[node->outputs[0]].shape);
        for (int j = 0; j < node->n_inputs; j++) {
            int tensor = node->inputs[j].tensor;
            labels[i].inputs[j] = (mo_labels){0};
            if (tensor < 0) continue;
            int made = position_of(program, nodes, n_nodes, tensor);
            labels[i].inputs[j] =
                made >= 0 ? labels[made].output : fresh_labels(set, program->tensors[tensor].shape);
        }
        if (!label_operator(set, node, &labels[i])) {
            *reason = "no primitive form";
            return false;
        }
    }
    for (int i = 0; i < n_nodes; i++) {
        const mo_node *node = &program->nodes[nodes[i]];
        bool fine = distinct(set, labels[i].output) && contraction_is_bound(set, node, &labels[i]);
        for (int j = 0; j < node->n_inputs; j++) fine &= distinct(set, labels[i].inputs[j]);
        if (!fine) {
            *reason = "one value needs two bindings of its axes";
            return false;
        }
    }
    return true;
}
