/* Loops of block graphs: what waits for another loop, and what runs along with a maximum. */
#include "fixture.h"

#include "ir/block.h"

#include <criterion/criterion.h>
#include <string.h>

#define Q_K_V                                                                                         \
    "'inputs':[" FIXTURE_INPUT("Q", "[2,16,8]") "," FIXTURE_INPUT("K", "[2,32,8]") "," FIXTURE_INPUT( \
        "V", "[2,32,8]") "],'nodes':[{'op':'matmul','inputs':['Q','K'],'output':'S','transpose_b':true},"
#define SOFTMAX "{'op':'softmax','inputs':['S'],'output':'P','axis':-1},"
#define SHIFTED                                                                                       \
    "{'op':'max','inputs':['S'],'output':'M','axes':[-1],'keepdims':true},{'op':'sub','inputs':['S'," \
    "'M'],'output':'D'},{'op':'exp','inputs':['D'],'output':'E'},"
#define P_V(p) "{'op':'matmul','inputs':['" p "','V'],'output':'Y'}],'outputs':['Y']"

static const char *const attention =
    Q_K_V SHIFTED "{'op':'sum','inputs':['E'],'output':'L','axes':[-1],'keepdims':true},"
                  "{'op':'matmul','inputs':['E','V'],'output':'O'},{'op':'div','inputs':['O','L'],'output':'"
                  "Y'}],'outputs':['Y']";

/* All reduced axes whole, except the loop axis; outputs on the grid. */
static mo_kernel kernel_over(mo_prim *g, int loop)
{
    mo_kernel kernel = {.name = "k", .program_node = -1, .body = g};
    mo_axes saved = ~(mo_axes)0;
    for (int s = 0; s < g->n_savers; s++) saved &= g->nodes[g->savers[s].node].axes;
    kernel.schedule =
        (mo_schedule){.kind = MO_SCHEDULE_BLOCK, .threads = 128, .stages = 2, .loop_axis = loop};
    for (int a = 0; a < g->n_axes; a++) {
        kernel.schedule.place[a] = a == loop         ? MO_PLACE_LOOP
                                   : saved >> a & 1u ? MO_PLACE_GRID
                                                     : MO_PLACE_WHOLE;
        kernel.schedule.tile[a] = kernel.schedule.place[a] == MO_PLACE_GRID ? 1 : g->axes[a].extent;
    }
    return kernel;
}

/* The axis of this extent that a reduction binds. */
static int reduced_axis(const mo_prim *g, int64_t extent)
{
    for (int i = 0; i < g->n_nodes; i++)
        MO_FOR_AXES(a, g->nodes[i].reduced)
            if (g->axes[a].extent == extent) return a;
    cr_assert_fail("no reduced axis of extent %d", (int)extent);
    return -1;
}

static int count(const mo_prim *g, const int *of)
{
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++) n += of[i] >= 0;
    return n;
}

static mo_block analyse(mo_arena *arena, const char *text, int64_t extent, mo_prim **graph)
{
    mo_block block;
    *graph = fixture_graph(arena, fixture_program(arena, text));
    mo_kernel kernel = kernel_over(*graph, reduced_axis(*graph, extent));
    const char *wrong = mo_block_analyse(arena, &kernel, &block);
    cr_assert_null(wrong, "%s", wrong);
    return block;
}

Test(block, attention_needs_one_loop)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *g;
    mo_block block = analyse(arena, attention, 32, &g);
    cr_expect_eq(block.loops, 1);
    cr_expect_eq(count(g, block.rescaled), 2, "the sum and the product with V");
    cr_expect_gt(count(g, block.running), 0);
    mo_arena_free(arena);
}

/* As written the exponentials are divided by their sum before the second product: that waits for the sum. */
Test(block, softmax_as_written_needs_two)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *g;
    mo_block block = analyse(arena, Q_K_V SOFTMAX P_V("P"), 32, &g);
    cr_expect_eq(block.loops, 2);
    mo_arena_free(arena);
}

/* A square is not linear: the factor of a growing maximum would be squared too. */
Test(block, a_square_waits_for_the_maximum)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *g;
    mo_block block =
        analyse(arena, Q_K_V SHIFTED "{'op':'mul','inputs':['E','E'],'output':'F'}," P_V("F"), 32, &g);
    cr_expect_eq(block.loops, 2);
    cr_expect_eq(count(g, block.rescaled), 0);
    block = analyse(arena, Q_K_V SHIFTED "{'op':'add','inputs':['E',1],'output':'F'}," P_V("F"), 32, &g);
    cr_expect_eq(block.loops, 2, "1 is not scaled with the exponentials");
    block = analyse(arena, Q_K_V SHIFTED "{'op':'mul','inputs':['E',3],'output':'F'}," P_V("F"), 32, &g);
    cr_expect_eq(block.loops, 1);
    cr_expect_eq(count(g, block.rescaled), 1);
    mo_arena_free(arena);
}

/* The maximum of rows is a different one for each row: columns cannot be summed with it running. */
Test(block, a_sum_across_rows_waits)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *g;
    mo_block block = analyse(
        arena, Q_K_V SHIFTED "{'op':'sum','inputs':['E'],'output':'C','axes':[-2,-1]}],'outputs':['C']", 32,
        &g);
    cr_expect_eq(block.loops, 2);
    cr_expect_eq(count(g, block.rescaled), 0);
    mo_arena_free(arena);
}

Test(block, statistics_before_the_product)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *g;
    mo_block block =
        analyse(arena,
                "'inputs':[" FIXTURE_INPUT("X", "[4,32]") "," FIXTURE_INPUT(
                    "W", "[32,8]") "],'nodes':[{'op':'layer_norm','inputs':['X'],'output':'N','axes':[-1],"
                                   "'eps':1e-5},{'op':'matmul','inputs':['N','W'],'output':'Y'}],"
                                   "'outputs':['Y']",
                32, &g);
    cr_expect_eq(block.loops, 3, "mean, variance, product");
    mo_arena_free(arena);
}

Test(block, what_cannot_be_placed)
{
    mo_arena *arena = mo_arena_new();
    mo_block block;
    mo_prim *g = fixture_graph(arena, fixture_program(arena, attention));
    int keys = reduced_axis(g, 32);
    mo_kernel kernel = kernel_over(g, keys);
    kernel.schedule.place[keys] = MO_PLACE_GRID;
    kernel.schedule.loop_axis = -1;
    const char *wrong = mo_block_analyse(arena, &kernel, &block);
    cr_assert_not_null(wrong);
    cr_expect_str_eq(wrong, "a reduction over a grid axis");
    kernel = kernel_over(g, mo_axes_first(g->nodes[g->savers[0].node].axes));
    wrong = mo_block_analyse(arena, &kernel, &block);
    cr_assert_not_null(wrong);
    cr_expect_str_eq(wrong, "an output over the loop axis");
    mo_arena_free(arena);
}
