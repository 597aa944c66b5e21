/* The blocks that run together: their memory, clocks and threads. */
#include "emu_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned at_least_one(unsigned n)
{
    return n == 0 ? 1 : n;
}

static void *zeroed(size_t n, size_t size)
{
    void *p = calloc(n == 0 ? 1 : n, size);
    if (p == NULL) abort();
    return p;
}

static mo_emu_dim cluster_shape(const mo_emu_launch *l)
{
    return (mo_emu_dim){at_least_one(l->cluster.x), at_least_one(l->cluster.y), at_least_one(l->cluster.z)};
}

static bool measure(mo_emu *emu)
{
    const mo_emu_launch *l = emu->launch;
    mo_emu_dim c = cluster_shape(l);
    if (l->grid.x % c.x != 0 || l->grid.y % c.y != 0 || l->grid.z % c.z != 0) {
        snprintf(emu->error, sizeof emu->error, "launch of %s: the grid is not a multiple of the cluster",
                 l->kernel);
        return false;
    }
    unsigned blocks = l->grid.x * l->grid.y * l->grid.z;
    emu->cluster_size = c.x * c.y * c.z;
    emu->n_blocks = l->cooperative ? blocks : emu->cluster_size;
    emu->n_clusters = emu->n_blocks / emu->cluster_size;
    emu->n_groups = blocks / emu->n_blocks;
    emu->threads_per_block = l->block.x * l->block.y * l->block.z;
    emu->warps_per_block = emu->threads_per_block / WARP;
    uint64_t threads = (uint64_t)emu->n_blocks * emu->threads_per_block;
    if (threads > MAX_GROUP_THREADS) {
        snprintf(emu->error, sizeof emu->error, "launch of %s: %u blocks at once are too many", l->kernel,
                 emu->n_blocks);
        return false;
    }
    emu->n_threads = (unsigned)threads;
    emu->n_slots = emu->n_threads + emu->n_blocks * BULK_SLOTS;
    emu->clock_slots = l->racy ? 0 : emu->n_slots;
    return true;
}

/* Cells and bytes of a block: the dynamic part, then the static one. */
static size_t dynamic_cells(const mo_emu *emu)
{
    return (emu->launch->shared_bytes + CELL_BYTES - 1) / CELL_BYTES;
}

static size_t shared_cells(const mo_emu *emu)
{
    return dynamic_cells(emu) + (emu->statics_size + CELL_BYTES - 1) / CELL_BYTES;
}

static size_t block_bytes(const mo_emu *emu)
{
    return emu->launch->shared_bytes + emu->statics_size;
}

cell *mo_emu_shared_cell(mo_emu *emu, unsigned number, size_t offset)
{
    size_t at = offset < MO_EMU_SHARED_LIMIT
                    ? offset / CELL_BYTES
                    : dynamic_cells(emu) + (offset - MO_EMU_SHARED_LIMIT) / CELL_BYTES;
    return &emu->blocks[number].cells[at];
}

static void open_block(mo_emu *emu, block *b)
{
    b->cells = zeroed(shared_cells(emu), sizeof(cell));
    b->warps = zeroed(emu->warps_per_block, sizeof(warp));
    b->shared = emu->n_blocks > 1 ? zeroed(block_bytes(emu), 1) : NULL;
    for (unsigned i = 0; i < MAX_BARRIERS; i++) {
        b->barriers[i].arrivals = zeroed(emu->warps_per_block, sizeof(uint32_t));
        b->barriers[i].clock = zeroed(emu->n_slots, sizeof(uint32_t));
    }
}

bool mo_emu_group_open(mo_emu *emu)
{
    if (!measure(emu)) return false;
    if (emu->stacks.count < emu->n_threads) {
        mo_stacks_close(&emu->stacks);
        if (!mo_stacks_open(&emu->stacks, emu->n_threads, STACK_BYTES)) {
            snprintf(emu->error, sizeof emu->error, "no memory for %u stacks", emu->n_threads);
            return false;
        }
    }
    emu->attach(emu, mo_emu_callbacks(), emu->stacks.base, emu->stacks.each * emu->stacks.count);
    emu->entry = mo_emu_find_kernel(emu, emu->launch->kernel);
    if (emu->entry == NULL) return false;
    emu->blocks = zeroed(emu->n_blocks, sizeof(block));
    emu->threads = zeroed(emu->n_threads, sizeof(thread));
    emu->clocks = zeroed((size_t)emu->n_threads * emu->n_slots, sizeof(uint32_t));
    emu->clusters = zeroed(emu->n_clusters, sizeof(cluster));
    emu->ready = zeroed((size_t)emu->n_blocks * emu->warps_per_block, sizeof(unsigned));
    emu->ordered_groups = zeroed(emu->n_groups / 64 + 1, sizeof(uint64_t));
    for (unsigned i = 0; i < emu->n_blocks; i++) open_block(emu, &emu->blocks[i]);
    for (unsigned i = 0; i < emu->n_clusters; i++) {
        emu->clusters[i].clock = zeroed(emu->n_slots, sizeof(uint32_t));
        emu->clusters[i].done_clock = zeroed(emu->n_slots, sizeof(uint32_t));
    }
    for (unsigned i = 0; i < emu->n_buffers; i++) {
        buffer *b = &emu->buffers[i];
        if (b->writable && !emu->launch->racy)
            b->cells = zeroed((b->size + CELL_BYTES - 1) / CELL_BYTES, sizeof(cell));
    }
    return true;
}

static void close_block(block *b)
{
    for (unsigned i = 0; i < MAX_BARRIERS; i++) {
        free(b->barriers[i].arrivals);
        free(b->barriers[i].clock);
    }
    for (unsigned i = 0; i < b->n_mbars; i++) {
        free(b->mbars[i].clock);
        free(b->mbars[i].done_clock);
    }
    free(b->cells);
    free(b->warps);
    free(b->shared);
}

void mo_emu_group_close(mo_emu *emu)
{
    for (unsigned i = 0; emu->blocks != NULL && i < emu->n_blocks; i++) close_block(&emu->blocks[i]);
    for (unsigned i = 0; emu->threads != NULL && i < emu->n_threads; i++) free(emu->threads[i].copies);
    for (unsigned i = 0; emu->clusters != NULL && i < emu->n_clusters; i++) {
        free(emu->clusters[i].clock);
        free(emu->clusters[i].done_clock);
    }
    for (unsigned i = 0; i < emu->n_buffers; i++) {
        free(emu->buffers[i].cells);
        emu->buffers[i].cells = NULL;
    }
    while (emu->bulks != NULL) {
        bulk *b = emu->bulks;
        emu->bulks = b->next;
        free(b);
    }
    mo_emu_words_clear(emu);
    free(emu->blocks);
    free(emu->threads);
    free(emu->clocks);
    free(emu->clusters);
    free(emu->ready);
    free(emu->ordered_groups);
    emu->blocks = NULL;
    emu->threads = NULL;
    emu->clocks = NULL;
    emu->clusters = NULL;
    emu->ready = NULL;
    emu->ordered_groups = NULL;
}

static mo_emu_dim unflatten(unsigned i, mo_emu_dim size)
{
    return (mo_emu_dim){i % size.x, i / size.x % size.y, i / size.x / size.y};
}

/* Block `i` of the group; blocks of one cluster are neighbours. */
static mo_emu_dim block_index(const mo_emu *emu, unsigned i)
{
    mo_emu_dim c = cluster_shape(emu->launch), g = emu->launch->grid;
    unsigned number = (emu->launch->cooperative ? 0 : emu->group) + i / emu->cluster_size;
    mo_emu_dim outer = unflatten(number, (mo_emu_dim){g.x / c.x, g.y / c.y, g.z / c.z});
    mo_emu_dim inner = unflatten(i % emu->cluster_size, c);
    return (mo_emu_dim){outer.x * c.x + inner.x, outer.y * c.y + inner.y, outer.z * c.z + inner.z};
}

static void start_block(mo_emu *emu, unsigned number)
{
    block *b = &emu->blocks[number];
    b->index = block_index(emu, number);
    b->first_thread = number * emu->threads_per_block;
    b->live = emu->threads_per_block;
    b->cluster = number / emu->cluster_size;
    b->rank = number % emu->cluster_size;
    if (!emu->launch->racy) memset(b->cells, 0, shared_cells(emu) * sizeof(cell));
    if (b->shared != NULL) memset(b->shared, 0xff, block_bytes(emu));
    for (unsigned i = 0; i < emu->warps_per_block; i++) b->warps[i] = (warp){.live = WARP};
    for (unsigned i = 0; i < MAX_BARRIERS; i++) {
        barrier *bar = &b->barriers[i];
        bar->arrived = 0;
        memset(bar->arrivals, 0, emu->warps_per_block * sizeof(uint32_t));
        memset(bar->clock, 0, emu->n_slots * sizeof(uint32_t));
    }
    for (unsigned i = 0; i < b->n_mbars; i++) {
        free(b->mbars[i].clock);
        free(b->mbars[i].done_clock);
    }
    b->n_mbars = 0;
}

static void start_thread(mo_emu *emu, unsigned number)
{
    thread *t = &emu->threads[number];
    unsigned in_block = number % emu->threads_per_block;
    free(t->copies);
    *t = (thread){.emu = emu,
                  .index = number,
                  .block = number / emu->threads_per_block,
                  .warp = in_block / WARP,
                  .lane = in_block % WARP,
                  .wait_barrier = -1,
                  .waits_for = "the kernel"};
    t->place = (mo_emu_place){unflatten(in_block, emu->launch->block), emu->blocks[t->block].index,
                              emu->launch->block, emu->launch->grid};
    mo_emu_clock(emu, t)[number] = 1;
}

void mo_emu_group_start(mo_emu *emu, unsigned group)
{
    emu->group = group;
    emu->loaded = 0;
    emu->n_ready = 0;
    memset(emu->clocks, 0, (size_t)emu->n_threads * emu->n_slots * sizeof(uint32_t));
    memset(emu->ordered_groups, 0, (emu->n_groups / 64 + 1) * sizeof(uint64_t));
    memset(emu->home, 0xff, MO_EMU_SHARED_LIMIT);
    if (emu->statics_size > 0) memset(emu->statics, 0xff, emu->statics_size);
    for (unsigned i = 0; i < emu->n_blocks; i++) start_block(emu, i);
    for (unsigned i = 0; i < emu->n_threads; i++) start_thread(emu, i);
    for (unsigned i = 0; i < emu->n_clusters; i++) {
        cluster *c = &emu->clusters[i];
        c->live = emu->cluster_size * emu->threads_per_block;
        c->arrived = 0;
        c->phase = 0;
        memset(c->clock, 0, emu->n_slots * sizeof(uint32_t));
        memset(c->done_clock, 0, emu->n_slots * sizeof(uint32_t));
    }
}

/* The kernel text knows one set of shared arrays; their bytes are those of the running block. */
void mo_emu_switch_block(mo_emu *emu, unsigned number)
{
    unsigned char *old = emu->blocks[emu->loaded].shared, *new = emu->blocks[number].shared;
    unsigned dynamic = emu->launch->shared_bytes;
    memcpy(old, emu->home, dynamic);
    memcpy(emu->home, new, dynamic);
    if (emu->statics_size > 0) {
        memcpy(old + dynamic, emu->statics, emu->statics_size);
        memcpy(emu->statics, new + dynamic, emu->statics_size);
    }
    emu->loaded = number;
}

unsigned char *mo_emu_shared_bytes(mo_emu *emu, unsigned number, size_t offset)
{
    bool dynamic = offset < MO_EMU_SHARED_LIMIT;
    if (number != emu->loaded)
        return emu->blocks[number].shared +
               (dynamic ? offset : offset - MO_EMU_SHARED_LIMIT + emu->launch->shared_bytes);
    return dynamic ? emu->home + offset : emu->statics + (offset - MO_EMU_SHARED_LIMIT);
}
