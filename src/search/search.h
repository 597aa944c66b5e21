/* The search: from a program to ranked muGraphs with concrete extents.
 *
 * Decoupled in three steps: the algebra of equivalent graphs over symbolic axes (search/algebra.h), the cut
 * into kernels and the placement of their axes (search/place.h), and concrete extents ranked by the cost
 * model. The unfused program (one kernel for each written node) is always a candidate. The result is the
 * same for any number of threads. Everything lives in the given arena. */
#ifndef MO_SEARCH_SEARCH_H
#define MO_SEARCH_SEARCH_H

#include "base/status.h"
#include "cost/device.h"
#include "ir/lowered.h"
#include "ir/mugraph.h"
#include "verify/equiv.h"

typedef struct {
    const mo_device *device;
    uint64_t seed;
    int64_t max_states; /* candidate applications; deterministic bound */
    int max_kernel_ops; /* kernels for each subprogram */
    int max_block_ops;  /* 0: the program's own count plus 3 */
    bool count_paper;   /* block ops count all nodes but savers */
    bool prune;         /* false: --no-prune */
    mo_passes off;      /* passes of the optimiser that all graphs, the unfused too, do without */
    int top_k;
    int threads;
    double verify_delta;
    bool (*stop)(void *context); /* asked now and then: budget over or interrupted; may be NULL */
    void *stop_context;
} mo_search_options;

typedef struct {
    int64_t states, pruned_expression, pruned_shape, pruned_memory, pruned_duplicate, pruned_unsafe;
    int64_t partitions;                   /* ways to cut graphs into kernels whose cost was estimated */
    int64_t mugraphs, verified, rejected; /* candidates made, accepted and refused by the equivalence test */
    bool complete;
    double seconds;
} mo_search_counts;

/* At most so many candidates that are better by the cost model, but without a form in the generator. */
#define MO_SEARCH_BEYOND 4

typedef struct {
    mo_arena *arena;
    int n_candidates;
    mo_mugraph **candidates;       /* ranked by estimated cost, at most top_k; then cheaper ones that the
                                    * generator has no form for; then the unfused ones */
    mo_verify_report *equivalence; /* what the equivalence test established for each */
    int baseline,
        n_baselines; /* the unfused program with several choices of schedules: the last candidates */
    int n_subprograms;
    mo_search_counts counts;
} mo_search_result;

mo_status mo_search_run(mo_arena *arena, const mo_program *program, const mo_lowered *lowered,
                        const mo_search_options *options, mo_search_result *result, mo_error *error);

#endif
