/* Checks of the plain test programs: a failed one is printed and counted. */
#ifndef MO_TESTS_GPU_CHECK_H
#define MO_TESTS_GPU_CHECK_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>

static int failures;

#define CHECK(condition, ...)                                               \
    do {                                                                    \
        if (!(condition)) {                                                 \
            failures++;                                                     \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                   \
            fputc('\n', stderr);                                            \
        }                                                                   \
    } while (0)

enum { SKIPPED = 77 };

/* Has this process the CUDA driver in its memory? */
static inline bool driver_is_loaded(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library != NULL) dlclose(library);
    return library != NULL;
}

#endif
