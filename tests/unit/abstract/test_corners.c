/* Sub-expression questions written by hand, each with the reason it is interesting. Terms are written as
 * in the axioms: one letter is a variable, "sum(2,x)" a sum of length 2; digits elsewhere are literals. */
#include "abstract/abstract.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static mo_abs_expr parse(mo_abs *abs, const char **text);

static mo_abs_expr parse_call(mo_abs *abs, const char *name, const char **text)
{
    uint64_t length = 0;
    ++*text; /* ( */
    if (strcmp(name, "sum") == 0) {
        char *end;
        length = strtoull(*text, &end, 10);
        *text = end + 1;
    }
    mo_abs_expr x = parse(abs, text), y = {0};
    if (**text == ',') {
        ++*text;
        y = parse(abs, text);
    }
    cr_assert_eq(**text, ')', "bad term near '%s'", *text);
    ++*text;
    if (length) return mo_abs_sum(abs, length, x);
    if (strcmp(name, "add") == 0) return mo_abs_add(abs, x, y);
    if (strcmp(name, "sub") == 0) return mo_abs_sub(abs, x, y);
    if (strcmp(name, "mul") == 0) return mo_abs_mul(abs, x, y);
    if (strcmp(name, "div") == 0) return mo_abs_div(abs, x, y);
    if (strcmp(name, "exp") == 0) return mo_abs_exp(abs, x);
    if (strcmp(name, "sqrt") == 0) return mo_abs_sqrt(abs, x);
    if (strcmp(name, "neg") == 0) return mo_abs_neg(abs, x);
    return mo_abs_opaque(abs, name, strlen(name), x, y);
}

static mo_abs_expr parse(mo_abs *abs, const char **text)
{
    while (**text == ' ') ++*text;
    if (isdigit((unsigned char)**text) || **text == '-') {
        char *end;
        double value = strtod(*text, &end);
        *text = end;
        return mo_abs_number(abs, value);
    }
    char name[16];
    size_t n = 0;
    while (isalpha((unsigned char)**text) && n + 1 < sizeof name) name[n++] = *(*text)++;
    name[n] = 0;
    if (**text == '(') return parse_call(abs, name, text);
    cr_assert_eq(n, 1, "bad term near '%s'", *text);
    return mo_abs_leaf(abs, (uint64_t)name[0]);
}

static mo_abs_expr term(mo_abs *abs, const char *text)
{
    mo_abs_expr x = parse(abs, &text);
    cr_assert_eq(*text, 0, "text after the term: '%s'", text);
    return x;
}

typedef struct {
    const char *x, *target;
    bool inside;
} question;

static void check(bool numbers, const question *q, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        mo_abs *abs = mo_abs_new(numbers);
        mo_abs_expr x = term(abs, q[i].x), target = term(abs, q[i].target);
        cr_expect_eq(mo_abs_subexpr(abs, x, target), q[i].inside, "%s in %s: expected %d", q[i].x,
                     q[i].target, q[i].inside);
        mo_abs_free(abs);
    }
}

#define CHECK(numbers, table) check(numbers, table, sizeof(table) / sizeof(table)[0])

Test(abstract_corners, denominators_are_whole_polynomials)
{
    static const question table[] = {
        {"div(w,z)", "div(x,mul(div(y,z),w))", true},
        {"div(x,y)", "div(x,sum(2,y))", false},
        {"div(x,y)", "div(x,div(y,z))", false},
        {"mul(x,z)", "div(x,div(y,z))", false},
        {"sqrt(y)", "sqrt(sum(2,y))", false},
        {"sqrt(y)", "sqrt(div(y,z))", false},
        {"div(x,z)", "div(x,sum(2,mul(y,z)))", true},
        {"div(x,sum(2,z))", "div(x,sum(2,mul(y,z)))", true},
        {"sum(2,z)", "div(x,sum(2,mul(y,z)))", true},
        {"sqrt(sum(2,z))", "sqrt(mul(sum(2,y),z))", true},
        {"sum(2,x)", "div(x,sum(2,y))", false},
        {"div(x,add(b,c))", "div(x,add(mul(a,b),mul(a,c)))", true},
        {"div(x,a)", "div(x,add(mul(a,b),mul(a,c)))", true},
        {"add(b,c)", "div(x,add(mul(a,b),mul(a,c)))", true},
        {"div(x,sqrt(add(b,c)))", "div(x,sqrt(add(mul(a,b),mul(a,c))))", true},
        {"div(x,b)", "div(x,add(mul(a,b),mul(a,c)))", false},
    };
    CHECK(false, table);
}

Test(abstract_corners, sums_and_multiplicities)
{
    static const question table[] = {
        {"sum(4,x)", "sum(6,x)", false},
        {"sum(3,x)", "sum(6,x)", true},
        {"sum(2,x)", "add(x,x)", false},
        {"add(x,x)", "sum(2,x)", false},
        {"add(a,b)", "add(add(mul(a,a),mul(a,b)),mul(b,b))", true},
        {"add(a,b)", "add(mul(a,a),mul(b,b))", false},
        {"add(mul(a,b),mul(a,b))", "mul(add(a,b),add(a,b))", true},
        {"add(add(mul(a,b),mul(a,b)),mul(a,b))", "mul(add(a,b),add(a,b))", false},
        {"div(mul(x,y),x)", "y", false},
        {"x", "mul(div(x,x),y)", true},
        {"y", "mul(div(x,x),y)", true},
        {"y", "div(x,mul(x,y))", true},
        {"div(x,y)", "div(x,mul(x,y))", true},
    };
    CHECK(false, table);
}

Test(abstract_corners, functions)
{
    static const question table[] = {
        {"exp(div(a,c))", "exp(div(add(a,b),c))", true},
        {"exp(a)", "exp(div(add(a,b),c))", false},
        {"exp(sum(2,a))", "exp(sum(2,add(a,b)))", true},
        {"exp(a)", "exp(sum(2,add(a,b)))", false},
        {"exp(x)", "exp(add(x,x))", true},
        {"sqrt(x)", "mul(sqrt(x),sqrt(x))", true},
        {"x", "mul(sqrt(x),sqrt(x))", true},
        {"sqrt(mul(x,y))", "mul(sqrt(x),sqrt(y))", true},
        {"silu(x)", "mul(silu(add(x,y)),z)", false},
        {"x", "mul(silu(add(x,y)),z)", true},
        {"mul(silu(x),silu(x))", "mul(silu(x),y)", false},
        {"silu(x)", "gelu(x)", false},
        {"y", "max(x,y)", true},
        {"add(x,y)", "max(x,y)", false},
    };
    CHECK(false, table);
}

/* ((a+b)(aa+bb)) / (a+b): ab(a+b) is contained in the product and leads nowhere. Which cover comes first
 * depends on the order in which the monomials were made, so every order is tried. */
static void check_cover(const int order[4], bool a_first)
{
    static const char *const parts[] = {"mul(a,mul(a,a))", "mul(a,mul(b,b))", "mul(b,mul(a,a))",
                                        "mul(b,mul(b,b))"};
    mo_abs *abs = mo_abs_new(false);
    mo_abs_expr p = {0};
    term(abs, a_first ? "add(a,b)" : "add(b,a)");
    for (int i = 0; i < 4; i++) {
        mo_abs_expr part = term(abs, parts[order[i]]);
        p = p.id ? mo_abs_add(abs, p, part) : part;
    }
    mo_abs_expr x = term(abs, "sqrt(add(a,b))");
    cr_expect(mo_abs_subexpr(abs, x, mo_abs_sqrt(abs, p)), "order %d %d %d %d", order[0], order[1], order[2],
              order[3]);
    mo_abs_free(abs);
}

Test(abstract_corners, first_cover_can_be_a_dead_end)
{
    for (int code = 0; code < 256; code++) {
        int order[4] = {code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6}, seen = 0;
        for (int i = 0; i < 4; i++) seen |= 1 << order[i];
        if (seen != 15) continue;
        check_cover(order, true);
        check_cover(order, false);
    }
}

typedef struct {
    const char *a, *b;
    bool same;
} equation;

static void check_equal(bool numbers, const equation *e, size_t count)
{
    mo_abs *abs = mo_abs_new(numbers);
    for (size_t i = 0; i < count; i++)
        cr_expect_eq(term(abs, e[i].a).id == term(abs, e[i].b).id, e[i].same, "%s = %s: expected %d", e[i].a,
                     e[i].b, e[i].same);
    mo_abs_free(abs);
}

Test(abstract_corners, equality)
{
    static const equation table[] = {
        {"div(x,mul(div(y,z),w))", "div(x,mul(y,div(w,z)))", true},
        {"div(x,mul(y,sum(2,z)))", "div(x,mul(sum(2,y),z))", true},
        {"add(div(x,add(mul(a,b),mul(a,c))),div(y,mul(add(c,b),a)))", "div(add(x,y),mul(a,add(b,c)))", true},
        {"mul(sqrt(x),sqrt(x))", "sqrt(mul(x,x))", true},
        {"mul(sqrt(x),sqrt(x))", "x", false},
        {"mul(exp(a),exp(b))", "exp(add(b,a))", true},
        {"sum(2,sum(3,x))", "sum(6,sum(1,x))", true},
        {"sum(2,x)", "add(x,x)", false},
        {"div(mul(x,y),x)", "y", false},
    };
    check_equal(false, table, sizeof table / sizeof table[0]);
}

Test(abstract_corners, numbers_are_folded_into_monomials)
{
    static const equation table[] = {
        {"sub(x,y)", "add(x,mul(-1,y))", true},
        {"neg(neg(x))", "x", true},
        {"sub(x,neg(y))", "add(x,y)", true},
        {"mul(1,x)", "x", true},
        {"mul(x,div(1,y))", "div(x,y)", true},
        {"mul(x,0.125)", "div(x,8)", true},
        {"mul(x,-2.5)", "neg(div(mul(5,x),2))", true},
        {"mul(x,0.1)", "div(x,10)", true},
        {"mul(sub(x,y),sub(x,y))", "mul(sub(y,x),sub(y,x))", true},
        {"mul(0,x)", "mul(0,y)", false},
        {"mul(2,x)", "add(x,x)", false},
        {"mul(0.1,x)", "mul(0.2,x)", false},
        {"sub(x,y)", "sub(y,x)", false},
        {"mul(x,1e300)", "mul(x,1e301)", false},
    };
    check_equal(true, table, sizeof table / sizeof table[0]);
}

Test(abstract_corners, numbers_in_questions)
{
    static const question table[] = {
        {"neg(x)", "x", true},
        {"sub(y,x)", "sub(x,y)", true},
        {"add(x,y)", "sub(x,y)", false},
        {"div(1,y)", "div(x,y)", true},
        {"sub(x,y)", "mul(sub(y,x),div(z,w))", true},
        {"sub(x,y)", "mul(sub(x,y),sub(x,y))", true},
        {"mul(x,x)", "mul(sub(x,y),sub(x,y))", true},
        {"sub(mul(x,x),mul(x,y))", "mul(sub(x,y),sub(x,y))", true},
        {"mul(x,3)", "div(x,3)", false},
        {"exp(x)", "exp(neg(x))", false},
        {"exp(neg(x))", "exp(sub(y,x))", true},
        {"div(z,sub(a,b))", "div(z,mul(sub(a,b),sub(a,b)))", true},
        /* x - x has no unique quotient: the answer must not be no. */
        {"div(z,y)", "div(z,mul(sub(x,x),y))", true},
        {"div(z,sub(x,x))", "div(z,mul(sub(x,x),y))", true},
        {"div(z,sub(x,x))", "div(z,neg(sub(x,x)))", true},
        {"div(z,sub(x,x))", "div(z,mul(y,y))", false},
    };
    CHECK(true, table);
}

/* x + x / -1 and sqrt(x) + sqrt(-x) are other Polys without unique quotients: 1 / -1 and sqrt(-1) are their
 * own inverses. Which quotient comes first depends on the order in which the monomials were made. */
Test(abstract_corners, quotients_by_sums_of_units)
{
    static const struct {
        const char *first, *x, *target;
    } table[] = {
        {"mul(div(x,-1),w)", "add(div(a,add(x,div(x,-1))),div(b,y))",
         "div(add(div(a,add(x,div(x,-1))),div(b,y)),w)"},
        {"mul(x,w)", "add(div(a,add(x,div(x,-1))),div(b,y))", "div(add(div(a,add(x,div(x,-1))),div(b,y)),w)"},
        {"add(sqrt(x),mul(sqrt(neg(x)),w))", "add(div(a,add(sqrt(x),sqrt(neg(x)))),div(b,y))",
         "div(add(div(a,add(sqrt(x),sqrt(neg(x)))),div(b,y)),w)"},
        {"mul(sqrt(x),w)", "add(div(a,add(sqrt(x),sqrt(neg(x)))),div(b,y))",
         "div(add(div(a,add(sqrt(x),sqrt(neg(x)))),div(b,y)),w)"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        mo_abs *abs = mo_abs_new(true);
        term(abs, table[i].first);
        mo_abs_expr target = term(abs, table[i].target);
        cr_expect(mo_abs_subexpr(abs, term(abs, table[i].x), target), "%s in %s", table[i].x,
                  table[i].target);
        mo_abs_free(abs);
    }
}

Test(abstract_corners, limits)
{
    mo_abs *abs = mo_abs_new(false);
    mo_abs_expr p = term(abs, "add(a,b)"), q = p;
    for (int i = 0; i < 13; i++) p = mo_abs_mul(abs, p, p); /* 2^8192 monomials */
    cr_expect(mo_abs_too_big(p));
    cr_expect_not(mo_abs_subexpr(abs, p, q));
    cr_expect(mo_abs_subexpr(abs, q, p), "a target that is too big prunes nothing");

    mo_abs_expr target = term(abs, "div(mul(add(a,b),add(a,c)),add(add(a,b),c))");
    mo_abs_set_targets(abs, &target, 1);
    cr_expect(mo_abs_too_big(term(abs, "mul(add(a,b),add(add(a,b),c))")), "6 monomials, the target has 4");
    cr_expect(mo_abs_too_big(term(abs, "mul(a,x)")), "no x in the target");
    cr_expect(mo_abs_subexpr(abs, term(abs, "div(add(mul(b,a),mul(b,c)),add(a,add(b,c)))"), target));

    mo_abs_expr x = term(abs, "x");
    for (int i = 0; i < 4; i++) x = mo_abs_sum(abs, UINT64_C(1) << 20, x);
    cr_expect(mo_abs_too_big(x), "the product of sum lengths leaves 64 bits");
    mo_abs_free(abs);
}
