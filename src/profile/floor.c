/* Each measurement is a job with one input and one small output, timed like a candidate. */
#include "profile/floor.h"

#include "cost/device.h"
#include "profile/run_state.h"

#include <stdio.h>
#include <string.h>

enum { READ_THREADS = 512, MMA_ROUNDS = 256, MMA_THREADS = 256, FRAGMENT_WORDS = 1024 };
static const double probe_seconds = 20;

/* Compiles `source` and describes its one kernel's buffers: one input, one output of 16 bytes. */
static bool prepare(mo_probe *probe, const mo_compiler *compiler, const char *arch, const char *source,
                    const char *const *options, int64_t input_bytes)
{
    memset(probe, 0, sizeof *probe);
    mo_compile_request request = {.source = source, .name = "floor.cu", .arch = arch, .options = options};
    compiler->compile(compiler->context, &request, &probe->compiled);
    probe->input_bytes = input_bytes;
    probe->output_bytes = 16;
    probe->args[0] = (mo_arg){.kind = MO_ARG_INPUT};
    probe->args[1] = (mo_arg){.kind = MO_ARG_OUTPUT};
    probe->launch = (mo_launch){.cluster = {1, 1, 1}, .n_args = 2, .args = probe->args};
    probe->data = (mo_dataset){.n_inputs = 1, .n_sets = 1, .input_bytes = &probe->input_bytes};
    probe->job = (mo_job){.data = &probe->data,
                          .cubin = probe->compiled.cubin,
                          .cubin_bytes = probe->compiled.cubin_bytes,
                          .n_launches = 1,
                          .launches = &probe->launch,
                          .n_outputs = 1,
                          .output_bytes = &probe->output_bytes};
    return probe->compiled.ok;
}

static void shape(mo_launch *launch, const char *kernel, int blocks, int threads, unsigned shared_bytes)
{
    launch->kernel = kernel;
    launch->shared_bytes = shared_bytes;
    for (int i = 0; i < 3; i++) launch->grid[i] = launch->block[i] = 1;
    launch->grid[0] = (unsigned)blocks;
    launch->block[0] = (unsigned)threads;
}

bool mo_probe_read(mo_probe *probe, const mo_compiler *compiler, const char *arch, int64_t bytes)
{
    char define[64];
    const char *options[] = {define, NULL};
    bytes = (bytes + 15) / 16 * 16;
    if (bytes == 0) bytes = 16;
    snprintf(define, sizeof define, "-DREAD_BYTES=%lldull", (long long)bytes);
    bool ok = prepare(probe, compiler, arch, mo_floor_read_source, options, bytes);
    shape(&probe->launch, "read4", 264, READ_THREADS, 0);
    return ok;
}

void mo_probe_free(mo_probe *probe)
{
    mo_compiled_free(&probe->compiled);
}

static bool time_probe(mo_bench *bench, mo_probe *probe, mo_job *flush, double *best)
{
    mo_timing timing;
    mo_bench_add_job(bench, &probe->job);
    mo_bench_limit(bench, probe_seconds);
    mo_call call = mo_bench_time(bench, &probe->job, 0, flush, *best > 0 ? 1.3 * *best : 0, &timing, NULL);
    if (call == MO_CALL_OK && (*best <= 0 || timing.times.median < *best)) *best = timing.times.median;
    mo_bench_drop_job(bench, &probe->job);
    return call == MO_CALL_OK;
}

double mo_floor_read(mo_bench *bench, const mo_compiler *compiler, const char *arch, int sms, int64_t bytes,
                     mo_job *flush)
{
    static const struct {
        const char *kernel;
        int blocks_per_sm;
    } variants[] = {{"read2", 1}, {"read2", 2}, {"read4", 1}, {"read4", 2}, {"read4", 4}, {"read8", 2}};
    double best = 0;
    mo_probe probe;
    if (!mo_probe_read(&probe, compiler, arch, bytes)) {
        mo_probe_free(&probe);
        return 0;
    }
    mo_bench_add_data(bench, &probe.data);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        shape(&probe.launch, variants[i].kernel, variants[i].blocks_per_sm * sms, READ_THREADS, 0);
        if (!time_probe(bench, &probe, flush, &best)) break;
    }
    mo_bench_drop_data(bench, &probe.data);
    mo_probe_free(&probe);
    return best;
}

/* Values of modest size and full mantissas: zeros would draw less power and run faster. */
static void fill_fragments(uint32_t *words)
{
    uint32_t state = 12345;
    for (int i = 0; i < FRAGMENT_WORDS; i++) {
        state = state * 1664525u + 1013904223u;
        words[i] = 0x30003000u | (state >> 8 & 0x8bff8bffu);
    }
}

/* Rate of one kernel that does `flops` operations, or 0. */
static double rate(mo_bench *bench, const mo_compiler *compiler, const char *arch, const char *source,
                   const char *const *options, const mo_launch *shape_of, double flops)
{
    uint32_t words[FRAGMENT_WORDS];
    const void *contents[] = {words};
    double us = 0;
    mo_probe probe;
    if (prepare(&probe, compiler, arch, source, options, sizeof words)) {
        fill_fragments(words);
        probe.data.contents = contents;
        shape(&probe.launch, shape_of->kernel, (int)shape_of->grid[0], MMA_THREADS, shape_of->shared_bytes);
        mo_bench_add_data(bench, &probe.data);
        time_probe(bench, &probe, NULL, &us);
        mo_bench_drop_data(bench, &probe.data);
    }
    mo_probe_free(&probe);
    return us > 0 ? flops / us : 0;
}

void mo_floor_register_list(mo_str *option)
{
    mo_str_add(option, "-DLIST=\"");
    for (int i = 0; i < 128; i++) mo_str_printf(option, "%s%%%d", i == 0 ? "" : ",", i);
    mo_str_add(option, "\"");
}

double mo_floor_matrix(mo_bench *bench, const mo_compiler *compiler, const char *arch, int sms)
{
    char rounds[32];
    mo_str list = {0};
    snprintf(rounds, sizeof rounds, "-DMMA_ROUNDS=%d", MMA_ROUNDS);
    mo_floor_register_list(&list);
    const char *options[] = {rounds, mo_str_text(&list), NULL};
    const double warps = MMA_THREADS / 32.0, groups = MMA_THREADS / 128.0;
    mo_launch launch = {.kernel = "mma_rate", .grid = {2 * (unsigned)sms, 1, 1}};
    double best = rate(bench, compiler, arch, mo_floor_mma_source, options, &launch,
                       2.0 * sms * warps * MMA_ROUNDS * 16 * 2.0 * 16 * 8 * 16);
    if (strcmp(arch, "sm_90a") == 0) {
        launch = (mo_launch){
            .kernel = "wgmma_rate", .grid = {(unsigned)sms, 1, 1}, .shared_bytes = 50 * 1024};
        double whole = rate(bench, compiler, arch, mo_floor_wgmma_source, options, &launch,
                            sms * groups * MMA_ROUNDS * 4 * 2.0 * 64 * 256 * 16);
        if (whole > best) best = whole;
    }
    mo_str_free(&list);
    return best;
}

/* The rate of the matrix units is measured only where it may decide: its kernels take a while. */
void mo_profiling_limit(mo_profiling *run)
{
    const mo_profile_request *r = run->request;
    mo_profile_result *result = run->result;
    int sms = result->facts.sms;
    double time = result->outcomes[result->winner].times.median;
    mo_profile_limit *limit = &result->limit;
    const mo_device *table = mo_device_for_arch(r->arch);
    limit->bytes = mo_profile_bytes(r->program);
    limit->flops = mo_profile_flops(r->candidates[result->winner].graph);
    mo_log_progress(r->log, "measuring the limits of the GPU");
    mo_job *flush = run->flushes ? &run->flush.job : NULL;
    bool late = mo_deadline_passed(r->deadline);
    double memory = late ? 0 : mo_floor_read(run->bench, r->compiler, run->arch, sms, limit->bytes, flush);
    limit->measured = memory > 0;
    if (memory <= 0 && table != NULL) memory = (double)limit->bytes / (double)table->dram_bytes_per_us;
    double matrix = table == NULL ? 0 : (double)limit->flops / (double)table->mma_flops_per_us;
    if (!late && limit->flops > 0 && (table == NULL || matrix > 0.2 * memory)) {
        double rate = mo_floor_matrix(run->bench, r->compiler, run->arch, sms);
        if (rate > 0) matrix = (double)limit->flops / rate;
        else if (matrix > memory) limit->measured = false;
    }
    limit->bound = matrix > memory ? MO_BOUND_MATRIX : MO_BOUND_MEMORY;
    limit->floor_us = matrix > memory ? matrix : memory;
    limit->fraction = time > 0 ? limit->floor_us / time : 0;
}
