/* Working memory of products: operands of one product are often products themselves, so that each depth of
 * the recursion has memory of its own, kept for the next time. */
#ifndef MO_VERIFY_TILES_H
#define MO_VERIFY_TILES_H

#include "verify/field.h"

#define MO_TILE 4096       /* elements of an operand that are read at once */
#define MO_TILE_SUMS 1024  /* elements of a product that are computed at once */
#define MO_TILE_COLUMNS 64 /* of each row, where several rows are computed */

typedef struct {
    mo_fval left[MO_TILE], right[MO_TILE];
    mo_field_sum sums[MO_TILE_SUMS];
} mo_tile;

typedef struct {
    mo_tile **by_depth;
    int depth, capacity;
} mo_tiles;

/* Memory for one product, until the matching mo_tiles_leave. */
mo_tile *mo_tiles_enter(mo_tiles *tiles);
void mo_tiles_leave(mo_tiles *tiles);
void mo_tiles_free(mo_tiles *tiles);

#endif
