/* Pass `schedule`: the order of a kernel's operators, and its barriers.
 *
 * Decides, for what stands behind the loop of a STREAM kernel, a depth for each step: the longest chain of
 * values handed on through shared memory that leads to it. Steps run in ascending depth, with a barrier of
 * the block only where the depth grows. For a ROW kernel the depth is the pass over the row in which a
 * reduction is taken: those that do not wait for each other share a pass. Objective: the fewest barriers (and
 * passes). As many as the longest chain has are needed in any order, and no more are used.
 *
 * Off: a barrier behind every step that touches shared memory, in the loop (of a warp group, behind the
 * products) and behind it; reductions of a ROW kernel one by one in the order of the graph. */
#ifndef MO_OPTIMIZE_SCHEDULE_H
#define MO_OPTIMIZE_SCHEDULE_H

#include "ir/mugraph.h"

typedef enum {
    MO_STEP_STAT,    /* exchange statistic `index` between the groups */
    MO_STEP_ACCUM,   /* exchange accumulator `index` */
    MO_STEP_BETWEEN, /* make intermediate tile `index` */
    MO_STEP_PRODUCT, /* products over the whole axis `index` */
    MO_STEP_POST,    /* elementwise operator `index` of the plan's posts (pass `threads`) */
    MO_STEP_SAVE     /* saver `index` */
} mo_step_kind;

typedef struct {
    mo_step_kind kind;
    int index, depth;
    bool barrier; /* of the block, behind it */
} mo_step;

struct mo_stream_plan;

/* Fills the plan's steps; its other parts but the offsets are known. */
void mo_schedule_tail(mo_arena *arena, const mo_kernel *kernel, mo_passes off, struct mo_stream_plan *plan);

/* ROW: the number of passes that must have ended before each node is known. */
void mo_schedule_levels(const mo_prim *graph, mo_passes off, int *level);

#endif
