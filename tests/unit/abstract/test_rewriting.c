/* The axioms themselves as oracle: rewrites small terms by every axiom in both directions up to a size
 * bound. Every term reached must have the target's normal form, and every subterm of every such term must
 * be accepted as a sub-expression: pruning must never reject what the axioms entail. */
#include "abstract/abstract.h"
#include "base/arena.h"
#include "base/hash.h"
#include "base/rng.h"
#include "base/status.h"

#include <criterion/criterion.h>

typedef enum { VAR, ONE, MINUS, ADD, MUL, DIV, EXP, SQRT, SILU, SUM } kind;

typedef struct {
    kind op;
    uint32_t a, b; /* children; VAR: its number; SUM: b is the length */
    uint32_t size;
} node;

enum { MAX_TERMS = 1 << 16, SLOTS = 1 << 18, MAX_CLOSURE = 4000 };

/* Hash-consed terms, and the closure of the one that is being rewritten. */
typedef struct {
    node *nodes;
    uint32_t *slots, n;
    uint32_t *closure, n_closure, bound;
    bool *reached;
    bool numbers, full;
} world;

static uint32_t term(world *w, kind op, uint32_t a, uint32_t b)
{
    node made = {op, a, b, 1};
    if (op >= ADD) made.size += w->nodes[a].size;
    if (op >= ADD && op <= DIV) made.size += w->nodes[b].size;
    uint32_t at = (uint32_t)mo_hash64(&made, sizeof made, 1) % SLOTS;
    for (; w->slots[at]; at = (at + 1) % SLOTS) {
        const node *n = &w->nodes[w->slots[at] - 1];
        if (n->op == op && n->a == a && n->b == b) return w->slots[at] - 1;
    }
    if (w->n == MAX_TERMS - 1) w->full = true;
    if (w->full) return 0;
    w->nodes[w->n] = made;
    w->slots[at] = ++w->n;
    return w->n - 1;
}

static bool is(const world *w, uint32_t t, kind op)
{
    return w->nodes[t].op == op;
}
static uint32_t left(const world *w, uint32_t t)
{
    return w->nodes[t].a;
}
static uint32_t right(const world *w, uint32_t t)
{
    return w->nodes[t].b;
}

typedef struct {
    uint32_t *out;
    uint32_t n;
} terms;

static void emit(terms *r, uint32_t t)
{
    r->out[r->n++] = t;
}

/* Commutativity, associativity, and the axioms of the merged functions. */
static void rewrite_ring(world *w, uint32_t t, terms *r)
{
    kind op = w->nodes[t].op;
    uint32_t a = left(w, t), b = right(w, t);
    if (op != ADD && op != MUL) return;
    emit(r, term(w, op, b, a));
    if (is(w, b, op)) emit(r, term(w, op, term(w, op, a, left(w, b)), right(w, b)));
    if (is(w, a, op)) emit(r, term(w, op, left(w, a), term(w, op, right(w, a), b)));
    if (op == ADD && is(w, a, MUL) && is(w, b, MUL) && right(w, a) == right(w, b))
        emit(r, term(w, MUL, term(w, ADD, left(w, a), left(w, b)), right(w, a)));
    if (op == ADD && is(w, a, DIV) && is(w, b, DIV) && right(w, a) == right(w, b))
        emit(r, term(w, DIV, term(w, ADD, left(w, a), left(w, b)), right(w, a)));
    if (op == ADD && is(w, a, SUM) && is(w, b, SUM) && right(w, a) == right(w, b))
        emit(r, term(w, SUM, term(w, ADD, left(w, a), left(w, b)), right(w, a)));
    if (op == MUL && is(w, a, ADD))
        emit(r, term(w, ADD, term(w, MUL, left(w, a), b), term(w, MUL, right(w, a), b)));
    if (op == MUL && is(w, b, DIV)) emit(r, term(w, DIV, term(w, MUL, a, left(w, b)), right(w, b)));
    if (op == MUL && is(w, a, SUM)) emit(r, term(w, SUM, term(w, MUL, left(w, a), b), right(w, a)));
    if (op == MUL && is(w, a, EXP) && is(w, b, EXP))
        emit(r, term(w, EXP, term(w, ADD, left(w, a), left(w, b)), 0));
    if (op == MUL && is(w, a, SQRT) && is(w, b, SQRT))
        emit(r, term(w, SQRT, term(w, MUL, left(w, a), left(w, b)), 0));
}

static void rewrite_fraction(world *w, uint32_t t, terms *r)
{
    uint32_t a = left(w, t), b = right(w, t);
    if (!is(w, t, DIV)) return;
    if (is(w, a, ADD)) emit(r, term(w, ADD, term(w, DIV, left(w, a), b), term(w, DIV, right(w, a), b)));
    if (is(w, a, MUL)) emit(r, term(w, MUL, left(w, a), term(w, DIV, right(w, a), b)));
    if (is(w, a, DIV)) emit(r, term(w, DIV, left(w, a), term(w, MUL, right(w, a), b)));
    if (is(w, b, MUL)) emit(r, term(w, DIV, term(w, DIV, a, left(w, b)), right(w, b)));
    if (is(w, a, SUM)) emit(r, term(w, SUM, term(w, DIV, left(w, a), b), right(w, a)));
}

static void rewrite_sum(world *w, uint32_t t, terms *r)
{
    uint32_t a = left(w, t), length = right(w, t);
    if (!is(w, t, SUM)) return;
    if (length == 1) emit(r, a);
    if (is(w, a, SUM)) emit(r, term(w, SUM, left(w, a), length * right(w, a)));
    for (uint32_t i = 2; i < length; i++)
        if (length % i == 0) emit(r, term(w, SUM, term(w, SUM, a, i), length / i));
    if (is(w, a, ADD))
        emit(r, term(w, ADD, term(w, SUM, left(w, a), length), term(w, SUM, right(w, a), length)));
    if (is(w, a, MUL)) emit(r, term(w, MUL, term(w, SUM, left(w, a), length), right(w, a)));
    if (is(w, a, DIV)) emit(r, term(w, DIV, term(w, SUM, left(w, a), length), right(w, a)));
}

static void rewrite_function(world *w, uint32_t t, terms *r)
{
    uint32_t a = left(w, t);
    if (is(w, t, EXP) && is(w, a, ADD))
        emit(r, term(w, MUL, term(w, EXP, left(w, a), 0), term(w, EXP, right(w, a), 0)));
    if (is(w, t, SQRT) && is(w, a, MUL))
        emit(r, term(w, MUL, term(w, SQRT, left(w, a), 0), term(w, SQRT, right(w, a), 0)));
}

/* mul(1, x) = x and (-1)(-1) = 1. */
static void rewrite_number(world *w, uint32_t t, terms *r)
{
    if (!w->numbers) return;
    if (is(w, t, MUL) && is(w, left(w, t), ONE)) emit(r, right(w, t));
    if (is(w, t, MUL) && is(w, left(w, t), MINUS) && is(w, right(w, t), MINUS)) emit(r, term(w, ONE, 0, 0));
    if (is(w, t, ONE)) emit(r, term(w, MUL, term(w, MINUS, 0, 0), term(w, MINUS, 0, 0)));
    emit(r, term(w, MUL, term(w, ONE, 0, 0), t));
}

/* Every term that one axiom makes of t, at any position. */
static void rewrite(world *w, uint32_t t, terms *r)
{
    kind op = w->nodes[t].op;
    uint32_t a = left(w, t), b = right(w, t), first = r->n;
    rewrite_ring(w, t, r);
    rewrite_fraction(w, t, r);
    rewrite_sum(w, t, r);
    rewrite_function(w, t, r);
    rewrite_number(w, t, r);
    if (op < ADD) return;
    first = r->n;
    rewrite(w, a, r);
    for (uint32_t i = first; i < r->n; i++) r->out[i] = term(w, op, r->out[i], b);
    if (op > DIV) return;
    first = r->n;
    rewrite(w, b, r);
    for (uint32_t i = first; i < r->n; i++) r->out[i] = term(w, op, a, r->out[i]);
}

static void reach(world *w, uint32_t t)
{
    if (w->full || w->reached[t] || w->nodes[t].size > w->bound) return;
    if (w->n_closure == MAX_CLOSURE) {
        w->full = true;
        return;
    }
    w->reached[t] = true;
    w->closure[w->n_closure++] = t;
}

static mo_abs_expr build(const world *w, mo_abs *abs, uint32_t t)
{
    const node *n = &w->nodes[t];
    if (n->op == VAR) return mo_abs_leaf(abs, n->a);
    if (n->op == ONE) return mo_abs_number(abs, 1);
    if (n->op == MINUS) return mo_abs_number(abs, -1);
    mo_abs_expr a = build(w, abs, n->a);
    switch (n->op) {
    case ADD: return mo_abs_add(abs, a, build(w, abs, n->b));
    case MUL: return mo_abs_mul(abs, a, build(w, abs, n->b));
    case DIV: return mo_abs_div(abs, a, build(w, abs, n->b));
    case EXP: return mo_abs_exp(abs, a);
    case SQRT: return mo_abs_sqrt(abs, a);
    case SUM: return mo_abs_sum(abs, n->b, a);
    default: return mo_abs_opaque(abs, "silu", 4, a, (mo_abs_expr){0});
    }
}

static uint32_t generate(world *w, mo_rng *rng, uint32_t n)
{
    static const kind binary[] = {ADD, MUL, DIV, MUL}, unary[] = {SUM, EXP, SQRT, SILU, SUM};
    if (n == 1) {
        uint64_t leaf = mo_rng_below(rng, w->numbers ? 4 : 3);
        return leaf == 3 ? term(w, mo_rng_below(rng, 3) ? MINUS : ONE, 0, 0)
                         : term(w, VAR, (uint32_t)leaf % 2, 0);
    }
    if (n == 2 || mo_rng_below(rng, 3) == 0) {
        kind op = unary[mo_rng_below(rng, 5)];
        uint32_t length = op == SUM ? 2 + 2 * (uint32_t)mo_rng_below(rng, 2) : 0;
        return term(w, op, generate(w, rng, n - 1), length);
    }
    uint32_t n_left = 1 + (uint32_t)mo_rng_below(rng, n - 2);
    uint32_t a = generate(w, rng, n_left);
    return term(w, binary[mo_rng_below(rng, 4)], a, generate(w, rng, n - 1 - n_left));
}

static void mark_subterms(const world *w, uint32_t t, bool *part)
{
    if (part[t]) return;
    part[t] = true;
    if (w->nodes[t].op >= ADD) mark_subterms(w, w->nodes[t].a, part);
    if (w->nodes[t].op >= ADD && w->nodes[t].op <= DIV) mark_subterms(w, w->nodes[t].b, part);
}

/* Closes one random target; returns the number of (subterm, target) pairs checked. */
static uint64_t check_target(mo_rng *rng, bool numbers, uint32_t slack)
{
    mo_arena *arena = mo_arena_new();
    world w = {.numbers = numbers};
    w.nodes = MO_NEW_ARRAY(arena, node, MAX_TERMS);
    w.slots = MO_NEW_ARRAY(arena, uint32_t, SLOTS);
    w.closure = MO_NEW_ARRAY(arena, uint32_t, MAX_CLOSURE);
    w.reached = MO_NEW_ARRAY(arena, bool, MAX_TERMS);
    bool *part = MO_NEW_ARRAY(arena, bool, MAX_TERMS);
    terms r = {MO_NEW_ARRAY(arena, uint32_t, 4096), 0};
    uint32_t target = generate(&w, rng, 4 + (uint32_t)mo_rng_below(rng, 3));
    w.bound = w.nodes[target].size + slack;
    reach(&w, target);
    for (uint32_t i = 0; i < w.n_closure && !w.full; i++) {
        r.n = 0;
        rewrite(&w, w.closure[i], &r);
        for (uint32_t j = 0; j < r.n; j++) reach(&w, r.out[j]);
    }
    mo_abs *abs = mo_abs_new(numbers);
    mo_abs_expr t = build(&w, abs, target);
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < w.n_closure; i++) {
        cr_expect_eq(build(&w, abs, w.closure[i]).id, t.id, "equal terms differ in normal form");
        mark_subterms(&w, w.closure[i], part);
    }
    for (uint32_t i = 0; i < w.n; i++) {
        if (!part[i]) continue;
        pairs++;
        cr_expect(mo_abs_subexpr(abs, build(&w, abs, i), t), "an entailed sub-expression is rejected");
    }
    mo_abs_free(abs);
    mo_arena_free(arena);
    return pairs;
}

static void run(bool numbers, int targets, uint32_t slack)
{
    mo_rng rng = mo_rng_seed(7, numbers);
    uint64_t pairs = 0;
    for (int i = 0; i < targets; i++) pairs += check_target(&rng, numbers, slack);
    cr_assert(pairs > (uint64_t)targets * 10, "only %llu pairs", (unsigned long long)pairs);
}

Test(abstract_rewriting, axioms)
{
    run(false, 400, 2);
}
Test(abstract_rewriting, axioms_with_numbers)
{
    run(true, 250, 2);
}
