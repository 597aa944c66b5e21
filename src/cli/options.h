/* Command-line options: one struct, filled from options.def. Strings point into argv. */
#ifndef MO_CLI_OPTIONS_H
#define MO_CLI_OPTIONS_H

#include "base/status.h"
#include "base/str.h"
#include "ir/passes.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum {
#define MO_OPTION(field, ...) MO_OPTION_##field,
#include "cli/options.def"
#undef MO_OPTION
    MO_OPTION_COUNT
} mo_option_id;

/* Values of the words of CHOICE and SET options. */
enum { MO_COUNT_LOWERED, MO_COUNT_PAPER };
enum { MO_PROGRESS_AUTO, MO_PROGRESS_WORD_PLAIN, MO_PROGRESS_WORD_NONE };
enum {
    MO_EMIT_CU = 1,
    MO_EMIT_CUBIN = 2,
    MO_EMIT_PTX = 4,
    MO_EMIT_MUGRAPH = 8,
    MO_EMIT_DOT = 16,
    MO_EMIT_HTML = 32
};

typedef struct {
#define MO_FIELD_FLAG bool
#define MO_FIELD_INT int64_t
#define MO_FIELD_REAL double
#define MO_FIELD_TEXT const char *
#define MO_FIELD_CHOICE int
#define MO_FIELD_SET unsigned
#define MO_OPTION(field, long_name, short_name, argument, type, ...) MO_FIELD_##type field;
#include "cli/options.def"
#undef MO_OPTION
    const char *program; /* "-" for stdin; NULL where none is needed */
    uint64_t given;      /* bit i: option i was on the command line */
} mo_options;

static inline bool mo_option_given(const mo_options *options, mo_option_id id)
{
    return (options->given >> id & 1u) != 0;
}

/* Parses and checks argv[1..]: values, options that exclude each other, one PROGRAM. Returns MO_OK or
 * MO_ERR_USER with the message. --help, --version and the lists win over everything but errors in the
 * values themselves; the caller looks at them first. */
mo_status mo_options_parse(int argc, char *const *argv, mo_options *options, mo_error *error);

/* The option list of --help. */
void mo_options_help(mo_str *out);

#endif
