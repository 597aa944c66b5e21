/* Each measurement is a job with one input and one small output, timed like a candidate. */
#include "profile/floor.h"

#include "cost/device.h"
#include "profile/floor_shapes.h"
#include "profile/run_state.h"

#include <string.h>

enum { READ_THREADS = 512, MMA_THREADS = 256, WGMMA_SHARED = 48 << 10 };
static const double probe_seconds = 20;

/* The buffers of a compiled kernel: one input, one output of 16 bytes. */
static void prepare(mo_probe *probe, const mo_compiled *compiled, int64_t input_bytes)
{
    memset(probe, 0, sizeof *probe);
    probe->input_bytes[0] = input_bytes;
    probe->output_bytes = 16;
    probe->args[0] = (mo_arg){.kind = MO_ARG_INPUT};
    probe->args[1] = (mo_arg){.kind = MO_ARG_OUTPUT};
    probe->launch = (mo_launch){.cluster = {1, 1, 1}, .n_args = 2, .args = probe->args};
    probe->data = (mo_dataset){
        .n_inputs = 1, .n_sets = 1, .input_bytes = probe->input_bytes, .contents = probe->contents};
    probe->job = (mo_job){.data = &probe->data,
                          .cubin = compiled->cubin,
                          .cubin_bytes = compiled->cubin_bytes,
                          .n_launches = 1,
                          .launches = &probe->launch,
                          .n_outputs = 1,
                          .output_bytes = &probe->output_bytes};
}

static void shape(mo_launch *launch, const char *kernel, int blocks, int threads, unsigned shared_bytes)
{
    launch->kernel = kernel;
    launch->shared_bytes = shared_bytes;
    for (int i = 0; i < 3; i++) launch->grid[i] = launch->block[i] = 1;
    launch->grid[0] = (unsigned)blocks;
    launch->block[0] = (unsigned)threads;
}

bool mo_probe_flush(mo_probe *probe, const mo_compiled *read, int64_t bytes)
{
    if (!read->ok) return false;
    prepare(probe, read, 16 * mo_floor_pieces(bytes));
    shape(&probe->launch, "flush", 264, READ_THREADS, 0);
    probe->count = mo_floor_pieces(bytes);
    probe->input_bytes[1] = sizeof probe->count;
    probe->contents[1] = &probe->count;
    probe->args[2] = (mo_arg){.kind = MO_ARG_INPUT, .index = 1};
    probe->launch.n_args = 3;
    probe->data.n_inputs = 2;
    return true;
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

double mo_floor_read(mo_bench *bench, const mo_compiled *read, int sms, int64_t bytes, mo_job *flush)
{
    static const struct {
        const char *kernel;
        int blocks_per_sm;
    } variants[] = {{"read2", 1}, {"read2", 2}, {"read4", 1}, {"read4", 2}, {"read4", 4}, {"read8", 2}};
    double best = 0;
    mo_probe probe;
    if (!read->ok) return 0;
    prepare(&probe, read, 16 * mo_floor_pieces(bytes));
    mo_bench_add_data(bench, &probe.data);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        shape(&probe.launch, variants[i].kernel, variants[i].blocks_per_sm * sms, READ_THREADS, 0);
        if (!time_probe(bench, &probe, flush, &best)) break;
    }
    mo_bench_drop_data(bench, &probe.data);
    return best;
}

/* Values of modest size and full mantissas: zeros would draw less power and run faster. */
static void fill_fragments(uint32_t *words)
{
    uint32_t state = 12345;
    for (int i = 0; i < MO_FLOOR_FRAGMENT_WORDS; i++) {
        state = state * 1664525u + 1013904223u;
        words[i] = 0x30003000u | (state >> 8 & 0x8bff8bffu);
    }
}

/* Rate of a kernel that does `flops` operations in each of its blocks, or 0. */
static double rate(mo_bench *bench, const mo_compiled *compiled, const char *kernel, int blocks,
                   unsigned shared_bytes, double flops)
{
    uint32_t words[MO_FLOOR_FRAGMENT_WORDS];
    double us = 0;
    mo_probe probe;
    if (compiled == NULL || !compiled->ok) return 0;
    prepare(&probe, compiled, sizeof words);
    fill_fragments(words);
    probe.contents[0] = words;
    shape(&probe.launch, kernel, blocks, MMA_THREADS, shared_bytes);
    mo_bench_add_data(bench, &probe.data);
    time_probe(bench, &probe, NULL, &us);
    mo_bench_drop_data(bench, &probe.data);
    return us > 0 ? flops * blocks / us : 0;
}

double mo_floor_matrix(mo_bench *bench, const mo_compiled *mma, const mo_compiled *wgmma, int sms)
{
    const double warps = MMA_THREADS / 32.0, groups = MMA_THREADS / 128.0, rounds = MO_FLOOR_ROUNDS;
    double fragments = rate(bench, mma, "mma_rate", 2 * sms, 0, warps * rounds * 16 * 2.0 * 16 * 8 * 16);
    double tiles =
        rate(bench, wgmma, "wgmma_rate", sms, WGMMA_SHARED, groups * rounds * 4 * 2.0 * 64 * 256 * 16);
    return tiles > fragments ? tiles : fragments;
}

/* The rate of the matrix units is measured only where it may decide: its kernels take a while. */
void mo_profiling_limit(mo_profiling *run)
{
    const mo_profile_request *r = run->request;
    mo_profile_result *result = run->result;
    int sms = result->facts.sms;
    double time = result->outcomes[result->winner].times.median;
    mo_profile_limit *limit = &result->limit;
    const mo_device *table = mo_device_by_name(result->facts.name, r->arch);
    limit->bytes = mo_profile_bytes(r->program);
    limit->flops = mo_profile_flops(r->candidates[result->winner].graph);
    mo_log_progress(r->log, "measuring the limits of the GPU");
    mo_job *flush = run->flushes ? &run->flush.job : NULL;
    bool late = mo_deadline_passed(r->deadline);
    const mo_compiled *own = run->own;
    double memory = late ? 0 : mo_floor_read(run->bench, &own[MO_OWN_READ], sms, limit->bytes, flush);
    limit->measured = memory > 0;
    if (memory <= 0 && table != NULL) memory = (double)limit->bytes / (double)table->dram_bytes_per_us;
    double matrix = table == NULL ? 0 : (double)limit->flops / (double)table->mma_flops_per_us;
    if (!late && limit->flops > 0 && (table == NULL || matrix > 0.2 * memory)) {
        double most = mo_floor_matrix(run->bench, &own[MO_OWN_MMA], &own[MO_OWN_WGMMA], sms);
        if (most > 0)
            matrix = (double)limit->flops / most;
        else if (matrix > memory)
            limit->measured = false;
    }
    limit->bound = matrix > memory ? MO_BOUND_MATRIX : MO_BOUND_MEMORY;
    limit->floor_us = matrix > memory ? matrix : memory;
    limit->fraction = time > 0 ? limit->floor_us / time : 0;
}
