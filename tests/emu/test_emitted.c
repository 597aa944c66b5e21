/* Emitted files on the CPU: graphs of each program (candidates.h) are emitted, compiled for the host, run in
 * the emulator under its schedules, and the results judged by the numeric rule.
 *
 * usage: test_emitted INCLUDE_DIR [-v] [-k SOURCES] [-d PASS] PROGRAM.json...
 * INCLUDE_DIR holds emu_cuda.h. -k bounds the texts tried for each program; -v prints one line for each; -d
 * switches a pass of the optimiser off; texts that fail are kept in the folder $MO_KEEP, if set. Exits with
 * 77 when no program can be lowered. */
#include "base/file.h"
#include "base/hash.h"
#include "candidates.h"
#include "emitted.h"
#include "lower/lower.h"
#include "parse/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEDULES = 4, MAX_TEXTS = 4096, SUBPROGRAM_NODES = 64, TOP_K = 24, MAX_STATES = 20000 };

typedef struct {
    const char *include_dir;
    bool verbose;
    int most_sources;
    mo_passes off;
    int programs, skipped, sources, no_fit, failures;
} test;

typedef struct {
    const mo_subject *subject;
    mo_candidates candidates;
    int n_texts;
    mo_hash128 texts[MAX_TEXTS]; /* hashes of those that were tried */
} trial;

static bool seen_before(trial *t, const char *text)
{
    mo_hash128 hash = mo_hash_128(text, strlen(text), 0);
    for (int i = 0; i < t->n_texts; i++)
        if (mo_hash_equal(t->texts[i], hash)) return true;
    if (t->n_texts < MAX_TEXTS) t->texts[t->n_texts++] = hash;
    return false;
}

static void keep_text(const trial *t, const char *source)
{
    const char *folder = getenv("MO_KEEP");
    char path[512];
    if (folder == NULL) return;
    snprintf(path, sizeof path, "%s/%s_%d.cu", folder, t->subject->program->symbol, t->n_texts);
    FILE *file = fopen(path, "w");
    if (file == NULL) return;
    fputs(source, file);
    fclose(file);
    printf("     kept as %s\n", path);
}

/* Whether a text was tried; without one the graph of the plain kernels is a failure. */
static bool try_candidate(test *to, trial *t, mo_group group, const mo_candidate *c)
{
    static char why[16384];
    const char *name = t->subject->program->name, *reason = NULL;
    mo_emitted emitted;
    if (!mo_emit(t->subject->arena, c->graph, c->arch, NULL, &emitted, &reason)) {
        if (to->verbose) printf("     %s, %s: no fit: %s\n", name, c->label, reason);
        to->no_fit++;
        if (group != MO_GROUP_PLAIN) return false;
        printf("FAIL %s: the plain kernels cannot be emitted: %s\n", name, reason);
        to->failures++;
        return false;
    }
    if (seen_before(t, emitted.source)) return false;
    mo_run_plan plan = {.schedules = SCHEDULES, .sets = c->sets};
    bool ok = mo_emitted_run(t->subject, &emitted, to->include_dir, plan, why, sizeof why);
    if (!ok || to->verbose)
        printf("%s %s, %s%s%s\n", ok ? "ok  " : "FAIL", name, c->label, ok ? "" : ": ", ok ? "" : why);
    if (!ok) keep_text(t, emitted.source);
    if (!ok) to->failures++;
    return true;
}

/* The i-th index into a list of n, which is walked in steps; -1 for some i. */
static int spread(int i, int n, int step)
{
    int round = (n + step - 1) / step, index = i % round * step + i / round;
    return index < n ? index : -1;
}

/* One text of each group in turn; within a group first its first graph, then evenly over the rest. */
static void try_all(test *to, trial *t)
{
    const mo_candidates *c = &t->candidates;
    int next[MO_GROUPS] = {0}, left = to->most_sources, rounds = (left + MO_GROUPS - 1) / MO_GROUPS;
    for (bool more = true; more && left > 0;) {
        more = false;
        for (int g = 0; g < MO_GROUPS && left > 0; g++) {
            int n = c->n[g], step = 1 + (n - 1) / rounds;
            for (bool tried = false; !tried && next[g] < n + step; next[g]++) {
                int index = n == 0 ? -1 : spread(next[g], n, step);
                if (index >= 0) tried = try_candidate(to, t, (mo_group)g, &c->list[g][index]);
                left -= tried;
                more |= tried;
            }
        }
    }
}

static bool read_program(test *to, mo_arena *arena, const char *path, mo_program **program,
                         mo_lowered *lowered)
{
    static mo_error error;
    const char *text;
    size_t length;
    if (mo_file_read(arena, path, &text, &length, &error) != MO_OK ||
        mo_parse_program(arena, path, text, length, program, NULL, &error) != MO_OK) {
        printf("FAIL %s: %s\n", path, error.text);
        to->failures++;
        return false;
    }
    to->programs++;
    if (mo_lower_program(arena, *program, SUBPROGRAM_NODES, lowered, &error) == MO_OK) return true;
    printf("skip %s: %s\n", path, error.text);
    to->skipped++;
    return false;
}

static void test_program(test *to, mo_arena *arena, const char *path)
{
    static mo_error error;
    mo_program *program;
    mo_lowered lowered;
    int failures = to->failures;
    if (!read_program(to, arena, path, &program, &lowered)) return;
    trial *t = MO_NEW(arena, trial);
    t->subject = mo_subject_new(arena, program, 0);
    mo_candidate_options options = {
        .cuts = to->off == 0, .top_k = TOP_K, .max_states = MAX_STATES, .off = to->off};
    if (!mo_candidates_make(arena, program, &lowered, &options, &t->candidates, &error)) {
        printf("FAIL %s: %s\n", path, error.text);
        to->failures++;
        return;
    }
    try_all(to, t);
    to->sources += t->n_texts;
    printf("%s %s: %d texts;", to->failures == failures ? "ok  " : "FAIL", program->name, t->n_texts);
    for (int g = 0; g < MO_GROUPS; g++) printf(" %d", t->candidates.n[g]);
    printf(" graphs\n");
    fflush(stdout);
}

static mo_passes pass_named(const char *name)
{
    for (int bit = 0; bit < MO_PASS_COUNT; bit++)
        if (strcmp(name, mo_pass_name(bit)) == 0) return 1u << bit;
    fprintf(stderr, "no pass is called '%s'\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    test t = {.most_sources = 8};
    if (argc > 1) t.include_dir = argv[1];
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0) {
            t.verbose = true;
        } else if (strcmp(argv[i], "-k") == 0 && i + 1 < argc) {
            t.most_sources = atoi(argv[++i]);
        } else if (strcmp(argv[i], "-d") == 0 && i + 1 < argc) {
            t.off |= pass_named(argv[++i]);
        } else {
            mo_arena *arena = mo_arena_new();
            test_program(&t, arena, argv[i]);
            mo_arena_free(arena);
        }
    }
    if (t.programs == 0 || t.most_sources < 1) {
        fprintf(stderr, "usage: %s INCLUDE_DIR [-v] [-k SOURCES] PROGRAM.json...\n", argv[0]);
        return 2;
    }
    printf("%d programs, %d texts, %d graphs without a text, %d failures\n", t.programs, t.sources, t.no_fit,
           t.failures);
    if (t.failures > 0) return 1;
    return t.sources == 0 ? 77 : 0;
}
