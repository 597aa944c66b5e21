/* Mutated kernel bodies: nothing that float64 tells from the program may pass for equal, and nothing that it
 * cannot tell apart may be called different. */
#include "programs.h"
#include "verify/equiv.h"
#include "verify/proof.h"
#include "verify/inputs.h"
#include "verify/oracle.h"
#include "verify/prim_float.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define X "{\"name\":\"X\",\"shape\":[6,32],\"dtype\":\"f16\"}"
#define Y "{\"name\":\"Y\",\"shape\":[6,32],\"dtype\":\"f16\"}"
#define W "{\"name\":\"W\",\"shape\":[32,32],\"dtype\":\"f16\"}"
#define V "{\"name\":\"V\",\"shape\":[32,32],\"dtype\":\"f16\"}"
#define QKV                                                                                             \
    "{\"name\":\"Q\",\"shape\":[2,8,8],\"dtype\":\"f16\"},{\"name\":\"K\",\"shape\":[2,8,8],\"dtype\":" \
    "\"f16\"},"                                                                                         \
    "{\"name\":\"V\",\"shape\":[2,8,8],\"dtype\":\"f16\"}"
#define N(op, in, out) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"}"
#define NA(op, in, out, attrs) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"," attrs "}"

static const struct {
    const char *what, *inputs, *nodes;
} programs[] = {
    {"rms_norm and matmul", X "," W,
     NA("rms_norm", "\"X\"", "n", "\"axes\":[-1],\"eps\":1e-5") "," N("matmul", "\"n\",\"W\"", "o")},
    {"layer_norm", X "," Y,
     NA("layer_norm", "\"X\"", "n", "\"axes\":[-1],\"eps\":1e-3") "," N("add", "\"n\",\"Y\"", "o")},
    {"attention", QKV,
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," N("mul", "\"s\",0.35", "t") "," NA(
         "softmax", "\"t\"", "p", "\"axis\":-1") "," N("matmul", "\"p\",\"V\"", "o")},
    {"attention with normalised queries", QKV,
     NA("rms_norm", "\"Q\"", "q", "\"axes\":[-1],\"eps\":1e-5") "," NA(
         "matmul", "\"q\",\"K\"", "s",
         "\"transpose_b\":true") "," N("exp", "\"s\"",
                                       "e") "," NA("sum", "\"e\"", "d",
                                                   "\"axes\":[-1],\"keepdims\":true") "," N("div",
                                                                                            "\"e\",\"d\"",
                                                                                            "p") "," N("matmu"
                                                                                                       "l",
                                                                                                       "\"p\""
                                                                                                       ",\"V"
                                                                                                       "\"",
                                                                                                       "o")},
    {"gated", X "," W "," V,
     N("matmul", "\"X\",\"W\"", "g") "," N("silu", "\"g\"", "s") "," N("matmul", "\"X\",\"V\"",
                                                                       "u") "," N("mul", "\"s\",\"u\"", "o")},
    {"two norms", X "," Y,
     NA("l2_norm", "\"X\"", "n", "\"axes\":[-1],\"eps\":1e-6") "," N("sub", "\"n\",\"Y\"", "d") "," N(
         "mul", "\"d\",0.3", "e") "," N("add", "\"Y\",\"e\"", "s") "," NA("l2_norm", "\"s\"", "o",
                                                                          "\"axes\":[-1],\"eps\":1e-6")},
    {"pointwise", X "," Y,
     N("relu", "\"X\"", "a") "," NA("clamp", "\"Y\"", "c", "\"min\":-0.5,\"max\":0.75") "," N(
         "tanh", "\"c\"", "t") "," N("mul", "\"a\",\"t\"", "m") "," N("maximum", "\"m\",\"Y\"", "o")},
    {"masked attention", QKV,
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA(
         "causal_mask", "\"s\"", "t",
         "\"offset\":1") "," NA("softmax", "\"t\"", "p", "\"axis\":-1") "," N("matmul", "\"p\",\"V\"", "o")},
    {"square product", W "," V,
     N("matmul", "\"W\",\"V\"", "p") "," NA("sum", "\"p\"", "s", "\"axes\":[1]") "," NA(
         "sum", "\"W\"", "r", "\"axes\":[0]") "," N("add", "\"s\",\"r\"", "o")},
};
enum { PROGRAMS = sizeof programs / sizeof *programs, DRAWS = 4 };

typedef struct {
    mo_arena *arena;
    const mo_program *program;
    double **inputs[DRAWS], *reference[DRAWS];
    int64_t undecided, equal, different, proved;
} corpus;

static int64_t elements(const mo_program *program, int tensor)
{
    return mo_shape_elements(program->tensors[tensor].shape);
}

static void prepare(corpus *c, int which)
{
    *c = (corpus){.arena = mo_arena_new()};
    c->program = test_program(c->arena, programs[which].inputs, programs[which].nodes, "\"o\"");
    const mo_program *p = c->program;
    const mo_inputs_plan *plan = mo_inputs_plan_new(c->arena, p, NULL);
    for (int d = 0; d < DRAWS; d++) {
        c->inputs[d] = MO_NEW_ARRAY(c->arena, double *, p->n_inputs);
        for (int x = 0; x < p->n_inputs; x++)
            c->inputs[d][x] = MO_NEW_ARRAY(c->arena, double, elements(p, x));
        mo_inputs_draw(plan, MO_INPUTS_RANDOM, (uint64_t)d + 1, c->inputs[d]);
        for (int x = 0; d % 2 == 1 && x < p->n_inputs; x++) /* small values make a small eps visible */
            for (int64_t i = 0; i < elements(p, x); i++) c->inputs[d][x][i] *= 1e-3;
        double **values = MO_NEW_ARRAY(c->arena, double *, p->n_tensors);
        mo_oracle_run(p, &(mo_oracle_options){.mode = MO_ORACLE_F64, .threads = 1},
                      (const double *const *)c->inputs[d], values);
        c->reference[d] = MO_NEW_ARRAY(c->arena, double, elements(p, p->outputs[0]));
        memcpy(c->reference[d], values[p->outputs[0]], sizeof(double) * (size_t)elements(p, p->outputs[0]));
        mo_oracle_free(p, values);
    }
}

/* 1: float64 sees a difference, 0: it sees none, -1: it cannot say (values that are not finite). */
static int arbiter(const corpus *c, const mo_mugraph *graph)
{
    const mo_program *p = c->program;
    int unclear = 0;
    for (int d = 0; d < DRAWS; d++) {
        mo_arena *arena = mo_arena_new();
        mo_shape *shapes = MO_NEW_ARRAY(arena, mo_shape, graph->n_tensors);
        double **data = MO_NEW_ARRAY(arena, double *, graph->n_tensors);
        for (int t = 0; t < graph->n_tensors; t++) {
            shapes[t] = graph->tensors[t].shape;
            data[t] =
                t < p->n_inputs ? c->inputs[d][t] : MO_NEW_ARRAY(arena, double, mo_shape_elements(shapes[t]));
        }
        for (int k = 0; k < graph->n_kernels; k++) {
            mo_instance in = {.shapes = shapes};
            for (int a = 0; a < MO_MAX_AXES; a++)
                in.extent[a] =
                    a < graph->kernels[k].body->n_axes ? (int)graph->kernels[k].body->axes[a].extent : 1;
            mo_prim_float(&in, graph->kernels[k].body, data);
        }
        int64_t n = elements(p, p->outputs[0]);
        bool differs = false;
        for (int64_t i = 0; i < n; i++) {
            double a = c->reference[d][i], b = data[p->outputs[0]][i];
            if (!isfinite(a) || !isfinite(b))
                unclear = 1;
            else
                differs |= fabs(a - b) > 1e-9 * (fabs(a) + fabs(b) + 1e-3);
        }
        mo_arena_free(arena);
        if (differs) return 1;
    }
    return unclear ? -1 : 0;
}

static void judge(corpus *c, const mo_mugraph *graph, const char *what, const char *mutation, int node)
{
    mo_verify_options options = {.delta = 1e-12, .seed = 3, .threads = 1};
    mo_verify_report report;
    mo_equiv verdict = mo_verify_mugraph(c->program, graph, &options, &report);
    int truth = arbiter(c, graph);
    mo_proof *proof = mo_prove_mugraph(c->program, graph);
    if (truth == 1) cr_expect_not(proof->proved, "%s: %s at %d was proved", what, mutation, node);
    c->proved += truth == 0 && proof->proved;
    mo_proof_free(proof);
    if (truth == 1) cr_expect_neq(verdict, MO_EQUAL_TESTED, "%s: %s at %d passed", what, mutation, node);
    if (truth == 0)
        cr_expect_neq(verdict, MO_DIFFERENT, "%s: %s at %d is equal: %g %g", what, mutation, node,
                      report.program_value, report.other_value);
    c->undecided += truth == 1 && verdict == MO_UNDECIDED;
    c->different += truth == 1;
    c->equal += truth == 0;
}

static const mo_op unary[] = {MO_OP_NEG,  MO_OP_EXP,        MO_OP_SQRT,  MO_OP_SQUARE,
                              MO_OP_ABS,  MO_OP_RECIPROCAL, MO_OP_RELU,  MO_OP_SIGMOID,
                              MO_OP_SILU, MO_OP_TANH,       MO_OP_RSQRT, MO_OP_LOG};
static const mo_op binary[] = {MO_OP_ADD, MO_OP_SUB, MO_OP_MUL, MO_OP_DIV, MO_OP_MAXIMUM, MO_OP_MINIMUM};
static const mo_op reductions[] = {MO_OP_SUM, MO_OP_MAX, MO_OP_MIN};

static void mutate_op(corpus *c, mo_mugraph *graph, mo_prim_node *node, const char *what, int index)
{
    mo_op_kind kind = mo_op_kind_of(node->op);
    const mo_op *ops = kind == MO_KIND_UNARY ? unary : kind == MO_KIND_BINARY ? binary : reductions;
    int n = kind == MO_KIND_UNARY ? 12 : kind == MO_KIND_BINARY ? 6 : kind == MO_KIND_REDUCE ? 3 : 0;
    mo_prim_node kept = *node;
    for (int i = 0; i < n; i++) {
        if (ops[i] == kept.op) continue;
        node->op = ops[i];
        judge(c, graph, what, mo_op_name(ops[i]), index);
    }
    *node = kept;
    if (node->n_in == 2) {
        node->in[0] = kept.in[1];
        node->in[1] = kept.in[0];
        judge(c, graph, what, "operands swapped", index);
    }
    *node = kept;
}

static void mutate_operands(corpus *c, mo_mugraph *graph, mo_prim *body, int index, const char *what)
{
    mo_prim_node *node = &body->nodes[index], kept = *node;
    for (int j = 0; j < node->n_in; j++)
        for (int other = 0; other < index; other++) {
            *node = kept;
            node->in[j] = other;
            mo_axes joined = 0;
            for (int i = 0; i < node->n_in; i++) joined |= body->nodes[node->in[i]].axes;
            if (other == kept.in[j] || (joined & ~node->reduced) != node->axes) continue;
            if ((joined & node->reduced) != node->reduced) continue;
            judge(c, graph, what, "another operand", index);
        }
    *node = kept;
}

static void mutate_iterator(corpus *c, mo_mugraph *graph, mo_prim *body, int index, const char *what)
{
    mo_prim_node *node = &body->nodes[index], kept = *node;
    for (int t = 0; t < c->program->n_inputs; t++) {
        if (t == kept.access.tensor ||
            !mo_shape_equal(c->program->tensors[t].shape, c->program->tensors[kept.access.tensor].shape))
            continue;
        node->access.tensor = t;
        judge(c, graph, what, "another tensor", index);
    }
    *node = kept;
    for (int d = 0; d < node->access.rank; d++)
        for (int e = d + 1; e < node->access.rank; e++) {
            int a = kept.access.dim_axis[d], b = kept.access.dim_axis[e];
            if (a < 0 || b < 0 || body->axes[a].extent != body->axes[b].extent) continue;
            node->access.dim_axis[d] = (int8_t)b;
            node->access.dim_axis[e] = (int8_t)a;
            node->access.stride[a] = kept.access.stride[b];
            node->access.stride[b] = kept.access.stride[a];
            judge(c, graph, what, "dimensions swapped", index);
            *node = kept;
        }
}

/* Strides alone: the small instance cannot see it, so the program's own shape has to. */
static void mutate_strides(corpus *c, mo_mugraph *graph, mo_prim_node *node, int index, const char *what)
{
    mo_access kept = node->access;
    MO_FOR_AXES(a, node->axes) {
        node->access.stride[a] = kept.stride[a] == 1 ? 0 : 1;
        mo_verify_options options = {.delta = 1e-12, .seed = 3, .threads = 1};
        mo_verify_report report;
        cr_expect_neq(mo_verify_mugraph(c->program, graph, &options, &report), MO_EQUAL_TESTED,
                      "%s: wrong stride at %d passed", what, index);
        node->access = kept;
    }
}

static void mutate_number(corpus *c, mo_mugraph *graph, mo_prim_node *node, int index, const char *what)
{
    mo_prim_node kept = *node;
    const double factors[] = {1.001, 2.0, -1.0};
    for (int i = 0; i < 3; i++) {
        node->const_axes = 0;
        node->number = kept.number * factors[i];
        judge(c, graph, what, "another number", index);
    }
    node->number = kept.number;
    judge(c, graph, what, "a length as a plain number", index);
    *node = kept;
}

static void mutate_mask(corpus *c, mo_mugraph *graph, mo_prim_node *node, int index, const char *what)
{
    mo_prim_node kept = *node;
    for (int by = -1; by <= 1; by += 2) {
        node->mask_offset = kept.mask_offset + by;
        judge(c, graph, what, "another offset", index);
    }
    *node = kept;
    node->mask_rows = kept.mask_columns;
    node->mask_columns = kept.mask_rows;
    judge(c, graph, what, "rows for columns", index);
    *node = kept;
}

static void mutate_all(int which)
{
    corpus c;
    prepare(&c, which);
    mo_mugraph *graph = test_fused(c.arena, c.program);
    const char *what = programs[which].what;
    judge(&c, graph, what, "nothing", -1);
    cr_expect_eq(c.equal, 1, "%s: the lowered program is not the program", what);
    for (int k = 0; k < graph->n_kernels; k++) {
        mo_prim *body = graph->kernels[k].body;
        for (int i = 0; i < body->n_nodes; i++) {
            mo_prim_node *node = &body->nodes[i];
            mutate_op(&c, graph, node, what, i);
            mutate_operands(&c, graph, body, i, what);
            if (node->op == MO_OP_ITER) mutate_iterator(&c, graph, body, i, what);
            if (node->op == MO_OP_ITER) mutate_strides(&c, graph, node, i, what);
            if (node->op == MO_OP_CONST) mutate_number(&c, graph, node, i, what);
            if (node->op == MO_OP_MASK) mutate_mask(&c, graph, node, i, what);
        }
    }
    cr_log_info("%s: %d different, %d of them undecided, %d equal, %d of them proved", what, (int)c.different,
                (int)c.undecided, (int)c.equal, (int)c.proved);
    cr_expect(c.different > 15, "%s: only %d mutants", what, (int)c.different);
    cr_expect(c.undecided * 50 <= c.different, "%s: %d of %d undecided", what, (int)c.undecided,
              (int)c.different);
    mo_arena_free(c.arena);
}

Test(equiv_mutants, rms_norm_and_matmul)
{
    mutate_all(0);
}
Test(equiv_mutants, layer_norm)
{
    mutate_all(1);
}
Test(equiv_mutants, attention)
{
    mutate_all(2);
}
Test(equiv_mutants, normalised_attention)
{
    mutate_all(3);
}
Test(equiv_mutants, gated)
{
    mutate_all(4);
}
Test(equiv_mutants, two_norms)
{
    mutate_all(5);
}
Test(equiv_mutants, pointwise)
{
    mutate_all(6);
}
Test(equiv_mutants, masked_attention)
{
    mutate_all(7);
}
Test(equiv_mutants, square_product)
{
    mutate_all(8);
}
