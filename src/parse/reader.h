/* Typed access to JSON values with located errors (private to parse). Every function returns false after
 * it has filled in the reader's error. */
#ifndef MO_PARSE_READER_H
#define MO_PARSE_READER_H

#include "base/json.h"
#include "ir/program.h"

#define MO_NAME_LIMIT 255

typedef struct {
    mo_arena *arena;
    mo_source source;
    mo_error *error;
} mo_reader;

bool mo_reader_fail(const mo_reader *r, const mo_json *at, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* `text` in quotes, in the arena, for messages. */
const char *mo_reader_quote(const mo_reader *r, const char *text);

/* "did you mean 'X'?", or NULL when no candidate is near. */
const char *mo_reader_guess(const mo_reader *r, const char *word, const char *const *candidates,
                            size_t count);

/* Refuses `value` unless it has this kind. */
bool mo_reader_expect(const mo_reader *r, const mo_json *value, mo_json_kind kind);

/* The member `key`, which must be present and of this kind. `owner` is for the message: "an input". */
bool mo_reader_member(const mo_reader *r, const mo_json *object, const char *owner, const char *key,
                      mo_json_kind kind, const mo_json **value);

/* Refuses members that are none of `keys`, unless they start with "x-". */
bool mo_reader_check_keys(const mo_reader *r, const mo_json *object, const char *owner,
                          const char *const *keys, size_t count);

/* A name: 1 to 255 bytes without control characters. */
bool mo_reader_name(const mo_reader *r, const mo_json *value, const char **name);

bool mo_reader_int(const mo_reader *r, const mo_json *value, int64_t *integer);

/* An array of integers; the result is in the arena. */
bool mo_reader_ints(const mo_reader *r, const mo_json *value, int64_t **integers);

bool mo_reader_dtype(const mo_reader *r, const mo_json *value, mo_dtype *dtype);

/* A list of at most 8 dimensions; their sizes are not checked. */
bool mo_reader_shape(const mo_reader *r, const mo_json *value, mo_shape *shape);

/* Whether a text can be a name: 1 to MO_NAME_LIMIT bytes of UTF-8, no control characters. */
bool mo_name_is_valid(const char *text);

#endif
