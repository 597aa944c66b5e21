/* Bound variables: pairs that stand for one variable, adjoining ranges, and names that depend on the form
 * alone. */
#include "verify/normal_parts.h"

#include "base/hash.h"

#include <string.h>

#define MOST_ORDERS 120 /* of variables that look alike */

/* ---- looking into atoms ---- */

/* A nested sum whose variable has the name of u or v hides that one; the other must not occur there, since it
 * then occurs alone. */
static bool hidden(const mo_var *bound, int n_bound, mo_var u, mo_var v)
{
    return mo_normal_has(bound, n_bound, u) || mo_normal_has(bound, n_bound, v);
}

static bool free_in(const mo_term *t, mo_var var)
{
    if (mo_normal_has(t->bound, t->n_bound, var)) return false;
    for (int i = 0; i < t->n_factors; i++)
        if (mo_normal_has(t->factors[i].atom->free, t->factors[i].atom->n_free, var)) return true;
    return false;
}

static bool visit_form(const mo_normal *f, mo_var u, mo_var v, mo_affine_visit *visit, void *context)
{
    for (int i = 0; i < f->n; i++) {
        const mo_term *t = &f->terms[i];
        if (hidden(t->bound, t->n_bound, u, v)) {
            if (free_in(t, u) || free_in(t, v)) return false;
            continue;
        }
        for (int j = 0; j < t->n_factors; j++)
            if (!mo_atom_visit(t->factors[j].atom, u, v, visit, context)) return false;
    }
    return true;
}

bool mo_atom_visit(const mo_atom *atom, mo_var u, mo_var v, mo_affine_visit *visit, void *context)
{
    if (!mo_normal_has(atom->free, atom->n_free, u) && !mo_normal_has(atom->free, atom->n_free, v))
        return true;
    if (hidden(atom->bound, atom->n_bound, u, v) || !visit(context, &atom->index)) return false;
    for (int i = 0; i < atom->n_args; i++)
        if (!visit_form(atom->args[i], u, v, visit, context)) return false;
    return true;
}

/* ---- digits ---- */

typedef struct {
    mo_var high, low;
} digits;

static bool are_digits(void *context, const mo_affine *index)
{
    const digits *d = context;
    return mo_affine_factor(index, d->high) == mo_affine_factor(index, d->low) * (int64_t)d->low.extent;
}

static uint32_t unused_number(const mo_draft *d)
{
    uint32_t number = mo_normal_above(d->bound, d->n_bound, d->above);
    for (int i = 0; i < d->n_factors; i++)
        number = mo_normal_above(d->factors[i].atom->free, d->factors[i].atom->n_free, number);
    return number;
}

static void drop_bound(mo_draft *d, int at)
{
    for (int i = at; i + 1 < d->n_bound; i++) d->bound[i] = d->bound[i + 1];
    d->n_bound--;
}

/* Does n*high + low run over one variable wherever either of them occurs? */
static bool is_pair(const mo_draft *d, mo_var high, mo_var low)
{
    digits pair = {high, low};
    if ((uint64_t)high.extent * low.extent > UINT32_MAX) return false;
    for (int i = 0; i < d->n_factors; i++)
        if (!mo_atom_visit(d->factors[i].atom, high, low, are_digits, &pair)) return false;
    return true;
}

static bool merge_pair(mo_normals *s, mo_draft *d, int high, int low)
{
    mo_var whole = {unused_number(d), d->bound[high].extent * d->bound[low].extent};
    mo_affine zero = mo_affine_constant(0), by = mo_affine_var(whole);
    mo_var h = d->bound[high], l = d->bound[low];
    if (!mo_draft_substitute(s, d, h, &zero) || !mo_draft_substitute(s, d, l, &by)) return false;
    d->bound[low] = whole;
    drop_bound(d, high);
    return true;
}

static bool merge_digits(mo_normals *s, mo_draft *d)
{
    for (int i = 0; i < d->n_bound; i++)
        for (int j = 0; j < d->n_bound; j++) {
            if (i == j || !is_pair(d, d->bound[i], d->bound[j])) continue;
            if (!merge_pair(s, d, i, j)) return false;
            i = -1; /* from the start: the new one may be half of another pair */
            break;
        }
    return true;
}

static bool drop_unused(mo_normals *s, mo_draft *d)
{
    for (int i = 0; i < d->n_bound; i++) {
        bool used = false;
        for (int j = 0; j < d->n_factors && !used; j++)
            used = mo_normal_has(d->factors[j].atom->free, d->factors[j].atom->n_free, d->bound[i]);
        if (used) continue;
        if (!mo_rational_mul(d->coefficient, mo_rational_integer(d->bound[i].extent), &d->coefficient))
            return mo_normal_fail(s, "a number is too long");
        drop_bound(d, i--);
    }
    return true;
}

/* ---- what forms look like, whatever their variables are called ---- */

/* One variable may be told apart from the others; indices may be left out altogether. */
typedef struct {
    bool has_self, no_index;
    mo_var self;
} view;

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return mo_hash64(&value, sizeof value, hash);
}

static uint64_t mix_rational(uint64_t hash, mo_rational r)
{
    return mix(mix(hash, (uint64_t)r.num), (uint64_t)r.den);
}

static uint64_t look_at_form(const view *v, const mo_normal *f);

/* A nested variable with the name of the one that is told apart is another one. */
static view hide(const view *v, const mo_var *bound, int n)
{
    view inside = *v;
    inside.has_self = v->has_self && !mo_normal_has(bound, n, v->self);
    return inside;
}

static uint64_t examine_atom(const view *v, const mo_atom *atom)
{
    uint64_t hash =
        mix(mix(mix((uint64_t)atom->kind, (uint64_t)atom->tensor), (uint64_t)atom->op), atom->tag);
    uint64_t index = 0, args = 0;
    for (int i = 0; i < atom->index.n && !v->no_index; i++) {
        bool self = v->has_self && mo_var_same(atom->index.term[i].var, v->self);
        index += mix(self ? 1 : mix(2, atom->index.term[i].var.extent), (uint64_t)atom->index.term[i].factor);
    }
    view inside = hide(v, atom->bound, atom->n_bound);
    for (int i = 0; i < atom->n_args; i++) args += look_at_form(&inside, atom->args[i]);
    if (!v->no_index) index += mix(7, (uint64_t)atom->index.constant);
    return mix(mix(hash, index), args);
}

/* What does not have the variable in it looks as it always does. */
static uint64_t look_at_atom(const view *v, const mo_atom *atom)
{
    bool mine = v->has_self && mo_normal_has(atom->free, atom->n_free, v->self);
    return mine ? examine_atom(v, atom) : atom->looks[v->no_index ? 0 : 1];
}

static uint64_t look_at_factors(const view *v, const mo_factor *factors, int n)
{
    uint64_t product = 4;
    for (int i = 0; i < n; i++) product += mix_rational(look_at_atom(v, factors[i].atom), factors[i].power);
    return product;
}

static uint64_t examine_form(const view *v, const mo_normal *f)
{
    uint64_t hash = 5;
    for (int i = 0; i < f->n; i++) {
        const mo_term *t = &f->terms[i];
        view inside = hide(v, t->bound, t->n_bound);
        hash += mix_rational(look_at_factors(&inside, t->factors, t->n_factors), t->coefficient);
    }
    return hash;
}

static uint64_t look_at_form(const view *v, const mo_normal *f)
{
    bool mine = v->has_self && mo_normal_has(f->free, f->n_free, v->self);
    return mine ? examine_form(v, f) : f->looks[v->no_index ? 0 : 1];
}

void mo_normal_set_looks(mo_normal *f)
{
    for (int i = 0; i < 2; i++) f->looks[i] = examine_form(&(view){.no_index = i == 0}, f);
}

void mo_atom_set_looks(mo_atom *atom)
{
    for (int i = 0; i < 2; i++) atom->looks[i] = examine_atom(&(view){.no_index = i == 0}, atom);
}

const mo_term *mo_normal_leading(const mo_normal *f)
{
    const mo_term *leading = NULL;
    view views[2] = {{.no_index = true}, {.no_index = false}};
    uint64_t least[2] = {0, 0};
    for (int i = 0; i < f->n; i++) {
        uint64_t hash[2];
        for (int v = 0; v < 2; v++)
            hash[v] = look_at_factors(&views[v], f->terms[i].factors, f->terms[i].n_factors);
        bool before = hash[0] < least[0] || (hash[0] == least[0] && hash[1] < least[1]);
        if (leading != NULL && !before) continue;
        memcpy(least, hash, sizeof least);
        leading = &f->terms[i];
    }
    return leading;
}

static uint64_t look(const mo_draft *d, mo_var var)
{
    view v = {.has_self = true, .self = var};
    return mix(look_at_factors(&v, d->factors, d->n_factors), var.extent);
}

/* ---- order and names ---- */

/* Names the variables in this order, from `first` on. */
static bool name_in_order(mo_normals *s, mo_draft *d, const int *order, uint32_t first)
{
    uint32_t spare = unused_number(d);
    if (spare < first + (uint32_t)d->n_bound) spare = first + (uint32_t)d->n_bound;
    mo_var target[MO_NORMAL_BOUND];
    for (int i = 0; i < d->n_bound; i++) target[i] = (mo_var){first + (uint32_t)i, d->bound[order[i]].extent};
    bool same = true;
    for (int i = 0; i < d->n_bound; i++) same = same && mo_var_same(d->bound[order[i]], target[i]);
    for (int i = 0; i < d->n_bound && !same; i++) {
        mo_affine by = mo_affine_var((mo_var){spare + (uint32_t)i, target[i].extent});
        if (!mo_draft_substitute(s, d, d->bound[order[i]], &by)) return false;
    }
    for (int i = 0; i < d->n_bound && !same; i++) {
        mo_affine by = mo_affine_var(target[i]);
        if (!mo_draft_substitute(s, d, (mo_var){spare + (uint32_t)i, target[i].extent}, &by)) return false;
    }
    memcpy(d->bound, target, sizeof target[0] * (size_t)d->n_bound);
    return true;
}

static void sort_by_id(mo_draft *d)
{
    for (int i = 1; i < d->n_factors; i++)
        for (int j = i; j > 0 && d->factors[j - 1].atom->id > d->factors[j].atom->id; j--) {
            mo_factor f = d->factors[j];
            d->factors[j] = d->factors[j - 1];
            d->factors[j - 1] = f;
        }
}

static bool comes_before(const mo_draft *a, const mo_draft *b)
{
    mo_term x = {a->coefficient, a->n_bound, a->n_factors, a->bound, a->factors};
    mo_term y = {b->coefficient, b->n_bound, b->n_factors, b->bound, b->factors};
    return mo_term_compare(&x, &y) < 0;
}

/* The next order in which only variables that look alike change places; false after the last. */
static bool next_order(int *order, const uint64_t *looks, int n)
{
    for (int start = 0; start < n;) {
        int end = start;
        while (end < n && looks[order[end]] == looks[order[start]]) end++;
        int i = end - 2;
        while (i >= start && order[i] > order[i + 1]) i--;
        if (i >= start) {
            int j = end - 1;
            while (order[j] < order[i]) j--;
            int swap = order[i];
            order[i] = order[j];
            order[j] = swap;
        }
        for (int a = i + 1, b = end - 1; a < b; a++, b--) {
            int swap = order[a];
            order[a] = order[b];
            order[b] = swap;
        }
        if (i >= start) return true;
        start = end;
    }
    return false;
}

static bool choose_names(mo_normals *s, mo_draft *d)
{
    uint64_t looks[MO_NORMAL_BOUND];
    int order[MO_NORMAL_BOUND], n = d->n_bound;
    uint32_t first = 0;
    for (int i = 0; i < d->n_factors; i++)
        for (int j = 0; j < d->factors[i].atom->n_free; j++) {
            mo_var var = d->factors[i].atom->free[j];
            if (!mo_normal_has(d->bound, n, var) && var.number >= first) first = var.number + 1;
        }
    for (int i = 0; i < n; i++) looks[i] = look(d, d->bound[i]);
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && looks[order[at - 1]] > looks[i]; at--) order[at] = order[at - 1];
        order[at] = i;
    }
    mo_draft best = {.n_bound = -1}, start = *d;
    int tries = 0;
    do {
        mo_draft named = start;
        if (tries++ == MOST_ORDERS) return mo_normal_fail(s, "too many summation variables that look alike");
        if (!name_in_order(s, &named, order, first)) return false;
        sort_by_id(&named);
        if (best.n_bound < 0 || comes_before(&named, &best)) best = named;
    } while (next_order(order, looks, n));
    *d = best;
    return true;
}

bool mo_draft_canonical(mo_normals *s, mo_draft *d)
{
    if (!drop_unused(s, d)) return false;
    if (d->n_bound == 0) return true;
    return merge_digits(s, d) && choose_names(s, d);
}

/* ---- adjoining ranges ---- */

static bool same_shape(const mo_term *a, const mo_term *b)
{
    view anybody = {.no_index = true};
    return look_at_factors(&anybody, a->factors, a->n_factors) ==
           look_at_factors(&anybody, b->factors, b->n_factors);
}

/* The term with variable number `at` running from `start` on for `extent` values. */
static bool moved(mo_normals *s, const mo_term *t, int at, int64_t start, uint32_t extent, mo_term_list *list)
{
    mo_draft d = {.coefficient = {1, 1}};
    mo_term unit = *t;
    unit.coefficient = mo_rational_integer(1);
    if (!mo_draft_multiply(s, &d, &unit)) return false;
    mo_var fresh = {unused_number(&d), extent};
    mo_affine by = mo_affine_var(fresh);
    by.constant = start;
    if (!mo_draft_substitute(s, &d, d.bound[at], &by)) return false;
    if (extent > 1)
        d.bound[at] = fresh;
    else
        drop_bound(&d, at);
    return mo_draft_finish(s, &d, list);
}

/* If b continues a, a becomes the sum over both ranges. */
static bool join_pair(mo_normals *s, mo_term *a, const mo_term *b, bool *joined)
{
    *joined = false;
    for (int v = 0; v < a->n_bound && !*joined; v++)
        for (int w = 0; w < (b->n_bound > 0 ? b->n_bound : 1) && !*joined; w++) {
            uint32_t extent = b->n_bound == a->n_bound ? b->bound[w].extent : 1;
            mo_term_list next = {0}, whole = {0};
            if (!moved(s, a, v, a->bound[v].extent, extent, &next)) return false;
            if (next.n != 1 || !mo_rational_is(next.terms[0].coefficient, 1)) continue;
            if (mo_term_compare(&next.terms[0], b) != 0) continue;
            if (!moved(s, a, v, 0, a->bound[v].extent + extent, &whole)) return false;
            if (whole.n != 1 || !mo_rational_is(whole.terms[0].coefficient, 1)) continue;
            whole.terms[0].coefficient = a->coefficient;
            *a = whole.terms[0];
            *joined = true;
        }
    return true;
}

bool mo_normal_join(mo_normals *s, mo_term_list *list)
{
    for (int i = 0; i < list->n; i++)
        for (int j = 0; j < list->n; j++) {
            const mo_term *a = &list->terms[i], *b = &list->terms[j];
            if (i == j || a->n_bound == 0 || a->n_factors != b->n_factors) continue;
            if (b->n_bound != a->n_bound && b->n_bound + 1 != a->n_bound) continue;
            if (!mo_rational_same(a->coefficient, b->coefficient)) continue;
            if (!same_shape(a, b)) continue;
            bool joined;
            if (!join_pair(s, &list->terms[i], b, &joined)) return false;
            if (!joined) continue;
            list->terms[j] = list->terms[--list->n];
            i = -1; /* the longer range may be continued */
            break;
        }
    return true;
}
