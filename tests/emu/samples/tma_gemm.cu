/* As ring_gemm, with the slabs of w copied by the bulk engine: boxes of 64 columns and 32 rows with the
 * 128-byte swizzle, one mbarrier for each stage of each warp. sm_90 and later. */
enum { K = 512, N = 128, TOKENS = 8, TILE = 64, SLAB = 32, STAGES = 2, WARPS = 4 };

enum { STAGE_BYTES = SLAB * TILE * 2, SLABS = K / SLAB / WARPS, RING_BYTES = WARPS * STAGES * STAGE_BYTES };

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    tma_gemm(const mo_half *x, const __grid_constant__ mo_tensor_map w, mo_half *y)
{
    extern __shared__ __align__(1024) unsigned char mo_smem[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    int column = blockIdx.x * TILE;
    unsigned char *ring = mo_smem + warp * STAGES * STAGE_BYTES;
    unsigned long long *full = (unsigned long long *)(mo_smem + RING_BYTES) + warp * STAGES;
    float d[4][4] = {};
    if (lane == 0) {
        for (int s = 0; s < STAGES; s++) mo_mbar_init(full + s, 1);
        mo_mbar_fence_init();
        for (int s = 0; s < STAGES; s++) {
            mo_mbar_expect_tx(full + s, STAGE_BYTES);
            mo_tma_load_2d(ring + s * STAGE_BYTES, &w, column, (s * WARPS + warp) * SLAB, full + s,
                           mo_l2_policy::evict_first);
        }
    }
    mo_syncwarp(); /* mbarriers are ready */
#pragma unroll 1 /* unrolled, the compiler spills uniform registers on sm_100 */
    for (int s = 0; s < SLABS; s++) {
        unsigned char *stage = ring + s % STAGES * STAGE_BYTES;
        mo_mbar_wait(full + s % STAGES, s / STAGES & 1);
        int k0 = (s * WARPS + warp) * SLAB;
        for (int kk = 0; kk < SLAB; kk += 16) {
            unsigned b[2];
            b[0] = mo_ld_nc4(x + g * K + k0 + kk + 2 * t);
            b[1] = mo_ld_nc4(x + g * K + k0 + kk + 2 * t + 8);
            for (int nn = 0; nn < TILE; nn += 16) {
                unsigned a[4];
                int row = kk + lane % 8 + lane / 16 * 8, chunk = nn / 8 + lane / 8 % 2;
                mo_ldmatrix_x4_trans(a, stage + row * 128 + ((chunk ^ (row & 7)) << 4));
                mo_mma_f16(d[nn / 16], a, b);
            }
        }
        mo_syncwarp(); /* the stage was read */
        if (lane == 0 && s + STAGES < SLABS) {
            mo_mbar_expect_tx(full + s % STAGES, STAGE_BYTES);
            mo_tma_load_2d(stage, &w, column, ((s + STAGES) * WARPS + warp) * SLAB, full + s % STAGES,
                           mo_l2_policy::evict_first);
        }
    }
    __syncthreads(); /* the sums reuse the rings */
    float *sums = (float *)mo_smem;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            sums[warp * TILE * TOKENS + (i * 16 + g + j / 2 * 8) * TOKENS + 2 * t + j % 2] = d[i][j];
    __syncthreads(); /* sums are there */
    for (int i = threadIdx.x; i < TILE * TOKENS; i += WARPS * 32) {
        int token = i / TILE, n = i % TILE;
        float sum = 0;
        for (int v = 0; v < WARPS; v++) sum += sums[v * TILE * TOKENS + n * TOKENS + token];
        mo_store(y + token * N + column + n, sum);
    }
}
