#include "cli/options.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static mo_status parse(int argc, const char *const *words, mo_options *options, mo_error *error)
{
    char storage[16][64];
    char *argv[16];
    for (int i = 0; i < argc; i++) {
        snprintf(storage[i], sizeof storage[i], "%s", words[i]);
        argv[i] = storage[i];
    }
    mo_status status = mo_options_parse(argc, argv, options, error);
    options->program = NULL; /* pointed into storage */
    return status;
}

Test(options, defaults)
{
    mo_options o;
    mo_error error = {0};
    const char *words[] = {"mirage-opt", "p.json"};
    cr_assert_eq(parse(2, words, &o, &error), MO_OK);
    cr_assert_eq(o.top_k, 32);
    cr_assert_eq(o.max_kernel_ops, 5);
    cr_assert_eq(o.seed, 0);
    cr_assert_float_eq(o.budget, 300, 0);
    cr_assert_float_eq(o.verify_delta, 1e-12, 0);
    cr_assert_float_eq(o.factor, 4, 0);
    cr_assert_eq(o.emit, (unsigned)MO_EMIT_CU);
    cr_assert_eq(o.count, MO_COUNT_LOWERED);
    cr_assert_eq(o.progress, MO_PROGRESS_AUTO);
    cr_assert_eq(o.given, 0);
    cr_assert_not(o.no_gpu);
}

Test(options, values_are_stored_and_marked)
{
    mo_options o;
    mo_error error = {0};
    const char *words[] = {"mirage-opt", "--budget", "1.5e1",  "--seed=7",  "--no-gpu",
                           "--count",    "paper",    "p.json", "--threads", "3"};
    cr_assert_eq(parse(10, words, &o, &error), MO_OK);
    cr_assert_float_eq(o.budget, 15, 0);
    cr_assert_eq(o.seed, 7);
    cr_assert_eq(o.threads, 3);
    cr_assert_eq(o.count, MO_COUNT_PAPER);
    cr_assert(o.no_gpu);
    cr_assert(mo_option_given(&o, MO_OPTION_seed));
    cr_assert_not(mo_option_given(&o, MO_OPTION_top_k));
}

Test(options, the_first_emit_replaces_the_default_and_later_ones_add)
{
    mo_options o;
    mo_error error = {0};
    const char *one[] = {"mirage-opt", "--emit", "mugraph", "p.json"};
    cr_assert_eq(parse(4, one, &o, &error), MO_OK);
    cr_assert_eq(o.emit, (unsigned)MO_EMIT_MUGRAPH);
    const char *two[] = {"mirage-opt", "--emit", "mugraph", "--emit", "cu", "p.json"};
    cr_assert_eq(parse(6, two, &o, &error), MO_OK);
    cr_assert_eq(o.emit, (unsigned)(MO_EMIT_MUGRAPH | MO_EMIT_CU));
}

Test(options, questions_win_over_a_missing_program)
{
    mo_options o;
    mo_error error = {0};
    const char *words[] = {"mirage-opt", "--help", "--cache", "d", "--no-cache"};
    cr_assert_eq(parse(5, words, &o, &error), MO_OK);
    cr_assert(o.help);
}

Test(options, every_option_is_in_the_help)
{
    mo_str text = {0};
    mo_options_help(&text);
#define MO_OPTION(field, name, ...) cr_assert_not_null(strstr(text.data, "--" name), "%s", name);
#include "cli/options.def"
#undef MO_OPTION
    mo_str_free(&text);
}
