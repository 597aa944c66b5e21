/* 64 and 128 bit hashes (XXH3). Stable across machines and builds. */
#ifndef MO_BASE_HASH_H
#define MO_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t lo, hi;
} mo_hash128;

uint64_t mo_hash64(const void *bytes, size_t length, uint64_t seed);
mo_hash128 mo_hash_128(const void *bytes, size_t length, uint64_t seed);

static inline bool mo_hash_equal(mo_hash128 a, mo_hash128 b)
{
    return a.lo == b.lo && a.hi == b.hi;
}

/* 32 lower-case hexadecimal digits and a NUL. */
void mo_hash_hex(mo_hash128 hash, char text[33]);

#endif
