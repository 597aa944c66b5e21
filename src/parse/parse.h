/* Program JSON (format `mirage-opt/1`) to a checked program.
 *
 * Strict: unknown keys, wrong types, dangling or duplicate names, cycles and shapes that do not agree are
 * refused with a located message (MO_ERR_USER). The program and everything in it lives in `arena`. */
#ifndef MO_PARSE_PARSE_H
#define MO_PARSE_PARSE_H

#include "base/arena.h"
#include "base/status.h"
#include "base/str.h"
#include "ir/program.h"

#include <stddef.h>

/* `file_name` is for messages, and its stem is the program's name when the text has none. A line for
 * each node that was checked and dropped is added to `notes` (which may be NULL). */
mo_status mo_parse_program(mo_arena *arena, const char *file_name, const char *text, size_t length,
                           mo_program **program, mo_str *notes, mo_error *error);

#endif
