/* Deterministic Miller-Rabin and the drawing of chains. */
#include "verify/primes.h"

#include "base/status.h"

#define SMOOTH 840u /* 8 * 3 * 5 * 7: -1 modulo this makes 2, 3, 5 and 7 squares */

mo_modulus mo_modulus_make(uint32_t prime)
{
    MO_CHECK(prime > 2 && prime < 1u << 31);
    return (mo_modulus){prime, UINT64_MAX / prime};
}

uint32_t mo_mod_power(const mo_modulus *m, uint32_t base, uint32_t exponent)
{
    uint32_t result = 1;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1u) result = mo_mod_mul(m, result, base);
        base = mo_mod_mul(m, base, base);
    }
    return result;
}

uint32_t mo_mod_inverse(const mo_modulus *m, uint32_t value)
{
    int64_t a = value, b = m->prime, x = 1, y = 0;
    while (a > 1) {
        int64_t quotient = b / a, rest = b % a, next = y - quotient * x;
        b = a;
        a = rest;
        y = x;
        x = next;
    }
    if (a == 0) return 0;
    return (uint32_t)(x < 0 ? x + m->prime : x);
}

bool mo_mod_is_square(const mo_modulus *m, uint32_t value)
{
    return value == 0 || mo_mod_power(m, value, (m->prime - 1) / 2) == 1;
}

static bool is_witness(const mo_modulus *m, uint32_t base)
{
    uint32_t odd = m->prime - 1;
    int twos = __builtin_ctz(odd);
    uint32_t x = mo_mod_power(m, base % m->prime, odd >> twos);
    if (x <= 1 || x == m->prime - 1) return false; /* 0: the base is a multiple of the number */
    for (int i = 1; i < twos; i++) {
        x = mo_mod_mul(m, x, x);
        if (x == m->prime - 1) return false;
    }
    return true;
}

bool mo_is_prime(uint32_t n)
{
    static const uint32_t small[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
    if (n < 2) return false;
    for (unsigned i = 0; i < sizeof small / sizeof *small; i++)
        if (n % small[i] == 0) return n == small[i];
    mo_modulus m = {n, UINT64_MAX / n};
    /* These bases decide every number below 3,215,031,751. */
    return !is_witness(&m, 2) && !is_witness(&m, 3) && !is_witness(&m, 5) && !is_witness(&m, 7);
}

void mo_primes_draw(mo_rng *rng, int length, uint32_t chain[3])
{
    MO_CHECK(length == 2 || length == 3);
    /* The smallest of the chain lies in [2^(31-length), 2^(32-length)), so that the largest has 31 bits. */
    uint32_t low = (1u << (31 - length)) / SMOOTH + 1, high = (1u << (32 - length)) / SMOOTH;
    for (;;) {
        uint32_t n = SMOOTH * (low + (uint32_t)mo_rng_below(rng, high - low)) - 1;
        bool prime = true;
        for (int i = length - 1; i >= 0 && prime; i--) {
            prime = mo_is_prime(n);
            chain[i] = n;
            n = 2 * n + 1;
        }
        if (prime) return;
    }
}
