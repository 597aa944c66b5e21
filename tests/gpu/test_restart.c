/* Workers after a compile: NVRTC initialises the driver in its process, and a worker forked behind that gets
 * none. Needs NVRTC and no GPU: kernels are those of the fake driver (unit/profile/fake_cuda.h), and cuInit
 * is that of fake_driver.c, which the dynamic linker must find in place of the real one. */
#include "gpu/check.h"

#include "profile/bench.h"
#include "profile/compile.h"
#include "unit/profile/fake_cuda.h"

#include <string.h>

static mo_cu_result real_init(unsigned flags)
{
    mo_cu_result (*init)(unsigned) = NULL;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    void *address = library == NULL ? NULL : dlsym(library, "cuInit");
    memcpy(&init, &address, sizeof address);
    return init == NULL ? 1 : init(flags);
}

static mo_status load(mo_cuda *cuda, mo_error *error)
{
    mo_status status = fake_cuda_load(cuda, error);
    cuda->init = real_init;
    return status;
}

/* Runs one kernel of the fake driver. */
static mo_call run(mo_bench *bench, const char *kernel, mo_error *error)
{
    float in[FAKE_COUNT], out[FAKE_COUNT];
    const void *contents[] = {in};
    void *outputs[] = {out};
    int64_t bytes = sizeof in;
    mo_arg args[] = {{.kind = MO_ARG_INPUT}, {.kind = MO_ARG_OUTPUT}};
    mo_launch launch = {
        .kernel = kernel, .grid = {1, 1, 1}, .cluster = {1, 1, 1}, .block = {32, 1, 1}, .n_args = 2};
    launch.args = args;
    mo_dataset data = {.n_inputs = 1, .n_sets = 1, .input_bytes = &bytes, .contents = contents};
    mo_job job = {.data = &data,
                  .cubin = fake_cuda_image(),
                  .cubin_bytes = strlen(fake_cuda_image()) + 1,
                  .n_launches = 1,
                  .launches = &launch,
                  .n_outputs = 1,
                  .output_bytes = &bytes};
    for (int i = 0; i < FAKE_COUNT; i++) in[i] = (float)i;
    mo_bench_add_data(bench, &data);
    mo_bench_add_job(bench, &job);
    mo_bench_limit(bench, 20);
    mo_call call = mo_bench_run(bench, &job, 0, outputs, error);
    CHECK(call != MO_CALL_OK || out[5] == 10, "%s gave %g", kernel, (double)out[5]);
    mo_bench_drop_job(bench, &job);
    mo_bench_drop_data(bench, &data);
    return call;
}

static const mo_compile_request request = {
    .source = "extern \"C\" __global__ void f(int *x) { *x = 1; }\n", .name = "f.cu", .arch = "sm_80"};

static void compile_in_child(mo_nvrtc *nvrtc)
{
    mo_compiled c;
    mo_compiler compiler = mo_compiler_nvrtc(nvrtc);
    mo_compile_all(&compiler, 1, NULL, 1, &request, &c);
    CHECK(c.ok && c.n_usages == 1, "%s", c.log);
    mo_compiled_free(&c);
}

static void compile_here(mo_nvrtc *nvrtc)
{
    mo_compiled c;
    mo_nvrtc_compile(nvrtc, &request, &c);
    mo_compiled_free(&c);
}

int main(void)
{
    mo_error error = {0};
    mo_nvrtc *nvrtc = mo_nvrtc_open(&error);
    if (nvrtc == NULL) {
        printf("skipped: %s\n", error.text);
        return SKIPPED;
    }
    mo_bench *bench = mo_bench_new(load, 0);
    CHECK(run(bench, "twice", &error) == MO_CALL_OK, "%s", error.text);
    compile_in_child(nvrtc);
    CHECK(!driver_is_loaded(), "compiling has loaded the driver in this process");
    CHECK(run(bench, "fault", &error) == MO_CALL_FAILED, "a fault was not seen");
    CHECK(run(bench, "twice", &error) == MO_CALL_OK, "after a fault and a compile: %s", error.text);
    /* The other way round, to see that the fake is as strict as the real one. */
    compile_here(nvrtc);
    bool spoilt = driver_is_loaded();
    CHECK(run(bench, "fault", &error) == MO_CALL_FAILED, "a fault was not seen");
    CHECK((run(bench, "twice", &error) == MO_CALL_OK) == !spoilt,
          "a worker behind a compile in this process");
    printf("NVRTC %s %s the driver\n", mo_nvrtc_version(nvrtc),
           spoilt ? "initialises" : "does not initialise");
    mo_bench_free(bench);
    mo_nvrtc_close(nvrtc);
    printf("restart: %d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
