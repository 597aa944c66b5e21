/* The numeric rule: what has to pass, and what must not. */
#include "verify/accept.h"

#include "base/rng.h"
#include "programs.h"
#include "verify/inputs.h"
#include "verify/oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N(op, in, out) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"}"
#define NA(op, in, out, attrs) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"," attrs "}"
enum { ROWS = 4, LENGTH = 2048, COLUMNS = 64 };

typedef struct {
    mo_arena *arena;
    const mo_program *program;
    double **inputs, **reference, **yardstick;
} fixture;

static fixture prepare(const char *inputs, const char *nodes, mo_inputs_kind kind)
{
    fixture f = {.arena = mo_arena_new()};
    mo_program *p = test_program(f.arena, inputs, nodes, "\"o\"");
    f.program = p;
    f.inputs = MO_NEW_ARRAY(f.arena, double *, p->n_inputs);
    for (int x = 0; x < p->n_inputs; x++)
        f.inputs[x] = MO_NEW_ARRAY(f.arena, double, mo_shape_elements(p->tensors[x].shape));
    mo_inputs_draw(mo_inputs_plan_new(f.arena, p, NULL), kind, 1, f.inputs);
    f.reference = MO_NEW_ARRAY(f.arena, double *, p->n_tensors);
    f.yardstick = MO_NEW_ARRAY(f.arena, double *, p->n_tensors);
    const double *const *in = (const double *const *)f.inputs;
    mo_oracle_run(p, &(mo_oracle_options){.mode = MO_ORACLE_F64, .threads = 1}, in, f.reference);
    mo_oracle_run(p, &(mo_oracle_options){.mode = MO_ORACLE_YARDSTICK, .threads = 1}, in, f.yardstick);
    return f;
}

static void finish(fixture *f)
{
    mo_oracle_free(f->program, f->reference);
    mo_oracle_free(f->program, f->yardstick);
    mo_arena_free(f->arena);
}

/* `out` is rounded to the output's dtype first. */
static mo_accept_result judge(const fixture *f, double *out)
{
    int o = f->program->outputs[0];
    const mo_tensor *tensor = &f->program->tensors[o];
    for (int64_t i = 0; i < mo_shape_elements(tensor->shape); i++)
        out[i] = mo_dtype_round(tensor->dtype, out[i]);
    return mo_accept_output(tensor, 4.0, mo_accept_longest(f->program), out, f->reference[o],
                            f->yardstick[o]);
}

typedef enum { UPWARD, DOWNWARD, STRIDED, PAIRS, TAIL_DROPPED, IN_F16 } order;

/* One element of X W with f32 (or f16) sums in some order. */
static double product(const fixture *f, int64_t i, int64_t j, order how)
{
    float part[64] = {0};
    double half = 0;
    int lanes = how == STRIDED ? 64 : how == PAIRS ? 2 : 1;
    int64_t length = how == TAIL_DROPPED ? LENGTH - 8 : LENGTH;
    for (int64_t l = 0; l < length; l++) {
        int64_t k = how == DOWNWARD ? LENGTH - 1 - l : l;
        float x = (float)f->inputs[0][i * LENGTH + k] * (float)f->inputs[1][k * COLUMNS + j];
        part[l % lanes] += x;
        half = mo_dtype_round(MO_F16, half + mo_dtype_round(MO_F16, (double)x));
    }
    for (int lane = 1; lane < lanes; lane++) part[0] += part[lane];
    return how == IN_F16 ? half : (double)part[0];
}

Test(accept, any_order_of_summation_passes_and_shortcuts_fail)
{
    fixture f = prepare("{\"name\":\"X\",\"shape\":[4,2048],\"dtype\":\"f16\"},"
                        "{\"name\":\"W\",\"shape\":[2048,64],\"dtype\":\"f16\"}",
                        N("matmul", "\"X\",\"W\"", "o"), MO_INPUTS_RANDOM);
    cr_assert_eq(mo_accept_longest(f.program), LENGTH);
    for (int how = UPWARD; how <= IN_F16; how++) {
        double out[ROWS * COLUMNS];
        for (int64_t i = 0; i < ROWS * COLUMNS; i++)
            out[i] = product(&f, i / COLUMNS, i % COLUMNS, (order)how);
        mo_accept_result r = judge(&f, out);
        cr_expect_eq(r.ok, how < TAIL_DROPPED, "order %d: error %g, allowed %g", how, r.error, r.allowed);
        cr_expect_not(r.skipped);
        cr_expect(r.allowed < 0.01);
    }
    finish(&f);
}

/* y = (x - mean) / sqrt(variance + eps) with the variance in one pass, all in f32. */
static void one_pass(const fixture *f, double *out, int64_t rows, int64_t n)
{
    for (int64_t i = 0; i < rows; i++) {
        float sum = 0, squares = 0;
        for (int64_t k = 0; k < n; k++) {
            float x = (float)f->inputs[0][i * n + k];
            sum += x;
            squares += x * x;
        }
        float mean = sum / (float)n, variance = squares / (float)n - mean * mean;
        float factor = 1.0f / sqrtf((variance > 0 ? variance : 0) + 1e-5f);
        for (int64_t k = 0; k < n; k++)
            out[i * n + k] = (double)(((float)f->inputs[0][i * n + k] - mean) * factor);
    }
}

Test(accept, one_pass_variance_fails_on_rows_with_an_offset)
{
    const mo_inputs_kind kinds[] = {MO_INPUTS_RANDOM, MO_INPUTS_OFFSET_1000};
    for (int i = 0; i < 2; i++) {
        fixture f = prepare("{\"name\":\"X\",\"shape\":[8,512],\"dtype\":\"f32\"}",
                            NA("layer_norm", "\"X\"", "o", "\"axes\":[-1],\"eps\":1e-5"), kinds[i]);
        static double out[8 * 512];
        one_pass(&f, out, 8, 512);
        mo_accept_result r = judge(&f, out);
        cr_expect_eq(r.ok, kinds[i] == MO_INPUTS_RANDOM, "error %g, allowed %g", r.error, r.allowed);
        finish(&f);
    }
}

static mo_tensor plain(mo_dtype dtype, int64_t rows, int64_t columns)
{
    return (mo_tensor){.name = "o", .shape = {2, {rows, columns}}, .dtype = dtype, .compute = dtype};
}

Test(accept, short_rows_are_joined)
{
    cr_expect_eq(mo_accept_row_length((mo_shape){2, {100, 4}}), 64);
    cr_expect_eq(mo_accept_row_length((mo_shape){2, {100, 24}}), 72);
    cr_expect_eq(mo_accept_row_length((mo_shape){2, {100, 64}}), 64);
    cr_expect_eq(mo_accept_row_length((mo_shape){2, {3, 5}}), 15);
    cr_expect_eq(mo_accept_row_length((mo_shape){0, {0}}), 1);
    /* An error in one row is not diluted by the others. */
    mo_tensor t = plain(MO_F32, 1000, 64);
    static double out[64000], reference[64000];
    for (int i = 0; i < 64000; i++) out[i] = reference[i] = 1.0;
    for (int i = 64 * 700; i < 64 * 701; i++) out[i] = 1.001;
    mo_accept_result r = mo_accept_output(&t, 4.0, 1, out, reference, reference);
    cr_expect(fabs(r.error - 0.001) < 1e-7, "%g", r.error);
    cr_expect_not(r.ok);
}

static mo_accept_result judge_one(mo_dtype dtype, double out, double reference, double yardstick)
{
    mo_tensor t = plain(dtype, 1, 1);
    return mo_accept_output(&t, 4.0, 1, &out, &reference, &yardstick);
}

Test(accept, special_values)
{
    double inf = (double)INFINITY, nan = (double)NAN;
    cr_expect(judge_one(MO_F16, inf, inf, inf).ok);
    cr_expect_eq(judge_one(MO_F16, inf, inf, inf).special, 1);
    cr_expect_not(judge_one(MO_F16, -inf, inf, inf).ok);
    cr_expect_not(judge_one(MO_F16, nan, inf, inf).ok);
    cr_expect(judge_one(MO_F16, nan, nan, nan).ok);
    cr_expect_not(judge_one(MO_F16, 1.0, nan, nan).ok);
    cr_expect_not(judge_one(MO_F16, nan, 1.0, 1.0).ok);
    cr_expect_not(judge_one(MO_F16, inf, 1.0, 1.0).ok);
    /* 65520 and more round to infinity: on either side of it both answers will do, far from it neither. */
    cr_expect(judge_one(MO_F16, inf, 65519.0, 65504.0).ok);
    cr_expect(judge_one(MO_F16, 65504.0, 65521.0, inf).ok);
    cr_expect_not(judge_one(MO_F16, -inf, 65519.0, 65504.0).ok);
    cr_expect_not(judge_one(MO_F16, inf, 60000.0, 60000.0).ok);
    cr_expect_not(judge_one(MO_F16, 65504.0, 70000.0, inf).ok);
    /* A yardstick that overflows where the reference does not says nothing. */
    cr_expect(judge_one(MO_F16, 1.0, 1.0, inf).skipped);
    cr_expect_not(judge_one(MO_F16, 1.0, 1.0, inf).ok);
}

Test(accept, zero_and_subnormal_rows)
{
    cr_expect(judge_one(MO_F16, 0.0, 0.0, 0.0).ok);
    cr_expect(judge_one(MO_F16, 0x1p-24, 0.0, 0.0).ok, "one subnormal step");
    cr_expect_not(judge_one(MO_F16, 0.01, 0.0, 0.0).ok);
    cr_expect(judge_one(MO_F16, 0x1p-23, 0x1p-24, 0x1p-24).ok);
    cr_expect_not(judge_one(MO_F16, 0x1p-21, 0x1p-24, 0x1p-24).ok);
    cr_expect_not(judge_one(MO_F32, 1.001, 1.0, 1.0).ok);
    cr_expect(judge_one(MO_F16, 1.0009765625, 1.0, 1.0).ok, "one unit in the last place");
}

Test(accept, the_factor_counts)
{
    mo_tensor t = plain(MO_F32, 1, 1);
    double out = 1.0 + 3e-5, reference = 1.0, yardstick = 1.0 + 1e-5;
    cr_expect(mo_accept_output(&t, 4.0, 1, &out, &reference, &yardstick).ok);
    cr_expect_not(mo_accept_output(&t, 2.0, 1, &out, &reference, &yardstick).ok);
    mo_accept_result r = mo_accept_output(&t, 4.0, 100, &out, &reference, &yardstick);
    cr_expect(fabs(r.allowed - (4 * r.yardstick + 0x1p-23 + 160 * 0x1p-24)) < 1e-12);
}
