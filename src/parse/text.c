/* One statement on each line, read from left to right; tensors stand before their uses, so that a single
 * pass suffices. Arrays grow by doubling in the arena. */
#include "parse/text.h"

#include "base/diag.h"
#include "base/json.h"
#include "base/strmap.h"
#include "ir/window.h"
#include "parse/reader.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_INTS 65536  /* of one list */
#define LONGEST_TOKEN 63 /* of a number or a word */

typedef struct {
    mo_arena *arena;
    mo_source source;
    mo_error *error;
    size_t at;
    mo_program *program;
    mo_strmap names;
    int tensor_capacity, node_capacity, output_capacity;
} reader;

__attribute__((format(printf, 3, 4))) static bool fail(const reader *r, size_t offset, const char *format,
                                                       ...)
{
    char message[1536];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    mo_diag_fail(r->error, &r->source, offset, NULL, NULL, "%s", message);
    return false;
}

/* An array with room for one more element. */
static void *grow(mo_arena *arena, void *items, int count, int *capacity, size_t size)
{
    if (count < *capacity) return items;
    *capacity = *capacity == 0 ? 16 : *capacity * 2;
    void *larger = mo_arena_alloc(arena, (size_t)*capacity * size);
    if (count > 0) memcpy(larger, items, (size_t)count * size);
    return larger;
}

static char peek(const reader *r)
{
    return r->at < r->source.length ? r->source.text[r->at] : '\0';
}

static void skip_blanks(reader *r)
{
    while (peek(r) == ' ' || peek(r) == '\t') r->at++;
}

/* Takes `c`, with blanks in front of it, if it is there. */
static bool accept(reader *r, char c)
{
    skip_blanks(r);
    if (peek(r) != c) return false;
    r->at++;
    return true;
}

static bool expect(reader *r, char c)
{
    return accept(r, c) || fail(r, r->at, "expected '%c'", c);
}

/* Letters, digits and what numbers are made of. */
static bool read_token(reader *r, char token[LONGEST_TOKEN + 1])
{
    skip_blanks(r);
    size_t length = 0;
    while (peek(r) != '\0' &&
           strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-.", peek(r))) {
        if (length == LONGEST_TOKEN) return fail(r, r->at, "this word is too long");
        token[length++] = peek(r);
        r->at++;
    }
    token[length] = '\0';
    return length > 0 || fail(r, r->at, "expected a word or a number");
}

static bool read_name(reader *r, const char **name)
{
    skip_blanks(r);
    size_t start = r->at;
    if (!accept(r, '"')) return fail(r, r->at, "expected a name in double quotes");
    mo_str text = {0};
    while (peek(r) != '"' && peek(r) != '\n' && peek(r) != '\0') {
        if (peek(r) == '\\') r->at++;
        if (r->at < r->source.length) mo_str_add_bytes(&text, r->source.text + r->at++, 1);
    }
    bool closed = accept(r, '"');
    *name = mo_arena_strdup(r->arena, mo_str_text(&text));
    mo_str_free(&text);
    if (!closed) return fail(r, start, "this name has no end");
    return mo_name_is_valid(*name) || fail(r, start, "this is no valid name");
}

static bool read_number(reader *r, double *value)
{
    char token[LONGEST_TOKEN + 1], *end;
    skip_blanks(r);
    size_t start = r->at;
    if (!read_token(r, token)) return false;
    *value = strtod(token, &end);
    return (*end == '\0' && isfinite(*value)) || fail(r, start, "expected a number, found '%s'", token);
}

static bool read_int(reader *r, int64_t *value)
{
    const double limit = 9007199254740992.0; /* 2^53: as in JSON */
    skip_blanks(r);
    size_t start = r->at;
    double number;
    if (!read_number(r, &number)) return false;
    if (number != floor(number) || fabs(number) >= limit) return fail(r, start, "expected an integer");
    *value = (int64_t)number;
    return true;
}

/* [1,2,3] */
static bool read_ints(reader *r, int64_t **values, int *count)
{
    int capacity = 0;
    *values = NULL;
    *count = 0;
    if (!expect(r, '[')) return false;
    if (accept(r, ']')) return true;
    do {
        if (*count == MOST_INTS) return fail(r, r->at, "more than %d numbers in a list", MOST_INTS);
        *values = grow(r->arena, *values, *count, &capacity, sizeof **values);
        if (!read_int(r, &(*values)[(*count)++])) return false;
    } while (accept(r, ','));
    return expect(r, ']');
}

/* At most 8 integers that fit into an int each. */
static bool read_axes(reader *r, int axes[MO_MAX_RANK], int *count)
{
    int64_t *values;
    size_t start = r->at;
    if (!read_ints(r, &values, count)) return false;
    if (*count > MO_MAX_RANK) return fail(r, start, "more than %d axes", MO_MAX_RANK);
    for (int i = 0; i < *count; i++) {
        if (values[i] < -MO_MAX_RANK || values[i] > MO_MAX_RANK)
            return fail(r, start, "an axis is out of range");
        axes[i] = (int)values[i];
    }
    return true;
}

static bool read_shape(reader *r, mo_shape *shape)
{
    int64_t *values;
    size_t start = r->at;
    if (!read_ints(r, &values, &shape->rank)) return false;
    if (shape->rank > MO_MAX_RANK) return fail(r, start, "rank above %d", MO_MAX_RANK);
    for (int i = 0; i < shape->rank; i++) shape->dim[i] = values[i];
    int dim;
    const char *problem = mo_shape_problem(*shape, &dim);
    return problem == NULL || fail(r, start, "%s", problem);
}

static bool read_dtype(reader *r, mo_dtype *dtype)
{
    char token[LONGEST_TOKEN + 1];
    skip_blanks(r);
    size_t start = r->at;
    if (!read_token(r, token)) return false;
    return mo_dtype_find(token, dtype) || fail(r, start, "unknown dtype '%s'", token);
}

/* "name": dtype shape, for a new tensor. */
static bool read_declaration(reader *r, int *tensor)
{
    mo_program *p = r->program;
    mo_tensor t = {.producer = -1};
    skip_blanks(r);
    size_t start = r->at;
    if (!read_name(r, &t.name) || !expect(r, ':')) return false;
    if (!read_dtype(r, &t.dtype) || !read_shape(r, &t.shape)) return false;
    if (mo_strmap_find(&r->names, t.name) != NULL) return fail(r, start, "this name is taken");
    mo_shape_row_major(t.shape, t.strides);
    p->tensors = grow(r->arena, p->tensors, p->n_tensors, &r->tensor_capacity, sizeof *p->tensors);
    mo_strmap_put(&r->names, t.name, p->n_tensors);
    *tensor = p->n_tensors;
    p->tensors[p->n_tensors++] = t;
    return true;
}

static bool read_tensor(reader *r, int *tensor)
{
    const char *name;
    skip_blanks(r);
    size_t start = r->at;
    if (!read_name(r, &name)) return false;
    const int *found = mo_strmap_find(&r->names, name);
    if (found == NULL) return fail(r, start, "no tensor with this name stands before");
    *tensor = *found;
    return true;
}

static bool read_input(reader *r)
{
    int tensor = 0, count;
    if (r->program->n_nodes > 0) return fail(r, r->at, "inputs stand before nodes");
    if (!read_declaration(r, &tensor)) return false;
    mo_tensor *t = &r->program->tensors[tensor];
    r->program->n_inputs = r->program->n_tensors;
    skip_blanks(r);
    if (peek(r) != 's') return true;
    char token[LONGEST_TOKEN + 1];
    size_t start = r->at;
    if (!read_token(r, token) || !expect(r, '=')) return false;
    int64_t *strides;
    if (strcmp(token, "strides") != 0 || !read_ints(r, &strides, &count))
        return fail(r, start, "expected strides");
    if (count != t->shape.rank) return fail(r, start, "one stride for each dimension");
    for (int i = 0; i < count; i++) {
        if (strides[i] < 0 || strides[i] >= MO_MAX_ELEMENTS)
            return fail(r, start, "a stride is out of range");
        t->strides[i] = strides[i];
    }
    return true;
}

static bool read_word_attribute(reader *r, const mo_attr_row *row, mo_attrs *attrs)
{
    char token[LONGEST_TOKEN + 1];
    if (row->type == MO_TYPE_DTYPE) return read_dtype(r, &attrs->dtype);
    skip_blanks(r);
    size_t start = r->at;
    if (!read_token(r, token)) return false;
    if (row->type == MO_TYPE_BOOL) {
        bool value = strcmp(token, "true") == 0;
        *(bool *)(void *)((char *)attrs + row->offset) = value;
        return value || strcmp(token, "false") == 0 || fail(r, start, "expected true or false");
    }
    attrs->approximate_tanh = strcmp(token, "tanh") == 0;
    return attrs->approximate_tanh || strcmp(token, "none") == 0 || fail(r, start, "expected none or tanh");
}

static bool read_attribute(reader *r, const mo_attr_row *row, mo_attrs *attrs)
{
    void *member = (char *)attrs + row->offset;
    int64_t axis, *sections;
    int count;
    size_t start = r->at;
    switch (row->type) {
    case MO_TYPE_BOOL:
    case MO_TYPE_DTYPE:
    case MO_TYPE_APPROXIMATE: return read_word_attribute(r, row, attrs);
    case MO_TYPE_INT: return read_int(r, member);
    case MO_TYPE_NUMBER: return read_number(r, member);
    case MO_TYPE_AXIS:
        if (!read_int(r, &axis)) return false;
        if (axis < 0 || axis >= MO_MAX_RANK) return fail(r, start, "the axis is out of range");
        attrs->axes[0] = (int)axis;
        attrs->n_axes = 1;
        return true;
    case MO_TYPE_AXES: return read_axes(r, attrs->axes, &attrs->n_axes);
    case MO_TYPE_PERM: return read_axes(r, attrs->perm, &count);
    case MO_TYPE_SHAPE: return read_shape(r, &attrs->shape);
    case MO_TYPE_SECTIONS:
        if (!read_ints(r, &sections, &attrs->n_sections)) return false;
        attrs->sections = sections;
        return true;
    }
    MO_BUG("unknown attribute type %d", (int)row->type);
}

/* key=value pairs up to the end of the line. Required ones must be there; nothing stands twice. */
static bool read_attributes(reader *r, mo_node *node)
{
    int rows;
    const mo_attr_row *table = mo_attr_table(&rows);
    uint32_t takes = mo_op_get(node->op)->attributes, seen = 0;
    for (skip_blanks(r); peek(r) != '\n' && peek(r) != '\0'; skip_blanks(r)) {
        char key[LONGEST_TOKEN + 1];
        size_t start = r->at;
        if (!read_token(r, key) || !expect(r, '=')) return false;
        int i = 0;
        while (i < rows && (strcmp(table[i].key, key) != 0 || (takes & table[i].bit) == 0)) i++;
        if (i == rows) return fail(r, start, "%s has no attribute '%s'", mo_op_name(node->op), key);
        if ((seen >> i & 1u) != 0) return fail(r, start, "the attribute '%s' stands twice", key);
        seen |= 1u << i;
        if (!read_attribute(r, &table[i], &node->attrs)) return false;
    }
    for (int i = 0; i < rows; i++) {
        if ((takes & table[i].bit) == 0 || !table[i].required || (seen >> i & 1u) != 0) continue;
        return fail(r, r->at, "%s needs the attribute '%s'", mo_op_name(node->op), table[i].key);
    }
    return true;
}

/* What the node declares must be what its operands give. */
static bool check_node(reader *r, const mo_node *node, size_t start)
{
    mo_program *p = r->program;
    mo_shape *shapes = MO_NEW_ARRAY(r->arena, mo_shape, node->n_outputs);
    mo_dtype *dtypes = MO_NEW_ARRAY(r->arena, mo_dtype, node->n_outputs);
    mo_shape_error error = {.input = -1, .element = -1};
    if (!mo_node_infer(p->tensors, node, shapes, dtypes, &error)) {
        return fail(r, start, "%s: %s", mo_op_name(node->op), error.text);
    }
    for (int i = 0; i < node->n_outputs; i++) {
        mo_tensor *t = &p->tensors[node->outputs[i]];
        if (!mo_shape_equal(t->shape, shapes[i]) || t->dtype != dtypes[i]) {
            return fail(r, start, "the declared shape or dtype of the result is not the one of its value");
        }
        t->producer = p->n_nodes;
        t->producer_output = i;
    }
    return true;
}

static bool read_operands(reader *r, mo_node *node)
{
    int capacity = 0;
    if (!expect(r, '(')) return false;
    if (accept(r, ')')) return true;
    do {
        node->inputs = grow(r->arena, node->inputs, node->n_inputs, &capacity, sizeof *node->inputs);
        mo_operand *operand = &node->inputs[node->n_inputs++];
        operand->tensor = -1;
        skip_blanks(r);
        if (peek(r) == '"' ? !read_tensor(r, &operand->tensor) : !read_number(r, &operand->number))
            return false;
    } while (accept(r, ','));
    return expect(r, ')');
}

static bool read_node(reader *r, size_t start)
{
    mo_program *p = r->program;
    mo_node node = {0};
    int capacity = 0, first = p->n_tensors;
    do {
        node.outputs = grow(r->arena, node.outputs, node.n_outputs, &capacity, sizeof *node.outputs);
        if (!read_declaration(r, &node.outputs[node.n_outputs++])) return false;
    } while (accept(r, ','));
    char name[LONGEST_TOKEN + 1];
    if (!expect(r, '=') || !read_token(r, name)) return false;
    if (!mo_op_find(name, &node.op)) return fail(r, start, "unknown operator '%s'", name);
    if (!read_operands(r, &node) || !read_attributes(r, &node)) return false;
    for (int i = 0; i < node.n_inputs; i++) {
        if (node.inputs[i].tensor >= first) return fail(r, start, "a node needs its own result");
    }
    if (!check_node(r, &node, start)) return false;
    p->nodes = grow(r->arena, p->nodes, p->n_nodes, &r->node_capacity, sizeof *p->nodes);
    p->nodes[p->n_nodes++] = node;
    return true;
}

static bool read_output(reader *r)
{
    mo_program *p = r->program;
    p->outputs = grow(r->arena, p->outputs, p->n_outputs, &r->output_capacity, sizeof *p->outputs);
    return read_tensor(r, &p->outputs[p->n_outputs++]);
}

static bool read_line(reader *r)
{
    char word[LONGEST_TOKEN + 1];
    skip_blanks(r);
    size_t start = r->at;
    if (peek(r) == '#') {
        while (r->at < r->source.length && peek(r) != '\n') r->at++;
    } else if (peek(r) != '\n' && r->at < r->source.length) {
        bool ok = read_token(r, word);
        if (!ok) return false;
        if (strcmp(word, "program") == 0)
            ok = read_name(r, &r->program->name);
        else if (strcmp(word, "input") == 0)
            ok = read_input(r);
        else if (strcmp(word, "node") == 0)
            ok = read_node(r, start);
        else if (strcmp(word, "output") == 0)
            ok = read_output(r);
        else
            ok = fail(r, start, "a line starts with program, input, node or output");
        if (!ok) return false;
    }
    skip_blanks(r);
    if (r->at == r->source.length) return true;
    if (peek(r) != '\n') return fail(r, r->at, "unexpected text at the end of the line");
    r->at++;
    return true;
}

mo_status mo_text_parse_program(mo_arena *arena, const char *file_name, const char *text, size_t length,
                                mo_program **program, mo_error *error)
{
    reader r = {.arena = arena, .source = {file_name, text, length}, .error = error};
    r.program = MO_NEW(arena, mo_program);
    r.program->arena = arena;
    r.names = mo_strmap_new(arena, 64);
    bool ok = true;
    while (ok && r.at < length) ok = read_line(&r);
    if (ok && r.program->name == NULL) ok = fail(&r, 0, "there is no line 'program'");
    if (ok && r.program->n_outputs == 0) ok = fail(&r, length, "there is no output");
    if (!ok) return MO_ERR_USER;
    mo_program_set_compute(r.program);
    mo_program_set_windows(r.program);
    mo_program_set_symbols(r.program);
    mo_program_set_hash(r.program);
    *program = r.program;
    return MO_OK;
}
