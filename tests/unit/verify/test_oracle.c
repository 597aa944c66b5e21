/* The floating-point interpreters: hand-computed values, and a naive evaluation of random programs. */
#include "verify/oracle.h"

#include "base/rng.h"
#include "programs.h"
#include "verify/inputs.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define N(op, in, out) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"}"
#define NA(op, in, out, attrs) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"," attrs "}"
#define INPUT(name, shape) "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"f32\"}"

/* Runs one program on given inputs and compares its only output. */
static void expect(const char *inputs, const char *nodes, const double *const *values, const double *wanted,
                   int n)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p = test_program(arena, inputs, nodes, "\"o\"");
    for (int mode = MO_ORACLE_F64; mode <= MO_ORACLE_YARDSTICK; mode++) {
        double **out = MO_NEW_ARRAY(arena, double *, p->n_tensors);
        mo_oracle_run(p, &(mo_oracle_options){.mode = (mo_oracle_mode)mode, .threads = 2}, values, out);
        const double *got = out[p->outputs[0]];
        cr_assert_eq(mo_shape_elements(p->tensors[p->outputs[0]].shape), n, "%s", nodes);
        double tolerance = mode == MO_ORACLE_F64 ? 1e-14 : 1e-6;
        for (int i = 0; i < n; i++) {
            bool same = isfinite(wanted[i]) ? fabs(got[i] - wanted[i]) <= tolerance * (1 + fabs(wanted[i]))
                                            : (isnan(wanted[i]) ? isnan(got[i]) : got[i] == wanted[i]);
            cr_expect(same, "%s [%d]: %.17g, not %.17g", nodes, i, got[i], wanted[i]);
        }
        mo_oracle_free(p, out);
    }
    mo_arena_free(arena);
}

#define EXPECT1(shape, nodes, x, ...)                                         \
    do {                                                                      \
        const double in[] = x, wanted[] = {__VA_ARGS__};                      \
        expect(INPUT("X", shape), nodes, (const double *const[]){in}, wanted, \
               (int)(sizeof wanted / sizeof *wanted));                        \
    } while (0)
#define LIST(...)   \
    {               \
        __VA_ARGS__ \
    }

Test(oracle, compound_operators)
{
    EXPECT1("[2]", NA("softmax", "\"X\"", "o", "\"axis\":0"), LIST(0, 0.69314718055994530942), 1 / 3.0,
            2 / 3.0);
    EXPECT1("[2]", NA("softmax", "\"X\"", "o", "\"axis\":0"), LIST(1000, 1000), 0.5, 0.5);
    EXPECT1("[2]", NA("rms_norm", "\"X\"", "o", "\"axes\":[-1],\"eps\":0"), LIST(3, 4), 3 / sqrt(12.5),
            4 / sqrt(12.5));
    EXPECT1("[2]", NA("l2_norm", "\"X\"", "o", "\"axes\":[-1],\"eps\":11"), LIST(3, 4), 0.5, 4 / 6.0);
    EXPECT1("[2]", NA("layer_norm", "\"X\"", "o", "\"axes\":[-1],\"eps\":0.75"), LIST(1, 2), -0.5, 0.5);
    EXPECT1("[2,2]", NA("causal_mask", "\"X\"", "o", "\"offset\":0"), LIST(1, 2, 3, 4), 1, -INFINITY, 3, 4);
    const double x[] = {3, 4}, w[] = {2, 10}, b[] = {1, -1}, wanted[] = {-1, 9};
    expect(INPUT("X", "[2]") "," INPUT("W", "[2]") "," INPUT("B", "[2]"),
           NA("layer_norm", "\"X\",\"W\",\"B\"", "o", "\"axes\":[-1],\"eps\":0"),
           (const double *const[]){x, w, b}, wanted, 2);
}

Test(oracle, pointwise_operators)
{
    EXPECT1("[2]", N("silu", "\"X\"", "o"), LIST(0, 1), 0, 1 / (1 + exp(-1)));
    EXPECT1("[1]", NA("gelu", "\"X\"", "o", "\"approximate\":\"none\""), LIST(1), 0.84134474606854293);
    EXPECT1("[1]", NA("gelu", "\"X\"", "o", "\"approximate\":\"tanh\""), LIST(1), 0.84119199060827676);
    EXPECT1("[3]", NA("clamp", "\"X\"", "o", "\"min\":-1,\"max\":6"), LIST(-5, 7, NAN), -1, 6, NAN);
    EXPECT1("[3]", N("relu", "\"X\"", "o"), LIST(-2, 2, NAN), 0, 2, NAN);
    EXPECT1("[3]", N("maximum", "\"X\",1", "o"), LIST(0, NAN, 2), 1, NAN, 2);
    EXPECT1("[3]", N("pow", "\"X\",0.5", "o"), LIST(-4, 4, 0), NAN, 2, 0);
    EXPECT1("[2]", N("pow", "\"X\",3", "o"), LIST(-2, 3), -8, 27);
    EXPECT1("[2]", N("rsqrt", "\"X\"", "o"), LIST(4, 0), 0.5, INFINITY);
    EXPECT1("[2]", N("sub", "1,\"X\"", "o"), LIST(4, -1), -3, 2);
    EXPECT1("[2]", NA("cast", "\"X\"", "o", "\"dtype\":\"f16\""), LIST(2049, 1), 2048, 1);
}

Test(oracle, reductions_and_views)
{
    EXPECT1("[2,3]", NA("sum", "\"X\"", "o", "\"axes\":[0]"), LIST(1, 2, 3, 4, 5, 6), 5, 7, 9);
    EXPECT1("[2,3]", NA("mean", "\"X\"", "o", "\"axes\":[1]"), LIST(1, 2, 3, 4, 5, 6), 2, 5);
    EXPECT1("[2,3]", NA("max", "\"X\"", "o", "\"axes\":[0,1]"), LIST(1, 2, 9, 4, 5, 6), 9);
    EXPECT1("[2,2]", NA("min", "\"X\"", "o", "\"axes\":[1]"), LIST(1, NAN, 3, 2), NAN, 2);
    EXPECT1("[2,3]", NA("transpose", "\"X\"", "o", "\"perm\":[1,0]"), LIST(1, 2, 3, 4, 5, 6), 1, 4, 2, 5, 3,
            6);
    EXPECT1("[2,3]", NA("slice", "\"X\"", "o", "\"axis\":1,\"start\":1,\"stop\":3"), LIST(1, 2, 3, 4, 5, 6),
            2, 3, 5, 6);
    EXPECT1("[1,2]", NA("broadcast_to", "\"X\"", "o", "\"shape\":[2,2]"), LIST(1, 2), 1, 2, 1, 2);
    EXPECT1("[2,2]", NA("concat", "\"X\",\"X\"", "o", "\"axis\":1"), LIST(1, 2, 3, 4), 1, 2, 1, 2, 3, 4, 3,
            4);
    EXPECT1(
        "[4]",
        "{\"op\":\"split\",\"inputs\":[\"X\"],\"outputs\":[\"a\",\"b\"],\"axis\":0,\"sections\":[1,3]}," NA(
            "reshape", "\"b\"", "o", "\"shape\":[3,1]"),
        LIST(1, 2, 3, 4), 2, 3, 4);
}

Test(oracle, products)
{
    const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    const double *const values[] = {a, b};
    const char *inputs = INPUT("A", "[2,2]") "," INPUT("B", "[2,2]");
    expect(inputs, N("matmul", "\"A\",\"B\"", "o"), values, (const double[]){19, 22, 43, 50}, 4);
    expect(inputs, NA("matmul", "\"A\",\"B\"", "o", "\"transpose_a\":true"), values,
           (const double[]){26, 30, 38, 44}, 4);
    expect(inputs, NA("matmul", "\"A\",\"B\"", "o", "\"transpose_b\":true"), values,
           (const double[]){17, 23, 39, 53}, 4);
    const double batch[] = {1, 0, 0, 1, 2, 0, 0, 2};
    expect(INPUT("A", "[2,2]") "," INPUT("B", "[2,2,2]"), N("matmul", "\"A\",\"B\"", "o"),
           (const double *const[]){a, batch}, (const double[]){1, 2, 3, 4, 2, 4, 6, 8}, 8);
    const double c[] = {1, 10}, d[] = {1, 2, 3, 4, 5, 6}; /* [2,1,1,1] x [3,1,2]: both batches broadcast */
    expect(INPUT("A", "[2,1,1,1]") "," INPUT("B", "[3,1,2]"), N("matmul", "\"A\",\"B\"", "o"),
           (const double *const[]){c, d}, (const double[]){1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60}, 12);
}

/* Element by element, straight from the definitions, with nothing kept. */
static double naive(const mo_program *p, const double *const *inputs, int tensor, const int64_t *index);

static double naive_operand(const mo_program *p, const double *const *inputs, const mo_node *node, int j,
                            const int64_t *index)
{
    if (node->inputs[j].tensor < 0) return node->inputs[j].number;
    const mo_shape *in = &p->tensors[node->inputs[j].tensor].shape;
    int64_t own[MO_MAX_RANK] = {0};
    int shift = p->tensors[node->outputs[0]].shape.rank - in->rank;
    for (int d = 0; d < in->rank; d++) own[d] = in->dim[d] == 1 ? 0 : index[d + shift];
    return naive(p, inputs, node->inputs[j].tensor, own);
}

static double naive_matmul(const mo_program *p, const double *const *inputs, const mo_node *node,
                           const int64_t *index)
{
    const mo_shape *a = &p->tensors[node->inputs[0].tensor].shape,
                   *b = &p->tensors[node->inputs[1].tensor].shape;
    int rank = p->tensors[node->outputs[0]].shape.rank;
    double sum = 0;
    for (int64_t k = 0; k < a->dim[a->rank - (node->attrs.transpose_a ? 2 : 1)]; k++) {
        int64_t ia[MO_MAX_RANK] = {0}, ib[MO_MAX_RANK] = {0};
        for (int d = 0; d < a->rank - 2; d++) ia[d] = a->dim[d] == 1 ? 0 : index[d + rank - a->rank];
        for (int d = 0; d < b->rank - 2; d++) ib[d] = b->dim[d] == 1 ? 0 : index[d + rank - b->rank];
        ia[a->rank - (node->attrs.transpose_a ? 1 : 2)] = index[rank - 2];
        ia[a->rank - (node->attrs.transpose_a ? 2 : 1)] = k;
        ib[b->rank - (node->attrs.transpose_b ? 2 : 1)] = index[rank - 1];
        ib[b->rank - (node->attrs.transpose_b ? 1 : 2)] = k;
        sum += naive(p, inputs, node->inputs[0].tensor, ia) * naive(p, inputs, node->inputs[1].tensor, ib);
    }
    return sum;
}

/* Rank 2 or 3, reduced or normalised over the last dimension. */
static double naive_row(const mo_program *p, const double *const *inputs, const mo_node *node,
                        const int64_t *index)
{
    int in = node->inputs[0].tensor, last = p->tensors[in].shape.rank - 1;
    int64_t own[MO_MAX_RANK] = {0}, n = p->tensors[in].shape.dim[last];
    memcpy(own, index, sizeof *own * (size_t)last);
    double sum = 0, squares = 0, exps = 0, largest = -INFINITY, x = 0;
    for (own[last] = 0; own[last] < n; own[last]++) {
        double v = naive(p, inputs, in, own);
        sum += v;
        squares += v * v;
        exps += exp(v);
        largest = fmax(largest, v);
        if (own[last] == index[last]) x = v;
    }
    switch (node->op) {
    case MO_OP_SUM: return sum;
    case MO_OP_MEAN: return sum / (double)n;
    case MO_OP_MAX: return largest;
    case MO_OP_SOFTMAX: return exp(x) / exps;
    case MO_OP_RMS_NORM: return x / sqrt(squares / (double)n + node->attrs.eps);
    default: return x / sqrt(squares + node->attrs.eps);
    }
}

static double naive(const mo_program *p, const double *const *inputs, int tensor, const int64_t *index)
{
    const mo_tensor *t = &p->tensors[tensor];
    if (tensor < p->n_inputs) {
        int64_t strides[MO_MAX_RANK], at = 0;
        mo_shape_row_major(t->shape, strides);
        for (int d = 0; d < t->shape.rank; d++) at += index[d] * strides[d];
        return inputs[tensor][at];
    }
    const mo_node *node = &p->nodes[t->producer];
    mo_op_kind kind = mo_op_kind_of(node->op);
    if (kind == MO_KIND_PRODUCT) return naive_matmul(p, inputs, node, index);
    if (kind == MO_KIND_REDUCE || kind == MO_KIND_COMPOUND) return naive_row(p, inputs, node, index);
    double a = naive_operand(p, inputs, node, 0, index);
    double b = node->n_inputs > 1 ? naive_operand(p, inputs, node, 1, index) : 0;
    return mo_oracle_pointwise(node->op, &node->attrs, a, b);
}

/* A chain of `length` operators on [2,3,4] tensors, each from the last and an input. */
static const char *random_nodes(mo_arena *arena, mo_rng *rng, int length)
{
    static const char *const forms[] = {
        "{\"op\":\"add\",\"inputs\":[\"%s\",\"B\"],\"output\":\"%s\"}",
        "{\"op\":\"mul\",\"inputs\":[\"C\",\"%s\"],\"output\":\"%s\"}",
        "{\"op\":\"sub\",\"inputs\":[0.5,\"%s\"],\"output\":\"%s\"}",
        "{\"op\":\"div\",\"inputs\":[\"%s\",\"P\"],\"output\":\"%s\"}",
        "{\"op\":\"tanh\",\"inputs\":[\"%s\"],\"output\":\"%s\"}",
        "{\"op\":\"softmax\",\"inputs\":[\"%s\"],\"axis\":-1,\"output\":\"%s\"}",
        "{\"op\":\"rms_norm\",\"inputs\":[\"%s\"],\"axes\":[-1],\"eps\":0.1,\"output\":\"%s\"}",
        "{\"op\":\"l2_norm\",\"inputs\":[\"%s\"],\"axes\":[-1],\"eps\":0.1,\"output\":\"%s\"}",
        "{\"op\":\"matmul\",\"inputs\":[\"%s\",\"D\"],\"output\":\"%s\"}",
        "{\"op\":\"matmul\",\"inputs\":[\"E\",\"%s\"],\"transpose_a\":true,\"output\":\"%s\"}",
        "{\"op\":\"relu\",\"inputs\":[\"%s\"],\"output\":\"%s\"}",
        "{\"op\":\"clamp\",\"inputs\":[\"%s\"],\"min\":-0.5,\"max\":0.7,\"output\":\"%s\"}",
    };
    mo_str text = {0};
    char from[16] = "A", to[16];
    for (int i = 0; i < length; i++) {
        snprintf(to, sizeof to, "t%d", i);
        const char *s = forms[mo_rng_below(rng, sizeof forms / sizeof *forms)];
        if (i > 0) mo_str_add(&text, ",");
        for (int hole = 0; *s != '\0'; s++) {
            if (strncmp(s, "%s", 2) != 0) {
                mo_str_add_bytes(&text, s, 1);
                continue;
            }
            mo_str_add(&text, hole++ == 0 ? from : to);
            s++;
        }
        memcpy(from, to, sizeof from);
    }
    static const char *const ends[] = {"sum", "mean", "max"};
    mo_str_printf(&text, ",{\"op\":\"%s\",\"inputs\":[\"%s\"],\"axes\":[-1],\"output\":\"o\"}",
                  ends[mo_rng_below(rng, 3)], from);
    const char *copy = mo_arena_strdup(arena, mo_str_text(&text));
    mo_str_free(&text);
    return copy;
}

Test(oracle, random_programs_agree_with_a_naive_evaluation)
{
    const char *inputs = INPUT("A", "[2,3,4]") "," INPUT("B", "[3,1]") "," INPUT("C", "[4]") "," INPUT(
        "D", "[2,4,4]") "," INPUT("E", "[3,3]") "," INPUT("P", "[2,1,4]");
    for (uint64_t seed = 0; seed < 60; seed++) {
        mo_arena *arena = mo_arena_new();
        mo_rng rng = mo_rng_seed(seed, 5);
        const char *nodes = random_nodes(arena, &rng, 1 + (int)(seed % 5));
        mo_program *p = test_program(arena, inputs, nodes, "\"o\"");
        double **in = MO_NEW_ARRAY(arena, double *, p->n_inputs),
               **out = MO_NEW_ARRAY(arena, double *, p->n_tensors);
        for (int x = 0; x < p->n_inputs; x++)
            in[x] = MO_NEW_ARRAY(arena, double, mo_shape_elements(p->tensors[x].shape));
        mo_inputs_draw(mo_inputs_plan_new(arena, p, NULL), MO_INPUTS_RANDOM, seed, in);
        mo_oracle_run(p, &(mo_oracle_options){.mode = MO_ORACLE_F64, .threads = 1}, (const double *const *)in,
                      out);
        for (int64_t i = 0; i < 6; i++) {
            double wanted =
                naive(p, (const double *const *)in, p->outputs[0], (const int64_t[8]){i / 3, i % 3});
            double got = out[p->outputs[0]][i];
            cr_expect(fabs(got - wanted) <= 1e-11 * (1 + fabs(wanted)), "seed %d: %.17g, not %.17g: %s",
                      (int)seed, got, wanted, nodes);
        }
        mo_oracle_free(p, out);
        mo_arena_free(arena);
    }
}

Test(oracle, the_yardstick_rounds_matmul_operands_only)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p = test_program(arena,
                                 "{\"name\":\"X\",\"shape\":[1,2],\"dtype\":\"f16\"},"
                                 "{\"name\":\"W\",\"shape\":[2,1],\"dtype\":\"f16\"}",
                                 N("add", "\"X\",1", "s") "," N("matmul", "\"s\",\"W\"", "o"), "\"o\",\"s\"");
    const double x[] = {0.00048828125, 2048.0},
                 w[] = {1, 0}; /* 1 + 2^-11 is no f16 number; ties go to even */
    double **out = MO_NEW_ARRAY(arena, double *, p->n_tensors);
    mo_oracle_run(p, &(mo_oracle_options){.mode = MO_ORACLE_YARDSTICK, .threads = 1},
                  (const double *const[]){x, w}, out);
    cr_expect_eq(out[p->outputs[1]][0], 1.00048828125, "the sum itself is f32");
    cr_expect_eq(out[p->outputs[0]][0], 1.0, "its use in the product is f16");
    mo_oracle_free(p, out);
    mo_arena_free(arena);
}

typedef struct {
    int calls;
    bool accept;
} hook_state;

static bool count_call(void *context, const mo_oracle_matmul *s, bool single, const void *a, const void *b,
                       void *c)
{
    hook_state *state = context;
    state->calls++;
    if (!state->accept || single) return false;
    for (int64_t i = 0; i < s->batch * s->m * s->n; i++)
        ((double *)c)[i] = 42.0 + 0 * *(const double *)a + 0 * *(const double *)b;
    return true;
}

Test(oracle, large_products_are_offered)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p = test_program(arena, INPUT("A", "[2,3]") "," INPUT("B", "[3,2]"),
                                 N("matmul", "\"A\",\"B\"", "o"), "\"o\"");
    const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 2, 3, 4, 5, 6};
    for (int accept = 0; accept < 2; accept++) {
        hook_state state = {0, accept == 1};
        mo_matmul_hook hook = {count_call, &state, 12};
        double **out = MO_NEW_ARRAY(arena, double *, p->n_tensors);
        mo_oracle_run(p, &(mo_oracle_options){.mode = MO_ORACLE_F64, .threads = 1, .hook = &hook},
                      (const double *const[]){a, b}, out);
        cr_expect_eq(state.calls, 1);
        cr_expect_eq(out[p->outputs[0]][0], accept == 1 ? 42.0 : 22.0);
        mo_oracle_free(p, out);
    }
    mo_arena_free(arena);
}

Test(oracle, peaks_are_of_what_is_finite)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p =
        test_program(arena, INPUT("A", "[4]"), N("square", "\"A\"", "s") "," N("neg", "\"s\"", "o"), "\"o\"");
    const double a[] = {1, -3, (double)INFINITY, (double)NAN};
    double peaks[3] = {0}, **out = MO_NEW_ARRAY(arena, double *, p->n_tensors);
    mo_oracle_run(p, &(mo_oracle_options){.threads = 1, .peaks = peaks}, (const double *const[]){a}, out);
    cr_expect(peaks[0] == 3 && peaks[1] == 9 && peaks[2] == 9, "%g %g %g", peaks[0], peaks[1], peaks[2]);
    mo_oracle_free(p, out);
    mo_arena_free(arena);
}
