#include "parse/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool mo_reader_fail(const mo_reader *r, const mo_json *at, const char *hint, const char *format, ...)
{
    char message[1536];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    mo_diag_fail(r->error, &r->source, at->offset, mo_json_path(r->arena, at), hint, "%s", message);
    return false;
}

const char *mo_reader_quote(const mo_reader *r, const char *text)
{
    mo_str quoted = {0};
    mo_diag_quote(&quoted, text);
    const char *copy = mo_arena_strdup(r->arena, mo_str_text(&quoted));
    mo_str_free(&quoted);
    return copy;
}

const char *mo_reader_guess(const mo_reader *r, const char *word, const char *const *candidates, size_t count)
{
    const char *nearest = mo_diag_nearest(word, candidates, count);
    if (nearest == NULL) return NULL;
    return mo_arena_printf(r->arena, "did you mean %s?", mo_reader_quote(r, nearest));
}

bool mo_reader_expect(const mo_reader *r, const mo_json *value, mo_json_kind kind)
{
    if (value->kind == kind) return true;
    return mo_reader_fail(r, value, NULL, "expected %s, found %s", mo_json_kind_name(kind),
                          mo_json_kind_name(value->kind));
}

bool mo_reader_member(const mo_reader *r, const mo_json *object, const char *owner, const char *key,
                      mo_json_kind kind, const mo_json **value)
{
    *value = mo_json_get(object, key);
    if (*value == NULL) return mo_reader_fail(r, object, NULL, "%s needs the key '%s'", owner, key);
    return mo_reader_expect(r, *value, kind);
}

static const char *list_keys(const mo_reader *r, const char *const *keys, size_t count)
{
    mo_str text = {0};
    mo_str_add(&text, "the keys are ");
    for (size_t i = 0; i < count; i++) mo_str_printf(&text, "%s%s", i == 0 ? "" : ", ", keys[i]);
    const char *copy = mo_arena_strdup(r->arena, mo_str_text(&text));
    mo_str_free(&text);
    return copy;
}

bool mo_reader_check_keys(const mo_reader *r, const mo_json *object, const char *owner,
                          const char *const *keys, size_t count)
{
    for (int i = 0; i < object->count; i++) {
        const mo_json *member = &object->items[i];
        bool known = strncmp(member->key, "x-", 2) == 0;
        for (size_t k = 0; k < count && !known; k++) known = strcmp(member->key, keys[k]) == 0;
        if (known) continue;
        const char *hint = mo_reader_guess(r, member->key, keys, count);
        if (hint == NULL) hint = list_keys(r, keys, count);
        mo_diag_fail(r->error, &r->source, member->key_offset, mo_json_path(r->arena, object), hint,
                     "%s has no key %s", owner, mo_reader_quote(r, member->key));
        return false;
    }
    return true;
}

bool mo_name_is_valid(const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        size_t n = mo_utf8_sequence(text + i, length - i);
        if (n == 0 || mo_utf8_is_control(text + i, n)) return false;
        i += n;
    }
    return length > 0 && length <= MO_NAME_LIMIT;
}

bool mo_reader_name(const mo_reader *r, const mo_json *value, const char **name)
{
    if (!mo_reader_expect(r, value, MO_JSON_STRING)) return false;
    if (value->string[0] == '\0') return mo_reader_fail(r, value, NULL, "a name may not be empty");
    if (strlen(value->string) > MO_NAME_LIMIT) {
        return mo_reader_fail(r, value, NULL, "a name has at most %d bytes, not %zu", MO_NAME_LIMIT,
                              strlen(value->string));
    }
    if (!mo_name_is_valid(value->string)) {
        return mo_reader_fail(r, value, NULL, "a name may not contain control characters");
    }
    *name = value->string;
    return true;
}

bool mo_reader_int(const mo_reader *r, const mo_json *value, int64_t *integer)
{
    if (mo_json_int(value, integer)) return true;
    if (value->kind != MO_JSON_NUMBER) {
        return mo_reader_fail(r, value, NULL, "expected an integer, found %s",
                              mo_json_kind_name(value->kind));
    }
    if (value->integer)
        return mo_reader_fail(r, value, NULL, "integers lie between -(2^53 - 1) and 2^53 - 1");
    return mo_reader_fail(r, value, "write it without '.' and exponent", "expected an integer");
}

bool mo_reader_ints(const mo_reader *r, const mo_json *value, int64_t **integers)
{
    if (!mo_reader_expect(r, value, MO_JSON_ARRAY)) return false;
    *integers = MO_NEW_ARRAY(r->arena, int64_t, value->count);
    for (int i = 0; i < value->count; i++) {
        if (!mo_reader_int(r, &value->items[i], &(*integers)[i])) return false;
    }
    return true;
}

bool mo_reader_dtype(const mo_reader *r, const mo_json *value, mo_dtype *dtype)
{
    if (!mo_reader_expect(r, value, MO_JSON_STRING)) return false;
    if (mo_dtype_find(value->string, dtype)) return true;
    return mo_reader_fail(r, value, "the dtypes are f16, bf16 and f32", "unknown dtype %s",
                          mo_reader_quote(r, value->string));
}

bool mo_reader_shape(const mo_reader *r, const mo_json *value, mo_shape *shape)
{
    int64_t *dims;
    if (!mo_reader_ints(r, value, &dims)) return false;
    if (value->count > MO_MAX_RANK) {
        return mo_reader_fail(r, value, NULL, "rank %d is above %d", value->count, MO_MAX_RANK);
    }
    shape->rank = value->count;
    if (shape->rank > 0) memcpy(shape->dim, dims, sizeof shape->dim[0] * (size_t)shape->rank);
    return true;
}
