/* Pass `layout`: how a tile lies in shared memory.
 *
 * Decides, for each tile that goes through shared memory, the stride of its rows, and for boxes of the tensor
 * copy engine also the width of a panel and the swizzle; for partial results, the stride of their rows.
 * Objective: the sum over the tiles of a kernel of
 *
 *     3 for each further time that the 8 rows of an ldmatrix phase go through one bank,
 *     2 for each box beyond the first,
 *     1 for each 16 bytes of padding in a row.
 *
 * So rows of 96 and 160 bytes come as one box with two rows in the same banks, as measured on an H200. The
 * cost has a term for each tile and the choices of one do not limit those of another: the sum is least where
 * each term is, and a tile has at most 12 choices, all of which are tried. Layouts never change results.
 *
 * Off: row after row, neither padding (beyond whole 16 bytes) nor swizzle. */
#ifndef MO_OPTIMIZE_LAYOUT_H
#define MO_OPTIMIZE_LAYOUT_H

#include "ir/dtype.h"
#include "ir/passes.h"

#include <stdbool.h>

/* Panels of `panel` columns, one behind the other, in rows of `stride` elements, with a swizzle of so many
 * bytes (0: none). */
typedef struct {
    int panel, stride, swizzle;
} mo_layout;

#define MO_LAYOUT_CHOICES 12

/* Every layout that a tile of so many columns can have; `box`: it is filled by the tensor copy engine. */
int mo_layout_choices(int cols, mo_dtype dtype, bool box, mo_layout choices[MO_LAYOUT_CHOICES]);
int mo_layout_cost(int cols, mo_dtype dtype, const mo_layout *layout);
/* The cheapest choice, the first of several. */
mo_layout mo_layout_choose(int cols, mo_dtype dtype, bool box, mo_passes off);

/* Rows of floats that the lanes of a fragment read across (TF32 products): the stride, by the same costs. */
int mo_layout_across(int cols, mo_passes off);

/* Rows of an exchange buffer of floats: the stride, at least `size` (a multiple of 16), at which the stores
 * of a warp's C fragments meet in as few banks as possible. `along`: the columns of a fragment run along the
 * rows, and a thread stores two at once. */
int mo_layout_exchange(int size, bool along, mo_passes off);

#endif
