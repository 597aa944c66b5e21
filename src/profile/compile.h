/* The compiler as the profiler sees it, and many compiles at a time.
 *
 * A compiler is NVRTC or, in tests, a stand-in. It runs in a child process (profile/child.h): NVRTC
 * initialises the CUDA driver, which no process may have done that is yet to fork a worker, and may crash
 * on a source. */
#ifndef MO_PROFILE_COMPILE_H
#define MO_PROFILE_COMPILE_H

#include "base/clock.h"
#include "gpu/nvrtc.h"

typedef struct {
    void (*compile)(void *context, const mo_compile_request *request, mo_compiled *result);
    void *context;
} mo_compiler;

/* `nvrtc` must outlive the compiler. */
mo_compiler mo_compiler_nvrtc(mo_nvrtc *nvrtc);

/* Compiles requests[i] into results[i], the first ones first, with at most `threads` threads (<= 0: all
 * cores). A source that ends the compiler is a failed compile of its own. What was not done before the
 * deadline (NULL: none) has the log NULL. */
void mo_compile_all(const mo_compiler *compiler, int threads, const mo_deadline *deadline, int n,
                    const mo_compile_request *requests, mo_compiled *results);

#endif
