/* A pool of threads; what it does is all in gpu/nvrtc.c. */
#include "profile/compile.h"

#include "base/pool.h"

static void with_nvrtc(void *context, const mo_compile_request *request, mo_compiled *result)
{
    mo_nvrtc_compile(context, request, result);
}

mo_compiler mo_compiler_nvrtc(mo_nvrtc *nvrtc)
{
    return (mo_compiler){.compile = with_nvrtc, .context = nvrtc};
}

typedef struct {
    const mo_compiler *compiler;
    const mo_compile_request *requests;
    mo_compiled *results;
} batch;

static void compile_one(void *context, int worker, int64_t index)
{
    const batch *b = context;
    (void)worker;
    b->compiler->compile(b->compiler->context, &b->requests[index], &b->results[index]);
}

void mo_compile_all(const mo_compiler *compiler, int threads, int n, const mo_compile_request *requests,
                    mo_compiled *results)
{
    batch b = {compiler, requests, results};
    if (threads <= 0) threads = mo_core_count();
    mo_pool *pool = mo_pool_new(threads < n ? threads : n < 1 ? 1 : n);
    mo_pool_run(pool, n, compile_one, &b);
    mo_pool_free(pool);
}
