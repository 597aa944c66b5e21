/* The order of a profiling run: compile, open the GPU, references, baseline, the others, near ties,
 * limits. */
#include "profile/run_state.h"

#include "cost/device.h"

#include <stdlib.h>
#include <string.h>

/* ---- compiling ---- */

/* Usages in the order of the launches; what ptxas did not mention stays zero. */
static void take_usages(mo_profiling *run, int index)
{
    const mo_emitted *emitted = run->request->candidates[index].emitted;
    const mo_compiled *compiled = &run->compiled[index];
    mo_profile_outcome *outcome = &run->result->outcomes[index];
    outcome->n_kernels = emitted->n_launches;
    outcome->kernels = MO_NEW_ARRAY(run->request->arena, mo_kernel_usage, emitted->n_launches);
    for (int k = 0; k < emitted->n_launches; k++) {
        const char *name = emitted->launches[k].kernel;
        for (int u = 0; u < compiled->n_usages; u++) {
            if (strcmp(compiled->usages[u].name, name) == 0) outcome->kernels[k] = compiled->usages[u];
        }
        size_t length = strlen(name), most = sizeof outcome->kernels[k].name - 1;
        memcpy(outcome->kernels[k].name, name, length < most ? length : most);
    }
}

static void note_compiled(mo_profiling *run, int index)
{
    mo_arena *arena = run->request->arena;
    mo_profile_outcome *outcome = &run->result->outcomes[index];
    const mo_compiled *compiled = &run->compiled[index];
    outcome->compile_log = mo_arena_strdup(arena, compiled->log == NULL ? "" : compiled->log);
    if (compiled->ok) {
        take_usages(run, index);
    } else {
        outcome->status = MO_PROFILE_COMPILE_ERROR;
        outcome->why = outcome->compile_log;
    }
}

void mo_profiling_compile(mo_profiling *run)
{
    const mo_profile_request *r = run->request;
    mo_compile_request *requests = calloc((size_t)r->n_candidates + 1, sizeof *requests);
    mo_compiled *results = calloc((size_t)r->n_candidates + 1, sizeof *results);
    int *index = calloc((size_t)r->n_candidates + 1, sizeof *index), n = 0;
    if (requests == NULL || results == NULL || index == NULL) MO_BUG("out of memory");
    const char *name = mo_arena_printf(r->arena, "%s.cu", r->program->symbol);
    for (int i = 0; i < r->n_candidates; i++) {
        if (r->candidates[i].emitted == NULL) {
            run->result->outcomes[i].status = MO_PROFILE_NO_FIT;
            run->result->outcomes[i].why = r->candidates[i].why;
            continue;
        }
        requests[n] = (mo_compile_request){
            .source = r->candidates[i].emitted->source, .name = name, .arch = run->arch};
        index[n++] = i;
    }
    mo_log_progress(r->log, "compiling %d candidates", n);
    mo_compile_all(r->compiler, r->threads, n, requests, results);
    for (int i = 0; i < n; i++) {
        run->compiled[index[i]] = results[i];
        note_compiled(run, index[i]);
    }
    free(requests);
    free(results);
    free(index);
}

/* ---- the run ---- */

static void begin(mo_profiling *run, const mo_profile_request *request, mo_profile_result *result)
{
    *result = (mo_profile_result){.winner = -1};
    result->outcomes = MO_NEW_ARRAY(request->arena, mo_profile_outcome, request->n_candidates);
    *run = (mo_profiling){.request = request, .result = result, .arch = mo_arch_name(request->arch)};
    MO_CHECK(run->arch != NULL);
    run->compiled = calloc((size_t)request->n_candidates + 1, sizeof *run->compiled);
    if (run->compiled == NULL) MO_BUG("out of memory");
}

static void end(mo_profiling *run)
{
    mo_log_progress_end(run->request->log);
    for (int i = 0; i < run->request->n_candidates; i++) mo_compiled_free(&run->compiled[i]);
    free(run->compiled);
    mo_bench_free(run->bench);
    mo_probe_free(&run->flush);
}

void mo_profile_compile_only(const mo_profile_request *request, mo_profile_result *result)
{
    mo_profiling run;
    begin(&run, request, result);
    mo_profiling_compile(&run);
    result->complete = true;
    end(&run);
}

static mo_status open_gpu(mo_profiling *run, mo_error *error)
{
    const mo_profile_request *r = run->request;
    mo_gpu_facts *facts = &run->result->facts;
    run->bench = mo_bench_new(r->load_driver == NULL ? mo_cuda_load : r->load_driver, r->device);
    mo_status status = mo_bench_start(run->bench, facts, error);
    if (status != MO_OK) return status;
    if (facts->arch == r->arch) return MO_OK;
    return mo_fail(error, MO_ERR_ENV, "GPU %d (%s) is of architecture sm_%d, the candidates are for %s",
                   r->device, facts->name, facts->arch, run->arch);
}

/* Input sets and references. The products of the reference use the GPU where its kernels compile. */
static void prepare_numbers(mo_profiling *run)
{
    const mo_profile_request *r = run->request;
    mo_matmul_device device;
    bool usable = mo_matmul_open(&device, run->bench, r->compiler, run->arch);
    mo_log_progress(r->log, "computing the reference");
    run->numeric =
        mo_numeric_new(r->arena, r->program, r->seed, r->factor, usable ? &device : NULL, r->threads);
    mo_matmul_free(&device);
    run->data = (mo_dataset){.n_inputs = r->program->n_inputs,
                             .n_sets = mo_numeric_sets(run->numeric),
                             .input_bytes = mo_numeric_input_bytes(run->numeric),
                             .contents = mo_numeric_contents(run->numeric)};
    mo_bench_add_data(run->bench, &run->data);
    run->outputs = MO_NEW_ARRAY(r->arena, void *, r->program->n_outputs);
    for (int o = 0; o < r->program->n_outputs; o++) {
        run->outputs[o] = mo_arena_alloc(r->arena, (size_t)mo_numeric_output_bytes(run->numeric)[o]);
    }
}

/* Reading four times the capacity of L2 leaves nothing of what was there. */
static void prepare_flush(mo_profiling *run)
{
    int64_t bytes = 4 * run->result->facts.l2_bytes;
    run->flushes = mo_probe_read(&run->flush, run->request->compiler, run->arch, bytes);
    if (!run->flushes) return;
    mo_bench_add_data(run->bench, &run->flush.data);
    mo_bench_add_job(run->bench, &run->flush.job);
}

static void treat(mo_profiling *run, int index, int done)
{
    const mo_profile_request *r = run->request;
    if (!run->compiled[index].ok) return;
    if (mo_deadline_passed(r->deadline)) {
        run->result->complete = false;
        return;
    }
    if (run->best_us > 0) {
        mo_log_progress(r->log, "timing %d of %d, best %.2f us", done + 1, r->n_candidates, run->best_us);
    } else {
        mo_log_progress(r->log, "timing %d of %d", done + 1, r->n_candidates);
    }
    mo_profiling_candidate(run, index);
}

static bool is_baseline(const mo_profile_request *r, int index)
{
    return r->baseline >= 0 && index >= r->baseline && index < r->baseline + r->n_baselines;
}

static void choose_winner(mo_profiling *run)
{
    mo_profile_result *result = run->result;
    for (int i = 0; i < run->request->n_candidates; i++) {
        const mo_profile_outcome *o = &result->outcomes[i];
        if (o->status != MO_PROFILE_TIMED) continue;
        int w = result->winner;
        if (w < 0 || o->times.median < result->outcomes[w].times.median) result->winner = i;
    }
    for (int i = 0; i < run->request->n_candidates; i++) {
        const mo_profile_outcome *o = &result->outcomes[i];
        if (!is_baseline(run->request, i) || o->status != MO_PROFILE_TIMED) continue;
        if (result->baseline_us <= 0 || o->times.median < result->baseline_us) {
            result->baseline_us = o->times.median;
        }
    }
}

mo_status mo_profile_run(const mo_profile_request *request, mo_profile_result *result, mo_error *error)
{
    mo_profiling run;
    begin(&run, request, result);
    mo_status status = open_gpu(&run, error);
    if (status == MO_OK) {
        result->complete = true;
        mo_profiling_compile(&run);
        prepare_numbers(&run);
        prepare_flush(&run);
        int done = 0;
        for (int i = 0; i < request->n_candidates; i++) {
            if (is_baseline(request, i)) treat(&run, i, done++);
        }
        for (int i = 0; i < request->n_candidates; i++) {
            if (!is_baseline(request, i)) treat(&run, i, done++);
        }
        mo_profiling_ties(&run);
        choose_winner(&run);
        if (result->winner >= 0) mo_profiling_limit(&run);
    }
    end(&run);
    return status;
}

mo_status mo_profile_probe(mo_cuda_loader *load, int device, mo_gpu_facts *facts, mo_error *error)
{
    mo_bench *bench = mo_bench_new(load == NULL ? mo_cuda_load : load, device);
    mo_status status = mo_bench_start(bench, facts, error);
    mo_bench_free(bench);
    return status;
}
