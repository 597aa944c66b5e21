/* Loads and stores, and synchronisation through words of global memory. */
#include "emu_internal.h"

#include <stdlib.h>
#include <string.h>

/* A plain access of the kernel text. Constants of the module itself are nobody's business. */
void mo_emu_access(mo_emu *emu, const void *pc, const void *at, unsigned bytes, bool write)
{
    thread *t = emu->running;
    const unsigned char *p = at;
    bool shared = (p >= emu->home && p < emu->home + MO_EMU_SHARED_LIMIT) ||
                  (emu->statics_size > 0 && p >= emu->statics && p < emu->statics + emu->statics_size);
    if (!shared && p >= emu->image && p < emu->image + emu->image_size && !write) return;
    size_t align = bytes <= 16 && (bytes & (bytes - 1)) == 0 ? bytes : 1;
    location where = mo_emu_locate(emu, t, pc, write ? "write" : "read", at, bytes, align, MO_EMU_ANY);
    mo_emu_touch(emu, t, pc, &where, bytes, write ? WRITE : READ);
}

void mo_emu_load(mo_emu *emu, const void *pc, void *to, const void *from, unsigned bytes, int space)
{
    thread *t = emu->running;
    location where = mo_emu_locate(emu, t, pc, "load", from, bytes, bytes, space);
    if (space == MO_EMU_CONSTANT && where.buffer->cells != NULL)
        for (size_t i = where.offset / CELL_BYTES; i <= (where.offset + bytes - 1) / CELL_BYTES; i++)
            if (where.buffer->cells[i].written)
                mo_emu_fail(emu, t, pc, "ld.global.nc of %s offset %zu, which this launch has written",
                            where.buffer->name, where.offset);
    mo_emu_touch(emu, t, pc, &where, bytes, READ);
    memcpy(to, from, bytes);
}

void mo_emu_store(mo_emu *emu, const void *pc, void *to, const void *from, unsigned bytes, int space)
{
    thread *t = emu->running;
    location where = mo_emu_locate(emu, t, pc, "store", to, bytes, bytes, space);
    mo_emu_touch(emu, t, pc, &where, bytes, WRITE);
    memcpy(to, from, bytes);
}

/* ---- synchronisation between blocks ---- */

static sync_word *find_word(mo_emu *emu, const void *at)
{
    for (unsigned i = 0; i < emu->n_words; i++)
        if (emu->words[i].at == at) return &emu->words[i];
    emu->words = realloc(emu->words, (emu->n_words + 1) * sizeof *emu->words);
    if (emu->words == NULL) abort();
    sync_word *w = &emu->words[emu->n_words++];
    *w = (sync_word){.at = at, .clock_group = emu->group};
    w->clock = calloc(emu->n_slots, sizeof *w->clock);
    w->groups = calloc(emu->n_groups / 64 + 1, sizeof *w->groups);
    if (w->clock == NULL || w->groups == NULL) abort();
    return w;
}

void mo_emu_words_clear(mo_emu *emu)
{
    for (unsigned i = 0; i < emu->n_words; i++) {
        free(emu->words[i].clock);
        free(emu->words[i].groups);
    }
    free(emu->words);
    emu->words = NULL;
    emu->n_words = 0;
}

static void fresh_clock(mo_emu *emu, sync_word *w)
{
    if (w->clock_group == emu->group) return;
    w->clock_group = emu->group;
    memset(w->clock, 0, emu->clock_slots * sizeof *w->clock);
}

static void release_to(mo_emu *emu, thread *t, const void *at)
{
    sync_word *w = find_word(emu, at);
    fresh_clock(emu, w);
    mo_emu_clock_join(w->clock, mo_emu_clock(emu, t), emu->clock_slots);
    for (unsigned i = 0; i <= emu->n_groups / 64; i++) w->groups[i] |= emu->ordered_groups[i];
    w->groups[emu->group / 64] |= (uint64_t)1 << (emu->group % 64);
    mo_emu_step(emu, t);
}

static void acquire_from(mo_emu *emu, thread *t, const void *at)
{
    sync_word *w = find_word(emu, at);
    fresh_clock(emu, w);
    mo_emu_clock_join(mo_emu_clock(emu, t), w->clock, emu->clock_slots);
    for (unsigned i = 0; i <= emu->n_groups / 64; i++) emu->ordered_groups[i] |= w->groups[i];
}

void mo_emu_load_relaxed(mo_emu *emu, const void *pc, void *to, const void *from, unsigned bytes,
                         bool acquire)
{
    thread *t = emu->running;
    t->pc = pc;
    mo_emu_poll(emu, "a loop that polls global memory");
    location where = mo_emu_locate(emu, t, pc, "load", from, bytes, bytes, MO_EMU_GLOBAL);
    mo_emu_touch(emu, t, pc, &where, bytes, ATOMIC_READ);
    memcpy(to, from, bytes);
    if (acquire) acquire_from(emu, t, from);
}

void mo_emu_store_relaxed(mo_emu *emu, const void *pc, void *to, const void *from, unsigned bytes,
                          bool release)
{
    thread *t = emu->running;
    location where = mo_emu_locate(emu, t, pc, "store", to, bytes, bytes, MO_EMU_GLOBAL);
    emu->idle_polls = 0;
    mo_emu_touch(emu, t, pc, &where, bytes, ATOMIC_WRITE);
    memcpy(to, from, bytes);
    if (release) release_to(emu, t, to);
}

unsigned mo_emu_atomic_add(mo_emu *emu, const void *pc, unsigned *at, unsigned x)
{
    thread *t = emu->running;
    location where = mo_emu_locate(emu, t, pc, "atomic add", at, 4, 4, MO_EMU_GLOBAL);
    emu->idle_polls = 0;
    mo_emu_touch(emu, t, pc, &where, 4, ATOMIC_WRITE);
    unsigned old = *at;
    *at = old + x;
    acquire_from(emu, t, at);
    release_to(emu, t, at);
    return old;
}

void mo_emu_add_f32(mo_emu *emu, const void *pc, float *at, float x)
{
    thread *t = emu->running;
    location where = mo_emu_locate(emu, t, pc, "atomic add", at, 4, 4, MO_EMU_GLOBAL);
    mo_emu_touch(emu, t, pc, &where, 4, ATOMIC_WRITE);
    *at += x;
}
