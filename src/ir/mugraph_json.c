/* Everything that decides what a muGraph computes and how: extents once for each axis, placements, and for
 * each read and write the axis over each dimension. imap, fmap and omap are lists of axis names: those of
 * the tensor's axes that live on the grid and in the loop. */
#include "ir/mugraph_json.h"

const char *mo_schedule_name(mo_schedule_kind kind)
{
    static const char *const names[] = {"plain", "row", "stream"};
    MO_CHECK((size_t)kind < sizeof names / sizeof names[0]);
    return names[kind];
}

const char *mo_place_name(mo_place place)
{
    static const char *const names[] = {"grid", "loop", "whole"};
    MO_CHECK((size_t)place < sizeof names / sizeof names[0]);
    return names[place];
}

int64_t mo_kernel_iterations(const mo_kernel *kernel)
{
    const mo_schedule *schedule = &kernel->schedule;
    int64_t product = 1;
    for (int a = 0; a < kernel->body->n_axes; a++) {
        if (schedule->place[a] != MO_PLACE_LOOP || schedule->tile[a] <= 0) continue;
        int64_t slabs = (kernel->body->axes[a].extent + schedule->tile[a] - 1) / schedule->tile[a];
        int64_t groups = schedule->kind == MO_SCHEDULE_STREAM && schedule->groups > 0 ? schedule->groups : 1;
        product *= (slabs + groups - 1) / groups;
    }
    return product;
}

static void write_tensor(mo_json_writer *w, const char *name, mo_shape shape, mo_dtype dtype)
{
    mo_json_write_compact(w, NULL, true);
    mo_json_write_string(w, "name", name);
    mo_json_write_ints(w, "shape", shape.dim, shape.rank);
    mo_json_write_string(w, "dtype", mo_dtype_name(dtype));
    mo_json_write_end(w);
}

static const char *tensor_name(const mo_mugraph *graph, int tensor)
{
    const mo_program *program = graph->program;
    return tensor < program->n_tensors ? program->tensors[tensor].name : graph->tensors[tensor].symbol;
}

/* Tensors that one kernel writes for others: neither inputs nor outputs. */
static void write_intermediates(mo_json_writer *w, const mo_mugraph *graph)
{
    mo_json_write_array(w, "intermediates");
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_prim *body = graph->kernels[k].body;
        for (int s = 0; s < body->n_savers; s++) {
            int tensor = body->savers[s].access.tensor;
            const mo_mutensor *t = &graph->tensors[tensor];
            if (t->output < 0) write_tensor(w, tensor_name(graph, tensor), t->shape, t->dtype);
        }
    }
    mo_json_write_end(w);
}

static void write_tensors(mo_json_writer *w, const mo_mugraph *graph)
{
    const mo_program *program = graph->program;
    mo_json_write_array(w, "inputs");
    for (int i = 0; i < program->n_inputs; i++)
        write_tensor(w, program->tensors[i].name, program->tensors[i].shape, program->tensors[i].dtype);
    mo_json_write_end(w);
    mo_json_write_array(w, "outputs");
    for (int i = 0; i < program->n_outputs; i++) {
        const mo_tensor *t = &program->tensors[program->outputs[i]];
        write_tensor(w, t->name, t->shape, t->dtype);
    }
    mo_json_write_end(w);
    write_intermediates(w, graph);
}

static void write_axis_names(mo_json_writer *w, const char *key, const mo_prim *body, mo_axes axes)
{
    mo_json_write_compact(w, key, false);
    MO_FOR_AXES(a, axes) mo_json_write_string(w, NULL, body->axes[a].name);
    mo_json_write_end(w);
}

static mo_axes placed(const mo_kernel *kernel, mo_axes axes, mo_place place)
{
    mo_axes result = 0;
    MO_FOR_AXES(a, axes)
        if (kernel->schedule.place[a] == place) result |= (mo_axes)1 << a;
    return result;
}

/* A read (imap, fmap) or a write (omap). */
static void write_access(mo_json_writer *w, const mo_mugraph *graph, const mo_kernel *kernel,
                         const mo_access *access, mo_axes axes, bool is_read)
{
    const mo_prim *body = kernel->body;
    mo_json_write_string(w, "tensor", tensor_name(graph, access->tensor));
    write_axis_names(w, is_read ? "imap" : "omap", body, placed(kernel, axes, MO_PLACE_GRID));
    if (is_read) write_axis_names(w, "fmap", body, placed(kernel, axes, MO_PLACE_LOOP));
    if (access->rank >= 0) {
        mo_json_write_compact(w, "dims", false);
        for (int d = 0; d < access->rank; d++) {
            int axis = access->dim_axis[d];
            mo_json_write_string(w, NULL, axis < 0 ? NULL : body->axes[axis].name);
        }
        mo_json_write_end(w);
    }
    mo_json_write_compact(w, "strides", true);
    MO_FOR_AXES(a, axes) mo_json_write_int(w, body->axes[a].name, access->stride[a]);
    mo_json_write_end(w);
}

static void write_attributes(mo_json_writer *w, const mo_prim *body, const mo_prim_node *node)
{
    if (node->op == MO_OP_CONST) mo_json_write_double(w, "number", node->number);
    if (node->const_axes != 0) write_axis_names(w, "extent_of", body, node->const_axes);
    if (node->op == MO_OP_CLAMP) {
        mo_json_write_double(w, "min", node->min);
        mo_json_write_double(w, "max", node->max);
    }
    if (node->op == MO_OP_GELU)
        mo_json_write_string(w, "approximate", node->approximate_tanh ? "tanh" : "none");
    if (node->reduced != 0) write_axis_names(w, "over", body, node->reduced);
}

static void write_node(mo_json_writer *w, const mo_mugraph *graph, const mo_kernel *kernel, int index)
{
    const mo_prim *body = kernel->body;
    const mo_prim_node *node = &body->nodes[index];
    mo_json_write_compact(w, NULL, true);
    mo_json_write_int(w, "id", index);
    mo_json_write_string(w, "op", mo_op_name(node->op));
    if (node->n_in > 0) {
        int64_t operands[2] = {node->in[0], node->in[1]};
        mo_json_write_ints(w, "inputs", operands, node->n_in);
    }
    write_attributes(w, body, node);
    if (node->op == MO_OP_ITER)
        write_access(w, graph, kernel, &node->access, node->axes, true);
    else
        write_axis_names(w, "axes", body, node->axes);
    mo_json_write_string(w, "dtype", mo_dtype_name(node->dtype));
    mo_json_write_string(w, "compute", mo_dtype_name(node->compute));
    mo_json_write_end(w);
}

static const char *axis_or_null(const mo_prim *body, int axis)
{
    return axis < 0 ? NULL : body->axes[axis].name;
}

static void write_schedule(mo_json_writer *w, const mo_kernel *kernel)
{
    const mo_schedule *s = &kernel->schedule;
    mo_json_write_compact(w, "schedule", true);
    mo_json_write_string(w, "kind", mo_schedule_name(s->kind));
    mo_json_write_int(w, "threads", s->threads);
    if (s->kind == MO_SCHEDULE_ROW) {
        mo_json_write_string(w, "row_axis", axis_or_null(kernel->body, s->row_axis));
        mo_json_write_int(w, "lanes", s->lanes);
        mo_json_write_bool(w, "rows_fast", s->rows_fast);
        mo_json_write_bool(w, "resident", s->resident);
        mo_json_write_int(w, "vector", s->vector);
    } else if (s->kind == MO_SCHEDULE_STREAM) {
        mo_json_write_string(w, "loop_axis", axis_or_null(kernel->body, s->loop_axis));
        mo_json_write_int(w, "groups", s->groups);
        mo_json_write_int(w, "warps_p", s->warps_p);
        mo_json_write_int(w, "warps_q", s->warps_q);
        mo_json_write_int(w, "stages", s->stages);
        mo_json_write_string(w, "p_axis", axis_or_null(kernel->body, s->p_axis));
        mo_json_write_string(w, "q_axis", axis_or_null(kernel->body, s->q_axis));
    }
    mo_json_write_end(w);
}

static void write_kernel(mo_json_writer *w, const mo_mugraph *graph, const mo_kernel *kernel)
{
    const mo_prim *body = kernel->body;
    mo_json_write_object(w, NULL);
    mo_json_write_string(w, "name", kernel->name);
    if (kernel->program_node >= 0) mo_json_write_int(w, "predefined", kernel->program_node);
    mo_json_write_array(w, "axes");
    for (int a = 0; a < body->n_axes; a++) {
        mo_json_write_compact(w, NULL, true);
        mo_json_write_string(w, "name", body->axes[a].name);
        mo_json_write_int(w, "extent", body->axes[a].extent);
        mo_json_write_string(w, "place", mo_place_name(kernel->schedule.place[a]));
        mo_json_write_int(w, "tile", kernel->schedule.tile[a]);
        mo_json_write_end(w);
    }
    mo_json_write_end(w);
    write_schedule(w, kernel);
    mo_json_write_array(w, "nodes");
    for (int i = 0; i < body->n_nodes; i++) write_node(w, graph, kernel, i);
    mo_json_write_end(w);
    mo_json_write_array(w, "savers");
    for (int i = 0; i < body->n_savers; i++) {
        const mo_saver *saver = &body->savers[i];
        mo_json_write_compact(w, NULL, true);
        mo_json_write_int(w, "node", saver->node);
        write_access(w, graph, kernel, &saver->access, body->nodes[saver->node].axes, false);
        mo_json_write_end(w);
    }
    mo_json_write_end(w);
    mo_json_write_end(w);
}

void mo_mugraph_write_json(mo_json_writer *w, const char *key, const mo_mugraph *graph)
{
    mo_json_write_object(w, key);
    mo_json_write_string(w, "format", "mirage-opt-mugraph/1");
    mo_json_write_string(w, "name", graph->program->name);
    write_tensors(w, graph);
    mo_json_write_array(w, "kernels");
    for (int k = 0; k < graph->n_kernels; k++) write_kernel(w, graph, &graph->kernels[k]);
    mo_json_write_end(w);
    mo_json_write_end(w);
}
