/* What the parts of a profiling run share; see profile.h for the purpose. */
#ifndef MO_PROFILE_RUN_STATE_H
#define MO_PROFILE_RUN_STATE_H

#include "profile/bench.h"
#include "profile/floor.h"
#include "profile/profile.h"

typedef struct {
    const mo_profile_request *request;
    mo_profile_result *result;
    mo_bench *bench;
    const char *arch;           /* "sm_90a" */
    mo_compiled *compiled;      /* of each candidate */
    mo_numeric_gate *numeric;
    mo_dataset data;            /* the numeric input sets */
    mo_probe flush;             /* evicts L2 */
    bool flushes;               /* there is such a job */
    void **outputs;             /* room for the outputs of one run */
    double best_us;             /* of the candidates timed so far; 0: none */
} mo_profiling;

/* Compiles every candidate that was emitted and fills in its outcome. */
void mo_profiling_compile(mo_profiling *run);

/* Checks the numbers of a compiled candidate and times it. */
void mo_profiling_candidate(mo_profiling *run, int index);

/* Times the candidates that lie within 2% of the best again, in turn, and takes these times. */
void mo_profiling_ties(mo_profiling *run);

/* Measures the limits that matter for the winner. */
void mo_profiling_limit(mo_profiling *run);

#endif
