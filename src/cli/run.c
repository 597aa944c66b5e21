#include "cli/run.h"

#include "base/file.h"
#include "base/json.h"
#include "base/pool.h"
#include "cli/outcome.h"
#include "cli/prove.h"
#include "cli/signals.h"
#include "codegen/limits.h"
#include "ir/mugraph_json.h"
#include "lower/lower.h"
#include "optimize/describe.h"
#include "search/unfused.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_ARCH 90
#define MOST_SUBPROGRAM_NODES 64 /* primitive operators that are searched together */
#define SEARCH_SHARE 0.5         /* of the budget where candidates are measured afterwards */
#define SEARCH_SHARE_ALONE 0.9

typedef struct {
    mo_arena *arena;
    mo_log *log;
    mo_outcome *outcome;
    mo_deadline deadline;
    mo_nvrtc *nvrtc;              /* NULL: none found */
    const mo_mugraph *as_written; /* for the self-check of the emitted file */
} run;

/* ---- target ---- */

/* Architecture that --arch names, or -1 without it. */
static mo_status named_arch(const mo_options *options, int *arch, mo_error *error)
{
    *arch = -1;
    if (options->arch == NULL) return MO_OK;
    *arch = mo_arch_parse(options->arch);
    if (*arch >= 0 && mo_device_for_arch(*arch) != NULL) return MO_OK;
    return mo_fail(error, MO_ERR_USER, "--arch: unknown architecture '%s' (for example sm_80, sm_90a)",
                   options->arch);
}

/* Without a GPU the run goes on with estimates, unless one was asked for. */
static mo_status no_gpu(run *r, mo_error *error, const mo_error *why)
{
    const mo_options *o = r->outcome->options;
    if (mo_option_given(o, MO_OPTION_device)) return mo_fail(error, MO_ERR_ENV, "--device: %s", why->text);
    if (mo_option_given(o, MO_OPTION_require_speedup))
        return mo_fail(error, MO_ERR_USER, "--require-speedup needs a GPU: %s", why->text);
    mo_log_detail(r->log, "no measurements: %s", why->text);
    return MO_OK;
}

/* Decides whether candidates are measured, and for which architecture they are made. */
static mo_status choose_target(run *r, mo_error *error)
{
    const mo_options *o = r->outcome->options;
    int arch;
    mo_error why = {0};
    mo_gpu_facts facts;
    mo_status status = named_arch(o, &arch, error);
    if (status != MO_OK) return status;
    r->nvrtc = mo_nvrtc_open(&why);
    if (r->nvrtc != NULL) r->outcome->nvrtc = mo_arena_strdup(r->arena, mo_nvrtc_version(r->nvrtc));
    bool found =
        !o->no_gpu && r->nvrtc != NULL && mo_profile_probe(NULL, (int)o->device, &facts, &why) == MO_OK;
    if (!found && !o->no_gpu) status = no_gpu(r, error, &why);
    if (status != MO_OK) return status;
    if (found && arch < 0) arch = facts.arch;
    if (arch < 0) arch = DEFAULT_ARCH;
    bool own = found && arch == facts.arch;
    r->outcome->device = own ? mo_device_by_name(facts.name, arch) : mo_device_for_arch(arch);
    if (r->outcome->device == NULL)
        return mo_fail(error, MO_ERR_ENV, "%s is %s, which is not supported", facts.name, mo_arch_name(arch));
    r->outcome->measured = own;
    if (found && !r->outcome->measured)
        mo_log_note(r->log, "%s is not %s: the candidates are ranked by the cost model", facts.name,
                    mo_arch_name(arch));
    if (found && !r->outcome->measured && mo_option_given(o, MO_OPTION_require_speedup))
        return mo_fail(error, MO_ERR_USER, "--require-speedup needs a GPU of the target architecture");
    mo_log_detail(r->log, "target %s, %s", mo_arch_name(arch),
                  r->outcome->measured ? facts.name : "estimated");
    return MO_OK;
}

/* ---- search ---- */

static bool search_must_stop(void *context)
{
    return mo_deadline_passed(context);
}

static mo_status search(run *r, mo_error *error)
{
    mo_outcome *outcome = r->outcome;
    const mo_options *o = outcome->options;
    double share = outcome->measured ? SEARCH_SHARE : SEARCH_SHARE_ALONE;
    mo_deadline bound = mo_deadline_in(o->budget * share, mo_signals_flag());
    outcome->threads = o->threads > 0 ? (int)o->threads : mo_core_count();
    mo_search_options options = {
        .device = outcome->device,
        .seed = (uint64_t)o->seed,
        .max_states = o->max_states,
        .max_kernel_ops = (int)o->max_kernel_ops,
        .max_block_ops = (int)o->max_block_ops,
        .count_paper = o->count == MO_COUNT_PAPER,
        .prune = !o->no_prune,
        .off = o->disable_pass,
        .top_k = (int)o->top_k,
        .threads = outcome->threads,
        .verify_delta = o->verify_delta,
        .stop = search_must_stop,
        .stop_context = &bound,
    };
    mo_log_progress(r->log, "searching %s", outcome->program->name);
    mo_status status =
        mo_lower_program(r->arena, outcome->program, MOST_SUBPROGRAM_NODES, &outcome->lowered, error);
    if (status == MO_OK)
        status =
            mo_search_run(r->arena, outcome->program, &outcome->lowered, &options, &outcome->search, error);
    mo_log_progress_end(r->log);
    if (status != MO_OK) return status;
    const mo_search_counts *c = &outcome->search.counts;
    mo_log_detail(
        r->log, "search: %lld states, %lld muGraphs, %lld verified, %lld rejected, %d kept, %s, %.2f s",
        (long long)c->states, (long long)c->mugraphs, (long long)c->verified, (long long)c->rejected,
        outcome->search.n_candidates, c->complete ? "complete" : "cut short", c->seconds);
    if (outcome->search.n_candidates > 0) return MO_OK;
    return mo_fail(error, MO_ERR_BUDGET, "the budget ended before even the unfused program could be emitted");
}

/* ---- emission ---- */

/* False with *reason where the generator cannot express the graph. */
static bool emit(run *r, int index, const char *measurements, const char **reason)
{
    mo_outcome *outcome = r->outcome;
    mo_emit_header header = {.options = mo_outcome_deciding_options(r->arena, outcome),
                             .measurements = measurements,
                             .version = MO_VERSION,
                             .self_test = r->as_written};
    mo_emitted emitted = {0};
    bool fits = mo_emit(r->arena, outcome->search.candidates[index], outcome->device->arch, &header, &emitted,
                        reason);
    outcome->emitted[index] = fits ? emitted : (mo_emitted){0};
    return fits;
}

static mo_status save_candidate(run *r, int index, mo_error *error)
{
    const char *folder = r->outcome->options->save_temps;
    const char *source = r->outcome->emitted[index].source;
    if (folder == NULL || source == NULL) return MO_OK;
    const char *path = mo_arena_printf(r->arena, "%s/candidate%03d.cu", folder, index);
    return mo_file_write(path, source, strlen(source), error);
}

static mo_status emit_all(run *r, mo_profile_candidate *candidates, mo_error *error)
{
    mo_outcome *outcome = r->outcome;
    outcome->emitted = MO_NEW_ARRAY(r->arena, mo_emitted, outcome->search.n_candidates);
    r->as_written = mo_unfused_plain(r->arena, outcome->program, &outcome->lowered);
    for (int i = 0; i < outcome->search.n_candidates; i++) {
        mo_profile_candidate *c = &candidates[i];
        c->graph = outcome->search.candidates[i];
        if (emit(r, i, NULL, &c->why)) c->emitted = &outcome->emitted[i];
        mo_status status = save_candidate(r, i, error);
        if (status != MO_OK) return status;
    }
    return MO_OK;
}

/* ---- ranking ---- */

/* The cheapest by the cost model; ties go to the first, which the search ranked higher. */
static void choose_estimated(run *r, const mo_profile_candidate *candidates)
{
    mo_outcome *outcome = r->outcome;
    mo_profile_result *profile = &outcome->profile;
    profile->winner = -1;
    for (int i = 0; i < outcome->search.n_candidates; i++) {
        profile->outcomes[i].status =
            candidates[i].emitted != NULL ? MO_PROFILE_ESTIMATED : MO_PROFILE_NO_FIT;
        profile->outcomes[i].why = candidates[i].why;
        if (candidates[i].emitted == NULL) continue;
        int w = profile->winner;
        if (w < 0 || candidates[i].graph->cost_ns < candidates[w].graph->cost_ns) profile->winner = i;
    }
}

static bool nvrtc_knows(const mo_nvrtc *nvrtc, int arch)
{
    int archs[64];
    int count = mo_nvrtc_archs(nvrtc, archs, 64);
    for (int i = 0; i < count; i++)
        if (archs[i] == arch) return true;
    return false;
}

/* Registers and spills for the report, where NVRTC is at hand. It decides nothing: text of this tool that
 * does not compile is a defect. */
static mo_status compile_winner(run *r, const mo_profile_request *all, mo_error *error)
{
    mo_profile_result *profile = &r->outcome->profile, compiled;
    if (r->nvrtc == NULL || !nvrtc_knows(r->nvrtc, all->arch)) return MO_OK;
    mo_profile_request request = *all;
    request.candidates = &all->candidates[profile->winner];
    request.n_candidates = 1;
    request.baseline = -1;
    mo_profile_compile_only(&request, &compiled);
    if (compiled.outcomes[0].status == MO_PROFILE_COMPILE_ERROR)
        return mo_fail(error, MO_ERR_INTERNAL, "the emitted text does not compile:\n%s",
                       compiled.outcomes[0].compile_log);
    profile->outcomes[profile->winner] = compiled.outcomes[0];
    return MO_OK;
}

static mo_status estimate(run *r, const mo_profile_request *request, mo_error *error)
{
    mo_outcome *outcome = r->outcome;
    outcome->profile.outcomes = MO_NEW_ARRAY(r->arena, mo_profile_outcome, request->n_candidates);
    choose_estimated(r, request->candidates);
    int winner = outcome->profile.winner;
    if (winner < 0) return MO_OK;
    outcome->profile.limit = mo_profile_limit_estimate(outcome->program, outcome->search.candidates[winner],
                                                       request->arch, mo_outcome_us(outcome, winner));
    return compile_winner(r, request, error);
}

/* Why nothing is left: the fault of the unfused program, which every run has. */
static mo_status no_winner(run *r, mo_error *error)
{
    const mo_outcome *outcome = r->outcome;
    if (outcome->search.baseline < 0) MO_BUG("the search lost the unfused program");
    const mo_profile_outcome *unfused = &outcome->profile.outcomes[outcome->search.n_candidates - 1];
    const char *why = unfused->why == NULL ? "no reason was given" : unfused->why;
    mo_status status = mo_signals_status();
    if (unfused->status == MO_PROFILE_NUMERIC_FAILURE)
        return mo_fail(error, MO_ERR_NUMERIC, "even the unfused program fails the numeric check: %s", why);
    if (unfused->status == MO_PROFILE_ESTIMATED)
        return mo_fail(error, status == MO_OK ? MO_ERR_BUDGET : status,
                       "the run ended before even the unfused program could be measured");
    return mo_fail(error, MO_ERR_INTERNAL, "the unfused program: %s: %s",
                   mo_profile_status_name(unfused->status), why);
}

static void tell_candidate(run *r, int index)
{
    const mo_outcome *outcome = r->outcome;
    const mo_profile_outcome *c = &outcome->profile.outcomes[index];
    char measured[32] = "";
    if (c->times.runs > 0) snprintf(measured, sizeof measured, ", measured %.2f us", c->times.median);
    mo_log_detail(r->log, "candidate %d%s: %d kernels, %s, estimated %.2f us%s%s%s", index,
                  index >= outcome->search.baseline ? " (unfused)" : "",
                  outcome->search.candidates[index]->n_kernels, mo_profile_status_name(c->status),
                  (double)outcome->search.candidates[index]->cost_ns / 1000.0, measured, c->why ? ": " : "",
                  c->why ? c->why : "");
}

static mo_status rank(run *r, const mo_profile_candidate *candidates, mo_error *error)
{
    mo_outcome *outcome = r->outcome;
    mo_compiler compiler = mo_compiler_nvrtc(r->nvrtc);
    mo_profile_request request = {
        .arena = r->arena,
        .program = outcome->program,
        .n_candidates = outcome->search.n_candidates,
        .candidates = candidates,
        .baseline = outcome->search.baseline,
        .n_baselines = outcome->search.n_baselines,
        .seed = (uint64_t)outcome->options->seed,
        .factor = outcome->options->factor,
        .deadline = &r->deadline,
        .device = (int)outcome->options->device,
        .arch = outcome->device->arch,
        .threads = outcome->threads,
        .compiler = &compiler,
        .log = r->log,
    };
    mo_status status =
        outcome->measured ? mo_profile_run(&request, &outcome->profile, error) : estimate(r, &request, error);
    if (status != MO_OK) return status;
    for (int i = 0; i < request.n_candidates; i++) tell_candidate(r, i);
    return outcome->profile.winner >= 0 ? MO_OK : no_winner(r, error);
}

/* ---- the winner at its own shape ---- */

#define CONFIRM_PRODUCTS ((int64_t)1 << 30) /* all elements where that costs no more multiplications */

/* The next best after a winner that was struck out. */
static int next_winner(const mo_outcome *outcome)
{
    int best = -1;
    for (int i = 0; i < outcome->search.n_candidates; i++) {
        const mo_profile_outcome *c = &outcome->profile.outcomes[i],
                                 *b = best < 0 ? NULL : &outcome->profile.outcomes[best];
        if (outcome->measured) {
            if (c->status != MO_PROFILE_TIMED) continue;
            if (b == NULL || c->times.median < b->times.median) best = i;
        } else if (c->status == MO_PROFILE_ESTIMATED) {
            mo_mugraph **graphs = outcome->search.candidates;
            if (b == NULL || graphs[i]->cost_ns < graphs[best]->cost_ns) best = i;
        }
    }
    return best;
}

/* Evaluates the winner as it is emitted (merged axes, real strides) against the program, all elements where
 * that is affordable. One that differs is struck out and the next best is tried. */
static mo_status confirm_winner(run *r, mo_error *error)
{
    mo_outcome *outcome = r->outcome;
    mo_verify_options options = {.delta = outcome->options->verify_delta,
                                 .seed = (uint64_t)outcome->options->seed,
                                 .threads = outcome->threads,
                                 .max_products = CONFIRM_PRODUCTS};
    while (outcome->profile.winner >= 0) {
        int w = outcome->profile.winner;
        mo_verify_report report;
        mo_equiv verdict =
            mo_verify_mugraph(outcome->program, outcome->search.candidates[w], &options, &report);
        if (verdict == MO_EQUAL_TESTED) outcome->search.equivalence[w] = report;
        if (verdict != MO_DIFFERENT) {
            outcome->search.equivalence[w].proved =
                mo_prove_and_tell(outcome->program, outcome->search.candidates[w], NULL, r->log);
            return MO_OK;
        }
        outcome->profile.outcomes[w].status = MO_PROFILE_NUMERIC_FAILURE;
        outcome->profile.outcomes[w].why = "differs from the program at its own shape";
        outcome->profile.winner = next_winner(outcome);
    }
    return no_winner(r, error);
}

/* ---- products ---- */

static const char *keep(run *r, mo_str *text)
{
    const char *copy = mo_arena_strdup(r->arena, mo_str_text(text));
    mo_str_clear(text);
    return copy;
}

/* What the passes of the optimiser decided for the winner: a line for each pass and kernel. */
static void tell_passes(run *r)
{
    const mo_mugraph *graph = r->outcome->search.candidates[r->outcome->profile.winner];
    int limit = mo_shared_limit(r->outcome->device->arch);
    for (int bit = 0; bit < MO_PASS_COUNT; bit++)
        for (int k = 0; k < graph->n_kernels; k++) {
            mo_str line = {0};
            mo_optimize_describe(r->arena, graph, &graph->kernels[k], limit, bit, &line);
            if (line.length > 0)
                mo_log_detail(r->log, "%s%s: %s: %s", mo_pass_name(bit),
                              graph->off >> bit & 1u ? " (off)" : "", graph->kernels[k].name, line.data);
            mo_str_free(&line);
        }
}

static void make_products(run *r, const char *shown, mo_products *products)
{
    mo_outcome *outcome = r->outcome;
    const mo_options *options = outcome->options;
    int winner = outcome->profile.winner;
    tell_passes(r);
    const char *measurements = mo_outcome_measurements(r->arena, outcome), *reason;
    if (measurements != NULL) MO_CHECK(emit(r, winner, measurements, &reason));
    mo_str text = {0};
    if (options->emit & MO_EMIT_CU) products->cu = outcome->emitted[winner].source;
    if (options->emit & MO_EMIT_MUGRAPH) {
        mo_json_writer writer = mo_json_writer_make(&text);
        mo_mugraph_write_json(&writer, NULL, outcome->search.candidates[winner]);
        products->mugraph = keep(r, &text);
    }
    if (options->report != NULL) {
        mo_report_write(&text, outcome);
        products->report = keep(r, &text);
    }
    mo_outcome_verdict(&text, outcome, shown);
    products->verdict = keep(r, &text);
    mo_str_free(&text);
    products->status = mo_signals_status();
    bool fast_enough = mo_outcome_speedup(outcome) >= options->require_speedup;
    if (products->status == MO_OK && mo_option_given(options, MO_OPTION_require_speedup) && !fast_enough)
        products->status = MO_ERR_SPEEDUP;
}

mo_status mo_run(mo_arena *arena, const mo_options *options, const mo_program *program, const char *shown,
                 mo_log *log, mo_products *products, mo_error *error)
{
    mo_outcome outcome = {.options = options, .program = program};
    run r = {.arena = arena,
             .log = log,
             .outcome = &outcome,
             .deadline = mo_deadline_in(options->budget, mo_signals_flag())};
    *products = (mo_products){0};
    mo_status status = choose_target(&r, error);
    if (status == MO_OK) status = search(&r, error);
    if (status == MO_OK) {
        mo_profile_candidate *candidates =
            MO_NEW_ARRAY(arena, mo_profile_candidate, outcome.search.n_candidates);
        status = emit_all(&r, candidates, error);
        if (status == MO_OK) status = rank(&r, candidates, error);
        if (status == MO_OK) status = confirm_winner(&r, error);
        if (status == MO_OK) make_products(&r, shown, products);
    }
    mo_nvrtc_close(r.nvrtc);
    return status;
}
