#include "search/unfused.h"

#include "search/schedules.h"

#define RANKS 8

mo_dtype *mo_tensor_dtypes(mo_arena *arena, const mo_program *program, int more)
{
    mo_dtype *dtypes = MO_NEW_ARRAY(arena, mo_dtype, program->n_tensors + more);
    for (int t = 0; t < program->n_tensors; t++) dtypes[t] = program->tensors[t].dtype;
    return dtypes;
}

static bool feeds_product(const mo_program *program, int tensor)
{
    for (int n = 0; n < program->n_nodes; n++) {
        const mo_node *node = &program->nodes[n];
        if (node->op != MO_OP_MATMUL) continue;
        if (node->inputs[0].tensor == tensor || node->inputs[1].tensor == tensor) return true;
    }
    return false;
}

static void widen(mo_mugraph *graph, mo_width width, mo_dtype *dtypes)
{
    for (int t = graph->program->n_inputs; t < graph->program->n_tensors; t++)
        if (graph->tensors[t].output < 0 && (width == MO_WIDEST || !feeds_product(graph->program, t)))
            dtypes[t] = graph->tensors[t].dtype = MO_F32;
}

mo_mugraph *mo_unfused(mo_arena *arena, const mo_program *program, const mo_lowered *lowered,
                       const mo_device *device, int rank, mo_width width)
{
    mo_mugraph *graph = mo_mugraph_new(arena, program, program->n_nodes);
    mo_dtype *dtypes = mo_tensor_dtypes(arena, program, 0);
    if (width != MO_NARROW) widen(graph, width, dtypes);
    mo_cost_context context = {device, dtypes};
    int64_t tried = 0, too_large = 0;
    for (int n = 0; n < program->n_nodes; n++) {
        mo_prim *body = mo_prim_copy(arena, lowered->nodes[n]);
        mo_prim_merge_axes(body);
        mo_scheduled best[RANKS];
        int count = mo_schedules(arena, &context, body, RANKS, best, &tried, &too_large);
        const mo_scheduled *chosen = &best[rank < count ? rank : count - 1];
        mo_mugraph_add_kernel(graph, mo_op_name(program->nodes[n].op), n, body, &chosen->schedule);
        graph->cost_ns += chosen->cost_ns;
    }
    mo_mugraph_add_copies(graph);
    return graph;
}

mo_mugraph *mo_unfused_plain(mo_arena *arena, const mo_program *program, const mo_lowered *lowered)
{
    mo_mugraph *graph = mo_mugraph_new(arena, program, program->n_nodes);
    graph->prefix = mo_arena_printf(arena, "%s_reference", program->symbol);
    widen(graph, MO_WIDEST, mo_tensor_dtypes(arena, program, 0));
    for (int n = 0; n < program->n_nodes; n++) {
        mo_prim *body = mo_prim_copy(arena, lowered->nodes[n]);
        mo_prim_merge_axes(body);
        mo_schedule schedule = mo_schedule_plain(body);
        mo_mugraph_add_kernel(graph, mo_op_name(program->nodes[n].op), n, body, &schedule);
    }
    mo_mugraph_add_copies(graph);
    return graph;
}
