/* Whole files: read at once, written at once or not at all. */
#ifndef MO_BASE_FILE_H
#define MO_BASE_FILE_H

#include "base/arena.h"
#include "base/status.h"

#include <stddef.h>

#define MO_FILE_LIMIT (64u * 1024u * 1024u)

/* Reads a file, a pipe, or standard input for "-", up to MO_FILE_LIMIT bytes; the text is followed by a
 * NUL that `length` does not count. MO_ERR_USER with `PATH: error: ...` otherwise. */
mo_status mo_file_read(mo_arena *arena, const char *path, const char **text, size_t *length, mo_error *error);

/* Writes the file whole or not at all: a temporary file in the same directory, renamed over the target
 * (over what it points to, when it is a symbolic link). "-" is standard output; devices and pipes are
 * written directly. MO_ERR_IO otherwise, with nothing left behind. */
mo_status mo_file_write(const char *path, const void *bytes, size_t length, mo_error *error);

/* MO_ERR_USER when mo_file_write to this path would fail. Leaves nothing behind. */
mo_status mo_file_check_writable(const char *path, mo_error *error);

#endif
