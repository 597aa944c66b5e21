/* Large matrix products of the float64 reference and of the f32 yardstick, done on the GPU.
 *
 * One plain tiled kernel, written for this purpose only and sharing nothing with code generation. Sums
 * run over k in ascending order; in f32, product and sum are rounded separately, as compiled C does. */
#ifndef MO_PROFILE_ORACLE_KERNELS_H
#define MO_PROFILE_ORACLE_KERNELS_H

#include "gpu/nvrtc.h"
#include "profile/bench.h"
#include "profile/compile.h"
#include "verify/oracle.h"

/* Kernels matmul_f64 and matmul_f32. */
extern const char mo_oracle_matmul_source[];

typedef struct {
    mo_bench *bench;
    mo_compiled compiled;
} mo_matmul_device;

/* False when the kernels do not compile for `arch`. Free it in any case. */
bool mo_matmul_open(mo_matmul_device *device, mo_bench *bench, const mo_compiler *compiler, const char *arch);
void mo_matmul_free(mo_matmul_device *device);

/* `a`, `b` and `c` hold doubles, or floats when `single`; the first two as far as the strides reach.
 * False when it could not be done (memory, driver): the caller computes on the CPU instead. */
bool mo_matmul_run(mo_matmul_device *device, const mo_oracle_matmul *shape, bool single, const void *a,
                   const void *b, void *c);

/* The same for the interpreters of verify/oracle.h; `device` must outlive the hook. */
mo_matmul_hook mo_matmul_hook_of(mo_matmul_device *device);

#endif
