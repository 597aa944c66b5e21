/* Structure of a block graph under a BLOCK schedule: the paper's block graph, with a sequence of loops.
 *
 * Grid axes divide the outputs among blocks (imap, omap); at most one axis is looped over (fmap); all others
 * are whole in every block. A reduction over the loop axis is an accumulator. What needs an accumulated value
 * and the loop axis waits for the next loop over the same axis: statistics first, then the product.
 *
 * One dependence does not wait: exp(s - max s) over the loop axis. While the loop runs the maximum so far
 * stands for the maximum, and accumulators that are linear in such exponentials are rescaled whenever it
 * grows, so that they end as if the maximum had been known from the start (online softmax; Milakov,
 * Gimelshein, arXiv:1805.02867). */
#ifndef MO_IR_BLOCK_H
#define MO_IR_BLOCK_H

#include "ir/mugraph.h"

typedef struct {
    int loops;     /* over the loop axis, one behind the other; 0: none */
    int *ready;    /* for each node: loops that must have ended before it can be evaluated */
    int *running;  /* for each node: the maximum (a node) that it is shifted by while its loop runs, or -1 */
    int *rescaled; /* for each accumulator: the maximum that it is rescaled with, or -1 */
} mo_block;

/* Fills *block (arrays from `arena`); NULL, or why the graph cannot run under this schedule. */
const char *mo_block_analyse(mo_arena *arena, const mo_kernel *kernel, mo_block *block);

/* Blocks of the grid. */
int64_t mo_block_grid(const mo_kernel *kernel);

/* Elements of a value over `axes` that one block holds at a time: the tile of grid and loop axes. */
int64_t mo_block_tile(const mo_kernel *kernel, mo_axes axes);

#endif
