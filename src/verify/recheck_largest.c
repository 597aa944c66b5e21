/* Maxima as sets: nested ones are opened, c max(0, x, ..) + y with a c above 0 is the largest of y, y + cx,
 * .. */
#include "verify/recheck_parts.h"

#include <string.h>

#define MOST_LEAVES 64

typedef struct {
    int n;
    mo_recheck_choice leaf[MOST_LEAVES];
} leaves;

/* The factor of a term that is a maximum, where all that it is multiplied with is not negative; -1: there is
 * none. */
static int maximum_in(mo_recheck *r, const mo_term *term, mo_atom_kind kind)
{
    int found = -1;
    if (term->n_bound > 0 || term->coefficient.num <= 0) return -1;
    for (int i = 0; i < term->n_factors; i++) {
        const mo_factor *f = &term->factors[i];
        if (found < 0 && f->atom->kind == kind && mo_rational_is(f->power, 1))
            found = i;
        else if (!mo_recheck_factor_not_negative(r, f))
            return -1;
    }
    return found;
}

/* A term with a maximum, and which factor it is; -1: there is none. Those of single values come first: in
 * y + max(0, -y) the y may be a maximum over variables, which must not be opened on its own. */
static int find_maximum(mo_recheck *r, const mo_normal *f, int *factor)
{
    static const mo_atom_kind kinds[] = {MO_ATOM_MAX, MO_ATOM_LARGEST};
    for (int k = 0; k < 2; k++)
        for (int t = 0; t < f->n; t++) {
            *factor = maximum_in(r, &f->terms[t], kinds[k]);
            if (*factor >= 0) return t;
        }
    return -1;
}

/* The term without one of its factors. */
static const mo_normal *others(mo_recheck *r, const mo_term *term, int without)
{
    mo_recheck_product p = {.coefficient = term->coefficient};
    mo_recheck_list list = {0};
    for (int i = 0; i < term->n_factors; i++)
        if (i != without && !mo_recheck_times(r, &p, term->factors[i].atom, term->factors[i].power))
            return NULL;
    return mo_recheck_finish(r, &p, &list) ? mo_recheck_collect(r, &list) : NULL;
}

static const mo_normal *without(mo_recheck *r, const mo_normal *f, int at)
{
    mo_normal *rest = MO_NEW(r->arena, mo_normal);
    mo_term *terms = MO_NEW_ARRAY(r->arena, mo_term, f->n);
    for (int t = 0; t < f->n; t++)
        if (t != at) terms[rest->n++] = f->terms[t];
    rest->terms = terms;
    return rest;
}

/* Opens all maxima of a choice. */
static bool spread(mo_recheck *r, const mo_recheck_choice *choice, leaves *set)
{
    if (choice->form == NULL || !mo_recheck_step(r)) return false;
    int factor, at = find_maximum(r, choice->form, &factor);
    if (at < 0) {
        if (set->n == MOST_LEAVES) return mo_recheck_fail(r, "a maximum of too many values");
        set->leaf[set->n++] = *choice;
        return true;
    }
    const mo_term *term = &choice->form->terms[at];
    const mo_atom *atom = term->factors[factor].atom;
    const mo_normal *by_others = others(r, term, factor);
    mo_recheck_choice next = *choice;
    mo_recheck_map map = {.n = 0};
    if (next.n + atom->n_bound > MO_RECHECK_VARS)
        return mo_recheck_fail(r, "a maximum over too many variables");
    for (int b = 0; b < atom->n_bound; b++) {
        mo_var fresh = mo_recheck_var(r, atom->bound[b].extent);
        mo_affine by = mo_affine_var(fresh);
        if (!mo_recheck_bind(r, &map, atom->bound[b], &by)) return false;
        next.vars[next.n++] = fresh;
    }
    const mo_normal *rest = without(r, choice->form, at);
    next.form = rest;
    if (atom->kind == MO_ATOM_MAX && !spread(r, &next, set)) return false;
    for (int a = 0; a < atom->n_args; a++) {
        const mo_normal *arg = mo_recheck_copy(r, atom->args[a], &map);
        next.form = mo_recheck_add(r, rest, mo_recheck_mul(r, arg, by_others));
        if (!spread(r, &next, set)) return false;
    }
    return true;
}

/* The leaf as one product of a function under its variables, which are simplified on the way. */
static bool closed(mo_recheck *r, const mo_recheck_choice *leaf, mo_term *term)
{
    mo_atom wrap = {.kind = MO_ATOM_FUNCTION, .op = MO_OP_MAX, .n_args = 1, .args = &leaf->form};
    mo_recheck_product p = {.coefficient = {1, 1}, .n_bound = leaf->n};
    mo_recheck_list list = {0};
    memcpy(p.bound, leaf->vars, sizeof leaf->vars[0] * (size_t)leaf->n);
    if (!mo_recheck_times(r, &p, mo_recheck_atom(r, &wrap), mo_rational_integer(1))) return false;
    if (!mo_recheck_finish(r, &p, &list) || list.n != 1) return false;
    *term = list.terms[0];
    return true;
}

static bool same_leaf(mo_recheck *r, const mo_recheck_choice *a, const mo_recheck_choice *b)
{
    mo_term x, y;
    if (a->n == 0 && b->n == 0) return mo_recheck_equal(r, a->form, b->form);
    return closed(r, a, &x) && closed(r, b, &y) && mo_recheck_same_product(r, &x, &y);
}

/* Is b never above a? Of two that run over variables only the same ones are told. */
static bool dominates(mo_recheck *r, const mo_recheck_choice *a, const mo_recheck_choice *b)
{
    if (a->n > 0 && b->n > 0) return same_leaf(r, a, b);
    const mo_normal *d = mo_recheck_sub(r, a->form, b->form);
    return d != NULL && mo_recheck_not_negative(r, d);
}

static void drop_dominated(mo_recheck *r, leaves *set)
{
    for (int i = 0; i < set->n; i++)
        for (int j = 0; j < set->n; j++) {
            if (i == j || !dominates(r, &set->leaf[i], &set->leaf[j])) continue;
            set->leaf[j] = set->leaf[--set->n];
            i = -1;
            break;
        }
}

static bool contains(mo_recheck *r, const leaves *a, const leaves *b)
{
    for (int i = 0; i < b->n; i++) {
        int j = 0;
        while (j < a->n && !same_leaf(r, &a->leaf[j], &b->leaf[i])) j++;
        if (j == a->n) return false;
    }
    return true;
}

bool mo_recheck_is_largest(mo_recheck *r, const mo_normal *f, const mo_recheck_choice *choices, int n)
{
    leaves *left = MO_NEW(r->arena, leaves), *right = MO_NEW(r->arena, leaves);
    mo_recheck_choice whole = {.form = f};
    if (!spread(r, &whole, left)) return false;
    for (int i = 0; i < n; i++) {
        mo_recheck_choice own = {.n = choices[i].n};
        mo_recheck_map map = {.n = 0};
        for (int v = 0; v < own.n; v++) {
            own.vars[v] = mo_recheck_var(r, choices[i].vars[v].extent);
            mo_affine by = mo_affine_var(own.vars[v]);
            if (!mo_recheck_bind(r, &map, choices[i].vars[v], &by)) return false;
        }
        own.form = mo_recheck_copy(r, choices[i].form, &map);
        if (!spread(r, &own, right)) return false;
    }
    drop_dominated(r, left);
    drop_dominated(r, right);
    return contains(r, left, right) && contains(r, right, left) && r->reason == NULL;
}

/* Is the leaf -low for low = max(x, min)? */
static bool is_lower_part(mo_recheck *r, const mo_recheck_choice *leaf, const mo_normal *x, double min)
{
    mo_recheck_choice both[2] = {{.form = x}, {.form = mo_recheck_double(r, min)}};
    return leaf->n == 0 &&
           mo_recheck_is_largest(r, mo_recheck_scale(r, leaf->form, (mo_rational){-1, 1}), both, 2);
}

/* -f is the larger of -max and -max(x, min); one of the two may never be the larger one. */
bool mo_recheck_is_clamp(mo_recheck *r, const mo_normal *f, const mo_normal *x, double min, double max)
{
    static const mo_rational minus_one = {-1, 1};
    leaves *set = MO_NEW(r->arena, leaves);
    mo_recheck_choice whole = {.form = mo_recheck_scale(r, f, minus_one)};
    const mo_normal *top = mo_recheck_double(r, max);
    mo_recheck_choice high = {.form = mo_recheck_scale(r, top, minus_one)};
    if (x == NULL || !spread(r, &whole, set)) return false;
    drop_dominated(r, set);
    if (set->n == 1 && same_leaf(r, &set->leaf[0], &high))
        return mo_recheck_not_negative(r, mo_recheck_sub(r, x, top));
    if (set->n == 1)
        return min <= max && mo_recheck_not_negative(r, mo_recheck_sub(r, top, x)) &&
               is_lower_part(r, &set->leaf[0], x, min);
    for (int i = 0; i < 2 && set->n == 2; i++)
        if (same_leaf(r, &set->leaf[i], &high) && is_lower_part(r, &set->leaf[1 - i], x, min)) return true;
    return false;
}
