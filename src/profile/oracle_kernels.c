/* A block of 16 x 16 threads computes a tile of 64 x 64 elements, 4 x 4 in each thread, from slices of 16
 * along k in shared memory. */
#include "profile/oracle_kernels.h"

#include "base/pool.h"

static const char text[] =
    "__device__ double product(double s, double x, double y) { return fma(x, y, s); }\n"
    "__device__ float product(float s, float x, float y) { return __fadd_rn(s, __fmul_rn(x, y)); }\n"
    "\n"
    "/* shape: batch, m, n, k; strides of a (batch, m, k) and of b (batch, k, n) */\n"
    "template <class T> __device__ void matmul(const T *a, const T *b, const long long *shape, T *c)\n"
    "{\n"
    "    __shared__ T sa[16][64 + 1], sb[16][64 + 1];\n"
    "    const long long batch = shape[0], m = shape[1], n = shape[2], k = shape[3];\n"
    "    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;\n"
    "    const long long i0 = blockIdx.y * 64ll, j0 = blockIdx.x * 64ll;\n"
    "    for (long long p = blockIdx.z; p < batch; p += gridDim.z) {\n"
    "        T sum[4][4] = {};\n"
    "        for (long long l0 = 0; l0 < k; l0 += 16) {\n"
    "            __syncthreads();\n"
    "            for (int e = threadIdx.x; e < 1024; e += 256) {\n"
    "                long long i = i0 + e / 16, la = l0 + e % 16, j = j0 + e % 64, lb = l0 + e / 64;\n"
    "                sa[e % 16][e / 16] =\n"
    "                    i < m && la < k ? a[p * shape[4] + i * shape[5] + la * shape[6]] : T(0);\n"
    "                sb[e / 64][e % 64] =\n"
    "                    j < n && lb < k ? b[p * shape[7] + lb * shape[8] + j * shape[9]] : T(0);\n"
    "            }\n"
    "            __syncthreads();\n"
    "            int last = k - l0 < 16 ? int(k - l0) : 16;\n"
    "            for (int l = 0; l < last; l++)\n"
    "#pragma unroll\n"
    "                for (int u = 0; u < 4; u++)\n"
    "#pragma unroll\n"
    "                    for (int v = 0; v < 4; v++)\n"
    "                        sum[u][v] = product(sum[u][v], sa[l][ty + 16 * u], sb[l][tx + 16 * v]);\n"
    "        }\n"
    "        for (int u = 0; u < 4; u++)\n"
    "            for (int v = 0; v < 4; v++) {\n"
    "                long long i = i0 + ty + 16 * u, j = j0 + tx + 16 * v;\n"
    "                if (i < m && j < n) c[(p * m + i) * n + j] = sum[u][v];\n"
    "            }\n"
    "    }\n"
    "}\n"
    "extern \"C\" __global__\n"
    "void matmul_f64(const double *a, const double *b, const long long *s, double *c)\n"
    "{\n"
    "    matmul(a, b, s, c);\n"
    "}\n"
    "extern \"C\" __global__ void matmul_f32(const float *a, const float *b, const long long *s, float *c)\n"
    "{\n"
    "    matmul(a, b, s, c);\n"
    "}\n";

static const double run_seconds = 60;

mo_compile_request mo_matmul_request(const char *arch)
{
    return (mo_compile_request){.source = text, .name = "reference.cu", .arch = arch};
}

void mo_matmul_open(mo_matmul_device *device, mo_bench *bench, const mo_compiled *compiled, int threads)
{
    *device = (mo_matmul_device){bench, compiled, threads > 0 ? threads : mo_core_count(),
                                 PTHREAD_MUTEX_INITIALIZER};
}

void mo_matmul_close(mo_matmul_device *device)
{
    pthread_mutex_destroy(&device->lock);
}

/* Elements from the first to the last that the strides reach. */
static int64_t reach(int64_t n0, int64_t s0, int64_t n1, int64_t s1, int64_t n2, int64_t s2)
{
    return 1 + (n0 - 1) * s0 + (n1 - 1) * s1 + (n2 - 1) * s2;
}

static int64_t reach_a(const mo_oracle_matmul *s)
{
    return reach(s->batch, s->a_batch, s->m, s->a_m, s->k, s->a_k);
}

static int64_t reach_b(const mo_oracle_matmul *s)
{
    return reach(s->batch, s->b_batch, s->k, s->b_k, s->n, s->b_n);
}

static unsigned tiles(int64_t extent, int64_t tile, int64_t most)
{
    int64_t count = (extent + tile - 1) / tile;
    return (unsigned)(count < most ? count : most);
}

bool mo_matmul_run(mo_matmul_device *device, const mo_oracle_matmul *s, bool single, const void *a,
                   const void *b, void *c)
{
    int64_t size = single ? 4 : 8;
    if (s->m > 64 * 65535ll || s->batch < 1 || s->m < 1 || s->n < 1 || s->k < 1) return false;
    const int64_t shape[10] = {s->batch, s->m,   s->n,       s->k,   s->a_batch,
                               s->a_m,   s->a_k, s->b_batch, s->b_k, s->b_n};
    int64_t inputs[3] = {size * reach_a(s), size * reach_b(s), sizeof shape};
    int64_t output = size * s->batch * s->m * s->n;
    const void *contents[3] = {a, b, shape};
    mo_arg args[4] = {{.kind = MO_ARG_INPUT, .index = 0},
                      {.kind = MO_ARG_INPUT, .index = 1},
                      {.kind = MO_ARG_INPUT, .index = 2},
                      {.kind = MO_ARG_OUTPUT}};
    mo_launch launch = {
        .kernel = single ? "matmul_f32" : "matmul_f64",
        .grid = {tiles(s->n, 64, INT32_MAX), tiles(s->m, 64, 65535), tiles(s->batch, 1, 65535)},
        .cluster = {1, 1, 1},
        .block = {256, 1, 1},
        .n_args = 4,
        .args = args};
    mo_dataset data = {.n_inputs = 3, .n_sets = 1, .input_bytes = inputs, .contents = contents};
    mo_job job = {.data = &data,
                  .cubin = device->compiled->cubin,
                  .cubin_bytes = device->compiled->cubin_bytes,
                  .n_launches = 1,
                  .launches = &launch,
                  .n_outputs = 1,
                  .output_bytes = &output};
    pthread_mutex_lock(&device->lock);
    mo_bench_add_data(device->bench, &data);
    mo_bench_add_job(device->bench, &job);
    mo_bench_limit(device->bench, run_seconds);
    mo_call call = mo_bench_run(device->bench, &job, 0, &c, NULL);
    mo_bench_drop_job(device->bench, &job);
    mo_bench_drop_data(device->bench, &data);
    pthread_mutex_unlock(&device->lock);
    return call == MO_CALL_OK;
}

/* Rough speeds: of a core here in products a second, and of the way to the worker and on to the GPU in bytes
 * a second. What they decide is a matter of time only; products of few rows are better off here, where they
 * take little longer than reading their operands. */
static const double core_products = 1.5e9, way_bytes = 1e9, call_seconds = 3e-3;

static bool worth_the_way(const mo_matmul_device *device, const mo_oracle_matmul *s, bool single)
{
    double products = (double)s->batch * (double)s->m * (double)s->n * (double)s->k;
    double results = (double)s->batch * (double)s->m * (double)s->n;
    double elements = (double)reach_a(s) + (double)reach_b(s) + results;
    double here = products / (core_products * device->threads);
    return here > call_seconds + elements * (single ? 4 : 8) / way_bytes;
}

static bool run_for_oracle(void *context, const mo_oracle_matmul *shape, bool single, const void *a,
                           const void *b, void *c)
{
    mo_matmul_device *device = context;
    return worth_the_way(device, shape, single) && mo_matmul_run(device, shape, single, a, b, c);
}

mo_matmul_hook mo_matmul_hook_of(mo_matmul_device *device)
{
    return (mo_matmul_hook){.run = run_for_oracle, .context = device, .least_products = 1 << 25};
}
