#include "verify/tiles.h"

#include "base/status.h"

#include <stdlib.h>

mo_tile *mo_tiles_enter(mo_tiles *tiles)
{
    if (tiles->depth == tiles->capacity) {
        int capacity = tiles->capacity == 0 ? 8 : 2 * tiles->capacity;
        mo_tile **grown = realloc(tiles->by_depth, sizeof *grown * (size_t)capacity);
        if (grown == NULL) MO_BUG("out of memory");
        for (int i = tiles->capacity; i < capacity; i++) grown[i] = NULL;
        tiles->by_depth = grown;
        tiles->capacity = capacity;
    }
    mo_tile **tile = &tiles->by_depth[tiles->depth++];
    if (*tile == NULL) *tile = malloc(sizeof **tile);
    if (*tile == NULL) MO_BUG("out of memory");
    return *tile;
}

void mo_tiles_leave(mo_tiles *tiles)
{
    tiles->depth--;
}

void mo_tiles_free(mo_tiles *tiles)
{
    for (int i = 0; i < tiles->capacity; i++) free(tiles->by_depth[i]);
    free(tiles->by_depth);
    *tiles = (mo_tiles){0};
}
