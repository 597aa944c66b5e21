/* Terms in the making: products under summation signs. */
#include "verify/normal_parts.h"

#include <string.h>

/* ---- substitution ---- */

const mo_atom *mo_atom_substitute(mo_normals *s, const mo_atom *atom, mo_var var, const mo_affine *by)
{
    if (!mo_normal_has(atom->free, atom->n_free, var)) return atom;
    mo_atom a = *atom;
    if (!mo_affine_substitute(&a.index, var, by)) {
        mo_normal_fail(s, "an index has too many variables");
        return NULL;
    }
    const mo_normal **args = MO_NEW_ARRAY(s->arena, const mo_normal *, a.n_args + 1);
    a.args = args;
    if (a.kind == MO_ATOM_LARGEST) { /* its own variables are out of the way of `by` afterwards */
        mo_var *bound = MO_NEW_ARRAY(s->arena, mo_var, a.n_bound);
        uint32_t number =
            mo_normal_above(atom->free, atom->n_free, mo_normal_above(atom->bound, a.n_bound, 0));
        for (int i = 0; i < by->n; i++)
            if (by->term[i].var.number >= number) number = by->term[i].var.number + 1;
        args[0] = atom->args[0];
        for (int i = 0; i < a.n_bound; i++) {
            bound[i] = (mo_var){number + (uint32_t)i, atom->bound[i].extent};
            mo_affine fresh = mo_affine_var(bound[i]);
            args[0] = mo_normal_substitute(s, args[0], atom->bound[i], &fresh);
        }
        args[0] = mo_normal_substitute(s, args[0], var, by);
        const mo_normal *result = mo_normal_largest(s, args[0], bound, a.n_bound);
        if (result == NULL) return NULL;
        bool single = result->n == 1 && result->terms[0].n_factors == 1 && result->terms[0].n_bound == 0 &&
                      mo_rational_is(result->terms[0].coefficient, 1);
        if (single) return result->terms[0].factors[0].atom;
        mo_normal_fail(s, "a maximum changes its form when it is moved");
        return NULL;
    }
    for (int i = 0; i < a.n_args; i++) {
        const mo_normal *arg = mo_normal_substitute(s, atom->args[i], var, by);
        int at = i;
        if (arg == NULL) return NULL;
        for (; at > 0 && args[at - 1]->id > arg->id; at--) args[at] = args[at - 1]; /* those of a maximum */
        args[at] = arg;
    }
    return mo_normal_intern_atom(s, &a);
}

bool mo_draft_substitute(mo_normals *s, mo_draft *d, mo_var var, const mo_affine *by)
{
    int n = d->n_factors;
    mo_factor old[MO_NORMAL_FACTORS];
    memcpy(old, d->factors, sizeof old);
    d->n_factors = 0;
    for (int i = 0; i < n; i++) {
        const mo_atom *atom = mo_atom_substitute(s, old[i].atom, var, by);
        if (atom == NULL || !mo_draft_factor(s, d, atom, old[i].power)) return false;
    }
    return true;
}

static bool rename_bound(mo_normals *s, mo_draft *d, int at, mo_var name)
{
    mo_affine by = mo_affine_var(name);
    if (!mo_draft_substitute(s, d, d->bound[at], &by)) return false;
    d->bound[at] = name;
    return true;
}

/* ---- putting together ---- */

bool mo_draft_factor(mo_normals *s, mo_draft *d, const mo_atom *atom, mo_rational power)
{
    for (int i = 0; i < d->n_factors; i++) {
        if (d->factors[i].atom != atom) continue;
        mo_rational *sum = &d->factors[i].power;
        if (!mo_rational_add(*sum, power, sum)) return mo_normal_fail(s, "a number is too long");
        if (sum->num == 0) d->factors[i] = d->factors[--d->n_factors];
        return true;
    }
    if (d->n_factors == MO_NORMAL_FACTORS) return mo_normal_fail(s, "a product has too many factors");
    d->factors[d->n_factors++] = (mo_factor){atom, power};
    return true;
}

static bool free_in(const mo_factor *factors, int n, mo_var var)
{
    for (int i = 0; i < n; i++)
        if (mo_normal_has(factors[i].atom->free, factors[i].atom->n_free, var)) return true;
    return false;
}

/* 1 + the highest number of any variable in the factors. */
static uint32_t above_all(const mo_factor *factors, int n, uint32_t least)
{
    for (int i = 0; i < n; i++)
        least = mo_normal_above(factors[i].atom->free, factors[i].atom->n_free, least);
    return least;
}

static bool names_clash(const mo_draft *d, const mo_term *t)
{
    for (int i = 0; i < t->n_bound; i++)
        if (t->bound[i].number < d->above || mo_normal_has(d->bound, d->n_bound, t->bound[i]) ||
            free_in(d->factors, d->n_factors, t->bound[i]))
            return true;
    for (int i = 0; i < d->n_bound; i++)
        if (free_in(t->factors, t->n_factors, d->bound[i])) return true;
    return false;
}

/* Gives all bound variables of both names that occur nowhere. */
static bool rename_apart(mo_normals *s, mo_draft *d, mo_draft *other)
{
    uint32_t number = above_all(d->factors, d->n_factors, d->above);
    number = above_all(other->factors, other->n_factors, number);
    number = mo_normal_above(d->bound, d->n_bound, number);
    number = mo_normal_above(other->bound, other->n_bound, number);
    for (int i = 0; i < d->n_bound; i++)
        if (!rename_bound(s, d, i, (mo_var){number++, d->bound[i].extent})) return false;
    for (int i = 0; i < other->n_bound; i++)
        if (!rename_bound(s, other, i, (mo_var){number++, other->bound[i].extent})) return false;
    return true;
}

static mo_draft draft_of(const mo_term *t)
{
    mo_draft d = {.coefficient = t->coefficient, .n_bound = t->n_bound, .n_factors = t->n_factors};
    memcpy(d.bound, t->bound, sizeof d.bound[0] * (size_t)t->n_bound);
    memcpy(d.factors, t->factors, sizeof d.factors[0] * (size_t)t->n_factors);
    return d;
}

bool mo_draft_multiply(mo_normals *s, mo_draft *d, const mo_term *term)
{
    mo_draft other = draft_of(term);
    if (names_clash(d, term) && !rename_apart(s, d, &other)) return false;
    if (!mo_rational_mul(d->coefficient, other.coefficient, &d->coefficient))
        return mo_normal_fail(s, "a number is too long");
    if (d->n_bound + other.n_bound > MO_NORMAL_BOUND)
        return mo_normal_fail(s, "a sum over too many variables");
    for (int i = 0; i < other.n_bound; i++) d->bound[d->n_bound++] = other.bound[i];
    for (int i = 0; i < other.n_factors; i++)
        if (!mo_draft_factor(s, d, other.factors[i].atom, other.factors[i].power)) return false;
    return true;
}

/* ---- finishing ---- */

/* An indicator is its own square; whole powers of a prime belong to the coefficient. */
static bool simplify_factors(mo_normals *s, mo_draft *d)
{
    for (int i = 0; i < d->n_factors; i++) {
        mo_factor *f = &d->factors[i];
        if (f->atom->kind == MO_ATOM_INDICATOR) {
            if (f->power.num < 0) return mo_normal_fail(s, "a quotient by something that a mask may make 0");
            f->power = mo_rational_integer(1);
        }
        if (f->atom->kind != MO_ATOM_PRIME) continue;
        mo_rational whole = {mo_rational_floor(f->power), 1}, minus = {-whole.num, 1}, value;
        if (whole.num == 0) continue;
        bool fits =
            mo_rational_power(mo_rational_integer((int64_t)f->atom->tag), (int64_t)whole.num, &value) &&
            mo_rational_mul(d->coefficient, value, &d->coefficient) &&
            mo_rational_add(f->power, minus, &f->power);
        if (!fits) return mo_normal_fail(s, "a number is too long");
        if (f->power.num == 0) d->factors[i--] = d->factors[--d->n_factors];
    }
    return true;
}

/* What a factor to the power of 1 or more is multiplied out by: the sum itself for a power of a sum; d for
 * the square of max(0, d), which is d max(0, d). NULL: it stays. */
static const mo_normal *expansion(const mo_factor *f)
{
    if (f->atom->kind == MO_ATOM_SUM && f->power.num >= f->power.den) return f->atom->args[0];
    bool square = f->atom->kind == MO_ATOM_MAX && f->atom->n_args == 1 && f->power.num >= 2 * f->power.den;
    return square ? f->atom->args[0] : NULL;
}

static bool expand(mo_normals *s, mo_draft *d, mo_term_list *list, bool *expanded)
{
    *expanded = false;
    for (int i = 0; i < d->n_factors; i++) {
        const mo_normal *by = expansion(&d->factors[i]);
        if (by == NULL) continue;
        *expanded = true;
        if (!mo_draft_factor(s, d, d->factors[i].atom, mo_rational_integer(-1))) return false;
        for (int t = 0; t < by->n; t++) {
            mo_draft product = *d;
            if (!mo_draft_multiply(s, &product, &by->terms[t])) return false;
            if (!mo_draft_finish(s, &product, list)) return false;
        }
        return true;
    }
    return true;
}

static void sort_factors(mo_draft *d)
{
    for (int i = 1; i < d->n_factors; i++) {
        mo_factor f = d->factors[i];
        int at = i;
        for (; at > 0 && d->factors[at - 1].atom->id > f.atom->id; at--) d->factors[at] = d->factors[at - 1];
        d->factors[at] = f;
    }
}

bool mo_draft_finish(mo_normals *s, mo_draft *d, mo_term_list *list)
{
    bool expanded;
    if (s->failed != NULL) return false;
    if (d->coefficient.num == 0) return true;
    if (++s->n_products > MO_NORMAL_PRODUCTS) return mo_normal_fail(s, "too much multiplying out");
    if (!simplify_factors(s, d) || !expand(s, d, list, &expanded)) return false;
    if (expanded) return true;
    if (!mo_draft_canonical(s, d)) return false;
    sort_factors(d);
    mo_term t = {d->coefficient, d->n_bound, d->n_factors, d->bound, d->factors};
    return mo_term_list_add(s, list, &t);
}

/* A term with `by` in the place of a free variable, renamed first where it would catch the variables of
 * `by`. */
static bool substitute_term(mo_normals *s, const mo_term *term, mo_var var, const mo_affine *by,
                            mo_term_list *list)
{
    mo_draft d = draft_of(term);
    uint32_t number = mo_normal_above(d.bound, d.n_bound, above_all(d.factors, d.n_factors, 0));
    for (int i = 0; i < by->n; i++)
        if (by->term[i].var.number >= number) number = by->term[i].var.number + 1;
    for (int i = 0; i < d.n_bound; i++) {
        bool caught = mo_affine_factor(by, d.bound[i]) != 0 || mo_var_same(d.bound[i], var);
        if (caught && !rename_bound(s, &d, i, (mo_var){number++, d.bound[i].extent})) return false;
    }
    return mo_draft_substitute(s, &d, var, by) && mo_draft_finish(s, &d, list);
}

const mo_normal *mo_normal_substitute(mo_normals *s, const mo_normal *a, mo_var var, const mo_affine *by)
{
    if (a == NULL || !mo_normal_has(a->free, a->n_free, var)) return a;
    mo_term_list list = {0};
    for (int i = 0; i < a->n; i++)
        if (!substitute_term(s, &a->terms[i], var, by, &list)) return NULL;
    return mo_normal_collect(s, &list);
}
