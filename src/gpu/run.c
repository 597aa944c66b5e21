/* Calls of the driver, each with a word on what was being done when it failed. */
#include "gpu/run.h"

#include <string.h>

/* The stream is a blocking one: the synchronous copies run on the default stream and must stay in order
 * with it. */
static bool open_context(mo_gpu *gpu, mo_error *error)
{
    const mo_cuda *cuda = gpu->cuda;
    return mo_cuda_ok(cuda, cuda->context_retain(&gpu->context, gpu->device), "creating a GPU context",
                      error) &&
           mo_cuda_ok(cuda, cuda->context_set(gpu->context), "selecting the GPU context", error) &&
           mo_cuda_ok(cuda, cuda->stream_create(&gpu->stream, 0), "creating a stream", error) &&
           mo_cuda_ok(cuda, cuda->event_create(&gpu->before, 0), "creating an event", error) &&
           mo_cuda_ok(cuda, cuda->event_create(&gpu->after, 0), "creating an event", error);
}

bool mo_gpu_open(mo_gpu *gpu, const mo_cuda *cuda, int index, mo_error *error)
{
    memset(gpu, 0, sizeof *gpu);
    gpu->cuda = cuda;
    if (mo_gpu_query(cuda, index, &gpu->facts, error) != MO_OK) return false;
    if (!mo_cuda_ok(cuda, cuda->device_get(&gpu->device, index), "opening the GPU", error)) return false;
    if (open_context(gpu, error)) return true;
    mo_gpu_close(gpu);
    return false;
}

void mo_gpu_close(mo_gpu *gpu)
{
    const mo_cuda *cuda = gpu->cuda;
    if (gpu->after != NULL) cuda->event_destroy(gpu->after);
    if (gpu->before != NULL) cuda->event_destroy(gpu->before);
    if (gpu->stream != NULL) cuda->stream_destroy(gpu->stream);
    if (gpu->context != NULL) cuda->context_release(gpu->device);
    gpu->after = gpu->before = NULL;
    gpu->stream = NULL;
    gpu->context = NULL;
}

bool mo_gpu_alloc(mo_gpu *gpu, mo_cu_pointer *pointer, size_t bytes, mo_error *error)
{
    return mo_cuda_ok(gpu->cuda, gpu->cuda->alloc(pointer, bytes == 0 ? 1 : bytes), "allocating GPU memory",
                      error);
}

void mo_gpu_free(mo_gpu *gpu, mo_cu_pointer *pointer)
{
    if (*pointer != 0) gpu->cuda->free(*pointer);
    *pointer = 0;
}

size_t mo_gpu_memory_free(mo_gpu *gpu)
{
    size_t available = 0, total = 0;
    return gpu->cuda->memory_info(&available, &total) == 0 ? available : 0;
}

bool mo_gpu_fill(mo_gpu *gpu, mo_cu_pointer to, unsigned char byte, size_t bytes, mo_error *error)
{
    if (bytes == 0) return true;
    return mo_cuda_ok(gpu->cuda, gpu->cuda->fill(to, byte, bytes, gpu->stream), "filling GPU memory", error);
}

bool mo_gpu_write(mo_gpu *gpu, mo_cu_pointer to, const void *from, size_t bytes, mo_error *error)
{
    if (bytes == 0) return true;
    return mo_cuda_ok(gpu->cuda, gpu->cuda->copy_to_device(to, from, bytes), "copying to the GPU", error);
}

bool mo_gpu_read(mo_gpu *gpu, void *to, mo_cu_pointer from, size_t bytes, mo_error *error)
{
    if (bytes == 0) return true;
    return mo_cuda_ok(gpu->cuda, gpu->cuda->copy_to_host(to, from, bytes), "copying from the GPU", error);
}

bool mo_gpu_copy(mo_gpu *gpu, mo_cu_pointer to, mo_cu_pointer from, size_t bytes, mo_error *error)
{
    if (bytes == 0) return true;
    return mo_cuda_ok(gpu->cuda, gpu->cuda->copy_on_device(to, from, bytes, gpu->stream),
                      "copying on the GPU", error);
}

bool mo_gpu_synchronize(mo_gpu *gpu, const char *what, mo_error *error)
{
    return mo_cuda_ok(gpu->cuda, gpu->cuda->stream_synchronize(gpu->stream), what, error);
}

bool mo_gpu_load(mo_gpu *gpu, const void *cubin, mo_cu_module *module, mo_error *error)
{
    return mo_cuda_ok(gpu->cuda, gpu->cuda->module_load(module, cubin), "loading a compiled module", error);
}

void mo_gpu_unload(mo_gpu *gpu, mo_cu_module *module)
{
    if (*module != NULL) gpu->cuda->module_unload(*module);
    *module = NULL;
}

static bool clustered(const mo_gpu_kernel *kernel)
{
    return kernel->cluster[0] * kernel->cluster[1] * kernel->cluster[2] > 1;
}

static mo_cu_launch_config config_of(mo_gpu *gpu, const mo_gpu_kernel *kernel,
                                     mo_cu_launch_attribute attributes[2])
{
    mo_cu_launch_config config = {
        .shared_bytes = kernel->shared_bytes, .stream = gpu->stream, .attributes = attributes};
    memset(attributes, 0, 2 * sizeof *attributes);
    for (int i = 0; i < 3; i++) {
        config.grid[i] = kernel->grid[i];
        config.block[i] = kernel->block[i];
    }
    if (clustered(kernel)) {
        mo_cu_launch_attribute *cluster = &attributes[config.n_attributes++];
        cluster->id = MO_CU_LAUNCH_CLUSTER_DIMENSION;
        for (int i = 0; i < 3; i++) cluster->value.cluster[i] = kernel->cluster[i];
    }
    if (kernel->early) {
        mo_cu_launch_attribute *early = &attributes[config.n_attributes++];
        early->id = MO_CU_LAUNCH_PROGRAMMATIC_SERIALIZATION;
        early->value.allowed = 1;
    }
    return config;
}

/* A cluster must divide the grid, and at least one must be able to run. */
static bool cluster_fits(mo_gpu *gpu, const mo_gpu_kernel *kernel, mo_error *error)
{
    const mo_cuda *cuda = gpu->cuda;
    if (cuda->launch_ex == NULL || gpu->facts.arch < 90) {
        mo_fail(error, MO_ERR_ENV, "clusters need a newer GPU or driver");
        return false;
    }
    for (int i = 0; i < 3; i++) {
        if (kernel->cluster[i] == 0 || kernel->grid[i] % kernel->cluster[i] != 0) {
            mo_fail(error, MO_ERR_ENV, "the cluster does not divide the grid");
            return false;
        }
    }
    if (kernel->cluster[0] * kernel->cluster[1] * kernel->cluster[2] > 8) {
        cuda->function_set(kernel->function, MO_CU_FUNCTION_NON_PORTABLE_CLUSTER, 1);
    }
    if (cuda->active_clusters == NULL) return true;
    mo_cu_launch_attribute attributes[2];
    mo_cu_launch_config config = config_of(gpu, kernel, attributes);
    int active = 0;
    mo_cu_result r = cuda->active_clusters(&active, kernel->function,
                                           (const struct CUlaunchConfig_st *)(const void *)&config);
    if (r != 0) return mo_cuda_ok(cuda, r, "asking for the occupancy of clusters", error);
    if (active == 0) mo_fail(error, MO_ERR_ENV, "no cluster of this kernel fits the GPU");
    return active > 0;
}

static bool shape_fits(mo_gpu *gpu, const char *name, const mo_gpu_kernel *kernel, int max_threads,
                       mo_error *error)
{
    const unsigned *g = kernel->grid, *b = kernel->block;
    unsigned long long threads = (unsigned long long)b[0] * b[1] * b[2];
    if (g[0] == 0 || g[1] == 0 || g[2] == 0 || threads == 0 || threads > (unsigned)max_threads ||
        g[0] > 2147483647u || g[1] > 65535 || g[2] > 65535) {
        mo_fail(error, MO_ERR_ENV,
                "%s: grid %ux%ux%u of %ux%ux%u threads cannot be launched (at most %d threads)", name, g[0],
                g[1], g[2], b[0], b[1], b[2], max_threads);
        return false;
    }
    long long shared = (long long)kernel->shared_bytes + kernel->shared_static;
    if (shared > gpu->facts.shared_per_block) {
        mo_fail(error, MO_ERR_ENV, "%s: %lld bytes of shared memory, the GPU gives %d", name, shared,
                gpu->facts.shared_per_block);
        return false;
    }
    return true;
}

bool mo_gpu_prepare(mo_gpu *gpu, mo_cu_module module, const char *name, mo_gpu_kernel *kernel, bool *fits,
                    mo_error *error)
{
    const mo_cuda *cuda = gpu->cuda;
    *fits = true;
    if (!mo_cuda_ok(cuda, cuda->module_function(&kernel->function, module, name), name, error)) return false;
    int max_threads = 0;
    const struct {
        int *value;
        unsigned attribute;
    } wanted[] = {{&max_threads, MO_CU_FUNCTION_MAX_THREADS},
                  {&kernel->registers, MO_CU_FUNCTION_REGISTERS},
                  {&kernel->local_bytes, MO_CU_FUNCTION_LOCAL_BYTES},
                  {&kernel->shared_static, MO_CU_FUNCTION_STATIC_SHARED}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        mo_cu_result r = cuda->function_get(wanted[i].value, wanted[i].attribute, kernel->function);
        if (!mo_cuda_ok(cuda, r, "reading the attributes of a kernel", error)) return false;
    }
    *fits = shape_fits(gpu, name, kernel, max_threads, error);
    if (!*fits) return false;
    mo_cu_result r =
        cuda->function_set(kernel->function, MO_CU_FUNCTION_MAX_DYNAMIC_SHARED, (int)kernel->shared_bytes);
    if (!mo_cuda_ok(cuda, r, "raising the limit of shared memory", error)) return false;
    *fits = !clustered(kernel) || cluster_fits(gpu, kernel, error);
    return *fits;
}

bool mo_gpu_encode_map(mo_gpu *gpu, const mo_gpu_map_shape *shape, mo_cu_pointer base, mo_gpu_map *map,
                       mo_error *error)
{
    /* CUtensorMapDataType, CUtensorMapSwizzle and CUtensorMapL2promotion of cuda.h. */
    static const unsigned types[] = {[MO_GPU_F16] = 6, [MO_GPU_BF16] = 9, [MO_GPU_F32] = 7};
    enum { NO_INTERLEAVE = 0, PROMOTE_256 = 3, FILL_ZEROS = 0 };
    const unsigned ones[] = {1, 1, 1};
    unsigned swizzle = shape->swizzle == 128 ? 3 : shape->swizzle / 32;
    if (gpu->cuda->map_encode == NULL) {
        mo_fail(error, MO_ERR_ENV, "tensor maps need a newer driver");
        return false;
    }
    mo_cu_result r = gpu->cuda->map_encode((struct CUtensorMap_st *)(void *)map, types[shape->element],
                                           shape->rank, (void *)(uintptr_t)base, shape->size, shape->stride,
                                           shape->box, ones, NO_INTERLEAVE, swizzle, PROMOTE_256, FILL_ZEROS);
    return mo_cuda_ok(gpu->cuda, r, "encoding a tensor map", error);
}

bool mo_gpu_launch(mo_gpu *gpu, const mo_gpu_kernel *kernel, void **args, mo_error *error)
{
    const mo_cuda *cuda = gpu->cuda;
    mo_cu_result r;
    if (clustered(kernel) || (kernel->early && cuda->launch_ex != NULL)) {
        mo_cu_launch_attribute attributes[2];
        mo_cu_launch_config config = config_of(gpu, kernel, attributes);
        r = cuda->launch_ex((const struct CUlaunchConfig_st *)(const void *)&config, kernel->function, args,
                            NULL);
    } else {
        r = cuda->launch(kernel->function, kernel->grid[0], kernel->grid[1], kernel->grid[2],
                         kernel->block[0], kernel->block[1], kernel->block[2], kernel->shared_bytes,
                         gpu->stream, args, NULL);
    }
    return mo_cuda_ok(cuda, r, "launching a kernel", error);
}

bool mo_gpu_graph_begin(mo_gpu *gpu, mo_error *error)
{
    mo_cu_result r = gpu->cuda->stream_capture(gpu->stream, MO_CU_CAPTURE_THREAD_LOCAL);
    return mo_cuda_ok(gpu->cuda, r, "recording a CUDA graph", error);
}

bool mo_gpu_graph_end(mo_gpu *gpu, mo_cu_graph_exec *exec, mo_error *error)
{
    const mo_cuda *cuda = gpu->cuda;
    mo_cu_graph graph = NULL;
    if (!mo_cuda_ok(cuda, cuda->stream_end_capture(gpu->stream, &graph), "recording a CUDA graph", error)) {
        return false;
    }
    bool ok = mo_cuda_ok(cuda, cuda->graph_instantiate(exec, graph, 0), "instantiating a CUDA graph", error);
    cuda->graph_destroy(graph);
    return ok;
}

void mo_gpu_graph_abandon(mo_gpu *gpu)
{
    mo_cu_graph graph = NULL;
    if (gpu->cuda->stream_end_capture(gpu->stream, &graph) == 0 && graph != NULL) {
        gpu->cuda->graph_destroy(graph);
    }
}

void mo_gpu_graph_free(mo_gpu *gpu, mo_cu_graph_exec *graph)
{
    if (*graph != NULL) gpu->cuda->graph_exec_destroy(*graph);
    *graph = NULL;
}

bool mo_gpu_graph_time(mo_gpu *gpu, mo_cu_graph_exec graph, double *microseconds, mo_error *error)
{
    const mo_cuda *cuda = gpu->cuda;
    float milliseconds = 0;
    bool ok = mo_cuda_ok(cuda, cuda->event_record(gpu->before, gpu->stream), "recording an event", error) &&
              mo_cuda_ok(cuda, cuda->graph_launch(graph, gpu->stream), "launching a CUDA graph", error) &&
              mo_cuda_ok(cuda, cuda->event_record(gpu->after, gpu->stream), "recording an event", error) &&
              mo_cuda_ok(cuda, cuda->event_synchronize(gpu->after), "running the kernels", error) &&
              mo_cuda_ok(cuda, cuda->event_elapsed(&milliseconds, gpu->before, gpu->after),
                         "reading the time", error);
    *microseconds = 1e3 * (double)milliseconds;
    return ok;
}
