#include "egraph.h"

#include "base/hash.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* Classes that were united with others count too. */
enum { CLASSES_PER_NODE = 8 };

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    MO_CHECK(memory);
    return memory;
}

static uint32_t root(const egraph *g, uint32_t class)
{
    while (g->parent[class] != class) class = g->parent[class];
    return class;
}

static uint32_t *slot(const egraph *g, term_op op, uint32_t value, uint32_t a, uint32_t b)
{
    uint32_t key[4] = {op, value, a, b};
    uint32_t at = (uint32_t)mo_hash64(key, sizeof key, 2) & g->mask;
    for (; g->slots[at]; at = (at + 1) & g->mask) {
        const egraph_node *n = &g->node[g->slots[at] - 1];
        if (n->op == op && n->value == value && n->a == a && n->b == b) break;
    }
    return &g->slots[at];
}

static void unite(egraph *g, uint32_t a, uint32_t b)
{
    if (a == EGRAPH_NONE || b == EGRAPH_NONE) return;
    a = root(g, a);
    b = root(g, b);
    if (a == b) return;
    g->unions++;
    g->parent[a > b ? a : b] = a > b ? b : a;
}

/* Makes the node a member of `class`. */
static void put(egraph *g, uint32_t class, term_op op, uint32_t value, uint32_t a, uint32_t b)
{
    if (a == EGRAPH_NONE || b == EGRAPH_NONE) return;
    if (term_arity(op) > 0) a = root(g, a);
    if (term_arity(op) > 1) b = root(g, b);
    uint32_t *at = slot(g, op, value, a, b);
    if (*at) {
        unite(g, class, g->node[*at - 1].class);
        return;
    }
    if (g->n == g->limit) g->full = true;
    if (g->full) return;
    g->node[g->n] = (egraph_node){op, value, a, b, root(g, class)};
    *at = ++g->n;
}

static uint32_t find_or_make(egraph *g, term_op op, uint32_t value, uint32_t a, uint32_t b)
{
    uint32_t size = 1;
    if (a == EGRAPH_NONE || b == EGRAPH_NONE) return EGRAPH_NONE;
    if (term_arity(op) > 0) size += g->size[a = root(g, a)];
    if (term_arity(op) > 1) size += g->size[b = root(g, b)];
    const uint32_t *at = slot(g, op, value, a, b);
    if (*at) return root(g, g->node[*at - 1].class);
    if (g->bound && size > g->bound) g->cut = true;
    if ((g->bound && size > g->bound) || g->full) return EGRAPH_NONE;
    if (g->n_classes == g->limit * CLASSES_PER_NODE) {
        g->full = true;
        return EGRAPH_NONE;
    }
    uint32_t class = g->n_classes++;
    g->parent[class] = class;
    g->size[class] = size;
    put(g, class, op, value, a, b);
    return g->full ? EGRAPH_NONE : class;
}

static uint32_t binary(egraph *g, term_op op, uint32_t a, uint32_t b)
{
    return find_or_make(g, op, 0, a, b);
}

egraph *egraph_new(egraph_theory theory, uint32_t bound, uint32_t limit)
{
    egraph *g = zeroed(1, sizeof *g);
    g->theory = theory;
    g->bound = bound;
    g->limit = limit;
    for (g->mask = 1023; g->mask < limit * 2;) g->mask = g->mask * 2 + 1;
    g->node = zeroed(limit, sizeof *g->node);
    g->next = zeroed(limit, sizeof *g->next);
    g->slots = zeroed((size_t)g->mask + 1, sizeof *g->slots);
    uint32_t classes = limit * CLASSES_PER_NODE;
    g->parent = zeroed(classes, sizeof *g->parent);
    g->size = zeroed(classes, sizeof *g->size);
    g->best = zeroed(classes, sizeof *g->best);
    g->first = zeroed(classes, sizeof *g->first);
    g->one = g->minus = EGRAPH_NONE;
    if (theory.unit) g->one = find_or_make(g, T_ONE, 0, 0, 0);
    if (theory.signs) g->minus = find_or_make(g, T_MINUS, 0, 0, 0);
    return g;
}

void egraph_free(egraph *g)
{
    void *owned[] = {g->node, g->next, g->slots, g->parent, g->size, g->best, g->first, g};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++) free(owned[i]);
}

uint32_t egraph_add(egraph *g, const term_table *table, uint32_t t)
{
    const term_node *n = &table->node[t];
    uint32_t a = term_arity(n->op) > 0 ? egraph_add(g, table, n->a) : 0;
    uint32_t b = term_arity(n->op) > 1 ? egraph_add(g, table, n->b) : 0;
    return find_or_make(g, n->op, n->value, a, b);
}

/* ---- keeping it congruent ----------------------------------------------------------------------------- */
/* Writes every node over classes that stand for themselves; nodes that become equal are one, in one class. */
static bool rehash(egraph *g)
{
    uint32_t kept = 0, unions = g->unions;
    memset(g->slots, 0, sizeof *g->slots * ((size_t)g->mask + 1));
    for (uint32_t i = 0; i < g->n; i++) {
        egraph_node n = g->node[i];
        if (term_arity(n.op) > 0) n.a = root(g, n.a);
        if (term_arity(n.op) > 1) n.b = root(g, n.b);
        n.class = root(g, n.class);
        uint32_t *at = slot(g, n.op, n.value, n.a, n.b);
        if (*at) {
            unite(g, n.class, g->node[*at - 1].class);
        } else {
            g->node[kept] = n;
            *at = ++kept;
        }
    }
    g->n = kept;
    return g->unions != unions;
}

static bool shrink_sizes(egraph *g)
{
    bool changed = false;
    for (uint32_t i = 0; i < g->n; i++) {
        const egraph_node *n = &g->node[i];
        uint64_t size = 1;
        if (term_arity(n->op) > 0) size += g->size[n->a];
        if (term_arity(n->op) > 1) size += g->size[n->b];
        if (size >= g->size[n->class]) continue;
        g->size[n->class] = (uint32_t)size;
        g->best[n->class] = i;
        changed = true;
    }
    return changed;
}

static void rebuild(egraph *g)
{
    while (rehash(g)) {
    }
    for (uint32_t c = 0; c < g->n_classes; c++) {
        g->first[c] = 0;
        g->size[c] = UINT32_MAX / 4;
    }
    for (uint32_t i = 0; i < g->n; i++) {
        g->next[i] = g->first[g->node[i].class];
        g->first[g->node[i].class] = i + 1;
    }
    while (shrink_sizes(g)) {
    }
}

/* ---- the axioms ------------------------------------------------------------------------------------------
 */
/* Every member of class c with this operator; `i` is its index + 1. */
#define FOR_MEMBERS(g, i, c, operator)                        \
    for (uint32_t i = (g)->first[c]; i; i = (g)->next[i - 1]) \
        if ((g)->node[i - 1].op == (operator))

static void commute_and_associate(egraph *g, egraph_node n)
{
    put(g, n.class, n.op, 0, n.b, n.a);
    FOR_MEMBERS(g, i, n.b, n.op)
    {
        egraph_node m = g->node[i - 1];
        put(g, n.class, n.op, 0, binary(g, n.op, n.a, m.a), m.b);
    }
    FOR_MEMBERS(g, i, n.a, n.op)
    {
        egraph_node m = g->node[i - 1];
        put(g, n.class, n.op, 0, m.a, binary(g, n.op, m.b, n.b));
    }
}

/* az + bz = (a + b)z and the same for quotients and sums. */
static void collect(egraph *g, egraph_node n)
{
    static const term_op outer[] = {T_MUL, T_DIV, T_SUM};
    for (int k = 0; k < 3; k++) {
        FOR_MEMBERS(g, i, n.a, outer[k])
        {
            FOR_MEMBERS(g, j, n.b, outer[k])
            {
                egraph_node x = g->node[i - 1], y = g->node[j - 1];
                if (x.value == y.value && x.b == y.b)
                    put(g, n.class, x.op, x.value, binary(g, T_ADD, x.a, y.a), x.b);
            }
        }
    }
}

/* f(a + b) = f(a) + f(b) for a product, a quotient or a sum f of its left operand. */
static void distribute(egraph *g, egraph_node n)
{
    FOR_MEMBERS(g, i, n.a, T_ADD)
    {
        egraph_node m = g->node[i - 1];
        uint32_t x = find_or_make(g, n.op, n.value, m.a, n.b);
        put(g, n.class, T_ADD, 0, x, find_or_make(g, n.op, n.value, m.b, n.b));
    }
}

/* f(a) f(b) = f(a op b). */
static void merge(egraph *g, egraph_node n, term_op f, term_op op)
{
    FOR_MEMBERS(g, i, n.a, f)
    {
        FOR_MEMBERS(g, j, n.b, f)
        {
            uint32_t x = g->node[i - 1].a, y = g->node[j - 1].a;
            put(g, n.class, f, 0, binary(g, op, x, y), 0);
        }
    }
}

static void split(egraph *g, egraph_node n, term_op op)
{
    FOR_MEMBERS(g, i, n.a, op)
    {
        egraph_node m = g->node[i - 1];
        uint32_t x = find_or_make(g, n.op, 0, m.a, 0);
        put(g, n.class, T_MUL, 0, x, find_or_make(g, n.op, 0, m.b, 0));
    }
}

static void apply_product(egraph *g, egraph_node n)
{
    FOR_MEMBERS(g, i, n.b, T_DIV)
    {
        egraph_node m = g->node[i - 1];
        put(g, n.class, T_DIV, 0, binary(g, T_MUL, n.a, m.a), m.b);
    }
    FOR_MEMBERS(g, i, n.a, T_SUM)
    {
        egraph_node m = g->node[i - 1];
        put(g, n.class, T_SUM, m.value, binary(g, T_MUL, m.a, n.b), 0);
    }
    merge(g, n, T_EXP, T_ADD);
    merge(g, n, T_SQRT, T_MUL);
    if (n.a == g->one) unite(g, n.class, n.b);
}

static void apply_quotient(egraph *g, egraph_node n)
{
    FOR_MEMBERS(g, i, n.a, T_MUL)
    {
        egraph_node m = g->node[i - 1];
        put(g, n.class, T_MUL, 0, m.a, binary(g, T_DIV, m.b, n.b));
    }
    FOR_MEMBERS(g, i, n.a, T_DIV)
    {
        egraph_node m = g->node[i - 1];
        put(g, n.class, T_DIV, 0, m.a, binary(g, T_MUL, m.b, n.b));
    }
    FOR_MEMBERS(g, i, n.b, T_MUL)
    {
        egraph_node m = g->node[i - 1];
        put(g, n.class, T_DIV, 0, binary(g, T_DIV, n.a, m.a), m.b);
    }
    FOR_MEMBERS(g, i, n.a, T_SUM)
    {
        egraph_node m = g->node[i - 1];
        put(g, n.class, T_SUM, m.value, binary(g, T_DIV, m.a, n.b), 0);
    }
    if (g->theory.fractions && n.b == g->one) unite(g, n.class, n.a);
}

static void apply_sum(egraph *g, egraph_node n)
{
    if (n.value == 1) unite(g, n.class, n.a);
    FOR_MEMBERS(g, i, n.a, T_SUM)
    {
        egraph_node m = g->node[i - 1];
        put(g, n.class, T_SUM, n.value * m.value, m.a, 0);
    }
    for (uint32_t k = 1; k <= n.value; k++)
        if (n.value % k == 0) put(g, n.class, T_SUM, n.value / k, find_or_make(g, T_SUM, k, n.a, 0), 0);
    FOR_MEMBERS(g, i, n.a, T_MUL)
    {
        egraph_node m = g->node[i - 1];
        put(g, n.class, T_MUL, 0, find_or_make(g, T_SUM, n.value, m.a, 0), m.b);
    }
    FOR_MEMBERS(g, i, n.a, T_DIV)
    {
        egraph_node m = g->node[i - 1];
        put(g, n.class, T_DIV, 0, find_or_make(g, T_SUM, n.value, m.a, 0), m.b);
    }
}

static void apply_axioms(egraph *g, egraph_node n)
{
    put(g, n.class, T_SUM, 1, n.class, 0);
    if (g->theory.unit) put(g, n.class, T_MUL, 0, g->one, n.class);
    if (g->theory.fractions) put(g, n.class, T_DIV, 0, n.class, g->one);
    if (n.op == T_ADD || n.op == T_MUL) commute_and_associate(g, n);
    if (n.op == T_ADD) collect(g, n);
    if (n.op == T_MUL || n.op == T_DIV || n.op == T_SUM) distribute(g, n);
    if (n.op == T_MUL) apply_product(g, n);
    if (n.op == T_DIV) apply_quotient(g, n);
    if (n.op == T_SUM) apply_sum(g, n);
    if (n.op == T_EXP) split(g, n, T_ADD);
    if (n.op == T_SQRT) split(g, n, T_MUL);
}

bool egraph_saturate(egraph *g)
{
    if (g->theory.fractions) put(g, g->one, T_SQRT, 0, g->one, 0);
    if (g->theory.signs) put(g, g->one, T_MUL, 0, g->minus, g->minus);
    for (rebuild(g); !g->full;) {
        uint32_t n = g->n, unions = g->unions;
        for (uint32_t i = 0; i < n && !g->full; i++) apply_axioms(g, g->node[i]);
        bool changed = g->n != n || g->unions != unions;
        if (g->full) break;
        rebuild(g);
        if (g->theory.unit) g->one = root(g, g->one);
        if (g->theory.signs) g->minus = root(g, g->minus);
        if (!changed) return true;
    }
    return false;
}

bool egraph_is_class(const egraph *g, uint32_t class)
{
    return g->parent[class] == class && g->first[class];
}

uint32_t egraph_find(const egraph *g, term_op op, uint32_t value, uint32_t a, uint32_t b)
{
    uint32_t found = *slot(g, op, value, a, b);
    return found ? g->node[found - 1].class : EGRAPH_NONE;
}

uint32_t egraph_smallest(const egraph *g, term_table *table, uint32_t class)
{
    const egraph_node *n = &g->node[g->best[class]];
    uint32_t a = term_arity(n->op) > 0 ? egraph_smallest(g, table, n->a) : 0;
    uint32_t b = term_arity(n->op) > 1 ? egraph_smallest(g, table, n->b) : 0;
    return term_make(table, n->op, n->value, a, b);
}
