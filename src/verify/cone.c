/* Boxes of needed elements, from the output back to the inputs. A box is a number of indices for each
 * dimension; where several operators need a tensor the larger numbers count. */
#include "verify/cone.h"

#define ELEMENT_COST 8.0 /* multiplications that take as long as any other operator on one element */

typedef struct {
    const mo_program *program;
    mo_shape *boxes; /* by tensor; dim 0: nothing is needed yet */
} cone;

static double count(const mo_shape *box)
{
    double product = 1;
    for (int d = 0; d < box->rank; d++) product *= (double)box->dim[d];
    return product;
}

static void need(cone *c, int tensor, const mo_shape *box)
{
    const mo_shape *shape = &c->program->tensors[tensor].shape;
    mo_shape *known = &c->boxes[tensor];
    known->rank = shape->rank;
    for (int d = 0; d < shape->rank; d++) {
        int64_t wanted = box->dim[d] < shape->dim[d] ? box->dim[d] : shape->dim[d];
        if (wanted > known->dim[d]) known->dim[d] = wanted;
    }
}

/* The operand of an operator that broadcasts. */
static mo_shape broadcast_box(const mo_shape *shape, const mo_shape *out)
{
    mo_shape box = {.rank = shape->rank};
    for (int d = 0; d < shape->rank; d++)
        box.dim[d] = shape->dim[d] == 1 ? 1 : out->dim[d + out->rank - shape->rank];
    return box;
}

static double need_product(cone *c, const mo_node *node, const mo_shape *out)
{
    const mo_shape *a = &c->program->tensors[node->inputs[0].tensor].shape;
    const mo_shape *b = &c->program->tensors[node->inputs[1].tensor].shape;
    int ta = node->attrs.transpose_a ? 1 : 0, tb = node->attrs.transpose_b ? 1 : 0;
    int64_t k = a->dim[a->rank - 1 - ta];
    mo_shape left = broadcast_box(a, out), right = broadcast_box(b, out);
    left.dim[a->rank - 2 + ta] = out->dim[out->rank - 2];
    left.dim[a->rank - 1 - ta] = k;
    right.dim[b->rank - 1 - tb] = out->dim[out->rank - 1];
    right.dim[b->rank - 2 + tb] = k;
    need(c, node->inputs[0].tensor, &left);
    need(c, node->inputs[1].tensor, &right);
    return count(out) * (double)k;
}

/* Reductions, norms, softmax: their axes in full. */
static double need_rows(cone *c, const mo_node *node, const mo_shape *out)
{
    const mo_shape *shape = &c->program->tensors[node->inputs[0].tensor].shape;
    bool reduces = mo_op_kind_of(node->op) == MO_KIND_REDUCE && !node->attrs.keepdims;
    mo_shape box = {.rank = shape->rank};
    for (int d = 0, from = 0; d < shape->rank; d++) {
        bool full = false;
        for (int i = 0; i < node->attrs.n_axes; i++) full |= node->attrs.axes[i] == d;
        box.dim[d] = full ? shape->dim[d] : out->dim[from];
        if (!full || !reduces) from++;
    }
    need(c, node->inputs[0].tensor, &box);
    for (int i = 1; i < node->n_inputs; i++)
        need(c, node->inputs[i].tensor, &c->program->tensors[node->inputs[i].tensor].shape);
    return ELEMENT_COST * count(&box);
}

/* A view's operand; the elements of a reshape are taken for a run of neighbours. */
static mo_shape view_box(const mo_node *node, const mo_shape *shape, const mo_shape *out)
{
    mo_shape box = *out;
    if (node->op == MO_OP_BROADCAST_TO) return broadcast_box(shape, out);
    if (node->op == MO_OP_TRANSPOSE)
        for (int d = 0; d < shape->rank; d++) box.dim[node->attrs.perm[d]] = out->dim[d];
    if (node->op != MO_OP_RESHAPE) return box;
    double left = count(out);
    box.rank = shape->rank;
    for (int d = shape->rank - 1; d >= 0; d--) {
        box.dim[d] = left < (double)shape->dim[d] ? (int64_t)left : shape->dim[d];
        left /= (double)box.dim[d];
        if (left < 1) left = 1;
    }
    return box;
}

static double need_operands(cone *c, const mo_node *node, const mo_shape *out)
{
    mo_op_kind kind = mo_op_kind_of(node->op);
    if (kind == MO_KIND_PRODUCT) return need_product(c, node, out);
    if (kind == MO_KIND_REDUCE || (kind == MO_KIND_COMPOUND && node->op != MO_OP_CAUSAL_MASK))
        return need_rows(c, node, out);
    for (int i = 0; i < node->n_inputs; i++) {
        int tensor = node->inputs[i].tensor;
        if (tensor < 0) continue;
        const mo_shape *shape = &c->program->tensors[tensor].shape;
        mo_shape box = kind == MO_KIND_VIEW ? view_box(node, shape, out) : broadcast_box(shape, out);
        need(c, tensor, &box);
    }
    return ELEMENT_COST * count(out);
}

double mo_cone_cost(mo_arena *scratch, const mo_program *program, int tensor)
{
    cone c = {.program = program, .boxes = MO_NEW_ARRAY(scratch, mo_shape, program->n_tensors)};
    mo_shape one = {.rank = MO_MAX_RANK, .dim = {1, 1, 1, 1, 1, 1, 1, 1}};
    double cost = 0;
    bool *wanted = MO_NEW_ARRAY(scratch, bool, program->n_tensors);
    need(&c, tensor, &one);
    wanted[tensor] = true;
    for (int n = program->n_nodes - 1; n >= 0; n--) {
        const mo_node *node = &program->nodes[n];
        for (int o = 0; o < node->n_outputs; o++) {
            if (!wanted[node->outputs[o]]) continue;
            cost += need_operands(&c, node, &c.boxes[node->outputs[o]]);
            for (int i = 0; i < node->n_inputs; i++)
                if (node->inputs[i].tensor >= 0) wanted[node->inputs[i].tensor] = true;
        }
    }
    return cost;
}
