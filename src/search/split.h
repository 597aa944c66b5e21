/* Splitting a reduced axis: over the grid in one kernel, with the sums put together in a second one.
 *
 * The axis k becomes an outer axis (the parts) and an inner one. Every sum over k becomes a sum over the
 * inner axis, and one over the parts of these partial results; omap Σ in the paper's terms. A shifted
 * exponential exp(s - max s) is taken with the maximum of its own part, and what was summed with it is scaled
 * by exp(part's maximum - maximum) before the parts are added: with ko, ki for the two axes,
 *
 *     m_ko = max over ki of s       m = max over ko of m_ko      w = exp(m_ko - m)
 *     sum over k of exp(s - m) v  =  sum over ko of w * (sum over ki of exp(s - m_ko) v)
 *
 * which is split-K for products and split-KV with rescaled sums for attention, for any graph. */
#ifndef MO_SEARCH_SPLIT_H
#define MO_SEARCH_SPLIT_H

#include "ir/prim.h"

typedef struct {
    mo_prim *graph; /* equal to the one given, over one more axis */
    bool *partial;  /* for each node: a partial result, to be stored between the two kernels */
    int parts_axis; /* the outer axis; the axis given is now the inner one */
} mo_split;

/* Splits `axis` into `parts` (a divisor of its extent, smaller than it). False where it is not reduced, is
 * free in an output, or something needs all of it at once (a value over both axes behind a reduction, a
 * mask). */
bool mo_split_axis(mo_arena *arena, const mo_prim *graph, int axis, int64_t parts, mo_split *split);

#endif
