/* The declarations of this program against those of cuda.h, where that file exists. */
#include "gpu/driver.h"

#include <criterion/criterion.h>

#if defined __has_include
#if __has_include(<cuda.h>)
#define HAVE_CUDA_H 1
#include <cuda.h>
#endif
#endif

#ifdef HAVE_CUDA_H

/* Where cuda.h renames a function to a newer version than the one that is loaded, both have the same type. */
#define SAME(field, function) \
    __builtin_types_compatible_p(__typeof__(((mo_cuda *)0)->field), __typeof__(&function))

Test(types, functions_match_the_header)
{
    cr_assert(SAME(init, cuInit));
    cr_assert(SAME(driver_version, cuDriverGetVersion));
    cr_assert(SAME(error_name, cuGetErrorName));
    cr_assert(SAME(error_string, cuGetErrorString));
    cr_assert(SAME(device_get, cuDeviceGet));
    cr_assert(SAME(device_count, cuDeviceGetCount));
    cr_assert(SAME(device_name, cuDeviceGetName));
    cr_assert(SAME(device_attribute, cuDeviceGetAttribute));
    cr_assert(SAME(device_memory, cuDeviceTotalMem_v2));
    cr_assert(SAME(context_retain, cuDevicePrimaryCtxRetain));
    cr_assert(SAME(context_release, cuDevicePrimaryCtxRelease_v2));
    cr_assert(SAME(context_set, cuCtxSetCurrent));
    cr_assert(SAME(memory_info, cuMemGetInfo_v2));
    cr_assert(SAME(alloc, cuMemAlloc_v2));
    cr_assert(SAME(free, cuMemFree_v2));
    cr_assert(SAME(copy_to_device, cuMemcpyHtoD_v2));
    cr_assert(SAME(copy_to_host, cuMemcpyDtoH_v2));
    cr_assert(SAME(copy_on_device, cuMemcpyDtoDAsync_v2));
    cr_assert(SAME(fill, cuMemsetD8Async));
    cr_assert(SAME(module_load, cuModuleLoadData));
    cr_assert(SAME(module_unload, cuModuleUnload));
    cr_assert(SAME(module_function, cuModuleGetFunction));
    cr_assert(SAME(function_get, cuFuncGetAttribute));
    cr_assert(SAME(function_set, cuFuncSetAttribute));
    cr_assert(SAME(launch, cuLaunchKernel));
    cr_assert(SAME(stream_create, cuStreamCreate));
    cr_assert(SAME(stream_destroy, cuStreamDestroy_v2));
    cr_assert(SAME(stream_synchronize, cuStreamSynchronize));
    cr_assert(SAME(stream_capture, cuStreamBeginCapture_v2));
    cr_assert(SAME(stream_end_capture, cuStreamEndCapture));
    cr_assert(SAME(event_create, cuEventCreate));
    cr_assert(SAME(event_destroy, cuEventDestroy_v2));
    cr_assert(SAME(event_record, cuEventRecord));
    cr_assert(SAME(event_synchronize, cuEventSynchronize));
    cr_assert(SAME(event_elapsed, cuEventElapsedTime));
#if CUDA_VERSION >= 11040
    cr_assert(SAME(graph_instantiate, cuGraphInstantiateWithFlags));
#endif
    cr_assert(SAME(graph_launch, cuGraphLaunch));
    cr_assert(SAME(graph_exec_destroy, cuGraphExecDestroy));
    cr_assert(SAME(graph_destroy, cuGraphDestroy));
#if CUDA_VERSION >= 11080
    cr_assert(SAME(launch_ex, cuLaunchKernelEx));
    cr_assert(SAME(active_clusters, cuOccupancyMaxActiveClusters));
#endif
}

Test(types, constants_match_the_header)
{
    cr_assert_eq(MO_CU_DEVICE_SMS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    cr_assert_eq(MO_CU_DEVICE_L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    cr_assert_eq(MO_CU_DEVICE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    cr_assert_eq(MO_CU_DEVICE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    cr_assert_eq(MO_CU_DEVICE_SHARED_PER_SM, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    cr_assert_eq(MO_CU_DEVICE_SHARED_OPT_IN, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    cr_assert_eq(MO_CU_FUNCTION_MAX_THREADS, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    cr_assert_eq(MO_CU_FUNCTION_STATIC_SHARED, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    cr_assert_eq(MO_CU_FUNCTION_LOCAL_BYTES, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    cr_assert_eq(MO_CU_FUNCTION_REGISTERS, CU_FUNC_ATTRIBUTE_NUM_REGS);
    cr_assert_eq(MO_CU_FUNCTION_MAX_DYNAMIC_SHARED, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    cr_assert_eq(MO_CU_CAPTURE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
}

#if CUDA_VERSION >= 11080
Test(types, structures_match_the_header)
{
    cr_assert_eq(MO_CU_FUNCTION_NON_PORTABLE_CLUSTER, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    cr_assert_eq(MO_CU_LAUNCH_CLUSTER_DIMENSION, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    cr_assert_eq(sizeof(mo_cu_launch_attribute), sizeof(CUlaunchAttribute));
    cr_assert_eq(offsetof(mo_cu_launch_attribute, value), offsetof(CUlaunchAttribute, value));
    cr_assert_eq(sizeof(mo_cu_launch_config), sizeof(CUlaunchConfig));
    cr_assert_eq(offsetof(mo_cu_launch_config, block), offsetof(CUlaunchConfig, blockDimX));
    cr_assert_eq(offsetof(mo_cu_launch_config, shared_bytes), offsetof(CUlaunchConfig, sharedMemBytes));
    cr_assert_eq(offsetof(mo_cu_launch_config, stream), offsetof(CUlaunchConfig, hStream));
    cr_assert_eq(offsetof(mo_cu_launch_config, attributes), offsetof(CUlaunchConfig, attrs));
    cr_assert_eq(offsetof(mo_cu_launch_config, n_attributes), offsetof(CUlaunchConfig, numAttrs));
}
#endif

#else

Test(types, functions_match_the_header)
{
    cr_skip_test("cuda.h is not installed");
}

#endif
