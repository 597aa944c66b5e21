// The floor that tools/bench/peers.py compares with, and what it needs to time with a cold L2. Compiled by it.
#include <cuda_runtime.h>

constexpr int IN_FLIGHT = 8; // 16-byte loads of one thread

// XOR of IN_FLIGHT vectors, all loaded before the first is used. WHOLE: none of them lies behind the end.
template <bool WHOLE>
__device__ __forceinline__ unsigned one_round(const uint4 *__restrict__ from, size_t i, size_t stride, size_t n)
{
    uint4 v[IN_FLIGHT];
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; k++)
        v[k] = WHOLE || i + k * stride < n ? from[i + k * stride] : make_uint4(0, 0, 0, 0);
    unsigned mixed = 0;
#pragma unroll
    for (int k = 0; k < IN_FLIGHT; k++) mixed ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
    return mixed;
}

// Reads 16 * n bytes once.
__global__ void __launch_bounds__(1024) read_all(const uint4 *__restrict__ from, size_t n, unsigned *sink)
{
    const size_t stride = (size_t)gridDim.x * blockDim.x;
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned mixed = 0;
    for (; i + (IN_FLIGHT - 1) * stride < n; i += IN_FLIGHT * stride) mixed ^= one_round<true>(from, i, stride, n);
    if (i < n) mixed ^= one_round<false>(from, i, stride, n);
    // Keeps the loads; what is written, if anything is, means nothing.
    if (mixed == 0x9e3779b9u) *sink = mixed;
}

__global__ void spin(long long cycles)
{
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
}

extern "C" int floor_read(const void *from, size_t bytes, int blocks, int threads, void *sink, void *stream)
{
    read_all<<<blocks, threads, 0, (cudaStream_t)stream>>>((const uint4 *)from, bytes / 16, (unsigned *)sink);
    return (int)cudaGetLastError();
}

// Keeps the stream busy while the host enqueues what is to be timed.
extern "C" int floor_spin(long long cycles, void *stream)
{
    spin<<<1, 1, 0, (cudaStream_t)stream>>>(cycles);
    return (int)cudaGetLastError();
}
