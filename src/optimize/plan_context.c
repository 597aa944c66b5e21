#include "optimize/plan_context.h"

mo_plan_context mo_plan_context_of(mo_arena *arena, const mo_mugraph *graph)
{
    mo_dtype *dtype = MO_NEW_ARRAY(arena, mo_dtype, graph->n_tensors + 1);
    int64_t *offset = MO_NEW_ARRAY(arena, int64_t, graph->n_tensors + 1);
    for (int t = 0; t < graph->n_tensors; t++) {
        dtype[t] = graph->tensors[t].dtype;
        offset[t] = graph->tensors[t].offset;
    }
    return (mo_plan_context){dtype, offset, graph->off};
}
