/* The pool visits every index once, for any number of threads and many runs, and names its workers
 * within range. Build with the preset tsan to look for races. */
#include "base/pool.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define MOST 5000

typedef struct {
    int threads;
    unsigned char visits[MOST]; /* written by index: no two tasks share one */
    _Atomic int bad_workers;
} record;

static void visit(void *context, int worker, int64_t index)
{
    record *r = context;
    r->visits[index]++;
    if (worker < 0 || worker >= r->threads) atomic_fetch_add(&r->bad_workers, 1);
}

static int run_once(mo_pool *pool, int64_t count)
{
    static record r;
    memset(r.visits, 0, sizeof r.visits);
    r.threads = mo_pool_threads(pool);
    atomic_store(&r.bad_workers, 0);
    mo_pool_run(pool, count, visit, &r);
    for (int64_t i = 0; i < MOST; i++) {
        int expected = i < count ? 1 : 0;
        if (r.visits[i] == expected) continue;
        fprintf(stderr, "index %d visited %d times, expected %d\n", (int)i, r.visits[i], expected);
        return 1;
    }
    if (atomic_load(&r.bad_workers) == 0) return 0;
    fprintf(stderr, "%d tasks ran on a worker out of range\n", atomic_load(&r.bad_workers));
    return 1;
}

int main(void)
{
    static const int64_t counts[] = {0, 1, 2, 3, 7, 100, MOST};
    int failures = 0;
    for (int threads = 0; threads <= 9; threads++) {
        mo_pool *pool = mo_pool_new(threads);
        if (threads > 0 && mo_pool_threads(pool) > threads) failures++;
        for (int repeat = 0; repeat < 30; repeat++)
            for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++)
                failures += run_once(pool, counts[c]);
        mo_pool_free(pool);
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
