#include "base/diag.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define EXCERPT_WIDTH 100  /* characters of the source line that are shown */
#define MESSAGE_LIMIT 2400 /* bytes of a message, so that the excerpt always fits behind it */
#define QUOTE_LIMIT 80
#define LONGEST_WORD 64 /* longer words get no spelling hint */

size_t mo_utf8_sequence(const char *text, size_t available)
{
    const unsigned char *s = (const unsigned char *)text;
    if (available == 0) return 0;
    if (s[0] < 0x80) return 1;
    size_t length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || length > available) return 0;
    for (size_t i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
    }
    if (s[0] == 0xe0 && s[1] < 0xa0) return 0; /* overlong */
    if (s[0] == 0xed && s[1] > 0x9f) return 0; /* surrogate */
    if (s[0] == 0xf0 && s[1] < 0x90) return 0; /* overlong */
    if (s[0] == 0xf4 && s[1] > 0x8f) return 0; /* above U+10FFFF */
    return length;
}

bool mo_utf8_is_control(const char *text, size_t length)
{
    unsigned char first = (unsigned char)text[0];
    if (length == 1) return first < 0x20 || first == 0x7f;
    return length == 2 && first == 0xc2 && (unsigned char)text[1] < 0xa0;
}

/* Bytes of the character at `text`: a byte that is not valid UTF-8 counts as one character. */
static size_t step(const char *text, size_t available)
{
    size_t length = mo_utf8_sequence(text, available);
    return length == 0 ? 1 : length;
}

static int count_characters(const char *text, size_t length)
{
    int count = 0;
    for (size_t i = 0; i < length; i += step(text + i, length - i)) count++;
    return count;
}

static size_t line_start(const mo_source *source, size_t offset)
{
    while (offset > 0 && source->text[offset - 1] != '\n') offset--;
    return offset;
}

static size_t line_end(const mo_source *source, size_t offset)
{
    while (offset < source->length && source->text[offset] != '\n') offset++;
    return offset;
}

void mo_diag_position(const mo_source *source, size_t offset, int *line, int *column)
{
    if (offset > source->length) offset = source->length;
    size_t start = line_start(source, offset);
    *line = 1;
    for (size_t i = 0; i < start; i++) *line += source->text[i] == '\n';
    *column = 1 + count_characters(source->text + start, offset - start);
}

/* One character of the file for the terminal: a tab becomes a space, what cannot be shown a '?'. */
static void add_visible(mo_str *out, const char *text, size_t length)
{
    if (text[0] == '\t')
        mo_str_add(out, " ");
    else if (length == 0 || mo_utf8_is_control(text, length))
        mo_str_add(out, "?");
    else
        mo_str_add_bytes(out, text, length);
}

/* The line, or the part of a long one around the offset, and a caret below it. */
static void add_excerpt(mo_str *out, const mo_source *source, size_t offset)
{
    size_t start = line_start(source, offset), end = line_end(source, offset);
    if (end > start && source->text[end - 1] == '\r') end--;
    if (end == start) return;
    const char *text = source->text;
    int before = count_characters(text + start, offset < end ? offset - start : end - start);
    bool whole = count_characters(text + start, end - start) <= EXCERPT_WIDTH;
    int first = !whole && before > EXCERPT_WIDTH * 2 / 3 ? before - EXCERPT_WIDTH / 2 : 0;
    mo_str_add(out, first > 0 ? "\n  ..." : "\n  ");
    size_t i = start;
    for (int column = 0; i < end && column < first + EXCERPT_WIDTH; column++) {
        if (column >= first) add_visible(out, text + i, mo_utf8_sequence(text + i, end - i));
        i += step(text + i, end - i);
    }
    if (i < end) mo_str_add(out, "...");
    mo_str_printf(out, "\n%*s^", before - first + (first > 0 ? 5 : 2), "");
}

/* Cuts `s` to `limit` bytes, at the start of a character. */
static void cut(mo_str *s, size_t limit)
{
    if (s->length <= limit) return;
    while (limit > 0 && ((unsigned char)s->data[limit] & 0xc0) == 0x80) limit--;
    s->length = limit;
    s->data[limit] = '\0';
    mo_str_add(s, "...");
}

mo_status mo_diag_fail(mo_error *error, const mo_source *source, size_t offset, const char *path,
                       const char *hint, const char *format, ...)
{
    if (offset > source->length) offset = source->length;
    int line, column;
    mo_diag_position(source, offset, &line, &column);
    mo_str text = {0};
    mo_str_printf(&text, "%s:%d:%d: error: ", source->name, line, column);
    if (path != NULL && path[0] != '\0') mo_str_printf(&text, "at %s: ", path);
    char message[1600];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    mo_str_add(&text, message);
    cut(&text, MESSAGE_LIMIT);
    mo_str shown = {0};
    for (size_t i = 0; i < text.length; i += step(text.data + i, text.length - i)) {
        add_visible(&shown, text.data + i, mo_utf8_sequence(text.data + i, text.length - i));
    }
    mo_str_free(&text);
    text = shown;
    add_excerpt(&text, source, offset);
    if (hint != NULL && hint[0] != '\0') mo_str_printf(&text, "\nhint: %s", hint);
    mo_status status = mo_fail(error, MO_ERR_USER, "%s", mo_str_text(&text));
    mo_str_free(&text);
    return status;
}

/* Edit distance with transpositions of neighbours; upper and lower case count as equal. */
static int distance(const char *a, size_t n, const char *b, size_t m)
{
    int rows[3][LONGEST_WORD + 1];
    for (size_t j = 0; j <= m; j++) rows[0][j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int *now = rows[i % 3], *last = rows[(i - 1) % 3], *older = rows[(i + 1) % 3];
        now[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            int best = last[j - 1] + (x != y);
            if (last[j] + 1 < best) best = last[j] + 1;
            if (now[j - 1] + 1 < best) best = now[j - 1] + 1;
            bool swapped = i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                           y == tolower((unsigned char)a[i - 2]);
            if (swapped && older[j - 2] + 1 < best) best = older[j - 2] + 1;
            now[j] = best;
        }
    }
    return rows[n % 3][m];
}

const char *mo_diag_nearest(const char *word, const char *const *candidates, size_t count)
{
    size_t length = strlen(word);
    if (length == 0 || length > LONGEST_WORD) return NULL;
    int limit = length <= 2 ? 1 : (int)(length + 2) / 3;
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        size_t other = strlen(candidates[i]);
        if (other > LONGEST_WORD || other > length + (size_t)limit || length > other + (size_t)limit)
            continue;
        int d = distance(word, length, candidates[i], other);
        /* Replacing every character is no typo. */
        if (d > limit || (size_t)d >= length || (size_t)d >= other) continue;
        if (strcmp(word, candidates[i]) == 0) continue;
        best = candidates[i];
        limit = d - 1;
    }
    return best;
}

void mo_diag_quote(mo_str *out, const char *text)
{
    size_t length = strlen(text);
    mo_str_add(out, "'");
    for (size_t i = 0; i < length;) {
        size_t n = mo_utf8_sequence(text + i, length - i);
        if (i + (n == 0 ? 1 : n) > QUOTE_LIMIT) {
            mo_str_add(out, "...");
            break;
        }
        if (n == 0 || mo_utf8_is_control(text + i, n)) {
            mo_str_printf(out, "\\x%02x", (unsigned)(unsigned char)text[i]);
            n = 1;
        } else {
            mo_str_add_bytes(out, text + i, n);
        }
        i += n;
    }
    mo_str_add(out, "'");
}
