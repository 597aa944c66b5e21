#include "abstract/store.h"
#include "base/decimal.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MONOMIALS = 1 << 14 };

enum { SYMBOL_VARIABLE, SYMBOL_INTEGER, SYMBOL_ODD };

mo_abs *mo_abs_new(bool numbers)
{
    mo_arena *arena = mo_arena_new();
    mo_abs *abs = MO_NEW(arena, mo_abs);
    abs->arena = arena;
    abs->scratch = mo_arena_new();
    abs->numbers = numbers;
    abs->limit = MAX_MONOMIALS;
    mo_abs_store_init(abs);
    return abs;
}

void mo_abs_free(mo_abs *abs)
{
    if (!abs) return;
    mo_arena_free(abs->scratch);
    mo_arena_free(abs->arena);
}

bool mo_abs_too_big(mo_abs_expr x)
{
    return x.id == ABS_BIG;
}

static mo_abs_expr expr(uint32_t id)
{
    return (mo_abs_expr){id};
}

/* The Poly of one monomial. */
static mo_abs_expr single(mo_abs *abs, mo_abs_mono mono)
{
    return expr(mo_abs_poly_of(abs, mo_abs_mono_id(abs, mono)));
}

static mo_abs_expr symbol(mo_abs *abs, uint64_t kind, uint64_t key)
{
    uint64_t bytes[2] = {kind, key};
    uint32_t id = mo_abs_intern(abs, &abs->symbols, bytes, sizeof bytes);
    mo_abs_mono mono = {.sig = 1, .leaves = mo_abs_intern(abs, &abs->bags, &id, sizeof id)};
    return single(abs, mono);
}

mo_abs_expr mo_abs_leaf(mo_abs *abs, uint64_t key)
{
    return symbol(abs, SYMBOL_VARIABLE, key);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* The shortest decimal of |value| as a fraction in lowest terms; false if it needs more than 64 bits. */
static bool as_fraction(double value, uint64_t *top, uint64_t *bottom)
{
    mo_decimal decimal = mo_decimal_shortest(fabs(value));
    int exponent = decimal.exponent;
    *top = decimal.digits;
    *bottom = 1;
    for (; exponent > 0; exponent--)
        if (__builtin_mul_overflow(*top, 10u, top)) return false;
    for (; exponent < 0; exponent++) {
        if (*top % 10 == 0)
            *top /= 10;
        else if (__builtin_mul_overflow(*bottom, 10u, bottom))
            return false;
    }
    uint64_t common = gcd(*top, *bottom);
    *top /= common;
    *bottom /= common;
    return true;
}

static mo_abs_expr integer(mo_abs *abs, uint64_t value)
{
    return value == 1 ? expr(ABS_UNIT) : symbol(abs, SYMBOL_INTEGER, value);
}

mo_abs_expr mo_abs_number(mo_abs *abs, double value)
{
    MO_CHECK(abs->numbers);
    uint64_t top, bottom, bits;
    memcpy(&bits, &value, sizeof bits);
    bool negative = bits >> 63 && value < 0;
    if (negative) bits &= UINT64_MAX >> 1;
    mo_abs_expr x;
    /* 0 and what is not finite have no place among factors: they stay symbols of their own. */
    bool plain = value - value == 0 && !(value <= 0 && value >= 0);
    if (plain && as_fraction(value, &top, &bottom))
        x = mo_abs_div(abs, integer(abs, top), integer(abs, bottom));
    else
        x = symbol(abs, SYMBOL_ODD, bits);
    return negative ? mo_abs_neg(abs, x) : x;
}

mo_abs_expr mo_abs_add(mo_abs *abs, mo_abs_expr x, mo_abs_expr y)
{
    return expr(mo_abs_poly_add(abs, x.id, y.id));
}

mo_abs_expr mo_abs_neg(mo_abs *abs, mo_abs_expr x)
{
    MO_CHECK(abs->numbers);
    mo_abs_mono minus_one = {.sig = 1, .sign = 1};
    return expr(mo_abs_scale(abs, mo_abs_mono_id(abs, minus_one), x.id));
}

mo_abs_expr mo_abs_sub(mo_abs *abs, mo_abs_expr x, mo_abs_expr y)
{
    return mo_abs_add(abs, x, mo_abs_neg(abs, y));
}

mo_abs_expr mo_abs_mul(mo_abs *abs, mo_abs_expr x, mo_abs_expr y)
{
    return expr(mo_abs_poly_mul(abs, x.id, y.id));
}

mo_abs_expr mo_abs_div(mo_abs *abs, mo_abs_expr x, mo_abs_expr y)
{
    if (y.id == ABS_BIG) return y;
    mo_abs_mono divide = {.sig = 1, .den = y.id};
    return expr(mo_abs_scale(abs, mo_abs_mono_id(abs, divide), x.id));
}

mo_abs_expr mo_abs_sum(mo_abs *abs, uint64_t length, mo_abs_expr x)
{
    MO_CHECK(length >= 1);
    mo_abs_mono sum = {.sig = length};
    return expr(mo_abs_scale(abs, mo_abs_mono_id(abs, sum), x.id));
}

mo_abs_expr mo_abs_exp(mo_abs *abs, mo_abs_expr x)
{
    return x.id == ABS_BIG ? x : single(abs, (mo_abs_mono){.sig = 1, .ex = x.id});
}

mo_abs_expr mo_abs_sqrt(mo_abs *abs, mo_abs_expr x)
{
    return x.id == ABS_BIG ? x : single(abs, (mo_abs_mono){.sig = 1, .sq = x.id});
}

mo_abs_expr mo_abs_opaque(mo_abs *abs, const void *key, size_t length, mo_abs_expr x, mo_abs_expr y)
{
    if (x.id == ABS_BIG || y.id == ABS_BIG) return expr(ABS_BIG);
    uint32_t call[3] = {mo_abs_intern(abs, &abs->symbols, key, length), x.id, y.id};
    uint32_t id = mo_abs_intern(abs, &abs->opaques, call, sizeof call);
    mo_abs_mono mono = {.sig = 1, .opaques = mo_abs_intern(abs, &abs->bags, &id, sizeof id)};
    return single(abs, mono);
}
