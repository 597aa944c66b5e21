/* Concrete schedules of one block graph: where its axes live and with what extents, cheapest first. */
#ifndef MO_SEARCH_SCHEDULES_H
#define MO_SEARCH_SCHEDULES_H

#include "cost/model.h"

typedef struct {
    mo_schedule schedule;
    int64_t cost_ns;
} mo_scheduled;

/* Fills `best` with up to `capacity` valid schedules in ascending order of cost (ties by order of
 * enumeration) and returns their number; at least one for every body (PLAIN). Counts the schedules tried in
 * *tried and those beyond the device's memory in *too_large. */
int mo_schedules(mo_arena *arena, const mo_cost_context *context, mo_prim *body, int capacity,
                 mo_scheduled *best, int64_t *tried, int64_t *too_large);

#endif
