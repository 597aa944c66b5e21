/* Forms of a program as written: compound operators by their definitions, views by index arithmetic. */
#include "verify/proof_parts.h"

#include "base/status.h"
#include "verify/field.h"

#include <string.h>

/* One element of a node's result. */
typedef struct {
    mo_prover *p;
    mo_claim_kind kind;
    const mo_program *program;
    int node_index;
    const mo_node *node;
    const mo_affine *index; /* of the result (of the operand while it is reduced) */
} element;

static const mo_shape *shape_of(const element *e, int tensor)
{
    return &e->program->tensors[tensor].shape;
}

/* Operand j of an operator that broadcasts, at an index of a result of rank `rank`. */
static const mo_normal *broadcast(const element *e, int j, int rank, const mo_affine *index)
{
    const mo_operand *o = &e->node->inputs[j];
    if (o->tensor < 0) return mo_normal_double(e->p->forms, o->number);
    const mo_shape *shape = shape_of(e, o->tensor);
    mo_affine own[MO_MAX_RANK];
    for (int d = 0; d < shape->rank; d++)
        own[d] = shape->dim[d] == 1 ? mo_affine_constant(0) : index[d + rank - shape->rank];
    return mo_prove_program(e->p, e->kind, o->tensor, own);
}

static const mo_normal *pointwise(const element *e)
{
    const mo_attrs *a = &e->node->attrs;
    int rank = shape_of(e, e->node->outputs[0])->rank;
    mo_prim_node attrs = {.op = e->node->op,
                          .dtype = a->dtype,
                          .min = a->min,
                          .max = a->max,
                          .approximate_tanh = a->approximate_tanh};
    const mo_normal *x = broadcast(e, 0, rank, e->index), *y = NULL;
    if (x == NULL) return NULL;
    if (e->node->op == MO_OP_CAST &&
        mo_cast_is_identity(e->program->tensors[e->node->inputs[0].tensor].dtype, a->dtype))
        return x;
    if (e->node->op == MO_OP_POW)
        return mo_normal_pointwise(e->p->forms, &attrs, x, NULL, e->node->inputs[1].number);
    if (e->node->n_inputs == 2) y = broadcast(e, 1, rank, e->index);
    if (e->node->n_inputs == 2 && y == NULL) return NULL;
    return mo_normal_pointwise(e->p->forms, &attrs, x, y, 0.0);
}

/* ---- products and reductions ---- */

static uint32_t first_var(const element *e)
{
    return MO_PROOF_VARS + 16 * (uint32_t)e->node_index + (e->kind == MO_CLAIM_OTHER ? 0x100000u : 0);
}

static const mo_normal *matmul_operand(const element *e, int j, const mo_affine *k)
{
    int tensor = e->node->inputs[j].tensor, rank = shape_of(e, e->node->outputs[0])->rank;
    const mo_shape *shape = shape_of(e, tensor);
    bool transposed = j == 0 ? e->node->attrs.transpose_a : e->node->attrs.transpose_b;
    mo_affine own[MO_MAX_RANK];
    for (int d = 0; d < shape->rank - 2; d++)
        own[d] = shape->dim[d] == 1 ? mo_affine_constant(0) : e->index[d + rank - shape->rank];
    bool inner_last = (j == 0) != transposed;
    own[shape->rank - (inner_last ? 1 : 2)] = *k;
    own[shape->rank - (inner_last ? 2 : 1)] = e->index[j == 0 ? rank - 2 : rank - 1];
    return mo_prove_program(e->p, e->kind, tensor, own);
}

static const mo_normal *product_at(void *context, const mo_affine *at)
{
    const element *e = context;
    const mo_normal *a = matmul_operand(e, 0, at), *b = a == NULL ? NULL : matmul_operand(e, 1, at);
    return mo_normal_mul(e->p->forms, a, b);
}

static const mo_normal *matmul(element *e)
{
    const mo_shape *a = shape_of(e, e->node->inputs[0].tensor);
    int64_t inner = a->dim[a->rank - (e->node->attrs.transpose_a ? 2 : 1)];
    return mo_prove_reduce(e->p, MO_OP_SUM, 1, &inner, first_var(e), product_at, e);
}

/* What is summed up or compared over the axes of a node, of the operand's element x. */
typedef enum { THE_ELEMENT, ITS_SQUARE, ITS_EXP, ITS_DEVIATION_SQUARED } summand;

typedef struct {
    element *e;
    summand what;
    const mo_normal *mean;
} row;

static const mo_normal *summand_at(void *context, const mo_affine *at)
{
    const row *r = context;
    const element *e = r->e;
    mo_affine own[MO_MAX_RANK];
    int tensor = e->node->inputs[0].tensor;
    memcpy(own, e->index, sizeof own[0] * (size_t)shape_of(e, tensor)->rank);
    for (int i = 0; i < e->node->attrs.n_axes; i++) own[e->node->attrs.axes[i]] = at[i];
    const mo_normal *x = mo_prove_program(e->p, e->kind, tensor, own);
    if (x == NULL) return NULL;
    switch (r->what) {
    case ITS_EXP: return mo_normal_exp(e->p->forms, x);
    case ITS_DEVIATION_SQUARED: x = mo_normal_sub(e->p->forms, x, r->mean); /* fall through */
    case ITS_SQUARE: return mo_normal_mul(e->p->forms, x, x);
    case THE_ELEMENT: break;
    }
    return x;
}

static const mo_normal *over_axes(element *e, mo_op op, summand what, const mo_normal *mean, int64_t *count)
{
    const mo_shape *shape = shape_of(e, e->node->inputs[0].tensor);
    int64_t extents[MO_MAX_RANK];
    *count = 1;
    for (int i = 0; i < e->node->attrs.n_axes; i++) {
        extents[i] = shape->dim[e->node->attrs.axes[i]];
        *count *= extents[i];
    }
    row r = {e, what, mean};
    return mo_prove_reduce(e->p, op, e->node->attrs.n_axes, extents, first_var(e), summand_at, &r);
}

static const mo_normal *reduction(element *e)
{
    const mo_shape *shape = shape_of(e, e->node->inputs[0].tensor);
    mo_affine own[MO_MAX_RANK];
    int64_t count;
    int from = 0;
    for (int d = 0, i = 0; d < shape->rank; d++) {
        bool reduced = i < e->node->attrs.n_axes && e->node->attrs.axes[i] == d;
        own[d] = reduced ? mo_affine_constant(0) : e->index[from];
        if (!reduced || e->node->attrs.keepdims) from++;
        if (reduced) i++;
    }
    e->index = own;
    mo_op op = e->node->op == MO_OP_MEAN ? MO_OP_SUM : e->node->op;
    const mo_normal *value = over_axes(e, op, THE_ELEMENT, NULL, &count);
    if (e->node->op != MO_OP_MEAN) return value;
    return mo_normal_scale(e->p->forms, value, mo_rational_make(1, count));
}

/* ---- compound operators ---- */

static const mo_normal *scaled(const element *e, const mo_normal *value)
{
    int rank = shape_of(e, e->node->outputs[0])->rank;
    for (int j = 1; j < e->node->n_inputs; j++) {
        const mo_normal *other = value == NULL ? NULL : broadcast(e, j, rank, e->index);
        value = j == 1 ? mo_normal_mul(e->p->forms, value, other) : mo_normal_add(e->p->forms, value, other);
    }
    return value;
}

/* value / sqrt(radicand + eps) */
static const mo_normal *over_root(const element *e, const mo_normal *value, const mo_normal *radicand)
{
    mo_normals *s = e->p->forms;
    const mo_normal *sum = mo_normal_add(s, radicand, mo_normal_double(s, e->node->attrs.eps));
    return mo_normal_mul(s, value, mo_normal_power(s, sum, (mo_rational){-1, 2}));
}

static const mo_normal *norm(element *e, const mo_normal *x)
{
    mo_normals *s = e->p->forms;
    int64_t count;
    if (e->node->op == MO_OP_LAYER_NORM) {
        const mo_normal *sum = over_axes(e, MO_OP_SUM, THE_ELEMENT, NULL, &count);
        const mo_normal *mean = mo_normal_scale(s, sum, mo_rational_make(1, count));
        if (mean == NULL) return NULL;
        const mo_normal *squares = over_axes(e, MO_OP_SUM, ITS_DEVIATION_SQUARED, mean, &count);
        squares = mo_normal_scale(s, squares, mo_rational_make(1, count));
        return scaled(e, over_root(e, mo_normal_sub(s, x, mean), squares));
    }
    const mo_normal *squares = over_axes(e, MO_OP_SUM, ITS_SQUARE, NULL, &count);
    if (e->node->op == MO_OP_RMS_NORM) squares = mo_normal_scale(s, squares, mo_rational_make(1, count));
    return scaled(e, over_root(e, x, squares));
}

static const mo_normal *compound(element *e)
{
    mo_normals *s = e->p->forms;
    int rank = shape_of(e, e->node->outputs[0])->rank;
    const mo_normal *x = broadcast(e, 0, rank, e->index);
    int64_t count;
    if (x == NULL) return NULL;
    if (e->node->op == MO_OP_SOFTMAX) {
        const mo_normal *sum = over_axes(e, MO_OP_SUM, ITS_EXP, NULL, &count);
        return sum == NULL ? NULL : mo_normal_div(s, mo_normal_exp(s, x), sum);
    }
    if (e->node->op != MO_OP_CAUSAL_MASK) return norm(e, x);
    mo_affine index = e->index[rank - 1];
    index.constant -= e->node->attrs.offset;
    if (mo_affine_add(&index, &e->index[rank - 2], -1)) return mo_normal_mask(s, x, &index);
    mo_normal_fail(s, "an index has too many variables");
    return NULL;
}

/* ---- data movement ---- */

/* The operand of a concat that holds the element; *own becomes the index there. -1: it depends, see need. */
static int part_of_concat(const element *e, mo_affine *own, mo_split_need *need)
{
    int axis = e->node->attrs.axes[0];
    for (int j = 0; j < e->node->n_inputs; j++) {
        int64_t extent = shape_of(e, e->node->inputs[j].tensor)->dim[axis];
        int below = mo_affine_below(own, extent, need);
        if (below == 1) return j;
        if (below < 0) return -1;
        own->constant -= extent;
    }
    MO_BUG("an index beyond a concat");
}

static const mo_normal *view(const element *e, int output)
{
    const mo_attrs *a = &e->node->attrs;
    const mo_shape *from = shape_of(e, e->node->inputs[0].tensor),
                   *to = shape_of(e, e->node->outputs[output]);
    mo_affine own[MO_MAX_RANK];
    int part = 0;
    mo_split_need need;
    if (e->node->op == MO_OP_BROADCAST_TO) return broadcast(e, 0, to->rank, e->index);
    memcpy(own, e->index, sizeof own[0] * (size_t)to->rank);
    switch (e->node->op) {
    case MO_OP_TRANSPOSE:
        for (int d = 0; d < to->rank; d++) own[a->perm[d]] = e->index[d];
        break;
    case MO_OP_SLICE: own[a->axes[0]].constant += a->start; break;
    case MO_OP_SPLIT:
        for (int i = 0; i < output; i++) own[a->axes[0]].constant += a->sections[i];
        break;
    case MO_OP_CONCAT:
        part = part_of_concat(e, &own[a->axes[0]], &need);
        if (part < 0) return mo_prove_needs(e->p, &need);
        break;
    default: { /* reshape: the same place in row-major order */
        int64_t strides_to[MO_MAX_RANK], strides_from[MO_MAX_RANK];
        mo_affine place = mo_affine_constant(0);
        mo_shape_row_major(*to, strides_to);
        mo_shape_row_major(*from, strides_from);
        for (int d = 0; d < to->rank; d++)
            if (!mo_affine_add(&place, &e->index[d], strides_to[d])) {
                mo_normal_fail(e->p->forms, "an index has too many variables");
                return NULL;
            }
        if (!mo_prove_decompose(e->p, &place, from->rank, from->dim, strides_from, own)) return NULL;
    }
    }
    return mo_prove_program(e->p, e->kind, e->node->inputs[part].tensor, own);
}

static const mo_normal *input(const element *e, int tensor)
{
    const mo_tensor *t = &e->program->tensors[tensor];
    mo_affine place = mo_affine_constant(0);
    for (int d = 0; d < t->shape.rank; d++)
        if (!mo_affine_add(&place, &e->index[d], t->strides[d])) {
            mo_normal_fail(e->p->forms, "an index has too many variables");
            return NULL;
        }
    return mo_normal_input(e->p->forms, tensor, &place);
}

const mo_normal *mo_prove_program(mo_prover *p, mo_claim_kind kind, int tensor, const mo_affine *index)
{
    const mo_program *program = kind == MO_CLAIM_OTHER ? p->other : p->program;
    const mo_tensor *t = &program->tensors[tensor];
    if (p->forms->failed != NULL) return NULL;
    const mo_claim *known = mo_prove_find(p, kind, -1, tensor, t->shape.rank, index);
    if (known != NULL) return known->form;
    element e = {p, kind, program, t->producer, NULL, index};
    const mo_normal *value;
    if (tensor < program->n_inputs) {
        value = input(&e, tensor);
    } else {
        e.node = &program->nodes[t->producer];
        switch (mo_op_kind_of(e.node->op)) {
        case MO_KIND_PRODUCT: value = matmul(&e); break;
        case MO_KIND_UNARY:
        case MO_KIND_BINARY: value = pointwise(&e); break;
        case MO_KIND_REDUCE: value = reduction(&e); break;
        case MO_KIND_COMPOUND: value = compound(&e); break;
        case MO_KIND_VIEW: value = view(&e, t->producer_output); break;
        default: MO_BUG("%s in a program", mo_op_name(e.node->op));
        }
    }
    return mo_prove_claim(p, kind, -1, tensor, t->shape.rank, index, value);
}
