/* Random numbers: every random choice of a run derives from its seed.
 *
 * Two forms. A stream (splitmix64) for sequential draws, and a keyed function of (key, index) for
 * values that must not depend on the order in which they are asked for. */
#ifndef MO_BASE_RNG_H
#define MO_BASE_RNG_H

#include <stdint.h>

__extension__ typedef unsigned __int128 mo_u128;

typedef struct {
    uint64_t state;
} mo_rng;

static inline uint64_t mo_mix64(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline mo_rng mo_rng_seed(uint64_t seed, uint64_t stream)
{
    return (mo_rng){mo_mix64(seed + 0x9e3779b97f4a7c15u) ^ mo_mix64(stream * 0xd1342543de82ef95u + 1)};
}

static inline uint64_t mo_rng_next(mo_rng *rng)
{
    rng->state += 0x9e3779b97f4a7c15u;
    return mo_mix64(rng->state);
}

/* Uniform in [0, n) for n >= 1; the bias (below 2^-32 for n < 2^32) does not matter here. */
static inline uint64_t mo_rng_below(mo_rng *rng, uint64_t n)
{
    return (uint64_t)(((mo_u128)mo_rng_next(rng) * n) >> 64);
}

static inline uint64_t mo_rng_at(uint64_t key, uint64_t index)
{
    return mo_mix64(mo_mix64(key + 0x9e3779b97f4a7c15u) + index * 0x9e3779b97f4a7c15u);
}

#endif
