/* Fuzzer of the whole pipeline: random programs are parsed, lowered, searched, emitted, compiled for the
 * host, run in the emulator and judged by the numeric rule.
 *
 * usage: fuzz_pipeline [COUNT [SEED [NODES [TEXTS]]]]
 * COUNT programs from number SEED on, with about NODES nodes (0: 1 to 12) and at most TEXTS texts run for
 * each. The environment: MO_EMU_INCLUDE, the folder of emu_cuda.h (default tests/emu); MO_KEEP, a folder for
 * programs and texts that fail; MO_CLI, a mirage-opt to run on every program too (it must end with 0). */
#include "base/clock.h"
#include "base/rng.h"
#include "emu/candidates.h"
#include "emu/emitted.h"
#include "lower/lower.h"
#include "parse/parse.h"
#include "random_program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { SUBPROGRAM_NODES = 64, TOP_K = 12, MAX_STATES = 20000, SCHEDULES = 2 };

#define SECONDS_PER_SEARCH 20.0

typedef struct {
    const char *include_dir, *keep, *cli;
    int nodes, texts;
    int programs, tried, no_fit, failures;
} fuzz;

/* One program at work. */
typedef struct {
    fuzz *f;
    uint64_t seed;
    mo_arena *arena;
    mo_str text;
    mo_program *program;
    mo_rng rng;
    int texts; /* tried so far */
} trial;

static void keep_file(const trial *t, const char *ending, const char *text)
{
    char path[512];
    if (t->f->keep == NULL) return;
    snprintf(path, sizeof path, "%s/fuzz%llu%s", t->f->keep, (unsigned long long)t->seed, ending);
    FILE *file = fopen(path, "w");
    if (file == NULL) return;
    fputs(text, file);
    fclose(file);
}

static void fail(trial *t, const char *what, const char *why)
{
    printf("FAIL program %llu, %s: %s\n", (unsigned long long)t->seed, what, why);
    fflush(stdout);
    keep_file(t, ".json", mo_str_text(&t->text));
    t->f->failures++;
}

/* Whether a text was run. */
static bool try_candidate(trial *t, const mo_subject *subject, const mo_candidate *c, bool must_fit)
{
    static char why[16384];
    const char *wrong = mo_mugraph_check(t->arena, c->graph), *reason = NULL;
    if (wrong != NULL) {
        fail(t, c->label, wrong);
        return false;
    }
    mo_emitted emitted;
    if (!mo_emit(t->arena, c->graph, c->arch, NULL, &emitted, &reason)) {
        t->f->no_fit++;
        if (must_fit) fail(t, c->label, reason);
        return false;
    }
    /* One other input set for each text, and the special one, where the graph computes as the program does.
     */
    unsigned one = 1u << (1 + mo_rng_below(&t->rng, MO_INPUTS_KINDS - 1)), special = 1u << MO_SET_SPECIAL;
    mo_run_plan plan = {.schedules = SCHEDULES, .sets = c->searched ? 0 : c->sets & (one | special)};
    t->f->tried++;
    t->texts++;
    if (mo_emitted_run(subject, &emitted, t->f->include_dir, plan, why, sizeof why)) return true;
    fail(t, c->label, why);
    keep_file(t, ".cu", emitted.source);
    return true;
}

/* The first of every group must be there; others at random, until enough texts were tried. */
static void try_all(trial *t, const mo_candidates *c, const mo_subject *subject)
{
    static const mo_group order[] = {MO_GROUP_SEARCH_90, MO_GROUP_WIDE,      MO_GROUP_SEARCH_80,
                                     MO_GROUP_CUTS,      MO_GROUP_SEARCH_90, MO_GROUP_PLAIN};
    int failures = t->f->failures;
    for (size_t i = 0; i < sizeof order / sizeof *order && t->texts < t->f->texts; i++) {
        mo_group g = order[i];
        for (int tries = 0; tries < 3 && c->n[g] > 0; tries++) {
            int index = (int)mo_rng_below(&t->rng, (uint64_t)c->n[g]);
            if (try_candidate(t, subject, &c->list[g][index], g == MO_GROUP_PLAIN)) break;
        }
        if (t->f->failures > failures) return;
    }
}

static bool too_late(void *context)
{
    return mo_clock_seconds() > *(double *)context;
}

static void run_cli(trial *t)
{
    char path[64] = "/tmp/fuzz_pipeline_XXXXXX.json", command[1024];
    int file = mkstemps(path, 5);
    FILE *stream = file < 0 ? NULL : fdopen(file, "w");
    if (stream == NULL) {
        fail(t, "mkstemps", path);
        return;
    }
    fputs(mo_str_text(&t->text), stream);
    fclose(stream);
    const char *arch = mo_rng_below(&t->rng, 2) == 0 ? "sm_80" : "sm_90a";
    snprintf(command, sizeof command, "%s --no-gpu -q --arch %s --budget 20 %s -o %s.cu 2>%s.log", t->f->cli,
             arch, path, path, path);
    int status = system(command);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        snprintf(command, sizeof command, "status %d with --arch %s", status, arch);
        fail(t, "the tool", command);
        snprintf(command, sizeof command, "cat %s.log", path);
        if (system(command) != 0) printf("no log\n");
    }
    snprintf(command, sizeof command, "rm -f %s %s.cu %s.log", path, path, path);
    if (system(command) != 0) printf("cannot remove %s\n", path);
}

static void try_program(trial *t)
{
    static mo_error error;
    mo_lowered lowered;
    const char *text = mo_str_text(&t->text);
    if (mo_parse_program(t->arena, "p.json", text, strlen(text), &t->program, NULL, &error) != MO_OK) {
        fail(t, "parse", error.text);
        return;
    }
    if (t->f->cli != NULL) run_cli(t);
    if (mo_lower_program(t->arena, t->program, SUBPROGRAM_NODES, &lowered, &error) != MO_OK) {
        fail(t, "lower", error.text);
        return;
    }
    if (t->f->texts == 0) return;
    double deadline = mo_clock_seconds() + 4 * SECONDS_PER_SEARCH;
    mo_candidates candidates;
    mo_candidate_options options = {.cuts = mo_rng_below(&t->rng, 4) == 0,
                                    .top_k = TOP_K,
                                    .max_states = MAX_STATES,
                                    .seed = t->seed,
                                    .stop = too_late,
                                    .stop_context = &deadline};
    double start = mo_clock_seconds();
    if (!mo_candidates_make(t->arena, t->program, &lowered, &options, &candidates, &error)) {
        fail(t, "search", error.text);
        return;
    }
    double seconds = mo_clock_seconds() - start;
    if (seconds > SECONDS_PER_SEARCH)
        printf("slow program %llu: %.1f s to search\n", (unsigned long long)t->seed, seconds);
    try_all(t, &candidates, mo_subject_new(t->arena, t->program, t->seed));
}

static void run_program(fuzz *f, uint64_t seed)
{
    trial t = {.f = f, .seed = seed, .arena = mo_arena_new(), .rng = mo_rng_seed(seed, 99)};
    mo_random_program(&t.text, seed, f->nodes);
    try_program(&t);
    f->programs++;
    mo_str_free(&t.text);
    mo_arena_free(t.arena);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 24;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    fuzz f = {.include_dir = getenv("MO_EMU_INCLUDE"),
              .keep = getenv("MO_KEEP"),
              .cli = getenv("MO_CLI"),
              .nodes = argc > 3 ? atoi(argv[3]) : 0,
              .texts = argc > 4 ? atoi(argv[4]) : 2};
    if (f.include_dir == NULL) f.include_dir = "tests/emu";
    if (f.texts < 0) {
        mo_str text = {0};
        mo_random_program(&text, seed, f.nodes);
        fputs(mo_str_text(&text), stdout);
        mo_str_free(&text);
        return 0;
    }
    for (long i = 0; i < count; i++) run_program(&f, seed + (uint64_t)i);
    printf("fuzz_pipeline: %d programs, %d texts run, %d not expressible, %d failures, from seed %llu\n",
           f.programs, f.tried, f.no_fit, f.failures, (unsigned long long)seed);
    return f.failures == 0 ? 0 : 1;
}
