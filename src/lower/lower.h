/* Lowering: nodes of a program to a primitive graph over labelled axes.
 *
 * Compound operators become primitives (a norm is a sum, a root and a quotient; softmax is a row maximum,
 * exponentials and their sum), so that the search sees their algebra. A tensor that comes from outside the
 * set of nodes is read by one iterator for each use, with its own labels; labels unify along edges inside
 * the set. Reduced axes of equal extent are renamed to one where that makes two iterators equal.
 *
 * Graphs live in the given arena and refer to the program's tensors. */
#ifndef MO_LOWER_LOWER_H
#define MO_LOWER_LOWER_H

#include "base/status.h"
#include "ir/lowered.h"

/* Lowers the given nodes (ascending indices). One saver for each tensor that the program's outputs or
 * nodes outside the set need, in tensor order. Returns NULL with a reason (static text) when an operator
 * has no primitive form yet, or when one value would need two bindings of its axes (t @ t for a computed
 * t): the caller then cuts the set. */
mo_prim *mo_lower_nodes(mo_arena *arena, const mo_program *program, const int *nodes, int n_nodes,
                        const char **reason);

/* Cuts the program into the fewest runs of consecutive nodes that lower, greedily from the front, each with
 * at most `max_nodes` primitive nodes, and lowers every node alone as well. Returns MO_ERR_USER, located in
 * the program's text, when a node cannot be lowered. */
mo_status mo_lower_program(mo_arena *arena, const mo_program *program, int max_nodes, mo_lowered *lowered,
                           mo_error *error);

#endif
