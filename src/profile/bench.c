/* An object remembers the generation of the worker that has it: a new worker has another, and so gets the
 * object again before the next call that needs it. */
#include "profile/bench.h"

#include "base/clock.h"
#include "profile/executor.h"

#include <stdlib.h>
#include <string.h>

struct mo_bench {
    mo_worker *worker;
    double end; /* of the calls that follow */
    bool data_used[MO_EXECUTOR_SLOTS], job_used[MO_EXECUTOR_SLOTS];
};

static const double upload_seconds = 120, drop_seconds = 10;
static const int64_t pool_bytes = (int64_t)4 << 30; /* what rotating copies may take */

mo_bench *mo_bench_new(mo_cuda_loader *load, int device)
{
    mo_bench *bench = calloc(1, sizeof *bench);
    if (bench == NULL) MO_BUG("out of memory");
    bench->worker = mo_worker_new(load, device);
    return bench;
}

void mo_bench_free(mo_bench *bench)
{
    if (bench == NULL) return;
    mo_worker_free(bench->worker);
    free(bench);
}

mo_status mo_bench_launch(mo_bench *bench, mo_error *error)
{
    return mo_worker_launch(bench->worker, error);
}

mo_status mo_bench_start(mo_bench *bench, mo_gpu_facts *facts, mo_error *error)
{
    return mo_worker_start(bench->worker, facts, error);
}

static uint32_t take_slot(bool *used)
{
    for (uint32_t i = 0; i < MO_EXECUTOR_SLOTS; i++) {
        if (used[i]) continue;
        used[i] = true;
        return i;
    }
    MO_BUG("more than %d objects on the GPU", MO_EXECUTOR_SLOTS);
}

void mo_bench_add_data(mo_bench *bench, mo_dataset *data)
{
    data->slot = take_slot(bench->data_used);
    data->generation = 0;
}

void mo_bench_add_job(mo_bench *bench, mo_job *job)
{
    job->slot = take_slot(bench->job_used);
    job->generation = 0;
}

/* Tells the worker unless it never had the object or is gone. A failure shows in the next call. */
static void drop(mo_bench *bench, mo_request_kind kind, uint32_t slot, uint64_t generation)
{
    if (generation == 0 || generation != mo_worker_generation(bench->worker)) return;
    if (!mo_worker_running(bench->worker)) return;
    mo_str request = {0};
    mo_message in;
    mo_put_u32(&request, (uint32_t)kind);
    mo_put_u32(&request, slot);
    mo_worker_call(bench->worker, &request, mo_clock_seconds() + drop_seconds, &in, NULL);
    mo_str_free(&request);
}

void mo_bench_drop_job(mo_bench *bench, mo_job *job)
{
    drop(bench, MO_REQUEST_DROP_JOB, job->slot, job->generation);
    bench->job_used[job->slot] = false;
    job->generation = 0;
}

void mo_bench_drop_data(mo_bench *bench, mo_dataset *data)
{
    drop(bench, MO_REQUEST_DROP_DATA, data->slot, data->generation);
    bench->data_used[data->slot] = false;
    data->generation = 0;
}

void mo_bench_limit(mo_bench *bench, double seconds)
{
    mo_gpu_facts facts;
    mo_bench_start(bench, &facts, NULL); /* a failure shows in the next call */
    bench->end = mo_clock_seconds() + seconds;
}

/* The first set that has the same bytes for this input: `set` itself, or one that was sent before. */
static int first_with(const mo_dataset *data, int set, int input)
{
    if (data->contents == NULL) return set;
    const void *bytes = data->contents[set * data->n_inputs + input];
    for (int s = 0; s < set; s++) {
        if (data->contents[s * data->n_inputs + input] == bytes) return s;
    }
    return set;
}

static mo_call send_set(mo_bench *bench, mo_dataset *data, int set, mo_error *error)
{
    mo_str request = {0};
    mo_message in;
    mo_put_u32(&request, MO_REQUEST_SET);
    mo_put_u32(&request, data->slot);
    mo_put_u32(&request, (uint32_t)set);
    for (int i = 0; i < data->n_inputs; i++) {
        const void *bytes = data->contents == NULL ? NULL : data->contents[set * data->n_inputs + i];
        int shared = first_with(data, set, i);
        mo_put_u32(&request, (uint32_t)shared);
        if (shared == set) mo_put_bytes(&request, bytes, bytes == NULL ? 0 : (size_t)data->input_bytes[i]);
    }
    mo_call call = mo_worker_call(bench->worker, &request, bench->end, &in, error);
    mo_str_free(&request);
    return call;
}

/* A message for each set: together they can be larger than memory has room for twice. */
static mo_call send_data(mo_bench *bench, mo_dataset *data, mo_error *error)
{
    mo_str request = {0};
    mo_message in;
    mo_put_u32(&request, MO_REQUEST_DATA);
    mo_put_u32(&request, data->slot);
    mo_put_u32(&request, (uint32_t)data->n_inputs);
    for (int i = 0; i < data->n_inputs; i++) mo_put_i64(&request, data->input_bytes[i]);
    mo_put_u32(&request, (uint32_t)data->n_sets);
    mo_call call = mo_worker_call(bench->worker, &request, bench->end, &in, error);
    mo_str_free(&request);
    for (int s = 0; s < data->n_sets && call == MO_CALL_OK; s++) call = send_set(bench, data, s, error);
    if (call == MO_CALL_OK) data->generation = mo_worker_generation(bench->worker);
    return call;
}

/* Its rank (0: there is none), then the rest. */
static void put_map(mo_str *request, const mo_tensor_map *map)
{
    mo_put_u32(request, map == NULL ? 0 : (uint32_t)map->rank);
    if (map == NULL) return;
    mo_put_u32(request, (uint32_t)map->dtype);
    mo_put_u32(request, (uint32_t)map->swizzle);
    for (int i = 0; i < 3; i++) {
        mo_put_i64(request, map->size[i]);
        mo_put_i64(request, i < 2 ? map->stride[i] : 0);
        mo_put_u32(request, (uint32_t)map->box[i]);
    }
}

static void put_launch(mo_str *request, const mo_launch *launch)
{
    mo_put_text(request, launch->kernel);
    for (int i = 0; i < 3; i++) mo_put_u32(request, launch->grid[i]);
    for (int i = 0; i < 3; i++) mo_put_u32(request, launch->cluster[i]);
    for (int i = 0; i < 3; i++) mo_put_u32(request, launch->block[i]);
    mo_put_u32(request, launch->early);
    mo_put_u32(request, launch->shared_bytes);
    mo_put_u32(request, (uint32_t)launch->n_args);
    for (int i = 0; i < launch->n_args; i++) {
        mo_put_u32(request, (uint32_t)launch->args[i].kind);
        mo_put_u32(request, (uint32_t)launch->args[i].index);
        mo_put_i64(request, launch->args[i].offset);
        put_map(request, launch->args[i].map);
    }
}

static mo_call send_job(mo_bench *bench, mo_job *job, mo_error *error)
{
    mo_str request = {0};
    mo_message in;
    mo_put_u32(&request, MO_REQUEST_JOB);
    mo_put_u32(&request, job->slot);
    mo_put_u32(&request, job->data->slot);
    mo_put_bytes(&request, job->cubin, job->cubin_bytes);
    mo_put_u32(&request, (uint32_t)job->n_outputs);
    for (int i = 0; i < job->n_outputs; i++) mo_put_i64(&request, job->output_bytes[i]);
    mo_put_i64(&request, job->workspace_bytes);
    mo_put_i64(&request, job->zeroed_bytes);
    mo_put_u32(&request, (uint32_t)job->n_launches);
    for (int i = 0; i < job->n_launches; i++) put_launch(&request, &job->launches[i]);
    mo_call call = mo_worker_call(bench->worker, &request, bench->end, &in, error);
    mo_str_free(&request);
    if (call != MO_CALL_OK) return call;
    job->generation = mo_worker_generation(bench->worker);
    for (int i = 0; i < job->n_launches; i++) {
        mo_job_facts facts;
        facts.registers = (int)mo_get_u32(&in);
        facts.local_bytes = (int)mo_get_u32(&in);
        facts.shared_static = (int)mo_get_u32(&in);
        if (job->facts != NULL) job->facts[i] = facts;
    }
    MO_CHECK(!in.bad);
    return MO_CALL_OK;
}

/* A lost worker is replaced first, so that its generation is known before it is compared. Sending the
 * inputs, which can be gigabytes, is not held against the job. */
mo_call mo_bench_load(mo_bench *bench, mo_job *job, mo_error *error)
{
    mo_gpu_facts facts;
    mo_call call = MO_CALL_OK;
    double start = mo_clock_seconds();
    if (mo_bench_start(bench, &facts, error) != MO_OK) return MO_CALL_NO_GPU;
    uint64_t generation = mo_worker_generation(bench->worker);
    if (job->data->generation != generation) {
        double end = bench->end;
        bench->end = start + upload_seconds;
        call = send_data(bench, job->data, error);
        bench->end = end + (mo_clock_seconds() - start);
    }
    if (call == MO_CALL_OK && job->generation != generation) call = send_job(bench, job, error);
    return call;
}

mo_call mo_bench_run(mo_bench *bench, mo_job *job, int set, void *const *outputs, mo_error *error)
{
    mo_call call = mo_bench_load(bench, job, error);
    if (call != MO_CALL_OK) return call;
    mo_str request = {0};
    mo_message in;
    mo_put_u32(&request, MO_REQUEST_RUN);
    mo_put_u32(&request, job->slot);
    mo_put_u32(&request, (uint32_t)set);
    call = mo_worker_call(bench->worker, &request, bench->end, &in, error);
    mo_str_free(&request);
    for (int i = 0; i < job->n_outputs && call == MO_CALL_OK; i++) {
        size_t length;
        const unsigned char *bytes = mo_get_bytes(&in, &length);
        MO_CHECK(!in.bad && (int64_t)length == job->output_bytes[i]);
        if (length > 0) memcpy(outputs[i], bytes, length);
    }
    return call;
}

mo_call mo_bench_time(mo_bench *bench, mo_job *job, int set, mo_job *flush, double give_up_us,
                      mo_timing *timing, mo_error *error)
{
    mo_call call = mo_bench_load(bench, job, error);
    if (call == MO_CALL_OK && flush != NULL) call = mo_bench_load(bench, flush, error);
    if (call != MO_CALL_OK) return call;
    mo_str request = {0};
    mo_message in;
    mo_put_u32(&request, MO_REQUEST_TIME);
    mo_put_u32(&request, job->slot);
    mo_put_u32(&request, (uint32_t)set);
    mo_put_u32(&request, flush == NULL ? UINT32_MAX : flush->slot);
    mo_put_i64(&request, pool_bytes);
    mo_put_f64(&request, give_up_us);
    call = mo_worker_call(bench->worker, &request, bench->end, &in, error);
    mo_str_free(&request);
    *timing = (mo_timing){0};
    if (call != MO_CALL_OK) return call;
    double samples[MO_MAX_REPLAYS];
    timing->stopped = mo_get_u32(&in) != 0;
    timing->sets = (int)mo_get_u32(&in);
    timing->passes = (int)mo_get_u32(&in);
    uint32_t n = mo_get_count(&in, sizeof(double));
    MO_CHECK(!in.bad && n >= 1 && n <= MO_MAX_REPLAYS);
    for (uint32_t i = 0; i < n; i++) samples[i] = mo_get_f64(&in);
    timing->times = mo_times_of(samples, (int)n);
    return MO_CALL_OK;
}
