/* Random sub-expression questions against the stored answers of an independent implementation
 * (generate_verdicts.py, which draws the same questions). */
#include "reference.h"

#include <criterion/criterion.h>

#ifndef VERDICTS_FILE
#define VERDICTS_FILE "verdicts.inc"
#endif
#include VERDICTS_FILE

enum { MAX_NODES = 64 };

typedef enum { LEAF, ADD, MUL, DIV, EXP, SQRT, SILU, SUM } kind;

/* A term in preorder: a node is followed by its children. */
typedef struct {
    struct {
        kind op;
        uint32_t value; /* variable, or length of the sum */
    } node[MAX_NODES];
    int n;
} term;

typedef struct {
    uint32_t variables, n_binary, n_unary;
    kind binary[4], unary[4];
} profile;

static const profile profiles[] = {
    {3, 3, 4, {ADD, MUL, DIV}, {EXP, SQRT, SILU, SUM}},
    {1, 2, 1, {ADD, MUL}, {SUM}},
    {2, 3, 1, {ADD, MUL, MUL}, {SUM}},
    {2, 4, 1, {DIV, ADD, MUL, DIV}, {SUM}},
    {2, 3, 2, {MUL, ADD, DIV}, {SQRT, SUM}},
    {2, 3, 2, {ADD, DIV, MUL}, {EXP, SUM}},
    {3, 2, 2, {DIV, MUL}, {SUM, SQRT}},
};
enum { N_PROFILES = sizeof profiles / sizeof profiles[0] };

static uint32_t draw(mo_rng *rng, uint32_t n)
{
    return (uint32_t)mo_rng_below(rng, n);
}

static void put(term *t, kind op, uint32_t value)
{
    t->node[t->n].op = op;
    t->node[t->n++].value = value;
}

static void put_unary(term *t, mo_rng *rng, kind op)
{
    static const uint32_t lengths[] = {2, 3, 4, 6};
    put(t, op, op == SUM ? lengths[draw(rng, 4)] : 0);
}

static void generate(mo_rng *rng, uint32_t n, const profile *p, term *t)
{
    if (n == 1) {
        put(t, LEAF, draw(rng, p->variables));
        return;
    }
    uint32_t which = draw(rng, p->n_binary + p->n_unary);
    if (n == 2 || which >= p->n_binary) {
        put_unary(t, rng, p->unary[which % p->n_unary]);
        generate(rng, n - 1, p, t);
        return;
    }
    uint32_t left = 1 + draw(rng, n - 2);
    put(t, p->binary[which], 0);
    generate(rng, left, p, t);
    generate(rng, n - 1 - left, p, t);
}

static int arity(kind op)
{
    return op == LEAF ? 0 : op <= DIV ? 2 : 1;
}

static int end_of(const term *t, int at)
{
    int open = 1;
    for (; open; at++) open += arity(t->node[at].op) - 1;
    return at;
}

static void append(term *t, const term *from, int begin, int end)
{
    for (int i = begin; i < end; i++) t->node[t->n++] = from->node[i];
}

static void pick(mo_rng *rng, const term *from, term *t)
{
    int at = (int)draw(rng, (uint32_t)from->n);
    append(t, from, at, end_of(from, at));
}

static void ask(mo_rng *rng, const term *target, const profile *p, term *x)
{
    term a = {.n = 0}, b = {.n = 0};
    uint32_t form = draw(rng, 7);
    x->n = 0;
    if (form == 0) {
        generate(rng, 1 + draw(rng, 7), p, x);
        return;
    }
    pick(rng, target, &a);
    if (form == 1) {
        *x = a;
    } else if (form <= 4) {
        pick(rng, target, &b);
        if (form == 4) {
            b.n = 0;
            generate(rng, 1 + draw(rng, 2), p, &b);
        }
        put(x, p->binary[draw(rng, p->n_binary)], 0);
        append(x, &a, 0, a.n);
        append(x, &b, 0, b.n);
    } else if (form == 5) {
        put_unary(x, rng, p->unary[draw(rng, p->n_unary)]);
        append(x, &a, 0, a.n);
    } else {
        int where = (int)draw(rng, (uint32_t)a.n);
        append(x, &a, 0, where);
        pick(rng, target, x);
        append(x, &a, end_of(&a, where), a.n);
    }
}

static mo_abs_expr build(mo_abs *abs, const term *t, int *at)
{
    kind op = t->node[*at].op;
    uint32_t value = t->node[(*at)++].value;
    if (op == LEAF) return mo_abs_leaf(abs, value);
    mo_abs_expr a = build(abs, t, at), b = {0};
    if (arity(op) == 2) b = build(abs, t, at);
    switch (op) {
    case ADD: return mo_abs_add(abs, a, b);
    case MUL: return mo_abs_mul(abs, a, b);
    case DIV: return mo_abs_div(abs, a, b);
    case EXP: return mo_abs_exp(abs, a);
    case SQRT: return mo_abs_sqrt(abs, a);
    case SUM: return mo_abs_sum(abs, value, a);
    case LEAF:
    case SILU: break;
    }
    return mo_abs_opaque(abs, "silu", 4, a, (mo_abs_expr){0});
}

static uint32_t intern(term_table *table, const term *t, int *at)
{
    static const term_op ops[] = {T_LEAF, T_ADD, T_MUL, T_DIV, T_EXP, T_SQRT, T_CALL, T_SUM};
    kind op = t->node[*at].op;
    uint32_t value = t->node[(*at)++].value;
    uint32_t a = arity(op) > 0 ? intern(table, t, at) : 0;
    uint32_t b = arity(op) > 1 ? intern(table, t, at) : 0;
    return term_make(table, ops[op], value, a, b);
}

static void print(mo_str *out, const term *t)
{
    static const char *const names[] = {"", "add", "mul", "div", "exp", "sqrt", "silu", "sum"};
    for (int i = 0; i < t->n; i++) mo_str_printf(out, " %s%u", names[t->node[i].op], t->node[i].value);
}

/* With `own_targets` expressions that cannot be part of the target are never built, as in the search. */
static void run(bool own_targets)
{
    mo_rng rng = mo_rng_seed(0x5eed, 0);
    mo_abs *abs = NULL;
    uint64_t bit = 0, wrong = 0, yes = 0;
    for (int i = 0; i < VERDICT_TARGETS; i++) {
        if (!abs || own_targets || i % 64 == 0) {
            mo_abs_free(abs);
            abs = mo_abs_new(false);
        }
        const profile *p = &profiles[draw(&rng, N_PROFILES)];
        term target = {.n = 0}, x;
        int at = 0;
        generate(&rng, 4 + draw(&rng, 7), p, &target);
        mo_abs_expr t = build(abs, &target, &at);
        if (own_targets) mo_abs_set_targets(abs, &t, 1);
        for (int j = 0; j < VERDICT_PAIRS; j++, bit++) {
            ask(&rng, &target, p, &x);
            at = 0;
            bool expected = verdicts[bit / 64] >> bit % 64 & 1;
            yes += expected;
            if (mo_abs_subexpr(abs, build(abs, &x, &at), t) == expected) continue;
            mo_str text = {0};
            print(&text, &x);
            mo_str_add(&text, "  in ");
            print(&text, &target);
            cr_expect(wrong++ >= 10, "expected %d: %s", expected, mo_str_text(&text));
            mo_str_free(&text);
        }
    }
    mo_abs_free(abs);
    cr_assert_eq(wrong, 0, "%llu of %llu answers differ", (unsigned long long)wrong, (unsigned long long)bit);
    cr_assert(yes > bit / 10 && yes < bit * 9 / 10, "the questions are lopsided");
}

Test(abstract_verdicts, agree_with_the_stored_answers)
{
    run(false);
}
Test(abstract_verdicts, setting_the_target_changes_nothing)
{
    run(true);
}

/* So test_reference.c compares the first procedure with a procedure that itself is tied to the stored
 * answers. */
Test(abstract_verdicts, the_reference_agrees_with_the_stored_answers)
{
    mo_rng rng = mo_rng_seed(0x5eed, 0);
    term_table *table = term_table_new(1 << 14);
    ref_context c = {.arena = mo_arena_new()};
    uint64_t bit = 0, wrong = 0;
    mo_arena_mark start = mo_arena_get_mark(c.arena);
    for (int i = 0; i < VERDICT_TARGETS; i++) {
        const profile *p = &profiles[draw(&rng, N_PROFILES)];
        term target = {.n = 0}, x;
        int at = 0;
        term_table_clear(table);
        mo_arena_reset(c.arena, start);
        generate(&rng, 4 + draw(&rng, 7), p, &target);
        ref_target t = ref_target_of(&c, ref_normal(&c, table, intern(table, &target, &at)));
        mo_arena_mark mark = mo_arena_get_mark(c.arena);
        for (int j = 0; j < VERDICT_PAIRS; j++, bit++) {
            ask(&rng, &target, p, &x);
            at = 0;
            const ref_poly *nx = ref_normal(&c, table, intern(table, &x, &at));
            wrong += ref_subexpr(&c, nx, &t) != (verdicts[bit / 64] >> bit % 64 & 1);
            mo_arena_reset(c.arena, mark);
        }
    }
    mo_arena_free(c.arena);
    term_table_free(table);
    cr_assert_eq(wrong, 0, "%llu of %llu answers differ", (unsigned long long)wrong, (unsigned long long)bit);
}
