/* The text form: what is printed is read back as the same program. */
#include "generate.h"
#include "parse/text.h"

#include <criterion/criterion.h>
#include <string.h>

static mo_error error;

Test(text, print_parse_print_is_the_identity)
{
    int ops[MO_OP_COUNT] = {0};
    for (uint64_t seed = 0; seed < 2000; seed++) {
        mo_arena *arena = mo_arena_new();
        mo_rng rng = mo_rng_seed(seed, 0);
        mo_program *program = mo_generate_program(arena, &rng, 1 + (int)(seed % 12)), *again;
        mo_str first = {0}, second = {0};
        mo_program_print(&first, program);
        mo_status status = mo_text_parse_program(arena, "t", first.data, first.length, &again, &error);
        cr_assert_eq(status, MO_OK, "seed %d\n%s\n%s", (int)seed, first.data, error.text);
        mo_program_print(&second, again);
        cr_assert_str_eq(first.data, second.data, "seed %d", (int)seed);
        cr_assert(mo_hash_equal(program->hash, again->hash));
        for (int t = 0; t < program->n_tensors; t++) {
            cr_assert_str_eq(program->symbols[t], again->symbols[t]);
            cr_assert_eq(program->tensors[t].compute, again->tensors[t].compute);
            cr_assert_eq(program->tensors[t].producer, again->tensors[t].producer);
        }
        for (int n = 0; n < program->n_nodes; n++) ops[program->nodes[n].op]++;
        mo_str_free(&first);
        mo_str_free(&second);
        mo_arena_free(arena);
    }
    for (int op = 0; op < MO_OP_COUNT; op++) {
        bool used = mo_op_kind_of((mo_op)op) != MO_KIND_STRUCTURE;
        cr_assert_eq(ops[op] > 0, used, "operator %s", mo_op_name((mo_op)op));
    }
}

static void expect_refused(const char *text, const char *message)
{
    mo_arena *arena = mo_arena_new();
    mo_program *program;
    mo_status status = mo_text_parse_program(arena, "t.txt", text, strlen(text), &program, &error);
    cr_expect_eq(status, MO_ERR_USER, "accepted: %s", text);
    cr_expect(strstr(error.text, message) != NULL, "'%s' is not in: %s", message, error.text);
    mo_arena_free(arena);
}

#define HEAD "program \"p\"\ninput \"A\": f16 [2,3]\n"

Test(text, refuses_what_does_not_fit)
{
    static const char *const cases[][2] = {
        {"", "there is no line 'program'"},
        {HEAD, "there is no output"},
        {HEAD "output \"B\"", "t.txt:3:8: error: no tensor with this name"},
        {HEAD "input \"A\": f16 []\n", "this name is taken"},
        {HEAD "input \"B: f16 []\n", "this name has no end"},
        {HEAD "input \"B\": f64 []\n", "unknown dtype 'f64'"},
        {HEAD "input \"B\": f16 [2,0]\n", "size 0"},
        {HEAD "input \"B\": f16 [1,1,1,1,1,1,1,1,1]\n", "rank above 8"},
        {HEAD "input \"B\": f16 [2] strides=[1,2]\n", "one stride for each dimension"},
        {HEAD "tensor \"B\"", "a line starts with"},
        {HEAD "node \"Y\": f16 [3,2] = exp(\"A\")\n", "the declared shape or dtype"},
        {HEAD "node \"Y\": f32 [2,3] = exp(\"A\")\n", "the declared shape or dtype"},
        {HEAD "node \"Y\": f16 [2,3] = expo(\"A\")\n", "unknown operator 'expo'"},
        {HEAD "node \"Y\": f16 [2,3] = exp(\"Y\")\n", "a node needs its own result"},
        {HEAD "node \"Y\": f16 [2,3] = exp(\"A\") axis=1\n", "exp has no attribute 'axis'"},
        {HEAD "node \"Y\": f16 [2,3] = softmax(\"A\")\n", "softmax needs the attribute 'axis'"},
        {HEAD "node \"Y\": f16 [2,3] = softmax(\"A\") axis=1 axis=1\n", "stands twice"},
        {HEAD "node \"Y\": f16 [2,3] = softmax(\"A\") axis=-1\n", "out of range"},
        {HEAD "node \"Y\": f16 [2] = sum(\"A\") axes=[-1]\n", "axis -1 is out of range"},
        {HEAD "node \"Y\": f16 [2,3] = add(\"A\", 1e999)\n", "expected a number"},
        {HEAD "output \"A\" \"A\"\n", "unexpected text at the end of the line"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) expect_refused(cases[i][0], cases[i][1]);
}

Test(text, comments_and_empty_lines_are_skipped)
{
    const char *text = "# a comment\n\n  " HEAD "   # another\noutput \"A\"";
    mo_arena *arena = mo_arena_new();
    mo_program *program;
    cr_assert_eq(mo_text_parse_program(arena, "t", text, strlen(text), &program, &error), MO_OK, "%s",
                 error.text);
    cr_assert_eq(program->n_outputs, 1);
    mo_arena_free(arena);
}
