/* The numeric gate: what its sets share, and whose numbers an entry shows. */
#include "profile/numeric.h"

#include "parse/parse.h"
#include "verify/inputs.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { ROWS = 4, COLUMNS = 64, COUNT = ROWS * COLUMNS };

/* The sets of both programs: no exponentials, and rows enough. Their order is that of the kinds. */
enum { RANDOM, OFFSET_100, OFFSET_1000, LARGE, ZERO, INFINITE, SETS };

static const char twice_text[] =
    "{\"format\": \"mirage-opt/1\", \"name\": \"twice\","
    " \"inputs\": [{\"name\": \"X\", \"shape\": [4, 64], \"dtype\": \"f32\"}],"
    " \"nodes\": [{\"op\": \"mul\", \"inputs\": [\"X\", 2], \"output\": \"Y\"}], \"outputs\": [\"Y\"]}";

static const char product_text[] =
    "{\"format\": \"mirage-opt/1\", \"name\": \"product\","
    " \"inputs\": [{\"name\": \"X\", \"shape\": [4, 64], \"dtype\": \"f16\"},"
    "              {\"name\": \"W\", \"shape\": [64, 32], \"dtype\": \"f16\"}],"
    " \"nodes\": [{\"op\": \"matmul\", \"inputs\": [\"X\", \"W\"], \"output\": \"Y\"}],"
    " \"outputs\": [\"Y\"]}";

typedef struct {
    mo_arena *arena;
    mo_numeric_gate *gate;
    float out[SETS][COUNT]; /* of `twice`: what it should give */
    const void *outputs[SETS];
    mo_numeric_entry entry;
} fixture;

static mo_numeric_gate *gate_of(mo_arena *arena, const char *text, int threads)
{
    mo_program *program;
    mo_error error = {0};
    mo_status s = mo_parse_program(arena, "test.json", text, strlen(text), &program, NULL, &error);
    cr_assert_eq(s, MO_OK, "%s", error.text);
    return mo_numeric_new(arena, program, 7, 4, NULL, threads);
}

static void open_fixture(fixture *f)
{
    memset(f, 0, sizeof *f);
    f->arena = mo_arena_new();
    f->gate = gate_of(f->arena, twice_text, 2);
    cr_assert_eq(mo_numeric_sets(f->gate), SETS);
    for (int s = 0; s < SETS; s++) {
        const float *in = mo_numeric_contents(f->gate)[s];
        for (int i = 0; i < COUNT; i++) f->out[s][i] = 2 * in[i];
        f->outputs[s] = f->out[s];
    }
}

static void judge(fixture *f)
{
    mo_numeric_judge(f->gate, f->outputs, &f->entry);
}

Test(numeric, exact_results_pass)
{
    fixture f;
    open_fixture(&f);
    judge(&f);
    cr_assert(f.entry.ok && f.entry.judged == SETS && f.entry.skipped == 0);
    cr_assert(f.entry.error == 0 && f.entry.max_abs == 0 && f.entry.inputs != NULL);
    mo_arena_free(f.arena);
}

/* Small errors everywhere: the largest absolute one in the set with the large offset, the largest relative
 * one among random inputs, which decides. */
Test(numeric, an_entry_is_of_one_set)
{
    fixture f;
    open_fixture(&f);
    f.out[RANDOM][3] += 1e-5f;
    f.out[OFFSET_1000][3] += 1e-3f;
    judge(&f);
    cr_assert(f.entry.ok);
    cr_assert_str_eq(f.entry.inputs, "random");
    cr_assert_lt(f.entry.max_abs, 2e-5);
    cr_assert(f.entry.error > 1e-7 && f.entry.error < 2e-6, "%g", f.entry.error);
    mo_arena_free(f.arena);
}

Test(numeric, a_failure_decides)
{
    fixture f;
    open_fixture(&f);
    f.out[RANDOM][3] += 1e-5f;
    f.out[OFFSET_1000][3] += 50.0f;
    judge(&f);
    cr_assert_not(f.entry.ok);
    cr_assert_str_eq(f.entry.inputs, "offset-1000");
    cr_assert(fabs(f.entry.max_abs - 50) < 0.01 && f.entry.error > f.entry.allowed);
    f.out[OFFSET_1000][3] -= 50.0f;
    f.out[ZERO][3] = NAN; /* no larger error than before, but the wrong class */
    judge(&f);
    cr_assert_not(f.entry.ok);
    cr_assert_str_eq(f.entry.inputs, "zero");
    mo_arena_free(f.arena);
}

Test(numeric, inputs_that_do_not_differ_are_there_once)
{
    mo_arena *arena = mo_arena_new();
    const void *const *contents = mo_numeric_contents(gate_of(arena, product_text, 3));
    for (int s = 1; s < SETS; s++) {
        cr_assert_eq(contents[2 * s + 1], contents[1], "weights of set %d", s);
        cr_assert_neq(contents[2 * s], contents[0]);
        cr_assert_neq(memcmp(contents[2 * s], contents[0], COUNT * 2), 0, "activations of set %d", s);
    }
    mo_arena_free(arena);
}

/* Contents and verdicts do not hang on the number of threads. */
Test(numeric, any_number_of_threads)
{
    enum { OUTPUTS = ROWS * 32 };
    mo_arena *arena = mo_arena_new();
    mo_numeric_gate *one = gate_of(arena, product_text, 1), *many = gate_of(arena, product_text, 40);
    static const unsigned short zeros[OUTPUTS];
    const void *outputs[SETS];
    mo_numeric_entry a, b;
    for (int s = 0; s < SETS; s++) {
        outputs[s] = zeros;
        for (int i = 0; i < 2; i++) {
            const void *x = mo_numeric_contents(one)[2 * s + i], *y = mo_numeric_contents(many)[2 * s + i];
            cr_assert_eq(memcmp(x, y, (size_t)mo_numeric_input_bytes(one)[i]), 0, "set %d, input %d", s, i);
        }
    }
    mo_numeric_judge(one, outputs, &a);
    mo_numeric_judge(many, outputs, &b);
    cr_assert(!a.ok && !b.ok && a.error == b.error && a.yardstick == b.yardstick && a.max_abs == b.max_abs);
    cr_assert_str_eq(a.inputs, b.inputs);
    mo_arena_free(arena);
}
