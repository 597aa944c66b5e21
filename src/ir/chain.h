/* Structure of a block graph under a CHAIN schedule: products inside the loop that feed products over the
 * loop.
 *
 * Attention is the common case: S = Q K^T for a slab of keys, elementwise operators and row reductions on S,
 * then O += P V. The rows (axis p) are the 16-side of every product, so that a C fragment of the first
 * product becomes an A fragment of the second one in registers. With k the loop axis, q the columns of the
 * accumulators, d a whole axis and batch axes left out, a value is
 *
 *     ROW      {p} or less, before the loop: from memory, or reduced over d by the threads that own the row
 *     COLUMN   {k}: from memory, or reduced over d from a streamed tile
 *     SCORE    {p, k}: in fragments: a product over d, or elementwise
 *     TILE     {k, d}, {k, q} or {p, d}: an iterator in shared memory, or elementwise on the way to a
 * reduction over d ACCUM    {p, q}: a product over k STAT     {p}: a sum, maximum or minimum over k POST
 * everything behind the loop */
#ifndef MO_IR_CHAIN_H
#define MO_IR_CHAIN_H

#include "ir/block.h"

typedef enum {
    MO_CHAIN_POST,
    MO_CHAIN_ROW,
    MO_CHAIN_COLUMN,
    MO_CHAIN_SCORE,
    MO_CHAIN_TILE,
    MO_CHAIN_ACCUM,
    MO_CHAIN_STAT
} mo_chain_role;

typedef struct {
    mo_block block;
    mo_chain_role *role; /* for each node */
    bool *shared;        /* iterators that are held in shared memory: streamed (with k) or resident */
    mo_dtype mma_dtype;  /* of all products */
} mo_chain;

/* Fills *chain (arrays from `arena`); NULL, or why the graph cannot run under this schedule. */
const char *mo_chain_analyse(mo_arena *arena, const mo_kernel *kernel, mo_chain *chain);

/* Axes of a value that are not fixed within a block. */
mo_axes mo_chain_tile_axes(const mo_kernel *kernel, mo_axes axes);

/* The maximum that exp(s - max s) is shifted by, if this node is such an exponential that runs along; or -1.
 */
int mo_chain_shift(const mo_prim *graph, const mo_chain *chain, int node);

/* Blocks along x (tiles of q), y (tiles of p) and z (batch); false if a launch cannot have so many. */
bool mo_chain_grid(const mo_kernel *kernel, int64_t grid[3]);

#endif
