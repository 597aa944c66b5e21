#include "axioms.h"

#include "base/status.h"

static bool is(const term_table *w, uint32_t t, term_op op)
{
    return w->node[t].op == op;
}
static uint32_t left(const term_table *w, uint32_t t)
{
    return w->node[t].a;
}
static uint32_t right(const term_table *w, uint32_t t)
{
    return w->node[t].b;
}
static uint32_t length_of(const term_table *w, uint32_t t)
{
    return w->node[t].value;
}

static void emit(term_list *r, uint32_t t)
{
    MO_CHECK(r->n < AXIOMS_MAX);
    r->out[r->n++] = t;
}

static void commute_and_associate(term_table *w, uint32_t t, term_list *r)
{
    term_op op = w->node[t].op;
    uint32_t a = left(w, t), b = right(w, t);
    if (op != T_ADD && op != T_MUL) return;
    emit(r, term_binary(w, op, b, a));
    if (is(w, b, op)) emit(r, term_binary(w, op, term_binary(w, op, a, left(w, b)), right(w, b)));
    if (is(w, a, op)) emit(r, term_binary(w, op, left(w, a), term_binary(w, op, right(w, a), b)));
}

static void collect_sum(term_table *w, uint32_t t, term_list *r)
{
    uint32_t a = left(w, t), b = right(w, t);
    if (!is(w, t, T_ADD) || w->node[a].op != w->node[b].op) return;
    uint32_t both = term_binary(w, T_ADD, left(w, a), left(w, b));
    if (is(w, a, T_MUL) && right(w, a) == right(w, b)) emit(r, term_binary(w, T_MUL, both, right(w, a)));
    if (is(w, a, T_DIV) && right(w, a) == right(w, b)) emit(r, term_binary(w, T_DIV, both, right(w, a)));
    if (is(w, a, T_SUM) && length_of(w, a) == length_of(w, b)) emit(r, term_sum(w, length_of(w, a), both));
}

static void rewrite_product(term_table *w, uint32_t t, term_list *r)
{
    uint32_t a = left(w, t), b = right(w, t);
    if (!is(w, t, T_MUL)) return;
    if (is(w, a, T_ADD)) {
        uint32_t first = term_binary(w, T_MUL, left(w, a), b);
        emit(r, term_binary(w, T_ADD, first, term_binary(w, T_MUL, right(w, a), b)));
    }
    if (is(w, b, T_DIV)) emit(r, term_binary(w, T_DIV, term_binary(w, T_MUL, a, left(w, b)), right(w, b)));
    if (is(w, a, T_SUM)) emit(r, term_sum(w, length_of(w, a), term_binary(w, T_MUL, left(w, a), b)));
    if (is(w, a, T_EXP) && is(w, b, T_EXP))
        emit(r, term_unary(w, T_EXP, term_binary(w, T_ADD, left(w, a), left(w, b))));
    if (is(w, a, T_SQRT) && is(w, b, T_SQRT))
        emit(r, term_unary(w, T_SQRT, term_binary(w, T_MUL, left(w, a), left(w, b))));
}

static void rewrite_fraction(term_table *w, uint32_t t, term_list *r)
{
    uint32_t a = left(w, t), b = right(w, t);
    if (!is(w, t, T_DIV)) return;
    if (is(w, a, T_ADD)) {
        uint32_t first = term_binary(w, T_DIV, left(w, a), b);
        emit(r, term_binary(w, T_ADD, first, term_binary(w, T_DIV, right(w, a), b)));
    }
    if (is(w, a, T_MUL)) emit(r, term_binary(w, T_MUL, left(w, a), term_binary(w, T_DIV, right(w, a), b)));
    if (is(w, a, T_DIV)) emit(r, term_binary(w, T_DIV, left(w, a), term_binary(w, T_MUL, right(w, a), b)));
    if (is(w, b, T_MUL)) emit(r, term_binary(w, T_DIV, term_binary(w, T_DIV, a, left(w, b)), right(w, b)));
    if (is(w, a, T_SUM)) emit(r, term_sum(w, length_of(w, a), term_binary(w, T_DIV, left(w, a), b)));
}

static void rewrite_sum(term_table *w, uint32_t t, term_list *r)
{
    if (!is(w, t, T_SUM)) return;
    uint32_t a = left(w, t), length = length_of(w, t);
    if (length == 1) emit(r, a);
    if (is(w, a, T_SUM)) emit(r, term_sum(w, length * length_of(w, a), left(w, a)));
    for (uint32_t i = 2; i < length && i <= 64; i++)
        if (length % i == 0) emit(r, term_sum(w, length / i, term_sum(w, i, a)));
    if (is(w, a, T_ADD)) {
        uint32_t first = term_sum(w, length, left(w, a));
        emit(r, term_binary(w, T_ADD, first, term_sum(w, length, right(w, a))));
    }
    if (is(w, a, T_MUL) || is(w, a, T_DIV))
        emit(r, term_with(w, a, term_sum(w, length, left(w, a)), right(w, a)));
}

static void split_function(term_table *w, uint32_t t, term_list *r)
{
    uint32_t a = left(w, t);
    if ((is(w, t, T_EXP) && is(w, a, T_ADD)) || (is(w, t, T_SQRT) && is(w, a, T_MUL))) {
        uint32_t first = term_with(w, t, left(w, a), 0);
        emit(r, term_binary(w, T_MUL, first, term_with(w, t, right(w, a), 0)));
    }
}

static void rewrite_number(term_table *w, uint32_t t, term_list *r)
{
    uint32_t one = term_make(w, T_ONE, 0, 0, 0), minus = term_make(w, T_MINUS, 0, 0, 0);
    uint32_t a = left(w, t), b = right(w, t);
    if (is(w, t, T_MUL) && a == one) emit(r, b);
    if (is(w, t, T_MUL) && a == minus && b == minus) emit(r, one);
    if (is(w, t, T_DIV) && b == one) emit(r, a);
    if (is(w, t, T_SQRT) && a == one) emit(r, one);
    if (t == one) {
        emit(r, term_binary(w, T_MUL, minus, minus));
        emit(r, term_unary(w, T_SQRT, one));
    }
    emit(r, term_binary(w, T_MUL, one, t));
    emit(r, term_binary(w, T_DIV, t, one));
}

void axioms_at_root(term_table *w, uint32_t t, bool numbers, term_list *r)
{
    commute_and_associate(w, t, r);
    collect_sum(w, t, r);
    rewrite_product(w, t, r);
    rewrite_fraction(w, t, r);
    rewrite_sum(w, t, r);
    split_function(w, t, r);
    if (numbers) rewrite_number(w, t, r);
}

void axioms_anywhere(term_table *w, uint32_t t, bool numbers, term_list *r)
{
    term_node n = w->node[t];
    axioms_at_root(w, t, numbers, r);
    uint32_t first = r->n;
    if (term_arity(n.op) > 0) axioms_anywhere(w, n.a, numbers, r);
    for (uint32_t i = first; i < r->n; i++) r->out[i] = term_with(w, t, r->out[i], n.b);
    first = r->n;
    if (term_arity(n.op) > 1) axioms_anywhere(w, n.b, numbers, r);
    for (uint32_t i = first; i < r->n; i++) r->out[i] = term_with(w, t, n.a, r->out[i]);
}
