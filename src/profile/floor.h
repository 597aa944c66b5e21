/* What this GPU can do at best, measured in the same run and in the same way as the candidates: reading
 * so many bytes once with a cold L2, and multiplying matrices. A time means little without its limit. */
#ifndef MO_PROFILE_FLOOR_H
#define MO_PROFILE_FLOOR_H

#include "base/str.h"
#include "gpu/nvrtc.h"
#include "profile/bench.h"
#include "profile/compile.h"

#include <stdint.h>

/* Kernels read2, read4, read8; needs the macro READ_BYTES. */
extern const char mo_floor_read_source[];
/* Kernels mma_rate, wgmma_rate; need the macro MMA_ROUNDS, the second also LIST (%0 to %127). */
extern const char mo_floor_mma_source[];
extern const char mo_floor_wgmma_source[];
/* The option that defines LIST. */
void mo_floor_register_list(mo_str *option);

/* A read of `bytes` as a job of one launch, for timing and to evict L2. It points into itself: do not copy.
 * Freed after its job and data were dropped from the bench. */
typedef struct {
    mo_compiled compiled;
    int64_t input_bytes, output_bytes;
    mo_arg args[2];
    mo_launch launch;
    mo_dataset data;
    mo_job job;
} mo_probe;

/* False when it does not compile; the log says why. */
bool mo_probe_read(mo_probe *probe, const mo_compiler *compiler, const char *arch, int64_t bytes);
void mo_probe_free(mo_probe *probe);

/* Microseconds to read `bytes` once with a cold L2: the best of several grids. 0 when nothing worked. */
double mo_floor_read(mo_bench *bench, const mo_compiler *compiler, const char *arch, int sms, int64_t bytes,
                     mo_job *flush);

/* Floating-point operations in a microsecond of dense f16 products with f32 sums; 0 when nothing worked. */
double mo_floor_matrix(mo_bench *bench, const mo_compiler *compiler, const char *arch, int sms);

#endif
