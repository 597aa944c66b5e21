/* The layout pass against an enumeration that knows nothing of how it chooses. */
#include "optimize/layout.h"

#include <criterion/criterion.h>

#include <limits.h>

/* Byte at which an element lies, as kernels/tile.cuh has it. */
static int address(const mo_layout *l, int rows, int row, int col, int size)
{
    int panel = col / l->panel, chunk = col % l->panel * size / 16;
    if (l->swizzle > 0) chunk ^= row / (128 / l->swizzle) % (l->swizzle / 16);
    return (panel * rows * l->panel + row * l->stride) * size + chunk * 16 + col * size % 16;
}

/* Most rows of an aligned group of 8 that read 16 bytes in one place of the 128 that the banks span. */
static int conflicts(const mo_layout *l, int cols, int size)
{
    int most = 0;
    for (int start = 0; start < 64; start += 8)
        for (int col = 0; col < cols; col += 16 / size) {
            int load[8] = {0};
            for (int row = start; row < start + 8; row++) {
                int times = ++load[address(l, 64, row, col, size) / 16 % 8];
                most = times > most ? times : most;
            }
        }
    return most;
}

static int cost(const mo_layout *l, int cols, int size)
{
    int boxes = (cols + l->panel - 1) / l->panel, chunks = (l->panel * size + 15) / 16;
    return 3 * (conflicts(l, cols, size) - 1) + 2 * (boxes - 1) + l->stride * size / 16 - chunks;
}

Test(layout, cost_is_that_of_the_addresses)
{
    static const mo_dtype dtypes[] = {MO_F16, MO_F32};
    for (int d = 0; d < 2; d++)
        for (int box = 0; box <= (d == 0); box++)
            for (int cols = 8; cols <= 256; cols += 8) {
                mo_layout choices[MO_LAYOUT_CHOICES];
                int count = mo_layout_choices(cols, dtypes[d], box, choices);
                cr_assert_gt(count, 0);
                for (int i = 0; i < count; i++)
                    cr_assert_eq(mo_layout_cost(cols, dtypes[d], &choices[i]),
                                 cost(&choices[i], cols, mo_dtype_size(dtypes[d])), "%d columns, choice %d",
                                 cols, i);
            }
}

/* All layouts of all tiles of a kernel together: the sum of the costs is least where each tile's choice is.
 */
Test(layout, no_combination_is_cheaper)
{
    static const struct {
        int cols;
        bool box;
    } tiles[] = {{64, true}, {48, true}, {96, false}, {160, true}};
    enum { TILES = sizeof tiles / sizeof *tiles };
    mo_layout choices[TILES][MO_LAYOUT_CHOICES];
    int count[TILES], at[TILES] = {0}, least = INT_MAX, chosen = 0, combinations = 1;
    for (int t = 0; t < TILES; t++) {
        count[t] = mo_layout_choices(tiles[t].cols, MO_F16, tiles[t].box, choices[t]);
        combinations *= count[t];
        mo_layout layout = mo_layout_choose(tiles[t].cols, MO_F16, tiles[t].box, 0);
        chosen += cost(&layout, tiles[t].cols, 2);
    }
    for (int n = 0; n < combinations; n++) {
        int sum = 0;
        for (int t = 0; t < TILES; t++) sum += cost(&choices[t][at[t]], tiles[t].cols, 2);
        least = sum < least ? sum : least;
        for (int t = 0; t < TILES && ++at[t] == count[t]; t++) at[t] = 0;
    }
    cr_assert_eq(chosen, least);
}

Test(layout, rows_are_free_of_conflicts)
{
    for (int cols = 1; cols <= 300; cols++) {
        mo_layout f16 = mo_layout_choose(cols, MO_F16, false, 0),
                  f32 = mo_layout_choose(cols, MO_F32, false, 0);
        cr_assert_eq(conflicts(&f16, cols, 2), 1);
        cr_assert_eq(conflicts(&f32, cols, 4), 1);
    }
}

Test(layout, known_boxes)
{
    static const struct {
        int cols, panel, swizzle;
    } known[] = {{8, 8, 0},     {16, 16, 32}, {24, 24, 0},  {32, 32, 64},  {48, 48, 0},
                 {64, 64, 128}, {80, 80, 0},  {96, 32, 64}, {128, 64, 128}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        mo_layout l = mo_layout_choose(known[i].cols, MO_F16, true, 0);
        cr_assert_eq(l.panel, known[i].panel, "%d columns", known[i].cols);
        cr_assert_eq(l.swizzle, known[i].swizzle, "%d columns", known[i].cols);
    }
}

Test(layout, off_is_row_after_row)
{
    for (int cols = 8; cols <= 256; cols += 8)
        for (int box = 0; box < 2; box++) {
            mo_layout l = mo_layout_choose(cols, MO_F16, box, MO_PASS_LAYOUT);
            cr_assert_eq(l.panel, cols);
            cr_assert_eq(l.stride, cols);
            cr_assert_eq(l.swizzle, 0);
        }
    cr_assert_eq(mo_layout_exchange(48, false, MO_PASS_LAYOUT), 48);
    cr_assert_eq(mo_layout_exchange(48, true, MO_PASS_LAYOUT), 48);
}

Test(layout, exchange_rows)
{
    for (int size = 16; size <= 256; size += 16) {
        cr_assert_eq(mo_layout_exchange(size, false, 0), size + 4);
        cr_assert_eq(mo_layout_exchange(size, true, 0), size + 8);
    }
}

/* Lane (g, t) reads float g of row t: four rows of eight floats lie in 32 banks. */
Test(layout, floats_read_across_rows_meet_in_no_bank)
{
    for (int cols = 8; cols <= 256; cols += 8) {
        int stride = mo_layout_across(cols, 0), taken[32] = {0};
        cr_assert_geq(stride, cols);
        cr_assert_lt(stride, cols + 32);
        for (int t = 0; t < 4; t++)
            for (int g = 0; g < 8; g++) cr_assert_eq(taken[(t * stride + g) % 32]++, 0, "%d columns", cols);
        cr_assert_eq(mo_layout_across(cols, MO_PASS_LAYOUT), cols);
    }
}
