/* CHAIN schedules: which graphs they take, and what each value becomes. */
#include "fixture.h"

#include "ir/chain.h"

#include <criterion/criterion.h>

#define Q_K_V                                                                                           \
    "'inputs':[" FIXTURE_INPUT("Q", "[2,32,16]") "," FIXTURE_INPUT("K", "[2,48,16]") "," FIXTURE_INPUT( \
        "V", "[2,48,24]") "],'nodes':[{'op':'matmul','inputs':['Q','K'],'output':'S','transpose_b':true},"
#define SHIFTED                                                                                       \
    "{'op':'max','inputs':['S'],'output':'M','axes':[-1],'keepdims':true},{'op':'sub','inputs':['S'," \
    "'M'],'output':'D'},{'op':'exp','inputs':['D'],'output':'E'},"
#define O_OVER_L(e)                                                                                         \
    "{'op':'sum','inputs':['" e "'],'output':'L','axes':[-1],'keepdims':true},{'op':'matmul','inputs':['" e \
    "','V'],'output':'O'},{'op':'div','inputs':['O','L'],'output':'Y'}],'outputs':['Y']"

static int axis_of_extent(const mo_prim *g, int64_t extent)
{
    int found = -1;
    for (int i = 0; i < g->n_nodes; i++)
        MO_FOR_AXES(a, g->nodes[i].axes)
            if (g->axes[a].extent == extent) found = a;
    cr_assert_geq(found, 0);
    return found;
}

/* Rows of 32, columns of 24, a loop over 48; everything else that is reduced is whole. */
static const char *analyse(mo_arena *arena, const char *text, mo_prim **g, mo_chain *chain)
{
    *g = fixture_graph(arena, fixture_program(arena, text));
    mo_kernel kernel = {.name = "k", .program_node = -1, .body = *g};
    mo_schedule *s = &kernel.schedule;
    *s = (mo_schedule){
        .kind = MO_SCHEDULE_CHAIN, .threads = 64, .groups = 1, .warps_p = 2, .stages = 2, .row_axis = -1};
    s->p_axis = axis_of_extent(*g, 32);
    s->q_axis = axis_of_extent(*g, 24);
    s->loop_axis = axis_of_extent(*g, 48);
    mo_axes saved = (*g)->nodes[(*g)->savers[0].node].axes;
    for (int a = 0; a < (*g)->n_axes; a++) {
        s->place[a] = a == s->loop_axis ? MO_PLACE_LOOP : saved >> a & 1u ? MO_PLACE_GRID : MO_PLACE_WHOLE;
        s->tile[a] = saved >> a & 1u && a != s->p_axis && a != s->q_axis ? 1 : (*g)->axes[a].extent;
    }
    return mo_chain_analyse(arena, &kernel, chain);
}

static int count(const mo_prim *g, const mo_chain *chain, mo_chain_role role)
{
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++) n += chain->role[i] == role;
    return n;
}

Test(chain, attention)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *g;
    mo_chain chain;
    cr_assert_null(analyse(arena, Q_K_V SHIFTED O_OVER_L("E"), &g, &chain));
    cr_expect_eq(count(g, &chain, MO_CHAIN_TILE), 3, "Q, K and V");
    cr_expect_eq(count(g, &chain, MO_CHAIN_SCORE), 3, "the product, shifted, its exponential");
    cr_expect_eq(count(g, &chain, MO_CHAIN_STAT), 2, "maximum and sum");
    cr_expect_eq(count(g, &chain, MO_CHAIN_ACCUM), 1);
    cr_expect_eq(count(g, &chain, MO_CHAIN_POST), 1, "the quotient");
    int shifts = 0;
    for (int i = 0; i < g->n_nodes; i++) shifts += mo_chain_shift(g, &chain, i) >= 0;
    cr_expect_eq(shifts, 1);
    mo_arena_free(arena);
}

Test(chain, scores_that_are_worked_on)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *g;
    mo_chain chain;
    cr_assert_null(analyse(arena,
                           Q_K_V
                           "{'op':'mul','inputs':['S',0.25],'output':'T'},{'op':'causal_mask','inputs':['T'],"
                           "'output':'C'},{'op':'tanh','inputs':['C'],'output':'E'}," O_OVER_L("E"),
                           &g, &chain));
    cr_expect_eq(count(g, &chain, MO_CHAIN_SCORE), 4);
    mo_arena_free(arena);
}

/* Norms of rows are reduced before the loop. */
Test(chain, norms_of_rows)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *g;
    mo_chain chain;
    cr_assert_null(analyse(
        arena,
        Q_K_V "{'op':'square','inputs':['Q'],'output':'q2'},{'op':'sum','inputs':['q2'],'output':'qn',"
              "'axes':[-1],'keepdims':true},{'op':'div','inputs':['S','qn'],'output':'E'}," O_OVER_L("E"),
        &g, &chain));
    int rows = 0;
    for (int i = 0; i < g->n_nodes; i++) rows += chain.role[i] == MO_CHAIN_ROW && g->nodes[i].reduced != 0;
    cr_expect_eq(rows, 1);
    mo_arena_free(arena);
}

Test(chain, what_it_does_not_take)
{
    static const struct {
        const char *text, *reason;
    } refused[] = {
        {Q_K_V "{'op':'softmax','inputs':['S'],'output':'P','axis':-1},{'op':'matmul','inputs':['P','V'],'"
               "output':'Y'}],"
               "'outputs':['Y']",
         "a value is needed before its loop has ended"},
        {Q_K_V SHIFTED "{'op':'square','inputs':['E'],'output':'F'}," O_OVER_L("F"),
         "a value is needed before its loop has ended"},
        {Q_K_V "{'op':'exp','inputs':['V'],'output':'W'},{'op':'matmul','inputs':['S','W'],'output':'Y'}],'"
               "outputs':['Y']",
         "a product of values that are not where it needs them"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        mo_arena *arena = mo_arena_new();
        mo_prim *g;
        mo_chain chain;
        const char *reason = analyse(arena, refused[i].text, &g, &chain);
        cr_assert_not_null(reason, "program %d", (int)i);
        cr_expect_str_eq(reason, refused[i].reason);
        mo_arena_free(arena);
    }
}
