/* Shared-memory plan of a STREAM kernel: tiles, accumulators and where each lies.
 *
 *     +-----------------+--------------------------------------------------+
 *     | resident tiles  | ring: groups x stages x stage                    |
 *     |                 | behind the loop the same bytes hold: statistics, |
 *     |                 | intermediate tiles, partial accumulators         |
 *     +-----------------+--------------------------------------------------+
 *
 * All offsets in bytes. Arrays live in the arena given. */
#ifndef MO_OPTIMIZE_STREAM_PLAN_H
#define MO_OPTIMIZE_STREAM_PLAN_H

#include "ir/stream.h"

/* A tile in shared memory: rows of `stride` elements, padded to an odd number of 16-byte chunks. */
typedef struct {
    int node;        /* iterator, or the value of an intermediate tile */
    int inner, axis; /* reduced axis; tile axis or -1 */
    mo_side side;
    bool inner_rows; /* rows run over `inner`, columns over `axis`; otherwise the other way round */
    int rows, cols, stride;
    mo_dtype dtype;
    bool async; /* filled by cp.async, `chunk` elements at a time; otherwise element by element */
    int chunk;
    int64_t row_step, col_step; /* strides in the tensor */
    int offset;                 /* in a stage (loop), from the start (resident), in the tail (intermediate) */
} mo_tile;

typedef struct {
    int value;          /* node whose value this is: a product, or a sum of products */
    int p_axis, q_axis; /* -1: extent 1 */
    int p_size, q_size; /* elements in a block, padded to 16 and 8 */
    int stride;         /* floats between rows q of a partial tile */
    int offset;         /* in the tail: groups x q_size x stride floats */
} mo_accum;

typedef struct {
    int node;
    int axis;
    mo_side side;
    int size;   /* rows in a block, padded */
    int offset; /* in the tail: groups x size floats */
} mo_stat;

typedef struct {
    mo_stream roles;
    int slab, slabs, iterations; /* elements of the loop axis a slab; slabs in all; per group */
    int n_tiles, n_resident, n_between, n_accums, n_stats;
    mo_tile *tiles; /* streamed */
    mo_tile *resident;
    mo_tile *between; /* intermediate tiles, made from accumulated values */
    mo_accum *accums;
    mo_stat *stats;
    int *accum_of; /* node -> accumulator that it feeds or is, or -1 */
    int stage_bytes, ring_bytes, resident_bytes, tail_bytes, shared_bytes;
} mo_stream_plan;

/* NULL, or why the kernel cannot be planned. `shared_limit`: bytes a block may use. */
const char *mo_stream_plan_make(mo_arena *arena, const mo_mugraph *graph, const mo_kernel *kernel,
                                int shared_limit, mo_stream_plan *plan);

#endif
