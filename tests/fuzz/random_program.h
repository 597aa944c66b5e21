/* Random programs in the input format: small sizes that divide nothing, ranks 0 to 4, mixed dtypes, strided
 * and broadcast inputs, names that clash. Values are kept in a range where no written operator overflows on
 * normal inputs, and quotients, logarithms and roots get operands that are away from zero. */
#ifndef MO_RANDOM_PROGRAM_H
#define MO_RANDOM_PROGRAM_H

#include "base/str.h"

#include <stdint.h>

/* Appends the text of program number `seed` with about `nodes` nodes (0: between 1 and 12). */
void mo_random_program(mo_str *out, uint64_t seed, int nodes);

#endif
