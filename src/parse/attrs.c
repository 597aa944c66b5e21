#include "parse/attrs.h"

#include <stddef.h>
#include <string.h>

#define AXIS_LIMIT 1000000 /* no axis is near it; keeps the written number for the message */
#define MOST_KEYS 16

static bool read_axis(const mo_reader *r, const mo_json *value, int *axis)
{
    int64_t written;
    if (!mo_reader_int(r, value, &written)) return false;
    if (written < -AXIS_LIMIT || written > AXIS_LIMIT)
        return mo_reader_fail(r, value, NULL, "the axis is out of range");
    *axis = (int)written;
    return true;
}

/* A list of at most 8 axes. */
static bool read_axes(const mo_reader *r, const mo_json *value, int axes[MO_MAX_RANK], int *count)
{
    if (!mo_reader_expect(r, value, MO_JSON_ARRAY)) return false;
    if (value->count > MO_MAX_RANK) {
        return mo_reader_fail(r, value, NULL, "%d axes, but the rank is at most %d", value->count,
                              MO_MAX_RANK);
    }
    for (int i = 0; i < value->count; i++) {
        if (!read_axis(r, &value->items[i], &axes[i])) return false;
    }
    *count = value->count;
    return true;
}

static bool read_approximate(const mo_reader *r, const mo_json *value, bool *tanh_form)
{
    if (!mo_reader_expect(r, value, MO_JSON_STRING)) return false;
    *tanh_form = strcmp(value->string, "tanh") == 0;
    if (*tanh_form || strcmp(value->string, "none") == 0) return true;
    return mo_reader_fail(r, value, "it is 'none' (the erf form) or 'tanh'", "unknown approximation %s",
                          mo_reader_quote(r, value->string));
}

static bool read_sections(const mo_reader *r, const mo_json *value, mo_attrs *attrs)
{
    if (value->kind != MO_JSON_ARRAY) {
        if (!mo_reader_int(r, value, &attrs->section_count)) return false;
        return attrs->section_count >= 1 ||
               mo_reader_fail(r, value, NULL, "a split has at least one section");
    }
    int64_t *sections;
    if (!mo_reader_ints(r, value, &sections)) return false;
    attrs->sections = sections;
    attrs->n_sections = value->count;
    return value->count >= 1 || mo_reader_fail(r, value, NULL, "a split has at least one section");
}

static bool read_attribute(const mo_reader *r, const mo_json *value, const mo_attr_row *row, mo_attrs *attrs)
{
    void *member = (char *)attrs + row->offset;
    switch (row->type) {
    case MO_TYPE_BOOL: *(bool *)member = value->boolean; return mo_reader_expect(r, value, MO_JSON_BOOL);
    case MO_TYPE_INT: return mo_reader_int(r, value, member);
    case MO_TYPE_NUMBER: *(double *)member = value->number; return mo_reader_expect(r, value, MO_JSON_NUMBER);
    case MO_TYPE_AXIS: attrs->n_axes = 1; return read_axis(r, value, &attrs->axes[0]);
    case MO_TYPE_AXES:
        if (!read_axes(r, value, attrs->axes, &attrs->n_axes)) return false;
        return attrs->n_axes > 0 || mo_reader_fail(r, value, NULL, "the list of axes is empty");
    case MO_TYPE_PERM: return read_axes(r, value, attrs->perm, &attrs->n_axes);
    case MO_TYPE_SHAPE: return mo_reader_shape(r, value, &attrs->shape);
    case MO_TYPE_DTYPE: return mo_reader_dtype(r, value, &attrs->dtype);
    case MO_TYPE_APPROXIMATE: return read_approximate(r, value, &attrs->approximate_tanh);
    case MO_TYPE_SECTIONS: return read_sections(r, value, attrs);
    }
    MO_BUG("unknown attribute type %d", (int)row->type);
}

static bool check_keys(const mo_reader *r, const mo_json *object, mo_op op)
{
    const char *keys[MOST_KEYS] = {"op", "inputs", op == MO_OP_SPLIT ? "outputs" : "output"};
    size_t count = 3;
    int rows;
    const mo_attr_row *table = mo_attr_table(&rows);
    for (int i = 0; i < rows; i++) {
        if ((mo_op_get(op)->attributes & table[i].bit) == 0) continue;
        MO_CHECK(count < MOST_KEYS);
        keys[count++] = table[i].key;
    }
    return mo_reader_check_keys(r, object, mo_op_name(op), keys, count);
}

static const char *missing_hint(mo_attr_type type)
{
    switch (type) {
    case MO_TYPE_APPROXIMATE: return "\"approximate\": \"none\" is the erf form, \"tanh\" the tanh form";
    case MO_TYPE_DTYPE: return "the dtypes are f16, bf16 and f32";
    case MO_TYPE_AXES: return "\"axes\": [-1] is the last dimension";
    case MO_TYPE_AXIS: return "\"axis\": -1 is the last dimension";
    default: return NULL;
    }
}

bool mo_parse_attrs(const mo_reader *r, const mo_json *object, mo_op op, mo_attrs *attrs)
{
    if (!check_keys(r, object, op)) return false;
    bool reduction = mo_op_kind_of(op) == MO_KIND_REDUCE;
    if (reduction) attrs->n_axes = MO_ALL_AXES;
    int rows;
    const mo_attr_row *table = mo_attr_table(&rows);
    for (int i = 0; i < rows; i++) {
        if ((mo_op_get(op)->attributes & table[i].bit) == 0) continue;
        const mo_json *value = mo_json_get(object, table[i].key);
        if (value != NULL && !read_attribute(r, value, &table[i], attrs)) return false;
        bool optional = !table[i].required || (reduction && table[i].type == MO_TYPE_AXES);
        if (value != NULL || optional) continue;
        return mo_reader_fail(r, object, missing_hint(table[i].type), "%s needs the key '%s'", mo_op_name(op),
                              table[i].key);
    }
    return true;
}
