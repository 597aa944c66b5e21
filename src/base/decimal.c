#include "base/decimal.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* The common case without printing: quotients of small integers by exact powers of ten are rounded once, so
 * the first that gives back the number is its shortest decimal. */
static bool short_decimal(double magnitude, mo_decimal *d)
{
    double ten = 1.0;
    for (int places = 0; places <= 22; places++, ten *= 10.0) {
        double digits = rint(magnitude * ten);
        if (digits >= 0x1p50) return false;
        if (digits / ten != magnitude) continue;
        *d = (mo_decimal){(uint64_t)digits, -places};
        return true;
    }
    return false;
}

mo_decimal mo_decimal_shortest(double magnitude)
{
    mo_decimal d = {0, 0};
    if (short_decimal(magnitude, &d)) return d;
    char text[40];
    for (int precision = 0; precision <= 16; precision++) {
        snprintf(text, sizeof text, "%.*e", precision, magnitude);
        if (strtod(text, NULL) == magnitude) break;
    }
    const char *s = text;
    bool fraction = false;
    for (; *s != 'e' && *s != '\0'; s++) {
        if (*s < '0' || *s > '9') { /* the radix character */
            fraction = true;
            continue;
        }
        d.digits = d.digits * 10 + (uint64_t)(*s - '0');
        d.exponent -= fraction ? 1 : 0;
    }
    if (*s == 'e') d.exponent += atoi(s + 1);
    return d;
}
