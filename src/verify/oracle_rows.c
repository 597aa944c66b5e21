/* Reductions, norms, softmax, masks: everything that looks at whole rows. */
#include "verify/oracle_parts.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>

/* The rows of a tensor: elements that differ only in the given dimensions. */
typedef struct {
    int64_t rows, length;
    int64_t *row;     /* position of the first element of each row */
    int64_t *element; /* steps to the elements of a row */
} row_set;

static bool is_reduced(const mo_attrs *attrs, int dim)
{
    for (int i = 0; i < attrs->n_axes; i++)
        if (attrs->axes[i] == dim) return true;
    return false;
}

/* Positions of all indices over the dimensions that are (not) reduced, in row-major order. */
static int64_t *positions(const mo_shape *shape, const mo_attrs *attrs, bool reduced, int64_t *count)
{
    int64_t strides[MO_MAX_RANK];
    mo_shape_row_major(*shape, strides);
    *count = 1;
    for (int d = 0; d < shape->rank; d++)
        if (is_reduced(attrs, d) == reduced) *count *= shape->dim[d];
    int64_t *list = malloc(sizeof *list * (size_t)*count);
    if (list == NULL) MO_BUG("out of memory");
    for (int64_t i = 0; i < *count; i++) {
        int64_t rest = i;
        list[i] = 0;
        for (int d = shape->rank - 1; d >= 0; d--) {
            if (is_reduced(attrs, d) != reduced) continue;
            list[i] += rest % shape->dim[d] * strides[d];
            rest /= shape->dim[d];
        }
    }
    return list;
}

static row_set make_rows(const mo_shape *shape, const mo_attrs *attrs)
{
    row_set set;
    set.row = positions(shape, attrs, false, &set.rows);
    set.element = positions(shape, attrs, true, &set.length);
    return set;
}

static void free_rows(row_set *set)
{
    free(set->row);
    free(set->element);
}

typedef struct {
    const mo_oracle *o;
    const mo_node *node;
    row_set rows;
    const double *x, *weight, *bias;
    double *out;
} row_task;

static double row_sum(const row_task *t, const double *x)
{
    double sum = 0.0;
    for (int64_t i = 0; i < t->rows.length; i++) sum = mo_oracle_step(t->o, sum + x[t->rows.element[i]]);
    return sum;
}

static double row_extreme(const row_task *t, const double *x, mo_op op)
{
    double best = x[t->rows.element[0]];
    for (int64_t i = 1; i < t->rows.length; i++)
        best = mo_oracle_pointwise(op, NULL, best, x[t->rows.element[i]]);
    return best;
}

static double row_mean(const row_task *t, const double *x)
{
    return mo_oracle_step(t->o, row_sum(t, x) / (double)t->rows.length);
}

static void reduce_task(void *context, int worker, int64_t row)
{
    (void)worker;
    const row_task *t = context;
    const double *x = t->x + t->rows.row[row];
    switch (t->node->op) {
    case MO_OP_SUM: t->out[row] = row_sum(t, x); return;
    case MO_OP_MEAN: t->out[row] = row_mean(t, x); return;
    case MO_OP_MAX: t->out[row] = row_extreme(t, x, MO_OP_MAXIMUM); return;
    default: t->out[row] = row_extreme(t, x, MO_OP_MINIMUM); return;
    }
}

void mo_oracle_do_reduce(const mo_oracle *o, const mo_node *node, double *out)
{
    int in = node->inputs[0].tensor;
    row_task t = {.o = o, .node = node, .x = o->tensors[in], .out = out};
    t.rows = make_rows(&o->program->tensors[in].shape, &node->attrs);
    mo_pool_run(o->pool, t.rows.rows, reduce_task, &t);
    free_rows(&t.rows);
}

static void softmax_task(void *context, int worker, int64_t row)
{
    (void)worker;
    const row_task *t = context;
    const double *x = t->x + t->rows.row[row];
    double *y = t->out + t->rows.row[row];
    double top = row_extreme(t, x, MO_OP_MAXIMUM);
    for (int64_t i = 0; i < t->rows.length; i++) {
        int64_t at = t->rows.element[i];
        y[at] = mo_oracle_step(t->o, exp(mo_oracle_step(t->o, x[at] - top)));
    }
    double sum = row_sum(t, y);
    for (int64_t i = 0; i < t->rows.length; i++) {
        int64_t at = t->rows.element[i];
        y[at] = mo_oracle_step(t->o, y[at] / sum);
    }
}

/* Weights and biases have the normalised shape, so they are in step with the elements of a row. */
static void norm_task(void *context, int worker, int64_t row)
{
    (void)worker;
    const row_task *t = context;
    const mo_oracle *o = t->o;
    const double *x = t->x + t->rows.row[row];
    double *y = t->out + t->rows.row[row];
    double mean = t->node->op == MO_OP_LAYER_NORM ? row_mean(t, x) : 0.0, squares = 0.0;
    for (int64_t i = 0; i < t->rows.length; i++) {
        double v = mo_oracle_step(o, x[t->rows.element[i]] - mean);
        y[t->rows.element[i]] = v;
        squares = mo_oracle_step(o, squares + mo_oracle_step(o, v * v));
    }
    if (t->node->op != MO_OP_L2_NORM) squares = mo_oracle_step(o, squares / (double)t->rows.length);
    double root = sqrt(mo_oracle_step(o, squares + mo_oracle_step(o, t->node->attrs.eps)));
    root = mo_oracle_step(o, root);
    for (int64_t i = 0; i < t->rows.length; i++) {
        double v = mo_oracle_step(o, y[t->rows.element[i]] / root);
        if (t->weight != NULL) v = mo_oracle_step(o, v * t->weight[i]);
        if (t->bias != NULL) v = mo_oracle_step(o, v + t->bias[i]);
        y[t->rows.element[i]] = v;
    }
}

static void mask_matrix(const row_task *t, const mo_shape *shape)
{
    int64_t rows = shape->dim[shape->rank - 2], columns = shape->dim[shape->rank - 1];
    int64_t total = mo_shape_elements(*shape);
    for (int64_t i = 0; i < total; i++) {
        bool keep = i % columns - i / columns % rows <= t->node->attrs.offset;
        t->out[i] = keep ? t->x[i] : (double)-INFINITY;
    }
}

void mo_oracle_do_compound(const mo_oracle *o, const mo_node *node, double *out)
{
    int in = node->inputs[0].tensor;
    const mo_shape *shape = &o->program->tensors[in].shape;
    row_task t = {.o = o, .node = node, .x = o->tensors[in], .out = out};
    if (node->op == MO_OP_CAUSAL_MASK) {
        mask_matrix(&t, shape);
        return;
    }
    if (node->n_inputs > 1) t.weight = o->tensors[node->inputs[1].tensor];
    if (node->n_inputs > 2) t.bias = o->tensors[node->inputs[2].tensor];
    t.rows = make_rows(shape, &node->attrs);
    mo_pool_run(o->pool, t.rows.rows, node->op == MO_OP_SOFTMAX ? softmax_task : norm_task, &t);
    free_rows(&t.rows);
}
