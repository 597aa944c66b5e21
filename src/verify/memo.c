#include "verify/memo.h"

#include <stdlib.h>
#include <string.h>

#define SMALL (1 << 14) /* tables up to this are cleared in place */

bool mo_memo_get(const mo_memo *memo, int64_t position, int64_t stride, int64_t n, mo_fval *out)
{
    if (memo->values == NULL) return false;
    for (int64_t i = 0; i < n; i++) {
        out[i] = memo->values[position + i * stride];
        if (out[i].state == 0) return false;
    }
    return true;
}

void mo_memo_put(mo_memo *memo, int64_t position, int64_t stride, int64_t n, const mo_fval *values)
{
    if (memo->size == 0) return;
    if (memo->values == NULL) memo->values = calloc((size_t)memo->size, sizeof *memo->values);
    if (memo->values == NULL) {
        memo->size = 0; /* no memory: compute again instead */
        return;
    }
    for (int64_t i = 0; i < n; i++) memo->values[position + i * stride] = values[i];
}

void mo_memo_clear(mo_memo *memo)
{
    if (memo->values == NULL) return;
    if (memo->size <= SMALL) {
        memset(memo->values, 0, sizeof *memo->values * (size_t)memo->size);
        return;
    }
    free(memo->values);
    memo->values = NULL;
}
