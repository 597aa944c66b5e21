/* A driver without a GPU: memory is the heap, kernels are functions of this program found by name, and
 * time is a clock that each kernel moves on by its declared cost. Enough of CUDA for the profiler. */
#ifndef MO_TESTS_FAKE_CUDA_H
#define MO_TESTS_FAKE_CUDA_H

#include "gpu/driver.h"

enum {
    FAKE_COUNT = 64, /* elements (f32) of every buffer that the fake kernels use */
    FAKE_TIMED = 7
};

/* Loaders for the worker: one with a GPU, one without. */
mo_status fake_cuda_load(mo_cuda *cuda, mo_error *error);
mo_status fake_cuda_absent(mo_cuda *cuda, mo_error *error);

/* The image of a module is any text; these are the kernels that every module has. Arguments: input,
 * output, and for `scratch` the workspace.
 *
 *    twice, slow      output = 2 * input, in 10 and in 100 microseconds
 *    close            the same in 10.1
 *    wrong            output = 3 * input
 *    jitter           twice, each launch 10 to 14 microseconds
 *    lucky            the same in 9.95, but in 10.95 once FAKE_TIMED jobs were timed
 *    nothing          writes nothing
 *    overrun          twice, and one element behind the output
 *    clobber          twice, and changes the input
 *    scratch          twice, by way of the workspace, which it fills whole
 *    hungry           twice, with more static shared memory than there is
 *    fault            an illegal access
 *    hang             never ends
 *    crash            takes the process down
 *    read2, read4, read8, flush   20 microseconds, for floors */
const char *fake_cuda_image(void);

#endif
