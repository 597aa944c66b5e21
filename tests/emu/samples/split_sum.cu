/* Sums over a row split over blocks, in three ways: through global memory (the last block to arrive adds the
 * parts), through a cluster's shared memory, and with producer and consumer warps and named barriers. */
enum { LENGTH = 4096, PARTS = 4, THREADS = 64 };

/* The sum of `n` floats over the block; every thread gets it. */
MO_DEV float block_sum(const float *x, int n, float *shared)
{
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += THREADS) sum += x[i];
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += mo_shfl_xor(sum, lanes);
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = sum;
    __syncthreads();
    return shared[0] + shared[1];
}

extern "C" __global__ void __launch_bounds__(THREADS)
    sum_last_block(const float *x, float *parts, unsigned *count, float *y)
{
    extern __shared__ __align__(128) unsigned char mo_smem[];
    float *shared = (float *)mo_smem;
    float sum = block_sum(x + blockIdx.x * (LENGTH / PARTS), LENGTH / PARTS, shared);
    if (threadIdx.x != 0) return;
    parts[blockIdx.x] = sum;
    if (mo_atomic_add_acq_rel(count, 1) + 1 < PARTS) return;
    float total = 0;
    for (int i = 0; i < PARTS; i++) total += parts[i];
    *y = total;
    *count = 0;
}

/* All blocks of a cooperative launch; each waits until the others have arrived. */
extern "C" __global__ void __launch_bounds__(THREADS)
    sum_all_blocks(const float *x, float *parts, unsigned *count, float *y)
{
    extern __shared__ __align__(128) unsigned char mo_smem[];
    float *shared = (float *)mo_smem;
    float sum = block_sum(x + blockIdx.x * (LENGTH / PARTS), LENGTH / PARTS, shared);
    if (threadIdx.x != 0) return;
    parts[blockIdx.x] = sum;
    mo_atomic_add_acq_rel(count, 1);
    while (mo_ld_acquire(count) < PARTS) {
    }
    float total = 0;
    for (int i = 0; i < PARTS; i++) total += parts[i];
    y[blockIdx.x] = total;
}

extern "C" __global__ void __launch_bounds__(THREADS) sum_cluster(const float *x, float *y)
{
#if defined(MO_EMU) || __CUDA_ARCH__ >= 900
    extern __shared__ __align__(128) unsigned char mo_smem[];
    float *shared = (float *)mo_smem, *received = shared + 2;
    float sum = block_sum(x + blockIdx.x * (LENGTH / PARTS), LENGTH / PARTS, shared);
    mo_cluster_sync(); /* the other blocks have started */
    float *owner = (float *)mo_cluster_map(received, 0);
    if (threadIdx.x == 0) owner[mo_cluster_rank()] = sum;
    mo_cluster_sync(); /* the parts are there */
    if (mo_cluster_rank() == 0 && threadIdx.x == 0) {
        float total = 0;
        for (int i = 0; i < PARTS; i++) total += received[i];
        *y = total;
    }
#endif
}

/* Warp 0 copies, warp 1 adds; barrier 1: a chunk is there, barrier 2: it was read. */
extern "C" __global__ void __launch_bounds__(THREADS) sum_two_warps(const float *x, float *y)
{
    extern __shared__ __align__(128) unsigned char mo_smem[];
    float *chunk = (float *)mo_smem;
    int lane = threadIdx.x % 32;
    if (threadIdx.x < 32) {
        for (int i = 0; i < LENGTH; i += 128) {
            mo_cp_async16(chunk + 4 * lane, x + i + 4 * lane);
            mo_cp_commit();
            mo_cp_wait<0>();
            mo_bar_arrive(1, 64);
            mo_bar_sync(2, 64);
        }
    } else {
        float sum = 0;
        for (int i = 0; i < LENGTH; i += 128) {
            mo_bar_sync(1, 64);
            for (int j = 0; j < 4; j++) sum += chunk[4 * lane + j];
            mo_bar_arrive(2, 64);
        }
        for (int lanes = 16; lanes > 0; lanes /= 2) sum += mo_shfl_down(sum, lanes);
        if (lane == 0) *y = sum;
    }
}
