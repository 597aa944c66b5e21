/* Shape and dtype rules of all operators, on nodes in normal form. Nothing is assumed about a node but
 * that its tensor indices are valid, so that a defective one is refused and not followed. */
#include "ir/program.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const mo_tensor *tensors;
    const mo_node *node;
    mo_shape *shapes; /* of the outputs */
    mo_shape_error *error;
} rule;

#define DESCRIBE 320
typedef char description[DESCRIBE]; /* "Q [2,256,64]" */

static const mo_tensor *input_of(const rule *r, int i)
{
    return &r->tensors[r->node->inputs[i].tensor];
}

static const char *describe(const mo_tensor *tensor, description text)
{
    mo_str shape = {0};
    mo_shape_print(&shape, tensor->shape);
    snprintf(text, DESCRIBE, "%.160s %s", tensor->name, mo_str_text(&shape));
    mo_str_free(&shape);
    return text;
}

static bool takes_number(mo_op op, int input)
{
    if (op == MO_OP_POW) return input == 1;
    return mo_op_kind_of(op) == MO_KIND_BINARY;
}

/* How many operands there are, and which of them are numbers. */
static bool check_operands(const rule *r)
{
    const mo_node *node = r->node;
    const mo_op_facts *facts = mo_op_get(node->op);
    if (node->n_inputs < facts->min_inputs || node->n_inputs > facts->max_inputs) {
        bool exact = facts->min_inputs == facts->max_inputs;
        char range[32];
        snprintf(range, sizeof range, exact ? "%d" : "%d to %d", facts->min_inputs, facts->max_inputs);
        return mo_shape_fail(r->error, -1, "inputs", -1, "takes %s input%s, not %d", range,
                             exact && facts->max_inputs == 1 ? "" : "s", node->n_inputs);
    }
    int numbers = 0;
    for (int i = 0; i < node->n_inputs; i++) {
        if (node->inputs[i].tensor >= 0) continue;
        if (!takes_number(node->op, i)) {
            return mo_shape_fail(r->error, i, NULL, -1, "this operand must be a tensor, not a number");
        }
        if (!isfinite(mo_dtype_round(MO_F32, node->inputs[i].number))) {
            return mo_shape_fail(r->error, i, NULL, -1, "the number is beyond the range of f32");
        }
        if (++numbers == 2) return mo_shape_fail(r->error, i, NULL, -1, "only one operand may be a number");
    }
    if (node->op == MO_OP_POW && numbers == 0) {
        return mo_shape_fail(r->error, 1, NULL, -1, "the exponent must be a number");
    }
    return true;
}

static bool infer_same(const rule *r)
{
    r->shapes[0] = input_of(r, 0)->shape;
    return true;
}

static bool infer_clamp(const rule *r)
{
    const mo_attrs *attrs = &r->node->attrs;
    const double bounds[2] = {attrs->min, attrs->max};
    for (int i = 0; i < 2; i++) {
        if (isfinite(mo_dtype_round(MO_F32, bounds[i]))) continue;
        return mo_shape_fail(r->error, -1, i == 0 ? "min" : "max", -1,
                             "the number is beyond the range of f32");
    }
    if (!(attrs->min <= attrs->max)) {
        return mo_shape_fail(r->error, -1, "min", -1, "min %g is above max %g", attrs->min, attrs->max);
    }
    return infer_same(r);
}

static bool infer_binary(const rule *r)
{
    if (r->node->inputs[0].tensor < 0 || r->node->inputs[1].tensor < 0) {
        r->shapes[0] = input_of(r, r->node->inputs[0].tensor < 0 ? 1 : 0)->shape;
        return true;
    }
    const mo_tensor *a = input_of(r, 0), *b = input_of(r, 1);
    if (mo_shape_broadcast(a->shape, b->shape, &r->shapes[0])) return true;
    description left, right;
    return mo_shape_fail(r->error, 1, NULL, -1, "shapes do not broadcast (%s, %s)", describe(a, left),
                         describe(b, right));
}

/* Rows and columns of a matmul operand, after its transpose flag. */
static void matrix_dims(mo_shape shape, bool transposed, int64_t *rows, int64_t *columns)
{
    int64_t last = shape.dim[shape.rank - 1], other = shape.dim[shape.rank - 2];
    *rows = transposed ? last : other;
    *columns = transposed ? other : last;
}

static bool inner_mismatch(const rule *r, const mo_tensor *a, const mo_tensor *b, int64_t k, int64_t k2,
                           int64_t n)
{
    description left, right;
    mo_shape_fail(r->error, 0, NULL, -1, "inner dimensions %" PRId64 " and %" PRId64 " differ (%s, %s)", k,
                  k2, describe(a, left), describe(b, right));
    int64_t rows, columns;
    matrix_dims(a->shape, !r->node->attrs.transpose_a, &rows, &columns);
    if (n == k) {
        r->error->hint = r->node->attrs.transpose_b ? "they agree without \"transpose_b\": true"
                                                    : "they agree with \"transpose_b\": true";
    } else if (columns == k2) {
        r->error->hint = r->node->attrs.transpose_a ? "they agree without \"transpose_a\": true"
                                                    : "they agree with \"transpose_a\": true";
    }
    return false;
}

static bool infer_matmul(const rule *r)
{
    const mo_tensor *a = input_of(r, 0), *b = input_of(r, 1);
    description left, right;
    for (int i = 0; i < 2; i++) {
        if (input_of(r, i)->shape.rank >= 2) continue;
        return mo_shape_fail(r->error, i, NULL, -1, "needs rank 2 or more (%s)",
                             describe(input_of(r, i), left));
    }
    int64_t m, k, k2, n;
    matrix_dims(a->shape, r->node->attrs.transpose_a, &m, &k);
    matrix_dims(b->shape, r->node->attrs.transpose_b, &k2, &n);
    if (k != k2) return inner_mismatch(r, a, b, k, k2, n);
    mo_shape batch_a = a->shape, batch_b = b->shape;
    batch_a.rank -= 2;
    batch_b.rank -= 2;
    mo_shape *result = &r->shapes[0];
    if (!mo_shape_broadcast(batch_a, batch_b, result)) {
        return mo_shape_fail(r->error, 1, NULL, -1, "batch dimensions do not broadcast (%s, %s)",
                             describe(a, left), describe(b, right));
    }
    result->dim[result->rank++] = m;
    result->dim[result->rank++] = n;
    return true;
}

/* Axes as normal form has them: in range, ascending, no duplicates. */
static bool check_axes(const rule *r, const char *key, int rank)
{
    const mo_attrs *attrs = &r->node->attrs;
    if (attrs->n_axes < 0 || attrs->n_axes > MO_MAX_RANK) {
        return mo_shape_fail(r->error, -1, key, -1, "%d axes", attrs->n_axes);
    }
    for (int i = 0; i < attrs->n_axes; i++) {
        if (attrs->axes[i] < 0 || attrs->axes[i] >= rank) {
            return mo_shape_fail(r->error, -1, key, i, "axis %d is out of range for rank %d", attrs->axes[i],
                                 rank);
        }
        if (i > 0 && attrs->axes[i - 1] >= attrs->axes[i]) {
            return mo_shape_fail(r->error, -1, key, i, "axes are not in ascending order");
        }
    }
    /* Only a reduction of a scalar over all of its axes has none. */
    bool scalar = rank == 0 && mo_op_kind_of(r->node->op) == MO_KIND_REDUCE;
    if (attrs->n_axes == 0 && !scalar) return mo_shape_fail(r->error, -1, key, -1, "no axis is given");
    return true;
}

static bool check_axis(const rule *r, int rank)
{
    if (!check_axes(r, "axis", rank)) return false;
    if (r->node->attrs.n_axes == 1) return true;
    return mo_shape_fail(r->error, -1, "axis", -1, "takes one axis");
}

static bool infer_reduce(const rule *r)
{
    mo_shape input = input_of(r, 0)->shape;
    const mo_attrs *attrs = &r->node->attrs;
    if (!check_axes(r, "axes", input.rank)) return false;
    mo_shape *result = &r->shapes[0];
    *result = (mo_shape){0};
    int next = 0;
    for (int i = 0; i < input.rank; i++) {
        bool reduced = next < attrs->n_axes && attrs->axes[next] == i;
        if (reduced) next++;
        if (!reduced || attrs->keepdims) result->dim[result->rank++] = reduced ? 1 : input.dim[i];
    }
    return true;
}

static bool infer_softmax(const rule *r)
{
    return check_axis(r, input_of(r, 0)->shape.rank) && infer_same(r);
}

static bool check_eps(const rule *r)
{
    double eps = r->node->attrs.eps;
    if (!(eps >= 0)) return mo_shape_fail(r->error, -1, "eps", -1, "eps %g is negative", eps);
    if (isfinite(mo_dtype_round(MO_F32, eps))) return true;
    return mo_shape_fail(r->error, -1, "eps", -1, "the number is beyond the range of f32");
}

static bool infer_l2_norm(const rule *r)
{
    return check_axes(r, "axes", input_of(r, 0)->shape.rank) && check_eps(r) && infer_same(r);
}

/* rms_norm and layer_norm: trailing axes, weight and bias of exactly the normalised shape. */
static bool infer_norm(const rule *r)
{
    mo_shape input = input_of(r, 0)->shape;
    const mo_attrs *attrs = &r->node->attrs;
    if (!check_axes(r, "axes", input.rank) || !check_eps(r)) return false;
    int first = input.rank - attrs->n_axes;
    if (attrs->axes[0] != first) {
        return mo_shape_fail(r->error, -1, "axes", -1, "axes must be the last dimensions");
    }
    mo_shape normalised = {.rank = attrs->n_axes};
    for (int i = 0; i < attrs->n_axes; i++) normalised.dim[i] = input.dim[first + i];
    for (int i = 1; i < r->node->n_inputs; i++) {
        if (mo_shape_equal(input_of(r, i)->shape, normalised)) continue;
        description x, weight;
        return mo_shape_fail(r->error, i, NULL, -1, "%s does not have the normalised shape (%s, %s)",
                             i == 1 ? "the weight" : "the bias", describe(input_of(r, 0), x),
                             describe(input_of(r, i), weight));
    }
    return infer_same(r);
}

static bool infer_causal_mask(const rule *r)
{
    if (input_of(r, 0)->shape.rank >= 2) return infer_same(r);
    description x;
    return mo_shape_fail(r->error, 0, NULL, -1, "needs rank 2 or more (%s)", describe(input_of(r, 0), x));
}

static bool check_target_shape(const rule *r)
{
    int dim;
    const char *problem = mo_shape_problem(r->node->attrs.shape, &dim);
    return problem == NULL || mo_shape_fail(r->error, -1, "shape", dim, "%s", problem);
}

static bool infer_reshape(const rule *r)
{
    if (!check_target_shape(r)) return false;
    r->shapes[0] = r->node->attrs.shape;
    int64_t from = mo_shape_elements(input_of(r, 0)->shape), to = mo_shape_elements(r->shapes[0]);
    if (from == to) return true;
    description x;
    return mo_shape_fail(r->error, -1, "shape", -1, "%" PRId64 " elements do not become %" PRId64 " (%s)",
                         from, to, describe(input_of(r, 0), x));
}

static bool infer_broadcast_to(const rule *r)
{
    if (!check_target_shape(r)) return false;
    mo_shape target = r->node->attrs.shape;
    bool ok = mo_shape_broadcast(input_of(r, 0)->shape, target, &r->shapes[0]);
    if (ok && mo_shape_equal(r->shapes[0], target)) return true;
    description x;
    mo_str shape = {0};
    mo_shape_print(&shape, target);
    mo_shape_fail(r->error, -1, "shape", -1, "%s does not broadcast to %s", describe(input_of(r, 0), x),
                  mo_str_text(&shape));
    mo_str_free(&shape);
    return false;
}

static bool infer_transpose(const rule *r)
{
    mo_shape input = input_of(r, 0)->shape;
    bool seen[MO_MAX_RANK] = {false};
    r->shapes[0] = input;
    for (int i = 0; i < input.rank; i++) {
        int axis = r->node->attrs.perm[i];
        if (axis < 0 || axis >= input.rank || seen[axis]) {
            return mo_shape_fail(r->error, -1, "perm", i, "perm is no permutation of the axes");
        }
        seen[axis] = true;
        r->shapes[0].dim[i] = input.dim[axis];
    }
    return true;
}

static bool infer_concat(const rule *r)
{
    mo_shape result = input_of(r, 0)->shape;
    if (!check_axis(r, result.rank)) return false;
    int axis = r->node->attrs.axes[0];
    for (int i = 1; i < r->node->n_inputs; i++) {
        mo_shape shape = input_of(r, i)->shape;
        bool same = shape.rank == result.rank;
        for (int d = 0; same && d < shape.rank; d++) same = d == axis || shape.dim[d] == result.dim[d];
        if (!same) {
            description first, other;
            return mo_shape_fail(r->error, i, NULL, -1, "shapes differ outside of axis %d (%s, %s)", axis,
                                 describe(input_of(r, 0), first), describe(input_of(r, i), other));
        }
        result.dim[axis] += shape.dim[axis];
    }
    r->shapes[0] = result;
    return true;
}

static bool infer_slice(const rule *r)
{
    const mo_attrs *attrs = &r->node->attrs;
    r->shapes[0] = input_of(r, 0)->shape;
    if (!check_axis(r, r->shapes[0].rank)) return false;
    int64_t *extent = &r->shapes[0].dim[attrs->axes[0]];
    if (attrs->start < 0 || attrs->start >= attrs->stop || attrs->stop > *extent) {
        return mo_shape_fail(r->error, -1, "start", -1,
                             "no slice from %" PRId64 " to %" PRId64 " of size %" PRId64, attrs->start,
                             attrs->stop, *extent);
    }
    *extent = attrs->stop - attrs->start;
    return true;
}

static bool infer_split(const rule *r)
{
    const mo_attrs *attrs = &r->node->attrs;
    mo_shape input = input_of(r, 0)->shape;
    if (!check_axis(r, input.rank)) return false;
    int axis = attrs->axes[0];
    if (attrs->n_sections != r->node->n_outputs) {
        return mo_shape_fail(r->error, -1, "sections", -1, "%d sections for %d outputs", attrs->n_sections,
                             r->node->n_outputs);
    }
    int64_t left = input.dim[axis];
    for (int i = 0; i < attrs->n_sections; i++) {
        if (attrs->sections[i] < 1)
            return mo_shape_fail(r->error, -1, "sections", i, "a section is at least 1");
        if (attrs->sections[i] > left) {
            return mo_shape_fail(r->error, -1, "sections", i, "the sections are longer than size %" PRId64,
                                 input.dim[axis]);
        }
        left -= attrs->sections[i];
        r->shapes[i] = input;
        r->shapes[i].dim[axis] = attrs->sections[i];
    }
    if (left == 0) return true;
    return mo_shape_fail(r->error, -1, "sections", -1, "the sections leave %" PRId64 " of size %" PRId64,
                         left, input.dim[axis]);
}

static bool infer_shapes(const rule *r)
{
    switch (r->node->op) {
    case MO_OP_MATMUL: return infer_matmul(r);
    case MO_OP_CLAMP: return infer_clamp(r);
    case MO_OP_SOFTMAX: return infer_softmax(r);
    case MO_OP_RMS_NORM:
    case MO_OP_LAYER_NORM: return infer_norm(r);
    case MO_OP_L2_NORM: return infer_l2_norm(r);
    case MO_OP_CAUSAL_MASK: return infer_causal_mask(r);
    case MO_OP_RESHAPE: return infer_reshape(r);
    case MO_OP_TRANSPOSE: return infer_transpose(r);
    case MO_OP_CONCAT: return infer_concat(r);
    case MO_OP_SLICE: return infer_slice(r);
    case MO_OP_SPLIT: return infer_split(r);
    case MO_OP_BROADCAST_TO: return infer_broadcast_to(r);
    default: break;
    }
    mo_op_kind kind = mo_op_kind_of(r->node->op);
    if (kind == MO_KIND_BINARY) return infer_binary(r);
    if (kind == MO_KIND_REDUCE) return infer_reduce(r);
    if (kind == MO_KIND_UNARY) return infer_same(r);
    return mo_shape_fail(r->error, -1, NULL, -1, "this operator has no place in a program");
}

/* cast sets the dtype; everything else promotes its tensor operands, numbers do not count. */
static mo_dtype infer_dtype(const rule *r)
{
    if (r->node->op == MO_OP_CAST) return r->node->attrs.dtype;
    bool first = true;
    mo_dtype dtype = MO_F32;
    for (int i = 0; i < r->node->n_inputs; i++) {
        if (r->node->inputs[i].tensor < 0) continue;
        dtype = first ? input_of(r, i)->dtype : mo_dtype_promote(dtype, input_of(r, i)->dtype);
        first = false;
    }
    return dtype;
}

bool mo_node_infer(const mo_tensor *tensors, const mo_node *node, mo_shape *shapes, mo_dtype *dtypes,
                   mo_shape_error *error)
{
    rule r = {tensors, node, shapes, error};
    if (!check_operands(&r)) return false;
    if (node->op != MO_OP_SPLIT && node->n_outputs != 1) {
        return mo_shape_fail(error, -1, NULL, -1, "has one output, not %d", node->n_outputs);
    }
    if (!infer_shapes(&r)) return false;
    mo_dtype dtype = infer_dtype(&r);
    for (int i = 0; i < node->n_outputs; i++) {
        int dim;
        const char *problem = mo_shape_problem(shapes[i], &dim);
        if (problem != NULL) {
            mo_str shape = {0};
            mo_shape_print(&shape, shapes[i]);
            mo_shape_fail(error, -1, NULL, -1, "the result %s: %s", mo_str_text(&shape), problem);
            mo_str_free(&shape);
            return false;
        }
        dtypes[i] = dtype;
    }
    return true;
}
