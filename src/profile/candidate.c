/* One candidate: from compiled code to a checked time. */
#include "profile/run_state.h"

#include <stdlib.h>
#include <string.h>

static const double candidate_seconds = 20, slower_factor = 1.25, tie_factor = 1.02;
enum { MOST_TIES = 4, MOST_TOGETHER = MOST_TIES + 1, TIE_ROUNDS = 3, MOST_REPEATS = 3 };

static const char *const status_names[] = {
    [MO_PROFILE_ESTIMATED] = "estimated",
    [MO_PROFILE_TIMED] = "timed",
    [MO_PROFILE_SLOWER] = "slower",
    [MO_PROFILE_COMPILE_ERROR] = "compile-error",
    [MO_PROFILE_NO_FIT] = "no-fit",
    [MO_PROFILE_NUMERIC_FAILURE] = "numeric-failure",
    [MO_PROFILE_LAUNCH_FAILURE] = "launch-failure",
    [MO_PROFILE_TIMEOUT] = "timeout",
};
_Static_assert(sizeof status_names / sizeof *status_names == MO_PROFILE_STATUS_COUNT, "a name for each");

const char *mo_profile_status_name(mo_profile_status status)
{
    return status_names[status];
}

static mo_profile_status status_of(mo_call call)
{
    switch (call) {
    case MO_CALL_NO_FIT: return MO_PROFILE_NO_FIT;
    case MO_CALL_TIMEOUT: return MO_PROFILE_TIMEOUT;
    default: return MO_PROFILE_LAUNCH_FAILURE;
    }
}

static bool failed(mo_profiling *run, mo_profile_outcome *outcome, mo_call call, const mo_error *error)
{
    if (call == MO_CALL_OK) return false;
    outcome->status = status_of(call);
    outcome->why = mo_arena_strdup(run->request->arena, error->text);
    return true;
}

/* What ptxas said about the kernel, with the driver's numbers where it has them. */
static void note_kernels(mo_profiling *run, int index, const mo_job_facts *facts)
{
    const mo_emitted *emitted = run->request->candidates[index].emitted;
    mo_profile_outcome *outcome = &run->result->outcomes[index];
    for (int k = 0; k < emitted->n_launches; k++) {
        outcome->kernels[k].registers = facts[k].registers;
        outcome->kernels[k].stack = facts[k].local_bytes;
        outcome->kernels[k].shared_static = facts[k].shared_static;
    }
}

/* What is wrong with an output that is not within what is allowed. */
static const char *numeric_fault(mo_arena *arena, const char *output, const mo_numeric_entry *e)
{
    if (e->judged == 0) return mo_arena_printf(arena, "output %s: no input set can be judged", output);
    if (e->error <= e->allowed) {
        return mo_arena_printf(arena, "output %s, %s inputs: not finite in other places than the reference",
                               output, e->inputs);
    }
    return mo_arena_printf(arena, "output %s, %s inputs: error %.3g, allowed %.3g", output, e->inputs,
                           e->error, e->allowed);
}

/* Runs on every set; false when the candidate failed. */
static bool check_numbers(mo_profiling *run, mo_job *job, mo_profile_outcome *outcome)
{
    mo_arena *arena = run->request->arena;
    const mo_program *program = run->request->program;
    int n = program->n_outputs;
    for (int s = 0; s < run->data.n_sets; s++) {
        mo_error error = {0};
        mo_call call = mo_bench_run(run->bench, job, s, &run->outputs[s * n], &error);
        if (failed(run, outcome, call, &error)) return false;
    }
    outcome->n_numeric = n;
    outcome->numeric = MO_NEW_ARRAY(arena, mo_numeric_entry, n);
    mo_numeric_judge(run->numeric, (const void *const *)run->outputs, outcome->numeric);
    for (int o = 0; o < n; o++) {
        const mo_numeric_entry *e = &outcome->numeric[o];
        if (e->ok) continue;
        outcome->status = MO_PROFILE_NUMERIC_FAILURE;
        outcome->why = numeric_fault(arena, program->tensors[program->outputs[o]].name, e);
        return false;
    }
    return true;
}

static bool time_job(mo_profiling *run, mo_job *job, double give_up_us, mo_profile_outcome *outcome,
                     mo_timing *timing)
{
    mo_error error = {0};
    mo_job *flush = run->flushes ? &run->flush.job : NULL;
    mo_call call = mo_bench_time(run->bench, job, 0, flush, give_up_us, timing, &error);
    return !failed(run, outcome, call, &error);
}

static mo_job job_of(mo_profiling *run, int index, mo_job_facts *facts)
{
    const mo_emitted *emitted = run->request->candidates[index].emitted;
    return (mo_job){.data = &run->data,
                    .cubin = run->compiled[index].cubin,
                    .cubin_bytes = run->compiled[index].cubin_bytes,
                    .n_launches = emitted->n_launches,
                    .launches = emitted->launches,
                    .n_outputs = run->request->program->n_outputs,
                    .output_bytes = mo_numeric_output_bytes(run->numeric),
                    .workspace_bytes = emitted->workspace_bytes,
                    .zeroed_bytes = emitted->zeroed_bytes,
                    .facts = facts};
}

/* Not beyond the deadline of the run, but long enough for a candidate that behaves. */
static void limit_time(mo_profiling *run)
{
    double left = mo_deadline_left(run->request->deadline) + 2;
    mo_bench_limit(run->bench, left < candidate_seconds ? left : candidate_seconds);
}

void mo_profiling_candidate(mo_profiling *run, int index)
{
    const mo_profile_request *request = run->request;
    mo_profile_outcome *outcome = &run->result->outcomes[index];
    int n = request->candidates[index].emitted->n_launches;
    mo_arena_mark mark = mo_arena_get_mark(request->arena);
    mo_job_facts *facts = MO_NEW_ARRAY(request->arena, mo_job_facts, n);
    mo_job job = job_of(run, index, facts);
    mo_error error = {0};
    mo_timing timing;
    mo_bench_add_job(run->bench, &job);
    limit_time(run);
    mo_call call = mo_bench_load(run->bench, &job, &error);
    if (call == MO_CALL_OK) note_kernels(run, index, facts);
    mo_arena_reset(request->arena, mark);
    job.facts = NULL;
    if (!failed(run, outcome, call, &error) && check_numbers(run, &job, outcome)) {
        bool free_pass = index == request->baseline || run->best_us <= 0;
        double give_up = free_pass ? 0 : slower_factor * run->best_us;
        if (time_job(run, &job, give_up, outcome, &timing)) {
            outcome->status = timing.stopped ? MO_PROFILE_SLOWER : MO_PROFILE_TIMED;
            outcome->times = timing.times;
            outcome->sets = timing.sets;
            bool best = run->best_us <= 0 || timing.times.median < run->best_us;
            if (!timing.stopped && best) run->best_us = timing.times.median;
        }
    }
    mo_bench_drop_job(run->bench, &job);
}

/* ---- timing together ---- */

/* The fastest variant of the unfused program, or -1. */
static int fastest_baseline(const mo_profiling *run)
{
    const mo_profile_request *r = run->request;
    const mo_profile_outcome *outcomes = run->result->outcomes;
    int best = -1;
    for (int i = r->baseline; i >= 0 && i < r->baseline + r->n_baselines; i++) {
        if (outcomes[i].status != MO_PROFILE_TIMED) continue;
        if (best < 0 || outcomes[i].times.median < outcomes[best].times.median) best = i;
    }
    return best;
}

/* Indices of the fastest candidates within the tie, fastest first. */
static int find_ties(const mo_profiling *run, int *ties)
{
    const mo_profile_outcome *outcomes = run->result->outcomes;
    double best = 0;
    int n = 0;
    for (int i = 0; i < run->request->n_candidates; i++) {
        double us = outcomes[i].times.median;
        if (outcomes[i].status == MO_PROFILE_TIMED && (best <= 0 || us < best)) best = us;
    }
    for (int i = 0; i < run->request->n_candidates; i++) {
        if (outcomes[i].status != MO_PROFILE_TIMED) continue;
        double us = outcomes[i].times.median;
        if (us > tie_factor * best) continue;
        int at = n < MOST_TIES ? n : MOST_TIES;
        while (at > 0 && outcomes[ties[at - 1]].times.median > us) at--;
        if (at == MOST_TIES) continue;
        if (n < MOST_TIES) n++;
        memmove(&ties[at + 1], &ties[at], (size_t)(n - 1 - at) * sizeof *ties);
        ties[at] = i;
    }
    return n;
}

static mo_times combine(const mo_times *rounds, int n)
{
    double medians[TIE_ROUNDS], p90[TIE_ROUNDS];
    mo_times all = {.min = rounds[0].min};
    for (int i = 0; i < n; i++) {
        medians[i] = rounds[i].median;
        p90[i] = rounds[i].p90;
        if (rounds[i].min < all.min) all.min = rounds[i].min;
        all.runs += rounds[i].runs;
    }
    all.median = mo_times_of(medians, n).median;
    all.p90 = mo_times_of(p90, n).median;
    return all;
}

/* Times several candidates together, round by round; false when that could not be finished. */
static bool time_together(mo_profiling *run, const int *group, int n)
{
    mo_job jobs[MOST_TOGETHER];
    mo_times rounds[MOST_TOGETHER][TIE_ROUNDS];
    for (int i = 0; i < n; i++) {
        jobs[i] = job_of(run, group[i], NULL);
        mo_bench_add_job(run->bench, &jobs[i]);
    }
    bool ok = true;
    for (int r = 0; r < TIE_ROUNDS; r++) {
        for (int i = 0; i < n && ok; i++) {
            mo_timing timing;
            mo_profile_outcome ignored; /* it has run before: a failure now only ends the repetition */
            limit_time(run);
            ok = !mo_deadline_passed(run->request->deadline) && time_job(run, &jobs[i], 0, &ignored, &timing);
            if (ok) rounds[i][r] = timing.times;
        }
    }
    for (int i = 0; i < n; i++) {
        if (ok) run->result->outcomes[group[i]].times = combine(rounds[i], TIE_ROUNDS);
        mo_bench_drop_job(run->bench, &jobs[i]);
    }
    return ok;
}

/* A candidate that was timed once, perhaps luckily, must not beat those that were timed thoroughly: it then
 * gets its turn with them. So does the unfused program, which was timed first, on a GPU that may have been
 * in another state, and is what the winner is compared with. */
void mo_profiling_ties(mo_profiling *run)
{
    int group[MOST_TOGETHER];
    bool *thorough = calloc((size_t)run->request->n_candidates + 1, sizeof *thorough);
    if (thorough == NULL) MO_BUG("out of memory");
    for (int repeats = 0; repeats < MOST_REPEATS; repeats++) {
        int n = find_ties(run, group), baseline = fastest_baseline(run);
        if (n == 0 || thorough[group[0]]) break;
        bool among = baseline < 0 || thorough[baseline];
        for (int i = 0; i < n; i++) among |= group[i] == baseline;
        if (!among) group[n++] = baseline;
        if ((n == 1 && repeats == 0) || !time_together(run, group, n)) break;
        for (int i = 0; i < n; i++) thorough[group[i]] = true;
    }
    free(thorough);
}
