#include "base/str.h"

#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void reserve(mo_str *s, size_t extra)
{
    size_t need = s->length + extra + 1;
    if (need <= s->capacity) return;
    size_t capacity = s->capacity == 0 ? 256 : s->capacity * 2;
    if (capacity < need) capacity = need;
    char *data = realloc(s->data, capacity);
    if (data == NULL) MO_BUG("out of memory (%zu bytes)", capacity);
    s->data = data;
    s->capacity = capacity;
}

void mo_str_add_bytes(mo_str *s, const void *bytes, size_t length)
{
    reserve(s, length);
    if (length > 0) memcpy(s->data + s->length, bytes, length);
    s->length += length;
    s->data[s->length] = '\0';
}

void mo_str_add(mo_str *s, const char *text)
{
    mo_str_add_bytes(s, text, strlen(text));
}

void mo_str_printf(mo_str *s, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    MO_CHECK(length >= 0);
    reserve(s, (size_t)length);
    vsnprintf(s->data + s->length, (size_t)length + 1, format, again);
    va_end(again);
    s->length += (size_t)length;
}

void mo_str_clear(mo_str *s)
{
    s->length = 0;
    if (s->data != NULL) s->data[0] = '\0';
}

void mo_str_free(mo_str *s)
{
    free(s->data);
    *s = (mo_str){0};
}

const char *mo_str_text(const mo_str *s)
{
    return s->data == NULL ? "" : s->data;
}
