/* The report is for programs: every key of the schema is always there; what was not measured is null. No
 * time of day, absolute path or host name. */
#include "cli/outcome.h"

#include "base/json.h"
#include "ir/mugraph_json.h"
#include "lower/lax.h"

#include <sys/resource.h>

#define SCHEMA "mirage-opt-report/1"

static void write_positive(mo_json_writer *w, const char *key, double value)
{
    if (value > 0)
        mo_json_write_double(w, key, value);
    else
        mo_json_write_null(w, key);
}

static void write_options(mo_json_writer *w, const mo_outcome *outcome)
{
    static const char *const counts[] = {"lowered", "paper"};
    const mo_options *o = outcome->options;
    mo_json_write_object(w, "options");
    mo_json_write_string(w, "arch", mo_arch_name(outcome->device->arch));
    mo_json_write_bool(w, "no_gpu", o->no_gpu);
    mo_json_write_double(w, "budget", o->budget);
    mo_json_write_int(w, "max_states", o->max_states);
    mo_json_write_int(w, "top_k", o->top_k);
    mo_json_write_int(w, "max_kernel_ops", o->max_kernel_ops);
    if (mo_option_given(o, MO_OPTION_max_block_ops))
        mo_json_write_int(w, "max_block_ops", o->max_block_ops);
    else
        mo_json_write_null(w, "max_block_ops");
    mo_json_write_string(w, "count", counts[o->count]);
    mo_json_write_bool(w, "prune", !o->no_prune);
    mo_json_write_array(w, "disabled_passes");
    for (int bit = 0; bit < MO_PASS_COUNT; bit++)
        if (o->disable_pass >> bit & 1u) mo_json_write_string(w, NULL, mo_pass_name(bit));
    mo_json_write_end(w);
    mo_json_write_double(w, "verify_delta", o->verify_delta);
    mo_json_write_double(w, "factor", o->factor);
    mo_json_write_end(w);
}

static void write_program(mo_json_writer *w, const mo_program *program)
{
    char hash[33];
    mo_hash_hex(program->hash, hash);
    mo_json_write_object(w, "program");
    mo_json_write_string(w, "name", program->name);
    mo_json_write_string(w, "symbol", program->symbol);
    mo_json_write_string(w, "hash", hash);
    mo_json_write_end(w);
}

static void write_target(mo_json_writer *w, const mo_outcome *outcome)
{
    mo_json_write_object(w, "target");
    mo_json_write_string(w, "arch", mo_arch_name(outcome->device->arch));
    mo_json_write_string(w, "device", outcome->measured ? outcome->profile.facts.name : NULL);
    mo_json_write_string(w, "driver", outcome->measured ? outcome->profile.facts.driver : NULL);
    mo_json_write_string(w, "nvrtc", outcome->nvrtc);
    mo_json_write_end(w);
}

static void write_subprograms(mo_json_writer *w, const mo_outcome *outcome)
{
    const mo_lowered *lowered = &outcome->lowered;
    mo_json_write_array(w, "subprograms");
    for (int i = 0; i < lowered->n_subprograms; i++) {
        mo_str name = {0};
        mo_str_add(&name, outcome->program->name);
        if (lowered->n_subprograms > 1) mo_str_printf(&name, ".%d", i);
        mo_json_write_compact(w, NULL, true);
        mo_json_write_string(w, "name", name.data);
        mo_json_write_bool(w, "lax", mo_is_lax(outcome->program, &lowered->subprograms[i]));
        mo_json_write_end(w);
        mo_str_free(&name);
    }
    mo_json_write_end(w);
}

/* Of this process so far; 0 where the system does not tell. */
static int64_t peak_memory(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}

static void write_search(mo_json_writer *w, const mo_outcome *outcome)
{
    const mo_search_counts *c = &outcome->search.counts;
    mo_json_write_object(w, "search");
    mo_json_write_double(w, "seconds", c->seconds);
    mo_json_write_int(w, "threads", outcome->threads);
    mo_json_write_int(w, "states", c->states);
    mo_json_write_compact(w, "pruned", true);
    mo_json_write_int(w, "expression", c->pruned_expression);
    mo_json_write_int(w, "shape", c->pruned_shape);
    mo_json_write_int(w, "memory", c->pruned_memory);
    mo_json_write_int(w, "duplicate", c->pruned_duplicate);
    mo_json_write_int(w, "unsafe", c->pruned_unsafe);
    mo_json_write_end(w);
    mo_json_write_int(w, "partitions", c->partitions);
    mo_json_write_int(w, "mugraphs", c->mugraphs);
    mo_json_write_int(w, "verified", c->verified);
    mo_json_write_int(w, "rejected", c->rejected);
    mo_json_write_bool(w, "complete", c->complete);
    mo_json_write_int(w, "peak_memory_bytes", peak_memory());
    mo_json_write_end(w);
}

static void write_verify(mo_json_writer *w, const mo_outcome *outcome)
{
    const mo_verify_report *e = &outcome->search.equivalence[outcome->profile.winner];
    mo_json_write_object(w, "verify");
    mo_json_write_string(w, "equivalence", e->proved ? "proved" : "tested");
    if (e->delta >= 0)
        mo_json_write_double(w, "delta", e->delta);
    else
        mo_json_write_null(w, "delta");
    mo_json_write_int(w, "rounds", e->rounds);
    mo_json_write_compact(w, "instance", true);
    for (int a = 0; a < e->n_axes; a++) mo_json_write_int(w, e->axes[a].name, e->axes[a].extent);
    mo_json_write_end(w);
    int64_t primes[2] = {e->primes[0], e->primes[1]};
    mo_json_write_ints(w, "primes", primes, 2);
    mo_json_write_compact(w, "full_shape", true);
    mo_json_write_int(w, "elements", e->full_checked);
    mo_json_write_int(w, "of", e->full_elements);
    mo_json_write_end(w);
    mo_json_write_end(w);
}

/* Details are those of a candidate's own line; the winner's has the median alone. */
static void write_times(mo_json_writer *w, const mo_times *times, bool details)
{
    if (times->runs == 0) {
        mo_json_write_null(w, "time_us");
        return;
    }
    mo_json_write_compact(w, "time_us", true);
    mo_json_write_double(w, "median", times->median);
    if (details) {
        mo_json_write_double(w, "min", times->min);
        mo_json_write_double(w, "p90", times->p90);
        mo_json_write_int(w, "runs", times->runs);
        mo_json_write_string(w, "l2", "cold");
    }
    mo_json_write_end(w);
}

static void write_candidates(mo_json_writer *w, const mo_outcome *outcome)
{
    mo_json_write_array(w, "candidates");
    for (int i = 0; i < outcome->search.n_candidates; i++) {
        const mo_profile_outcome *c = &outcome->profile.outcomes[i];
        const mo_mugraph *graph = outcome->search.candidates[i];
        bool emitted = outcome->emitted[i].source != NULL;
        mo_json_write_object(w, NULL);
        mo_json_write_int(w, "id", i);
        mo_json_write_string(w, "status", mo_profile_status_name(c->status));
        if (c->why != NULL) mo_json_write_string(w, "reason", c->why);
        if (i >= outcome->search.baseline) mo_json_write_bool(w, "baseline", true);
        mo_json_write_int(w, "kernels", emitted ? outcome->emitted[i].n_launches : graph->n_kernels);
        mo_json_write_double(w, "cost_us", (double)graph->cost_ns / 1000.0);
        write_times(w, &c->times, true);
        mo_json_write_end(w);
    }
    mo_json_write_end(w);
}

static void write_dims(mo_json_writer *w, const char *key, const unsigned dims[3])
{
    int64_t values[3] = {dims[0], dims[1], dims[2]};
    mo_json_write_ints(w, key, values, 3);
}

/* `usage` is NULL where the winner was not compiled. */
static void write_kernel(mo_json_writer *w, const mo_launch *launch, const mo_kernel *kernel,
                         const mo_kernel_usage *usage)
{
    mo_json_write_compact(w, NULL, true);
    mo_json_write_string(w, "name", launch->kernel);
    write_dims(w, "grid", launch->grid);
    write_dims(w, "cluster", launch->cluster);
    write_dims(w, "block", launch->block);
    if (kernel != NULL)
        mo_json_write_int(w, "loop", mo_kernel_iterations(kernel));
    else
        mo_json_write_null(w, "loop");
    if (usage != NULL) {
        mo_json_write_int(w, "smem_bytes", (int64_t)launch->shared_bytes + usage->shared_static);
        mo_json_write_int(w, "registers", usage->registers);
        mo_json_write_int(w, "spills", (int64_t)usage->spill_stores + usage->spill_loads);
    } else {
        mo_json_write_int(w, "smem_bytes", launch->shared_bytes);
        mo_json_write_null(w, "registers");
        mo_json_write_null(w, "spills");
    }
    mo_json_write_end(w);
}

static void write_kernels(mo_json_writer *w, const mo_outcome *outcome)
{
    int id = outcome->profile.winner;
    const mo_emitted *emitted = &outcome->emitted[id];
    const mo_mugraph *graph = outcome->search.candidates[id];
    const mo_profile_outcome *winner = &outcome->profile.outcomes[id];
    mo_json_write_array(w, "kernels");
    for (int i = 0; i < emitted->n_launches; i++)
        write_kernel(w, &emitted->launches[i],
                     emitted->n_launches == graph->n_kernels ? &graph->kernels[i] : NULL,
                     i < winner->n_kernels ? &winner->kernels[i] : NULL);
    mo_json_write_end(w);
}

static void write_limit(mo_json_writer *w, const mo_outcome *outcome)
{
    const mo_profile_limit *limit = &outcome->profile.limit;
    mo_json_write_object(w, "limit");
    mo_json_write_int(w, "bytes", limit->bytes);
    mo_json_write_int(w, "flops", limit->flops);
    write_positive(w, "floor_us", limit->floor_us);
    mo_json_write_string(w, "floor_source", limit->measured ? "measured" : "table");
    write_positive(w, "fraction", outcome->measured ? limit->fraction : 0);
    mo_json_write_string(w, "bound", limit->bound == MO_BOUND_MATRIX ? "matrix" : "memory");
    mo_json_write_end(w);
}

static void write_numeric(mo_json_writer *w, const mo_outcome *outcome)
{
    const mo_program *program = outcome->program;
    const mo_profile_outcome *winner = &outcome->profile.outcomes[outcome->profile.winner];
    mo_json_write_array(w, "numeric");
    for (int i = 0; i < winner->n_numeric; i++) {
        const mo_numeric_entry *n = &winner->numeric[i];
        mo_json_write_compact(w, NULL, true);
        mo_json_write_string(w, "output", program->tensors[program->outputs[n->output]].name);
        mo_json_write_string(w, "inputs", n->inputs); /* the input set that all of these are from */
        mo_json_write_double(w, "error", n->error);
        mo_json_write_double(w, "yardstick", n->yardstick);
        mo_json_write_double(w, "allowed", n->allowed);
        mo_json_write_int(w, "special", n->special);
        mo_json_write_double(w, "max_abs", n->max_abs);
        mo_json_write_bool(w, "ok", n->ok);
        mo_json_write_end(w);
    }
    mo_json_write_end(w);
}

static void write_winner(mo_json_writer *w, const mo_outcome *outcome)
{
    int id = outcome->profile.winner;
    double speedup = mo_outcome_speedup(outcome);
    mo_json_write_object(w, "winner");
    mo_json_write_int(w, "id", id);
    mo_mugraph_write_json(w, "mugraph", outcome->search.candidates[id]);
    write_kernels(w, outcome);
    write_times(w, &outcome->profile.outcomes[id].times, false);
    write_positive(w, "baseline_us", outcome->profile.baseline_us);
    write_positive(w, "speedup", outcome->measured ? speedup : 0);
    write_positive(w, "estimated_speedup", outcome->measured ? 0 : speedup);
    write_limit(w, outcome);
    write_numeric(w, outcome);
    mo_json_write_end(w);
}

/* The best graph found by the estimate, also where the generator has no form for it. */
static void write_best(mo_json_writer *w, const mo_outcome *outcome)
{
    mo_mugraph **graphs = outcome->search.candidates;
    int best = 0;
    for (int i = 1; i < outcome->search.n_candidates; i++)
        if (graphs[i]->cost_ns < graphs[best]->cost_ns) best = i;
    mo_json_write_object(w, "best");
    mo_json_write_int(w, "id", best);
    mo_json_write_double(w, "cost_us", (double)graphs[best]->cost_ns / 1000.0);
    mo_json_write_bool(w, "emitted", outcome->emitted[best].source != NULL);
    if (best != outcome->profile.winner)
        mo_mugraph_write_json(w, "mugraph", graphs[best]);
    else
        mo_json_write_null(w, "mugraph");
    mo_json_write_end(w);
}

void mo_report_write(mo_str *out, const mo_outcome *outcome)
{
    mo_json_writer w = mo_json_writer_make(out);
    mo_json_write_object(&w, NULL);
    mo_json_write_string(&w, "schema", SCHEMA);
    mo_json_write_string(&w, "version", MO_VERSION);
    mo_json_write_int(&w, "seed", outcome->options->seed);
    write_options(&w, outcome);
    write_program(&w, outcome->program);
    write_target(&w, outcome);
    write_subprograms(&w, outcome);
    write_search(&w, outcome);
    write_verify(&w, outcome);
    write_candidates(&w, outcome);
    write_best(&w, outcome);
    write_winner(&w, outcome);
    mo_json_write_end(&w);
}
