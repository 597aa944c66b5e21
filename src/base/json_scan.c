/* Recursive descent over the grammar of RFC 8259. The open containers are kept on a stack of frames, so
 * that an error can say where in the document it stands. */
#include "base/json_scan.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_NUMBER 63

typedef struct {
    bool object, inside;    /* inside: a value is being read (and, in an object, its key is known) */
    size_t index;           /* array: current element */
    size_t key, key_length; /* object: current key, between its quotes */
} frame;

typedef struct {
    const mo_source *source;
    mo_str *marks;
    mo_error *error;
    size_t at;
    int depth;
    frame frames[MO_JSON_DEPTH];
} scanner;

static bool scan_value(scanner *s, size_t key_offset);

static void add_path(mo_str *path, const scanner *s)
{
    for (int i = 0; i < s->depth; i++) {
        const frame *f = &s->frames[i];
        if (!f->inside) continue;
        if (!f->object) mo_str_printf(path, "/%zu", f->index);
        if (!f->object) continue;
        mo_str_add(path, "/");
        mo_str_add_bytes(path, s->source->text + f->key, f->key_length);
    }
}

__attribute__((format(printf, 4, 5))) static bool fail(scanner *s, size_t offset, const char *hint,
                                                       const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    mo_str path = {0};
    add_path(&path, s);
    mo_diag_fail(s->error, s->source, offset, mo_str_text(&path), hint, "%s", message);
    mo_str_free(&path);
    return false;
}

/* The byte at the current place, or -1 at the end. */
static int peek(const scanner *s)
{
    return s->at < s->source->length ? (unsigned char)s->source->text[s->at] : -1;
}

static void skip_space(scanner *s)
{
    for (int c = peek(s); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = peek(s)) s->at++;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool starts_with(const scanner *s, const char *word)
{
    size_t length = strlen(word);
    return s->source->length - s->at >= length && memcmp(s->source->text + s->at, word, length) == 0;
}

/* "expected X, found Y", with a hint for what other dialects allow. */
static bool unexpected(scanner *s, const char *expected)
{
    int c = peek(s);
    if (c < 0) return fail(s, s->at, NULL, "expected %s, found the end of the file", expected);
    const char *hint = NULL;
    if (c == '\'') hint = "strings stand in double quotes";
    if (c == '/' || c == '#') hint = "JSON has no comments; a key that starts with 'x-' may hold one";
    if (c == '+') hint = "a number starts with a digit or '-'";
    if (c == '.') hint = "a number needs a digit before the '.'";
    if (starts_with(s, "NaN") || starts_with(s, "Infinity") || starts_with(s, "inf")) {
        hint = "numbers are finite";
    }
    if (starts_with(s, "True") || starts_with(s, "False") || starts_with(s, "None")) {
        hint = "JSON writes true, false and null";
    }
    if (c < 0x20 || c == 0x7f)
        return fail(s, s->at, hint, "expected %s, found the byte 0x%02x", expected, (unsigned)c);
    size_t length = mo_utf8_sequence(s->source->text + s->at, s->source->length - s->at);
    return fail(s, s->at, hint, "expected %s, found '%.*s'", expected, (int)length, s->source->text + s->at);
}

/* Value of four hexadecimal digits at `at`, or -1. */
static int hex4(const scanner *s, size_t at)
{
    int value = 0;
    for (size_t i = at; i < at + 4; i++) {
        int c = i < s->source->length ? s->source->text[i] : 'x';
        int digit = is_digit(c)            ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

/* \uXXXX with `at` on the backslash; surrogates must come in pairs. */
static bool scan_unicode_escape(scanner *s)
{
    int code = hex4(s, s->at + 2);
    if (code < 0) return fail(s, s->at, NULL, "\\u needs four hexadecimal digits");
    if (code == 0) return fail(s, s->at, NULL, "the character U+0000 is not allowed in a string");
    if (code >= 0xdc00 && code <= 0xdfff)
        return fail(s, s->at, NULL, "unpaired surrogate \\u%04x", (unsigned)code);
    if (code >= 0xd800 && code <= 0xdbff) {
        size_t second = s->at + 6;
        bool escape = second + 1 < s->source->length && s->source->text[second] == '\\' &&
                      s->source->text[second + 1] == 'u';
        int low = escape ? hex4(s, second + 2) : -1;
        if (low < 0xdc00 || low > 0xdfff)
            return fail(s, s->at, NULL, "unpaired surrogate \\u%04x", (unsigned)code);
        s->at += 6;
    }
    s->at += 6;
    return true;
}

static bool scan_string(scanner *s)
{
    size_t start = s->at++;
    for (;;) {
        int c = peek(s);
        if (c == '"') break;
        if (c < 0) return fail(s, start, NULL, "this string has no end");
        if (c == '\n' || c == '\r')
            return fail(s, s->at, NULL, "a string must end on its line; write a line break as \\n");
        if (c < 0x20)
            return fail(s, s->at, NULL, "control character 0x%02x in a string; write it as \\u%04x",
                        (unsigned)c, (unsigned)c);
        if (c != '\\') {
            s->at++;
            continue;
        }
        int next = s->at + 1 < s->source->length ? s->source->text[s->at + 1] : 'x';
        if (next == 'u') {
            if (!scan_unicode_escape(s)) return false;
        } else if (strchr("\"\\/bfnrt", next) == NULL || next == '\0') {
            return fail(s, s->at, "escapes are \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX",
                        "unknown escape in a string");
        } else {
            s->at += 2;
        }
    }
    s->at++;
    return true;
}

static bool scan_digits(scanner *s, const char *expected)
{
    if (!is_digit(peek(s))) return unexpected(s, expected);
    while (is_digit(peek(s))) s->at++;
    return true;
}

static bool scan_number(scanner *s, bool *integer)
{
    size_t start = s->at;
    *integer = true;
    if (peek(s) == '-') s->at++;
    if (peek(s) == '0' && s->at + 1 < s->source->length && is_digit(s->source->text[s->at + 1])) {
        return fail(s, start, NULL, "a number may not start with 0 and further digits");
    }
    if (!scan_digits(s, "a digit")) return false;
    if (peek(s) == '.') {
        *integer = false;
        s->at++;
        if (!scan_digits(s, "a digit after the '.'")) return false;
    }
    if (peek(s) == 'e' || peek(s) == 'E') {
        *integer = false;
        s->at++;
        if (peek(s) == '+' || peek(s) == '-') s->at++;
        if (!scan_digits(s, "a digit in the exponent")) return false;
    }
    size_t length = s->at - start;
    if (length > LONGEST_NUMBER)
        return fail(s, start, NULL, "a number of more than %d characters", LONGEST_NUMBER);
    char text[LONGEST_NUMBER + 1] = {0};
    memcpy(text, s->source->text + start, length);
    if (!isfinite(strtod(text, NULL))) return fail(s, start, NULL, "the number %s is too large", text);
    return true;
}

static bool scan_word(scanner *s, const char *word)
{
    if (!starts_with(s, word)) return unexpected(s, "a value");
    s->at += strlen(word);
    return true;
}

static bool open_container(scanner *s, bool object)
{
    if (s->depth == MO_JSON_DEPTH) return fail(s, s->at, NULL, "nesting deeper than %d", MO_JSON_DEPTH);
    s->frames[s->depth++] = (frame){.object = object};
    s->at++;
    skip_space(s);
    return true;
}

static bool close_container(scanner *s)
{
    s->at++;
    s->depth--;
    return true;
}

/* After an element: either the closing bracket (*more false) or a comma and the next element. */
static bool scan_separator(scanner *s, int bracket, bool *more)
{
    skip_space(s);
    *more = peek(s) == ',';
    if (!*more) {
        if (peek(s) == bracket) return true;
        return unexpected(s, bracket == ']' ? "',' or ']'" : "',' or '}'");
    }
    size_t comma = s->at++;
    skip_space(s);
    if (peek(s) == bracket) return fail(s, comma, NULL, "a ',' before '%c'", bracket);
    return true;
}

static bool scan_array(scanner *s)
{
    if (!open_container(s, false)) return false;
    frame *f = &s->frames[s->depth - 1];
    for (bool more = peek(s) != ']'; more; f->index++) {
        f->inside = true;
        if (!scan_value(s, 0)) return false;
        f->inside = false;
        if (!scan_separator(s, ']', &more)) return false;
    }
    return close_container(s);
}

static bool scan_object(scanner *s)
{
    if (!open_container(s, true)) return false;
    frame *f = &s->frames[s->depth - 1];
    for (bool more = peek(s) != '}'; more;) {
        size_t key = s->at;
        if (peek(s) != '"') return unexpected(s, "a key in double quotes");
        if (!scan_string(s)) return false;
        f->key = key + 1;
        f->key_length = s->at - key - 2;
        f->inside = true;
        skip_space(s);
        if (peek(s) != ':') return unexpected(s, "':'");
        s->at++;
        skip_space(s);
        if (!scan_value(s, key)) return false;
        f->inside = false;
        if (!scan_separator(s, '}', &more)) return false;
    }
    return close_container(s);
}

static bool scan_value(scanner *s, size_t key_offset)
{
    size_t index = s->marks->length / sizeof(mo_json_mark);
    if (index == MO_JSON_VALUES) return fail(s, s->at, NULL, "more than %d values", MO_JSON_VALUES);
    mo_json_mark mark = {s->at, key_offset, false};
    mo_str_add_bytes(s->marks, &mark, sizeof mark);
    switch (peek(s)) {
    case '{': return scan_object(s);
    case '[': return scan_array(s);
    case '"': return scan_string(s);
    case 't': return scan_word(s, "true");
    case 'f': return scan_word(s, "false");
    case 'n': return scan_word(s, "null");
    default: break;
    }
    if (peek(s) != '-' && !is_digit(peek(s))) return unexpected(s, "a value");
    if (!scan_number(s, &mark.integer)) return false;
    memcpy(s->marks->data + index * sizeof mark, &mark, sizeof mark);
    return true;
}

/* The whole text: UTF-8 without byte order mark and without NUL. */
static bool check_bytes(scanner *s)
{
    const char *text = s->source->text;
    size_t length = s->source->length;
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        return fail(s, 0, "save the file as UTF-8 without it", "the file starts with a byte order mark");
    }
    for (size_t i = 0; i < length;) {
        size_t n = mo_utf8_sequence(text + i, length - i);
        if (text[i] == '\0') return fail(s, i, NULL, "the byte 0x00; this is not a text file");
        if (n == 0)
            return fail(s, i, NULL, "the byte 0x%02x is not valid UTF-8", (unsigned)(unsigned char)text[i]);
        i += n;
    }
    return true;
}

mo_status mo_json_scan(const mo_source *source, mo_str *marks, mo_error *error)
{
    scanner s = {.source = source, .marks = marks, .error = error};
    if (!check_bytes(&s)) return MO_ERR_USER;
    skip_space(&s);
    if (peek(&s) < 0) {
        fail(&s, 0, NULL, "the file is empty");
        return MO_ERR_USER;
    }
    if (!scan_value(&s, 0)) return MO_ERR_USER;
    skip_space(&s);
    if (peek(&s) < 0) return MO_OK;
    fail(&s, s.at, NULL, "text after the end of the JSON value");
    return MO_ERR_USER;
}
