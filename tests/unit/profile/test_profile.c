/* A whole profiling run with a fake driver and a fake compiler: what becomes of each kind of candidate. */
#include "profile/profile.h"

#include "parse/parse.h"
#include "unit/profile/fake_cuda.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char program_text[] =
    "{\"format\": \"mirage-opt/1\", \"name\": \"twice\","
    " \"inputs\": [{\"name\": \"X\", \"shape\": [64], \"dtype\": \"f32\"}],"
    " \"nodes\": [{\"op\": \"mul\", \"inputs\": [\"X\", 2], \"output\": \"Y\"}], \"outputs\": [\"Y\"]}";

enum { MOST = 16 };

typedef struct {
    mo_arena *arena;
    mo_program *program;
    mo_mugraph *graph;
    mo_arg args[3];
    mo_launch launches[MOST];
    mo_emitted emitted[MOST];
    mo_profile_candidate candidates[MOST];
    mo_compiler compiler;
    mo_profile_request request;
    mo_profile_result result;
    mo_error error;
} fixture;

/* Sources that ask for it do not compile, or take the compiler down; all else becomes the fake image. */
static void compile(void *context, const mo_compile_request *request, mo_compiled *result)
{
    (void)context;
    if (strstr(request->source, "crashes the compiler") != NULL) abort();
    if (strstr(request->source, "compiles for ever") != NULL) pause();
    memset(result, 0, sizeof *result);
    result->ok = strstr(request->source, "does not compile") == NULL;
    result->log = strdup(result->ok ? "" : "line 1: it does not compile");
    if (!result->ok) return;
    result->cubin = (unsigned char *)strdup(fake_cuda_image());
    result->cubin_bytes = strlen(fake_cuda_image()) + 1;
}

static void add(fixture *f, const char *kernel)
{
    int i = f->request.n_candidates++;
    f->launches[i] = (mo_launch){.kernel = kernel,
                                 .grid = {1, 1, 1},
                                 .cluster = {1, 1, 1},
                                 .block = {32, 1, 1},
                                 .n_args = 3,
                                 .args = f->args};
    f->emitted[i] = (mo_emitted){
        .source = kernel, .n_launches = 1, .launches = &f->launches[i], .workspace_bytes = FAKE_COUNT * 4};
    f->candidates[i] = (mo_profile_candidate){.graph = f->graph, .emitted = &f->emitted[i]};
}

static void open_fixture(fixture *f)
{
    memset(f, 0, sizeof *f);
    f->arena = mo_arena_new();
    mo_status s = mo_parse_program(f->arena, "twice.json", program_text, strlen(program_text), &f->program,
                                   NULL, &f->error);
    cr_assert_eq(s, MO_OK, "%s", f->error.text);
    f->graph = mo_mugraph_new(f->arena, f->program, 4);
    f->args[0] = (mo_arg){.kind = MO_ARG_INPUT};
    f->args[1] = (mo_arg){.kind = MO_ARG_OUTPUT};
    f->args[2] = (mo_arg){.kind = MO_ARG_WORKSPACE};
    f->compiler = (mo_compiler){.compile = compile};
    f->request = (mo_profile_request){.arena = f->arena,
                                      .program = f->program,
                                      .candidates = f->candidates,
                                      .baseline = -1,
                                      .factor = 4,
                                      .arch = 90,
                                      .threads = 2,
                                      .compiler = &f->compiler,
                                      .load_driver = fake_cuda_load};
}

static void run(fixture *f)
{
    cr_assert_eq(mo_profile_run(&f->request, &f->result, &f->error), MO_OK, "%s", f->error.text);
}

static const char *status(const fixture *f, int i)
{
    return mo_profile_status_name(f->result.outcomes[i].status);
}

Test(profile, each_fault_costs_its_candidate_only)
{
    static const struct {
        const char *kernel, *status;
    } expected[] = {{"slow", "timed"},
                    {"does not compile", "compile-error"},
                    {"wrong", "numeric-failure"},
                    {"nothing", "numeric-failure"},
                    {"fault", "launch-failure"},
                    {"crash", "launch-failure"},
                    {"overrun", "launch-failure"},
                    {"clobber", "launch-failure"},
                    {"hungry", "no-fit"},
                    {"twice", "timed"},
                    {"scratch", "timed"},
                    {"slow", "slower"}};
    const int n = sizeof expected / sizeof *expected;
    fixture f;
    open_fixture(&f);
    for (int i = 0; i < n; i++) add(&f, expected[i].kernel);
    f.request.baseline = 0;
    f.request.n_baselines = 1;
    run(&f);
    for (int i = 0; i < n; i++) {
        const mo_profile_outcome *o = &f.result.outcomes[i];
        cr_assert_str_eq(status(&f, i), expected[i].status, "%s: %s", expected[i].kernel, o->why);
        cr_assert((o->why == NULL) == (o->times.runs > 0), "%s", expected[i].kernel);
    }
    cr_assert_eq(f.result.winner, 10);
    cr_assert(fabs(f.result.baseline_us - 100) < 0.1);
    cr_assert(f.result.complete);
    cr_assert_eq(f.result.outcomes[10].numeric[0].ok, true);
    cr_assert_eq(f.result.outcomes[2].numeric[0].ok, false);
    mo_arena_free(f.arena);
}

Test(profile, limits_come_with_the_winner)
{
    fixture f;
    open_fixture(&f);
    add(&f, "slow");
    run(&f);
    cr_assert_eq(f.result.limit.bytes, 512);
    cr_assert_eq(f.result.limit.flops, 0);
    cr_assert(f.result.limit.measured && f.result.limit.bound == MO_BOUND_MEMORY);
    cr_assert(fabs(f.result.limit.floor_us - 20) < 0.01 && fabs(f.result.limit.fraction - 0.2) < 0.001);
    cr_assert_eq(f.result.baseline_us, 0);
    mo_arena_free(f.arena);
}

/* The sources around it are compiled all the same, on one thread or several. */
Test(profile, a_crash_of_the_compiler_costs_one_candidate)
{
    for (int threads = 1; threads <= 3; threads++) {
        fixture f;
        open_fixture(&f);
        add(&f, "slow");
        add(&f, "crashes the compiler");
        add(&f, "twice");
        add(&f, "does not compile");
        f.request.threads = threads;
        run(&f);
        cr_assert_str_eq(status(&f, 0), "timed");
        cr_assert_str_eq(status(&f, 1), "compile-error");
        cr_assert_not_null(strstr(f.result.outcomes[1].why, "Aborted"), "%s", f.result.outcomes[1].why);
        cr_assert_str_eq(status(&f, 2), "timed");
        cr_assert_str_eq(status(&f, 3), "compile-error");
        cr_assert_not_null(strstr(f.result.outcomes[3].why, "does not compile"));
        mo_arena_free(f.arena);
    }
}

/* What compiled before the deadline stays; the unfused program is the first to be compiled. */
Test(profile, the_deadline_ends_a_compile)
{
    fixture f;
    open_fixture(&f);
    add(&f, "compiles for ever");
    add(&f, "twice");
    mo_deadline soon = mo_deadline_in(0.4, NULL);
    f.request.baseline = 1;
    f.request.n_baselines = 1;
    f.request.threads = 1;
    f.request.deadline = &soon;
    run(&f);
    cr_assert_str_eq(status(&f, 0), "estimated");
    cr_assert_str_eq(status(&f, 1), "estimated");
    cr_assert_str_eq(f.result.outcomes[1].kernels[0].name, "twice");
    cr_assert_null(f.result.outcomes[0].kernels);
    cr_assert_not(f.result.complete);
    mo_arena_free(f.arena);
}

/* Four are timed together; the fifth lucky one must not win by not being among them. */
Test(profile, more_ties_than_are_timed_together)
{
    fixture f;
    open_fixture(&f);
    for (int i = 0; i < FAKE_TIMED; i++) add(&f, i < 5 ? "lucky" : "twice");
    run(&f);
    const mo_profile_outcome *winner = &f.result.outcomes[f.result.winner];
    cr_assert_geq(f.result.winner, 5);
    cr_assert_geq(winner->times.runs, 33, "the winner was timed once");
    cr_assert(fabs(winner->times.median - 10) < 0.01, "%g us", winner->times.median);
    mo_arena_free(f.arena);
}

Test(profile, near_ties_are_timed_again)
{
    fixture f;
    open_fixture(&f);
    add(&f, "close");
    add(&f, "slow");
    add(&f, "twice");
    run(&f);
    cr_assert_eq(f.result.winner, 2);
    cr_assert_geq(f.result.outcomes[0].times.runs, 33, "three rounds of eleven");
    cr_assert_geq(f.result.outcomes[2].times.runs, 33);
    cr_assert_lt(f.result.outcomes[1].times.runs, 33);
    mo_arena_free(f.arena);
}

Test(profile, the_baseline_is_timed_with_the_winner)
{
    fixture f;
    open_fixture(&f);
    add(&f, "twice");
    add(&f, "slow");
    add(&f, "slow");
    f.request.baseline = 2;
    f.request.n_baselines = 1;
    run(&f);
    cr_assert_eq(f.result.winner, 0);
    cr_assert_geq(f.result.outcomes[0].times.runs, 33);
    cr_assert_lt(f.result.outcomes[1].times.runs, 33);
    cr_assert_geq(f.result.outcomes[2].times.runs, 33);
    cr_assert(fabs(f.result.baseline_us - 100) < 0.1);
    mo_arena_free(f.arena);
}

/* The unfused program wins only by being the fastest, and is then compared with itself. */
Test(profile, an_unfused_winner)
{
    fixture f;
    open_fixture(&f);
    add(&f, "slow");
    add(&f, "close");
    add(&f, "twice");
    f.request.baseline = 1;
    f.request.n_baselines = 2;
    run(&f);
    cr_assert_eq(f.result.winner, 2);
    cr_assert_eq(f.result.baseline_us, f.result.outcomes[2].times.median);
    mo_arena_free(f.arena);
}

Test(profile, after_the_deadline_nothing_runs)
{
    fixture f;
    mo_deadline past = mo_deadline_in(1e-9, NULL);
    open_fixture(&f);
    add(&f, "twice");
    f.candidates[1] = (mo_profile_candidate){.graph = f.graph, .why = "cannot be expressed"};
    f.request.n_candidates++;
    f.request.deadline = &past;
    run(&f);
    cr_assert_str_eq(status(&f, 0), "estimated");
    cr_assert_str_eq(status(&f, 1), "no-fit");
    cr_assert_str_eq(f.result.outcomes[1].why, "cannot be expressed");
    cr_assert_eq(f.result.winner, -1);
    cr_assert_not(f.result.complete);
    mo_arena_free(f.arena);
}

Test(profile, another_architecture_is_refused)
{
    fixture f;
    open_fixture(&f);
    add(&f, "twice");
    f.request.arch = 80;
    cr_assert_eq(mo_profile_run(&f.request, &f.result, &f.error), MO_ERR_ENV);
    cr_assert_not_null(strstr(f.error.text, "sm_90,"), "%s", f.error.text);
    cr_assert_not_null(strstr(f.error.text, "sm_80"), "%s", f.error.text);
    f.request.load_driver = fake_cuda_absent;
    cr_assert_eq(mo_profile_run(&f.request, &f.result, &f.error), MO_ERR_ENV);
    mo_arena_free(f.arena);
}

Test(profile, compiling_needs_no_gpu)
{
    fixture f;
    open_fixture(&f);
    add(&f, "twice");
    add(&f, "does not compile");
    f.request.load_driver = fake_cuda_absent;
    mo_profile_compile_only(&f.request, &f.result);
    cr_assert_str_eq(status(&f, 0), "estimated");
    cr_assert_str_eq(status(&f, 1), "compile-error");
    cr_assert_eq(f.result.winner, -1);
    cr_assert_str_eq(f.result.outcomes[0].kernels[0].name, "twice");
    mo_arena_free(f.arena);
}
