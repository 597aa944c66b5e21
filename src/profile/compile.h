/* Compiling many sources at a time. */
#ifndef MO_PROFILE_COMPILE_H
#define MO_PROFILE_COMPILE_H

#include "gpu/nvrtc.h"

/* NVRTC, or a stand-in of a test. Called by several threads at a time. */
typedef struct {
    void (*compile)(void *context, const mo_compile_request *request, mo_compiled *result);
    void *context;
} mo_compiler;

/* `nvrtc` must outlive the compiler. */
mo_compiler mo_compiler_nvrtc(mo_nvrtc *nvrtc);

/* results[i] from requests[i], on up to `threads` threads (<= 0: all cores). */
void mo_compile_all(const mo_compiler *compiler, int threads, int n, const mo_compile_request *requests,
                    mo_compiled *results);

#endif
