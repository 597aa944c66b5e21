/* mo_mugraph_check accepts valid graphs and says what is wrong with broken ones. */
#include "ir/mugraph.h"

#include <criterion/criterion.h>
#include <string.h>

enum { M, K, N };

/* Y = exp(X W), X [16,64], W [64,32]; one node of the program for each operator. */
static mo_program *make_program(mo_arena *arena)
{
    static const mo_shape shapes[4] = {{2, {16, 64}}, {2, {64, 32}}, {2, {16, 32}}, {2, {16, 32}}};
    static const char *const names[4] = {"X", "W", "S", "Y"};
    mo_program *p = MO_NEW(arena, mo_program);
    *p = (mo_program){
        .arena = arena, .name = "p", .n_tensors = 4, .n_inputs = 2, .n_nodes = 2, .n_outputs = 1};
    p->tensors = MO_NEW_ARRAY(arena, mo_tensor, 4);
    p->nodes = MO_NEW_ARRAY(arena, mo_node, 2);
    p->outputs = MO_NEW_ARRAY(arena, int, 1);
    p->outputs[0] = 3;
    for (int t = 0; t < 4; t++) {
        p->tensors[t] = (mo_tensor){.name = names[t], .shape = shapes[t], .dtype = MO_F16, .producer = t - 2};
        mo_shape_row_major(shapes[t], p->tensors[t].strides);
    }
    for (int n = 0; n < 2; n++) {
        p->nodes[n] = (mo_node){.op = n == 0 ? MO_OP_MATMUL : MO_OP_EXP, .n_inputs = 2 - n, .n_outputs = 1};
        p->nodes[n].inputs = MO_NEW_ARRAY(arena, mo_operand, 2);
        p->nodes[n].outputs = MO_NEW_ARRAY(arena, int, 1);
        p->nodes[n].inputs[0].tensor = n == 0 ? 0 : 2;
        p->nodes[n].inputs[1].tensor = 1;
        p->nodes[n].outputs[0] = 2 + n;
    }
    mo_program_set_compute(p);
    mo_program_set_symbols(p);
    mo_program_set_hash(p);
    return p;
}

static mo_prim *new_body(mo_arena *arena, const mo_program *p)
{
    static const mo_axis axes[3] = {{"m", 16}, {"k", 64}, {"n", 32}};
    mo_prim *g = mo_prim_new(arena, p);
    g->n_axes = 3;
    memcpy(g->axes, axes, sizeof axes);
    return g;
}

static mo_access access(const mo_program *p, int tensor, int first, int second)
{
    const int8_t dim_axis[2] = {(int8_t)first, (int8_t)second};
    return mo_access_make(tensor, p->tensors[tensor].shape, p->tensors[tensor].strides, dim_axis);
}

static int read(mo_prim *g, int tensor, int first, int second)
{
    mo_access a = access(g->program, tensor, first, second);
    return mo_prim_iter(g, MO_F16, MO_F16, &a);
}

static void save(mo_prim *g, int node, int tensor)
{
    mo_access a = access(g->program, tensor, M, N);
    mo_prim_save(g, node, &a);
}

static int product(mo_prim *g)
{
    int x = read(g, 0, M, K), w = read(g, 1, K, N);
    return mo_prim_matmul(g, x, w, 1u << K);
}

/* Blocks of 16 by 32, slabs of 16. */
static mo_schedule stream(void)
{
    return (mo_schedule){.kind = MO_SCHEDULE_STREAM,
                         .place = {[M] = MO_PLACE_GRID, [K] = MO_PLACE_LOOP, [N] = MO_PLACE_GRID},
                         .tile = {[M] = 16, [K] = 16, [N] = 32},
                         .threads = 64,
                         .row_axis = -1,
                         .loop_axis = K,
                         .cluster = 1,
                         .parts = 1,
                         .groups = 2,
                         .warps_p = 1,
                         .warps_q = 1,
                         .stages = 2,
                         .p_axis = N,
                         .q_axis = M};
}

/* One kernel that streams: exp(X W). */
static mo_mugraph *fused(mo_arena *arena)
{
    mo_program *p = make_program(arena);
    mo_mugraph *graph = mo_mugraph_new(arena, p, 1);
    mo_prim *g = new_body(arena, p);
    save(g, mo_prim_unary(g, MO_OP_EXP, product(g)), 3);
    mo_schedule s = stream();
    mo_mugraph_add_kernel(graph, "fused", -1, g, &s);
    return graph;
}

/* Two plain kernels, S between them. */
static mo_mugraph *unfused(mo_arena *arena)
{
    mo_program *p = make_program(arena);
    mo_mugraph *graph = mo_mugraph_new(arena, p, 2);
    mo_prim *first = new_body(arena, p), *second = new_body(arena, p);
    save(first, product(first), 2);
    save(second, mo_prim_unary(second, MO_OP_EXP, read(second, 2, M, N)), 3);
    mo_schedule one = mo_schedule_plain(first), two = mo_schedule_plain(second);
    mo_mugraph_add_kernel(graph, "product", 0, first, &one);
    mo_mugraph_add_kernel(graph, "exp", 1, second, &two);
    return graph;
}

/* exp(X) row by row, in place of the second kernel. */
static mo_kernel *make_row(mo_mugraph *graph)
{
    mo_kernel *kernel = &graph->kernels[1];
    kernel->schedule =
        (mo_schedule){.kind = MO_SCHEDULE_ROW,
                      .place = {[M] = MO_PLACE_GRID, [K] = MO_PLACE_WHOLE, [N] = MO_PLACE_WHOLE},
                      .tile = {[M] = 1, [K] = 64, [N] = 32},
                      .threads = 64,
                      .row_axis = N,
                      .lanes = 32,
                      .vector = 1,
                      .loop_axis = -1,
                      .p_axis = -1,
                      .q_axis = -1};
    return kernel;
}

static void expect(mo_arena *arena, const mo_mugraph *graph, const char *message)
{
    const char *wrong = mo_mugraph_check(arena, graph);
    if (message == NULL)
        cr_expect_null(wrong, "%s", wrong);
    else
        cr_expect(wrong != NULL && strcmp(wrong, message) == 0, "'%s', not '%s'",
                  wrong == NULL ? "fine" : wrong, message);
}

Test(check, valid_graphs)
{
    mo_arena *arena = mo_arena_new();
    mo_mugraph *graph = unfused(arena);
    expect(arena, fused(arena), NULL);
    expect(arena, graph, NULL);
    make_row(graph);
    expect(arena, graph, NULL);
    mo_arena_free(arena);
}

Test(check, a_value_before_its_loop_has_ended)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p = make_program(arena);
    for (int broken = 0; broken < 2; broken++) {
        /* (X W) times the sum of X's rows is fine; X scaled by that sum cannot stand in the loop. */
        mo_mugraph *graph = mo_mugraph_new(arena, p, 1);
        mo_prim *g = new_body(arena, p);
        int x = read(g, 0, M, K), w = read(g, 1, K, N), sum = mo_prim_reduce(g, MO_OP_SUM, x, 1u << K);
        int scaled = broken ? mo_prim_matmul(g, mo_prim_binary(g, MO_OP_MUL, x, sum), w, 1u << K)
                            : mo_prim_binary(g, MO_OP_MUL, mo_prim_matmul(g, x, w, 1u << K), sum);
        save(g, scaled, 3);
        mo_schedule s = stream();
        mo_mugraph_add_kernel(graph, "k", -1, g, &s);
        expect(arena, graph, broken ? "a value is needed before its loop has ended" : NULL);
    }
    mo_arena_free(arena);
}

Test(check, order_of_kernels)
{
    mo_arena *arena = mo_arena_new();
    mo_mugraph *graph = unfused(arena);
    mo_kernel first = graph->kernels[0];
    graph->kernels[0] = graph->kernels[1];
    graph->kernels[1] = first;
    expect(arena, graph, "a tensor is read before it is written");
    graph = unfused(arena);
    graph->n_kernels = 1;
    expect(arena, graph, "an output is never written");
    graph = unfused(arena);
    graph->kernels[1].body->savers[0].access.tensor = 2;
    expect(arena, graph, "a tensor is written twice");
    graph = unfused(arena);
    graph->kernels[1].body->nodes[0].access.tensor = 3;
    expect(arena, graph, "a tensor is read before it is written");
    graph = unfused(arena);
    graph->kernels[1].body->nodes[0].access.tensor = 4;
    expect(arena, graph, "access to a tensor that does not exist");
    mo_arena_free(arena);
}

Test(check, copies_of_outputs)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p = make_program(arena);
    p->n_outputs = 2;
    p->outputs = MO_NEW_ARRAY(arena, int, 2);
    p->outputs[0] = 3;
    p->outputs[1] = 0; /* an input */
    for (int copies = 0; copies < 2; copies++) {
        mo_mugraph *graph = mo_mugraph_new(arena, p, 1);
        mo_prim *g = new_body(arena, p);
        save(g, mo_prim_unary(g, MO_OP_EXP, product(g)), 3);
        mo_schedule s = mo_schedule_plain(g);
        mo_mugraph_add_kernel(graph, "all", -1, g, &s);
        if (copies) mo_mugraph_add_copies(graph);
        expect(arena, graph, copies ? NULL : "an output is never written");
    }
    mo_arena_free(arena);
}

Test(check, placement)
{
    static const struct {
        int axis;
        mo_place place;
        int64_t tile;
        const char *message;
    } cases[] = {
        {M, MO_PLACE_GRID, 0, "tile larger than its axis"},
        {M, MO_PLACE_GRID, 17, "tile larger than its axis"},
        {M, MO_PLACE_GRID, 5, NULL}, /* the last tile is guarded */
        {K, MO_PLACE_LOOP, 65, "tile larger than its axis"},
        {K, MO_PLACE_WHOLE, 16, "whole axis with a tile"},
        {M, MO_PLACE_WHOLE, 16, "an output over an axis that is not on the grid"},
        {N, MO_PLACE_LOOP, 32, "an output over an axis that is not on the grid"},
    };
    mo_arena *arena = mo_arena_new();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mo_mugraph *graph = fused(arena);
        graph->kernels[0].schedule.place[cases[i].axis] = cases[i].place;
        graph->kernels[0].schedule.tile[cases[i].axis] = cases[i].tile;
        expect(arena, graph, cases[i].message);
    }
    mo_arena_free(arena);
}

Test(check, blocks_that_do_not_add_up)
{
    mo_arena *arena = mo_arena_new();
    mo_schedule s[7];
    static const char *const messages[] = {"block size out of range",
                                           "threads do not match the warps",
                                           "no ring",
                                           "cluster of neither one block nor two",
                                           "no loop axis",
                                           "threads do not match the warps"};
    for (int i = 0; i < 6; i++) s[i] = stream();
    s[0].threads = 2048;
    s[1].threads = 32;
    s[2].stages = 0;
    s[3].cluster = 3;
    s[4].loop_axis = -1;
    s[5].warps_q = 2;
    for (int i = 0; i < 6; i++) {
        mo_mugraph *graph = fused(arena);
        graph->kernels[0].schedule = s[i];
        expect(arena, graph, messages[i]);
    }
    mo_arena_free(arena);
}

Test(check, rows)
{
    mo_arena *arena = mo_arena_new();
    mo_mugraph *graph = unfused(arena);
    make_row(graph)->schedule.lanes = 24;
    expect(arena, graph, "lanes do not share a block");
    make_row(graph)->schedule.vector = 3;
    expect(arena, graph, "row not a multiple of the vector");
    mo_kernel *divided = make_row(graph);
    divided->schedule.place[N] = MO_PLACE_GRID;
    divided->schedule.tile[N] = 16;
    divided->schedule.resident = true;
    expect(arena, graph, "a divided row whose parts do not fit its threads");
    divided->schedule.lanes = 16;
    cr_expect_null(mo_mugraph_check(arena, graph));
    graph->kernels[1].schedule = mo_schedule_plain(graph->kernels[1].body);
    graph->kernels[0].schedule = make_row(graph)->schedule;
    expect(arena, graph, "a value with an axis beside the row's");
    mo_arena_free(arena);
}

Test(check, memory)
{
    mo_arena *arena = mo_arena_new();
    mo_mugraph *graph = unfused(arena);
    graph->kernels[0].body->nodes[0].access.stride[K] = 2;
    expect(arena, graph, "access beyond the end of a tensor");
    graph = unfused(arena);
    graph->kernels[1].body->savers[0].access.stride[M] = 0;
    expect(arena, graph, "a saver that does not write each element of its tensor once");
    graph = unfused(arena); /* the columns of Y are exchanged with half of its rows */
    graph->kernels[1].body->savers[0].access.stride[M] = 16;
    expect(arena, graph, "a saver that does not write each element of its tensor once");
    graph = unfused(arena); /* transposed: each element once */
    graph->kernels[1].body->savers[0].access.stride[M] = 1;
    graph->kernels[1].body->savers[0].access.stride[N] = 16;
    expect(arena, graph, NULL);
    graph = unfused(arena);
    graph->kernels[1].body->axes[M].extent = 8;
    graph->kernels[1].schedule.tile[M] = 1;
    expect(arena, graph, "a saver that does not write each element of its tensor once");
    mo_arena_free(arena);
}

Test(check, bodies)
{
    mo_arena *arena = mo_arena_new();
    mo_mugraph *graph = unfused(arena);
    mo_prim *g = graph->kernels[0].body;
    g->nodes[2].axes |= 1u << K;
    expect(arena, graph, "axes of a reduction disagree");
    g->nodes[2].axes &= ~(1u << K);
    g->nodes[2].in[1] = 2;
    expect(arena, graph, "operand does not come before its user");
    g->nodes[2].in[1] = 1;
    g->nodes[2].op = MO_OP_SOFTMAX;
    g->nodes[2].n_in = 1;
    expect(arena, graph, "operator that is not primitive");
    g->nodes[2].op = MO_OP_EXP;
    expect(arena, graph, "pointwise axes disagree");
    g->nodes[2].op = MO_OP_MATMUL;
    expect(arena, graph, "operator with the wrong number of operands");
    g->nodes[2].n_in = 2;
    expect(arena, graph, NULL);
    g->savers[0].node = 3;
    expect(arena, graph, "saver of a missing value");
    g->n_savers = 0;
    expect(arena, graph, "nothing is saved");
    mo_arena_free(arena);
}
