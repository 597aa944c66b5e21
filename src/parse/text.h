/* The text form of a program (mo_program_print) back to a program. */
#ifndef MO_PARSE_TEXT_H
#define MO_PARSE_TEXT_H

#include "base/arena.h"
#include "base/status.h"
#include "ir/program.h"

#include <stddef.h>

/* Reads what mo_program_print writes, and checks it as a program is checked: every shape and dtype must
 * be the one that follows from the operands. Empty lines and lines that start with '#' are skipped.
 * MO_ERR_USER with a located message otherwise. */
mo_status mo_text_parse_program(mo_arena *arena, const char *file_name, const char *text, size_t length,
                                mo_program **program, mo_error *error);

#endif
