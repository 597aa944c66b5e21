/* Schedules of block graphs that have been asked for before, and of those that will be: with several threads
 * the ones that a step of the cut search is about to need are computed together.
 *
 * What is returned does not depend on what was computed ahead, and neither do the counts: a block graph is
 * counted when it is first asked for. Not thread-safe; everything lives until mo_body_cache_free. */
#ifndef MO_SEARCH_BODY_CACHE_H
#define MO_SEARCH_BODY_CACHE_H

#include "base/pool.h"
#include "search/schedules.h"

typedef struct {
    int n_choices;
    const mo_scheduled *choices; /* cheapest first */
    bool has_block;
    mo_scheduled block; /* the cheapest BLOCK placement */
} mo_body_schedules;

typedef struct {
    int64_t schedules, too_large; /* tried; beyond the device's memory */
} mo_body_counts;

typedef struct mo_body_cache mo_body_cache;

/* The results live in `arena`. `pool` may be NULL: one thread. */
mo_body_cache *mo_body_cache_new(mo_arena *arena, const mo_device *device, mo_passes off, mo_pool *pool,
                                 int capacity);
void mo_body_cache_free(mo_body_cache *cache);

/* Schedules of `body`, whose axes are merged, over tensors that are stored in these types. `counts` is NULL
 * for a question ahead of time. */
const mo_body_schedules *mo_body_cache_get(mo_body_cache *cache, mo_prim *body, const mo_dtype *dtypes,
                                           mo_body_counts *counts);

/* Is there a second thread, so that planning makes sense? */
bool mo_body_cache_ahead(const mo_body_cache *cache);

/* Remembers that this block graph, whose axes are merged here, will be asked for (`n_dtypes` types);
 * mo_body_cache_run computes all of those. */
void mo_body_cache_plan(mo_body_cache *cache, const mo_prim *body, const mo_dtype *dtypes, int n_dtypes);
void mo_body_cache_run(mo_body_cache *cache);

#endif
