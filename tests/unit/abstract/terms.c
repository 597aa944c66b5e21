#include "terms.h"

#include "base/hash.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

term_table *term_table_new(uint32_t limit)
{
    term_table *table = calloc(1, sizeof *table);
    MO_CHECK(table);
    table->limit = limit;
    table->mask = 255;
    while (table->mask < limit * 2) table->mask = table->mask * 2 + 1;
    table->node = calloc(limit, sizeof *table->node);
    table->slots = calloc((size_t)table->mask + 1, sizeof *table->slots);
    MO_CHECK(table->node && table->slots);
    return table;
}

void term_table_free(term_table *table)
{
    if (!table) return;
    free(table->node);
    free(table->slots);
    free(table);
}

void term_table_clear(term_table *table)
{
    memset(table->slots, 0, sizeof *table->slots * ((size_t)table->mask + 1));
    table->n = 0;
    table->full = false;
}

int term_arity(term_op op)
{
    return op < T_ADD ? 0 : op <= T_CALL2 ? 2 : 1;
}

uint32_t term_make(term_table *table, term_op op, uint32_t value, uint32_t a, uint32_t b)
{
    uint32_t key[4] = {op, value, a, b};
    uint32_t at = (uint32_t)mo_hash64(key, sizeof key, 1) & table->mask;
    for (; table->slots[at]; at = (at + 1) & table->mask) {
        const term_node *n = &table->node[table->slots[at] - 1];
        if (n->op == op && n->value == value && n->a == a && n->b == b) return table->slots[at] - 1;
    }
    if (table->n == table->limit) table->full = true;
    if (table->full) return 0;
    term_node *made = &table->node[table->n];
    *made = (term_node){op, value, a, b, 1};
    if (term_arity(op) > 0) made->size += table->node[a].size;
    if (term_arity(op) > 1) made->size += table->node[b].size;
    table->slots[at] = ++table->n;
    return table->n - 1;
}

uint32_t term_with(term_table *table, uint32_t t, uint32_t a, uint32_t b)
{
    return term_make(table, table->node[t].op, table->node[t].value, a, b);
}

uint32_t term_at(const term_table *table, uint32_t t, uint32_t position)
{
    while (position > 0) {
        const term_node *n = &table->node[t];
        uint32_t in_a = table->node[n->a].size;
        position--;
        t = position < in_a ? n->a : n->b;
        if (position >= in_a) position -= in_a;
    }
    return t;
}

uint32_t term_replace(term_table *table, uint32_t t, uint32_t position, uint32_t by)
{
    if (position == 0) return by;
    term_node n = table->node[t];
    uint32_t in_a = table->node[n.a].size;
    if (position - 1 < in_a) return term_with(table, t, term_replace(table, n.a, position - 1, by), n.b);
    return term_with(table, t, n.a, term_replace(table, n.b, position - 1 - in_a, by));
}

typedef struct {
    uint64_t own, inner, radicand, denominator;
} extent;

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* No count is exact here but `own`; the others are bounds for one monomial's merged parts. */
static extent extent_of(const term_table *table, uint32_t t)
{
    const term_node *n = &table->node[t];
    extent a = {1, 1, 1, 1}, b = {1, 1, 1, 1}, r;
    if (term_arity(n->op) > 0) a = extent_of(table, n->a);
    if (term_arity(n->op) > 1) b = extent_of(table, n->b);
    r = (extent){1, most(a.inner, b.inner), most(a.radicand, b.radicand), most(a.denominator, b.denominator)};
    switch (n->op) {
    case T_ADD: r.own = a.own + b.own; break;
    case T_MUL:
        r.own = a.own * b.own;
        r.radicand = a.radicand * b.radicand;
        r.denominator = a.denominator * b.denominator;
        break;
    case T_DIV:
        r.own = a.own;
        r.denominator = a.denominator * b.own;
        break;
    case T_SQRT: r.radicand = a.own; break;
    case T_SUM: r.own = a.own; break;
    default: break;
    }
    if (r.own > 1u << 20) r.own = 1u << 20;
    if (r.radicand > 1u << 20) r.radicand = 1u << 20;
    if (r.denominator > 1u << 20) r.denominator = 1u << 20;
    r.inner = most(r.inner, most(r.own, most(r.radicand, r.denominator)));
    return r;
}

uint64_t term_monomials(const term_table *table, uint32_t t)
{
    return extent_of(table, t).inner;
}

mo_abs_expr term_build(const term_table *table, mo_abs *abs, uint32_t t)
{
    const term_node *n = &table->node[t];
    mo_abs_expr a = {0}, b = {0};
    if (term_arity(n->op) > 0) a = term_build(table, abs, n->a);
    if (term_arity(n->op) > 1) b = term_build(table, abs, n->b);
    switch (n->op) {
    case T_LEAF: return mo_abs_leaf(abs, n->value);
    case T_ONE: return mo_abs_number(abs, 1);
    case T_MINUS: return mo_abs_number(abs, -1);
    case T_ADD: return mo_abs_add(abs, a, b);
    case T_MUL: return mo_abs_mul(abs, a, b);
    case T_DIV: return mo_abs_div(abs, a, b);
    case T_EXP: return mo_abs_exp(abs, a);
    case T_SQRT: return mo_abs_sqrt(abs, a);
    case T_SUM: return mo_abs_sum(abs, n->value, a);
    case T_CALL:
    case T_CALL2: break;
    }
    return mo_abs_opaque(abs, &n->value, sizeof n->value, a, b);
}

void term_print(mo_str *out, const term_table *table, uint32_t t)
{
    static const char *const names[] = {"",     "",    "",     "add",  "mul", "div",
                                        "call", "exp", "sqrt", "call", "sum"};
    const term_node *n = &table->node[t];
    if (n->op == T_LEAF) mo_str_printf(out, "v%u", n->value);
    if (n->op == T_ONE) mo_str_add(out, "1");
    if (n->op == T_MINUS) mo_str_add(out, "-1");
    if (term_arity(n->op) == 0) return;
    mo_str_printf(out, "%s(", names[n->op]);
    if (n->op == T_SUM || n->op == T_CALL || n->op == T_CALL2) mo_str_printf(out, "%u,", n->value);
    term_print(out, table, n->a);
    if (term_arity(n->op) > 1) {
        mo_str_add(out, ",");
        term_print(out, table, n->b);
    }
    mo_str_add(out, ")");
}
