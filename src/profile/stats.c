#include "profile/stats.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

double mo_quantile(const double *sorted, int n, double fraction)
{
    MO_CHECK(n >= 1);
    double position = fraction * (double)(n - 1);
    int low = (int)position;
    if (low >= n - 1) return sorted[n - 1];
    return sorted[low] + (position - (double)low) * (sorted[low + 1] - sorted[low]);
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

mo_times mo_times_of(double *samples, int n)
{
    if (n <= 0) return (mo_times){0};
    qsort(samples, (size_t)n, sizeof *samples, ascending);
    return (mo_times){.median = mo_quantile(samples, n, 0.5),
                      .min = samples[0],
                      .p90 = mo_quantile(samples, n, 0.9),
                      .runs = n};
}

bool mo_times_settled(const double *samples, int n, int least)
{
    double sorted[MO_MAX_REPLAYS];
    if (n < least) return false;
    if (n >= MO_MAX_REPLAYS) return true;
    memcpy(sorted, samples, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, ascending);
    double spread = mo_quantile(sorted, n, 0.75) - mo_quantile(sorted, n, 0.25);
    return spread <= 0.01 * mo_quantile(sorted, n, 0.5);
}

/* Four times the capacity: replacement is not exactly least-recently-used. */
enum { L2_MULTIPLE = 4, MOST_SETS = 1024, LONG_REPLAY = 20 };

mo_rotation mo_rotation_plan(int64_t set_bytes, int64_t l2_bytes, int64_t memory)
{
    if (set_bytes < 1) set_bytes = 1;
    int64_t wanted = L2_MULTIPLE * l2_bytes;
    int64_t sets = (wanted + set_bytes - 1) / set_bytes;
    if (sets < 2) sets = 2;
    if (sets > MOST_SETS) sets = MOST_SETS;
    if (sets * set_bytes > memory) sets = memory / set_bytes;
    if (sets < 1) sets = 1;
    return (mo_rotation){.sets = (int)sets, .flush = sets * set_bytes < wanted};
}

int mo_passes_plan(const mo_rotation *rotation, double pass_us, double target_us, int kernels, int most_nodes)
{
    int most = most_nodes / (kernels < 1 ? 1 : kernels);
    if (most < 1) most = 1;
    int passes = rotation->sets;
    if (!rotation->flush && pass_us > 0 && pass_us * passes < target_us) {
        double wanted = target_us / pass_us;
        passes = wanted > (double)most ? most : (int)wanted + 1;
    }
    double longest = LONG_REPLAY * target_us;
    if (pass_us * passes > longest) passes = pass_us > longest ? 1 : (int)(longest / pass_us);
    return passes < most ? passes : most;
}
