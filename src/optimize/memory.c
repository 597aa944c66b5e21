#include "optimize/memory.h"

#include <stdbool.h>

#define MOST_BUFFERS 64
#define MOST_STEPS 100000 /* placements tried; beyond them the best so far stands */

typedef struct {
    mo_buffer *buffers;
    int count, bound, best, steps;
    int offset[MOST_BUFFERS], chosen[MOST_BUFFERS]; /* so far; of the best plan */
    bool placed[MOST_BUFFERS];
} placing;

static int round_up(int x)
{
    return (x + MO_MEMORY_UNIT - 1) / MO_MEMORY_UNIT * MO_MEMORY_UNIT;
}

/* One behind the other. */
static int place_apart(mo_buffer *buffers, int count)
{
    int end = 0;
    for (int i = 0; i < count; i++) {
        buffers[i].offset = end;
        end += round_up(buffers[i].bytes);
    }
    return end;
}

/* Bytes of the fullest level: no plan needs less. */
static int fullest_level(const mo_buffer *buffers, int count)
{
    int most = 0;
    for (int i = 0; i < count; i++) {
        int sum = 0; /* in the level where this one begins */
        for (int j = 0; j < count; j++)
            if (buffers[j].first <= buffers[i].first && buffers[j].last >= buffers[i].first)
                sum += round_up(buffers[j].bytes);
        if (sum > most) most = sum;
    }
    return most;
}

/* The lowest offset at which buffer i meets none of the placed ones that live with it. */
static int lowest(const placing *p, int i)
{
    const mo_buffer *b = &p->buffers[i];
    int at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int j = 0; j < p->count; j++) {
            const mo_buffer *o = &p->buffers[j];
            if (!p->placed[j] || o->last < b->first || o->first > b->last) continue;
            if (p->offset[j] + round_up(o->bytes) <= at || p->offset[j] >= at + round_up(b->bytes)) continue;
            at = p->offset[j] + round_up(o->bytes);
            moved = true;
        }
    }
    return at;
}

static void search(placing *p, int done, int peak)
{
    if (peak >= p->best) return;
    if (done == p->count) {
        p->best = peak;
        for (int i = 0; i < p->count; i++) p->chosen[i] = p->offset[i];
        return;
    }
    for (int i = 0; i < p->count && p->best > p->bound && p->steps < MOST_STEPS; i++) {
        if (p->placed[i]) continue;
        p->steps++;
        p->offset[i] = lowest(p, i);
        p->placed[i] = true;
        int end = p->offset[i] + round_up(p->buffers[i].bytes);
        search(p, done + 1, end > peak ? end : peak);
        p->placed[i] = false;
        if (done == 0) return; /* the ring lies at 0 */
    }
}

int mo_memory_place(mo_buffer *buffers, int count, mo_passes off)
{
    int apart = place_apart(buffers, count);
    if (off & MO_PASS_MEMORY || count > MOST_BUFFERS) return apart;
    placing p = {.buffers = buffers, .count = count, .best = apart + 1};
    p.bound = fullest_level(buffers, count);
    search(&p, 0, 0);
    for (int i = 0; i < count; i++) buffers[i].offset = p.chosen[i];
    return p.best;
}
