/* Barriers of warps, blocks and clusters. Each one joins the clocks of those who arrive. */
#include "emu_internal.h"

#include <string.h>

static warp *warp_of(const mo_emu *emu, const thread *t)
{
    return &emu->blocks[t->block].warps[t->warp];
}

static void lanes_of(mo_emu *emu, const thread *t, thread **lanes)
{
    unsigned first = emu->blocks[t->block].first_thread + t->warp * WARP;
    for (unsigned i = 0; i < WARP; i++) lanes[i] = &emu->threads[first + i];
}

/* ---- warp ---- */

void mo_emu_meet(mo_emu *emu, const void *pc, const char *name, int detail, void *args,
                 warp_operation *operation)
{
    thread *t = emu->running, *lanes[WARP];
    warp *w = warp_of(emu, t);
    t->pc = pc;
    t->args = args;
    lanes_of(emu, t, lanes);
    if (w->live != WARP)
        mo_emu_fail(emu, t, pc, "%s while other lanes of the warp have returned from the kernel", name);
    if (w->arrived > 0 && (strcmp(w->operation, name) != 0 || w->detail != detail))
        mo_emu_fail(emu, t, pc, "the warp diverges: %s here, other lanes are in %s%s", name, w->operation,
                    strcmp(w->operation, name) == 0 ? " with another argument" : "");
    w->operation = name;
    w->detail = detail;
    if (++w->arrived < WARP) {
        mo_emu_block_thread(emu, t, IN_WARP, name, detail);
        return;
    }
    w->arrived = 0;
    operation(emu, lanes);
    for (unsigned i = 0; i < WARP; i++)
        if (lanes[i] != t) mo_emu_make_ready(emu, lanes[i]);
}

static void join_lanes(mo_emu *emu, thread **lanes)
{
    uint32_t *first = mo_emu_clock(emu, lanes[0]);
    for (unsigned i = 1; i < WARP; i++)
        mo_emu_clock_join(first, mo_emu_clock(emu, lanes[i]), emu->clock_slots);
    for (unsigned i = 1; i < WARP; i++)
        memcpy(mo_emu_clock(emu, lanes[i]), first, emu->clock_slots * sizeof *first);
    for (unsigned i = 0; i < WARP; i++) mo_emu_step(emu, lanes[i]);
}

void mo_emu_sync_warp(mo_emu *emu, const void *pc)
{
    mo_emu_meet(emu, pc, "__syncwarp", 0, NULL, join_lanes);
}

/* ---- block ---- */

/* bar.sync counts whole warps: when a barrier completes, no warp may be there in part. */
static void check_whole_warps(mo_emu *emu, thread *t, const void *pc, const block *b, const barrier *bar,
                              int id)
{
    for (unsigned i = 0; i < emu->warps_per_block; i++)
        if (bar->arrivals[i] != 0 && bar->arrivals[i] != 0xffffffffu)
            mo_emu_fail(emu, t, pc, "barrier %d of block (%u,%u,%u) completes with only a part of warp %u",
                        id, b->index.x, b->index.y, b->index.z, i);
}

static void release(mo_emu *emu, block *b, unsigned id)
{
    barrier *bar = &b->barriers[id];
    emu->counts.barriers++;
    for (unsigned i = 0; i < emu->threads_per_block; i++) {
        thread *t = &emu->threads[b->first_thread + i];
        if ((bar->arrivals[t->warp] >> t->lane & 1) == 0) continue;
        bool waits = t->wait_barrier == (int)id;
        if (waits) memcpy(mo_emu_clock(emu, t), bar->clock, emu->clock_slots * sizeof *bar->clock);
        if (waits) mo_emu_step(emu, t);
        if (waits && t->state == IN_BARRIER) mo_emu_make_ready(emu, t);
        if (waits) t->wait_barrier = -1;
    }
    bar->arrived = 0;
    memset(bar->arrivals, 0, emu->warps_per_block * sizeof *bar->arrivals);
    memset(bar->clock, 0, emu->clock_slots * sizeof *bar->clock);
}

static void arrive(mo_emu *emu, thread *t, const void *pc, unsigned id)
{
    barrier *bar = &emu->blocks[t->block].barriers[id];
    uint32_t bit = 1u << t->lane;
    if ((bar->arrivals[t->warp] & bit) != 0)
        mo_emu_fail(emu, t, pc, "arrives twice at barrier %u before it completes", id);
    bar->arrivals[t->warp] |= bit;
    bar->arrived++;
    mo_emu_clock_join(bar->clock, mo_emu_clock(emu, t), emu->clock_slots);
    mo_emu_step(emu, t);
}

void mo_emu_sync_threads(mo_emu *emu, const void *pc, int line)
{
    thread *t = emu->running;
    block *b = &emu->blocks[t->block];
    barrier *bar = &b->barriers[0];
    t->pc = pc;
    if (bar->arrived > 0 && bar->line != line)
        mo_emu_fail(emu, t, pc, "the block diverges: __syncthreads at line %d here, others wait at line %d",
                    line, bar->line);
    bar->line = line;
    t->wait_barrier = 0;
    arrive(emu, t, pc, 0);
    if (bar->arrived == b->live)
        release(emu, b, 0);
    else
        mo_emu_block_thread(emu, t, IN_BARRIER, "__syncthreads", line);
}

void mo_emu_barrier(mo_emu *emu, const void *pc, int id, int threads, bool wait)
{
    thread *t = emu->running;
    block *b = &emu->blocks[t->block];
    t->pc = pc;
    if (id < 1 || id >= MAX_BARRIERS) mo_emu_fail(emu, t, pc, "barrier number %d is not in 1..15", id);
    if (threads <= 0 || threads % WARP != 0 || (unsigned)threads > emu->threads_per_block)
        mo_emu_fail(emu, t, pc, "barrier %d for %d threads: not a number of whole warps of the block", id,
                    threads);
    barrier *bar = &b->barriers[id];
    if (bar->arrived > 0 && bar->expected != (unsigned)threads)
        mo_emu_fail(emu, t, pc, "barrier %d for %d threads here, for %u elsewhere", id, threads,
                    bar->expected);
    bar->expected = (unsigned)threads;
    t->wait_barrier = wait ? id : -1;
    arrive(emu, t, pc, (unsigned)id);
    if (bar->arrived == bar->expected) {
        check_whole_warps(emu, t, pc, b, bar, id);
        release(emu, b, (unsigned)id);
    } else if (wait) {
        mo_emu_block_thread(emu, t, IN_BARRIER, "a named barrier", id);
    }
}

/* ---- cluster ---- */

static void complete_cluster(mo_emu *emu, cluster *c)
{
    if (c->arrived == 0 || c->arrived < c->live) return;
    c->arrived = 0;
    c->phase++;
    memcpy(c->done_clock, c->clock, emu->clock_slots * sizeof *c->clock);
    for (unsigned i = 0; i < emu->n_threads; i++)
        if (emu->threads[i].state == IN_CLUSTER &&
            &emu->clusters[emu->blocks[emu->threads[i].block].cluster] == c)
            mo_emu_make_ready(emu, &emu->threads[i]);
}

void mo_emu_cluster_arrive(mo_emu *emu, const void *pc)
{
    thread *t = emu->running;
    cluster *c = &emu->clusters[emu->blocks[t->block].cluster];
    t->pc = pc;
    if (t->cluster_phase > c->phase)
        mo_emu_fail(emu, t, pc, "arrives twice at the cluster barrier without waiting");
    t->cluster_phase = c->phase + 1;
    c->arrived++;
    mo_emu_clock_join(c->clock, mo_emu_clock(emu, t), emu->clock_slots);
    mo_emu_step(emu, t);
    complete_cluster(emu, c);
}

void mo_emu_cluster_wait(mo_emu *emu, const void *pc)
{
    thread *t = emu->running;
    cluster *c = &emu->clusters[emu->blocks[t->block].cluster];
    t->pc = pc;
    if (t->cluster_phase == t->cluster_waited)
        mo_emu_fail(emu, t, pc, "waits at the cluster barrier without having arrived");
    t->cluster_waited = t->cluster_phase;
    if (c->phase < t->cluster_phase) mo_emu_block_thread(emu, t, IN_CLUSTER, "the cluster barrier", 0);
    mo_emu_clock_join(mo_emu_clock(emu, t), c->done_clock, emu->clock_slots);
}

/* ---- end ---- */

/* A thread that returns no longer counts at barriers. */
void mo_emu_thread_exits(mo_emu *emu, thread *t)
{
    block *b = &emu->blocks[t->block];
    warp *w = warp_of(emu, t);
    cluster *c = &emu->clusters[b->cluster];
    t->pc = emu->image;
    mo_emu_copies_end(emu, t);
    if (w->arrived > 0)
        mo_emu_fail(emu, t, t->pc, "returns from the kernel while other lanes of its warp are in %s",
                    w->operation);
    w->live--;
    b->live--;
    c->live--;
    if (t->cluster_phase > c->phase) c->arrived--;
    if (b->live > 0 && b->barriers[0].arrived == b->live) release(emu, b, 0);
    complete_cluster(emu, c);
}
