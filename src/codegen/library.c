/* Selection of the device library's items that a piece of code uses.
 *
 * An item is a paragraph of a kernels/ file: what stands between blank lines. Its head is the text before
 * the first brace, comments left out. An item is taken when every mo_ name of its head is used, by the code
 * or by an item taken before; macros are always taken. Iterated until nothing changes. */
#include "codegen/embedded.h"
#include "codegen/emit.h"

#include "base/status.h"

#include <ctype.h>
#include <string.h>

#define MAX_ITEMS 256
#define NAME_SIZE 48 /* longer names are a program's, not the library's */

typedef struct {
    const char *text;
    size_t length;
    bool taken;
} item;

typedef struct {
    mo_arena *arena;
    char (*name)[NAME_SIZE];
    int count, capacity;
} name_set;

static bool contains(const name_set *set, const char *name, size_t length)
{
    for (int i = 0; i < set->count; i++)
        if (strlen(set->name[i]) == length && memcmp(set->name[i], name, length) == 0) return true;
    return false;
}

/* Next identifier that starts with "mo_" in [*at, end); NULL at the end. */
static const char *next_name(const char **at, const char *end, size_t *length)
{
    for (const char *p = *at; p + 3 < end; p++) {
        if (!isalpha((unsigned char)*p) && *p != '_') continue;
        const char *start = p;
        while (p < end && (isalnum((unsigned char)*p) || *p == '_')) p++;
        *length = (size_t)(p - start);
        if (*length < 4 || memcmp(start, "mo_", 3) != 0) continue;
        *at = p;
        return start;
    }
    *at = end;
    return NULL;
}

static void grow(name_set *set)
{
    char(*larger)[NAME_SIZE] = mo_arena_alloc(set->arena, 2 * sizeof *larger * (size_t)set->capacity);
    memcpy(larger, set->name, sizeof *larger * (size_t)set->count);
    set->name = larger;
    set->capacity *= 2;
}

static void add_names(name_set *set, const char *text, size_t length)
{
    const char *at = text, *name;
    size_t size;
    while ((name = next_name(&at, text + length, &size)) != NULL) {
        if (size >= NAME_SIZE || contains(set, name, size)) continue;
        if (set->count == set->capacity) grow(set);
        memcpy(set->name[set->count], name, size);
        set->name[set->count++][size] = '\0';
    }
}

/* Start of the item's code: behind a comment in front. */
static const char *skip_comment(const char *text, const char *end)
{
    while (end - text > 2 && text[0] == '/' && text[1] == '*') {
        const char *close = strstr(text, "*/");
        if (close == NULL || close >= end) return end;
        text = close + 2;
        while (text < end && isspace((unsigned char)*text)) text++;
    }
    return text;
}

static bool wanted(const name_set *used, const item *it)
{
    const char *end = it->text + it->length, *at = skip_comment(it->text, end);
    if (at == end) return false;
    if (strncmp(at, "#define", 7) == 0) return true;
    const char *brace = memchr(at, '{', (size_t)(end - at));
    if (brace == NULL) brace = memchr(at, ';', (size_t)(end - at));
    if (brace == NULL) brace = end;
    const char *name;
    size_t size;
    bool any = false;
    while ((name = next_name(&at, brace, &size)) != NULL) {
        if (!contains(used, name, size)) return false;
        any = true;
    }
    return any;
}

static int count_in(const char *text, size_t length, const char *what)
{
    int count = 0;
    size_t size = strlen(what);
    for (size_t i = 0; i + size <= length; i++) count += memcmp(text + i, what, size) == 0;
    return count;
}

/* The guards around a whole section of a file are no part of its items. */
static size_t without_section_end(const char *text, size_t length)
{
    static const char end[] = "\n#endif";
    size_t size = sizeof end - 1;
    bool unbalanced = count_in(text, length, "#endif") > count_in(text, length, "#if");
    return unbalanced && length > size && memcmp(text + length - size, end, size) == 0 ? length - size
                                                                                       : length;
}

static int split_items(const char *text, item *items, int count)
{
    while (*text != '\0') {
        while (*text == '\n') text++;
        if (*text == '\0') break;
        const char *end = strstr(text, "\n\n");
        size_t length = end == NULL ? strlen(text) : (size_t)(end - text);
        while (length > 0 && text[length - 1] == '\n') length--;
        MO_CHECK(count < MAX_ITEMS);
        items[count++] = (item){.text = text, .length = without_section_end(text, length)};
        text += length;
    }
    return count;
}

void mo_emit_library(mo_arena *arena, mo_str *out, const char *code)
{
    static const char *const files[] = {mo_kernels_ptx, mo_kernels_half, mo_kernels_math, mo_kernels_reduce,
                                        mo_kernels_tile};
    item *items = MO_NEW_ARRAY(arena, item, MAX_ITEMS);
    name_set set = {.arena = arena, .capacity = 256}, *used = &set;
    int count = 0;
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) count = split_items(files[f], items, count);
    used->name = mo_arena_alloc(arena, sizeof *used->name * (size_t)used->capacity);
    add_names(used, code, strlen(code));
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < count; i++) {
            if (items[i].taken || !wanted(used, &items[i])) continue;
            items[i].taken = changed = true;
            add_names(used, items[i].text, items[i].length);
        }
    }
    for (int i = 0; i < count; i++) {
        if (!items[i].taken) continue;
        mo_str_add_bytes(out, items[i].text, items[i].length);
        mo_str_add(out, "\n\n");
    }
}
