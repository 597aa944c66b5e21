/* Properties of the algebra search on tiny programs. */
#include "abstract/abstract.h"
#include "programs.h"
#include "search/algebra_state.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bounds that do not bind on tiny programs. */
static const mo_algebra_options exhaustive = {
    .max_states = 20000000, .max_new = 3, .max_graphs = 20000, .max_alike = 20000};

/* Does the first saved value have the abstract expression of the original's? */
static bool same_expression(mo_abs *abs, const mo_prim *g, const mo_prim *original)
{
    mo_abs_expr expr[2][64];
    const mo_prim *graphs[2] = {g, original};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < graphs[k]->n_nodes; i++) {
            const mo_prim_node *node = &graphs[k]->nodes[i];
            mo_abs_expr in[2] = {expr[k][node->in[0]], expr[k][node->in[1]]};
            expr[k][i] = mo_abs_of_prim(abs, graphs[k], node, in);
        }
    }
    for (int s = 0; s < g->n_savers; s++)
        if (expr[0][g->savers[s].node].id != expr[1][original->savers[s].node].id) return false;
    return true;
}

static int by_hash(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(mo_hash128));
}

/* Sorted hashes of the results; with `original`, of those that the axioms prove equal to it. */
static mo_hash128 *hashes(mo_arena *arena, const mo_algebra_result *r, const mo_prim *original, int *n)
{
    mo_hash128 *list = MO_NEW_ARRAY(arena, mo_hash128, r->n_graphs + 1);
    mo_abs *abs = mo_abs_new(true);
    *n = 0;
    for (int i = 0; i < r->n_graphs; i++)
        if (!original || same_expression(abs, r->graphs[i], original))
            list[(*n)++] = mo_algebra_hash(arena, r->graphs[i]);
    mo_abs_free(abs);
    qsort(list, (size_t)*n, sizeof *list, by_hash);
    return list;
}

static int operators(const mo_prim *g)
{
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++) n += mo_op_kind_of(g->nodes[i].op) != MO_KIND_STRUCTURE;
    return n;
}

Test(algebra_search, pruning_loses_nothing)
{
    int compared = 0;
    for (int i = 0; i < n_tiny_programs; i++) {
        mo_arena *arena = mo_arena_new();
        mo_prim *graph = lower_text(arena, tiny_programs[i]);
        mo_prim_clean(graph);
        mo_algebra_options options = exhaustive;
        options.max_new = tiny_new_operators[i];
        options.max_ops = operators(graph) + 2;
        mo_algebra_result pruned = mo_algebra_search(arena, graph, &options);
        options.no_prune = true;
        mo_algebra_result all = mo_algebra_search(arena, graph, &options);
        cr_expect(pruned.stats.complete && all.stats.complete, "program %d: a bound was in the way", i);
        int n, n_all;
        mo_hash128 *a = hashes(arena, &pruned, graph, &n), *b = hashes(arena, &all, graph, &n_all);
        cr_expect_eq(n, n_all, "program %d: %d graphs with pruning, %d without", i, n, n_all);
        for (int j = 0; j < n && n == n_all; j++) cr_expect(mo_hash_equal(a[j], b[j]), "program %d", i);
        cr_expect_leq(pruned.stats.values, all.stats.values);
        compared += n;
        mo_arena_free(arena);
    }
    cr_expect_geq(n_tiny_programs, 10);
    cr_expect_gt(compared, 2 * n_tiny_programs, "too few graphs for the comparison to mean something");
}

Test(algebra_search, results_agree_in_float64)
{
    int checked = 0;
    for (int i = 0; i < n_tiny_programs; i++) {
        mo_arena *arena = mo_arena_new();
        mo_prim *graph = lower_text(arena, tiny_programs[i]);
        mo_algebra_options options = exhaustive;
        options.max_graphs = 200;
        mo_algebra_result r = mo_algebra_search(arena, graph, &options);
        int64_t count, n;
        double *expected = evaluate_double(arena, graph, 1, &count);
        for (int k = 0; k < r.n_graphs; k++, checked++) {
            double *got = evaluate_double(arena, r.graphs[k], 1, &n);
            cr_assert_eq(n, count);
            for (int64_t j = 0; j < n; j++)
                cr_assert_leq(fabs(got[j] - expected[j]), 1e-12 * (1 + fabs(expected[j])), "program %d: %s",
                              i, graph_text(arena, r.graphs[k]));
        }
        mo_arena_free(arena);
    }
    cr_expect_gt(checked, 2 * n_tiny_programs);
}

Test(algebra_search, the_result_does_not_depend_on_the_draw)
{
    for (int i = 0; i < n_tiny_programs; i++) {
        mo_arena *arena = mo_arena_new();
        mo_prim *graph = lower_text(arena, tiny_programs[i]);
        mo_algebra_options options = exhaustive;
        mo_algebra_result r[3];
        int n[3];
        mo_hash128 *h[3];
        for (int k = 0; k < 3; k++) {
            options.seed = k == 2 ? 12345 : 0;
            r[k] = mo_algebra_search(arena, graph, &options);
            h[k] = hashes(arena, &r[k], NULL, &n[k]);
        }
        for (int k = 0; k < r[0].n_graphs; k++)
            cr_expect(
                mo_hash_equal(mo_algebra_hash(arena, r[0].graphs[k]), mo_algebra_hash(arena, r[1].graphs[k])),
                "program %d: two runs differ", i);
        cr_expect_eq(n[0], n[2], "program %d: seeds 0 and 12345 differ", i);
        cr_expect_eq(memcmp(h[0], h[2], sizeof *h[0] * (size_t)n[0]), 0, "program %d: seeds differ", i);
        cr_expect_eq(memcmp(&r[0].stats, &r[1].stats, sizeof r[0].stats), 0);
        mo_arena_free(arena);
    }
}

static bool at_once(void *context)
{
    ++*(int *)context;
    return true;
}

Test(algebra_search, bounds_end_the_search_with_the_original)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *graph = lower_text(arena, tiny_programs[1]);
    int asked = 0;
    mo_algebra_options options = {.stop = at_once, .stop_context = &asked};
    mo_algebra_result r = mo_algebra_search(arena, graph, &options);
    cr_expect_gt(asked, 0);
    cr_expect_not(r.stats.complete);
    cr_expect_eq(r.n_graphs, 1);
    cr_expect_eq(r.original, 0);

    r = mo_algebra_search(arena, graph, &(mo_algebra_options){.max_states = 5});
    cr_expect_not(r.stats.complete);
    cr_expect_leq(r.stats.states, 6);
    cr_expect_eq(r.n_graphs, 1);

    r = mo_algebra_search(arena, graph, &(mo_algebra_options){.max_graphs = 1});
    cr_expect_eq(r.n_graphs, 1);
    cr_expect_eq(r.original, 0);
    mo_arena_free(arena);
}

Test(algebra_search, the_second_look_tells_graphs_apart)
{
    static const struct {
        int program;
        mo_op from, to;
    } changes[] = {{2, MO_OP_ADD, MO_OP_SUB},  {2, MO_OP_MUL, MO_OP_ADD},      {4, MO_OP_DIV, MO_OP_MUL},
                   {5, MO_OP_EXP, MO_OP_SQRT}, {8, MO_OP_EXP, MO_OP_SQUARE},   {9, MO_OP_SILU, MO_OP_SIGMOID},
                   {12, MO_OP_MAX, MO_OP_MIN}, {12, MO_OP_MAXIMUM, MO_OP_ADD}, {13, MO_OP_RSQRT, MO_OP_SQRT}};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        mo_arena *arena = mo_arena_new();
        mo_prim *graph = lower_text(arena, tiny_programs[changes[i].program]);
        mo_prim *other = mo_prim_copy(arena, graph);
        mo_algebra_instance instance;
        cr_assert(mo_algebra_draw(arena, graph, 0, 1, &instance));
        cr_expect(mo_algebra_same(arena, &instance, graph, other));
        for (int j = 0; j < other->n_nodes; j++)
            if (other->nodes[j].op == changes[i].from) other->nodes[j].op = changes[i].to;
        cr_expect_not(mo_algebra_same(arena, &instance, graph, other), "change %zu", i);
        mo_arena_free(arena);
    }
}

/* Means over two axes of equal extent: their lengths are different numbers on a small instance. */
Test(algebra_search, lengths_of_independent_axes_are_not_confused)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *graph = lower_text(arena, "'inputs':[{'name':'X','shape':[6,6],'dtype':'f32'}],"
                                       "'nodes':[{'op':'mean','inputs':['X'],'axes':[0],'keepdims':true,"
                                       "'output':'A'},{'op':'mean','inputs':['X'],'axes':[1],'keepdims':true,"
                                       "'output':'B'},{'op':'add','inputs':['A','B'],'output':'Y'}],"
                                       "'outputs':['Y']");
    mo_algebra_result r = mo_algebra_search(arena, graph, &(mo_algebra_options){0});
    cr_expect_gt(r.n_graphs, 1);
    cr_expect_eq(r.stats.rejected, 0);
    mo_arena_free(arena);
}

/* exp of exp: more exponentials on a path than the primes carry. */
Test(algebra_search, nested_exponentials)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *graph = lower_text(arena, "'inputs':[{'name':'A','shape':[3],'dtype':'f32'}],"
                                       "'nodes':[{'op':'exp','inputs':['A'],'output':'B'},"
                                       "{'op':'exp','inputs':['B'],'output':'C'},"
                                       "{'op':'exp','inputs':['C'],'output':'D'},"
                                       "{'op':'exp','inputs':['D'],'output':'E'}],'outputs':['E']");
    mo_algebra_result r = mo_algebra_search(arena, graph, &(mo_algebra_options){0});
    cr_expect_geq(r.n_graphs, 1);
    cr_expect_geq(r.original, 0);
    mo_arena_free(arena);
}

/* x = A * C, y = B * C, x + y, built in two orders. */
static mo_prim *sum_of_products(mo_arena *arena, const mo_prim *like, bool reversed)
{
    mo_prim *g = mo_prim_new(arena, like->program);
    g->n_axes = like->n_axes;
    memcpy(g->axes, like->axes, sizeof g->axes);
    int leaf[3], n = 0;
    for (int i = 0; i < like->n_nodes; i++)
        if (like->nodes[i].op == MO_OP_ITER) leaf[n++] = mo_prim_append(g, like->nodes[i]);
    cr_assert_eq(n, 3);
    int x = mo_prim_binary(g, MO_OP_MUL, leaf[reversed ? 1 : 0], leaf[2]);
    int y = reversed ? mo_prim_binary(g, MO_OP_MUL, leaf[2], leaf[0])
                     : mo_prim_binary(g, MO_OP_MUL, leaf[1], leaf[2]);
    mo_prim_save(g, mo_prim_binary(g, MO_OP_ADD, x, y), &like->savers[0].access);
    return g;
}

Test(algebra_search, hash_ignores_the_order_of_nodes_and_operands)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *like = lower_text(arena, tiny_programs[2]);
    mo_prim *a = sum_of_products(arena, like, false), *b = sum_of_products(arena, like, true);
    cr_expect(mo_hash_equal(mo_algebra_hash(arena, a), mo_algebra_hash(arena, b)));
    b->nodes[b->n_nodes - 1].op = MO_OP_SUB;
    cr_expect_not(mo_hash_equal(mo_algebra_hash(arena, a), mo_algebra_hash(arena, b)));
    mo_arena_free(arena);
}

Test(algebra_search, block_ops_join_single_consumer_chains)
{
    mo_arena *arena = mo_arena_new();
    /* mul, mul, add: one chain; a matmul and a sum are two */
    cr_expect_eq(mo_algebra_block_ops(lower_text(arena, tiny_programs[2])), 1);
    cr_expect_eq(mo_algebra_block_ops(lower_text(arena, tiny_programs[0])), 2);
    /* exp with two consumers, sum, div */
    cr_expect_eq(mo_algebra_block_ops(lower_text(arena, tiny_programs[8])), 3);
    /* silu and mul, whose result is saved; sum */
    cr_expect_eq(mo_algebra_block_ops(lower_text(arena, tiny_programs[9])), 2);
    mo_arena_free(arena);
}
