/* Statistics of repeated timings, and how a measurement is laid out. Pure functions. */
#ifndef MO_PROFILE_STATS_H
#define MO_PROFILE_STATS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double median, min, p90; /* microseconds for one pass over the program's kernels */
    int runs;                /* graph replays behind these numbers; 0: not measured */
} mo_times;

/* Linear interpolation between order statistics; `fraction` in [0, 1], n >= 1, sorted ascending. */
double mo_quantile(const double *sorted, int n, double fraction);

/* Sorts `samples`. */
mo_times mo_times_of(double *samples, int n);

/* Enough replays? At least `least`, then until the middle half of the samples lies within 1% of the
 * median. Sorts a copy. n <= MO_MAX_REPLAYS. */
enum { MO_MAX_REPLAYS = 64 };
bool mo_times_settled(const double *samples, int n, int least);

/* How input sets rotate so that a launch finds nothing of its data in L2. */
typedef struct {
    int sets;
    bool flush; /* the sets together do not exceed L2: evict between replays, use each set once in one */
} mo_rotation;

/* `set_bytes`: inputs and outputs of one set; `memory`: what the sets may take at most. */
mo_rotation mo_rotation_plan(int64_t set_bytes, int64_t l2_bytes, int64_t memory);

/* Passes recorded in one graph, so that a replay lasts about `target_us` although one pass is
 * estimated at `pass_us`: each set at least once unless that takes twenty times as long. Never more than
 * `most_nodes` kernels. */
int mo_passes_plan(const mo_rotation *rotation, double pass_us, double target_us, int kernels,
                   int most_nodes);

#endif
