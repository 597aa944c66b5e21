/* The scanner (json_scan.c) has checked the text and noted where every value stands; cJSON builds and
 * decodes the tree; this file joins both into values that know their place, and finds duplicate keys.
 * Both passes see the values in the order of the text, so the n-th node of one is the n-th of the other. */
#include "base/json.h"

#include "base/json_scan.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    mo_arena *arena;
    const mo_source *source;
    mo_error *error;
    const mo_json_mark *marks;
    size_t next;
} builder;

static mo_json_kind kind_of(const cJSON *item)
{
    if (cJSON_IsObject(item)) return MO_JSON_OBJECT;
    if (cJSON_IsArray(item)) return MO_JSON_ARRAY;
    if (cJSON_IsString(item)) return MO_JSON_STRING;
    if (cJSON_IsNumber(item)) return MO_JSON_NUMBER;
    if (cJSON_IsBool(item)) return MO_JSON_BOOL;
    MO_CHECK(cJSON_IsNull(item));
    return MO_JSON_NULL;
}

static void build(builder *b, const cJSON *item, const mo_json *parent, mo_json *value)
{
    const mo_json_mark *mark = &b->marks[b->next++];
    value->kind = kind_of(item);
    value->boolean = cJSON_IsTrue(item);
    value->integer = mark->integer;
    value->parent = parent;
    value->offset = mark->offset;
    value->key_offset = mark->key_offset;
    if (value->kind == MO_JSON_NUMBER) value->number = item->valuedouble;
    if (value->kind == MO_JSON_STRING) value->string = mo_arena_strdup(b->arena, item->valuestring);
    if (parent != NULL && parent->kind == MO_JSON_OBJECT)
        value->key = mo_arena_strdup(b->arena, item->string);
    if (value->kind != MO_JSON_ARRAY && value->kind != MO_JSON_OBJECT) return;
    value->count = cJSON_GetArraySize(item);
    mo_json *items = MO_NEW_ARRAY(b->arena, mo_json, value->count);
    value->items = items;
    int i = 0;
    for (const cJSON *child = item->child; child != NULL; child = child->next)
        build(b, child, value, &items[i++]);
}

static int compare_keys(const void *a, const void *b)
{
    const mo_json *x = *(const mo_json *const *)a, *y = *(const mo_json *const *)b;
    int order = strcmp(x->key, y->key);
    return order != 0 ? order : (x->offset > y->offset) - (x->offset < y->offset);
}

/* The first member, in the order of the text, whose key has been used before; NULL if there is none. */
static const mo_json *duplicate_key(mo_arena *arena, const mo_json *object)
{
    const mo_json *found = NULL;
    mo_arena_mark mark = mo_arena_get_mark(arena);
    const mo_json **sorted = MO_NEW_ARRAY(arena, const mo_json *, object->count);
    for (int i = 0; i < object->count; i++) sorted[i] = &object->items[i];
    qsort(sorted, (size_t)object->count, sizeof *sorted, compare_keys);
    for (int i = 1; i < object->count; i++) {
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) != 0) continue;
        if (found == NULL || sorted[i]->offset < found->offset) found = sorted[i];
    }
    mo_arena_reset(arena, mark);
    return found;
}

static mo_status check_duplicates(builder *b, const mo_json *value)
{
    if (value->kind == MO_JSON_OBJECT && value->count > 1) {
        const mo_json *again = duplicate_key(b->arena, value);
        if (again != NULL) {
            mo_str quoted = {0};
            mo_diag_quote(&quoted, again->key);
            mo_diag_fail(b->error, b->source, again->key_offset, mo_json_path(b->arena, value), NULL,
                         "duplicate key %s", mo_str_text(&quoted));
            mo_str_free(&quoted);
            return MO_ERR_USER;
        }
    }
    for (int i = 0; i < value->count; i++) {
        mo_status status = check_duplicates(b, &value->items[i]);
        if (status != MO_OK) return status;
    }
    return MO_OK;
}

mo_status mo_json_read(mo_arena *arena, const mo_source *source, const mo_json **root, mo_error *error)
{
    mo_str marks = {0};
    mo_status status = mo_json_scan(source, &marks, error);
    if (status == MO_OK) {
        cJSON *tree = cJSON_ParseWithLengthOpts(source->text, source->length, NULL, false);
        if (tree == NULL) MO_BUG("the JSON library refused a text that the scanner accepted");
        builder b = {arena, source, error, (const mo_json_mark *)(const void *)marks.data, 0};
        mo_json *value = MO_NEW(arena, mo_json);
        build(&b, tree, NULL, value);
        cJSON_Delete(tree);
        MO_CHECK(b.next * sizeof(mo_json_mark) == marks.length);
        status = check_duplicates(&b, value);
        *root = value;
    }
    mo_str_free(&marks);
    return status;
}

const mo_json *mo_json_get(const mo_json *object, const char *key)
{
    if (object == NULL || object->kind != MO_JSON_OBJECT) return NULL;
    for (int i = 0; i < object->count; i++) {
        if (strcmp(object->items[i].key, key) == 0) return &object->items[i];
    }
    return NULL;
}

bool mo_json_int(const mo_json *value, int64_t *integer)
{
    const double limit = 9007199254740992.0; /* 2^53: from here on different texts give one double */
    if (value == NULL || value->kind != MO_JSON_NUMBER || !value->integer) return false;
    if (!(value->number > -limit && value->number < limit)) return false;
    *integer = (int64_t)value->number;
    return true;
}

static void add_pointer(mo_str *out, const mo_json *value)
{
    if (value->parent == NULL) return;
    add_pointer(out, value->parent);
    mo_str_add(out, "/");
    if (value->key == NULL) {
        mo_str_printf(out, "%td", value - value->parent->items);
        return;
    }
    for (const char *c = value->key; *c != '\0'; c++) {
        if (*c == '~')
            mo_str_add(out, "~0");
        else if (*c == '/')
            mo_str_add(out, "~1");
        else
            mo_str_add_bytes(out, c, 1);
    }
}

const char *mo_json_path(mo_arena *arena, const mo_json *value)
{
    mo_str path = {0};
    add_pointer(&path, value);
    const char *copy = mo_arena_strdup(arena, mo_str_text(&path));
    mo_str_free(&path);
    return copy;
}

const char *mo_json_kind_name(mo_json_kind kind)
{
    static const char *const names[] = {"null", "a boolean", "a number", "a string", "an array", "an object"};
    return names[kind];
}
