/* Runs the sample kernels under every kind of schedule against double references, then each one with bugs
 * put in: every bug must be reported, or at least spoil the result, under one of the schedules.
 *
 * usage: test_samples SOURCE_DIR */
#include "samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 8 };

typedef struct {
    const char *directory; /* of the sources */
    int failures, runs;
} test;

/* ---- mutations: the first `find` in the sample becomes `replace`; `message` must appear ---- */

typedef struct {
    const char *kernel, *what, *find, *replace, *message;
} mutation;

static const mutation mutations[] = {
    {"ring_gemm", "no barrier before the sums", "__syncthreads(); /* the sums reuse", "/* the sums reuse",
     "data race"},
    {"ring_gemm", "no barrier after the sums", "__syncthreads(); /* sums are there", "/* sums are there",
     "data race"},
    {"ring_gemm", "waits for too little", "mo_cp_wait<STAGES - 2>()", "mo_cp_wait<STAGES - 1>()",
     "data race"},
    {"ring_gemm", "does not wait", "mo_cp_wait<STAGES - 2>();", "", "data race"},
    {"ring_gemm", "no warp barrier after the wait", "mo_syncwarp();", "", "data race"},
    {"ring_gemm", "refills the stage in use", "next % STAGES * STAGE_BYTES", "s % STAGES * STAGE_BYTES",
     "data race"},
    {"ring_gemm", "commit forgotten", "        mo_cp_commit();\n        const", "        const", "data race"},
    {"ring_gemm", "misaligned destination", "mo_cp_async16(ring + s * STAGE_BYTES",
     "mo_cp_async16(ring + 8 + s * STAGE_BYTES", "not aligned to 16 bytes"},
    {"ring_gemm", "row past the ring", "stage + place(kk + lane % 8", "stage + place(kk + 17 + lane % 8",
     NULL},
    {"ring_gemm", "row past shared memory", "stage + place(kk + lane % 8",
     "stage + place(kk + 512 + lane % 8", "out of bounds"},
    {"ring_gemm", "reads another swizzle",
     "stage + place(kk + lane % 8 + lane / 16 * 8, nn / 8 + lane / 8 % 2)",
     "stage + (kk + lane % 8 + lane / 16 * 8) * 64 + (nn / 8 + lane / 8 % 2) * 16", NULL},
    {"ring_gemm", "reads past w", "w + ((s * WARPS + warp) * SLAB + i / 4) * N",
     "w + ((s * WARPS + warp) * SLAB + i / 4 + K) * N", "outside of all known memory"},
    {"ring_gemm", "writes an input", "mo_store(y + token", "mo_store((mo_half *)x + token", "read-only"},
    {"ring_gemm", "diverging mma", "mo_mma_f16(d[nn / 16], a, b);",
     "if (lane < 31) mo_mma_f16(d[nn / 16], a, b);", "diverges"},
    {"ring_gemm", "threads overlap in y", "i < TILE * TOKENS; i += WARPS * 32",
     "i < TILE * TOKENS; i += WARPS * 16", "data race"},
    {"ring_gemm", "blocks overlap in y", "mo_store(y + token * N + column + n", "mo_store(y + token * N + n",
     "another block"},
    {"row_norm", "no barrier", "__syncthreads(); /* partial", "/* partial", "data race"},
    {"row_norm", "divergent barrier", "__syncthreads(); /* partial",
     "if (threadIdx.x < 96) __syncthreads(); /* partial", NULL},
    {"row_norm", "two barriers for one", "__syncthreads(); /* partial",
     "if (threadIdx.x < 64) {\n__syncthreads();\n} else {\n__syncthreads();\n} /* partial",
     "the block diverges"},
    {"row_norm", "a lane skips the shuffle", "for (int lanes = 16;",
     "if (threadIdx.x != 7) for (int lanes = 16;", NULL},
    {"row_norm", "tail not guarded", "i < COLUMNS; i +=", "i < 1024; i +=", NULL},
    {"row_norm", "misaligned vector", "row + 4 * i", "row + 4 * i + (i > 0 ? -1 : 0)",
     "not aligned to 16 bytes"},
    {"row_norm", "shared memory too small",
     "partial[threadIdx.x / 32] = ", "partial[threadIdx.x / 32 + 1] = ", "out of bounds"},
    {"row_norm", "partial sums not written", "threadIdx.x % 32 == 0", "threadIdx.x == 0", NULL},
    {"tma_gemm", "does not wait", "mo_mbar_wait(full + s % STAGES, s / STAGES & 1);", "", "data race"},
    {"tma_gemm", "wrong parity", "s / STAGES & 1)", "1)", "data race"},
    {"tma_gemm", "announces too many bytes", "mo_mbar_expect_tx(full + s, STAGE_BYTES)",
     "mo_mbar_expect_tx(full + s, 2 * STAGE_BYTES)", "no progress"},
    {"tma_gemm", "refills too early", "mo_syncwarp(); /* the stage was read */", "", "data race"},
    {"tma_gemm", "mbarriers used before they are ready", "mo_syncwarp(); /* mbarriers are ready */", "",
     "mbarrier"},
    {"tma_gemm", "swizzle forgotten", "(chunk ^ (row & 7))", "(chunk)", NULL},
    {"tma_gemm", "misaligned box", "mo_tma_load_2d(stage, ", "mo_tma_load_2d(stage + 128, ",
     "not aligned to 1024"},
    {"tma_gemm", "leaves copies behind", "s + STAGES < SLABS", "s + STAGES <= SLABS", NULL},
    {"sum_last_block", "flag without order", "mo_atomic_add_acq_rel(count, 1) + 1 < PARTS",
     "blockIdx.x != PARTS - 1", NULL},
    {"sum_all_blocks", "waits for one too many", "(count) < PARTS", "(count) <= PARTS", "no progress"},
    {"sum_all_blocks", "does not wait", "while (mo_ld_acquire(count) < PARTS) {\n    }", "", "data race"},
    {"sum_cluster", "no barrier after the push", "mo_cluster_sync(); /* the parts", "/* the parts",
     "data race"},
    {"sum_cluster", "rank too large", "mo_cluster_map(received, 0)", "mo_cluster_map(received, 4)", "mapa"},
    {"sum_two_warps", "refills before it was read", "mo_bar_sync(2, 64);", "mo_bar_arrive(2, 64);", NULL},
    {"sum_two_warps", "does not wait for the copy", "mo_cp_wait<0>();", "", "data race"},
    {"sum_two_warps", "one barrier too few", "mo_bar_sync(1, 64);", "if (i > 0) mo_bar_sync(1, 64);", NULL},
    {"sum_two_warps", "count is no multiple of a warp", "mo_bar_sync(1, 64);", "mo_bar_sync(1, 65);",
     "whole warps"},
    {"sum_two_warps", "a part of a warp arrives", "mo_bar_arrive(1, 64);",
     "if (lane < 16) mo_bar_arrive(1, 64);", NULL},
};

/* ---- running ---- */

/* Whether the run is right; if not, why. */
static bool run_once(mo_emu *emu, const sample *s, sample_data *d, uint64_t seed, char *why, size_t size)
{
    mo_emu_tensor_map map = sample_map(d->bytes[s->map_argument]);
    mo_emu_launch launch = {.kernel = s->kernel,
                            .grid = s->grid,
                            .block = s->block,
                            .cluster = s->cluster,
                            .shared_bytes = s->shared_bytes,
                            .cooperative = s->cooperative,
                            .n_args = d->n,
                            .seed = seed};
    mo_emu_forget_buffers(emu);
    for (int i = 0; i < d->n; i++) {
        const buffer_spec *b = &s->buffers[i];
        sample_fill(s, d, i);
        mo_emu_add_buffer(emu, b->name, d->bytes[i], sample_bytes(b), b->spread <= 0);
        launch.args[i] = d->bytes[i];
    }
    if (s->map_argument > 0) launch.args[s->map_argument] = &map;
    return mo_emu_run(emu, &launch, why, size) && sample_check(s, d, why, size);
}

static mo_emu *compile(test *t, const sample *s, const mutation *m)
{
    char path[256], include[1024], error[8192];
    snprintf(path, sizeof path, "tests/emu/samples/%s.cu", s->file);
    char *text = sample_text(t->directory, path, m == NULL ? NULL : m->find, m == NULL ? NULL : m->replace);
    if (text == NULL) {
        printf("FAIL %s: the text to change is not there: %s\n", s->kernel, m->find);
        t->failures++;
        return NULL;
    }
    snprintf(include, sizeof include, "%s/tests/emu", t->directory);
    mo_emu *emu = mo_emu_load_source(text, "kernel.cu", include, error, sizeof error);
    if (emu == NULL) {
        printf("FAIL %s (%s): does not compile:\n%s\n", s->kernel, m == NULL ? "as it is" : m->what, error);
        t->failures++;
    }
    free(text);
    return emu;
}

static void test_sample(test *t, const sample *s)
{
    mo_emu *emu = compile(t, s, NULL);
    if (emu == NULL) return;
    sample_data d = sample_data_make(s);
    bool ok = true;
    for (uint64_t seed = 0; seed < SEEDS && ok; seed++, t->runs++) {
        char why[4096];
        ok = run_once(emu, s, &d, seed, why, sizeof why);
        if (!ok) printf("FAIL %s, seed %d: %s\n", s->kernel, (int)seed, why);
    }
    if (ok)
        printf("ok   %s: right under %d schedules\n", s->kernel, SEEDS);
    else
        t->failures++;
    sample_data_free(&d);
    mo_emu_free(emu);
}

static const sample *find_sample(const char *kernel)
{
    for (size_t i = 0; i < n_samples; i++)
        if (strcmp(samples[i].kernel, kernel) == 0) return &samples[i];
    return NULL;
}

static void test_mutation(test *t, const mutation *m)
{
    const sample *s = find_sample(m->kernel);
    mo_emu *emu = compile(t, s, m);
    if (emu == NULL) return;
    sample_data d = sample_data_make(s);
    int caught = 0;
    char why[4096], first[4096] = "";
    for (uint64_t seed = 0; seed < SEEDS; seed++, t->runs++) {
        if (run_once(emu, s, &d, seed, why, sizeof why)) continue;
        if (m->message != NULL && strstr(why, m->message) == NULL) {
            if (caught == 0) snprintf(first, sizeof first, "%s", why);
            continue;
        }
        if (caught++ == 0) snprintf(first, sizeof first, "%s", why);
    }
    if (caught == 0) t->failures++;
    printf("%s %s, %s: %d of %d schedules: %s\n", caught > 0 ? "ok  " : "FAIL", m->kernel, m->what, caught,
           SEEDS, first);
    sample_data_free(&d);
    mo_emu_free(emu);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s SOURCE_DIR\n", argv[0]);
        return 2;
    }
    test t = {.directory = argv[1]};
    for (size_t i = 0; i < n_samples; i++) test_sample(&t, &samples[i]);
    for (size_t i = 0; i < sizeof mutations / sizeof *mutations; i++) test_mutation(&t, &mutations[i]);
    printf("%d runs, %d failures\n", t.runs, t.failures);
    return t.failures == 0 ? 0 : 1;
}
