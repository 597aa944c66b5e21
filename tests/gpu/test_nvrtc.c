/* Compiles for real: good and bad source, several threads, every architecture, and the kernels of the
 * profiler itself. No GPU is needed. */
#include "gpu/check.h"

#include "base/arena.h"
#include "cost/device.h"
#include "profile/compile.h"
#include "profile/floor.h"
#include "profile/oracle_kernels.h"

#include <stdlib.h>
#include <string.h>

static const char good[] = "extern \"C\" __global__ void scale(float *x, float f)\n"
                           "{\n"
                           "    __shared__ float tile[128];\n"
                           "    tile[threadIdx.x] = x[threadIdx.x];\n"
                           "    __syncthreads();\n"
                           "    x[threadIdx.x] = f * tile[127 - threadIdx.x];\n"
                           "}\n";
static const char bad[] = "extern \"C\" __global__ void broken(float *x) { x[0] = undefined_name; }\n";

static void good_source(const mo_nvrtc *nvrtc, const char *arch)
{
    mo_compile_request request = {.source = good, .name = "good.cu", .arch = arch, .want_ptx = true};
    mo_compiled c;
    mo_nvrtc_compile(nvrtc, &request, &c);
    CHECK(c.ok, "%s: %s", arch, c.log);
    CHECK(c.cubin_bytes > 100 && memcmp(c.cubin, "\177ELF", 4) == 0, "%s: no ELF image", arch);
    CHECK(c.ptx != NULL && strstr(c.ptx, "scale") != NULL, "%s: no PTX", arch);
    CHECK(c.n_usages == 1, "%s: %d kernels in the log: %s", arch, c.n_usages, c.log);
    if (c.n_usages == 1) {
        CHECK(strcmp(c.usages[0].name, "scale") == 0, "%s", c.usages[0].name);
        CHECK(c.usages[0].registers > 0 && c.usages[0].registers < 64, "%d", c.usages[0].registers);
        CHECK(c.usages[0].shared_static >= 512, "%d", c.usages[0].shared_static);
    }
    mo_compiled_free(&c);
}

static void bad_source(const mo_nvrtc *nvrtc)
{
    mo_compile_request request = {.source = bad, .name = "bad.cu", .arch = "sm_80"};
    mo_compiled c;
    mo_nvrtc_compile(nvrtc, &request, &c);
    CHECK(!c.ok && c.cubin == NULL, "a source with an error compiled");
    CHECK(strstr(c.log, "bad.cu(1)") != NULL && strstr(c.log, "undefined_name") != NULL, "%s", c.log);
    mo_compiled_free(&c);
    request = (mo_compile_request){.source = good, .name = "good.cu", .arch = "sm_13"};
    mo_nvrtc_compile(nvrtc, &request, &c);
    CHECK(!c.ok && strlen(c.log) > 0, "an unknown architecture compiled");
    mo_compiled_free(&c);
}

enum { MANY = 24 };

static void many_threads(mo_nvrtc *nvrtc)
{
    mo_compile_request requests[MANY];
    mo_compiled results[MANY];
    mo_compiler compiler = mo_compiler_nvrtc(nvrtc);
    for (int i = 0; i < MANY; i++) {
        requests[i] = (mo_compile_request){.source = i % 3 == 2 ? bad : good,
                                           .name = i % 3 == 2 ? "bad.cu" : "good.cu",
                                           .arch = i % 2 == 0 ? "sm_80" : "sm_90a"};
    }
    mo_compile_all(&compiler, 4, NULL, MANY, requests, results);
    for (int i = 0; i < MANY; i++) {
        CHECK(results[i].ok == (i % 3 != 2), "source %d: %s", i, results[i].log);
        mo_compiled_free(&results[i]);
    }
}

static void own_kernels(const mo_nvrtc *nvrtc, mo_arena *arena, const char *arch)
{
    const mo_compile_request requests[] = {mo_floor_read_request(arena, arch, 1 << 20),
                                           mo_matmul_request(arch), mo_floor_mma_request(arena, arch),
                                           mo_floor_wgmma_request(arena)};
    int n = strcmp(arch, "sm_90a") == 0 ? 4 : 3;
    for (int i = 0; i < n; i++) {
        mo_compiled c;
        mo_nvrtc_compile(nvrtc, &requests[i], &c);
        CHECK(c.ok && c.n_usages > 0, "%s, source %d: %s", arch, i, c.log);
        bool quiet = strstr(c.log, "warning") == NULL && strstr(c.log, "serialized") == NULL;
        CHECK(quiet, "%s, source %d: %s", arch, i, c.log);
        for (int k = 0; k < c.n_usages; k++) {
            CHECK(c.usages[k].spill_stores == 0, "%s: %s spills", arch, c.usages[k].name);
        }
        mo_compiled_free(&c);
    }
}

static void not_a_library(void)
{
    mo_error error = {0};
    setenv("MIRAGE_OPT_NVRTC", "/dev/null/libnvrtc.so", 1);
    mo_nvrtc *nvrtc = mo_nvrtc_open(&error);
    CHECK(nvrtc == NULL && error.status == MO_ERR_ENV, "a library that does not exist was opened");
    CHECK(strstr(error.text, "/dev/null/libnvrtc.so") != NULL, "%s", error.text);
    CHECK(strstr(error.text, "hint: ") != NULL, "%s", error.text);
    mo_nvrtc_close(nvrtc);
}

int main(void)
{
    int archs[64], tried = 0;
    mo_arena *arena = mo_arena_new();
    mo_error error = {0};
    mo_nvrtc *nvrtc = mo_nvrtc_open(&error);
    if (nvrtc == NULL) {
        printf("skipped: %s\n", error.text);
        mo_arena_free(arena);
        return SKIPPED;
    }
    many_threads(nvrtc);
    CHECK(!driver_is_loaded(), "compiling in a child has loaded the CUDA driver here");
    int n = mo_nvrtc_archs(nvrtc, archs, 64);
    CHECK(n > 0 && strchr(mo_nvrtc_version(nvrtc), '.') != NULL, "NVRTC %s", mo_nvrtc_version(nvrtc));
    for (int i = 0; i < n; i++) {
        CHECK(i == 0 || archs[i] > archs[i - 1], "architectures are not ascending");
        const char *arch = mo_arch_name(archs[i]);
        if (arch == NULL) continue; /* none that this tool compiles for */
        good_source(nvrtc, arch);
        own_kernels(nvrtc, arena, arch);
        tried++;
    }
    CHECK(tried > 0, "NVRTC compiles for none of this tool's architectures");
    bad_source(nvrtc);
    mo_nvrtc_close(nvrtc);
    not_a_library();
    mo_arena_free(arena);
    printf("NVRTC: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
