/* The schedule pass on plans of real kernels: what reads shared memory stands behind a barrier, and there are
 * no more barriers than the longest chain of such reads has. */
#include "cost/device.h"
#include "lower/lower.h"
#include "optimize/stream_plan.h"
#include "parse/parse.h"
#include "search/search.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MOST_SHARED = 227 * 1024 };

#define INPUT(name, shape) "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"f16\"}"

static const char lora[] = "{\"format\":\"mirage-opt/1\",\"inputs\":[" INPUT("X", "[64,1024]") "," INPUT(
    "W", "[1024,512]") "," INPUT("A",
                                 "[1024,16]") "," INPUT("B",
                                                        "[16,512]") "],\"nodes\":["
                                                                    "{\"op\":\"matmul\",\"inputs\":[\"X\","
                                                                    "\"W\"],\"output\":\"P\"},"
                                                                    "{\"op\":\"matmul\",\"inputs\":[\"X\","
                                                                    "\"A\"],\"output\":\"Q\"},"
                                                                    "{\"op\":\"matmul\",\"inputs\":[\"Q\","
                                                                    "\"B\"],\"output\":\"R\"},"
                                                                    "{\"op\":\"add\",\"inputs\":[\"P\",\"R\"]"
                                                                    ",\"output\":\"S\"},"
                                                                    "{\"op\":\"silu\",\"inputs\":[\"S\"],"
                                                                    "\"output\":\"T\"},"
                                                                    "{\"op\":\"square\",\"inputs\":[\"T\"],"
                                                                    "\"output\":\"Y\"}],\"outputs\":[\"Y\"]}";

static const char norm[] = "{\"format\":\"mirage-opt/1\",\"inputs\":[" INPUT("X", "[64,1024]") "," INPUT(
    "W", "[1024,512]") "],\"nodes\":["
                       "{\"op\":\"rms_norm\",\"inputs\":[\"X\"],\"output\":\"N\",\"axes\":[-1],\"eps\":1e-5},"
                       "{\"op\":\"matmul\",\"inputs\":[\"N\",\"W\"],\"output\":\"Y\"}],\"outputs\":[\"Y\"]}";

static mo_search_result found(mo_arena *arena, const char *text)
{
    mo_program *program = NULL;
    mo_lowered lowered;
    mo_error error = {0};
    mo_search_result result;
    mo_search_options options = {.device = mo_device_for_arch(90),
                                 .max_states = 20000,
                                 .max_kernel_ops = 5,
                                 .prune = true,
                                 .top_k = 8,
                                 .threads = 2,
                                 .verify_delta = 1e-6};
    cr_assert_eq(mo_parse_program(arena, "test.json", text, strlen(text), &program, NULL, &error), MO_OK,
                 "%s", error.text);
    cr_assert_eq(mo_lower_program(arena, program, 64, &lowered, &error), MO_OK, "%s", error.text);
    cr_assert_eq(mo_search_run(arena, program, &lowered, &options, &result, &error), MO_OK, "%s", error.text);
    return result;
}

static bool needs(const mo_prim *g, int node, int on)
{
    if (node <= on) return node == on;
    for (int j = 0; j < g->nodes[node].n_in; j++)
        if (needs(g, g->nodes[node].in[j], on)) return true;
    return false;
}

/* The node that a step leaves in shared memory, or -1. */
static int left_by(const mo_stream_plan *plan, mo_step step)
{
    switch (step.kind) {
    case MO_STEP_STAT: return plan->stats[step.index].node;
    case MO_STEP_ACCUM: return plan->accums[step.index].value;
    case MO_STEP_BETWEEN: return plan->between[step.index].node;
    case MO_STEP_POST: return plan->posts[step.index].node;
    default: return -1;
    }
}

/* Does step b read from shared memory what step a left there? */
static bool reads(const mo_prim *g, const mo_stream_plan *plan, mo_step b, mo_step a)
{
    int left = left_by(plan, a);
    if (left < 0) return false;
    if (b.kind == MO_STEP_PRODUCT)
        return a.kind == MO_STEP_BETWEEN && plan->between[a.index].inner == b.index;
    if (a.kind == MO_STEP_BETWEEN) return false;
    if (b.kind == MO_STEP_SAVE) return needs(g, g->savers[b.index].node, left);
    return (b.kind == MO_STEP_BETWEEN || b.kind == MO_STEP_POST) && needs(g, left_by(plan, b), left);
}

static void check_steps(const mo_prim *g, const mo_stream_plan *plan, bool fewest)
{
    int chain[64] = {0}, longest = 0, barriers = 0;
    cr_assert_leq(plan->n_steps, 64);
    for (int b = 0; b < plan->n_steps; b++) {
        bool barrier = false;
        for (int a = b - 1; a >= 0; a--) {
            barrier |= plan->steps[a].barrier;
            bool fed = plan->steps[a].kind == MO_STEP_PRODUCT && plan->steps[b].kind == MO_STEP_ACCUM &&
                       !plan->accums[plan->steps[b].index].early; /* in registers */
            bool read = reads(g, plan, plan->steps[b], plan->steps[a]);
            if (read) cr_assert(barrier, "step %d reads what step %d left", b, a);
            int length = chain[a] + read;
            if ((read || fed) && length > chain[b]) chain[b] = length;
        }
        for (int later = b + 1; later < plan->n_steps; later++)
            cr_assert(!reads(g, plan, plan->steps[b], plan->steps[later]));
        if (chain[b] > longest) longest = chain[b];
        barriers += plan->steps[b].barrier;
    }
    if (fewest) cr_assert_eq(barriers, longest);
}

static int check_kernels(mo_arena *arena, const mo_search_result *result, mo_passes off)
{
    int checked = 0;
    for (int i = 0; i < result->n_candidates; i++)
        for (int k = 0; k < result->candidates[i]->n_kernels; k++) {
            const mo_kernel *kernel = &result->candidates[i]->kernels[k];
            mo_plan_context context = mo_plan_context_of(arena, result->candidates[i]);
            mo_stream_plan plan;
            context.off = off;
            if (kernel->schedule.kind != MO_SCHEDULE_STREAM) continue;
            if (mo_stream_plan_make(arena, &context, kernel, MOST_SHARED, &plan) != NULL) continue;
            check_steps(kernel->body, &plan, !(off & MO_PASS_SCHEDULE));
            checked++;
        }
    return checked;
}

Test(schedule, barriers_suffice_and_are_needed)
{
    static const char *const programs[] = {lora, norm};
    for (int p = 0; p < 2; p++) {
        mo_arena *arena = mo_arena_new();
        mo_search_result result = found(arena, programs[p]);
        for (mo_passes off = 0; off < 1u << MO_PASS_COUNT; off++)
            cr_assert_gt(check_kernels(arena, &result, off), 0);
        mo_arena_free(arena);
    }
}

Test(schedule, names_are_the_words_of_the_command_line)
{
    char words[128] = "";
    for (int bit = 0; bit < MO_PASS_COUNT; bit++) {
        if (bit > 0) strcat(words, "|");
        strcat(words, mo_pass_name(bit));
    }
    cr_assert_str_eq(words, MO_PASS_WORDS);
}
