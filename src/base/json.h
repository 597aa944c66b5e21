/* JSON: a strict reader and a deterministic writer.
 *
 * The reader takes RFC 8259 in UTF-8 and nothing else: no duplicate keys, no text after the value, no
 * control characters in strings, no numbers such as 01, +1, .5, 1. or 1e999, no nesting deeper than
 * MO_JSON_DEPTH, no byte order mark, no NUL (also not as an escape: strings are C strings). A text may
 * hold MO_JSON_VALUES values. A value knows its place in the text, so that errors found later can be
 * located. Errors are MO_ERR_USER. Values live in the arena that the reader was given.
 *
 * The tree is built with cJSON, which keeps its last error in a global: read on one thread at a time. */
#ifndef MO_BASE_JSON_H
#define MO_BASE_JSON_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

#define MO_JSON_DEPTH 64
#define MO_JSON_VALUES 1000000

typedef enum {
    MO_JSON_NULL,
    MO_JSON_BOOL,
    MO_JSON_NUMBER,
    MO_JSON_STRING,
    MO_JSON_ARRAY,
    MO_JSON_OBJECT
} mo_json_kind;

typedef struct mo_json mo_json;
struct mo_json {
    mo_json_kind kind;
    bool boolean;
    bool integer; /* a number written without fraction and exponent */
    double number;
    const char *string;
    const char *key; /* member of an object: its key, decoded */
    int count;       /* elements of an array, members of an object, in the order of the text */
    const mo_json *items;
    const mo_json *parent; /* NULL at the root */
    size_t offset;         /* first byte of the value in the text */
    size_t key_offset;     /* first byte of the key */
};

mo_status mo_json_read(mo_arena *arena, const mo_source *source, const mo_json **root, mo_error *error);

/* Member of an object; NULL when it is absent or `object` is no object. */
const mo_json *mo_json_get(const mo_json *object, const char *key);

/* True for a number written as an integer of magnitude below 2^53, which is then exact. */
bool mo_json_int(const mo_json *value, int64_t *integer);

/* JSON pointer (RFC 6901), "" for the root. */
const char *mo_json_path(mo_arena *arena, const mo_json *value);

const char *mo_json_kind_name(mo_json_kind kind); /* "an object", "a string", ... */

/* Writer: pretty, two spaces, a member on each line. `key` is NULL inside arrays and at the top. Text
 * that is not UTF-8 is repaired with U+FFFD; a number that is not finite becomes null. */
typedef struct {
    mo_str *out;
    int depth;
    bool filled[MO_JSON_DEPTH]; /* the open container has a member already */
    bool object[MO_JSON_DEPTH];
    bool compact[MO_JSON_DEPTH]; /* on one line, with everything inside */
} mo_json_writer;

mo_json_writer mo_json_writer_make(mo_str *out);
void mo_json_write_object(mo_json_writer *w, const char *key);
void mo_json_write_array(mo_json_writer *w, const char *key);
void mo_json_write_compact(mo_json_writer *w, const char *key, bool object); /* kept on one line */
void mo_json_write_end(mo_json_writer *w); /* the innermost container; a newline after the last one */
void mo_json_write_string(mo_json_writer *w, const char *key, const char *text); /* NULL: null */
void mo_json_write_int(mo_json_writer *w, const char *key, int64_t value);
void mo_json_write_double(mo_json_writer *w, const char *key, double value);
void mo_json_write_bool(mo_json_writer *w, const char *key, bool value);
void mo_json_write_null(mo_json_writer *w, const char *key);
void mo_json_write_ints(mo_json_writer *w, const char *key, const int64_t *values, int count);
/* A value read before, with everything inside it. */
void mo_json_write_value(mo_json_writer *w, const char *key, const mo_json *value);

/* Shortest decimal that reads back as the same finite double. */
void mo_double_text(double value, char text[32]);

#endif
