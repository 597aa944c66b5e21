/* Fuzzer of the program reader: random mutations of valid programs. Whatever the bytes are, the reader
 * accepts or refuses them with a located message; what it accepts survives printing and reading back.
 *
 * As a regression test: fuzz_parse [COUNT [SEED]] runs COUNT seeded mutations of the programs below. With
 * MO_LIBFUZZER defined it is a libFuzzer target instead (its own seeds: any programs, e.g. examples/). */
#include "parse/parse.h"
#include "parse/text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

#define REQUIRE(condition)                                                                            \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            fprintf(stderr, "fuzz_parse: %s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
            abort();                                                                                  \
        }                                                                                             \
    } while (0)

static void check_accepted(mo_arena *arena, const mo_program *program)
{
    static mo_error error;
    mo_str first = {0}, second = {0};
    mo_program *again;
    mo_program_print(&first, program);
    REQUIRE(mo_text_parse_program(arena, "text", first.data, first.length, &again, &error) == MO_OK);
    mo_program_print(&second, again);
    REQUIRE(strcmp(first.data, second.data) == 0);
    REQUIRE(mo_hash_equal(program->hash, again->hash));
    for (int n = 0; n < program->n_nodes; n++) {
        const mo_node *node = &program->nodes[n];
        for (int i = 0; i < node->n_inputs; i++) {
            int tensor = node->inputs[i].tensor;
            REQUIRE(tensor < program->n_tensors && (tensor < 0 || program->tensors[tensor].producer < n));
        }
    }
    mo_str_free(&first);
    mo_str_free(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static mo_error error;
    mo_arena *arena = mo_arena_new();
    mo_str notes = {0};
    mo_program *program = NULL;
    /* A copy without anything behind it, so that a sanitizer sees a read past the end. */
    char *text = malloc(length == 0 ? 1 : length);
    REQUIRE(text != NULL);
    if (length > 0) memcpy(text, bytes, length);
    error.text[0] = '\0';
    mo_status status = mo_parse_program(arena, "f.json", text, length, &program, &notes, &error);
    REQUIRE(status == MO_OK || status == MO_ERR_USER);
    if (status == MO_OK)
        check_accepted(arena, program);
    else
        REQUIRE(strncmp(error.text, "f.json:", 7) == 0 && strstr(error.text, ": error: ") != NULL);
    mo_program *other = NULL;
    mo_status text_status = mo_text_parse_program(arena, "f.json", text, length, &other, &error);
    REQUIRE(text_status == MO_OK || text_status == MO_ERR_USER);
    free(text);
    mo_str_free(&notes);
    mo_arena_free(arena);
    return 0;
}

#ifndef MO_LIBFUZZER

#include "base/rng.h"

static const char *const seeds[] = {
    "{\"format\": \"mirage-opt/1\", \"name\": \"n\",\n \"inputs\": [{\"name\": \"X\", \"shape\": [16, 64], "
    "\"dtype\":"
    " \"f16\"},\n {\"name\": \"W\", \"shape\": [64, 32], \"dtype\": \"f16\", \"strides\": [1, 64]}],\n "
    "\"nodes\": [{\"op\":"
    " \"rms_norm\", \"inputs\": [\"X\"], \"output\": \"N\", \"axes\": [-1], \"eps\": 1e-5},\n {\"op\": "
    "\"matmul\","
    " \"inputs\": [\"N\", \"W\"], \"output\": \"Y\"}],\n \"outputs\": [\"Y\"]}\n",
    "{\"format\": \"mirage-opt/1\", \"inputs\": [{\"name\": \"Q\", \"shape\": [2, 8, 4], \"dtype\": "
    "\"bf16\"},\n {\"name\":"
    " \"K\", \"shape\": [2, 8, 4], \"dtype\": \"bf16\"}], \"nodes\": [{\"op\": \"matmul\", \"inputs\": "
    "[\"Q\", \"K\"],"
    " \"output\": \"S\", \"transpose_b\": true},\n {\"op\": \"causal_mask\", \"inputs\": [\"S\"], "
    "\"output\": \"M\","
    " \"offset\": -1},\n {\"op\": \"softmax\", \"inputs\": [\"M\"], \"output\": \"P\", \"axis\": -1},\n "
    "{\"op\": \"matmul\","
    " \"inputs\": [\"P\", \"Q\"], \"output\": \"O\"}], \"outputs\": [\"O\", \"Q\", \"O\"]}",
    "{\"format\": \"mirage-opt/1\", \"inputs\": [{\"name\": \"A\", \"shape\": [4, 6], \"dtype\": "
    "\"float32\"}], \"nodes\":"
    " [{\"op\": \"split\", \"inputs\": [\"A\"], \"outputs\": [\"l\", \"r\"], \"axis\": 1, \"sections\": [2, "
    "4]},\n {\"op\":"
    " \"concat\", \"inputs\": [\"r\", \"l\"], \"output\": \"c\", \"axis\": -1},\n {\"op\": \"slice\", "
    "\"inputs\": [\"c\"],"
    " \"output\": \"s\", \"axis\": 0, \"start\": 1, \"stop\": -1},\n {\"op\": \"reshape\", \"inputs\": "
    "[\"s\"], \"output\":"
    " \"h\", \"shape\": [3, -1]},\n {\"op\": \"transpose\", \"inputs\": [\"h\"], \"output\": \"t\", "
    "\"perm\": [1, 0]},\n"
    " {\"op\": \"broadcast_to\", \"inputs\": [\"t\"], \"output\": \"b\", \"shape\": [5, 4, 3]},\n {\"op\": "
    "\"sum\","
    " \"inputs\": [\"b\"], \"output\": \"y\", \"axes\": [0, -1], \"keepdims\": true}], \"outputs\": [\"y\"]}",
    "{\"format\": \"mirage-opt/1\", \"x-note\": [null, {\"a\": \"\\ud83d\\ude00\"}], \"inputs\": [{\"name\":"
    " \"caf\xc3\xa9\", \"shape\": [], \"dtype\": \"half\"}], \"nodes\": [{\"op\": \"gelu\", \"inputs\": "
    "[\"b\"], \"output\":"
    " \"a\", \"approximate\": \"tanh\"},\n {\"op\": \"clamp\", \"inputs\": [\"caf\\u00e9\"], \"output\": "
    "\"b\", \"min\":"
    " -0.5, \"max\": 6},\n {\"op\": \"cast\", \"inputs\": [\"a\"], \"output\": \"c\", \"dtype\": "
    "\"bf16\"},\n {\"op\":"
    " \"pow\", \"inputs\": [\"c\", 0.5], \"output\": \"d\"}, {\"op\": \"div\", \"inputs\": [1, \"d\"], "
    "\"output\": \"e\"}],"
    " \"outputs\": [\"c\", \"d\"]}",
    "program \"p\"\ninput \"A\": f16 [4,4] strides=[1,4]\nnode \"N\": f16 [4,4] = layer_norm(\"A\") axes=[1] "
    "eps=1e-05\n"
    "node \"l\": f16 [2,4], \"r\": f16 [2,4] = split(\"N\") axis=0 sections=[2,2]\nnode \"s\": f16 [2,4] ="
    " mul(\"l\", -0.5)\noutput \"r\"\noutput \"s\"\n",
};

/* Pieces that the grammar gives a meaning. */
static const char *const pieces[] = {
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "-1",
    "0",
    "01",
    "1e999",
    "1e-999",
    "1.5",
    "-0",
    "9007199254740991",
    "9007199254740993",
    "2147483647",
    "2147483648",
    "null",
    "true",
    "false",
    "\"axes\"",
    "\"axis\"",
    "\"op\"",
    "\"inputs\"",
    "\"outputs\"",
    "\"output\"",
    "\"name\"",
    "\"X\"",
    "\"x-\"",
    "\"matmul\"",
    "\"split\"",
    "\"f32\"",
    "[[[[[[[[",
    "\xef\xbb\xbf",
    "\xc3",
    "\xff",
    "\n",
    "\t",
    " ",
    "/*",
    "#",
};

static size_t below(mo_rng *rng, size_t n)
{
    return (size_t)mo_rng_below(rng, n);
}

/* Replaces `removed` bytes at a random place by some others. */
static void splice(mo_rng *rng, mo_str *text, size_t removed, const char *bytes, size_t count)
{
    size_t at = below(rng, text->length + 1);
    if (removed > text->length - at) removed = text->length - at;
    mo_str result = {0};
    mo_str_add_bytes(&result, text->data, at);
    mo_str_add_bytes(&result, bytes, count);
    mo_str_add_bytes(&result, text->data + at + removed, text->length - at - removed);
    mo_str_free(text);
    *text = result;
}

static void mutate(mo_rng *rng, mo_str *text)
{
    char byte = (char)below(rng, 256);
    const char *piece = pieces[below(rng, sizeof pieces / sizeof pieces[0])];
    size_t from = text->length == 0 ? 0 : below(rng, text->length);
    size_t span = 1 + below(rng, 40);
    if (span > text->length - from) span = text->length - from;
    char copy[64] = {0};
    memcpy(copy, text->data + from, span);
    switch (below(rng, 6)) {
    case 0: splice(rng, text, 1, &byte, 1); break;
    case 1: splice(rng, text, 1 + below(rng, 30), "", 0); break;
    case 2: splice(rng, text, 0, piece, strlen(piece)); break;
    case 3: splice(rng, text, 1 + below(rng, 4), piece, strlen(piece)); break;
    case 4: splice(rng, text, 0, copy, span); break;
    default: splice(rng, text, span, copy, span); break;
    }
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? strtol(argv[1], NULL, 10) : 20000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    const size_t n_seeds = sizeof seeds / sizeof seeds[0];
    for (size_t i = 0; i < n_seeds; i++) LLVMFuzzerTestOneInput((const uint8_t *)seeds[i], strlen(seeds[i]));
    for (long i = 0; i < count; i++) {
        mo_rng rng = mo_rng_seed(seed, (uint64_t)i);
        mo_str text = {0};
        mo_str_add(&text, seeds[below(&rng, n_seeds)]);
        for (size_t rounds = 1 + below(&rng, 4); rounds > 0; rounds--) mutate(&rng, &text);
        LLVMFuzzerTestOneInput((const uint8_t *)text.data, text.length);
        mo_str_free(&text);
    }
    printf("fuzz_parse: %ld mutations, seed %llu\n", count, (unsigned long long)seed);
    return 0;
}

#endif
