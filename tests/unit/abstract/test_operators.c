/* Operators of programs beyond the axioms: those with an equation have the expression that it says, the
 * others are functions of their own, told apart by every attribute. */
#include "abstract/abstract.h"

#include <criterion/criterion.h>

typedef struct {
    mo_prim graph;
    mo_abs *abs;
    mo_abs_expr x, y;
} site;

/* Axes 0 and 1 have 8 elements, axis 2 has 12. */
static site make_site(void)
{
    site s = {.abs = mo_abs_new(true)};
    s.graph.n_axes = 3;
    s.graph.axes[0].extent = s.graph.axes[1].extent = 8;
    s.graph.axes[2].extent = 12;
    s.x = mo_abs_leaf(s.abs, 0);
    s.y = mo_abs_leaf(s.abs, 1);
    return s;
}

static mo_abs_expr of_node(const site *s, mo_prim_node node, mo_abs_expr x, mo_abs_expr y)
{
    mo_abs_expr in[2] = {x, y};
    return mo_abs_of_prim(s->abs, &s->graph, &node, in);
}

static mo_abs_expr unary(const site *s, mo_op op)
{
    return of_node(s, (mo_prim_node){.op = op, .n_in = 1}, s->x, (mo_abs_expr){0});
}

static mo_abs_expr binary(const site *s, mo_op op)
{
    return of_node(s, (mo_prim_node){.op = op, .n_in = 2}, s->x, s->y);
}

#define EXPECT_SAME(a, b) cr_expect_eq((a).id, (b).id, "%s is not %s", #a, #b)

Test(abstract_operators, equations)
{
    site s = make_site();
    mo_abs *abs = s.abs;
    mo_abs_expr x = s.x, y = s.y, one = mo_abs_number(abs, 1), minus = mo_abs_number(abs, -1);
    EXPECT_SAME(binary(&s, MO_OP_ADD), mo_abs_add(abs, x, y));
    EXPECT_SAME(binary(&s, MO_OP_MUL), mo_abs_mul(abs, x, y));
    EXPECT_SAME(binary(&s, MO_OP_DIV), mo_abs_div(abs, x, y));
    EXPECT_SAME(binary(&s, MO_OP_SUB), mo_abs_add(abs, x, mo_abs_mul(abs, minus, y)));
    EXPECT_SAME(unary(&s, MO_OP_NEG), mo_abs_mul(abs, minus, x));
    EXPECT_SAME(unary(&s, MO_OP_EXP), mo_abs_exp(abs, x));
    EXPECT_SAME(unary(&s, MO_OP_SQRT), mo_abs_sqrt(abs, x));
    EXPECT_SAME(unary(&s, MO_OP_SQUARE), mo_abs_mul(abs, x, x));
    EXPECT_SAME(unary(&s, MO_OP_RECIPROCAL), mo_abs_div(abs, one, x));
    EXPECT_SAME(unary(&s, MO_OP_RSQRT), mo_abs_div(abs, one, mo_abs_sqrt(abs, x)));

    mo_prim_node sum = {.op = MO_OP_SUM, .n_in = 1, .reduced = 5};
    mo_prim_node matmul = {.op = MO_OP_MATMUL, .n_in = 2, .reduced = 4};
    mo_prim_node widen = {.op = MO_OP_CAST, .n_in = 1, .dtype = MO_F32};
    mo_prim_node eighth = {.op = MO_OP_CONST, .number = 0.125};
    EXPECT_SAME(of_node(&s, sum, x, y), mo_abs_sum(abs, 96, x));
    EXPECT_SAME(of_node(&s, matmul, x, y), mo_abs_sum(abs, 12, mo_abs_mul(abs, x, y)));
    EXPECT_SAME(of_node(&s, widen, x, y), x);
    EXPECT_SAME(of_node(&s, eighth, x, y), mo_abs_div(abs, one, mo_abs_number(abs, 8)));
    mo_abs_free(abs);
}

/* Functions without axioms, each twice where it has an attribute. */
static const mo_prim_node functions[] = {
    {.op = MO_OP_MAXIMUM, .n_in = 2},
    {.op = MO_OP_MINIMUM, .n_in = 2},
    {.op = MO_OP_POW, .n_in = 2},
    {.op = MO_OP_LOG, .n_in = 1},
    {.op = MO_OP_ABS, .n_in = 1},
    {.op = MO_OP_RELU, .n_in = 1},
    {.op = MO_OP_SIGMOID, .n_in = 1},
    {.op = MO_OP_SILU, .n_in = 1},
    {.op = MO_OP_TANH, .n_in = 1},
    {.op = MO_OP_GELU, .n_in = 1},
    {.op = MO_OP_GELU, .n_in = 1, .approximate_tanh = true},
    {.op = MO_OP_CLAMP, .n_in = 1, .min = -1, .max = 1},
    {.op = MO_OP_CLAMP, .n_in = 1, .min = -1, .max = 2},
    {.op = MO_OP_CLAMP, .n_in = 1, .min = 0, .max = 1},
    {.op = MO_OP_CAST, .n_in = 1, .dtype = MO_F16},
    {.op = MO_OP_CAST, .n_in = 1, .dtype = MO_BF16},
    {.op = MO_OP_MAX, .n_in = 1, .reduced = 1},
    {.op = MO_OP_MAX, .n_in = 1, .reduced = 4},
    {.op = MO_OP_MIN, .n_in = 1, .reduced = 1},
    {.op = MO_OP_MASK, .n_in = 1, .mask_rows = 1, .mask_columns = 2},
    {.op = MO_OP_MASK, .n_in = 1, .mask_rows = 2, .mask_columns = 1},
    {.op = MO_OP_MASK, .n_in = 1, .mask_rows = 1, .mask_columns = 2, .mask_offset = 1},
};
enum { N_FUNCTIONS = sizeof functions / sizeof functions[0] };

Test(abstract_operators, functions_without_axioms)
{
    site s = make_site();
    mo_abs_expr f[N_FUNCTIONS], absent = {0};
    for (int i = 0; i < N_FUNCTIONS; i++) {
        f[i] = of_node(&s, functions[i], s.x, functions[i].n_in == 2 ? s.y : absent);
        const char *name = mo_op_name(functions[i].op);
        cr_expect(mo_abs_subexpr(s.abs, s.x, f[i]), "x in %s(x)", name);
        cr_expect_eq(mo_abs_subexpr(s.abs, s.y, f[i]), functions[i].n_in == 2, "y in %s", name);
        cr_expect_not(mo_abs_subexpr(s.abs, f[i], s.x), "%s(x) in x", name);
        cr_expect(mo_abs_subexpr(s.abs, f[i], mo_abs_exp(s.abs, mo_abs_mul(s.abs, s.y, f[i]))), "%s", name);
        for (int j = 0; j < i; j++)
            cr_expect_not(mo_abs_subexpr(s.abs, f[i], f[j]), "%s (%d) in %s (%d)", name, i,
                          mo_op_name(functions[j].op), j);
        for (int j = 0; j < i; j++) cr_expect_not(mo_abs_subexpr(s.abs, f[j], f[i]), "%d in %d", j, i);
    }
    mo_abs_free(s.abs);
}

/* Every primitive operator is in one of the two tests above. */
Test(abstract_operators, none_is_forgotten)
{
    static const mo_op equations[] = {MO_OP_MATMUL, MO_OP_ADD,  MO_OP_SUB,   MO_OP_MUL,        MO_OP_DIV,
                                      MO_OP_NEG,    MO_OP_EXP,  MO_OP_SQRT,  MO_OP_RSQRT,      MO_OP_SQUARE,
                                      MO_OP_SUM,    MO_OP_CAST, MO_OP_CONST, MO_OP_RECIPROCAL, MO_OP_ITER};
    static const mo_op lowered[] = {MO_OP_MEAN,    MO_OP_SOFTMAX,     MO_OP_RMS_NORM, MO_OP_LAYER_NORM,
                                    MO_OP_L2_NORM, MO_OP_CAUSAL_MASK, MO_OP_RESHAPE,  MO_OP_TRANSPOSE,
                                    MO_OP_CONCAT,  MO_OP_SLICE,       MO_OP_SPLIT,    MO_OP_BROADCAST_TO};
    bool seen[MO_OP_COUNT] = {0};
    for (size_t i = 0; i < sizeof equations / sizeof equations[0]; i++) seen[equations[i]] = true;
    for (size_t i = 0; i < sizeof lowered / sizeof lowered[0]; i++) seen[lowered[i]] = true;
    for (int i = 0; i < N_FUNCTIONS; i++) seen[functions[i].op] = true;
    for (int op = 0; op < MO_OP_COUNT; op++) cr_expect(seen[op], "%s has no test", mo_op_name((mo_op)op));
}

Test(abstract_operators, only_some_functions_commute)
{
    site s = make_site();
    static const mo_op commuting[] = {MO_OP_MAXIMUM, MO_OP_MINIMUM};
    for (int i = 0; i < 2; i++) {
        mo_prim_node node = {.op = commuting[i], .n_in = 2};
        EXPECT_SAME(of_node(&s, node, s.x, s.y), of_node(&s, node, s.y, s.x));
    }
    mo_prim_node pow = {.op = MO_OP_POW, .n_in = 2};
    cr_expect_neq(of_node(&s, pow, s.x, s.y).id, of_node(&s, pow, s.y, s.x).id);
    mo_abs_free(s.abs);
}
