/* Exact rational numbers that notice when they no longer fit. */
#ifndef MO_VERIFY_RATIONAL_H
#define MO_VERIFY_RATIONAL_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef __int128 mo_i128;

/* In lowest terms, denominator above 0. */
typedef struct {
    mo_i128 num, den;
} mo_rational;

static inline mo_rational mo_rational_integer(int64_t value)
{
    return (mo_rational){value, 1};
}

static inline bool mo_rational_same(mo_rational a, mo_rational b)
{
    return a.num == b.num && a.den == b.den;
}

static inline bool mo_rational_is(mo_rational a, int64_t value)
{
    return a.den == 1 && a.num == value;
}

/* num/den in lowest terms; den is not 0. */
mo_rational mo_rational_make(mo_i128 num, mo_i128 den);

/* Into *result; false when it does not fit (or divides by 0). */
bool mo_rational_add(mo_rational a, mo_rational b, mo_rational *result);
bool mo_rational_mul(mo_rational a, mo_rational b, mo_rational *result);
bool mo_rational_div(mo_rational a, mo_rational b, mo_rational *result);
bool mo_rational_compare(mo_rational a, mo_rational b, int *order); /* -1, 0, 1 */
bool mo_rational_power(mo_rational a, int64_t exponent, mo_rational *result);

/* The shortest decimal that reads back as `number`; false when it does not fit. */
bool mo_rational_from_double(double number, mo_rational *result);

/* Greatest whole number not above it. */
mo_i128 mo_rational_floor(mo_rational a);

/* "-3/4"; `size` 90 holds any. */
void mo_rational_text(mo_rational a, char *text, int size);

#endif
