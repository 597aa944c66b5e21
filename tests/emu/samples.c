#include "samples.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- references ---- */

static void product(const double *x, const double *w, double *y, int m, int k, int n)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++) sum += x[i * k + l] * w[l * n + j];
            y[i * n + j] = sum;
        }
}

static void ring_reference(double *const *in, double *out)
{
    product(in[0], in[1], out, 8, 512, 96);
}

static void tma_reference(double *const *in, double *out)
{
    product(in[0], in[1], out, 8, 512, 128);
}

static void norm_reference(double *const *in, double *out)
{
    for (int r = 0; r < 5; r++) {
        double squares = 0;
        for (int c = 0; c < 1000; c++) squares += in[0][r * 1000 + c] * in[0][r * 1000 + c];
        for (int c = 0; c < 1000; c++) out[r * 1000 + c] = in[0][r * 1000 + c] / sqrt(squares / 1000 + 1e-5);
    }
}

static double total(const double *x)
{
    double sum = 0;
    for (int i = 0; i < 4096; i++) sum += x[i];
    return sum;
}

static void sum_reference(double *const *in, double *out)
{
    out[0] = total(in[0]);
}

static void sums_reference(double *const *in, double *out)
{
    for (int i = 0; i < 4; i++) out[i] = total(in[0]);
}

/* clang-format off: a table */
const sample samples[] = {
    {.file = "ring_gemm",
     .kernel = "ring_gemm",
     .least_arch = 80,
     .reference = ring_reference,
     .tolerance = 0.03,
     .grid = {3, 1, 1},
     .block = {128, 1, 1},
     .shared_bytes = 4 * 3 * 2048,
     .buffers = {{"x", F16, 8 * 512, 1}, {"w", F16, 512 * 96, 1}, {"y", F16, 8 * 96, 0}}},
    {.file = "row_norm",
     .kernel = "row_norm",
     .least_arch = 80,
     .reference = norm_reference,
     .tolerance = 1e-5,
     .grid = {5, 1, 1},
     .block = {128, 1, 1},
     .shared_bytes = 16,
     .buffers = {{"x", F32, 5000, 3}, {"y", F32, 5000, 0}}},
    {.file = "tma_gemm",
     .kernel = "tma_gemm",
     .least_arch = 90,
     .reference = tma_reference,
     .tolerance = 0.03,
     .grid = {2, 1, 1},
     .block = {128, 1, 1},
     .shared_bytes = 4 * 2 * 4096 + 64,
     .map_argument = 1,
     .buffers = {{"x", F16, 8 * 512, 1}, {"w", F16, 512 * 128, 1}, {"y", F16, 8 * 128, 0}}},
    {.file = "split_sum",
     .kernel = "sum_last_block",
     .least_arch = 80,
     .reference = sum_reference,
     .tolerance = 1e-3,
     .grid = {4, 1, 1},
     .block = {64, 1, 1},
     .shared_bytes = 8,
     .buffers = {{"x", F32, 4096, 1}, {"parts", F32, 4, 0}, {"count", U32, 1, -1}, {"y", F32, 1, 0}}},
    {.file = "split_sum",
     .kernel = "sum_all_blocks",
     .least_arch = 80,
     .reference = sums_reference,
     .tolerance = 1e-3,
     .grid = {4, 1, 1},
     .block = {64, 1, 1},
     .shared_bytes = 8,
     .cooperative = true,
     .buffers = {{"x", F32, 4096, 1}, {"parts", F32, 4, 0}, {"count", U32, 1, -1}, {"y", F32, 4, 0}}},
    {.file = "split_sum",
     .kernel = "sum_cluster",
     .least_arch = 90,
     .reference = sum_reference,
     .tolerance = 1e-3,
     .grid = {4, 1, 1},
     .block = {64, 1, 1},
     .cluster = {4, 1, 1},
     .shared_bytes = 24,
     .buffers = {{"x", F32, 4096, 1}, {"y", F32, 1, 0}}},
    {.file = "split_sum",
     .kernel = "sum_two_warps",
     .least_arch = 80,
     .reference = sum_reference,
     .tolerance = 1e-3,
     .grid = {1, 1, 1},
     .block = {64, 1, 1},
     .shared_bytes = 512,
     .buffers = {{"x", F32, 4096, 1}, {"y", F32, 1, 0}}},
};
/* clang-format on */

const size_t n_samples = sizeof samples / sizeof *samples;

/* ---- text ---- */

enum { TEXT_LIMIT = 1 << 20 };

static void append_file(char *text, const char *directory, const char *path)
{
    char full[1024];
    size_t used = strlen(text);
    snprintf(full, sizeof full, "%s/%s", directory, path);
    FILE *file = fopen(full, "r");
    if (file == NULL) {
        fprintf(stderr, "%s: cannot be read\n", full);
        exit(1);
    }
    const char *name = strrchr(path, '/');
    used +=
        (size_t)snprintf(text + used, TEXT_LIMIT - used, "#line 1 \"%s\"\n", name == NULL ? path : name + 1);
    used += fread(text + used, 1, TEXT_LIMIT - 2 - used, file);
    text[used] = '\n';
    text[used + 1] = 0;
    fclose(file);
}

char *sample_text(const char *directory, const char *path, const char *find, const char *replace)
{
    static const char *const library[] = {"kernels/ptx.cuh", "kernels/half.cuh"};
    char *text = calloc(2, TEXT_LIMIT);
    if (text == NULL) exit(1);
    for (size_t i = 0; i < sizeof library / sizeof *library; i++) append_file(text, directory, library[i]);
    char *body = text + strlen(text);
    append_file(text, directory, path);
    if (find == NULL) return text;
    char *at = strstr(body, find);
    if (at == NULL) {
        free(text);
        return NULL;
    }
    memmove(at + strlen(replace), at + strlen(find), strlen(at + strlen(find)) + 1);
    memcpy(at, replace, strlen(replace));
    return text;
}

/* ---- data ---- */

size_t sample_bytes(const buffer_spec *spec)
{
    return spec->n * (spec->type == F16 ? 2 : 4);
}

static double value_at(const buffer_spec *spec, const void *bytes, size_t i)
{
    if (spec->type == F16) return (double)mo_emu_f16_to_float(((const unsigned short *)bytes)[i]);
    if (spec->type == U32) return (double)((const unsigned *)bytes)[i];
    return (double)((const float *)bytes)[i];
}

void sample_fill(const sample *s, sample_data *d, int number)
{
    const buffer_spec *spec = &s->buffers[number];
    void *bytes = d->bytes[number];
    memset(bytes, spec->spread < 0 ? 0 : 0xff, sample_bytes(spec));
    if (spec->spread <= 0) return;
    uint64_t state = spec->n;
    for (size_t i = 0; i < spec->n; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        float x = (float)(((double)(state >> 11) * 0x1p-52 - 1) * spec->spread);
        if (spec->type == F16)
            ((unsigned short *)bytes)[i] = mo_emu_float_to_f16(x);
        else
            ((float *)bytes)[i] = x;
        d->values[number][i] = value_at(spec, bytes, i);
    }
}

sample_data sample_data_make(const sample *s)
{
    sample_data d = {0};
    while (d.n < MAX_BUFFERS && s->buffers[d.n].name != NULL) {
        d.bytes[d.n] = aligned_alloc(256, (sample_bytes(&s->buffers[d.n]) + 255) / 256 * 256);
        d.values[d.n] = calloc(s->buffers[d.n].n, sizeof(double));
        if (d.bytes[d.n] == NULL || d.values[d.n] == NULL) exit(1);
        d.n++;
    }
    return d;
}

void sample_data_free(sample_data *d)
{
    for (int i = 0; i < d->n; i++) {
        free(d->bytes[i]);
        free(d->values[i]);
    }
}

mo_emu_tensor_map sample_map(const void *base)
{
    return (mo_emu_tensor_map){.base = base,
                               .rank = 2,
                               .element_bytes = 2,
                               .size = {128, 512, 1},
                               .stride = {256, 0},
                               .box = {64, 32, 1},
                               .swizzle = 128};
}

bool sample_check(const sample *s, sample_data *d, char *why, size_t size)
{
    int last = d->n - 1;
    s->reference(d->values, d->values[last]);
    for (size_t i = 0; i < s->buffers[last].n; i++) {
        double got = value_at(&s->buffers[last], d->bytes[last], i), want = d->values[last][i];
        if (fabs(got - want) <= s->tolerance) continue;
        snprintf(why, size, "wrong result: element %zu is %g instead of %g", i, got, want);
        return false;
    }
    return true;
}
