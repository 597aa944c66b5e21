/* PTX wrappers: every line of inline PTX of the project, sm_80 and later.
 *
 * No header is needed (NVRTC compiles this text alone), and each wrapper has a second body for MO_EMU, the
 * host build that runs kernels on the CPU. Code that is not a wrapper writes no PTX and so runs in both.
 *
 * Items are separated by blank lines and hold none, and the comment above a function belongs to it: a
 * generator may copy only the items that a kernel uses. Pointers named `smem` are generic pointers into
 * shared memory, those named `gmem` into global memory. Warp-wide functions are called by all 32 lanes. */

#define MO_DEV [[maybe_unused]] static __device__ __forceinline__

/* ---- bits and conversions ---- */

MO_DEV unsigned mo_as_uint(float x)
{
#ifdef MO_EMU
    return mo_emu_as_uint(x);
#else
    return __float_as_uint(x);
#endif
}

MO_DEV float mo_as_float(unsigned x)
{
#ifdef MO_EMU
    return mo_emu_as_float(x);
#else
    return __uint_as_float(x);
#endif
}

MO_DEV float mo_f16_to_float(unsigned short h)
{
#ifdef MO_EMU
    return mo_emu_f16_to_float(h);
#else
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
#endif
}

/* To nearest even; overflow gives infinity, NaN stays NaN. */
MO_DEV unsigned short mo_float_to_f16(float f)
{
#ifdef MO_EMU
    return mo_emu_float_to_f16(f);
#else
    unsigned short h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
#endif
}

MO_DEV float mo_bf16_to_float(unsigned short b)
{
    return mo_as_float((unsigned)b << 16);
}

MO_DEV unsigned short mo_float_to_bf16(float f)
{
#ifdef MO_EMU
    return mo_emu_float_to_bf16(f);
#else
    unsigned short b;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(b) : "f"(f));
    return b;
#endif
}

/* Two values in one register, `lo` in the low half: the pair order of fragments and of memory. */
MO_DEV unsigned mo_pack_f16(float lo, float hi)
{
#ifdef MO_EMU
    return mo_emu_float_to_f16(lo) | (unsigned)mo_emu_float_to_f16(hi) << 16;
#else
    unsigned r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
#endif
}

MO_DEV unsigned mo_pack_bf16(float lo, float hi)
{
#ifdef MO_EMU
    return mo_emu_float_to_bf16(lo) | (unsigned)mo_emu_float_to_bf16(hi) << 16;
#else
    unsigned r;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(hi), "f"(lo));
    return r;
#endif
}

MO_DEV void mo_unpack_f16(unsigned pair, float &lo, float &hi)
{
    lo = mo_f16_to_float((unsigned short)(pair & 0xffffu));
    hi = mo_f16_to_float((unsigned short)(pair >> 16));
}

MO_DEV void mo_unpack_bf16(unsigned pair, float &lo, float &hi)
{
    lo = mo_as_float(pair << 16);
    hi = mo_as_float(pair & 0xffff0000u);
}

/* ---- arithmetic ---- */

/* 2^x, 2 ulp. */
MO_DEV float mo_ex2(float x)
{
#ifdef MO_EMU
    return exp2f(x);
#else
    float y;
    asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

/* log2(x); absolute error 2^-22 near 1. */
MO_DEV float mo_lg2(float x)
{
#ifdef MO_EMU
    return log2f(x);
#else
    float y;
    asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

/* 1/x, 1 ulp. */
MO_DEV float mo_rcp(float x)
{
#ifdef MO_EMU
    return 1.0f / x;
#else
    float y;
    asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

/* 1/sqrt(x), 2 ulp. */
MO_DEV float mo_rsqrt(float x)
{
#ifdef MO_EMU
    return 1.0f / sqrtf(x);
#else
    float y;
    asm("rsqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

/* sqrt(x), correctly rounded. */
MO_DEV float mo_sqrt(float x)
{
#ifdef MO_EMU
    return sqrtf(x);
#else
    float y;
    asm("sqrt.rn.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

/* Maximum and minimum that return NaN when either side is NaN (fmaxf drops it). */
MO_DEV float mo_max_nan(float a, float b)
{
#ifdef MO_EMU
    return mo_emu_max_nan(a, b);
#else
    float y;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
#endif
}

MO_DEV float mo_min_nan(float a, float b)
{
#ifdef MO_EMU
    return -mo_emu_max_nan(-a, -b);
#else
    float y;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
#endif
}

/* ---- warp and block ---- */

MO_DEV void mo_syncwarp()
{
#ifdef MO_EMU
    mo_emu_syncwarp();
#else
    __syncwarp();
#endif
}

MO_DEV float mo_shfl_xor(float x, int lanes)
{
#ifdef MO_EMU
    return mo_emu_as_float(mo_emu_shfl(mo_emu_as_uint(x), 0, lanes));
#else
    return __shfl_xor_sync(0xffffffffu, x, lanes);
#endif
}

/* From lane + `lanes`; the last lanes keep their own value. */
MO_DEV float mo_shfl_down(float x, int lanes)
{
#ifdef MO_EMU
    return mo_emu_as_float(mo_emu_shfl(mo_emu_as_uint(x), 1, lanes));
#else
    return __shfl_down_sync(0xffffffffu, x, (unsigned)lanes);
#endif
}

/* From lane `lane` (0..31). */
MO_DEV float mo_shfl(float x, int lane)
{
#ifdef MO_EMU
    return mo_emu_as_float(mo_emu_shfl(mo_emu_as_uint(x), 2, lane));
#else
    return __shfl_sync(0xffffffffu, x, lane);
#endif
}

MO_DEV unsigned mo_shfl_u32(unsigned x, int lane)
{
#ifdef MO_EMU
    return mo_emu_shfl(x, 2, lane);
#else
    return __shfl_sync(0xffffffffu, x, lane);
#endif
}

/* Barrier `id` (1..15; 0 is __syncthreads) for `threads` threads, a multiple of 32, whole warps. */
MO_DEV void mo_bar_sync(int id, int threads)
{
#ifdef MO_EMU
    mo_emu_bar(id, threads, 1);
#else
    asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

/* Counts as arrived at barrier `id` without waiting for it. */
MO_DEV void mo_bar_arrive(int id, int threads)
{
#ifdef MO_EMU
    mo_emu_bar(id, threads, 0);
#else
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
#endif
}

/* ---- matrix fragments ---- */

MO_DEV unsigned mo_smem_addr(const void *smem)
{
#ifdef MO_EMU
    return mo_emu_smem_offset(smem);
#else
    return (unsigned)__cvta_generic_to_shared(smem);
#endif
}

/* Loads 8x8 matrices of 16-bit elements: lane 8 i + r passes the address of row r of matrix i (16-byte
 * aligned), and receives in r[i] the elements (lane / 4, 2 (lane % 4)) and the next one of matrix i. The
 * _trans forms deliver the transposed matrices. x1 and x2 use the addresses of lanes 0..7 and 0..15. */
MO_DEV void mo_ldmatrix_x4(unsigned (&r)[4], const void *smem)
{
#ifdef MO_EMU
    mo_emu_ldmatrix(r, smem, 4, 0);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(mo_smem_addr(smem)) : "memory");
#endif
}

MO_DEV void mo_ldmatrix_x4_trans(unsigned (&r)[4], const void *smem)
{
#ifdef MO_EMU
    mo_emu_ldmatrix(r, smem, 4, 1);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(mo_smem_addr(smem)) : "memory");
#endif
}

MO_DEV void mo_ldmatrix_x2(unsigned (&r)[2], const void *smem)
{
#ifdef MO_EMU
    mo_emu_ldmatrix(r, smem, 2, 0);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(mo_smem_addr(smem)) : "memory");
#endif
}

MO_DEV void mo_ldmatrix_x2_trans(unsigned (&r)[2], const void *smem)
{
#ifdef MO_EMU
    mo_emu_ldmatrix(r, smem, 2, 1);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(mo_smem_addr(smem)) : "memory");
#endif
}

MO_DEV void mo_ldmatrix_x1(unsigned &r, const void *smem)
{
#ifdef MO_EMU
    mo_emu_ldmatrix(&r, smem, 1, 0);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];"
                 : "=r"(r) : "r"(mo_smem_addr(smem)) : "memory");
#endif
}

MO_DEV void mo_ldmatrix_x1_trans(unsigned &r, const void *smem)
{
#ifdef MO_EMU
    mo_emu_ldmatrix(&r, smem, 1, 1);
#else
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%0}, [%1];"
                 : "=r"(r) : "r"(mo_smem_addr(smem)) : "memory");
#endif
}

/* d[16x8] += a[16x16] b[16x8]. With g = lane / 4, t = lane % 4, and pairs of consecutive columns (of a and
 * d) or rows (of b):
 *   d[0..1]: row g, columns 2t..2t+1      d[2..3]: row g + 8
 *   a[0]: row g, columns 2t..2t+1         a[1]: row g + 8      a[2], a[3]: the same, columns + 8
 *   b[0]: rows 2t..2t+1, column g         b[1]: rows + 8 */
MO_DEV void mo_mma_f16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
#ifdef MO_EMU
    mo_emu_mma(0, d, a, b);
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

MO_DEV void mo_mma_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
#ifdef MO_EMU
    mo_emu_mma(1, d, a, b);
#else
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/* d[16x8] += a[16x8] b[8x8] in TF32: a[0]: (g, t), a[1]: (g + 8, t), a[2]: (g, t + 4), a[3]: (g + 8, t + 4);
 * b[0]: (t, g), b[1]: (t + 4, g); d as above. */
MO_DEV void mo_mma_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
#ifdef MO_EMU
    mo_emu_mma(2, d, a, b);
#else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/* x = hi + lo with both in TF32, to 21 bits (the matrix units do not read the last 13 bits of a register).
 * Truncation keeps hi finite; both are 0 for infinities and NaN. */
MO_DEV void mo_tf32_split(float x, unsigned &hi, unsigned &lo)
{
    float finite = fabsf(x) < mo_as_float(0x7f800000u) ? x : 0.0f;
    hi = mo_as_uint(finite) & 0xffffe000u;
    lo = mo_as_uint(finite - mo_as_float(hi)) + 0x1000u;
}

/* A fragment of N f32 elements for m16n8k8 in TF32 (the places of mo_mma_tf32). x = high + low, `value` is x
 * itself, which the matrix units read as high where it is finite. EXACT: x comes from 16 bits and low is 0. */
template <int N, bool EXACT> struct mo_tf32 {
    unsigned value[N], high[N], low[N];
    __device__ __forceinline__ void set(const float (&x)[N])
    {
#pragma unroll
        for (int i = 0; i < N; i++) {
            value[i] = mo_as_uint(x[i]);
            mo_tf32_split(x[i], high[i], low[i]);
        }
    }
};

/* acc += a b in f32, by TF32 products: with x = high + low and y = high' + low', x y is
 *   low high' + high low' + value value'
 * but for low low', which is below the f32 rounding. Infinities and NaN stand in the third term only, where 0
 * in another's low cannot meet them. The matrix units truncate their sums: the terms of eight k are added from
 * 0 on, small ones first, and the accumulator's own addition rounds to nearest. */
template <bool A_EXACT, bool B_EXACT>
MO_DEV void mo_mma_f32(float (&acc)[4], const mo_tf32<4, A_EXACT> &a, const mo_tf32<2, B_EXACT> &b)
{
    float sum[4] = {};
    if constexpr (!A_EXACT) mo_mma_tf32(sum, a.low, b.high);
    if constexpr (!B_EXACT) mo_mma_tf32(sum, a.high, b.low);
    mo_mma_tf32(sum, a.value, b.value);
#pragma unroll
    for (int i = 0; i < 4; i++) acc[i] += sum[i];
}

/* ---- asynchronous copies, global to shared ---- */

/* 16 bytes, past L1, fetching 128 into L2. Both pointers aligned to the copied size. */
MO_DEV void mo_cp_async16(void *smem, const void *gmem)
{
#ifdef MO_EMU
    mo_emu_cp_async(smem, gmem, 16, 16);
#else
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;"
                 ::"r"(mo_smem_addr(smem)), "l"(gmem) : "memory");
#endif
}

MO_DEV void mo_cp_async8(void *smem, const void *gmem)
{
#ifdef MO_EMU
    mo_emu_cp_async(smem, gmem, 8, 8);
#else
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 8;"
                 ::"r"(mo_smem_addr(smem)), "l"(gmem) : "memory");
#endif
}

MO_DEV void mo_cp_async4(void *smem, const void *gmem)
{
#ifdef MO_EMU
    mo_emu_cp_async(smem, gmem, 4, 4);
#else
    asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 4;"
                 ::"r"(mo_smem_addr(smem)), "l"(gmem) : "memory");
#endif
}

/* Copies the first `from` bytes (0..bytes) and fills the rest with zeros; `bytes` is a constant 4, 8 or 16.
 * With from == 0 nothing is read, but gmem must still be aligned. */
MO_DEV void mo_cp_async_part(void *smem, const void *gmem, int bytes, int from)
{
#ifdef MO_EMU
    mo_emu_cp_async(smem, gmem, bytes, from);
#else
    unsigned to = mo_smem_addr(smem);
    if (bytes == 16)
        asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(to), "l"(gmem), "r"(from)
                     : "memory");
    else if (bytes == 8)
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 8, %2;" ::"r"(to), "l"(gmem), "r"(from)
                     : "memory");
    else
        asm volatile("cp.async.ca.shared.global.L2::128B [%0], [%1], 4, %2;" ::"r"(to), "l"(gmem), "r"(from)
                     : "memory");
#endif
}

/* Copies `bytes` (a constant 4, 8 or 16) or, when not valid, writes zeros and reads nothing. */
MO_DEV void mo_cp_async_zfill(void *smem, const void *gmem, int bytes, bool valid)
{
    mo_cp_async_part(smem, gmem, bytes, valid ? bytes : 0);
}

MO_DEV void mo_cp_commit()
{
#ifdef MO_EMU
    mo_emu_cp_commit();
#else
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until at most the N latest groups of this thread are pending. Other threads see the data only
 * after a barrier that follows. */
template <int N> MO_DEV void mo_cp_wait()
{
#ifdef MO_EMU
    mo_emu_cp_wait(N);
#else
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

/* ---- global memory ---- */

/* Vector loads of data that no one writes while the kernel runs; read once, so not kept in L1. */
MO_DEV void mo_ld_nc16(unsigned (&r)[4], const void *gmem)
{
#ifdef MO_EMU
    mo_emu_load(r, gmem, 16, MO_EMU_CONSTANT);
#else
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(gmem));
#endif
}

MO_DEV void mo_ld_nc8(unsigned (&r)[2], const void *gmem)
{
#ifdef MO_EMU
    mo_emu_load(r, gmem, 8, MO_EMU_CONSTANT);
#else
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v2.u32 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "l"(gmem));
#endif
}

MO_DEV unsigned mo_ld_nc4(const void *gmem)
{
    unsigned r;
#ifdef MO_EMU
    mo_emu_load(&r, gmem, 4, MO_EMU_CONSTANT);
#else
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(r) : "l"(gmem));
#endif
    return r;
}

/* The same for data that the block reads again: kept in L1. */
MO_DEV void mo_ld_nc16_keep(unsigned (&r)[4], const void *gmem)
{
#ifdef MO_EMU
    mo_emu_load(r, gmem, 16, MO_EMU_CONSTANT);
#else
    asm volatile("ld.global.nc.L1::evict_last.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(gmem));
#endif
}

/* Loads of what an earlier kernel may have written after this one started: no constant cache. */
MO_DEV void mo_ld16(unsigned (&r)[4], const void *gmem)
{
#ifdef MO_EMU
    mo_emu_load(r, gmem, 16, MO_EMU_GLOBAL);
#else
    asm volatile("ld.global.L1::no_allocate.L2::128B.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(gmem) : "memory");
#endif
}

MO_DEV void mo_ld8(unsigned (&r)[2], const void *gmem)
{
#ifdef MO_EMU
    mo_emu_load(r, gmem, 8, MO_EMU_GLOBAL);
#else
    asm volatile("ld.global.L1::no_allocate.L2::128B.v2.u32 {%0, %1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "l"(gmem) : "memory");
#endif
}

MO_DEV unsigned mo_ld4(const void *gmem)
{
    unsigned r;
#ifdef MO_EMU
    mo_emu_load(&r, gmem, 4, MO_EMU_GLOBAL);
#else
    asm volatile("ld.global.L1::no_allocate.L2::128B.u32 %0, [%1];" : "=r"(r) : "l"(gmem) : "memory");
#endif
    return r;
}

MO_DEV void mo_st16(void *gmem, const unsigned (&r)[4])
{
#ifdef MO_EMU
    mo_emu_store(gmem, r, 16, MO_EMU_GLOBAL);
#else
    asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 ::"l"(gmem), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
#endif
}

MO_DEV void mo_st8(void *gmem, const unsigned (&r)[2])
{
#ifdef MO_EMU
    mo_emu_store(gmem, r, 8, MO_EMU_GLOBAL);
#else
    asm volatile("st.global.v2.u32 [%0], {%1, %2};" ::"l"(gmem), "r"(r[0]), "r"(r[1]) : "memory");
#endif
}

MO_DEV void mo_st4(void *gmem, unsigned r)
{
#ifdef MO_EMU
    mo_emu_store(gmem, &r, 4, MO_EMU_GLOBAL);
#else
    asm volatile("st.global.u32 [%0], %1;" ::"l"(gmem), "r"(r) : "memory");
#endif
}

/* 16-byte accesses to shared memory. */
MO_DEV void mo_lds16(unsigned (&r)[4], const void *smem)
{
#ifdef MO_EMU
    mo_emu_load(r, smem, 16, MO_EMU_SHARED);
#else
    asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(mo_smem_addr(smem)) : "memory");
#endif
}

MO_DEV void mo_sts16(void *smem, const unsigned (&r)[4])
{
#ifdef MO_EMU
    mo_emu_store(smem, r, 16, MO_EMU_SHARED);
#else
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};"
                 ::"r"(mo_smem_addr(smem)), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
#endif
}

/* A hint; any address is allowed. */
MO_DEV void mo_prefetch_l2(const void *gmem)
{
#ifdef MO_EMU
    (void)gmem;
#else
    asm volatile("prefetch.global.L2 [%0];" ::"l"(gmem));
#endif
}

/* ---- between blocks, through global memory (scope: the GPU) ---- */

MO_DEV unsigned mo_atomic_add_acq_rel(unsigned *gmem, unsigned x)
{
#ifdef MO_EMU
    return mo_emu_atomic_add(gmem, x);
#else
    unsigned old;
    asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(gmem), "r"(x) : "memory");
    return old;
#endif
}

MO_DEV void mo_red_add_f32(float *gmem, float x)
{
#ifdef MO_EMU
    mo_emu_red_add_f32(gmem, x);
#else
    asm volatile("red.relaxed.gpu.global.add.f32 [%0], %1;" ::"l"(gmem), "f"(x) : "memory");
#endif
}

MO_DEV unsigned mo_ld_acquire(const unsigned *gmem)
{
#ifdef MO_EMU
    return mo_emu_ld_acquire(gmem);
#else
    unsigned r;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(r) : "l"(gmem) : "memory");
    return r;
#endif
}

MO_DEV void mo_st_release(unsigned *gmem, unsigned x)
{
#ifdef MO_EMU
    mo_emu_st_release(gmem, x);
#else
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(gmem), "r"(x) : "memory");
#endif
}

/* 16 bytes as four relaxed words: data that carry their own flag are polled with these. */
MO_DEV void mo_ld_relaxed16(unsigned (&r)[4], const void *gmem)
{
#ifdef MO_EMU
    mo_emu_ld_relaxed(r, gmem, 16);
#else
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "l"(gmem) : "memory");
#endif
}

MO_DEV void mo_st_relaxed16(void *gmem, const unsigned (&r)[4])
{
#ifdef MO_EMU
    mo_emu_st_relaxed(gmem, r, 16);
#else
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};"
                 ::"l"(gmem), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
#endif
}

/* ---- dependent launch (nothing before sm_90) ---- */

/* Waits until the kernels this one depends on have ended and their writes are visible. */
MO_DEV void mo_grid_wait()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Lets dependent kernels start. */
MO_DEV void mo_grid_launch()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* A CUtensorMap by value; a kernel takes it as `const __grid_constant__ mo_tensor_map`. */
#ifdef MO_EMU
struct mo_tensor_map {
    const void *emulated;
};
#else
struct __align__(64) mo_tensor_map {
    unsigned long long words[16];
};
#endif

#if defined(MO_EMU) || (defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900)
/* ---- sm_90 and later: mbarriers, bulk copies, clusters ---- */

/* An mbarrier is 8 aligned bytes of shared memory that count `arrivals` arrivals and, per phase, bytes.
 * One thread initialises; then mo_mbar_fence_init and a barrier before anyone else uses it. */
MO_DEV void mo_mbar_init(unsigned long long *smem, unsigned arrivals)
{
#ifdef MO_EMU
    mo_emu_mbar_init(smem, arrivals);
#else
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;"
                 ::"r"(mo_smem_addr(smem)), "r"(arrivals) : "memory");
#endif
}

MO_DEV void mo_mbar_fence_init()
{
#ifndef MO_EMU
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}

/* Orders ordinary accesses to shared memory before later bulk copies. */
MO_DEV void mo_fence_async()
{
#ifndef MO_EMU
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}

/* One arrival that also announces `bytes` of bulk copies for this phase. */
MO_DEV void mo_mbar_expect_tx(unsigned long long *smem, unsigned bytes)
{
#ifdef MO_EMU
    mo_emu_mbar_arrive(smem, bytes);
#else
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                 ::"r"(mo_smem_addr(smem)), "r"(bytes) : "memory");
#endif
}

MO_DEV void mo_mbar_arrive(unsigned long long *smem)
{
#ifdef MO_EMU
    mo_emu_mbar_arrive(smem, 0);
#else
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(mo_smem_addr(smem)) : "memory");
#endif
}

/* Whether the phase with this parity (0 first, then alternating) has completed; may wait a little. */
MO_DEV bool mo_mbar_try_wait(unsigned long long *smem, unsigned parity)
{
#ifdef MO_EMU
    return mo_emu_mbar_try_wait(smem, parity);
#else
    unsigned done;
    asm volatile("{\n\t.reg .pred p;\n\t"
                 "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
                 "selp.u32 %0, 1, 0, p;\n\t}"
                 : "=r"(done) : "r"(mo_smem_addr(smem)), "r"(parity) : "memory");
    return done != 0;
#endif
}

MO_DEV void mo_mbar_wait(unsigned long long *smem, unsigned parity)
{
    while (!mo_mbar_try_wait(smem, parity)) {
    }
}

/* Cache policies for the copies below. */
enum class mo_l2_policy : unsigned long long {
    normal = 0x1000000000000000ull,
    evict_first = 0x12f0000000000000ull,
    evict_last = 0x14f0000000000000ull
};

/* Copies one box of a tensor map (in parameter, constant or global memory) whose first
 * element has the coordinates (x, y), x the contiguous one; elements outside the tensor become zeros. The
 * destination is aligned to 128 bytes (1024 with a 128-byte swizzle). `bar` counts the whole box. */
MO_DEV void mo_tma_load_2d(void *smem, const mo_tensor_map *map, int x, int y, unsigned long long *bar,
                           mo_l2_policy policy)
{
#ifdef MO_EMU
    mo_emu_tma_load(smem, map, 2, x, y, 0, bar);
    (void)policy;
#else
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1, {%2, %3}], [%4], %5;"
                 ::"r"(mo_smem_addr(smem)), "l"(map), "r"(x), "r"(y), "r"(mo_smem_addr(bar)), "l"((unsigned long long)policy)
                 : "memory");
#endif
}

MO_DEV void mo_tma_load_3d(void *smem, const mo_tensor_map *map, int x, int y, int z, unsigned long long *bar,
                           mo_l2_policy policy)
{
#ifdef MO_EMU
    mo_emu_tma_load(smem, map, 3, x, y, z, bar);
    (void)policy;
#else
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
                 "[%0], [%1, {%2, %3, %4}], [%5], %6;"
                 ::"r"(mo_smem_addr(smem)), "l"(map), "r"(x), "r"(y), "r"(z), "r"(mo_smem_addr(bar)),
                   "l"((unsigned long long)policy)
                 : "memory");
#endif
}

MO_DEV void mo_tma_prefetch_map(const mo_tensor_map *map)
{
#ifdef MO_EMU
    (void)map;
#else
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
#endif
}

/* Copies `bytes` (a multiple of 16) of contiguous memory, both ends aligned to 16. */
MO_DEV void mo_bulk_load(void *smem, const void *gmem, unsigned bytes, unsigned long long *bar)
{
#ifdef MO_EMU
    mo_emu_bulk_load(smem, gmem, bytes, bar);
#else
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                 ::"r"(mo_smem_addr(smem)), "l"(gmem), "r"(bytes), "r"(mo_smem_addr(bar)) : "memory");
#endif
}

MO_DEV unsigned mo_cluster_rank()
{
#ifdef MO_EMU
    return mo_emu_cluster_rank();
#else
    unsigned r;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
#endif
}

/* The two halves of the cluster barrier: arrive releases this thread's writes, wait acquires the others'. */
MO_DEV void mo_cluster_arrive()
{
#ifdef MO_EMU
    mo_emu_cluster_arrive();
#else
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

MO_DEV void mo_cluster_wait()
{
#ifdef MO_EMU
    mo_emu_cluster_wait();
#else
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

MO_DEV void mo_cluster_sync()
{
    mo_cluster_arrive();
    mo_cluster_wait();
}

/* Generic pointer to the same place in the shared memory of block `rank` of the cluster. */
MO_DEV void *mo_cluster_map(void *smem, unsigned rank)
{
#ifdef MO_EMU
    return mo_emu_cluster_map(smem, rank);
#else
    void *r;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(r) : "l"(smem), "r"(rank));
    return r;
#endif
}
#endif

#if defined(MO_EMU) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
/* ---- sm_90a alone: products of a warp group (four warps, the first a multiple of four) ----
 *
 * nvcc -arch=sm_90a makes text for plain sm_90 beside it, which no sm_90 GPU takes: a product is a trap there. */

/* Describes a tile in shared memory, aligned to 1024: rows of 64 16-bit elements, one behind the other, with
 * the 128-byte swizzle (the 16-byte piece p of row r lies in place p ^ r % 8); the product sums along the rows.
 * Adding 2 moves on by 16 elements along them. */
MO_DEV unsigned long long mo_wgmma_rows(const void *smem)
{
    return (unsigned long long)((mo_smem_addr(smem) & 0x3ffffu) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

/* The same memory where the product sums over the rows: 64 elements of the product's side in each, PANEL_BYTES
 * further on the next 64. */
template <int PANEL_BYTES> MO_DEV unsigned long long mo_wgmma_columns(const void *smem)
{
    return (unsigned long long)((mo_smem_addr(smem) & 0x3ffffu) >> 4) | (unsigned long long)(PANEL_BYTES >> 4) << 16 |
           64ull << 32 | 1ull << 62;
}

/* Before the first product, and whenever its accumulators were touched by other code. */
MO_DEV void mo_wgmma_fence()
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#endif
}

MO_DEV void mo_wgmma_commit()
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
#endif
}

/* Waits until at most the N latest groups are pending; before that nothing may touch their accumulators. */
template <int N> MO_DEV void mo_wgmma_wait()
{
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
#endif
}

/* After the wait: the compiler, which does not know what the wait is for, moves no use of d before this. */
MO_DEV void mo_wgmma_settle(float (&d)[128])
{
#ifdef MO_EMU
    (void)d;
#else
#pragma unroll
    for (int i = 0; i < 128; i++) asm volatile("" : "+f"(d[i]) :: "memory");
#endif
}

/* The same for accumulators in the order of fragments. */
template <int I, int J> MO_DEV void mo_wgmma_settle(float (&d)[I][J][4])
{
#ifdef MO_EMU
    (void)d;
#else
#pragma unroll
    for (int i = 0; i < I * J * 4; i++) asm volatile("" : "+f"(d[i / 4 / J][i / 4 % J][i % 4]) :: "memory");
#endif
}

/* d[64xN] += a[64x16] b[Nx16]^T, asynchronously, in the order of fragments: d[j] holds the columns 8 j ... of
 * this warp's 16 rows. COLUMNS_A, COLUMNS_B: the operand is described by mo_wgmma_columns. */
template <int COLUMNS_A, int COLUMNS_B>
MO_DEV void mo_wgmma_f16_n64(float (&d)[8][4], unsigned long long a, unsigned long long b)
{
#ifdef MO_EMU
    mo_emu_wgmma(d[0], a, b, 64 | MO_EMU_COLUMNS(COLUMNS_A, COLUMNS_B));
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, 1, 1, 1, %34, %35;"
                 : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]),
                   "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]),
                   "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
                   "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]),
                   "+f"(d[4][0]), "+f"(d[4][1]), "+f"(d[4][2]), "+f"(d[4][3]),
                   "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]),
                   "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]),
                   "+f"(d[7][0]), "+f"(d[7][1]), "+f"(d[7][2]), "+f"(d[7][3])
                 : "l"(a), "l"(b), "n"(COLUMNS_A), "n"(COLUMNS_B));
#else
    __trap();
#endif
}

/* As mo_wgmma_f16_n64. */
template <int COLUMNS_A, int COLUMNS_B>
MO_DEV void mo_wgmma_f16_n128(float (&d)[16][4], unsigned long long a, unsigned long long b)
{
#ifdef MO_EMU
    mo_emu_wgmma(d[0], a, b, 128 | MO_EMU_COLUMNS(COLUMNS_A, COLUMNS_B));
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, 1, 1, 1, %66, %67;"
                 : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]),
                   "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]),
                   "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
                   "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]),
                   "+f"(d[4][0]), "+f"(d[4][1]), "+f"(d[4][2]), "+f"(d[4][3]),
                   "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]),
                   "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]),
                   "+f"(d[7][0]), "+f"(d[7][1]), "+f"(d[7][2]), "+f"(d[7][3]),
                   "+f"(d[8][0]), "+f"(d[8][1]), "+f"(d[8][2]), "+f"(d[8][3]),
                   "+f"(d[9][0]), "+f"(d[9][1]), "+f"(d[9][2]), "+f"(d[9][3]),
                   "+f"(d[10][0]), "+f"(d[10][1]), "+f"(d[10][2]), "+f"(d[10][3]),
                   "+f"(d[11][0]), "+f"(d[11][1]), "+f"(d[11][2]), "+f"(d[11][3]),
                   "+f"(d[12][0]), "+f"(d[12][1]), "+f"(d[12][2]), "+f"(d[12][3]),
                   "+f"(d[13][0]), "+f"(d[13][1]), "+f"(d[13][2]), "+f"(d[13][3]),
                   "+f"(d[14][0]), "+f"(d[14][1]), "+f"(d[14][2]), "+f"(d[14][3]),
                   "+f"(d[15][0]), "+f"(d[15][1]), "+f"(d[15][2]), "+f"(d[15][3])
                 : "l"(a), "l"(b), "n"(COLUMNS_A), "n"(COLUMNS_B));
#else
    __trap();
#endif
}

/* As mo_wgmma_f16_n64. */
template <int COLUMNS_A, int COLUMNS_B>
MO_DEV void mo_wgmma_bf16_n64(float (&d)[8][4], unsigned long long a, unsigned long long b)
{
#ifdef MO_EMU
    mo_emu_wgmma(d[0], a, b, 64 | MO_EMU_COLUMNS(COLUMNS_A, COLUMNS_B) | MO_EMU_BF16);
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
                 "%32, %33, 1, 1, 1, %34, %35;"
                 : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]),
                   "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]),
                   "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
                   "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]),
                   "+f"(d[4][0]), "+f"(d[4][1]), "+f"(d[4][2]), "+f"(d[4][3]),
                   "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]),
                   "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]),
                   "+f"(d[7][0]), "+f"(d[7][1]), "+f"(d[7][2]), "+f"(d[7][3])
                 : "l"(a), "l"(b), "n"(COLUMNS_A), "n"(COLUMNS_B));
#else
    __trap();
#endif
}

/* As mo_wgmma_f16_n64. */
template <int COLUMNS_A, int COLUMNS_B>
MO_DEV void mo_wgmma_bf16_n128(float (&d)[16][4], unsigned long long a, unsigned long long b)
{
#ifdef MO_EMU
    mo_emu_wgmma(d[0], a, b, 128 | MO_EMU_COLUMNS(COLUMNS_A, COLUMNS_B) | MO_EMU_BF16);
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
                 "%64, %65, 1, 1, 1, %66, %67;"
                 : "+f"(d[0][0]), "+f"(d[0][1]), "+f"(d[0][2]), "+f"(d[0][3]),
                   "+f"(d[1][0]), "+f"(d[1][1]), "+f"(d[1][2]), "+f"(d[1][3]),
                   "+f"(d[2][0]), "+f"(d[2][1]), "+f"(d[2][2]), "+f"(d[2][3]),
                   "+f"(d[3][0]), "+f"(d[3][1]), "+f"(d[3][2]), "+f"(d[3][3]),
                   "+f"(d[4][0]), "+f"(d[4][1]), "+f"(d[4][2]), "+f"(d[4][3]),
                   "+f"(d[5][0]), "+f"(d[5][1]), "+f"(d[5][2]), "+f"(d[5][3]),
                   "+f"(d[6][0]), "+f"(d[6][1]), "+f"(d[6][2]), "+f"(d[6][3]),
                   "+f"(d[7][0]), "+f"(d[7][1]), "+f"(d[7][2]), "+f"(d[7][3]),
                   "+f"(d[8][0]), "+f"(d[8][1]), "+f"(d[8][2]), "+f"(d[8][3]),
                   "+f"(d[9][0]), "+f"(d[9][1]), "+f"(d[9][2]), "+f"(d[9][3]),
                   "+f"(d[10][0]), "+f"(d[10][1]), "+f"(d[10][2]), "+f"(d[10][3]),
                   "+f"(d[11][0]), "+f"(d[11][1]), "+f"(d[11][2]), "+f"(d[11][3]),
                   "+f"(d[12][0]), "+f"(d[12][1]), "+f"(d[12][2]), "+f"(d[12][3]),
                   "+f"(d[13][0]), "+f"(d[13][1]), "+f"(d[13][2]), "+f"(d[13][3]),
                   "+f"(d[14][0]), "+f"(d[14][1]), "+f"(d[14][2]), "+f"(d[14][3]),
                   "+f"(d[15][0]), "+f"(d[15][1]), "+f"(d[15][2]), "+f"(d[15][3])
                 : "l"(a), "l"(b), "n"(COLUMNS_A), "n"(COLUMNS_B));
#else
    __trap();
#endif
}

/* d[64x256] += a[64x16] b[256x16]^T in f16, asynchronously; a and b are tiles. With g = lane / 4 and
 * t = lane % 4, warp w of the group holds in d[4 j..4 j + 3] of the columns 8 j + 2 t and the next one: row
 * 16 w + g, then row 16 w + g + 8. */
MO_DEV void mo_wgmma_f16(float (&d)[128], unsigned long long a, unsigned long long b)
{
#ifdef MO_EMU
    mo_emu_wgmma(d, a, b, 256);
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL)
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 "
                 "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, "
                 "%108, %109, %110, %111, %112, %113, %114, %115, %116, %117, %118, %119, "
                 "%120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]),
                   "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                   "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]),
                   "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                   "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]),
                   "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                   "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
                   "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
                   "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
                   "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
                   "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]),
                   "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
                   "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]),
                   "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
                   "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]),
                   "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63]),
                   "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]),
                   "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]),
                   "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]),
                   "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79]),
                   "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]),
                   "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]),
                   "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]),
                   "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95]),
                   "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]),
                   "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]),
                   "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]),
                   "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111]),
                   "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]),
                   "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]),
                   "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]),
                   "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])
                 : "l"(a), "l"(b));
#else
    __trap();
#endif
}
#endif
