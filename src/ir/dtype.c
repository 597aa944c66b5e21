/* Conversions work on the bits of the double, so that they round exactly once and do not depend on the
 * floating-point environment. All three types are IEEE-like: sign, biased exponent, fraction. */
#include "ir/dtype.h"

#include "base/status.h"

#include <stddef.h>
#include <string.h>

typedef struct {
    const char *name;
    int bytes;
    int fraction_bits, exponent_bits;
} format;

static const format formats[MO_DTYPE_COUNT] = {
    [MO_F16] = {"f16", 2, 10, 5},
    [MO_BF16] = {"bf16", 2, 7, 8},
    [MO_F32] = {"f32", 4, 23, 8},
};

static const struct {
    const char *name;
    mo_dtype dtype;
} aliases[] = {
    {"f16", MO_F16},     {"float16", MO_F16}, {"half", MO_F16},  {"fp16", MO_F16},      {"F16", MO_F16},
    {"FP16", MO_F16},    {"bf16", MO_BF16},   {"BF16", MO_BF16}, {"bfloat16", MO_BF16}, {"f32", MO_F32},
    {"float32", MO_F32}, {"fp32", MO_F32},    {"F32", MO_F32},   {"FP32", MO_F32},      {"float", MO_F32},
};

static const format *format_of(mo_dtype dtype)
{
    MO_CHECK((unsigned)dtype < MO_DTYPE_COUNT);
    return &formats[dtype];
}

const char *mo_dtype_name(mo_dtype dtype)
{
    return format_of(dtype)->name;
}

bool mo_dtype_find(const char *name, mo_dtype *dtype)
{
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++) {
        if (strcmp(aliases[i].name, name) != 0) continue;
        *dtype = aliases[i].dtype;
        return true;
    }
    return false;
}

int mo_dtype_size(mo_dtype dtype)
{
    return format_of(dtype)->bytes;
}

/* 2^exponent, for exponents of normal doubles. */
static double power_of_two(int exponent)
{
    uint64_t bits = (uint64_t)(exponent + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Exponent of the smallest normal number. */
static int least_exponent(const format *f)
{
    return 2 - (1 << (f->exponent_bits - 1));
}

double mo_dtype_unit_roundoff(mo_dtype dtype)
{
    return power_of_two(-format_of(dtype)->fraction_bits - 1);
}

double mo_dtype_subnormal(mo_dtype dtype)
{
    const format *f = format_of(dtype);
    return power_of_two(least_exponent(f) - f->fraction_bits);
}

mo_dtype mo_dtype_promote(mo_dtype a, mo_dtype b)
{
    return a == b ? a : MO_F32;
}

/* Bits without sign of a finite non-zero value: `mantissa` has 53 bits, its first bit weighs 2^exponent. */
static uint32_t round_bits(const format *f, uint64_t mantissa, int exponent)
{
    int below = least_exponent(f) - exponent; /* positive: the result is subnormal */
    int shift = 52 - f->fraction_bits + (below > 0 ? below : 0);
    if (shift > 53) return 0; /* less than half of the smallest subnormal */
    uint32_t infinity = ((1u << f->exponent_bits) - 1u) << f->fraction_bits;
    if (exponent >= 1 << (f->exponent_bits - 1)) return infinity;
    uint64_t kept = mantissa >> shift;
    uint64_t rest = mantissa & ((1ull << shift) - 1), half = 1ull << (shift - 1);
    if (rest > half || (rest == half && (kept & 1) != 0)) kept++;
    /* A normal number's leading bit adds one to the exponent field; so does a carry out of the fraction,
     * also from the largest subnormal to the smallest normal and from the largest number to infinity. */
    uint64_t bits = below > 0 ? kept : ((uint64_t)-below << f->fraction_bits) + kept;
    return bits > infinity ? infinity : (uint32_t)bits;
}

uint32_t mo_dtype_encode(mo_dtype dtype, double value)
{
    const format *f = format_of(dtype);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t sign = (uint32_t)(bits >> 63) << (f->exponent_bits + f->fraction_bits);
    uint32_t infinity = ((1u << f->exponent_bits) - 1u) << f->fraction_bits;
    int field = (int)(bits >> 52 & 0x7ff);
    uint64_t fraction = bits & ((1ull << 52) - 1);
    if (field == 0) return sign; /* a subnormal double is far below every subnormal here */
    if (field < 0x7ff) return sign | round_bits(f, fraction | 1ull << 52, field - 1023);
    return sign | infinity | (fraction != 0 ? 1u << (f->fraction_bits - 1) : 0u);
}

double mo_dtype_decode(mo_dtype dtype, uint32_t bits)
{
    const format *f = format_of(dtype);
    uint32_t fraction = bits & ((1u << f->fraction_bits) - 1u);
    uint32_t largest = (1u << f->exponent_bits) - 1u;
    uint32_t field = bits >> f->fraction_bits & largest;
    bool negative = (bits >> (f->fraction_bits + f->exponent_bits) & 1u) != 0;
    if (field == 0) {
        double value = (double)fraction * mo_dtype_subnormal(dtype);
        return negative ? -value : value;
    }
    uint64_t exponent = field == largest ? 0x7ffu : (uint64_t)((int)field + least_exponent(f) - 1 + 1023);
    uint64_t wide = (uint64_t)negative << 63 | exponent << 52 | (uint64_t)fraction << (52 - f->fraction_bits);
    double value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

double mo_dtype_round(mo_dtype dtype, double value)
{
    return mo_dtype_decode(dtype, mo_dtype_encode(dtype, value));
}
