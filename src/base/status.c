#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

mo_status mo_fail(mo_error *error, mo_status status, const char *format, ...)
{
    if (error == NULL) return status;
    error->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return status;
}

_Noreturn void mo_bug(const char *file, int line, const char *format, ...)
{
    fflush(stdout);
    fprintf(stderr, "mirage-opt: internal error at %s:%d: ", file, line);
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nmirage-opt: this is a defect; please report it with the program that caused it\n");
    fflush(stderr);
    _Exit(MO_ERR_INTERNAL);
}
