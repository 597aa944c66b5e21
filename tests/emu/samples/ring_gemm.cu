/* y[8, n] = x[8, k] w[k, n], f16 with f32 sums. Each warp streams its own slabs of w through a private ring
 * of shared memory; the weight is the 16-row operand. One sum over the warps at the end. */
enum { K = 512, N = 96, TOKENS = 8, TILE = 32, SLAB = 32, STAGES = 3, WARPS = 4 };

enum { STAGE_BYTES = SLAB * TILE * 2, SLABS = K / SLAB / WARPS };

/* Byte offset of 16-byte chunk `chunk` (0..3) of a 64-byte row, spread over the banks. */
MO_DEV int place(int row, int chunk)
{
    return row * 64 + ((chunk ^ (row >> 1 & 3)) << 4);
}

extern "C" __global__ void __launch_bounds__(WARPS * 32)
    ring_gemm(const mo_half *x, const mo_half *w, mo_half *y)
{
    extern __shared__ __align__(128) unsigned char mo_smem[];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    int column = blockIdx.x * TILE;
    unsigned char *ring = mo_smem + warp * STAGES * STAGE_BYTES;
    float d[2][4] = {};
    /* fill: all stages but one */
    for (int s = 0; s < STAGES - 1; s++) {
        for (int i = lane; i < SLAB * 4; i += 32)
            mo_cp_async16(ring + s * STAGE_BYTES + place(i / 4, i % 4),
                          w + ((s * WARPS + warp) * SLAB + i / 4) * N + column + i % 4 * 8);
        mo_cp_commit();
    }
    for (int s = 0; s < SLABS; s++) {
        mo_cp_wait<STAGES - 2>();
        mo_syncwarp();
        int next = s + STAGES - 1;
        if (next < SLABS) {
            for (int i = lane; i < SLAB * 4; i += 32)
                mo_cp_async16(ring + next % STAGES * STAGE_BYTES + place(i / 4, i % 4),
                              w + ((next * WARPS + warp) * SLAB + i / 4) * N + column + i % 4 * 8);
        }
        mo_cp_commit();
        const unsigned char *stage = ring + s % STAGES * STAGE_BYTES;
        int k0 = (s * WARPS + warp) * SLAB;
        for (int kk = 0; kk < SLAB; kk += 16) {
            unsigned b[2];
            b[0] = mo_ld_nc4(x + g * K + k0 + kk + 2 * t);
            b[1] = mo_ld_nc4(x + g * K + k0 + kk + 2 * t + 8);
            for (int nn = 0; nn < TILE; nn += 16) {
                unsigned a[4];
                mo_ldmatrix_x4_trans(a, stage + place(kk + lane % 8 + lane / 16 * 8, nn / 8 + lane / 8 % 2));
                mo_mma_f16(d[nn / 16], a, b);
            }
        }
    }
    mo_cp_wait<0>();
    __syncthreads(); /* the sums reuse the rings */
    float *sums = (float *)mo_smem;
    for (int i = 0; i < 2; i++)
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
