/* Large matrix products of the float64 reference and of the f32 yardstick, done on the GPU.
 *
 * One plain tiled kernel, written for this purpose only and sharing nothing with code generation. Sums
 * run over k in ascending order; in f32, product and sum are rounded separately, as compiled C does. */
#ifndef MO_PROFILE_ORACLE_KERNELS_H
#define MO_PROFILE_ORACLE_KERNELS_H

#include "gpu/nvrtc.h"
#include "profile/bench.h"
#include "verify/oracle.h"

#include <pthread.h>

/* Kernels matmul_f64 and matmul_f32. */
mo_compile_request mo_matmul_request(const char *arch);

typedef struct {
    mo_bench *bench;
    const mo_compiled *compiled;
    int threads;          /* that would share the work here; <= 0: all cores */
    pthread_mutex_t lock; /* of the bench: interpreters run side by side */
} mo_matmul_device;

/* `compiled` must be ok and outlive the device, as must the bench, which nobody else uses meanwhile. */
void mo_matmul_open(mo_matmul_device *device, mo_bench *bench, const mo_compiled *compiled, int threads);
void mo_matmul_close(mo_matmul_device *device);

/* `a`, `b` and `c` hold doubles, or floats when `single`; the first two as far as the strides reach. May be
 * called by several threads. False when it could not be done (memory, driver): the caller computes on the
 * CPU instead. */
bool mo_matmul_run(mo_matmul_device *device, const mo_oracle_matmul *shape, bool single, const void *a,
                   const void *b, void *c);

/* The same for the interpreters of verify/oracle.h, for products that take less time on the GPU, operands
 * and result on their way included, than here; `device` must outlive the hook. */
mo_matmul_hook mo_matmul_hook_of(mo_matmul_device *device);

#endif
