#include "base/json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static mo_error error;

static const mo_json *read_bytes(mo_arena *arena, const char *text, size_t length)
{
    const mo_source source = {"t.json", text, length};
    const mo_json *root = NULL;
    error.text[0] = '\0';
    mo_status status = mo_json_read(arena, &source, &root, &error);
    cr_assert(status == MO_OK || status == MO_ERR_USER);
    return status == MO_OK ? root : NULL;
}

static const mo_json *read_text(mo_arena *arena, const char *text)
{
    return read_bytes(arena, text, strlen(text));
}

static void expect_valid(const char *text)
{
    mo_arena *arena = mo_arena_new();
    cr_expect_not_null(read_text(arena, text), "refused: %s\n%s", text, error.text);
    mo_arena_free(arena);
}

/* `message` must stand in the first line of the error. */
static void expect_refused(const char *text, const char *message)
{
    mo_arena *arena = mo_arena_new();
    cr_expect_null(read_text(arena, text), "accepted: %s", text);
    char first[sizeof error.text];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(error.text, "\n"), error.text);
    cr_expect_not_null(strstr(first, message), "'%s' is not in: %s", message, first);
    mo_arena_free(arena);
}

Test(json, accepts_the_grammar)
{
    static const char *const texts[] = {"null",
                                        "true",
                                        " false ",
                                        "0",
                                        "-0",
                                        "10",
                                        "-1.5e+3",
                                        "1E-2",
                                        "0.0",
                                        "\"\"",
                                        "[]",
                                        "{}",
                                        "[ ]",
                                        "{ }",
                                        "\r\n\t [1 , 2]\n",
                                        "{\"a\" : {\"b\" : [ ] } , \"c\" : 1}",
                                        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
                                        "\"\\ud83d\\ude00\"",
                                        "\"\xf0\x9f\x98\x80\"",
                                        "[1e308, 1e-999]",
                                        "{\"a\": 1, \"A\": 2}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) expect_valid(texts[i]);
}

Test(json, refuses_everything_else)
{
    static const char *const cases[][2] = {
        {"", "the file is empty"},
        {" \n", "the file is empty"},
        {"\xef\xbb\xbf{}", "byte order mark"},
        {"{} {}", "text after the end"},
        {"[1,]", "a ',' before ']'"},
        {"{\"a\": 1,}", "a ',' before '}'"},
        {"[1 2]", "expected ',' or ']'"},
        {"{\"a\" 1}", "expected ':'"},
        {"{a: 1}", "expected a key"},
        {"[", "end of the file"},
        {"{\"a\":", "end of the file"},
        {"01", "may not start with 0"},
        {"-01", "may not start with 0"},
        {"+1", "expected a value"},
        {".5", "expected a value"},
        {"1.", "a digit after the '.'"},
        {"1.e3", "a digit after the '.'"},
        {"1e", "a digit in the exponent"},
        {"-", "expected a digit"},
        {"1e999", "too large"},
        {"-1e999", "too large"},
        {"NaN", "expected a value"},
        {"Infinity", "expected a value"},
        {"nul", "expected a value"},
        {"truex", "text after the end"},
        {"0x10", "text after the end"},
        {"'a'", "expected a value"},
        {"\"a", "has no end"},
        {"\"a\nb\"", "must end on its line"},
        {"\"a\tb\"", "control character 0x09"},
        {"\"\\x41\"", "unknown escape"},
        {"\"\\u12g4\"", "four hexadecimal digits"},
        {"\"\\u12", "four hexadecimal digits"},
        {"\"\\ud800x\"", "unpaired surrogate"},
        {"\"\\ud800\\u0041\"", "unpaired surrogate"},
        {"\"\\udc00\"", "unpaired surrogate"},
        {"\"\\u0000\"", "U+0000"},
        {"\"\xff\"", "not valid UTF-8"},
        {"\"\xc0\xaf\"", "not valid UTF-8"},
        {"\"\xed\xa0\x80\"", "not valid UTF-8"},
        {"\"\xf4\x90\x80\x80\"", "not valid UTF-8"},
        {"\"\xe2\x82", "not valid UTF-8"},
        {"{\"a\": 1, \"b\": 2, \"a\": 3}", "1:18: error: duplicate key 'a'"},
        {"{\"x\": [{\"e\": 1, \"\\u0065\": 2}]}", "at /x/0: duplicate key 'e'"},
        {"[1, // no\n2]", "expected a value"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) expect_refused(cases[i][0], cases[i][1]);
}

Test(json, refuses_nul_bytes_and_long_numbers)
{
    mo_arena *arena = mo_arena_new();
    cr_assert_null(read_bytes(arena, "[1]\0", 4));
    cr_assert(strstr(error.text, "0x00") != NULL);
    char number[128];
    memset(number, '1', sizeof number);
    cr_assert_not_null(read_bytes(arena, number, 63));
    cr_assert_null(read_bytes(arena, number, 64));
    mo_arena_free(arena);
}

Test(json, nesting_ends_at_its_limit)
{
    mo_arena *arena = mo_arena_new();
    for (int depth = MO_JSON_DEPTH; depth <= MO_JSON_DEPTH + 1; depth++) {
        char text[4 * MO_JSON_DEPTH];
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        const mo_json *root = read_bytes(arena, text, (size_t)depth * 2);
        cr_assert_eq(root != NULL, depth == MO_JSON_DEPTH);
    }
    cr_assert(strstr(error.text, "nesting deeper than 64") != NULL);
    mo_arena_free(arena);
}

Test(json, limits_the_number_of_values)
{
    mo_str text = {0};
    mo_str_add(&text, "[0");
    for (int i = 2; i < MO_JSON_VALUES; i++) mo_str_add(&text, ",0");
    mo_str_add(&text, "]");
    mo_arena *arena = mo_arena_new();
    const mo_json *root = read_bytes(arena, text.data, text.length);
    cr_assert_not_null(root);
    cr_assert_eq(root->count, MO_JSON_VALUES - 1);
    text.length--;
    mo_str_add(&text, ",0]");
    cr_assert_null(read_bytes(arena, text.data, text.length));
    mo_arena_free(arena);
    mo_str_free(&text);
}

Test(json, integers_are_exact)
{
    mo_arena *arena = mo_arena_new();
    const mo_json *root = read_text(
        arena, "[0, -0, 42, -7, 9007199254740991, -9007199254740991, 9007199254740992, 9007199254740993,"
               " 1.0, 1e2, 4503599627370496.4, \"1\", null]");
    cr_assert_not_null(root);
    const int64_t good[] = {0, 0, 42, -7, 9007199254740991, -9007199254740991};
    for (int i = 0; i < root->count; i++) {
        int64_t value = 99;
        bool is_integer = mo_json_int(&root->items[i], &value);
        cr_assert_eq(is_integer, i < 6, "element %d", i);
        if (is_integer) cr_assert_eq(value, good[i]);
    }
    mo_arena_free(arena);
}

Test(json, values_know_their_place)
{
    const char *text = "{\"a/b\": [10, {\"~k\" : \"\\u00e9\"}],\n \"z\": true}";
    mo_arena *arena = mo_arena_new();
    const mo_json *root = read_text(arena, text);
    const mo_json *list = mo_json_get(root, "a/b");
    const mo_json *inner = mo_json_get(&list->items[1], "~k");
    cr_assert_str_eq(mo_json_path(arena, root), "");
    cr_assert_str_eq(mo_json_path(arena, &list->items[0]), "/a~1b/0");
    cr_assert_str_eq(mo_json_path(arena, inner), "/a~1b/1/~0k");
    cr_assert_str_eq(inner->string, "\xc3\xa9");
    cr_assert_eq(strncmp(text + inner->offset, "\"\\u00e9\"", 8), 0);
    cr_assert_eq(strncmp(text + inner->key_offset, "\"~k\"", 4), 0);
    cr_assert_eq(text[list->items[0].offset], '1');
    cr_assert_null(mo_json_get(root, "A/B"));
    cr_assert_null(mo_json_get(list, "z"));
    mo_arena_free(arena);
}

Test(json, writer_is_pretty_and_exact)
{
    mo_str out = {0};
    mo_json_writer w = mo_json_writer_make(&out);
    mo_json_write_object(&w, NULL);
    mo_json_write_string(&w, "text", "a\"\\\n\x01\xff\xc3\xa9");
    mo_json_write_int(&w, "int", INT64_MIN);
    mo_json_write_double(&w, "tenth", 0.1);
    mo_json_write_double(&w, "third", 1.0 / 3);
    mo_json_write_double(&w, "nan", 0.0 / 0.0);
    mo_json_write_bool(&w, "yes", true);
    mo_json_write_null(&w, "none");
    mo_json_write_ints(&w, "grid", (const int64_t[]){128, 1, 1}, 3);
    mo_json_write_array(&w, "empty");
    mo_json_write_end(&w);
    mo_json_write_array(&w, "list");
    mo_json_write_compact(&w, NULL, true);
    mo_json_write_int(&w, "a", 1);
    mo_json_write_int(&w, "b", 2);
    mo_json_write_end(&w);
    mo_json_write_end(&w);
    mo_json_write_end(&w);
    cr_assert_str_eq(mo_str_text(&out), "{\n"
                                        "  \"text\": \"a\\\"\\\\\\n\\u0001\xef\xbf\xbd\xc3\xa9\",\n"
                                        "  \"int\": -9223372036854775808,\n"
                                        "  \"tenth\": 0.1,\n"
                                        "  \"third\": 0.3333333333333333,\n"
                                        "  \"nan\": null,\n"
                                        "  \"yes\": true,\n"
                                        "  \"none\": null,\n"
                                        "  \"grid\": [128, 1, 1],\n"
                                        "  \"empty\": [],\n"
                                        "  \"list\": [\n"
                                        "    {\"a\": 1, \"b\": 2}\n"
                                        "  ]\n"
                                        "}\n");
    mo_str_free(&out);
}

/* What is written and read again is written the same. */
Test(json, write_read_write_is_the_identity)
{
    mo_arena *arena = mo_arena_new();
    const mo_json *root =
        read_text(arena, "{\"a\": [1, -2.5e-7, 1e300, [], {}, null, true, \"\\u00e9\\n\"], \"b\":"
                         " {\"c\": 9007199254740991, \"d\": 0.1, \"e\": -0.0}}");
    mo_str first = {0}, second = {0};
    mo_json_writer w = mo_json_writer_make(&first);
    mo_json_write_value(&w, NULL, root);
    const mo_json *again = read_bytes(arena, first.data, first.length);
    cr_assert_not_null(again);
    w = mo_json_writer_make(&second);
    mo_json_write_value(&w, NULL, again);
    cr_assert_str_eq(first.data, second.data);
    mo_str_free(&first);
    mo_str_free(&second);
    mo_arena_free(arena);
}
