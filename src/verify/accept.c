/* The numeric rule. */
#include "verify/accept.h"

#include <math.h>

#define SHORTEST_ROW 64

int64_t mo_accept_row_length(mo_shape shape)
{
    int64_t total = mo_shape_elements(shape);
    int64_t length = shape.rank > 0 ? shape.dim[shape.rank - 1] : 1;
    if (length < SHORTEST_ROW) length *= (SHORTEST_ROW + length - 1) / length;
    return length < total ? length : total;
}

static int64_t reduced_elements(const mo_program *program, const mo_node *node)
{
    if (node->inputs[0].tensor < 0) return 1;
    const mo_shape *shape = &program->tensors[node->inputs[0].tensor].shape;
    if (node->op == MO_OP_MATMUL) return shape->dim[shape->rank - (node->attrs.transpose_a ? 2 : 1)];
    mo_op_kind kind = mo_op_kind_of(node->op);
    if (kind != MO_KIND_REDUCE && kind != MO_KIND_COMPOUND) return 1;
    int64_t count = 1;
    for (int i = 0; i < node->attrs.n_axes; i++) count *= shape->dim[node->attrs.axes[i]];
    return count;
}

int64_t mo_accept_longest(const mo_program *program)
{
    int64_t longest = 1;
    for (int i = 0; i < program->n_nodes; i++) {
        int64_t count = reduced_elements(program, &program->nodes[i]);
        if (count > longest) longest = count;
    }
    return longest;
}

/* 0: finite; otherwise +inf, -inf, NaN. */
static int value_class(double x)
{
    if (isnan(x)) return 3;
    if (isinf(x)) return x > 0 ? 1 : 2;
    return 0;
}

/* Squares of one row. */
typedef struct {
    double out, yardstick, reference;
    int64_t n;
} row_norms;

typedef struct {
    mo_dtype dtype;
    double max_abs;
    int64_t special;
    bool classes_agree, yardstick_finite;
} judge;

/* Could rounding within the allowed error have decided between this value and an infinity? */
static bool near_overflow(const judge *j, double reference, double allowed)
{
    return isfinite(reference) && isinf(mo_dtype_round(j->dtype, fabs(reference) * (1.0 + allowed))) &&
           isfinite(mo_dtype_round(j->dtype, fabs(reference) * (1.0 - fmin(allowed, 1.0))));
}

/* Adds one element to its row, or settles it by its class. */
static void judge_element(judge *j, row_norms *row, double out, double reference, double yardstick,
                          double allowed)
{
    double rounded = mo_dtype_round(j->dtype, reference), measure = mo_dtype_round(j->dtype, yardstick);
    bool finite = isfinite(rounded);
    if (!finite) j->special++;
    if (!finite || !isfinite(out)) {
        int wanted = value_class(rounded), got = value_class(out);
        bool either = near_overflow(j, reference, allowed) && got != 3 && (out > 0) == (reference > 0);
        if (wanted != got && !either) j->classes_agree = false;
        bool overflows = isfinite(reference) && !isfinite(measure) && value_class(measure) != wanted;
        if (overflows && !near_overflow(j, reference, allowed)) j->yardstick_finite = false;
        return;
    }
    if (!isfinite(measure)) {
        if (!near_overflow(j, reference, allowed)) j->yardstick_finite = false;
        return;
    }
    double difference = fabs(out - rounded);
    if (difference > j->max_abs) j->max_abs = difference;
    row->out += difference * difference;
    row->yardstick += (measure - rounded) * (measure - rounded);
    row->reference += rounded * rounded;
    row->n++;
}

static double relative(double squares, double reference)
{
    return reference > 0.0 ? sqrt(squares / reference) : sqrt(squares);
}

static double allowed_error(const mo_tensor *tensor, double factor, int64_t longest, double yardstick)
{
    double u = fmax(mo_dtype_unit_roundoff(tensor->dtype), mo_dtype_unit_roundoff(tensor->compute));
    return factor * yardstick + 2.0 * u + 16.0 * sqrt((double)longest) * 0x1p-24;
}

/* What the subnormal spacing adds to what is allowed. */
static double slack_of(const mo_tensor *tensor, const row_norms *row)
{
    double slack = mo_dtype_subnormal(tensor->dtype) * sqrt((double)row->n);
    return row->reference > 0.0 ? slack / sqrt(row->reference) : slack;
}

/* Where the rows of an output begin; the last one takes what would be too short to stand alone. */
static int64_t row_end(int64_t start, int64_t length, int64_t total)
{
    return total - start < 2 * length && total - start - length < SHORTEST_ROW ? total : start + length;
}

/* The largest error of the yardstick over the rows; also tells whether it is finite where it must be. */
static double yardstick_error(judge *j, int64_t total, int64_t length, const double *reference,
                              const double *yardstick, double allowed)
{
    double worst = 0.0;
    for (int64_t start = 0, end; start < total; start = end) {
        end = row_end(start, length, total);
        row_norms row = {0};
        for (int64_t i = start; i < end; i++) {
            double measure = mo_dtype_round(j->dtype, yardstick[i]);
            judge_element(j, &row, isfinite(measure) ? measure : mo_dtype_round(j->dtype, reference[i]),
                          reference[i], yardstick[i], allowed);
        }
        worst = fmax(worst, relative(row.yardstick, row.reference));
    }
    return worst;
}

mo_accept_result mo_accept_output(const mo_tensor *tensor, double factor, int64_t longest, const double *out,
                                  const double *reference, const double *yardstick)
{
    int64_t total = mo_shape_elements(tensor->shape), length = mo_accept_row_length(tensor->shape);
    double base = allowed_error(tensor, factor, longest, 0.0);
    judge first = {.dtype = tensor->dtype, .classes_agree = true, .yardstick_finite = true};
    mo_accept_result r = {.ok = true};
    r.yardstick = yardstick_error(&first, total, length, reference, yardstick, base);
    r.allowed = allowed_error(tensor, factor, longest, r.yardstick);
    judge j = {.dtype = tensor->dtype, .classes_agree = true, .yardstick_finite = true};
    double worst = -(double)INFINITY, slack = 0.0;
    for (int64_t start = 0, end; start < total; start = end) {
        end = row_end(start, length, total);
        row_norms row = {0};
        for (int64_t i = start; i < end; i++)
            judge_element(&j, &row, out[i], reference[i], yardstick[i], r.allowed);
        double error = relative(row.out, row.reference), more = slack_of(tensor, &row);
        if (error - more <= worst) continue;
        worst = error - more;
        slack = more;
        r.error = error;
    }
    r.allowed += slack;
    r.ok = r.error <= r.allowed;
    r.special = j.special;
    r.max_abs = j.max_abs;
    r.skipped = !j.yardstick_finite;
    r.ok = r.ok && j.classes_agree && !r.skipped;
    return r;
}
