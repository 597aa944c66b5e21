/* Quotients of many values at once: one inverse for all of them. */
#include "verify/field.h"

#define BATCH 256

static bool same_value(mo_fval a, mo_fval b)
{
    return a.p == b.p && a.q == b.q && a.r == b.r && a.state == b.state;
}

/* Is every divisor known in the same parts, and no part 0? */
static bool invertible(const mo_fval *divisors, int64_t n)
{
    uint32_t state = divisors[0].state;
    bool fine = (state & MO_FV_P) != 0;
    for (int64_t i = 0; i < n; i++) {
        mo_fval b = divisors[i];
        fine &= b.state == state && b.p != 0;
        fine &= !(state & MO_FV_Q) || b.q != 0;
        fine &= !(state & MO_FV_R) || b.r != 0;
    }
    return fine;
}

static uint32_t *part(mo_fval *v, uint32_t which)
{
    return which == MO_FV_P ? &v->p : which == MO_FV_Q ? &v->q : &v->r;
}

/* Divides this part: running products of the divisors, the inverse of the last, and back. */
static void divide_part(const mo_modulus *m, uint32_t which, mo_fval *values, const mo_fval *divisors,
                        int64_t n)
{
    uint32_t before[BATCH], product = 1;
    for (int64_t i = 0; i < n; i++) {
        mo_fval b = divisors[i];
        before[i] = product;
        product = mo_mod_mul(m, product, *part(&b, which));
    }
    uint32_t inverse = mo_mod_inverse(m, product);
    for (int64_t i = n - 1; i >= 0; i--) {
        mo_fval b = divisors[i];
        uint32_t *value = part(&values[i], which);
        *value = mo_mod_mul(m, *value, mo_mod_mul(m, inverse, before[i]));
        inverse = mo_mod_mul(m, inverse, *part(&b, which));
    }
}

static bool known(const mo_fval *values, int64_t n, uint32_t state)
{
    for (int64_t i = 0; i < n; i++)
        if ((values[i].state & state) != state) return false;
    return true;
}

static void divide_batch(const mo_field *f, mo_fval *values, const mo_fval *divisors, int64_t n)
{
    uint32_t state = divisors[0].state;
    if (n < 2 || !invertible(divisors, n) || !known(values, n, MO_FV_P)) {
        for (int64_t i = 0; i < n; i++) values[i] = mo_field_div(f, values[i], divisors[i]);
        return;
    }
    divide_part(&f->p, MO_FV_P, values, divisors, n);
    if (state & MO_FV_Q) divide_part(&f->q, MO_FV_Q, values, divisors, n);
    if (state & MO_FV_R) divide_part(&f->r, MO_FV_R, values, divisors, n);
    for (int64_t i = 0; i < n; i++) values[i].state &= state;
}

void mo_field_divide(const mo_field *f, mo_fval *values, const mo_fval *divisors, int64_t n)
{
    for (int64_t start = 0; start < n; start += BATCH) {
        int64_t count = n - start < BATCH ? n - start : BATCH, equal = 1;
        while (equal < count && same_value(divisors[start], divisors[start + equal])) equal++;
        if (equal == count && count > 1) {
            mo_fval inverse = mo_field_reciprocal(f, divisors[start]);
            for (int64_t i = start; i < start + count; i++) values[i] = mo_field_mul(f, values[i], inverse);
        } else {
            divide_batch(f, values + start, divisors + start, count);
        }
    }
}
