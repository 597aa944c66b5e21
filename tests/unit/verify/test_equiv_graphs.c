/* muGraphs of several kernels, with intermediates, merged axes, tiles and copies. */
#include "lower/lower.h"
#include "programs.h"
#include "verify/equiv.h"

#include <criterion/criterion.h>
#include <string.h>

#define N(op, in, out) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"}"
#define NA(op, in, out, attrs) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"," attrs "}"
#define INPUT(name, shape) "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"f16\"}"

static const mo_verify_options options = {.delta = 1e-12, .seed = 1, .threads = 2};

static mo_equiv verify(const mo_program *program, const mo_mugraph *graph, mo_verify_report *report)
{
    return mo_verify_mugraph(program, graph, &options, report);
}

/* One kernel for each node. */
static mo_mugraph *unfused(mo_arena *arena, const mo_program *program)
{
    mo_lowered lowered;
    mo_error error;
    cr_assert_eq(mo_lower_program(arena, program, 100, &lowered, &error), MO_OK, "%s", error.text);
    mo_mugraph *graph = mo_mugraph_new(arena, program, program->n_nodes);
    for (int i = 0; i < program->n_nodes; i++) {
        mo_schedule schedule = mo_schedule_plain(lowered.nodes[i]);
        mo_mugraph_add_kernel(graph, "node", i, lowered.nodes[i], &schedule);
    }
    mo_mugraph_add_copies(graph);
    return graph;
}

static const char *const attention = NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA(
    "softmax", "\"s\"", "p", "\"axis\":-1") "," N("matmul", "\"p\",\"V\"", "o");
static const char *const attention_inputs =
    INPUT("Q", "[2,3,8,16]") "," INPUT("K", "[2,3,32,16]") "," INPUT("V", "[2,3,32,16]");

Test(equiv_graphs, kernels_joined_by_tensors)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p = test_program(arena, attention_inputs, attention, "\"o\",\"p\",\"o\",\"Q\"");
    mo_mugraph *graph = unfused(arena, p);
    cr_assert_gt(graph->n_tensors, p->n_tensors, "repeated outputs and outputs that are inputs are copied");
    mo_verify_report report;
    cr_assert_eq(verify(p, graph, &report), MO_EQUAL_TESTED, "%s", report.reason);
    cr_expect_eq(report.full_checked, report.full_elements, "so small a program is compared in full");
    cr_expect_eq(report.delta, 1e-12);
    cr_expect_eq(report.primes[0], 2 * report.primes[1] + 1);
    /* The copy of another tensor of the same shape. */
    for (int k = 0; k < graph->n_kernels; k++) {
        mo_prim_node *read = &graph->kernels[k].body->nodes[0];
        if (read->access.tensor != 0 || graph->kernels[k].program_node >= 0) continue;
        read->access.tensor = p->outputs[0];
        cr_expect_eq(verify(p, graph, &report), MO_DIFFERENT);
        cr_expect(report.witness && report.output == 3);
    }
    mo_arena_free(arena);
}

Test(equiv_graphs, merged_axes)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p = test_program(arena, attention_inputs, attention, "\"o\"");
    mo_mugraph *graph = test_fused(arena, p);
    mo_prim *body = graph->kernels[0].body;
    mo_prim_merge_axes(body);
    int merged = 0;
    for (int a = 0; a < body->n_axes; a++) merged += body->axes[a].extent == 6 ? 1 : 0;
    cr_assert_eq(merged, 1, "the two batch dimensions become one axis");
    mo_verify_report report;
    cr_assert_eq(verify(p, graph, &report), MO_EQUAL_TESTED, "%s", report.reason);
    cr_expect_eq(report.delta, 1e-12, "on a small instance too");
    for (int i = 0; i < body->n_nodes; i++) {
        if (body->nodes[i].op != MO_OP_ITER || body->nodes[i].access.tensor != 1) continue;
        body->nodes[i].access.tensor = 2; /* V for K: the same shape */
        cr_expect_eq(verify(p, graph, &report), MO_DIFFERENT);
    }
    mo_arena_free(arena);
}

/* A graph over an intermediate of its own: O = (Q K) V as Q (K V). */
static mo_mugraph *reassociated(mo_arena *arena, const mo_program *p, const int8_t second[2])
{
    enum { M, K, L, N };
    mo_mugraph *graph = mo_mugraph_new(arena, p, 2);
    int t = mo_mugraph_add_tensor(graph, "t", (mo_shape){2, {32, 24}}, MO_F16, MO_F16);
    const int64_t extents[4] = {8, 32, 16, 24};
    for (int part = 0; part < 2; part++) {
        mo_prim *g = mo_prim_new(arena, p);
        g->n_axes = 4;
        for (int a = 0; a < 4; a++) g->axes[a] = (mo_axis){.name = {"mkln"[a]}, .extent = extents[a]};
        int left = part == 0 ? 1 : 0, right = part == 0 ? 2 : t, out = part == 0 ? t : p->outputs[0];
        const int8_t a_dims[2] = {part == 0 ? K : M, part == 0 ? L : K};
        const int8_t b_dims[2] = {part == 0 ? L : second[0], part == 0 ? N : second[1]};
        const int8_t c_dims[2] = {part == 0 ? K : M, N};
        mo_access a = mo_access_make(left, graph->tensors[left].shape, graph->tensors[left].strides, a_dims);
        mo_access b =
            mo_access_make(right, graph->tensors[right].shape, graph->tensors[right].strides, b_dims);
        mo_access c = mo_access_make(out, graph->tensors[out].shape, graph->tensors[out].strides, c_dims);
        int x = mo_prim_iter(g, MO_F16, MO_F16, &a), y = mo_prim_iter(g, MO_F16, MO_F16, &b);
        mo_prim_save(g, mo_prim_matmul(g, x, y, 1u << (part == 0 ? L : K)), &c);
        mo_schedule schedule = mo_schedule_plain(g);
        for (int axis = 0; axis < 4; axis++) schedule.tile[axis] = 8;
        mo_mugraph_add_kernel(graph, "part", -1, g, &schedule);
    }
    return graph;
}

Test(equiv_graphs, an_intermediate_of_its_own)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p =
        test_program(arena, INPUT("Q", "[8,32]") "," INPUT("K", "[32,16]") "," INPUT("V", "[16,24]"),
                     N("matmul", "\"Q\",\"K\"", "s") "," N("matmul", "\"s\",\"V\"", "o"), "\"o\"");
    mo_verify_report report;
    mo_mugraph *graph = reassociated(arena, p, (const int8_t[2]){1, 3});
    cr_assert_eq(verify(p, graph, &report), MO_EQUAL_TESTED, "%s", report.reason);
    cr_expect(report.n_axes >= 4 && report.axes[0].extent != report.axes[1].extent);
    /* A wrong tile boundary in memory: the small instance has no strides, the real shape has. */
    graph->kernels[1].body->nodes[1].access.stride[1] += 1;
    cr_expect_eq(verify(p, graph, &report), MO_DIFFERENT);
    graph->kernels[1].body->nodes[1].access.stride[1] -= 1;
    graph->kernels[0].body->savers[0].access.stride[3] = 2;
    cr_expect_neq(verify(p, graph, &report), MO_EQUAL_TESTED);
    mo_arena_free(arena);
}

Test(equiv_graphs, broadcast_inputs_and_several_outputs)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p = test_program(
        arena, "{\"name\":\"X\",\"shape\":[4,32],\"dtype\":\"f32\",\"strides\":[0,1]}," INPUT("B", "[32]"),
        N("add", "\"X\",\"B\"", "s") "," N("square", "\"s\"", "q") "," NA("max", "\"q\"", "o",
                                                                          "\"axes\":[0]"),
        "\"o\",\"s\"");
    mo_mugraph *graph = test_fused(arena, p);
    mo_verify_report report;
    cr_assert_eq(verify(p, graph, &report), MO_EQUAL_TESTED, "%s", report.reason);
    mo_arena_free(arena);
}

Test(equiv_graphs, the_result_does_not_depend_on_threads)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p = test_program(
        arena, INPUT("X", "[64,256]") "," INPUT("W", "[256,512]"),
        NA("rms_norm", "\"X\"", "n", "\"axes\":[-1],\"eps\":1e-5") "," N("matmul", "\"n\",\"W\"", "o"),
        "\"o\"");
    mo_mugraph *graph = test_fused(arena, p);
    mo_verify_report first;
    for (int threads = 1; threads <= 4; threads++) {
        mo_verify_options o = options;
        o.threads = threads;
        o.max_products = 100000;
        mo_verify_report report;
        cr_assert_eq(mo_verify_mugraph(p, graph, &o, &report), MO_EQUAL_TESTED);
        if (threads == 1) first = report;
        cr_expect_eq(report.full_checked, first.full_checked);
        cr_expect_eq(report.primes[0], first.primes[0]);
        cr_expect(report.full_checked > 0 && report.full_checked < report.full_elements);
    }
    mo_arena_free(arena);
}
