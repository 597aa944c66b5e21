#include "reference.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* A function without axioms and its arguments (y may be absent). */
typedef struct {
    uint32_t function;
    const ref_poly *x, *y;
} call;

typedef struct {
    uint64_t sig; /* 0: more than 64 bits, which no target has */
    bool negative;
    uint32_t n_leaves, n_calls;
    const uint32_t *leaves; /* sorted */
    const call *calls;      /* sorted */
    const ref_poly *ex, *sq, *den;
} mono;

/* NULL is the absent polynomial. Sorted; equal monomials stand side by side. */
struct ref_poly {
    uint32_t n;
    mono m[];
};

/* ---- a total order by content ----------------------------------------------------------------------- */
static int order(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int order_mono(const mono *a, const mono *b);

static int order_poly(const ref_poly *p, const ref_poly *q)
{
    if (p == q) return 0;
    int r = order(p ? p->n : 0, q ? q->n : 0);
    for (uint32_t i = 0; !r && i < p->n; i++) r = order_mono(&p->m[i], &q->m[i]);
    return r;
}

static int order_call(const void *a, const void *b)
{
    const call *x = a, *y = b;
    int r = order(x->function, y->function);
    if (!r) r = order_poly(x->x, y->x);
    if (!r) r = order_poly(x->y, y->y);
    return r;
}

static int order_leaf(const void *a, const void *b)
{
    return order(*(const uint32_t *)a, *(const uint32_t *)b);
}

static int order_mono(const mono *a, const mono *b)
{
    int r = order(a->sig, b->sig);
    if (!r) r = order(a->negative, b->negative);
    if (!r) r = order(a->n_leaves, b->n_leaves);
    for (uint32_t i = 0; !r && i < a->n_leaves; i++) r = order(a->leaves[i], b->leaves[i]);
    if (!r) r = order(a->n_calls, b->n_calls);
    for (uint32_t i = 0; !r && i < a->n_calls; i++) r = order_call(&a->calls[i], &b->calls[i]);
    if (!r) r = order_poly(a->ex, b->ex);
    if (!r) r = order_poly(a->sq, b->sq);
    return r ? r : order_poly(a->den, b->den);
}

static int order_mono_void(const void *a, const void *b)
{
    return order_mono(a, b);
}

bool ref_equal(const ref_poly *p, const ref_poly *q)
{
    return order_poly(p, q) == 0;
}

/* ---- building ------------------------------------------------------------------------------------------ */
static ref_poly *new_poly(const ref_context *c, uint32_t n)
{
    ref_poly *p = mo_arena_alloc(c->arena, sizeof *p + n * sizeof p->m[0]);
    p->n = n;
    return p;
}

static const ref_poly *sorted(ref_poly *p)
{
    if (p->n > 1) qsort(p->m, p->n, sizeof p->m[0], order_mono_void);
    return p;
}

static const ref_poly *of_mono(const ref_context *c, mono m)
{
    ref_poly *p = new_poly(c, 1);
    p->m[0] = m;
    return p;
}

static bool is_one(const mono *m)
{
    return m->sig == 1 && !m->negative && !m->n_leaves && !m->n_calls && !m->ex && !m->sq && !m->den;
}

/* With numbers sqrt(1) = 1 and x / 1 = x: such a part is absent. */
static const ref_poly *unit_is_absent(const ref_context *c, const ref_poly *p)
{
    return c->numbers && p && p->n == 1 && is_one(&p->m[0]) ? NULL : p;
}

static const ref_poly *add(const ref_context *c, const ref_poly *p, const ref_poly *q)
{
    if (!p || !q) return p ? p : q;
    ref_poly *r = new_poly(c, p->n + q->n);
    memcpy(r->m, p->m, p->n * sizeof r->m[0]);
    memcpy(r->m + p->n, q->m, q->n * sizeof r->m[0]);
    return sorted(r);
}

static mono times(const ref_context *c, const mono *m, const mono *n);

static const ref_poly *mul(const ref_context *c, const ref_poly *p, const ref_poly *q)
{
    if (!p || !q) return p ? p : q;
    ref_poly *r = new_poly(c, p->n * q->n);
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = 0; j < q->n; j++) r->m[i * q->n + j] = times(c, &p->m[i], &q->m[j]);
    return sorted(r);
}

static const void *joined(const ref_context *c, const void *a, uint32_t na, const void *b, uint32_t nb,
                          size_t size, int (*compare)(const void *, const void *))
{
    if (!na || !nb) return na ? a : b;
    char *r = mo_arena_alloc(c->arena, (na + nb) * size);
    memcpy(r, a, na * size);
    memcpy(r + na * size, b, nb * size);
    qsort(r, na + nb, size, compare);
    return r;
}

static mono times(const ref_context *c, const mono *m, const mono *n)
{
    mono r = {.negative = m->negative != n->negative};
    if (__builtin_mul_overflow(m->sig, n->sig, &r.sig)) r.sig = 0;
    r.n_leaves = m->n_leaves + n->n_leaves;
    r.leaves = joined(c, m->leaves, m->n_leaves, n->leaves, n->n_leaves, sizeof *r.leaves, order_leaf);
    r.n_calls = m->n_calls + n->n_calls;
    r.calls = joined(c, m->calls, m->n_calls, n->calls, n->n_calls, sizeof *r.calls, order_call);
    r.ex = add(c, m->ex, n->ex);
    r.sq = unit_is_absent(c, mul(c, m->sq, n->sq));
    r.den = unit_is_absent(c, mul(c, m->den, n->den));
    return r;
}

static const ref_poly *scale(const ref_context *c, const mono *o, const ref_poly *p)
{
    ref_poly *r = new_poly(c, p->n);
    for (uint32_t i = 0; i < p->n; i++) r->m[i] = times(c, o, &p->m[i]);
    return sorted(r);
}

static const ref_poly *normal_leaf(const ref_context *c, uint32_t variable)
{
    uint32_t *leaf = MO_NEW(c->arena, uint32_t);
    *leaf = variable;
    return of_mono(c, (mono){.sig = 1, .n_leaves = 1, .leaves = leaf});
}

static const ref_poly *normal_call(const ref_context *c, uint32_t function, const ref_poly *x,
                                   const ref_poly *y)
{
    call *made = MO_NEW(c->arena, call);
    *made = (call){function, x, y};
    return of_mono(c, (mono){.sig = 1, .n_calls = 1, .calls = made});
}

const ref_poly *ref_normal(const ref_context *c, const term_table *table, uint32_t t)
{
    const term_node *n = &table->node[t];
    const ref_poly *a = NULL, *b = NULL;
    MO_CHECK(c->numbers || (n->op != T_ONE && n->op != T_MINUS));
    if (term_arity(n->op) > 0) a = ref_normal(c, table, n->a);
    if (term_arity(n->op) > 1) b = ref_normal(c, table, n->b);
    switch (n->op) {
    case T_LEAF: return normal_leaf(c, n->value);
    case T_ONE: return of_mono(c, (mono){.sig = 1});
    case T_MINUS: return of_mono(c, (mono){.sig = 1, .negative = true});
    case T_ADD: return add(c, a, b);
    case T_MUL: return mul(c, a, b);
    case T_DIV: return scale(c, &(mono){.sig = 1, .den = unit_is_absent(c, b)}, a);
    case T_SUM: return scale(c, &(mono){.sig = n->value}, a);
    case T_EXP: return of_mono(c, (mono){.sig = 1, .ex = a});
    case T_SQRT: return of_mono(c, (mono){.sig = 1, .sq = unit_is_absent(c, a)});
    case T_CALL:
    case T_CALL2: break;
    }
    return normal_call(c, n->value, a, b);
}

/* ---- the inverse operations: false if there is no such thing ---------------------------------------- */
static bool without(const ref_context *c, const void *a, uint32_t na, const void *b, uint32_t nb, size_t size,
                    int (*compare)(const void *, const void *), const void **rest, uint32_t *n_rest)
{
    const char *x = a, *y = b;
    uint32_t j = 0, n = 0;
    *rest = a;
    *n_rest = na;
    if (nb == 0) return true;
    if (nb > na) return false;
    char *left = mo_arena_alloc(c->arena, na * size);
    for (uint32_t i = 0; i < na; i++) {
        if (j < nb && compare(x + i * size, y + j * size) == 0)
            j++;
        else
            memcpy(left + n++ * size, x + i * size, size);
    }
    *rest = left;
    *n_rest = n;
    return j == nb;
}

static bool minus(const ref_context *c, const ref_poly *p, const ref_poly *q, const ref_poly **r)
{
    const void *rest;
    uint32_t n;
    *r = NULL;
    if (ref_equal(p, q)) return true;
    *r = p;
    if (!q) return true;
    if (!p || !without(c, p->m, p->n, q->m, q->n, sizeof p->m[0], order_mono_void, &rest, &n)) return false;
    ref_poly *left = new_poly(c, n);
    memcpy(left->m, rest, n * sizeof left->m[0]);
    *r = left;
    return true;
}

/* Is q contained in p? */
static bool contains(const ref_context *c, const ref_poly *p, const ref_poly *q)
{
    uint32_t i = 0, j = 0;
    for (; i < p->n && j < q->n; i++) {
        if (order_mono(&p->m[i], &q->m[j]) != 0) continue;
        j++;
        while (c->flaw == FLAW_MULTIPLICITY && j < q->n && order_mono(&p->m[i], &q->m[j]) == 0) j++;
    }
    return j == q->n;
}

static bool divide(const ref_context *c, const ref_poly *p, const ref_poly *q, const ref_poly **r);

/* The operator o with o * n = m. */
static bool over(const ref_context *c, const mono *m, const mono *n, mono *o)
{
    const void *leaves, *calls;
    *o = (mono){.sig = 1, .negative = m->negative != n->negative};
    if (c->flaw != FLAW_SUMS_ANY_LENGTH) {
        if (n->sig == 0 || m->sig % n->sig != 0) return false;
        o->sig = m->sig / n->sig;
    }
    if (!without(c, m->leaves, m->n_leaves, n->leaves, n->n_leaves, sizeof *m->leaves, order_leaf, &leaves,
                 &o->n_leaves))
        return false;
    if (!without(c, m->calls, m->n_calls, n->calls, n->n_calls, sizeof *m->calls, order_call, &calls,
                 &o->n_calls))
        return false;
    o->leaves = leaves;
    o->calls = calls;
    if (c->flaw == FLAW_WHOLE_EXP && n->ex && !ref_equal(m->ex, n->ex)) return false;
    if (c->flaw == FLAW_WHOLE_SQRT && n->sq && !ref_equal(m->sq, n->sq)) return false;
    if (c->flaw == FLAW_WHOLE_DEN && n->den && !ref_equal(m->den, n->den)) return false;
    return minus(c, m->ex, n->ex, &o->ex) && divide(c, m->sq, n->sq, &o->sq) &&
           divide(c, m->den, n->den, &o->den);
}

static bool has_numerator(const mono *m)
{
    return m->n_leaves || m->n_calls || m->ex || m->sq;
}

/* left = q * (the quotient's monomials from `at` on): what lands on a monomial of `left` is a multiple of
 * some monomial of q; each is tried. One from the middle, since the least one hardly ever leads astray. */
static bool cover(const ref_context *c, const ref_poly *left, const ref_poly *q, ref_poly *quotient,
                  uint32_t at)
{
    if (!left) return true;
    bool tried = false;
    const mono *t = &left->m[(left->n - 1) / 2];
    for (uint32_t j = 0; j < q->n && !(tried && c->flaw == FLAW_NO_BACKTRACKING); j++) {
        const ref_poly *rest;
        mono o;
        if (j && order_mono(&q->m[j], &q->m[j - 1]) == 0) continue;
        if (!over(c, t, &q->m[j], &o)) continue;
        if (!c->numbers && c->flaw != FLAW_EMPTY_NUMERATOR && !has_numerator(&o)) continue;
        if (!minus(c, left, scale(c, &o, q), &rest)) continue;
        quotient->m[at] = o;
        tried = true;
        if (cover(c, rest, q, quotient, at + 1)) return true;
    }
    return false;
}

/* The r with q * r = p. Without a unit an absent p has no divisor but the absent one. */
static bool divide(const ref_context *c, const ref_poly *p, const ref_poly *q, const ref_poly **r)
{
    *r = NULL;
    if (ref_equal(p, q)) return true;
    *r = p;
    if (!q) return true;
    if (!p && !c->numbers) return false;
    if (!p) p = of_mono(c, (mono){.sig = 1});
    if (p->n % q->n != 0) return false;
    ref_poly *quotient = new_poly(c, p->n / q->n);
    if (!cover(c, p, q, quotient, 0)) return false;
    *r = unit_is_absent(c, sorted(quotient));
    return true;
}

/* ---- the test -------------------------------------------------------------------------------------------
 */
static void enter(const ref_context *c, ref_target *t, const ref_poly *p, uint32_t *capacity)
{
    if (!p) return;
    for (uint32_t i = 0; i < t->n; i++)
        if (ref_equal(t->part[i], p)) return;
    if (t->n == *capacity) {
        *capacity = *capacity * 2 + 8;
        const ref_poly **grown = MO_NEW_ARRAY(c->arena, const ref_poly *, *capacity);
        for (uint32_t i = 0; i < t->n; i++) grown[i] = t->part[i];
        t->part = grown;
    }
    t->part[t->n++] = p;
    for (uint32_t i = 0; i < p->n; i++) {
        const mono *m = &p->m[i];
        for (uint32_t j = 0; j < m->n_calls && c->flaw != FLAW_ARGUMENTS_HIDDEN; j++) {
            enter(c, t, m->calls[j].x, capacity);
            enter(c, t, m->calls[j].y, capacity);
        }
        enter(c, t, m->ex, capacity);
        enter(c, t, m->sq, capacity);
        if (c->flaw != FLAW_DENOMINATORS_NOT_ENTERED) enter(c, t, m->den, capacity);
    }
}

ref_target ref_target_of(const ref_context *c, const ref_poly *target)
{
    ref_target t = {0};
    uint32_t capacity = 0;
    enter(c, &t, target, &capacity);
    return t;
}

/* Is some monomial multiple of x contained in p? */
static bool fits(const ref_context *c, const ref_poly *x, const ref_poly *p)
{
    if (x->n > p->n && c->flaw != FLAW_MULTIPLICITY) return false;
    if (x->n != p->n && c->flaw == FLAW_WHOLE_SUMS) return false;
    for (uint32_t i = 0; i < (c->flaw == FLAW_FIRST_MONOMIAL ? 1 : p->n); i++) {
        mono o;
        if (i && order_mono(&p->m[i], &p->m[i - 1]) == 0) continue;
        if (!over(c, &p->m[i], &x->m[0], &o)) continue;
        if (c->flaw == FLAW_SUMS_ANY_LENGTH && x->n == 1) return true;
        if (contains(c, p, scale(c, &o, x))) return true;
    }
    return false;
}

bool ref_subexpr(const ref_context *c, const ref_poly *x, const ref_target *target)
{
    bool yes = false;
    mo_arena_mark mark = mo_arena_get_mark(c->arena);
    for (uint32_t i = 0; i < target->n && !yes; i++) yes = fits(c, x, target->part[i]);
    mo_arena_reset(c->arena, mark);
    return yes;
}

/* Do two monomials of p differ by an operator that is its own inverse? */
static bool has_unit_between(const ref_context *c, const ref_poly *p)
{
    for (uint32_t i = 0; i < p->n; i++) {
        for (uint32_t j = 0; j < i; j++) {
            mono o;
            if (order_mono(&p->m[i], &p->m[j]) == 0 || !over(c, &p->m[i], &p->m[j], &o)) continue;
            mono square = times(c, &o, &o);
            if (is_one(&square)) return true;
        }
    }
    return false;
}

static bool ambiguous(const ref_context *c, const ref_poly *p)
{
    return p && (has_unit_between(c, p) || ref_has_ambiguous_part(c, p));
}

bool ref_has_ambiguous_part(const ref_context *c, const ref_poly *x)
{
    for (uint32_t i = 0; i < x->n; i++)
        if (ambiguous(c, x->m[i].sq) || ambiguous(c, x->m[i].den)) return true;
    return false;
}
