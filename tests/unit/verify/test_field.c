/* Laws of the arithmetic that stands in for the reals. */
#include "verify/field.h"
#include "verify/program_eval.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define DRAWS 40

static mo_fval value(const mo_field *f, uint64_t index)
{
    return mo_field_random(f, 99, index);
}

static mo_fval square_value(const mo_field *f, uint64_t index)
{
    mo_fval v = value(f, index);
    return mo_field_mul(f, v, v);
}

static mo_fval apply(const mo_field *f, mo_op op, mo_fval x)
{
    return mo_field_unary(f, &(mo_prim_node){.op = op}, x);
}

Test(field, primes_have_the_promised_form)
{
    for (uint64_t round = 0; round < DRAWS; round++) {
        mo_field f;
        mo_field_draw(&f, 1, round, round % 2 == 1, NULL, 0);
        cr_assert_eq(f.p.prime, 2 * f.q.prime + 1);
        uint32_t last = round % 2 == 1 ? f.r.prime : f.q.prime;
        cr_assert_eq(last % 840, 839);
        if (round % 2 == 1) cr_assert_eq(f.q.prime, 2 * f.r.prime + 1);
        for (int64_t n = 2; n <= 10; n++)
            cr_assert(mo_field_is_square(&f, mo_field_integer(&f, n)), "%d is no square", (int)n);
        cr_assert_not(mo_mod_is_square(&f.p, f.p.prime - 1));
    }
}

Test(field, prime_test_agrees_with_division)
{
    for (uint32_t n = 0; n < 20000; n++) {
        bool prime = n > 1;
        for (uint32_t d = 2; d * d <= n; d++) prime &= n % d != 0;
        cr_assert_eq(mo_is_prime(n), prime, "%u", n);
    }
    cr_assert_not(mo_is_prime(25326001u), "a strong pseudoprime to 2, 3 and 5");
    cr_assert(mo_is_prime(2147483647u));
}

Test(field, ring_and_quotients)
{
    for (uint64_t round = 0; round < DRAWS; round++) {
        mo_field f;
        mo_field_draw(&f, 2, round, round % 2 == 1, NULL, 0);
        mo_fval a = value(&f, 0), b = value(&f, 1), c = value(&f, 2);
        cr_assert(mo_fval_equal(mo_field_mul(&f, a, mo_field_add(&f, b, c)),
                                mo_field_add(&f, mo_field_mul(&f, a, b), mo_field_mul(&f, a, c))));
        cr_assert(mo_fval_equal(mo_field_sub(&f, a, b), mo_field_neg(&f, mo_field_sub(&f, b, a))));
        cr_assert(mo_fval_equal(mo_field_mul(&f, mo_field_div(&f, a, b), b), a));
        cr_assert(mo_fval_equal(mo_field_div(&f, mo_field_div(&f, a, b), c),
                                mo_field_div(&f, a, mo_field_mul(&f, b, c))));
        cr_assert_not(mo_fval_equal(mo_field_mul(&f, a, b), mo_field_mul(&f, a, c)));
        mo_field_sum sum = mo_field_sum_start(&f);
        mo_fval slow = mo_field_integer(&f, 0);
        for (uint64_t i = 0; i < 1000; i++) {
            mo_field_sum_add(&f, &sum, value(&f, i), value(&f, i + 7));
            slow = mo_field_add(&f, slow, mo_field_mul(&f, value(&f, i), value(&f, i + 7)));
        }
        cr_assert(mo_fval_equal(mo_field_sum_end(&f, &sum), slow));
    }
}

Test(field, exponentials)
{
    for (uint64_t round = 0; round < DRAWS; round++) {
        mo_field f;
        mo_field_draw(&f, 3, round, true, NULL, 0);
        mo_fval a = value(&f, 0), b = value(&f, 1);
        mo_fval product = mo_field_mul(&f, mo_field_exp(&f, a), mo_field_exp(&f, b));
        cr_assert(mo_fval_equal(mo_field_exp(&f, mo_field_add(&f, a, b)), product));
        cr_assert_eq(product.state, MO_FV_P | MO_FV_Q, "the innermost part is gone after one exponential");
        /* Two on one path, where the first keeps its q-part through the chain. */
        mo_fval ea = mo_field_exp(&f, a), eb = mo_field_exp(&f, b);
        mo_fval twice = mo_field_mul(&f, mo_field_exp(&f, ea), mo_field_exp(&f, eb));
        cr_assert(mo_fval_equal(mo_field_exp(&f, mo_field_add(&f, ea, eb)), twice));
        cr_assert_not(mo_fval_equal(twice, mo_field_exp(&f, ea)));
        /* Beyond the chain it is still a function of its argument, and no constant. */
        cr_assert(mo_fval_equal(mo_field_exp(&f, twice), mo_field_exp(&f, twice)));
        cr_assert_not(mo_fval_equal(mo_field_exp(&f, twice), mo_field_exp(&f, mo_field_exp(&f, eb))));
        mo_fval half = mo_field_mul(&f, a, mo_field_constant(&f, 0.5));
        cr_assert(mo_fval_equal(mo_field_sqrt(&f, mo_field_exp(&f, a)), mo_field_exp(&f, half)));
    }
}

Test(field, spelled_out_functions)
{
    for (uint64_t round = 0; round < DRAWS; round++) {
        mo_field f;
        mo_field_draw(&f, 4, round, false, NULL, 0);
        mo_fval x = value(&f, 0), one = mo_field_integer(&f, 1);
        mo_fval e = mo_field_exp(&f, mo_field_neg(&f, x));
        mo_fval sigmoid = mo_field_reciprocal(&f, mo_field_add(&f, one, e));
        cr_assert(mo_fval_equal(apply(&f, MO_OP_SIGMOID, x), sigmoid));
        cr_assert(mo_fval_equal(apply(&f, MO_OP_SILU, x), mo_field_mul(&f, x, sigmoid)));
        mo_fval up = mo_field_exp(&f, x);
        mo_fval tanh_x = mo_field_div(&f, mo_field_sub(&f, up, e), mo_field_add(&f, up, e));
        cr_assert(mo_fval_equal(apply(&f, MO_OP_TANH, x), tanh_x));
        cr_assert_not(mo_fval_equal(apply(&f, MO_OP_SILU, x), mo_field_mul(&f, x, up)));
        mo_prim_node erf_form = {.op = MO_OP_GELU}, tanh_form = {.op = MO_OP_GELU, .approximate_tanh = true};
        cr_assert_not(mo_fval_equal(mo_field_unary(&f, &erf_form, x), mo_field_unary(&f, &tanh_form, x)));
    }
}

Test(field, roots)
{
    for (uint64_t round = 0; round < DRAWS; round++) {
        mo_field f;
        mo_field_draw(&f, 5, round, round % 2 == 1, NULL, 0);
        mo_fval a = value(&f, 0), b = value(&f, 1);
        cr_assert(mo_fval_equal(mo_field_sqrt(&f, mo_field_mul(&f, a, b)),
                                mo_field_mul(&f, mo_field_sqrt(&f, a), mo_field_sqrt(&f, b))));
        mo_fval s = square_value(&f, 2), root = mo_field_sqrt(&f, s);
        cr_assert(mo_fval_equal(mo_field_mul(&f, root, root), s));
        cr_assert(mo_fval_equal(apply(&f, MO_OP_RSQRT, s), mo_field_reciprocal(&f, root)));
        cr_assert(mo_fval_equal(mo_field_pow(&f, s, -0.5), apply(&f, MO_OP_RSQRT, s)));
        cr_assert(mo_fval_equal(mo_field_pow(&f, s, 1.5), mo_field_mul(&f, s, root)));
        cr_assert(mo_fval_equal(mo_field_pow(&f, a, 3.0), mo_field_mul(&f, a, mo_field_mul(&f, a, a))));
        cr_assert_not(mo_fval_equal(mo_field_pow(&f, a, 0.3), mo_field_pow(&f, a, 0.7)));
        mo_fval four_a = mo_field_mul(&f, mo_field_integer(&f, 4), s);
        cr_assert(mo_fval_equal(mo_field_sqrt(&f, four_a), mo_field_mul(&f, mo_field_integer(&f, 2), root)));
    }
}

Test(field, lattice)
{
    for (uint64_t round = 0; round < DRAWS; round++) {
        mo_field f;
        mo_field_draw(&f, 6, round, false, NULL, 0);
        mo_fval x = value(&f, 0), y = value(&f, 1), z = value(&f, 2), zero = mo_field_integer(&f, 0);
        mo_fval xy = mo_field_max(&f, x, y);
        cr_assert(mo_fval_equal(xy, mo_field_max(&f, y, x)));
        cr_assert(mo_fval_equal(mo_field_max(&f, xy, z), mo_field_max(&f, x, mo_field_max(&f, y, z))));
        cr_assert(mo_fval_equal(mo_field_max(&f, x, mo_field_min(&f, x, y)), x), "absorption");
        cr_assert(mo_fval_equal(mo_field_min(&f, x, mo_field_max(&f, y, z)),
                                mo_field_max(&f, mo_field_min(&f, x, y), mo_field_min(&f, x, z))));
        cr_assert(mo_fval_equal(mo_field_add(&f, xy, mo_field_min(&f, x, y)), mo_field_add(&f, x, y)));
        mo_fval minus = mo_field_neg(&f, mo_field_max(&f, mo_field_neg(&f, x), mo_field_neg(&f, y)));
        cr_assert(mo_fval_equal(mo_field_min(&f, x, y), minus));
        mo_fval abs_x = apply(&f, MO_OP_ABS, x);
        cr_assert_eq(abs_x.p, mo_field_sqrt(&f, mo_field_mul(&f, x, x)).p, "|x| = sqrt(x x)");
        mo_fval half = mo_field_constant(&f, 0.5);
        cr_assert(
            mo_fval_equal(apply(&f, MO_OP_RELU, x), mo_field_mul(&f, half, mo_field_add(&f, x, abs_x))));
        cr_assert(mo_fval_equal(apply(&f, MO_OP_RELU, x), mo_field_max(&f, zero, x)));
    }
}

Test(field, constants_are_exact_decimals)
{
    mo_field f;
    mo_field_draw(&f, 7, 0, true, NULL, 0);
    mo_fval ten = mo_field_integer(&f, 10), tenth = mo_field_constant(&f, 0.1);
    cr_assert(mo_fval_equal(mo_field_mul(&f, ten, tenth), mo_field_integer(&f, 1)));
    mo_fval sum = mo_field_add(&f, tenth, mo_field_constant(&f, 0.2));
    cr_assert(mo_fval_equal(sum, mo_field_constant(&f, 0.3)), "0.1 + 0.2 is 0.3");
    mo_fval eps = mo_field_constant(&f, 1e-5);
    cr_assert(mo_fval_equal(mo_field_mul(&f, eps, mo_field_integer(&f, 100000)), mo_field_integer(&f, 1)));
    cr_assert_not(mo_fval_equal(eps, mo_field_constant(&f, 1e-6)));
    cr_assert(mo_fval_equal(mo_field_constant(&f, -3.0), mo_field_integer(&f, -3)));
    cr_assert(mo_fval_equal(mo_field_constant(&f, 1e22), mo_field_pow(&f, ten, 22.0)));
    cr_assert(mo_fval_equal(
        mo_field_constant(&f, 5e-324),
        mo_field_div(&f, mo_field_integer(&f, 5), mo_field_pow(&f, mo_field_pow(&f, ten, 54.0), 6.0))));
}

Test(field, constants_stand_in_their_real_order)
{
    const double constants[] = {6.0, 0.07216878364870322, -1.0, 3.0, 0.5, 1e-5};
    for (uint64_t round = 0; round < 5; round++) {
        mo_field f;
        mo_field_draw(&f, 8, round, false, constants, 6);
        cr_assert(f.constants_square && f.constants_ordered);
        for (int i = 0; i < 6; i++) {
            cr_assert(mo_field_is_square(&f, mo_field_constant(&f, fabs(constants[i]))));
            for (int j = 0; j < 6; j++) {
                double larger = constants[i] > constants[j] ? constants[i] : constants[j];
                mo_fval v = mo_field_max(&f, mo_field_constant(&f, constants[i]),
                                         mo_field_constant(&f, constants[j]));
                cr_assert(mo_fval_equal(v, mo_field_constant(&f, larger)));
            }
        }
    }
    double many[40];
    for (int i = 0; i < 40; i++) many[i] = 11.0 + 2.0 * i;
    mo_field f;
    mo_field_draw(&f, 8, 0, false, many, 40);
    cr_assert_not(f.constants_square, "too many constants must be admitted");
}

Test(field, masks_and_undefined_values)
{
    mo_field f;
    mo_field_draw(&f, 9, 0, false, NULL, 0);
    mo_fval masked = mo_fval_special(MO_FV_NEG_INF), x = value(&f, 0), zero = mo_field_integer(&f, 0);
    cr_assert(mo_fval_equal(mo_field_exp(&f, masked), zero));
    cr_assert(mo_fval_equal(mo_field_max(&f, masked, x), x));
    cr_assert(mo_fval_equal(mo_field_add(&f, masked, x), masked));
    cr_assert(mo_fval_equal(mo_field_mul(&f, mo_field_integer(&f, 2), masked), masked));
    cr_assert_eq(mo_field_div(&f, x, zero).state, (uint32_t)MO_FV_UNDEFINED);
    cr_assert_eq(mo_field_mul(&f, zero, masked).state, (uint32_t)MO_FV_UNDEFINED);
    cr_assert_not(mo_fval_equal(mo_field_div(&f, x, zero), mo_field_div(&f, x, zero)));
    mo_field_sum sum = mo_field_sum_start(&f);
    mo_field_sum_add(&f, &sum, x, x);
    mo_field_sum_add(&f, &sum, masked, mo_field_integer(&f, 1));
    mo_field_sum_add(&f, &sum, x, x);
    cr_assert(mo_fval_equal(mo_field_sum_end(&f, &sum), masked));
}

/* What the small pattern of a mask keeps, as a number (at most 64 elements). */
static uint64_t pattern(int64_t offset, int rows, int columns)
{
    uint64_t bits = 0;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) bits = bits << 1 | (mo_mask_keeps(offset, i, j, columns) ? 1u : 0u);
    return bits;
}

static void expect_useful_pattern(int64_t offset, int rows, int columns)
{
    uint64_t all = rows * columns == 64 ? UINT64_MAX : (UINT64_C(1) << rows * columns) - 1;
    cr_expect_neq(pattern(offset, rows, columns), all, "offset %lld keeps all of %d x %d", (long long)offset,
                  rows, columns);
    for (int i = 0; i < rows; i++) {
        int kept = 0;
        for (int j = 0; j < columns; j++) kept += mo_mask_keeps(offset, i, j, columns);
        cr_expect_gt(kept, 0, "offset %lld, row %d of %d x %d", (long long)offset, i, rows, columns);
    }
    for (int j = 0; j < columns && rows > 1; j++) {
        int kept = 0;
        for (int i = 0; i < rows; i++) kept += mo_mask_keeps(offset, i, j, columns);
        cr_expect_gt(kept, 0, "offset %lld, column %d of %d x %d", (long long)offset, j, rows, columns);
    }
}

Test(field, small_masks_are_no_identity_and_leave_no_row_or_column_empty)
{
    static const int64_t far[] = {INT64_MIN, -1000000, 4095, INT64_MAX};
    for (int rows = 1; rows <= 8; rows++)
        for (int columns = 2; columns <= 8; columns++) {
            for (int64_t offset = -70; offset <= 70; offset++) expect_useful_pattern(offset, rows, columns);
            for (int i = 0; i < 4; i++) expect_useful_pattern(far[i], rows, columns);
        }
    for (int64_t a = -2; a < 2; a++) /* the four nearest offsets, on the smallest matrix */
        for (int64_t b = a + 1; b < 2; b++)
            cr_expect_neq(pattern(a, 2, 2), pattern(b, 2, 2), "%d and %d", (int)a, (int)b);
    cr_expect_eq(pattern(0, 4, 1), 15u);
    cr_expect_eq(pattern(-1, 4, 1), 7u);
}

Test(field, rounding_is_a_function_of_its_argument_and_type)
{
    mo_field f;
    mo_field_draw(&f, 10, 0, false, NULL, 0);
    mo_fval x = value(&f, 0), y = value(&f, 1);
    cr_assert(mo_fval_equal(mo_field_cast(&f, MO_F16, x), mo_field_cast(&f, MO_F16, x)));
    cr_assert_not(mo_fval_equal(mo_field_cast(&f, MO_F16, x), mo_field_cast(&f, MO_BF16, x)));
    cr_assert_not(
        mo_fval_equal(mo_field_cast(&f, MO_F16, mo_field_add(&f, x, y)),
                      mo_field_add(&f, mo_field_cast(&f, MO_F16, x), mo_field_cast(&f, MO_F16, y))));
}

Test(field, same_seed_same_field)
{
    mo_field a, b, c;
    mo_field_draw(&a, 11, 3, false, NULL, 0);
    mo_field_draw(&b, 11, 3, false, NULL, 0);
    mo_field_draw(&c, 11, 4, false, NULL, 0);
    cr_assert_eq(a.p.prime, b.p.prime);
    cr_assert(mo_fval_equal(value(&a, 5), value(&b, 5)));
    cr_assert_neq(a.p.prime, c.p.prime);
}

Test(field, constants_follow_the_printed_decimal)
{
    mo_field f;
    mo_field_draw(&f, 12, 0, false, NULL, 0);
    mo_rng rng = mo_rng_seed(1, 1);
    for (int i = 0; i < 2000; i++) {
        /* Built from digits and a power of ten, so that the exact rational is known. */
        uint64_t digits = mo_rng_below(&rng, i % 2 == 0 ? 1000 : 1000000000000000u) + 1;
        int exponent = (int)mo_rng_below(&rng, 40) - 20;
        char text[64];
        snprintf(text, sizeof text, "%llue%d", (unsigned long long)digits, exponent);
        mo_fval wanted = mo_field_integer(&f, (int64_t)digits);
        mo_fval ten = mo_field_pow(&f, mo_field_integer(&f, 10), (double)abs(exponent));
        wanted = exponent < 0 ? mo_field_div(&f, wanted, ten) : mo_field_mul(&f, wanted, ten);
        cr_assert(mo_fval_equal(mo_field_constant(&f, strtod(text, NULL)), wanted), "%s", text);
    }
}
