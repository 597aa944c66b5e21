#include "base/diag.h"
#include "base/strmap.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static mo_error error;

static const char *message_at(const char *text, size_t offset, const char *hint)
{
    const mo_source source = {"m.json", text, strlen(text)};
    cr_assert_eq(mo_diag_fail(&error, &source, offset, "/a/0", hint, "wrong %s", "thing"), MO_ERR_USER);
    cr_assert_eq(error.status, MO_ERR_USER);
    return error.text;
}

Test(diag, shows_the_place)
{
    cr_assert_str_eq(message_at("{\n  \"a\": [x]\n}\n", 10, "try y"),
                     "m.json:2:9: error: at /a/0: wrong thing\n    \"a\": [x]\n          ^\nhint: try y");
}

Test(diag, counts_characters_and_hides_controls)
{
    cr_assert_str_eq(message_at("\xc3\xa9\t\x1b[31m!", 8, NULL),
                     "m.json:1:8: error: at /a/0: wrong thing\n  \xc3\xa9 ?[31m!\n         ^");
    cr_assert_str_eq(message_at("\xff\xfe!\r\n", 2, NULL),
                     "m.json:1:3: error: at /a/0: wrong thing\n  ?\?!\n    ^");
}

/* File names and keys reach the message unquoted. */
Test(diag, hides_controls_everywhere)
{
    const mo_source source = {"a\x1b[2J.json", "x", 1};
    mo_diag_fail(&error, &source, 0, "/k\xc2\x9bm", NULL, "wrong");
    cr_assert_str_eq(error.text, "a?[2J.json:1:1: error: at /k?m: wrong\n  x\n  ^");
}

Test(diag, works_at_the_ends)
{
    cr_assert_str_eq(message_at("", 0, NULL), "m.json:1:1: error: at /a/0: wrong thing");
    cr_assert_str_eq(message_at("ab", 2, NULL), "m.json:1:3: error: at /a/0: wrong thing\n  ab\n    ^");
    cr_assert_str_eq(message_at("ab\n", 3, NULL), "m.json:2:1: error: at /a/0: wrong thing");
    cr_assert_str_eq(message_at("ab", 99, NULL), "m.json:1:3: error: at /a/0: wrong thing\n  ab\n    ^");
}

/* Whatever the length of the line, the caret stands below the character. */
Test(diag, cuts_long_lines_around_the_place)
{
    char line[1001];
    for (size_t offset = 0; offset < 1000; offset += 7) {
        memset(line, '.', 1000);
        line[1000] = '\0';
        line[offset] = 'X';
        const char *excerpt = strchr(message_at(line, offset, NULL), '\n') + 1;
        const char *caret_line = strchr(excerpt, '\n') + 1;
        cr_assert_eq(excerpt[strlen(caret_line) - 1], 'X', "offset %zu", offset);
        cr_assert(caret_line - excerpt < 120);
    }
}

Test(diag, finds_typos)
{
    static const char *const ops[] = {"matmul", "maximum", "minimum", "max",
                                      "min",    "exp",     "softmax", "rms_norm"};
    const size_t count = sizeof ops / sizeof ops[0];
    cr_assert_str_eq(mo_diag_nearest("matmull", ops, count), "matmul");
    cr_assert_str_eq(mo_diag_nearest("mamtul", ops, count), "matmul");
    cr_assert_str_eq(mo_diag_nearest("MatMul", ops, count), "matmul");
    cr_assert_str_eq(mo_diag_nearest("rmsnorm", ops, count), "rms_norm");
    cr_assert_str_eq(mo_diag_nearest("soft_max", ops, count), "softmax");
    cr_assert_null(mo_diag_nearest("convolution", ops, count));
    cr_assert_null(mo_diag_nearest("", ops, count));
    cr_assert_null(mo_diag_nearest("Q", (const char *const[]){"X"}, 1));
}

Test(diag, quotes_for_the_terminal)
{
    mo_str out = {0};
    mo_diag_quote(&out, "a\x1b[0m\xc2\x85\xff\xc3\xa9");
    cr_assert_str_eq(mo_str_text(&out), "'a\\x1b[0m\\xc2\\x85\\xff\xc3\xa9'");
    mo_str_clear(&out);
    char text[300];
    memset(text, 'n', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    mo_diag_quote(&out, text);
    cr_assert_eq(out.length, 85);
    cr_assert_str_eq(out.data + 80, "n...'");
    mo_str_free(&out);
}

Test(strmap, keeps_thousands_of_names)
{
    mo_arena *arena = mo_arena_new();
    mo_strmap map = mo_strmap_new(arena, 0);
    for (int i = 0; i < 5000; i++) mo_strmap_put(&map, mo_arena_printf(arena, "t%d", i), i);
    for (int i = 0; i < 5000; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        const int *value = mo_strmap_find(&map, name);
        cr_assert(value != NULL && *value == i);
    }
    cr_assert_null(mo_strmap_find(&map, "t5000"));
    cr_assert_eq(map.count, 5000);
    mo_arena_free(arena);
}
