/* Does a form follow from those of the operands by one operator? */
#include "verify/recheck_parts.h"

#include <math.h>
#include <string.h>

#define MOST_WHOLE 16

static const mo_rational one = {1, 1}, minus_one = {-1, 1};

/* ---- signs ---- */

bool mo_recheck_factor_not_negative(mo_recheck *r, const mo_factor *f)
{
    switch (f->atom->kind) {
    case MO_ATOM_EXP:
    case MO_ATOM_PRIME:
    case MO_ATOM_MAX:
    case MO_ATOM_INDICATOR: return true;
    default: break;
    }
    if (f->power.num % 2 == 0 || f->power.den % 2 == 0) return true;
    return f->atom->kind == MO_ATOM_SUM && mo_recheck_not_negative(r, f->atom->args[0]);
}

static bool terms_not_negative(mo_recheck *r, const mo_normal *f)
{
    for (int t = 0; t < f->n; t++) {
        if (f->terms[t].coefficient.num < 0) return false;
        for (int i = 0; i < f->terms[t].n_factors; i++)
            if (!mo_recheck_factor_not_negative(r, &f->terms[t].factors[i])) return false;
    }
    return true;
}

/* f = rest + m * with for the atom m = max(0, d). */
static bool divide_by(mo_recheck *r, const mo_normal *f, const mo_atom *m, const mo_normal **with,
                      const mo_normal **rest)
{
    mo_recheck_list lists[2] = {{0}, {0}};
    for (int t = 0; t < f->n; t++) {
        mo_recheck_product p = {.coefficient = one};
        int found = 0;
        if (!mo_recheck_times_term(r, &p, &f->terms[t], NULL)) return false;
        for (int i = 0; i < p.n_factors && !found; i++) {
            if (!mo_rational_is(p.factors[i].power, 1) || !mo_recheck_same_atom(r, p.factors[i].atom, m))
                continue;
            p.factors[i] = p.factors[--p.n_factors];
            found = 1;
        }
        if (!mo_recheck_finish(r, &p, &lists[found])) return false;
    }
    *rest = mo_recheck_collect(r, &lists[0]);
    *with = mo_recheck_collect(r, &lists[1]);
    return *rest != NULL && *with != NULL;
}

/* Visibly not negative: term by term, or as |d| * with/2 = with * (max(0, d) - d/2). */
bool mo_recheck_not_negative(mo_recheck *r, const mo_normal *f)
{
    if (f == NULL || !mo_recheck_step(r)) return false;
    if (terms_not_negative(r, f)) return true;
    for (int t = 0; t < f->n; t++)
        for (int i = 0; i < f->terms[t].n_factors; i++) {
            const mo_atom *m = f->terms[t].factors[i].atom;
            const mo_normal *with, *rest;
            if (m->kind != MO_ATOM_MAX || m->n_args != 1 || f->terms[t].n_bound > 0) continue;
            if (!divide_by(r, f, m, &with, &rest)) return false;
            const mo_normal *half =
                mo_recheck_scale(r, mo_recheck_mul(r, m->args[0], with), (mo_rational){-1, 2});
            if (mo_recheck_equal(r, half, rest) && mo_recheck_not_negative(r, with)) return true;
        }
    return false;
}

/* ---- powers ---- */

static const mo_normal *whole_power(mo_recheck *r, const mo_normal *x, int64_t n)
{
    const mo_normal *result = mo_recheck_integer(r, 1);
    if (n > MOST_WHOLE * 2) mo_recheck_fail(r, "a high power");
    for (int64_t i = 0; i < n && r->reason == NULL; i++) result = mo_recheck_mul(r, result, x);
    return result;
}

/* Whole powers by products, negative ones by f * x^n = 1, halves by the square of f. */
bool mo_recheck_is_power(mo_recheck *r, const mo_normal *f, const mo_normal *x, int64_t halves)
{
    bool root = halves % 2 != 0;
    int64_t n = root ? halves : halves / 2;
    const mo_normal *left = root ? mo_recheck_mul(r, f, f) : f;
    const mo_normal *right = whole_power(r, x, n < 0 ? -n : n);
    if (root && !mo_recheck_not_negative(r, f)) return false;
    if (n >= 0) return mo_recheck_equal(r, left, right);
    return mo_recheck_equal(r, mo_recheck_mul(r, left, right), mo_recheck_integer(r, 1));
}

/* Is f b = a? Of a quotient by 0 there is nothing to say. */
static bool is_quotient(mo_recheck *r, const mo_normal *f, const mo_normal *a, const mo_normal *b)
{
    if (b != NULL && b->n == 0) return mo_recheck_fail(r, "a quotient by 0");
    return mo_recheck_equal(r, mo_recheck_mul(r, f, b), a);
}

/* The quotient of two terms where the second is no sum. */
static bool divide_by_product(mo_recheck *r, const mo_term *f, const mo_term *x, mo_recheck_product *p)
{
    if (!mo_recheck_times_term(r, p, f, NULL)) return false;
    if (!mo_rational_div(p->coefficient, x->coefficient, &p->coefficient)) return false;
    for (int i = 0; i < x->n_factors; i++) {
        mo_rational power = x->factors[i].power;
        power.num = -power.num;
        if (!mo_recheck_times(r, p, x->factors[i].atom, power)) return false;
    }
    return true;
}

/* What the factors outside of both sums differ by. */
static bool divide_outside(mo_recheck *r, const mo_term *f, const mo_term *x, mo_recheck_product *p)
{
    if (!mo_rational_div(f->coefficient, x->coefficient, &p->coefficient)) return false;
    for (int side = 0; side < 2; side++) {
        const mo_term *t = side == 0 ? f : x;
        for (int i = 0; i < t->n_factors; i++) {
            mo_rational power = t->factors[i].power;
            bool bound = false;
            for (int b = 0; b < t->n_bound; b++)
                bound = bound || mo_recheck_occurs(t->factors[i].atom, t->bound[b]);
            if (side == 1) power.num = -power.num;
            if (!bound && !mo_recheck_times(r, p, t->factors[i].atom, power)) return false;
        }
    }
    return true;
}

/* A guess at f / x. */
static const mo_normal *ratio(mo_recheck *r, const mo_term *f, const mo_term *x)
{
    mo_recheck_product p = {.coefficient = one};
    mo_recheck_list list = {0};
    bool divided = x->n_bound == 0 ? divide_by_product(r, f, x, &p) : divide_outside(r, f, x, &p);
    return divided && mo_recheck_finish(r, &p, &list) ? mo_recheck_collect(r, &list) : NULL;
}

/* The root is guessed from a term of either side, and then it is checked. */
bool mo_recheck_is_over_root(mo_recheck *r, const mo_normal *f, const mo_normal *x, const mo_normal *radicand)
{
    const mo_normal *unit = mo_recheck_integer(r, 1);
    if (f == NULL || x == NULL || radicand == NULL) return false;
    if (x->n == 0) return f->n == 0 && radicand->n > 0;
    for (int i = 0; i < f->n; i++)
        for (int j = 0; j < x->n; j++) {
            const mo_normal *q = ratio(r, &f->terms[i], &x->terms[j]);
            if (q == NULL || !mo_recheck_not_negative(r, q)) continue;
            const mo_normal *square = mo_recheck_mul(r, mo_recheck_mul(r, q, q), radicand);
            if (mo_recheck_equal(r, square, unit) && mo_recheck_equal(r, mo_recheck_mul(r, q, x), f))
                return true;
        }
    return false;
}

/* ---- functions ---- */

static bool is_function(mo_recheck *r, const mo_normal *f, mo_op op, uint64_t tag, const mo_normal *a)
{
    if (a == NULL) return false;
    mo_atom atom = {.kind = MO_ATOM_FUNCTION, .op = op, .tag = tag, .n_args = 1, .args = &a};
    return mo_recheck_equal(r, f, mo_recheck_power_of(r, mo_recheck_atom(r, &atom), one));
}

/* Is f (1 + exp(-x)) = over? */
static bool is_over_logistic(mo_recheck *r, const mo_normal *f, const mo_normal *x, const mo_normal *over)
{
    const mo_normal *e = mo_recheck_exp(r, mo_recheck_scale(r, x, minus_one));
    const mo_normal *denominator = mo_recheck_add(r, mo_recheck_integer(r, 1), e);
    return mo_recheck_equal(r, mo_recheck_mul(r, f, denominator), over);
}

/* tanh(x) = (e - 1) / (e + 1) with e = exp(2x) */
static bool is_tanh(mo_recheck *r, const mo_normal *f, const mo_normal *x)
{
    const mo_normal *e = mo_recheck_exp(r, mo_recheck_scale(r, x, mo_rational_integer(2)));
    const mo_normal *unit = mo_recheck_integer(r, 1);
    const mo_normal *left = mo_recheck_mul(r, f, mo_recheck_add(r, e, unit));
    return mo_recheck_equal(r, left, mo_recheck_sub(r, e, unit));
}

/* x/2 (1 + tanh(u)) = x e / (e + 1) with e = exp(2u), u = sqrt(2/pi) (x + 0.044715 x^3) */
static bool is_gelu_tanh(mo_recheck *r, const mo_normal *f, const mo_normal *x)
{
    const mo_normal *cube = mo_recheck_mul(r, whole_power(r, x, 3), mo_recheck_double(r, 0.044715));
    const mo_normal *u = mo_recheck_mul(r, mo_recheck_add(r, x, cube), mo_recheck_double(r, MO_GELU_ROOT));
    const mo_normal *e = mo_recheck_exp(r, mo_recheck_scale(r, u, mo_rational_integer(2)));
    const mo_normal *denominator = mo_recheck_add(r, e, mo_recheck_integer(r, 1));
    return mo_recheck_equal(r, mo_recheck_mul(r, f, denominator), mo_recheck_mul(r, x, e));
}

/* Is f the larger (sign 1) or smaller (-1) of a and b? */
static bool is_extreme(mo_recheck *r, const mo_normal *f, const mo_normal *a, const mo_normal *b,
                       int64_t sign)
{
    mo_rational by = mo_rational_integer(sign);
    mo_recheck_choice both[2] = {{.form = mo_recheck_scale(r, a, by)}, {.form = mo_recheck_scale(r, b, by)}};
    return mo_recheck_is_largest(r, mo_recheck_scale(r, f, by), both, 2);
}

static bool is_pow(mo_recheck *r, const mo_normal *f, const mo_normal *a, double number)
{
    double halves = 2.0 * number;
    uint64_t bits;
    if (halves == rint(halves) && fabs(halves) <= 2.0 * MOST_WHOLE)
        return mo_recheck_is_power(r, f, a, (int64_t)halves);
    memcpy(&bits, &number, sizeof bits);
    return is_function(r, f, MO_OP_POW, bits, a);
}

bool mo_recheck_is_pointwise(mo_recheck *r, const mo_normal *f, const mo_prim_node *node, const mo_normal *a,
                             const mo_normal *b, double number)
{
    if (f == NULL || a == NULL) return false;
    switch (node->op) {
    case MO_OP_ADD: return mo_recheck_equal(r, f, mo_recheck_add(r, a, b));
    case MO_OP_SUB: return mo_recheck_equal(r, f, mo_recheck_sub(r, a, b));
    case MO_OP_MUL: return mo_recheck_equal(r, f, mo_recheck_mul(r, a, b));
    case MO_OP_DIV: return is_quotient(r, f, a, b);
    case MO_OP_MAXIMUM: return is_extreme(r, f, a, b, 1);
    case MO_OP_MINIMUM: return is_extreme(r, f, a, b, -1);
    case MO_OP_POW: return is_pow(r, f, a, number);
    case MO_OP_NEG: return mo_recheck_equal(r, f, mo_recheck_scale(r, a, minus_one));
    case MO_OP_EXP: return mo_recheck_equal(r, f, mo_recheck_exp(r, a));
    case MO_OP_LOG: return is_function(r, f, MO_OP_LOG, 0, a);
    case MO_OP_SQRT: return mo_recheck_is_power(r, f, a, 1);
    case MO_OP_RSQRT: return mo_recheck_is_power(r, f, a, -1);
    case MO_OP_SQUARE: return mo_recheck_equal(r, f, mo_recheck_mul(r, a, a));
    case MO_OP_ABS: return is_extreme(r, f, a, mo_recheck_scale(r, a, minus_one), 1);
    case MO_OP_RECIPROCAL: return mo_recheck_is_power(r, f, a, -2);
    case MO_OP_RELU: return is_extreme(r, f, a, mo_recheck_integer(r, 0), 1);
    case MO_OP_SIGMOID: return is_over_logistic(r, f, a, mo_recheck_integer(r, 1));
    case MO_OP_SILU: return is_over_logistic(r, f, a, a);
    case MO_OP_TANH: return is_tanh(r, f, a);
    case MO_OP_GELU:
        return node->approximate_tanh ? is_gelu_tanh(r, f, a) : is_function(r, f, MO_OP_GELU, 0, a);
    case MO_OP_CLAMP: return mo_recheck_is_clamp(r, f, a, node->min, node->max);
    case MO_OP_CAST: return is_function(r, f, MO_OP_CAST, (uint64_t)node->dtype, a);
    default: return mo_recheck_fail(r, "an operator that is not elementwise");
    }
}
