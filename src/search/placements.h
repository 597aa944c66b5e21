/* Placements of one block graph under BLOCK schedules: every loop axis, the outputs' axes on the grid. */
#ifndef MO_SEARCH_PLACEMENTS_H
#define MO_SEARCH_PLACEMENTS_H

#include "search/schedules.h"

/* The cheapest placement by the cost model into *best; false if none fits. Counts as mo_schedules does. */
bool mo_placements(mo_arena *scratch, const mo_cost_context *context, mo_prim *body, mo_scheduled *best,
                   int64_t *tried, int64_t *too_large);

#endif
