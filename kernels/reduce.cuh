/* Reductions over the threads of a block; include after math.cuh. Items are separated by blank lines. */

struct mo_sum_op {
    static __device__ __forceinline__ float start()
    {
        return 0.0f;
    }
    static __device__ __forceinline__ float apply(float a, float b)
    {
        return a + b;
    }
};

struct mo_max_op {
    static __device__ __forceinline__ float start()
    {
        return mo_as_float(0xff800000u);
    }
    static __device__ __forceinline__ float apply(float a, float b)
    {
        return mo_max_nan(a, b);
    }
};

struct mo_min_op {
    static __device__ __forceinline__ float start()
    {
        return mo_as_float(0x7f800000u);
    }
    static __device__ __forceinline__ float apply(float a, float b)
    {
        return mo_min_nan(a, b);
    }
};

/* Reduces x over LANES consecutive threads of a warp (a power of two); every one of them gets the result. */
template <typename Op, int LANES> MO_DEV float mo_reduce_warp(float x)
{
    static_assert(LANES <= 32, "more than a warp");
#pragma unroll
    for (int d = LANES / 2; d > 0; d /= 2) x = Op::apply(x, mo_shfl_xor(x, d));
    return x;
}

/* Over more than a warp: mo_reduce_warp, mo_share_warp, a barrier, mo_reduce_shared. So several reductions
 * need one barrier. Each has a float for each warp of the block at `shared`, which nothing else uses. */
MO_DEV void mo_share_warp(float *shared, float x)
{
    if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
}

/* Every thread reads the results of all warps of its row: a tree of a few additions takes less time than a
 * further round of shuffles, and the reads are wide. */
template <typename Op, int LANES> MO_DEV float mo_reduce_shared(const float *shared)
{
    constexpr int WARPS = LANES / 32;
    const float *mine = shared + threadIdx.x / LANES * WARPS;
    float x[WARPS];
#pragma unroll
    for (int w = 0; w < WARPS; w++) x[w] = mine[w];
#pragma unroll
    for (int d = WARPS / 2; d > 0; d /= 2) {
#pragma unroll
        for (int w = 0; w < d; w++) x[w] = Op::apply(x[w], x[w + d]);
    }
    return x[0];
}

/* Reduces x over threads that are ROWS apart (thread = lane * ROWS + row): neighbouring threads hold
 * neighbouring rows. `scratch` holds ROWS * LANES floats. */
template <typename Op, int LANES, int ROWS> MO_DEV float mo_reduce_strided(float x, float *scratch)
{
    if constexpr (LANES == 1) return x;
    __syncthreads();
    scratch[threadIdx.x] = x;
    __syncthreads();
    x = scratch[threadIdx.x % ROWS];
    for (int l = 1; l < LANES; l++) x = Op::apply(x, scratch[l * ROWS + threadIdx.x % ROWS]);
    return x;
}
