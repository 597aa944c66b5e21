/* Operands that need no shared memory: each lane of a warp reads 16 contiguous bytes of a row straight into
 * registers, one slab ahead of their use.
 *
 * Over 32 elements of the loop axis lane t of a quad holds elements 8t .. 8t + 7, four pairs. They are the
 * fragments of two k16 steps if both operands agree on another order of the reduced axis: position
 * (step s, half r, pair t) is element 8t + 2 ((2s + r + t) mod 4). The turn by t makes the eight rows that an
 * ldmatrix phase of the other operand reads distinct modulo 8, as its swizzle wants them. */
#ifndef MO_OPTIMIZE_DIRECT_H
#define MO_OPTIMIZE_DIRECT_H

#include "optimize/stream_plan.h"

/* Turns the 8-side operands of the loop's products into MO_TILE_DIRECT, all of them or none: every product
 * must have a plain one whose rows are contiguous and aligned, against a plain one of the 16-side in a box
 * with rows over the loop axis; slabs of whole 32 elements divide the axis. Statistics may use them too. */
void mo_stream_make_direct(const mo_plan_context *context, const mo_kernel *kernel, mo_stream_plan *plan);

#endif
