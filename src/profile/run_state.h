/* What the parts of a profiling run share; see profile.h for the purpose. */
#ifndef MO_PROFILE_RUN_STATE_H
#define MO_PROFILE_RUN_STATE_H

#include "profile/bench.h"
#include "profile/floor.h"
#include "profile/profile.h"

/* Kernels of the profiler's own, compiled along with the candidates. */
typedef enum { MO_OWN_READ, MO_OWN_MATMUL, MO_OWN_MMA, MO_OWN_WGMMA, MO_OWN_COUNT } mo_own_kernel;

typedef struct {
    const mo_profile_request *request;
    mo_profile_result *result;
    mo_bench *bench;
    const char *arch;              /* "sm_90a" */
    mo_compiled *compiled;         /* of each candidate */
    mo_compiled own[MO_OWN_COUNT]; /* those that are not ok are done without */
    mo_numeric_gate *numeric;
    mo_dataset data;   /* the numeric input sets */
    mo_probe flush;    /* evicts L2 */
    bool flushes;      /* there is such a job */
    void **outputs;    /* room for the outputs of all sets: [set * n_outputs + output] */
    double part_start; /* when the current part of the run began */
    double best_us;    /* of the candidates timed so far; 0: none */
} mo_profiling;

/* Checks the numbers of a compiled candidate and times it. */
void mo_profiling_candidate(mo_profiling *run, int index);

/* Times the candidates that lie within 2% of the best again, in turn and with the fastest variant of the
 * unfused program, and takes these times, until the best is one of them. */
void mo_profiling_ties(mo_profiling *run);

/* Measures the limits that matter for the winner. */
void mo_profiling_limit(mo_profiling *run);

#endif
