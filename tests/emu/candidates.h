/* Graphs of one program for the emulator: the unfused ones, cuts of the lowered graph with many schedules,
 * and what the search hands on, for an architecture with clusters and one without. */
#ifndef MO_CANDIDATES_H
#define MO_CANDIDATES_H

#include "ir/lowered.h"
#include "ir/mugraph.h"
#include "search/search.h"

typedef enum {
    MO_GROUP_PLAIN,     /* a thread for each element: always one graph, if no pass is off */
    MO_GROUP_UNFUSED,   /* 16-bit values between the kernels */
    MO_GROUP_WIDE,      /* the same with f32 between the kernels: these must be right on all inputs; none if a
                         * pass is off */
    MO_GROUP_CUTS,      /* the lowered graph cut in several ways, every schedule of each kernel */
    MO_GROUP_SEARCH_90, /* those with clusters first */
    MO_GROUP_SEARCH_80,
    MO_GROUP_COPIES, /* those for sm_90 with every way to copy their slabs; many have no text */
    MO_GROUP_WGMMA,  /* and with warp-group products, likewise */
    MO_GROUP_PARTS,  /* and with blocks that share a loop */
    MO_GROUPS
} mo_group;

typedef struct {
    const mo_mugraph *graph;
    int arch;
    const char *label;
    unsigned sets; /* input sets beside the random one on which it must be right, see emitted.h */
    bool searched; /* it may compute in another way than the program, and overflow elsewhere */
} mo_candidate;

typedef struct {
    int n[MO_GROUPS];
    mo_candidate *list[MO_GROUPS]; /* in the order in which to try them */
    mo_search_counts counts;       /* of the search for sm_90 */
} mo_candidates;

typedef struct {
    bool cuts; /* also MO_GROUP_CUTS */
    int top_k;
    int64_t max_states;
    uint64_t seed;
    mo_passes
        off; /* passes of the optimiser that every graph does without; graphs with loops are preferred */
    bool (*stop)(void *context);
    void *stop_context;
} mo_candidate_options;

/* False, with the error, when the search fails. */
bool mo_candidates_make(mo_arena *arena, const mo_program *program, const mo_lowered *lowered,
                        const mo_candidate_options *options, mo_candidates *result, mo_error *error);

#endif
