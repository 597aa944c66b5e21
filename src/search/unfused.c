#include "search/unfused.h"

#include "ir/window.h"
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
        for (int i = 0; i < 2; i++)
            if (node->inputs[i].tensor >= 0 && mo_window_root(program, node->inputs[i].tensor) == tensor)
                return true;
    }
    return false;
}

static bool is_read(const mo_program *program, int tensor)
{
    for (int n = 0; n < program->n_nodes; n++)
        for (int i = 0; i < program->nodes[n].n_inputs; i++)
            if (program->nodes[n].inputs[i].tensor == tensor) return true;
    return false;
}

static bool is_written(const mo_mugraph *graph, int tensor)
{
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_kernel *kernel = &graph->kernels[k];
        if (kernel->n_moves > 0 && kernel->moves[0] == tensor) return true;
        for (int s = 0; s < kernel->body->n_savers; s++)
            if (kernel->body->savers[s].access.tensor == tensor) return true;
    }
    return false;
}

void mo_widen_between(mo_mugraph *graph)
{
    const mo_program *program = graph->program;
    for (int t = program->n_inputs; t < program->n_tensors; t++) {
        mo_mutensor *tensor = &graph->tensors[t];
        bool between = tensor->window_of == 0 && tensor->output < 0 && is_written(graph, t);
        if (between && !feeds_product(program, t)) tensor->dtype = MO_F32;
    }
    for (int t = program->n_inputs; t < program->n_tensors; t++)
        if (graph->tensors[t].window_of > 0)
            graph->tensors[t].dtype = graph->tensors[graph->tensors[t].window_of - 1].dtype;
}

/* An output in 16 bits that other nodes read is stored twice, for them in f32. */
static void add_twin(mo_mugraph *graph, int t, mo_dtype *dtypes, int *twins)
{
    const mo_mutensor *from = &graph->tensors[t];
    if (from->dtype == MO_F32 || !is_read(graph->program, t)) return;
    const char *symbol = mo_arena_printf(graph->arena, "%s_f32", from->symbol);
    twins[t] = mo_mugraph_add_tensor(graph, symbol, from->shape, MO_F32, from->compute);
    dtypes[twins[t]] = MO_F32;
}

/* twins[t]: the tensor that stands for t between kernels, where it is another one; 0: none. */
static void widen(mo_mugraph *graph, mo_width width, mo_dtype *dtypes, int *twins)
{
    const mo_program *program = graph->program;
    for (int t = program->n_inputs; t < program->n_tensors; t++) {
        bool all = width == MO_WIDEST;
        if (graph->tensors[t].output >= 0 && all) add_twin(graph, t, dtypes, twins);
        bool own = graph->tensors[t].window_of == 0;
        if (own && graph->tensors[t].output < 0 && (all || !feeds_product(program, t)))
            dtypes[t] = graph->tensors[t].dtype = MO_F32;
    }
    for (int t = program->n_inputs; t < program->n_tensors; t++) {
        mo_mutensor *window = &graph->tensors[t];
        if (window->window_of == 0) continue;
        if (twins[window->window_of - 1] > 0) window->window_of = twins[window->window_of - 1] + 1;
        dtypes[t] = window->dtype = graph->tensors[window->window_of - 1].dtype;
    }
}

/* The body of a written node with merged axes, reading and writing twins where there are some. */
static mo_prim *node_body(mo_arena *arena, const mo_prim *lowered, const int *twins)
{
    mo_prim *body = mo_prim_copy(arena, lowered);
    int n_savers = body->n_savers;
    for (int i = 0; i < body->n_nodes; i++) {
        mo_access *access = &body->nodes[i].access;
        if (body->nodes[i].op == MO_OP_ITER && twins[access->tensor] > 0)
            access->tensor = twins[access->tensor];
    }
    for (int s = 0; s < n_savers; s++) {
        mo_access access = body->savers[s].access;
        if (twins[access.tensor] == 0) continue;
        access.tensor = twins[access.tensor];
        mo_prim_save(body, body->savers[s].node, &access);
    }
    mo_prim_merge_axes(body);
    return body;
}

/* The kernels of a node that moves data, if it needs one: a result with a twin is moved to both. Returns
 * their number. */
static int add_moves(mo_mugraph *graph, int node, int *twins)
{
    if (!mo_node_needs_kernel(graph->program, node)) return 0;
    mo_mugraph_add_move(graph, node, twins);
    int *twin = &twins[graph->program->nodes[node].outputs[0]], kept = *twin;
    if (kept == 0) return 1;
    *twin = 0;
    mo_mugraph_add_move(graph, node, twins);
    *twin = kept;
    return 2;
}

/* A graph with room for two kernels for each node. */
static mo_mugraph *new_graph(mo_arena *arena, const mo_program *program)
{
    return mo_mugraph_new(arena, program, 2 * program->n_nodes);
}

int64_t mo_copies_cost(mo_arena *arena, const mo_program *program, const mo_device *device)
{
    mo_mugraph *graph = mo_mugraph_new(arena, program, 0);
    mo_mugraph_add_copies(graph);
    mo_dtype *dtypes = MO_NEW_ARRAY(arena, mo_dtype, graph->n_tensors + 1);
    for (int t = 0; t < graph->n_tensors; t++) dtypes[t] = graph->tensors[t].dtype;
    mo_cost_context context = {device, dtypes, 0};
    int64_t cost_ns = 0;
    for (int k = 0; k < graph->n_kernels; k++)
        cost_ns += mo_cost_kernel(&context, graph->kernels[k].body, &graph->kernels[k].schedule);
    return cost_ns;
}

mo_mugraph *mo_unfused(mo_arena *arena, const mo_program *program, const mo_lowered *lowered,
                       const mo_device *device, mo_passes off, int rank, mo_width width)
{
    mo_mugraph *graph = new_graph(arena, program);
    mo_dtype *dtypes = mo_tensor_dtypes(arena, program, program->n_nodes);
    int *twins = MO_NEW_ARRAY(arena, int, program->n_tensors + 1);
    if (width != MO_NARROW) widen(graph, width, dtypes, twins);
    mo_cost_context context = {device, dtypes, off};
    int64_t tried = 0, too_large = 0;
    for (int n = 0; n < program->n_nodes; n++) {
        if (lowered->nodes[n] == NULL) {
            graph->cost_ns += add_moves(graph, n, twins) * mo_cost_move(&context, program, n);
            continue;
        }
        mo_prim *body = node_body(arena, lowered->nodes[n], twins);
        mo_scheduled best[RANKS];
        int count = mo_schedules(arena, &context, body, RANKS, best, &tried, &too_large);
        const mo_scheduled *chosen = &best[rank < count ? rank : count - 1];
        mo_mugraph_add_kernel(graph, mo_op_name(program->nodes[n].op), n, body, &chosen->schedule);
        graph->cost_ns += chosen->cost_ns;
    }
    graph->cost_ns += mo_copies_cost(arena, program, device);
    mo_mugraph_add_copies(graph);
    return graph;
}

mo_mugraph *mo_unfused_plain(mo_arena *arena, const mo_program *program, const mo_lowered *lowered)
{
    mo_mugraph *graph = new_graph(arena, program);
    int *twins = MO_NEW_ARRAY(arena, int, program->n_tensors + 1);
    graph->prefix = mo_arena_printf(arena, "%s_reference", program->symbol);
    widen(graph, MO_WIDEST, mo_tensor_dtypes(arena, program, program->n_nodes), twins);
    for (int n = 0; n < program->n_nodes; n++) {
        if (lowered->nodes[n] == NULL) {
            add_moves(graph, n, twins);
            continue;
        }
        mo_prim *body = node_body(arena, lowered->nodes[n], twins);
        mo_schedule schedule = mo_schedule_plain(body);
        mo_mugraph_add_kernel(graph, mo_op_name(program->nodes[n].op), n, body, &schedule);
    }
    mo_mugraph_add_copies(graph);
    return graph;
}
