/* Messages: who did what where, with source lines from addr2line. */
#include "emu_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Lines of the kernel text for a return address: "k.cu:12 in k.cu:40", the inlined place first. Places
 * inside the emulator's own header say nothing and are left out. */
void mo_emu_describe_pc(mo_emu *emu, uint32_t pc, char *text, size_t size)
{
    text[0] = 0;
    char command[160], line[512];
    snprintf(command, sizeof command, "addr2line -i -s -e %s/kernel.so 0x%x 2>/dev/null", emu->dir, pc - 1);
    FILE *pipe = popen(command, "r");
    if (pipe == NULL) return;
    size_t used = 0;
    while (fgets(line, sizeof line, pipe) != NULL) {
        line[strcspn(line, " \n")] = 0;
        if (strstr(line, "emu_cuda.h") != NULL || strchr(line, '?') != NULL) continue;
        int n = snprintf(text + used, size - used, "%s%s", used == 0 ? " at " : " in ", line);
        if (n < 0 || (size_t)n >= size - used) break;
        used += (size_t)n;
    }
    pclose(pipe);
}

void mo_emu_describe_thread(const mo_emu *emu, unsigned slot, char *text, size_t size)
{
    if (slot < emu->n_threads) {
        const mo_emu_place *p = &emu->threads[slot].place;
        snprintf(text, size, "thread (%u,%u,%u) of block (%u,%u,%u)", p->thread.x, p->thread.y, p->thread.z,
                 p->block.x, p->block.y, p->block.z);
    } else {
        snprintf(text, size, "a bulk copy");
    }
}

void mo_emu_fail(mo_emu *emu, const thread *t, const void *pc, const char *format, ...)
{
    size_t size = sizeof emu->error, used = 0;
    if (t != NULL) {
        mo_emu_describe_thread(emu, t->index, emu->error, size);
        used = strlen(emu->error);
        mo_emu_describe_pc(emu, mo_emu_pc32(emu, pc), emu->error + used, size - used);
        used += strlen(emu->error + used);
        used += (size_t)snprintf(emu->error + used, size - used, ": ");
    }
    va_list args;
    va_start(args, format);
    vsnprintf(emu->error + used, size - used, format, args);
    va_end(args);
    emu->failed = true;
    mo_emu_abandon(emu);
}
