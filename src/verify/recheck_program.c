/* Claims about elements of a program as written. */
#include "verify/recheck_parts.h"

#include <string.h>

/* A claim about an element of a node's result. */
typedef struct {
    mo_recheck *r;
    const mo_claim *claim;
    const mo_program *program;
    const mo_node *node;
    int rank;              /* of the result */
    const mo_normal *form; /* what is claimed */
} site;

/* What is summed up of a row, of its element x. */
typedef enum { THE_ELEMENT, ITS_EXP, ITS_SQUARE, ITS_DEVIATION_SQUARED } summand;

static const mo_shape *shape_of(const site *x, int tensor)
{
    return &x->program->tensors[tensor].shape;
}

/* ---- operands ---- */

/* Operand j of an operator that broadcasts. */
static const mo_normal *broadcast(const site *x, int j)
{
    const mo_operand *o = &x->node->inputs[j];
    if (o->tensor < 0) return mo_recheck_double(x->r, o->number);
    const mo_shape *shape = shape_of(x, o->tensor);
    mo_affine zero = mo_affine_constant(0);
    mo_recheck_need need = mo_recheck_need_of(x->claim->kind, -1, o->tensor);
    for (int d = 0; d < shape->rank; d++)
        mo_recheck_need_index(&need, shape->dim[d] == 1 ? &zero : &x->claim->index[d + x->rank - shape->rank],
                              -1);
    return mo_recheck_find(x->r, &need);
}

static bool pointwise(const site *x)
{
    const mo_attrs *a = &x->node->attrs;
    mo_prim_node node = {.op = x->node->op,
                         .dtype = a->dtype,
                         .min = a->min,
                         .max = a->max,
                         .approximate_tanh = a->approximate_tanh};
    const mo_normal *left = broadcast(x, 0), *right = NULL;
    mo_dtype from =
        x->node->inputs[0].tensor < 0 ? MO_F32 : x->program->tensors[x->node->inputs[0].tensor].dtype;
    if (node.op == MO_OP_CAST && (a->dtype == MO_F32 || a->dtype == from))
        return mo_recheck_equal(x->r, x->form, left);
    if (node.op == MO_OP_POW)
        return x->node->inputs[1].tensor < 0 &&
               mo_recheck_is_pointwise(x->r, x->form, &node, left, NULL, x->node->inputs[1].number);
    if (x->node->n_inputs == 2) right = broadcast(x, 1);
    if (x->node->n_inputs == 2 && right == NULL) return false;
    return mo_recheck_is_pointwise(x->r, x->form, &node, left, right, 0.0);
}

/* ---- reductions ---- */

static bool matmul(const site *x)
{
    mo_recheck_need needs[2];
    mo_recheck_piece *pieces;
    int64_t inner = 0;
    mo_affine zero = mo_affine_constant(0);
    for (int j = 0; j < 2; j++) {
        const mo_shape *shape = shape_of(x, x->node->inputs[j].tensor);
        bool transposed = j == 0 ? x->node->attrs.transpose_a : x->node->attrs.transpose_b;
        int reduced = shape->rank - ((j == 0) != transposed ? 1 : 2);
        needs[j] = mo_recheck_need_of(x->claim->kind, -1, x->node->inputs[j].tensor);
        for (int d = 0; d < shape->rank; d++) {
            const mo_affine *batch = &x->claim->index[d + x->rank - shape->rank];
            const mo_affine *own = &x->claim->index[x->rank - (j == 0 ? 2 : 1)];
            const mo_affine *index = d >= shape->rank - 2 ? own : shape->dim[d] == 1 ? &zero : batch;
            mo_recheck_need_index(&needs[j], index, d == reduced ? 0 : -1);
        }
        inner = shape->dim[reduced];
    }
    int n = mo_recheck_cover(x->r, needs, 2, 1, &inner, &pieces);
    const mo_normal *sum = mo_recheck_integer(x->r, 0);
    for (int i = 0; i < n; i++) {
        const mo_normal *product = mo_recheck_mul(x->r, pieces[i].form[0], pieces[i].form[1]);
        sum = mo_recheck_add(x->r, sum, mo_recheck_sum(x->r, product, pieces[i].vars, pieces[i].n_vars));
    }
    return n > 0 && mo_recheck_equal(x->r, x->form, sum);
}

/* The pieces of a row of the operand: `index` gives the dimensions that are not reduced. */
static int row_pieces(const site *x, const mo_affine *index, mo_recheck_piece **pieces, int64_t *count)
{
    const mo_shape *shape = shape_of(x, x->node->inputs[0].tensor);
    mo_recheck_need need = mo_recheck_need_of(x->claim->kind, -1, x->node->inputs[0].tensor);
    int64_t extents[MO_MAX_RANK];
    *count = 1;
    for (int d = 0; d < shape->rank; d++) {
        int slot = -1;
        for (int i = 0; i < x->node->attrs.n_axes; i++)
            if (x->node->attrs.axes[i] == d) slot = i;
        mo_recheck_need_index(&need, &index[d], slot);
        if (slot < 0) continue;
        extents[slot] = shape->dim[d];
        *count *= shape->dim[d];
    }
    return mo_recheck_cover(x->r, &need, 1, x->node->attrs.n_axes, extents, pieces);
}

static const mo_normal *row_sum(const site *x, const mo_affine *index, summand what, const mo_normal *mean,
                                int64_t *count)
{
    mo_recheck_piece *pieces;
    int n = row_pieces(x, index, &pieces, count);
    const mo_normal *sum = n == 0 ? NULL : mo_recheck_integer(x->r, 0);
    for (int i = 0; i < n; i++) {
        const mo_normal *value = pieces[i].form[0];
        if (what == ITS_EXP) value = mo_recheck_exp(x->r, value);
        if (what == ITS_DEVIATION_SQUARED) value = mo_recheck_sub(x->r, value, mean);
        if (what == ITS_DEVIATION_SQUARED || what == ITS_SQUARE) value = mo_recheck_mul(x->r, value, value);
        sum = mo_recheck_add(x->r, sum, mo_recheck_sum(x->r, value, pieces[i].vars, pieces[i].n_vars));
    }
    return sum;
}

static const mo_normal *mean_of(const site *x, const mo_normal *sum, int64_t count)
{
    return mo_recheck_scale(x->r, sum, mo_rational_make(1, count));
}

bool mo_recheck_is_extreme_of(mo_recheck *r, const mo_normal *f, const mo_recheck_piece *pieces, int n,
                              bool largest)
{
    mo_recheck_choice *choices = MO_NEW_ARRAY(r->arena, mo_recheck_choice, n + 1);
    mo_rational by = mo_rational_integer(largest ? 1 : -1);
    for (int i = 0; i < n; i++) {
        choices[i].form = mo_recheck_scale(r, pieces[i].form[0], by);
        choices[i].n = pieces[i].n_vars;
        memcpy(choices[i].vars, pieces[i].vars, sizeof pieces[i].vars);
    }
    return n > 0 && mo_recheck_is_largest(r, mo_recheck_scale(r, f, by), choices, n);
}

static bool reduction(const site *x)
{
    const mo_attrs *a = &x->node->attrs;
    mo_affine index[MO_MAX_RANK];
    int64_t count;
    int from = 0;
    for (int d = 0; d < shape_of(x, x->node->inputs[0].tensor)->rank; d++) {
        bool reduced = false;
        for (int i = 0; i < a->n_axes; i++) reduced = reduced || a->axes[i] == d;
        index[d] = reduced ? mo_affine_constant(0) : x->claim->index[from];
        if (!reduced || a->keepdims) from++;
    }
    if (x->node->op == MO_OP_MAX || x->node->op == MO_OP_MIN) {
        mo_recheck_piece *pieces;
        int n = row_pieces(x, index, &pieces, &count);
        return mo_recheck_is_extreme_of(x->r, x->form, pieces, n, x->node->op == MO_OP_MAX);
    }
    const mo_normal *sum = row_sum(x, index, THE_ELEMENT, NULL, &count);
    return mo_recheck_equal(x->r, x->form, x->node->op == MO_OP_MEAN ? mean_of(x, sum, count) : sum);
}

/* ---- compound operators ---- */

/* form = value * weight + bias with value = (element - shift) / sqrt(radicand + eps) */
static bool norm(const site *x)
{
    mo_recheck *r = x->r;
    int64_t count;
    const mo_normal *value = broadcast(x, 0), *form = x->form, *mean = NULL;
    bool centred = x->node->op == MO_OP_LAYER_NORM;
    if (centred) {
        const mo_normal *sum = row_sum(x, x->claim->index, THE_ELEMENT, NULL, &count);
        mean = mean_of(x, sum, count);
        value = mo_recheck_sub(r, value, mean);
        if (value == NULL) return false;
    }
    const mo_normal *squares =
        row_sum(x, x->claim->index, centred ? ITS_DEVIATION_SQUARED : ITS_SQUARE, mean, &count);
    if (x->node->op != MO_OP_L2_NORM) squares = mean_of(x, squares, count);
    const mo_normal *radicand = mo_recheck_add(r, squares, mo_recheck_double(r, x->node->attrs.eps));
    if (x->node->n_inputs > 1) value = mo_recheck_mul(r, value, broadcast(x, 1));
    if (x->node->n_inputs > 2) form = mo_recheck_sub(r, form, broadcast(x, 2));
    return mo_recheck_is_over_root(r, form, value, radicand);
}

static bool causal_mask(const site *x)
{
    mo_affine index = x->claim->index[x->rank - 1], offset = mo_affine_constant(1);
    if (!mo_recheck_shift(x->r, &index, &x->claim->index[x->rank - 2], -1)) return false;
    if (!mo_recheck_shift(x->r, &index, &offset, -x->node->attrs.offset)) return false;
    return mo_recheck_equal(x->r, x->form, mo_recheck_mask(x->r, broadcast(x, 0), &index));
}

static bool compound(const site *x)
{
    int64_t count;
    if (x->node->op == MO_OP_CAUSAL_MASK) return causal_mask(x);
    if (x->node->op != MO_OP_SOFTMAX) return norm(x);
    const mo_normal *sum = row_sum(x, x->claim->index, ITS_EXP, NULL, &count);
    const mo_normal *over = mo_recheck_exp(x->r, broadcast(x, 0));
    return mo_recheck_equal(x->r, mo_recheck_mul(x->r, x->form, sum), over);
}

/* ---- data movement ---- */

/* The operand that holds the element, all of it; the index becomes the one there. */
static int part_of_concat(const site *x, mo_affine *index)
{
    int64_t least, most, start = 0;
    int axis = x->node->attrs.axes[0];
    if (!mo_recheck_range(index, &least, &most)) return -1;
    for (int j = 0; j < x->node->n_inputs; j++) {
        int64_t end = start + shape_of(x, x->node->inputs[j].tensor)->dim[axis];
        if (least >= start && most < end) {
            index->constant -= start;
            return j;
        }
        start = end;
    }
    return -1;
}

/* The same place in row-major order. */
static bool reshaped(const site *x, mo_affine *own)
{
    const mo_shape *from = shape_of(x, x->node->inputs[0].tensor), *to = shape_of(x, x->claim->value);
    int64_t strides_from[MO_MAX_RANK], strides_to[MO_MAX_RANK];
    mo_affine place = mo_affine_constant(0);
    mo_shape_row_major(*from, strides_from);
    mo_shape_row_major(*to, strides_to);
    for (int d = 0; d < to->rank; d++)
        if (!mo_recheck_shift(x->r, &place, &x->claim->index[d], strides_to[d])) return false;
    return mo_recheck_digits(x->r, &place, from->rank, from->dim, strides_from, own);
}

static bool view(const site *x)
{
    const mo_attrs *a = &x->node->attrs;
    mo_affine own[MO_MAX_RANK];
    int part = 0;
    if (x->node->op == MO_OP_BROADCAST_TO) return mo_recheck_equal(x->r, x->form, broadcast(x, 0));
    memcpy(own, x->claim->index, sizeof own[0] * (size_t)x->rank);
    switch (x->node->op) {
    case MO_OP_TRANSPOSE:
        for (int d = 0; d < x->rank; d++) own[a->perm[d]] = x->claim->index[d];
        break;
    case MO_OP_SLICE: own[a->axes[0]].constant += a->start; break;
    case MO_OP_SPLIT:
        for (int i = 0; x->node->outputs[i] != x->claim->value; i++)
            own[a->axes[0]].constant += a->sections[i];
        break;
    case MO_OP_CONCAT: part = part_of_concat(x, &own[a->axes[0]]); break;
    case MO_OP_RESHAPE:
        if (!reshaped(x, own)) return false;
        break;
    default: return mo_recheck_fail(x->r, "an operator that is not known here");
    }
    if (part < 0) return mo_recheck_fail(x->r, "an element in several parts of a concat");
    mo_recheck_need need = mo_recheck_need_of(x->claim->kind, -1, x->node->inputs[part].tensor);
    for (int d = 0; d < shape_of(x, x->node->inputs[part].tensor)->rank; d++)
        mo_recheck_need_index(&need, &own[d], -1);
    return mo_recheck_equal(x->r, x->form, mo_recheck_find(x->r, &need));
}

static bool input(const site *x)
{
    const mo_tensor *t = &x->program->tensors[x->claim->value];
    mo_affine place = mo_affine_constant(0);
    for (int d = 0; d < t->shape.rank; d++)
        if (!mo_recheck_shift(x->r, &place, &x->claim->index[d], t->strides[d])) return false;
    mo_atom atom = {.kind = MO_ATOM_INPUT, .tensor = x->claim->value, .index = place};
    const mo_normal *element =
        mo_recheck_power_of(x->r, mo_recheck_atom(x->r, &atom), mo_rational_integer(1));
    return mo_recheck_equal(x->r, x->form, element);
}

bool mo_recheck_program_claim(mo_recheck *r, const mo_claim *claim)
{
    mo_recheck_map map = {.n = 0};
    site x = {.r = r, .claim = claim, .program = claim->kind == MO_CLAIM_OTHER ? r->other : r->program};
    x.form = mo_recheck_copy(r, claim->form, &map);
    if (x.form == NULL) return false;
    if (claim->value < x.program->n_inputs) return input(&x);
    x.node = &x.program->nodes[x.program->tensors[claim->value].producer];
    x.rank = shape_of(&x, claim->value)->rank;
    switch (mo_op_kind_of(x.node->op)) {
    case MO_KIND_PRODUCT: return matmul(&x);
    case MO_KIND_UNARY:
    case MO_KIND_BINARY: return pointwise(&x);
    case MO_KIND_REDUCE: return reduction(&x);
    case MO_KIND_COMPOUND: return compound(&x);
    case MO_KIND_VIEW: return view(&x);
    default: return mo_recheck_fail(r, "an operator that is not known here");
    }
}
