/* Runs emitted CUDA kernels on the CPU, to find bugs without a GPU.
 *
 * The text is compiled for the host (emu_cuda.h); every CUDA thread is a fiber, and the blocks of a grid run
 * one after another (those of one cluster, or of a cooperative grid, together). The seed picks a schedule:
 *
 *   bit 0: asynchronous copies land at once (0) or as late as the waits allow (1)
 *   bit 1: threads run in random order (0), or a warp runs on until it waits for its block (1)
 *   bit 2: blocks run in ascending (0) or descending (1) order
 *   the rest: the random choices
 *
 * so that seeds 0 to 3 are the least to try. Shared memory starts as 0xFF bytes (NaN). Every access, plain
 * or through a wrapper, is checked for range, alignment and kind of memory, and for races: a pair of
 * accesses to the same two bytes, one of them a write, that no barrier orders is an error whatever the
 * schedule was. Warp-wide operations do not order memory, except mo_syncwarp. Errors end the launch with a
 * message that names block, thread and, where addr2line is at hand, the source lines.
 *
 * Dynamic shared memory is written as `extern __shared__ ... mo_smem[]`; static shared arrays belong to all
 * kernels of a text together.
 *
 * Not modelled: the memory model below barriers (fences), bank conflicts, the rounding inside the matrix
 * units, tensor maps with interleave, products of warp groups that end late. One launch at a time per
 * emulator; no function here may be called from several threads for the same emulator. */
#ifndef MO_EMU_H
#define MO_EMU_H

#include "emu_api.h"

#include <stddef.h>
#include <stdint.h>

/* Compiles `source` (the text of a .cu file) with the C++ compiler in $CXX, else c++, and loads it. NULL
 * with a message in error[0..error_size). `include_dir` holds emu_cuda.h. `name` appears in messages. */
mo_emu *mo_emu_load_source(const char *source, const char *name, const char *include_dir, char *error,
                           size_t error_size);
void mo_emu_free(mo_emu *emu);

/* Makes bytes[0..size) known as global memory that kernels may read and, if writable, write. `name`, for
 * messages, is not copied. mo_emu_forget_buffers unregisters all. */
void mo_emu_add_buffer(mo_emu *emu, const char *name, void *bytes, size_t size, bool writable);
void mo_emu_forget_buffers(mo_emu *emu);

/* What a tensor map holds: rank 2 or 3, sizes and box in elements, first the contiguous axis; strides in
 * bytes of the axes after it; swizzle 0, 32, 64 or 128. Pass a pointer to it where the kernel takes a
 * mo_tensor_map. */
typedef struct {
    const void *base;
    int rank, element_bytes;
    uint64_t size[3], stride[2];
    unsigned box[3];
    int swizzle;
} mo_emu_tensor_map;

enum { MO_EMU_MAX_ARGS = 32 };

typedef struct {
    const char *kernel;              /* an extern "C" name */
    mo_emu_dim grid, block, cluster; /* cluster: zeros mean 1 */
    unsigned shared_bytes;
    bool cooperative; /* all blocks at once */
    bool racy;        /* do not look for races: two to three times faster */
    int n_args;
    const void *args[MO_EMU_MAX_ARGS]; /* all arguments are pointers */
    uint64_t seed;
} mo_emu_launch;

/* False with a message when the kernel did something wrong. */
bool mo_emu_run(mo_emu *emu, const mo_emu_launch *launch, char *error, size_t error_size);

/* What the last launch did: warp-wide matrix products, bytes copied asynchronously, block barriers passed. */
typedef struct {
    uint64_t mmas, async_bytes, barriers, switches;
} mo_emu_counts;

mo_emu_counts mo_emu_last_counts(const mo_emu *emu);

#endif
