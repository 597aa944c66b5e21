/* Maxima as sets: nested ones are opened, c max(0, x, ..) + y with a c above 0 is the largest of y, y + cx,
 * .. */
#include "verify/recheck_parts.h"

#include <string.h>

#define MOST_LEAVES 64

typedef struct {
    int n;
    mo_recheck_choice leaf[MOST_LEAVES];
} leaves;

/* A maximum that stands alone in a term with a positive coefficient; -1: there is none. */
static int find_maximum(const mo_normal *f)
{
    for (int t = 0; t < f->n; t++) {
        const mo_term *term = &f->terms[t];
        if (term->n_bound > 0 || term->n_factors != 1 || term->coefficient.num <= 0) continue;
        mo_atom_kind kind = term->factors[0].atom->kind;
        if (!mo_rational_is(term->factors[0].power, 1)) continue;
        if (kind == MO_ATOM_MAX || kind == MO_ATOM_LARGEST) return t;
    }
    return -1;
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
    int at = find_maximum(choice->form);
    if (at < 0) {
        if (set->n == MOST_LEAVES) return mo_recheck_fail(r, "a maximum of too many values");
        set->leaf[set->n++] = *choice;
        return true;
    }
    const mo_term *term = &choice->form->terms[at];
    const mo_atom *atom = term->factors[0].atom;
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
        next.form = mo_recheck_add(r, rest, mo_recheck_scale(r, arg, term->coefficient));
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

/* Is b never above a? */
static bool dominates(mo_recheck *r, const mo_recheck_choice *a, const mo_recheck_choice *b)
{
    if (a->n > 0 || b->n > 0) return same_leaf(r, a, b);
    const mo_normal *d = mo_recheck_sub(r, a->form, b->form);
    if (d == NULL) return false;
    if (d->n == 0) return true;
    return d->n == 1 && d->terms[0].n_factors == 0 && d->terms[0].n_bound == 0 &&
           d->terms[0].coefficient.num >= 0;
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

bool mo_recheck_is_clamp(mo_recheck *r, const mo_normal *f, const mo_normal *x, double min, double max)
{
    static const mo_rational minus_one = {-1, 1};
    leaves *set = MO_NEW(r->arena, leaves);
    mo_recheck_choice whole = {.form = mo_recheck_scale(r, f, minus_one)}, low[2] = {{.form = x}, {.n = 0}};
    mo_recheck_choice high = {.form = mo_recheck_scale(r, mo_recheck_double(r, max), minus_one)};
    low[1].form = mo_recheck_double(r, min);
    if (!spread(r, &whole, set) || set->n != 2) return false;
    for (int i = 0; i < 2; i++) {
        if (!same_leaf(r, &set->leaf[i], &high) || set->leaf[1 - i].n > 0) continue;
        return mo_recheck_is_largest(r, mo_recheck_scale(r, set->leaf[1 - i].form, minus_one), low, 2);
    }
    return false;
}
