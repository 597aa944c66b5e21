/* Powers: quotients and roots. */
#include "verify/normal_parts.h"

#include <string.h>

#define MOST_WHOLE 16     /* whole powers that are multiplied out */
#define MOST_PRIME 100000 /* numbers under a root are divided by primes up to here */

static bool is_whole(mo_rational r)
{
    return r.den == 1;
}

/* Can (x^p)^r be written as x^(pr), or as |x|^(pr)? */
static bool power_moves_in(const mo_factor *f, mo_rational r)
{
    mo_rational product;
    if (is_whole(r)) return true;
    if (!mo_rational_mul(f->power, r, &product)) return false;
    switch (f->atom->kind) {
    case MO_ATOM_EXP:
    case MO_ATOM_PRIME:
    case MO_ATOM_MAX: return true;
    case MO_ATOM_INDICATOR: return r.num > 0;
    default:
        if (f->power.den % 2 == 0) return true; /* a root: the base is not negative */
        return f->power.num % 2 == 0 && (is_whole(product) || product.den % 2 == 0);
    }
}

/* Is (x^p)^r = |x|^(pr), which is not x^(pr)? Only odd whole powers of what may be negative show the sign. */
static bool shows_sign(const mo_factor *f, mo_rational r, mo_rational product)
{
    bool signless = f->atom->kind == MO_ATOM_EXP || f->atom->kind == MO_ATOM_PRIME ||
                    f->atom->kind == MO_ATOM_MAX || f->atom->kind == MO_ATOM_INDICATOR;
    return !signless && !is_whole(r) && f->power.den % 2 != 0 &&
           (product.den % 2 == 0 || product.num % 2 != 0);
}

static const mo_normal *absolute(mo_normals *s, const mo_atom *atom)
{
    const mo_normal *x = mo_normal_atom(s, atom, mo_rational_integer(1));
    return mo_normal_maximum(s, x, mo_normal_scale(s, x, mo_rational_integer(-1)));
}

/* number^r for a number above 0: whole parts to the coefficient, primes under a root. */
static bool power_of_number(mo_normals *s, mo_draft *d, mo_i128 number, mo_rational r)
{
    for (mo_i128 p = 2; number > 1; p++) {
        if (p > MOST_PRIME || p * p > number) p = number;
        if (number % p != 0) continue;
        int64_t times = 0;
        for (; number % p == 0; number /= p) times++;
        mo_rational power;
        if (p > INT64_MAX || !mo_rational_mul(r, mo_rational_integer(times), &power))
            return mo_normal_fail(s, "a number is too long");
        mo_atom prime = {.kind = MO_ATOM_PRIME, .tag = (uint64_t)p};
        const mo_atom *atom = mo_normal_intern_atom(s, &prime);
        if (atom == NULL || !mo_draft_factor(s, d, atom, power)) return false;
    }
    return true;
}

static bool power_of_rational(mo_normals *s, mo_draft *d, mo_rational value, mo_rational r)
{
    if (is_whole(r)) {
        mo_rational power;
        if (r.num > 64 || r.num < -64 || !mo_rational_power(value, (int64_t)r.num, &power) ||
            !mo_rational_mul(d->coefficient, power, &d->coefficient))
            return mo_normal_fail(s, "a number is too long");
        return true;
    }
    mo_rational minus = {-r.num, r.den};
    return power_of_number(s, d, value.num, r) && power_of_number(s, d, value.den, minus);
}

/* What all terms of a form have in common: a number and powers of atoms. */
typedef struct {
    mo_rational number;
    int n;
    mo_factor factors[MO_NORMAL_FACTORS];
} content;

static const mo_factor *factor_of(const mo_term *t, const mo_atom *atom)
{
    for (int i = 0; i < t->n_factors; i++)
        if (t->factors[i].atom == atom) return &t->factors[i];
    return NULL;
}

static bool uses_bound(const mo_term *t, const mo_atom *atom)
{
    for (int i = 0; i < t->n_bound; i++)
        if (mo_normal_has(atom->free, atom->n_free, t->bound[i])) return true;
    return false;
}

/* The least power in which the atom stands in every term; 0 where some term has another variable in it. */
static bool common_power(mo_normals *s, const mo_normal *a, const mo_atom *atom, mo_rational *least)
{
    for (int i = 0; i < a->n; i++) {
        const mo_factor *f = factor_of(&a->terms[i], atom);
        mo_rational power = f == NULL ? mo_rational_integer(0) : f->power;
        if (f != NULL && uses_bound(&a->terms[i], atom)) power = mo_rational_integer(0);
        int order = -1;
        if (i > 0 && !mo_rational_compare(power, *least, &order))
            return mo_normal_fail(s, "a number is too long");
        if (order < 0) *least = power;
    }
    return true;
}

static bool find_content(mo_normals *s, const mo_normal *a, mo_rational r, content *c)
{
    *c = (content){.number = mo_normal_leading(a)->coefficient};
    if (c->number.num < 0 && !is_whole(r)) c->number.num = -c->number.num;
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < a->terms[i].n_factors; j++) {
            const mo_atom *atom = a->terms[i].factors[j].atom;
            bool seen = false;
            for (int k = 0; k < c->n && !seen; k++) seen = c->factors[k].atom == atom;
            if (seen || uses_bound(&a->terms[i], atom)) continue;
            mo_factor f = {atom, {0, 1}};
            if (!common_power(s, a, atom, &f.power)) return false;
            if (f.power.num == 0 || !power_moves_in(&f, r)) continue;
            if (atom->kind == MO_ATOM_INDICATOR && r.num < 0) continue;
            if (c->n == MO_NORMAL_FACTORS) return mo_normal_fail(s, "a product has too many factors");
            c->factors[c->n++] = f;
        }
    return true;
}

/* a / content */
static const mo_normal *without(mo_normals *s, const mo_normal *a, const content *c)
{
    mo_term_list list = {0};
    for (int i = 0; i < a->n; i++) {
        mo_draft d = {.coefficient = {1, 1}};
        if (!mo_draft_multiply(s, &d, &a->terms[i])) return NULL;
        if (!mo_rational_div(d.coefficient, c->number, &d.coefficient)) {
            mo_normal_fail(s, "a number is too long");
            return NULL;
        }
        for (int j = 0; j < c->n; j++) {
            mo_rational minus = {-c->factors[j].power.num, c->factors[j].power.den};
            if (!mo_draft_factor(s, &d, c->factors[j].atom, minus)) return NULL;
        }
        if (!mo_draft_finish(s, &d, &list)) return NULL;
    }
    return mo_normal_collect(s, &list);
}

static bool is_one(const mo_normal *a)
{
    return a->n == 1 && a->terms[0].n_factors == 0 && mo_rational_is(a->terms[0].coefficient, 1);
}

/* A sum that has nothing in common any more, as one atom. The power of a sum that is one power of a sum
 * already is taken together: ((x)^(1/2))^(1/2). */
static bool power_of_sum(mo_normals *s, mo_draft *d, const mo_normal *rest, mo_rational r)
{
    if (is_one(rest)) return true;
    mo_atom sum = {.kind = MO_ATOM_SUM, .n_args = 1, .args = &rest};
    const mo_atom *atom = mo_normal_intern_atom(s, &sum);
    return atom != NULL && mo_draft_factor(s, d, atom, r);
}

/* The content to the power r, into the draft; *signs collects |x|^(pr). */
static bool power_of_content(mo_normals *s, const content *c, mo_rational r, mo_draft *d,
                             const mo_normal **signs)
{
    if (!power_of_rational(s, d, c->number, r)) return false;
    for (int i = 0; i < c->n; i++) {
        mo_rational power;
        if (!mo_rational_mul(c->factors[i].power, r, &power))
            return mo_normal_fail(s, "a number is too long");
        if (shows_sign(&c->factors[i], r, power))
            *signs = mo_normal_mul(s, *signs, mo_normal_power(s, absolute(s, c->factors[i].atom), power));
        else if (!mo_draft_factor(s, d, c->factors[i].atom, power))
            return false;
    }
    return *signs != NULL;
}

static const mo_normal *power_by_content(mo_normals *s, const mo_normal *a, mo_rational r)
{
    content c;
    mo_draft d = {.coefficient = {1, 1}};
    mo_term_list list = {0};
    const mo_normal *signs = mo_normal_integer(s, 1);
    if (!find_content(s, a, r, &c) || !power_of_content(s, &c, r, &d, &signs)) return NULL;
    const mo_normal *rest = without(s, a, &c);
    if (rest == NULL || !power_of_sum(s, &d, rest, r) || !mo_draft_finish(s, &d, &list)) return NULL;
    return mo_normal_mul(s, signs, mo_normal_collect(s, &list));
}

const mo_normal *mo_normal_power(mo_normals *s, const mo_normal *a, mo_rational exponent)
{
    if (a == NULL || s->failed != NULL) return NULL;
    if (a->n == 0 && exponent.num != 0) {
        if (exponent.num > 0) return a;
        mo_normal_fail(s, "a quotient by 0");
        return NULL;
    }
    const mo_normal *factors[2];
    if (is_whole(exponent) && exponent.num < 0 && mo_normal_product_of(s, a, factors))
        return mo_normal_mul(s, mo_normal_power(s, factors[0], exponent),
                             mo_normal_power(s, factors[1], exponent));
    if (!is_whole(exponent) || exponent.num < 0) return power_by_content(s, a, exponent);
    const mo_normal *result = mo_normal_integer(s, 1);
    if (exponent.num > MOST_WHOLE) {
        mo_normal_fail(s, "a high power");
        return NULL;
    }
    for (mo_i128 i = 0; i < exponent.num; i++) result = mo_normal_mul(s, result, a);
    return result;
}

/* ---- equality with denominators ---- */

#define MOST_CLEARED 24

/* A sum in a denominator of some term, with the power that takes it out of all terms. */
static bool find_denominator(mo_normals *s, const mo_normal *a, mo_factor *found)
{
    found->atom = NULL;
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < a->terms[i].n_factors; j++) {
            const mo_factor *f = &a->terms[i].factors[j];
            if (f->atom->kind != MO_ATOM_SUM || f->power.num >= 0 || uses_bound(&a->terms[i], f->atom))
                continue;
            int order = 1;
            mo_rational minus = {-f->power.num, f->power.den};
            if (found->atom != NULL && found->atom != f->atom) continue;
            if (found->atom != NULL && !mo_rational_compare(minus, found->power, &order))
                return mo_normal_fail(s, "a number is too long");
            if (order > 0) *found = (mo_factor){f->atom, minus};
        }
    return true;
}

bool mo_normal_equal(mo_normals *s, const mo_normal *a, const mo_normal *b)
{
    if (a == NULL || b == NULL) return false;
    if (a == b) return true;
    const mo_normal *difference = mo_normal_sub(s, a, b);
    for (int i = 0; i < MOST_CLEARED && difference != NULL && difference->n > 0; i++) {
        mo_factor f;
        if (!find_denominator(s, difference, &f) || f.atom == NULL) return false;
        difference = mo_normal_mul(s, difference, mo_normal_atom(s, f.atom, f.power));
    }
    return difference != NULL && difference->n == 0;
}
