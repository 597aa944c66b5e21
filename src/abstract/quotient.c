#include "abstract/store.h"

#include <string.h>

/* b is contained in a. */
static uint32_t bag_minus(mo_abs *abs, uint32_t a, uint32_t b)
{
    uint32_t known;
    if (b == ABS_EMPTY_BAG) return a;
    if (a == b) return ABS_EMPTY_BAG;
    if (mo_abs_memo_find(abs, MEMO_BAG_MINUS, a, b, &known)) return known;

    uint32_t na, nb, j = 0, n = 0;
    const uint32_t *x = mo_abs_bag(abs, a, &na), *y = mo_abs_bag(abs, b, &nb);
    mo_arena_mark mark = mo_arena_get_mark(abs->scratch);
    uint32_t *rest = MO_NEW_ARRAY(abs->scratch, uint32_t, na);
    for (uint32_t i = 0; i < na; i++) {
        if (j < nb && x[i] == y[j])
            j++;
        else
            rest[n++] = x[i];
    }
    uint32_t result = mo_abs_intern(abs, &abs->bags, rest, n * sizeof *rest);
    mo_arena_reset(abs->scratch, mark);
    return mo_abs_memo_put(abs, MEMO_BAG_MINUS, a, b, result);
}

/* Both are sorted. */
static bool bag_contains(const mo_abs *abs, uint32_t a, uint32_t b)
{
    if (a == b || b == ABS_EMPTY_BAG) return true;
    uint32_t na, nb, j = 0;
    const uint32_t *x = mo_abs_bag(abs, a, &na), *y = mo_abs_bag(abs, b, &nb);
    for (uint32_t i = 0; i < na && j < nb; i++) j += x[i] == y[j];
    return j == nb;
}

uint32_t mo_abs_over(mo_abs *abs, uint32_t m, uint32_t n)
{
    if (n == ABS_ONE) return m;
    if (mo_abs_mono_parts(abs, n) & ~mo_abs_mono_parts(abs, m)) return ABS_NONE;
    mo_abs_mono a = *mo_abs_mono_at(abs, m), b = *mo_abs_mono_at(abs, n), r;
    if (a.sig % b.sig != 0) return ABS_NONE;
    if (!bag_contains(abs, a.leaves, b.leaves) || !bag_contains(abs, a.opaques, b.opaques)) return ABS_NONE;
    if ((r.ex = mo_abs_poly_minus(abs, a.ex, b.ex)) == ABS_NONE) return ABS_NONE;
    if ((r.sq = mo_abs_poly_divide(abs, a.sq, b.sq)) == ABS_NONE) return ABS_NONE;
    if ((r.den = mo_abs_poly_divide(abs, a.den, b.den)) == ABS_NONE) return ABS_NONE;
    if (r.sq == ABS_MANY || r.den == ABS_MANY) return ABS_MANY;
    r.sig = a.sig / b.sig;
    r.sign = a.sign ^ b.sign;
    r.leaves = bag_minus(abs, a.leaves, b.leaves);
    r.opaques = bag_minus(abs, a.opaques, b.opaques);
    return mo_abs_mono_id(abs, r);
}

/* terms := terms - operator * q as multisets, in place; false (terms spoilt) if it is not contained. */
static bool take(mo_abs *abs, mo_abs_term *terms, uint32_t *count, uint32_t operator_mono, uint32_t q)
{
    uint32_t nq, n = 0;
    const mo_abs_term *y = mo_abs_terms(abs, q, &nq);
    for (uint32_t j = 0; j < nq; j++) {
        uint32_t mono = mo_abs_times(abs, operator_mono, y[j].mono), i = 0;
        while (i < *count && terms[i].mono != mono) i++;
        if (i == *count || terms[i].count < y[j].count) return false;
        terms[i].count -= y[j].count;
    }
    for (uint32_t i = 0; i < *count; i++)
        if (terms[i].count) terms[n++] = terms[i];
    *count = n;
    return true;
}

uint32_t mo_abs_poly_minus(mo_abs *abs, uint32_t p, uint32_t q)
{
    uint32_t known, n;
    if (p == q) return ABS_ABSENT;
    if (q == ABS_ABSENT) return p;
    if (p == ABS_ABSENT || mo_abs_size(abs, q) > mo_abs_size(abs, p)) return ABS_NONE;
    if (mo_abs_memo_find(abs, MEMO_MINUS, p, q, &known)) return known;

    const mo_abs_term *x = mo_abs_terms(abs, p, &n);
    mo_arena_mark mark = mo_arena_get_mark(abs->scratch);
    mo_abs_term *terms = MO_NEW_ARRAY(abs->scratch, mo_abs_term, n);
    memcpy(terms, x, sizeof *x * n);
    uint32_t result = take(abs, terms, &n, ABS_ONE, q) ? mo_abs_poly_intern(abs, terms, n) : ABS_NONE;
    mo_arena_reset(abs->scratch, mark);
    return mo_abs_memo_put(abs, MEMO_MINUS, p, q, result);
}

/* Negation swaps the monomials of such a Poly in pairs (x - x): a product does not determine its quotient by
 * it, since q * r = q * (-r). */
static bool sign_symmetric(mo_abs *abs, uint32_t q)
{
    mo_abs_mono minus_one = {.sig = 1, .sign = 1};
    return abs->numbers && mo_abs_scale(abs, mo_abs_mono_id(abs, minus_one), q) == q;
}

/* Units beside -1 are made of it (1 / -1, its root) and are their own inverses too. Do two monomials of q
 * differ by one of them? Then a quotient by q may not be unique either; this errs on that side. */
static bool has_unit_between(mo_abs *abs, uint32_t q)
{
    uint32_t known, n;
    if (!abs->numbers || mo_abs_size(abs, q) == 1) return false;
    if (mo_abs_memo_find(abs, MEMO_UNIT_BETWEEN, q, 0, &known)) return known != 0;
    const mo_abs_term *y = mo_abs_terms(abs, q, &n);
    uint32_t minus_one = mo_abs_mono_id(abs, (mo_abs_mono){.sig = 1, .sign = 1});
    bool found = false;
    for (uint32_t i = 0; i < n && !found; i++) {
        for (uint32_t j = i + 1; j < n && !found; j++) {
            uint32_t o = mo_abs_over(abs, y[i].mono, y[j].mono);
            bool unit = o < ABS_LAST_ID && o != minus_one && mo_abs_times(abs, o, o) == ABS_ONE;
            found = unit || o == ABS_MANY;
        }
    }
    return mo_abs_memo_put(abs, MEMO_UNIT_BETWEEN, q, 0, found) != 0;
}

static bool has_numerator(const mo_abs *abs, uint32_t mono)
{
    const mo_abs_mono *m = mo_abs_mono_at(abs, mono);
    return m->leaves || m->opaques || m->ex || m->sq;
}

typedef struct {
    uint32_t q;
    mo_abs_term *quotient;
    uint32_t n;
} division;

/* Covers `terms` by multiples of q. Some multiple covers the first monomial: try each monomial of q as
 * the one that lands there, and go on with the next when the rest cannot be covered. */
static bool cover(mo_abs *abs, division *d, const mo_abs_term *terms, uint32_t count, bool *many)
{
    if (count == 0) return true;
    uint32_t nq;
    const mo_abs_term *y = mo_abs_terms(abs, d->q, &nq);
    mo_arena_mark mark = mo_arena_get_mark(abs->scratch);
    mo_abs_term *rest = MO_NEW_ARRAY(abs->scratch, mo_abs_term, count);
    bool found = false;
    for (uint32_t j = 0; j < nq && !found && !*many; j++) {
        uint32_t o = mo_abs_over(abs, terms[0].mono, y[j].mono), n = count;
        if (o == ABS_MANY) *many = true;
        if (o >= ABS_LAST_ID || (!abs->numbers && !has_numerator(abs, o))) continue;
        memcpy(rest, terms, sizeof *rest * count);
        if (!take(abs, rest, &n, o, d->q)) continue;
        d->quotient[d->n++] = (mo_abs_term){o, 1};
        found = cover(abs, d, rest, n, many);
        if (!found) d->n--;
    }
    mo_arena_reset(abs->scratch, mark);
    return found;
}

static uint32_t divide(mo_abs *abs, uint32_t p, uint32_t q)
{
    uint32_t n, size = mo_abs_size(abs, p) / mo_abs_size(abs, q);
    const mo_abs_term *x = mo_abs_terms(abs, p, &n);
    mo_arena_mark mark = mo_arena_get_mark(abs->scratch);
    division d = {q, MO_NEW_ARRAY(abs->scratch, mo_abs_term, size), 0};
    bool many = false;
    uint32_t result = ABS_NONE;
    if (cover(abs, &d, x, n, &many)) result = mo_abs_poly_intern(abs, d.quotient, d.n);
    mo_arena_reset(abs->scratch, mark);
    return many ? ABS_MANY : result;
}

uint32_t mo_abs_poly_divide(mo_abs *abs, uint32_t p, uint32_t q)
{
    uint32_t known;
    if (q == ABS_ABSENT) return p;
    if (p == ABS_ABSENT) { /* an absent part is the number 1, which units divide */
        if (!abs->numbers) return ABS_NONE;
        p = ABS_UNIT;
    }
    if (mo_abs_size(abs, p) % mo_abs_size(abs, q) != 0) return ABS_NONE;
    if (mo_abs_memo_find(abs, MEMO_DIVIDE, p, q, &known)) return known;
    uint32_t result;
    if (sign_symmetric(abs, q))
        result = sign_symmetric(abs, p) ? ABS_MANY : ABS_NONE;
    else if (has_unit_between(abs, q))
        result = ABS_MANY;
    else if (p == q)
        result = ABS_ABSENT;
    else
        result = divide(abs, p, q);
    return mo_abs_memo_put(abs, MEMO_DIVIDE, p, q, result);
}
