#include "cli/options.h"

#include "base/diag.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum { FLAG, INT, REAL, TEXT, CHOICE, SET } option_type;

typedef struct {
    const char *name;
    char letter;
    const char *argument;
    option_type type;
    double least, most;
    const char *initial, *help;
    size_t offset;
} option;

static const option table[MO_OPTION_COUNT] = {
#define MO_OPTION(field, long_name, letter, argument, type, least, most, initial, help) \
    [MO_OPTION_##field] = {                                                             \
        long_name, letter, argument, type, least, most, initial, help, offsetof(mo_options, field)},
#include "cli/options.def"
#undef MO_OPTION
};
_Static_assert(MO_OPTION_COUNT <= 64, "mo_options.given has a bit for each option");

static mo_status unknown_option(const char *text, mo_error *error)
{
    const char *names[MO_OPTION_COUNT];
    for (int i = 0; i < MO_OPTION_COUNT; i++) names[i] = table[i].name;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(text + strspn(text, "-"), "="),
             text + strspn(text, "-"));
    const char *nearest = mo_diag_nearest(name, names, MO_OPTION_COUNT);
    mo_str quoted = {0};
    mo_diag_quote(&quoted, text);
    if (nearest == NULL) {
        mo_fail(error, MO_ERR_USER, "unknown option %s (see --help)", quoted.data);
    } else {
        mo_fail(error, MO_ERR_USER, "unknown option %s; did you mean '--%s'?", quoted.data, nearest);
    }
    mo_str_free(&quoted);
    return MO_ERR_USER;
}

/* Position of `word` among the words of "a|b|c", or -1. */
static int find_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (int i = 0;; i++) {
        size_t n = strcspn(words, "|");
        if (n == length && memcmp(words, word, n) == 0) return i;
        if (words[n] == '\0') return -1;
        words += n + 1;
    }
}

static mo_status bad_number(const option *o, const char *text, const char *end, mo_error *error)
{
    const char *kind = o->type == INT ? "a whole number" : "a number";
    if (end == text) return mo_fail(error, MO_ERR_USER, "--%s: expected %s, found '%s'", o->name, kind, text);
    return mo_fail(error, MO_ERR_USER, "--%s: expected %s, found '%s': '%c' at character %d", o->name, kind,
                   text, *end, (int)(end - text) + 1);
}

static mo_status set_int(const option *o, const char *text, int64_t *value, mo_error *error)
{
    const char *digits = text + (text[0] == '-' || text[0] == '+');
    if (!isdigit((unsigned char)digits[0])) return bad_number(o, text, text, error);
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (*end != '\0') return bad_number(o, text, end, error);
    if (errno == ERANGE || (double)number < o->least || (double)number > o->most)
        return mo_fail(error, MO_ERR_USER, "--%s: %s is not between %.0f and %.0f", o->name, text, o->least,
                       o->most);
    *value = number;
    return MO_OK;
}

static mo_status set_real(const option *o, const char *text, double *value, mo_error *error)
{
    size_t plain = strspn(text, "0123456789.eE+-"); /* no hexadecimal, no "inf", no spaces */
    if (plain == 0 || text[plain] != '\0') return bad_number(o, text, text + plain, error);
    char *end;
    double number = strtod(text, &end);
    if (end == text || *end != '\0') return bad_number(o, text, end, error);
    if (!(number > o->least && number <= o->most))
        return mo_fail(error, MO_ERR_USER, "--%s: %s is not above %g and at most %g", o->name, text, o->least,
                       o->most);
    *value = number;
    return MO_OK;
}

static mo_status set_word(const option *o, const char *text, int *position, mo_error *error)
{
    *position = find_word(o->argument, text);
    if (*position >= 0) return MO_OK;
    return mo_fail(error, MO_ERR_USER, "--%s: '%s' is not one of %s", o->name, text, o->argument);
}

static mo_status set_value(mo_options *options, const option *o, const char *text, bool first,
                           mo_error *error)
{
    void *field = (char *)options + o->offset;
    int position = 0;
    mo_status status = MO_OK;
    switch (o->type) {
    case FLAG: *(bool *)field = true; break;
    case INT: status = set_int(o, text, field, error); break;
    case REAL: status = set_real(o, text, field, error); break;
    case TEXT:
        if (text[0] == '\0')
            return mo_fail(error, MO_ERR_USER, "--%s: the %s is empty", o->name, o->argument);
        *(const char **)field = text;
        break;
    case CHOICE: status = set_word(o, text, field, error); break;
    case SET:
        status = set_word(o, text, &position, error);
        if (first) *(unsigned *)field = 0;
        if (status == MO_OK) *(unsigned *)field |= 1u << position;
        break;
    }
    return status;
}

static const option *find_option(const char *text, const char **inline_value)
{
    *inline_value = NULL;
    bool is_long = text[1] == '-';
    const char *equals = is_long ? strchr(text, '=') : NULL;
    size_t length = equals != NULL ? (size_t)(equals - text) - 2 : strlen(text) - (is_long ? 2 : 0);
    for (int i = 0; i < MO_OPTION_COUNT; i++) {
        const option *o = &table[i];
        if (!is_long && o->letter != text[1]) continue;
        if (is_long && (strlen(o->name) != length || memcmp(o->name, text + 2, length) != 0)) continue;
        if (equals != NULL) *inline_value = equals + 1;
        if (!is_long && text[2] != '\0') *inline_value = text + 2; /* -oFILE */
        return o;
    }
    return NULL;
}

static mo_status parse_option(int argc, char *const *argv, int *i, mo_options *options, mo_error *error)
{
    const char *text = argv[*i], *value;
    const option *o = find_option(text, &value);
    if (o == NULL) return unknown_option(text, error);
    if (o->type == FLAG && value != NULL)
        return mo_fail(error, MO_ERR_USER, "--%s takes no value, found '%s'", o->name, value);
    if (o->type != FLAG && value == NULL) {
        if (*i + 1 >= argc)
            return mo_fail(error, MO_ERR_USER, "--%s needs a value (%s)", o->name, o->argument);
        value = argv[++*i];
    }
    uint64_t bit = (uint64_t)1 << (o - table);
    bool first = (options->given & bit) == 0;
    options->given |= bit;
    return set_value(options, o, value, first, error);
}

static mo_status exclude(const mo_options *options, mo_option_id a, mo_option_id b, mo_error *error)
{
    if (!mo_option_given(options, a) || !mo_option_given(options, b)) return MO_OK;
    return mo_fail(error, MO_ERR_USER, "--%s and --%s exclude each other", table[a].name, table[b].name);
}

static mo_status check_conflicts(const mo_options *options, mo_error *error)
{
    static const unsigned char pairs[][2] = {
        {MO_OPTION_device, MO_OPTION_no_gpu},
        {MO_OPTION_require_speedup, MO_OPTION_no_gpu},
        {MO_OPTION_cache, MO_OPTION_no_cache},
        {MO_OPTION_verbose, MO_OPTION_quiet},
        {MO_OPTION_check, MO_OPTION_output},
        {MO_OPTION_check, MO_OPTION_report},
        {MO_OPTION_check, MO_OPTION_verify},
        {MO_OPTION_check, MO_OPTION_replay},
        {MO_OPTION_check, MO_OPTION_emit},
        {MO_OPTION_verify, MO_OPTION_output},
        {MO_OPTION_verify, MO_OPTION_report},
        {MO_OPTION_verify, MO_OPTION_replay},
        {MO_OPTION_verify, MO_OPTION_emit},
        {MO_OPTION_require_speedup, MO_OPTION_check},
        {MO_OPTION_require_speedup, MO_OPTION_verify},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        mo_status status = exclude(options, (mo_option_id)pairs[i][0], (mo_option_id)pairs[i][1], error);
        if (status != MO_OK) return status;
    }
    return MO_OK;
}

/* Options of the documented command line whose work this version does not do. */
static mo_status check_support(const mo_options *options, mo_error *error)
{
    static const mo_option_id later[] = {MO_OPTION_cache, MO_OPTION_replay};
    for (size_t i = 0; i < sizeof later / sizeof later[0]; i++)
        if (mo_option_given(options, later[i]))
            return mo_fail(error, MO_ERR_USER, "--%s is not supported yet", table[later[i]].name);
    static const char *const kinds[] = {"cu", "cubin", "ptx", "mugraph", "dot", "html"};
    unsigned supported = MO_EMIT_CU | MO_EMIT_MUGRAPH;
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if ((options->emit & ~supported) >> i & 1u)
            return mo_fail(error, MO_ERR_USER, "--emit %s is not supported yet", kinds[i]);
    return MO_OK;
}

mo_status mo_options_parse(int argc, char *const *argv, mo_options *options, mo_error *error)
{
    *options = (mo_options){0};
    for (int i = 0; i < MO_OPTION_COUNT; i++)
        if (table[i].initial != NULL)
            MO_CHECK(set_value(options, &table[i], table[i].initial, true, error) == MO_OK);
    bool only_files = false;
    for (int i = 1; i < argc; i++) {
        const char *text = argv[i];
        if (!only_files && strcmp(text, "--") == 0) {
            only_files = true;
        } else if (!only_files && text[0] == '-' && text[1] != '\0') {
            mo_status status = parse_option(argc, argv, &i, options, error);
            if (status != MO_OK) return status;
        } else if (options->program != NULL) {
            return mo_fail(error, MO_ERR_USER, "one PROGRAM.json at a time: '%s' and '%s'", options->program,
                           text);
        } else if (text[0] == '\0') {
            return mo_fail(error, MO_ERR_USER, "the name of the program is empty");
        } else {
            options->program = text;
        }
    }
    if (options->help || options->version || options->list_ops || options->list_archs) return MO_OK;
    mo_status status = check_conflicts(options, error);
    if (status == MO_OK) status = check_support(options, error);
    if (status == MO_OK && options->program == NULL)
        status = mo_fail(error, MO_ERR_USER, "no PROGRAM.json given (see --help)");
    if (status == MO_OK && options->verify != NULL && strcmp(options->verify, "-") == 0 &&
        strcmp(options->program, "-") == 0)
        status = mo_fail(error, MO_ERR_USER, "only one of PROGRAM and --verify can be standard input");
    return status;
}

/* Adds `text` in lines of at most 100 columns; the first starts at `column`, the rest are indented. */
static void add_wrapped(mo_str *out, const char *text, size_t column, size_t indent)
{
    const size_t width = 100;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (column + length > width) {
            mo_str_printf(out, "\n%*s", (int)indent, "");
            column = indent;
        }
        mo_str_add_bytes(out, text, length);
        column += length;
        text += length;
        if (*text != ' ') continue;
        text++;
        if (column + 1 + strcspn(text, " ") <= width) mo_str_add(out, " ");
        column++;
    }
    mo_str_add(out, "\n");
}

void mo_options_help(mo_str *out)
{
    const size_t indent = 28;
    for (int i = 0; i < MO_OPTION_COUNT; i++) {
        const option *o = &table[i];
        size_t start = out->length;
        if (o->letter != 0)
            mo_str_printf(out, "  -%c, --%s", o->letter, o->name);
        else
            mo_str_printf(out, "      --%s", o->name);
        if (o->argument != NULL) mo_str_printf(out, " %s", o->argument);
        size_t used = out->length - start;
        if (used + 2 > indent)
            mo_str_printf(out, "\n%*s", (int)indent, "");
        else
            mo_str_printf(out, "%*s", (int)(indent - used), "");
        mo_str help = {0};
        mo_str_add(&help, o->help);
        if (o->initial != NULL) mo_str_printf(&help, " (default %s)", o->initial);
        add_wrapped(out, mo_str_text(&help), indent, indent);
        mo_str_free(&help);
    }
}
