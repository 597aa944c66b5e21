/* Validity, text form and hash of muGraphs. */
#include "ir/mugraph.h"

#include "base/status.h"
#include "ir/block.h"
#include "ir/chain.h"
#include "ir/stream.h"

#include <string.h>

static const char *check_places(const mo_kernel *kernel)
{
    const mo_prim *g = kernel->body;
    const mo_schedule *s = &kernel->schedule;
    if (s->threads < 1 || s->threads > 1024) return "block size out of range";
    for (int a = 0; a < g->n_axes; a++) {
        if (s->tile[a] < 1 || s->tile[a] > g->axes[a].extent) return "tile larger than its axis";
        if (s->place[a] == MO_PLACE_WHOLE && s->tile[a] != g->axes[a].extent) return "whole axis with a tile";
    }
    return NULL;
}

/* A row that is divided among blocks: they do not meet, so that nothing may be reduced along it. */
static const char *check_divided_row(const mo_prim *g, const mo_schedule *s)
{
    if (s->tile[s->row_axis] % ((int64_t)s->lanes * s->vector) != 0 || !s->resident)
        return "a divided row whose parts do not fit its threads";
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].reduced != 0) return "a reduction along a divided row";
    for (int i = 0; i < g->n_savers; i++)
        if (!(g->nodes[g->savers[i].node].axes >> s->row_axis & 1u)) return "an output beside a divided row";
    return NULL;
}

static const char *check_row(const mo_kernel *kernel)
{
    const mo_prim *g = kernel->body;
    const mo_schedule *s = &kernel->schedule;
    mo_axes row = 1u << s->row_axis, outer = g->nodes[g->savers[0].node].axes & ~row;
    if (s->lanes < 1 || (s->lanes & (s->lanes - 1)) != 0 || s->threads % s->lanes != 0)
        return "lanes do not share a block";
    if (s->vector < 1 || g->axes[s->row_axis].extent % s->vector != 0)
        return "row not a multiple of the vector";
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_prim_node *node = &g->nodes[i];
        if ((node->axes & ~(outer | row)) != 0) return "a value with an axis beside the row's";
        if (node->reduced != 0 && node->reduced != row)
            return "a reduction over an axis that is not the row's";
    }
    for (int i = 0; i < g->n_savers; i++)
        if ((g->nodes[g->savers[i].node].axes & ~row) != outer) return "outputs with different rows";
    return s->tile[s->row_axis] < g->axes[s->row_axis].extent ? check_divided_row(g, s) : NULL;
}

static const char *const copy_names[] = {"async", "tensor", "direct"};

const char *mo_copy_name(mo_copy copy)
{
    return copy_names[copy];
}

bool mo_copy_parse(const char *name, mo_copy *copy)
{
    for (int i = 0; i < 3; i++) {
        *copy = (mo_copy)i;
        if (strcmp(name, copy_names[i]) == 0) return true;
    }
    *copy = MO_COPY_ASYNC;
    return false;
}

static const char *check_stream(mo_arena *scratch, const mo_kernel *kernel)
{
    const mo_schedule *s = &kernel->schedule;
    mo_stream stream;
    int64_t grid[3];
    if (s->groups < 1 || s->stages < 1) return "no ring";
    if (s->cluster != 1 && s->cluster != 2) return "cluster of neither one block nor two";
    if (s->parts < 1 || (s->parts > 1 && s->cluster > 1)) return "no parts, or parts of a cluster";
    if (s->wgmma && (s->copy != MO_COPY_TENSOR || s->warps_q != 1 || s->warps_p % 4 != 0))
        return "warp-group products without whole warp groups or tensor copies";
    if (s->threads != s->groups * s->warps_p * s->warps_q * 32) return "threads do not match the warps";
    if (!mo_stream_grid(kernel->body, s, grid)) return "more blocks than a launch has";
    return mo_stream_analyse(scratch, kernel, &stream);
}

static const char *check_chain(mo_arena *scratch, const mo_kernel *kernel)
{
    const mo_schedule *s = &kernel->schedule;
    mo_chain chain;
    int64_t grid[3];
    if (s->groups < 1 || s->stages < 1) return "no ring";
    if (s->threads != s->groups * s->warps_p * 32) return "threads do not match the warps";
    if (!mo_chain_grid(kernel, grid)) return "more blocks than a launch has";
    return mo_chain_analyse(scratch, kernel, &chain);
}

static const char *check_block(mo_arena *scratch, const mo_kernel *kernel)
{
    mo_block block;
    if (kernel->schedule.stages < 1) return "no stage";
    return mo_block_analyse(scratch, kernel, &block);
}

static const char *check_copy(const mo_kernel *kernel)
{
    const mo_program *program = kernel->body->program;
    if (kernel->program_node < 0 || kernel->program_node >= program->n_nodes) return "a copy of no node";
    const mo_node *node = &program->nodes[kernel->program_node];
    if (node->op != MO_OP_CONCAT && node->op != MO_OP_RESHAPE) return "a copy of a node that moves no data";
    if (kernel->body->n_nodes > 0 || kernel->body->n_savers > 0) return "a copy with a block graph";
    return kernel->n_moves == node->n_inputs + 1 ? NULL : "a copy with other tensors than its node";
}

const char *mo_kernel_check(mo_arena *scratch, const mo_kernel *kernel)
{
    if (kernel->schedule.kind == MO_SCHEDULE_COPY) return check_copy(kernel);
    const char *wrong = mo_prim_check(kernel->body);
    if (wrong == NULL) wrong = check_places(kernel);
    if (wrong != NULL) return wrong;
    switch (kernel->schedule.kind) {
    case MO_SCHEDULE_PLAIN: return NULL;
    case MO_SCHEDULE_ROW: return check_row(kernel);
    case MO_SCHEDULE_STREAM: return check_stream(scratch, kernel);
    case MO_SCHEDULE_CHAIN: return check_chain(scratch, kernel);
    case MO_SCHEDULE_BLOCK: return check_block(scratch, kernel);
    case MO_SCHEDULE_COPY: break;
    }
    return "unknown schedule";
}

static const char *check_access(const mo_mugraph *graph, const mo_prim *g, mo_axes axes,
                                const mo_access *access)
{
    if (access->tensor < 0 || access->tensor >= graph->n_tensors)
        return "access to a tensor that does not exist";
    const mo_mutensor *t = &graph->tensors[access->tensor];
    int64_t last = 0, limit = 0;
    MO_FOR_AXES(a, axes) last += access->stride[a] * (g->axes[a].extent - 1);
    for (int d = 0; d < t->shape.rank; d++) limit += t->strides[d] * (t->shape.dim[d] - 1);
    return last <= limit ? NULL : "access beyond the end of a tensor";
}

/* A saver writes each element of its tensor exactly once: ordered by stride, its value's axes nest without
 * gaps up to the size of the tensor. */
static const char *check_saver(const mo_mugraph *graph, const mo_prim *g, const mo_saver *saver)
{
    mo_axes left = g->nodes[saver->node].axes;
    const char *wrong = check_access(graph, g, left, &saver->access);
    if (wrong != NULL) return wrong;
    if (graph->tensors[saver->access.tensor].window_of > 0) return "a saver into a window";
    int64_t written = 1;
    for (bool found = true; found;) {
        found = false;
        MO_FOR_AXES(a, left) {
            if (g->axes[a].extent > 1 && saver->access.stride[a] != written) continue;
            written *= g->axes[a].extent;
            left &= ~(1u << a);
            found = true;
            break;
        }
    }
    bool whole = left == 0 && written == mo_shape_elements(graph->tensors[saver->access.tensor].shape);
    return whole ? NULL : "a saver that does not write each element of its tensor once";
}

/* Every tensor is written at most once, and before it is read. */
static const char *check_moves(const mo_mugraph *graph, const mo_kernel *kernel, bool *written)
{
    for (int i = 0; i < kernel->n_moves; i++)
        if (kernel->moves[i] < 0 || kernel->moves[i] >= graph->n_tensors)
            return "a copy of a tensor that does not exist";
    for (int i = 1; i < kernel->n_moves; i++)
        if (!written[mo_mugraph_root(graph, kernel->moves[i])])
            return "a tensor is read before it is written";
    if (kernel->n_moves == 0) return NULL;
    const mo_mutensor *to = &graph->tensors[kernel->moves[0]];
    if (to->window_of > 0) return "a copy into a window";
    if (written[kernel->moves[0]]) return "a tensor is written twice";
    written[kernel->moves[0]] = true;
    return NULL;
}

static const char *check_order(const mo_mugraph *graph, bool *written)
{
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_prim *g = graph->kernels[k].body;
        const char *bad = check_moves(graph, &graph->kernels[k], written);
        if (bad != NULL) return bad;
        for (int i = 0; i < g->n_nodes; i++) {
            if (g->nodes[i].op != MO_OP_ITER) continue;
            const char *wrong = check_access(graph, g, g->nodes[i].axes, &g->nodes[i].access);
            if (wrong != NULL) return wrong;
            if (!written[mo_mugraph_root(graph, g->nodes[i].access.tensor)])
                return "a tensor is read before it is written";
        }
        for (int i = 0; i < g->n_savers; i++) {
            const char *wrong = check_saver(graph, g, &g->savers[i]);
            if (wrong != NULL) return wrong;
            if (written[g->savers[i].access.tensor]) return "a tensor is written twice";
            written[g->savers[i].access.tensor] = true;
        }
    }
    return NULL;
}

const char *mo_mugraph_check(mo_arena *scratch, const mo_mugraph *graph)
{
    bool *written = MO_NEW_ARRAY(scratch, bool, graph->n_tensors + 1);
    for (int i = 0; i < graph->program->n_inputs; i++) written[i] = true;
    for (int k = 0; k < graph->n_kernels; k++) {
        const char *wrong = mo_kernel_check(scratch, &graph->kernels[k]);
        if (wrong != NULL) return wrong;
    }
    const char *wrong = check_order(graph, written);
    if (wrong != NULL) return wrong;
    bool *stored = MO_NEW_ARRAY(scratch, bool, graph->program->n_outputs + 1);
    for (int t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].output >= 0) stored[graph->tensors[t].output] = written[t];
    for (int i = 0; i < graph->program->n_outputs; i++)
        if (!stored[i]) return "an output is never written";
    return NULL;
}

static const char *const place_names[] = {"grid", "loop", "whole"};
static const char *const schedule_names[] = {"plain", "row", "stream", "chain", "copy", "block"};

static void print_schedule(mo_str *out, const mo_kernel *kernel)
{
    const mo_schedule *s = &kernel->schedule;
    mo_str_printf(out, "  schedule %s threads %d", schedule_names[s->kind], s->threads);
    if (s->kind == MO_SCHEDULE_ROW)
        mo_str_printf(out, " row %s lanes %d vector %d%s%s", kernel->body->axes[s->row_axis].name, s->lanes,
                      s->vector, s->resident ? " resident" : "", s->rows_fast ? " rows-fast" : "");
    if (s->kind == MO_SCHEDULE_STREAM)
        mo_str_printf(out, " cluster %d parts %d groups %d warps %dx%d stages %d copy %s%s", s->cluster,
                      s->parts, s->groups, s->warps_p, s->warps_q, s->stages, mo_copy_name(s->copy),
                      s->wgmma ? " wgmma" : "");
    if (s->kind == MO_SCHEDULE_CHAIN)
        mo_str_printf(out, " groups %d warps %d stages %d", s->groups, s->warps_p, s->stages);
    if (s->kind == MO_SCHEDULE_BLOCK) mo_str_printf(out, " stages %d", s->stages);
    mo_str_add(out, "\n");
    for (int a = 0; a < kernel->body->n_axes; a++)
        mo_str_printf(out, "  place %s %s %lld\n", kernel->body->axes[a].name, place_names[s->place[a]],
                      (long long)s->tile[a]);
}

void mo_mugraph_print(mo_str *out, const mo_mugraph *graph)
{
    for (int t = 0; t < graph->n_tensors; t++) {
        mo_str_printf(out, "tensor t%d %s %s ", t, graph->tensors[t].symbol,
                      mo_dtype_name(graph->tensors[t].dtype));
        mo_shape_print(out, graph->tensors[t].shape);
        if (graph->tensors[t].window_of > 0)
            mo_str_printf(out, " in t%d from %lld", graph->tensors[t].window_of - 1,
                          (long long)graph->tensors[t].offset);
        mo_str_add(out, "\n");
    }
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_kernel *kernel = &graph->kernels[k];
        mo_str_printf(out, "kernel %s %s\n", kernel->name,
                      kernel->program_node >= 0 ? "predefined" : "graph");
        print_schedule(out, kernel);
        for (int i = 0; i < kernel->n_moves; i++)
            mo_str_printf(out, "  %s t%d\n", i == 0 ? "writes" : "reads", kernel->moves[i]);
        mo_prim_print(out, kernel->body);
    }
}

static void hash_schedule(mo_str *bytes, const mo_kernel *kernel)
{
    const mo_schedule *s = &kernel->schedule;
    const int facts[] = {s->kind,   s->threads,   s->row_axis, s->lanes,  s->rows_fast, s->resident,
                         s->vector, s->loop_axis, s->cluster,  s->groups, s->warps_p,   s->warps_q,
                         s->stages, s->p_axis,    s->q_axis,   s->copy,   s->wgmma,     s->parts};
    mo_str_add_bytes(bytes, facts, sizeof facts);
    for (int a = 0; a < kernel->body->n_axes; a++) {
        const int64_t place[] = {s->place[a], s->tile[a]};
        mo_str_add_bytes(bytes, place, sizeof place);
    }
}

mo_hash128 mo_mugraph_hash(const mo_mugraph *graph)
{
    mo_str bytes = {0};
    for (int t = graph->program->n_inputs; t < graph->n_tensors; t++) {
        const mo_mutensor *tensor = &graph->tensors[t];
        const int64_t facts[] = {tensor->dtype, tensor->compute, tensor->shape.rank};
        mo_str_add_bytes(&bytes, facts, sizeof facts);
        mo_str_add_bytes(&bytes, tensor->shape.dim, sizeof tensor->shape.dim[0] * (size_t)tensor->shape.rank);
    }
    for (int k = 0; k < graph->n_kernels; k++) {
        hash_schedule(&bytes, &graph->kernels[k]);
        if (graph->kernels[k].n_moves > 0)
            mo_str_add_bytes(&bytes, graph->kernels[k].moves,
                             sizeof(int) * (size_t)graph->kernels[k].n_moves);
        mo_hash128 body = mo_prim_hash(graph->kernels[k].body, 0);
        mo_str_add_bytes(&bytes, &body, sizeof body);
    }
    mo_hash128 hash = mo_hash_128(mo_str_text(&bytes), bytes.length, 0);
    mo_str_free(&bytes);
    return hash;
}
