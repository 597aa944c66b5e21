/* mbarriers, and the bulk copies that report to them. */
#include "emu_internal.h"

#include <stdlib.h>
#include <string.h>

static const unsigned long long MBAR_MARK = 0x6d6261727269657full;

/* ---- mbarriers ---- */

static mbar *find_mbar(mo_emu *emu, thread *t, const void *pc, const void *at, const char *what)
{
    t->pc = pc;
    location where = mo_emu_locate(emu, t, pc, what, at, 8, 8, MO_EMU_SHARED);
    if (where.block != t->block) mo_emu_fail(emu, t, pc, "%s: the mbarrier is another block's", what);
    block *b = &emu->blocks[where.block];
    for (unsigned i = 0; i < b->n_mbars; i++) {
        if (b->mbars[i].offset != where.offset) continue;
        if (memcmp(at, &MBAR_MARK, 8) != 0)
            mo_emu_fail(emu, t, pc, "%s: the mbarrier at shared offset %zu was overwritten", what,
                        where.offset);
        const uint32_t *clock = mo_emu_clock(emu, t);
        if (emu->clock_slots > 0 && clock[b->mbars[i].init_slot] < b->mbars[i].init_step)
            mo_emu_fail(emu, t, pc, "%s: no barrier orders this after mbarrier.init", what);
        return &b->mbars[i];
    }
    mo_emu_fail(emu, t, pc, "%s: there is no mbarrier at shared offset %zu", what, where.offset);
}

void mo_emu_mbar_init(mo_emu *emu, const void *pc, unsigned long long *bar, unsigned arrivals)
{
    thread *t = emu->running;
    location where = mo_emu_locate(emu, t, pc, "mbarrier.init", bar, 8, 8, MO_EMU_SHARED);
    block *b = &emu->blocks[t->block];
    if (where.block != t->block || b->n_mbars == MAX_MBARS || arrivals == 0)
        mo_emu_fail(emu, t, pc, "mbarrier.init: %s",
                    arrivals == 0 ? "no arrivals" : "another block's, or too many");
    mo_emu_touch(emu, t, pc, &where, 8, WRITE);
    memcpy(bar, &MBAR_MARK, 8);
    mbar *m = &b->mbars[b->n_mbars];
    *m = (mbar){.offset = (unsigned)where.offset,
                .arrivals = arrivals,
                .pending = arrivals,
                .slot = emu->n_threads + t->block * BULK_SLOTS + b->n_mbars % BULK_SLOTS,
                .init_slot = t->index,
                .init_step = mo_emu_clock(emu, t)[t->index]};
    m->clock = calloc(emu->n_slots, sizeof *m->clock);
    m->done_clock = calloc(emu->n_slots, sizeof *m->done_clock);
    if (m->clock == NULL || m->done_clock == NULL) abort();
    b->n_mbars++;
    mo_emu_step(emu, t);
}

static void complete_phase(mo_emu *emu, mbar *m)
{
    if (m->pending > 0 || m->bytes != 0) return;
    m->phase++;
    m->pending = m->arrivals;
    emu->idle_polls = 0;
    memcpy(m->done_clock, m->clock, emu->clock_slots * sizeof *m->clock);
}

void mo_emu_mbar_arrive(mo_emu *emu, const void *pc, unsigned long long *bar, unsigned bytes)
{
    thread *t = emu->running;
    mbar *m = find_mbar(emu, t, pc, bar, "mbarrier.arrive");
    if (m->pending == 0)
        mo_emu_fail(emu, t, pc, "mbarrier.arrive: more than %u arrivals in a phase", m->arrivals);
    m->pending--;
    m->bytes += bytes;
    mo_emu_clock_join(m->clock, mo_emu_clock(emu, t), emu->clock_slots);
    mo_emu_step(emu, t);
    complete_phase(emu, m);
}

/* ---- landing ---- */

static unsigned swizzled(const mo_emu_tensor_map *map, unsigned offset)
{
    /* Bits 4.. of the address are xor-ed with bits 7..: 1 bit for 32 bytes, 2 for 64, 3 for 128. */
    unsigned mask = map->swizzle == 0 ? 0u : (unsigned)map->swizzle / 16 - 1;
    return offset ^ (offset >> 7 & mask) << 4;
}

static void put_box(mo_emu *emu, const bulk *b)
{
    const mo_emu_tensor_map *map = &b->map;
    unsigned e = (unsigned)map->element_bytes, depth = map->rank == 3 ? map->box[2] : 1;
    unsigned char *shared = mo_emu_shared_bytes(emu, b->block, 0);
    unsigned put = 0;
    for (unsigned z = 0; z < depth; z++)
        for (unsigned y = 0; y < map->box[1]; y++)
            for (unsigned x = 0; x < map->box[0]; x++, put += e) {
                int64_t i = (int64_t)b->at[0] + x, j = (int64_t)b->at[1] + y, k = (int64_t)b->at[2] + z;
                bool inside = i >= 0 && j >= 0 && k >= 0 && (uint64_t)i < map->size[0] &&
                              (uint64_t)j < map->size[1] && (map->rank < 3 || (uint64_t)k < map->size[2]);
                /* The swizzle works on addresses, and shared memory starts at a multiple of 1024. */
                unsigned char *to = shared + swizzled(map, b->offset + put);
                if (!inside) {
                    memset(to, 0, e);
                    continue;
                }
                uint64_t at = (uint64_t)i * e + (uint64_t)j * map->stride[0];
                if (map->rank == 3) at += (uint64_t)k * map->stride[1];
                memcpy(to, (const unsigned char *)map->base + at, e);
            }
}

static void put_bytes(mo_emu *emu, const bulk *b)
{
    unsigned char *shared = mo_emu_shared_bytes(emu, b->block, 0);
    if (b->map.rank == 0)
        memcpy(shared + b->offset, b->from, b->bytes);
    else
        put_box(emu, b);
}

/* The barrier's clock learns of the engine's step, so that those who wait for the phase know of it. */
static void finish(mo_emu *emu, bulk *b, bool bytes_missing)
{
    mbar *m = &emu->blocks[b->block].mbars[b->bar];
    if (bytes_missing) put_bytes(emu, b);
    m->step++;
    mo_emu_flight_end(emu, b->block, b->offset, b->bytes, m->slot, m->step);
    m->clock[m->slot] = m->step;
    m->bytes -= b->bytes;
    complete_phase(emu, m);
}

static void land_for(mo_emu *emu, unsigned number, unsigned bar)
{
    for (bulk **at = &emu->bulks; *at != NULL;) {
        bulk *b = *at;
        if (b->block != number || b->bar != bar) {
            at = &b->next;
            continue;
        }
        *at = b->next;
        finish(emu, b, emu->late);
        free(b);
    }
}

bool mo_emu_mbar_try_wait(mo_emu *emu, const void *pc, unsigned long long *bar, unsigned parity)
{
    thread *t = emu->running;
    mbar *m = find_mbar(emu, t, pc, bar, "mbarrier.try_wait");
    block *b = &emu->blocks[t->block];
    if (parity > 1) mo_emu_fail(emu, t, pc, "mbarrier.try_wait: parity %u", parity);
    if ((m->phase & 1) == parity && m->pending == 0) land_for(emu, t->block, (unsigned)(m - b->mbars));
    if ((m->phase & 1) == parity) {
        mo_emu_poll(emu, "mbarrier.try_wait");
        return false;
    }
    emu->idle_polls = 0;
    mo_emu_clock_join(mo_emu_clock(emu, t), m->done_clock, emu->clock_slots);
    return true;
}

/* ---- issue ---- */

static void issue(mo_emu *emu, thread *t, const void *pc, bulk b, unsigned long long *bar)
{
    mbar *m = find_mbar(emu, t, pc, bar, "bulk copy");
    b.block = t->block;
    b.bar = (unsigned)(m - emu->blocks[t->block].mbars);
    mo_emu_flight_begin(emu, t, pc, b.block, b.offset, b.bytes, m->slot);
    emu->counts.async_bytes += b.bytes;
    if (emu->late)
        memset(mo_emu_shared_bytes(emu, b.block, b.offset), 0xff, b.bytes);
    else
        put_bytes(emu, &b);
    bulk *kept = malloc(sizeof *kept);
    if (kept == NULL) abort();
    *kept = b;
    bulk **end = &emu->bulks;
    while (*end != NULL) end = &(*end)->next;
    *end = kept;
    kept->next = NULL;
}

static const char *map_error(const mo_emu_tensor_map *map)
{
    unsigned row = map->box[0] * (unsigned)map->element_bytes;
    if (map->rank < 2 || map->rank > 3) return "a rank other than 2 and 3";
    for (int i = 0; i < map->rank; i++)
        if (map->box[i] == 0 || map->box[i] > 256) return "a box side not in 1..256";
    if (row % 16 != 0) return "rows of a box that are no multiple of 16 bytes";
    if (map->swizzle != 0 && row > (unsigned)map->swizzle) return "rows of a box longer than the swizzle";
    if ((uintptr_t)map->base % 16 != 0) return "a base that is not aligned to 16 bytes";
    for (int i = 0; i + 1 < map->rank; i++)
        if (map->stride[i] % 16 != 0) return "a stride that is no multiple of 16 bytes";
    return NULL;
}

void mo_emu_tma_load(mo_emu *emu, const void *pc, void *to, const void *map_pointer, int rank, const int *at,
                     unsigned long long *bar)
{
    thread *t = emu->running;
    const mo_emu_tensor_map *map = map_pointer;
    const char *wrong = map_error(map);
    if (wrong != NULL) mo_emu_fail(emu, t, pc, "the tensor map has %s", wrong);
    if (rank != map->rank)
        mo_emu_fail(emu, t, pc, "a copy of rank %d with a map of rank %d", rank, map->rank);
    bulk b = {.map = *map};
    b.bytes = map->box[0] * map->box[1] * (rank == 3 ? map->box[2] : 1) * (unsigned)map->element_bytes;
    size_t align = map->swizzle == 0 ? 128 : (size_t)map->swizzle * 8;
    location where = mo_emu_locate(emu, t, pc, "tensor copy (to)", to, b.bytes, align, MO_EMU_SHARED);
    uint64_t span = map->size[0] * (uint64_t)map->element_bytes + (map->size[1] - 1) * map->stride[0];
    if (rank == 3) span += (map->size[2] - 1) * map->stride[1];
    mo_emu_locate(emu, t, pc, "tensor copy (from)", map->base, span, 16, MO_EMU_GLOBAL);
    b.offset = (unsigned)where.offset;
    for (int i = 0; i < rank; i++) b.at[i] = at[i];
    issue(emu, t, pc, b, bar);
}

void mo_emu_bulk_load(mo_emu *emu, const void *pc, void *to, const void *from, unsigned bytes,
                      unsigned long long *bar)
{
    thread *t = emu->running;
    if (bytes == 0 || bytes % 16 != 0) mo_emu_fail(emu, t, pc, "bulk copy of %u bytes", bytes);
    location where = mo_emu_locate(emu, t, pc, "bulk copy (to)", to, bytes, 16, MO_EMU_SHARED);
    location source = mo_emu_locate(emu, t, pc, "bulk copy (from)", from, bytes, 16, MO_EMU_GLOBAL);
    mo_emu_touch(emu, t, pc, &source, bytes, READ);
    issue(emu, t, pc, (bulk){.offset = (unsigned)where.offset, .bytes = bytes, .from = from}, bar);
}

/* At the end of a group no copy may still be on its way. */
bool mo_emu_bulks_left(const mo_emu *emu)
{
    return emu->bulks != NULL;
}
