/* The stages: JSON text, draft (names, attributes), order, shapes, and at last the program without the
 * nodes that no output needs. */
#include "parse/parse.h"

#include "base/json.h"
#include "ir/window.h"
#include "parse/draft.h"

#include <string.h>

#define FORMAT "mirage-opt/1"

static bool check_head(const mo_reader *r, const mo_json *root)
{
    static const char *const keys[] = {"format", "name", "inputs", "nodes", "outputs"};
    if (root->kind != MO_JSON_OBJECT) {
        return mo_reader_fail(r, root, NULL, "a program is an object, not %s", mo_json_kind_name(root->kind));
    }
    const mo_json *format = mo_json_get(root, "format");
    if (format == NULL) {
        return mo_reader_fail(r, root, "\"format\": \"" FORMAT "\"", "a program needs the key 'format'");
    }
    if (!mo_reader_expect(r, format, MO_JSON_STRING)) return false;
    if (strcmp(format->string, FORMAT) != 0) {
        return mo_reader_fail(r, format, "this tool reads '" FORMAT "'", "unknown format %s",
                              mo_reader_quote(r, format->string));
    }
    return mo_reader_check_keys(r, root, "a program", keys, sizeof keys / sizeof keys[0]);
}

/* The file name without directory and ending; what cannot be part of a name becomes '_'. */
static const char *file_stem(mo_arena *arena, const char *file_name)
{
    const char *slash = strrchr(file_name, '/');
    const char *base = slash == NULL ? file_name : slash + 1;
    const char *dot = strrchr(base, '.');
    size_t length = dot == NULL ? strlen(base) : (size_t)(dot - base);
    if (length > MO_NAME_LIMIT) length = MO_NAME_LIMIT;
    if (length == 0 || base[0] == '<' || strcmp(base, "-") == 0) return "program";
    char *stem = mo_arena_strndup(arena, base, length);
    for (size_t i = 0; i < length;) {
        size_t n = mo_utf8_sequence(stem + i, length - i);
        bool keep = n > 0 && !mo_utf8_is_control(stem + i, n);
        if (n == 0) n = 1;
        if (!keep) memset(stem + i, '_', n);
        i += n;
    }
    return stem;
}

static bool read_name(const mo_reader *r, const mo_json *root, const char **name)
{
    const mo_json *value = mo_json_get(root, "name");
    if (value != NULL) return mo_reader_name(r, value, name);
    *name = file_stem(r->arena, r->source.name);
    return true;
}

/* The value that a shape error speaks of: an operand, an attribute or one element of it, or the node. */
static const mo_json *blamed(const mo_json *object, const mo_shape_error *error)
{
    const mo_json *value = NULL;
    int element = error->element;
    if (error->input >= 0) {
        value = mo_json_get(object, "inputs");
        element = error->input;
    } else if (error->attribute != NULL) {
        value = mo_json_get(object, error->attribute);
    }
    if (value == NULL) return object;
    bool listed = value->kind == MO_JSON_ARRAY && element >= 0 && element < value->count;
    return listed ? &value->items[element] : value;
}

static bool infer_node(mo_draft *d, int index)
{
    const mo_reader *r = &d->reader;
    mo_node *node = &d->nodes[index];
    mo_shape *shapes = MO_NEW_ARRAY(r->arena, mo_shape, node->n_outputs);
    mo_dtype *dtypes = MO_NEW_ARRAY(r->arena, mo_dtype, node->n_outputs);
    mo_shape_error error = {.input = -1, .element = -1};
    bool ok = mo_node_normalize(r->arena, d->tensors, node, &error) &&
              mo_node_infer(d->tensors, node, shapes, dtypes, &error);
    if (!ok) {
        return mo_reader_fail(r, blamed(d->objects[index], &error), error.hint, "%s: %s",
                              mo_op_name(node->op), error.text);
    }
    for (int i = 0; i < node->n_outputs; i++) {
        mo_tensor *tensor = &d->tensors[node->outputs[i]];
        tensor->shape = shapes[i];
        tensor->dtype = dtypes[i];
        mo_shape_row_major(tensor->shape, tensor->strides);
    }
    return true;
}

static bool read_program_outputs(const mo_draft *d, const mo_json *root, int **outputs, int *count)
{
    const mo_json *value;
    if (!mo_reader_member(&d->reader, root, "a program", "outputs", MO_JSON_ARRAY, &value)) return false;
    if (value->count == 0)
        return mo_reader_fail(&d->reader, value, NULL, "a program has at least one output");
    *outputs = MO_NEW_ARRAY(d->reader.arena, int, value->count);
    *count = value->count;
    for (int i = 0; i < value->count; i++) {
        if (!mo_draft_resolve(d, &value->items[i], &(*outputs)[i])) return false;
    }
    return true;
}

/* Marks the nodes that an output needs. `order` is topological, so one walk from its end suffices. */
static bool *find_needed(const mo_draft *d, const int *order, const int *outputs, int n_outputs)
{
    bool *needed = MO_NEW_ARRAY(d->reader.arena, bool, d->n_nodes);
    for (int i = 0; i < n_outputs; i++) {
        int producer = d->tensors[outputs[i]].producer;
        if (producer >= 0) needed[producer] = true;
    }
    for (int k = d->n_nodes - 1; k >= 0; k--) {
        const mo_node *node = &d->nodes[order[k]];
        if (!needed[order[k]]) continue;
        for (int i = 0; i < node->n_inputs; i++) {
            int producer = node->inputs[i].tensor < 0 ? -1 : d->tensors[node->inputs[i].tensor].producer;
            if (producer >= 0) needed[producer] = true;
        }
    }
    return needed;
}

static void note_dropped(const mo_draft *d, const bool *needed, mo_str *notes)
{
    for (int i = 0; i < d->n_nodes && notes != NULL; i++) {
        if (needed[i]) continue;
        mo_str_printf(notes, "%s: note: at /nodes/%d: no output needs ", d->reader.source.name, i);
        mo_diag_quote(notes, d->tensors[d->nodes[i].outputs[0]].name);
        mo_str_add(notes, "; the node is dropped\n");
    }
}

/* Copies what is needed, renumbered. */
static void assemble(const mo_draft *d, const int *order, const bool *needed, mo_program *program)
{
    mo_arena *arena = program->arena;
    int *number = MO_NEW_ARRAY(arena, int, d->n_tensors);
    program->tensors = MO_NEW_ARRAY(arena, mo_tensor, d->n_tensors);
    program->nodes = MO_NEW_ARRAY(arena, mo_node, d->n_nodes);
    program->n_inputs = program->n_tensors = d->n_inputs;
    for (int t = 0; t < d->n_inputs; t++) {
        program->tensors[t] = d->tensors[t];
        number[t] = t;
    }
    for (int k = 0; k < d->n_nodes; k++) {
        if (!needed[order[k]]) continue;
        mo_node *node = &program->nodes[program->n_nodes];
        *node = d->nodes[order[k]];
        for (int i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i].tensor >= 0) node->inputs[i].tensor = number[node->inputs[i].tensor];
        }
        for (int i = 0; i < node->n_outputs; i++) {
            int old = node->outputs[i], now = program->n_tensors++;
            number[old] = node->outputs[i] = now;
            program->tensors[now] = d->tensors[old];
            program->tensors[now].producer = program->n_nodes;
        }
        program->n_nodes++;
    }
    for (int i = 0; i < program->n_outputs; i++) program->outputs[i] = number[program->outputs[i]];
}

static bool parse(mo_draft *d, const mo_json *root, mo_program *program, mo_str *notes)
{
    if (!check_head(&d->reader, root) || !read_name(&d->reader, root, &program->name)) return false;
    if (!mo_draft_read(d, root)) return false;
    if (!read_program_outputs(d, root, &program->outputs, &program->n_outputs)) return false;
    int *order = MO_NEW_ARRAY(d->reader.arena, int, d->n_nodes);
    if (!mo_draft_order(d, order)) return false;
    for (int k = 0; k < d->n_nodes; k++) {
        if (!infer_node(d, order[k])) return false;
    }
    const bool *needed = find_needed(d, order, program->outputs, program->n_outputs);
    note_dropped(d, needed, notes);
    assemble(d, order, needed, program);
    mo_program_set_compute(program);
    mo_program_set_windows(program);
    mo_program_set_symbols(program);
    mo_program_set_hash(program);
    return true;
}

mo_status mo_parse_program(mo_arena *arena, const char *file_name, const char *text, size_t length,
                           mo_program **program, mo_str *notes, mo_error *error)
{
    mo_draft draft = {.reader = {arena, {file_name, text, length}, error}};
    const mo_json *root;
    mo_status status = mo_json_read(arena, &draft.reader.source, &root, error);
    if (status != MO_OK) return status;
    mo_program *result = MO_NEW(arena, mo_program);
    result->arena = arena;
    mo_source *source = MO_NEW(arena, mo_source);
    *source = draft.reader.source;
    result->source = source;
    if (!parse(&draft, root, result, notes)) return MO_ERR_USER;
    *program = result;
    return MO_OK;
}
