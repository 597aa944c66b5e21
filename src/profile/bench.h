/* The tool's side of profiling: input sets and jobs that are sent to the worker when a call needs them,
 * and again after the worker was lost. Knows bytes and launches, no graphs and no numbers.
 *
 * The caller owns what the structures point to and keeps it alive while they are in use. */
#ifndef MO_PROFILE_BENCH_H
#define MO_PROFILE_BENCH_H

#include "codegen/emit.h"
#include "profile/stats.h"
#include "profile/worker.h"

/* Input sets of one shape. */
typedef struct {
    int n_inputs, n_sets;
    const int64_t *input_bytes;
    const void *const *contents; /* [set * n_inputs + input]; NULL (array or entry): any values will do.
                                    Sets with the same pointer share the input on the GPU too. */
    uint32_t slot;               /* set by mo_bench_add_data */
    uint64_t generation;         /* of the worker that has it */
} mo_dataset;

typedef struct {
    int registers, local_bytes, shared_static;
} mo_job_facts;

/* Compiled kernels, how to launch them, and their buffers. Every argument is a pointer. */
typedef struct {
    mo_dataset *data;
    const void *cubin;
    size_t cubin_bytes;
    int n_launches;
    const mo_launch *launches;
    int n_outputs;
    const int64_t *output_bytes;
    int64_t workspace_bytes;
    int64_t zeroed_bytes; /* from its start: zero before the first launch */
    mo_job_facts *facts;  /* filled on load, one for each launch; or NULL */
    uint32_t slot;        /* set by mo_bench_add_job */
    uint64_t generation;
} mo_job;

typedef struct mo_bench mo_bench;

mo_bench *mo_bench_new(mo_cuda_loader *load, int device);
void mo_bench_free(mo_bench *bench); /* NULL is allowed */

/* Makes sure that a worker runs; see mo_worker_launch and mo_worker_start. */
mo_status mo_bench_launch(mo_bench *bench, mo_error *error);
mo_status mo_bench_start(mo_bench *bench, mo_gpu_facts *facts, mo_error *error);

/* Gives the object a slot; nothing is sent yet. Dropping frees the slot and the memory on the GPU. */
void mo_bench_add_data(mo_bench *bench, mo_dataset *data);
void mo_bench_add_job(mo_bench *bench, mo_job *job);
void mo_bench_drop_job(mo_bench *bench, mo_job *job);
void mo_bench_drop_data(mo_bench *bench, mo_dataset *data);

/* Bounds the calls that follow by `seconds` together, not counting the start of a worker and the
 * sending of inputs. */
void mo_bench_limit(mo_bench *bench, double seconds);

mo_call mo_bench_load(mo_bench *bench, mo_job *job, mo_error *error);

/* Runs the job on one set with poisoned buffers; outputs[i] receives output_bytes[i] bytes. */
mo_call mo_bench_run(mo_bench *bench, mo_job *job, int set, void *const *outputs, mo_error *error);

typedef struct {
    mo_times times;
    bool stopped;     /* early: slower than give_up_us */
    int sets, passes; /* copies that rotated; passes in one graph */
} mo_timing;

/* Times the job on copies of one set. `flush` (or NULL): a job that reads more than L2. */
mo_call mo_bench_time(mo_bench *bench, mo_job *job, int set, mo_job *flush, double give_up_us,
                      mo_timing *timing, mo_error *error);

#endif
