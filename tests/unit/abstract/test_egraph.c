/* The decision procedure against a saturated e-graph over the axioms. The e-graph's classes are exactly the
 * sub-expressions of the target, so for every target
 *  - each class must have one normal form, and no two classes the same;
 *  - each class must be accepted (nothing entailed is pruned);
 *  - each operator on classes must be accepted exactly if the e-graph has that term. Whatever was accepted
 *    wrongly would have a smallest subterm without a class, which is such an operator on classes. */
#include "egraph.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { MAX_NODES = 20000, MAX_TERMS = 1 << 16, VARIABLES = 3, FUNCTIONS = 2, MAX_CLASSES = 400 };

static const uint32_t lengths[] = {2, 3, 4, 6};
enum { N_LENGTHS = sizeof lengths / sizeof lengths[0] };

typedef struct {
    uint32_t variables, n_binary, n_unary;
    term_op binary[5], unary[5];
} profile;

static const profile axioms[] = {
    {3, 4, 4, {T_ADD, T_MUL, T_DIV, T_CALL2}, {T_EXP, T_SQRT, T_CALL, T_SUM}},
    {2, 3, 2, {T_ADD, T_MUL, T_DIV}, {T_SUM, T_SUM}},
    {2, 3, 3, {T_MUL, T_ADD, T_DIV}, {T_SQRT, T_EXP, T_SUM}},
    {1, 2, 2, {T_ADD, T_MUL}, {T_SUM, T_SQRT}},
};
static const profile signs[] = {
    {2, 3, 2, {T_ADD, T_MUL, T_ADD}, {T_SUM, T_CALL}},
    {2, 3, 2, {T_ADD, T_MUL, T_CALL2}, {T_EXP, T_SUM}},
};
static const profile signed_fractions[] = {
    {2, 3, 3, {T_ADD, T_MUL, T_DIV}, {T_SQRT, T_SUM, T_CALL}},
    {2, 2, 1, {T_DIV, T_MUL}, {T_SQRT}},
};
static const profile units[] = {
    {2, 4, 4, {T_ADD, T_MUL, T_DIV, T_CALL2}, {T_SUM, T_SQRT, T_EXP, T_CALL}},
    {2, 2, 2, {T_DIV, T_MUL}, {T_SQRT, T_SUM}},
};

typedef struct {
    egraph_theory theory;
    const profile *profiles;
    uint32_t n_profiles, least, most; /* nodes of a target */
    uint32_t slack;                   /* 0: the e-graph is not bounded */
    term_table *table;
    mo_rng rng;
    uint64_t targets, skipped, classes, extensions, accepted, wrong;
} survey;

static uint32_t draw(survey *s, uint32_t n)
{
    return (uint32_t)mo_rng_below(&s->rng, n);
}

static uint32_t generate(survey *s, const profile *p, uint32_t n)
{
    if (n == 1) {
        bool number = s->theory.unit && draw(s, 3) == 0;
        bool minus = s->theory.signs && draw(s, 3) > 0;
        if (number) return term_make(s->table, minus ? T_MINUS : T_ONE, 0, 0, 0);
        return term_leaf(s->table, draw(s, p->variables));
    }
    if (n == 2 || draw(s, 3) == 0) {
        term_op op = p->unary[draw(s, p->n_unary)];
        uint32_t value = op == T_SUM ? lengths[draw(s, N_LENGTHS)] : op == T_CALL ? draw(s, FUNCTIONS) : 0;
        return term_make(s->table, op, value, generate(s, p, n - 1), 0);
    }
    uint32_t n_left = 1 + draw(s, n - 2), a = generate(s, p, n_left);
    return term_binary(s->table, p->binary[draw(s, p->n_binary)], a, generate(s, p, n - 1 - n_left));
}

/* One saturated target: its classes, and their expressions and smallest terms. */
typedef struct {
    survey *s;
    egraph *g;
    mo_abs *abs;
    mo_abs_expr target;
    uint32_t *class, n;
    mo_abs_expr *expr; /* by class */
} graph;

static void complain(graph *x, term_op op, uint32_t value, uint32_t a, uint32_t b, const char *what)
{
    if (x->s->wrong++ >= 10) return;
    term_table *table = x->s->table;
    uint32_t ta = term_arity(op) > 0 ? egraph_smallest(x->g, table, a) : 0;
    uint32_t tb = term_arity(op) > 1 ? egraph_smallest(x->g, table, b) : 0;
    mo_str text = {0};
    term_print(&text, table, term_make(table, op, value, ta, tb));
    mo_str_add(&text, "  in  ");
    term_print(&text, table, 0);
    cr_log_error("%s: %s", what, mo_str_text(&text));
    mo_str_free(&text);
}

static mo_abs_expr apply(const graph *x, term_op op, uint32_t value, uint32_t a, uint32_t b)
{
    mo_abs_expr y = term_arity(op) > 0 ? x->expr[a] : (mo_abs_expr){0};
    mo_abs_expr z = term_arity(op) > 1 ? x->expr[b] : (mo_abs_expr){0};
    switch (op) {
    case T_LEAF: return mo_abs_leaf(x->abs, value);
    case T_ONE: return mo_abs_number(x->abs, 1);
    case T_MINUS: return mo_abs_number(x->abs, -1);
    case T_ADD: return mo_abs_add(x->abs, y, z);
    case T_MUL: return mo_abs_mul(x->abs, y, z);
    case T_DIV: return mo_abs_div(x->abs, y, z);
    case T_EXP: return mo_abs_exp(x->abs, y);
    case T_SQRT: return mo_abs_sqrt(x->abs, y);
    case T_SUM: return mo_abs_sum(x->abs, value, y);
    case T_CALL:
    case T_CALL2: break;
    }
    return mo_abs_opaque(x->abs, &value, sizeof value, y, z);
}

static int by_id(const void *a, const void *b)
{
    uint32_t x = ((const mo_abs_expr *)a)->id, y = ((const mo_abs_expr *)b)->id;
    return (x > y) - (x < y);
}

/* Equality is exact both ways, and everything that is entailed is accepted. */
static void check_classes(graph *x)
{
    mo_abs_expr *ids = calloc(x->n + 1, sizeof *ids);
    cr_assert(ids);
    for (uint32_t i = 0; i < x->n; i++) {
        uint32_t c = x->class[i];
        const egraph_node *top = &x->g->node[x->g->best[c]];
        x->expr[c] = term_build(x->s->table, x->abs, egraph_smallest(x->g, x->s->table, c));
        ids[i] = x->expr[c];
        if (!mo_abs_subexpr(x->abs, x->expr[c], x->target))
            complain(x, top->op, top->value, top->a, top->b, "entailed, but rejected");
    }
    for (uint32_t i = 0; i < x->g->n; i++) {
        const egraph_node *n = &x->g->node[i];
        if (apply(x, n->op, n->value, n->a, n->b).id != x->expr[n->class].id)
            complain(x, n->op, n->value, n->a, n->b, "another normal form than its class");
    }
    qsort(ids, x->n, sizeof *ids, by_id);
    for (uint32_t i = 1; i < x->n; i++)
        if (ids[i].id == ids[i - 1].id && !x->g->cut) x->s->wrong++;
    free(ids);
    x->s->classes += x->n;
}

/* Where the e-graph is bounded only terms that are clearly smaller than its bound are asked for. */
static void check_extension(graph *x, term_op op, uint32_t value, uint32_t a, uint32_t b)
{
    uint32_t size = 1;
    if (term_arity(op) > 0) size += x->g->size[a];
    if (term_arity(op) > 1) size += x->g->size[b];
    if (x->s->slack && size + x->s->slack > x->g->bound) return;
    bool expected = egraph_find(x->g, op, value, a, b) != EGRAPH_NONE;
    bool answer = mo_abs_subexpr(x->abs, apply(x, op, value, a, b), x->target);
    x->s->extensions++;
    x->s->accepted += answer;
    if (answer != expected)
        complain(x, op, value, a, b, answer ? "accepted, not entailed" : "rejected, entailed");
}

/* Signs alone are a theory of terms without quotients and roots. */
static bool has_fractions(const graph *x)
{
    return x->s->theory.fractions || !x->s->theory.unit;
}

static void check_unary(graph *x, uint32_t c)
{
    check_extension(x, T_EXP, 0, c, 0);
    if (has_fractions(x)) check_extension(x, T_SQRT, 0, c, 0);
    for (uint32_t i = 0; i < N_LENGTHS; i++) check_extension(x, T_SUM, lengths[i], c, 0);
    for (uint32_t i = 0; i < FUNCTIONS; i++) check_extension(x, T_CALL, i, c, 0);
}

static void check_extensions(graph *x)
{
    static const term_op binary[] = {T_ADD, T_MUL, T_CALL2, T_DIV};
    uint32_t n_binary = has_fractions(x) ? 4 : 3;
    for (uint32_t v = 0; v < VARIABLES; v++) check_extension(x, T_LEAF, v, 0, 0);
    if (x->s->theory.unit) check_extension(x, T_ONE, 0, 0, 0);
    if (x->s->theory.signs) check_extension(x, T_MINUS, 0, 0, 0);
    for (uint32_t i = 0; i < x->n; i++) {
        check_unary(x, x->class[i]);
        for (uint32_t j = 0; j < x->n; j++)
            for (uint32_t k = 0; k < n_binary; k++)
                check_extension(x, binary[k], 0, x->class[i], x -> class[j]);
    }
}

static void check_target(survey *s, uint32_t size)
{
    term_table_clear(s->table);
    uint32_t t = generate(s, &s->profiles[draw(s, s->n_profiles)], size);
    egraph *g = egraph_new(s->theory, s->slack ? s->table->node[t].size + s->slack : 0, MAX_NODES);
    egraph_add(g, s->table, t);
    if (egraph_saturate(g)) {
        graph x = {.s = s, .g = g, .abs = mo_abs_new(s->theory.unit)};
        x.class = calloc(g->n_classes, sizeof *x.class);
        x.expr = calloc(g->n_classes, sizeof *x.expr);
        cr_assert(x.class && x.expr);
        for (uint32_t c = 0; c < g->n_classes; c++)
            if (egraph_is_class(g, c)) x.class[x.n++] = c;
        x.target = term_build(s->table, x.abs, t);
        check_classes(&x);
        if (x.n <= MAX_CLASSES) check_extensions(&x);
        mo_abs_free(x.abs);
        free(x.class);
        free(x.expr);
        s->targets++;
    } else {
        s->skipped++;
    }
    egraph_free(g);
}

static void run(survey s, uint64_t stream, int targets)
{
    s.table = term_table_new(MAX_TERMS);
    s.rng = mo_rng_seed(11, stream);
    for (int i = 0; i < targets; i++) check_target(&s, s.least + draw(&s, s.most - s.least + 1));
    cr_log_info("%llu targets (%llu skipped), %llu classes, %llu extensions, %llu accepted",
                (unsigned long long)s.targets, (unsigned long long)s.skipped, (unsigned long long)s.classes,
                (unsigned long long)s.extensions, (unsigned long long)s.accepted);
    cr_expect_eq(s.wrong, 0, "%llu answers are wrong", (unsigned long long)s.wrong);
    cr_expect(s.skipped * 20 <= s.targets, "too many targets were skipped");
    term_table_free(s.table);
}

Test(abstract_egraph, axioms)
{
    run((survey){.profiles = axioms, .n_profiles = 4, .least = 3, .most = 10}, 1, 1000);
}
Test(abstract_egraph, unit)
{
    egraph_theory theory = {.unit = true, .fractions = true};
    run((survey){theory, units, 2, .least = 3, .most = 10}, 2, 1000);
}
Test(abstract_egraph, signs)
{
    egraph_theory theory = {.unit = true, .signs = true};
    run((survey){theory, signs, 2, .least = 3, .most = 8}, 3, 500);
}
Test(abstract_egraph, signs_and_fractions_up_to_a_bound)
{
    egraph_theory theory = {.unit = true, .signs = true, .fractions = true};
    run((survey){theory, signed_fractions, 2, .least = 2, .most = 4, .slack = 2}, 4, 150);
}
