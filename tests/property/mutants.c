/* Mutants of verified graphs: nothing that float64 tells from the program may be called equal or proved, and
 * nothing that is equal may be called different.
 *
 * usage: mutants [MOST FOR EACH GRAPH [SEED]]. The graphs are those that the search makes of small programs,
 * and the unfused ones. Ends with 1 when a mutant is accepted, or when there are fewer than 10,000. */
#include "corpus.h"

#include "cost/device.h"
#include "lower/lower.h"
#include "search/search.h"
#include "search/unfused.h"
#include "verify/equiv.h"
#include "verify/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_K = 8, MAX_STATES = 20000, LEAST_MUTANTS = 10000 };

#define IN(name, shape) "{'name':'" name "','shape':" shape ",'dtype':'f16'}"
#define N(op, in, out) "{'op':'" op "','inputs':[" in "],'output':'" out "'}"
#define A(op, in, out, attrs) "{'op':'" op "','inputs':[" in "],'output':'" out "'," attrs "}"
#define X IN("X", "[6,32]")
#define Y IN("Y", "[6,32]")
#define W IN("W", "[32,32]")
#define V IN("V", "[32,32]")
#define QKV IN("Q", "[2,8,16]") "," IN("K", "[2,128,16]") "," IN("V", "[2,128,16]")
#define LAST "'axes':[-1],'keepdims':true"
#define SCORES A("matmul", "'Q','K'", "s", "'transpose_b':true")
#define PROGRAM(inputs, nodes, outputs) "'inputs':[" inputs "],'nodes':[" nodes "],'outputs':[" outputs "]"

static const char *const programs[] = {
    PROGRAM(X "," W, A("rms_norm", "'X'", "n", "'axes':[-1],'eps':1e-5") "," N("matmul", "'n','W'", "o"),
            "'o'"),
    PROGRAM(X "," Y "," W,
            A("layer_norm", "'X'", "n", "'axes':[-1],'eps':1e-3") "," N("add", "'n','Y'",
                                                                        "a") "," N("matmul", "'a','W'", "o"),
            "'o','a'"),
    PROGRAM(QKV,
            SCORES "," N("mul", "'s',0.35", "t") "," A("softmax", "'t'", "p",
                                                       "'axis':-1") "," N("matmul", "'p','V'", "o"),
            "'o'"),
    PROGRAM(QKV,
            A("rms_norm", "'Q'", "q", "'axes':[-1],'eps':1e-5") "," A(
                "matmul", "'q','K'", "s",
                "'transpose_b':true") "," N("exp", "'s'", "e") "," A("sum", "'e'", "d",
                                                                     LAST) "," N("div", "'e','d'",
                                                                                 "p") "," N("matmul",
                                                                                            "'p','V'", "o"),
            "'o'"),
    PROGRAM(QKV,
            SCORES "," A("causal_mask", "'s'", "t", "'offset':120") "," A(
                "softmax", "'t'", "p", "'axis':-1") "," N("matmul", "'p','V'", "o"),
            "'o'"),
    PROGRAM(X "," W "," V,
            N("matmul", "'X','W'", "g") "," N("silu", "'g'", "s") "," N("matmul", "'X','V'",
                                                                        "u") "," N("mul", "'s','u'", "o"),
            "'o'"),
    PROGRAM(X "," Y,
            A("l2_norm", "'X'", "n", "'axes':[-1],'eps':1e-6") "," N("sub", "'n','Y'", "d") "," N(
                "mul", "'d',0.3", "e") "," N("add", "'Y','e'", "s") "," A("l2_norm", "'s'", "o",
                                                                          "'axes':[-1],'eps':1e-6"),
            "'o'"),
    PROGRAM(X "," Y,
            N("relu", "'X'", "a") "," A("clamp", "'Y'", "c", "'min':-0.5,'max':0.75") "," N(
                "tanh", "'c'", "t") "," N("mul", "'a','t'", "m") "," N("maximum", "'m','Y'", "o"),
            "'o','c'"),
    PROGRAM(IN("X", "[16,256]") "," IN("A", "[256,8]") "," IN("B", "[8,32]") "," IN("W", "[256,32]"),
            N("matmul", "'X','W'", "p") "," N("matmul", "'X','A'", "a") "," N("matmul", "'a','B'", "b") "," N(
                "add", "'p','b'", "o"),
            "'o'"),
    PROGRAM(IN("X", "[8,256]") "," IN("W", "[256,16]"),
            N("matmul", "'X','W'", "p") "," A("sum", "'p'", "o", LAST), "'o'"),
    PROGRAM(IN("Q", "[32,8]") "," IN("K", "[256,8]") "," IN("V", "[256,8]"),
            A("matmul", "'Q','K'", "s", "'transpose_b':true") "," N("matmul", "'s','V'", "o"), "'o'"),
    PROGRAM(X "," IN("B", "[32]"),
            N("add", "'X','B'", "a") "," A("gelu", "'a'", "g",
                                           "'approximate':'tanh'") "," A("mean", "'g'", "o", "'axes':[1]"),
            "'o','g'"),
    PROGRAM(X "," W,
            A("gelu", "'X'", "g", "'approximate':'none'") "," A(
                "matmul", "'g','W'", "p",
                "'transpose_b':true") "," N("abs", "'p'", "a") "," N("add", "'a',1", "b") "," N("log", "'b'",
                                                                                                "o"),
            "'o'"),
    PROGRAM(X "," Y,
            A("max", "'X'", "m", LAST) "," N("sub", "'X','m'", "d") "," N("exp", "'d'", "e") "," A(
                "sum", "'e'", "s", LAST) "," N("log", "'s'", "l") "," N("add", "'l','m'",
                                                                        "z") "," N("mul", "'Y','z'", "o"),
            "'o','l'"),
    PROGRAM(IN("X", "[4,6,8]") "," IN("W", "[8,24]"),
            A("reshape", "'X'", "r", "'shape':[24,8]") "," N("matmul", "'r','W'", "p") "," A(
                "transpose", "'p'", "t", "'perm':[1,0]") "," A("softmax", "'t'", "o", "'axis':0"),
            "'o'"),
    PROGRAM(X "," Y "," W,
            A("slice", "'X'", "a", "'axis':1,'start':0,'stop':16") "," A(
                "slice", "'Y'", "b",
                "'axis':1,'start':16,'stop':32") "," N("mul", "'a','b'",
                                                       "m") "," N("square", "'m'",
                                                                  "q") "," A("min", "'q'", "o", "'axes':[0]"),
            "'o','m'"),
    PROGRAM(X "," Y,
            N("sigmoid", "'X'", "s") "," A("softmax", "'s'", "p", "'axis':1") "," N("div", "'Y','p'", "o"),
            "'o'"),
    PROGRAM(W "," V,
            N("matmul", "'W','V'", "p") "," A("sum", "'p'", "s", "'axes':[1]") "," A(
                "sum", "'W'", "r", "'axes':[0]") "," N("add", "'s','r'", "o"),
            "'o'"),
};

/* ---- counting ---- */

typedef struct {
    long different, of_programs, undecided, equal, proved, failures, unclear;
    const corpus_base *base;
    mo_mugraph *graph;
    long room; /* for mutants of this graph */
    int program;
} corpus;

static void judge(corpus *c, const char *mutation)
{
    if (c->room <= 0) return;
    int truth = corpus_judge_graph(c->base, c->graph);
    if (truth < 0) {
        c->unclear++;
        return;
    }
    c->room--;
    mo_verify_options options = {.delta = 1e-12, .seed = 3, .threads = 1};
    mo_verify_report report;
    mo_equiv verdict = mo_verify_mugraph(c->base->program, c->graph, &options, &report);
    mo_proof *proof = mo_prove_mugraph(c->base->program, c->graph);
    const char *wrong = NULL;
    if (truth == 1 && proof->proved) wrong = "was proved";
    if (truth == 1 && verdict == MO_EQUAL_TESTED) wrong = "was called equal";
    if (truth == 0 && verdict == MO_DIFFERENT) wrong = "is equal and was called different";
    if (wrong != NULL) {
        mo_str text = {0};
        mo_mugraph_print(&text, c->graph);
        printf("FAIL program %d, %s: %s\n%s", c->program, mutation, wrong, mo_str_text(&text));
        mo_str_free(&text);
        c->failures++;
    }
    c->different += truth == 1;
    c->undecided += truth == 1 && verdict == MO_UNDECIDED;
    c->equal += truth == 0;
    c->proved += truth == 0 && proof->proved;
    mo_proof_free(proof);
}

/* ---- mutations ---- */

static const mo_op unary[] = {MO_OP_NEG,  MO_OP_EXP,        MO_OP_SQRT,  MO_OP_SQUARE,
                              MO_OP_ABS,  MO_OP_RECIPROCAL, MO_OP_RELU,  MO_OP_SIGMOID,
                              MO_OP_SILU, MO_OP_TANH,       MO_OP_RSQRT, MO_OP_LOG};
static const mo_op binary[] = {MO_OP_ADD, MO_OP_SUB, MO_OP_MUL, MO_OP_DIV, MO_OP_MAXIMUM, MO_OP_MINIMUM};
static const mo_op reductions[] = {MO_OP_SUM, MO_OP_MAX, MO_OP_MIN};

static void replace_op(corpus *c, mo_prim_node *node)
{
    mo_op_kind kind = mo_op_kind_of(node->op);
    const mo_op *ops = kind == MO_KIND_UNARY ? unary : kind == MO_KIND_BINARY ? binary : reductions;
    int n = kind == MO_KIND_UNARY ? 12 : kind == MO_KIND_BINARY ? 6 : kind == MO_KIND_REDUCE ? 3 : 0;
    mo_prim_node kept = *node;
    for (int i = 0; i < n; i++) {
        if (ops[i] == kept.op || kept.op == MO_OP_CAST || kept.op == MO_OP_POW) continue;
        node->op = ops[i];
        judge(c, "another operator");
    }
    *node = kept;
    if (node->n_in != 2) return;
    node->in[0] = kept.in[1];
    node->in[1] = kept.in[0];
    judge(c, "operands swapped");
    *node = kept;
}

static void replace_operand(corpus *c, mo_prim *body, int index)
{
    mo_prim_node *node = &body->nodes[index], kept = *node;
    for (int j = 0; j < node->n_in; j++)
        for (int other = 0; other < index; other++) {
            *node = kept;
            node->in[j] = other;
            mo_axes joined = 0;
            for (int i = 0; i < node->n_in; i++) joined |= body->nodes[node->in[i]].axes;
            if (other == kept.in[j] || (joined & ~node->reduced) != node->axes) continue;
            if ((joined & node->reduced) == node->reduced) judge(c, "another operand");
        }
    *node = kept;
}

/* Users of the node take one of its operands instead, where that has the same axes. */
static void drop(corpus *c, mo_prim *body, int index)
{
    const mo_prim_node *node = &body->nodes[index];
    for (int j = 0; j < node->n_in; j++) {
        int instead = node->in[j];
        if (body->nodes[instead].axes != node->axes) continue;
        mo_prim *kept = mo_prim_copy(c->base->arena, body);
        for (int i = index + 1; i < body->n_nodes; i++)
            for (int k = 0; k < body->nodes[i].n_in; k++)
                if (body->nodes[i].in[k] == index) body->nodes[i].in[k] = instead;
        for (int i = 0; i < body->n_savers; i++)
            if (body->savers[i].node == index) body->savers[i].node = instead;
        judge(c, "an operator left out");
        memcpy(body->nodes, kept->nodes, sizeof *body->nodes * (size_t)body->n_nodes);
        memcpy(body->savers, kept->savers, sizeof *body->savers * (size_t)body->n_savers);
    }
}

/* A reduction that is multiplied by how often a loop would have run: accumulated twice, or not at all. */
static void accumulate(corpus *c, mo_prim *body, int index)
{
    mo_prim_node *node = &body->nodes[index], kept = *node;
    if (node->op != MO_OP_SUM && node->op != MO_OP_MATMUL) return;
    MO_FOR_AXES(a, node->reduced) {
        int64_t extent = body->axes[a].extent;
        bool shared = false; /* other nodes need the axis as it is */
        for (int i = 0; i < body->n_nodes; i++)
            shared |= i != index && ((body->nodes[i].reduced >> a & 1u) || (body->nodes[i].axes >> a & 1u)) &&
                      body->nodes[i].op != MO_OP_ITER;
        if (shared || extent < 4) continue;
        body->axes[a].extent = extent / 2;
        judge(c, "half of the loop");
        body->axes[a].extent = extent - 1;
        judge(c, "the last iteration left out");
        body->axes[a].extent = extent;
    }
    *node = kept;
}

static void move_access(corpus *c, mo_prim *body, mo_access *access, mo_axes axes, const char *what)
{
    mo_access kept = *access;
    MO_FOR_AXES(a, axes) {
        if (body->axes[a].extent < 2) continue;
        access->rank = -1;
        if (what[0] == 'r') { /* reads stay inside */
            access->stride[a] = 0;
            judge(c, "a read that stands still");
            if (kept.stride[a] > 1) {
                access->stride[a] = 1;
                judge(c, "a read with another stride");
            }
        }
        *access = kept;
        MO_FOR_AXES(b, axes) {
            if (b <= a || body->axes[a].extent != body->axes[b].extent) continue;
            access->rank = -1;
            access->stride[a] = kept.stride[b];
            access->stride[b] = kept.stride[a];
            judge(c, what);
            *access = kept;
        }
    }
}

static void replace_tensor(corpus *c, mo_access *access)
{
    int kept = access->tensor;
    for (int t = 0; t < c->base->program->n_inputs; t++) {
        const mo_mutensor *x = &c->graph->tensors[t], *y = &c->graph->tensors[kept];
        if (t == kept || !mo_shape_equal(x->shape, y->shape)) continue;
        access->tensor = t;
        judge(c, "another tensor");
    }
    access->tensor = kept;
}

static void change_numbers(corpus *c, mo_prim_node *node)
{
    const mo_prim_node kept = *node;
    const double factors[] = {1.001, 0.5, 2.0, -1.0, 10.0};
    for (int i = 0; i < 5 && node->op == MO_OP_CONST; i++) {
        node->const_axes = 0;
        node->number = kept.number * factors[i];
        judge(c, "another number");
    }
    *node = kept;
    for (int i = 0; i < 3 && node->op == MO_OP_CLAMP; i++) {
        node->min = kept.min * factors[i] - 0.01;
        judge(c, "another bound");
        *node = kept;
        node->max = kept.max * factors[i] + 0.01;
        judge(c, "another bound");
        *node = kept;
    }
    if (node->op == MO_OP_GELU) {
        node->approximate_tanh = !kept.approximate_tanh;
        judge(c, "the other gelu");
        *node = kept;
    }
    if (node->op != MO_OP_MASK) return;
    for (int by = -2; by <= 2; by++) {
        node->mask_offset = kept.mask_offset + by;
        if (by != 0) judge(c, "another mask");
    }
    *node = kept;
    node->mask_rows = kept.mask_columns;
    node->mask_columns = kept.mask_rows;
    judge(c, "a mask turned");
    *node = kept;
}

static void exchange_savers(corpus *c, mo_prim *body)
{
    for (int i = 0; i < body->n_savers; i++)
        for (int j = i + 1; j < body->n_savers; j++) {
            mo_saver *a = &body->savers[i], *b = &body->savers[j];
            if (body->nodes[a->node].axes != body->nodes[b->node].axes) continue;
            int kept = a->node;
            a->node = b->node;
            b->node = kept;
            judge(c, "outputs exchanged");
            b->node = a->node;
            a->node = kept;
        }
}

static void mutate_graph(corpus *c)
{
    for (int k = 0; k < c->graph->n_kernels; k++) {
        mo_prim *body = c->graph->kernels[k].body;
        for (int i = 0; i < body->n_nodes; i++) {
            mo_prim_node *node = &body->nodes[i];
            replace_op(c, node);
            replace_operand(c, body, i);
            drop(c, body, i);
            accumulate(c, body, i);
            change_numbers(c, node);
            if (node->op == MO_OP_ITER) replace_tensor(c, &node->access);
            if (node->op == MO_OP_ITER) move_access(c, body, &node->access, node->axes, "reads turned");
        }
        for (int i = 0; i < body->n_savers; i++)
            move_access(c, body, &body->savers[i].access, body->nodes[body->savers[i].node].axes,
                        "output turned");
        exchange_savers(c, body);
    }
}

/* ---- programs ---- */

static void judge_program(corpus *c, const mo_program *mutant, const char *mutation)
{
    int truth = corpus_judge_program(c->base, mutant);
    if (truth < 0) {
        c->unclear++;
        return;
    }
    mo_verify_options options = {.delta = 1e-12, .seed = 3, .threads = 1};
    mo_verify_report report;
    mo_equiv verdict = mo_verify_programs(c->base->program, mutant, &options, &report);
    mo_proof *proof = mo_prove_programs(c->base->program, mutant);
    bool accepted = truth == 1 && (proof->proved || verdict == MO_EQUAL_TESTED);
    if (accepted || (truth == 0 && verdict == MO_DIFFERENT)) {
        mo_str text = {0};
        mo_program_print(&text, mutant);
        printf("FAIL program %d, %s: %s\n%s", c->program, mutation,
               accepted ? "accepted" : "called different", mo_str_text(&text));
        mo_str_free(&text);
        c->failures++;
    }
    c->of_programs += truth == 1;
    c->different += truth == 1;
    c->undecided += truth == 1 && verdict == MO_UNDECIDED;
    c->equal += truth == 0;
    c->proved += truth == 0 && proof->proved;
    mo_proof_free(proof);
}

static void mutate_attributes(corpus *c, const mo_program *mutant, mo_node *node)
{
    const mo_attrs kept = node->attrs;
    uint32_t takes = mo_op_get(node->op)->attributes;
    const mo_shape *shape = &mutant->tensors[node->outputs[0]].shape;
    if (takes & MO_ATTR_EPS) {
        node->attrs.eps = kept.eps * 10.0;
        judge_program(c, mutant, "another eps");
        node->attrs.eps = 0.0;
        judge_program(c, mutant, "no eps");
    }
    if (takes & MO_ATTR_AXIS && node->op == MO_OP_SOFTMAX) {
        node->attrs = kept;
        node->attrs.axes[0] = (kept.axes[0] + 1) % shape->rank;
        judge_program(c, mutant, "another axis");
    }
    if (takes & MO_ATTR_APPROXIMATE) {
        node->attrs.approximate_tanh = !kept.approximate_tanh;
        judge_program(c, mutant, "the other gelu");
    }
    for (int i = 0; i < 2 && takes & MO_ATTR_CLAMP; i++) {
        node->attrs = kept;
        *(i == 0 ? &node->attrs.min : &node->attrs.max) *= 1.25;
        judge_program(c, mutant, "another bound");
    }
    for (int by = -3; by <= 3 && takes & MO_ATTR_OFFSET; by++) {
        node->attrs.offset = kept.offset + by;
        if (by != 0) judge_program(c, mutant, "another mask");
    }
    node->attrs = kept;
}

static void mutate_node(corpus *c, const mo_program *mutant, int index)
{
    mo_node *node = &mutant->nodes[index];
    mo_op_kind kind = mo_op_kind_of(node->op);
    const mo_op *ops = kind == MO_KIND_UNARY ? unary : kind == MO_KIND_BINARY ? binary : reductions;
    int n = kind == MO_KIND_UNARY ? 12 : kind == MO_KIND_BINARY ? 6 : kind == MO_KIND_REDUCE ? 3 : 0;
    mo_op kept = node->op;
    for (int i = 0; i < n; i++) {
        node->op = ops[i];
        if (ops[i] != kept) judge_program(c, mutant, "another operator");
    }
    node->op = kept;
    for (int j = 0; j < node->n_inputs; j++) {
        mo_operand was = node->inputs[j];
        for (int t = 0; was.tensor >= 0 && t < node->outputs[0]; t++) {
            const mo_tensor *x = &mutant->tensors[t], *y = &mutant->tensors[was.tensor];
            if (t == was.tensor || !mo_shape_equal(x->shape, y->shape) || x->dtype != y->dtype) continue;
            node->inputs[j].tensor = t;
            judge_program(c, mutant, "another operand");
        }
        node->inputs[j] = was;
        const double factors[] = {1.01, 2.0, -1.0};
        for (int i = 0; i < 3 && was.tensor < 0; i++) {
            node->inputs[j].number = was.number * factors[i];
            judge_program(c, mutant, "another number");
        }
        node->inputs[j] = was;
    }
    mutate_attributes(c, mutant, node);
}

static void mutate_program(corpus *c)
{
    const mo_program *p = c->base->program;
    mo_program *mutant = MO_NEW(c->base->arena, mo_program);
    *mutant = *p;
    mutant->nodes = MO_NEW_ARRAY(c->base->arena, mo_node, p->n_nodes + 1);
    for (int i = 0; i < p->n_nodes; i++) {
        mutant->nodes[i] = p->nodes[i];
        mutant->nodes[i].inputs = MO_NEW_ARRAY(c->base->arena, mo_operand, p->nodes[i].n_inputs + 1);
        memcpy(mutant->nodes[i].inputs, p->nodes[i].inputs,
               sizeof(mo_operand) * (size_t)p->nodes[i].n_inputs);
    }
    judge_program(c, mutant, "nothing");
    for (int i = 0; i < p->n_nodes; i++) mutate_node(c, mutant, i);
}

/* ---- graphs ---- */

static bool moves_data(const mo_mugraph *graph)
{
    for (int k = 0; k < graph->n_kernels; k++)
        if (graph->kernels[k].n_moves > 0) return true;
    return false;
}

/* As it is first, and then its mutants. */
static void try_graph(corpus *c, mo_mugraph *graph, long most)
{
    if (moves_data(graph)) return;
    c->graph = graph;
    c->room = most;
    long before = c->equal;
    judge(c, "nothing");
    if (c->equal != before + 1) {
        printf("FAIL program %d: a graph of the search is not equal\n", c->program);
        c->failures++;
    }
    mutate_graph(c);
}

int main(int argc, char **argv)
{
    size_t part = argc > 2 ? strtoul(argv[1], NULL, 10) : 0,
           parts = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
    long most = argc > 3 ? atol(argv[3]) : 42;
    corpus c = {0};
    for (size_t i = part; i < sizeof programs / sizeof *programs; i += parts) {
        mo_arena *arena = mo_arena_new();
        const mo_program *program = corpus_program(arena, programs[i]);
        corpus_base base;
        mo_lowered lowered;
        mo_search_result found;
        mo_error error = {0};
        mo_search_options options = {.device = mo_device_for_arch(90),
                                     .max_states = MAX_STATES,
                                     .max_kernel_ops = 5,
                                     .prune = true,
                                     .top_k = TOP_K,
                                     .threads = 1,
                                     .verify_delta = 1e-12};
        mo_status status = mo_lower_program(arena, program, 64, &lowered, &error);
        if (status == MO_OK) status = mo_search_run(arena, program, &lowered, &options, &found, &error);
        if (status != MO_OK) {
            printf("FAIL program %d: %s\n", (int)i, error.text);
            return 1;
        }
        corpus_prepare(&base, arena, program);
        c.base = &base;
        c.program = (int)i;
        long before = c.different;
        mutate_program(&c);
        for (int k = 0; k < found.n_candidates; k++) try_graph(&c, found.candidates[k], most);
        printf("program %2d: %d graphs, %ld mutants\n", (int)i, found.n_candidates, c.different - before);
        mo_arena_free(arena);
    }
    printf("mutants: %ld different, %ld of them programs, %ld undecided\n", c.different, c.of_programs,
           c.undecided);
    printf("equal: %ld, %ld of them proved; float64 cannot tell: %ld; failures: %ld\n", c.equal, c.proved,
           c.unclear, c.failures);
    return c.failures == 0 && c.different * (long)parts >= LEAST_MUTANTS ? 0 : 1;
}
