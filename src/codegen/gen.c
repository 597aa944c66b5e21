#include "codegen/gen.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void mo_gen_line(mo_gen *gen, const char *format, ...)
{
    mo_str line = {0};
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = mo_arena_alloc(gen->arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    if (text[0] == '}') gen->indent--;
    bool flush_left = text[0] == '#' || text[0] == '\0';
    for (int i = 0; i < gen->indent && !flush_left; i++) mo_str_add(&gen->text, "    ");
    mo_str_add(&gen->text, text);
    mo_str_add(&gen->text, "\n");
    if (length > 0 && text[length - 1] == '{') gen->indent++;
    mo_str_free(&line);
}

const char *mo_gen_type(mo_dtype dtype)
{
    return dtype == MO_F16 ? "mo_half" : dtype == MO_BF16 ? "mo_bf16" : "float";
}

const char *mo_gen_number(mo_gen *gen, double number)
{
    float rounded = (float)number;
    if (isinf(rounded)) return rounded > 0 ? "mo_as_float(0x7f800000u)" : "mo_as_float(0xff800000u)";
    char text[64];
    snprintf(text, sizeof text, "%.9g", (double)rounded);
    for (int digits = 1; digits < 9; digits++) {
        char shorter[64];
        snprintf(shorter, sizeof shorter, "%.*g", digits, (double)rounded);
        float back;
        if (sscanf(shorter, "%f", &back) == 1 && back == rounded) {
            memcpy(text, shorter, sizeof text);
            break;
        }
    }
    const char *point = strpbrk(text, ".e") == NULL ? ".0" : "";
    return mo_arena_printf(gen->arena, rounded < 0 ? "(%s%sf)" : "%s%sf", text, point);
}

const char *mo_gen_reduction(mo_op op)
{
    return op == MO_OP_MAX ? "mo_max_op" : op == MO_OP_MIN ? "mo_min_op" : "mo_sum_op";
}

static const char *const patterns[MO_OP_COUNT] = {
    [MO_OP_ADD] = "%s + %s",
    [MO_OP_SUB] = "%s - %s",
    [MO_OP_MUL] = "%s * %s",
    [MO_OP_DIV] = "%s / %s",
    [MO_OP_MAXIMUM] = "mo_max_nan(%s, %s)",
    [MO_OP_MINIMUM] = "mo_min_nan(%s, %s)",
    [MO_OP_POW] = "powf(%s, %s)",
    [MO_OP_NEG] = "-%s",
    [MO_OP_EXP] = "expf(%s)",
    [MO_OP_LOG] = "logf(%s)",
    [MO_OP_SQRT] = "sqrtf(%s)",
    [MO_OP_RSQRT] = "1.0f / sqrtf(%s)",
    [MO_OP_SQUARE] = "%1$s * %1$s",
    [MO_OP_ABS] = "fabsf(%s)",
    [MO_OP_RECIPROCAL] = "1.0f / %s",
    [MO_OP_RELU] = "mo_relu(%s)",
    [MO_OP_SIGMOID] = "mo_sigmoid(%s)",
    [MO_OP_SILU] = "mo_silu(%s)",
    [MO_OP_TANH] = "tanhf(%s)",
};

/* Beyond the extents an offset changes nothing more; clamped to them the sum stays in int. */
static const char *mask_text(mo_gen *gen, const mo_prim_node *node, const char *a,
                             const char *const index[MO_MAX_AXES])
{
    const char *row = node->mask_rows > 0 ? index[node->mask_rows - 1] : "0";
    const char *column = node->mask_columns > 0 ? index[node->mask_columns - 1] : "0";
    MO_CHECK(row != NULL && column != NULL);
    int64_t rows = node->mask_rows > 0 ? gen->g->axes[node->mask_rows - 1].extent : 1;
    int64_t columns = node->mask_columns > 0 ? gen->g->axes[node->mask_columns - 1].extent : 1;
    int64_t offset = node->mask_offset < -rows ? -rows : node->mask_offset;
    if (offset > columns) offset = columns;
    return mo_arena_printf(gen->arena, "%s <= %s + (%lld) ? %s : %s", column, row, (long long)offset, a,
                           mo_gen_number(gen, -HUGE_VAL));
}

const char *mo_gen_pointwise(mo_gen *gen, const mo_prim_node *node, const char *a, const char *b,
                             const char *const index[MO_MAX_AXES])
{
    switch (node->op) {
    case MO_OP_MASK: return mask_text(gen, node, a, index);
    case MO_OP_CLAMP:
        return mo_arena_printf(gen->arena, "mo_clamp(%s, %s, %s)", a, mo_gen_number(gen, node->min),
                               mo_gen_number(gen, node->max));
    case MO_OP_GELU:
        return mo_arena_printf(gen->arena, "mo_gelu_%s(%s)", node->approximate_tanh ? "tanh" : "erf", a);
    case MO_OP_CAST:
        if (node->dtype == MO_F32) return a;
        return mo_arena_printf(gen->arena, "mo_round<%s>(%s)", mo_gen_type(node->dtype), a);
    default: break;
    }
    const char *pattern = patterns[node->op];
    if (pattern == NULL) MO_BUG("operator %s has no text", mo_op_name(node->op));
    mo_str out = {0};
    bool first = true;
    for (const char *p = pattern; *p != '\0'; p++) {
        if (strncmp(p, "%1$s", 4) == 0) {
            mo_str_add(&out, a);
            p += 3;
        } else if (strncmp(p, "%s", 2) == 0) {
            mo_str_add(&out, first ? a : b);
            first = false;
            p++;
        } else {
            mo_str_add_bytes(&out, p, 1);
        }
    }
    const char *text = mo_arena_strdup(gen->arena, mo_str_text(&out));
    mo_str_free(&out);
    return text;
}

const char *mo_gen_tensor(mo_gen *gen, int tensor)
{
    return gen->mugraph->tensors[mo_mugraph_root(gen->mugraph, tensor)].symbol;
}

const char *mo_gen_value_name(mo_gen *gen, int node)
{
    const mo_prim_node *n = &gen->g->nodes[node];
    if (n->op == MO_OP_ITER)
        return mo_arena_printf(gen->arena, "%s_v%d", mo_gen_tensor(gen, n->access.tensor), node);
    return mo_arena_printf(gen->arena, "%s%d", mo_op_name(n->op), node);
}

const char *mo_gen_short_name(mo_gen *gen, int node)
{
    const mo_prim_node *n = &gen->g->nodes[node];
    if (n->op == MO_OP_ITER) return mo_gen_tensor(gen, n->access.tensor);
    if (n->op == MO_OP_CONST) return mo_gen_number(gen, n->number);
    return mo_gen_value_name(gen, node);
}

const char *mo_gen_describe(mo_gen *gen, int node)
{
    const mo_prim_node *n = &gen->g->nodes[node];
    mo_str out = {0};
    mo_str_printf(&out, "%s(%s", mo_op_name(n->op), n->n_in > 0 ? mo_gen_short_name(gen, n->in[0]) : "");
    if (n->n_in > 1) mo_str_printf(&out, ", %s", mo_gen_short_name(gen, n->in[1]));
    if (n->op == MO_OP_CLAMP)
        mo_str_printf(&out, ", %s, %s", mo_gen_number(gen, n->min), mo_gen_number(gen, n->max));
    if (n->op == MO_OP_MASK) mo_str_printf(&out, ", offset %lld", (long long)n->mask_offset);
    if (n->op == MO_OP_GELU) mo_str_add(&out, n->approximate_tanh ? ", tanh" : ", erf");
    mo_str_add(&out, ")");
    if (n->reduced != 0) mo_str_add(&out, " over");
    MO_FOR_AXES(a, n->reduced) mo_str_printf(&out, " %s", gen->g->axes[a].name);
    const char *text = mo_arena_strdup(gen->arena, mo_str_text(&out));
    mo_str_free(&out);
    return text;
}

const char *mo_gen_offset(mo_gen *gen, mo_axes axes, const mo_access *access,
                          const char *const index[MO_MAX_AXES])
{
    int64_t reach = gen->mugraph->tensors[access->tensor].offset;
    MO_FOR_AXES(a, axes) reach += access->stride[a] * (gen->g->axes[a].extent - 1);
    const char *cast = reach > INT32_MAX ? "(long long)" : "";
    mo_str out = {0};
    MO_FOR_AXES(a, axes) {
        if (index[a] == NULL || access->stride[a] == 0) continue;
        const char *plus = out.length > 0 ? " + " : "";
        if (access->stride[a] == 1)
            mo_str_printf(&out, "%s%s", plus, index[a]);
        else
            mo_str_printf(&out, "%s%s%s * %lld", plus, cast, index[a], (long long)access->stride[a]);
    }
    int64_t offset = gen->mugraph->tensors[access->tensor].offset;
    if (offset > 0) mo_str_printf(&out, "%s%lld", out.length > 0 ? " + " : "", (long long)offset);
    const char *text = out.length == 0 ? "0" : mo_arena_strdup(gen->arena, mo_str_text(&out));
    mo_str_free(&out);
    return text;
}

typedef struct {
    const mo_mugraph *graph;
    int count, *tensors;
    bool *written;
} parameters;

/* Each memory once, whatever windows there are into it. */
static void add_parameter(parameters *p, int tensor, bool written)
{
    int root = mo_mugraph_root(p->graph, tensor);
    for (int j = 0; j < p->count; j++)
        if (p->tensors[j] == root) return;
    p->tensors[p->count] = root;
    p->written[p->count++] = written;
}

int mo_gen_parameters(const mo_gen *gen, int **tensors, bool **written)
{
    const mo_kernel *kernel = gen->kernel;
    const mo_prim *g = kernel->body;
    parameters p = {.graph = gen->mugraph};
    *tensors = p.tensors = MO_NEW_ARRAY(gen->arena, int, g->n_nodes + g->n_savers + kernel->n_moves);
    *written = p.written = MO_NEW_ARRAY(gen->arena, bool, g->n_nodes + g->n_savers + kernel->n_moves);
    for (int i = 1; i < kernel->n_moves; i++) add_parameter(&p, kernel->moves[i], false);
    if (kernel->n_moves > 0) add_parameter(&p, kernel->moves[0], true);
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == MO_OP_ITER && (gen->mapped == NULL || !gen->mapped[i]))
            add_parameter(&p, g->nodes[i].access.tensor, false);
    for (int i = 0; i < g->n_savers; i++) add_parameter(&p, g->savers[i].access.tensor, true);
    return p.count;
}

void mo_gen_open_kernel(mo_gen *gen)
{
    int *tensors;
    bool *written;
    int count = mo_gen_parameters(gen, &tensors, &written);
    mo_str list = {0};
    for (int i = 0; i < count; i++) {
        const mo_mutensor *t = &gen->mugraph->tensors[tensors[i]];
        /* what may still be written is not constant: no __restrict__, which lets the compiler think so */
        mo_str_printf(&list, "%s%s%s *%sg_%s", i > 0 ? ",\n    " : "", written[i] ? "" : "const ",
                      mo_gen_type(t->dtype), gen->early ? "" : "__restrict__ ", t->symbol);
    }
    int cluster = gen->kernel->schedule.kind == MO_SCHEDULE_STREAM ? gen->kernel->schedule.cluster : 1;
    const char *dims = cluster > 1 ? mo_arena_printf(gen->arena, "__cluster_dims__(%d, 1, 1) ", cluster) : "";
    if (gen->kernel->schedule.kind == MO_SCHEDULE_STREAM && gen->kernel->schedule.parts > 1)
        mo_str_add(&list, ",\n    float *g_parts,\n    unsigned *g_arrived");
    for (int i = 0; i < gen->n_maps; i++)
        mo_str_printf(&list, ",\n    const __grid_constant__ mo_tensor_map %s", gen->maps[i].name);
    mo_gen_line(gen, "extern \"C\" __global__ void %s__launch_bounds__(%d) %s(\n    %s)", dims,
                gen->kernel->schedule.threads, gen->kernel->name, mo_str_text(&list));
    mo_gen_line(gen, "{");
    mo_str_free(&list);
}

void mo_gen_start_early(mo_gen *gen)
{
    gen->early = gen->arch >= 90;
}

void mo_gen_wait_for_others(mo_gen *gen)
{
    if (!gen->early) return;
    mo_gen_line(gen, "mo_grid_wait(); // for the kernel before this one");
    mo_gen_line(gen, "mo_grid_launch();");
}
