/* The emitted file: head comment, library, kernels; the host part is host.c. */
#include "codegen/emit.h"

#include "base/status.h"
#include "codegen/gen.h"
#include "codegen/host.h"
#include "ir/stream.h"

#include <string.h>

#define WORKSPACE_ALIGNMENT 256

static int64_t aligned(int64_t bytes)
{
    return (bytes + WORKSPACE_ALIGNMENT - 1) / WORKSPACE_ALIGNMENT * WORKSPACE_ALIGNMENT;
}

/* Bytes of the counters of a kernel whose blocks share a loop: one for each tile. */
static int64_t counter_bytes(const mo_kernel *kernel)
{
    int64_t grid[3];
    const mo_schedule *s = &kernel->schedule;
    if (s->kind != MO_SCHEDULE_STREAM || s->parts < 2 || !mo_stream_grid(kernel->body, s, grid)) return 0;
    return grid[0] / s->parts * grid[1] * grid[2] * 4;
}

/* Where each intermediate lies in the workspace, behind the counters; -1 for inputs and outputs. */
static int64_t *place_workspace(mo_arena *arena, const mo_mugraph *graph, mo_emitted *emitted)
{
    int64_t *total = &emitted->workspace_bytes;
    int64_t *offset = MO_NEW_ARRAY(arena, int64_t, graph->n_tensors + 1);
    bool *written = MO_NEW_ARRAY(arena, bool, graph->n_tensors + 1);
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_prim *g = graph->kernels[k].body;
        for (int s = 0; s < g->n_savers; s++) written[g->savers[s].access.tensor] = true;
        if (graph->kernels[k].n_moves > 0) written[graph->kernels[k].moves[0]] = true;
    }
    emitted->zeroed_bytes = 0;
    for (int k = 0; k < graph->n_kernels; k++) emitted->zeroed_bytes += counter_bytes(&graph->kernels[k]);
    *total = aligned(emitted->zeroed_bytes);
    for (int t = 0; t < graph->n_tensors; t++) {
        const mo_mutensor *tensor = &graph->tensors[t];
        offset[t] = -1;
        if (!written[t] || tensor->output >= 0) continue;
        offset[t] = *total;
        int64_t bytes = mo_shape_elements(tensor->shape) * mo_dtype_size(tensor->dtype);
        *total += aligned(bytes);
    }
    return offset;
}

static mo_arg argument(const mo_mugraph *graph, const int64_t *offset, int tensor)
{
    if (offset[tensor] >= 0) return (mo_arg){MO_ARG_WORKSPACE, tensor, offset[tensor], NULL};
    if (graph->tensors[tensor].output >= 0)
        return (mo_arg){MO_ARG_OUTPUT, graph->tensors[tensor].output, 0, NULL};
    MO_CHECK(tensor < graph->program->n_inputs);
    return (mo_arg){MO_ARG_INPUT, tensor, 0, NULL};
}

static void add_maps(mo_arena *arena, const mo_mugraph *graph, const int64_t *offset, const mo_gen *gen,
                     mo_launch *to)
{
    mo_arg *args = MO_NEW_ARRAY(arena, mo_arg, to->n_args + gen->n_maps + 1);
    memcpy(args, to->args, sizeof *args * (size_t)to->n_args);
    for (int i = 0; i < gen->n_maps; i++) {
        const mo_gen_map *map = &gen->maps[i];
        const mo_mutensor *tensor = &graph->tensors[map->tensor];
        mo_arg *arg = &args[to->n_args++];
        *arg = argument(graph, offset, mo_mugraph_root(graph, map->tensor));
        arg->offset += tensor->offset * mo_dtype_size(tensor->dtype);
        arg->map = &map->map;
    }
    to->args = args;
}

static bool emit_kernel(mo_gen *gen, mo_gen_launch *launch)
{
    switch (gen->kernel->schedule.kind) {
    case MO_SCHEDULE_PLAIN: return mo_gen_plain(gen, launch);
    case MO_SCHEDULE_ROW: return mo_gen_row(gen, launch);
    case MO_SCHEDULE_STREAM: return mo_gen_stream(gen, launch);
    case MO_SCHEDULE_CHAIN: return mo_gen_chain(gen, launch);
    case MO_SCHEDULE_COPY: return mo_gen_copy(gen, launch);
    case MO_SCHEDULE_BLOCK: gen->reason = "the generator has no form for this block graph yet"; return false;
    }
    return false;
}

static void describe_axes(mo_str *out, const mo_prim *g, mo_axes axes, bool extents)
{
    const char *comma = "";
    MO_FOR_AXES(a, axes) {
        mo_str_printf(out, "%s%s", comma, g->axes[a].name);
        if (extents) mo_str_printf(out, " %lld", (long long)g->axes[a].extent);
        comma = ", ";
    }
}

/* The block graph in the names that the kernel uses: a line for each operator. */
static void describe_kernel(mo_str *out, mo_gen *gen)
{
    const mo_prim *g = gen->g;
    mo_axes used = 0;
    for (int i = 0; i < g->n_nodes; i++) used |= g->nodes[i].axes;
    mo_str_printf(out, "/* Kernel %s%s", gen->kernel->name, used != 0 ? ": axes " : "");
    describe_axes(out, g, used, true);
    mo_str_add(out, "\n");
    for (int i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op == MO_OP_ITER || g->nodes[i].op == MO_OP_CONST) continue;
        mo_str_printf(out, " *   %s[", mo_gen_value_name(gen, i));
        describe_axes(out, g, g->nodes[i].axes, false);
        mo_str_printf(out, "] = %s\n", mo_gen_describe(gen, i));
    }
    const mo_kernel *kernel = gen->kernel;
    for (int i = 0; i < kernel->n_moves; i++)
        mo_str_printf(out, "%s%s%s",
                      i == 0   ? " *   "
                      : i == 1 ? " = moved "
                               : ", ",
                      mo_gen_tensor(gen, kernel->moves[i]), i + 1 == kernel->n_moves ? "\n" : "");
    for (int s = 0; s < g->n_savers; s++)
        mo_str_printf(out, " *   %s = %s\n", mo_gen_tensor(gen, g->savers[s].access.tensor),
                      mo_gen_short_name(gen, g->savers[s].node));
    mo_str_add(out, " */\n");
}

bool mo_emit_kernels(mo_arena *arena, const mo_mugraph *graph, int arch, mo_str *text, mo_emitted *emitted,
                     const char **reason)
{
    int64_t *offset = place_workspace(arena, graph, emitted), counters = 0;
    emitted->launches = MO_NEW_ARRAY(arena, mo_launch, graph->n_kernels + 1);
    emitted->n_launches = graph->n_kernels;
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_kernel *kernel = &graph->kernels[k];
        mo_gen gen = {.arena = arena, .mugraph = graph, .kernel = kernel, .g = kernel->body, .arch = arch};
        mo_gen_launch launch = {0};
        bool fits = emit_kernel(&gen, &launch);
        if (fits) {
            describe_kernel(text, &gen);
            mo_str_add(text, mo_str_text(&gen.text));
            mo_str_add(text, "\n");
        }
        mo_str_free(&gen.text);
        *reason = gen.reason;
        if (!fits) return false;
        int *tensors;
        bool *written;
        mo_launch *to = &emitted->launches[k];
        *to = (mo_launch){.kernel = kernel->name,
                          .cluster = {launch.cluster > 1 ? launch.cluster : 1, 1, 1},
                          .early = gen.early,
                          .shared_bytes = launch.shared_bytes};
        memcpy(to->grid, launch.grid, sizeof to->grid);
        memcpy(to->block, launch.block, sizeof to->block);
        to->n_args = mo_gen_parameters(&gen, &tensors, &written);
        to->args = MO_NEW_ARRAY(arena, mo_arg, to->n_args + 3);
        for (int i = 0; i < to->n_args; i++) to->args[i] = argument(graph, offset, tensors[i]);
        if (launch.parts_bytes > 0) {
            to->args[to->n_args++] = (mo_arg){MO_ARG_WORKSPACE, MO_ARG_PARTS, emitted->workspace_bytes, NULL};
            to->args[to->n_args++] = (mo_arg){MO_ARG_WORKSPACE, MO_ARG_ARRIVED, counters, NULL};
            emitted->workspace_bytes += aligned(launch.parts_bytes);
            counters += counter_bytes(kernel);
        }
        add_maps(arena, graph, offset, &gen, to);
    }
    return true;
}

static void comment_lines(mo_str *out, const char *text)
{
    while (text != NULL && *text != '\0') {
        size_t length = strcspn(text, "\n");
        mo_str_printf(out, "// %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void head_comment(mo_str *out, const mo_mugraph *graph, int arch, const mo_emit_header *header)
{
    const mo_program *program = graph->program;
    char hash[33];
    mo_hash_hex(program->hash, hash);
    mo_str_printf(out, "// %s, made by mirage-opt %s.\n// Program hash %s, target sm_%d.\n", program->symbol,
                  header->version == NULL ? "" : header->version, hash, arch);
    if (header->options != NULL) mo_str_printf(out, "// Options: %s\n", header->options);
    comment_lines(out, header->measurements);
    mo_str_add(out, "//\n// The graph of kernels:\n");
    mo_str text = {0};
    mo_program_print(&text, program);
    comment_lines(out, mo_str_text(&text));
    mo_str_clear(&text);
    for (int k = 0; k < graph->n_kernels; k++) mo_emit_picture(&text, graph, k);
    comment_lines(out, mo_str_text(&text));
    mo_str_free(&text);
    mo_str_printf(out,
                  "\n#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < %d\n#error \"made for sm_%d\"\n#endif\n\n",
                  arch * 10, arch);
}

bool mo_emit(mo_arena *arena, const mo_mugraph *graph, int arch, const mo_emit_header *header,
             mo_emitted *emitted, const char **reason)
{
    static const mo_emit_header nothing = {0};
    if (header == NULL) header = &nothing;
    *emitted = (mo_emitted){0};
    mo_str kernels = {0}, test = {0}, out = {0};
    mo_emitted reference = {0};
    bool fits = mo_emit_kernels(arena, graph, arch, &kernels, emitted, reason);
    if (fits && header->self_test != NULL)
        fits = mo_emit_kernels(arena, header->self_test, arch, &test, &reference, reason);
    if (fits) {
        head_comment(&out, graph, arch, header);
        mo_str used = {0};
        mo_str_printf(&used, "%s\n%s", mo_str_text(&kernels), mo_str_text(&test));
        mo_emit_library(arena, &out, mo_str_text(&used));
        mo_str_free(&used);
        mo_str_add(&out, mo_str_text(&kernels));
        mo_str_add(&out, "#if !defined(__CUDACC_RTC__) && !defined(MO_EMU)\n");
        mo_emit_host(&out, graph, emitted);
        if (header->self_test != NULL) {
            mo_str_add(&out, "\n#ifdef MIRAGE_OPT_MAIN\n");
            mo_str_add(&out, mo_str_text(&test));
            mo_emit_main(&out, header->self_test, &reference);
            mo_str_add(&out, "#endif\n");
        }
        mo_str_add(&out, "#endif\n");
        emitted->source = mo_arena_strdup(arena, mo_str_text(&out));
    }
    mo_str_free(&kernels);
    mo_str_free(&test);
    mo_str_free(&out);
    return fits;
}
