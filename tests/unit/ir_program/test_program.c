/* Compute dtypes, symbols and the hash of whole programs. */
#include "parse/text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static mo_error error;

static mo_program *program_of(mo_arena *arena, const char *text)
{
    mo_program *program = NULL;
    mo_status status = mo_text_parse_program(arena, "t.txt", text, strlen(text), &program, &error);
    cr_assert_eq(status, MO_OK, "%s", error.text);
    return program;
}

static const mo_tensor *tensor_of(const mo_program *program, const char *name)
{
    for (int i = 0; i < program->n_tensors; i++) {
        if (strcmp(program->tensors[i].name, name) == 0) return &program->tensors[i];
    }
    cr_assert_fail("no tensor %s", name);
    return NULL;
}

Test(program, compute_dtypes)
{
    mo_arena *arena = mo_arena_new();
    const mo_program *p = program_of(arena, "program \"p\"\n"
                                            "input \"h\": f16 [4]\n"
                                            "input \"b\": bf16 [4]\n"
                                            "input \"f\": f32 [4]\n"
                                            "node \"wide\": f32 [4] = cast(\"h\") dtype=f32\n"
                                            "node \"same\": f32 [4] = mul(\"wide\", \"h\")\n"
                                            "node \"number\": f32 [4] = mul(\"wide\", 2.5)\n"
                                            "node \"wide_b\": f32 [4] = exp(\"number\")\n"
                                            "node \"mixed\": f32 [4] = add(\"h\", \"b\")\n"
                                            "node \"with_f32\": f32 [4] = add(\"h\", \"f\")\n"
                                            "node \"narrow\": f16 [4] = cast(\"f\") dtype=f16\n"
                                            "node \"from_narrow\": f32 [4] = cast(\"narrow\") dtype=f32\n"
                                            "node \"rejoined\": f32 [4] = add(\"from_narrow\", \"f\")\n"
                                            "node \"other16\": f16 [4] = cast(\"b\") dtype=f16\n"
                                            "node \"back\": f32 [4] = add(\"other16\", \"wide\")\n"
                                            "node \"idle\": f32 [4] = cast(\"f\") dtype=f32\n"
                                            "node \"b2\": f32 [4] = cast(\"b\") dtype=f32\n"
                                            "output \"back\"\n");
    static const struct {
        const char *name;
        mo_dtype compute;
    } expected[] = {
        {"h", MO_F16},       {"b", MO_BF16},       {"f", MO_F32},           {"wide", MO_F16},
        {"same", MO_F16},    {"number", MO_F16},   {"wide_b", MO_F16},      {"mixed", MO_F32},
        {"narrow", MO_F16},  {"with_f32", MO_F32}, {"from_narrow", MO_F16}, {"rejoined", MO_F32},
        {"other16", MO_F16}, {"back", MO_F16},     {"idle", MO_F32},        {"b2", MO_BF16},
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        cr_expect_eq(tensor_of(p, expected[i].name)->compute, expected[i].compute, "%s", expected[i].name);
    }
    mo_arena_free(arena);
}

Test(program, symbols)
{
    mo_arena *arena = mo_arena_new();
    const mo_program *p =
        program_of(arena, "program \"2nd layer\"\n"
                          "input \"a.b\": f16 []\ninput \"a_b\": f16 []\ninput \"a-b\": f16 []\n"
                          "input \"a_b_1\": f16 []\ninput \"int\": f16 []\ninput \"7\": f16 []\n"
                          "input \"p_7\": f16 []\ninput \"\xc3\xa9\": f16 []\ninput \"X\": f16 []\n"
                          "input \"threadIdx\": f16 []\n"
                          "output \"X\"\n");
    static const char *const expected[] = {"a_b", "a_b_1", "a_b_2", "a_b_1_1", "int_1",
                                           "p_7", "p_7_1", "__",    "X",       "threadIdx_1"};
    cr_assert_str_eq(p->symbol, "p_2nd_layer");
    for (int i = 0; i < p->n_tensors; i++) cr_expect_str_eq(p->symbols[i], expected[i]);
    mo_arena_free(arena);
}

/* Ten thousand names that all become the same identifier: numbered, and not in quadratic time. */
Test(program, many_equal_symbols, .timeout = 20)
{
    mo_str text = {0};
    mo_str_add(&text, "program \"p\"\n");
    for (int i = 0; i < 10000; i++) {
        mo_str_add(&text, "input \"n");
        for (int bit = 0; bit < 14; bit++) mo_str_add(&text, (i >> bit & 1) != 0 ? "." : "-");
        mo_str_add(&text, "\": f16 []\n");
    }
    mo_str_add(&text, "output \"n--------------\"\n");
    mo_arena *arena = mo_arena_new();
    const mo_program *p = program_of(arena, text.data);
    cr_assert_str_eq(p->symbols[0], "n______________");
    cr_assert_str_eq(p->symbols[9999], "n_______________9999");
    mo_arena_free(arena);
    mo_str_free(&text);
}

static mo_hash128 hash_of(const char *text)
{
    mo_arena *arena = mo_arena_new();
    mo_hash128 hash = program_of(arena, text)->hash;
    mo_arena_free(arena);
    return hash;
}

Test(program, hash_sees_the_computation_only)
{
#define HEAD "program \"p\"\ninput \"A\": f16 [4,4]\ninput \"B\": f16 [4,4]\n"
    mo_hash128 base = hash_of(HEAD "node \"S\": f16 [4,4] = exp(\"A\")\nnode \"T\": f16 [4,4] = neg(\"B\")\n"
                                   "node \"Y\": f16 [4,4] = sub(\"S\", \"T\")\noutput \"Y\"\n");
    static const char *const equal[] = {
        /* other names */
        "program \"q\"\ninput \"X\": f16 [4,4]\ninput \"W\": f16 [4,4]\nnode \"e\": f16 [4,4] = exp(\"X\")\n"
        "node \"n\": f16 [4,4] = neg(\"W\")\nnode \"r\": f16 [4,4] = sub(\"e\", \"n\")\noutput \"r\"\n",
        /* another order */
        HEAD "node \"T\": f16 [4,4] = neg(\"B\")\nnode \"S\": f16 [4,4] = exp(\"A\")\n"
             "node \"Y\": f16 [4,4] = sub(\"S\", \"T\")\noutput \"Y\"\n",
    };
    static const char *const different[] = {
        HEAD "node \"S\": f16 [4,4] = exp(\"B\")\nnode \"T\": f16 [4,4] = neg(\"A\")\n"
             "node \"Y\": f16 [4,4] = sub(\"S\", \"T\")\noutput \"Y\"\n",
        HEAD "node \"S\": f16 [4,4] = exp(\"A\")\nnode \"T\": f16 [4,4] = neg(\"B\")\n"
             "node \"Y\": f16 [4,4] = sub(\"T\", \"S\")\noutput \"Y\"\n",
        HEAD "node \"S\": f16 [4,4] = exp(\"A\")\nnode \"T\": f16 [4,4] = neg(\"B\")\n"
             "node \"Y\": f16 [4,4] = sub(\"S\", \"T\")\noutput \"Y\"\noutput \"Y\"\n",
        "program \"p\"\ninput \"A\": f16 [4,4] strides=[1,4]\ninput \"B\": f16 [4,4]\n"
        "node \"S\": f16 [4,4] = exp(\"A\")\nnode \"T\": f16 [4,4] = neg(\"B\")\n"
        "node \"Y\": f16 [4,4] = sub(\"S\", \"T\")\noutput \"Y\"\n",
        HEAD "node \"S\": f16 [4,4] = exp(\"A\")\nnode \"T\": f16 [4,4] = mul(\"B\", -1)\n"
             "node \"Y\": f16 [4,4] = sub(\"S\", \"T\")\noutput \"Y\"\n",
    };
    for (size_t i = 0; i < sizeof equal / sizeof equal[0]; i++) {
        cr_expect(mo_hash_equal(base, hash_of(equal[i])), "equal %zu", i);
    }
    for (size_t i = 0; i < sizeof different / sizeof different[0]; i++) {
        cr_expect_not(mo_hash_equal(base, hash_of(different[i])), "different %zu", i);
    }
}

/* Attributes are part of the hash, bit by bit. */
Test(program, hash_sees_attributes)
{
    char text[512];
    mo_hash128 seen[4];
    static const char *const tails[] = {"axes=[1] eps=1e-05", "axes=[1] eps=1.0000000000000001e-05",
                                        "axes=[0] eps=1e-05", "axes=[0,1] eps=1e-05"};
    for (size_t i = 0; i < 4; i++) {
        snprintf(text, sizeof text, HEAD "node \"Y\": f16 [4,4] = l2_norm(\"A\") %s\noutput \"Y\"\n",
                 tails[i]);
        seen[i] = hash_of(text);
    }
    cr_assert(mo_hash_equal(seen[0], seen[1])); /* the same double */
    for (int i = 1; i < 4; i++) {
        for (int k = i + 1; k < 4; k++) cr_assert_not(mo_hash_equal(seen[i], seen[k]));
    }
}
