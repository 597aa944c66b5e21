#include "cli/outcome.h"

#include <stdio.h>

double mo_outcome_us(const mo_outcome *outcome, int candidate)
{
    const mo_times *times = &outcome->profile.outcomes[candidate].times;
    if (outcome->measured) return times->median;
    return (double)outcome->search.candidates[candidate]->cost_ns / 1000.0;
}

double mo_outcome_speedup(const mo_outcome *outcome)
{
    int winner = outcome->profile.winner, baseline = outcome->search.baseline;
    if (winner < 0 || baseline < 0) return 0;
    double us = mo_outcome_us(outcome, winner);
    double unfused = outcome->measured ? outcome->profile.baseline_us : mo_outcome_us(outcome, baseline);
    return us > 0 ? unfused / us : 0;
}

static const char *us_text(double us, char text[32])
{
    snprintf(text, 32, us < 10 ? "%.2f" : us < 1000 ? "%.1f" : "%.0f", us);
    return text;
}

static const char *bound_name(const mo_outcome *outcome)
{
    return outcome->profile.limit.bound == MO_BOUND_MATRIX ? "matrix" : "memory";
}

void mo_outcome_verdict(mo_str *out, const mo_outcome *outcome, const char *shown)
{
    char time[32];
    us_text(mo_outcome_us(outcome, outcome->profile.winner), time);
    double speedup = mo_outcome_speedup(outcome);
    if (outcome->measured)
        mo_str_printf(out, "ok: %s %s us, %.2fx over unfused, %.0f%% of the %s limit, verified", shown, time,
                      speedup, 100 * outcome->profile.limit.fraction, bound_name(outcome));
    else
        mo_str_printf(out,
                      "ok: %s estimated %s us, %.2fx over unfused, equivalence verified, numerics not run",
                      shown, time, speedup);
}

static void add_kernels(mo_str *text, const mo_outcome *outcome, const mo_profile_outcome *winner)
{
    const mo_emitted *emitted = &outcome->emitted[outcome->profile.winner];
    for (int k = 0; k < winner->n_kernels; k++) {
        const mo_kernel_usage *usage = &winner->kernels[k];
        mo_str_printf(text, "%s: %d registers, %d bytes of shared memory", usage->name, usage->registers,
                      usage->shared_static + (int)emitted->launches[k].shared_bytes);
        if (usage->spill_stores > 0) mo_str_printf(text, ", %d bytes spilled", usage->spill_stores);
        mo_str_add(text, "\n");
    }
}

const char *mo_outcome_measurements(mo_arena *arena, const mo_outcome *outcome)
{
    if (!outcome->measured) return NULL;
    const mo_profile_result *profile = &outcome->profile;
    const mo_profile_outcome *winner = &profile->outcomes[profile->winner];
    mo_str text = {0};
    mo_str_printf(&text, "%s: %.2f us, cold L2 (unfused: %.2f us, %.2fx)\n", profile->facts.name,
                  winner->times.median, profile->baseline_us, mo_outcome_speedup(outcome));
    mo_str_printf(&text, "%s limit: %.2f us (%.0f%%)\n", bound_name(outcome), profile->limit.floor_us,
                  100 * profile->limit.fraction);
    for (int i = 0; i < winner->n_numeric; i++) {
        const mo_numeric_entry *entry = &winner->numeric[i];
        mo_str_printf(&text, "numeric error of %s: %.3g, allowed %.3g\n",
                      outcome->program->tensors[outcome->program->outputs[entry->output]].name, entry->error,
                      entry->allowed);
    }
    add_kernels(&text, outcome, winner);
    const char *copy = mo_arena_strdup(arena, text.data);
    mo_str_free(&text);
    return copy;
}

const char *mo_outcome_deciding_options(mo_arena *arena, const mo_outcome *outcome)
{
    static const char *const counts[] = {"lowered", "paper"};
    const mo_options *o = outcome->options;
    char block_ops[32] = "auto";
    if (mo_option_given(o, MO_OPTION_max_block_ops))
        snprintf(block_ops, sizeof block_ops, "%lld", (long long)o->max_block_ops);
    mo_str off = {0};
    for (int bit = 0; bit < MO_PASS_COUNT; bit++)
        if (o->disable_pass >> bit & 1u) mo_str_printf(&off, " disable-pass=%s", mo_pass_name(bit));
    const char *passes = mo_arena_strdup(arena, mo_str_text(&off));
    mo_str_free(&off);
    return mo_arena_printf(arena,
                           "arch=%s seed=%lld max-states=%lld top-k=%lld max-kernel-ops=%lld "
                           "max-block-ops=%s count=%s verify-delta=%g%s%s",
                           mo_arch_name(outcome->device->arch), (long long)o->seed, (long long)o->max_states,
                           (long long)o->top_k, (long long)o->max_kernel_ops, block_ops, counts[o->count],
                           o->verify_delta, o->no_prune ? " no-prune" : "", passes);
}
