/* Map from strings to integers, for names. Open addressing; keys are borrowed, memory comes from the
 * arena that it was made with, nothing is ever removed. */
#ifndef MO_BASE_STRMAP_H
#define MO_BASE_STRMAP_H

#include "base/arena.h"

typedef struct {
    mo_arena *arena;
    const char **keys;
    int *values;
    size_t capacity, count;
} mo_strmap;

mo_strmap mo_strmap_new(mo_arena *arena, size_t expected);

/* The value of `key`, which may be changed in place until the next mo_strmap_put; NULL if it is absent. */
int *mo_strmap_find(const mo_strmap *map, const char *key);

/* Adds `key`, which must be absent and must outlive the map. */
void mo_strmap_put(mo_strmap *map, const char *key, int value);

#endif
