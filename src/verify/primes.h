/* Prime moduli and fast arithmetic modulo one of them.
 *
 * The fields of the algebraic test come from chains of primes: q = -1 mod 840 with p = 2q+1 prime, or r of
 * that kind with q = 2r+1 and p = 2q+1. Then 2, 3, 5 and 7 are squares in every field of the chain, -1 is
 * none, and Z_p has elements of order q. */
#ifndef MO_VERIFY_PRIMES_H
#define MO_VERIFY_PRIMES_H

#include "base/rng.h"

#include <stdbool.h>
#include <stdint.h>

/* An odd prime below 2^31 and floor((2^64 - 1) / prime). */
typedef struct {
    uint32_t prime;
    uint64_t inverse;
} mo_modulus;

mo_modulus mo_modulus_make(uint32_t prime);

/* value mod prime. */
static inline uint32_t mo_mod(const mo_modulus *m, uint64_t value)
{
    uint64_t quotient = (uint64_t)(((mo_u128)value * m->inverse) >> 64);
    uint64_t rest = value - quotient * m->prime;
    while (rest >= m->prime) rest -= m->prime;
    return (uint32_t)rest;
}

static inline uint32_t mo_mod_mul(const mo_modulus *m, uint32_t a, uint32_t b)
{
    return mo_mod(m, (uint64_t)a * b);
}

static inline uint32_t mo_mod_add(const mo_modulus *m, uint32_t a, uint32_t b)
{
    uint32_t sum = a + b; /* below 2^32: both are below 2^31 */
    return sum >= m->prime ? sum - m->prime : sum;
}

static inline uint32_t mo_mod_sub(const mo_modulus *m, uint32_t a, uint32_t b)
{
    return a >= b ? a - b : a + (m->prime - b);
}

uint32_t mo_mod_power(const mo_modulus *m, uint32_t base, uint32_t exponent);

/* 0 has no inverse and gives 0. */
uint32_t mo_mod_inverse(const mo_modulus *m, uint32_t value);

/* Is value the square of something (0 is)? */
bool mo_mod_is_square(const mo_modulus *m, uint32_t value);

bool mo_is_prime(uint32_t n);

/* Draws a chain of `length` primes (2 or 3) whose largest has 31 bits; chain[0] is the largest. */
void mo_primes_draw(mo_rng *rng, int length, uint32_t chain[3]);

#endif
