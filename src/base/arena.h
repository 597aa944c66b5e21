/* Arena: memory that is freed all at once.
 *
 * Lifetimes in this program: one arena for the run (program, report), one per candidate, one scratch
 * arena per worker that is reset to a mark. An arena is not thread-safe. Running out of memory ends
 * the process with a message (exit code 70): no caller checks for NULL. */
#ifndef MO_BASE_ARENA_H
#define MO_BASE_ARENA_H

#include <stdarg.h>
#include <stddef.h>

typedef struct mo_arena mo_arena;

typedef struct {
    void *block;
    size_t used;
} mo_arena_mark;

mo_arena *mo_arena_new(void);
void mo_arena_free(mo_arena *arena); /* NULL is allowed */

/* Zeroed memory, aligned to 16 bytes. */
void *mo_arena_alloc(mo_arena *arena, size_t size);
#define MO_NEW(arena, type) ((type *)mo_arena_alloc((arena), sizeof(type)))
#define MO_NEW_ARRAY(arena, type, count) ((type *)mo_arena_alloc((arena), sizeof(type) * (size_t)(count)))

char *mo_arena_strdup(mo_arena *arena, const char *text);
char *mo_arena_strndup(mo_arena *arena, const char *text, size_t length);
char *mo_arena_printf(mo_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Everything allocated after the mark is released by the reset. */
mo_arena_mark mo_arena_get_mark(const mo_arena *arena);
void mo_arena_reset(mo_arena *arena, mo_arena_mark mark);

size_t mo_arena_bytes(const mo_arena *arena); /* bytes held from the system */

#endif
