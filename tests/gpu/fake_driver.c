/* A libcuda.so.1 of what NVRTC looks for in it, for test_restart.c. cuInit is of no use in a process whose
 * parent has called it, like the real one. */
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

unsigned cuInit(unsigned flags);
unsigned cuGetExportTable(const void **table, const void *id);

enum { INVALID_VALUE = 1, NOT_INITIALIZED = 3, NO_DEVICE = 100, NOT_FOUND = 500 };

unsigned cuInit(unsigned flags)
{
    static pid_t owner;
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    if (flags != 0) return INVALID_VALUE;
    if (owner == 0) owner = getpid();
    if (owner != getpid()) return NOT_INITIALIZED;
    return visible != NULL && *visible == '\0' ? NO_DEVICE : 0;
}

unsigned cuGetExportTable(const void **table, const void *id)
{
    (void)id;
    *table = NULL;
    return NOT_FOUND;
}
