#include "search/body_cache.h"

#include "base/hash.h"
#include "search/placements.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    mo_hash128 key;
    bool counted;
    mo_body_counts counts;
    mo_body_schedules found;
} entry;

/* One block graph to be computed: two tasks, its schedules and its placement. */
typedef struct {
    entry *to;
    mo_prim *body;
    const mo_dtype *dtypes;
    mo_scheduled *choices; /* room for them */
    mo_body_counts placed;
} job;

struct mo_body_cache {
    mo_arena *arena, *queue; /* of results; of what is planned */
    const mo_device *device;
    mo_passes off;
    mo_pool *pool;
    mo_arena **scratch; /* one for each worker */
    int n_workers, capacity;
    entry **slots;
    size_t mask, count;
    job *jobs;
    int n_jobs, job_capacity;
};

mo_body_cache *mo_body_cache_new(mo_arena *arena, const mo_device *device, mo_passes off, mo_pool *pool,
                                 int capacity)
{
    mo_body_cache *c = MO_NEW(arena, mo_body_cache);
    *c = (mo_body_cache){.arena = arena, .device = device, .off = off, .pool = pool, .capacity = capacity};
    c->queue = mo_arena_new();
    c->n_workers = pool == NULL ? 1 : mo_pool_threads(pool);
    c->scratch = MO_NEW_ARRAY(arena, mo_arena *, c->n_workers);
    for (int i = 0; i < c->n_workers; i++) c->scratch[i] = mo_arena_new();
    c->mask = 255;
    c->slots = MO_NEW_ARRAY(arena, entry *, c->mask + 1);
    return c;
}

void mo_body_cache_free(mo_body_cache *cache)
{
    for (int i = 0; i < cache->n_workers; i++) mo_arena_free(cache->scratch[i]);
    mo_arena_free(cache->queue);
}

/* Bodies whose tensors are stored in other types are different. */
static mo_hash128 body_key(const mo_prim *body, const mo_dtype *dtypes)
{
    uint64_t seed = 0;
    for (int i = 0; i < body->n_nodes; i++)
        if (body->nodes[i].op == MO_OP_ITER) seed = seed * 3 + dtypes[body->nodes[i].access.tensor];
    for (int s = 0; s < body->n_savers; s++) seed = seed * 3 + dtypes[body->savers[s].access.tensor];
    return mo_prim_hash(body, seed);
}

static entry **slot_of(const mo_body_cache *c, mo_hash128 key)
{
    size_t at = key.lo & c->mask;
    while (c->slots[at] != NULL && !mo_hash_equal(c->slots[at]->key, key)) at = (at + 1) & c->mask;
    return &c->slots[at];
}

static void grow(mo_body_cache *c)
{
    entry **old = c->slots;
    size_t old_mask = c->mask;
    c->mask = 2 * old_mask + 1;
    c->slots = MO_NEW_ARRAY(c->arena, entry *, c->mask + 1);
    for (size_t i = 0; i <= old_mask; i++)
        if (old[i] != NULL) *slot_of(c, old[i]->key) = old[i];
}

static entry *add_entry(mo_body_cache *c, mo_hash128 key)
{
    if (++c->count > c->mask / 2) grow(c);
    entry *e = MO_NEW(c->arena, entry);
    e->key = key;
    *slot_of(c, key) = e;
    return e;
}

static job *add_job(mo_body_cache *c)
{
    if (c->n_jobs == c->job_capacity) {
        c->job_capacity = c->job_capacity == 0 ? 64 : 2 * c->job_capacity;
        job *grown = MO_NEW_ARRAY(c->arena, job, c->job_capacity);
        if (c->n_jobs > 0) memcpy(grown, c->jobs, sizeof *grown * (size_t)c->n_jobs);
        c->jobs = grown;
    }
    return &c->jobs[c->n_jobs++];
}

static void queue_job(mo_body_cache *c, mo_hash128 key, mo_prim *body, const mo_dtype *dtypes)
{
    job *j = add_job(c);
    *j = (job){.to = add_entry(c, key), .body = body, .dtypes = dtypes};
    j->choices = MO_NEW_ARRAY(c->queue, mo_scheduled, c->capacity);
}

static void compute(void *context, int worker, int64_t index)
{
    mo_body_cache *c = context;
    job *j = &c->jobs[index / 2];
    mo_arena *scratch = c->scratch[worker];
    mo_arena_mark mark = mo_arena_get_mark(scratch);
    mo_cost_context cost = {c->device, j->dtypes, c->off};
    entry *e = j->to;
    if (index % 2 == 0)
        e->found.n_choices = mo_schedules(scratch, &cost, j->body, c->capacity, j->choices,
                                          &e->counts.schedules, &e->counts.too_large);
    else
        e->found.has_block = mo_placements(scratch, &cost, j->body, &e->found.block, &j->placed.schedules,
                                           &j->placed.too_large);
    mo_arena_reset(scratch, mark);
}

void mo_body_cache_run(mo_body_cache *cache)
{
    int64_t tasks = 2 * (int64_t)cache->n_jobs;
    if (cache->pool != NULL)
        mo_pool_run(cache->pool, tasks, compute, cache);
    else
        for (int64_t i = 0; i < tasks; i++) compute(cache, 0, i);
    for (int i = 0; i < cache->n_jobs; i++) {
        const job *j = &cache->jobs[i];
        size_t n = (size_t)j->to->found.n_choices;
        mo_scheduled *choices = MO_NEW_ARRAY(cache->arena, mo_scheduled, n + 1);
        memcpy(choices, j->choices, sizeof *choices * n);
        j->to->found.choices = choices;
        j->to->counts.schedules += j->placed.schedules;
        j->to->counts.too_large += j->placed.too_large;
    }
    cache->n_jobs = 0;
    mo_arena_free(cache->queue);
    cache->queue = mo_arena_new();
}

bool mo_body_cache_ahead(const mo_body_cache *cache)
{
    return cache->n_workers > 1;
}

void mo_body_cache_plan(mo_body_cache *cache, const mo_prim *body, const mo_dtype *dtypes, int n_dtypes)
{
    mo_prim *copy = mo_prim_copy(cache->queue, body);
    mo_prim_merge_axes(copy);
    mo_hash128 key = body_key(copy, dtypes);
    if (*slot_of(cache, key) != NULL) return;
    mo_dtype *types = MO_NEW_ARRAY(cache->queue, mo_dtype, n_dtypes);
    memcpy(types, dtypes, sizeof *types * (size_t)n_dtypes);
    queue_job(cache, key, copy, types);
}

const mo_body_schedules *mo_body_cache_get(mo_body_cache *cache, mo_prim *body, const mo_dtype *dtypes,
                                           mo_body_counts *counts)
{
    mo_hash128 key = body_key(body, dtypes);
    if (*slot_of(cache, key) == NULL) {
        queue_job(cache, key, body, dtypes);
        mo_body_cache_run(cache);
    }
    entry *e = *slot_of(cache, key);
    if (counts != NULL && !e->counted) {
        counts->schedules += e->counts.schedules;
        counts->too_large += e->counts.too_large;
        e->counted = true;
    }
    return &e->found;
}
