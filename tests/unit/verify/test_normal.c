/* Normal forms: laws that they know, and expressions that they keep apart. */
#include "verify/normal.h"

#include <criterion/criterion.h>

static mo_arena *arena;
static mo_normals *s;

static void start(void)
{
    arena = mo_arena_new();
    s = mo_normals_new(arena);
}

static void stop(void)
{
    mo_arena_free(arena);
}

TestSuite(normal, .init = start, .fini = stop);

static const mo_rational half = {1, 2}, minus = {-1, 1};

static mo_affine at(mo_var v, int64_t factor, int64_t constant)
{
    mo_affine a = mo_affine_constant(constant), x = mo_affine_var(v);
    cr_assert(mo_affine_add(&a, &x, factor));
    return a;
}

/* Element of input `t` at factor * v + constant. */
static const mo_normal *element(int t, mo_var v, int64_t factor, int64_t constant)
{
    mo_affine place = at(v, factor, constant);
    return mo_normal_input(s, t, &place);
}

static const mo_var I = {0, 64}, K = {1000, 32}, HIGH = {1001, 4}, LOW = {1002, 8};

static const mo_normal *x(void)
{
    return element(0, I, 1, 0);
}

static const mo_normal *y(void)
{
    return element(1, I, 1, 0);
}

static const mo_normal *z(void)
{
    return element(2, I, 1, 0);
}

#define SAME(a, b) \
    cr_expect_eq(a, b, "%s and %s have different forms (%s)", #a, #b, s->failed ? s->failed : "")
#define APART(a, b) cr_expect_neq(a, b, "%s and %s have one form", #a, #b)
#define ADD(a, b) mo_normal_add(s, a, b)
#define MUL(a, b) mo_normal_mul(s, a, b)
#define DIV(a, b) mo_normal_div(s, a, b)
#define SUB(a, b) mo_normal_sub(s, a, b)
#define EXP(a) mo_normal_exp(s, a)
#define SQRT(a) mo_normal_power(s, a, half)
#define MAX(a, b) mo_normal_maximum(s, a, b)
#define MIN(a, b) mo_normal_minimum(s, a, b)
#define NUM(n) mo_normal_integer(s, n)
#define NEG(a) mo_normal_scale(s, a, minus)

Test(normal, ring)
{
    SAME(ADD(x(), y()), ADD(y(), x()));
    SAME(MUL(x(), ADD(y(), z())), ADD(MUL(x(), y()), MUL(z(), x())));
    SAME(MUL(ADD(x(), y()), SUB(x(), y())), SUB(MUL(x(), x()), MUL(y(), y())));
    SAME(SUB(x(), x()), NUM(0));
    APART(MUL(ADD(x(), y()), x()), MUL(ADD(x(), y()), y()));
    APART(mo_normal_double(s, 1e-5), mo_normal_double(s, 1e-6));
    SAME(mo_normal_double(s, 0.1), mo_normal_number(s, mo_rational_make(1, 10)));
}

Test(normal, quotients_and_roots)
{
    SAME(DIV(DIV(x(), y()), z()), DIV(x(), MUL(y(), z())));
    APART(DIV(DIV(x(), y()), z()), DIV(x(), DIV(y(), z())));
    SAME(DIV(x(), MUL(NUM(2), ADD(x(), y()))), DIV(mo_normal_scale(s, x(), half), ADD(y(), x())));
    const mo_normal *sum = ADD(MUL(x(), x()), MUL(y(), y())), *four = MUL(NUM(4), sum);
    SAME(MUL(SQRT(sum), SQRT(sum)), sum);
    SAME(SQRT(four), MUL(NUM(2), SQRT(sum)));
    SAME(DIV(MUL(NUM(2), x()), SQRT(four)), DIV(x(), SQRT(sum)));
    SAME(SQRT(MUL(x(), x())), MAX(x(), NEG(x())));
    APART(SQRT(MUL(x(), x())), x());
    SAME(SQRT(MUL(MUL(x(), x()), MUL(y(), y()))), MUL(SQRT(MUL(x(), x())), SQRT(MUL(y(), y()))));
    SAME(MUL(SQRT(NUM(8)), SQRT(NUM(2))), NUM(4));
    /* Equal only over a common denominator. */
    const mo_normal *a = DIV(x(), ADD(x(), y())), *b = DIV(y(), ADD(x(), y()));
    cr_expect(mo_normal_equal(s, ADD(a, b), NUM(1)));
    cr_expect_not(mo_normal_equal(s, SUB(a, b), NUM(1)));
    cr_expect_null(DIV(x(), SUB(y(), y())), "a quotient by 0 has no form");
    cr_expect_not_null(s->failed);
}

Test(normal, exponentials)
{
    SAME(EXP(ADD(x(), y())), MUL(EXP(x()), EXP(y())));
    SAME(MUL(EXP(x()), EXP(NEG(x()))), NUM(1));
    SAME(SQRT(EXP(MUL(NUM(2), x()))), EXP(x()));
    SAME(EXP(NUM(0)), NUM(1));
    APART(EXP(EXP(x())), EXP(EXP(y())));
    APART(EXP(MUL(x(), y())), MUL(EXP(x()), EXP(y())));
    const mo_normal *one = NUM(1);
    SAME(DIV(one, ADD(one, EXP(NEG(x())))), DIV(EXP(x()), ADD(EXP(x()), one)));
}

Test(normal, maxima)
{
    const mo_normal *zero = NUM(0);
    SAME(MAX(x(), MAX(y(), z())), MAX(MAX(z(), x()), y()));
    SAME(MAX(ADD(x(), z()), ADD(y(), z())), ADD(MAX(x(), y()), z()));
    SAME(MAX(MUL(NUM(2), x()), MUL(NUM(2), y())), MUL(NUM(2), MAX(x(), y())));
    SAME(MAX(x(), x()), x());
    SAME(MUL(NUM(2), MAX(x(), zero)), ADD(x(), MAX(x(), NEG(x()))));
    SAME(MIN(MAX(x(), NUM(-1)), NUM(6)), MAX(MIN(x(), NUM(6)), NUM(-1)));
    SAME(MUL(MAX(x(), NEG(x())), MAX(x(), NEG(x()))), MUL(x(), x()));
    SAME(ADD(MAX(x(), y()), MIN(x(), y())), ADD(x(), y()));
    APART(MAX(x(), y()), MIN(x(), y()));
    APART(MAX(x(), zero), MAX(x(), NEG(x())));
    APART(MIN(MAX(x(), NUM(0)), NUM(1)), MIN(MAX(x(), NUM(-1)), NUM(6)));
}

static const mo_normal *sum_over(const mo_normal *a, mo_var v)
{
    return mo_normal_sum(s, a, &v, 1);
}

Test(normal, sums)
{
    const mo_normal *a = element(0, K, 1, 0), *b = element(1, K, 1, 0);
    SAME(sum_over(ADD(a, b), K), ADD(sum_over(a, K), sum_over(b, K)));
    SAME(sum_over(MUL(x(), a), K), MUL(x(), sum_over(a, K)));
    SAME(sum_over(x(), K), MUL(NUM(32), x()));
    APART(sum_over(MUL(a, b), K), MUL(sum_over(a, K), sum_over(b, K)));
    /* The square of a sum: two variables, whatever they were called. */
    mo_var other = {1003, 32};
    const mo_normal *c = element(0, other, 1, 0);
    SAME(MUL(sum_over(a, K), sum_over(a, K)), sum_over(MUL(sum_over(a, K), c), other));
    SAME(sum_over(a, K), sum_over(c, other));
}

Test(normal, sums_in_digits_and_ranges)
{
    const mo_normal *whole = sum_over(element(0, K, 1, 0), K);
    mo_affine high = at(HIGH, 8, 0), low = mo_affine_var(LOW);
    cr_assert(mo_affine_add(&high, &low, 1));
    const mo_normal *digits = sum_over(sum_over(mo_normal_input(s, 0, &high), LOW), HIGH);
    SAME(digits, whole);
    mo_affine wrong = at(HIGH, 9, 0);
    cr_assert(mo_affine_add(&wrong, &low, 1));
    APART(sum_over(sum_over(mo_normal_input(s, 0, &wrong), LOW), HIGH), whole);
    mo_var first = {1004, 20}, second = {1005, 12};
    const mo_normal *parts =
        ADD(sum_over(element(0, first, 1, 0), first), sum_over(element(0, second, 1, 20), second));
    SAME(parts, whole);
    mo_var short_one = {1006, 11};
    const mo_normal *dropped =
        ADD(sum_over(element(0, first, 1, 0), first), sum_over(element(0, short_one, 1, 20), short_one));
    APART(dropped, whole);
    SAME(ADD(dropped, element(0, I, 0, 31)), whole);
    APART(ADD(parts, element(0, I, 0, 31)), whole);
}

/* A nested sum may have a variable of the same name beside a free one: they are two variables. */
Test(normal, names_do_not_matter)
{
    for (uint32_t number = 0; number < 6; number++) {
        mo_var k = {number, 32}, l = {number + 1, 32};
        const mo_normal *inner = sum_over(MUL(element(0, l, 1, 0), element(1, k, 1, 0)), l);
        const mo_normal *outer = sum_over(MUL(EXP(inner), element(2, k, 1, 0)), k);
        mo_var p = {77, 32}, q = {3, 32};
        const mo_normal *again = sum_over(
            MUL(element(2, p, 1, 0), EXP(sum_over(MUL(element(1, p, 1, 0), element(0, q, 1, 0)), q))), p);
        SAME(outer, again);
        const mo_normal *turned = sum_over(
            MUL(element(2, p, 1, 0), EXP(sum_over(MUL(element(0, p, 1, 0), element(1, q, 1, 0)), q))), p);
        APART(outer, turned);
    }
}

Test(normal, largest_over_variables)
{
    const mo_normal *a = element(0, K, 1, 0);
    mo_affine high = at(HIGH, 8, 0), low = mo_affine_var(LOW);
    cr_assert(mo_affine_add(&high, &low, 1));
    const mo_normal *inner = mo_normal_largest(s, mo_normal_input(s, 0, &high), &LOW, 1);
    SAME(mo_normal_largest(s, inner, &HIGH, 1), mo_normal_largest(s, a, &K, 1));
    SAME(mo_normal_largest(s, ADD(a, x()), &K, 1), ADD(x(), mo_normal_largest(s, a, &K, 1)));
    SAME(mo_normal_largest(s, x(), &K, 1), x());
    APART(mo_normal_largest(s, a, &K, 1), mo_normal_smallest(s, a, &K, 1));
    APART(mo_normal_largest(s, a, &K, 1), mo_normal_sum(s, a, &K, 1));
}

Test(normal, masks)
{
    mo_affine kept = at(I, 1, -5), other = at(I, 1, -6), always = at(I, 1, -63);
    const mo_normal *masked = mo_normal_mask(s, x(), &kept);
    SAME(mo_normal_mask(s, x(), &always), x());
    APART(EXP(masked), EXP(mo_normal_mask(s, x(), &other)));
    SAME(EXP(ADD(masked, y())), MUL(EXP(masked), EXP(y())));
    SAME(MUL(EXP(masked), EXP(masked)), EXP(MUL(NUM(2), masked)));
    cr_expect_null(EXP(NEG(masked)), "exp(+inf) has no form");
}
