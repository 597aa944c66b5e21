/* Profiling: compile the candidates, check their numbers, time them, and measure the limits.
 *
 * Candidates compile in parallel, in a child process; each then runs in the worker process
 * (profile/worker.h): once on every input set with poisoned buffers, and only if all its numbers are within
 * what is allowed is it timed, with a cold L2. A candidate that fails costs itself alone and has a status
 * that says how. The baseline goes first and is treated like any other. Near ties and the baseline are timed
 * again together. The limits are measured in the same run.
 *
 * mo_profile_run returns an error only for the environment (no GPU, the wrong one); everything about a
 * candidate is in its status. All results live in the request's arena. */
#ifndef MO_PROFILE_PROFILE_H
#define MO_PROFILE_PROFILE_H

#include "base/clock.h"
#include "base/log.h"
#include "codegen/emit.h"
#include "profile/compile.h"
#include "profile/numeric.h"
#include "profile/stats.h"
#include "profile/worker.h"

typedef enum {
    MO_PROFILE_ESTIMATED, /* not measured: only the cost model's estimate is there */
    MO_PROFILE_TIMED,
    MO_PROFILE_SLOWER, /* stopped early; the times are rough */
    MO_PROFILE_COMPILE_ERROR,
    MO_PROFILE_NO_FIT,
    MO_PROFILE_NUMERIC_FAILURE,
    MO_PROFILE_LAUNCH_FAILURE,
    MO_PROFILE_TIMEOUT,
    MO_PROFILE_STATUS_COUNT
} mo_profile_status;

/* As in the report: "timed", "compile-error", ... */
const char *mo_profile_status_name(mo_profile_status status);

typedef struct {
    const mo_mugraph *graph;
    const mo_emitted *emitted; /* NULL: could not be emitted; the candidate gets NO_FIT */
    const char *why;           /* with emitted NULL: the reason, or NULL */
} mo_profile_candidate;

typedef struct {
    mo_arena *arena;
    const mo_program *program;
    int n_candidates;
    const mo_profile_candidate *candidates;
    int baseline;    /* index of the unfused program's first variant, or -1 */
    int n_baselines; /* variants, one behind the other: the fastest is the baseline */
    uint64_t seed;
    double factor;               /* of the floating-point acceptance */
    const mo_deadline *deadline; /* NULL: no bound */
    int device;                  /* GPU number */
    int arch;                    /* candidates are for this one of the table; must be the GPU's to be run */
    int threads;                 /* for compiling; <= 0: all cores */
    const mo_compiler *compiler; /* NVRTC */
    mo_cuda_loader *load_driver; /* NULL: mo_cuda_load */
    mo_log *log;                 /* progress; or NULL */
} mo_profile_request;

typedef struct {
    mo_profile_status status;
    const char *why;          /* what went wrong, or NULL */
    const char *compile_log;  /* never NULL once compiled */
    int n_kernels;            /* one for each launch */
    mo_kernel_usage *kernels; /* registers, spills, shared memory */
    mo_times times;
    int sets;      /* input sets that rotated while timing */
    int n_numeric; /* outputs, or 0 when no numbers were compared */
    mo_numeric_entry *numeric;
} mo_profile_outcome;

typedef enum { MO_BOUND_MEMORY, MO_BOUND_MATRIX } mo_profile_bound;

typedef struct {
    int64_t bytes, flops;
    double floor_us; /* 0: unknown */
    bool measured;   /* on this GPU in this run; otherwise from the table */
    double fraction; /* floor over the winner's time; 0 without a winner */
    mo_profile_bound bound;
} mo_profile_limit;

typedef struct {
    mo_gpu_facts facts; /* zero when no GPU was used */
    mo_profile_outcome *outcomes;
    int winner;             /* the fastest that passed, or -1 */
    double baseline_us;     /* 0: the baseline was not timed */
    mo_profile_limit limit; /* of the winner */
    bool complete;          /* every candidate was treated before the deadline */
} mo_profile_result;

mo_status mo_profile_run(const mo_profile_request *request, mo_profile_result *result, mo_error *error);

/* Compiles only: outcomes are ESTIMATED, COMPILE_ERROR or NO_FIT; needs no GPU and chooses no winner. */
void mo_profile_compile_only(const mo_profile_request *request, mo_profile_result *result);

/* Facts of a GPU, asked for in a process of its own. MO_ERR_ENV when there is none. */
mo_status mo_profile_probe(mo_cuda_loader *load, int device, mo_gpu_facts *facts, mo_error *error);

/* Bytes that the program must move: each used input once, each output once. */
int64_t mo_profile_bytes(const mo_program *program);

/* Operations in the matrix products of the graph. */
int64_t mo_profile_flops(const mo_mugraph *graph);

/* Limit of a graph by the device table, for runs without a GPU; `arch` must be in the table. */
mo_profile_limit mo_profile_limit_estimate(const mo_program *program, const mo_mugraph *graph, int arch,
                                           double time_us);

#endif
