/* Terms for the tests of abstract expressions: hash-consed trees as the axioms have them, before any
 * normal form. Children come before their parents, so ids grow upwards. */
#ifndef MO_TESTS_ABSTRACT_TERMS_H
#define MO_TESTS_ABSTRACT_TERMS_H

#include "abstract/abstract.h"
#include "base/rng.h"
#include "base/str.h"

typedef enum { T_LEAF, T_ONE, T_MINUS, T_ADD, T_MUL, T_DIV, T_CALL2, T_EXP, T_SQRT, T_CALL, T_SUM } term_op;

/* `value`: number of the variable or of the function without axioms, length of the sum. */
typedef struct {
    term_op op;
    uint32_t value, a, b;
    uint32_t size; /* nodes of the tree */
} term_node;

/* Once `limit` terms were made, `full` is set and every new term is term 0. */
typedef struct {
    term_node *node;
    uint32_t *slots, n, limit, mask;
    bool full;
} term_table;

term_table *term_table_new(uint32_t limit);
void term_table_free(term_table *table);
void term_table_clear(term_table *table);

int term_arity(term_op op);
uint32_t term_make(term_table *table, term_op op, uint32_t value, uint32_t a, uint32_t b);

static inline uint32_t term_leaf(term_table *table, uint32_t variable)
{
    return term_make(table, T_LEAF, variable, 0, 0);
}
static inline uint32_t term_unary(term_table *table, term_op op, uint32_t a)
{
    return term_make(table, op, 0, a, 0);
}
static inline uint32_t term_binary(term_table *table, term_op op, uint32_t a, uint32_t b)
{
    return term_make(table, op, 0, a, b);
}
static inline uint32_t term_sum(term_table *table, uint32_t length, uint32_t a)
{
    return term_make(table, T_SUM, length, a, 0);
}

/* The same operator on other operands. */
uint32_t term_with(term_table *table, uint32_t t, uint32_t a, uint32_t b);

/* The subterm at a position in preorder (0: t itself, below its size), and t with another one there. */
uint32_t term_at(const term_table *table, uint32_t t, uint32_t position);
uint32_t term_replace(term_table *table, uint32_t t, uint32_t position, uint32_t by);

/* Monomials of t when products are written out, and at most how many in any denominator, argument or
 * radicand that arises: what a test keeps small. */
uint64_t term_monomials(const term_table *table, uint32_t t);

mo_abs_expr term_build(const term_table *table, mo_abs *abs, uint32_t t);
void term_print(mo_str *out, const term_table *table, uint32_t t);

#endif
