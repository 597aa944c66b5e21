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

#define MO_WGMMA_Q 64 /* the 8-side of a warp-group product is a multiple of it */

typedef enum {
    MO_TILE_SCALAR, /* element by element */
    MO_TILE_CHUNKS, /* cp.async, `chunk` elements at a time */
    MO_TILE_BOX,    /* boxes of the tensor copy engine */
    MO_TILE_DIRECT  /* no tile: 16 bytes for each lane go to registers, one slab ahead (optimize/direct.h) */
} mo_tile_copy;

/* A tile in shared memory: rows of `stride` elements, padded to an odd number of 16-byte chunks (twice an odd
 * number where f32 products read across rows); boxes are dense: panels of `panel` columns one behind the
 * other, with a swizzle of as many bytes as a row has or none.
 */
typedef struct {
    int node;        /* iterator, or the value of an intermediate tile */
    int inner, axis; /* reduced axis; tile axis or -1 */
    mo_side side;
    bool inner_rows; /* rows run over `inner`, columns over `axis`; otherwise the other way round */
    int rows, cols, stride;
    mo_dtype dtype;
    mo_tile_copy copy;
    int chunk;
    int panel, swizzle;         /* BOX: elements; bytes, 0: none */
    int batch_axis;             /* BOX: a grid axis that is a third coordinate, or -1 */
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
    int n_boxes, n_chunks, n_direct; /* streamed tiles of each kind; the rest is copied element by element */
    int box_bytes;         /* of a stage */
    int barrier_offset;    /* of the groups' mbarriers, one for each stage */
    int stage_bytes, ring_bytes, resident_bytes, tail_bytes, shared_bytes;
} mo_stream_plan;

/* What a plan asks of tensors, by number: the stored type, and in elements where a window begins in the memory
 * that it is part of (NULL: no windows). */
typedef struct {
    const mo_dtype *dtype;
    const int64_t *offset;
} mo_plan_tensors;

mo_plan_tensors mo_plan_tensors_of(mo_arena *arena, const mo_mugraph *graph);

/* NULL, or why the kernel cannot be planned. `shared_limit`: bytes a block may use. */
const char *mo_stream_plan_make(mo_arena *arena, const mo_plan_tensors *tensors, const mo_kernel *kernel,
                                int shared_limit, mo_stream_plan *plan);

#endif
