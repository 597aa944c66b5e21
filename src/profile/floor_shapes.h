/* Numbers that the kernels of floor_kernels.c and their launches in floor.c agree on. */
#ifndef MO_PROFILE_FLOOR_SHAPES_H
#define MO_PROFILE_FLOOR_SHAPES_H

#include <stdint.h>

enum {
    MO_FLOOR_ROUNDS = 256,         /* of the matrix kernels */
    MO_FLOOR_FRAGMENT_WORDS = 1024 /* words of their input */
};

/* A read of so many bytes in pieces of 16; at least one. */
static inline int64_t mo_floor_pieces(int64_t bytes)
{
    return bytes <= 16 ? 1 : (bytes + 15) / 16;
}

#endif
