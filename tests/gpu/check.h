/* Checks of the plain test programs: a failed one is printed and counted. */
#ifndef MO_TESTS_GPU_CHECK_H
#define MO_TESTS_GPU_CHECK_H

#include <stdio.h>

static int failures;

#define CHECK(condition, ...)                                              \
    do {                                                                   \
        if (!(condition)) {                                                \
            failures++;                                                    \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, __VA_ARGS__);                                  \
            fputc('\n', stderr);                                           \
        }                                                                  \
    } while (0)

enum { SKIPPED = 77 };

#endif
