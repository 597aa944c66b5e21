/* The joint search after Algorithm 1 of the paper and the decoupled search find the same classes, and neither
 * loses anything by pruning. */
#include "base/str.h"
#include "listing.h"
#include "programs.h"
#include "search/algebra_state.h"
#include "search/assemble.h"
#include "small.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { DEPTH = 8 }; /* operators of a value as a tree, on top of the program's values */

/* What is done with every graph. */
typedef struct {
    class_set *set;
    mo_arena *scratch;
    const mo_prim *program; /* only graphs whose prefixes are all sub-expressions of it; or NULL */
    const mo_hash128 *show; /* a class to print instead of collecting; or NULL */
    mo_class_kind kind;
    kernel_choice choice;
} collector;

static void show_graph(const mo_mugraph *graph)
{
    mo_str text = {0};
    mo_mugraph_print(&text, graph);
    fprintf(stderr, "%s\n", mo_str_text(&text));
    mo_str_free(&text);
}

static void collect(void *context, const mo_mugraph *graph)
{
    collector *c = context;
    if (c->program != NULL && !kernels_are_wanted(graph, c->program)) return;
    mo_hash128 hash = mo_mugraph_class(c->scratch, graph, c->kind);
    if (c->show == NULL)
        class_set_add(c->set, hash);
    else if (mo_hash_equal(*c->show, hash))
        show_graph(graph);
}

static void collect_joint(void *context, mo_hash128 class_of, const mo_mugraph *graph)
{
    (void)class_of;
    mo_arena *scratch = mo_arena_new();
    cr_assert_null(mo_mugraph_check(scratch, graph), "%s", mo_mugraph_check(scratch, graph));
    mo_arena_free(scratch);
    collect(context, graph);
}

/* ---- both sides ---- */

static mo_joint_stats joint(const small_program *p, const mo_prim *graph, bool prune, collector *c)
{
    mo_joint_options options = {.max_kernels = p->kernels,
                                .max_ops = prune ? p->ops : p->unpruned_ops,
                                .max_block_ops = 20,
                                .no_prune = !prune,
                                .found = collect_joint,
                                .found_context = c};
    mo_joint_stats stats = mo_joint_search(graph, &options);
    cr_assert(stats.complete);
    if (c->show == NULL) class_set_sort(c->set);
    return stats;
}

/* Bounds that do not bind, and no restriction but those of the joint search. */
static mo_algebra_result algebra(mo_arena *arena, const mo_prim *graph, int max_ops, int max_new, bool prune)
{
    mo_algebra_options options = {.max_states = 50000000,
                                  .max_bytes = (int64_t)1 << 32,
                                  .max_new = max_new,
                                  .max_block_ops = 100,
                                  .max_ops = max_ops,
                                  .max_graphs = 50000,
                                  .max_alike = 50000,
                                  .any_exp = true,
                                  .no_prune = !prune};
    mo_algebra_result r = mo_algebra_search(arena, graph, &options);
    cr_assert(r.stats.complete);
    return r;
}

/* Are two values of the graph the same function? Only the program as given may have such: the algebra has one
 * derivation for each value of a graph, the joint search calls the second one a duplicate. */
static bool repeats_a_value(const mo_prim *g)
{
    mo_arena *arena = mo_arena_new();
    mo_algebra_instance at;
    cr_assert(mo_algebra_draw(arena, g, 0, 0, &at));
    mo_fval **values = MO_NEW_ARRAY(arena, mo_fval *, g->n_nodes);
    mo_hash128 *print = MO_NEW_ARRAY(arena, mo_hash128, g->n_nodes);
    for (int i = 0; i < g->n_nodes; i++)
        values[i] = MO_NEW_ARRAY(arena, mo_fval, mo_instance_size(&at.at, g->nodes[i].axes));
    mo_prim_eval(&at.field, &at.at, g, values);
    bool repeats = false;
    for (int i = 0; i < g->n_nodes; i++) {
        print[i] = mo_fingerprint(values[i], mo_instance_size(&at.at, g->nodes[i].axes), NULL);
        for (int j = 0; j < i; j++)
            repeats |= mo_hash_equal(print[i], print[j]) && g->nodes[i].axes == g->nodes[j].axes;
    }
    mo_arena_free(arena);
    return repeats;
}

static void decoupled(const small_program *p, const mo_prim *graph, const mo_algebra_result *r, collector *c)
{
    for (int i = 0; i < r->n_graphs; i++)
        if (prefixes_are_wanted(r->graphs[i], graph) && !repeats_a_value(r->graphs[i]))
            list_kernels(r->graphs[i], c->choice, p->kernels, collect, c);
    if (c->show == NULL) class_set_sort(c->set);
}

static int plain_operators(const mo_prim *g)
{
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++) n += g->nodes[i].n_in > 0;
    return n;
}

Test(joint, finds_the_classes_of_the_decoupled_search, .timeout = 500)
{
    for (int i = 0; i < n_small_programs; i++) {
        const small_program *p = &small_programs[i];
        mo_arena *arena = mo_arena_new();
        mo_prim *graph = lower_small(arena, p);
        class_set of_joint = class_set_new(arena), of_decoupled = class_set_new(arena);
        collector one = {.set = &of_joint, .scratch = arena},
                  other = {.set = &of_decoupled, .scratch = arena};
        cr_assert_leq(plain_operators(graph), p->ops, "%s", p->name);
        joint(p, graph, true, &one);
        mo_algebra_result r = algebra(arena, graph, p->ops, DEPTH, true);
        decoupled(p, graph, &r, &other);
        mo_hash128 example;
        int only_joint = class_set_missing(&of_joint, &of_decoupled, &example);
        one.show = other.show = &example;
        if (only_joint > 0) joint(p, graph, true, &one);
        cr_expect_eq(only_joint, 0, "%s: %d of %d classes are found by the joint search only", p->name,
                     only_joint, of_joint.count);
        int only_decoupled = class_set_missing(&of_decoupled, &of_joint, &example);
        if (only_decoupled > 0) decoupled(p, graph, &r, &other);
        cr_expect_eq(only_decoupled, 0, "%s: %d of %d classes are found by the decoupled search only",
                     p->name, only_decoupled, of_decoupled.count);
        cr_expect(of_joint.count > 0 || repeats_a_value(graph), "%s", p->name);
        mo_arena_free(arena);
    }
}

/* ---- what the search cuts ---- */

/* Structures of all partitions that the cutter makes of the graphs. */
static void cut(const small_program *p, const mo_prim *graph, const mo_algebra_result *r, collector *c)
{
    enum { ROOM = 2000 };
    mo_cutter cutter;
    mo_prim *copy = mo_prim_copy(c->scratch, graph);
    mo_subprogram whole = {.count = graph->program->n_nodes, .graph = copy};
    mo_lowered lowered = {.n_subprograms = 1, .subprograms = &whole};
    mo_cutter_init(&cutter, c->scratch, mo_device_for_arch(90), 0, NULL, p->kernels, ROOM, 1);
    for (int i = 0; i < r->n_graphs; i++)
        if (prefixes_are_wanted(r->graphs[i], graph) && !repeats_a_value(r->graphs[i]))
            mo_cutter_add(&cutter, r->graphs[i]);
    cr_assert_lt(cutter.emittable.count, ROOM);
    for (int i = 0; i < cutter.emittable.count; i++) {
        const mo_partition *partition = &cutter.emittable.best[i];
        collect(c, mo_assemble(c->scratch, graph->program, &lowered, &partition, NULL, true));
    }
    mo_cutter_free(&cutter);
    class_set_sort(c->set);
}

/* The cutter finds what it promises, and nothing that the joint search does not find. */
Test(joint, finds_every_cut, .timeout = 500)
{
    for (int i = 0; i < n_small_programs; i++) {
        const small_program *p = &small_programs[i];
        mo_arena *arena = mo_arena_new();
        mo_prim *graph = lower_small(arena, p);
        class_set made = class_set_new(arena), promised = class_set_new(arena), all = class_set_new(arena);
        collector c = {.scratch = arena, .kind = MO_CLASS_STRUCTURE, .choice = CUT_KERNELS};
        mo_algebra_result r = algebra(arena, graph, p->ops, DEPTH, true);
        c.set = &made;
        cut(p, graph, &r, &c);
        c.set = &promised;
        decoupled(p, graph, &r, &c);
        c.set = &all;
        joint(p, graph, true, &c);
        mo_hash128 example;
        cr_expect_eq(class_set_missing(&made, &promised, &example), 0, "%s", p->name);
        cr_expect_eq(class_set_missing(&made, &all, &example), 0, "%s", p->name);
        int absent = class_set_missing(&promised, &made, &example);
        if (graph->n_savers == 1) /* of outputs together and apart it keeps what costs less */
            cr_expect_eq(absent, 0, "%s: %d of %d partitions are not made", p->name, absent, promised.count);
        cr_expect(made.count > 0 || repeats_a_value(graph), "%s", p->name);
        mo_arena_free(arena);
    }
}

/* ---- pruning ---- */

/* With and without pruning: the same classes of graphs all of whose values are sub-expressions. */
static int compare_pruning(const small_program *p, int ops, int kernels)
{
    mo_arena *arena = mo_arena_new();
    mo_prim *graph = lower_small(arena, p);
    class_set pruned = class_set_new(arena), all = class_set_new(arena);
    collector with = {.set = &pruned, .scratch = arena};
    collector without = {.set = &all, .scratch = arena, .program = graph};
    small_program bounds = *p;
    bounds.ops = bounds.unpruned_ops = ops;
    bounds.kernels = kernels;
    mo_joint_stats a = joint(&bounds, graph, true, &with), b = joint(&bounds, graph, false, &without);
    mo_hash128 example;
    cr_expect_eq(class_set_missing(&pruned, &all, &example), 0, "%s", p->name);
    int lost = class_set_missing(&all, &pruned, &example);
    without.show = &example;
    if (lost > 0) joint(&bounds, graph, false, &without);
    cr_expect_eq(lost, 0, "%s: %d of %d classes are lost", p->name, lost, all.count);
    cr_expect_leq(a.states, b.states, "%s", p->name);
    int count = pruned.count;
    mo_arena_free(arena);
    return count;
}

Test(joint, pruning_loses_nothing, .timeout = 500)
{
    int compared = 0, programs = 0;
    for (int i = 0; i < n_small_programs; i++) {
        const small_program *p = &small_programs[i];
        if (p->unpruned_ops == 0) continue; /* takes too long without pruning */
        programs++;
        compared += compare_pruning(p, p->unpruned_ops, 1);
        compared += compare_pruning(p, 2, 2);
    }
    cr_expect_geq(programs, 20);
    cr_expect_gt(compared, 10 * programs, "too few classes for the comparison to mean something");
}

/* ---- the algebra alone ---- */

/* Sorted hashes of the verified graphs: of those that the axioms prove equal to the program, or of those all
 * of whose values are sub-expressions of what it saves. */
static class_set verified_set(mo_arena *arena, const mo_algebra_result *r, const mo_prim *program,
                              bool prefixes)
{
    class_set set = class_set_new(arena);
    for (int i = 0; i < r->n_graphs; i++) {
        bool in =
            prefixes ? prefixes_are_wanted(r->graphs[i], program) : equal_by_axioms(r->graphs[i], program);
        if (in) class_set_add(&set, mo_algebra_hash(arena, r->graphs[i]));
    }
    class_set_sort(&set);
    return set;
}

Test(joint, pruning_loses_no_verified_graph, .timeout = 500)
{
    int compared = 0;
    for (int i = 0; i < n_small_programs; i++) {
        const small_program *p = &small_programs[i];
        mo_arena *arena = mo_arena_new();
        mo_prim *graph = lower_small(arena, p);
        int max_ops = plain_operators(graph) + 2;
        mo_algebra_result pruned = algebra(arena, graph, max_ops, p->new_operators, true);
        mo_algebra_result all = algebra(arena, graph, max_ops, p->new_operators, false);
        for (int prefixes = 0; prefixes < 2; prefixes++) {
            class_set with = verified_set(arena, &pruned, graph, prefixes == 1);
            class_set without = verified_set(arena, &all, graph, prefixes == 1);
            mo_hash128 example;
            cr_expect_eq(class_set_missing(&with, &without, &example), 0, "%s: prefixes %d", p->name,
                         prefixes);
            int lost = class_set_missing(&without, &with, &example);
            cr_expect_eq(lost, 0, "%s: %d of %d graphs are lost, prefixes %d", p->name, lost, without.count,
                         prefixes);
            compared += with.count;
        }
        cr_expect_leq(pruned.stats.values, all.stats.values, "%s", p->name);
        mo_arena_free(arena);
    }
    cr_expect_geq(n_small_programs, 20);
    cr_expect_gt(compared, 3 * n_small_programs, "too few graphs for the comparison to mean something");
}
