/* Loading is one loop over the table of cuda_api.def: a missing required symbol makes the library
 * unusable, and the message says which. */
#include "gpu/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { OPTIONAL, REQUIRED };

static const struct {
    const char *symbol;
    size_t offset;
    int need;
} table[] = {
#define MO_CU(field, symbol, need, args) {symbol, offsetof(mo_cuda, field), need},
#include "gpu/cuda_api.def"
#undef MO_CU
};

/* Name of the first required symbol that the library lacks, or NULL. */
static const char *fill(mo_cuda *cuda, void *library)
{
    memset(cuda, 0, sizeof *cuda);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *address = dlsym(library, table[i].symbol);
        if (address == NULL && table[i].need == REQUIRED) return table[i].symbol;
        memcpy((char *)cuda + table[i].offset, &address, sizeof address);
    }
    return NULL;
}

mo_status mo_cuda_load_from(mo_cuda *cuda, const char *const *names, mo_error *error)
{
    char tried[2048];
    size_t used = 0;
    tried[0] = '\0';
    for (; *names != NULL; names++) {
        void *library = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
        const char *missing = library == NULL ? NULL : fill(cuda, library);
        if (library != NULL && missing == NULL) return MO_OK; /* stays open until the process ends */
        int n = missing == NULL
                    ? snprintf(tried + used, sizeof tried - used, "\n  %s: %s", *names, dlerror())
                    : snprintf(tried + used, sizeof tried - used, "\n  %s: lacks %s", *names, missing);
        if (library != NULL) dlclose(library);
        if (n > 0 && used + (size_t)n < sizeof tried) used += (size_t)n;
    }
    return mo_fail(error, MO_ERR_ENV,
                   "no usable CUDA driver; tried:%s\n"
                   "hint: install the NVIDIA driver, or use --no-gpu to rank with the cost model",
                   tried);
}

mo_status mo_cuda_load(mo_cuda *cuda, mo_error *error)
{
    static const char *const names[] = {"libcuda.so.1", "libcuda.so", NULL};
    return mo_cuda_load_from(cuda, names, error);
}

bool mo_cuda_ok(const mo_cuda *cuda, mo_cu_result result, const char *what, mo_error *error)
{
    if (result == 0) return true;
    const char *name = NULL, *text = NULL;
    if (cuda->error_name(result, &name) != 0) name = NULL;
    if (cuda->error_string(result, &text) != 0) text = NULL;
    mo_fail(error, MO_ERR_ENV, "%s: %s (%u: %s)", what, name == NULL ? "unknown error" : name, result,
            text == NULL ? "no explanation" : text);
    return false;
}

/* The version of the kernel module says more than that of the API; the file is absent in some
 * containers. */
static void driver_text(mo_gpu_facts *facts)
{
    snprintf(facts->driver, sizeof facts->driver, "CUDA %d.%d", facts->cuda_version / 1000,
             facts->cuda_version % 1000 / 10);
    FILE *file = fopen("/sys/module/nvidia/version", "r");
    if (file == NULL) return;
    char line[sizeof facts->driver];
    if (fgets(line, sizeof line, file) != NULL && line[0] >= '0' && line[0] <= '9') {
        line[strcspn(line, "\n")] = '\0';
        memcpy(facts->driver, line, sizeof line);
    }
    fclose(file);
}

static mo_cu_result attributes(const mo_cuda *cuda, mo_cu_device device, mo_gpu_facts *facts)
{
    int major = 0, minor = 0, l2 = 0;
    const struct {
        int *value;
        unsigned attribute;
    } wanted[] = {{&major, MO_CU_DEVICE_MAJOR},
                  {&minor, MO_CU_DEVICE_MINOR},
                  {&l2, MO_CU_DEVICE_L2_BYTES},
                  {&facts->sms, MO_CU_DEVICE_SMS},
                  {&facts->shared_per_block, MO_CU_DEVICE_SHARED_OPT_IN},
                  {&facts->shared_per_sm, MO_CU_DEVICE_SHARED_PER_SM}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        mo_cu_result r = cuda->device_attribute(wanted[i].value, wanted[i].attribute, device);
        if (r != 0) return r;
    }
    facts->arch = 10 * major + minor;
    facts->l2_bytes = l2;
    return 0;
}

mo_status mo_gpu_query(const mo_cuda *cuda, int index, mo_gpu_facts *facts, mo_error *error)
{
    memset(facts, 0, sizeof *facts);
    int count = 0;
    mo_cu_device device = 0;
    size_t memory = 0;
    if (!mo_cuda_ok(cuda, cuda->init(0), "initialising the CUDA driver", error)) return MO_ERR_ENV;
    if (!mo_cuda_ok(cuda, cuda->device_count(&count), "counting GPUs", error)) return MO_ERR_ENV;
    if (index < 0 || index >= count) {
        return mo_fail(error, MO_ERR_ENV, "there is no GPU %d (the driver shows %d)", index, count);
    }
    bool ok =
        mo_cuda_ok(cuda, cuda->device_get(&device, index), "opening the GPU", error) &&
        mo_cuda_ok(cuda, cuda->device_name(facts->name, (int)sizeof facts->name - 1, device),
                   "reading the GPU's name", error) &&
        mo_cuda_ok(cuda, attributes(cuda, device, facts), "reading the GPU's limits", error) &&
        mo_cuda_ok(cuda, cuda->device_memory(&memory, device), "reading the GPU's memory", error) &&
        mo_cuda_ok(cuda, cuda->driver_version(&facts->cuda_version), "reading the driver's version", error);
    if (!ok) return MO_ERR_ENV;
    facts->memory_bytes = (int64_t)memory;
    driver_text(facts);
    return MO_OK;
}
