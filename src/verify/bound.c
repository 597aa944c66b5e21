/* Degrees and numbers of terms, propagated through both kinds of graphs. */
#include "verify/bound.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

#define SMALLEST_Q 0x1p29 /* of the primes that carry the exponents of one exponential */
#define SMALLEST_P 0x1p30
#define PRIME_CHAINS 2000.0 /* fewer than there are to draw from */

static uint64_t bit_of(const mo_dims *dims, int dim)
{
    int c = mo_dims_class(dims, dim);
    return c == 0 ? 0 : UINT64_C(1) << (c % 64);
}

static mo_form constant_form(void)
{
    return (mo_form){.terms_num = 1, .terms_den = 1};
}

static mo_form joined(const mo_form *a, const mo_form *b)
{
    mo_form r = {.degree_arg = fmax(a->degree_arg, b->degree_arg), .roots = a->roots + b->roots};
    r.calls = a->calls + b->calls;
    r.call_degree = fmax(a->call_degree, b->call_degree);
    r.dims = a->dims | b->dims;
    r.den = a->den | b->den;
    r.den_exp = a->den_exp | b->den_exp;
    r.exponent = a->exponent | b->exponent;
    r.inner = a->inner | b->inner;
    r.exps = a->exps > b->exps ? a->exps : b->exps;
    r.order = a->order || b->order;
    r.root = a->root || b->root;
    r.opaque = a->opaque || b->opaque;
    r.unbounded = a->unbounded || b->unbounded;
    return r;
}

static mo_form add_forms(const mo_form *a, const mo_form *b)
{
    mo_form r = joined(a, b);
    r.degree_num = fmax(a->degree_num + b->degree_den, b->degree_num + a->degree_den);
    r.degree_den = a->degree_den + b->degree_den;
    r.terms_num = r.exps == 0 ? 1 : a->terms_num * b->terms_den + b->terms_num * a->terms_den;
    r.terms_den = a->terms_den * b->terms_den;
    return r;
}

static mo_form mul_forms(const mo_form *a, const mo_form *b)
{
    mo_form r = joined(a, b);
    r.degree_num = a->degree_num + b->degree_num;
    r.degree_den = a->degree_den + b->degree_den;
    r.terms_num = a->terms_num * b->terms_num;
    r.terms_den = a->terms_den * b->terms_den;
    return r;
}

static mo_form reciprocal_form(const mo_form *a)
{
    mo_form r = *a;
    r.degree_num = a->degree_den;
    r.degree_den = a->degree_num;
    r.terms_num = a->terms_den;
    r.terms_den = a->terms_num;
    r.den = a->degree_num > 0 || a->exps > 0 ? a->dims | a->den : 0;
    r.den_exp = a->exps > 0 ? a->dims | a->den_exp : 0;
    return r;
}

static mo_form exp_form(const mo_form *a, mo_form_rules rules)
{
    mo_form r = *a;
    r.degree_num = r.degree_den = 0;
    r.terms_num = r.terms_den = 1;
    r.den = r.den_exp = 0;
    r.degree_arg = fmax(a->degree_arg, fmax(a->degree_num, a->degree_den));
    r.exponent = a->dims;
    r.exps = a->exps + 1;
    r.opaque = a->opaque || r.exps > (rules.chain ? 2 : 1);
    r.unbounded = a->unbounded || a->exps > 0 || a->roots > 0;
    return r;
}

/* A random function of `n` such values: a new variable. */
static mo_form call_form(const mo_form *a, double n)
{
    mo_form r = *a;
    r.degree_num = 1;
    r.degree_den = 0;
    r.terms_num = r.terms_den = 1;
    r.den = r.den_exp = r.exponent = 0;
    r.inner = a->inner | a->dims;
    r.calls = a->calls + n;
    r.call_degree = fmax(a->call_degree, fmax(a->degree_num, a->degree_den));
    r.exps = 0;
    r.unbounded = a->unbounded || a->exps > 0 || a->roots > 0;
    return r;
}

static mo_form opaque_form(const mo_form *a)
{
    mo_form r = call_form(a, 1);
    r.opaque = true;
    return r;
}

static mo_form order_form(const mo_form *a, mo_form_rules rules, double n)
{
    mo_form r = call_form(a, n);
    r.order = true;
    r.unbounded |= !rules.free;
    return r;
}

static mo_form root_form(const mo_form *a, mo_form_rules rules)
{
    mo_form r = rules.free ? call_form(a, 1) : *a;
    r.root = true;
    if (rules.free) return r;
    r.degree_num = (a->degree_num + a->degree_den) / 2;
    r.roots = a->roots + 1;
    r.inner = a->inner | a->dims;
    r.unbounded = a->unbounded || a->exps > 0;
    return r;
}

static mo_form power_form(const mo_form *a, double exponent, mo_form_rules rules)
{
    double halves = 2 * fabs(exponent);
    if (halves != floor(halves) || halves > 128) return opaque_form(a);
    bool odd = fmod(halves, 2) != 0;
    mo_form r = odd ? root_form(a, rules) : *a;
    double times = odd ? halves : halves / 2;
    r.degree_num *= times;
    r.degree_den *= times;
    r.terms_num = pow(r.terms_num, times);
    r.terms_den = pow(r.terms_den, times);
    return exponent < 0 ? reciprocal_form(&r) : r;
}

/* The sum of n such values along a dimension of class `bit`. */
static mo_form sum_form(const mo_form *a, uint64_t bit, double n)
{
    mo_form r = *a;
    if (a->den & bit) {
        r.degree_num = a->degree_num + (n - 1) * a->degree_den;
        r.degree_den = n * a->degree_den;
    }
    if (a->exponent & bit) r.terms_num = n * a->terms_num;
    if (a->den_exp & bit) {
        r.terms_num *= pow(a->terms_den, n - 1);
        r.terms_den = pow(a->terms_den, n);
    }
    if (a->inner & bit) {
        r.roots = n * a->roots;
        r.calls = n * a->calls;
    }
    return r;
}

static mo_form sigmoid_form(const mo_form *x, mo_form_rules rules)
{
    mo_form e = exp_form(x, rules), one = constant_form(), sum = add_forms(&e, &one);
    return reciprocal_form(&sum);
}

static mo_form tanh_form(const mo_form *x, mo_form_rules rules)
{
    mo_form s = sigmoid_form(x, rules), one = constant_form();
    return add_forms(&s, &one);
}

static mo_form gelu_form(const mo_form *x, mo_form_rules rules, bool approximate_tanh)
{
    if (!approximate_tanh) return opaque_form(x);
    mo_form cube = power_form(x, 3.0, rules), inner = add_forms(x, &cube), t = tanh_form(&inner, rules);
    return mul_forms(x, &t);
}

/* Attributes of a pointwise operator that its form depends on. */
typedef struct {
    mo_op op;
    bool approximate_tanh;
    double exponent; /* POW */
} pointwise;

static mo_form pointwise_form(pointwise p, const mo_form *a, const mo_form *b, mo_form_rules rules)
{
    mo_form r;
    switch (p.op) {
    case MO_OP_ADD:
    case MO_OP_SUB: return add_forms(a, b);
    case MO_OP_MUL: return mul_forms(a, b);
    case MO_OP_DIV: r = reciprocal_form(b); return mul_forms(a, &r);
    case MO_OP_RECIPROCAL: return reciprocal_form(a);
    case MO_OP_POW: return power_form(a, p.exponent, rules);
    case MO_OP_SQUARE: return mul_forms(a, a);
    case MO_OP_SQRT: return root_form(a, rules);
    case MO_OP_RSQRT: r = root_form(a, rules); return reciprocal_form(&r);
    case MO_OP_EXP: return exp_form(a, rules);
    case MO_OP_SIGMOID: return sigmoid_form(a, rules);
    case MO_OP_SILU: r = sigmoid_form(a, rules); return mul_forms(a, &r);
    case MO_OP_TANH: return tanh_form(a, rules);
    case MO_OP_GELU: return gelu_form(a, rules, p.approximate_tanh);
    case MO_OP_NEG: return *a;
    case MO_OP_LOG:
    case MO_OP_CAST: return opaque_form(a);
    default: r = joined(a, b); /* maximum, minimum, relu, abs, clamp */
    }
    r.degree_num = fmax(a->degree_num, b->degree_num);
    r.degree_den = fmax(a->degree_den, b->degree_den);
    return order_form(&r, rules, 2);
}

static mo_form tensor_form(const mo_shrink *shrink, const mo_program *small, int tensor)
{
    mo_form r = constant_form();
    r.degree_num = 1;
    for (int d = 0; d < small->tensors[tensor].shape.rank; d++)
        r.dims |= bit_of(shrink->dims, shrink->tensors[tensor].dim[d]);
    return r;
}

typedef struct {
    const mo_shrink *shrink;
    const mo_program *small;
    const mo_node *node;
    mo_form_rules rules;
} node_scope;

static mo_form sum_over(const node_scope *s, mo_form x)
{
    int in = s->node->inputs[0].tensor;
    for (int i = 0; i < s->node->attrs.n_axes; i++) {
        int d = s->node->attrs.axes[i];
        x = sum_form(&x, bit_of(s->shrink->dims, s->shrink->tensors[in].dim[d]),
                     (double)s->small->tensors[in].shape.dim[d]);
    }
    return x;
}

static uint64_t kept_bits(const node_scope *s)
{
    int in = s->node->inputs[0].tensor;
    uint64_t bits = 0;
    for (int d = 0; d < s->small->tensors[in].shape.rank; d++) {
        bool reduced = false;
        for (int i = 0; i < s->node->attrs.n_axes; i++) reduced |= s->node->attrs.axes[i] == d;
        if (!reduced) bits |= bit_of(s->shrink->dims, s->shrink->tensors[in].dim[d]);
    }
    return bits;
}

/* The largest of n such values. */
static mo_form extreme_of(const mo_form *x, mo_form_rules rules, double n)
{
    mo_form r = order_form(x, rules, n);
    r.calls = n * (x->calls + 1);
    return r;
}

static mo_form extreme_form(const node_scope *s, const mo_form *x)
{
    double n = 1;
    for (int i = 0; i < s->node->attrs.n_axes; i++)
        n *= (double)s->small->tensors[s->node->inputs[0].tensor].shape.dim[s->node->attrs.axes[i]];
    return extreme_of(x, s->rules, n);
}

static mo_form norm_form(const node_scope *s, const mo_form *operands)
{
    mo_form x = operands[0];
    if (s->node->op == MO_OP_LAYER_NORM) {
        mo_form mean = sum_over(s, x);
        mean.dims = kept_bits(s);
        x = add_forms(&x, &mean);
    }
    mo_form squares = mul_forms(&x, &x), total = sum_over(s, squares);
    total.dims = kept_bits(s);
    mo_form root = root_form(&total, s->rules), factor = reciprocal_form(&root), y = mul_forms(&x, &factor);
    if (s->node->n_inputs > 1) y = mul_forms(&y, &operands[1]);
    if (s->node->n_inputs > 2) y = add_forms(&y, &operands[2]);
    return y;
}

static mo_form softmax_form(const node_scope *s, const mo_form *x)
{
    mo_form e = exp_form(x, s->rules), total = sum_over(s, e);
    total.dims = kept_bits(s);
    mo_form factor = reciprocal_form(&total);
    return mul_forms(&e, &factor);
}

static mo_form matmul_form(const node_scope *s, const mo_form *operands)
{
    int a = s->node->inputs[0].tensor;
    const mo_shape *shape = &s->small->tensors[a].shape;
    int k = shape->rank - 1 - (s->node->attrs.transpose_a ? 1 : 0);
    mo_form product = mul_forms(&operands[0], &operands[1]);
    return sum_form(&product, bit_of(s->shrink->dims, s->shrink->tensors[a].dim[k]), (double)shape->dim[k]);
}

mo_form mo_form_view(const mo_form *operands, int n)
{
    mo_form r = operands[0];
    for (int j = 1; j < n; j++) r = add_forms(&r, &operands[j]);
    if (r.den != 0) r.den = UINT64_MAX;
    if (r.den_exp != 0) r.den_exp = UINT64_MAX;
    if (r.exponent != 0) r.exponent = UINT64_MAX;
    if (r.inner != 0) r.inner = UINT64_MAX;
    return r;
}

static mo_form operator_form(const node_scope *s, const mo_form *operands)
{
    const mo_node *node = s->node;
    mo_form r = operands[0];
    switch (mo_op_kind_of(node->op)) {
    case MO_KIND_PRODUCT: return matmul_form(s, operands);
    case MO_KIND_REDUCE:
        if (node->op == MO_OP_MAX || node->op == MO_OP_MIN) return extreme_form(s, &r);
        return sum_over(s, r);
    case MO_KIND_VIEW: return mo_form_view(operands, node->n_inputs);
    case MO_KIND_COMPOUND:
        if (node->op == MO_OP_SOFTMAX) return softmax_form(s, &operands[0]);
        if (node->op == MO_OP_CAUSAL_MASK) return r;
        return norm_form(s, operands);
    default: break;
    }
    double exponent = node->n_inputs > 1 ? node->inputs[1].number : 0;
    if (node->op == MO_OP_CAST &&
        mo_cast_is_identity(s->small->tensors[node->inputs[0].tensor].dtype, node->attrs.dtype))
        return r;
    pointwise p = {node->op, node->attrs.approximate_tanh, exponent};
    return pointwise_form(p, &operands[0], &operands[node->n_inputs > 1 ? 1 : 0], s->rules);
}

void mo_forms_program(const mo_shrink *shrink, const mo_program *small, mo_form_rules rules, mo_form *tensors)
{
    for (int t = 0; t < small->n_inputs; t++) tensors[t] = tensor_form(shrink, small, t);
    for (int i = 0; i < small->n_nodes; i++) {
        node_scope s = {shrink, small, &small->nodes[i], rules};
        mo_form operands[64];
        for (int j = 0; j < s.node->n_inputs && j < 64; j++)
            operands[j] = s.node->inputs[j].tensor < 0 ? constant_form() : tensors[s.node->inputs[j].tensor];
        mo_form r = operator_form(&s, operands);
        for (int j = 0; j < s.node->n_outputs; j++) {
            r.dims = tensor_form(shrink, small, s.node->outputs[j]).dims;
            tensors[s.node->outputs[j]] = r;
        }
    }
}

void mo_forms_prim(const mo_dims *dims, const mo_bound_prim *body, mo_form_rules rules,
                   const mo_form *tensors, mo_form *nodes)
{
    for (int i = 0; i < body->graph->n_nodes; i++) {
        const mo_prim_node *node = &body->graph->nodes[i];
        mo_form r = constant_form();
        const mo_form *a = node->n_in > 0 ? &nodes[node->in[0]] : &r;
        const mo_form *b = node->n_in > 1 ? &nodes[node->in[1]] : a;
        if (node->op == MO_OP_ITER) {
            r = tensors[node->access.tensor];
        } else if (node->op == MO_OP_MATMUL || node->op == MO_OP_SUM) {
            r = node->op == MO_OP_MATMUL ? mul_forms(a, b) : *a;
            MO_FOR_AXES(x, node->reduced)
                r = sum_form(&r, bit_of(dims, body->axis[x]), (double)mo_dims_small(dims, body->axis[x]));
        } else if (node->op == MO_OP_MAX || node->op == MO_OP_MIN) {
            double n = 1;
            MO_FOR_AXES(x, node->reduced) n *= (double)mo_dims_small(dims, body->axis[x]);
            r = extreme_of(a, rules, n);
        } else if (node->op == MO_OP_CAST &&
                   mo_cast_is_identity(body->graph->nodes[node->in[0]].dtype, node->dtype)) {
            r = *a;
        } else if (node->op == MO_OP_MASK) {
            r = *a;
        } else if (node->op != MO_OP_CONST) {
            double exponent = node->n_in > 1 ? body->graph->nodes[node->in[1]].number : 0;
            r = pointwise_form((pointwise){node->op, node->approximate_tanh, exponent}, a, b, rules);
        }
        r.dims = 0;
        MO_FOR_AXES(x, node->axes) r.dims |= bit_of(dims, body->axis[x]);
        nodes[i] = r;
    }
}

mo_form mo_form_saved(const mo_dims *dims, const mo_form *node, const mo_dim_ids *ids, int rank)
{
    mo_form r = *node;
    r.dims = 0;
    for (int d = 0; d < rank; d++) r.dims |= bit_of(dims, ids->dim[d]);
    return r;
}

double mo_bound_constant_bits(double number)
{
    double magnitude = fabs(number);
    if (magnitude == 0 || (magnitude == floor(magnitude) && magnitude < 0x1p53))
        return magnitude < 2 ? 1 : log2(magnitude);
    return 57 + fabs(log2(magnitude)); /* at most 17 digits and a power of ten */
}

double mo_bound_round(const mo_form *a, const mo_form *b, double constant_bits)
{
    if (a->unbounded || b->unbounded) return 1;
    double degree = fmax(a->degree_num + b->degree_den, b->degree_num + a->degree_den);
    degree = fmax(degree, fmax(a->degree_arg, b->degree_arg)) + 1;
    /* A coefficient that is not 0 vanishes modulo few of the primes that are drawn from. Random functions
     * are new variables unless two of their arguments agree by chance. */
    double calls = a->calls + b->calls, call_degree = fmax(a->call_degree, b->call_degree) + 1;
    double unlucky =
        degree * constant_bits / 28 / PRIME_CHAINS + calls * calls * 2 * call_degree / SMALLEST_P;
    if (a->exps == 0 && b->exps == 0) return degree * pow(4, a->roots + b->roots) / SMALLEST_P + unlucky;
    if (a->roots > 0 || b->roots > 0) return 1;
    double k = a->terms_num * b->terms_den + b->terms_num * a->terms_den;
    if (!(k < 1e6)) return 1;
    return 8 * degree * pow(k, 4) / SMALLEST_Q + pow(SMALLEST_Q, -1 / (k * k)) + unlucky;
}
