/* Shared-memory plan of a CHAIN kernel (ir/chain.h):
 *
 *     +-----------------+----------------------------------------------+
 *     | resident tiles  | ring: groups x stages x stage                |
 *     |                 | behind the loop the same bytes hold the      |
 *     |                 | groups' statistics and accumulators          |
 *     +-----------------+----------------------------------------------+
 *
 * All offsets in bytes. Arrays live in the arena given. */
#ifndef MO_OPTIMIZE_CHAIN_PLAN_H
#define MO_OPTIMIZE_CHAIN_PLAN_H

#include "ir/chain.h"
#include "optimize/plan_context.h"

/* An iterator in shared memory: rows of `stride` elements (optimize/layout.h). */
typedef struct {
    int node;
    int row_axis, col_axis; /* col_axis is the one with the smaller step in memory */
    int rows, cols, stride;
    int chunk; /* elements of an asynchronous copy; 0: element by element */
    int64_t row_step, col_step;
    int offset; /* in a stage, or from the start */
    bool streamed;
} mo_chain_tile;

typedef struct {
    int node;   /* a product over the loop, a statistic, or a row's value reduced before the loop */
    int offset; /* in the tail: groups x size floats (of the last kind only once) */
    int size;   /* floats of a group: rows x column_stride, or rows */
} mo_chain_part;

typedef struct {
    mo_chain chain;
    int rows, columns; /* of a block: multiples of 16 and 8 */
    int column_stride; /* floats between rows of exchanged accumulators */
    int row_fragments; /* m16 fragments of a warp */
    int slab, slabs, iterations;
    int n_tiles, n_parts;
    mo_chain_tile *tiles;
    mo_chain_part *parts;
    int stage_bytes, resident_bytes, shared_bytes;
} mo_chain_plan;

/* NULL, or why the kernel cannot be planned. `shared_limit`: bytes a block may use. */
const char *mo_chain_plan_make(mo_arena *arena, const mo_plan_context *context, const mo_kernel *kernel,
                               int shared_limit, mo_chain_plan *plan);

const mo_chain_tile *mo_chain_plan_tile(const mo_chain_plan *plan, int node); /* or NULL */
const mo_chain_part *mo_chain_plan_part(const mo_chain_plan *plan, int node); /* or NULL */

#endif
