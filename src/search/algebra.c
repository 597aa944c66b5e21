#include "search/algebra.h"

#include "base/status.h"
#include "search/extract.h"

#define MAX_BYTES ((int64_t)512 << 20)

/* Defaults. States take 0.2 to 2 us each. */
enum {
    MAX_STATES = 400000,
    MAX_GRAPHS = 64,
    MAX_ALIKE = 3,
    EXTRA_BLOCK_OPS = 3,
    EXTRA_OPS = 6,
    MAX_STEPS_PER_GRAPH = 400
};

static int64_t graph_cost(const mo_prim *g)
{
    int64_t cost = 0;
    for (int i = 0; i < g->n_nodes; i++)
        cost += mo_algebra_node_cost(g, g->nodes[i].op, g->nodes[i].axes | g->nodes[i].reduced);
    return cost;
}

/* Graphs taken so far, and what decides whether another one is. */
typedef struct {
    mo_arena *arena, *scratch;
    mo_algebra_result *result;
    const mo_algebra_options *options;
    mo_algebra_instance second; /* a fresh instance */
    const mo_prim *original;
    mo_hash128 original_hash, *hashes;
    uint64_t *skeletons;
    int max_block_ops;
} taker;

static bool known(const taker *t, mo_hash128 hash, uint64_t skeleton)
{
    int alike = 0;
    for (int i = 0; i < t->result->n_graphs; i++) {
        if (mo_hash_equal(t->hashes[i], hash)) return true;
        alike += t->skeletons[i] == skeleton;
    }
    return alike >= t->options->max_alike && !mo_hash_equal(hash, t->original_hash);
}

static int counted_ops(const mo_algebra_options *options, const mo_prim *graph)
{
    return options->count_paper ? mo_algebra_paper_ops(graph) : mo_algebra_block_ops(graph);
}

static void take(taker *t, mo_prim *g)
{
    mo_algebra_result *r = t->result;
    mo_hash128 hash = mo_algebra_hash(t->scratch, g);
    uint64_t skeleton = mo_algebra_skeleton(t->scratch, g);
    bool original = mo_hash_equal(hash, t->original_hash);
    if (known(t, hash, skeleton)) return;
    if (!original && counted_ops(t->options, g) > t->max_block_ops) return;
    r->stats.graphs++;
    MO_CHECK(mo_prim_check(g) == NULL);
    if (!original && !mo_algebra_same(t->scratch, &t->second, t->original, g)) {
        r->stats.rejected++;
        return;
    }
    r->stats.verified++;
    if (original) r->original = r->n_graphs;
    t->hashes[r->n_graphs] = hash;
    t->skeletons[r->n_graphs] = skeleton;
    r->costs[r->n_graphs] = graph_cost(g);
    r->graphs[r->n_graphs++] = mo_prim_copy(t->arena, original ? t->original : g);
}

static bool stop_asked(const mo_algebra_options *o)
{
    return o->stop && o->stop(o->stop_context);
}

static void take_all(taker *t, const mo_algebra *space)
{
    mo_arena *work = mo_arena_new();
    int64_t steps = (int64_t)MAX_STEPS_PER_GRAPH * t->options->max_graphs;
    mo_extract *extract = mo_extract_new(work, space, t->options->max_ops, steps);
    /* One place is kept for the original. */
    while (t->result->n_graphs + (t->result->original < 0) < t->options->max_graphs &&
           !stop_asked(t->options)) {
        mo_prim *g = mo_extract_next(extract, work);
        if (!g) break;
        take(t, g);
    }
    t->result->stats.complete &= mo_extract_exhausted(extract);
    mo_arena_free(work);
}

static void sort_by_cost(mo_algebra_result *r)
{
    for (int i = 1; i < r->n_graphs; i++) {
        for (int j = i; j > 0 && r->costs[j] < r->costs[j - 1]; j--) {
            mo_prim *g = r->graphs[j];
            int64_t cost = r->costs[j];
            r->graphs[j] = r->graphs[j - 1];
            r->costs[j] = r->costs[j - 1];
            r->graphs[j - 1] = g;
            r->costs[j - 1] = cost;
            if (r->original == j)
                r->original = j - 1;
            else if (r->original == j - 1)
                r->original = j;
        }
    }
}

static int plain_ops(const mo_prim *graph)
{
    int count = 0;
    for (int i = 0; i < graph->n_nodes; i++) count += mo_algebra_counts(&graph->nodes[i]);
    return count;
}

static mo_algebra_options with_defaults(const mo_algebra_options *given, const mo_prim *graph)
{
    mo_algebra_options o = *given;
    if (!o.max_states) o.max_states = MAX_STATES;
    if (!o.max_bytes) o.max_bytes = MAX_BYTES;
    if (!o.max_block_ops) o.max_block_ops = counted_ops(&o, graph) + EXTRA_BLOCK_OPS;
    if (!o.max_new) o.max_new = o.max_block_ops;
    if (!o.max_ops) o.max_ops = plain_ops(graph) + EXTRA_OPS;
    if (!o.max_graphs) o.max_graphs = MAX_GRAPHS;
    if (!o.max_alike) o.max_alike = MAX_ALIKE;
    return o;
}

/* Fills the result with what the space holds; the original alone when no instance defines its values. */
static void search(taker *t, mo_arena *arena, mo_prim *original)
{
    mo_algebra_instance first;
    if (mo_algebra_draw(arena, original, t->options->seed, 0, &first) &&
        mo_algebra_draw(arena, original, t->options->seed, 1, &t->second)) {
        mo_algebra space = {.arena = arena, .graph = original, .options = t->options, .instance = &first};
        space.abs = mo_abs_new(mo_abs_needs_numbers(original));
        mo_algebra_space_init(&space);
        mo_algebra_enumerate(&space);
        t->result->stats = space.stats;
        take_all(t, &space);
        mo_abs_free(space.abs);
    }
    if (t->result->original < 0) take(t, original);
}

mo_algebra_result mo_algebra_search(mo_arena *arena, const mo_prim *graph, const mo_algebra_options *options)
{
    mo_algebra_options o = with_defaults(options, graph);
    mo_arena *work = mo_arena_new();
    mo_prim *original = mo_prim_copy(work, graph);
    mo_prim_clean(original);
    mo_algebra_result result = {.original = -1};
    result.graphs = MO_NEW_ARRAY(arena, mo_prim *, o.max_graphs + 1);
    result.costs = MO_NEW_ARRAY(arena, int64_t, o.max_graphs + 1);
    taker t = {.arena = arena,
               .scratch = mo_arena_new(),
               .result = &result,
               .options = &o,
               .original = original,
               .max_block_ops = o.max_block_ops};
    t.original_hash = mo_algebra_hash(t.scratch, original);
    t.hashes = MO_NEW_ARRAY(work, mo_hash128, o.max_graphs + 1);
    t.skeletons = MO_NEW_ARRAY(work, uint64_t, o.max_graphs + 1);
    search(&t, work, original);
    sort_by_cost(&result);
    mo_arena_free(t.scratch);
    mo_arena_free(work);
    return result;
}
