/* Pass `memory`: where the buffers of a block lie in shared memory.
 *
 * Decides an offset for each buffer. Objective: the least peak. Two buffers may share bytes if no level (a
 * stretch between two barriers of the block) has both alive; no barrier is added to save memory. The search
 * is exact: some order of the buffers, each placed as low as those before it allow, gives an optimal plan, so
 * the orders are tried until one needs no more than the fullest level; for kernels that is nearly always the
 * first.
 * After 100000 placements, more than all orders of eight buffers need, the best plan so far would stand.
 *
 * Off: every buffer has its own bytes. */
#ifndef MO_OPTIMIZE_MEMORY_H
#define MO_OPTIMIZE_MEMORY_H

#include "ir/passes.h"

#define MO_MEMORY_UNIT 128 /* bytes: alignment of every offset */

typedef struct {
    int bytes;
    int first, last; /* levels in which it is alive */
    int offset;      /* the result */
} mo_buffer;

/* Places the buffers and returns the peak. The first one is the ring, which nothing else in its level is
 * alive with: it always gets offset 0. More than 64 buffers, which no kernel has, get bytes of their own. */
int mo_memory_place(mo_buffer *buffers, int count, mo_passes off);

#endif
