/* The walk over the program, and pointwise operators. */
#include "verify/oracle.h"

#include "base/status.h"
#include "verify/field.h"
#include "verify/oracle_parts.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLICE 16384 /* elements of one task */

double *mo_oracle_alloc(int64_t count)
{
    double *memory = malloc(sizeof *memory * (size_t)(count > 0 ? count : 1));
    if (memory == NULL) MO_BUG("out of memory (%lld elements)", (long long)count);
    return memory;
}

static double larger(double a, double b)
{
    return isnan(a) || a > b ? a : b; /* a comparison with NaN is false: b is returned if it is the NaN */
}

static double smaller(double a, double b)
{
    return isnan(a) || a < b ? a : b;
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double gelu(const mo_attrs *attrs, double x)
{
    if (!attrs->approximate_tanh) return 0.5 * x * (1.0 + erf(x * 0.70710678118654752440));
    return 0.5 * x * (1.0 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
}

double mo_oracle_pointwise(mo_op op, const mo_attrs *attrs, double a, double b)
{
    switch (op) {
    case MO_OP_ADD: return a + b;
    case MO_OP_SUB: return a - b;
    case MO_OP_MUL: return a * b;
    case MO_OP_DIV: return a / b;
    case MO_OP_MAXIMUM: return larger(a, b);
    case MO_OP_MINIMUM: return smaller(a, b);
    case MO_OP_POW: return pow(a, b);
    case MO_OP_NEG: return -a;
    case MO_OP_EXP: return exp(a);
    case MO_OP_LOG: return log(a);
    case MO_OP_SQRT: return sqrt(a);
    case MO_OP_RSQRT: return 1.0 / sqrt(a);
    case MO_OP_SQUARE: return a * a;
    case MO_OP_ABS: return fabs(a);
    case MO_OP_RECIPROCAL: return 1.0 / a;
    case MO_OP_RELU: return larger(a, 0.0);
    case MO_OP_SIGMOID: return sigmoid(a);
    case MO_OP_SILU: return a * sigmoid(a);
    case MO_OP_TANH: return tanh(a);
    case MO_OP_GELU: return gelu(attrs, a);
    case MO_OP_CLAMP: return smaller(larger(a, attrs->min), attrs->max);
    case MO_OP_CAST: return mo_dtype_round(attrs->dtype, a);
    default: MO_BUG("%s is not pointwise", mo_op_name(op));
    }
}

typedef struct {
    const mo_oracle *o;
    const mo_node *node;
    mo_attrs attrs; /* numbers rounded where the mode asks for it */
    const double *operand[2];
    double number[2];
    int64_t stride[2][MO_MAX_RANK]; /* 0 where the operand is broadcast */
    mo_shape shape;
    double *out;
} pointwise_task;

/* Steps of an operand along the dimensions of the result. */
static void broadcast_strides(const mo_shape *in, const mo_shape *out, int64_t stride[MO_MAX_RANK])
{
    int64_t own[MO_MAX_RANK];
    mo_shape_row_major(*in, own);
    for (int d = 0; d < out->rank; d++) {
        int from = d - (out->rank - in->rank);
        stride[d] = from < 0 || in->dim[from] == 1 ? 0 : own[from];
    }
}

/* In f32 each operator is computed in double and rounded once, which for +, -, *, / and square roots is the
 * f32 operation itself. */
static void pointwise_slice(void *context, int worker, int64_t slice)
{
    (void)worker;
    const pointwise_task *t = context;
    int64_t total = mo_shape_elements(t->shape), first = slice * SLICE;
    int64_t last = first + SLICE < total ? first + SLICE : total;
    bool contiguous[2] = {true, true};
    int64_t full[MO_MAX_RANK];
    mo_shape_row_major(t->shape, full);
    for (int j = 0; j < 2; j++)
        for (int d = 0; d < t->shape.rank; d++)
            contiguous[j] &= t->shape.dim[d] == 1 || t->stride[j][d] == full[d];
    for (int64_t i = first; i < last; i++) {
        double x[2];
        for (int j = 0; j < t->node->n_inputs; j++) {
            int64_t at = contiguous[j] ? i : 0;
            for (int d = 0; !contiguous[j] && d < t->shape.rank; d++)
                at += i / full[d] % t->shape.dim[d] * t->stride[j][d];
            x[j] = t->operand[j] == NULL ? t->number[j] : t->operand[j][at];
        }
        if (t->node->n_inputs < 2) x[1] = 0.0;
        t->out[i] = mo_oracle_step(t->o, mo_oracle_pointwise(t->node->op, &t->attrs, x[0], x[1]));
    }
}

static void do_pointwise(const mo_oracle *o, const mo_node *node, double *out)
{
    pointwise_task t = {.o = o, .node = node, .attrs = node->attrs, .out = out};
    t.shape = o->program->tensors[node->outputs[0]].shape;
    if (node->op == MO_OP_CAST &&
        mo_cast_is_identity(o->program->tensors[node->inputs[0].tensor].dtype, node->attrs.dtype)) {
        memcpy(out, o->tensors[node->inputs[0].tensor], sizeof *out * (size_t)mo_shape_elements(t.shape));
        return;
    }
    t.attrs.min = mo_oracle_step(o, t.attrs.min);
    t.attrs.max = mo_oracle_step(o, t.attrs.max);
    for (int j = 0; j < node->n_inputs; j++) {
        const mo_operand *in = &node->inputs[j];
        if (in->tensor < 0) {
            t.number[j] = mo_oracle_step(o, in->number);
            continue;
        }
        t.operand[j] = o->tensors[in->tensor];
        broadcast_strides(&o->program->tensors[in->tensor].shape, &t.shape, t.stride[j]);
    }
    mo_pool_run(o->pool, (mo_shape_elements(t.shape) + SLICE - 1) / SLICE, pointwise_slice, &t);
}

static void do_node(const mo_oracle *o, const mo_node *node, double *const *outs)
{
    switch (mo_op_kind_of(node->op)) {
    case MO_KIND_PRODUCT: mo_oracle_do_matmul(o, node, outs[0]); return;
    case MO_KIND_UNARY:
    case MO_KIND_BINARY: do_pointwise(o, node, outs[0]); return;
    case MO_KIND_REDUCE: mo_oracle_do_reduce(o, node, outs[0]); return;
    case MO_KIND_COMPOUND: mo_oracle_do_compound(o, node, outs[0]); return;
    case MO_KIND_VIEW: mo_oracle_do_view(o, node, outs); return;
    default: MO_BUG("%s in a program", mo_op_name(node->op));
    }
}

static double peak_of(const mo_tensor *tensor, const double *values)
{
    double peak = 0.0;
    for (int64_t i = 0; i < mo_shape_elements(tensor->shape); i++) {
        double x = fabs(values[i]);
        if (x > peak && x <= DBL_MAX) peak = x;
    }
    return peak;
}

static void note_peak(const mo_oracle *o, int t)
{
    if (o->options->peaks != NULL) o->options->peaks[t] = peak_of(&o->program->tensors[t], o->tensors[t]);
}

/* Index of the last node that reads each tensor; n_nodes for what is kept. */
static int *last_uses(mo_arena *arena, const mo_program *program, bool keep_all)
{
    int *last = MO_NEW_ARRAY(arena, int, program->n_tensors + 1);
    for (int t = 0; t < program->n_tensors; t++)
        last[t] = keep_all ? program->n_nodes : program->tensors[t].producer;
    for (int i = 0; i < program->n_nodes; i++)
        for (int j = 0; j < program->nodes[i].n_inputs; j++) {
            int t = program->nodes[i].inputs[j].tensor;
            if (t >= 0 && last[t] < i) last[t] = i;
        }
    for (int i = 0; i < program->n_outputs; i++) last[program->outputs[i]] = program->n_nodes;
    return last;
}

static void release(double **values, const mo_program *program, const int *last, int node)
{
    for (int t = program->n_inputs; t < program->n_tensors; t++) {
        if (last[t] != node) continue;
        free(values[t]);
        values[t] = NULL;
    }
}

void mo_oracle_run(const mo_program *program, const mo_oracle_options *options, const double *const *inputs,
                   double **values)
{
    mo_arena *arena = mo_arena_new();
    mo_oracle o = {program, options, options->mode == MO_ORACLE_YARDSTICK, mo_pool_new(options->threads),
                   MO_NEW_ARRAY(arena, const double *, program->n_tensors + 1)};
    const int *last = last_uses(arena, program, options->keep_all);
    for (int t = 0; t < program->n_tensors; t++) values[t] = NULL;
    for (int t = 0; t < program->n_inputs; t++) {
        o.tensors[t] = inputs[t];
        note_peak(&o, t);
    }
    for (int i = 0; i < program->n_nodes; i++) {
        const mo_node *node = &program->nodes[i];
        double **outs = MO_NEW_ARRAY(arena, double *, node->n_outputs);
        for (int j = 0; j < node->n_outputs; j++) {
            int t = node->outputs[j];
            outs[j] = values[t] = mo_oracle_alloc(mo_shape_elements(program->tensors[t].shape));
            o.tensors[t] = outs[j];
        }
        do_node(&o, node, outs);
        for (int j = 0; j < node->n_outputs; j++) note_peak(&o, node->outputs[j]);
        release(values, program, last, i);
    }
    for (int i = 0; i < program->n_outputs; i++) {
        int t = program->outputs[i];
        if (t >= program->n_inputs || values[t] != NULL) continue;
        int64_t n = mo_shape_elements(program->tensors[t].shape);
        values[t] = mo_oracle_alloc(n);
        memcpy(values[t], inputs[t], sizeof **values * (size_t)n);
    }
    mo_pool_free(o.pool);
    mo_arena_free(arena);
}

void mo_oracle_free(const mo_program *program, double **values)
{
    for (int t = 0; t < program->n_tensors; t++) {
        free(values[t]);
        values[t] = NULL;
    }
}
