/* Sums of products: multiplying out, adding up, and equality. */
#include "verify/recheck_parts.h"

#include <string.h>

#define MOST_TERMS 4096
#define MOST_CLEARED 24

static const mo_rational one = {1, 1}, minus_one = {-1, 1};

/* ---- a product ---- */

/* Powers of equal atoms are one power. */
static bool join_factors(mo_recheck *r, mo_recheck_product *p)
{
    for (int i = 0; i < p->n_factors; i++)
        for (int j = i + 1; j < p->n_factors; j++) {
            if (!mo_recheck_same_atom(r, p->factors[i].atom, p->factors[j].atom)) continue;
            mo_rational *power = &p->factors[i].power;
            if (!mo_rational_add(*power, p->factors[j].power, power))
                return mo_recheck_fail(r, "a number is too long");
            p->factors[j--] = p->factors[--p->n_factors];
        }
    return r->reason == NULL;
}

/* Whole powers of a number under a root go to the coefficient. */
static bool number_factor(mo_recheck *r, mo_recheck_product *p, mo_factor *f)
{
    mo_i128 whole = mo_rational_floor(f->power);
    mo_rational value, minus = {-whole, 1};
    bool fits = whole < 64 && whole > -64 &&
                mo_rational_power(mo_rational_integer((int64_t)f->atom->tag), (int64_t)whole, &value) &&
                mo_rational_mul(p->coefficient, value, &p->coefficient) &&
                mo_rational_add(f->power, minus, &f->power);
    return fits || mo_recheck_fail(r, "a number is too long");
}

/* An indicator is its own square. Where the index decides it, it is 1 or 0, and a mask is 0. */
static bool mask_factor(mo_recheck *r, mo_recheck_product *p, mo_factor *f)
{
    int64_t least, most;
    if (!mo_recheck_range(&f->atom->index, &least, &most)) return mo_recheck_fail(r, "an index is too large");
    bool mask = f->atom->kind == MO_ATOM_MASK;
    if (f->power.num < 0) return mo_recheck_fail(r, "a quotient by a mask");
    if (!mask) f->power = one;
    if (!mask && most <= 0) f->power = mo_rational_integer(0);
    if (mask ? most <= 0 : least > 0) p->coefficient = mo_rational_integer(0);
    return true;
}

static bool simplify_factors(mo_recheck *r, mo_recheck_product *p)
{
    if (!join_factors(r, p)) return false;
    for (int i = 0; i < p->n_factors; i++) {
        mo_factor *f = &p->factors[i];
        mo_atom_kind kind = f->atom->kind;
        if (f->power.num != 0 && kind == MO_ATOM_PRIME && !number_factor(r, p, f)) return false;
        if (f->power.num != 0 && (kind == MO_ATOM_INDICATOR || kind == MO_ATOM_MASK) && !mask_factor(r, p, f))
            return false;
        if (kind == MO_ATOM_SUM && f->atom->args[0]->n == 0)
            return mo_recheck_fail(r, "a power of 0 that is not simplified");
        if (f->power.num == 0) p->factors[i--] = p->factors[--p->n_factors];
    }
    return true;
}

/* s^(1 + x) = s s^x for a sum s; max(0, d)^2 = d max(0, d). NULL: nothing to multiply out. */
static const mo_normal *multiplied_out(const mo_factor *f)
{
    if (f->atom->kind == MO_ATOM_SUM && f->power.num >= f->power.den) return f->atom->args[0];
    bool square = f->atom->kind == MO_ATOM_MAX && f->atom->n_args == 1 && f->power.num >= 2 * f->power.den;
    return square ? f->atom->args[0] : NULL;
}

static bool multiply_out(mo_recheck *r, mo_recheck_product *p, mo_recheck_list *list, bool *done)
{
    *done = false;
    for (int i = 0; i < p->n_factors; i++) {
        const mo_normal *by = multiplied_out(&p->factors[i]);
        if (by == NULL) continue;
        *done = true;
        if (!mo_rational_add(p->factors[i].power, minus_one, &p->factors[i].power))
            return mo_recheck_fail(r, "a number is too long");
        for (int t = 0; t < by->n; t++) {
            mo_recheck_product next = *p;
            if (!mo_recheck_times_term(r, &next, &by->terms[t], NULL)) return false;
            if (!mo_recheck_finish(r, &next, list)) return false;
        }
        return true;
    }
    return true;
}

static void drop_bound(mo_recheck_product *p, int at)
{
    p->bound[at] = p->bound[--p->n_bound];
}

/* A sum over a variable that does not occur is a multiple. */
static bool drop_unused(mo_recheck *r, mo_recheck_product *p)
{
    for (int i = 0; i < p->n_bound; i++) {
        bool used = false;
        for (int f = 0; f < p->n_factors && !used; f++)
            used = mo_recheck_occurs(p->factors[f].atom, p->bound[i]);
        if (used) continue;
        if (!mo_rational_mul(p->coefficient, mo_rational_integer(p->bound[i].extent), &p->coefficient))
            return mo_recheck_fail(r, "a number is too long");
        drop_bound(p, i--);
    }
    return true;
}

/* ---- digits ---- */

/* Do the variables occur as extent * high + low in every index? */
static bool are_digits(const mo_atom *atom, mo_var high, mo_var low)
{
    int64_t scaled;
    if (__builtin_mul_overflow(mo_affine_factor(&atom->index, low), (int64_t)low.extent, &scaled))
        return false;
    if (mo_affine_factor(&atom->index, high) != scaled) return false;
    for (int a = 0; a < atom->n_args; a++)
        for (int t = 0; t < atom->args[a]->n; t++)
            for (int f = 0; f < atom->args[a]->terms[t].n_factors; f++)
                if (!are_digits(atom->args[a]->terms[t].factors[f].atom, high, low)) return false;
    return true;
}

static bool replace(mo_recheck *r, mo_recheck_product *p, mo_recheck_map *map)
{
    for (int f = 0; f < p->n_factors; f++) {
        p->factors[f].atom = mo_recheck_copy_atom(r, p->factors[f].atom, map);
        if (p->factors[f].atom == NULL) return false;
    }
    return true;
}

/* The sum over high and low of f(n * high + low) is one over n * high + low. */
static bool merge_digits(mo_recheck *r, mo_recheck_product *p, bool *merged)
{
    *merged = false;
    for (int h = 0; h < p->n_bound; h++)
        for (int l = 0; l < p->n_bound; l++) {
            mo_var high = p->bound[h], low = p->bound[l];
            bool pair = h != l && (uint64_t)high.extent * low.extent <= INT32_MAX;
            for (int f = 0; f < p->n_factors && pair; f++) pair = are_digits(p->factors[f].atom, high, low);
            if (!pair) continue;
            mo_var whole = mo_recheck_var(r, high.extent * low.extent);
            mo_affine zero = mo_affine_constant(0), by = mo_affine_var(whole);
            mo_recheck_map map = {.n = 0};
            if (!mo_recheck_bind(r, &map, high, &zero) || !mo_recheck_bind(r, &map, low, &by)) return false;
            if (!replace(r, p, &map)) return false;
            p->bound[l] = whole;
            drop_bound(p, h);
            *merged = true;
            return true;
        }
    return true;
}

/* ---- terms ---- */

static bool add_term(mo_recheck *r, mo_recheck_list *list, const mo_term *term)
{
    if (list->n >= MOST_TERMS) return mo_recheck_fail(r, "a sum has too many terms");
    if (list->n == list->capacity) {
        list->capacity = list->capacity == 0 ? 8 : 2 * list->capacity;
        mo_term *grown = MO_NEW_ARRAY(r->arena, mo_term, list->capacity);
        if (list->n > 0) memcpy(grown, list->terms, sizeof *grown * (size_t)list->n);
        list->terms = grown;
    }
    list->terms[list->n++] = *term;
    return true;
}

bool mo_recheck_finish(mo_recheck *r, mo_recheck_product *p, mo_recheck_list *list)
{
    for (bool again = true; again;) {
        bool expanded;
        if (!mo_recheck_step(r) || !simplify_factors(r, p)) return false;
        if (p->coefficient.num == 0) return true;
        if (!multiply_out(r, p, list, &expanded)) return false;
        if (expanded) return true;
        if (!drop_unused(r, p) || !merge_digits(r, p, &again)) return false;
    }
    mo_var *bound = MO_NEW_ARRAY(r->arena, mo_var, p->n_bound + 1);
    mo_factor *factors = MO_NEW_ARRAY(r->arena, mo_factor, p->n_factors + 1);
    memcpy(bound, p->bound, sizeof *bound * (size_t)p->n_bound);
    memcpy(factors, p->factors, sizeof *factors * (size_t)p->n_factors);
    mo_term term = {p->coefficient, p->n_bound, p->n_factors, bound, factors};
    return add_term(r, list, &term);
}

static bool add_up(mo_recheck *r, mo_recheck_list *list)
{
    int n = 0;
    for (int i = 0; i < list->n; i++) {
        int j = 0;
        while (j < n && !mo_recheck_same_product(r, &list->terms[j], &list->terms[i])) j++;
        if (j == n) {
            list->terms[n++] = list->terms[i];
            continue;
        }
        mo_rational *sum = &list->terms[j].coefficient;
        if (!mo_rational_add(*sum, list->terms[i].coefficient, sum))
            return mo_recheck_fail(r, "a number is too long");
    }
    list->n = 0;
    for (int i = 0; i < n; i++)
        if (list->terms[i].coefficient.num != 0) list->terms[list->n++] = list->terms[i];
    return r->reason == NULL;
}

/* ---- adjoining ranges ---- */

/* Could two atoms be the same but for their indices? */
static bool alike(const mo_atom *a, const mo_atom *b)
{
    return a->kind == b->kind && a->tensor == b->tensor && a->op == b->op && a->tag == b->tag &&
           a->n_args == b->n_args && a->index.n + 1 >= b->index.n && b->index.n + 1 >= a->index.n;
}

static bool terms_alike(const mo_term *a, const mo_term *b)
{
    bool used[MO_RECHECK_FACTORS] = {false};
    if (a->n_factors != b->n_factors || !mo_rational_same(a->coefficient, b->coefficient)) return false;
    for (int i = 0; i < a->n_factors; i++) {
        int j = 0;
        while (j < b->n_factors && (used[j] || !alike(a->factors[i].atom, b->factors[j].atom) ||
                                    !mo_rational_same(a->factors[i].power, b->factors[j].power)))
            j++;
        if (j == b->n_factors) return false;
        used[j] = true;
    }
    return true;
}

/* The term with bound variable number `at` running over start .. start + extent - 1. */
static bool moved(mo_recheck *r, const mo_term *t, int at, int64_t start, uint32_t extent, mo_term *result)
{
    mo_recheck_product p = {.coefficient = t->coefficient, .n_factors = t->n_factors};
    mo_recheck_list list = {0};
    mo_recheck_map map = {.n = 0};
    mo_affine by = mo_affine_constant(start);
    memcpy(p.factors, t->factors, sizeof *t->factors * (size_t)t->n_factors);
    for (int i = 0; i < t->n_bound; i++) {
        mo_var fresh = mo_recheck_var(r, i == at ? extent : t->bound[i].extent);
        mo_affine var = mo_affine_var(fresh);
        if (i == at && !mo_recheck_shift(r, &var, &by, 1)) return false;
        if (!mo_recheck_bind(r, &map, t->bound[i], &var)) return false;
        if (fresh.extent > 1) p.bound[p.n_bound++] = fresh;
    }
    if (!replace(r, &p, &map) || !mo_recheck_finish(r, &p, &list) || list.n != 1) return false;
    *result = list.terms[0];
    return true;
}

/* If b continues a, a becomes the sum over both ranges. */
static bool join_pair(mo_recheck *r, mo_term *a, const mo_term *b)
{
    for (int v = 0; v < a->n_bound; v++) {
        bool single = b->n_bound + 1 == a->n_bound;
        for (int w = 0; w < (single ? 1 : b->n_bound); w++) {
            uint32_t extent = single ? 1 : b->bound[w].extent;
            mo_term next, whole;
            if ((uint64_t)a->bound[v].extent + extent > INT32_MAX) continue;
            if (!moved(r, a, v, a->bound[v].extent, extent, &next)) continue;
            if (!mo_rational_same(next.coefficient, b->coefficient) || !mo_recheck_same_product(r, &next, b))
                continue;
            if (!moved(r, a, v, 0, a->bound[v].extent + extent, &whole)) continue;
            *a = whole;
            return true;
        }
    }
    return false;
}

static bool join_ranges(mo_recheck *r, mo_recheck_list *list)
{
    for (int i = 0; i < list->n; i++)
        for (int j = 0; j < list->n; j++) {
            const mo_term *a = &list->terms[i], *b = &list->terms[j];
            if (i == j || a->n_bound == 0 || !terms_alike(a, b)) continue;
            if (b->n_bound != a->n_bound && b->n_bound + 1 != a->n_bound) continue;
            if (!join_pair(r, &list->terms[i], b)) continue;
            list->terms[j] = list->terms[--list->n];
            i = -1; /* the longer range may be continued */
            break;
        }
    return r->reason == NULL;
}

const mo_normal *mo_recheck_collect(mo_recheck *r, mo_recheck_list *list)
{
    if (r->reason != NULL || !add_up(r, list) || !join_ranges(r, list) || !add_up(r, list)) return NULL;
    mo_normal *form = MO_NEW(r->arena, mo_normal);
    *form = (mo_normal){.n = list->n, .terms = list->terms};
    return form;
}

/* ---- the ring ---- */

const mo_normal *mo_recheck_number(mo_recheck *r, mo_rational value)
{
    mo_recheck_product p = {.coefficient = value};
    mo_recheck_list list = {0};
    return mo_recheck_finish(r, &p, &list) ? mo_recheck_collect(r, &list) : NULL;
}

const mo_normal *mo_recheck_integer(mo_recheck *r, int64_t value)
{
    return mo_recheck_number(r, mo_rational_integer(value));
}

const mo_normal *mo_recheck_double(mo_recheck *r, double value)
{
    mo_rational number;
    if (mo_rational_from_double(value, &number)) return mo_recheck_number(r, number);
    mo_recheck_fail(r, "a number is too long");
    return NULL;
}

const mo_normal *mo_recheck_power_of(mo_recheck *r, const mo_atom *atom, mo_rational power)
{
    mo_recheck_product p = {.coefficient = one};
    mo_recheck_list list = {0};
    if (!mo_recheck_times(r, &p, atom, power) || !mo_recheck_finish(r, &p, &list)) return NULL;
    return mo_recheck_collect(r, &list);
}

static const mo_normal *combine(mo_recheck *r, const mo_normal *a, const mo_normal *b, mo_rational by)
{
    mo_recheck_list list = {0};
    if (a == NULL || b == NULL) return NULL;
    for (int i = 0; i < a->n; i++)
        if (!add_term(r, &list, &a->terms[i])) return NULL;
    for (int i = 0; i < b->n; i++) {
        mo_term t = b->terms[i];
        if (!mo_rational_mul(t.coefficient, by, &t.coefficient)) {
            mo_recheck_fail(r, "a number is too long");
            return NULL;
        }
        if (!add_term(r, &list, &t)) return NULL;
    }
    return mo_recheck_collect(r, &list);
}

const mo_normal *mo_recheck_add(mo_recheck *r, const mo_normal *a, const mo_normal *b)
{
    return combine(r, a, b, one);
}

const mo_normal *mo_recheck_sub(mo_recheck *r, const mo_normal *a, const mo_normal *b)
{
    return combine(r, a, b, minus_one);
}

const mo_normal *mo_recheck_scale(mo_recheck *r, const mo_normal *a, mo_rational by)
{
    static const mo_normal zero = {.n = 0};
    return combine(r, &zero, a, by);
}

const mo_normal *mo_recheck_mul(mo_recheck *r, const mo_normal *a, const mo_normal *b)
{
    mo_recheck_list list = {0};
    if (a == NULL || b == NULL) return NULL;
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++) {
            mo_recheck_product p = {.coefficient = one};
            if (!mo_recheck_times_term(r, &p, &a->terms[i], NULL)) return NULL;
            if (!mo_recheck_times_term(r, &p, &b->terms[j], NULL)) return NULL;
            if (!mo_recheck_finish(r, &p, &list)) return NULL;
        }
    return mo_recheck_collect(r, &list);
}

const mo_normal *mo_recheck_exp(mo_recheck *r, const mo_normal *a)
{
    mo_recheck_product p = {.coefficient = one};
    mo_recheck_list list = {0};
    if (!mo_recheck_times_exp(r, &p, a, one) || !mo_recheck_finish(r, &p, &list)) return NULL;
    return mo_recheck_collect(r, &list);
}

const mo_normal *mo_recheck_mask(mo_recheck *r, const mo_normal *a, const mo_affine *index)
{
    mo_atom mask = {.kind = MO_ATOM_MASK, .index = *index};
    return mo_recheck_add(r, a, mo_recheck_power_of(r, mo_recheck_atom(r, &mask), one));
}

const mo_normal *mo_recheck_sum(mo_recheck *r, const mo_normal *a, const mo_var *vars, int n)
{
    mo_recheck_list list = {0};
    if (a == NULL) return NULL;
    for (int t = 0; t < a->n; t++) {
        mo_recheck_product p = {.coefficient = one};
        mo_recheck_map map = {.n = 0};
        for (int v = 0; v < n; v++) {
            mo_var fresh = mo_recheck_var(r, vars[v].extent);
            mo_affine by = mo_affine_var(fresh);
            if (!mo_recheck_bind(r, &map, vars[v], &by)) return NULL;
            p.bound[p.n_bound++] = fresh;
        }
        if (!mo_recheck_times_term(r, &p, &a->terms[t], &map)) return NULL;
        if (!mo_recheck_finish(r, &p, &list)) return NULL;
    }
    return mo_recheck_collect(r, &list);
}

/* ---- equality ---- */

static bool uses_bound(const mo_term *t, const mo_atom *atom)
{
    for (int b = 0; b < t->n_bound; b++)
        if (mo_recheck_occurs(atom, t->bound[b])) return true;
    return false;
}

/* A sum in a denominator, to the power that takes it out of all terms. */
static bool find_denominator(mo_recheck *r, const mo_normal *a, mo_factor *found)
{
    *found = (mo_factor){NULL, {0, 1}};
    for (int t = 0; t < a->n; t++)
        for (int f = 0; f < a->terms[t].n_factors; f++) {
            const mo_factor *x = &a->terms[t].factors[f];
            mo_rational minus = {-x->power.num, x->power.den};
            int order;
            if (x->atom->kind != MO_ATOM_SUM || x->power.num >= 0 || uses_bound(&a->terms[t], x->atom))
                continue;
            if (found->atom != NULL && !mo_recheck_same_atom(r, found->atom, x->atom)) continue;
            if (!mo_rational_compare(minus, found->power, &order)) return false;
            if (order > 0) *found = (mo_factor){x->atom, minus};
        }
    return found->atom != NULL;
}

/* Times a power of an atom, which is not multiplied out before it has met the others. */
static const mo_normal *times_factor(mo_recheck *r, const mo_normal *a, const mo_factor *f)
{
    mo_recheck_list list = {0};
    for (int t = 0; t < a->n; t++) {
        mo_recheck_product p = {.coefficient = one};
        if (!mo_recheck_times_term(r, &p, &a->terms[t], NULL)) return NULL;
        if (!mo_recheck_times(r, &p, f->atom, f->power) || !mo_recheck_finish(r, &p, &list)) return NULL;
    }
    return mo_recheck_collect(r, &list);
}

bool mo_recheck_equal(mo_recheck *r, const mo_normal *a, const mo_normal *b)
{
    mo_factor f;
    const mo_normal *difference = mo_recheck_sub(r, a, b);
    for (int i = 0; i < MOST_CLEARED && difference != NULL && difference->n > 0; i++) {
        if (!find_denominator(r, difference, &f)) return false;
        difference = times_factor(r, difference, &f);
    }
    return difference != NULL && difference->n == 0;
}
