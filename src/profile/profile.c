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
    } else if (compiled->log == NULL) {
        run->result->complete = false; /* the deadline came first */
    } else {
        outcome->status = MO_PROFILE_COMPILE_ERROR;
        outcome->why = outcome->compile_log;
    }
}

static bool is_baseline(const mo_profile_request *r, int index)
{
    return r->baseline >= 0 && index >= r->baseline && index < r->baseline + r->n_baselines;
}

/* What is to be compiled, and where each result belongs. */
typedef struct {
    mo_compile_request *requests;
    mo_compiled *results, **place;
    int n;
} compile_list;

static void list_add(compile_list *list, mo_compile_request request, mo_compiled *place)
{
    list->requests[list->n] = request;
    list->place[list->n++] = place;
}

static void list_candidates(mo_profiling *run, compile_list *list, bool baselines)
{
    const mo_profile_request *r = run->request;
    const char *name = mo_arena_printf(r->arena, "%s.cu", r->program->symbol);
    for (int i = 0; i < r->n_candidates; i++) {
        if (is_baseline(r, i) != baselines) continue;
        if (r->candidates[i].emitted != NULL) {
            const char *source = r->candidates[i].emitted->source;
            list_add(list, (mo_compile_request){.source = source, .name = name, .arch = run->arch},
                     &run->compiled[i]);
            continue;
        }
        run->result->outcomes[i].status = MO_PROFILE_NO_FIT;
        run->result->outcomes[i].why = r->candidates[i].why;
    }
}

/* The matrix rate is of interest only where there are products. */
static void list_own(mo_profiling *run, compile_list *list)
{
    const mo_profile_request *r = run->request;
    bool products = false;
    for (int i = 0; i < r->n_candidates; i++) products |= mo_profile_flops(r->candidates[i].graph) > 0;
    list_add(list, mo_floor_read_request(r->arena, run->arch, mo_profile_bytes(r->program)),
             &run->own[MO_OWN_READ]);
    list_add(list, mo_matmul_request(run->arch), &run->own[MO_OWN_MATMUL]);
    if (!products) return;
    list_add(list, mo_floor_mma_request(r->arena, run->arch), &run->own[MO_OWN_MMA]);
    if (strcmp(run->arch, "sm_90a") == 0) {
        list_add(list, mo_floor_wgmma_request(r->arena), &run->own[MO_OWN_WGMMA]);
    }
}

/* All in one go; the unfused program first, since without it there is no result. */
static void compile_all(mo_profiling *run, bool own)
{
    const mo_profile_request *r = run->request;
    size_t most = (size_t)r->n_candidates + MO_OWN_COUNT;
    compile_list list = {.requests = calloc(most, sizeof *list.requests),
                         .results = calloc(most, sizeof *list.results),
                         .place = calloc(most, sizeof *list.place)};
    if (list.requests == NULL || list.results == NULL || list.place == NULL) MO_BUG("out of memory");
    list_candidates(run, &list, true);
    if (own) list_own(run, &list);
    list_candidates(run, &list, false);
    mo_log_progress(r->log, "compiling %d candidates", r->n_candidates);
    mo_compile_all(r->compiler, r->threads, r->deadline, list.n, list.requests, list.results);
    for (int i = 0; i < list.n; i++) *list.place[i] = list.results[i];
    for (int i = 0; i < r->n_candidates; i++) {
        if (r->candidates[i].emitted != NULL) note_compiled(run, i);
    }
    free(list.requests);
    free(list.results);
    free(list.place);
}

/* ---- the run ---- */

static void begin(mo_profiling *run, const mo_profile_request *request, mo_profile_result *result)
{
    *result = (mo_profile_result){.winner = -1, .complete = true};
    result->outcomes = MO_NEW_ARRAY(request->arena, mo_profile_outcome, request->n_candidates);
    *run = (mo_profiling){.request = request,
                          .result = result,
                          .arch = mo_arch_name(request->arch),
                          .part_start = mo_clock_seconds()};
    MO_CHECK(run->arch != NULL);
    run->compiled = calloc((size_t)request->n_candidates + 1, sizeof *run->compiled);
    if (run->compiled == NULL) MO_BUG("out of memory");
}

static void end(mo_profiling *run)
{
    mo_log_progress_end(run->request->log);
    mo_bench_free(run->bench);
    for (int i = 0; i < run->request->n_candidates; i++) mo_compiled_free(&run->compiled[i]);
    for (int i = 0; i < MO_OWN_COUNT; i++) mo_compiled_free(&run->own[i]);
    free(run->compiled);
}

void mo_profile_compile_only(const mo_profile_request *request, mo_profile_result *result)
{
    mo_profiling run;
    begin(&run, request, result);
    compile_all(&run, false);
    end(&run);
}

/* The worker opens the GPU while this process compiles. */
static mo_status open_gpu(mo_profiling *run, mo_error *error)
{
    const mo_profile_request *r = run->request;
    mo_gpu_facts *facts = &run->result->facts;
    run->bench = mo_bench_new(r->load_driver == NULL ? mo_cuda_load : r->load_driver, r->device);
    mo_status status = mo_bench_launch(run->bench, error);
    if (status != MO_OK) return status;
    compile_all(run, true);
    status = mo_bench_start(run->bench, facts, error);
    if (status != MO_OK) return status;
    if (facts->arch == r->arch) return MO_OK;
    return mo_fail(error, MO_ERR_ENV, "GPU %d (%s) is of architecture sm_%d, the candidates are for %s",
                   r->device, facts->name, facts->arch, run->arch);
}

/* Input sets and references. The products of the reference use the GPU where its kernels compiled. */
static void prepare_numbers(mo_profiling *run)
{
    const mo_profile_request *r = run->request;
    const mo_compiled *matmul = &run->own[MO_OWN_MATMUL];
    int n = r->program->n_outputs;
    mo_matmul_device device;
    mo_log_progress(r->log, "computing the reference");
    mo_matmul_open(&device, run->bench, matmul, r->threads);
    run->numeric =
        mo_numeric_new(r->arena, r->program, r->seed, r->factor, matmul->ok ? &device : NULL, r->threads);
    mo_matmul_close(&device);
    run->data = (mo_dataset){.n_inputs = r->program->n_inputs,
                             .n_sets = mo_numeric_sets(run->numeric),
                             .input_bytes = mo_numeric_input_bytes(run->numeric),
                             .contents = mo_numeric_contents(run->numeric)};
    mo_bench_add_data(run->bench, &run->data);
    run->outputs = MO_NEW_ARRAY(r->arena, void *, run->data.n_sets *n);
    for (int i = 0; i < run->data.n_sets * n; i++) {
        run->outputs[i] = mo_arena_alloc(r->arena, (size_t)mo_numeric_output_bytes(run->numeric)[i % n]);
    }
}

/* Reading four times the capacity of L2 leaves nothing of what was there. */
static void prepare_flush(mo_profiling *run)
{
    int64_t bytes = 4 * run->result->facts.l2_bytes;
    run->flushes = mo_probe_flush(&run->flush, &run->own[MO_OWN_READ], bytes);
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

/* Says how long a part of the run took. */
static void tell_part(mo_profiling *run, const char *part)
{
    double now = mo_clock_seconds();
    if (run->request->log != NULL)
        mo_log_detail(run->request->log, "%s: %.2f s", part, now - run->part_start);
    run->part_start = now;
}

/* The unfused program first. */
static void treat_all(mo_profiling *run)
{
    const mo_profile_request *r = run->request;
    int done = 0;
    for (int i = 0; i < r->n_candidates; i++) {
        if (is_baseline(r, i)) treat(run, i, done++);
    }
    for (int i = 0; i < r->n_candidates; i++) {
        if (!is_baseline(r, i)) treat(run, i, done++);
    }
}

mo_status mo_profile_run(const mo_profile_request *request, mo_profile_result *result, mo_error *error)
{
    mo_profiling run;
    begin(&run, request, result);
    mo_status status = open_gpu(&run, error);
    if (status == MO_OK) {
        tell_part(&run, "compiling, opening the GPU");
        prepare_numbers(&run);
        prepare_flush(&run);
        tell_part(&run, "computing the reference");
        treat_all(&run);
        tell_part(&run, "checking and timing");
        mo_profiling_ties(&run);
        tell_part(&run, "timing the best together");
        choose_winner(&run);
        if (result->winner >= 0) mo_profiling_limit(&run);
        tell_part(&run, "measuring the limits");
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
