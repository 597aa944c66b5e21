/* What this GPU can do at best, measured in the same run and in the same way as the candidates: reading
 * so many bytes once with a cold L2, and multiplying matrices. A time means little without its limit. */
#ifndef MO_PROFILE_FLOOR_H
#define MO_PROFILE_FLOOR_H

#include "base/arena.h"
#include "gpu/nvrtc.h"
#include "profile/bench.h"

#include <stdint.h>

/* What to compile. The texts live in `arena`, as static memory does, and take wrappers from the device
 * library. Reading: kernels flush, and read2, read4, read8 for `bytes`. Products of fragments: mma_rate, for
 * every architecture. Products of warp groups: wgmma_rate, for sm_90a alone. */
mo_compile_request mo_floor_read_request(mo_arena *arena, const char *arch, int64_t bytes);
mo_compile_request mo_floor_mma_request(mo_arena *arena, const char *arch);
mo_compile_request mo_floor_wgmma_request(mo_arena *arena);

/* A job of one launch and its input, to be timed or to evict L2. It points into itself and to what was
 * compiled: do not copy, and keep the other. */
typedef struct {
    int64_t input_bytes[2], output_bytes, count;
    const void *contents[2];
    mo_arg args[3];
    mo_launch launch;
    mo_dataset data;
    mo_job job;
} mo_probe;

/* Reads `bytes` of its own with the kernel flush. False when `read` was not compiled. */
bool mo_probe_flush(mo_probe *probe, const mo_compiled *read, int64_t bytes);

/* Microseconds to read `bytes`, those that `read` was compiled for, once with a cold L2: the best of several
 * grids. 0 when nothing worked. */
double mo_floor_read(mo_bench *bench, const mo_compiled *read, int sms, int64_t bytes, mo_job *flush);

/* Floating-point operations in a microsecond of dense f16 products with f32 sums; 0 when nothing worked.
 * What was not compiled (NULL, or not ok) is left out. */
double mo_floor_matrix(mo_bench *bench, const mo_compiled *mma, const mo_compiled *wgmma, int sms);

#endif
