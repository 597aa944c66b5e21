/* The rewrites that the search must find, and what must not come out of it. */
#include "programs.h"

#include <criterion/criterion.h>
#include <string.h>

#define RMSNORM                                                                                      \
    "'inputs':[{'name':'X','shape':[16,4096],'dtype':'f16'},{'name':'W','shape':[4096,6144],"        \
    "'dtype':'f16'}],'nodes':[{'op':'rms_norm','inputs':['X'],'output':'N','axes':[-1],'eps':1e-5}," \
    "{'op':'matmul','inputs':['N','W'],'output':'Y'}],'outputs':['Y']"
#define ATTENTION                                                                              \
    "'inputs':[{'name':'Q','shape':[2,16,64],'dtype':'f16'},{'name':'K','shape':[2,64,512],"   \
    "'dtype':'f16'},{'name':'V','shape':[2,512,64],'dtype':'f16'}],"                           \
    "'nodes':[{'op':'matmul','inputs':['Q','K'],'output':'S'},{'op':'softmax','inputs':['S']," \
    "'axis':-1,'output':'P'},{'op':'matmul','inputs':['P','V'],'output':'Y'}],'outputs':['Y']"
#define LORA                                                                                           \
    "'inputs':[{'name':'X','shape':[16,256],'dtype':'f16'},{'name':'W','shape':[256,4096],"            \
    "'dtype':'f16'},{'name':'A','shape':[256,16],'dtype':'f16'},{'name':'B','shape':[16,4096],"        \
    "'dtype':'f16'}],'nodes':[{'op':'matmul','inputs':['X','W'],'output':'P'},"                        \
    "{'op':'matmul','inputs':['X','A'],'output':'H'},{'op':'matmul','inputs':['H','B'],'output':'Q'}," \
    "{'op':'add','inputs':['P','Q'],'output':'Y'}],'outputs':['Y']"
#define GATED_MLP                                                                                 \
    "'inputs':[{'name':'X','shape':[8,4096],'dtype':'f16'},{'name':'U','shape':[4096,4096],"      \
    "'dtype':'f16'},{'name':'V','shape':[4096,4096],'dtype':'f16'}],"                             \
    "'nodes':[{'op':'matmul','inputs':['X','U'],'output':'P'},{'op':'matmul','inputs':['X','V']," \
    "'output':'Q'},{'op':'silu','inputs':['P'],'output':'S'},{'op':'mul','inputs':['S','Q'],"     \
    "'output':'Y'}],'outputs':['Y']"
#define NGPT                                                                                           \
    "'inputs':[{'name':'X','shape':[8,256],'dtype':'f16'},{'name':'H','shape':[8,256],'dtype':'f16'}," \
    "{'name':'A','shape':[256],'dtype':'f16'}],"                                                       \
    "'nodes':[{'op':'l2_norm','inputs':['H'],'axes':[-1],'eps':0,'output':'N'},"                       \
    "{'op':'sub','inputs':['N','X'],'output':'D'},{'op':'mul','inputs':['A','D'],'output':'M'},"       \
    "{'op':'add','inputs':['X','M'],'output':'R'},"                                                    \
    "{'op':'l2_norm','inputs':['R'],'axes':[-1],'eps':0,'output':'Y'}],'outputs':['Y']"
#define ROWSUM                                                                            \
    "'inputs':[{'name':'X','shape':[16,64],'dtype':'f16'},{'name':'W','shape':[64,4096]," \
    "'dtype':'f16'}],'nodes':[{'op':'matmul','inputs':['X','W'],'output':'P'},"           \
    "{'op':'sum','inputs':['P'],'axes':[-1],'output':'Y'}],'outputs':['Y']"
#define CHAIN                                                                               \
    "'inputs':[{'name':'Q','shape':[1024,64],'dtype':'f16'},{'name':'K','shape':[4096,64]," \
    "'dtype':'f16'},{'name':'V','shape':[4096,64],'dtype':'f16'}],"                         \
    "'nodes':[{'op':'matmul','inputs':['Q','K'],'transpose_b':true,'output':'S'},"          \
    "{'op':'matmul','inputs':['S','V'],'output':'Y'}],'outputs':['Y']"

static mo_algebra_result search(mo_arena *arena, const char *text, mo_algebra_options options)
{
    return mo_algebra_search(arena, lower_text(arena, text), &options);
}

static void expect(const char *program, const char *text)
{
    mo_arena *arena = mo_arena_new();
    mo_algebra_result r = search(arena, program, (mo_algebra_options){0});
    cr_expect(has_text(arena, &r, text), "not found: %s", text);
    mo_arena_free(arena);
}

Test(algebra_rewrites, division_moves_behind_the_product)
{
    expect(RMSNORM, "div(matmul(W,X),sqrt(add(1e-05,div(sum(mul(X,X)),4096))))");
}

Test(algebra_rewrites, row_sum_of_a_product_is_a_product_with_the_row_sum)
{
    expect(ROWSUM, "matmul(X,sum(W))");
}

Test(algebra_rewrites, products_are_reassociated)
{
    expect(CHAIN, "matmul(Q,matmul(K,V))");
}

Test(algebra_rewrites, softmax_is_normalised_behind_the_product)
{
    expect(ATTENTION, "div(matmul(V,exp(sub(matmul(K,Q),max(matmul(K,Q))))),"
                      "sum(exp(sub(matmul(K,Q),max(matmul(K,Q))))))");
}

Test(algebra_rewrites, adapters_are_merged_into_the_weight)
{
    expect(LORA, "matmul(X,add(W,matmul(A,B)))");
    expect(LORA, "add(matmul(B,matmul(A,X)),matmul(W,X))");
    expect(LORA, "add(matmul(W,X),matmul(X,matmul(A,B)))");
}

Test(algebra_rewrites, the_cheaper_form_comes_first)
{
    mo_arena *arena = mo_arena_new();
    mo_algebra_result r = search(arena, ROWSUM, (mo_algebra_options){0});
    cr_expect_str_eq(graph_text(arena, r.graphs[0]), "matmul(X,sum(W))");
    r = search(arena, CHAIN, (mo_algebra_options){0});
    cr_expect_str_eq(graph_text(arena, r.graphs[0]), "matmul(Q,matmul(K,V))");
    cr_expect_lt(r.costs[0] * 4, r.costs[r.original]);
    mo_arena_free(arena);
}

/* Where the mean divides by its length makes no difference that is worth a place. */
Test(algebra_rewrites, graphs_that_differ_in_the_place_of_a_number_are_alike)
{
    mo_arena *arena = mo_arena_new();
    mo_algebra_result one = search(arena, RMSNORM, (mo_algebra_options){.max_alike = 1});
    mo_algebra_result all = search(arena, RMSNORM, (mo_algebra_options){.max_alike = 1000});
    cr_expect_eq(one.n_graphs, 2);
    cr_expect_gt(all.n_graphs, 5);
    cr_expect(has_text(arena, &one, "div(matmul(W,X),sqrt(add(1e-05,div(sum(mul(X,X)),4096))))"));
    mo_arena_free(arena);
}

static bool takes_bare_exponential(const mo_prim *g)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == MO_OP_EXP && g->nodes[g->nodes[i].in[0]].op == MO_OP_MATMUL) return true;
    return false;
}

Test(algebra_rewrites, a_shifted_exponential_stays_shifted)
{
    mo_arena *arena = mo_arena_new();
    mo_algebra_result safe = search(arena, ATTENTION, (mo_algebra_options){0});
    mo_algebra_result any = search(arena, ATTENTION, (mo_algebra_options){.any_exp = true});
    bool found = false;
    for (int i = 0; i < safe.n_graphs; i++) cr_expect_not(takes_bare_exponential(safe.graphs[i]));
    for (int i = 0; i < any.n_graphs; i++) found |= takes_bare_exponential(any.graphs[i]);
    cr_expect(found, "the algebra alone drops the maximum");
    cr_expect_gt(safe.stats.pruned_unsafe, 0);
    mo_arena_free(arena);
}

/* Every program of the paper's kind: the original is there, the order is that of the costs, the sizes are
 * kept, and the search is small. */
static void check_program(const char *text, bool complete, int64_t most_states)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *graph = lower_text(arena, text);
    mo_algebra_result r = mo_algebra_search(arena, graph, &(mo_algebra_options){0});
    mo_prim *cleaned = mo_prim_copy(arena, graph);
    mo_prim_clean(cleaned);
    mo_hash128 original = mo_algebra_hash(arena, cleaned);
    cr_assert(r.original >= 0 && r.original < r.n_graphs);
    cr_expect(mo_hash_equal(mo_algebra_hash(arena, r.graphs[r.original]), original));
    for (int i = 0; i < r.n_graphs; i++) {
        cr_expect_null(mo_prim_check(r.graphs[i]));
        cr_expect_leq(mo_algebra_block_ops(r.graphs[i]), mo_algebra_block_ops(cleaned) + 3);
        if (i > 0) cr_expect_leq(r.costs[i - 1], r.costs[i]);
    }
    cr_expect_eq(r.stats.complete, complete);
    cr_expect_leq(r.stats.states, most_states);
    int64_t sorted_out = r.stats.pruned_expression + r.stats.pruned_shape + r.stats.pruned_duplicate;
    cr_expect_leq(sorted_out, r.stats.states);
    cr_expect_eq(r.stats.verified + r.stats.rejected, r.stats.graphs);
    mo_arena_free(arena);
}

Test(algebra_rewrites, programs_of_the_paper)
{
    check_program(RMSNORM, true, 10000);
    check_program(GATED_MLP, true, 10000);
    check_program(LORA, true, 10000);
    check_program(ATTENTION, true, 10000);
    check_program(ROWSUM, true, 10000);
    check_program(CHAIN, true, 10000);
    check_program(NGPT, false, 500000);
}
