/* Chained blocks of doubling size; allocation bumps a counter in the newest block. */
#include "base/arena.h"

#include "base/status.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ALIGNMENT 16u
#define FIRST_BLOCK (64u * 1024u)
#define LARGEST_BLOCK (16u * 1024u * 1024u)
#define HUGE_PAGE (2u * 1024u * 1024u)

typedef struct block {
    struct block *previous;
    size_t size, used;
    size_t padding; /* keeps data[] aligned to 16 bytes */
    unsigned char data[];
} block;

struct mo_arena {
    block *newest;
    size_t total;
};

/* The largest blocks ask for huge pages: tables that are read across would miss the TLB at every row. */
static void *get_memory(size_t size)
{
    if (size <= 2u * LARGEST_BLOCK) return malloc(size);
    size_t rounded = (size + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    void *memory = aligned_alloc(HUGE_PAGE, rounded);
    if (memory != NULL) (void)madvise(memory, rounded, MADV_HUGEPAGE); /* a wish: nothing is lost without */
    return memory;
}

static block *new_block(mo_arena *arena, size_t size)
{
    block *b = get_memory(sizeof *b + size);
    if (b == NULL) MO_BUG("out of memory (%zu bytes)", size);
    b->previous = arena->newest;
    b->size = size;
    b->used = 0;
    arena->newest = b;
    arena->total += size;
    return b;
}

mo_arena *mo_arena_new(void)
{
    mo_arena *arena = calloc(1, sizeof *arena);
    if (arena == NULL) MO_BUG("out of memory");
    return arena;
}

void mo_arena_free(mo_arena *arena)
{
    if (arena == NULL) return;
    mo_arena_reset(arena, (mo_arena_mark){NULL, 0});
    free(arena);
}

void *mo_arena_alloc(mo_arena *arena, size_t size)
{
    MO_CHECK(size < SIZE_MAX / 2);
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    block *b = arena->newest;
    if (b == NULL || b->size - b->used < size) {
        size_t next = b == NULL ? FIRST_BLOCK : b->size * 2;
        if (next > LARGEST_BLOCK) next = LARGEST_BLOCK;
        if (next < size) next = size;
        b = new_block(arena, next);
    }
    void *memory = b->data + b->used;
    b->used += size;
    return memset(memory, 0, size);
}

char *mo_arena_strndup(mo_arena *arena, const char *text, size_t length)
{
    char *copy = mo_arena_alloc(arena, length + 1);
    memcpy(copy, text, length);
    return copy;
}

char *mo_arena_strdup(mo_arena *arena, const char *text)
{
    return mo_arena_strndup(arena, text, strlen(text));
}

char *mo_arena_printf(mo_arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    MO_CHECK(length >= 0);
    char *text = mo_arena_alloc(arena, (size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

mo_arena_mark mo_arena_get_mark(const mo_arena *arena)
{
    return (mo_arena_mark){arena->newest, arena->newest == NULL ? 0 : arena->newest->used};
}

void mo_arena_reset(mo_arena *arena, mo_arena_mark mark)
{
    while (arena->newest != mark.block) {
        block *old = arena->newest;
        MO_CHECK(old != NULL);
        arena->newest = old->previous;
        arena->total -= old->size;
        free(old);
    }
    if (arena->newest != NULL) arena->newest->used = mark.used;
}

size_t mo_arena_bytes(const mo_arena *arena)
{
    return arena->total;
}
