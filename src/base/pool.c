/* Workers sleep on a condition variable until the generation number changes; the loop counter is an
 * atomic, so handing out an index takes no lock. */
#include "base/pool.h"

#include "base/status.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define MOST_THREADS 1024

typedef struct {
    mo_pool *pool;
    int number;
    pthread_t thread;
} worker;

struct mo_pool {
    int threads; /* the caller included */
    worker *workers;
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    uint64_t generation; /* under the lock, as are the next two */
    int busy;
    bool quit;
    mo_pool_task *task;
    void *context;
    int64_t count;
    _Atomic int64_t next;
};

int mo_core_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? count : 1;
}

static void work(mo_pool *pool, int number)
{
    for (;;) {
        int64_t index = atomic_fetch_add_explicit(&pool->next, 1, memory_order_relaxed);
        if (index >= pool->count) return;
        pool->task(pool->context, number, index);
    }
}

static void *worker_main(void *argument)
{
    worker *self = argument;
    mo_pool *pool = self->pool;
    uint64_t seen = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->generation == seen && !pool->quit) pthread_cond_wait(&pool->work, &pool->lock);
        if (pool->quit) break;
        seen = pool->generation;
        pthread_mutex_unlock(&pool->lock);
        work(pool, self->number);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) pthread_cond_signal(&pool->done);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* Signals are for the main thread: workers start with all of them blocked. */
static void start_workers(mo_pool *pool, int threads)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pool->threads = 1;
    for (int i = 1; i < threads; i++) {
        worker *w = &pool->workers[i];
        *w = (worker){.pool = pool, .number = i};
        if (pthread_create(&w->thread, NULL, worker_main, w) != 0) break;
        pool->threads++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

mo_pool *mo_pool_new(int threads)
{
    if (threads <= 0) threads = mo_core_count();
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    mo_pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL) MO_BUG("out of memory");
    pool->workers = calloc((size_t)threads, sizeof *pool->workers);
    if (pool->workers == NULL) MO_BUG("out of memory");
    MO_CHECK(pthread_mutex_init(&pool->lock, NULL) == 0);
    MO_CHECK(pthread_cond_init(&pool->work, NULL) == 0);
    MO_CHECK(pthread_cond_init(&pool->done, NULL) == 0);
    start_workers(pool, threads);
    return pool;
}

void mo_pool_free(mo_pool *pool)
{
    if (pool == NULL) return;
    pthread_mutex_lock(&pool->lock);
    pool->quit = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 1; i < pool->threads; i++) pthread_join(pool->workers[i].thread, NULL);
    pthread_cond_destroy(&pool->done);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool->workers);
    free(pool);
}

int mo_pool_threads(const mo_pool *pool)
{
    return pool->threads;
}

void mo_pool_run(mo_pool *pool, int64_t count, mo_pool_task *task, void *context)
{
    if (count <= 0) return;
    pthread_mutex_lock(&pool->lock);
    MO_CHECK(pool->busy == 0);
    pool->task = task;
    pool->context = context;
    pool->count = count;
    atomic_store_explicit(&pool->next, 0, memory_order_relaxed);
    bool alone = pool->threads == 1 || count == 1;
    if (!alone) {
        pool->busy = pool->threads - 1;
        pool->generation++;
        pthread_cond_broadcast(&pool->work);
    }
    pthread_mutex_unlock(&pool->lock);
    work(pool, 0);
    if (alone) return;
    pthread_mutex_lock(&pool->lock);
    while (pool->busy > 0) pthread_cond_wait(&pool->done, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
