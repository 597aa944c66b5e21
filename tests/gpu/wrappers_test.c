/* Wrappers and sample kernels on a real GPU: each kernel of wrappers.cu runs there and in the emulator and
 * must give the same words; the samples must give their references.
 *
 * usage: wrappers_test SOURCE_DIR [--emulator]
 * With --emulator no GPU is used: each kernel must give the same words under all kinds of schedules. Exits
 * with 77 when there is no GPU or no NVRTC. */
#include "gpu/nvrtc.h"
#include "gpu/run.h"
#include "samples.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 64, WORDS = 4096, SHARED_BYTES = 16384, GROUP_SHARED = 40960, SEEDS = 8 };

/* What an output word is, one letter for each slot of a thread, repeated:
 *   w  a word; f  a float, any NaN equal to any other; t  a float within 1e-4
 *   g  a float within 1e-3
 *   h, b, m  a pair of f16, of bf16, of f16 (low) and bf16 (high), NaNs equal
 *   e, l, r, s  results of ex2, lg2, rcp, rsqrt
 * interleaved: word i belongs to slot i % slots, else to slot i / 64. With `group` the block is one warp
 * group of 128 threads, whose words count as those of 64 with twice the slots, and the GPU must be an sm_90.
 */
typedef struct {
    const char *kernel, *kinds;
    int slots;
    bool interleaved, moderate; /* moderate: inputs are floats in -2..2; else all kinds of bit patterns */
    int least_arch;
    unsigned blocks;
    bool group;
} wrapper;

static const wrapper wrappers[] = {
    {"narrow", "mhbm", 64, false, false, 80, 1, false},
    {"widen", "f", 64, false, false, 80, 1, false},
    {"approximate", "elrs", 48, false, false, 80, 1, false},
    {"exact", "fffwf", 60, false, false, 80, 1, false},
    {"shuffles", "fffw", 20, false, false, 80, 1, false},
    {"ldmatrix", "w", 29, false, false, 80, 1, false},
    {"products", "t", 16, false, true, 80, 1, false},
    {"copies", "w", 23, false, false, 80, 1, false},
    {"vectors", "wwwwwwwwwwwmwwwwwwww", 20, true, false, 80, 1, false},
    {"signals", "w", 2, false, false, 80, 1, false},
    {"bulk", "w", 14, false, false, 90, 2, false},
    {"warp_group", "g", 64, false, true, 90, 1, true},
    {"warp_group_shapes", "g", 64, false, true, 90, 1, true},
};

enum { N_WRAPPERS = sizeof wrappers / sizeof *wrappers };

typedef struct {
    const char *directory;
    bool emulator_only;
    int failures;
    mo_emu *emu;
    mo_cuda cuda;
    mo_gpu gpu;
    mo_cu_module module;
    _Alignas(128) unsigned in[WORDS];
    unsigned host[WORDS], device[WORDS];
} test;

/* ---- comparing ---- */

static bool same_float(unsigned a, unsigned b)
{
    return a == b || (isnan(mo_emu_as_float(a)) && isnan(mo_emu_as_float(b)));
}

static bool same_half(unsigned a, unsigned b)
{
    return a == b || ((a & 0x7fffu) > 0x7c00u && (b & 0x7fffu) > 0x7c00u);
}

static bool same_bf16(unsigned a, unsigned b)
{
    return a == b || ((a & 0x7fffu) > 0x7f80u && (b & 0x7fffu) > 0x7f80u);
}

static bool near(unsigned a, unsigned b, double relative, double absolute)
{
    double x = (double)mo_emu_as_float(a), y = (double)mo_emu_as_float(b);
    return same_float(a, b) || fabs(x - y) <= relative * fabs(y) + absolute;
}

/* The approximations by the accuracy that the PTX manual states, and the host's own rounding. */
static bool agree(char kind, unsigned device, unsigned host)
{
    const double ulp = 0x1p-23, tiny = 0x1p-148;
    switch (kind) {
    case 'f': return same_float(device, host);
    case 't': return near(device, host, 0, 1e-4);
    case 'g': return near(device, host, 0, 1e-3);
    case 'h': return same_half(device & 0xffffu, host & 0xffffu) && same_half(device >> 16, host >> 16);
    case 'b': return same_bf16(device & 0xffffu, host & 0xffffu) && same_bf16(device >> 16, host >> 16);
    case 'm': return same_half(device & 0xffffu, host & 0xffffu) && same_bf16(device >> 16, host >> 16);
    case 'e': return near(device, host, 3 * ulp, tiny);
    case 'l': return near(device, host, 3 * ulp, 0x1p-22);
    case 'r': return near(device, host, 2 * ulp, tiny);
    case 's': return near(device, host, 4 * ulp, tiny);
    default: return device == host;
    }
}

static char kind_of(const wrapper *w, int word)
{
    int slot = w->interleaved ? word % w->slots : word / THREADS;
    return w->kinds[(size_t)slot % strlen(w->kinds)];
}

static void compare(test *t, const wrapper *w, const unsigned *got, const char *where)
{
    int wrong = 0;
    for (int i = 0; i < w->slots * THREADS; i++) {
        char kind = kind_of(w, i);
        if (agree(kind, got[i], t->host[i])) continue;
        if (wrong++ == 0)
            printf("mismatch %s: word %d (slot %d, thread %d, kind %c): %s %08x (%g), emulator %08x (%g)\n",
                   w->kernel, i, w->interleaved ? i % w->slots : i / THREADS,
                   w->interleaved ? i / w->slots : i % THREADS, kind, where, got[i],
                   (double)mo_emu_as_float(got[i]), t->host[i], (double)mo_emu_as_float(t->host[i]));
    }
    if (wrong == 0)
        printf("ok   %s: %d words agree\n", w->kernel, w->slots * THREADS);
    else
        printf("FAIL %s: %d of %d words differ\n", w->kernel, wrong, w->slots * THREADS);
    if (wrong > 0) t->failures++;
}

static unsigned threads_of(const wrapper *w)
{
    return w->group ? 2 * THREADS : THREADS;
}

static unsigned shared_of(const wrapper *w)
{
    return w->group ? GROUP_SHARED : SHARED_BYTES;
}

/* ---- inputs ---- */

static void fill_input(test *t, bool moderate)
{
    static const unsigned special[] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000,
                                       0x7fc00000, 0xffc12345, 0x00000001, 0x80000001, 0x007fffff, 0x00800000,
                                       0x7f7fffff, 0xff7fffff, 0x477fefff, 0x477ff000, 0x477fe000, 0x38800000,
                                       0x387fffff, 0x33000000, 0x33000001, 0x32ffffff, 0x3f801000, 0x3f803000,
                                       0x3f808000, 0x3f818000, 0x7f7f8000, 0x42fe0000, 0xc2fc0000, 0xc3150000,
                                       0x43000000, 0x3f7fffff, 0x3f800001, 0x7f800001, 0xff800001};
    enum { N_SPECIAL = sizeof special / sizeof *special };
    uint64_t state = 1;
    for (int i = 0; i < WORDS; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        unsigned bits = (unsigned)(state >> 32);
        if (moderate)
            t->in[i] = mo_emu_as_uint((float)((double)bits * 0x1p-30 - 2));
        else if (i < 2 * N_SPECIAL)
            t->in[i] = special[i % N_SPECIAL];
        else if (i % 2 == 0)
            t->in[i] = bits;
        else
            t->in[i] = (bits & 0x807fffffu) | (112u + (bits >> 23 & 31u)) << 23; /* of the size of f16 */
    }
}

/* ---- the emulator ---- */

static bool run_emulated(test *t, const wrapper *w, uint64_t seed, unsigned *out)
{
    char why[4096];
    mo_emu_launch launch = {.kernel = w->kernel,
                            .grid = {w->blocks, 1, 1},
                            .block = {threads_of(w), 1, 1},
                            .cluster = {w->blocks, 1, 1},
                            .shared_bytes = shared_of(w),
                            .n_args = 2,
                            .args = {t->in, out},
                            .seed = seed};
    memset(out, 0xff, WORDS * sizeof *out);
    mo_emu_forget_buffers(t->emu);
    mo_emu_add_buffer(t->emu, "in", t->in, sizeof t->in, false);
    mo_emu_add_buffer(t->emu, "out", out, WORDS * sizeof *out, true);
    if (mo_emu_run(t->emu, &launch, why, sizeof why)) return true;
    printf("FAIL %s, emulator, seed %d: %s\n", w->kernel, (int)seed, why);
    t->failures++;
    return false;
}

static bool open_emulator(test *t, const char *text)
{
    char include[1024], error[8192];
    snprintf(include, sizeof include, "%s/tests/emu", t->directory);
    t->emu = mo_emu_load_source(text, "wrappers.cu", include, error, sizeof error);
    if (t->emu == NULL) printf("FAIL wrappers.cu does not compile for the host:\n%s\n", error);
    return t->emu != NULL;
}

/* ---- the device ---- */

static bool compile(test *t, const mo_nvrtc *nvrtc, const char *text, const char *name)
{
    char arch[16];
    mo_error error;
    snprintf(arch, sizeof arch, "sm_%d%s", t->gpu.facts.arch, t->gpu.facts.arch >= 90 ? "a" : "");
    mo_compile_request request = {.source = text, .name = name, .arch = arch};
    mo_compiled compiled;
    mo_nvrtc_compile(nvrtc, &request, &compiled);
    bool ok = compiled.ok;
    if (!ok) printf("FAIL %s does not compile: %s\n", name, compiled.log);
    if (ok && !mo_gpu_load(&t->gpu, compiled.cubin, &t->module, &error)) {
        printf("FAIL %s: %s\n", name, error.text);
        ok = false;
    }
    mo_compiled_free(&compiled);
    if (!ok) t->failures++;
    return ok;
}

static bool launch(test *t, const char *name, mo_emu_dim grid, mo_emu_dim block, mo_emu_dim cluster,
                   unsigned shared, void **args)
{
    mo_error error;
    bool fits = true;
    mo_gpu_kernel kernel = {.grid = {grid.x, 1, 1},
                            .cluster = {cluster.x == 0 ? 1 : cluster.x, 1, 1},
                            .block = {block.x, 1, 1},
                            .shared_bytes = shared};
    bool ok = mo_gpu_prepare(&t->gpu, t->module, name, &kernel, &fits, &error) &&
              mo_gpu_launch(&t->gpu, &kernel, args, &error) && mo_gpu_synchronize(&t->gpu, name, &error);
    if (!ok) printf("FAIL %s: %s\n", name, error.text);
    if (!ok) t->failures++;
    return ok;
}

static bool run_on_device(test *t, const wrapper *w)
{
    mo_cu_pointer in = 0, out = 0;
    mo_error error;
    void *args[] = {&in, &out};
    bool ok = mo_gpu_alloc(&t->gpu, &in, sizeof t->in, &error) &&
              mo_gpu_alloc(&t->gpu, &out, sizeof t->device, &error) &&
              mo_gpu_write(&t->gpu, in, t->in, sizeof t->in, &error) &&
              mo_gpu_fill(&t->gpu, out, 0xff, sizeof t->device, &error) &&
              launch(t, w->kernel, (mo_emu_dim){w->blocks, 1, 1}, (mo_emu_dim){threads_of(w), 1, 1},
                     (mo_emu_dim){w->blocks, 1, 1}, shared_of(w), args) &&
              mo_gpu_read(&t->gpu, t->device, out, sizeof t->device, &error);
    mo_gpu_free(&t->gpu, &in);
    mo_gpu_free(&t->gpu, &out);
    return ok;
}

/* ---- samples on the device ---- */

/* CUtensorMap and its encoder by cuda.h; found in the driver, since only this test needs it. */
typedef struct {
    _Alignas(64) uint64_t words[16];
} device_map;

typedef unsigned encode_tiled(device_map *map, int type, unsigned rank, void *base, const uint64_t *size,
                              const uint64_t *stride, const unsigned *box, const unsigned *element_stride,
                              int interleave, int swizzle, int promotion, int out_of_bounds);

static bool encode(const mo_emu_tensor_map *m, mo_cu_pointer base, device_map *map)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    encode_tiled *call = NULL;
    if (library != NULL) *(void **)&call = dlsym(library, "cuTensorMapEncodeTiled");
    if (call == NULL) return false;
    const unsigned ones[3] = {1, 1, 1};
    const int f16 = 6, swizzle_128 = 3, promote_128 = 2;
    return call(map, f16, (unsigned)m->rank, (void *)(uintptr_t)base, m->size, m->stride, m->box, ones, 0,
                swizzle_128, promote_128, 0) == 0;
}

static bool upload(test *t, const sample *s, sample_data *d, mo_cu_pointer *at)
{
    mo_error error;
    for (int i = 0; i < d->n; i++) {
        size_t bytes = sample_bytes(&s->buffers[i]);
        sample_fill(s, d, i);
        if (mo_gpu_alloc(&t->gpu, &at[i], bytes, &error) &&
            mo_gpu_write(&t->gpu, at[i], d->bytes[i], bytes, &error))
            continue;
        printf("FAIL %s: %s\n", s->kernel, error.text);
        t->failures++;
        return false;
    }
    return true;
}

static void run_sample(test *t, const sample *s)
{
    sample_data d = sample_data_make(s);
    mo_cu_pointer at[MAX_BUFFERS] = {0};
    device_map map;
    mo_error error;
    char why[256];
    void *args[MAX_BUFFERS];
    for (int i = 0; i < MAX_BUFFERS; i++) args[i] = &at[i];
    mo_emu_tensor_map shape = sample_map(NULL);
    int last = d.n - 1;
    if (upload(t, s, &d, at)) {
        bool ok = s->map_argument == 0 || encode(&shape, at[s->map_argument], &map);
        if (s->map_argument > 0) args[s->map_argument] = &map;
        if (!ok) snprintf(why, sizeof why, "the tensor map cannot be encoded");
        ok = ok && launch(t, s->kernel, s->grid, s->block, s->cluster, s->shared_bytes, args) &&
             mo_gpu_read(&t->gpu, d.bytes[last], at[last], sample_bytes(&s->buffers[last]), &error);
        if (ok && sample_check(s, &d, why, sizeof why)) {
            printf("ok   %s on the device\n", s->kernel);
        } else {
            printf("FAIL %s on the device: %s\n", s->kernel, ok || s->map_argument > 0 ? why : "no result");
            t->failures++;
        }
    }
    for (int i = 0; i < MAX_BUFFERS; i++) mo_gpu_free(&t->gpu, &at[i]);
    sample_data_free(&d);
}

static void run_samples(test *t, const mo_nvrtc *nvrtc)
{
    for (size_t i = 0; i < n_samples; i++) {
        if (samples[i].least_arch > t->gpu.facts.arch) continue;
        char path[256], name[128];
        snprintf(name, sizeof name, "%s.cu", samples[i].file);
        snprintf(path, sizeof path, "tests/emu/samples/%s", name);
        char *text = sample_text(t->directory, path, NULL, NULL);
        if (compile(t, nvrtc, text, name)) run_sample(t, &samples[i]);
        mo_gpu_unload(&t->gpu, &t->module);
        free(text);
    }
}

/* ---- all ---- */

static void test_schedules(test *t, const wrapper *w)
{
    if (!run_emulated(t, w, 0, t->host)) return;
    for (uint64_t seed = 1; seed < SEEDS; seed++) {
        if (!run_emulated(t, w, seed, t->device)) return;
        if (memcmp(t->host, t->device, sizeof t->host) == 0) continue;
        printf("FAIL %s: seed %d gives other words than seed 0\n", w->kernel, (int)seed);
        t->failures++;
        return;
    }
    printf("ok   %s: the same under %d schedules\n", w->kernel, SEEDS);
}

static void test_wrappers(test *t)
{
    for (int i = 0; i < N_WRAPPERS; i++) {
        const wrapper *w = &wrappers[i];
        fill_input(t, w->moderate);
        if (t->emulator_only) {
            test_schedules(t, w);
        } else if (w->least_arch > t->gpu.facts.arch || (w->group && t->gpu.facts.arch != 90)) {
            printf("skip %s: needs sm_%d%s\n", w->kernel, w->least_arch, w->group ? "a" : "");
        } else if (run_emulated(t, w, 0, t->host) && run_on_device(t, w)) {
            compare(t, w, t->device, "device");
        }
    }
}

static int test_device(test *t, const char *text)
{
    static mo_error error;
    mo_nvrtc *nvrtc = mo_nvrtc_open(&error);
    if (nvrtc == NULL || mo_cuda_load(&t->cuda, &error) != MO_OK ||
        !mo_gpu_open(&t->gpu, &t->cuda, 0, &error)) {
        printf("skipped: %s\n", error.text);
        mo_nvrtc_close(nvrtc);
        return 77;
    }
    printf("%s, driver %s\n", t->gpu.facts.name, t->gpu.facts.driver);
    if (compile(t, nvrtc, text, "wrappers.cu")) test_wrappers(t);
    mo_gpu_unload(&t->gpu, &t->module);
    run_samples(t, nvrtc);
    mo_gpu_close(&t->gpu);
    mo_nvrtc_close(nvrtc);
    return t->failures == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
    static test t;
    if (argc < 2 || (argc > 2 && strcmp(argv[2], "--emulator") != 0)) {
        fprintf(stderr, "usage: %s SOURCE_DIR [--emulator]\n", argv[0]);
        return 2;
    }
    t.directory = argv[1];
    t.emulator_only = argc > 2;
    char *text = sample_text(t.directory, "tests/gpu/wrappers.cu", NULL, NULL);
    int status = 1;
    if (open_emulator(&t, text)) {
        if (t.emulator_only) test_wrappers(&t);
        status = t.emulator_only ? t.failures != 0 : test_device(&t, text);
    }
    printf("%d failures\n", t.failures);
    mo_emu_free(t.emu);
    free(text);
    return status;
}
