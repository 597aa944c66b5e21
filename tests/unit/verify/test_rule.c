/* The numeric rule against simulated kernels: those that compute in f32 pass whatever the order of their
 * sums, on every draw and every set of inputs; those with a shortcut fail on every draw. */
#include "verify/accept.h"

#include "base/rng.h"
#include "programs.h"
#include "verify/inputs.h"
#include "verify/oracle.h"

#include <criterion/criterion.h>
#include <math.h>

#define INPUT(name, shape, dtype) "{\"name\":\"" name "\",\"shape\":" shape ",\"dtype\":\"" dtype "\"}"
#define N(op, in, out) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"}"
#define NA(op, in, out, attrs) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"," attrs "}"

enum { DRAWS = 1000, LONGEST = 4096 };

/* ---- programs, and what they should give ---- */

typedef struct {
    mo_arena *arena;
    const mo_program *program;
    const mo_inputs_plan *plan;
    double **inputs, **reference, **yardstick, *peaks, *out;
} fixture;

static void release(fixture *f)
{
    mo_oracle_free(f->program, f->reference);
    mo_oracle_free(f->program, f->yardstick);
}

static void draw(fixture *f, mo_inputs_kind kind, uint64_t seed)
{
    const double *const *in = (const double *const *)f->inputs;
    release(f);
    mo_inputs_draw(f->plan, kind, seed, f->inputs);
    mo_oracle_run(f->program, &(mo_oracle_options){.threads = 1, .peaks = f->peaks}, in, f->reference);
    mo_oracle_run(f->program, &(mo_oracle_options){.mode = MO_ORACLE_YARDSTICK, .threads = 1}, in,
                  f->yardstick);
}

static const mo_tensor *output_of(const fixture *f)
{
    return &f->program->tensors[f->program->outputs[0]];
}

static fixture open_fixture(const char *inputs, const char *nodes)
{
    fixture f = {.arena = mo_arena_new()};
    f.program = test_program(f.arena, inputs, nodes, "\"o\"");
    int n = f.program->n_tensors;
    f.inputs = MO_NEW_ARRAY(f.arena, double *, n);
    for (int t = 0; t < f.program->n_inputs; t++)
        f.inputs[t] = MO_NEW_ARRAY(f.arena, double, mo_shape_elements(f.program->tensors[t].shape));
    f.reference = MO_NEW_ARRAY(f.arena, double *, n);
    f.yardstick = MO_NEW_ARRAY(f.arena, double *, n);
    f.peaks = MO_NEW_ARRAY(f.arena, double, n);
    f.out = MO_NEW_ARRAY(f.arena, double, mo_shape_elements(output_of(&f)->shape));
    f.plan = mo_inputs_plan_new(f.arena, f.program, NULL);
    draw(&f, MO_INPUTS_RANDOM, 0);
    f.plan = mo_inputs_plan_new(f.arena, f.program, f.peaks);
    return f;
}

static void close_fixture(fixture *f)
{
    release(f);
    mo_arena_free(f->arena);
}

static mo_accept_result judge(const fixture *f)
{
    int o = f->program->outputs[0];
    const mo_tensor *tensor = output_of(f);
    for (int64_t i = 0; i < mo_shape_elements(tensor->shape); i++)
        f->out[i] = mo_dtype_round(tensor->dtype, f->out[i]);
    return mo_accept_output(tensor, 4.0, mo_accept_longest(f->program), f->out, f->reference[o],
                            f->yardstick[o]);
}

/* ---- sums ---- */

typedef enum { UPWARD, DOWNWARD, PAIRWISE, SHUFFLED, PARTS, LANES, BLOCKS, ORDERS } order;

static float sum_range(const float *x, int64_t first, int64_t last)
{
    float sum = 0;
    for (int64_t i = first; i < last; i++) sum += x[i];
    return sum;
}

static float sum_pairs(const float *x, int64_t n)
{
    return n == 1 ? x[0] : sum_pairs(x, n / 2) + sum_pairs(x + n / 2, n - n / 2);
}

static float sum_shuffled(const float *x, int64_t n, mo_rng *rng)
{
    static float copy[LONGEST];
    float sum = 0;
    for (int64_t i = 0; i < n; i++) copy[i] = x[i];
    for (int64_t i = n; i > 0; i--) {
        int64_t chosen = (int64_t)mo_rng_below(rng, (uint64_t)i);
        sum += copy[chosen];
        copy[chosen] = copy[i - 1];
    }
    return sum;
}

/* Threads that take every 32nd element each, and then a tree over them. */
static float sum_lanes(const float *x, int64_t n)
{
    float lane[32] = {0};
    for (int64_t i = 0; i < n; i++) lane[i % 32] += x[i];
    return sum_pairs(lane, 32);
}

/* Blocks of 16 by themselves, added one after the other: the steps of a matrix unit. */
static float sum_blocks(const float *x, int64_t n)
{
    float sum = 0;
    for (int64_t i = 0; i < n; i += 16) sum += sum_range(x, i, i + 16 < n ? i + 16 : n);
    return sum;
}

static float sum_in(order how, const float *x, int64_t n, mo_rng *rng)
{
    float sum = 0;
    switch (how) {
    case UPWARD: return sum_range(x, 0, n);
    case DOWNWARD:
        for (int64_t i = n - 1; i >= 0; i--) sum += x[i];
        return sum;
    case PAIRWISE: return sum_pairs(x, n);
    case SHUFFLED: return sum_shuffled(x, n, rng);
    case PARTS:
        for (int64_t part = 0; part < 7; part++) sum += sum_range(x, part * n / 7, (part + 1) * n / 7);
        return sum;
    case LANES: return sum_lanes(x, n);
    default: return sum_blocks(x, n);
    }
}

/* ---- kernels ---- */

/* What they take: the inputs of the fixture, the order, and random numbers for it. */
typedef struct {
    const fixture *f;
    order how;
    mo_rng rng;
    int64_t dropped; /* elements at the end of each sum that are forgotten */
    bool half;       /* sums in f16 */
    bool one_pass;   /* variance */
} kernel;

static int64_t extent(const kernel *k, int input, int from_last)
{
    const mo_shape *s = &k->f->program->tensors[input].shape;
    return s->dim[s->rank - 1 - from_last];
}

static float element(const kernel *k, int input, int64_t i)
{
    return (float)k->f->inputs[input][i];
}

static float add_up(kernel *k, const float *x, int64_t n)
{
    if (!k->half) return sum_in(k->how, x, n - k->dropped, &k->rng);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum = mo_dtype_round(MO_F16, sum + (double)x[i]);
    return (float)sum;
}

/* o = X W. */
static void run_product(kernel *k)
{
    static float terms[32768];
    int64_t length = extent(k, 0, 0), rows = extent(k, 0, 1), columns = extent(k, 1, 0);
    for (int64_t i = 0; i < rows * columns; i++) {
        for (int64_t l = 0; l < length; l++)
            terms[l] = element(k, 0, i / columns * length + l) * element(k, 1, l * columns + i % columns);
        k->f->out[i] = (double)add_up(k, terms, length);
    }
}

/* o = sum of X over its last dimension. */
static void run_sum(kernel *k)
{
    static float terms[LONGEST];
    int64_t length = extent(k, 0, 0), rows = extent(k, 0, 1);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t l = 0; l < length; l++) terms[l] = element(k, 0, i * length + l);
        k->f->out[i] = (double)add_up(k, terms, length);
    }
}

/* o = layer_norm(X), eps 1e-5. */
static void run_norm(kernel *k)
{
    static float x[LONGEST], terms[LONGEST];
    int64_t n = extent(k, 0, 0), rows = extent(k, 0, 1);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t l = 0; l < n; l++) x[l] = element(k, 0, i * n + l);
        float mean = add_up(k, x, n) / (float)n;
        for (int64_t l = 0; l < n; l++) terms[l] = k->one_pass ? x[l] * x[l] : (x[l] - mean) * (x[l] - mean);
        float variance = add_up(k, terms, n) / (float)n;
        if (k->one_pass) variance = fmaxf(variance - mean * mean, 0.0f);
        for (int64_t l = 0; l < n; l++)
            k->f->out[i * n + l] = (double)((x[l] - mean) / sqrtf(variance + 1e-5f));
    }
}

/* o = rms_norm(X), eps 1e-5. */
static void run_rms(kernel *k)
{
    static float x[LONGEST], terms[LONGEST];
    int64_t n = extent(k, 0, 0), rows = extent(k, 0, 1);
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t l = 0; l < n; l++) {
            x[l] = element(k, 0, i * n + l);
            terms[l] = x[l] * x[l];
        }
        float scale = 1.0f / sqrtf(add_up(k, terms, n) / (float)n + 1e-5f);
        for (int64_t l = 0; l < n; l++) k->f->out[i * n + l] = (double)(x[l] * scale);
    }
}

/* Probabilities of one query, without the division, in the dtype that the second product reads; their sum. */
static float attend(kernel *k, int64_t query, float *p)
{
    float terms[64], top = -INFINITY, sum = 0;
    static float unrounded[LONGEST];
    int64_t depth = extent(k, 0, 0), keys = extent(k, 1, 1);
    int64_t dropped = k->dropped;
    k->dropped = 0;
    for (int64_t j = 0; j < keys; j++) {
        for (int64_t l = 0; l < depth; l++)
            terms[l] = element(k, 0, query * depth + l) * element(k, 1, j * depth + l);
        p[j] = add_up(k, terms, depth);
        top = isnan(p[j]) || p[j] > top ? p[j] : top;
    }
    k->dropped = dropped;
    for (int64_t j = 0; j < keys; j++) {
        unrounded[j] = expf(p[j] - top);
        p[j] = (float)mo_dtype_round(k->f->program->tensors[2].compute, (double)unrounded[j]);
    }
    sum = add_up(k, unrounded, keys);
    return sum;
}

/* o = softmax(Q K^T) V. */
static void run_attention(kernel *k)
{
    static float p[LONGEST], terms[LONGEST];
    int64_t queries = extent(k, 0, 1), keys = extent(k, 1, 1), columns = extent(k, 2, 0);
    for (int64_t i = 0; i < queries; i++) {
        float sum = attend(k, i, p);
        for (int64_t c = 0; c < columns; c++) {
            for (int64_t j = 0; j < keys; j++) terms[j] = p[j] * element(k, 2, j * columns + c);
            k->f->out[i * columns + c] = (double)(add_up(k, terms, keys) / sum);
        }
    }
}

/* ---- what passes ---- */

typedef struct {
    const char *inputs, *nodes;
    void (*run)(kernel *k);
} subject;

/* Every order on `draws` draws, which go through the sets of the plan. */
static void expect_passes(const subject *s, int draws)
{
    fixture f = open_fixture(s->inputs, s->nodes);
    int judged = 0;
    for (int d = 0; d < draws; d++) {
        mo_inputs_kind kind = f.plan->sets[d % f.plan->n_sets];
        draw(&f, kind, (uint64_t)d);
        for (int how = 0; how < ORDERS; how++) {
            kernel k = {.f = &f, .how = (order)how, .rng = mo_rng_seed((uint64_t)d, 3)};
            s->run(&k);
            mo_accept_result r = judge(&f);
            judged += !r.skipped;
            cr_expect(r.ok || r.skipped, "%s: draw %d, %s, order %d: error %g, yardstick %g, allowed %g",
                      s->inputs, d, mo_inputs_name(kind), how, r.error, r.yardstick, r.allowed);
        }
    }
    cr_expect(judged > draws * ORDERS * 3 / 4, "%s: only %d", s->inputs, judged);
    close_fixture(&f);
}

#define PRODUCT(rows, length, columns, dtype)                                                           \
    {                                                                                                   \
        INPUT("X", "[" rows "," length "]", dtype)                                                      \
        "," INPUT("W", "[" length "," columns "]", dtype), N("matmul", "\"X\",\"W\"", "o"), run_product \
    }
#define ROWS(shape, dtype, node, run)       \
    {                                       \
        INPUT("X", shape, dtype), node, run \
    }
#define SUM NA("sum", "\"X\"", "o", "\"axes\":[-1]")
#define NORM NA("layer_norm", "\"X\"", "o", "\"axes\":[-1],\"eps\":1e-5")
#define RMS NA("rms_norm", "\"X\"", "o", "\"axes\":[-1],\"eps\":1e-5")
#define ATTENTION(queries, keys, depth, columns, dtype)                                                \
    {                                                                                                  \
        INPUT("Q", "[" queries "," depth "]", dtype)                                                   \
        "," INPUT("K", "[" keys "," depth "]", dtype) "," INPUT("V", "[" keys "," columns "]", dtype), \
            NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA(                           \
                "softmax", "\"s\"", "p", "\"axis\":-1") "," N("matmul", "\"p\",\"V\"", "o"),           \
            run_attention                                                                              \
    }

Test(rule, products_pass_in_every_order)
{
    static const subject subjects[] = {PRODUCT("3", "203", "32", "f16"), PRODUCT("3", "203", "32", "bf16"),
                                       PRODUCT("3", "203", "32", "f32"), PRODUCT("1", "1024", "16", "f32")};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) expect_passes(&subjects[i], DRAWS);
}

Test(rule, sums_of_rows_pass_in_every_order)
{
    static const subject subjects[] = {
        ROWS("[64,512]", "f32", SUM, run_sum), ROWS("[4,512]", "f32", SUM, run_sum),
        ROWS("[1,1024]", "bf16", SUM, run_sum), ROWS("[4,512]", "f16", SUM, run_sum)};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) expect_passes(&subjects[i], DRAWS);
}

Test(rule, norms_pass_in_every_order)
{
    static const subject subjects[] = {
        ROWS("[1,1024]", "f32", NORM, run_norm), ROWS("[4,300]", "f32", NORM, run_norm),
        ROWS("[1,1024]", "f16", NORM, run_norm), ROWS("[2,300]", "f16", NORM, run_norm),
        ROWS("[2,300]", "bf16", NORM, run_norm), ROWS("[1,1024]", "f32", RMS, run_rms),
        ROWS("[2,300]", "f16", RMS, run_rms)};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) expect_passes(&subjects[i], DRAWS);
}

Test(rule, attention_passes_in_every_order)
{
    static const subject subjects[] = {
        ATTENTION("1", "128", "16", "16", "f32"), ATTENTION("4", "128", "16", "16", "f32"),
        ATTENTION("1", "128", "16", "16", "f16"), ATTENTION("4", "128", "16", "16", "bf16")};
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) expect_passes(&subjects[i], DRAWS);
}

/* ---- what fails ---- */

typedef struct {
    subject of;
    mo_inputs_kind kind; /* the set that tells */
    int draws;
    kernel wrong;
} shortcut;

static void expect_failures(const shortcut *s)
{
    fixture f = open_fixture(s->of.inputs, s->of.nodes);
    double least = INFINITY;
    for (int d = 0; d < s->draws; d++) {
        draw(&f, s->kind, (uint64_t)d);
        kernel k = s->wrong;
        k.f = &f;
        k.rng = mo_rng_seed((uint64_t)d, 3);
        s->of.run(&k);
        mo_accept_result r = judge(&f);
        least = fmin(least, r.error / r.allowed);
        cr_expect_not(r.ok, "%s: draw %d: error %g, yardstick %g, allowed %g", s->of.inputs, d, r.error,
                      r.yardstick, r.allowed);
        cr_expect_not(r.skipped);
    }
    cr_log_info("%s, %s: at least %.2f times what is allowed", s->of.inputs, mo_inputs_name(s->kind), least);
    close_fixture(&f);
}

/* 16 of 4096 keys: an attention, the sum of a softmax, a product. */
Test(rule, a_dropped_tail_fails)
{
    static const shortcut cases[] = {
        {ATTENTION("8", "4096", "8", "8", "f16"), MO_INPUTS_RANDOM, 100, {.dropped = 16}},
        {ATTENTION("8", "4096", "8", "8", "bf16"), MO_INPUTS_RANDOM, 100, {.dropped = 16}},
        {ATTENTION("1", "4096", "8", "8", "f16"), MO_INPUTS_RANDOM, 100, {.dropped = 16}},
        {PRODUCT("2", "4096", "32", "bf16"), MO_INPUTS_RANDOM, 100, {.dropped = 16}},
        {PRODUCT("2", "4096", "32", "f16"), MO_INPUTS_RANDOM, 100, {.dropped = 1}},
        {ROWS("[64,4096]", "f16", SUM, run_sum), MO_INPUTS_RANDOM, 50, {.dropped = 16}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_failures(&cases[i]);
}

Test(rule, sums_in_f16_fail)
{
    static const shortcut cases[] = {
        {PRODUCT("4", "18944", "16", "f16"), MO_INPUTS_RANDOM, 50, {.half = true}},
        {ROWS("[64,4096]", "f16", SUM, run_sum), MO_INPUTS_RANDOM, 50, {.half = true}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_failures(&cases[i]);
}

/* In bf16, and in f16 where many threads add, f32 holds the squares well enough: the spread of a row is at
 * least 8 units in the last place of its offset, and that is all that one pass loses. */
Test(rule, one_pass_variance_fails)
{
    static const shortcut cases[] = {
        {ROWS("[8,512]", "f32", NORM, run_norm), MO_INPUTS_OFFSET_1000, DRAWS, {.one_pass = true}},
        {ROWS("[8,512]", "f32", NORM, run_norm),
         MO_INPUTS_OFFSET_1000,
         DRAWS,
         {.how = LANES, .one_pass = true}},
        {ROWS("[8,512]", "f32", NORM, run_norm), MO_INPUTS_OFFSET_100, DRAWS, {.one_pass = true}},
        {ROWS("[8,512]", "f16", NORM, run_norm), MO_INPUTS_OFFSET_1000, DRAWS, {.one_pass = true}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_failures(&cases[i]);
}

/* A row that belongs to its neighbour, among 64 others. */
Test(rule, one_wrong_row_fails)
{
    static const char *const dtypes[] = {"f16", "bf16", "f32"};
    for (int i = 0; i < 3; i++) {
        mo_arena *arena = mo_arena_new();
        const char *inputs = mo_arena_printf(arena,
                                             "{\"name\":\"X\",\"shape\":[64,40],\"dtype\":\"%s\"},"
                                             "{\"name\":\"W\",\"shape\":[40,24],\"dtype\":\"%s\"}",
                                             dtypes[i], dtypes[i]);
        fixture f = open_fixture(inputs, N("matmul", "\"X\",\"W\"", "o"));
        for (int d = 0; d < DRAWS; d++) {
            draw(&f, MO_INPUTS_RANDOM, (uint64_t)d);
            kernel k = {.f = &f, .how = LANES};
            run_product(&k);
            cr_assert(judge(&f).ok);
            int64_t row = d % 63;
            for (int c = 0; c < 24; c++) f.out[row * 24 + c] = f.out[(row + 1) * 24 + c];
            cr_expect_not(judge(&f).ok, "%s: draw %d", dtypes[i], d);
        }
        close_fixture(&f);
        mo_arena_free(arena);
    }
}
