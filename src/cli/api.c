/* The public C API: option words are parsed as the command line's, so that both stay one. */
#include "mirage_opt.h"

#include "cli/run.h"
#include "parse/parse.h"

#include <stdlib.h>
#include <string.h>

const char *mirage_opt_version(void)
{
    return MO_VERSION;
}

/* mo_options_parse takes an argv of writable strings and never writes to them; this copies instead. */
static mo_status parse_words(mo_arena *arena, const char *const *words, int count, mo_options *options,
                             mo_error *error)
{
    static const mo_option_id elsewhere[] = {MO_OPTION_output, MO_OPTION_report,   MO_OPTION_emit,
                                             MO_OPTION_check,  MO_OPTION_list_ops, MO_OPTION_list_archs,
                                             MO_OPTION_help,   MO_OPTION_version};
    char **argv = MO_NEW_ARRAY(arena, char *, count + 3);
    argv[0] = mo_arena_strdup(arena, "mirage-opt");
    for (int i = 0; i < count; i++) argv[i + 1] = mo_arena_strdup(arena, words[i]);
    argv[count + 1] = mo_arena_strdup(arena, "-");
    mo_status status = mo_options_parse(count + 2, argv, options, error);
    if (status != MO_OK) return status;
    for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++)
        if (mo_option_given(options, elsewhere[i]))
            return mo_fail(error, MO_ERR_USER, "an option that the library does not take");
    options->report = "-"; /* asks for the text */
    return MO_OK;
}

static char *copy_text(const char *text)
{
    if (text == NULL) return NULL;
    char *copy = strdup(text);
    if (copy == NULL) MO_BUG("out of memory");
    return copy;
}

int mirage_opt_run(const char *program, size_t length, const char *name, const char *const *options,
                   int n_options, mirage_opt_result *result)
{
    mo_arena *arena = mo_arena_new();
    mo_log log = mo_log_make(stderr, MO_LOG_QUIET, MO_PROGRESS_NONE);
    mo_options parsed;
    mo_program *checked = NULL;
    mo_products products = {0};
    mo_error error = {0};
    mo_status status = parse_words(arena, options, n_options, &parsed, &error);
    if (status == MO_OK) status = mo_parse_program(arena, name, program, length, &checked, NULL, &error);
    if (status == MO_OK) status = mo_run(arena, &parsed, checked, name, &log, &products, &error);
    if (status == MO_OK) status = products.status;
    *result = (mirage_opt_result){
        .status = (int)status,
        .message = copy_text(products.verdict != NULL ? products.verdict : error.text),
        .cuda = copy_text(products.cu),
        .report = copy_text(products.report),
    };
    mo_arena_free(arena);
    return result->status;
}

void mirage_opt_result_free(mirage_opt_result *result)
{
    free(result->message);
    free(result->cuda);
    free(result->report);
    *result = (mirage_opt_result){0};
}
