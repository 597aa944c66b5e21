/* Index forms: quotients and ranges against all values of the variables. */
#include "verify/affine.h"

#include <criterion/criterion.h>

typedef struct {
    int n;
    mo_var var[4];
    int64_t value[4];
} point;

static int64_t value_at(const point *p, const mo_affine *a)
{
    int64_t value = a->constant;
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < p->n; j++)
            if (mo_var_same(p->var[j], a->term[i].var)) value += a->term[i].factor * p->value[j];
    return value;
}

static bool advance(point *p)
{
    for (int i = 0; i < p->n; i++) {
        if (++p->value[i] < p->var[i].extent) return true;
        p->value[i] = 0;
    }
    return false;
}

static mo_affine sum_of(const point *p, const int64_t *factors, int64_t constant)
{
    mo_affine a = mo_affine_constant(constant);
    for (int i = 0; i < p->n; i++) {
        mo_affine v = mo_affine_var(p->var[i]);
        cr_assert(mo_affine_add(&a, &v, factors[i]));
    }
    return a;
}

Test(affine, quotients_hold_for_all_values)
{
    int divided = 0, refused = 0;
    for (int64_t x = 1; x <= 24; x++)
        for (int64_t y = 1; y <= 6; y++)
            for (int64_t constant = 0; constant < 9; constant += 4)
                for (int64_t divisor = 1; divisor <= 24; divisor++) {
                    point p = {2, {{0, 4}, {1, 3}}, {0, 0}};
                    mo_affine a = sum_of(&p, (const int64_t[]){x, y}, constant), q, r;
                    mo_split_need need;
                    if (!mo_affine_divide(&a, divisor, &q, &r, &need)) {
                        refused++;
                        cr_expect(need.kind == MO_SPLIT_NONE ||
                                  (need.at > 0 && need.at < (int64_t)need.var.extent));
                        continue;
                    }
                    divided++;
                    do {
                        int64_t value = value_at(&p, &a), rest = value_at(&p, &r);
                        cr_assert_eq(value_at(&p, &q) * divisor + rest, value);
                        cr_assert(rest >= 0 && rest < divisor);
                    } while (advance(&p));
                }
    cr_expect(divided > 1000 && refused > 1000, "%d divided, %d refused", divided, refused);
}

/* Splitting as asked ends, and then there is an answer. */
static int cuts_until_plain(mo_var var, int64_t factor, int64_t constant, int64_t bound, int depth)
{
    mo_affine a = mo_affine_var(var), moved = mo_affine_constant(constant);
    mo_split_need need;
    cr_assert(mo_affine_add(&moved, &a, factor));
    int below = mo_affine_below(&moved, bound, &need);
    if (below >= 0) {
        for (int64_t v = 0; v < var.extent; v++) cr_assert_eq(constant + factor * v < bound, below == 1);
        return 0;
    }
    cr_assert_eq(need.kind, MO_SPLIT_RANGE);
    cr_assert_lt(depth, 8);
    mo_var first = {var.number, (uint32_t)need.at}, second = {var.number, var.extent - (uint32_t)need.at};
    return 1 + cuts_until_plain(first, factor, constant, bound, depth + 1) +
           cuts_until_plain(second, factor, constant + factor * need.at, bound, depth + 1);
}

Test(affine, ranges_are_cut_where_they_cross)
{
    for (int64_t factor = 1; factor < 6; factor++)
        for (int64_t bound = 0; bound < 40; bound++)
            cr_expect_leq(cuts_until_plain((mo_var){3, 9}, factor, 2, bound, 0), 2);
}

Test(affine, substitution)
{
    point p = {3, {{0, 4}, {1, 5}, {2, 6}}, {0, 0, 0}};
    mo_affine a = sum_of(&p, (const int64_t[]){30, 6, 1}, 7), by = sum_of(&p, (const int64_t[]){0, 1, 2}, 1);
    cr_assert(mo_affine_substitute(&a, p.var[0], &by));
    cr_expect_eq(mo_affine_factor(&a, p.var[0]), 0);
    cr_expect_eq(mo_affine_factor(&a, p.var[1]), 36);
    cr_expect_eq(mo_affine_factor(&a, p.var[2]), 61);
    cr_expect_eq(a.constant, 37);
    mo_affine one = mo_affine_var((mo_var){9, 1});
    cr_expect(one.n == 0 && one.constant == 0, "a variable with one value is a number");
}
