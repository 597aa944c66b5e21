/* What a run found out, gathered for the verdict, the report and the head of the emitted file. Borrowed
 * from the arena of the run. */
#ifndef MO_CLI_OUTCOME_H
#define MO_CLI_OUTCOME_H

#include "cli/options.h"
#include "profile/profile.h"
#include "search/search.h"

/* Facts that need no GPU are in `device`; `profile` is empty but for statuses and the limit without one. */
typedef struct {
    const mo_options *options;
    const mo_program *program;
    mo_lowered lowered;
    const mo_device *device; /* the target */
    bool measured;           /* candidates were run on a GPU */
    const char *nvrtc;       /* its version; NULL: none found */
    int threads;             /* of the search */
    mo_search_result search;
    mo_emitted *emitted;       /* one for each candidate of the search; source NULL: no fit */
    mo_profile_result profile; /* outcomes in the same order; its winner is the run's */
} mo_outcome;

/* Measured or estimated time of a candidate, in microseconds. */
double mo_outcome_us(const mo_outcome *outcome, int candidate);

/* Baseline over winner, both measured or both estimated; 0 where the baseline is not there. */
double mo_outcome_speedup(const mo_outcome *outcome);

/* The verdict without "mirage-opt: ": "ok: OUT.cu 14.8 us, 2.31x over unfused, ...". */
void mo_outcome_verdict(mo_str *out, const mo_outcome *outcome, const char *shown);

/* The lines of the emitted file's head that only a finished run knows; NULL without a GPU. */
const char *mo_outcome_measurements(mo_arena *arena, const mo_outcome *outcome);

/* "arch=sm_90a seed=0 ...": the options that decide the graph. */
const char *mo_outcome_deciding_options(mo_arena *arena, const mo_outcome *outcome);

/* Report in the schema mirage-opt-report/1. */
void mo_report_write(mo_str *out, const mo_outcome *outcome);

#endif
