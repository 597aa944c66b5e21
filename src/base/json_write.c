/* Writer: containers on a stack; a comma and a new line go in front of every member but the first. */
#include "base/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mo_json_writer mo_json_writer_make(mo_str *out)
{
    return (mo_json_writer){.out = out};
}

void mo_double_text(double value, char text[32])
{
    for (int precision = 15; precision <= 17; precision++) {
        snprintf(text, 32, "%.*g", precision, value);
        if (strtod(text, NULL) == value) return;
    }
}

static void add_escaped(mo_str *out, const char *text)
{
    size_t length = strlen(text);
    mo_str_add(out, "\"");
    for (size_t i = 0; i < length;) {
        unsigned char c = (unsigned char)text[i];
        size_t n = mo_utf8_sequence(text + i, length - i);
        if (n == 0)
            mo_str_add(out, "\xef\xbf\xbd"); /* U+FFFD */
        else if (c == '"' || c == '\\')
            mo_str_printf(out, "\\%c", c);
        else if (c == '\n')
            mo_str_add(out, "\\n");
        else if (c == '\t')
            mo_str_add(out, "\\t");
        else if (c < 0x20 || c == 0x7f)
            mo_str_printf(out, "\\u%04x", (unsigned)c);
        else
            mo_str_add_bytes(out, text + i, n);
        i += n == 0 ? 1 : n;
    }
    mo_str_add(out, "\"");
}

static bool is_compact(const mo_json_writer *w)
{
    return w->depth > 0 && w->compact[w->depth - 1];
}

static void new_line(mo_json_writer *w)
{
    mo_str_printf(w->out, "\n%*s", 2 * w->depth, "");
}

/* What stands in front of a value: the separator, the line break and the key. */
static void start_value(mo_json_writer *w, const char *key)
{
    if (w->depth > 0) {
        MO_CHECK((key != NULL) == w->object[w->depth - 1]);
        if (w->filled[w->depth - 1]) mo_str_add(w->out, is_compact(w) ? ", " : ",");
        w->filled[w->depth - 1] = true;
        if (!is_compact(w)) new_line(w);
    }
    if (key == NULL) return;
    add_escaped(w->out, key);
    mo_str_add(w->out, ": ");
}

static void open_container(mo_json_writer *w, const char *key, bool object, bool compact)
{
    start_value(w, key);
    MO_CHECK(w->depth < MO_JSON_DEPTH);
    bool inherited = is_compact(w);
    w->filled[w->depth] = false;
    w->object[w->depth] = object;
    w->compact[w->depth] = compact || inherited;
    w->depth++;
    mo_str_add(w->out, object ? "{" : "[");
}

void mo_json_write_object(mo_json_writer *w, const char *key)
{
    open_container(w, key, true, false);
}

void mo_json_write_array(mo_json_writer *w, const char *key)
{
    open_container(w, key, false, false);
}

void mo_json_write_compact(mo_json_writer *w, const char *key, bool object)
{
    open_container(w, key, object, true);
}

void mo_json_write_end(mo_json_writer *w)
{
    MO_CHECK(w->depth > 0);
    bool break_line = w->filled[w->depth - 1] && !is_compact(w);
    w->depth--;
    if (break_line) new_line(w);
    mo_str_add(w->out, w->object[w->depth] ? "}" : "]");
    if (w->depth == 0) mo_str_add(w->out, "\n");
}

void mo_json_write_string(mo_json_writer *w, const char *key, const char *text)
{
    start_value(w, key);
    if (text == NULL)
        mo_str_add(w->out, "null");
    else
        add_escaped(w->out, text);
}

void mo_json_write_int(mo_json_writer *w, const char *key, int64_t value)
{
    start_value(w, key);
    mo_str_printf(w->out, "%" PRId64, value);
}

void mo_json_write_double(mo_json_writer *w, const char *key, double value)
{
    char text[32] = "null";
    if (isfinite(value)) mo_double_text(value, text);
    start_value(w, key);
    mo_str_add(w->out, text);
}

void mo_json_write_bool(mo_json_writer *w, const char *key, bool value)
{
    start_value(w, key);
    mo_str_add(w->out, value ? "true" : "false");
}

void mo_json_write_null(mo_json_writer *w, const char *key)
{
    start_value(w, key);
    mo_str_add(w->out, "null");
}

void mo_json_write_ints(mo_json_writer *w, const char *key, const int64_t *values, int count)
{
    mo_json_write_compact(w, key, false);
    for (int i = 0; i < count; i++) mo_json_write_int(w, NULL, values[i]);
    mo_json_write_end(w);
}

void mo_json_write_value(mo_json_writer *w, const char *key, const mo_json *value)
{
    int64_t integer;
    switch (value->kind) {
    case MO_JSON_NULL: mo_json_write_null(w, key); return;
    case MO_JSON_BOOL: mo_json_write_bool(w, key, value->boolean); return;
    case MO_JSON_STRING: mo_json_write_string(w, key, value->string); return;
    case MO_JSON_NUMBER:
        /* -0 is no integer of C */
        if (mo_json_int(value, &integer) && (integer != 0 || !signbit(value->number)))
            mo_json_write_int(w, key, integer);
        else
            mo_json_write_double(w, key, value->number);
        return;
    case MO_JSON_ARRAY:
    case MO_JSON_OBJECT: break;
    }
    bool object = value->kind == MO_JSON_OBJECT;
    open_container(w, key, object, false);
    for (int i = 0; i < value->count; i++) mo_json_write_value(w, value->items[i].key, &value->items[i]);
    mo_json_write_end(w);
}
