/* Timing with a cold L2: one graph of many passes over the job's kernels, each pass on the next of
 * several copies of an input set with outputs of their own. Where the copies together do not exceed L2
 * (tiny programs), a flush job reads a large buffer between replays, outside the timed part, and a
 * replay uses each copy once. */
#include "profile/executor_state.h"
#include "profile/stats.h"

#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 4096, FEW_PASSES = 16, LEAST_REPLAYS = 11, HOPELESS_REPLAYS = 3 };
static const double target_us = 1500, long_us = 2e4, warm_seconds = 0.01, most_seconds = 0.6;
static const size_t memory_left_free = (size_t)256 << 20;

typedef struct {
    mo_exec_job *job, *flush; /* flush may be NULL */
    mo_rotation rotation;
    double give_up_us; /* stop early above this; <= 0: never */
    int passes;
    mo_cu_graph_exec graph;
    int n;
    double samples[MO_MAX_REPLAYS];
    mo_cu_pointer *inputs; /* places of the inputs of one pass */
} timing;

/* A copy of the set in one piece, guards and all. */
static bool fill_copy(mo_executor *x, const mo_exec_data *data, uint32_t set, mo_cu_pointer to)
{
    if (!mo_gpu_fill(&x->gpu, to, 0xff, data->layout.total, &x->error)) return false;
    for (uint32_t i = 0; i < data->layout.n; i++) {
        mo_cu_pointer from = data->inputs[set * data->layout.n + i].at, at = to + data->layout.offset[i];
        if (!mo_gpu_copy(&x->gpu, at, from, data->layout.size[i], &x->error)) return false;
    }
    return true;
}

/* Copies of the set, as many as the rotation wants or memory allows. */
static mo_reply_code fill_pool(mo_executor *x, timing *t, uint32_t set, int64_t memory_limit)
{
    const mo_exec_data *data = &x->data[t->job->data];
    mo_exec_pool *pool = &x->pool;
    size_t outputs = t->job->outputs.total, stride = data->layout.total + outputs;
    int64_t bytes = 0;
    for (uint32_t i = 0; i < data->layout.n; i++) bytes += (int64_t)data->layout.size[i];
    for (uint32_t i = 0; i < t->job->outputs.n; i++) bytes += (int64_t)t->job->outputs.size[i];
    if (pool->memory == 0 || pool->data != t->job->data || pool->set != set ||
        pool->output_bytes != outputs) {
        mo_exec_drop_pool(x);
        size_t available = mo_gpu_memory_free(&x->gpu);
        available = available > memory_left_free ? available - memory_left_free : 0;
        if ((int64_t)available > memory_limit) available = (size_t)memory_limit;
        t->rotation = mo_rotation_plan(bytes, x->gpu.facts.l2_bytes,
                                       (int64_t)((double)available * ((double)bytes + 1) / (double)stride));
        if (!mo_gpu_alloc(&x->gpu, &pool->memory, stride * (size_t)t->rotation.sets, &x->error)) {
            return MO_REPLY_NO_FIT;
        }
        *pool = (mo_exec_pool){pool->memory, stride, outputs, t->job->data, set, t->rotation.sets};
        for (int s = 0; s < pool->n_sets; s++) {
            if (!fill_copy(x, data, set, pool->memory + stride * (size_t)s)) return MO_REPLY_FAILED;
        }
        if (!mo_gpu_synchronize(&x->gpu, "copying input sets", &x->error)) return MO_REPLY_FAILED;
    }
    t->rotation = mo_rotation_plan(bytes, x->gpu.facts.l2_bytes, bytes * pool->n_sets);
    return MO_REPLY_OK;
}

static bool record(mo_executor *x, timing *t, int passes)
{
    mo_gpu_graph_free(&x->gpu, &t->graph);
    t->passes = passes;
    if (!mo_gpu_graph_begin(&x->gpu, &x->error)) return false;
    const mo_exec_pool *pool = &x->pool;
    for (int p = 0; p < passes; p++) {
        mo_cu_pointer copy = pool->memory + pool->stride * (size_t)(p % pool->n_sets);
        mo_exec_copy_places(&x->data[t->job->data], copy, t->inputs);
        if (!mo_exec_launch(x, t->job, t->inputs, copy + (pool->stride - pool->output_bytes))) {
            mo_gpu_graph_abandon(&x->gpu);
            return false;
        }
    }
    return mo_gpu_graph_end(&x->gpu, &t->graph, &x->error);
}

/* One replay; the time of a pass in *us. */
static bool replay(mo_executor *x, timing *t, double *us)
{
    if (t->flush != NULL && (t->rotation.flush || t->passes < t->rotation.sets)) {
        mo_exec_set_places(&x->data[t->flush->data], 0, t->inputs);
        if (!mo_exec_launch(x, t->flush, t->inputs, t->flush->output_memory)) return false;
    }
    bool ok = mo_gpu_graph_time(&x->gpu, t->graph, us, &x->error);
    *us /= t->passes;
    return ok;
}

/* A rough time of one pass: a single one when that is long, otherwise the smaller of two replays of a
 * short graph behind a first one. */
static bool estimate(mo_executor *x, timing *t, double *us)
{
    int passes = t->rotation.sets < FEW_PASSES ? t->rotation.sets : FEW_PASSES;
    double again;
    if (!record(x, t, 1) || !replay(x, t, us)) return false;
    if (*us > long_us) return true;
    if (!record(x, t, passes) || !replay(x, t, &again) || !replay(x, t, us) || !replay(x, t, &again)) {
        return false;
    }
    if (again < *us) *us = again;
    return true;
}

static bool measure(mo_executor *x, timing *t, bool *stopped)
{
    double us, rough, start = mo_clock_seconds();
    *stopped = false;
    if (!estimate(x, t, &rough)) return false;
    bool hopeless = t->give_up_us > 0 && rough > 1.1 * t->give_up_us;
    if (!hopeless) {
        int passes = mo_passes_plan(&t->rotation, rough, target_us, (int)t->job->n_launches, MOST_NODES);
        if (!record(x, t, passes)) return false;
        double warm = mo_clock_seconds() + warm_seconds;
        do {
            if (!replay(x, t, &us)) return false;
        } while (mo_clock_seconds() < warm);
    }
    while (!mo_times_settled(t->samples, t->n, LEAST_REPLAYS)) {
        if (!replay(x, t, &t->samples[t->n])) return false;
        t->n++;
        if (t->n >= HOPELESS_REPLAYS && t->give_up_us > 0) {
            double copy[MO_MAX_REPLAYS];
            memcpy(copy, t->samples, (size_t)t->n * sizeof *copy);
            *stopped = mo_times_of(copy, t->n).min > t->give_up_us;
            if (*stopped) return true;
        }
        if (t->n >= HOPELESS_REPLAYS && mo_clock_seconds() - start > most_seconds &&
            (t->n >= LEAST_REPLAYS || rough > long_us / 2)) {
            return true;
        }
    }
    return true;
}

/* job, set, flush job (or no slot), memory limit, give up above -> stopped early, sets, passes, samples */
mo_reply_code mo_exec_time(mo_executor *x, mo_message *in, mo_str *reply)
{
    timing t = {0};
    uint32_t slot = mo_get_u32(in), set = mo_get_u32(in), flush = mo_get_u32(in);
    int64_t memory_limit = mo_get_i64(in);
    t.give_up_us = mo_get_f64(in);
    MO_CHECK(!in->bad && slot < MO_EXECUTOR_SLOTS && x->jobs[slot].used);
    t.job = &x->jobs[slot];
    if (flush < MO_EXECUTOR_SLOTS && x->jobs[flush].used) t.flush = &x->jobs[flush];
    MO_CHECK(set < x->data[t.job->data].n_sets);
    if (!mo_exec_buffers(x, t.job) || (t.flush != NULL && !mo_exec_buffers(x, t.flush))) {
        return MO_REPLY_NO_FIT;
    }
    mo_reply_code code = fill_pool(x, &t, set, memory_limit);
    if (code != MO_REPLY_OK) return code;
    bool stopped;
    uint32_t most_inputs = x->data[t.job->data].layout.n;
    if (t.flush != NULL) most_inputs += x->data[t.flush->data].layout.n;
    t.inputs = calloc((size_t)most_inputs + 1, sizeof *t.inputs);
    if (t.inputs == NULL) MO_BUG("out of memory");
    bool ok = measure(x, &t, &stopped);
    free(t.inputs);
    mo_gpu_graph_free(&x->gpu, &t.graph);
    if (!ok) return MO_REPLY_FAILED;
    mo_put_u32(reply, stopped);
    mo_put_u32(reply, (uint32_t)x->pool.n_sets);
    mo_put_u32(reply, (uint32_t)t.passes);
    mo_put_u32(reply, (uint32_t)t.n);
    for (int i = 0; i < t.n; i++) mo_put_f64(reply, t.samples[i]);
    return MO_REPLY_OK;
}
