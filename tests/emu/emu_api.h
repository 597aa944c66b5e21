/* What an emulated kernel calls in the emulator: a table of functions, shared between C (the emulator) and
 * C++ (the kernel text, through emu_cuda.h). `pc` is the caller's code address, for messages. */
#ifndef MO_EMU_API_H
#define MO_EMU_API_H

#ifndef __cplusplus
#include <stdbool.h>
#endif

enum { MO_EMU_SHARED_LIMIT = 232448 }; /* dynamic shared memory of the largest devices, 227 KiB */

/* Where a wrapper's pointer must point. CONSTANT: global memory that no one writes during the launch. */
enum { MO_EMU_ANY, MO_EMU_SHARED, MO_EMU_GLOBAL, MO_EMU_CONSTANT };

enum { MO_EMU_SHFL_XOR, MO_EMU_SHFL_DOWN, MO_EMU_SHFL_INDEX };

enum { MO_EMU_MMA_F16, MO_EMU_MMA_BF16, MO_EMU_MMA_TF32 };

/* Which wgmma: the columns of its result, and these. COLUMNS: the operands that are described by columns. */
enum { MO_EMU_WGMMA_N = 511, MO_EMU_COLUMNS_A = 512, MO_EMU_COLUMNS_B = 1024, MO_EMU_BF16 = 2048 };
#define MO_EMU_COLUMNS(a, b) ((a)*MO_EMU_COLUMNS_A | (b)*MO_EMU_COLUMNS_B)

typedef struct mo_emu mo_emu;

typedef struct {
    unsigned x, y, z;
} mo_emu_dim;

/* Coordinates of the running thread, and the launch. */
typedef struct {
    mo_emu_dim thread, block, block_dim, grid_dim;
} mo_emu_place;

typedef struct {
    const mo_emu_place *(*place)(mo_emu *);
    void (*access)(mo_emu *, const void *pc, const void *at, unsigned bytes, bool write);
    void (*load)(mo_emu *, const void *pc, void *to, const void *from, unsigned bytes, int space);
    void (*store)(mo_emu *, const void *pc, void *to, const void *from, unsigned bytes, int space);
    void (*load_relaxed)(mo_emu *, const void *pc, void *to, const void *from, unsigned bytes, bool acquire);
    void (*store_relaxed)(mo_emu *, const void *pc, void *to, const void *from, unsigned bytes, bool release);
    unsigned (*atomic_add)(mo_emu *, const void *pc, unsigned *at, unsigned x);
    void (*add_f32)(mo_emu *, const void *pc, float *at, float x);
    unsigned (*shared_offset)(mo_emu *, const void *pc, const void *shared);
    void (*sync_threads)(mo_emu *, const void *pc, int line);
    void (*sync_warp)(mo_emu *, const void *pc);
    void (*barrier)(mo_emu *, const void *pc, int id, int threads, bool wait);
    unsigned (*shuffle)(mo_emu *, const void *pc, unsigned x, int kind, int by);
    unsigned (*ballot)(mo_emu *, const void *pc, bool vote);
    void (*ldmatrix)(mo_emu *, const void *pc, unsigned *r, const void *row, int count, bool trans);
    void (*mma)(mo_emu *, const void *pc, int kind, float *d, const unsigned *a, const unsigned *b);
    void (*wgmma)(mo_emu *, const void *pc, float *d, unsigned long long a, unsigned long long b, int kind);
    void (*cp_async)(mo_emu *, const void *pc, void *to, const void *from, int bytes, int valid);
    void (*cp_commit)(mo_emu *, const void *pc);
    void (*cp_wait)(mo_emu *, const void *pc, int pending);
    void (*mbar_init)(mo_emu *, const void *pc, unsigned long long *bar, unsigned arrivals);
    void (*mbar_arrive)(mo_emu *, const void *pc, unsigned long long *bar, unsigned bytes);
    bool (*mbar_try_wait)(mo_emu *, const void *pc, unsigned long long *bar, unsigned parity);
    void (*tma_load)(mo_emu *, const void *pc, void *to, const void *map, int rank, const int *at,
                     unsigned long long *bar);
    void (*bulk_load)(mo_emu *, const void *pc, void *to, const void *from, unsigned bytes,
                      unsigned long long *bar);
    unsigned (*cluster_rank)(mo_emu *);
    void (*cluster_arrive)(mo_emu *, const void *pc);
    void (*cluster_wait)(mo_emu *, const void *pc);
    void *(*cluster_map)(mo_emu *, const void *pc, void *shared, unsigned rank);
} mo_emu_api;

static inline unsigned mo_emu_as_uint(float x)
{
    union {
        float f;
        unsigned u;
    } bits;
    bits.f = x;
    return bits.u;
}

static inline float mo_emu_as_float(unsigned x)
{
    union {
        float f;
        unsigned u;
    } bits;
    bits.u = x;
    return bits.f;
}

static inline float mo_emu_f16_to_float(unsigned short h)
{
    unsigned sign = (unsigned)(h & 0x8000u) << 16, exponent = (h >> 10) & 31u, mantissa = h & 0x3ffu;
    if (exponent == 31) return mo_emu_as_float(sign | 0x7f800000u | mantissa << 13);
    if (exponent != 0) return mo_emu_as_float(sign | (exponent + 112) << 23 | mantissa << 13);
    float magnitude = (float)mantissa * mo_emu_as_float(103u << 23); /* 2^-24 */
    return mo_emu_as_float(sign | mo_emu_as_uint(magnitude));
}

/* Rounds to nearest even; every NaN becomes 0x7fff, as on the device. */
static inline unsigned short mo_emu_float_to_f16(float f)
{
    unsigned bits = mo_emu_as_uint(f), sign = bits >> 16 & 0x8000u, abs = bits & 0x7fffffffu;
    if (abs > 0x7f800000u) return 0x7fff;
    if (abs >= 0x477ff000u) return (unsigned short)(sign | 0x7c00u);
    if (abs < 0x38800000u) { /* subnormal: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits */
        float shifted = mo_emu_as_float(abs) + 0.5f;
        return (unsigned short)(sign | (mo_emu_as_uint(shifted) - 0x3f000000u));
    }
    unsigned rounded = abs + 0xfffu + (abs >> 13 & 1u);
    return (unsigned short)(sign | ((rounded - 0x38000000u) >> 13));
}

static inline unsigned short mo_emu_float_to_bf16(float f)
{
    unsigned bits = mo_emu_as_uint(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return 0x7fff;
    return (unsigned short)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static inline float mo_emu_max_nan(float a, float b)
{
    if (a != a || b != b) return mo_emu_as_float(0x7fffffffu);
    if (a == b) return mo_emu_as_uint(a) >> 31 ? b : a; /* +0 over -0 */
    return a > b ? a : b;
}

#endif
