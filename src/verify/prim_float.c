/* One element at a time: these graphs are tiny. */
#include "verify/prim_float.h"

#include "base/status.h"
#include "verify/oracle.h"

#include <math.h>
#include <string.h>

typedef struct {
    const mo_instance *instance;
    const mo_prim *graph;
    double *const *data;
    double **values;
} evaluation;

/* Position in an array over `axes` (row-major, the first axis outermost). */
static int64_t position(const mo_instance *instance, mo_axes axes, const int *at)
{
    int64_t p = 0;
    MO_FOR_AXES(a, axes) p = p * instance->extent[a] + at[a];
    return p;
}

static int64_t place(const mo_instance *instance, const mo_access *access, const int *at)
{
    int64_t strides[MO_MAX_RANK], p = 0;
    if (access->rank < 0) {
        for (int a = 0; a < MO_MAX_AXES; a++) p += at[a] * access->stride[a];
        return p;
    }
    int64_t steps[MO_MAX_AXES];
    mo_shape_row_major(instance->shapes[access->tensor], strides);
    mo_access_steps(access, strides, instance->extent, steps);
    for (int a = 0; a < MO_MAX_AXES; a++) p += at[a] * steps[a];
    return p;
}

static bool next(const mo_instance *instance, mo_axes axes, int *at)
{
    for (int a = MO_MAX_AXES - 1; a >= 0; a--) {
        if (!(axes >> a & 1u)) continue;
        if (++at[a] < instance->extent[a]) return true;
        at[a] = 0;
    }
    return false;
}

static double operand(const evaluation *e, int node, const int *at)
{
    return e->values[node][position(e->instance, e->graph->nodes[node].axes, at)];
}

static double combine(mo_op op, double acc, double x)
{
    if (op == MO_OP_MAX) return mo_oracle_pointwise(MO_OP_MAXIMUM, NULL, acc, x);
    if (op == MO_OP_MIN) return mo_oracle_pointwise(MO_OP_MINIMUM, NULL, acc, x);
    return acc + x;
}

static double reduce(const evaluation *e, const mo_prim_node *node, int *at)
{
    double acc = 0.0;
    bool first = true;
    MO_FOR_AXES(a, node->reduced) at[a] = 0;
    do {
        double x = operand(e, node->in[0], at);
        if (node->op == MO_OP_MATMUL) x *= operand(e, node->in[1], at);
        acc = first ? x : combine(node->op, acc, x);
        first = false;
    } while (next(e->instance, node->reduced, at));
    return acc;
}

static double mask(const mo_prim_node *node, const int *at, double x)
{
    int64_t row = node->mask_rows > 0 ? at[node->mask_rows - 1] : 0;
    int64_t column = node->mask_columns > 0 ? at[node->mask_columns - 1] : 0;
    return column - row <= node->mask_offset ? x : -HUGE_VAL;
}

static double element(const evaluation *e, const mo_prim_node *node, int *at)
{
    mo_op_kind kind = mo_op_kind_of(node->op);
    if (kind == MO_KIND_REDUCE || kind == MO_KIND_PRODUCT) return reduce(e, node, at);
    if (node->op == MO_OP_ITER) return e->data[node->access.tensor][place(e->instance, &node->access, at)];
    if (node->op == MO_OP_CONST)
        return node->const_axes == 0 ? node->number : (double)mo_instance_size(e->instance, node->const_axes);
    mo_attrs attrs = {
        .min = node->min, .max = node->max, .approximate_tanh = node->approximate_tanh, .dtype = node->dtype};
    double x = operand(e, node->in[0], at);
    if (node->op == MO_OP_MASK) return mask(node, at, x);
    if (node->op == MO_OP_CAST && mo_cast_is_identity(e->graph->nodes[node->in[0]].dtype, node->dtype))
        return x;
    return mo_oracle_pointwise(node->op, &attrs, x, node->n_in == 2 ? operand(e, node->in[1], at) : 0.0);
}

static void save(const evaluation *e, const mo_saver *saver)
{
    mo_axes axes = e->graph->nodes[saver->node].axes | mo_access_axes(&saver->access);
    int at[MO_MAX_AXES] = {0};
    do e->data[saver->access.tensor][place(e->instance, &saver->access, at)] = operand(e, saver->node, at);
    while (next(e->instance, axes, at));
}

void mo_prim_float(const mo_instance *instance, const mo_prim *graph, double *const *data)
{
    mo_arena *arena = mo_arena_new();
    evaluation e = {instance, graph, data, MO_NEW_ARRAY(arena, double *, graph->n_nodes + 1)};
    for (int i = 0; i < graph->n_nodes; i++) {
        const mo_prim_node *node = &graph->nodes[i];
        e.values[i] = MO_NEW_ARRAY(arena, double, mo_instance_size(instance, node->axes));
        int at[MO_MAX_AXES] = {0};
        int64_t p = 0;
        do e.values[i][p++] = element(&e, node, at);
        while (next(instance, node->axes, at));
    }
    for (int s = 0; s < graph->n_savers; s++) save(&e, &graph->savers[s]);
    mo_arena_free(arena);
}
