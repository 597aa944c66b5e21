/* The axioms themselves as oracle: rewrites small terms by every axiom in both directions up to a size
 * bound. Every term reached must have the target's normal form, and every subterm of every such term must
 * be accepted as a sub-expression: pruning must never reject what the axioms entail. */
#include "axioms.h"

#include "base/arena.h"

#include <criterion/criterion.h>

enum { MAX_TERMS = 1 << 16, MAX_CLOSURE = 4000 };

/* The closure of the term that is being rewritten. */
typedef struct {
    term_table *terms;
    uint32_t *closure, n_closure, bound;
    bool *reached;
    bool numbers, full;
} world;

static void reach(world *w, uint32_t t)
{
    if (w->terms->full || w->full || w->reached[t] || w->terms->node[t].size > w->bound) return;
    if (w->n_closure == MAX_CLOSURE) {
        w->full = true;
        return;
    }
    w->reached[t] = true;
    w->closure[w->n_closure++] = t;
}

static uint32_t generate(world *w, mo_rng *rng, uint32_t n)
{
    static const term_op binary[] = {T_ADD, T_MUL, T_DIV, T_MUL};
    static const term_op unary[] = {T_SUM, T_EXP, T_SQRT, T_CALL, T_SUM};
    if (n == 1) {
        uint64_t leaf = mo_rng_below(rng, w->numbers ? 4 : 3);
        term_op number = leaf == 3 && mo_rng_below(rng, 3) ? T_MINUS : T_ONE;
        return leaf == 3 ? term_make(w->terms, number, 0, 0, 0) : term_leaf(w->terms, (uint32_t)leaf % 2);
    }
    if (n == 2 || mo_rng_below(rng, 3) == 0) {
        term_op op = unary[mo_rng_below(rng, 5)];
        uint32_t length = op == T_SUM ? 2 + 2 * (uint32_t)mo_rng_below(rng, 2) : 0;
        return term_make(w->terms, op, length, generate(w, rng, n - 1), 0);
    }
    uint32_t n_left = 1 + (uint32_t)mo_rng_below(rng, n - 2);
    uint32_t a = generate(w, rng, n_left);
    return term_binary(w->terms, binary[mo_rng_below(rng, 4)], a, generate(w, rng, n - 1 - n_left));
}

static void mark_subterms(const term_table *terms, uint32_t t, bool *part)
{
    const term_node *n = &terms->node[t];
    if (part[t]) return;
    part[t] = true;
    if (term_arity(n->op) > 0) mark_subterms(terms, n->a, part);
    if (term_arity(n->op) > 1) mark_subterms(terms, n->b, part);
}

/* Closes one random target; returns the number of (subterm, target) pairs checked. */
static uint64_t check_target(mo_rng *rng, bool numbers, uint32_t slack)
{
    mo_arena *arena = mo_arena_new();
    world w = {.terms = term_table_new(MAX_TERMS), .numbers = numbers};
    w.closure = MO_NEW_ARRAY(arena, uint32_t, MAX_CLOSURE);
    w.reached = MO_NEW_ARRAY(arena, bool, MAX_TERMS);
    bool *part = MO_NEW_ARRAY(arena, bool, MAX_TERMS);
    term_list *r = MO_NEW(arena, term_list);
    uint32_t target = generate(&w, rng, 4 + (uint32_t)mo_rng_below(rng, 3));
    w.bound = w.terms->node[target].size + slack;
    reach(&w, target);
    for (uint32_t i = 0; i < w.n_closure && !w.full && !w.terms->full; i++) {
        r->n = 0;
        axioms_anywhere(w.terms, w.closure[i], numbers, r);
        for (uint32_t j = 0; j < r->n; j++) reach(&w, r->out[j]);
    }
    mo_abs *abs = mo_abs_new(numbers);
    mo_abs_expr t = term_build(w.terms, abs, target);
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < w.n_closure; i++) {
        cr_expect_eq(term_build(w.terms, abs, w.closure[i]).id, t.id, "equal terms differ in normal form");
        mark_subterms(w.terms, w.closure[i], part);
    }
    for (uint32_t i = 0; i < w.terms->n; i++) {
        if (!part[i]) continue;
        pairs++;
        cr_expect(mo_abs_subexpr(abs, term_build(w.terms, abs, i), t),
                  "an entailed sub-expression is rejected");
    }
    mo_abs_free(abs);
    term_table_free(w.terms);
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
