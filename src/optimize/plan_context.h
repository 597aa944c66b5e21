/* What a kernel's plan asks of the graph around it. */
#ifndef MO_OPTIMIZE_PLAN_CONTEXT_H
#define MO_OPTIMIZE_PLAN_CONTEXT_H

#include "ir/mugraph.h"

/* Of tensors, by number: the stored type, and in elements where a window begins in the memory that it is part
 * of (NULL: no windows). And the passes that are switched off. */
typedef struct {
    const mo_dtype *dtype;
    const int64_t *offset;
    mo_passes off;
} mo_plan_context;

mo_plan_context mo_plan_context_of(mo_arena *arena, const mo_mugraph *graph);

/* Where the memory that this tensor is a window of has its first element, in elements. */
static inline int64_t mo_plan_offset(const mo_plan_context *context, int tensor)
{
    return context->offset == NULL ? 0 : context->offset[tensor];
}

#endif
