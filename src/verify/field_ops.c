/* What each operator does to values of the fields: one table, expanded from the list of operators. */
#include "verify/field.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

static mo_fval one(const mo_field *f)
{
    return mo_field_integer(f, 1);
}

static bool is_neg_inf(mo_fval a)
{
    return (a.state & MO_FV_NEG_INF) != 0;
}

static mo_fval power(const mo_field *f, mo_fval a, uint32_t exponent)
{
    mo_fval result = one(f);
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1u) result = mo_field_mul(f, result, a);
        if (exponent > 1) a = mo_field_mul(f, a, a);
    }
    return result;
}

/* Whole and half exponents are products, roots and reciprocals; the rest are random functions. */
mo_fval mo_field_pow(const mo_field *f, mo_fval a, double exponent)
{
    double halves = 2.0 * fabs(exponent);
    if (halves == floor(halves) && halves <= 128.0) {
        uint32_t n = (uint32_t)halves;
        mo_fval v = n % 2 == 0 ? power(f, a, n / 2) : power(f, mo_field_sqrt(f, a), n);
        return exponent < 0.0 ? mo_field_reciprocal(f, v) : v;
    }
    uint64_t bits;
    memcpy(&bits, &exponent, sizeof bits);
    return mo_field_keyed(f, mo_mix64(bits) ^ MO_OP_POW, a);
}

mo_fval mo_field_cast(const mo_field *f, mo_dtype to, mo_fval a)
{
    if (is_neg_inf(a)) return a;
    return mo_field_keyed(f, (uint64_t)MO_OP_CAST << 8 | (uint64_t)to, a);
}

/* 1 / (1 + exp(-x)). */
static mo_fval sigmoid(const mo_field *f, mo_fval x)
{
    if (is_neg_inf(x)) return mo_field_integer(f, 0);
    return mo_field_reciprocal(f, mo_field_add(f, one(f), mo_field_exp(f, mo_field_neg(f, x))));
}

/* 1 - 2 / (exp(2x) + 1). */
static mo_fval hyperbolic(const mo_field *f, mo_fval x)
{
    if (is_neg_inf(x)) return mo_field_integer(f, -1);
    mo_fval two = mo_field_integer(f, 2);
    mo_fval e = mo_field_exp(f, mo_field_mul(f, two, x));
    return mo_field_sub(f, one(f), mo_field_div(f, two, mo_field_add(f, e, one(f))));
}

/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the root as the decimal of its double. */
static mo_fval gelu_tanh(const mo_field *f, mo_fval x)
{
    mo_fval inner = mo_field_mul(f, mo_field_constant(f, 0.044715), power(f, x, 3));
    inner = mo_field_mul(f, mo_field_constant(f, MO_GELU_ROOT), mo_field_add(f, x, inner));
    mo_fval outer = mo_field_add(f, one(f), hyperbolic(f, inner));
    return mo_field_mul(f, mo_field_mul(f, mo_field_constant(f, 0.5), x), outer);
}

typedef mo_fval field_rule(const mo_field *f, const mo_prim_node *attrs, mo_fval a, mo_fval b);

#define RULE(id) static mo_fval field_##id(const mo_field *f, const mo_prim_node *attrs, mo_fval a, mo_fval b)
#define UNUSED(x) (void)(x)

RULE(ADD)
{
    UNUSED(attrs);
    return mo_field_add(f, a, b);
}
RULE(SUB)
{
    UNUSED(attrs);
    return mo_field_sub(f, a, b);
}
RULE(MUL)
{
    UNUSED(attrs);
    return mo_field_mul(f, a, b);
}
RULE(DIV)
{
    UNUSED(attrs);
    return mo_field_div(f, a, b);
}
RULE(MAXIMUM)
{
    UNUSED(attrs);
    return mo_field_max(f, a, b);
}
RULE(MINIMUM)
{
    UNUSED(attrs);
    return mo_field_min(f, a, b);
}
RULE(NEG)
{
    UNUSED(attrs);
    UNUSED(b);
    return mo_field_neg(f, a);
}
RULE(EXP)
{
    UNUSED(attrs);
    UNUSED(b);
    return mo_field_exp(f, a);
}
RULE(LOG)
{
    UNUSED(attrs);
    UNUSED(b);
    return mo_field_keyed(f, MO_OP_LOG, a);
}
RULE(SQRT)
{
    UNUSED(attrs);
    UNUSED(b);
    return mo_field_sqrt(f, a);
}
RULE(RSQRT)
{
    UNUSED(attrs);
    UNUSED(b);
    return mo_field_reciprocal(f, mo_field_sqrt(f, a));
}
RULE(SQUARE)
{
    UNUSED(attrs);
    UNUSED(b);
    return mo_field_mul(f, a, a);
}
RULE(RECIPROCAL)
{
    UNUSED(attrs);
    UNUSED(b);
    return mo_field_reciprocal(f, a);
}
RULE(SIGMOID)
{
    UNUSED(attrs);
    UNUSED(b);
    return sigmoid(f, a);
}
RULE(SILU)
{
    UNUSED(attrs);
    UNUSED(b);
    return mo_field_mul(f, a, sigmoid(f, a));
}
RULE(TANH)
{
    UNUSED(attrs);
    UNUSED(b);
    return hyperbolic(f, a);
}
RULE(CAST)
{
    UNUSED(b);
    return mo_field_cast(f, attrs->dtype, a);
}

RULE(GELU)
{
    UNUSED(b);
    return attrs->approximate_tanh ? gelu_tanh(f, a) : mo_field_keyed(f, MO_OP_GELU, a);
}

RULE(ABS)
{
    UNUSED(b);
    return mo_field_order_is_free(f) ? mo_field_keyed(f, (uint64_t)attrs->op, a)
                                     : mo_field_max(f, a, mo_field_neg(f, a));
}

RULE(RELU)
{
    UNUSED(b);
    return mo_field_order_is_free(f) ? mo_field_keyed(f, (uint64_t)attrs->op, a)
                                     : mo_field_max(f, a, mo_field_integer(f, 0));
}

/* A random function of a number with two more numbers. */
static mo_fval free_clamp(const mo_field *f, const mo_prim_node *attrs, mo_fval a)
{
    uint64_t bounds[2];
    memcpy(&bounds[0], &attrs->min, sizeof bounds[0]);
    memcpy(&bounds[1], &attrs->max, sizeof bounds[1]);
    return mo_field_keyed(f, mo_hash64(bounds, sizeof bounds, MO_OP_CLAMP), a);
}

RULE(CLAMP)
{
    UNUSED(b);
    if (mo_field_order_is_free(f)) return free_clamp(f, attrs, a);
    a = mo_field_max(f, a, mo_field_constant(f, attrs->min));
    return mo_field_min(f, a, mo_field_constant(f, attrs->max));
}

/* These have no rule for single values: pow needs its exponent as a number, reductions and compound
 * operators are evaluated over arrays, views and structure compute nothing. */
#define field_POW NULL
#define field_MATMUL NULL
#define field_SUM NULL
#define field_MEAN NULL
#define field_MAX NULL
#define field_MIN NULL
#define field_SOFTMAX NULL
#define field_RMS_NORM NULL
#define field_LAYER_NORM NULL
#define field_L2_NORM NULL
#define field_CAUSAL_MASK NULL
#define field_RESHAPE NULL
#define field_TRANSPOSE NULL
#define field_CONCAT NULL
#define field_SLICE NULL
#define field_SPLIT NULL
#define field_BROADCAST_TO NULL
#define field_ITER NULL
#define field_CONST NULL
#define field_MASK NULL

static field_rule *const rules[MO_OP_COUNT] = {
#define MO_OP(id, ...) [MO_OP_##id] = field_##id,
#include "ir/ops.def"
#undef MO_OP
};

mo_fval mo_field_unary(const mo_field *f, const mo_prim_node *attrs, mo_fval x)
{
    field_rule *rule = rules[attrs->op];
    MO_CHECK(rule != NULL);
    return rule(f, attrs, x, x);
}

mo_fval mo_field_binary(const mo_field *f, mo_op op, mo_fval a, mo_fval b)
{
    field_rule *rule = rules[op];
    MO_CHECK(rule != NULL && mo_op_kind_of(op) == MO_KIND_BINARY);
    return rule(f, NULL, a, b);
}

/* Free maxima: a random function of the sum of random functions of the elements, which depends on the set
 * of elements and on nothing else. Masked elements are neutral. */
static mo_fval free_element(const mo_field *f, mo_op op, mo_fval x)
{
    return is_neg_inf(x) ? mo_field_integer(f, 0) : mo_field_keyed(f, (uint64_t)op << 16, x);
}

static bool is_extreme(mo_op op)
{
    return op == MO_OP_MAX || op == MO_OP_MIN;
}

mo_fval mo_field_reduce_start(const mo_field *f, mo_op op, mo_fval x)
{
    return mo_field_order_is_free(f) && is_extreme(op) ? free_element(f, op, x) : x;
}

mo_fval mo_field_reduce_step(const mo_field *f, mo_op op, mo_fval acc, mo_fval x)
{
    if (!is_extreme(op)) return mo_field_add(f, acc, x);
    if (mo_field_order_is_free(f)) return mo_field_add(f, acc, free_element(f, op, x));
    return op == MO_OP_MAX ? mo_field_max(f, acc, x) : mo_field_min(f, acc, x);
}

mo_fval mo_field_reduce_end(const mo_field *f, mo_op op, mo_fval acc)
{
    return mo_field_order_is_free(f) && is_extreme(op) ? mo_field_keyed(f, (uint64_t)op << 24, acc) : acc;
}
