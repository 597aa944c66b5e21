/* Table of values by position that fills as they are computed. Memory is taken from the system page by page
 * as it is touched. */
#ifndef MO_VERIFY_MEMO_H
#define MO_VERIFY_MEMO_H

#include "verify/field.h"

typedef struct {
    int64_t size; /* 0: nothing is kept */
    int64_t
        slots; /* a power of two: position % slots, with the position beside the value; 0: all positions */
    mo_fval *values; /* state 0: not computed yet; NULL until first used */
    int64_t *positions;
} mo_memo;

/* Decides whether a table of `size` values is worth its memory: small ones always, large ones only for
 * values that are expensive; of too many expensive ones the last that were computed are kept. */
static inline mo_memo mo_memo_plan(int64_t size, bool expensive)
{
    int64_t limit = expensive ? INT64_C(1) << 25 : INT64_C(1) << 21;
    if (size <= limit) return (mo_memo){.size = size};
    return expensive ? (mo_memo){.size = size, .slots = 1 << 17} : (mo_memo){0};
}

/* The values from `position` on, `stride` apart, if all are known. */
bool mo_memo_get(const mo_memo *memo, int64_t position, int64_t stride, int64_t n, mo_fval *out);
void mo_memo_put(mo_memo *memo, int64_t position, int64_t stride, int64_t n, const mo_fval *values);
void mo_memo_clear(mo_memo *memo);
void mo_memo_free(mo_memo *memo); /* the table may be used again */

#endif
