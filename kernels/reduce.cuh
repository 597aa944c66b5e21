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

/* Reduces x over LANES consecutive threads (a power of two); every one of them gets the result. `scratch`
 * holds a float for each warp of the block and is used when LANES exceeds a warp: all threads call. */
template <typename Op, int LANES> MO_DEV float mo_reduce_lanes(float x, float *scratch)
{
#pragma unroll
    for (int d = (LANES < 32 ? LANES : 32) / 2; d > 0; d /= 2) x = Op::apply(x, mo_shfl_xor(x, d));
    if constexpr (LANES > 32) {
        constexpr int WARPS = LANES / 32;
        __syncthreads();
        if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = x;
        __syncthreads();
        const float *mine = scratch + threadIdx.x / LANES * WARPS;
        x = mine[0];
#pragma unroll
        for (int w = 1; w < WARPS; w++) x = Op::apply(x, mine[w]);
    }
    return x;
}

/* The same over threads that are ROWS apart (thread = lane * ROWS + row): neighbouring threads hold
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
