#include "verify/rational.h"

#include "base/decimal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static mo_i128 gcd(mo_i128 a, mo_i128 b)
{
    if (a < 0) a = -a;
    if (b < 0) b = -b;
    while (b != 0) {
        mo_i128 r = a % b;
        a = b;
        b = r;
    }
    return a;
}

mo_rational mo_rational_make(mo_i128 num, mo_i128 den)
{
    mo_i128 common = gcd(num, den);
    if (common == 0) common = 1;
    if (den < 0) common = -common;
    return (mo_rational){num / common, den / common};
}

bool mo_rational_add(mo_rational a, mo_rational b, mo_rational *result)
{
    mo_i128 common = gcd(a.den, b.den), left, right, num, den;
    if (__builtin_mul_overflow(a.num, b.den / common, &left)) return false;
    if (__builtin_mul_overflow(b.num, a.den / common, &right)) return false;
    if (__builtin_add_overflow(left, right, &num)) return false;
    if (__builtin_mul_overflow(a.den, b.den / common, &den)) return false;
    *result = mo_rational_make(num, den);
    return true;
}

bool mo_rational_mul(mo_rational a, mo_rational b, mo_rational *result)
{
    mo_rational x = mo_rational_make(a.num, b.den), y = mo_rational_make(b.num, a.den);
    mo_i128 num, den;
    if (__builtin_mul_overflow(x.num, y.num, &num)) return false;
    if (__builtin_mul_overflow(x.den, y.den, &den)) return false;
    *result = (mo_rational){num, den};
    return true;
}

bool mo_rational_div(mo_rational a, mo_rational b, mo_rational *result)
{
    if (b.num == 0) return false;
    return mo_rational_mul(a, mo_rational_make(b.den, b.num), result);
}

bool mo_rational_compare(mo_rational a, mo_rational b, int *order)
{
    mo_rational difference, minus = {-b.num, b.den};
    if (!mo_rational_add(a, minus, &difference)) return false;
    *order = (difference.num > 0) - (difference.num < 0);
    return true;
}

bool mo_rational_power(mo_rational a, int64_t exponent, mo_rational *result)
{
    mo_rational base = a;
    *result = mo_rational_integer(1);
    if (exponent < 0 && !mo_rational_div(*result, a, &base)) return false;
    for (int64_t i = exponent < 0 ? -exponent : exponent; i > 0; i--)
        if (!mo_rational_mul(*result, base, result)) return false;
    return true;
}

bool mo_rational_from_double(double number, mo_rational *result)
{
    mo_decimal d = mo_decimal_shortest(fabs(number));
    mo_i128 num = (mo_i128)d.digits, den = 1;
    for (; d.exponent > 0; d.exponent--)
        if (__builtin_mul_overflow(num, (mo_i128)10, &num)) return false;
    for (; d.exponent < 0; d.exponent++)
        if (__builtin_mul_overflow(den, (mo_i128)10, &den)) return false;
    *result = mo_rational_make(number < 0 ? -num : num, den);
    return true;
}

mo_i128 mo_rational_floor(mo_rational a)
{
    return a.num / a.den - (a.num % a.den < 0 ? 1 : 0);
}

static char *digits_of(mo_i128 value, char *end)
{
    bool negative = value < 0;
    *--end = '\0';
    do {
        int digit = (int)(value % 10);
        *--end = (char)('0' + (digit < 0 ? -digit : digit));
        value /= 10;
    } while (value != 0);
    if (negative) *--end = '-';
    return end;
}

void mo_rational_text(mo_rational a, char *text, int size)
{
    char num[44], den[44];
    const char *top = digits_of(a.num, num + sizeof num), *bottom = digits_of(a.den, den + sizeof den);
    if (a.den == 1)
        snprintf(text, (size_t)size, "%s", top);
    else
        snprintf(text, (size_t)size, "%s/%s", top, bottom);
}
