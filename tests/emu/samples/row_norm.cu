/* y = x / sqrt(mean(x^2) + 1e-5) over rows of 1000 floats: one block per row, a tail in the last vector step,
 * shuffles, then shared memory. */
enum { COLUMNS = 1000, THREADS = 128 };

extern "C" __global__ void __launch_bounds__(THREADS) row_norm(const float *x, float *y)
{
    extern __shared__ __align__(128) unsigned char mo_smem[];
    float *partial = (float *)mo_smem;
    const float *row = x + blockIdx.x * COLUMNS;
    float squares = 0;
    for (int i = threadIdx.x; i < COLUMNS / 4; i += THREADS) {
        unsigned v[4];
        mo_ld_nc16(v, row + 4 * i);
        for (int j = 0; j < 4; j++) squares += mo_as_float(v[j]) * mo_as_float(v[j]);
    }
    for (int lanes = 16; lanes > 0; lanes /= 2) squares += mo_shfl_xor(squares, lanes);
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = squares;
    __syncthreads(); /* partial sums are there */
    float sum = 0;
    for (int i = 0; i < THREADS / 32; i++) sum += partial[i];
    float scale = mo_rsqrt(sum * (1.0f / COLUMNS) + 1e-5f);
    for (int i = threadIdx.x; i < COLUMNS; i += THREADS) y[blockIdx.x * COLUMNS + i] = row[i] * scale;
}
