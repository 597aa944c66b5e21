#include "verify/memo.h"

#include <stdlib.h>
#include <string.h>

#define SMALL (1 << 14) /* tables up to this are cleared in place */

bool mo_memo_get(const mo_memo *memo, int64_t position, int64_t stride, int64_t n, mo_fval *out)
{
    if (memo->values == NULL) return false;
    for (int64_t i = 0; i < n; i++, position += stride) {
        int64_t at = memo->slots > 0 ? position & (memo->slots - 1) : position;
        out[i] = memo->values[at];
        if (out[i].state == 0 || (memo->slots > 0 && memo->positions[at] != position)) return false;
    }
    return true;
}

static bool allocate(mo_memo *memo)
{
    int64_t count = memo->slots > 0 ? memo->slots : memo->size;
    memo->values = calloc((size_t)count, sizeof *memo->values);
    if (memo->values != NULL && memo->slots > 0)
        memo->positions = calloc((size_t)count, sizeof *memo->positions);
    if (memo->values != NULL && (memo->slots == 0 || memo->positions != NULL)) return true;
    mo_memo_free(memo);
    memo->size = 0; /* no memory: compute again instead */
    return false;
}

void mo_memo_put(mo_memo *memo, int64_t position, int64_t stride, int64_t n, const mo_fval *values)
{
    if (memo->size == 0 || (memo->values == NULL && !allocate(memo))) return;
    for (int64_t i = 0; i < n; i++, position += stride) {
        int64_t at = memo->slots > 0 ? position & (memo->slots - 1) : position;
        memo->values[at] = values[i];
        if (memo->slots > 0) memo->positions[at] = position;
    }
}

void mo_memo_clear(mo_memo *memo)
{
    if (memo->values == NULL) return;
    if (memo->slots == 0 && memo->size <= SMALL)
        memset(memo->values, 0, sizeof *memo->values * (size_t)memo->size);
    else
        mo_memo_free(memo);
}

void mo_memo_free(mo_memo *memo)
{
    free(memo->values);
    free(memo->positions);
    memo->values = NULL;
    memo->positions = NULL;
}
