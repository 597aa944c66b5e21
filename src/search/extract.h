/* Graphs out of the AND-OR graph of the algebra search, cheapest first.
 *
 * A graph chooses one derivation for each value that it uses. A partial choice is ranked by the cost of
 * the graph that results when the rest is filled in greedily; partial choices are taken in that order,
 * and each is split by the derivations of the first value that is still open. Every acyclic choice with at
 * most `max_ops` operators is produced exactly once unless `max_steps` ends it. Cycles (x in terms of y
 * and y in terms of x) are cut at the choice that would close them. */
#ifndef MO_SEARCH_EXTRACT_H
#define MO_SEARCH_EXTRACT_H

#include "search/algebra_state.h"

typedef struct mo_extract mo_extract;

mo_extract *mo_extract_new(mo_arena *arena, const mo_algebra *space, int max_ops, int64_t max_steps);

/* The next graph, in `arena`, cleaned and with dtypes inferred; NULL when there is none, or when the steps
 * are used up. */
mo_prim *mo_extract_next(mo_extract *extract, mo_arena *arena);

bool mo_extract_exhausted(const mo_extract *extract); /* ended because there is nothing more */

#endif
