/* Pass `pipeline`: how slabs of the loop come to a block, and how many are on their way.
 *
 * Decides which copy mechanisms (asynchronous copies by all threads, boxes of the tensor copy engine, loads
 * straight to registers) and numbers of stages a kernel is tried with; the cost model, and on a GPU the
 * clock, take the best of them. Within a kernel it gives each tile the mechanism that its strides and
 * alignment allow.
 *
 * Off: one stage and asynchronous copies that are waited for at once, that is, copy, wait, multiply. */
#ifndef MO_OPTIMIZE_PIPELINE_H
#define MO_OPTIMIZE_PIPELINE_H

#include "optimize/stream_plan.h"

typedef struct {
    mo_copy copy;
    int stages;
} mo_pipeline;

#define MO_PIPELINE_CHOICES 9

/* The choices for a STREAM kernel; `boxes`: the target has a tensor copy engine. */
int mo_pipeline_stream(bool boxes, mo_passes off, mo_pipeline choices[MO_PIPELINE_CHOICES]);
/* Those where warp groups multiply: they read swizzled boxes. */
int mo_pipeline_wgmma(mo_passes off, mo_pipeline choices[MO_PIPELINE_CHOICES]);
/* Those for a CHAIN kernel. */
int mo_pipeline_chain(mo_passes off, mo_pipeline choices[MO_PIPELINE_CHOICES]);

/* Sets the copy mechanism of a tile whose shape and strides are known. */
void mo_pipeline_tile(const mo_plan_context *context, const mo_kernel *kernel, const mo_stream *roles,
                      mo_tile *tile);

#endif
