/* Which dimensions share an index: along edges, never through inputs and never because extents are equal.
 * Expected graphs are given as mo_prim_print writes them, without the list of axes. */
#include "programs.h"

#include <criterion/criterion.h>
#include <string.h>

#define MATMUL(a, b, out) "{'op':'matmul','inputs':['" a "','" b "'],'output':'" out "'}"
#define MATMUL_T(a, b, out) "{'op':'matmul','inputs':['" a "','" b "'],'output':'" out "','transpose_b':true}"
#define BINARY(op, a, b, out) "{'op':'" op "','inputs':['" a "','" b "'],'output':'" out "'}"
#define UNARY(op, a, out) "{'op':'" op "','inputs':['" a "'],'output':'" out "'}"
#define ALONG(op, a, out, attrs) "{'op':'" op "','inputs':['" a "'],'output':'" out "'," attrs "}"

static void expect_text(const char *inputs, const char *nodes, const char *outputs, const char *expected)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *g = lower_whole(arena, make_program(arena, inputs, nodes, outputs));
    const char *text = strstr(text_of(arena, g), "  %0");
    cr_expect_str_eq(text, expected, "%s", text);
    mo_arena_free(arena);
}

Test(labels, product_with_its_own_transpose)
{
    expect_text("X:f16[8,16]", MATMUL_T("X", "X", "Y"), "Y",
                "  %0 = iter t0(m*16 + k*1) -> [m,k] f16\n"
                "  %1 = iter t0(k*1 + n*16) -> [k,n] f16\n"
                "  %2 = matmul(%0, %1) over [k] -> [m,n] f16\n"
                "  save %2 -> t1(m*8 + n*1)\n");
}

Test(labels, input_three_times_in_a_chain)
{
    expect_text("X:f16[8,16]", MATMUL_T("X", "X", "S") "," MATMUL("S", "X", "Y"), "Y",
                "  %0 = iter t0(m*16 + k*1) -> [m,k] f16\n"
                "  %1 = iter t0(k*1 + k1*16) -> [k,k1] f16\n"
                "  %2 = matmul(%0, %1) over [k] -> [m,k1] f16\n"
                "  %3 = iter t0(k1*16 + n*1) -> [k1,n] f16\n"
                "  %4 = matmul(%2, %3) over [k1] -> [m,n] f16\n"
                "  save %4 -> t2(m*16 + n*1)\n");
    expect_text("A:f16[8,8]", MATMUL("A", "A", "S") "," MATMUL("S", "A", "Y"), "Y",
                "  %0 = iter t0(m*8 + k*1) -> [m,k] f16\n"
                "  %1 = iter t0(k*8 + k1*1) -> [k,k1] f16\n"
                "  %2 = matmul(%0, %1) over [k] -> [m,k1] f16\n"
                "  %3 = iter t0(k1*8 + n*1) -> [k1,n] f16\n"
                "  %4 = matmul(%2, %3) over [k1] -> [m,n] f16\n"
                "  save %4 -> t2(m*8 + n*1)\n");
}

Test(labels, attention_of_one_tensor)
{
    expect_text("X:f16[8,16]",
                MATMUL_T("X", "X", "S") "," ALONG("softmax", "S", "P", "'axis':-1") "," MATMUL("P", "X", "Y"),
                "Y",
                "  %0 = iter t0(m*16 + k*1) -> [m,k] f16\n"
                "  %1 = iter t0(k*1 + k1*16) -> [k,k1] f16\n"
                "  %2 = matmul(%0, %1) over [k] -> [m,k1] f16\n"
                "  %3 = max(%2) over [k1] -> [m] f16\n"
                "  %4 = sub(%2, %3) -> [m,k1] f16\n"
                "  %5 = exp(%4) -> [m,k1] f16\n"
                "  %6 = sum(%5) over [k1] -> [m] f16\n"
                "  %7 = div(%5, %6) -> [m,k1] f16\n"
                "  %8 = iter t0(k1*16 + n*1) -> [k1,n] f16\n"
                "  %9 = matmul(%7, %8) over [k1] -> [m,n] f16\n"
                "  save %9 -> t3(m*16 + n*1)\n");
}

Test(labels, equal_extents_are_no_reason)
{
    expect_text("X:f32[8,8] B:f32[8]",
                MATMUL("X", "X", "S") "," BINARY("add", "S", "X", "T") "," BINARY("mul", "T", "B", "Y"), "Y",
                "  %0 = iter t0(m*8 + k*1) -> [m,k] f32\n"
                "  %1 = iter t0(k*8 + n*1) -> [k,n] f32\n"
                "  %2 = matmul(%0, %1) over [k] -> [m,n] f32\n"
                "  %3 = iter t0(m*8 + n*1) -> [m,n] f32\n"
                "  %4 = add(%2, %3) -> [m,n] f32\n"
                "  %5 = iter t1(n*1) -> [n] f32\n"
                "  %6 = mul(%4, %5) -> [m,n] f32\n"
                "  save %6 -> t4(m*8 + n*1)\n");
}

Test(labels, batches_broadcast)
{
    expect_text("Q:f16[3,1,8,16] K:f16[5,16,4]", MATMUL("Q", "K", "Y"), "Y",
                "  %0 = iter t0(b1*128 + m*16 + k*1) -> [b1,m,k] f16\n"
                "  %1 = iter t1(k*4 + b0*64 + n*1) -> [k,b0,n] f16\n"
                "  %2 = matmul(%0, %1) over [k] -> [b1,m,b0,n] f16\n"
                "  save %2 -> t2(b1*160 + m*4 + b0*32 + n*1)\n");
}

Test(labels, dimensions_of_size_one_are_no_axes)
{
    expect_text("X:f16[8,1] W:f16[1,4] B:f16[1,4]",
                MATMUL("X", "W", "S") "," BINARY("sub", "S", "B", "T") "," ALONG(
                    "sum", "T", "Y", "'axes':[0],'keepdims':true"),
                "Y",
                "  %0 = iter t0(k*1) -> [k] f16\n"
                "  %1 = iter t1(n*1) -> [n] f16\n"
                "  %2 = mul(%0, %1) -> [k,n] f16\n"
                "  %3 = iter t2(n*1) -> [n] f16\n"
                "  %4 = sub(%2, %3) -> [k,n] f16\n"
                "  %5 = sum(%4) over [k] -> [n] f16\n"
                "  save %5 -> t5(n*1)\n");
    expect_text("X:f32[1,1]", ALONG("mean", "X", "Y", "'axes':[0]"), "Y",
                "  %0 = iter t0() -> [] f32\n"
                "  save %0 -> t1()\n");
}

/* Bound axes are names: both products read X through one iterator. */
Test(labels, shared_input_of_two_products)
{
    static const char *const nodes =
        MATMUL("X", "V", "S") "," MATMUL("X", "W", "T") "," UNARY("silu", "S", "U");
    mo_arena *arena = mo_arena_new();
    const char *joined = mo_arena_printf(arena, "%s,%s", nodes, BINARY("mul", "U", "T", "Y"));
    expect_text("X:f16[8,16] V:f16[16,4] W:f16[16,4]", joined, "Y",
                "  %0 = iter t0(m*16 + k*1) -> [m,k] f16\n"
                "  %1 = iter t1(k*4 + n*1) -> [k,n] f16\n"
                "  %2 = matmul(%0, %1) over [k] -> [m,n] f16\n"
                "  %3 = iter t2(k*4 + n*1) -> [k,n] f16\n"
                "  %4 = matmul(%0, %3) over [k] -> [m,n] f16\n"
                "  %5 = silu(%2) -> [m,n] f16\n"
                "  %6 = mul(%5, %4) -> [m,n] f16\n"
                "  save %6 -> t6(m*4 + n*1)\n");
    /* Two outputs that nothing joins keep rows of their own. */
    mo_prim *g = lower_whole(arena, make_program(arena, "X:f16[8,16] V:f16[16,4] W:f16[16,4]", nodes, "U T"));
    cr_expect_eq(count_iterators(g, 0), 2);
    cr_expect_eq(g->nodes[g->savers[0].node].axes & g->nodes[g->savers[1].node].axes, 0);
    mo_arena_free(arena);
}

/* One product under another may use the same name for its bound axis; a value that has both may not. */
Test(labels, bound_axes_that_meet_stay_apart)
{
    expect_text("X:f32[8,8]",
                ALONG("sum", "X", "R", "'axes':[1]") "," ALONG("sum", "X", "C", "'axes':[0]") "," BINARY(
                    "mul", "R", "C", "P") "," ALONG("sum", "P", "Y", "'axes':[0]"),
                "Y",
                "  %0 = iter t0(k*8 + k1*1) -> [k,k1] f32\n"
                "  %1 = sum(%0) over [k1] -> [k] f32\n"
                "  %2 = iter t0(k*1 + k2*8) -> [k,k2] f32\n"
                "  %3 = sum(%2) over [k2] -> [k] f32\n"
                "  %4 = mul(%1, %3) -> [k] f32\n"
                "  %5 = sum(%4) over [k] -> [] f32\n"
                "  save %5 -> t4()\n");
}

static void expect_cut(const char *inputs, const char *nodes, const char *outputs, int subprograms)
{
    mo_arena *arena = mo_arena_new();
    mo_program *program = make_program(arena, inputs, nodes, outputs);
    int all[16];
    const char *reason = NULL;
    for (int i = 0; i < program->n_nodes; i++) all[i] = i;
    cr_expect_null(mo_lower_nodes(arena, program, all, program->n_nodes, &reason), "%s", nodes);
    cr_expect_str_eq(reason, "one value needs two bindings of its axes");
    mo_lowered lowered = lower(arena, program);
    cr_expect_eq(lowered.n_subprograms, subprograms, "%d", lowered.n_subprograms);
    int next = 0;
    for (int i = 0; i < lowered.n_subprograms; i++) {
        cr_expect_eq(lowered.subprograms[i].nodes[0], next);
        cr_expect_null(mo_prim_check(lowered.subprograms[i].graph));
        next += lowered.subprograms[i].count;
    }
    cr_expect_eq(next, program->n_nodes);
    mo_arena_free(arena);
}

Test(labels, computed_values_with_two_bindings_are_cut)
{
    expect_cut("A:f16[8,8]", MATMUL("A", "A", "S") "," MATMUL("S", "S", "Y"), "Y", 2);
    expect_cut("A:f16[8,16]", MATMUL_T("A", "A", "S") "," MATMUL_T("S", "S", "Y"), "Y", 2);
    expect_cut("A:f16[8,8]", MATMUL("A", "A", "S") "," UNARY("exp", "S", "E") "," MATMUL("E", "S", "Y"), "Y",
               2);
    /* The summed axis would be free as well. */
    expect_cut("A:f32[8,8] D:f32[8,8]",
               UNARY("exp", "A", "S") "," ALONG("sum", "S", "R", "'axes':[0]") "," BINARY(
                   "mul", "D", "R", "T") "," MATMUL("S", "T", "Y"),
               "Y", 2);
}

Test(labels, cut_by_size)
{
    mo_arena *arena = mo_arena_new();
    mo_program *program = make_program(
        arena, "X:f32[8]", UNARY("exp", "X", "A") "," UNARY("neg", "A", "B") "," UNARY("abs", "B", "Y"), "Y");
    mo_lowered lowered;
    mo_error error;
    cr_assert_eq(mo_lower_program(arena, program, 3, &lowered, &error), MO_OK);
    cr_expect_eq(lowered.n_subprograms, 2);
    cr_expect_eq(lowered.subprograms[0].count, 2);
    for (int n = 0; n < program->n_nodes; n++) cr_expect_eq(lowered.nodes[n]->n_nodes, 2);
    mo_arena_free(arena);
}

/* What moves data stands on its own, between what is searched; windows into inputs come first. */
Test(labels, views_stand_apart)
{
    mo_arena *arena = mo_arena_new();
    mo_program *program = make_program(
        arena, "X:f32[8,4]",
        ALONG("exp", "X", "E", "'x-':0") "," ALONG("transpose", "X", "T", "'perm':[1,0]") "," ALONG(
            "exp", "T", "F",
            "'x-':0") "," ALONG("transpose", "F", "G",
                                "'perm':[1,0]") ",{'op':'add','inputs':['E','G'],'output':'Y'}",
        "Y");
    mo_lowered lowered;
    mo_error error = {0};
    cr_assert_eq(mo_lower_program(arena, program, 1000, &lowered, &error), MO_OK, "%s", error.text);
    cr_assert_eq(lowered.n_subprograms, 4);
    const int counts[] = {1, 2, 1, 1};
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(lowered.subprograms[i].count, counts[i]);
        bool moves = program->nodes[lowered.subprograms[i].nodes[0]].op == MO_OP_TRANSPOSE;
        cr_expect_eq(lowered.subprograms[i].graph == NULL, moves);
    }
    int node = lowered.subprograms[0].nodes[0];
    const char *reason = NULL;
    cr_expect_null(mo_lower_nodes(arena, program, &node, 1, &reason));
    cr_expect_str_eq(reason, "no primitive form");
    cr_expect_null(lowered.nodes[node]);
    mo_arena_free(arena);
}
