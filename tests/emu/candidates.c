#include "candidates.h"

#include "emitted.h"
#include "search/assemble.h"
#include "search/unfused.h"

#include <string.h>

enum { RANKS = 6, CUT_CAPACITY = 500, MAX_KERNELS = 5, FEATURES = 6 };

/* 16 bits between kernels are not enough for every set of the gate: one kernel must be right on all of them.
 */
enum {
    ALL_SETS = (1u << MO_SETS) - 1,
    GATE_SETS = (1u << MO_INPUTS_KINDS) - 1,
    SPECIAL_SET = 1u << MO_SET_SPECIAL
};

typedef struct {
    mo_arena *arena;
    const mo_program *program;
    const mo_lowered *lowered;
    const mo_candidate_options *options;
    mo_candidates *result;
} maker;

static void add(maker *m, mo_group group, const mo_mugraph *graph, int arch, unsigned sets, const char *label)
{
    m->result->list[group][m->result->n[group]++] =
        (mo_candidate){.graph = graph, .arch = arch, .sets = sets, .label = label};
}

static const mo_mugraph *unfused(maker *m, const mo_device *device, int rank, mo_width width)
{
    mo_passes off = m->options->off;
    mo_mugraph *graph = mo_unfused(m->arena, m->program, m->lowered, device, off, rank, width);
    graph->off = off;
    return graph;
}

static void add_unfused(maker *m)
{
    const mo_device *device = mo_device_for_arch(80);
    if (m->options->off == 0)
        add(m, MO_GROUP_PLAIN, mo_unfused_plain(m->arena, m->program, m->lowered), 80, SPECIAL_SET, "plain");
    for (int rank = 0; rank < RANKS; rank++) {
        add(m, MO_GROUP_UNFUSED, unfused(m, device, rank, MO_NARROW), 80, SPECIAL_SET,
            mo_arena_printf(m->arena, "unfused, schedules of rank %d", rank));
        if (m->options->off == 0)
            add(m, MO_GROUP_WIDE, unfused(m, device, rank, MO_WIDEST), 80, ALL_SETS,
                mo_arena_printf(m->arena, "unfused, f32 between, schedules of rank %d", rank));
    }
}

static void add_searched(maker *m, mo_group group, const mo_mugraph *graph, int arch, unsigned more_sets,
                         const char *label)
{
    unsigned sets = graph->n_kernels == 1 ? GATE_SETS : 0;
    add(m, group, graph, arch, sets | more_sets, label);
    m->result->list[group][m->result->n[group] - 1].searched = true;
}

/* Each partition with its cheapest schedules, and each kernel's others in turn. */
static void add_partitions(maker *m, const mo_cutter *cutters, int rank)
{
    int n = m->lowered->n_subprograms, kernels = 0, at = 0;
    const mo_partition **parts = MO_NEW_ARRAY(m->arena, const mo_partition *, n + 1);
    for (int i = 0; i < n; i++) {
        if (m->lowered->subprograms[i].graph == NULL) continue; /* moves data */
        if (cutters[i].emittable.count == 0) return;
        const mo_partition_list *list = &cutters[i].emittable;
        parts[i] = &list->best[rank < list->count ? rank : list->count - 1];
        kernels += parts[i]->n_kernels;
    }
    int *choice = MO_NEW_ARRAY(m->arena, int, kernels + 1);
    unsigned sets = kernels == 1 ? ALL_SETS : SPECIAL_SET;
    add(m, MO_GROUP_CUTS, mo_assemble(m->arena, m->program, m->lowered, parts, choice, false), 80, sets,
        mo_arena_printf(m->arena, "cut %d", rank));
    for (int i = 0; i < n; i++)
        for (int k = 0; parts[i] != NULL && k < parts[i]->n_kernels; k++, at++)
            for (int c = 1; c < parts[i]->kernels[k].n_choices && m->result->n[MO_GROUP_CUTS] < CUT_CAPACITY;
                 c++) {
                choice[at] = c;
                add(m, MO_GROUP_CUTS, mo_assemble(m->arena, m->program, m->lowered, parts, choice, false), 80,
                    sets, mo_arena_printf(m->arena, "cut %d, kernel %d with schedule %d", rank, at, c));
                choice[at] = 0;
            }
}

static void add_cuts(maker *m)
{
    int n = m->lowered->n_subprograms;
    mo_cutter *cutters = MO_NEW_ARRAY(m->arena, mo_cutter, n + 1);
    for (int i = 0; i < n; i++) {
        if (m->lowered->subprograms[i].graph == NULL) continue;
        mo_cutter_init(&cutters[i], m->arena, mo_device_for_arch(80), 0, NULL, MAX_KERNELS, RANKS, 0);
        cutters[i].stop = m->options->stop;
        cutters[i].stop_context = m->options->stop_context;
        cutters[i].max_partitions = m->options->max_states;
        mo_cutter_add(&cutters[i], m->lowered->subprograms[i].graph);
        mo_cutter_free(&cutters[i]);
    }
    for (int rank = 0; rank < RANKS && m->result->n[MO_GROUP_CUTS] < CUT_CAPACITY; rank++)
        add_partitions(m, cutters, rank);
}

/* What of sm_90 a graph uses: the more difficult, the smaller. */
static int feature(const mo_mugraph *graph)
{
    int feature = FEATURES - 1;
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_schedule *s = &graph->kernels[k].schedule;
        if (s->kind != MO_SCHEDULE_STREAM) continue;
        int own = s->copy == MO_COPY_DIRECT ? 0 : s->copy == MO_COPY_TENSOR ? 2 : 4;
        own += s->cluster > 1 ? 0 : 1;
        if (own < feature) feature = own;
    }
    return feature;
}

static bool has_loop(const mo_mugraph *graph)
{
    for (int k = 0; k < graph->n_kernels; k++)
        if (graph->kernels[k].schedule.loop_axis >= 0) return true;
    return false;
}

/* Without a pass: graphs with kernels that have the most to do without, if there are any. */
static bool wanted(const maker *m, const mo_search_result *found, const mo_mugraph *graph)
{
    if (m->options->off == 0 || has_loop(graph)) return true;
    for (int i = 0; i < found->baseline; i++)
        if (has_loop(found->candidates[i])) return false;
    return true;
}

/* What the search hands on beside the unfused program; the special first. */
static bool add_search(maker *m, int arch, mo_group group, mo_error *error)
{
    const mo_candidate_options *o = m->options;
    mo_search_options options = {.device = mo_device_for_arch(arch),
                                 .seed = o->seed,
                                 .max_states = o->max_states,
                                 .max_kernel_ops = MAX_KERNELS,
                                 .prune = true,
                                 .off = o->off,
                                 .top_k = o->top_k,
                                 .threads = 1,
                                 .verify_delta = 1e-6,
                                 .stop = o->stop,
                                 .stop_context = o->stop_context};
    mo_search_result found;
    if (mo_search_run(m->arena, m->program, m->lowered, &options, &found, error) != MO_OK) return false;
    if (group == MO_GROUP_SEARCH_90) m->result->counts = found.counts;
    static const char *const names[FEATURES] = {
        ", direct loads, clusters", ", direct loads", ", boxes, clusters", ", boxes", ", clusters", ""};
    for (int pass = 0; pass < FEATURES; pass++)
        for (int i = 0; i < found.baseline; i++) {
            const mo_mugraph *graph = found.candidates[i];
            if (feature(graph) != pass || !wanted(m, &found, graph)) continue;
            add_searched(
                m, group, graph, arch, 0,
                mo_arena_printf(m->arena, "candidate %d of the search for sm_%d%s", i, arch, names[pass]));
        }
    return true;
}

static mo_mugraph *with_copy(maker *m, const mo_mugraph *graph, mo_copy copy, int stages)
{
    mo_mugraph *other = MO_NEW(m->arena, mo_mugraph);
    *other = *graph;
    other->kernels = MO_NEW_ARRAY(m->arena, mo_kernel, graph->n_kernels + 1);
    bool changed = false;
    for (int k = 0; k < graph->n_kernels; k++) {
        other->kernels[k] = graph->kernels[k];
        if (graph->kernels[k].schedule.kind != MO_SCHEDULE_STREAM) continue;
        other->kernels[k].schedule.copy = copy;
        other->kernels[k].schedule.stages = stages;
        changed = true;
    }
    return changed ? other : NULL;
}

/* The same with warp-group products, as far as there are tiles for them. */
static const mo_mugraph *with_wgmma(maker *m, const mo_mugraph *graph, int warps)
{
    mo_mugraph *other = with_copy(m, graph, MO_COPY_TENSOR, 2);
    for (int k = 0; other != NULL && k < graph->n_kernels; k++) {
        mo_schedule *s = &other->kernels[k].schedule;
        if (s->kind != MO_SCHEDULE_STREAM || s->p_axis < 0 || s->q_axis < 0) continue;
        s->wgmma = true;
        s->warps_p = warps;
        s->warps_q = 1;
        s->groups = s->groups < 2 ? 1 : 2;
        s->threads = s->groups * warps * 32;
        s->tile[s->p_axis] = 16 * warps;
        s->tile[s->loop_axis] = 64;
    }
    return other;
}

static void add_wgmma(maker *m)
{
    for (int i = 0; i < m->result->n[MO_GROUP_SEARCH_90]; i++) {
        const mo_mugraph *graph =
            with_wgmma(m, m->result->list[MO_GROUP_SEARCH_90][i].graph, i % 2 == 0 ? 4 : 8);
        if (graph != NULL)
            add_searched(m, MO_GROUP_WGMMA, graph, 90, SPECIAL_SET,
                         mo_arena_printf(m->arena, "candidate %d with warp-group products", i));
    }
}

/* The same with a loop that three or four blocks share. */
static const mo_mugraph *with_parts(maker *m, const mo_mugraph *graph, int parts)
{
    mo_mugraph *other = with_copy(m, graph, MO_COPY_ASYNC, 2);
    for (int k = 0; other != NULL && k < graph->n_kernels; k++) {
        mo_schedule *s = &other->kernels[k].schedule;
        if (s->kind != MO_SCHEDULE_STREAM) continue;
        s->copy = graph->kernels[k].schedule.copy;
        s->wgmma = false;
        s->cluster = 1;
        s->parts = parts;
        if (s->tile[s->loop_axis] > 32) s->tile[s->loop_axis] = 32;
    }
    return other;
}

static void add_parts(maker *m)
{
    for (int i = 0; i < m->result->n[MO_GROUP_SEARCH_90]; i++) {
        const mo_mugraph *graph = with_parts(m, m->result->list[MO_GROUP_SEARCH_90][i].graph, 3 + i % 2);
        if (graph != NULL)
            add_searched(m, MO_GROUP_PARTS, graph, 90, SPECIAL_SET,
                         mo_arena_printf(m->arena, "candidate %d with parts", i));
    }
}

static void add_copies(maker *m)
{
    for (int i = 0; i < m->result->n[MO_GROUP_SEARCH_90]; i++)
        for (int copy = MO_COPY_TENSOR; copy <= MO_COPY_DIRECT; copy++) {
            const mo_mugraph *graph =
                with_copy(m, m->result->list[MO_GROUP_SEARCH_90][i].graph, (mo_copy)copy, 1 + i % 3);
            if (graph != NULL)
                add_searched(
                    m, MO_GROUP_COPIES, graph, 90, SPECIAL_SET,
                    mo_arena_printf(m->arena, "candidate %d with copy %s", i, mo_copy_name((mo_copy)copy)));
        }
}

bool mo_candidates_make(mo_arena *arena, const mo_program *program, const mo_lowered *lowered,
                        const mo_candidate_options *options, mo_candidates *result, mo_error *error)
{
    maker m = {arena, program, lowered, options, result};
    const int capacity[MO_GROUPS] = {1,
                                     RANKS,
                                     RANKS,
                                     CUT_CAPACITY + 1,
                                     options->top_k + MO_SEARCH_BEYOND,
                                     options->top_k + MO_SEARCH_BEYOND,
                                     2 * (options->top_k + MO_SEARCH_BEYOND),
                                     options->top_k + MO_SEARCH_BEYOND,
                                     options->top_k + MO_SEARCH_BEYOND};
    memset(result, 0, sizeof *result);
    for (int g = 0; g < MO_GROUPS; g++) result->list[g] = MO_NEW_ARRAY(arena, mo_candidate, capacity[g]);
    add_unfused(&m);
    if (options->cuts) add_cuts(&m);
    if (!add_search(&m, 90, MO_GROUP_SEARCH_90, error) || !add_search(&m, 80, MO_GROUP_SEARCH_80, error))
        return false;
    add_copies(&m);
    add_wgmma(&m);
    add_parts(&m);
    return true;
}
