/* Construction of muGraphs. */
#include "ir/mugraph.h"

#include "base/status.h"

#include <string.h>

mo_mugraph *mo_mugraph_new(mo_arena *arena, const mo_program *program, int max_kernels)
{
    mo_mugraph *graph = MO_NEW(arena, mo_mugraph);
    graph->arena = arena;
    graph->program = program;
    graph->prefix = program->symbol;
    graph->n_tensors = program->n_tensors;
    int room = program->n_outputs + max_kernels;
    graph->tensors = MO_NEW_ARRAY(arena, mo_mutensor, program->n_tensors + room);
    graph->kernels = MO_NEW_ARRAY(arena, mo_kernel, room);
    for (int t = 0; t < program->n_tensors; t++) {
        const mo_tensor *from = &program->tensors[t];
        mo_mutensor *to = &graph->tensors[t];
        *to = (mo_mutensor){.symbol = program->symbols[t],
                            .shape = from->shape,
                            .dtype = from->dtype,
                            .compute = from->compute,
                            .window_of = from->window_of,
                            .offset = from->offset,
                            .output = -1};
        memcpy(to->strides, from->strides, sizeof to->strides);
    }
    for (int i = program->n_outputs - 1; i >= 0; i--)
        if (program->outputs[i] >= program->n_inputs && program->tensors[program->outputs[i]].window_of == 0)
            graph->tensors[program->outputs[i]].output = i;
    return graph;
}

/* `symbol`, made different from those of all tensors so far. */
static const char *unique_symbol(const mo_mugraph *graph, const char *symbol)
{
    for (int t = 0; t < graph->n_tensors; t++) {
        if (strcmp(graph->tensors[t].symbol, symbol) != 0) continue;
        symbol = mo_arena_printf(graph->arena, "%s_", symbol);
        t = -1;
    }
    return symbol;
}

int mo_mugraph_add_tensor(mo_mugraph *graph, const char *symbol, mo_shape shape, mo_dtype dtype,
                          mo_dtype compute)
{
    mo_mutensor *t = &graph->tensors[graph->n_tensors];
    *t = (mo_mutensor){.symbol = unique_symbol(graph, symbol),
                       .shape = shape,
                       .dtype = dtype,
                       .compute = compute,
                       .output = -1};
    mo_shape_row_major(shape, t->strides);
    return graph->n_tensors++;
}

mo_kernel *mo_mugraph_add_kernel(mo_mugraph *graph, const char *name, int program_node, mo_prim *body,
                                 const mo_schedule *schedule)
{
    mo_kernel *kernel = &graph->kernels[graph->n_kernels];
    *kernel = (mo_kernel){.program_node = program_node, .body = body, .schedule = *schedule};
    kernel->name = mo_arena_printf(graph->arena, "%s_%s_%d", graph->prefix, name, graph->n_kernels);
    graph->n_kernels++;
    return kernel;
}

mo_schedule mo_schedule_plain(const mo_prim *body)
{
    mo_schedule schedule = {
        .kind = MO_SCHEDULE_PLAIN, .threads = 256, .loop_axis = -1, .p_axis = -1, .q_axis = -1};
    for (int a = 0; a < body->n_axes; a++) {
        schedule.place[a] = MO_PLACE_GRID;
        schedule.tile[a] = 1;
    }
    return schedule;
}

bool mo_node_needs_kernel(const mo_program *program, int node)
{
    for (int i = 0; i < program->nodes[node].n_outputs; i++)
        if (program->tensors[program->nodes[node].outputs[i]].window_of == 0) return true;
    return false;
}

int mo_mugraph_root(const mo_mugraph *graph, int tensor)
{
    int of = graph->tensors[tensor].window_of;
    return of > 0 ? of - 1 : tensor;
}

mo_kernel *mo_mugraph_add_move(mo_mugraph *graph, int program_node, const int *tensor_of)
{
    const mo_node *node = &graph->program->nodes[program_node];
    mo_schedule schedule = {
        .kind = MO_SCHEDULE_COPY, .threads = 256, .loop_axis = -1, .p_axis = -1, .q_axis = -1};
    mo_prim *nothing = mo_prim_new(graph->arena, graph->program);
    int *moves = MO_NEW_ARRAY(graph->arena, int, node->n_inputs + 1);
    moves[0] = node->outputs[0];
    for (int i = 0; i < node->n_inputs; i++) moves[1 + i] = node->inputs[i].tensor;
    for (int i = 0; tensor_of != NULL && i <= node->n_inputs; i++)
        if (tensor_of[moves[i]] > 0) moves[i] = tensor_of[moves[i]];
    mo_kernel *kernel = mo_mugraph_add_kernel(graph, mo_op_name(node->op), program_node, nothing, &schedule);
    kernel->moves = moves;
    kernel->n_moves = node->n_inputs + 1;
    return kernel;
}

static void add_copy(mo_mugraph *graph, int tensor, int position)
{
    mo_mutensor *from = &graph->tensors[tensor];
    const char *symbol = mo_arena_printf(graph->arena, "%s_out%d", from->symbol, position);
    mo_dtype dtype = graph->program->tensors[graph->program->outputs[position]].dtype;
    int to = mo_mugraph_add_tensor(graph, symbol, from->shape, dtype, from->compute);
    graph->tensors[to].output = position;
    mo_prim *g = mo_prim_new(graph->arena, graph->program);
    int8_t dim_axis[MO_MAX_RANK];
    for (int d = 0; d < from->shape.rank; d++) {
        dim_axis[d] = from->shape.dim[d] == 1 ? (int8_t)-1 : (int8_t)g->n_axes;
        if (from->shape.dim[d] == 1) continue;
        mo_axis *axis = &g->axes[g->n_axes++];
        axis->extent = from->shape.dim[d];
        axis->name[0] = 'i';
        axis->name[1] = (char)('0' + d);
    }
    mo_access read = mo_access_make(tensor, from->shape, from->strides, dim_axis);
    mo_access write = mo_access_make(to, from->shape, graph->tensors[to].strides, dim_axis);
    int value = mo_prim_iter(g, dtype, from->compute, &read);
    mo_prim_save(g, value, &write);
    mo_schedule schedule = mo_schedule_plain(g);
    mo_mugraph_add_kernel(graph, "copy", -1, g, &schedule);
}

void mo_mugraph_add_copies(mo_mugraph *graph)
{
    const mo_program *program = graph->program;
    for (int i = 0; i < program->n_outputs; i++) {
        int tensor = program->outputs[i];
        if (graph->tensors[tensor].output != i) add_copy(graph, tensor, i);
    }
}
