/* Everything that decides what a muGraph computes and how: extents once for each axis, placements, and for
 * each read and write the axis over each dimension. imap, fmap and omap are lists of axis names: those of
 * the tensor's axes that live on the grid and in the loop. */
#include "ir/mugraph_json.h"

#include "ir/thread_graph.h"

#include <string.h>

static const char *const schedule_names[] = {"plain", "row", "stream", "chain", "copy", "block"};
static const char *const place_names[] = {"grid", "loop", "whole"};

const char *mo_schedule_name(mo_schedule_kind kind)
{
    MO_CHECK((size_t)kind < sizeof schedule_names / sizeof schedule_names[0]);
    return schedule_names[kind];
}

const char *mo_place_name(mo_place place)
{
    MO_CHECK((size_t)place < sizeof place_names / sizeof place_names[0]);
    return place_names[place];
}

bool mo_schedule_find(const char *name, mo_schedule_kind *kind)
{
    for (size_t i = 0; i < sizeof schedule_names / sizeof schedule_names[0]; i++) {
        if (strcmp(name, schedule_names[i]) != 0) continue;
        *kind = (mo_schedule_kind)i;
        return true;
    }
    return false;
}

bool mo_place_find(const char *name, mo_place *place)
{
    for (size_t i = 0; i < sizeof place_names / sizeof place_names[0]; i++) {
        if (strcmp(name, place_names[i]) != 0) continue;
        *place = (mo_place)i;
        return true;
    }
    return false;
}

int64_t mo_kernel_iterations(const mo_kernel *kernel)
{
    const mo_schedule *schedule = &kernel->schedule;
    int64_t product = 1;
    for (int a = 0; a < kernel->body->n_axes; a++) {
        if (schedule->place[a] != MO_PLACE_LOOP || schedule->tile[a] <= 0) continue;
        int64_t slabs = (kernel->body->axes[a].extent + schedule->tile[a] - 1) / schedule->tile[a];
        int64_t shared = schedule->kind == MO_SCHEDULE_STREAM
                             ? (int64_t)schedule->groups * schedule->cluster * schedule->parts
                         : schedule->kind == MO_SCHEDULE_CHAIN ? schedule->groups
                                                               : 1;
        product *= (slabs + shared - 1) / shared;
    }
    return product;
}

/* A graph being written. */
typedef struct {
    mo_json_writer *w;
    const mo_mugraph *graph;
    const char **names; /* of its tensors */
    mo_arena *arena;    /* while writing */
} writer;

static bool is_taken(const writer *out, const char *name, int before)
{
    const mo_program *program = out->graph->program;
    for (int t = 0; t < before; t++)
        if (strcmp(name, out->names[t]) == 0) return true;
    for (int t = 0; t < program->n_tensors; t++)
        if (strcmp(name, program->symbols[t]) == 0) return true;
    return false;
}

/* The program's tensors have its names; the graph's own ones their symbols, made unique among all. */
static void name_tensors(writer *out, mo_arena *arena)
{
    const mo_program *program = out->graph->program;
    out->names = MO_NEW_ARRAY(arena, const char *, out->graph->n_tensors + 1);
    for (int t = 0; t < out->graph->n_tensors; t++) {
        const char *name = t < program->n_tensors ? program->tensors[t].name : out->graph->tensors[t].symbol;
        while (t >= program->n_tensors && is_taken(out, name, t)) name = mo_arena_printf(arena, "%s_", name);
        out->names[t] = name;
    }
}

/* Name, shape and dtype of a tensor; the object stays open. */
static void write_tensor(mo_json_writer *w, const char *name, mo_shape shape, mo_dtype dtype)
{
    mo_json_write_compact(w, NULL, true);
    mo_json_write_string(w, "name", name);
    mo_json_write_ints(w, "shape", shape.dim, shape.rank);
    mo_json_write_string(w, "dtype", mo_dtype_name(dtype));
}

static bool is_written(const mo_mugraph *graph, int tensor)
{
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_prim *body = graph->kernels[k].body;
        for (int s = 0; s < body->n_savers; s++)
            if (body->savers[s].access.tensor == tensor) return true;
        if (graph->kernels[k].n_moves > 0 && graph->kernels[k].moves[0] == tensor) return true;
    }
    return false;
}

/* What kernels write beside the program's outputs, and outputs that are stored in a tensor of their own
 * because they repeat or are inputs. */
static void write_intermediates(const writer *out)
{
    const mo_mugraph *graph = out->graph;
    mo_json_write_array(out->w, "intermediates");
    for (int t = graph->program->n_inputs; t < graph->n_tensors; t++) {
        const mo_mutensor *tensor = &graph->tensors[t];
        bool own = t >= graph->program->n_tensors;
        if (!own && (tensor->output >= 0 || !is_written(graph, t))) continue;
        write_tensor(out->w, out->names[t], tensor->shape, tensor->dtype);
        mo_json_write_string(out->w, "compute", mo_dtype_name(tensor->compute));
        if (tensor->output >= 0) mo_json_write_int(out->w, "output", tensor->output);
        mo_json_write_end(out->w);
    }
    mo_json_write_end(out->w);
}

/* Windows that kernels read. */
static void write_windows(const writer *out)
{
    const mo_mugraph *graph = out->graph;
    int count = 0;
    for (int t = 0; t < graph->n_tensors; t++) count += graph->tensors[t].window_of > 0;
    if (count == 0) return;
    mo_json_write_array(out->w, "windows");
    for (int t = graph->program->n_inputs; t < graph->n_tensors; t++) {
        const mo_mutensor *tensor = &graph->tensors[t];
        if (tensor->window_of == 0) continue;
        write_tensor(out->w, out->names[t], tensor->shape, tensor->dtype);
        mo_json_write_string(out->w, "compute", mo_dtype_name(tensor->compute));
        mo_json_write_string(out->w, "of", out->names[tensor->window_of - 1]);
        mo_json_write_int(out->w, "offset", tensor->offset);
        mo_json_write_ints(out->w, "strides", tensor->strides, tensor->shape.rank);
        mo_json_write_end(out->w);
    }
    mo_json_write_end(out->w);
}

static void write_tensors(const writer *out)
{
    const mo_program *program = out->graph->program;
    mo_json_write_array(out->w, "inputs");
    for (int i = 0; i < program->n_inputs; i++) {
        const mo_tensor *t = &program->tensors[i];
        int64_t row_major[MO_MAX_RANK] = {0};
        mo_shape_row_major(t->shape, row_major);
        write_tensor(out->w, t->name, t->shape, t->dtype);
        if (memcmp(row_major, t->strides, sizeof *row_major * (size_t)t->shape.rank) != 0)
            mo_json_write_ints(out->w, "strides", t->strides, t->shape.rank);
        mo_json_write_end(out->w);
    }
    mo_json_write_end(out->w);
    mo_json_write_array(out->w, "outputs");
    for (int i = 0; i < program->n_outputs; i++) {
        const mo_tensor *t = &program->tensors[program->outputs[i]];
        write_tensor(out->w, t->name, t->shape, t->dtype);
        mo_json_write_end(out->w);
    }
    mo_json_write_end(out->w);
    write_intermediates(out);
    write_windows(out);
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

/* Axes that have a stride to show: those of the value and whatever else the access speaks of. */
static mo_axes axes_of_access(const mo_access *access, mo_axes axes)
{
    for (int a = 0; a < MO_MAX_AXES; a++)
        if (access->stride[a] != 0) axes |= (mo_axes)1 << a;
    return axes | mo_access_axes(access);
}

/* A read (imap, fmap) or a write (omap). */
static void write_access(const writer *out, const mo_kernel *kernel, const mo_access *access, mo_axes axes,
                         bool is_read)
{
    const mo_prim *body = kernel->body;
    mo_json_writer *w = out->w;
    mo_json_write_string(w, "tensor", out->names[access->tensor]);
    write_axis_names(w, is_read ? "imap" : "omap", body, placed(kernel, axes, MO_PLACE_GRID));
    if (is_read) write_axis_names(w, "fmap", body, placed(kernel, axes, MO_PLACE_LOOP));
    bool split = false;
    for (int d = 0; d < access->rank; d++) split |= access->dim_inner[d] > 0;
    if (access->rank >= 0 && !split) {
        mo_json_write_compact(w, "dims", false);
        for (int d = 0; d < access->rank; d++) {
            int axis = access->dim_axis[d];
            mo_json_write_string(w, NULL, axis < 0 ? NULL : body->axes[axis].name);
        }
        mo_json_write_end(w);
    }
    mo_json_write_compact(w, "strides", true);
    MO_FOR_AXES(a, axes_of_access(access, axes)) mo_json_write_int(w, body->axes[a].name, access->stride[a]);
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
    if (node->op == MO_OP_MASK) {
        mo_json_write_string(w, "rows", node->mask_rows > 0 ? body->axes[node->mask_rows - 1].name : NULL);
        mo_json_write_string(w, "columns",
                             node->mask_columns > 0 ? body->axes[node->mask_columns - 1].name : NULL);
        mo_json_write_int(w, "offset", node->mask_offset);
    }
    if (node->reduced != 0) write_axis_names(w, "over", body, node->reduced);
}

static void write_node(const writer *out, const mo_kernel *kernel, int index)
{
    mo_json_writer *w = out->w;
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
        write_access(out, kernel, &node->access, node->axes, true);
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
        mo_json_write_int(w, "cluster", s->cluster);
        mo_json_write_int(w, "parts", s->parts);
        mo_json_write_int(w, "groups", s->groups);
        mo_json_write_int(w, "warps_p", s->warps_p);
        mo_json_write_int(w, "warps_q", s->warps_q);
        mo_json_write_int(w, "stages", s->stages);
        mo_json_write_string(w, "p_axis", axis_or_null(kernel->body, s->p_axis));
        mo_json_write_string(w, "q_axis", axis_or_null(kernel->body, s->q_axis));
        mo_json_write_string(w, "copy", mo_copy_name(s->copy));
        mo_json_write_bool(w, "wgmma", s->wgmma);
    } else if (s->kind == MO_SCHEDULE_CHAIN) {
        mo_json_write_string(w, "loop_axis", axis_or_null(kernel->body, s->loop_axis));
        mo_json_write_int(w, "groups", s->groups);
        mo_json_write_int(w, "warps_p", s->warps_p);
        mo_json_write_int(w, "stages", s->stages);
        mo_json_write_string(w, "p_axis", axis_or_null(kernel->body, s->p_axis));
        mo_json_write_string(w, "q_axis", axis_or_null(kernel->body, s->q_axis));
    } else if (s->kind == MO_SCHEDULE_BLOCK) {
        mo_json_write_string(w, "loop_axis", axis_or_null(kernel->body, s->loop_axis));
        mo_json_write_int(w, "stages", s->stages);
    }
    mo_json_write_end(w);
}

/* Chains of two and more operators that stay in registers. */
static void write_thread_graphs(const writer *out, const mo_prim *body)
{
    int *graph_of = MO_NEW_ARRAY(out->arena, int, body->n_nodes + 1);
    mo_thread_graphs(body, graph_of);
    mo_json_write_array(out->w, "thread_graphs");
    for (int last = 0; last < body->n_nodes; last++) {
        int64_t *nodes = MO_NEW_ARRAY(out->arena, int64_t, body->n_nodes);
        int count = 0;
        for (int i = 0; i <= last; i++)
            if (graph_of[i] == last) nodes[count++] = i;
        if (count > 1) mo_json_write_ints(out->w, NULL, nodes, count);
    }
    mo_json_write_end(out->w);
}

static void write_kernel(const writer *out, const mo_kernel *kernel)
{
    mo_json_writer *w = out->w;
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
    if (kernel->n_moves > 0) {
        mo_json_write_compact(w, "moves", false);
        for (int i = 0; i < kernel->n_moves; i++) mo_json_write_string(w, NULL, out->names[kernel->moves[i]]);
        mo_json_write_end(w);
    }
    mo_json_write_array(w, "nodes");
    for (int i = 0; i < body->n_nodes; i++) write_node(out, kernel, i);
    mo_json_write_end(w);
    write_thread_graphs(out, body);
    mo_json_write_array(w, "savers");
    for (int i = 0; i < body->n_savers; i++) {
        const mo_saver *saver = &body->savers[i];
        mo_json_write_compact(w, NULL, true);
        mo_json_write_int(w, "node", saver->node);
        write_access(out, kernel, &saver->access, body->nodes[saver->node].axes, false);
        mo_json_write_end(w);
    }
    mo_json_write_end(w);
    mo_json_write_end(w);
}

void mo_mugraph_write_json(mo_json_writer *w, const char *key, const mo_mugraph *graph)
{
    mo_arena *arena = mo_arena_new();
    writer out = {.w = w, .graph = graph, .arena = arena};
    name_tensors(&out, arena);
    mo_json_write_object(w, key);
    mo_json_write_string(w, "format", MO_MUGRAPH_FORMAT);
    mo_json_write_string(w, "name", graph->program->name);
    write_tensors(&out);
    mo_json_write_array(w, "kernels");
    for (int k = 0; k < graph->n_kernels; k++) write_kernel(&out, &graph->kernels[k]);
    mo_json_write_end(w);
    mo_json_write_end(w);
    mo_arena_free(arena);
}
