/* Algebra, cuts, placement, ranking; then the equivalence test of what is handed on. */
#include "search/search.h"

#include "base/clock.h"
#include "search/algebra.h"
#include "search/assemble.h"
#include "search/unfused.h"
#include "verify/proof.h"
#include "verify/recheck.h"

#include <string.h>

#define MAX_GRAPHS 32     /* graphs of the algebra that are cut and placed, for each subprogram */
#define MAX_PARTITIONS 12 /* kept for each subprogram */
#define SEARCH_PRODUCTS \
    ((int64_t)1 << 21)         /* at full shape, for each structure; the winner is looked at closer */
#define MAX_VERIFIED 4         /* structures that candidates are made of */
#define STATES_PER_PARTITION 8 /* cutting a graph in one way counts as so many states of the algebra */
#define UNFUSED_RANKS 6        /* unfused candidates with the cheapest and the next schedules */
#define UNFUSED_WIDE 2         /* and with f32 between the kernels, then all of it */
#define UNFUSED_VARIANTS (UNFUSED_RANKS + UNFUSED_WIDE + 1)

/* A structure (partitions of all subprograms) whose equivalence is decided once for all its schedules. */
typedef struct {
    const mo_partition **partitions;
    int n_kernels;
    int64_t cost_ns;
    bool equal; /* to the program, as `equivalence` tells */
    mo_verify_report equivalence;
} structure;

typedef struct {
    mo_arena *arena;
    const mo_program *program;
    const mo_lowered *lowered;
    const mo_search_options *options;
    mo_search_result *result;
    mo_cutter *cutters;             /* one for each subprogram */
    structure *structures, *beyond; /* emittable; better, but not emittable */
    int n_structures, n_beyond;
    mo_pool *pool;
    int64_t copies_ns;  /* of the copies that every graph has */
    mo_hash128 *hashes; /* of the candidates */
    int *structure_of;  /* of the candidates */
} search;

static void search_algebra(search *s, int index)
{
    const mo_search_options *o = s->options;
    mo_search_counts *counts = &s->result->counts;
    const mo_prim *graph = s->lowered->subprograms[index].graph;
    if (graph == NULL) return;
    mo_algebra_options options = {.max_states = o->max_states,
                                  .max_block_ops = o->max_block_ops,
                                  .count_paper = o->count_paper,
                                  .max_graphs = MAX_GRAPHS,
                                  .no_prune = !o->prune,
                                  .seed = o->seed,
                                  .stop = o->stop,
                                  .stop_context = o->stop_context};
    mo_algebra_result found = mo_algebra_search(s->arena, graph, &options);
    counts->states += found.stats.states;
    counts->pruned_expression += found.stats.pruned_expression;
    counts->pruned_shape += found.stats.pruned_shape;
    counts->pruned_duplicate += found.stats.pruned_duplicate;
    counts->pruned_unsafe += found.stats.pruned_unsafe;
    counts->rejected += found.stats.rejected;
    counts->complete &= found.stats.complete;
    mo_cutter *cutter = &s->cutters[index];
    mo_cutter_init(cutter, s->arena, o->device, o->off, s->pool, o->max_kernel_ops, MAX_PARTITIONS,
                   MO_SEARCH_BEYOND);
    cutter->stop = o->stop;
    cutter->stop_context = o->stop_context;
    for (int g = 0; g < found.n_graphs; g++) {
        cutter->max_partitions = 1 + o->max_states / STATES_PER_PARTITION * (g + 1) / found.n_graphs;
        mo_cutter_add(cutter, found.graphs[g]);
        mo_cutter_add_splits(cutter, found.graphs[g]);
    }
    mo_cutter_free(cutter);
    counts->mugraphs += cutter->counts.bodies.schedules;
    counts->partitions += cutter->counts.partitions;
    counts->pruned_memory += cutter->counts.bodies.too_large;
    counts->complete &= !cutter->stopped && !cutter->bounded;
}

/* A structure of one partition for each subprogram. */
static void add_structure(search *s, structure *to, const mo_partition *const *pick)
{
    int n = s->lowered->n_subprograms;
    *to = (structure){.partitions = MO_NEW_ARRAY(s->arena, const mo_partition *, n)};
    for (int i = 0; i < n; i++) {
        to->partitions[i] = pick[i];
        if (pick[i] == NULL) continue; /* moves data */
        to->n_kernels += pick[i]->n_kernels;
        to->cost_ns += pick[i]->cost_ns;
    }
}

/* The best partition of every subprogram, and those that differ from it in one subprogram. */
static void vary_structures(search *s, const mo_partition **pick, bool beyond)
{
    int n = s->lowered->n_subprograms;
    structure *list = beyond ? s->beyond : s->structures;
    int *count = beyond ? &s->n_beyond : &s->n_structures;
    if (!beyond) add_structure(s, &list[(*count)++], pick);
    for (int i = 0; i < n; i++) {
        const mo_partition *best = pick[i];
        const mo_partition_list *from = beyond ? &s->cutters[i].any : &s->cutters[i].emittable;
        if (best == NULL) continue;
        for (int p = beyond ? 0 : 1; p < from->count; p++) {
            pick[i] = &from->best[p];
            add_structure(s, &list[(*count)++], pick);
        }
        pick[i] = best;
    }
}

/* Cheapest first. */
static void sort_structures(structure *list, int count)
{
    for (int i = 1; i < count; i++) {
        structure moving = list[i];
        int at = i;
        for (; at > 0 && list[at - 1].cost_ns > moving.cost_ns; at--) list[at] = list[at - 1];
        list[at] = moving;
    }
}

static void make_structures(search *s)
{
    int n = s->lowered->n_subprograms;
    const mo_partition **pick = MO_NEW_ARRAY(s->arena, const mo_partition *, n + 1);
    s->structures = MO_NEW_ARRAY(s->arena, structure, (size_t)n * MAX_PARTITIONS + 1);
    s->beyond = MO_NEW_ARRAY(s->arena, structure, (size_t)n * MO_SEARCH_BEYOND + 1);
    for (int i = 0; i < n; i++) {
        if (s->lowered->subprograms[i].graph == NULL) continue;
        if (s->cutters[i].emittable.count == 0) return;
        pick[i] = &s->cutters[i].emittable.best[0];
    }
    vary_structures(s, pick, false);
    for (int i = 0; i < n; i++) {
        const mo_partition_list *any = &s->cutters[i].any;
        if (pick[i] != NULL && any->count > 0 && any->best[0].cost_ns < pick[i]->cost_ns)
            pick[i] = &any->best[0];
    }
    vary_structures(s, pick, true);
    sort_structures(s->structures, s->n_structures);
    sort_structures(s->beyond, s->n_beyond);
}

/* By proof, which is fast, or by the test where none is found. (Whatever is emitted is tested in the end.) */
static bool verified(const search *s, const mo_mugraph *graph, mo_verify_report *report)
{
    const char *objection;
    mo_proof *proof = mo_prove_mugraph(s->program, graph);
    *report = (mo_verify_report){.delta = -1.0};
    report->proved = proof->proved && mo_proof_recheck(s->program, graph, NULL, proof, &objection);
    mo_proof_free(proof);
    if (report->proved) return true;
    mo_verify_options options = {.delta = s->options->verify_delta,
                                 .seed = s->options->seed,
                                 .threads = s->options->threads,
                                 .max_products = SEARCH_PRODUCTS};
    return mo_verify_mugraph(s->program, graph, &options, report) == MO_EQUAL_TESTED;
}

static mo_mugraph *assemble(const search *s, const mo_partition *const *partitions, const int *choice,
                            bool symbolic)
{
    mo_mugraph *graph = mo_assemble(s->arena, s->program, s->lowered, partitions, choice, symbolic);
    graph->cost_ns += s->copies_ns;
    return graph;
}

/* Every candidate is checked again whole: a graph that breaks the rules is a defect of this program. */
static void check(const search *s, const mo_mugraph *graph)
{
    mo_arena_mark mark = mo_arena_get_mark(s->arena);
    const char *wrong = mo_mugraph_check(s->arena, graph);
    if (wrong != NULL) MO_BUG("the search made an invalid graph: %s", wrong);
    mo_arena_reset(s->arena, mark);
}

static void remove_candidate(search *s, int at)
{
    mo_search_result *r = s->result;
    r->n_candidates--;
    for (int i = at; i < r->n_candidates; i++) {
        r->candidates[i] = r->candidates[i + 1];
        r->equivalence[i] = r->equivalence[i + 1];
        s->hashes[i] = s->hashes[i + 1];
        s->structure_of[i] = s->structure_of[i + 1];
    }
}

/* Is there room for a graph of this structure at this cost? Makes it by giving up a worse one: of the same
 * structure where that has its share, else the worst of all. */
static bool make_room(search *s, int index, int64_t cost_ns, int share)
{
    mo_search_result *r = s->result;
    int own = 0, worst = -1;
    for (int i = 0; i < r->n_candidates; i++) {
        if (s->structure_of[i] != index) continue;
        own++;
        worst = i;
    }
    if (own < share) worst = r->n_candidates < s->options->top_k ? -1 : r->n_candidates - 1;
    if (worst >= 0 && cost_ns >= r->candidates[worst]->cost_ns) return false;
    if (worst >= 0) remove_candidate(s, worst);
    return s->options->top_k > 0;
}

static void insert_candidate(search *s, mo_mugraph *graph, int index, int share)
{
    mo_search_result *r = s->result;
    mo_hash128 hash = mo_mugraph_hash(graph);
    for (int i = 0; i < r->n_candidates; i++)
        if (mo_hash_equal(s->hashes[i], hash)) return;
    if (!make_room(s, index, graph->cost_ns, share)) return;
    check(s, graph);
    int at = r->n_candidates++;
    while (at > 0 && r->candidates[at - 1]->cost_ns > graph->cost_ns) {
        r->candidates[at] = r->candidates[at - 1];
        r->equivalence[at] = r->equivalence[at - 1];
        s->hashes[at] = s->hashes[at - 1];
        s->structure_of[at] = s->structure_of[at - 1];
        at--;
    }
    r->candidates[at] = graph;
    r->equivalence[at] = s->structures[index].equivalence;
    s->hashes[at] = hash;
    s->structure_of[at] = index;
}

/* Every schedule of one kernel beside the cheapest of the others. */
static void add_schedules(search *s, int index, int share)
{
    const structure *from = &s->structures[index];
    int n = s->lowered->n_subprograms, at = 0;
    int *choice = MO_NEW_ARRAY(s->arena, int, from->n_kernels + 1);
    insert_candidate(s, assemble(s, from->partitions, choice, false), index, share);
    for (int i = 0; i < n; i++)
        for (int k = 0; from->partitions[i] != NULL && k < from->partitions[i]->n_kernels; k++, at++)
            for (int c = 1; c < from->partitions[i]->kernels[k].n_choices; c++) {
                choice[at] = c;
                insert_candidate(s, assemble(s, from->partitions, choice, false), index, share);
                choice[at] = 0;
            }
}

static bool stopped(const search *s)
{
    return s->options->stop != NULL && s->options->stop(s->options->stop_context);
}

/* The cheapest structures that are equal to the program, each with its share of the candidates (half for the
 * first, a quarter for others): what the cost model or rounding make of one must not decide alone. */
static void verify_and_rank(search *s)
{
    mo_search_counts *counts = &s->result->counts;
    int equal = 0, top_k = s->options->top_k;
    for (int i = 0; i < s->n_structures && equal < MAX_VERIFIED; i++) {
        if (stopped(s)) {
            counts->complete = false;
            break;
        }
        structure *candidate = &s->structures[i];
        mo_mugraph *symbolic = assemble(s, candidate->partitions, NULL, true);
        candidate->equal = verified(s, symbolic, &candidate->equivalence);
        counts->verified += candidate->equal;
        counts->rejected += !candidate->equal;
        equal += candidate->equal;
        if (candidate->equal) add_schedules(s, i, equal == 1 ? (top_k + 1) / 2 : (top_k + 3) / 4);
    }
    for (int i = 0; i < s->n_structures && s->result->n_candidates < top_k; i++)
        if (s->structures[i].equal) add_schedules(s, i, top_k);
}

/* The best graphs that the generator has no form for, behind those that are emitted. */
static void add_beyond(search *s)
{
    mo_search_result *r = s->result;
    for (int i = 0, added = 0; i < s->n_beyond && added < MO_SEARCH_BEYOND && !stopped(s); i++) {
        if (r->n_candidates > 0 && s->beyond[i].cost_ns >= r->candidates[0]->cost_ns) return;
        mo_mugraph *symbolic = assemble(s, s->beyond[i].partitions, NULL, true);
        mo_verify_report *equivalence = &r->equivalence[r->n_candidates];
        if (!verified(s, symbolic, equivalence)) {
            s->result->counts.rejected++;
            continue;
        }
        s->result->counts.verified++;
        mo_mugraph *graph = assemble(s, s->beyond[i].partitions, NULL, false);
        check(s, graph);
        s->hashes[r->n_candidates] = mo_mugraph_hash(graph);
        r->candidates[r->n_candidates++] = graph;
        added++;
    }
}

static void add_unfused(search *s)
{
    mo_search_result *r = s->result;
    r->baseline = r->n_candidates;
    for (int i = 0; i < UNFUSED_VARIANTS; i++) {
        mo_width width = i < UNFUSED_RANKS                  ? MO_NARROW
                         : i < UNFUSED_RANKS + UNFUSED_WIDE ? MO_WIDE
                                                            : MO_WIDEST;
        int rank = width == MO_NARROW ? i : width == MO_WIDE ? i - UNFUSED_RANKS : 0;
        mo_mugraph *graph =
            mo_unfused(s->arena, s->program, s->lowered, s->options->device, s->options->off, rank, width);
        mo_hash128 hash = mo_mugraph_hash(graph);
        bool known = false;
        for (int j = r->baseline; j < r->n_candidates; j++) known |= mo_hash_equal(s->hashes[j], hash);
        if (known) continue;
        check(s, graph);
        s->hashes[r->n_candidates] = hash;
        if (i == 0 && !stopped(s))
            verified(s, graph, &r->equivalence[r->n_candidates]);
        else
            r->equivalence[r->n_candidates] = r->equivalence[r->baseline];
        r->candidates[r->n_candidates++] = graph;
    }
    r->n_baselines = r->n_candidates - r->baseline;
}

mo_status mo_search_run(mo_arena *arena, const mo_program *program, const mo_lowered *lowered,
                        const mo_search_options *options, mo_search_result *result, mo_error *error)
{
    (void)error;
    *result = (mo_search_result){.arena = arena, .n_subprograms = lowered->n_subprograms};
    double start = mo_clock_seconds();
    int room = options->top_k + MO_SEARCH_BEYOND + UNFUSED_VARIANTS;
    result->candidates = MO_NEW_ARRAY(arena, mo_mugraph *, room);
    result->equivalence = MO_NEW_ARRAY(arena, mo_verify_report, room);
    result->counts.complete = true;
    search s = {.arena = arena, .program = program, .lowered = lowered, .options = options, .result = result};
    s.hashes = MO_NEW_ARRAY(arena, mo_hash128, room);
    s.structure_of = MO_NEW_ARRAY(arena, int, room);
    s.cutters = MO_NEW_ARRAY(arena, mo_cutter, lowered->n_subprograms + 1);
    s.copies_ns = mo_copies_cost(arena, program, options->device);
    s.pool = mo_pool_new(options->threads);
    for (int i = 0; i < lowered->n_subprograms; i++) search_algebra(&s, i);
    mo_pool_free(s.pool);
    make_structures(&s);
    verify_and_rank(&s);
    add_beyond(&s);
    add_unfused(&s);
    for (int i = 0; i < result->n_candidates; i++) result->candidates[i]->off = options->off;
    result->counts.seconds = mo_clock_seconds() - start;
    return MO_OK;
}
