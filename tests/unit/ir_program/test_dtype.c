/* Rounding against an independent, slow method: the neighbours of a value in the list of everything that
 * the type represents, the nearer one wins, a tie goes to even bits. Exhaustive for the 16-bit types. */
#include "base/rng.h"
#include "ir/dtype.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

typedef struct {
    mo_dtype dtype;
    int fraction, exponent; /* bits */
} layout;

static const layout layouts[] = {{MO_F16, 10, 5}, {MO_BF16, 7, 8}};

/* Value of the bits by the definition; the bits of infinity count as the next power of two. */
static double value_of(layout l, uint32_t bits)
{
    int field = (int)(bits >> l.fraction), bias = (1 << (l.exponent - 1)) - 1;
    double fraction = (double)(bits & ((1u << l.fraction) - 1)) / (1u << l.fraction);
    return field == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, field - bias);
}

static uint32_t infinity_of(layout l)
{
    return ((1u << l.exponent) - 1) << l.fraction;
}

static void expect_bits(layout l, double value, uint32_t bits)
{
    uint32_t sign = 1u << 15;
    cr_assert_eq(mo_dtype_encode(l.dtype, value), bits, "%a", value);
    cr_assert_eq(mo_dtype_encode(l.dtype, -value), bits | sign, "-%a", value);
    double expected = bits == infinity_of(l) ? HUGE_VAL : value_of(l, bits);
    cr_assert_eq(mo_dtype_round(l.dtype, value), expected, "%a", value);
}

Test(dtype, every_16_bit_value_and_every_gap)
{
    for (size_t k = 0; k < 2; k++) {
        layout l = layouts[k];
        for (uint32_t bits = 0; bits < infinity_of(l); bits++) {
            double low = value_of(l, bits), high = value_of(l, bits + 1), middle = (low + high) / 2;
            cr_assert_eq(mo_dtype_decode(l.dtype, bits), low);
            cr_assert_eq(mo_dtype_decode(l.dtype, bits | 1u << 15), -low);
            expect_bits(l, low, bits);
            expect_bits(l, nextafter(low, high), bits);
            expect_bits(l, nextafter(middle, low), bits);
            expect_bits(l, middle, bits + (bits & 1));
            expect_bits(l, nextafter(middle, high), bits + 1);
            expect_bits(l, nextafter(high, low), bits + 1);
        }
        expect_bits(l, 1e300, infinity_of(l));
        expect_bits(l, INFINITY, infinity_of(l));
    }
}

Test(dtype, nans_stay_nans)
{
    for (size_t k = 0; k < 2; k++) {
        layout l = layouts[k];
        for (uint32_t bits = infinity_of(l) + 1; bits < 1u << 15; bits++) {
            cr_assert(isnan(mo_dtype_decode(l.dtype, bits)));
            cr_assert(isnan(mo_dtype_decode(l.dtype, bits | 1u << 15)));
        }
        cr_assert(isnan(mo_dtype_round(l.dtype, NAN)));
    }
    cr_assert(isnan(mo_dtype_round(MO_F32, NAN)));
}

/* Single rounding: by way of f32 these values would be rounded twice, to another result. */
Test(dtype, rounds_once)
{
    double value = 1 + 0x1p-11 + 0x1p-40;
    cr_assert_eq(mo_dtype_round(MO_F16, value), 1 + 0x1p-10);
    cr_assert_eq(mo_dtype_round(MO_F16, (double)(float)value), 1);
}

Test(dtype, f32_is_the_conversion_of_c)
{
    mo_rng rng = mo_rng_seed(1, 2);
    for (int i = 0; i < 2000000; i++) {
        uint64_t bits = mo_rng_next(&rng);
        if (i % 2 == 0) { /* exponents around the range of f32, its subnormals included */
            bits = (bits & ~(0x7ffull << 52)) | (uint64_t)(1023 - 160 + (int)(bits >> 52 & 0xff) + 40) << 52;
        }
        double value;
        memcpy(&value, &bits, sizeof value);
        if (isnan(value)) continue;
        float expected = (float)value;
        uint32_t expected_bits;
        memcpy(&expected_bits, &expected, sizeof expected_bits);
        cr_assert_eq(mo_dtype_encode(MO_F32, value), expected_bits, "%a", value);
        cr_assert_eq(mo_dtype_decode(MO_F32, expected_bits), (double)expected, "%a", value);
    }
}

Test(dtype, facts)
{
    static const char *const aliases[][2] = {
        {"f16", "f16"},   {"float16", "f16"},   {"half", "f16"}, {"F16", "f16"},     {"bf16", "bf16"},
        {"BF16", "bf16"}, {"bfloat16", "bf16"}, {"f32", "f32"},  {"float32", "f32"}, {"F32", "f32"},
    };
    mo_dtype dtype = MO_F16;
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        cr_assert(mo_dtype_find(aliases[i][0], &dtype));
        cr_assert_str_eq(mo_dtype_name(dtype), aliases[i][1]);
    }
    cr_assert_not(mo_dtype_find("f64", &dtype));
    cr_assert_not(mo_dtype_find("", &dtype));
    cr_assert_eq(mo_dtype_unit_roundoff(MO_F16), 0x1p-11);
    cr_assert_eq(mo_dtype_unit_roundoff(MO_BF16), 0x1p-8);
    cr_assert_eq(mo_dtype_unit_roundoff(MO_F32), 0x1p-24);
    cr_assert_eq(mo_dtype_subnormal(MO_F16), 0x1p-24);
    cr_assert_eq(mo_dtype_subnormal(MO_BF16), 0x1p-133);
    cr_assert_eq(mo_dtype_subnormal(MO_F32), 0x1p-149);
    cr_assert_eq(mo_dtype_promote(MO_BF16, MO_BF16), MO_BF16);
    cr_assert_eq(mo_dtype_promote(MO_BF16, MO_F16), MO_F32);
}
