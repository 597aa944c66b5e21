/* Whole files: order, cycles, notes, names, strides, locations. */
#include "parse/parse.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define X "{\"name\": \"X\", \"shape\": [2, 3], \"dtype\": \"f16\"}"

static mo_error error;
static mo_str notes;

static mo_program *parse_as(mo_arena *arena, const char *file_name, const char *text)
{
    mo_program *program = NULL;
    mo_str_clear(&notes);
    error.text[0] = '\0';
    mo_status status = mo_parse_program(arena, file_name, text, strlen(text), &program, &notes, &error);
    cr_assert_eq(status == MO_OK, program != NULL);
    return program;
}

/* A program with input X [2,3], these nodes and outputs. */
static mo_program *parse_nodes(mo_arena *arena, const char *nodes, const char *outputs)
{
    const char *text = mo_arena_printf(
        arena, "{\"format\": \"mirage-opt/1\", \"inputs\": [" X "],\n\"nodes\": [%s],\n\"outputs\": [%s]}",
        nodes, outputs);
    return parse_as(arena, "t.json", text);
}

/* Names of the first output of each node, in the program's order. */
static const char *order_of(mo_arena *arena, const mo_program *p)
{
    mo_str text = {0};
    for (int i = 0; i < p->n_nodes; i++) {
        mo_str_printf(&text, "%s%s", i == 0 ? "" : " ", p->tensors[p->nodes[i].outputs[0]].name);
    }
    const char *copy = mo_arena_strdup(arena, mo_str_text(&text));
    mo_str_free(&text);
    return copy;
}

#define UNARY(op, in, out) "{\"op\": \"" op "\", \"inputs\": [\"" in "\"], \"output\": \"" out "\"}"

Test(parse, keeps_an_order_that_is_topological)
{
    mo_arena *arena = mo_arena_new();
    const mo_program *p =
        parse_nodes(arena,
                    UNARY("exp", "X", "d") "," UNARY("neg", "X", "a") "," UNARY(
                        "log", "d", "c") ","
                                         "{\"op\": \"add\", \"inputs\": [\"a\", \"c\"], \"output\": \"b\"}",
                    "\"b\"");
    cr_assert_not_null(p, "%s", error.text);
    cr_assert_str_eq(order_of(arena, p), "d a c b");
    cr_assert_eq(notes.length, 0);
    mo_arena_free(arena);
}

Test(parse, sorts_nodes_in_any_order)
{
    mo_arena *arena = mo_arena_new();
    const mo_program *p =
        parse_nodes(arena,
                    "{\"op\": \"add\", \"inputs\": [\"a\", \"c\"], \"output\": \"b\"}," UNARY(
                        "log", "d", "c") "," UNARY("neg", "X", "a") "," UNARY("exp", "X", "d"),
                    "\"b\"");
    cr_assert_not_null(p, "%s", error.text);
    cr_assert_str_eq(order_of(arena, p), "a d c b");
    for (int n = 0; n < p->n_nodes; n++) {
        const mo_node *node = &p->nodes[n];
        for (int i = 0; i < node->n_inputs; i++) cr_assert_lt(p->tensors[node->inputs[i].tensor].producer, n);
        cr_assert_eq(p->tensors[node->outputs[0]].producer, n);
    }
    mo_arena_free(arena);
}

/* 150,000 nodes in one chain, backwards: no recursion, no quadratic time. */
Test(parse, long_chains, .timeout = 60)
{
    const int length = 150000;
    mo_str text = {0};
    mo_str_add(&text, "{\"format\": \"mirage-opt/1\", \"inputs\": [" X "], \"nodes\": [");
    for (int i = length; i > 0; i--) {
        char from[16];
        snprintf(from, sizeof from, i == 1 ? "X" : "t%d", i - 1);
        mo_str_printf(&text, UNARY("neg", "%s", "t%d") "%s", from, i, i > 1 ? ",\n" : "");
    }
    mo_str_printf(&text, "], \"outputs\": [\"t%d\"]}", length);
    mo_arena *arena = mo_arena_new();
    const mo_program *p = parse_as(arena, "t.json", text.data);
    cr_assert_not_null(p, "%s", error.text);
    cr_assert_eq(p->n_nodes, length);
    cr_assert_str_eq(p->tensors[p->nodes[0].outputs[0]].name, "t1");
    mo_arena_free(arena);
    mo_str_free(&text);
}

Test(parse, cycles_are_named_with_the_flow)
{
    static const char *const cases[][2] = {
        {UNARY("exp", "a", "a"), "at /nodes/0: a cycle: 'a' -> 'a'"},
        {UNARY("exp", "X", "y") "," UNARY("exp", "c", "a") "," UNARY("neg", "a", "b") "," UNARY("log", "b",
                                                                                                "c"),
         "at /nodes/1: a cycle: 'a' -> 'b' -> 'c' -> 'a'"},
        /* not needed by any output, and entered from outside of the cycle */
        {UNARY("exp", "X", "y") "," UNARY("exp", "b", "u") "," UNARY("neg", "c", "b") "," UNARY("log", "b",
                                                                                                "c"),
         "at /nodes/2: a cycle: 'b' -> 'c' -> 'b'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mo_arena *arena = mo_arena_new();
        cr_expect_null(parse_nodes(arena, cases[i][0], "\"X\""));
        cr_expect(strstr(error.text, cases[i][1]) != NULL, "%s", error.text);
        mo_arena_free(arena);
    }
}

Test(parse, long_cycles_are_cut)
{
    mo_arena *arena = mo_arena_new();
    mo_str nodes = {0};
    for (int i = 0; i < 50; i++) {
        mo_str_printf(&nodes, UNARY("neg", "t%d", "t%d") "%s", (i + 49) % 50, i, i < 49 ? "," : "");
    }
    cr_assert_null(parse_nodes(arena, nodes.data, "\"X\""));
    cr_assert(strstr(error.text,
                     "'t0' -> 't1' -> 't2' -> 't3' -> 't4' -> 't5' -> 't6' -> 't7' -> 't8' -> ... -> 't0'") !=
                  NULL,
              "%s", error.text);
    mo_str_free(&nodes);
    mo_arena_free(arena);
}

Test(parse, unneeded_nodes_are_dropped_with_a_note)
{
    mo_arena *arena = mo_arena_new();
    const mo_program *p =
        parse_nodes(arena,
                    UNARY("exp", "X", "unused") "," UNARY("neg", "X", "y") "," UNARY(
                        "log", "unused", "tail") ","
                                                 "{\"op\": \"split\", \"inputs\": [\"y\"], \"outputs\": "
                                                 "[\"l\", \"r\", \"s\"], \"axis\": 1, \"sections\": 3}",
                    "\"r\"");
    cr_assert_not_null(p, "%s", error.text);
    cr_assert_str_eq(mo_str_text(&notes),
                     "t.json: note: at /nodes/0: no output needs 'unused'; the node is dropped\n"
                     "t.json: note: at /nodes/2: no output needs 'tail'; the node is dropped\n");
    cr_assert_str_eq(order_of(arena, p), "y l");
    cr_assert_eq(p->n_tensors, 5);
    cr_assert_eq(p->outputs[0], 3);
    cr_assert_eq(p->tensors[3].producer, 1);
    cr_assert_eq(p->tensors[3].producer_output, 1);
    mo_arena_free(arena);
}

Test(parse, outputs_may_repeat_and_be_inputs)
{
    mo_arena *arena = mo_arena_new();
    const mo_program *p = parse_nodes(arena, UNARY("exp", "X", "y"), "\"y\", \"X\", \"y\"");
    cr_assert_not_null(p, "%s", error.text);
    cr_assert_eq(p->n_outputs, 3);
    cr_assert(p->outputs[0] == 1 && p->outputs[1] == 0 && p->outputs[2] == 1);
    p = parse_nodes(arena, "", "\"X\"");
    cr_assert_not_null(p, "%s", error.text);
    cr_assert_eq(p->n_nodes, 0);
    mo_arena_free(arena);
}

Test(parse, names_come_from_the_file)
{
    static const char *const cases[][2] = {
        {"dir.d/layer norm.v2.json", "layer norm.v2"},
        {"plain", "plain"},
        {"<stdin>", "program"},
        {"-", "program"},
        {".json", "program"},
        {"a\x01\xff"
         "b.json",
         "a__b"},
        {"caf\xc3\xa9.json", "caf\xc3\xa9"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mo_arena *arena = mo_arena_new();
        const mo_program *p = parse_as(arena, cases[i][0],
                                       "{\"format\": \"mirage-opt/1\", \"inputs\": [" X "],"
                                       " \"nodes\": [], \"outputs\": [\"X\"]}");
        cr_assert_not_null(p, "%s", error.text);
        cr_expect_str_eq(p->name, cases[i][1]);
        mo_arena_free(arena);
    }
}

Test(parse, extension_keys_are_free)
{
    mo_arena *arena = mo_arena_new();
    const mo_program *p = parse_as(arena, "t.json",
                                   "{\"format\": \"mirage-opt/1\", \"x-a\": {\"b\": [null]}, \"inputs\": "
                                   "[{\"x-layout\": 1, \"name\": \"X\","
                                   " \"shape\": [2], \"dtype\": \"half\"}], \"nodes\": [{\"x-line\": 7, "
                                   "\"op\": \"exp\", \"inputs\": [\"X\"],"
                                   " \"output\": \"Y\"}], \"outputs\": [\"Y\"]}");
    cr_assert_not_null(p, "%s", error.text);
    mo_arena_free(arena);
}

Test(parse, strides)
{
    static const struct {
        const char *input;    /* shape and strides */
        const char *expected; /* part of the message, or NULL */
        int64_t strides[3];
    } cases[] = {
        {"\"shape\": [2, 3, 4]", NULL, {12, 4, 1}},
        {"\"shape\": [2, 3, 4], \"strides\": [1, 2, 6]", NULL, {1, 2, 6}},
        {"\"shape\": [2, 3, 4], \"strides\": [0, 0, 5]", NULL, {0, 0, 5}},
        {"\"shape\": [2, 1, 4], \"strides\": [8, 999, 2]", NULL, {8, 4, 2}},
        {"\"shape\": [2, 3, 4], \"strides\": [12, 4]", "2 strides for rank 3", {0}},
        {"\"shape\": [2, 3, 4], \"strides\": [12, -4, 1]",
         "at /inputs/0/strides/1: a stride may not be negative",
         {0}},
        {"\"shape\": [2, 3, 4], \"strides\": [2147483647, 1, 1]", "2^31 or more elements", {0}},
        {"\"shape\": [2, 3, 4], \"strides\": 12", "expected an array", {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mo_arena *arena = mo_arena_new();
        const char *text = mo_arena_printf(arena,
                                           "{\"format\": \"mirage-opt/1\", \"inputs\": [{\"name\": \"X\", %s,"
                                           " \"dtype\": \"f32\"}], \"nodes\": [], \"outputs\": [\"X\"]}",
                                           cases[i].input);
        const mo_program *p = parse_as(arena, "t.json", text);
        if (cases[i].expected != NULL) {
            cr_expect(p == NULL && strstr(error.text, cases[i].expected) != NULL, "%s: %s", cases[i].input,
                      error.text);
        } else {
            cr_assert_not_null(p, "%s", error.text);
            for (int d = 0; d < 3; d++)
                cr_expect_eq(p->tensors[0].strides[d], cases[i].strides[d], "%s", cases[i].input);
        }
        mo_arena_free(arena);
    }
}

/* The whole message, as a user sees it. */
Test(parse, messages_are_complete)
{
    mo_arena *arena = mo_arena_new();
    cr_assert_null(
        parse_as(arena, "dir/m.json",
                 "{\"format\": \"mirage-opt/1\",\n"
                 " \"inputs\": [{\"name\": \"Q\", \"shape\": [2, 256, 64], \"dtype\": \"f16\"},\n"
                 "            {\"name\": \"K\", \"shape\": [2, 4096, 64], \"dtype\": \"f16\"}],\n"
                 " \"nodes\": [{\"op\": \"matmul\", \"inputs\": [\"Q\", \"K\"], \"output\": \"S\"}],\n"
                 " \"outputs\": [\"S\"]}\n"));
    cr_assert_str_eq(
        error.text,
        "dir/m.json:4:40: error: at /nodes/0/inputs/0: matmul: inner dimensions 64 and 4096 differ"
        " (Q [2,256,64], K [2,4096,64])\n"
        "   \"nodes\": [{\"op\": \"matmul\", \"inputs\": [\"Q\", \"K\"], \"output\": \"S\"}],\n"
        "                                         ^\n"
        "hint: they agree with \"transpose_b\": true");
    mo_arena_free(arena);
}

/* Names of the greatest length still leave room for the excerpt. */
Test(parse, long_names_fit_the_message)
{
    char name[256];
    memset(name, 'n', 255);
    name[255] = '\0';
    mo_arena *arena = mo_arena_new();
    const char *text =
        mo_arena_printf(arena,
                        "{\"format\": \"mirage-opt/1\", \"inputs\": [{\"name\": \"%s\", \"shape\": [1, 2],"
                        " \"dtype\": \"f16\"}],\n\"nodes\": [{\"op\": \"matmul\", \"inputs\":"
                        " [\"%s\", \"%s\"], \"output\": \"Y\"}], \"outputs\": [\"Y\"]}",
                        name, name, name);
    cr_assert_null(parse_as(arena, "t.json", text));
    cr_assert(strstr(error.text, "\nhint: they agree with") != NULL, "%s", error.text);
    mo_arena_free(arena);
}
