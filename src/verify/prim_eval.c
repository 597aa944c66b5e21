/* Evaluation of primitive nodes over small arrays: nested loops over labelled axes. */
#include "verify/prim_eval.h"

#include "base/status.h"
#include "verify/program_eval.h"

/* A nest of loops over some axes that moves up to two positions along. */
typedef struct {
    int depth;
    int extent[MO_MAX_AXES], counter[MO_MAX_AXES];
    int64_t step[2][MO_MAX_AXES];
    int64_t at[2];
} nest;

int64_t mo_instance_size(const mo_instance *instance, mo_axes axes)
{
    int64_t size = 1;
    MO_FOR_AXES(a, axes) size *= instance->extent[a];
    return size;
}

/* Position steps of each axis in an array over `axes`; 0 for the others. */
static void array_steps(const mo_instance *instance, mo_axes axes, int64_t steps[MO_MAX_AXES])
{
    int64_t step = 1;
    for (int a = MO_MAX_AXES - 1; a >= 0; a--) {
        steps[a] = axes >> a & 1u ? step : 0;
        if (axes >> a & 1u) step *= instance->extent[a];
    }
}

static void nest_start(nest *n, const mo_instance *instance, mo_axes axes, const int64_t *steps0,
                       const int64_t *steps1)
{
    n->depth = 0;
    n->at[0] = n->at[1] = 0;
    MO_FOR_AXES(a, axes) {
        n->extent[n->depth] = instance->extent[a];
        n->counter[n->depth] = 0;
        n->step[0][n->depth] = steps0[a];
        n->step[1][n->depth] = steps1[a];
        n->depth++;
    }
}

/* Next position, the innermost axis first; false when all have been seen (and is back at the start). */
static bool nest_next(nest *n)
{
    for (int i = n->depth - 1; i >= 0; i--) {
        n->at[0] += n->step[0][i];
        n->at[1] += n->step[1][i];
        if (++n->counter[i] < n->extent[i]) return true;
        n->at[0] -= n->step[0][i] * n->extent[i];
        n->at[1] -= n->step[1][i] * n->extent[i];
        n->counter[i] = 0;
    }
    return false;
}

/* Steps of the axes in memory, from the dimensions of the small tensor. */
static void access_steps(const mo_instance *instance, const mo_access *access, int64_t steps[MO_MAX_AXES])
{
    MO_CHECK(access->rank >= 0);
    int64_t strides[MO_MAX_RANK];
    mo_shape_row_major(instance->shapes[access->tensor], strides);
    mo_access_steps(access, strides, instance->extent, steps);
}

static void read_tensor(const mo_instance *instance, const mo_prim_node *node, mo_fval *out)
{
    int64_t steps[MO_MAX_AXES];
    access_steps(instance, &node->access, steps);
    const mo_fval *data = instance->data[node->access.tensor];
    MO_CHECK(data != NULL);
    nest n;
    nest_start(&n, instance, node->axes, steps, steps);
    do *out++ = data[n.at[0]];
    while (nest_next(&n));
}

/* The same patterns as in small programs. */
static void mask(const mo_instance *instance, const mo_prim_node *node, const mo_fval *x, mo_fval *out)
{
    int rows = node->mask_rows - 1, columns = node->mask_columns - 1;
    int at[MO_MAX_AXES] = {0};
    for (int64_t i = 0, n = mo_instance_size(instance, node->axes); i < n; i++) {
        bool keep = mo_mask_keeps(node->mask_offset, rows < 0 ? 0 : at[rows], columns < 0 ? 0 : at[columns],
                                  columns < 0 ? 1 : instance->extent[columns]);
        out[i] = keep ? x[i] : mo_fval_special(MO_FV_NEG_INF);
        for (int a = MO_MAX_AXES - 1; a >= 0; a--) {
            if (!(node->axes >> a & 1u)) continue;
            if (++at[a] < instance->extent[a]) break;
            at[a] = 0;
        }
    }
}

static void pointwise(const mo_field *f, const mo_instance *instance, const mo_prim_node *node,
                      const mo_prim_operand *operands, mo_fval *out)
{
    int64_t steps[2][MO_MAX_AXES];
    array_steps(instance, operands[0].node->axes, steps[0]);
    array_steps(instance, operands[node->n_in - 1].node->axes, steps[1]);
    const mo_fval *a = operands[0].values, *b = operands[node->n_in - 1].values;
    bool identity = node->op == MO_OP_CAST && mo_cast_is_identity(operands[0].node->dtype, node->dtype);
    nest n;
    nest_start(&n, instance, node->axes, steps[0], steps[1]);
    do {
        if (identity)
            *out = a[n.at[0]];
        else if (node->op == MO_OP_POW)
            *out = mo_field_pow(f, a[n.at[0]], operands[1].node->number);
        else if (node->n_in == 2)
            *out = mo_field_binary(f, node->op, a[n.at[0]], b[n.at[1]]);
        else
            *out = mo_field_unary(f, node, a[n.at[0]]);
        out++;
    } while (nest_next(&n));
}

static mo_fval sum_products(const mo_field *f, nest *inner, const mo_fval *a, const mo_fval *b)
{
    mo_field_sum sum = mo_field_sum_start(f);
    do mo_field_sum_add(f, &sum, a[inner->at[0]], b[inner->at[1]]);
    while (nest_next(inner));
    return mo_field_sum_end(f, &sum);
}

static mo_fval reduce(const mo_field *f, mo_op op, nest *inner, const mo_fval *a)
{
    mo_fval acc = mo_field_reduce_start(f, op, a[inner->at[0]]);
    while (nest_next(inner)) acc = mo_field_reduce_step(f, op, acc, a[inner->at[0]]);
    return mo_field_reduce_end(f, op, acc);
}

static void reduction(const mo_field *f, const mo_instance *instance, const mo_prim_node *node,
                      const mo_prim_operand *operands, mo_fval *out)
{
    int64_t steps[2][MO_MAX_AXES];
    array_steps(instance, operands[0].node->axes, steps[0]);
    array_steps(instance, operands[node->n_in - 1].node->axes, steps[1]);
    nest outer, inner;
    nest_start(&outer, instance, node->axes, steps[0], steps[1]);
    nest_start(&inner, instance, node->reduced, steps[0], steps[1]);
    do {
        const mo_fval *a = operands[0].values + outer.at[0];
        if (node->op == MO_OP_MATMUL)
            *out++ = sum_products(f, &inner, a, operands[1].values + outer.at[1]);
        else
            *out++ = reduce(f, node->op, &inner, a);
    } while (nest_next(&outer));
}

void mo_prim_eval_node(const mo_field *f, const mo_instance *instance, const mo_prim_node *node,
                       const mo_prim_operand *operands, mo_fval *out)
{
    switch (mo_op_kind_of(node->op)) {
    case MO_KIND_UNARY:
    case MO_KIND_BINARY: pointwise(f, instance, node, operands, out); return;
    case MO_KIND_PRODUCT:
    case MO_KIND_REDUCE: reduction(f, instance, node, operands, out); return;
    default: break;
    }
    if (node->op == MO_OP_ITER) {
        read_tensor(instance, node, out);
    } else if (node->op == MO_OP_MASK) {
        mask(instance, node, operands[0].values, out);
    } else {
        MO_CHECK(node->op == MO_OP_CONST);
        *out = node->const_axes == 0 ? mo_field_constant(f, node->number)
                                     : mo_field_integer(f, mo_instance_size(instance, node->const_axes));
    }
}

void mo_prim_eval(const mo_field *f, const mo_instance *instance, const mo_prim *graph,
                  mo_fval *const *values)
{
    for (int i = 0; i < graph->n_nodes; i++) {
        const mo_prim_node *node = &graph->nodes[i];
        mo_prim_operand operands[2] = {{NULL, NULL}, {NULL, NULL}};
        for (int j = 0; j < node->n_in; j++)
            operands[j] = (mo_prim_operand){&graph->nodes[node->in[j]], values[node->in[j]]};
        mo_prim_eval_node(f, instance, node, operands, values[i]);
    }
}

void mo_prim_store(const mo_instance *instance, const mo_access *access, mo_axes axes, const mo_fval *values)
{
    int64_t steps[2][MO_MAX_AXES];
    access_steps(instance, access, steps[0]);
    array_steps(instance, axes, steps[1]);
    mo_fval *data = instance->data[access->tensor];
    MO_CHECK(data != NULL);
    mo_axes written = axes | mo_access_axes(access);
    nest n;
    nest_start(&n, instance, written, steps[0], steps[1]);
    do data[n.at[0]] = values[n.at[1]];
    while (nest_next(&n));
}
