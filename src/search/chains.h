/* CHAIN schedules of one block graph. */
#ifndef MO_SEARCH_CHAINS_H
#define MO_SEARCH_CHAINS_H

#include "cost/model.h"

/* Offers every schedule worth trying, with its cost by the model (INT64_MAX: more memory than a block has).
 */
void mo_chains(mo_arena *scratch, const mo_cost_context *context, mo_prim *body,
               void (*offer)(void *to, const mo_schedule *schedule, int64_t cost_ns), void *to);

#endif
