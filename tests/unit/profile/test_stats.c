#include "profile/stats.h"

#include <criterion/criterion.h>
#include <math.h>

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

Test(stats, quantiles_interpolate)
{
    const double sorted[] = {1, 2, 4, 8};
    cr_assert(near(mo_quantile(sorted, 4, 0.5), 3));
    cr_assert(near(mo_quantile(sorted, 4, 1), 8));
    cr_assert(near(mo_quantile(sorted, 4, 0.9), 4 + 0.7 * 4));
    cr_assert(near(mo_quantile(sorted, 1, 0.3), 1));
}

Test(stats, times_of_unsorted_samples)
{
    double samples[] = {5, 1, 3, 2, 4};
    mo_times t = mo_times_of(samples, 5);
    cr_assert(near(t.median, 3) && near(t.min, 1) && near(t.p90, 4.6));
    cr_assert_eq(t.runs, 5);
    cr_assert_eq(mo_times_of(samples, 0).runs, 0);
}

Test(stats, settles_on_a_narrow_middle_only)
{
    double narrow[MO_MAX_REPLAYS], wide[MO_MAX_REPLAYS];
    for (int i = 0; i < MO_MAX_REPLAYS; i++) {
        narrow[i] = 10 + 0.01 * (i % 5) + (i % 7 == 0 ? 30 : 0); /* outliers do not matter */
        wide[i] = 10 + i % 5;
    }
    cr_assert_not(mo_times_settled(narrow, 10, 11));
    cr_assert(mo_times_settled(narrow, 11, 11));
    cr_assert_not(mo_times_settled(wide, 40, 11));
    cr_assert(mo_times_settled(wide, MO_MAX_REPLAYS, 11));
}

Test(stats, rotation_exceeds_l2)
{
    const int64_t l2 = 60 << 20, memory = (int64_t)4 << 30;
    mo_rotation medium = mo_rotation_plan(50 << 20, l2, memory);
    cr_assert_eq(medium.sets, 5);
    cr_assert_not(medium.flush);
    mo_rotation large = mo_rotation_plan((int64_t)500 << 20, l2, memory);
    cr_assert_eq(large.sets, 2);
    cr_assert_not(large.flush);
    mo_rotation tiny = mo_rotation_plan(1000, l2, memory);
    cr_assert_eq(tiny.sets, 1024);
    cr_assert(tiny.flush);
    mo_rotation tight = mo_rotation_plan((int64_t)3 << 30, l2, memory);
    cr_assert_eq(tight.sets, 1);
    cr_assert_not(tight.flush);
    cr_assert_eq(mo_rotation_plan(0, l2, memory).sets, 1024);
}

Test(stats, passes_fill_a_replay)
{
    mo_rotation cold = {.sets = 5}, flushed = {.sets = 1024, .flush = true};
    cr_assert_eq(mo_passes_plan(&cold, 10, 1500, 1, 4096), 151);
    cr_assert_eq(mo_passes_plan(&cold, 5e3, 1500, 1, 4096), 5);
    cr_assert_eq(mo_passes_plan(&cold, 1e4, 1500, 1, 4096), 3, "not for ever");
    cr_assert_eq(mo_passes_plan(&cold, 1e6, 1500, 1, 4096), 1);
    cr_assert_eq(mo_passes_plan(&cold, 0.001, 1500, 3, 4096), 1365);
    cr_assert_eq(mo_passes_plan(&flushed, 1, 1500, 1, 4096), 1024, "each set once");
    cr_assert_eq(mo_passes_plan(&flushed, 1, 1500, 8192, 4096), 1);
}
