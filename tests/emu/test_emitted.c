/* Emitted files on the CPU: for each program the unfused graph and fused ones, with many schedules, are
 * emitted, compiled for the host and run in the emulator, and the results judged by the numeric rule.
 *
 * usage: test_emitted INCLUDE_DIR [-v] [-k SOURCES] PROGRAM.json...
 * INCLUDE_DIR holds emu_cuda.h. -k bounds the texts tried for each program; -v prints one line for each;
 * texts that fail are kept in the folder $MO_KEEP, if set. Exits with 77 when no program can be lowered. */
#include "base/file.h"
#include "codegen/emit.h"
#include "emu.h"
#include "ir/program.h"
#include "lower/lower.h"
#include "parse/parse.h"
#include "profile/numeric.h"
#include "search/assemble.h"
#include "search/unfused.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 4, MAX_GRAPHS = 400, PARTITIONS = 6, SUBPROGRAM_NODES = 64, MAX_KERNELS = 5 };

typedef struct {
    const char *include_dir;
    bool verbose;
    int most_sources;
    int programs, skipped, sources, no_fit, failures;
} test;

typedef struct {
    mo_arena *arena;
    const mo_program *program;
    mo_numeric_gate *gate;
    int n_graphs, n_seen;
    mo_mugraph *graphs[MAX_GRAPHS];
    const char *labels[MAX_GRAPHS];
    uint64_t seen[MAX_GRAPHS]; /* hashes of the texts that were tried */
} subject;

/* ---- graphs ---- */

static void add_graph(subject *s, mo_mugraph *graph, const char *label)
{
    if (s->n_graphs == MAX_GRAPHS) return;
    s->labels[s->n_graphs] = label;
    s->graphs[s->n_graphs++] = graph;
}

/* Each partition with its cheapest schedules, and each kernel's others in turn. */
static void add_fused(subject *s, const mo_lowered *lowered, const mo_cutter *cutters, int rank)
{
    int n = lowered->n_subprograms, kernels = 0, at = 0;
    const mo_partition **parts = MO_NEW_ARRAY(s->arena, const mo_partition *, n + 1);
    for (int i = 0; i < n; i++) {
        if (cutters[i].count == 0) return;
        parts[i] = &cutters[i].best[rank < cutters[i].count ? rank : cutters[i].count - 1];
        kernels += parts[i]->n_kernels;
    }
    int *choice = MO_NEW_ARRAY(s->arena, int, kernels + 1);
    add_graph(s, mo_assemble(s->arena, s->program, parts, n, choice, false),
              mo_arena_printf(s->arena, "fused %d", rank));
    for (int i = 0; i < n; i++)
        for (int k = 0; k < parts[i]->n_kernels; k++, at++)
            for (int c = 1; c < parts[i]->kernels[k].n_choices; c++) {
                choice[at] = c;
                add_graph(s, mo_assemble(s->arena, s->program, parts, n, choice, false),
                          mo_arena_printf(s->arena, "fused %d, kernel %d with schedule %d", rank, at, c));
                choice[at] = 0;
            }
}

static void make_graphs(subject *s, const mo_lowered *lowered, const mo_device *device)
{
    mo_cutter *cutters = MO_NEW_ARRAY(s->arena, mo_cutter, lowered->n_subprograms + 1);
    for (int i = 0; i < lowered->n_subprograms; i++) {
        mo_cutter_init(&cutters[i], s->arena, device, MAX_KERNELS, PARTITIONS);
        mo_cutter_add(&cutters[i], lowered->subprograms[i].graph);
    }
    add_graph(s, mo_unfused_plain(s->arena, s->program, lowered), "plain");
    for (int rank = 0; rank < PARTITIONS; rank++) {
        add_graph(s, mo_unfused(s->arena, s->program, lowered, device, rank, false),
                  mo_arena_printf(s->arena, "unfused, schedules of rank %d", rank));
        add_fused(s, lowered, cutters, rank);
    }
}

/* ---- memory ---- */

typedef struct {
    void **inputs, **outputs, *workspace;
} memory;

static void *room(int64_t bytes)
{
    void *p = aligned_alloc(256, ((size_t)bytes + 511) / 256 * 256);
    if (p == NULL) abort();
    return p;
}

static memory make_memory(subject *s, mo_emu *emu, const mo_emitted *emitted)
{
    const mo_program *p = s->program;
    memory m = {MO_NEW_ARRAY(s->arena, void *, p->n_inputs + 1),
                MO_NEW_ARRAY(s->arena, void *, p->n_outputs + 1), room(emitted->workspace_bytes)};
    for (int i = 0; i < p->n_inputs; i++) {
        int64_t bytes = mo_numeric_input_bytes(s->gate)[i];
        m.inputs[i] = room(bytes);
        mo_emu_add_buffer(emu, p->tensors[i].name, m.inputs[i], (size_t)bytes, false);
    }
    for (int o = 0; o < p->n_outputs; o++) {
        int64_t bytes = mo_numeric_output_bytes(s->gate)[o];
        m.outputs[o] = room(bytes);
        mo_emu_add_buffer(emu, p->tensors[p->outputs[o]].name, m.outputs[o], (size_t)bytes, true);
    }
    if (emitted->workspace_bytes > 0)
        mo_emu_add_buffer(emu, "workspace", m.workspace, (size_t)emitted->workspace_bytes, true);
    return m;
}

static void free_memory(const subject *s, memory *m)
{
    for (int i = 0; i < s->program->n_inputs; i++) free(m->inputs[i]);
    for (int o = 0; o < s->program->n_outputs; o++) free(m->outputs[o]);
    free(m->workspace);
}

/* Inputs of the set; everything else is poisoned. */
static void fill_memory(const subject *s, const memory *m, const mo_emitted *emitted, int set)
{
    const mo_program *p = s->program;
    for (int i = 0; i < p->n_inputs; i++)
        memcpy(m->inputs[i], mo_numeric_contents(s->gate)[set * p->n_inputs + i],
               (size_t)mo_numeric_input_bytes(s->gate)[i]);
    for (int o = 0; o < p->n_outputs; o++)
        memset(m->outputs[o], 0xff, (size_t)mo_numeric_output_bytes(s->gate)[o]);
    memset(m->workspace, 0xff, (size_t)emitted->workspace_bytes);
}

/* ---- running ---- */

static const void *argument(const memory *m, const mo_arg *arg)
{
    if (arg->kind == MO_ARG_INPUT) return m->inputs[arg->index];
    if (arg->kind == MO_ARG_OUTPUT) return m->outputs[arg->index];
    return (const char *)m->workspace + arg->offset;
}

static mo_emu_dim dim(const unsigned size[3])
{
    return (mo_emu_dim){size[0], size[1], size[2]};
}

static bool run_launches(mo_emu *emu, const mo_emitted *emitted, const memory *m, uint64_t seed, char *why,
                         size_t size)
{
    for (int l = 0; l < emitted->n_launches; l++) {
        const mo_launch *from = &emitted->launches[l];
        mo_emu_launch launch = {.kernel = from->kernel,
                                .grid = dim(from->grid),
                                .block = dim(from->block),
                                .cluster = dim(from->cluster),
                                .shared_bytes = from->shared_bytes,
                                .n_args = from->n_args,
                                .racy = seed >= 2,
                                .seed = seed};
        for (int i = 0; i < from->n_args && i < MO_EMU_MAX_ARGS; i++)
            launch.args[i] = argument(m, &from->args[i]);
        char message[3072];
        if (mo_emu_run(emu, &launch, message, sizeof message)) continue;
        snprintf(why, size, "%s: %s", from->kernel, message);
        return false;
    }
    return true;
}

/* Random inputs under every schedule (races do not depend on it: the first two look for them), then, for one
 * kernel, the adversarial ones under one each (graphs that
 * store 16-bit values between kernels may fail those: the tool then falls back to another graph). */
static bool run_all(subject *s, mo_emu *emu, const mo_emitted *emitted, char *why, size_t size)
{
    int runs = SEEDS + (emitted->n_launches == 1 ? mo_numeric_sets(s->gate) - 1 : 0);
    memory m = make_memory(s, emu, emitted);
    mo_numeric_entry *entries = MO_NEW_ARRAY(s->arena, mo_numeric_entry, s->program->n_outputs + 1);
    bool ok = true;
    mo_numeric_begin(s->gate, entries);
    for (int run = 0; ok && run < runs; run++) {
        int set = run < SEEDS ? 0 : run - SEEDS + 1;
        fill_memory(s, &m, emitted, set);
        ok = run_launches(emu, emitted, &m, (uint64_t)run, why, size);
        if (ok) mo_numeric_judge(s->gate, set, (const void *const *)m.outputs, entries);
        for (int o = 0; ok && o < s->program->n_outputs; o++) {
            ok = entries[o].ok;
            if (!ok)
                snprintf(why, size, "output %d, inputs %s, seed %d: error %g, allowed %g", o,
                         mo_numeric_set_name(s->gate, set), run, entries[o].error, entries[o].allowed);
        }
    }
    free_memory(s, &m);
    return ok;
}

static uint64_t text_hash(const char *text)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *text != '\0'; text++) h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return h;
}

static bool seen_before(subject *s, const char *text)
{
    uint64_t hash = text_hash(text);
    for (int i = 0; i < s->n_seen; i++)
        if (s->seen[i] == hash) return true;
    s->seen[s->n_seen++] = hash;
    return false;
}

static void keep_text(const subject *s, const char *source, int number)
{
    const char *folder = getenv("MO_KEEP");
    char path[512];
    if (folder == NULL) return;
    snprintf(path, sizeof path, "%s/%s_%d.cu", folder, s->program->symbol, number);
    FILE *file = fopen(path, "w");
    if (file == NULL) return;
    fputs(source, file);
    fclose(file);
    printf("     kept as %s\n", path);
}

static void test_graph(test *t, subject *s, int index)
{
    static char why[16384];
    mo_emitted emitted;
    const char *reason = NULL;
    if (!mo_emit(s->arena, s->graphs[index], 80, NULL, &emitted, &reason)) {
        if (t->verbose) printf("     %s, %s: no fit: %s\n", s->program->name, s->labels[index], reason);
        t->no_fit++;
        if (index > 0) return;
        printf("FAIL %s: the plain kernels cannot be emitted: %s\n", s->program->name, reason);
        t->failures++;
        return;
    }
    if (seen_before(s, emitted.source)) return;
    t->sources++;
    mo_emu *emu = mo_emu_load_source(emitted.source, "emitted.cu", t->include_dir, why, sizeof why);
    bool ok = emu != NULL && run_all(s, emu, &emitted, why, sizeof why);
    if (!ok || t->verbose)
        printf("%s %s, %s%s%s\n", ok ? "ok  " : "FAIL", s->program->name, s->labels[index], ok ? "" : ": ",
               ok ? "" : why);
    if (!ok) keep_text(s, emitted.source, index);
    if (!ok) t->failures++;
    mo_emu_free(emu);
}

static void test_program(test *t, const char *path)
{
    static mo_error error;
    mo_arena *arena = mo_arena_new();
    const char *text;
    size_t length;
    mo_program *program;
    mo_lowered lowered;
    int failures = t->failures, sources = t->sources;
    if (mo_file_read(arena, path, &text, &length, &error) != MO_OK ||
        mo_parse_program(arena, path, text, length, &program, NULL, &error) != MO_OK) {
        printf("FAIL %s: %s\n", path, error.text);
        t->failures++;
        mo_arena_free(arena);
        return;
    }
    t->programs++;
    if (mo_lower_program(arena, program, SUBPROGRAM_NODES, &lowered, &error) != MO_OK) {
        printf("skip %s: %s\n", path, error.text);
        t->skipped++;
        mo_arena_free(arena);
        return;
    }
    subject *s = MO_NEW(arena, subject);
    *s = (subject){.arena = arena, .program = program, .gate = mo_numeric_new(arena, program, 0, 4, NULL, 1)};
    make_graphs(s, &lowered, mo_device_for_arch(80));
    /* Plain first, then evenly over the rest, so that a bound leaves none of the kinds out. */
    int step = 1 + (s->n_graphs - 1) / t->most_sources;
    for (int offset = 0; offset < step; offset++)
        for (int i = offset; i < s->n_graphs && t->sources - sources < t->most_sources; i += step)
            test_graph(t, s, i);
    printf("%s %s: %d texts of %d graphs\n", t->failures == failures ? "ok  " : "FAIL", program->name,
           t->sources - sources, s->n_graphs);
    fflush(stdout);
    mo_arena_free(arena);
}

int main(int argc, char **argv)
{
    test t = {.most_sources = 8};
    if (argc > 1) t.include_dir = argv[1];
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0)
            t.verbose = true;
        else if (strcmp(argv[i], "-k") == 0 && i + 1 < argc)
            t.most_sources = atoi(argv[++i]);
        else
            test_program(&t, argv[i]);
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
