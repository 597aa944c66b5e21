/* Numbers as people wrote them: the shortest decimal that reads back as the same double. */
#ifndef MO_BASE_DECIMAL_H
#define MO_BASE_DECIMAL_H

#include <stdint.h>

/* digits * 10^exponent */
typedef struct {
    uint64_t digits;
    int exponent;
} mo_decimal;

/* Of a finite number that is not negative. */
mo_decimal mo_decimal_shortest(double magnitude);

#endif
