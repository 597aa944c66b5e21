/* The profiler on a real GPU: facts, runs, guards, lost workers, cold timings, floors and the products of
 * the reference. Prints what it measured.
 *
 * This process never calls the driver, nor NVRTC's compiler, which does: workers forked afterwards could not
 * use the GPU. That is what a run of the tool relies on as well, and is checked at the end. */
#include "gpu/check.h"

#include "base/clock.h"
#include "cost/device.h"
#include "profile/bench.h"
#include "profile/compile.h"
#include "profile/floor.h"
#include "profile/oracle_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 4096, BYTES = 4 * COUNT };

static const char source[] =
    "extern \"C\" __global__ void twice(const float *x, float *y, float *w)\n"
    "{ int i = blockIdx.x * 256 + threadIdx.x; y[i] = 2.f * x[i]; }\n"
    "extern \"C\" __global__ void half_done(const float *x, float *y, float *w)\n"
    "{ int i = blockIdx.x * 256 + threadIdx.x; if (i % 2) y[i] = x[i]; }\n"
    "extern \"C\" __global__ void overrun(const float *x, float *y, float *w)\n"
    "{ int i = blockIdx.x * 256 + threadIdx.x; y[i + 1] = x[i]; }\n"
    "extern \"C\" __global__ void fault(const float *x, float *y, float *w)\n"
    "{ *(volatile float *)4096ull = x[0]; }\n"
    "extern \"C\" __global__ void endless(const float *x, float *y, float *w)\n"
    "{ while (*(volatile const float *)x < 1e30f) { } y[0] = 1.f; }\n"
    "extern \"C\" __global__ void empty(const float *x, float *y, float *w) { }\n"
    "extern \"C\" __global__ void large(const float *x, float *y, float *w)\n"
    "{ extern __shared__ float s[]; int i = blockIdx.x * 256 + threadIdx.x;\n"
    "  s[threadIdx.x + 20000] = x[i]; __syncthreads(); y[i] = 2.f * s[threadIdx.x + 20000]; }\n"
    "#if __CUDA_ARCH__ >= 900\n"
    "extern \"C\" __global__ void clustered(const float *x, float *y, float *w)\n"
    "{ unsigned r, n; asm(\"mov.u32 %0, %%cluster_ctarank;\" : \"=r\"(r));\n"
    "  asm(\"mov.u32 %0, %%cluster_nctarank;\" : \"=r\"(n));\n"
    "  y[blockIdx.x * 256 + threadIdx.x] = float(n * 10 + r); }\n"
    "#endif\n";

typedef struct {
    mo_arena *arena;
    mo_bench *bench;
    mo_compiler compiler;
    const char *arch;
    mo_gpu_facts facts;
    mo_compiled compiled;
    float in[COUNT], out[COUNT];
    const void *contents[1];
    int64_t bytes;
    mo_arg args[3];
    mo_launch launch;
    mo_dataset data;
    mo_job job;
    mo_error error;
} fixture;

static void choose(fixture *f, const char *kernel, unsigned cluster, unsigned shared)
{
    if (f->job.launches != NULL) mo_bench_drop_job(f->bench, &f->job);
    f->launch = (mo_launch){.kernel = kernel,
                            .grid = {COUNT / 256, 1, 1},
                            .cluster = {cluster, 1, 1},
                            .block = {256, 1, 1},
                            .shared_bytes = shared,
                            .n_args = 3,
                            .args = f->args};
    f->job = (mo_job){.data = &f->data,
                      .cubin = f->compiled.cubin,
                      .cubin_bytes = f->compiled.cubin_bytes,
                      .n_launches = 1,
                      .launches = &f->launch,
                      .n_outputs = 1,
                      .output_bytes = &f->bytes,
                      .workspace_bytes = 1000};
    mo_bench_add_job(f->bench, &f->job);
}

static mo_call run(fixture *f, const char *kernel, unsigned cluster, unsigned shared, double seconds)
{
    void *outputs[] = {f->out};
    choose(f, kernel, cluster, shared);
    mo_bench_limit(f->bench, seconds);
    return mo_bench_run(f->bench, &f->job, 0, outputs, &f->error);
}

static void check_doubled(fixture *f, const char *kernel, unsigned shared)
{
    mo_call call = run(f, kernel, 1, shared, 20);
    CHECK(call == MO_CALL_OK, "%s: %s", kernel, f->error.text);
    for (int i = 0; i < COUNT && failures == 0; i++) CHECK(f->out[i] == 2 * f->in[i], "%s: %d", kernel, i);
}

static void runs(fixture *f)
{
    check_doubled(f, "twice", 0);
    check_doubled(f, "large", 96 * 1024);
    CHECK(run(f, "large", 1, 1 << 20, 20) == MO_CALL_NO_FIT, "a megabyte of shared memory was given");
    CHECK(run(f, "half_done", 1, 0, 20) == MO_CALL_OK, "%s", f->error.text);
    CHECK(isnan(f->out[0]) && f->out[1] == f->in[1], "outputs were not poisoned: %g", (double)f->out[0]);
    if (f->facts.arch < 90) return;
    mo_call call = run(f, "clustered", 4, 0, 20);
    CHECK(call == MO_CALL_OK, "%s", f->error.text);
    CHECK(f->out[0] == 40 && f->out[256 * 7] == 43, "clusters: %g %g", (double)f->out[0],
          (double)f->out[256 * 7]);
}

static void faults(fixture *f)
{
    double start = mo_clock_seconds();
    CHECK(run(f, "overrun", 1, 0, 20) == MO_CALL_BAD_WRITE, "a write behind the output was not seen");
    check_doubled(f, "twice", 0);
    CHECK(run(f, "fault", 1, 0, 20) == MO_CALL_FAILED, "an illegal access was not seen");
    printf("illegal access: %s\n", f->error.text);
    check_doubled(f, "twice", 0);
    CHECK(run(f, "endless", 1, 0, 2) == MO_CALL_TIMEOUT, "a kernel without end ended");
    check_doubled(f, "twice", 0);
    printf("three lost workers: %.1f s\n", mo_clock_seconds() - start);
}

static mo_compiled compiled(fixture *f, mo_compile_request request)
{
    mo_compiled result;
    mo_compile_all(&f->compiler, 1, NULL, 1, &request, &result);
    CHECK(result.ok, "%s: %s", request.name, result.log);
    return result;
}

static void floors(fixture *f, mo_job *flush)
{
    double last = 0;
    for (int64_t bytes = 1 << 20; bytes <= 128 << 20; bytes *= 4) {
        mo_compiled read = compiled(f, mo_floor_read_request(f->arena, f->arch, bytes));
        double us = mo_floor_read(f->bench, &read, f->facts.sms, bytes, flush);
        printf("read %lld MiB, cold: %.2f us, %.2f TB/s\n", (long long)bytes >> 20, us,
               (double)bytes / us / 1e6);
        CHECK(us > last, "%lld bytes in %g us", (long long)bytes, us);
        CHECK((double)bytes / us < 2e7, "%lld bytes in %g us", (long long)bytes, us);
        last = us;
        mo_compiled_free(&read);
    }
    mo_compiled mma = compiled(f, mo_floor_mma_request(f->arena, f->arch)), wgmma = {0};
    if (f->facts.arch == 90) wgmma = compiled(f, mo_floor_wgmma_request(f->arena));
    double fragments = mo_floor_matrix(f->bench, &mma, NULL, f->facts.sms);
    double tiles = mo_floor_matrix(f->bench, NULL, &wgmma, f->facts.sms);
    printf("matrix rate: %.0f TFLOP/s, of warp groups %.0f TFLOP/s\n", fragments / 1e6, tiles / 1e6);
    CHECK(fragments > 1e6 && fragments < 1e11, "%g", fragments);
    CHECK(f->facts.arch != 90 || (tiles > fragments && tiles < 1e11), "%g", tiles);
    mo_compiled_free(&mma);
    mo_compiled_free(&wgmma);
}

static void times(fixture *f)
{
    mo_timing timing;
    mo_probe flush;
    mo_compiled read = compiled(f, mo_floor_read_request(f->arena, f->arch, 16));
    if (!mo_probe_flush(&flush, &read, 4 * f->facts.l2_bytes)) return;
    mo_bench_add_data(f->bench, &flush.data);
    mo_bench_add_job(f->bench, &flush.job);
    choose(f, "empty", 1, 0);
    mo_bench_limit(f->bench, 30);
    mo_call call = mo_bench_time(f->bench, &f->job, 0, &flush.job, 0, &timing, &f->error);
    CHECK(call == MO_CALL_OK, "%s", f->error.text);
    printf("empty kernel: %.2f us (min %.2f, p90 %.2f, %d runs, %d sets, %d passes)\n", timing.times.median,
           timing.times.min, timing.times.p90, timing.times.runs, timing.sets, timing.passes);
    CHECK(timing.times.median > 0.1 && timing.times.median < 20, "%g us", timing.times.median);
    floors(f, &flush.job);
    mo_bench_drop_job(f->bench, &flush.job);
    mo_bench_drop_data(f->bench, &flush.data);
    mo_compiled_free(&read);
}

static void products(fixture *f)
{
    enum { M = 70, N = 90, K = 51, BATCH = 3 };
    static double a[BATCH * M * K], b[K * N], c[BATCH * M * N];
    static float fa[BATCH * M * K], fb[K * N], fc[BATCH * M * N];
    mo_matmul_device device;
    for (int i = 0; i < BATCH * M * K; i++) fa[i] = (float)(a[i] = i * 37 % 101 - 50);
    for (int i = 0; i < K * N; i++) fb[i] = (float)(b[i] = i * 53 % 97 - 48);
    mo_oracle_matmul s = {.batch = BATCH,
                          .m = M,
                          .n = N,
                          .k = K,
                          .a_batch = M * K,
                          .a_m = K,
                          .a_k = 1,
                          .b_batch = 0,
                          .b_k = 1,
                          .b_n = K}; /* b is stored transposed */
    mo_compiled kernels = compiled(f, mo_matmul_request(f->arch));
    mo_matmul_open(&device, f->bench, &kernels, 1);
    CHECK(mo_matmul_run(&device, &s, false, a, b, c), "the float64 product failed");
    CHECK(mo_matmul_run(&device, &s, true, fa, fb, fc), "the float32 product failed");
    for (int i = 0; i < BATCH * M * N && failures == 0; i++) {
        double sum = 0;
        for (int l = 0; l < K; l++) sum += a[i / N * K + l] * b[i % N * K + l];
        CHECK(c[i] == sum && (double)fc[i] == sum, "element %d: %g, %g, not %g", i, c[i], (double)fc[i], sum);
    }
    mo_matmul_close(&device);
    mo_compiled_free(&kernels);
}

static void fill(fixture *f)
{
    for (int i = 0; i < COUNT; i++) f->in[i] = (float)i;
    f->contents[0] = f->in;
    f->bytes = BYTES;
    f->args[0] = (mo_arg){.kind = MO_ARG_INPUT};
    f->args[1] = (mo_arg){.kind = MO_ARG_OUTPUT};
    f->args[2] = (mo_arg){.kind = MO_ARG_WORKSPACE};
    f->data = (mo_dataset){.n_inputs = 1, .n_sets = 1, .input_bytes = &f->bytes, .contents = f->contents};
    mo_bench_add_data(f->bench, &f->data);
    f->compiled = compiled(f, (mo_compile_request){.source = source, .name = "test.cu", .arch = f->arch});
}

int main(void)
{
    static fixture f;
    f.bench = mo_bench_new(mo_cuda_load, 0);
    mo_nvrtc *nvrtc = NULL;
    if (mo_bench_start(f.bench, &f.facts, &f.error) != MO_OK || (nvrtc = mo_nvrtc_open(&f.error)) == NULL) {
        printf("skipped: %s\n", f.error.text);
        mo_bench_free(f.bench);
        return SKIPPED;
    }
    printf("%s, driver %s, NVRTC %s, %d SMs, %d bytes of shared memory, L2 %lld bytes\n", f.facts.name,
           f.facts.driver, mo_nvrtc_version(nvrtc), f.facts.sms, f.facts.shared_per_block,
           (long long)f.facts.l2_bytes);
    f.arch = mo_arch_name(f.facts.arch);
    if (f.arch == NULL) {
        printf("skipped: this tool does not know GPUs of architecture %d\n", f.facts.arch);
        mo_nvrtc_close(nvrtc);
        mo_bench_free(f.bench);
        return SKIPPED;
    }
    f.compiler = mo_compiler_nvrtc(nvrtc);
    f.arena = mo_arena_new();
    fill(&f);
    if (f.compiled.ok) {
        runs(&f);
        products(&f);
        times(&f);
        faults(&f);
    }
    CHECK(!driver_is_loaded(), "this process has loaded the CUDA driver");
    mo_bench_free(f.bench);
    mo_compiled_free(&f.compiled);
    mo_nvrtc_close(nvrtc);
    mo_arena_free(f.arena);
    printf("device: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
