/* Growable text buffer. Starts as {0}; `data` is NUL-terminated once anything was added. */
#ifndef MO_BASE_STR_H
#define MO_BASE_STR_H

#include <stddef.h>

typedef struct {
    char *data;
    size_t length, capacity;
} mo_str;

void mo_str_add(mo_str *s, const char *text);
void mo_str_add_bytes(mo_str *s, const void *bytes, size_t length);
void mo_str_printf(mo_str *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mo_str_clear(mo_str *s); /* length 0, memory kept */
void mo_str_free(mo_str *s);
const char *mo_str_text(const mo_str *s); /* never NULL */

#endif
