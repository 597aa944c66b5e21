/* The search gives the same graphs and the same counts for any number of threads. Build with the preset tsan
 * to look for races. usage: test_search PROGRAM.json... */
#include "base/file.h"
#include "lower/lower.h"
#include "parse/parse.h"
#include "search/search.h"

#include <stdio.h>
#include <string.h>

enum { MAX_CANDIDATES = 64 };

typedef struct {
    int n;
    mo_hash128 hashes[MAX_CANDIDATES];
    mo_search_counts counts;
} outcome;

static bool read_program(mo_arena *arena, const char *path, mo_program **program, mo_lowered *lowered)
{
    mo_error error = {0};
    const char *text;
    size_t length;
    bool fine = mo_file_read(arena, path, &text, &length, &error) == MO_OK &&
                mo_parse_program(arena, path, text, length, program, NULL, &error) == MO_OK &&
                mo_lower_program(arena, *program, 64, lowered, &error) == MO_OK;
    if (!fine) fprintf(stderr, "%s: %s\n", path, error.text);
    return fine;
}

static bool search(const char *path, int threads, outcome *o)
{
    mo_arena *arena = mo_arena_new();
    mo_program *program;
    mo_lowered lowered;
    mo_error error = {0};
    mo_search_result result;
    mo_search_options options = {.device = mo_device_for_arch(90),
                                 .max_states = 20000,
                                 .max_kernel_ops = 5,
                                 .prune = true,
                                 .top_k = 32,
                                 .threads = threads,
                                 .verify_delta = 1e-12};
    bool fine = read_program(arena, path, &program, &lowered) &&
                mo_search_run(arena, program, &lowered, &options, &result, &error) == MO_OK;
    o->n = fine ? result.n_candidates : 0;
    for (int i = 0; i < o->n; i++) o->hashes[i] = mo_mugraph_hash(result.candidates[i]);
    if (fine) o->counts = result.counts;
    o->counts.seconds = 0.0;
    mo_arena_free(arena);
    return fine && o->n > 0 && o->n <= MAX_CANDIDATES;
}

static bool same_counts(const mo_search_counts *a, const mo_search_counts *b)
{
    return a->states == b->states && a->pruned_expression == b->pruned_expression &&
           a->pruned_shape == b->pruned_shape && a->pruned_memory == b->pruned_memory &&
           a->pruned_duplicate == b->pruned_duplicate && a->pruned_unsafe == b->pruned_unsafe &&
           a->partitions == b->partitions && a->mugraphs == b->mugraphs && a->verified == b->verified &&
           a->rejected == b->rejected && a->complete == b->complete;
}

int main(int argc, char **argv)
{
    static outcome first, other;
    int failures = 0;
    for (int p = 1; p < argc; p++) {
        if (!search(argv[p], 1, &first)) return 1;
        for (int t = 0; t < 3; t++) {
            int threads = (const int[]){2, 3, 8}[t];
            if (!search(argv[p], threads, &other)) return 1;
            bool same = first.n == other.n && same_counts(&first.counts, &other.counts);
            for (int i = 0; same && i < first.n; i++) same = mo_hash_equal(first.hashes[i], other.hashes[i]);
            if (!same) fprintf(stderr, "%s: %d threads find something else than one\n", argv[p], threads);
            failures += !same;
        }
    }
    return failures > 0 || argc < 2;
}
