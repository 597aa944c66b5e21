/* bench-search: how long the search takes and how much it looks at. Prints tables in Markdown.
 *
 * usage: bench-search [--cap SECONDS] [PROGRAM.json...]
 *
 * Without programs: RMSNorm and a linear layer with at most 5 to 11 block operators in the paper's count (its Table 5),
 * with two threads, with one, and without pruning; then the joint search of the paper's Algorithm 1 with and without
 * pruning. What does not end within the cap (default 60 s) is shown as ">" with what it had seen by then.
 * With programs: search, verification of the best graph at its own shape, memory, and what was found, for each.
 * Every measurement runs in a process of its own. */
#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "lower/lower.h"
#include "parse/parse.h"
#include "search/joint.h"
#include "search/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define FULL_PRODUCTS ((int64_t)1 << 30) /* all elements of an output where that costs no more multiplications */
#define NO_BOUND (INT64_MAX / 4)

static const char rmsnorm_linear[] =
    "{\"format\":\"mirage-opt/1\",\"name\":\"rmsnorm_linear\",\"inputs\":[{\"name\":\"X\",\"shape\":[16,4096],"
    "\"dtype\":\"f16\"},{\"name\":\"W\",\"shape\":[4096,6144],\"dtype\":\"f16\"}],\"nodes\":[{\"op\":\"rms_norm\","
    "\"inputs\":[\"X\"],\"output\":\"N\",\"axes\":[-1],\"eps\":1e-5},{\"op\":\"matmul\",\"inputs\":[\"N\",\"W\"],"
    "\"output\":\"Y\"}],\"outputs\":[\"Y\"]}";

/* What one measurement is asked and tells. */
typedef struct {
    const char *name, *text; /* of a program */
    int threads, block_ops, kernels;
    bool paper, prune, joint;
    double cap;
} question;

typedef struct {
    bool ended, complete, verified; /* ended: not cut short by time or memory */
    double search, verify;          /* seconds */
    int64_t states, graphs;         /* graphs: schedules ranked, or classes of the joint search */
    int best, emittable;            /* kernels of the best graph, and of the best with a form in the generator */
    double best_us, emittable_us;   /* by the cost model */
    int64_t peak_bytes;
} answer;

static bool deadline_passed(void *context)
{
    return mo_deadline_passed(context);
}

static mo_program *read_program(mo_arena *arena, const question *q)
{
    mo_error error = {0};
    mo_program *program;
    if (mo_parse_program(arena, q->name, q->text, strlen(q->text), &program, NULL, &error) == MO_OK) return program;
    fprintf(stderr, "%s\n", error.text);
    exit(2);
}

static bool has_block(const mo_mugraph *graph)
{
    for (int k = 0; k < graph->n_kernels; k++)
        if (graph->kernels[k].schedule.kind == MO_SCHEDULE_BLOCK) return true;
    return false;
}

static void tell_best(const mo_search_result *result, const mo_mugraph **emittable, answer *a)
{
    int64_t best = INT64_MAX, best_emittable = INT64_MAX;
    for (int i = 0; i < result->n_candidates; i++) {
        const mo_mugraph *graph = result->candidates[i];
        if (graph->cost_ns < best) {
            best = graph->cost_ns;
            a->best = graph->n_kernels;
            a->best_us = (double)best / 1000.0;
        }
        if (has_block(graph) || graph->cost_ns >= best_emittable) continue;
        best_emittable = graph->cost_ns;
        *emittable = graph;
        a->emittable = graph->n_kernels;
        a->emittable_us = (double)best_emittable / 1000.0;
    }
}

static void run_decoupled(mo_arena *arena, const question *q, answer *a)
{
    mo_error error = {0};
    mo_program *program = read_program(arena, q);
    mo_deadline deadline = mo_deadline_in(q->cap, NULL);
    mo_lowered lowered;
    mo_search_result result;
    mo_search_options options = {.device = mo_device_for_arch(90),
                                 .max_states = q->prune ? 400000 : NO_BOUND,
                                 .max_kernel_ops = 5,
                                 .max_block_ops = q->block_ops,
                                 .count_paper = q->paper,
                                 .prune = q->prune,
                                 .top_k = 32,
                                 .threads = q->threads,
                                 .verify_delta = 1e-12,
                                 .stop = deadline_passed,
                                 .stop_context = &deadline};
    if (mo_lower_program(arena, program, 64, &lowered, &error) != MO_OK) exit(2);
    if (mo_search_run(arena, program, &lowered, &options, &result, &error) != MO_OK) exit(2);
    const mo_mugraph *emittable = NULL;
    tell_best(&result, &emittable, a);
    a->search = result.counts.seconds;
    a->states = result.counts.states;
    a->graphs = result.counts.mugraphs;
    a->complete = result.counts.complete;
    a->ended = result.counts.complete;
    double start = mo_clock_seconds();
    mo_verify_options verify = {.delta = 1e-12, .threads = q->threads, .max_products = FULL_PRODUCTS};
    mo_verify_report report;
    a->verified = emittable != NULL && mo_verify_mugraph(program, emittable, &verify, &report) == MO_EQUAL_TESTED;
    a->verify = mo_clock_seconds() - start;
}

static void run_joint(mo_arena *arena, const question *q, answer *a)
{
    mo_error error = {0};
    mo_lowered lowered;
    mo_program *program = read_program(arena, q);
    mo_deadline deadline = mo_deadline_in(q->cap, NULL);
    if (mo_lower_program(arena, program, 64, &lowered, &error) != MO_OK) exit(2);
    mo_joint_options options = {.max_kernels = q->kernels,
                                .max_block_ops = q->block_ops,
                                .max_ops = q->block_ops,
                                .count_paper = q->paper,
                                .no_prune = !q->prune,
                                .stop = deadline_passed,
                                .stop_context = &deadline};
    double start = mo_clock_seconds();
    mo_joint_stats stats = mo_joint_search(lowered.subprograms[0].graph, &options);
    a->search = mo_clock_seconds() - start;
    a->states = stats.states;
    a->graphs = stats.classes;
    a->ended = a->complete = stats.complete;
}

/* In a process of its own, for its peak memory. */
static answer ask(const question *q)
{
    answer a = {0};
    int ends[2];
    if (pipe(ends) != 0) exit(1);
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) exit(1);
    if (child == 0) {
        mo_arena *arena = mo_arena_new();
        if (q->joint)
            run_joint(arena, q, &a);
        else
            run_decoupled(arena, q, &a);
        _exit(write(ends[1], &a, sizeof a) == (ssize_t)sizeof a ? 0 : 1);
    }
    close(ends[1]);
    bool told = read(ends[0], &a, sizeof a) == (ssize_t)sizeof a;
    close(ends[0]);
    struct rusage usage;
    int status;
    if (wait4(child, &status, 0, &usage) != child || status != 0 || !told) {
        fprintf(stderr, "bench-search: %s: the measurement failed\n", q->name);
        exit(1);
    }
    a.peak_bytes = (int64_t)usage.ru_maxrss * 1024;
    return a;
}

/* ---- tables ---- */

static void print_measured(const answer *a)
{
    if (a->ended)
        printf(" %.2f s, %lld |", a->search + a->verify, (long long)a->states);
    else
        printf(" > %.0f s, > %lld |", a->search, (long long)a->states);
}

/* Sizes beyond the first one that did not end are not run. */
static void print_unpruned(const answer *a, bool *all_end)
{
    if (*all_end)
        print_measured(a);
    else
        printf(" not run |");
    *all_end = *all_end && a->ended;
}

static void table_5(double cap)
{
    printf("RMSNorm and linear [16,4096] x [4096,6144]: seconds (search and verification at full shape), states\n\n");
    printf("| block ops | 2 threads | 1 thread | no pruning, 2 threads |\n| --- | --- | --- | --- |\n");
    bool all_end = true;
    for (int ops = 5; ops <= 11; ops++) {
        question q = {.name = "rmsnorm_linear", .text = rmsnorm_linear, .threads = 2, .block_ops = ops};
        q.paper = q.prune = true;
        q.cap = cap;
        printf("| %d |", ops);
        answer a = ask(&q);
        print_measured(&a);
        q.threads = 1;
        a = ask(&q);
        print_measured(&a);
        q.threads = 2;
        q.prune = false;
        if (all_end) a = ask(&q);
        print_unpruned(&a, &all_end);
        printf("\n");
    }
}

static void joint_table(double cap)
{
    printf("\nThe joint search (Algorithm 1) on the same program: seconds, states, classes of graphs\n\n");
    printf("| operators | pruned | without pruning | states, without : with |\n| --- | --- | --- | --- |\n");
    bool all_end = true;
    for (int ops = 3; ops <= 8; ops++) {
        question q = {.name = "rmsnorm_linear", .text = rmsnorm_linear, .block_ops = ops, .kernels = 1, .joint = true};
        q.prune = true;
        q.cap = cap;
        answer pruned = ask(&q);
        q.prune = false;
        answer all = {0};
        if (all_end) all = ask(&q);
        printf("| %d |", ops);
        print_measured(&pruned);
        bool run = all_end;
        print_unpruned(&all, &all_end);
        double ratio = (double)all.states / (double)(pruned.states > 0 ? pruned.states : 1);
        if (run)
            printf(" %s%.0f |\n", all.ended ? "" : "> ", ratio);
        else
            printf(" |\n");
    }
}

static void print_program(const char *path, double cap)
{
    mo_arena *arena = mo_arena_new();
    mo_error error = {0};
    const char *text;
    size_t length;
    if (mo_file_read(arena, path, &text, &length, &error) != MO_OK) {
        fprintf(stderr, "%s\n", error.text);
        exit(2);
    }
    const char *name = strrchr(path, '/') == NULL ? path : strrchr(path, '/') + 1;
    question q = {.name = name, .text = text, .threads = 2, .prune = true, .cap = cap};
    answer a = ask(&q);
    printf("| %.*s | %.2f | %.2f | %lld | %lld | %s | %lld | %d, %.2f us | %d, %.2f us | %s |\n",
           (int)strcspn(name, "."), name, a.search, a.verify, (long long)a.states, (long long)a.graphs,
           a.complete ? "yes" : "no", (long long)(a.peak_bytes >> 20), a.best, a.best_us, a.emittable, a.emittable_us,
           a.verified ? "yes" : "NO");
    mo_arena_free(arena);
}

int main(int argc, char **argv)
{
    double cap = 60.0;
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "--cap") == 0) {
        cap = strtod(argv[2], NULL);
        first = 3;
    }
    if (first == argc) {
        table_5(cap);
        joint_table(cap);
        return 0;
    }
    printf("| program | search s | verification s | states | schedules | exhausted | peak MB | best graph: kernels, estimate "
           "| best emitted | verified |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int i = first; i < argc; i++) print_program(argv[i], cap);
    return 0;
}
