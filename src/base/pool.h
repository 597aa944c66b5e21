/* Worker threads that share out the indices of a loop.
 *
 * The caller of mo_pool_run works too, as worker 0. Indices are handed out in order, one at a time; which
 * worker gets which is up to chance, so a task must write only to what belongs to its index (or, for
 * scratch memory, to its worker). That is how results stay the same for any number of threads.
 * A pool serves one mo_pool_run at a time, from the thread that made it. */
#ifndef MO_BASE_POOL_H
#define MO_BASE_POOL_H

#include <stdint.h>

typedef struct mo_pool mo_pool;

/* `worker` is in [0, mo_pool_threads). */
typedef void mo_pool_task(void *context, int worker, int64_t index);

/* threads <= 0: as many as this process may use cores. Threads that the system refuses are done without. */
mo_pool *mo_pool_new(int threads);
void mo_pool_free(mo_pool *pool); /* NULL is allowed */
int mo_pool_threads(const mo_pool *pool);

/* task(context, worker, i) for each i in [0, count); returns when all have returned. */
void mo_pool_run(mo_pool *pool, int64_t count, mo_pool_task *task, void *context);

/* Cores that this process may run on. */
int mo_core_count(void);

#endif
