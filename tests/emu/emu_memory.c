/* Which memory a pointer means, and races between accesses to it. */
#include "emu_internal.h"

#include <stdio.h>

void mo_emu_clock_join(uint32_t *into, const uint32_t *from, unsigned n)
{
    for (unsigned i = 0; i < n; i++) into[i] = into[i] > from[i] ? into[i] : from[i];
}

/* What t does from now on is not known to those who synchronised with it before. */
void mo_emu_step(mo_emu *emu, thread *t)
{
    mo_emu_clock(emu, t)[t->index]++;
}

static bool find_shared(mo_emu *emu, const unsigned char *at, location *where)
{
    size_t dynamic = emu->launch->shared_bytes, size = dynamic + emu->statics_size, offset;
    *where = (location){.shared = true, .block = emu->loaded};
    if (at >= emu->home && at < emu->home + MO_EMU_SHARED_LIMIT) {
        where->offset = (size_t)(at - emu->home);
        return true;
    }
    if (emu->statics_size > 0 && at >= emu->statics && at < emu->statics + emu->statics_size) {
        where->offset = MO_EMU_SHARED_LIMIT + (size_t)(at - emu->statics);
        return true;
    }
    for (unsigned i = 0; emu->n_blocks > 1 && i < emu->n_blocks; i++) {
        const unsigned char *base = emu->blocks[i].shared;
        if (at < base || at >= base + size) continue;
        offset = (size_t)(at - base);
        where->block = i;
        where->offset = offset < dynamic ? offset : offset - dynamic + MO_EMU_SHARED_LIMIT;
        return true;
    }
    return false;
}

static bool find_global(mo_emu *emu, const unsigned char *at, location *where)
{
    for (unsigned i = 0; i < emu->n_buffers; i++) {
        unsigned number = (emu->last_buffer + i) % emu->n_buffers;
        buffer *b = &emu->buffers[number];
        if (at < b->bytes || at >= b->bytes + b->size) continue;
        emu->last_buffer = number;
        *where = (location){.offset = (size_t)(at - b->bytes), .buffer = b};
        return true;
    }
    return false;
}

/* The nearest buffer, as a hint for a pointer that is in none. */
static void describe_stray(const mo_emu *emu, const unsigned char *at, char *text, size_t size)
{
    size_t best = SIZE_MAX;
    snprintf(text, size, "no buffer is near");
    for (unsigned i = 0; i < emu->n_buffers; i++) {
        const buffer *b = &emu->buffers[i];
        bool below = at < b->bytes;
        size_t away = below ? (size_t)(b->bytes - at) : (size_t)(at - (b->bytes + b->size));
        if (away >= best) continue;
        best = away;
        if (below)
            snprintf(text, size, "%zu bytes before %s", away, b->name);
        else
            snprintf(text, size, "%zu bytes after the end of %s (%zu bytes)", away, b->name, b->size);
    }
}

static void check_range(mo_emu *emu, thread *t, const void *pc, const char *what, const location *where,
                        size_t bytes)
{
    size_t size = where->shared ? emu->launch->shared_bytes : where->buffer->size;
    if (where->shared && where->offset >= MO_EMU_SHARED_LIMIT) size = MO_EMU_SHARED_LIMIT + emu->statics_size;
    if (where->offset + bytes <= size) return;
    mo_emu_fail(emu, t, pc, "%s out of bounds: bytes %zu to %zu of %s, which has %zu", what, where->offset,
                where->offset + bytes, where->shared ? "shared memory" : where->buffer->name, size);
}

location mo_emu_locate(mo_emu *emu, thread *t, const void *pc, const char *what, const void *at, size_t bytes,
                       size_t align, int space)
{
    location where = {0};
    if (!find_shared(emu, at, &where) && !find_global(emu, at, &where)) {
        char near[256];
        describe_stray(emu, at, near, sizeof near);
        mo_emu_fail(emu, t, pc, "%s of %zu bytes outside of all known memory: %s", what, bytes, near);
    }
    if (space == MO_EMU_SHARED && !where.shared)
        mo_emu_fail(emu, t, pc, "%s needs a pointer into shared memory, got one into %s", what,
                    where.buffer->name);
    if ((space == MO_EMU_GLOBAL || space == MO_EMU_CONSTANT) && where.shared)
        mo_emu_fail(emu, t, pc, "%s needs a pointer into global memory, got shared offset %zu", what,
                    where.offset);
    check_range(emu, t, pc, what, &where, bytes);
    if (where.shared && emu->blocks[where.block].live == 0)
        mo_emu_fail(emu, t, pc, "%s of the shared memory of a block that has ended", what);
    size_t misaligned = where.shared ? where.offset % align : (uintptr_t)at % align;
    if (misaligned != 0)
        mo_emu_fail(emu, t, pc, "%s at %s offset %zu is not aligned to %zu bytes", what,
                    where.shared ? "shared" : where.buffer->name, where.offset, align);
    return where;
}

/* ---- races ---- */

static const char *const kind_names[] = {"read", "write", "atomic read", "atomic write"};

static _Noreturn void fail_race(mo_emu *emu, thread *t, const void *pc, const location *where,
                                access_kind kind, const char *earlier, unsigned slot, uint32_t earlier_pc)
{
    char who[96], lines[256], place[128];
    mo_emu_describe_thread(emu, slot, who, sizeof who);
    mo_emu_describe_pc(emu, earlier_pc, lines, sizeof lines);
    if (where->shared)
        snprintf(place, sizeof place, "shared offset %zu", where->offset);
    else
        snprintf(place, sizeof place, "%s offset %zu", where->buffer->name, where->offset);
    mo_emu_fail(emu, t, pc, "data race: this %s of %s and the %s by %s%s are not ordered", kind_names[kind],
                place, earlier, who, lines);
}

static bool is_ordered(const uint32_t *clock, uint16_t slot, uint32_t step)
{
    return clock[slot] >= step;
}

static void remember_read(mo_emu *emu, const thread *t, cell *c, const uint32_t *clock, uint32_t pc)
{
    unsigned put = CELL_READERS;
    for (unsigned i = 0; i < CELL_READERS && put == CELL_READERS; i++)
        if (c->read_step[i] == 0 || is_ordered(clock, c->read_slot[i], c->read_step[i])) put = i;
    if (put == CELL_READERS) put = emu->evictions++ % CELL_READERS;
    c->read_step[put] = clock[t->index];
    c->read_slot[put] = (uint16_t)t->index;
    c->read_pc[put] = pc;
}

static void check_reads(mo_emu *emu, thread *t, const void *pc, const location *where, access_kind kind,
                        cell *c)
{
    const uint32_t *clock = mo_emu_clock(emu, t);
    for (unsigned i = 0; i < CELL_READERS; i++) {
        if (c->read_step[i] != 0 && !is_ordered(clock, c->read_slot[i], c->read_step[i]))
            fail_race(emu, t, pc, where, kind, "read", c->read_slot[i], c->read_pc[i]);
        c->read_step[i] = 0;
    }
}

static void touch_cell(mo_emu *emu, thread *t, const void *pc, const location *where, access_kind kind,
                       cell *c)
{
    const uint32_t *clock = mo_emu_clock(emu, t);
    bool atomic = kind == ATOMIC_READ || kind == ATOMIC_WRITE;
    if (c->flight != 0)
        fail_race(emu, t, pc, where, kind, "asynchronous write on its way, issued", (uint16_t)(c->flight - 1),
                  c->write_pc);
    if (c->write_step != 0 && !(atomic && c->atomic) && !is_ordered(clock, c->write_slot, c->write_step))
        fail_race(emu, t, pc, where, kind, "write", c->write_slot, c->write_pc);
    if (kind == READ) {
        remember_read(emu, t, c, clock, mo_emu_pc32(emu, pc));
    } else if (kind != ATOMIC_READ) {
        check_reads(emu, t, pc, where, kind, c);
        c->write_step = clock[t->index];
        c->write_slot = (uint16_t)t->index;
        c->write_pc = mo_emu_pc32(emu, pc);
        c->atomic = atomic;
        c->written = true;
    }
}

/* Accesses of blocks that do not run together: ordered only through release and acquire. */
static void enter_group(mo_emu *emu, thread *t, const void *pc, const location *where, access_kind kind,
                        cell *c)
{
    if (c->group == emu->group + 1) return;
    bool atomic = (kind == ATOMIC_READ || kind == ATOMIC_WRITE) && c->atomic;
    unsigned g = c->group - 1;
    bool known = c->group == 0 || (emu->ordered_groups[g / 64] >> (g % 64) & 1) != 0;
    bool reads = c->other_reads;
    for (unsigned i = 0; i < CELL_READERS; i++) reads = reads || c->read_step[i] != 0;
    bool writes = kind == WRITE || kind == ATOMIC_WRITE;
    if (!known && !atomic && ((c->write_step != 0 || c->other_writes) || (writes && reads)))
        mo_emu_fail(emu, t, pc,
                    "data race: this %s of %s offset %zu and a %s by another block are not ordered",
                    kind_names[kind], where->buffer->name, where->offset, writes && reads ? "read" : "write");
    *c = (cell){.group = emu->group + 1,
                .written = c->written,
                .atomic = c->atomic,
                .other_reads = reads && !known,
                .other_writes = (c->write_step != 0 || c->other_writes) && !known};
}

void mo_emu_touch(mo_emu *emu, thread *t, const void *pc, const location *where, size_t bytes,
                  access_kind kind)
{
    bool writes = kind == WRITE || kind == ATOMIC_WRITE;
    if (!where->shared && writes && !where->buffer->writable)
        mo_emu_fail(emu, t, pc, "write to %s, which is read-only, at offset %zu", where->buffer->name,
                    where->offset);
    if (emu->launch->racy || (!where->shared && where->buffer->cells == NULL)) return;
    cell *first = where->shared ? mo_emu_shared_cell(emu, where->block, where->offset)
                                : &where->buffer->cells[where->offset / CELL_BYTES];
    size_t count = (where->offset + bytes - 1) / CELL_BYTES - where->offset / CELL_BYTES + 1;
    for (size_t i = 0; i < count; i++) {
        if (!where->shared) enter_group(emu, t, pc, where, kind, &first[i]);
        touch_cell(emu, t, pc, where, kind, &first[i]);
    }
}

/* ---- asynchronous writes to shared memory ---- */

static unsigned cells_of(unsigned offset, unsigned bytes)
{
    return (offset + bytes - 1) / CELL_BYTES - offset / CELL_BYTES + 1;
}

void mo_emu_flight_begin(mo_emu *emu, thread *t, const void *pc, unsigned number, unsigned offset,
                         unsigned bytes, unsigned slot)
{
    if (emu->launch->racy) return;
    cell *cells = mo_emu_shared_cell(emu, number, offset);
    location where = {.shared = true, .block = number, .offset = offset};
    for (unsigned i = 0; i < cells_of(offset, bytes); i++) {
        touch_cell(emu, t, pc, &where, WRITE, &cells[i]);
        cells[i].flight = (uint16_t)(slot + 1);
    }
}

void mo_emu_flight_end(mo_emu *emu, unsigned number, unsigned offset, unsigned bytes, unsigned slot,
                       uint32_t step)
{
    if (emu->launch->racy) return;
    cell *cells = mo_emu_shared_cell(emu, number, offset);
    for (unsigned i = 0; i < cells_of(offset, bytes); i++) {
        cells[i].flight = 0;
        cells[i].write_slot = (uint16_t)slot;
        cells[i].write_step = step;
    }
}
