/* Located user errors: where in which file, what is wrong, the source line, a caret and a hint.
 *
 *     model.json:7:31: error: at /nodes/3/op: unknown operator 'matmull'
 *       {"op": "matmull", "inputs": ["Q", "K"], "output": "S"},
 *              ^
 *     hint: did you mean 'matmul'?
 *
 * A column counts characters (UTF-8 code points) from 1. Nothing here keeps state; a source borrows its
 * text from the caller. Text that comes from the file is shown with control bytes replaced, so that a
 * hostile file cannot drive the terminal. */
#ifndef MO_BASE_DIAG_H
#define MO_BASE_DIAG_H

#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *name; /* as the user wrote it; "<stdin>" for standard input */
    const char *text;
    size_t length;
} mo_source;

/* Fills *error (MO_ERR_USER) with the located message and returns MO_ERR_USER. `path` is the JSON pointer
 * of the offending value and `hint` a sentence; both may be NULL. */
mo_status mo_diag_fail(mo_error *error, const mo_source *source, size_t offset, const char *path,
                       const char *hint, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Line and column, both from 1, of a byte. */
void mo_diag_position(const mo_source *source, size_t offset, int *line, int *column);

/* The candidate nearest to `word` by edit distance, if it is near enough to be a typo; NULL otherwise. */
const char *mo_diag_nearest(const char *word, const char *const *candidates, size_t count);

/* Appends `text` in single quotes for a message: cut when long, control bytes as \x1b. */
void mo_diag_quote(mo_str *out, const char *text);

/* Length in bytes (1 to 4) of the UTF-8 sequence at `text`, or 0 when it is not valid. */
size_t mo_utf8_sequence(const char *text, size_t available);

/* Whether a sequence of this length is a control character: C0, C1 or DEL. */
bool mo_utf8_is_control(const char *text, size_t length);

#endif
