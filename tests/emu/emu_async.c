/* cp.async: 4 to 16 bytes per thread, in groups. The bytes arrive at the issue or when they are waited for;
 * until the issuing thread has waited, any access to the destination is a race. */
#include "emu_internal.h"

#include <stdlib.h>
#include <string.h>

static void land(mo_emu *emu, const thread *t, const copy *c)
{
    unsigned char *to = mo_emu_shared_bytes(emu, t->block, c->offset);
    memcpy(to, c->from, c->valid);
    memset(to + c->valid, 0, c->bytes - c->valid);
}

static void append(thread *t, copy c)
{
    if (t->n_copies == t->cap_copies) {
        t->cap_copies = t->cap_copies == 0 ? 64 : 2 * t->cap_copies;
        t->copies = realloc(t->copies, t->cap_copies * sizeof *t->copies);
        if (t->copies == NULL) abort();
    }
    t->copies[t->n_copies++] = c;
}

void mo_emu_cp_async(mo_emu *emu, const void *pc, void *to, const void *from, int bytes, int valid)
{
    thread *t = emu->running;
    if (bytes != 4 && bytes != 8 && bytes != 16) mo_emu_fail(emu, t, pc, "cp.async of %d bytes", bytes);
    if (valid < 0 || valid > bytes) mo_emu_fail(emu, t, pc, "cp.async reads %d of %d bytes", valid, bytes);
    size_t size = (size_t)bytes;
    location where = mo_emu_locate(emu, t, pc, "cp.async (to)", to, size, size, MO_EMU_SHARED);
    if (where.block != t->block) mo_emu_fail(emu, t, pc, "cp.async into another block");
    if (valid > 0) {
        location source =
            mo_emu_locate(emu, t, pc, "cp.async (from)", from, (size_t)valid, size, MO_EMU_GLOBAL);
        mo_emu_touch(emu, t, pc, &source, (size_t)valid, READ);
    } else if ((uintptr_t)from % size != 0) {
        mo_emu_fail(emu, t, pc, "cp.async (from): pointer not aligned to %d bytes", bytes);
    }
    mo_emu_flight_begin(emu, t, pc, t->block, (unsigned)where.offset, (unsigned)bytes, t->index);
    copy c = {(unsigned)where.offset, (unsigned)bytes, (unsigned)valid, from, t->commit_group};
    append(t, c);
    emu->counts.async_bytes += size;
    if (emu->late)
        memset(to, 0xff, size);
    else
        land(emu, t, &c);
}

void mo_emu_cp_commit(mo_emu *emu, const void *pc)
{
    (void)pc;
    emu->running->commit_group++;
}

void mo_emu_cp_wait(mo_emu *emu, const void *pc, int pending)
{
    thread *t = emu->running;
    if (pending < 0) mo_emu_fail(emu, t, pc, "wait for all but %d groups", pending);
    mo_emu_step(emu, t);
    uint32_t step = mo_emu_clock(emu, t)[t->index];
    unsigned done = 0;
    while (done < t->n_copies && t->copies[done].group + (unsigned)pending < t->commit_group) {
        const copy *c = &t->copies[done++];
        if (emu->late) land(emu, t, c);
        mo_emu_flight_end(emu, t->block, c->offset, c->bytes, t->index, step);
    }
    t->n_copies -= done;
    memmove(t->copies, t->copies + done, t->n_copies * sizeof *t->copies);
}

/* The hardware completes copies that were never waited for; for a kernel this is a bug: their bytes could
 * arrive after the shared memory was given to another block's use. */
void mo_emu_copies_end(mo_emu *emu, thread *t)
{
    for (unsigned i = 0; i < t->n_copies; i++)
        if (t->copies[i].valid > 0)
            mo_emu_fail(emu, t, t->pc, "returns with asynchronous copies that it never waited for");
}
