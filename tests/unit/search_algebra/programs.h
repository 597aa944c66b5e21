/* Shared by the tests of the algebra search: programs, a text form of graphs, a float64 evaluator. */
#ifndef TEST_SEARCH_ALGEBRA_PROGRAMS_H
#define TEST_SEARCH_ALGEBRA_PROGRAMS_H

#include "search/algebra.h"

/* The whole program lowered to one graph; the text is a program in JSON without the "format" key and the
 * outer braces, with ' for ". Fails the test if it does not parse or does not lower as a whole. */
mo_prim *lower_text(mo_arena *arena, const char *text);

/* The first saved value as nested calls: iterators are tensor names, operands of commuting operators are
 * sorted, axes are left out. */
const char *graph_text(mo_arena *arena, const mo_prim *graph);

/* Is there a graph with this text among the results? */
bool has_text(mo_arena *arena, const mo_algebra_result *result, const char *text);

/* All saved values, in float64, on inputs drawn from `seed` (uniform in [0.5, 1.5]). `count` elements. */
double *evaluate_double(mo_arena *arena, const mo_prim *graph, uint64_t seed, int64_t *count);

/* Programs with small shapes and few operators. */
extern const char *const tiny_programs[];
extern const int n_tiny_programs;

/* For each: new operators up to which a search without pruning takes a moment only. */
extern const int tiny_new_operators[];

#endif
