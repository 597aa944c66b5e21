/* The scheduler: which thread runs next, and what it means when none can. */
#include "emu_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t mo_emu_random(mo_emu *emu, uint64_t n)
{
    emu->rng += 0x9e3779b97f4a7c15u;
    uint64_t z = emu->rng;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % n;
}

static warp *warp_of(const mo_emu *emu, const thread *t)
{
    return &emu->blocks[t->block].warps[t->warp];
}

static unsigned warp_number(const mo_emu *emu, const thread *t)
{
    return t->block * emu->warps_per_block + t->warp;
}

/* emu->ready lists the warps that have threads to run. */
void mo_emu_make_ready(mo_emu *emu, thread *t)
{
    warp *w = warp_of(emu, t);
    if (w->ready == 0) {
        w->position = emu->n_ready;
        emu->ready[emu->n_ready++] = warp_number(emu, t);
    }
    w->ready |= 1u << t->lane;
    if (t->state != POLLING) t->state = RUNNABLE;
}

static warp *numbered_warp(const mo_emu *emu, unsigned number)
{
    return &emu->blocks[number / emu->warps_per_block].warps[number % emu->warps_per_block];
}

static void remove_ready(mo_emu *emu, thread *t)
{
    warp *w = warp_of(emu, t);
    w->ready &= ~(1u << t->lane);
    if (w->ready != 0) return;
    unsigned last = emu->ready[--emu->n_ready];
    emu->ready[w->position] = last;
    numbered_warp(emu, last)->position = w->position;
}

/* In greedy order the last warp goes on while it can, unless it only polls. */
static thread *choose(mo_emu *emu, const thread *last)
{
    unsigned number;
    if (emu->greedy && last != NULL && last->state != POLLING && warp_of(emu, last)->ready != 0)
        number = warp_number(emu, last);
    else
        number = emu->ready[mo_emu_random(emu, emu->n_ready)];
    unsigned from = (unsigned)mo_emu_random(emu, WARP), mask = numbered_warp(emu, number)->ready;
    unsigned rotated = from == 0 ? mask : mask >> from | mask << (WARP - from);
    unsigned lane = ((unsigned)__builtin_ctz(rotated) + from) % WARP;
    unsigned block_number = number / emu->warps_per_block;
    return &emu->threads[emu->blocks[block_number].first_thread + number % emu->warps_per_block * WARP +
                         lane];
}

void mo_emu_block_thread(mo_emu *emu, thread *t, fiber_state state, const char *what, int detail)
{
    t->state = state;
    t->waits_for = what;
    t->wait_detail = detail;
    mo_fiber_switch(&t->fiber, &emu->main_fiber);
}

void mo_emu_poll(mo_emu *emu, const char *what)
{
    thread *t = emu->running;
    t->state = POLLING;
    t->waits_for = what;
    t->wait_detail = -1;
    mo_emu_make_ready(emu, t);
    mo_fiber_switch(&t->fiber, &emu->main_fiber);
}

void mo_emu_abandon(mo_emu *emu)
{
    mo_fiber_switch(&emu->running->fiber, &emu->main_fiber);
    abort(); /* an abandoned fiber was resumed */
}

/* No thread can go on: one line for each place where threads wait. */
static void report_stuck(mo_emu *emu, const char *why)
{
    size_t size = sizeof emu->error;
    size_t used = (size_t)snprintf(emu->error, size, "%s;", why);
    unsigned shown = 0;
    for (unsigned i = 0; i < emu->n_threads && shown < 8; i++) {
        const thread *t = &emu->threads[i];
        if (t->state == DONE) continue;
        unsigned same = 0, before = 0;
        for (unsigned j = 0; j < emu->n_threads; j++) {
            const thread *u = &emu->threads[j];
            if (u->state == DONE || u->block != t->block || u->waits_for != t->waits_for ||
                u->wait_detail != t->wait_detail || u->pc != t->pc)
                continue;
            same++;
            if (j < i) before++;
        }
        if (before > 0) continue;
        char who[96], where[256];
        mo_emu_describe_thread(emu, i, who, sizeof who);
        mo_emu_describe_pc(emu, mo_emu_pc32(emu, t->pc), where, sizeof where);
        int n = snprintf(emu->error + used, size - used, "%s %u thread%s in %s%s, the first %s",
                         shown == 0 ? "" : ";", same, same == 1 ? "" : "s", t->waits_for, where, who);
        if (n < 0 || (size_t)n >= size - used) break;
        used += (size_t)n;
        shown++;
    }
    emu->failed = true;
}

static void run_thread(void *argument)
{
    thread *t = argument;
    mo_emu *emu = t->emu;
    void *const *a = (void *const *)(uintptr_t)emu->launch->args;
    /* The kernel takes the first n_args of these; the calling convention lets it ignore the rest. */
    typedef void kernel(void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                        void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                        void *, void *, void *, void *, void *, void *, void *, void *, void *, void *,
                        void *, void *);
    ((kernel *)emu->entry)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
                           a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24],
                           a[25], a[26], a[27], a[28], a[29], a[30], a[31]);
    mo_emu_thread_exits(emu, t);
    t->state = DONE;
    mo_fiber_switch(&t->fiber, &emu->main_fiber);
}

static void run_group(mo_emu *emu)
{
    for (unsigned i = 0; i < emu->n_threads; i++) {
        mo_fiber_prepare(&emu->threads[i].fiber, &emu->stacks, i, run_thread, &emu->threads[i]);
        mo_emu_make_ready(emu, &emu->threads[i]);
    }
    thread *last = NULL;
    uint64_t limit = 1000 + 256 * (uint64_t)emu->n_threads;
    emu->idle_polls = 0;
    while (emu->n_ready > 0) {
        thread *t = choose(emu, last);
        remove_ready(emu, t);
        t->state = RUNNABLE;
        if (t->block != emu->loaded) mo_emu_switch_block(emu, t->block);
        emu->running = t;
        emu->counts.switches++;
        mo_fiber_switch(&emu->main_fiber, &t->fiber);
        emu->running = NULL;
        if (emu->failed) return;
        if (t->state != POLLING)
            emu->idle_polls = 0;
        else if (++emu->idle_polls > limit) {
            report_stuck(emu, "no progress: threads poll for something that never happens");
            return;
        }
        last = t;
    }
    for (unsigned i = 0; i < emu->n_threads; i++) {
        if (emu->threads[i].state == DONE) continue;
        report_stuck(emu, "deadlock");
        return;
    }
    if (mo_emu_bulks_left(emu)) {
        snprintf(emu->error, sizeof emu->error, "a block ends before its bulk copies have landed");
        emu->failed = true;
    }
}

static bool check_launch(mo_emu *emu, const mo_emu_launch *l)
{
    uint64_t threads = (uint64_t)l->block.x * l->block.y * l->block.z;
    const char *wrong = NULL;
    if (threads == 0 || threads > 1024)
        wrong = "a block has 1 to 1024 threads";
    else if (threads % WARP != 0)
        wrong = "the number of threads of a block is not a multiple of 32";
    else if ((uint64_t)l->grid.x * l->grid.y * l->grid.z == 0)
        wrong = "the grid is empty";
    else if (l->shared_bytes + emu->statics_size > MO_EMU_SHARED_LIMIT)
        wrong = "too much shared memory";
    else if (l->n_args < 0 || l->n_args > MO_EMU_MAX_ARGS)
        wrong = "too many arguments";
    if (wrong != NULL) snprintf(emu->error, sizeof emu->error, "launch of %s: %s", l->kernel, wrong);
    return wrong == NULL;
}

bool mo_emu_run(mo_emu *emu, const mo_emu_launch *launch, char *error, size_t error_size)
{
    emu->error[0] = 0;
    emu->failed = false;
    emu->launch = launch;
    emu->rng = launch->seed * 0x9e3779b97f4a7c15u + 1;
    emu->late = (launch->seed & 1) != 0;
    emu->greedy = (launch->seed & 2) != 0;
    emu->counts = (mo_emu_counts){0};
    bool ok = check_launch(emu, launch) && mo_emu_group_open(emu);
    for (unsigned i = 0; ok && i < emu->n_groups; i++) {
        unsigned group = (launch->seed & 4) != 0 ? emu->n_groups - 1 - i : i;
        mo_emu_group_start(emu, group);
        run_group(emu);
        ok = !emu->failed;
    }
    mo_emu_group_close(emu);
    if (!ok) snprintf(error, error_size, "%s", emu->error);
    return ok;
}

mo_emu_counts mo_emu_last_counts(const mo_emu *emu)
{
    return emu->counts;
}
