/* The memory pass on random lifetimes, against every plan at the granularity of its unit. */
#include "base/rng.h"
#include "optimize/memory.h"

#include <criterion/criterion.h>

enum { MOST = 6, LEVELS = 4, MOST_UNITS = 4, CASES = 400 };

static int units(const mo_buffer *b)
{
    return (b->bytes + MO_MEMORY_UNIT - 1) / MO_MEMORY_UNIT;
}

static bool clash(const mo_buffer *a, const mo_buffer *b)
{
    if (a->last < b->first || b->last < a->first) return false;
    int a_end = a->offset / MO_MEMORY_UNIT + units(a), b_end = b->offset / MO_MEMORY_UNIT + units(b);
    return a->offset / MO_MEMORY_UNIT < b_end && b->offset / MO_MEMORY_UNIT < a_end;
}

/* Is there a plan of buffers [i, count) within `peak` units? */
static bool exists(mo_buffer *buffers, int count, int i, int peak)
{
    if (i == count) return true;
    for (int at = 0; at + units(&buffers[i]) <= peak; at++) {
        buffers[i].offset = at * MO_MEMORY_UNIT;
        bool free = true;
        for (int j = 0; j < i; j++) free &= !clash(&buffers[i], &buffers[j]);
        if (free && exists(buffers, count, i + 1, peak)) return true;
    }
    return false;
}

static int random_buffers(mo_rng *rng, mo_buffer *buffers)
{
    int count = 1 + (int)mo_rng_below(rng, MOST);
    for (int i = 0; i < count; i++) {
        int first = (int)mo_rng_below(rng, LEVELS);
        buffers[i] = (mo_buffer){.bytes = 1 + (int)mo_rng_below(rng, MOST_UNITS * MO_MEMORY_UNIT),
                                 .first = first,
                                 .last = first + (int)mo_rng_below(rng, (uint64_t)(LEVELS - first))};
    }
    buffers[0].first = buffers[0].last = -1;
    return count;
}

Test(memory, plans_are_valid_and_least)
{
    mo_rng rng = mo_rng_seed(7, 0);
    for (int n = 0; n < CASES; n++) {
        mo_buffer buffers[MOST];
        int count = random_buffers(&rng, buffers);
        int peak = mo_memory_place(buffers, count, 0) / MO_MEMORY_UNIT, end = 0;
        cr_assert_eq(buffers[0].offset, 0);
        for (int i = 0; i < count; i++) {
            int own = buffers[i].offset / MO_MEMORY_UNIT + units(&buffers[i]);
            end = own > end ? own : end;
            for (int j = 0; j < i; j++) cr_assert(!clash(&buffers[i], &buffers[j]), "case %d", n);
        }
        cr_assert_eq(end, peak);
        cr_assert(!exists(buffers, count, 0, peak - 1), "case %d: %d units are not the least", n, peak);
    }
}

Test(memory, off_gives_each_its_own_bytes)
{
    mo_buffer buffers[] = {{.bytes = 1000, .first = 0, .last = 0},
                           {.bytes = 200, .first = 1, .last = 1},
                           {.bytes = 1, .first = 2, .last = 2}};
    cr_assert_eq(mo_memory_place(buffers, 3, 0), 1024);
    cr_assert_eq(buffers[1].offset, 0);
    cr_assert_eq(mo_memory_place(buffers, 3, MO_PASS_MEMORY), 1024 + 256 + 128);
    cr_assert_eq(buffers[1].offset, 1024);
    cr_assert_eq(buffers[2].offset, 1280);
}
