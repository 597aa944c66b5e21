/* Running compiled kernels: one device, one stream, modules, buffers, graphs and a timer.
 *
 * A thin layer over the driver's table: every function returns true, or false with MO_ERR_ENV and what
 * was being done in *error. After a kernel has failed (an illegal access, say) the context is lost: all
 * later calls fail too, and only a new process gets a working one. Not thread-safe. */
#ifndef MO_GPU_RUN_H
#define MO_GPU_RUN_H

#include "gpu/driver.h"

typedef struct {
    const mo_cuda *cuda;
    mo_cu_device device;
    mo_cu_context context;
    mo_cu_stream stream;
    mo_cu_event before, after;
    mo_gpu_facts facts;
} mo_gpu;

/* Opens device `index` with its primary context. On failure *gpu needs no close. */
bool mo_gpu_open(mo_gpu *gpu, const mo_cuda *cuda, int index, mo_error *error);
void mo_gpu_close(mo_gpu *gpu);

bool mo_gpu_alloc(mo_gpu *gpu, mo_cu_pointer *pointer, size_t bytes, mo_error *error);
void mo_gpu_free(mo_gpu *gpu, mo_cu_pointer *pointer); /* 0 is allowed; becomes 0 */
size_t mo_gpu_memory_free(mo_gpu *gpu);
bool mo_gpu_fill(mo_gpu *gpu, mo_cu_pointer to, unsigned char byte, size_t bytes, mo_error *error);
bool mo_gpu_write(mo_gpu *gpu, mo_cu_pointer to, const void *from, size_t bytes, mo_error *error);
bool mo_gpu_read(mo_gpu *gpu, void *to, mo_cu_pointer from, size_t bytes, mo_error *error);
bool mo_gpu_copy(mo_gpu *gpu, mo_cu_pointer to, mo_cu_pointer from, size_t bytes, mo_error *error);
bool mo_gpu_synchronize(mo_gpu *gpu, const char *what, mo_error *error);

bool mo_gpu_load(mo_gpu *gpu, const void *cubin, mo_cu_module *module, mo_error *error);
void mo_gpu_unload(mo_gpu *gpu, mo_cu_module *module); /* NULL module is allowed */

/* A kernel with its launch shape. */
typedef struct {
    mo_cu_function function;
    unsigned grid[3], cluster[3], block[3];
    bool early;            /* may start while the kernel before it ends (ignored by old drivers) */
    unsigned shared_bytes; /* dynamic */
    int registers, local_bytes, shared_static;
} mo_gpu_kernel;

/* Finds `name` in the module and prepares the launch shape that is already in *kernel: checks it against
 * the device, raises the limit of dynamic shared memory, reads the attributes. False also when the
 * kernel does not fit the device: *fits says which. */
bool mo_gpu_prepare(mo_gpu *gpu, mo_cu_module module, const char *name, mo_gpu_kernel *kernel, bool *fits,
                    mo_error *error);

/* What a tensor map says of memory: sizes and box in elements, the contiguous axis first; strides in bytes of
 * the axes behind it; swizzle in bytes (0, 32, 64, 128). */
typedef enum { MO_GPU_F16, MO_GPU_BF16, MO_GPU_F32 } mo_gpu_element;

typedef struct {
    mo_gpu_element element;
    unsigned rank; /* 2 or 3 */
    uint64_t size[3], stride[2];
    unsigned box[3], swizzle;
} mo_gpu_map_shape;

/* The driver's encoding of one, passed to kernels by value. */
typedef struct {
    _Alignas(64) uint64_t words[16];
} mo_gpu_map;

bool mo_gpu_encode_map(mo_gpu *gpu, const mo_gpu_map_shape *shape, mo_cu_pointer base, mo_gpu_map *map,
                       mo_error *error);

/* `args`: an array of pointers to the arguments. Asynchronous. */
bool mo_gpu_launch(mo_gpu *gpu, const mo_gpu_kernel *kernel, void **args, mo_error *error);

/* Launches between begin and end are recorded, not run. */
bool mo_gpu_graph_begin(mo_gpu *gpu, mo_error *error);
bool mo_gpu_graph_end(mo_gpu *gpu, mo_cu_graph_exec *graph, mo_error *error);
void mo_gpu_graph_abandon(mo_gpu *gpu); /* ends a recording after a failed launch */
void mo_gpu_graph_free(mo_gpu *gpu, mo_cu_graph_exec *graph);

/* Launches the graph once and waits; microseconds between the events around it. */
bool mo_gpu_graph_time(mo_gpu *gpu, mo_cu_graph_exec graph, double *microseconds, mo_error *error);

#endif
