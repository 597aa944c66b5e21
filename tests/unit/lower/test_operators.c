/* Compound operators, reductions, memory, and the merging of axes. */
#include "programs.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect_text(const char *inputs, const char *node, const char *expected)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *g = lower_whole(arena, make_program(arena, inputs, node, "Y"));
    const char *text = strstr(text_of(arena, g), "  %0");
    cr_expect_str_eq(text, expected, "%s", text);
    mo_arena_free(arena);
}

Test(operators, rms_norm)
{
    expect_text("X:f16[4,8] G:f16[8]",
                "{'op':'rms_norm','inputs':['X','G'],'output':'Y','axes':[-1],'eps':0.25}",
                "  %0 = iter t0(m*8 + n*1) -> [m,n] f16\n"
                "  %1 = mul(%0, %0) -> [m,n] f16\n"
                "  %2 = sum(%1) over [n] -> [m] f16\n"
                "  %3 = const 8 -> [] f32\n"
                "  %4 = div(%2, %3) -> [m] f16\n"
                "  %5 = const 0.25 -> [] f32\n"
                "  %6 = add(%4, %5) -> [m] f16\n"
                "  %7 = sqrt(%6) -> [m] f16\n"
                "  %8 = div(%0, %7) -> [m,n] f16\n"
                "  %9 = iter t1(n*1) -> [n] f16\n"
                "  %10 = mul(%8, %9) -> [m,n] f16\n"
                "  save %10 -> t2(m*8 + n*1)\n");
    expect_text("X:f16[4,8]", "{'op':'rms_norm','inputs':['X'],'output':'Y','axes':[0,1],'eps':0}",
                "  %0 = iter t0(m*8 + n*1) -> [m,n] f16\n"
                "  %1 = mul(%0, %0) -> [m,n] f16\n"
                "  %2 = sum(%1) over [m,n] -> [] f16\n"
                "  %3 = const 32 -> [] f32\n"
                "  %4 = div(%2, %3) -> [] f16\n"
                "  %5 = sqrt(%4) -> [] f16\n"
                "  %6 = div(%0, %5) -> [m,n] f16\n"
                "  save %6 -> t1(m*8 + n*1)\n");
}

Test(operators, layer_norm)
{
    expect_text("X:f32[4,8] G:f32[8] B:f32[8]",
                "{'op':'layer_norm','inputs':['X','G','B'],'output':'Y','axes':[-1],'eps':1}",
                "  %0 = iter t0(m*8 + n*1) -> [m,n] f32\n"
                "  %1 = sum(%0) over [n] -> [m] f32\n"
                "  %2 = const 8 -> [] f32\n"
                "  %3 = div(%1, %2) -> [m] f32\n"
                "  %4 = sub(%0, %3) -> [m,n] f32\n"
                "  %5 = mul(%4, %4) -> [m,n] f32\n"
                "  %6 = sum(%5) over [n] -> [m] f32\n"
                "  %7 = div(%6, %2) -> [m] f32\n"
                "  %8 = const 1 -> [] f32\n"
                "  %9 = add(%7, %8) -> [m] f32\n"
                "  %10 = sqrt(%9) -> [m] f32\n"
                "  %11 = div(%4, %10) -> [m,n] f32\n"
                "  %12 = iter t1(n*1) -> [n] f32\n"
                "  %13 = mul(%11, %12) -> [m,n] f32\n"
                "  %14 = iter t2(n*1) -> [n] f32\n"
                "  %15 = add(%13, %14) -> [m,n] f32\n"
                "  save %15 -> t3(m*8 + n*1)\n");
}

Test(operators, l2_norm)
{
    expect_text("X:f32[4,8]", "{'op':'l2_norm','inputs':['X'],'output':'Y','axes':[0],'eps':0}",
                "  %0 = iter t0(m*8 + n*1) -> [m,n] f32\n"
                "  %1 = mul(%0, %0) -> [m,n] f32\n"
                "  %2 = sum(%1) over [m] -> [n] f32\n"
                "  %3 = sqrt(%2) -> [n] f32\n"
                "  %4 = div(%0, %3) -> [m,n] f32\n"
                "  save %4 -> t1(m*8 + n*1)\n");
}

Test(operators, attributes_travel)
{
    expect_text("X:f32[4]", "{'op':'clamp','inputs':['X'],'output':'Y','min':-1,'max':2}",
                "  %0 = iter t0(n*1) -> [n] f32\n"
                "  %1 = clamp(%0) min -1 max 2 -> [n] f32\n"
                "  save %1 -> t1(n*1)\n");
    expect_text("X:f32[4]", "{'op':'gelu','inputs':['X'],'output':'Y','approximate':'tanh'}",
                "  %0 = iter t0(n*1) -> [n] f32\n"
                "  %1 = gelu(%0) tanh -> [n] f32\n"
                "  save %1 -> t1(n*1)\n");
    expect_text("X:f32[4]", "{'op':'cast','inputs':['X'],'output':'Y','dtype':'bf16'}",
                "  %0 = iter t0(n*1) -> [n] f32\n"
                "  %1 = cast(%0) -> [n] bf16\n"
                "  save %1 -> t1(n*1)\n");
    expect_text("X:f16[4]", "{'op':'div','inputs':[0.5,'X'],'output':'Y'}",
                "  %0 = const 0.5 -> [] f32\n"
                "  %1 = iter t0(n*1) -> [n] f16\n"
                "  %2 = div(%0, %1) -> [n] f16\n"
                "  save %2 -> t1(n*1)\n");
    expect_text("X:f16[4]", "{'op':'pow','inputs':['X',-3],'output':'Y'}",
                "  %0 = iter t0(n*1) -> [n] f16\n"
                "  %1 = const -3 -> [] f32\n"
                "  %2 = pow(%0, %1) -> [n] f16\n"
                "  save %2 -> t1(n*1)\n");
    expect_text("X:f16[4]", "{'op':'square','inputs':['X'],'output':'Y'}",
                "  %0 = iter t0(n*1) -> [n] f16\n"
                "  %1 = mul(%0, %0) -> [n] f16\n"
                "  save %1 -> t1(n*1)\n");
}

Test(operators, the_number_of_a_mean_knows_its_axes)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p =
        make_program(arena, "X:f32[4,6,5]", "{'op':'mean','inputs':['X'],'output':'Y','axes':[0,2]}", "Y");
    mo_prim *g = lower_whole(arena, p);
    int numbers = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != MO_OP_CONST) continue;
        numbers++;
        cr_expect_eq(g->nodes[i].number, 20.0);
        cr_expect_eq(g->nodes[i].const_axes, g->nodes[1].reduced);
    }
    cr_expect_eq(numbers, 1);
    mo_arena_free(arena);
}

/* A kept dimension has no axis; one that is dropped has no place in memory. */
Test(operators, keepdims)
{
    static const char *const names[] = {"sum", "mean", "max", "min"};
    for (int i = 0; i < 8; i++) {
        bool keep = i % 2 == 1;
        mo_arena *arena = mo_arena_new();
        const char *node =
            mo_arena_printf(arena, "{'op':'%s','inputs':['X'],'output':'Y','axes':[1],'keepdims':%s}",
                            names[i / 2], keep ? "true" : "false");
        mo_prim *g = lower_whole(arena, make_program(arena, "X:f32[3,4,5]", node, "Y"));
        const mo_access *read = &g->nodes[0].access, *write = &g->savers[0].access;
        cr_assert_eq(read->rank, 3);
        cr_assert_eq(write->rank, keep ? 3 : 2);
        if (keep) cr_expect_eq(write->dim_axis[1], -1);
        cr_expect_eq(write->dim_axis[0], read->dim_axis[0]);
        cr_expect_eq(write->dim_axis[write->rank - 1], read->dim_axis[2]);
        cr_expect_eq(write->stride[write->dim_axis[0]], 5);
        cr_expect_eq(write->stride[read->dim_axis[1]], 0);
        cr_expect_eq(g->nodes[1].reduced, 1u << read->dim_axis[1]);
        mo_arena_free(arena);
    }
}

/* Reductions over everything are the default. */
Test(operators, sum_of_all)
{
    expect_text("X:f32[3,4]", "{'op':'sum','inputs':['X'],'output':'Y'}",
                "  %0 = iter t0(k*4 + k1*1) -> [k,k1] f32\n"
                "  %1 = sum(%0) over [k,k1] -> [] f32\n"
                "  save %1 -> t1()\n");
}

Test(operators, strides_of_inputs)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p = make_program(arena, "X:f32[4,8]/1,100 B:f32[4,8]/0,3",
                                 "{'op':'add','inputs':['X','B'],'output':'Y'}", "Y");
    mo_prim *g = lower_whole(arena, p);
    const mo_access *x = &g->nodes[0].access, *b = &g->nodes[1].access;
    cr_assert(g->nodes[0].op == MO_OP_ITER && g->nodes[1].op == MO_OP_ITER);
    cr_expect_eq(x->stride[x->dim_axis[0]], 1);
    cr_expect_eq(x->stride[x->dim_axis[1]], 100);
    cr_expect_eq(b->dim_axis[0], x->dim_axis[0], "an axis with stride 0 is still an axis of the value");
    cr_expect_eq(b->stride[b->dim_axis[0]], 0);
    cr_expect_eq(b->stride[b->dim_axis[1]], 3);
    cr_expect_eq(g->nodes[1].axes, g->nodes[0].axes);
    mo_arena_free(arena);
}

/* ---- merging ---- */

/* Axes in use after merging, by extent, as text: "24 8". */
static void expect_merged(const char *inputs, const char *node, const char *expected)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *g = mo_prim_copy(arena, lower_whole(arena, make_program(arena, inputs, node, "Y")));
    mo_prim_merge_axes(g);
    mo_axes used = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        used |= g->nodes[i].axes;
        if (g->nodes[i].op == MO_OP_ITER) cr_expect_eq(g->nodes[i].access.rank, -1);
    }
    for (int s = 0; s < g->n_savers; s++) cr_expect_eq(g->savers[s].access.rank, -1);
    mo_str text = {0};
    MO_FOR_AXES(a, used) mo_str_printf(&text, "%s%d", text.length > 0 ? " " : "", (int)g->axes[a].extent);
    cr_expect_str_eq(mo_str_text(&text), expected, "%s: %s", node, mo_str_text(&text));
    cr_expect_null(mo_prim_check(g));
    mo_str_free(&text);
    mo_arena_free(arena);
}

Test(merging, axes_that_always_stand_together)
{
    static const char *const softmax = "{'op':'softmax','inputs':['X'],'output':'Y','axis':-1}";
    static const char *const matmul = "{'op':'matmul','inputs':['X','W'],'output':'Y'}";
    static const char *const add = "{'op':'add','inputs':['X','W'],'output':'Y'}";
    static const char *const norm = "{'op':'rms_norm','inputs':['X'],'output':'Y','axes':[-2,-1],'eps':1}";
    expect_merged("X:f32[4,6,8]", softmax, "24 8");
    expect_merged("X:f32[4,6,8]", norm, "4 48");
    expect_merged("X:f32[4,6,8] W:f32[8,5]", matmul, "24 8 5");
    expect_merged("X:f32[4,6,8] W:f32[4,8,5]", matmul, "4 6 8 5");
    expect_merged("X:f32[2,4,6,8] W:f32[2,4,8,5]", matmul, "8 6 8 5");
    expect_merged("X:f32[4,6,8] W:f32[4,6,8]", add, "192");
}

Test(merging, memory_decides)
{
    static const char *const add = "{'op':'add','inputs':['X','W'],'output':'Y'}";
    static const char *const neg = "{'op':'neg','inputs':['X'],'output':'Y'}";
    expect_merged("X:f32[4,6] W:f32[6]", add, "4 6");
    expect_merged("X:f32[4,6] W:f32[4,6]/1,4", add, "4 6"); /* transposed in memory */
    expect_merged("X:f32[4,6]/8,1", neg, "4 6");            /* rows with a gap */
    expect_merged("X:f32[4,6]/6,1", neg, "24");
    expect_merged("X:f32[4,6,8]/48,8,1", neg, "192");
    expect_merged("X:f32[4,6,8]/100,8,1", neg, "4 48");
    expect_merged("X:f32[4,6] W:f32[4,6]/0,0", add, "24"); /* one element, repeated */
}
