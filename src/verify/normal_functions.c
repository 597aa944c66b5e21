/* Exponentials, maxima, functions without algebra, and what each operator of the table is made of. */
#include "verify/normal_parts.h"

#include "base/status.h"

#include <math.h>
#include <string.h>

static const mo_rational one = {1, 1}, minus_one = {-1, 1};

/* ---- exp ---- */

/* exp(coefficient * term): a power of exp(term), so that quotients and sums of exponents are powers. */
static const mo_normal *exp_of_term(mo_normals *s, const mo_term *t)
{
    mo_term unit = *t;
    unit.coefficient = one;
    bool masked = false;
    for (int i = 0; i < t->n_factors; i++) masked = masked || t->factors[i].atom->kind == MO_ATOM_MASK;
    if (!masked) {
        const mo_normal *arg = mo_normal_from_term(s, &unit);
        if (arg == NULL) return NULL;
        mo_atom a = {.kind = MO_ATOM_EXP, .n_args = 1, .args = &arg};
        return mo_normal_atom(s, mo_normal_intern_atom(s, &a), t->coefficient);
    }
    if (t->n_factors > 1 || t->n_bound > 0 || t->coefficient.num < 0) {
        mo_normal_fail(s, "a mask that is multiplied or summed");
        return NULL;
    }
    mo_atom a = *t->factors[0].atom;
    a.kind = MO_ATOM_INDICATOR;
    return mo_normal_atom(s, mo_normal_intern_atom(s, &a), one);
}

const mo_normal *mo_normal_exp(mo_normals *s, const mo_normal *a)
{
    if (a == NULL) return NULL;
    const mo_normal *result = mo_normal_integer(s, 1);
    for (int i = 0; i < a->n; i++) result = mo_normal_mul(s, result, exp_of_term(s, &a->terms[i]));
    return result;
}

/* ---- signs ---- */

static bool factor_is_never_negative(mo_normals *s, const mo_factor *f)
{
    switch (f->atom->kind) {
    case MO_ATOM_EXP:
    case MO_ATOM_PRIME:
    case MO_ATOM_MAX:
    case MO_ATOM_INDICATOR: return true;
    default: break;
    }
    if (f->power.den % 2 == 0 || f->power.num % 2 == 0) return true;
    return f->atom->kind == MO_ATOM_SUM && mo_normal_never_negative(s, f->atom->args[0]);
}

static bool term_is_never_negative(mo_normals *s, const mo_term *t)
{
    bool sign = t->coefficient.num > 0;
    for (int i = 0; i < t->n_factors && sign; i++) sign = factor_is_never_negative(s, &t->factors[i]);
    return sign;
}

bool mo_normal_never_negative(mo_normals *s, const mo_normal *a)
{
    for (int i = 0; i < a->n; i++)
        if (!term_is_never_negative(s, &a->terms[i])) return false;
    return true;
}

/* ---- maxima ---- */

#define MOST_ARGS 8

typedef struct {
    int n;
    const mo_normal *args[MOST_ARGS];
} arg_set;

static bool add_arg(mo_normals *s, arg_set *set, const mo_normal *a)
{
    for (int i = 0; i < set->n; i++)
        if (set->args[i] == a) return true;
    if (set->n == MOST_ARGS) return mo_normal_fail(s, "a maximum of too many values");
    int at = set->n++;
    for (; at > 0 && set->args[at - 1]->id > a->id; at--) set->args[at] = set->args[at - 1];
    set->args[at] = a;
    return true;
}

/* Adds `a` to the values that are compared: c max(0, x, ...) + r with a c above 0 counts as r, r + cx, ... */
static bool add_flat(mo_normals *s, arg_set *set, const mo_normal *a)
{
    const mo_term *max = NULL;
    for (int i = 0; i < a->n; i++) {
        const mo_term *t = &a->terms[i];
        bool plain = t->n_bound == 0 && t->n_factors == 1 && t->factors[0].atom->kind == MO_ATOM_MAX &&
                     mo_rational_is(t->factors[0].power, 1) && t->coefficient.num > 0;
        if (!plain) continue;
        if (max != NULL) return add_arg(s, set, a);
        max = t;
    }
    if (max == NULL) return add_arg(s, set, a);
    const mo_normal *rest = mo_normal_sub(s, a, mo_normal_from_term(s, max));
    if (rest == NULL || !add_flat(s, set, rest)) return false;
    for (int i = 0; i < max->factors[0].atom->n_args; i++) {
        const mo_normal *arg = mo_normal_scale(s, max->factors[0].atom->args[i], max->coefficient);
        arg = mo_normal_add(s, rest, arg);
        if (arg == NULL || !add_flat(s, set, arg)) return false;
    }
    return true;
}

/* By looks, then by age: the choice between max(a, b) = a + max(0, b - a) and the other way round must not
 * depend on the names of variables. */
static bool comes_before(const arg_set *a, const arg_set *b)
{
    uint64_t x = 0, y = 0;
    for (int i = 0; i < a->n; i++) x += a->args[i]->looks[0];
    for (int i = 0; i < b->n; i++) y += b->args[i]->looks[0];
    if (x != y) return x < y;
    for (int i = 0; i < a->n; i++)
        if (a->args[i] != b->args[i]) return a->args[i]->id < b->args[i]->id;
    return false;
}

/* The set less one of its members, without the 0 that this leaves, over the positive number that the first of
 * the rest is multiplied with. */
static bool relative_to(mo_normals *s, const arg_set *set, int base, arg_set *result, mo_rational *scale)
{
    arg_set plain = {0};
    *result = (arg_set){0};
    *scale = one;
    for (int i = 0; i < set->n; i++) {
        const mo_normal *d = mo_normal_sub(s, set->args[i], set->args[base]);
        if (d == NULL || (d->n > 0 && !add_arg(s, &plain, d))) return false;
    }
    /* The largest coefficient of all does not depend on the order of creation. */
    mo_rational largest = {0, 1};
    for (int i = 0; i < plain.n; i++)
        for (int t = 0; t < plain.args[i]->n; t++) {
            mo_rational c = plain.args[i]->terms[t].coefficient;
            int order;
            if (c.num < 0) c.num = -c.num;
            if (!mo_rational_compare(c, largest, &order)) return mo_normal_fail(s, "a number is too long");
            if (order > 0) largest = c;
        }
    if (largest.num != 0) *scale = largest;
    for (int i = 0; i < plain.n; i++) {
        const mo_normal *arg = mo_normal_scale(s, plain.args[i], (mo_rational){scale->den, scale->num});
        if (arg == NULL || !add_arg(s, result, arg)) return false;
    }
    return true;
}

/* Is this power a factor of every term of every value, with no summation variable in it? */
static bool in_all(const arg_set *set, const mo_factor *f)
{
    for (int i = 0; i < set->n; i++)
        for (int j = 0; j < set->args[i]->n; j++) {
            const mo_term *t = &set->args[i]->terms[j];
            bool found = false;
            for (int k = 0; k < t->n_factors; k++)
                found = found ||
                        (t->factors[k].atom == f->atom && mo_rational_same(t->factors[k].power, f->power));
            for (int k = 0; k < t->n_bound; k++)
                found = found && !mo_normal_has(f->atom->free, f->atom->n_free, t->bound[k]);
            if (!found) return false;
        }
    return true;
}

/* Divides all values by the positive factors that all of their terms have, and multiplies *positive by them.
 */
static bool take_positive(mo_normals *s, arg_set *set, const mo_normal **positive)
{
    const mo_term *first = &set->args[0]->terms[0];
    for (int i = 0; i < first->n_factors; i++) {
        const mo_factor *f = &first->factors[i];
        bool root = f->atom->kind == MO_ATOM_SUM && f->power.den % 2 == 0;
        if (f->atom->kind != MO_ATOM_EXP && f->atom->kind != MO_ATOM_PRIME && !root) continue;
        if (!in_all(set, f)) continue;
        const mo_normal *factor = mo_normal_atom(s, f->atom, f->power);
        const mo_normal *inverse = mo_normal_power(s, factor, minus_one);
        arg_set divided = {0};
        for (int j = 0; j < set->n; j++) {
            const mo_normal *arg = mo_normal_mul(s, set->args[j], inverse);
            if (arg == NULL || !add_arg(s, &divided, arg)) return false;
        }
        *positive = mo_normal_mul(s, *positive, factor);
        *set = divided;
        return take_positive(s, set, positive);
    }
    return *positive != NULL;
}

/* Takes out what another of the values is never below. */
static bool drop_smaller(mo_normals *s, arg_set *set)
{
    for (int i = 0; i < set->n; i++)
        for (int j = 0; j < set->n; j++) {
            if (i == j) continue;
            const mo_normal *d = mo_normal_sub(s, set->args[j], set->args[i]);
            if (d == NULL) return false;
            if (!mo_normal_never_negative(s, d)) continue;
            set->n--;
            for (int k = i; k < set->n; k++) set->args[k] = set->args[k + 1];
            i--;
            break;
        }
    return true;
}

static const mo_normal *max_of_set(mo_normals *s, arg_set *set)
{
    arg_set best = {0};
    int base = -1;
    mo_rational scale = one;
    const mo_normal *positive = NULL;
    if (!drop_smaller(s, set)) return NULL;
    if (set->n == 1) return set->args[0];
    for (int i = 0; i < set->n; i++) {
        arg_set relative;
        mo_rational by;
        const mo_normal *factor = mo_normal_integer(s, 1);
        if (!relative_to(s, set, i, &relative, &by) || !take_positive(s, &relative, &factor)) return NULL;
        if (base >= 0 && !comes_before(&relative, &best)) continue;
        base = i;
        best = relative;
        scale = by;
        positive = factor;
    }
    mo_atom a = {.kind = MO_ATOM_MAX, .n_args = best.n, .args = best.args};
    const mo_normal *max = mo_normal_mul(s, positive, mo_normal_atom(s, mo_normal_intern_atom(s, &a), one));
    return mo_normal_add(s, set->args[base], mo_normal_scale(s, max, scale));
}

/* Which of two numbers is larger, if both are numbers. */
static bool numbers(const mo_normal *a, mo_rational *value)
{
    *value = (mo_rational){0, 1};
    if (a->n > 1 || (a->n == 1 && a->terms[0].n_factors > 0)) return false;
    if (a->n == 1) *value = a->terms[0].coefficient;
    return true;
}

/* Names the variables as those of a sum are named: the argument stands in a draft as a function without
 * algebra meanwhile. Variables that do not occur are dropped: the coefficient tells nothing here. */
static const mo_normal *close_largest(mo_normals *s, const mo_normal *arg, const mo_var *vars, int n)
{
    mo_atom wrap = {.kind = MO_ATOM_FUNCTION, .op = MO_OP_MAX, .n_args = 1, .args = &arg};
    mo_draft d = {.coefficient = {1, 1}, .n_bound = n};
    memcpy(d.bound, vars, sizeof *vars * (size_t)n);
    const mo_atom *wrapped = mo_normal_intern_atom(s, &wrap);
    if (wrapped == NULL || !mo_draft_factor(s, &d, wrapped, one) || !mo_draft_canonical(s, &d)) return NULL;
    arg = d.factors[0].atom->args[0];
    if (d.n_bound == 0) return arg;
    mo_atom a = {.kind = MO_ATOM_LARGEST, .n_args = 1, .args = &arg, .n_bound = d.n_bound, .bound = d.bound};
    return mo_normal_atom(s, mo_normal_intern_atom(s, &a), one);
}

/* The atom of a form that is one maximum over variables and nothing else, or NULL. */
static const mo_atom *single_largest(const mo_normal *a)
{
    bool single = a->n == 1 && a->terms[0].n_factors == 1 && a->terms[0].n_bound == 0;
    if (!single || !mo_rational_is(a->terms[0].coefficient, 1)) return NULL;
    const mo_factor *f = &a->terms[0].factors[0];
    return f->atom->kind == MO_ATOM_LARGEST && mo_rational_is(f->power, 1) ? f->atom : NULL;
}

/* Maxima over adjoining ranges are one, as sums are: they stand as sums of a function meanwhile. NULL: they
 * are not. */
static const mo_normal *join_largest(mo_normals *s, const mo_normal *a, const mo_normal *b)
{
    const mo_atom *atoms[2] = {single_largest(a), single_largest(b)};
    if (atoms[0] == NULL || atoms[1] == NULL) return NULL;
    mo_term_list list = {0};
    for (int i = 0; i < 2; i++) {
        mo_atom wrap = {.kind = MO_ATOM_FUNCTION, .op = MO_OP_MAX, .n_args = 1, .args = atoms[i]->args};
        mo_factor factor = {mo_normal_intern_atom(s, &wrap), one};
        mo_term t = {one, atoms[i]->n_bound, 1, atoms[i]->bound, &factor};
        if (factor.atom == NULL || !mo_term_list_add(s, &list, &t)) return NULL;
    }
    if (!mo_normal_join(s, &list) || list.n != 1) return NULL;
    const mo_term *t = &list.terms[0];
    return close_largest(s, t->factors[0].atom->args[0], t->bound, t->n_bound);
}

static const mo_normal *plain_maximum(mo_normals *s, const mo_normal *a, const mo_normal *b)
{
    if (a == NULL || b == NULL) return NULL;
    const mo_normal *difference = mo_normal_sub(s, a, b);
    mo_rational d;
    if (difference == NULL) return NULL;
    if (numbers(difference, &d)) return d.num >= 0 ? a : b;
    const mo_normal *joined = join_largest(s, a, b);
    if (joined != NULL || s->failed != NULL) return joined;
    arg_set set = {0};
    if (!add_flat(s, &set, a) || !add_flat(s, &set, b)) return NULL;
    return max_of_set(s, &set);
}

static const mo_normal *negated(mo_normals *s, const mo_normal *a)
{
    return mo_normal_scale(s, a, minus_one);
}

static const mo_normal *plain_minimum(mo_normals *s, const mo_normal *a, const mo_normal *b)
{
    return negated(s, plain_maximum(s, negated(s, a), negated(s, b)));
}

/* The term -c max(0, ...) with a c above 0, if there is one and no other maximum: `a` is a minimum. */
static const mo_term *minimum_in(const mo_normal *a)
{
    const mo_term *found = NULL;
    for (int i = 0; i < a->n; i++) {
        const mo_term *t = &a->terms[i];
        bool has_max = false;
        for (int j = 0; j < t->n_factors; j++) has_max = has_max || t->factors[j].atom->kind == MO_ATOM_MAX;
        if (!has_max) continue;
        bool plain = t->n_bound == 0 && t->n_factors == 1 && mo_rational_is(t->factors[0].power, 1);
        if (!plain || t->coefficient.num > 0 || found != NULL) return NULL;
        found = t;
    }
    return found;
}

/* max(b, min(u, v, ...)) = min(max(b, u), max(b, v), ...): minima stand outside. */
static const mo_normal *over_minimum(mo_normals *s, const mo_normal *a, const mo_term *minimum,
                                     const mo_normal *b)
{
    const mo_atom *atom = minimum->factors[0].atom;
    const mo_normal *rest = mo_normal_sub(s, a, mo_normal_from_term(s, minimum));
    const mo_normal *result = mo_normal_maximum(s, rest, b);
    for (int i = 0; i < atom->n_args; i++) {
        const mo_normal *u = mo_normal_add(s, rest, mo_normal_scale(s, atom->args[i], minimum->coefficient));
        result = plain_minimum(s, result, mo_normal_maximum(s, u, b));
    }
    return result;
}

/* |c x y| = c |x| |y| for a single term; NULL where it is no product. */
static const mo_normal *absolute_product(mo_normals *s, const mo_normal *a)
{
    if (a->n != 1 || a->terms[0].n_bound > 0 || a->terms[0].n_factors < 1) return NULL;
    const mo_term *t = &a->terms[0];
    if (t->n_factors == 1 && mo_rational_is(t->factors[0].power, 1) &&
        t->factors[0].atom->kind == MO_ATOM_INPUT)
        return NULL;
    mo_rational size = t->coefficient;
    if (size.num < 0) size.num = -size.num;
    const mo_normal *result = mo_normal_number(s, size);
    for (int i = 0; i < t->n_factors; i++) {
        const mo_factor *f = &t->factors[i];
        bool signless = f->atom->kind == MO_ATOM_EXP || f->atom->kind == MO_ATOM_MAX ||
                        f->atom->kind == MO_ATOM_PRIME || f->power.den % 2 == 0 || f->power.num % 2 == 0;
        const mo_normal *x = mo_normal_atom(s, f->atom, signless ? f->power : one);
        if (!signless && t->n_factors == 1 && mo_rational_is(f->power, 1)) return NULL;
        if (!signless) x = mo_normal_power(s, mo_normal_maximum(s, x, negated(s, x)), f->power);
        result = mo_normal_mul(s, result, x);
    }
    return result;
}

const mo_normal *mo_normal_maximum(mo_normals *s, const mo_normal *a, const mo_normal *b)
{
    if (a == NULL || b == NULL) return NULL;
    const mo_term *minimum = minimum_in(a);
    if (minimum != NULL) return over_minimum(s, a, minimum, b);
    minimum = minimum_in(b);
    if (minimum != NULL) return over_minimum(s, b, minimum, a);
    const mo_normal *product = negated(s, a) == b ? absolute_product(s, a) : NULL;
    return product != NULL || s->failed != NULL ? product : plain_maximum(s, a, b);
}

const mo_normal *mo_normal_minimum(mo_normals *s, const mo_normal *a, const mo_normal *b)
{
    return plain_minimum(s, a, b);
}

/* ---- largest over variables ---- */

static bool depends(const mo_term *t, const mo_var *vars, int n)
{
    for (int i = 0; i < t->n_factors; i++)
        for (int v = 0; v < n; v++)
            if (mo_normal_has(t->factors[i].atom->free, t->factors[i].atom->n_free, vars[v])) return true;
    return false;
}

/* The part of `a` that depends on the variables, and the rest. */
static bool divide_terms(mo_normals *s, const mo_normal *a, const mo_var *vars, int n,
                         const mo_normal **moving, const mo_normal **rest)
{
    mo_term_list lists[2] = {{0}, {0}};
    for (int i = 0; i < a->n; i++)
        if (!mo_term_list_add(s, &lists[depends(&a->terms[i], vars, n) ? 1 : 0], &a->terms[i])) return false;
    *rest = mo_normal_intern(s, lists[0].terms, lists[0].n);
    *moving = mo_normal_intern(s, lists[1].terms, lists[1].n);
    return *rest != NULL && *moving != NULL;
}

/* The largest value of a single such maximum is one over the variables of both. */
static const mo_normal *open_nested(mo_normals *s, const mo_normal *a, mo_var *vars, int *n)
{
    bool single = a->n == 1 && a->terms[0].n_factors == 1 && a->terms[0].n_bound == 0;
    const mo_factor *f = single ? &a->terms[0].factors[0] : NULL;
    bool nested = single && f->atom->kind == MO_ATOM_LARGEST && mo_rational_is(f->power, 1) &&
                  mo_rational_is(a->terms[0].coefficient, 1);
    if (!nested || *n + f->atom->n_bound > MO_NORMAL_BOUND) return a;
    uint32_t number = mo_normal_above(vars, *n, mo_normal_above(a->free, a->n_free, 0));
    const mo_normal *arg = f->atom->args[0];
    number = mo_normal_above(f->atom->bound, f->atom->n_bound, number);
    for (int i = 0; i < f->atom->n_bound; i++) {
        vars[*n] = (mo_var){number++, f->atom->bound[i].extent};
        mo_affine by = mo_affine_var(vars[*n]);
        arg = mo_normal_substitute(s, arg, f->atom->bound[i], &by);
        ++*n;
    }
    return arg;
}

const mo_normal *mo_normal_largest(mo_normals *s, const mo_normal *a, const mo_var *wanted, int n)
{
    const mo_normal *moving, *rest;
    mo_var vars[MO_NORMAL_BOUND];
    if (a == NULL || n > MO_NORMAL_BOUND / 2) return NULL;
    memcpy(vars, wanted, sizeof *vars * (size_t)n);
    if (!divide_terms(s, a, vars, n, &moving, &rest)) return NULL;
    if (moving->n == 0) return a;
    mo_rational scale = mo_normal_leading(moving)->coefficient;
    if (scale.num < 0) scale.num = -scale.num;
    moving = mo_normal_scale(s, moving, (mo_rational){scale.den, scale.num});
    if (moving == NULL) return NULL;
    moving = open_nested(s, moving, vars, &n);
    if (moving == NULL) return NULL;
    return mo_normal_add(s, rest, mo_normal_scale(s, close_largest(s, moving, vars, n), scale));
}

const mo_normal *mo_normal_smallest(mo_normals *s, const mo_normal *a, const mo_var *vars, int n)
{
    return mo_normal_scale(s, mo_normal_largest(s, mo_normal_scale(s, a, minus_one), vars, n), minus_one);
}

/* ---- the rest ---- */

const mo_normal *mo_normal_function(mo_normals *s, mo_op op, uint64_t tag, const mo_normal *arg)
{
    if (arg == NULL) return NULL;
    mo_atom a = {.kind = MO_ATOM_FUNCTION, .op = op, .tag = tag, .n_args = 1, .args = &arg};
    return mo_normal_atom(s, mo_normal_intern_atom(s, &a), one);
}

const mo_normal *mo_normal_mask(mo_normals *s, const mo_normal *a, const mo_affine *index)
{
    int64_t least, most;
    mo_affine_range(index, &least, &most);
    if (most <= 0) return a;
    mo_atom mask = {.kind = MO_ATOM_MASK, .index = *index};
    return mo_normal_add(s, a, mo_normal_atom(s, mo_normal_intern_atom(s, &mask), one));
}

/* ---- operators ---- */

typedef const mo_normal *form_rule(mo_normals *s, const mo_prim_node *node, const mo_normal *a,
                                   const mo_normal *b, double number);

#define RULE(id)                                                                                   \
    static const mo_normal *form_##id(mo_normals *s, const mo_prim_node *node, const mo_normal *a, \
                                      const mo_normal *b, double number)
#define UNUSED (void)node, (void)b, (void)number

static const mo_normal *half(mo_normals *s, const mo_normal *a)
{
    return mo_normal_scale(s, a, (mo_rational){1, 2});
}

/* 1 / (1 + exp(-x)) */
static const mo_normal *sigmoid(mo_normals *s, const mo_normal *x)
{
    const mo_normal *e = mo_normal_exp(s, mo_normal_scale(s, x, minus_one));
    return mo_normal_power(s, mo_normal_add(s, mo_normal_integer(s, 1), e), minus_one);
}

/* 1 - 2 / (exp(2x) + 1) */
static const mo_normal *hyperbolic(mo_normals *s, const mo_normal *x)
{
    const mo_normal *e = mo_normal_exp(s, mo_normal_scale(s, x, mo_rational_integer(2)));
    const mo_normal *q = mo_normal_power(s, mo_normal_add(s, e, mo_normal_integer(s, 1)), minus_one);
    return mo_normal_sub(s, mo_normal_integer(s, 1), mo_normal_scale(s, q, mo_rational_integer(2)));
}

/* x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))), the root as the decimal of its double. */
static const mo_normal *gelu_tanh(mo_normals *s, const mo_normal *x)
{
    const mo_normal *cube =
        mo_normal_mul(s, mo_normal_power(s, x, mo_rational_integer(3)), mo_normal_double(s, 0.044715));
    const mo_normal *inner = mo_normal_mul(s, mo_normal_add(s, x, cube), mo_normal_double(s, MO_GELU_ROOT));
    return half(s, mo_normal_mul(s, x, mo_normal_add(s, mo_normal_integer(s, 1), hyperbolic(s, inner))));
}

RULE(ADD)
{
    UNUSED;
    return mo_normal_add(s, a, b);
}

RULE(SUB)
{
    UNUSED;
    return mo_normal_sub(s, a, b);
}

RULE(MUL)
{
    UNUSED;
    return mo_normal_mul(s, a, b);
}

RULE(DIV)
{
    UNUSED;
    return mo_normal_div(s, a, b);
}

RULE(MAXIMUM)
{
    UNUSED;
    return mo_normal_maximum(s, a, b);
}

RULE(MINIMUM)
{
    UNUSED;
    return mo_normal_minimum(s, a, b);
}

RULE(NEG)
{
    UNUSED;
    return mo_normal_scale(s, a, minus_one);
}

RULE(EXP)
{
    UNUSED;
    return mo_normal_exp(s, a);
}

RULE(LOG)
{
    UNUSED;
    return mo_normal_function(s, MO_OP_LOG, 0, a);
}

RULE(SQRT)
{
    UNUSED;
    return mo_normal_power(s, a, (mo_rational){1, 2});
}

RULE(RSQRT)
{
    UNUSED;
    return mo_normal_power(s, a, (mo_rational){-1, 2});
}

RULE(SQUARE)
{
    UNUSED;
    return mo_normal_mul(s, a, a);
}

RULE(ABS)
{
    UNUSED;
    return mo_normal_maximum(s, a, mo_normal_scale(s, a, minus_one));
}

RULE(RECIPROCAL)
{
    UNUSED;
    return mo_normal_power(s, a, minus_one);
}

RULE(RELU)
{
    UNUSED;
    return mo_normal_maximum(s, a, mo_normal_integer(s, 0));
}

RULE(SIGMOID)
{
    UNUSED;
    return sigmoid(s, a);
}

RULE(SILU)
{
    UNUSED;
    return mo_normal_mul(s, a, sigmoid(s, a));
}

RULE(TANH)
{
    UNUSED;
    return hyperbolic(s, a);
}

RULE(GELU)
{
    UNUSED;
    return node->approximate_tanh ? gelu_tanh(s, a) : mo_normal_function(s, MO_OP_GELU, 0, a);
}

RULE(CLAMP)
{
    UNUSED;
    const mo_normal *low = mo_normal_maximum(s, a, mo_normal_double(s, node->min));
    return mo_normal_minimum(s, low, mo_normal_double(s, node->max));
}

RULE(CAST)
{
    UNUSED;
    return mo_normal_function(s, MO_OP_CAST, (uint64_t)node->dtype, a);
}

/* Whole and half exponents are products, roots and quotients; for others there is no algebra. */
RULE(POW)
{
    UNUSED;
    uint64_t bits;
    double halves = 2.0 * number;
    if (halves == rint(halves) && fabs(halves) <= 32.0)
        return mo_normal_power(s, a, mo_rational_make((mo_i128)halves, 2));
    memcpy(&bits, &number, sizeof bits);
    return mo_normal_function(s, MO_OP_POW, bits, a);
}

#define form_MATMUL NULL
#define form_SUM NULL
#define form_MEAN NULL
#define form_MAX NULL
#define form_MIN NULL
#define form_SOFTMAX NULL
#define form_RMS_NORM NULL
#define form_LAYER_NORM NULL
#define form_L2_NORM NULL
#define form_CAUSAL_MASK NULL
#define form_RESHAPE NULL
#define form_TRANSPOSE NULL
#define form_CONCAT NULL
#define form_SLICE NULL
#define form_SPLIT NULL
#define form_BROADCAST_TO NULL
#define form_ITER NULL
#define form_CONST NULL
#define form_MASK NULL

static form_rule *const rules[MO_OP_COUNT] = {
#define MO_OP(id, ...) [MO_OP_##id] = form_##id,
#include "ir/ops.def"
#undef MO_OP
};

const mo_normal *mo_normal_pointwise(mo_normals *s, const mo_prim_node *node, const mo_normal *a,
                                     const mo_normal *b, double number)
{
    MO_CHECK(rules[node->op] != NULL);
    return rules[node->op](s, node, a, b, number);
}
