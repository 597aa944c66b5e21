#include "programs.h"

#include "base/rng.h"
#include "lower/lower.h"
#include "parse/parse.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const tiny_programs[] = {
    /* a sum of a product */
    "'inputs':[{'name':'X','shape':[3,4],'dtype':'f32'},{'name':'W','shape':[4,5],'dtype':'f32'}],"
    "'nodes':[{'op':'matmul','inputs':['X','W'],'output':'P'},"
    "{'op':'sum','inputs':['P'],'axes':[-1],'output':'Y'}],'outputs':['Y']",
    /* a chain */
    "'inputs':[{'name':'A','shape':[2,3],'dtype':'f32'},{'name':'B','shape':[3,4],'dtype':'f32'},"
    "{'name':'C','shape':[4,5],'dtype':'f32'}],"
    "'nodes':[{'op':'matmul','inputs':['A','B'],'output':'P'},"
    "{'op':'matmul','inputs':['P','C'],'output':'Y'}],'outputs':['Y']",
    /* a factor in common */
    "'inputs':[{'name':'A','shape':[3,4],'dtype':'f32'},{'name':'B','shape':[3,4],'dtype':'f32'},"
    "{'name':'C','shape':[3,4],'dtype':'f32'}],"
    "'nodes':[{'op':'mul','inputs':['A','C'],'output':'P'},{'op':'mul','inputs':['B','C'],'output':'Q'},"
    "{'op':'add','inputs':['P','Q'],'output':'Y'}],'outputs':['Y']",
    /* a row factor before a product */
    "'inputs':[{'name':'X','shape':[3,4],'dtype':'f32'},{'name':'S','shape':[3,1],'dtype':'f32'},"
    "{'name':'W','shape':[4,5],'dtype':'f32'}],"
    "'nodes':[{'op':'div','inputs':['X','S'],'output':'P'},"
    "{'op':'matmul','inputs':['P','W'],'output':'Y'}],'outputs':['Y']",
    /* quotients of quotients */
    "'inputs':[{'name':'A','shape':[3],'dtype':'f32'},{'name':'B','shape':[3],'dtype':'f32'},"
    "{'name':'C','shape':[3],'dtype':'f32'}],"
    "'nodes':[{'op':'div','inputs':['A','B'],'output':'P'},{'op':'div','inputs':['P','C'],'output':'Y'}],"
    "'outputs':['Y']",
    /* exponentials and roots that merge */
    "'inputs':[{'name':'A','shape':[3,4],'dtype':'f32'},{'name':'B','shape':[3,4],'dtype':'f32'}],"
    "'nodes':[{'op':'exp','inputs':['A'],'output':'P'},{'op':'exp','inputs':['B'],'output':'Q'},"
    "{'op':'mul','inputs':['P','Q'],'output':'Y'}],'outputs':['Y']",
    "'inputs':[{'name':'A','shape':[3,4],'dtype':'f32'},{'name':'B','shape':[3,4],'dtype':'f32'}],"
    "'nodes':[{'op':'mul','inputs':['A','B'],'output':'P'},{'op':'sqrt','inputs':['P'],'output':'Y'}],"
    "'outputs':['Y']",
    /* a difference, and numbers */
    "'inputs':[{'name':'A','shape':[3,4],'dtype':'f32'},{'name':'B','shape':[3,4],'dtype':'f32'}],"
    "'nodes':[{'op':'sub','inputs':['A','B'],'output':'P'},{'op':'mul','inputs':['P',0.5],'output':'Y'}],"
    "'outputs':['Y']",
    /* exp-normalised sum, raw */
    "'inputs':[{'name':'S','shape':[3,4],'dtype':'f32'}],"
    "'nodes':[{'op':'exp','inputs':['S'],'output':'E'},"
    "{'op':'sum','inputs':['E'],'axes':[-1],'keepdims':true,'output':'Z'},"
    "{'op':'div','inputs':['E','Z'],'output':'Y'}],'outputs':['Y']",
    /* opaque functions, two outputs */
    "'inputs':[{'name':'A','shape':[3,4],'dtype':'f32'},{'name':'B','shape':[4],'dtype':'f32'}],"
    "'nodes':[{'op':'silu','inputs':['A'],'output':'P'},{'op':'mul','inputs':['P','B'],'output':'Y'},"
    "{'op':'sum','inputs':['Y'],'axes':[1],'output':'Z'}],'outputs':['Y','Z']",
    /* one tensor in two roles, with equal extents */
    "'inputs':[{'name':'X','shape':[4,4],'dtype':'f32'}],"
    "'nodes':[{'op':'matmul','inputs':['X','X'],'transpose_b':true,'output':'Y'}],'outputs':['Y']",
    "'inputs':[{'name':'X','shape':[4,4],'dtype':'f32'}],"
    "'nodes':[{'op':'matmul','inputs':['X','X'],'transpose_b':true,'output':'P'},"
    "{'op':'matmul','inputs':['P','X'],'output':'Y'}],'outputs':['Y']",
    /* maximum */
    "'inputs':[{'name':'A','shape':[3,4],'dtype':'f32'},{'name':'B','shape':[4],'dtype':'f32'}],"
    "'nodes':[{'op':'add','inputs':['A','B'],'output':'P'},"
    "{'op':'maximum','inputs':['P','A'],'output':'Q'},{'op':'max','inputs':['Q'],'axes':[1],'output':'Y'}],"
    "'outputs':['Y']",
    /* neg, rsqrt, square */
    "'inputs':[{'name':'A','shape':[3,4],'dtype':'f32'}],"
    "'nodes':[{'op':'square','inputs':['A'],'output':'P'},"
    "{'op':'sum','inputs':['P'],'axes':[1],'keepdims':true,'output':'S'},"
    "{'op':'rsqrt','inputs':['S'],'output':'R'},{'op':'mul','inputs':['A','R'],'output':'Q'},"
    "{'op':'neg','inputs':['Q'],'output':'Y'}],'outputs':['Y']",
};
const int n_tiny_programs = sizeof tiny_programs / sizeof tiny_programs[0];

const int tiny_new_operators[] = {3, 3, 2, 3, 2, 2, 2, 3, 2, 2, 3, 3, 2, 2};

mo_prim *lower_text(mo_arena *arena, const char *text)
{
    char *json = mo_arena_printf(arena, "{\"format\":\"mirage-opt/1\",%s}", text);
    for (char *c = json; *c; c++)
        if (*c == '\'') *c = '"';
    mo_error *error = MO_NEW(arena, mo_error);
    mo_program *program = NULL;
    mo_lowered lowered;
    cr_assert_eq(mo_parse_program(arena, "test.json", json, strlen(json), &program, NULL, error), MO_OK, "%s",
                 error->text);
    cr_assert_eq(mo_lower_program(arena, program, 1000, &lowered, error), MO_OK, "%s", error->text);
    cr_assert_eq(lowered.n_subprograms, 1, "the program does not lower as a whole: %s", json);
    return lowered.subprograms[0].graph;
}

static bool commutes(mo_op op)
{
    return op == MO_OP_ADD || op == MO_OP_MUL || op == MO_OP_MATMUL || op == MO_OP_MAXIMUM ||
           op == MO_OP_MINIMUM;
}

const char *graph_text(mo_arena *arena, const mo_prim *graph)
{
    const char **text = MO_NEW_ARRAY(arena, const char *, graph->n_nodes);
    for (int i = 0; i < graph->n_nodes; i++) {
        const mo_prim_node *node = &graph->nodes[i];
        const char *a = text[node->in[0]], *b = text[node->in[1]];
        if (node->op == MO_OP_ITER) {
            text[i] = graph->program->tensors[node->access.tensor].name;
        } else if (node->op == MO_OP_CONST) {
            text[i] = mo_arena_printf(arena, "%g", node->number);
        } else if (node->n_in == 1) {
            text[i] = mo_arena_printf(arena, "%s(%s)", mo_op_name(node->op), a);
        } else {
            bool swap = commutes(node->op) && strcmp(a, b) > 0;
            text[i] = mo_arena_printf(arena, "%s(%s,%s)", mo_op_name(node->op), swap ? b : a, swap ? a : b);
        }
    }
    return text[graph->savers[0].node];
}

bool has_text(mo_arena *arena, const mo_algebra_result *result, const char *text)
{
    for (int i = 0; i < result->n_graphs; i++)
        if (strcmp(graph_text(arena, result->graphs[i]), text) == 0) return true;
    return false;
}

static double input(uint64_t seed, int tensor, int64_t offset)
{
    uint64_t bits = mo_rng_at(mo_rng_at(seed, (uint64_t)tensor), (uint64_t)offset);
    return 0.5 + (double)(bits >> 11) * 0x1p-53;
}

static double pointwise(const mo_prim_node *node, double a, double b)
{
    switch (node->op) {
    case MO_OP_ADD: return a + b;
    case MO_OP_SUB: return a - b;
    case MO_OP_MUL: return a * b;
    case MO_OP_DIV: return a / b;
    case MO_OP_MAXIMUM: return fmax(a, b);
    case MO_OP_MINIMUM: return fmin(a, b);
    case MO_OP_POW: return pow(a, b);
    case MO_OP_NEG: return -a;
    case MO_OP_EXP: return exp(a);
    case MO_OP_SQRT: return sqrt(a);
    case MO_OP_RSQRT: return 1 / sqrt(a);
    case MO_OP_RECIPROCAL: return 1 / a;
    case MO_OP_SQUARE: return a * a;
    case MO_OP_SIGMOID: return 1 / (1 + exp(-a));
    case MO_OP_SILU: return a / (1 + exp(-a));
    case MO_OP_RELU: return fmax(a, 0);
    case MO_OP_TANH: return tanh(a);
    default: break;
    }
    cr_assert_fail("no float64 form of %s here", mo_op_name(node->op));
    return 0;
}

/* Value of a node at one point (an index for each axis). */
static double value_at(const mo_prim *g, int node_index, int64_t *index, uint64_t seed)
{
    const mo_prim_node *node = &g->nodes[node_index];
    if (node->op == MO_OP_CONST) return node->number;
    if (node->op == MO_OP_ITER) {
        int64_t offset = 0;
        MO_FOR_AXES(a, node->axes) offset += index[a] * node->access.stride[a];
        return input(seed, node->access.tensor, offset);
    }
    if (!node->reduced) {
        double a = value_at(g, node->in[0], index, seed);
        return pointwise(node, a, node->n_in == 2 ? value_at(g, node->in[1], index, seed) : 0);
    }
    int64_t inner[MO_MAX_AXES], steps = mo_prim_extent(g, node->reduced);
    memcpy(inner, index, sizeof inner);
    double total = node->op == MO_OP_MAX ? -INFINITY : node->op == MO_OP_MIN ? INFINITY : 0;
    for (int64_t step = 0; step < steps; step++) {
        int64_t rest = step;
        MO_FOR_AXES(a, node->reduced) {
            inner[a] = rest % g->axes[a].extent;
            rest /= g->axes[a].extent;
        }
        double x = value_at(g, node->in[0], inner, seed);
        if (node->op == MO_OP_MATMUL) x *= value_at(g, node->in[1], inner, seed);
        if (node->op == MO_OP_MAX)
            total = fmax(total, x);
        else if (node->op == MO_OP_MIN)
            total = fmin(total, x);
        else
            total += x;
    }
    return total;
}

double *evaluate_double(mo_arena *arena, const mo_prim *g, uint64_t seed, int64_t *count)
{
    *count = 0;
    for (int s = 0; s < g->n_savers; s++) *count += mo_prim_extent(g, g->nodes[g->savers[s].node].axes);
    double *out = MO_NEW_ARRAY(arena, double, *count), *at = out;
    for (int s = 0; s < g->n_savers; s++) {
        mo_axes axes = g->nodes[g->savers[s].node].axes;
        int64_t index[MO_MAX_AXES] = {0}, n = mo_prim_extent(g, axes);
        for (int64_t i = 0; i < n; i++) {
            int64_t rest = i;
            MO_FOR_AXES(a, axes) {
                index[a] = rest % g->axes[a].extent;
                rest /= g->axes[a].extent;
            }
            *at++ = value_at(g, g->savers[s].node, index, seed);
        }
    }
    return out;
}
