/* The CUDA driver, loaded at run time.
 *
 * One binary builds without a CUDA toolkit and works without a GPU: libcuda is opened with dlopen, and
 * the functions of cuda_api.def are found by their exact exported names. The declarations below are the
 * few that are needed; a test compares each with cuda.h where that file exists.
 *
 * mo_cuda is a table of function pointers: tests fill it with functions of their own. A process that has
 * called `init` must not fork afterwards and use the driver in the child: callers that want to survive
 * faulty kernels load the driver in a child process only (profile/worker.h). */
#ifndef MO_GPU_DRIVER_H
#define MO_GPU_DRIVER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tags are those of cuda.h, so that both sets of declarations can be compared. */
struct CUlaunchConfig_st;
struct CUtensorMap_st;
typedef unsigned mo_cu_result;
typedef int mo_cu_device;
typedef unsigned long long mo_cu_pointer;
typedef struct CUctx_st *mo_cu_context;
typedef struct CUmod_st *mo_cu_module;
typedef struct CUfunc_st *mo_cu_function;
typedef struct CUstream_st *mo_cu_stream;
typedef struct CUevent_st *mo_cu_event;
typedef struct CUgraph_st *mo_cu_graph;
typedef struct CUgraphExec_st *mo_cu_graph_exec;

enum {
    MO_CU_DEVICE_SMS = 16,
    MO_CU_DEVICE_L2_BYTES = 38,
    MO_CU_DEVICE_MAJOR = 75,
    MO_CU_DEVICE_MINOR = 76,
    MO_CU_DEVICE_SHARED_PER_SM = 81,
    MO_CU_DEVICE_SHARED_OPT_IN = 97,
    MO_CU_FUNCTION_MAX_THREADS = 0,
    MO_CU_FUNCTION_STATIC_SHARED = 1,
    MO_CU_FUNCTION_LOCAL_BYTES = 3,
    MO_CU_FUNCTION_REGISTERS = 4,
    MO_CU_FUNCTION_MAX_DYNAMIC_SHARED = 8,
    MO_CU_FUNCTION_NON_PORTABLE_CLUSTER = 14,
    MO_CU_LAUNCH_CLUSTER_DIMENSION = 4,
    MO_CU_LAUNCH_PROGRAMMATIC_SERIALIZATION = 6,
    MO_CU_CAPTURE_THREAD_LOCAL = 1
};

/* Same layout as CUlaunchAttribute and CUlaunchConfig of cuda.h. */
typedef struct {
    unsigned id;
    char padding[4];
    union {
        char bytes[64];
        unsigned cluster[3];
        int allowed;
    } value;
} mo_cu_launch_attribute;

typedef struct {
    unsigned grid[3], block[3], shared_bytes;
    mo_cu_stream stream;
    mo_cu_launch_attribute *attributes;
    unsigned n_attributes;
} mo_cu_launch_config;

typedef struct {
#define MO_CU(field, symbol, need, args) mo_cu_result(*field) args;
#include "gpu/cuda_api.def"
#undef MO_CU
} mo_cuda;

/* Fills *cuda. MO_ERR_ENV with the list of what was tried when there is no usable driver library. */
mo_status mo_cuda_load(mo_cuda *cuda, mo_error *error);

/* The same from other file names (NULL at the end). */
mo_status mo_cuda_load_from(mo_cuda *cuda, const char *const *names, mo_error *error);

/* Records MO_ERR_ENV "what: NAME (explanation)" unless `result` is 0. Returns true if it was. */
bool mo_cuda_ok(const mo_cuda *cuda, mo_cu_result result, const char *what, mo_error *error);

typedef struct {
    char name[128];   /* "NVIDIA H200" */
    char driver[64];  /* "580.159.03", or "CUDA 13.0" where the kernel module tells no version */
    int cuda_version; /* 13000 */
    int arch;         /* 90 */
    int sms;
    int shared_per_block; /* opt-in limit, bytes */
    int shared_per_sm;
    int64_t l2_bytes;
    int64_t memory_bytes;
} mo_gpu_facts;

/* Facts of device `index`; initialises the driver, creates no context. */
mo_status mo_gpu_query(const mo_cuda *cuda, int index, mo_gpu_facts *facts, mo_error *error);

#endif
