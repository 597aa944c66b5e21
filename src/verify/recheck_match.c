/* Equality of trees up to the names of bound variables and the order of terms and factors. */
#include "verify/recheck_parts.h"

#include <string.h>

#define MOST_PAIRS 64

/* Which bound variable on the left stands for which on the right. */
typedef struct {
    mo_recheck *r;
    int n;
    mo_var left[MOST_PAIRS], right[MOST_PAIRS];
} matcher;

/* Two things under bound variables: products, or the arguments of maxima. */
typedef struct {
    int n;
    const mo_var *left, *right;
    const mo_term *left_term, *right_term;
    const mo_atom *left_atom, *right_atom;
    uint64_t left_look[MO_RECHECK_VARS], right_look[MO_RECHECK_VARS];
    bool used[MO_RECHECK_VARS];
} scopes;

static bool match_atoms(matcher *m, const mo_atom *a, const mo_atom *b);
static bool match_forms(matcher *m, const mo_normal *a, const mo_normal *b);

/* A variable that is bound on neither side stands for itself. */
static bool match_variable(const matcher *m, mo_var a, mo_var *b)
{
    for (int i = m->n - 1; i >= 0; i--) {
        if (mo_var_same(m->left[i], a)) {
            *b = m->right[i];
            return true;
        }
        if (mo_var_same(m->right[i], a)) return false;
    }
    *b = a;
    return true;
}

static bool match_indices(const matcher *m, const mo_affine *a, const mo_affine *b)
{
    mo_affine renamed = mo_affine_constant(a->constant);
    if (a->n != b->n || a->constant != b->constant) return false;
    for (int i = 0; i < a->n; i++) {
        mo_var name;
        if (!match_variable(m, a->term[i].var, &name)) return false;
        mo_affine var = mo_affine_var(name);
        if (!mo_affine_add(&renamed, &var, a->term[i].factor)) return false;
    }
    return mo_affine_equal(&renamed, b);
}

static bool match_factors(matcher *m, const mo_term *a, const mo_term *b)
{
    bool used[MO_RECHECK_FACTORS] = {false};
    if (a->n_factors != b->n_factors) return false;
    for (int i = 0; i < a->n_factors; i++) {
        int j = 0;
        while (j < b->n_factors && (used[j] || !mo_rational_same(a->factors[i].power, b->factors[j].power) ||
                                    !match_atoms(m, a->factors[i].atom, b->factors[j].atom)))
            j++;
        if (j == b->n_factors) return false;
        used[j] = true;
    }
    return true;
}

/* Tries all ways to pair variable number i and those behind it. */
static bool match_scopes(matcher *m, scopes *s, int i)
{
    if (!mo_recheck_step(m->r)) return false;
    if (i == s->n && s->left_term != NULL) return match_factors(m, s->left_term, s->right_term);
    if (i == s->n) return match_forms(m, s->left_atom->args[0], s->right_atom->args[0]);
    if (m->n == MOST_PAIRS) return mo_recheck_fail(m->r, "sums nest too deeply");
    for (int j = 0; j < s->n; j++) {
        if (s->used[j] || s->left[i].extent != s->right[j].extent) continue;
        if (s->left_look[i] != s->right_look[j]) continue;
        m->left[m->n] = s->left[i];
        m->right[m->n++] = s->right[j];
        s->used[j] = true;
        bool matched = match_scopes(m, s, i + 1);
        s->used[j] = false;
        m->n--;
        if (matched) return true;
    }
    return false;
}

static uint64_t look_of_factors(const mo_term *t, const mo_var *self)
{
    uint64_t look = 0;
    for (int f = 0; f < t->n_factors; f++)
        look += (mo_recheck_look(t->factors[f].atom, self) + 0x9e3779b97f4a7c15u) *
                (2 * ((uint64_t)t->factors[f].power.num * 31 + (uint64_t)t->factors[f].power.den) + 1);
    return look;
}

static bool match_products(matcher *m, const mo_term *a, const mo_term *b)
{
    if (a->n_bound != b->n_bound || a->n_factors != b->n_factors || a->n_bound > MO_RECHECK_VARS)
        return false;
    if (look_of_factors(a, NULL) != look_of_factors(b, NULL)) return false;
    scopes s = {.n = a->n_bound, .left = a->bound, .right = b->bound, .left_term = a, .right_term = b};
    for (int i = 0; i < s.n && s.n > 1; i++) {
        s.left_look[i] = look_of_factors(a, &a->bound[i]);
        s.right_look[i] = look_of_factors(b, &b->bound[i]);
    }
    return match_scopes(m, &s, 0);
}

static bool match_forms(matcher *m, const mo_normal *a, const mo_normal *b)
{
    if (a->n != b->n) return false;
    bool *used = MO_NEW_ARRAY(m->r->arena, bool, b->n + 1);
    for (int i = 0; i < a->n; i++) {
        int j = 0;
        while (j < b->n && (used[j] || !mo_rational_same(a->terms[i].coefficient, b->terms[j].coefficient) ||
                            !match_products(m, &a->terms[i], &b->terms[j])))
            j++;
        if (j == b->n) return false;
        used[j] = true;
    }
    return true;
}

static bool match_arguments(matcher *m, const mo_atom *a, const mo_atom *b)
{
    bool *used = MO_NEW_ARRAY(m->r->arena, bool, b->n_args + 1);
    for (int i = 0; i < a->n_args; i++) {
        int j = 0;
        while (j < b->n_args && (used[j] || !match_forms(m, a->args[i], b->args[j]))) j++;
        if (j == b->n_args) return false;
        used[j] = true;
    }
    return true;
}

static bool match_atoms(matcher *m, const mo_atom *a, const mo_atom *b)
{
    if (a->hash != b->hash || a->kind != b->kind || a->tensor != b->tensor || a->op != b->op) return false;
    if (a->tag != b->tag || a->n_args != b->n_args || a->n_bound != b->n_bound) return false;
    if (!match_indices(m, &a->index, &b->index)) return false;
    if (a->kind != MO_ATOM_LARGEST) return match_arguments(m, a, b);
    scopes s = {.n = a->n_bound, .left = a->bound, .right = b->bound, .left_atom = a, .right_atom = b};
    for (int i = 0; i < s.n && s.n > 1; i++) {
        s.left_look[i] = mo_recheck_look(a, &a->bound[i]);
        s.right_look[i] = mo_recheck_look(b, &b->bound[i]);
    }
    return match_scopes(m, &s, 0);
}

bool mo_recheck_same_atom(mo_recheck *r, const mo_atom *a, const mo_atom *b)
{
    matcher m = {.r = r};
    return a == b || (r->reason == NULL && match_atoms(&m, a, b));
}

bool mo_recheck_same_product(mo_recheck *r, const mo_term *a, const mo_term *b)
{
    matcher m = {.r = r};
    return r->reason == NULL && match_products(&m, a, b);
}
