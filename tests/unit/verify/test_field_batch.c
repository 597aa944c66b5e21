/* Quotients and sums of products of many values at once, against one at a time. */
#include "verify/field.h"

#include "base/rng.h"

#include <criterion/criterion.h>

enum { MOST = 512 };

static const uint32_t SPECIAL[] = {MO_FV_NEG_INF, MO_FV_UNDEFINED, MO_FV_P};

/* `odd` of 1024 values are masked, undefined or without a q-part; some are 0. */
static void draw(const mo_field *f, mo_rng *rng, int odd, mo_fval *values, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        values[i] = mo_field_random(f, mo_rng_next(rng), 0);
        if ((int)mo_rng_below(rng, 1024) >= odd) continue;
        uint64_t which = mo_rng_below(rng, 4);
        if (which == 3)
            values[i].p = 0;
        else if (which == 2)
            values[i].state = MO_FV_P;
        else
            values[i] = (mo_fval){0, 0, 0, SPECIAL[which]};
    }
}

static bool identical(mo_fval a, mo_fval b)
{
    if (a.state != b.state) return false;
    if (a.state & MO_FV_P && a.p != b.p) return false;
    if (a.state & MO_FV_Q && a.q != b.q) return false;
    return !(a.state & MO_FV_R) || a.r == b.r;
}

static void check_quotients(const mo_field *f, mo_rng *rng, int64_t n, int odd, bool equal)
{
    static mo_fval values[MOST], divisors[MOST], expected[MOST];
    draw(f, rng, odd, values, n);
    draw(f, rng, odd, divisors, n);
    for (int64_t i = 0; i < n; i++) {
        if (equal) divisors[i] = divisors[0];
        expected[i] = mo_field_div(f, values[i], divisors[i]);
    }
    mo_field_divide(f, values, divisors, n);
    for (int64_t i = 0; i < n; i++)
        cr_assert(identical(values[i], expected[i]), "quotient %d of %d, %d odd", (int)i, (int)n, odd);
}

Test(field_batch, quotients)
{
    mo_rng rng = mo_rng_seed(11, 0);
    for (uint64_t round = 0; round < 200; round++) {
        mo_field f;
        mo_field_draw(&f, 5, round, round % 3 == 0, NULL, 0);
        int64_t n = 1 + (int64_t)mo_rng_below(&rng, MOST);
        check_quotients(&f, &rng, n, 0, false);
        check_quotients(&f, &rng, n, 4, false);
        check_quotients(&f, &rng, n, 200, round % 2 == 0);
    }
}

static void check_block(const mo_field *f, mo_rng *rng, int odd)
{
    static mo_fval left[4096], right[4096];
    static mo_field_sum sums[1024];
    mo_fval expected[1024];
    int64_t rows = 1 + (int64_t)mo_rng_below(rng, 16), columns = 1 + (int64_t)mo_rng_below(rng, 64);
    for (int64_t i = 0; i < rows * columns; i++) {
        sums[i] = mo_field_sum_start(f);
        expected[i] = mo_field_integer(f, 0);
    }
    for (int turn = 0; turn < 3; turn++) {
        int64_t n = 1 + (int64_t)mo_rng_below(rng, 64);
        draw(f, rng, turn == 1 ? odd : 0, left, rows * n);
        draw(f, rng, turn == 1 ? odd : 0, right, columns * n);
        mo_field_block_add(f, &(mo_field_block){left, right, rows, columns, n}, sums);
        for (int64_t r = 0; r < rows; r++)
            for (int64_t j = 0; j < columns; j++)
                for (int64_t k = 0; k < n; k++)
                    expected[r * columns + j] = mo_field_add(
                        f, expected[r * columns + j], mo_field_mul(f, left[r * n + k], right[j * n + k]));
    }
    for (int64_t i = 0; i < rows * columns; i++)
        cr_assert(identical(mo_field_sum_end(f, &sums[i]), expected[i]), "sum %d, %d x %d, %d odd", (int)i,
                  (int)rows, (int)columns, odd);
}

Test(field_batch, blocks_of_products)
{
    mo_rng rng = mo_rng_seed(12, 0);
    for (uint64_t round = 0; round < 120; round++) {
        mo_field f;
        mo_field_draw(&f, 6, round, round % 4 == 0, NULL, 0);
        check_block(&f, &rng, 0);
        check_block(&f, &rng, 2);
        check_block(&f, &rng, 100);
    }
}

/* The largest factors there are: nothing may overflow on the way. */
Test(field_batch, largest_factors)
{
    static mo_fval left[4096], right[4096];
    mo_field f;
    mo_field_draw(&f, 7, 0, false, NULL, 0);
    mo_fval most = {f.p.prime - 1, f.q.prime - 1, 0, f.parts};
    for (int i = 0; i < 4096; i++) left[i] = right[i] = most;
    mo_field_sum sums[16];
    for (int i = 0; i < 16; i++) sums[i] = mo_field_sum_start(&f);
    for (int turn = 0; turn < 1000; turn++)
        mo_field_block_add(&f, &(mo_field_block){left, right, 4, 4, 1024}, sums);
    for (int i = 0; i < 16; i++)
        cr_assert(mo_fval_equal(mo_field_sum_end(&f, &sums[i]), mo_field_integer(&f, 1024000)));
}
