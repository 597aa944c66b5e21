#include "base/hash.h"

#include <stdio.h>

#define XXH_INLINE_ALL
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#include <xxhash.h>
#pragma GCC diagnostic pop

uint64_t mo_hash64(const void *bytes, size_t length, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, length, seed);
}

mo_hash128 mo_hash_128(const void *bytes, size_t length, uint64_t seed)
{
    XXH128_hash_t h = XXH3_128bits_withSeed(bytes, length, seed);
    return (mo_hash128){h.low64, h.high64};
}

void mo_hash_hex(mo_hash128 hash, char text[33])
{
    snprintf(text, 33, "%016llx%016llx", (unsigned long long)hash.hi, (unsigned long long)hash.lo);
}
