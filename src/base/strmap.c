#include "base/strmap.h"

#include "base/hash.h"
#include "base/status.h"

#include <string.h>

mo_strmap mo_strmap_new(mo_arena *arena, size_t expected)
{
    size_t capacity = 16;
    while (capacity < expected * 2) capacity *= 2;
    return (mo_strmap){arena, MO_NEW_ARRAY(arena, const char *, capacity), MO_NEW_ARRAY(arena, int, capacity),
                       capacity, 0};
}

/* Slot of the key, or the empty slot where it belongs: at least half of the slots are empty. */
static size_t slot_of(const mo_strmap *map, const char *key)
{
    size_t slot = (size_t)mo_hash64(key, strlen(key), 0) & (map->capacity - 1);
    while (map->keys[slot] != NULL && strcmp(map->keys[slot], key) != 0) {
        slot = (slot + 1) & (map->capacity - 1);
    }
    return slot;
}

int *mo_strmap_find(const mo_strmap *map, const char *key)
{
    size_t slot = slot_of(map, key);
    return map->keys[slot] == NULL ? NULL : &map->values[slot];
}

static void grow(mo_strmap *map)
{
    mo_strmap larger = mo_strmap_new(map->arena, map->capacity);
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->keys[i] != NULL) mo_strmap_put(&larger, map->keys[i], map->values[i]);
    }
    *map = larger;
}

void mo_strmap_put(mo_strmap *map, const char *key, int value)
{
    if ((map->count + 1) * 2 > map->capacity) grow(map);
    size_t slot = slot_of(map, key);
    MO_CHECK(map->keys[slot] == NULL);
    map->keys[slot] = key;
    map->values[slot] = value;
    map->count++;
}
