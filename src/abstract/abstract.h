/* Abstract expressions: what the search prunes with.
 *
 * An abstract expression forgets which element of a tensor is used and keeps the operators and the
 * lengths of sums. A graph prefix can only be part of a graph for the target if its expression is a
 * sub-expression of the target's modulo the axioms (commutative algebra without cancellation, sums as
 * scalars that float through products and numerators, merged exponentials and square roots). Both
 * questions are decided exactly, by a normal form and multiset inclusion; there is no "unknown".
 *
 * A context owns all expressions; they are hash-consed, so equal expressions have equal ids. It is not
 * thread-safe. Running out of memory ends the process, as for arenas. docs/search.md has the theory. */
#ifndef MO_ABSTRACT_ABSTRACT_H
#define MO_ABSTRACT_ABSTRACT_H

#include "ir/prim.h"

typedef struct mo_abs mo_abs;

/* An expression of one context; equal under the axioms if and only if the ids are equal. */
typedef struct {
    uint32_t id;
} mo_abs_expr;

/* `numbers`: the theory with literals, signs and the unit (mul(1, x) = x). Without it the relation is
 * exactly that of the fifteen axioms, and only leaves, add, mul, div, sum, exp, sqrt and opaque may be
 * used. */
mo_abs *mo_abs_new(bool numbers);
void mo_abs_free(mo_abs *abs); /* NULL is allowed */

/* Does a graph need the theory with numbers? */
bool mo_abs_needs_numbers(const mo_prim *graph);

mo_abs_expr mo_abs_leaf(mo_abs *abs, uint64_t key);   /* a variable: equal keys are the same one */
mo_abs_expr mo_abs_number(mo_abs *abs, double value); /* the shortest decimal that reads back */
mo_abs_expr mo_abs_add(mo_abs *abs, mo_abs_expr x, mo_abs_expr y);
mo_abs_expr mo_abs_sub(mo_abs *abs, mo_abs_expr x, mo_abs_expr y);
mo_abs_expr mo_abs_neg(mo_abs *abs, mo_abs_expr x);
mo_abs_expr mo_abs_mul(mo_abs *abs, mo_abs_expr x, mo_abs_expr y);
mo_abs_expr mo_abs_div(mo_abs *abs, mo_abs_expr x, mo_abs_expr y);
mo_abs_expr mo_abs_sum(mo_abs *abs, uint64_t length, mo_abs_expr x); /* length >= 1 */
mo_abs_expr mo_abs_exp(mo_abs *abs, mo_abs_expr x);
mo_abs_expr mo_abs_sqrt(mo_abs *abs, mo_abs_expr x);

/* A function without axioms, named by `length` bytes at `key`; y.id = 0 for one argument. */
mo_abs_expr mo_abs_opaque(mo_abs *abs, const void *key, size_t length, mo_abs_expr x, mo_abs_expr y);

/* Expression of a node from those of its operands. */
mo_abs_expr mo_abs_of_prim(mo_abs *abs, const mo_prim *graph, const mo_prim_node *node,
                           const mo_abs_expr *operands);

/* An expression that outgrows the limits (16384 monomials in it or in an argument, 64 bits of sum lengths)
 * is one special value, and so is every expression built on it. As a candidate it is no sub-expression of
 * anything; as a target it has every sub-expression, which switches pruning off. */
bool mo_abs_too_big(mo_abs_expr x);

/* From now on only sub-expressions of these targets are of interest: what has more monomials than every
 * part of them, or other leaves and functions, becomes too big before it is built. Loses none. */
void mo_abs_set_targets(mo_abs *abs, const mo_abs_expr *targets, int count);

/* Is x a sub-expression of `target` modulo the axioms? Both are remembered. */
bool mo_abs_subexpr(mo_abs *abs, mo_abs_expr x, mo_abs_expr target);

#endif
