/* Every wrapper of ptx.cuh and half.cuh in a kernel of its own or with its kin. The same text runs on a GPU
 * and in the emulator, and both must give the same words: in[] is input, out[] the results. One block of 64
 * threads (two warps) and 16 KiB of shared memory, unless it says otherwise. */
enum { THREADS = 64 };

/* out[slot] of this thread. */
MO_DEV void put(unsigned *out, int slot, unsigned x)
{
    out[slot * THREADS + threadIdx.x] = x;
}

MO_DEV void put(unsigned *out, int slot, float x)
{
    out[slot * THREADS + threadIdx.x] = mo_as_uint(x);
}

/* 2048 words of input in shared memory. */
MO_DEV unsigned *input_tile(const unsigned *in, unsigned char *smem)
{
    unsigned *tile = (unsigned *)smem;
    for (int i = threadIdx.x; i < 2048; i += THREADS) tile[i] = in[i];
    __syncthreads();
    return tile;
}

extern "C" __global__ void __launch_bounds__(THREADS) narrow(const unsigned *in, unsigned *out)
{
    for (int i = 0; i < 16; i++) {
        float x = mo_as_float(in[i * THREADS + threadIdx.x]);
        float y = mo_as_float(in[(i ^ 1) * THREADS + threadIdx.x]);
        put(out, 4 * i, (unsigned)mo_float_to_f16(x) | (unsigned)mo_float_to_bf16(x) << 16);
        put(out, 4 * i + 1, mo_pack_f16(x, y));
        put(out, 4 * i + 2, mo_pack_bf16(x, y));
        mo_half h = mo_elem<mo_half>::make(x);
        mo_bf16 b = mo_elem<mo_bf16>::make(x);
        put(out, 4 * i + 3, (unsigned)h.bits | (unsigned)b.bits << 16);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) widen(const unsigned *in, unsigned *out)
{
    for (int i = 0; i < 8; i++) {
        unsigned pair = in[i * THREADS + threadIdx.x];
        float lo, hi;
        mo_unpack_f16(pair, lo, hi);
        put(out, 8 * i, lo);
        put(out, 8 * i + 1, hi);
        mo_unpack_bf16(pair, lo, hi);
        put(out, 8 * i + 2, lo);
        put(out, 8 * i + 3, hi);
        put(out, 8 * i + 4, mo_f16_to_float((unsigned short)pair));
        put(out, 8 * i + 5, mo_bf16_to_float((unsigned short)pair));
        put(out, 8 * i + 6, mo_round<mo_half>(mo_as_float(pair)));
        put(out, 8 * i + 7, mo_load((const mo_half *)(in + i * THREADS + threadIdx.x)));
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) approximate(const unsigned *in, unsigned *out)
{
    for (int i = 0; i < 12; i++) {
        float x = mo_as_float(in[i * THREADS + threadIdx.x]);
        put(out, 4 * i, mo_ex2(x));
        put(out, 4 * i + 1, mo_lg2(x));
        put(out, 4 * i + 2, mo_rcp(x));
        put(out, 4 * i + 3, mo_rsqrt(x));
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) exact(const unsigned *in, unsigned *out)
{
    for (int i = 0; i < 12; i++) {
        float x = mo_as_float(in[i * THREADS + threadIdx.x]);
        float y = mo_as_float(in[(i ^ 3) * THREADS + threadIdx.x]);
        unsigned hi, lo;
        put(out, 5 * i, mo_sqrt(x));
        put(out, 5 * i + 1, mo_max_nan(x, y));
        put(out, 5 * i + 2, mo_min_nan(x, y));
        mo_tf32_split(x, hi, lo);
        put(out, 5 * i + 3, hi);
        put(out, 5 * i + 4, lo);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) shuffles(const unsigned *in, unsigned *out)
{
    float x = mo_as_float(in[threadIdx.x] & 0x7f7fffffu);
    for (int i = 0; i < 5; i++) {
        put(out, 4 * i, mo_shfl_xor(x, 1 << i));
        put(out, 4 * i + 1, mo_shfl_down(x, 1 << i));
        put(out, 4 * i + 2, mo_shfl(x, 7 * i));
        put(out, 4 * i + 3, mo_shfl_u32(in[threadIdx.x], threadIdx.x % 32 * 5 + i & 31));
        mo_syncwarp();
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) ldmatrix(const unsigned *in, unsigned *out)
{
    extern __shared__ __align__(128) unsigned char mo_smem[];
    const unsigned *tile = input_tile(in, mo_smem);
    int lane = threadIdx.x % 32;
    unsigned r[4], s[2], u;
    for (int i = 0; i < 2; i++) {
        const unsigned *row = tile + (lane * (i ? 5 : 3) + (threadIdx.x / 32) * 7) * 4;
        mo_ldmatrix_x4(r, row);
        for (int j = 0; j < 4; j++) put(out, 14 * i + j, r[j]);
        mo_ldmatrix_x4_trans(r, row);
        for (int j = 0; j < 4; j++) put(out, 14 * i + 4 + j, r[j]);
        mo_ldmatrix_x2(s, row);
        for (int j = 0; j < 2; j++) put(out, 14 * i + 8 + j, s[j]);
        mo_ldmatrix_x2_trans(s, row);
        for (int j = 0; j < 2; j++) put(out, 14 * i + 10 + j, s[j]);
        mo_ldmatrix_x1(u, row);
        put(out, 14 * i + 12, u);
        mo_ldmatrix_x1_trans(u, row);
        put(out, 14 * i + 13, u);
    }
    put(out, 28, mo_smem_addr(tile + threadIdx.x) - mo_smem_addr(tile));
}

/* Inputs are floats of moderate size; the fragments are built from them. */
extern "C" __global__ void __launch_bounds__(THREADS) products(const unsigned *in, unsigned *out)
{
    float x[12], d[4];
    for (int i = 0; i < 12; i++) x[i] = mo_as_float(in[i * THREADS + threadIdx.x]);
    unsigned a[4], b[2];
    for (int i = 0; i < 4; i++) d[i] = x[i];
    for (int i = 0; i < 4; i++) a[i] = mo_pack<mo_half>(x[2 * i], x[2 * i + 1]);
    for (int i = 0; i < 2; i++) b[i] = mo_pack<mo_half>(x[8 + 2 * i], x[9 + 2 * i]);
    mo_mma_f16(d, a, b);
    mo_mma<mo_half>(d, a, b);
    for (int i = 0; i < 4; i++) put(out, i, d[i]);
    for (int i = 0; i < 4; i++) d[i] = x[i];
    for (int i = 0; i < 4; i++) a[i] = mo_pack<mo_bf16>(x[2 * i], x[2 * i + 1]);
    for (int i = 0; i < 2; i++) b[i] = mo_pack<mo_bf16>(x[8 + 2 * i], x[9 + 2 * i]);
    mo_mma_bf16(d, a, b);
    mo_mma<mo_bf16>(d, a, b);
    for (int i = 0; i < 4; i++) put(out, 4 + i, d[i]);
    for (int i = 0; i < 4; i++) d[i] = x[i];
    for (int i = 0; i < 4; i++) a[i] = mo_as_uint(x[i]);
    for (int i = 0; i < 2; i++) b[i] = mo_as_uint(x[8 + i]);
    mo_mma_tf32(d, a, b);
    for (int i = 0; i < 4; i++) put(out, 8 + i, d[i]);
    for (int i = 0; i < 4; i++) d[i] = x[i];
    mo_tf32<4, false> left;
    mo_tf32<2, false> right;
    left.set({x[0], x[1], x[2], x[3]});
    right.set({x[8], x[9]});
    mo_mma_f32(d, left, right);
    for (int i = 0; i < 4; i++) put(out, 12 + i, d[i]);
}

extern "C" __global__ void __launch_bounds__(THREADS) copies(const unsigned *in, unsigned *out)
{
    extern __shared__ __align__(128) unsigned char mo_smem[];
    unsigned *tile = (unsigned *)mo_smem, t = threadIdx.x;
    const unsigned *from = in + 32 * t;
    unsigned *to = tile + 36 * t;
    mo_cp_async16(to, from);
    mo_cp_commit();
    mo_cp_async8(to + 4, from + 4);
    mo_cp_async4(to + 6, from + 6);
    mo_cp_async_part(to + 8, from + 8, 16, (int)(t % 17));
    mo_cp_commit();
    mo_cp_async_part(to + 12, from + 12, 8, (int)(t % 9));
    mo_cp_async_part(to + 14, from + 14, 4, (int)(t % 5));
    mo_cp_async_zfill(to + 16, from + 16, 16, t % 2 == 0);
    mo_cp_async_zfill(to + 20, from + 20, 8, t % 3 == 0);
    mo_cp_async_zfill(to + 22, from + 22, 4, t % 4 == 0);
    mo_cp_commit();
    mo_cp_wait<2>();
    for (int i = 0; i < 4; i++) put(out, i, to[i]);
    mo_cp_wait<0>();
    __syncthreads();
    const unsigned *other = tile + 36 * (t ^ 33);
    for (int i = 4; i < 23; i++)
        if (i != 7 && i != 15) put(out, i, other[i]); /* nothing was copied there */
}

extern "C" __global__ void __launch_bounds__(THREADS) vectors(const unsigned *in, unsigned *out)
{
    extern __shared__ __align__(128) unsigned char mo_smem[];
    unsigned *tile = (unsigned *)mo_smem, r[4], s[2], u[2], t = threadIdx.x;
    mo_prefetch_l2(in + 32 * t);
    mo_ld_nc16(r, in + 32 * t);
    mo_st16(out + 20 * t, r);
    mo_ld_nc16_keep(r, in + 32 * t + 4);
    mo_sts16(tile + 4 * t, r);
    __syncthreads();
    mo_lds16(r, tile + 4 * (t ^ 21));
    mo_st16(out + 20 * t + 4, r);
    mo_ld_nc8(s, in + 32 * t + 8);
    mo_st8(out + 20 * t + 8, s);
    mo_ld8(u, in + 32 * t + 16);
    mo_st4(out + 20 * t + 10, mo_ld_nc4(in + 32 * t + 10) ^ mo_ld4(in + 32 * t + 18) ^ u[0] ^ u[1] << 1);
    mo_store((mo_half *)(out + 20 * t + 11), mo_load((const float *)(in + 32 * t + 11)));
    mo_store((mo_bf16 *)(out + 20 * t + 11) + 1, mo_load((const float *)(in + 32 * t + 11)));
    mo_ld16(r, in + 32 * t + 12);
    mo_st_relaxed16(out + 20 * t + 12, r);
    mo_ld_relaxed16(r, out + 20 * t + 12);
    mo_st16(out + 20 * t + 16, r);
}

/* Words 0 to 3 of out: a sum, a float sum, and a message from warp 0 to warp 1 through global memory. */
extern "C" __global__ void __launch_bounds__(THREADS) signals(const unsigned *in, unsigned *out)
{
    extern __shared__ __align__(128) unsigned char mo_smem[];
    unsigned *tile = (unsigned *)mo_smem, t = threadIdx.x;
    if (t < 4) out[t] = 0;
    __syncthreads();
    mo_atomic_add_acq_rel(out, in[t] & 0xffffu);
    mo_red_add_f32((float *)out + 1, (float)(in[t] & 0xffu));
    if (t == 0) {
        out[2] = in[5];
        mo_st_release(out + 3, 1);
    }
    if (t < 32) {
        tile[t] = in[t];
        mo_bar_arrive(1, THREADS);
        mo_bar_sync(2, THREADS);
        out[4 + t] = tile[32 + t];
    } else {
        while (mo_ld_acquire(out + 3) == 0) {
        }
        unsigned message = out[2];
        mo_bar_sync(1, THREADS);
        out[4 + t] = tile[t - 32] + message;
        tile[t] = in[t];
        mo_bar_sync(2, THREADS);
    }
    mo_grid_wait();
    mo_grid_launch();
}

/* Launched as a cluster of two blocks. */
extern "C" __global__ void __launch_bounds__(THREADS) bulk(const unsigned *in, unsigned *out)
{
#if defined(MO_EMU) || __CUDA_ARCH__ >= 900
    extern __shared__ __align__(128) unsigned char mo_smem[];
    unsigned *tile = (unsigned *)mo_smem, t = threadIdx.x, rank = mo_cluster_rank();
    unsigned long long *full = (unsigned long long *)(mo_smem + 8192), *gathered = full + 1;
    if (t == 0) {
        mo_mbar_init(full, 1);
        mo_mbar_init(gathered, THREADS);
        mo_mbar_fence_init();
    }
    __syncthreads();
    for (unsigned phase = 0; phase < 3; phase++) {
        if (t == 0) {
            mo_fence_async();
            mo_mbar_expect_tx(full, 1024);
            mo_bulk_load(tile, in + 256 * phase, 512, full);
            mo_bulk_load(tile + 128, in + 256 * phase + 128 + 128 * rank, 512, full);
        }
        mo_mbar_wait(full, phase & 1);
        out[((rank * 3 + phase) * 2) * THREADS + t] = tile[t];
        out[((rank * 3 + phase) * 2 + 1) * THREADS + t] = tile[255 - t];
        mo_mbar_arrive(gathered);
        if (t == 0)
            while (!mo_mbar_try_wait(gathered, phase & 1)) {
            }
    }
    unsigned *mail = tile + 512;
    mo_cluster_sync();
    ((unsigned *)mo_cluster_map(mail, rank ^ 1))[t] = in[t] + rank;
    mo_cluster_arrive();
    mo_cluster_wait();
    out[(12 + rank) * THREADS + t] = mail[t];
#endif
}

/* One warp group of 128 threads: two products of f16 tiles that fill 40 KiB of shared memory, onto sums that
 * differ. Out: 32 words of each thread, each made of four sums. */
extern "C" __global__ void __launch_bounds__(128) warp_group(const unsigned *in, unsigned *out)
{
#if defined(MO_EMU) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
    extern __shared__ __align__(1024) unsigned char mo_smem[];
    unsigned *tile = (unsigned *)mo_smem, t = threadIdx.x;
    for (unsigned i = t; i < 10240; i += 128)
        tile[i] = mo_pack_f16(mo_as_float(in[i * 3 % 4096]), mo_as_float(in[(i * 5 + 1) % 4096]));
    mo_fence_async();
    __syncthreads();
    unsigned long long a = mo_wgmma_rows(mo_smem), b = mo_wgmma_rows(mo_smem + 8192);
    float d[128];
    for (int i = 0; i < 128; i++) d[i] = (float)((i + t) % 7);
    mo_wgmma_fence();
    mo_wgmma_f16(d, a, b);
    mo_wgmma_f16(d, a + 6, b + 6);
    mo_wgmma_commit();
    mo_wgmma_wait<0>();
    mo_wgmma_settle(d);
    for (int i = 0; i < 32; i++)
        out[i * 128 + t] = mo_as_uint(d[4 * i] + 2 * d[4 * i + 1] + 3 * d[4 * i + 2] + 4 * d[4 * i + 3]);
#endif
}

/* The same with other shapes: operands that lie along the rows and along the columns of a tile. Out: 32 words of
 * each thread. */
extern "C" __global__ void __launch_bounds__(128) warp_group_shapes(const unsigned *in, unsigned *out)
{
#if defined(MO_EMU) || defined(__CUDA_ARCH_FEAT_SM90_ALL)
    extern __shared__ __align__(1024) unsigned char mo_smem[];
    unsigned *tile = (unsigned *)mo_smem, t = threadIdx.x;
    for (unsigned i = t; i < 10240; i += 128)
        tile[i] = mo_pack_f16(mo_as_float(in[i * 3 % 4096]), mo_as_float(in[(i * 5 + 1) % 4096]));
    mo_fence_async();
    __syncthreads();
    unsigned char *right = mo_smem + 8192;
    float narrow[2][1][8][4], wide[1][16][4] = {};
#pragma unroll
    for (int i = 0; i < 32; i++) narrow[0][0][i / 4][i % 4] = narrow[1][0][i / 4][i % 4] = (float)((i + t) % 7);
    mo_wgmma_fence();
    mo_wgmma_f16_n64<0, 1>(narrow[0][0], mo_wgmma_rows(mo_smem + 64), mo_wgmma_columns<8192>(right + 2048));
    mo_wgmma_bf16_n64<1, 0>(narrow[1][0], mo_wgmma_columns<8192>(mo_smem + 4096), mo_wgmma_rows(right + 32));
    mo_wgmma_f16_n128<1, 0>(wide[0], mo_wgmma_columns<8192>(mo_smem), mo_wgmma_rows(right));
    mo_wgmma_bf16_n128<0, 1>(wide[0], mo_wgmma_rows(mo_smem), mo_wgmma_columns<8192>(right + 6144));
    mo_wgmma_commit();
    mo_wgmma_wait<0>();
    mo_wgmma_settle(narrow[0]);
    mo_wgmma_settle(narrow[1]);
    mo_wgmma_settle(wide);
#pragma unroll
    for (int j = 0; j < 32; j++) {
        const float(&d)[4] = j < 16 ? narrow[j / 8][0][j % 8] : wide[0][j - 16];
        out[j * 128 + t] = mo_as_uint(d[0] + 2 * d[1] + 3 * d[2] + 4 * d[3]);
    }
#endif
}

/* A tensor map, for the compilers only: what it copies is tested by the samples. */
extern "C" __global__ void __launch_bounds__(THREADS)
    tensor(const __grid_constant__ mo_tensor_map map, unsigned *out)
{
#if defined(MO_EMU) || __CUDA_ARCH__ >= 900
    extern __shared__ __align__(1024) unsigned char mo_smem[];
    unsigned long long *full = (unsigned long long *)(mo_smem + 8192);
    mo_tma_prefetch_map(&map);
    if (threadIdx.x == 0) {
        mo_mbar_init(full, 1);
        mo_mbar_fence_init();
        mo_mbar_expect_tx(full, 4096);
        mo_tma_load_2d(mo_smem, &map, 0, 0, full, mo_l2_policy::normal);
        mo_tma_load_3d(mo_smem + 2048, &map, 0, 0, 0, full, mo_l2_policy::evict_last);
    }
    __syncthreads();
    mo_mbar_wait(full, 0);
    put(out, 0, ((unsigned *)mo_smem)[threadIdx.x]);
#endif
}
