/* Text of the kernels that measure what the GPU can do. Reading: every thread of the grid loads 16 bytes
 * at a time and folds them, the last first so that all loads of a step are in flight together, into a
 * value that is stored only if it has one particular value. Matrix rate: products of fragments that stay
 * in registers (every architecture), or in shared memory (Hopper, whose full rate only the instructions
 * of a whole warp group reach). */
#include "profile/floor.h"

#include "base/str.h"
#include "codegen/emit.h"
#include "profile/floor_shapes.h"

/* The bytes are a constant of the timed kernels and an argument of flush, where a load more is no matter. */
static const char read_text[] =
    "template <int U> __device__ void read_all(const uint4 *in, uint4 *out, unsigned long long n)\n"
    "{\n"
    "    const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;\n"
    "    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    unsigned fold = 0;\n"
    "    for (; i + (U - 1) * step < n; i += U * step) {\n"
    "        uint4 v[U];\n"
    "#pragma unroll\n"
    "        for (int u = 0; u < U; u++) v[u] = in[i + u * step];\n"
    "#pragma unroll\n"
    "        for (int u = U - 1; u >= 0; u--) fold = fold * 3u + (v[u].x ^ v[u].y ^ v[u].z ^ v[u].w);\n"
    "    }\n"
    "    for (; i < n; i += step) {\n"
    "        uint4 v = in[i];\n"
    "        fold ^= v.x ^ v.y ^ v.z ^ v.w;\n"
    "    }\n"
    "    if (fold == 0x9d2c5680u) out[0].x = fold;\n"
    "}\n"
    "extern \"C\" __global__ void read2(const uint4 *in, uint4 *out) { read_all<2>(in, out, READ_COUNT); }\n"
    "extern \"C\" __global__ void read4(const uint4 *in, uint4 *out) { read_all<4>(in, out, READ_COUNT); }\n"
    "extern \"C\" __global__ void read8(const uint4 *in, uint4 *out) { read_all<8>(in, out, READ_COUNT); }\n"
    "extern \"C\" __global__ void flush(const uint4 *in, uint4 *out, const unsigned long long *count)\n"
    "{\n"
    "    read_all<4>(in, out, *count);\n"
    "}\n";

static const char mma_text[] =
    "extern \"C\" __global__ void mma_rate(const unsigned *in, float *out)\n"
    "{\n"
    "    unsigned a[4], b[2];\n"
    "    float c[16][4];\n"
    "    for (int i = 0; i < 4; i++) a[i] = in[(threadIdx.x * 4 + i) % 1024];\n"
    "    for (int i = 0; i < 2; i++) b[i] = in[(threadIdx.x * 2 + i + 512) % 1024];\n"
    "#pragma unroll\n"
    "    for (int j = 0; j < 16; j++)\n"
    "        for (int i = 0; i < 4; i++) c[j][i] = 0.f;\n"
    "#pragma unroll 1\n"
    "    for (int r = 0; r < ROUNDS; r++) {\n"
    "#pragma unroll\n"
    "        for (int j = 0; j < 16; j++) mo_mma_f16(c[j], a, b);\n"
    "    }\n"
    "    float sum = 0.f;\n"
    "#pragma unroll\n"
    "    for (int j = 0; j < 16; j++)\n"
    "        for (int i = 0; i < 4; i++) sum += c[j][i];\n"
    "    if (sum == 1.25e-37f) out[0] = sum;\n"
    "}\n";

/* Two warp groups, each with a 64 x 64 tile of its own and a 256 x 64 tile in common; the values do not
 * matter. */
static const char wgmma_text[] =
    "extern \"C\" __global__ void __launch_bounds__(256) wgmma_rate(const unsigned *in, float *out)\n"
    "{\n"
    "    extern __shared__ __align__(1024) unsigned char tiles[];\n"
    "    unsigned *words = (unsigned *)tiles;\n"
    "    for (int i = threadIdx.x; i < (2 * 8192 + 32768) / 4; i += 256) words[i] = in[i % 1024];\n"
    "    mo_fence_async();\n"
    "    __syncthreads();\n"
    "    unsigned long long a = mo_wgmma_rows(tiles + threadIdx.x / 128 * 8192);\n"
    "    unsigned long long b = mo_wgmma_rows(tiles + 16384);\n"
    "    float c[128];\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 128; i++) c[i] = 0.f;\n"
    "#pragma unroll 1\n"
    "    for (int r = 0; r < ROUNDS; r++) {\n"
    "        mo_wgmma_fence();\n"
    "#pragma unroll\n"
    "        for (int k = 0; k < 4; k++) mo_wgmma_f16(c, a + 2 * k, b + 2 * k);\n"
    "        mo_wgmma_commit();\n"
    "        mo_wgmma_wait<0>();\n"
    "    }\n"
    "    mo_wgmma_settle(c);\n"
    "    float sum = 0.f;\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < 128; i++) sum += c[i];\n"
    "    if (sum == 1.25e-37f) out[0] = sum;\n"
    "}\n";

/* The number `name` goes in front as a macro, then what the code uses of the device library. */
static mo_compile_request request_of(mo_arena *arena, const char *arch, const char *code, const char *name,
                                     int64_t number)
{
    mo_str text = {0};
    mo_str_printf(&text, "#define %s %lldull\n\n", name, (long long)number);
    mo_emit_library(arena, &text, code);
    mo_str_add(&text, code);
    mo_compile_request request = {
        .source = mo_arena_strdup(arena, mo_str_text(&text)), .name = "limit.cu", .arch = arch};
    mo_str_free(&text);
    return request;
}

mo_compile_request mo_floor_read_request(mo_arena *arena, const char *arch, int64_t bytes)
{
    return request_of(arena, arch, read_text, "READ_COUNT", mo_floor_pieces(bytes));
}

mo_compile_request mo_floor_mma_request(mo_arena *arena, const char *arch)
{
    return request_of(arena, arch, mma_text, "ROUNDS", MO_FLOOR_ROUNDS);
}

mo_compile_request mo_floor_wgmma_request(mo_arena *arena)
{
    return request_of(arena, "sm_90a", wgmma_text, "ROUNDS", MO_FLOOR_ROUNDS);
}
