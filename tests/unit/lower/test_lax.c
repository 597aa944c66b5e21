/* LAX subprograms, and that the others are searched and verified all the same. */
#include "cost/device.h"
#include "lower/lax.h"
#include "programs.h"
#include "search/search.h"
#include "verify/equiv.h"

#include <criterion/criterion.h>

static const char *const norm = "{'op':'rms_norm','inputs':['X'],'output':'n','axes':[-1],'eps':1e-5},"
                                "{'op':'matmul','inputs':['n','W'],'output':'o'}";
static const char *const attention = "{'op':'matmul','inputs':['X','W'],'output':'s'},"
                                     "{'op':'softmax','inputs':['s'],'output':'o','axis':-1}";
static const char *const two = "{'op':'sigmoid','inputs':['X'],'output':'s'},"
                               "{'op':'softmax','inputs':['s'],'output':'p','axis':-1},"
                               "{'op':'matmul','inputs':['p','W'],'output':'o'}";
static const char *const beside = "{'op':'exp','inputs':['X'],'output':'s'},"
                                  "{'op':'exp','inputs':['X'],'output':'t'},"
                                  "{'op':'mul','inputs':['s','t'],'output':'o'}";
static const char *const opaque = "{'op':'gelu','inputs':['X'],'output':'s','approximate':'none'},"
                                  "{'op':'relu','inputs':['s'],'output':'t'},"
                                  "{'op':'matmul','inputs':['t','W'],'output':'o'}";

static bool is_lax(const char *nodes)
{
    mo_arena *arena = mo_arena_new();
    const mo_program *p = make_program(arena, "X:f16[8,16] W:f16[16,32]", nodes, "o");
    mo_lowered lowered = lower(arena, p);
    cr_assert_eq(lowered.n_subprograms, 1);
    bool lax = mo_is_lax(p, &lowered.subprograms[0]);
    mo_arena_free(arena);
    return lax;
}

Test(lax, one_exponentiation_on_a_path)
{
    cr_expect(is_lax(norm));
    cr_expect(is_lax(attention));
    cr_expect(is_lax(beside), "two paths");
    cr_expect_not(is_lax(two), "two on a path");
    cr_expect_not(is_lax(opaque));
}

/* Exponentials on exponentials and functions without algebra end no subprogram. */
Test(lax, others_are_fused_and_verified_whole)
{
    static const char *const programs[] = {two, opaque};
    for (int i = 0; i < 2; i++) {
        mo_arena *arena = mo_arena_new();
        const mo_program *p = make_program(arena, "X:f16[8,64] W:f16[64,32]", programs[i], "o");
        mo_lowered lowered = lower(arena, p);
        mo_search_result found;
        mo_error error = {0};
        mo_search_options options = {.device = mo_device_for_arch(90),
                                     .max_states = 20000,
                                     .max_kernel_ops = 5,
                                     .prune = true,
                                     .top_k = 8,
                                     .threads = 1,
                                     .verify_delta = 1e-12};
        cr_assert_eq(mo_search_run(arena, p, &lowered, &options, &found, &error), MO_OK);
        cr_assert_gt(found.n_candidates, 0);
        cr_expect_lt(found.candidates[0]->n_kernels, p->n_nodes, "program %d is not fused", i);
        mo_verify_options whole = {.delta = 1e-12, .threads = 1};
        mo_verify_report report;
        cr_expect_eq(mo_verify_mugraph(p, found.candidates[0], &whole, &report), MO_EQUAL_TESTED, "%s",
                     report.reason);
        cr_expect_eq(report.full_checked, report.full_elements);
        mo_arena_free(arena);
    }
}
