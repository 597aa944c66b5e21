/* Force-included before a kernel text that is compiled for the CPU (-DMO_EMU): CUDA's qualifiers and
 * built-ins, and the functions that the host bodies in ptx.cuh call.
 *
 * The text is compiled with -fsanitize=thread, but linked without its run-time library: the hooks that the
 * compiler inserts at every load and store are defined here and lead to the emulator, which so sees plain
 * accesses too. Everything in this file is exempt from that. */
#ifndef MO_EMU_CUDA_H
#define MO_EMU_CUDA_H

#include "emu_api.h"

#include <math.h>
#include <stddef.h>

#define MO_EMU_QUIET __attribute__((noinline, unused, no_sanitize("thread")))
#define MO_EMU_PC __builtin_return_address(0)

extern "C" {
alignas(1024) unsigned char mo_smem[MO_EMU_SHARED_LIMIT];
}

/* Static shared arrays have a section of their own (the loader takes `__shared__` off the dynamic one). */
extern "C" {
extern unsigned char __start_mo_shared[] __attribute__((weak, visibility("hidden")));
extern unsigned char __stop_mo_shared[] __attribute__((weak, visibility("hidden")));
}

static mo_emu *mo_emu_self;
static const mo_emu_api *mo_emu_call;
static const unsigned char *mo_emu_stacks;
static size_t mo_emu_stacks_size;

extern "C" MO_EMU_QUIET void mo_emu_attach(mo_emu *self, const mo_emu_api *api, const void *stacks,
                                           size_t size)
{
    mo_emu_self = self;
    mo_emu_call = api;
    mo_emu_stacks = (const unsigned char *)stacks;
    mo_emu_stacks_size = size;
}

extern "C" MO_EMU_QUIET unsigned char *mo_emu_static_shared(size_t *size)
{
    *size = (size_t)(__stop_mo_shared - __start_mo_shared);
    return __start_mo_shared;
}

/* ---- hooks of the compiler ---- */

#define MO_EMU_ACCESS(name, bytes, write)                                              \
    MO_EMU_QUIET void name(void *at)                                                   \
    {                                                                                  \
        if ((size_t)((const unsigned char *)at - mo_emu_stacks) >= mo_emu_stacks_size) \
            mo_emu_call->access(mo_emu_self, MO_EMU_PC, at, bytes, write);             \
    }

#define MO_EMU_ACCESS_SIZES(prefix, write) \
    MO_EMU_ACCESS(prefix##1, 1, write)     \
    MO_EMU_ACCESS(prefix##2, 2, write)     \
    MO_EMU_ACCESS(prefix##4, 4, write)     \
    MO_EMU_ACCESS(prefix##8, 8, write)     \
    MO_EMU_ACCESS(prefix##16, 16, write)

#define MO_EMU_ACCESS_RANGE(name, write)                                               \
    MO_EMU_QUIET void name(void *at, size_t bytes)                                     \
    {                                                                                  \
        if ((size_t)((const unsigned char *)at - mo_emu_stacks) >= mo_emu_stacks_size) \
            mo_emu_call->access(mo_emu_self, MO_EMU_PC, at, (unsigned)bytes, write);   \
    }

extern "C" {
MO_EMU_ACCESS_SIZES(__tsan_read, false)
MO_EMU_ACCESS_SIZES(__tsan_write, true)
MO_EMU_ACCESS_SIZES(__tsan_unaligned_read, false)
MO_EMU_ACCESS_SIZES(__tsan_unaligned_write, true)
MO_EMU_ACCESS_RANGE(__tsan_read_range, false)
MO_EMU_ACCESS_RANGE(__tsan_write_range, true)
MO_EMU_QUIET void __tsan_init(void) {}
MO_EMU_QUIET void __tsan_func_entry(void *) {}
MO_EMU_QUIET void __tsan_func_exit(void) {}
}

/* ---- what the host bodies of ptx.cuh call ---- */

#define MO_EMU_FN static inline MO_EMU_QUIET

MO_EMU_FN void mo_emu_load(void *r, const void *from, unsigned bytes, int space)
{
    mo_emu_call->load(mo_emu_self, MO_EMU_PC, r, from, bytes, space);
}

MO_EMU_FN void mo_emu_store(void *to, const void *r, unsigned bytes, int space)
{
    mo_emu_call->store(mo_emu_self, MO_EMU_PC, to, r, bytes, space);
}

MO_EMU_FN void mo_emu_ld_relaxed(void *r, const void *from, unsigned bytes)
{
    mo_emu_call->load_relaxed(mo_emu_self, MO_EMU_PC, r, from, bytes, false);
}

MO_EMU_FN void mo_emu_st_relaxed(void *to, const void *r, unsigned bytes)
{
    mo_emu_call->store_relaxed(mo_emu_self, MO_EMU_PC, to, r, bytes, false);
}

MO_EMU_FN unsigned mo_emu_ld_acquire(const unsigned *from)
{
    unsigned r;
    mo_emu_call->load_relaxed(mo_emu_self, MO_EMU_PC, &r, from, 4, true);
    return r;
}

MO_EMU_FN void mo_emu_st_release(unsigned *to, unsigned x)
{
    mo_emu_call->store_relaxed(mo_emu_self, MO_EMU_PC, to, &x, 4, true);
}

MO_EMU_FN unsigned mo_emu_atomic_add(unsigned *at, unsigned x)
{
    return mo_emu_call->atomic_add(mo_emu_self, MO_EMU_PC, at, x);
}

MO_EMU_FN void mo_emu_red_add_f32(float *at, float x)
{
    mo_emu_call->add_f32(mo_emu_self, MO_EMU_PC, at, x);
}

MO_EMU_FN unsigned mo_emu_smem_offset(const void *smem)
{
    return mo_emu_call->shared_offset(mo_emu_self, MO_EMU_PC, smem);
}

MO_EMU_FN void mo_emu_sync_threads(int line)
{
    mo_emu_call->sync_threads(mo_emu_self, MO_EMU_PC, line);
}

MO_EMU_FN void mo_emu_syncwarp()
{
    mo_emu_call->sync_warp(mo_emu_self, MO_EMU_PC);
}

MO_EMU_FN void mo_emu_bar(int id, int threads, int wait)
{
    mo_emu_call->barrier(mo_emu_self, MO_EMU_PC, id, threads, wait != 0);
}

MO_EMU_FN unsigned mo_emu_shfl(unsigned x, int kind, int by)
{
    return mo_emu_call->shuffle(mo_emu_self, MO_EMU_PC, x, kind, by);
}

MO_EMU_FN unsigned mo_emu_ballot(bool vote)
{
    return mo_emu_call->ballot(mo_emu_self, MO_EMU_PC, vote);
}

MO_EMU_FN void mo_emu_ldmatrix(unsigned *r, const void *row, int count, int trans)
{
    mo_emu_call->ldmatrix(mo_emu_self, MO_EMU_PC, r, row, count, trans != 0);
}

MO_EMU_FN void mo_emu_mma(int kind, float *d, const unsigned *a, const unsigned *b)
{
    mo_emu_call->mma(mo_emu_self, MO_EMU_PC, kind, d, a, b);
}

MO_EMU_FN void mo_emu_wgmma(float *d, unsigned long long a, unsigned long long b, int kind)
{
    mo_emu_call->wgmma(mo_emu_self, MO_EMU_PC, d, a, b, kind);
}

MO_EMU_FN void mo_emu_cp_async(void *to, const void *from, int bytes, int valid)
{
    mo_emu_call->cp_async(mo_emu_self, MO_EMU_PC, to, from, bytes, valid);
}

MO_EMU_FN void mo_emu_cp_commit()
{
    mo_emu_call->cp_commit(mo_emu_self, MO_EMU_PC);
}

MO_EMU_FN void mo_emu_cp_wait(int pending)
{
    mo_emu_call->cp_wait(mo_emu_self, MO_EMU_PC, pending);
}

MO_EMU_FN void mo_emu_mbar_init(unsigned long long *bar, unsigned arrivals)
{
    mo_emu_call->mbar_init(mo_emu_self, MO_EMU_PC, bar, arrivals);
}

MO_EMU_FN void mo_emu_mbar_arrive(unsigned long long *bar, unsigned bytes)
{
    mo_emu_call->mbar_arrive(mo_emu_self, MO_EMU_PC, bar, bytes);
}

MO_EMU_FN bool mo_emu_mbar_try_wait(unsigned long long *bar, unsigned parity)
{
    return mo_emu_call->mbar_try_wait(mo_emu_self, MO_EMU_PC, bar, parity);
}

MO_EMU_FN void mo_emu_tma_load(void *to, const void *map, int rank, int x, int y, int z,
                               unsigned long long *bar)
{
    int at[3] = {x, y, z};
    mo_emu_call->tma_load(mo_emu_self, MO_EMU_PC, to, *(const void *const *)map, rank, at, bar);
}

MO_EMU_FN void mo_emu_bulk_load(void *to, const void *from, unsigned bytes, unsigned long long *bar)
{
    mo_emu_call->bulk_load(mo_emu_self, MO_EMU_PC, to, from, bytes, bar);
}

MO_EMU_FN unsigned mo_emu_cluster_rank()
{
    return mo_emu_call->cluster_rank(mo_emu_self);
}

MO_EMU_FN void mo_emu_cluster_arrive()
{
    mo_emu_call->cluster_arrive(mo_emu_self, MO_EMU_PC);
}

MO_EMU_FN void mo_emu_cluster_wait()
{
    mo_emu_call->cluster_wait(mo_emu_self, MO_EMU_PC);
}

MO_EMU_FN void *mo_emu_cluster_map(void *smem, unsigned rank)
{
    return mo_emu_call->cluster_map(mo_emu_self, MO_EMU_PC, smem, rank);
}

/* ---- CUDA built-ins (after all headers: several of the names occur there) ---- */

#define MO_EMU_VECTOR2(name, type, align) \
    struct alignas(align) name {          \
        type x, y;                        \
    }
#define MO_EMU_VECTOR4(name, type, align) \
    struct alignas(align) name {          \
        type x, y, z, w;                  \
    }

MO_EMU_VECTOR2(int2, int, 8);
MO_EMU_VECTOR4(int4, int, 16);
MO_EMU_VECTOR2(uint2, unsigned, 8);
MO_EMU_VECTOR4(uint4, unsigned, 16);
MO_EMU_VECTOR2(float2, float, 8);
MO_EMU_VECTOR4(float4, float, 16);

static inline int2 make_int2(int x, int y)
{
    return int2{x, y};
}
static inline int4 make_int4(int x, int y, int z, int w)
{
    return int4{x, y, z, w};
}
static inline uint2 make_uint2(unsigned x, unsigned y)
{
    return uint2{x, y};
}
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w)
{
    return uint4{x, y, z, w};
}
static inline float2 make_float2(float x, float y)
{
    return float2{x, y};
}
static inline float4 make_float4(float x, float y, float z, float w)
{
    return float4{x, y, z, w};
}

MO_EMU_FN const mo_emu_place *mo_emu_where()
{
    return mo_emu_call->place(mo_emu_self);
}

/* By value, so that the kernel text does not touch the emulator's memory. */
MO_EMU_FN mo_emu_dim mo_emu_thread_idx()
{
    return mo_emu_where()->thread;
}
MO_EMU_FN mo_emu_dim mo_emu_block_idx()
{
    return mo_emu_where()->block;
}
MO_EMU_FN mo_emu_dim mo_emu_block_dim()
{
    return mo_emu_where()->block_dim;
}
MO_EMU_FN mo_emu_dim mo_emu_grid_dim()
{
    return mo_emu_where()->grid_dim;
}

static inline float __uint_as_float(unsigned x)
{
    return mo_emu_as_float(x);
}
static inline unsigned __float_as_uint(float x)
{
    return mo_emu_as_uint(x);
}
static inline float __int_as_float(int x)
{
    return mo_emu_as_float((unsigned)x);
}
static inline int __float_as_int(float x)
{
    return (int)mo_emu_as_uint(x);
}
static inline float rsqrtf(float x)
{
    return 1.0f / sqrtf(x);
}
static inline int min(int a, int b)
{
    return a < b ? a : b;
}
static inline int max(int a, int b)
{
    return a > b ? a : b;
}
static inline unsigned min(unsigned a, unsigned b)
{
    return a < b ? a : b;
}
static inline unsigned max(unsigned a, unsigned b)
{
    return a > b ? a : b;
}
static inline long long min(long long a, long long b)
{
    return a < b ? a : b;
}
static inline long long max(long long a, long long b)
{
    return a > b ? a : b;
}

#define threadIdx mo_emu_thread_idx()
#define blockIdx mo_emu_block_idx()
#define blockDim mo_emu_block_dim()
#define gridDim mo_emu_grid_dim()
#define warpSize 32

#define __syncthreads() mo_emu_sync_threads(__LINE__)
#define __syncwarp() mo_emu_syncwarp()

#define __global__
#define __device__
#define __host__
#define __shared__ static __attribute__((section("mo_shared"), aligned(16)))
#define __constant__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(n) __attribute__((aligned(n)))

#endif
