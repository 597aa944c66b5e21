/* NVRTC, the run-time compiler for CUDA C++, loaded at run time.
 *
 * Searched in this order: $MIRAGE_OPT_NVRTC; the sonames of the releases 13, 12 and 11.2 and the plain
 * name, through the dynamic linker; the library folders of $CUDA_PATH, $CUDA_HOME and
 * /usr/local/cuda*. Neither a GPU nor a driver is needed.
 *
 * One mo_nvrtc may be used by several threads at a time: each compile has its own program object. The
 * library stays loaded until the process ends, since it keeps thread-local state. */
#ifndef MO_GPU_NVRTC_H
#define MO_GPU_NVRTC_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct mo_nvrtc mo_nvrtc;

/* NULL and MO_ERR_ENV with the list of what was tried when there is no usable library. */
mo_nvrtc *mo_nvrtc_open(mo_error *error);
void mo_nvrtc_close(mo_nvrtc *nvrtc); /* NULL is allowed */

const char *mo_nvrtc_version(const mo_nvrtc *nvrtc); /* "13.0" */

/* Numbers of the architectures that this NVRTC compiles for, ascending; at most `capacity` of them. */
int mo_nvrtc_archs(const mo_nvrtc *nvrtc, int *archs, int capacity);

/* What ptxas says about a kernel. */
typedef struct {
    char name[128];
    int registers;
    int spill_stores, spill_loads; /* bytes */
    int stack;                     /* bytes of local memory for each thread */
    int shared_static;             /* bytes */
} mo_kernel_usage;

typedef struct {
    const char *source;
    const char *name;           /* of the source, for messages */
    const char *arch;           /* "sm_90a" */
    const char *const *options; /* further options, NULL at the end; or NULL */
    bool want_ptx;
} mo_compile_request;

/* Everything is allocated with malloc; mo_compiled_free releases it. */
typedef struct {
    bool ok;
    unsigned char *cubin;
    size_t cubin_bytes;
    char *ptx; /* NUL-terminated, or NULL */
    char *log; /* never NULL after a compile: errors, warnings, ptxas notes */
    int n_usages;
    mo_kernel_usage *usages;
} mo_compiled;

/* Compiles to CUBIN; a source that does not compile is an outcome (ok is false, the reason is in log). */
void mo_nvrtc_compile(const mo_nvrtc *nvrtc, const mo_compile_request *request, mo_compiled *result);
void mo_compiled_free(mo_compiled *result);

/* Reads registers, spills and shared memory of each kernel from the output of ptxas -v; returns how
 * many were stored (at most `capacity`). Kernels may be NULL to count. */
int mo_ptxas_parse(const char *log, mo_kernel_usage *usages, int capacity);

#endif
