/* Tensors of a muGraph by the names that its file gives them.
 *
 * The file may come from another program with the same inputs and outputs, so names other than the inputs'
 * need not be the program's. A tensor that holds an output is the program's own tensor for that output,
 * where there is one (outputs that repeat or are inputs have none); an intermediate is the program's tensor
 * of the same name and shape, if any, and otherwise the graph's own. */
#include "parse/mugraph_parts.h"

#include <string.h>

/* An entry of one of the lists. */
typedef struct {
    const mo_json *object, *name_value;
    const char *name;
    mo_shape shape;
    mo_dtype dtype;
} entry;

static const char *shape_text(const mo_reader *r, mo_shape shape)
{
    mo_str text = {0};
    mo_shape_print(&text, shape);
    const char *copy = mo_arena_strdup(r->arena, mo_str_text(&text));
    mo_str_free(&text);
    return copy;
}

static bool read_entry(const mo_reader *r, const mo_json *object, const char *owner, const char *const *keys,
                       size_t n_keys, entry *e)
{
    const mo_json *shape, *dtype;
    if (!mo_reader_expect(r, object, MO_JSON_OBJECT)) return false;
    if (!mo_reader_check_keys(r, object, owner, keys, n_keys)) return false;
    e->object = object;
    if (!mo_reader_member(r, object, owner, "name", MO_JSON_STRING, &e->name_value)) return false;
    if (!mo_reader_member(r, object, owner, "shape", MO_JSON_ARRAY, &shape)) return false;
    if (!mo_reader_member(r, object, owner, "dtype", MO_JSON_STRING, &dtype)) return false;
    if (!mo_reader_name(r, e->name_value, &e->name)) return false;
    if (!mo_reader_shape(r, shape, &e->shape) || !mo_reader_dtype(r, dtype, &e->dtype)) return false;
    int dim;
    const char *problem = mo_shape_problem(e->shape, &dim);
    return problem == NULL || mo_reader_fail(r, dim < 0 ? shape : &shape->items[dim], NULL, "%s", problem);
}

/* Shape and dtype are those of the program's tensor. */
static bool check_agrees(const mo_reader *r, const entry *e, const char *what, const mo_tensor *tensor)
{
    if (!mo_shape_equal(e->shape, tensor->shape)) {
        return mo_reader_fail(
            r, mo_json_get(e->object, "shape"), NULL, "%s %s is %s here and %s in the program", what,
            mo_reader_quote(r, tensor->name), shape_text(r, e->shape), shape_text(r, tensor->shape));
    }
    if (e->dtype == tensor->dtype) return true;
    return mo_reader_fail(r, mo_json_get(e->object, "dtype"), NULL, "%s %s is %s here and %s in the program",
                          what, mo_reader_quote(r, tensor->name), mo_dtype_name(e->dtype),
                          mo_dtype_name(tensor->dtype));
}

static bool declare(mo_mugraph_reader *m, const entry *e, int tensor)
{
    if (mo_strmap_find(&m->tensors, e->name) != NULL) {
        return mo_reader_fail(&m->reader, e->name_value, NULL, "the name %s stands twice",
                              mo_reader_quote(&m->reader, e->name));
    }
    mo_strmap_put(&m->tensors, e->name, tensor);
    return true;
}

/* Strides as the program declares them; row-major where none are written. */
static bool check_strides(const mo_reader *r, const entry *e, const mo_tensor *tensor)
{
    const mo_json *value = mo_json_get(e->object, "strides");
    int64_t row_major[MO_MAX_RANK], *strides = row_major;
    mo_shape_row_major(tensor->shape, row_major);
    if (value != NULL && !mo_reader_ints(r, value, &strides)) return false;
    if (value != NULL && value->count != tensor->shape.rank)
        return mo_reader_fail(r, value, NULL, "%d strides for rank %d", value->count, tensor->shape.rank);
    for (int d = 0; d < tensor->shape.rank; d++) {
        if (tensor->shape.dim[d] == 1 || strides[d] == tensor->strides[d]) continue;
        return mo_reader_fail(r, value == NULL ? e->object : value, NULL,
                              "the strides of input %s are not the program's", mo_reader_quote(r, e->name));
    }
    return true;
}

static bool read_input(mo_mugraph_reader *m, const mo_json *object)
{
    static const char *const keys[] = {"name", "shape", "dtype", "strides"};
    const mo_reader *r = &m->reader;
    const mo_program *program = m->program;
    entry e;
    if (!read_entry(r, object, "an input", keys, sizeof keys / sizeof keys[0], &e)) return false;
    int t = 0;
    while (t < program->n_inputs && strcmp(program->tensors[t].name, e.name) != 0) t++;
    if (t == program->n_inputs)
        return mo_reader_fail(r, e.name_value, NULL, "the program has no input %s",
                              mo_reader_quote(r, e.name));
    return check_agrees(r, &e, "input", &program->tensors[t]) && check_strides(r, &e, &program->tensors[t]) &&
           declare(m, &e, t);
}

static bool read_inputs(mo_mugraph_reader *m, const mo_json *root)
{
    const mo_json *inputs;
    if (!mo_reader_member(&m->reader, root, "a muGraph", "inputs", MO_JSON_ARRAY, &inputs)) return false;
    for (int i = 0; i < inputs->count; i++)
        if (!read_input(m, &inputs->items[i])) return false;
    for (int t = 0; t < m->program->n_inputs; t++) {
        const char *name = m->program->tensors[t].name;
        if (mo_strmap_find(&m->tensors, name) != NULL) continue;
        return mo_reader_fail(&m->reader, inputs, NULL, "the program's input %s is missing",
                              mo_reader_quote(&m->reader, name));
    }
    return true;
}

static bool read_output_entries(mo_mugraph_reader *m, const mo_json *root, entry **entries)
{
    static const char *const keys[] = {"name", "shape", "dtype"};
    const mo_reader *r = &m->reader;
    const mo_program *program = m->program;
    const mo_json *outputs;
    if (!mo_reader_member(r, root, "a muGraph", "outputs", MO_JSON_ARRAY, &outputs)) return false;
    if (outputs->count != program->n_outputs) {
        return mo_reader_fail(r, outputs, NULL, "%d outputs here and %d in the program", outputs->count,
                              program->n_outputs);
    }
    *entries = MO_NEW_ARRAY(r->arena, entry, outputs->count);
    for (int i = 0; i < outputs->count; i++) {
        entry *e = &(*entries)[i];
        if (!read_entry(r, &outputs->items[i], "an output", keys, sizeof keys / sizeof keys[0], e))
            return false;
        if (!check_agrees(r, e, "output", &program->tensors[program->outputs[i]])) return false;
    }
    return true;
}

/* A C identifier from a name. */
static const char *own_symbol(const mo_mugraph_reader *m, const char *name)
{
    char *symbol = mo_arena_strdup(m->reader.arena, name);
    for (char *c = symbol; *c != '\0'; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || *c == '_';
        if (!letter && (c == symbol || *c < '0' || *c > '9')) *c = '_';
    }
    return symbol;
}

static int add_own(mo_mugraph_reader *m, const entry *e, mo_dtype compute, int output)
{
    int t = mo_mugraph_add_tensor(m->graph, own_symbol(m, e->name), e->shape, e->dtype, compute);
    m->graph->tensors[t].output = output;
    return t;
}

/* The program's tensor that stores this output, or -1. */
static int holder(const mo_mugraph_reader *m, int output)
{
    int t = m->program->outputs[output];
    return m->graph->tensors[t].output == output ? t : -1;
}

/* The program's tensor of this name and shape that no output is stored in, or -1. */
static int find_inner(const mo_mugraph_reader *m, const entry *e)
{
    for (int t = m->program->n_inputs; t < m->program->n_tensors; t++) {
        const mo_mutensor *tensor = &m->graph->tensors[t];
        if (tensor->output < 0 && strcmp(m->program->tensors[t].name, e->name) == 0 &&
            mo_shape_equal(tensor->shape, e->shape))
            return t;
    }
    return -1;
}

static bool read_position(const mo_mugraph_reader *m, const mo_json *value, const entry *e, bool *held,
                          int *output)
{
    const mo_reader *r = &m->reader;
    int64_t position;
    if (!mo_reader_int(r, value, &position)) return false;
    if (position < 0 || position >= m->program->n_outputs)
        return mo_reader_fail(r, value, NULL, "the outputs are 0 to %d", m->program->n_outputs - 1);
    if (held[position])
        return mo_reader_fail(r, value, NULL, "output %d is stored in two tensors", (int)position);
    held[position] = true;
    *output = (int)position;
    return check_agrees(r, e, "output", &m->program->tensors[m->program->outputs[position]]);
}

static bool read_intermediate(mo_mugraph_reader *m, const mo_json *object, bool *held)
{
    static const char *const keys[] = {"name", "shape", "dtype", "compute", "output"};
    const mo_reader *r = &m->reader;
    const mo_json *compute_value, *position = mo_json_get(object, "output");
    entry e;
    mo_dtype compute;
    int output = -1;
    if (!read_entry(r, object, "an intermediate", keys, sizeof keys / sizeof keys[0], &e)) return false;
    if (!mo_reader_member(r, object, "an intermediate", "compute", MO_JSON_STRING, &compute_value))
        return false;
    if (!mo_reader_dtype(r, compute_value, &compute)) return false;
    if (position != NULL && !read_position(m, position, &e, held, &output)) return false;
    int t = output >= 0 ? holder(m, output) : find_inner(m, &e);
    if (t < 0) return declare(m, &e, add_own(m, &e, compute, output));
    m->graph->tensors[t].dtype = e.dtype;
    m->graph->tensors[t].compute = compute;
    return declare(m, &e, t);
}

/* Outputs that no intermediate stores are stored under their own names. */
static bool place_output(mo_mugraph_reader *m, const entry *e, int output)
{
    if (mo_strmap_find(&m->tensors, e->name) != NULL) {
        return mo_reader_fail(&m->reader, e->name_value, "an intermediate with \"output\": N stores it",
                              "%s is taken, so output %d needs a tensor of its own",
                              mo_reader_quote(&m->reader, e->name), output);
    }
    int t = holder(m, output);
    if (t < 0) t = add_own(m, e, m->program->tensors[m->program->outputs[output]].compute, output);
    return declare(m, e, t);
}

/* The program's window of this name. */
static int find_window(const mo_mugraph_reader *m, const entry *e)
{
    for (int t = m->program->n_inputs; t < m->program->n_tensors; t++)
        if (m->graph->tensors[t].window_of > 0 && strcmp(m->program->tensors[t].name, e->name) == 0 &&
            mo_shape_equal(m->graph->tensors[t].shape, e->shape))
            return t;
    return -1;
}

/* Is it laid out as the program's is? */
static bool check_window(const mo_mugraph_reader *m, const entry *e, int tensor)
{
    const mo_reader *r = &m->reader;
    const mo_mutensor *window = &m->graph->tensors[tensor];
    const mo_json *offset = mo_json_get(e->object, "offset"), *strides = mo_json_get(e->object, "strides");
    int64_t at, *steps;
    if (offset == NULL || strides == NULL)
        return mo_reader_fail(r, e->object, NULL, "a window has an offset and strides");
    if (!mo_reader_int(r, offset, &at) || !mo_reader_ints(r, strides, &steps)) return false;
    bool same = at == window->offset && strides->count == window->shape.rank;
    for (int d = 0; same && d < window->shape.rank; d++) same = steps[d] == window->strides[d];
    return same || mo_reader_fail(r, e->object, NULL, "the window %s lies elsewhere in the program",
                                  mo_reader_quote(r, e->name));
}

static bool read_window(mo_mugraph_reader *m, const mo_json *object)
{
    static const char *const keys[] = {"name", "shape", "dtype", "compute", "of", "offset", "strides"};
    const mo_reader *r = &m->reader;
    entry e;
    if (!read_entry(r, object, "a window", keys, sizeof keys / sizeof keys[0], &e)) return false;
    int t = find_window(m, &e);
    if (t < 0)
        return mo_reader_fail(r, e.name_value, NULL, "the program has no window %s",
                              mo_reader_quote(r, e.name));
    m->graph->tensors[t].dtype = e.dtype;
    return check_window(m, &e, t) && declare(m, &e, t);
}

static bool read_windows(mo_mugraph_reader *m, const mo_json *root)
{
    const mo_json *windows = mo_json_get(root, "windows");
    if (windows == NULL) return true;
    if (!mo_reader_expect(&m->reader, windows, MO_JSON_ARRAY)) return false;
    for (int i = 0; i < windows->count; i++)
        if (!read_window(m, &windows->items[i])) return false;
    return true;
}

bool mo_mugraph_read_tensors(mo_mugraph_reader *m, const mo_json *root)
{
    const mo_json *intermediates = mo_json_get(root, "intermediates");
    entry *outputs = NULL;
    m->tensors = mo_strmap_new(m->reader.arena, (size_t)(2 * m->program->n_tensors + intermediates->count));
    if (!read_inputs(m, root) || !read_output_entries(m, root, &outputs)) return false;
    bool *held = MO_NEW_ARRAY(m->reader.arena, bool, m->program->n_outputs);
    for (int i = 0; i < intermediates->count; i++)
        if (!read_intermediate(m, &intermediates->items[i], held)) return false;
    for (int o = 0; o < m->program->n_outputs; o++)
        if (!held[o] && !place_output(m, &outputs[o], o)) return false;
    return read_windows(m, root);
}
