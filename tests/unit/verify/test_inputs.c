/* The input sets: which ones a program gets, and that they hold what their names say. */
#include "verify/inputs.h"

#include "programs.h"
#include "verify/oracle.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define INPUT(name, shape, dtype) "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"" dtype "\"}"
#define N(op, in, out) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"}"
#define NA(op, in, out, attrs) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"," attrs "}"

#define ATTENTION_INPUTS(dtype) \
    INPUT("Q", "[2,24,64]", dtype) "," INPUT("K", "[2,96,64]", dtype) "," INPUT("V", "[2,96,32]", dtype)
#define ATTENTION_NODES                                              \
    NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true")         \
    "," N("mul", "\"s\",0.125", "c") "," NA("softmax", "\"c\"", "p", \
                                            "\"axis\":-1") "," N("matmul", "\"p\",\"V\"", "o")
#define GATED_INPUTS(rows) \
    INPUT("X", "[" rows ",128]", "f16") "," INPUT("W", "[128,64]", "f16") "," INPUT("U", "[128,64]", "f16")
#define GATED_NODES                 \
    N("matmul", "\"X\",\"W\"", "a") \
    "," N("matmul", "\"X\",\"U\"", "b") "," N("silu", "\"a\"", "g") "," N("mul", "\"g\",\"b\"", "o")

typedef struct {
    mo_arena *arena;
    const mo_program *program;
    const mo_inputs_plan *plan;
    double **inputs, *peaks;
} fixture;

/* Draws a set, and notes the magnitudes that the program reaches with it. */
static void draw(fixture *f, mo_inputs_kind kind)
{
    double **values = MO_NEW_ARRAY(f->arena, double *, f->program->n_tensors);
    mo_oracle_options options = {.mode = MO_ORACLE_F64, .threads = 1, .peaks = f->peaks};
    mo_inputs_draw(f->plan, kind, 5, f->inputs);
    mo_oracle_run(f->program, &options, (const double *const *)f->inputs, values);
    mo_oracle_free(f->program, values);
}

static fixture prepare(const char *inputs, const char *nodes)
{
    fixture f = {.arena = mo_arena_new()};
    f.program = test_program(f.arena, inputs, nodes, "\"o\"");
    f.inputs = MO_NEW_ARRAY(f.arena, double *, f.program->n_inputs);
    for (int t = 0; t < f.program->n_inputs; t++)
        f.inputs[t] = MO_NEW_ARRAY(f.arena, double, mo_shape_elements(f.program->tensors[t].shape));
    f.peaks = MO_NEW_ARRAY(f.arena, double, f.program->n_tensors);
    f.plan = mo_inputs_plan_new(f.arena, f.program, NULL);
    draw(&f, MO_INPUTS_RANDOM);
    f.plan = mo_inputs_plan_new(f.arena, f.program, f.peaks);
    return f;
}

static bool has(const fixture *f, mo_inputs_kind kind)
{
    for (int i = 0; i < f->plan->n_sets; i++)
        if (f->plan->sets[i] == kind) return true;
    return false;
}

/* "random zero ...": the sets of the plan. */
static const char *sets_of(const fixture *f)
{
    const char *text = "";
    for (int i = 0; i < f->plan->n_sets; i++)
        text = mo_arena_printf(f->arena, "%s%s%s", text, i > 0 ? " " : "", mo_inputs_name(f->plan->sets[i]));
    return text;
}

Test(inputs, programs_get_the_sets_that_say_something)
{
    static const struct {
        const char *inputs, *nodes, *sets;
    } cases[] = {
        {ATTENTION_INPUTS("f16"), ATTENTION_NODES,
         "random offset-100 offset-1000 large zero logits-50 logits-60000 infinite"},
        {GATED_INPUTS("8"), GATED_NODES,
         "random offset-100 offset-1000 large zero logits-50 logits-60000 infinite"},
        {GATED_INPUTS("1"), GATED_NODES,
         "random offset-100 offset-1000 large zero tiny logits-50 logits-60000 infinite nan"},
        {INPUT("X", "[8,64]", "f32"), NA("sum", "\"X\"", "o", "\"axes\":[-1]"),
         "random offset-100 offset-1000 large zero infinite"},
        {INPUT("x", "[64]", "f32"), N("square", "\"x\"", "o"), "random"},
        /* What a norm bounds cannot be scaled; its rows reach every result through the right operand. */
        {INPUT("X", "[8,64]", "f16"),
         NA("rms_norm", "\"X\"", "n", "\"axes\":[-1],\"eps\":1e-5") "," NA(
             "matmul", "\"n\",\"n\"", "s", "\"transpose_b\":true") "," NA("softmax", "\"s\"", "o",
                                                                          "\"axis\":-1"),
         "random offset-100 offset-1000 large zero"},
        /* Behind two products the logits are not exact. */
        {INPUT("X", "[8,64]", "f16") "," INPUT("W", "[64,64]", "f16") "," INPUT("U", "[64,32]", "f16"),
         N("matmul", "\"X\",\"W\"", "a") "," N("matmul", "\"a\",\"U\"", "s") "," NA("softmax", "\"s\"", "o",
                                                                                    "\"axis\":-1"),
         "random offset-100 offset-1000 large zero logits-50 infinite"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = prepare(cases[i].inputs, cases[i].nodes);
        cr_expect_str_eq(sets_of(&f), cases[i].sets, "case %d: %s", (int)i, sets_of(&f));
        mo_arena_free(f.arena);
    }
}

Test(inputs, weights_are_scaled_and_offsets_have_their_spread)
{
    fixture f = prepare(INPUT("X", "[64,512]", "f16") "," INPUT("W", "[64,512]", "f16"),
                        NA("transpose", "\"W\"", "t", "\"perm\":[1,0]") "," N("matmul", "\"X\",\"t\"", "o"));
    cr_assert_eq(mo_inputs_right_length(f.program, 1), 512);
    cr_assert_eq(mo_inputs_right_length(f.program, 0), 0);
    static const struct {
        mo_inputs_kind kind;
        double offset, spread; /* 8 units in the last place of 1000 in f16 are 4 */
    } cases[] = {{MO_INPUTS_RANDOM, 0, 1}, {MO_INPUTS_OFFSET_100, 100, 1}, {MO_INPUTS_OFFSET_1000, 1000, 4}};
    for (int c = 0; c < 3; c++) {
        const char *name = mo_inputs_name(cases[c].kind);
        draw(&f, cases[c].kind);
        double mean = 0, squares = 0, weights = 0, spread = cases[c].spread;
        for (int i = 0; i < 512; i++) mean += f.inputs[0][i] / 512;
        for (int i = 0; i < 512; i++) squares += pow(f.inputs[0][i] - mean, 2) / 512;
        for (int i = 0; i < 64 * 512; i++) weights += f.inputs[1][i] * f.inputs[1][i] / (64 * 512);
        cr_expect(fabs(weights * 512 - 1) < 0.1, "%s: variance %g", name, weights);
        cr_expect(fabs(fabs(mean) - cases[c].offset) < 0.2 * spread, "%s: mean %g", name, mean);
        cr_expect(fabs(sqrt(squares) - spread) < 0.2 * spread, "%s: spread %g", name, sqrt(squares));
    }
    mo_arena_free(f.arena);
}

/* What a row of an input holds. */
typedef struct {
    double rms; /* of what is finite */
    int infinities, nans, zeros;
    bool infinite_first, infinite_last;
} row_facts;

static row_facts facts_of(const fixture *f, int input, int64_t row)
{
    const mo_tensor *t = &f->program->tensors[input];
    int64_t length = t->shape.dim[t->shape.rank - 1];
    const double *x = f->inputs[input] + row * length;
    row_facts r = {.infinite_first = isinf(x[0]), .infinite_last = isinf(x[length - 1])};
    double squares = 0;
    for (int64_t i = 0; i < length; i++) {
        cr_expect(isnan(x[i]) || x[i] == mo_dtype_round(t->dtype, x[i]));
        r.nans += isnan(x[i]);
        r.infinities += isinf(x[i]) && x[i] < 0;
        r.zeros += x[i] == 0.0;
        squares += isfinite(x[i]) ? x[i] * x[i] : 0.0;
    }
    r.rms = sqrt(squares / (double)length);
    return r;
}

static void expect_rms(const fixture *f, int64_t row, double wanted)
{
    row_facts r = facts_of(f, 0, row);
    cr_expect(fabs(r.rms / wanted - 1) < 0.35 && r.nans + r.infinities == 0, "row %d: %g, not %g", (int)row,
              r.rms, wanted);
}

Test(inputs, large_and_small_rows)
{
    fixture f = prepare(INPUT("X", "[8,128]", "f16") "," INPUT("W", "[128,64]", "f16"),
                        N("matmul", "\"X\",\"W\"", "o"));
    draw(&f, MO_INPUTS_LARGE);
    for (int row = 0; row < 8; row++) expect_rms(&f, row, (const double[]){8192, 1, 256}[row % 3]);
    cr_expect(f.peaks[2] < 65504, "what a product makes of it is an f16: %g", f.peaks[2]);
    for (int tiny = 0; tiny < 2; tiny++) {
        draw(&f, tiny ? MO_INPUTS_TINY : MO_INPUTS_ZERO);
        for (int row = 0; row < 8; row++) {
            int kind = (row + tiny) % 3;
            if (kind == 0) cr_expect_eq(facts_of(&f, 0, row).zeros, 128);
            if (kind > 0) expect_rms(&f, row, kind == 1 ? 0x1p-10 : 1.0);
        }
    }
    mo_arena_free(f.arena);
}

Test(inputs, rows_that_are_not_finite)
{
    fixture f = prepare(GATED_INPUTS("14"), GATED_NODES);
    static const int infinities[] = {64, 0, 0, 128, 64, 0};
    bool at_the_end = false;
    for (int shift = 0; shift < 2; shift++) {
        draw(&f, shift ? MO_INPUTS_NAN : MO_INPUTS_INFINITE);
        for (int row = 0; row < 14; row++) {
            int kind = (row + shift) % 6;
            row_facts r = facts_of(&f, 0, row);
            cr_expect_eq(r.infinities, infinities[kind], "row %d: %d", row, r.infinities);
            cr_expect_eq(r.nans, kind == 1, "row %d: %d", row, r.nans);
            cr_expect_eq(r.infinite_first, kind == 0 || kind == 3);
            cr_expect_eq(r.infinite_last, kind == 3 || kind == 4);
            cr_expect(kind != 2 || (r.rms > 0x1p-20 && r.rms < 0x1p-17), "row %d: %g", row, r.rms);
            if (kind == 1) at_the_end |= isnan(f.inputs[0][row * 128 + 127]);
        }
        for (int row = 0; row < 128; row++) /* weights stay what they are */
            cr_expect_eq(facts_of(&f, 1, row).infinities + facts_of(&f, 1, row).nans, 0);
    }
    cr_expect(at_the_end);
    mo_arena_free(f.arena);
}

/* Two inputs take turns, and one whose rows meet every result has none. */
Test(inputs, one_input_at_a_time_is_not_finite)
{
    fixture f = prepare(
        INPUT("X", "[12,64]", "f16") "," INPUT("Z", "[12,64]", "f16") "," INPUT("R", "[64,64]", "f16"),
        N("add", "\"X\",\"Z\"", "a") "," N("square", "\"R\"", "r") "," N("matmul", "\"a\",\"r\"", "o"));
    int special[2] = {0, 0};
    draw(&f, MO_INPUTS_INFINITE);
    for (int row = 0; row < 12; row++) {
        bool hit[2];
        for (int t = 0; t < 2; t++) {
            row_facts r = facts_of(&f, t, row);
            hit[t] = r.infinities + r.nans > 0 || r.rms < 1e-5;
            special[t] += hit[t];
        }
        cr_expect_not(hit[0] && hit[1], "row %d", row);
    }
    cr_expect_eq(special[0], 5);
    cr_expect_eq(special[1], 5);
    for (int row = 0; row < 64; row++) cr_expect(isfinite(facts_of(&f, 2, row).rms));
    cr_expect_not(mo_inputs_differ(f.plan, MO_INPUTS_INFINITE, 2));
    cr_expect(mo_inputs_differ(f.plan, MO_INPUTS_LARGE, 2));
    mo_arena_free(f.arena);
}

/* What the exponential reads reaches 50 and 60000, whatever stands before it. */
Test(inputs, logits_reach_their_magnitude)
{
    static const struct {
        const char *inputs, *nodes;
        double least[MO_LOGITS]; /* 0: no such set */
    } cases[] = {
        {ATTENTION_INPUTS("f16"), ATTENTION_NODES, {45, 45000}},
        {ATTENTION_INPUTS("bf16"), ATTENTION_NODES, {45, 45000}},
        {ATTENTION_INPUTS("f32"), ATTENTION_NODES, {45, 45000}},
        {GATED_INPUTS("8"), GATED_NODES, {45, 40000}},
        {INPUT("X", "[8,64]", "f16"), NA("softmax", "\"X\"", "o", "\"axis\":-1"), {45, 45000}},
        {INPUT("X", "[8,64]", "f16"), N("tanh", "\"X\"", "o"), {45, 45000}},
        /* A norm in front of the weights: those grow. */
        {INPUT("X", "[8,64]", "f16") "," INPUT("W", "[64,96]", "f16"),
         NA("rms_norm", "\"X\"", "n", "\"axes\":[-1],\"eps\":1e-5") "," N("matmul", "\"n\",\"W\"",
                                                                          "s") "," N("sigmoid", "\"s\"", "o"),
         {45, 45000}},
        /* A bias, which is not scaled with the first of them, and a number to divide by. */
        {INPUT("X", "[8,64]", "f32") "," INPUT("b", "[64]", "f32"),
         N("add", "\"X\",\"b\"", "s") "," N("div", "\"s\",8", "t") "," N("exp", "\"t\"", "o"),
         {30, 45000}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture f = prepare(cases[i].inputs, cases[i].nodes);
        const mo_node *node = &f.program->nodes[mo_inputs_exponential(f.program)];
        for (int l = 0; l < MO_LOGITS; l++) {
            mo_inputs_kind kind = l == 0 ? MO_INPUTS_LOGITS_50 : MO_INPUTS_LOGITS_60000;
            cr_assert(has(&f, kind), "case %d", (int)i);
            draw(&f, kind);
            double peak = f.peaks[node->inputs[0].tensor];
            cr_expect(peak >= cases[i].least[l] && peak <= (l == 0 ? 55 : 65504), "case %d: %g", (int)i,
                      peak);
        }
        mo_arena_free(f.arena);
    }
}

/* Operands of a sharp exponential are the same in f32 as in float64, whatever the order. */
Test(inputs, the_largest_logits_are_exact)
{
    static const char *const inputs[] = {ATTENTION_INPUTS("f16"), ATTENTION_INPUTS("bf16"),
                                         ATTENTION_INPUTS("f32")};
    for (int i = 0; i < 3; i++) {
        fixture f = prepare(inputs[i], ATTENTION_NODES);
        double **values[2];
        draw(&f, MO_INPUTS_LOGITS_60000);
        for (int mode = 0; mode < 2; mode++) {
            mo_oracle_options options = {
                .mode = mode == 0 ? MO_ORACLE_F64 : MO_ORACLE_YARDSTICK, .threads = 1, .keep_all = true};
            values[mode] = MO_NEW_ARRAY(f.arena, double *, f.program->n_tensors);
            mo_oracle_run(f.program, &options, (const double *const *)f.inputs, values[mode]);
        }
        int operand = f.program->nodes[mo_inputs_exponential(f.program)].inputs[0].tensor;
        size_t bytes = sizeof(double) * (size_t)mo_shape_elements(f.program->tensors[operand].shape);
        cr_expect_eq(memcmp(values[0][operand], values[1][operand], bytes), 0, "inputs %d", i);
        for (int mode = 0; mode < 2; mode++) mo_oracle_free(f.program, values[mode]);
        mo_arena_free(f.arena);
    }
}

Test(inputs, memory_form)
{
    mo_arena *arena = mo_arena_new();
    mo_program *p = test_program(arena,
                                 "{\"name\":\"X\",\"shape\":[2,3],\"dtype\":\"bf16\",\"strides\":[1,4]},"
                                 "{\"name\":\"B\",\"shape\":[2,2],\"dtype\":\"f32\",\"strides\":[0,1]}",
                                 N("add", "\"X\",1", "o") "," N("add", "\"B\",1", "q"), "\"o\",\"q\"");
    double *in[2] = {MO_NEW_ARRAY(arena, double, 6), MO_NEW_ARRAY(arena, double, 4)};
    mo_inputs_draw(mo_inputs_plan_new(arena, p, NULL), MO_INPUTS_RANDOM, 3, in);
    cr_expect_eq(in[1][0], in[1][2], "broadcast rows share their values");
    cr_expect_eq(in[1][1], in[1][3]);
    cr_assert_eq(mo_input_span(&p->tensors[0]), 10);
    uint16_t bytes[10];
    const double x[] = {1, 2, 3, -4, 5, 6};
    mo_pack_input(&p->tensors[0], x, bytes);
    const double wanted[] = {1, -4, 0, 0, 2, 5, 0, 0, 3, 6};
    for (int i = 0; i < 10; i++) cr_expect_eq(mo_dtype_decode(MO_BF16, bytes[i]), wanted[i], "%d", i);
    double back[6];
    mo_tensor output = p->tensors[p->outputs[0]];
    mo_unpack_output(&output, bytes, back);
    cr_expect_eq(back[1], -4.0);
    mo_arena_free(arena);
}
