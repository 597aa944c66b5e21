#include "abstract/store.h"

#include <stdlib.h>
#include <string.h>

/* Longest multiset of leaves or opaque factors of one monomial; beyond it an expression is too big. */
enum { MAX_BAG = 1024 };

static uint32_t bag_add(mo_abs *abs, uint32_t a, uint32_t b)
{
    uint32_t known;
    if (a == ABS_EMPTY_BAG) return b;
    if (b == ABS_EMPTY_BAG) return a;
    if (a > b) return bag_add(abs, b, a);
    if (mo_abs_memo_find(abs, MEMO_BAG_ADD, a, b, &known)) return known;

    uint32_t na, nb, n = 0, i = 0, j = 0;
    const uint32_t *x = mo_abs_bag(abs, a, &na), *y = mo_abs_bag(abs, b, &nb);
    if (na + nb > MAX_BAG) return mo_abs_memo_put(abs, MEMO_BAG_ADD, a, b, ABS_BIG);
    uint32_t merged[MAX_BAG];
    while (i < na || j < nb) {
        bool left = j == nb || (i < na && x[i] <= y[j]);
        merged[n++] = left ? x[i++] : y[j++];
    }
    return mo_abs_memo_put(abs, MEMO_BAG_ADD, a, b, mo_abs_intern(abs, &abs->bags, merged, n * sizeof *x));
}

static uint64_t bag_parts(const mo_abs *abs, uint32_t bag, int first, int count)
{
    uint32_t n;
    uint64_t parts = 0;
    const uint32_t *x = mo_abs_bag(abs, bag, &n);
    for (uint32_t i = 0; i < n; i++) parts |= UINT64_C(1) << (first + (int)(x[i] % (uint32_t)count));
    return parts;
}

/* A root or denominator counts unless it is a lone number such as -1, which divides what is absent. */
static bool is_part(const mo_abs *abs, uint32_t poly)
{
    return poly != ABS_ABSENT && (mo_abs_size(abs, poly) > 1 || mo_abs_poly_parts(abs, poly) != 0);
}

static uint64_t mono_parts(const mo_abs *abs, const mo_abs_mono *m)
{
    uint64_t parts = bag_parts(abs, m->leaves, 0, 40) | bag_parts(abs, m->opaques, 40, 20);
    if (m->ex != ABS_ABSENT) parts |= UINT64_C(1) << 60;
    if (is_part(abs, m->sq)) parts |= UINT64_C(1) << 61;
    if (is_part(abs, m->den)) parts |= UINT64_C(1) << 62;
    if (m->sig > 1) parts |= UINT64_C(1) << 63;
    return parts;
}

uint32_t mo_abs_mono_id(mo_abs *abs, mo_abs_mono mono)
{
    if (abs->numbers) { /* sqrt(1) = 1 and x / 1 = x */
        if (mono.sq == ABS_UNIT) mono.sq = ABS_ABSENT;
        if (mono.den == ABS_UNIT) mono.den = ABS_ABSENT;
    }
    uint32_t known = abs->monos.count;
    uint32_t id = mo_abs_intern(abs, &abs->monos, &mono, sizeof mono);
    if (id == known) abs->monos.entries[id].parts = mono_parts(abs, &mono);
    return id;
}

static uint32_t times(mo_abs *abs, uint32_t m, uint32_t n)
{
    mo_abs_mono a = *mo_abs_mono_at(abs, m), b = *mo_abs_mono_at(abs, n), r = {0};
    if (__builtin_mul_overflow(a.sig, b.sig, &r.sig)) return ABS_BIG;
    r.sign = a.sign ^ b.sign;
    if ((r.leaves = bag_add(abs, a.leaves, b.leaves)) == ABS_BIG) return ABS_BIG;
    if ((r.opaques = bag_add(abs, a.opaques, b.opaques)) == ABS_BIG) return ABS_BIG;
    if ((r.ex = mo_abs_poly_add(abs, a.ex, b.ex)) == ABS_BIG) return ABS_BIG;
    if ((r.sq = mo_abs_poly_mul(abs, a.sq, b.sq)) == ABS_BIG) return ABS_BIG;
    if ((r.den = mo_abs_poly_mul(abs, a.den, b.den)) == ABS_BIG) return ABS_BIG;
    return mo_abs_mono_id(abs, r);
}

uint32_t mo_abs_times(mo_abs *abs, uint32_t m, uint32_t n)
{
    uint32_t known;
    if (m == ABS_ONE) return n;
    if (n == ABS_ONE) return m;
    if (m > n) return mo_abs_times(abs, n, m);
    if (mo_abs_memo_find(abs, MEMO_TIMES, m, n, &known)) return known;
    return mo_abs_memo_put(abs, MEMO_TIMES, m, n, times(abs, m, n));
}

static int by_mono(const void *a, const void *b)
{
    uint32_t x = ((const mo_abs_term *)a)->mono, y = ((const mo_abs_term *)b)->mono;
    return (x > y) - (x < y);
}

uint32_t mo_abs_poly_intern(mo_abs *abs, mo_abs_term *terms, uint32_t count)
{
    uint32_t n = 0;
    uint64_t size = 0, parts = 0;
    qsort(terms, count, sizeof *terms, by_mono);
    for (uint32_t i = 0; i < count; i++) {
        size += terms[i].count;
        parts |= mo_abs_mono_parts(abs, terms[i].mono);
        if (n && terms[n - 1].mono == terms[i].mono)
            terms[n - 1].count += terms[i].count;
        else
            terms[n++] = terms[i];
    }
    if (size > abs->limit) return ABS_BIG;
    uint32_t id = mo_abs_intern(abs, &abs->polys, terms, n * sizeof *terms);
    abs->polys.entries[id].size = (uint32_t)size;
    abs->polys.entries[id].parts = parts;
    return id;
}

uint32_t mo_abs_poly_of(mo_abs *abs, uint32_t mono)
{
    mo_abs_term term = {mono, 1};
    return mono == ABS_BIG ? ABS_BIG : mo_abs_poly_intern(abs, &term, 1);
}

/* Could a Poly of this size made of p and q be part of a target? */
static bool within_bounds(const mo_abs *abs, uint32_t p, uint32_t q, uint64_t size)
{
    if (size > abs->limit) return false;
    uint64_t parts = mo_abs_poly_parts(abs, p) | mo_abs_poly_parts(abs, q);
    for (int i = 0; i < abs->n_bounds; i++)
        if (size <= abs->bounds[i].size && !(parts & ~abs->bounds[i].parts)) return true;
    return abs->n_bounds == 0;
}

uint32_t mo_abs_poly_add(mo_abs *abs, uint32_t p, uint32_t q)
{
    uint32_t known, np, nq;
    if (p == ABS_BIG || q == ABS_BIG) return ABS_BIG;
    if (p == ABS_ABSENT) return q;
    if (q == ABS_ABSENT) return p;
    if (p > q) return mo_abs_poly_add(abs, q, p);
    if (!within_bounds(abs, p, q, (uint64_t)mo_abs_size(abs, p) + mo_abs_size(abs, q))) return ABS_BIG;
    if (mo_abs_memo_find(abs, MEMO_ADD, p, q, &known)) return known;

    const mo_abs_term *x = mo_abs_terms(abs, p, &np), *y = mo_abs_terms(abs, q, &nq);
    mo_arena_mark mark = mo_arena_get_mark(abs->scratch);
    mo_abs_term *terms = MO_NEW_ARRAY(abs->scratch, mo_abs_term, np + nq);
    memcpy(terms, x, sizeof *x * np);
    memcpy(terms + np, y, sizeof *y * nq);
    uint32_t result = mo_abs_poly_intern(abs, terms, np + nq);
    mo_arena_reset(abs->scratch, mark);
    return mo_abs_memo_put(abs, MEMO_ADD, p, q, result);
}

uint32_t mo_abs_poly_mul(mo_abs *abs, uint32_t p, uint32_t q)
{
    uint32_t known, np, nq, n = 0;
    if (p == ABS_BIG || q == ABS_BIG) return ABS_BIG;
    if (p == ABS_ABSENT) return q;
    if (q == ABS_ABSENT) return p;
    if (p > q) return mo_abs_poly_mul(abs, q, p);
    if (!within_bounds(abs, p, q, (uint64_t)mo_abs_size(abs, p) * mo_abs_size(abs, q))) return ABS_BIG;
    if (mo_abs_memo_find(abs, MEMO_MUL, p, q, &known)) return known;

    const mo_abs_term *x = mo_abs_terms(abs, p, &np), *y = mo_abs_terms(abs, q, &nq);
    mo_arena_mark mark = mo_arena_get_mark(abs->scratch);
    mo_abs_term *terms = MO_NEW_ARRAY(abs->scratch, mo_abs_term, (size_t)np * nq);
    bool big = false;
    for (uint32_t i = 0; i < np && !big; i++) {
        for (uint32_t j = 0; j < nq && !big; j++) {
            terms[n] = (mo_abs_term){mo_abs_times(abs, x[i].mono, y[j].mono), x[i].count * y[j].count};
            big = terms[n++].mono == ABS_BIG;
        }
    }
    uint32_t result = big ? ABS_BIG : mo_abs_poly_intern(abs, terms, n);
    mo_arena_reset(abs->scratch, mark);
    return mo_abs_memo_put(abs, MEMO_MUL, p, q, result);
}

uint32_t mo_abs_scale(mo_abs *abs, uint32_t operator_mono, uint32_t p)
{
    uint32_t known, n;
    if (p == ABS_BIG || operator_mono == ABS_BIG) return ABS_BIG;
    if (operator_mono == ABS_ONE) return p;
    if (mo_abs_memo_find(abs, MEMO_SCALE, operator_mono, p, &known)) return known;

    const mo_abs_term *x = mo_abs_terms(abs, p, &n);
    mo_arena_mark mark = mo_arena_get_mark(abs->scratch);
    mo_abs_term *terms = MO_NEW_ARRAY(abs->scratch, mo_abs_term, n);
    bool big = false;
    for (uint32_t i = 0; i < n && !big; i++) {
        terms[i] = (mo_abs_term){mo_abs_times(abs, operator_mono, x[i].mono), x[i].count};
        big = terms[i].mono == ABS_BIG;
    }
    uint32_t result = big ? ABS_BIG : mo_abs_poly_intern(abs, terms, n);
    mo_arena_reset(abs->scratch, mark);
    return mo_abs_memo_put(abs, MEMO_SCALE, operator_mono, p, result);
}
