/* Reads the notes of `ptxas -v`. Each kernel is announced by a line that quotes its name; the lines
 * behind it, up to the next announcement, hold its stack, spills, registers and shared memory:
 *
 *    ptxas info    : Compiling entry function 'k' for 'sm_90a'
 *    ptxas info    : Function properties for k
 *        0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *    ptxas info    : Used 80 registers, used 1 barriers, 1024 bytes smem */
#include "gpu/nvrtc.h"

#include <stdlib.h>
#include <string.h>

/* The number in front of `unit` in [line, end), or -1. */
static int number_before(const char *line, const char *end, const char *unit)
{
    const char *at = memmem(line, (size_t)(end - line), unit, strlen(unit));
    if (at == NULL) return -1;
    const char *digits = at;
    while (digits > line && digits[-1] >= '0' && digits[-1] <= '9') digits--;
    return digits == at ? -1 : (int)strtol(digits, NULL, 10);
}

static void take(int *field, int value)
{
    if (value >= 0) *field = value;
}

static void read_line(mo_kernel_usage *usage, const char *line, const char *end)
{
    take(&usage->stack, number_before(line, end, " bytes stack frame"));
    take(&usage->spill_stores, number_before(line, end, " bytes spill stores"));
    take(&usage->spill_loads, number_before(line, end, " bytes spill loads"));
    take(&usage->registers, number_before(line, end, " registers"));
    take(&usage->shared_static, number_before(line, end, " bytes smem"));
}

static void read_name(mo_kernel_usage *usage, const char *name, const char *end)
{
    const char *quote = memchr(name, '\'', (size_t)(end - name));
    size_t length = quote == NULL ? 0 : (size_t)(quote - name);
    if (length >= sizeof usage->name) length = sizeof usage->name - 1;
    memset(usage, 0, sizeof *usage);
    memcpy(usage->name, name, length);
}

int mo_ptxas_parse(const char *log, mo_kernel_usage *usages, int capacity)
{
    static const char announcement[] = "Compiling entry function '";
    int count = 0;
    for (const char *line = log; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        const char *stop = end == NULL ? line + strlen(line) : end;
        const char *name = memmem(line, (size_t)(stop - line), announcement, strlen(announcement));
        if (name != NULL) {
            count++;
            if (count <= capacity) read_name(&usages[count - 1], name + strlen(announcement), stop);
        } else if (count > 0 && count <= capacity) {
            read_line(&usages[count - 1], line, stop);
        }
        line = end == NULL ? NULL : end + 1;
    }
    return usages == NULL || count < capacity ? count : capacity;
}
