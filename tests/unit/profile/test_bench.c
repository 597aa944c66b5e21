/* The worker and what it does, with a fake driver. */
#include "profile/bench.h"

#include "base/clock.h"
#include "unit/profile/fake_cuda.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <errno.h>

enum { BYTES = FAKE_COUNT * 4, WORKSPACE = BYTES };

/* One kernel of the fake driver on one buffer, as a job. */
typedef struct {
    mo_bench *bench;
    float in[2][FAKE_COUNT], out[FAKE_COUNT];
    const void *contents[2];
    int64_t bytes;
    mo_arg args[3];
    mo_launch launch;
    mo_job_facts facts;
    mo_dataset data;
    mo_job job;
    mo_error error;
} fixture;

static void choose(fixture *f, const char *kernel)
{
    if (f->job.launches != NULL) mo_bench_drop_job(f->bench, &f->job);
    f->launch = (mo_launch){.kernel = kernel,
                            .grid = {1, 1, 1},
                            .cluster = {1, 1, 1},
                            .block = {32, 1, 1},
                            .n_args = 3,
                            .args = f->args};
    f->job = (mo_job){.data = &f->data,
                      .cubin = fake_cuda_image(),
                      .cubin_bytes = strlen(fake_cuda_image()) + 1,
                      .n_launches = 1,
                      .launches = &f->launch,
                      .n_outputs = 1,
                      .output_bytes = &f->bytes,
                      .workspace_bytes = WORKSPACE,
                      .facts = &f->facts};
    mo_bench_add_job(f->bench, &f->job);
    mo_bench_limit(f->bench, 20);
}

static void open_fixture(fixture *f, mo_cuda_loader *load)
{
    memset(f, 0, sizeof *f);
    f->bench = mo_bench_new(load, 0);
    f->bytes = BYTES;
    for (int s = 0; s < 2; s++) {
        for (int i = 0; i < FAKE_COUNT; i++) f->in[s][i] = (float)(s * 1000 + i);
        f->contents[s] = f->in[s];
    }
    f->args[0] = (mo_arg){.kind = MO_ARG_INPUT};
    f->args[1] = (mo_arg){.kind = MO_ARG_OUTPUT};
    f->args[2] = (mo_arg){.kind = MO_ARG_WORKSPACE, .index = 7};
    f->data = (mo_dataset){.n_inputs = 1, .n_sets = 2, .input_bytes = &f->bytes, .contents = f->contents};
    mo_bench_add_data(f->bench, &f->data);
}

static mo_call run(fixture *f, int set)
{
    void *outputs[] = {f->out};
    memset(f->out, 0, sizeof f->out);
    return mo_bench_run(f->bench, &f->job, set, outputs, &f->error);
}

static void assert_doubled(const fixture *f, int set)
{
    for (int i = 0; i < FAKE_COUNT; i++) cr_assert(f->out[i] == 2 * f->in[set][i], "element %d", i);
}

Test(bench, facts_of_the_gpu)
{
    fixture f;
    mo_gpu_facts facts;
    open_fixture(&f, fake_cuda_load);
    cr_assert_eq(mo_bench_start(f.bench, &facts, &f.error), MO_OK);
    cr_assert_str_eq(facts.name, "Fake GPU");
    cr_assert(facts.arch == 90 && facts.sms == 4 && facts.l2_bytes == 65536);
    mo_bench_free(f.bench);
}

Test(bench, no_gpu_says_what_was_tried)
{
    fixture f;
    mo_gpu_facts facts;
    open_fixture(&f, fake_cuda_absent);
    cr_assert_eq(mo_bench_start(f.bench, &facts, &f.error), MO_ERR_ENV);
    cr_assert_eq(f.error.status, MO_ERR_ENV);
    cr_assert_not_null(strstr(f.error.text, "libmissing-driver.so.1"));
    choose(&f, "twice");
    cr_assert_eq(run(&f, 0), MO_CALL_NO_GPU);
    mo_bench_free(f.bench);
}

Test(bench, runs_on_each_set)
{
    fixture f;
    open_fixture(&f, fake_cuda_load);
    choose(&f, "twice");
    for (int s = 0; s < 2; s++) {
        cr_assert_eq(run(&f, s), MO_CALL_OK, "%s", f.error.text);
        assert_doubled(&f, s);
    }
    cr_assert_eq(f.facts.registers, 32);
    choose(&f, "scratch"); /* fills its workspace to the last byte */
    cr_assert_eq(run(&f, 1), MO_CALL_OK, "%s", f.error.text);
    assert_doubled(&f, 1);
    mo_bench_free(f.bench);
}

Test(bench, sets_share_an_input)
{
    fixture f;
    open_fixture(&f, fake_cuda_load);
    f.contents[1] = f.contents[0];
    choose(&f, "twice");
    cr_assert_eq(run(&f, 1), MO_CALL_OK, "%s", f.error.text);
    assert_doubled(&f, 0);
    mo_timing timing;
    cr_assert_eq(mo_bench_time(f.bench, &f.job, 1, NULL, 0, &timing, &f.error), MO_CALL_OK);
    mo_bench_drop_job(f.bench, &f.job); /* frees each buffer once, or the worker dies */
    mo_bench_drop_data(f.bench, &f.data);
    mo_bench_add_data(f.bench, &f.data);
    mo_bench_add_job(f.bench, &f.job);
    cr_assert_eq(run(&f, 1), MO_CALL_OK, "%s", f.error.text);
    assert_doubled(&f, 0);
    mo_bench_free(f.bench);
}

Test(bench, outputs_are_poisoned)
{
    fixture f;
    open_fixture(&f, fake_cuda_load);
    choose(&f, "twice");
    cr_assert_eq(run(&f, 0), MO_CALL_OK);
    choose(&f, "nothing");
    cr_assert_eq(run(&f, 0), MO_CALL_OK);
    for (int i = 0; i < FAKE_COUNT; i++) cr_assert(isnan(f.out[i]), "element %d is left from before", i);
    mo_bench_free(f.bench);
}

/* Each fault costs one call; the next one works. */
static void fails_once(const char *kernel, mo_call expected, const char *text)
{
    fixture f;
    open_fixture(&f, fake_cuda_load);
    choose(&f, "twice");
    cr_assert_eq(run(&f, 0), MO_CALL_OK);
    choose(&f, kernel);
    mo_bench_limit(f.bench, 0.3);
    cr_assert_eq(run(&f, 0), expected, "%s", kernel);
    cr_assert_not_null(strstr(f.error.text, text), "%s: %s", kernel, f.error.text);
    choose(&f, "twice");
    cr_assert_eq(run(&f, 1), MO_CALL_OK, "after %s: %s", kernel, f.error.text);
    assert_doubled(&f, 1);
    mo_bench_free(f.bench);
    cr_assert(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a worker was left behind");
}

Test(bench, write_behind_the_output)
{
    fails_once("overrun", MO_CALL_BAD_WRITE, "outside the outputs");
}
Test(bench, write_to_an_input)
{
    fails_once("clobber", MO_CALL_BAD_WRITE, "to the inputs");
}
Test(bench, illegal_access)
{
    fails_once("fault", MO_CALL_FAILED, "FAKE_ILLEGAL_ACCESS");
}
Test(bench, death_of_the_worker)
{
    fails_once("crash", MO_CALL_FAILED, "Aborted");
}
Test(bench, kernel_without_end)
{
    fails_once("hang", MO_CALL_TIMEOUT, "did not end in time");
}
Test(bench, too_much_shared_memory)
{
    fails_once("hungry", MO_CALL_NO_FIT, "shared memory");
}
Test(bench, missing_kernel)
{
    fails_once("absent", MO_CALL_FAILED, "absent");
}

static mo_timing timed(fixture *f, const char *kernel, double give_up_us)
{
    mo_timing timing;
    choose(f, kernel);
    cr_assert_eq(mo_bench_time(f->bench, &f->job, 0, NULL, give_up_us, &timing, &f->error), MO_CALL_OK, "%s",
                 f->error.text);
    return timing;
}

Test(bench, times_are_for_one_pass)
{
    fixture f;
    open_fixture(&f, fake_cuda_load);
    mo_timing t = timed(&f, "twice", 0);
    cr_assert(fabs(t.times.median - 10) < 0.01 && t.times.runs >= 11, "%g us, %d runs", t.times.median,
              t.times.runs);
    cr_assert_eq(t.sets, 512); /* 4 * 64 KiB of L2 over 512 bytes of input and output */
    cr_assert_eq(t.passes, 512);
    t = timed(&f, "jitter", 0);
    cr_assert(t.times.min >= 10 && t.times.p90 <= 14 && t.times.min <= t.times.median &&
              t.times.median <= t.times.p90);
    mo_bench_free(f.bench);
}

Test(bench, hopeless_candidates_stop_early)
{
    fixture f;
    open_fixture(&f, fake_cuda_load);
    mo_timing t = timed(&f, "slow", 15);
    cr_assert(t.stopped && t.times.runs < 11 && fabs(t.times.median - 100) < 0.1);
    t = timed(&f, "twice", 15);
    cr_assert(!t.stopped && t.times.runs >= 11);
    mo_bench_free(f.bench);
}

Test(bench, hang_while_timing)
{
    fixture f;
    mo_timing timing;
    open_fixture(&f, fake_cuda_load);
    choose(&f, "hang");
    mo_bench_limit(f.bench, 0.3);
    cr_assert_eq(mo_bench_time(f.bench, &f.job, 0, NULL, 0, &timing, &f.error), MO_CALL_TIMEOUT);
    mo_bench_free(f.bench);
}
