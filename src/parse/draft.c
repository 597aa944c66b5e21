#include "parse/draft.h"

#include "parse/attrs.h"

/* Gives the next tensor its name. */
static bool declare(mo_draft *d, const mo_json *value, int producer, int producer_output)
{
    const mo_reader *r = &d->reader;
    mo_tensor *tensor = &d->tensors[d->n_tensors];
    if (!mo_reader_name(r, value, &tensor->name)) return false;
    const int *other = mo_strmap_find(&d->names, tensor->name);
    if (other != NULL) {
        return mo_reader_fail(r, value, NULL, "the name %s is taken by %s", mo_reader_quote(r, tensor->name),
                              mo_json_path(r->arena, d->declared[*other]));
    }
    tensor->producer = producer;
    tensor->producer_output = producer_output;
    d->declared[d->n_tensors] = value;
    mo_strmap_put(&d->names, tensor->name, d->n_tensors++);
    return true;
}

static bool read_input_shape(const mo_reader *r, const mo_json *value, mo_shape *shape)
{
    if (!mo_reader_shape(r, value, shape)) return false;
    int dim;
    const char *problem = mo_shape_problem(*shape, &dim);
    if (problem == NULL) return true;
    return mo_reader_fail(r, dim < 0 ? value : &value->items[dim], NULL, "%s", problem);
}

/* Strides in elements; that of a dimension of size 1 means nothing and becomes the row-major one. */
static bool read_strides(const mo_reader *r, const mo_json *value, mo_tensor *tensor)
{
    int64_t *strides, last = 0;
    if (!mo_reader_ints(r, value, &strides)) return false;
    if (value->count != tensor->shape.rank) {
        return mo_reader_fail(r, value, NULL, "%d strides for rank %d", value->count, tensor->shape.rank);
    }
    for (int i = 0; i < value->count; i++) {
        if (strides[i] < 0) {
            return mo_reader_fail(r, &value->items[i], "0 repeats one element along the dimension",
                                  "a stride may not be negative");
        }
        if (tensor->shape.dim[i] == 1) continue;
        tensor->strides[i] = strides[i];
        int64_t reach;
        bool huge = __builtin_mul_overflow(strides[i], tensor->shape.dim[i] - 1, &reach) ||
                    __builtin_add_overflow(last, reach, &last) || last >= MO_MAX_ELEMENTS;
        if (huge)
            return mo_reader_fail(r, &value->items[i], NULL, "the strides reach over 2^31 or more elements");
    }
    return true;
}

static bool read_input(mo_draft *d, const mo_json *object)
{
    static const char *const keys[] = {"name", "shape", "dtype", "strides"};
    const mo_reader *r = &d->reader;
    const mo_json *name, *shape, *dtype;
    if (!mo_reader_expect(r, object, MO_JSON_OBJECT)) return false;
    if (!mo_reader_check_keys(r, object, "an input", keys, sizeof keys / sizeof keys[0])) return false;
    if (!mo_reader_member(r, object, "an input", "name", MO_JSON_STRING, &name)) return false;
    if (!mo_reader_member(r, object, "an input", "shape", MO_JSON_ARRAY, &shape)) return false;
    if (!mo_reader_member(r, object, "an input", "dtype", MO_JSON_STRING, &dtype)) return false;
    mo_tensor *tensor = &d->tensors[d->n_tensors];
    if (!declare(d, name, -1, 0)) return false;
    if (!read_input_shape(r, shape, &tensor->shape) || !mo_reader_dtype(r, dtype, &tensor->dtype))
        return false;
    mo_shape_row_major(tensor->shape, tensor->strides);
    const mo_json *strides = mo_json_get(object, "strides");
    return strides == NULL || read_strides(r, strides, tensor);
}

static bool read_op(const mo_reader *r, const mo_json *value, mo_op *op)
{
    if (mo_op_find(value->string, op)) return true;
    const char *names[MO_OP_COUNT];
    size_t count = 0;
    for (int i = 0; i < MO_OP_COUNT; i++) {
        if (mo_op_kind_of((mo_op)i) != MO_KIND_STRUCTURE) names[count++] = mo_op_name((mo_op)i);
    }
    const char *hint = mo_reader_guess(r, value->string, names, count);
    if (hint == NULL) hint = "--list-ops lists the operators";
    return mo_reader_fail(r, value, hint, "unknown operator %s", mo_reader_quote(r, value->string));
}

static bool read_outputs(mo_draft *d, const mo_json *object, int index)
{
    mo_node *node = &d->nodes[index];
    bool several = node->op == MO_OP_SPLIT;
    const mo_json *value;
    const char *key = several ? "outputs" : "output";
    mo_json_kind kind = several ? MO_JSON_ARRAY : MO_JSON_STRING;
    if (!mo_reader_member(&d->reader, object, mo_op_name(node->op), key, kind, &value)) return false;
    if (several && value->count == 0)
        return mo_reader_fail(&d->reader, value, NULL, "the list of outputs is empty");
    node->n_outputs = several ? value->count : 1;
    node->outputs = MO_NEW_ARRAY(d->reader.arena, int, node->n_outputs);
    for (int i = 0; i < node->n_outputs; i++) {
        node->outputs[i] = d->n_tensors;
        if (!declare(d, several ? &value->items[i] : value, index, i)) return false;
    }
    return true;
}

static bool read_node(mo_draft *d, const mo_json *object, int index)
{
    const mo_reader *r = &d->reader;
    mo_node *node = &d->nodes[index];
    const mo_json *op, *inputs;
    d->objects[index] = object;
    node->offset = object->offset;
    node->path = mo_json_path(r->arena, object);
    if (!mo_reader_expect(r, object, MO_JSON_OBJECT)) return false;
    if (!mo_reader_member(r, object, "a node", "op", MO_JSON_STRING, &op)) return false;
    if (!read_op(r, op, &node->op)) return false;
    if (!mo_parse_attrs(r, object, node->op, &node->attrs)) return false;
    if (!mo_reader_member(r, object, mo_op_name(node->op), "inputs", MO_JSON_ARRAY, &inputs)) return false;
    node->n_inputs = inputs->count;
    node->inputs = MO_NEW_ARRAY(r->arena, mo_operand, inputs->count);
    return read_outputs(d, object, index);
}

bool mo_draft_resolve(const mo_draft *d, const mo_json *value, int *tensor)
{
    const mo_reader *r = &d->reader;
    if (!mo_reader_expect(r, value, MO_JSON_STRING)) return false;
    const int *found = mo_strmap_find(&d->names, value->string);
    if (found != NULL) {
        *tensor = *found;
        return true;
    }
    const char **names = MO_NEW_ARRAY(r->arena, const char *, d->n_tensors);
    for (int i = 0; i < d->n_tensors; i++) names[i] = d->tensors[i].name;
    const char *hint = mo_reader_guess(r, value->string, names, (size_t)d->n_tensors);
    return mo_reader_fail(r, value, hint, "no tensor is called %s", mo_reader_quote(r, value->string));
}

static bool resolve_operands(const mo_draft *d, int index)
{
    const mo_json *inputs = mo_json_get(d->objects[index], "inputs");
    mo_node *node = &d->nodes[index];
    for (int i = 0; i < node->n_inputs; i++) {
        const mo_json *value = &inputs->items[i];
        if (value->kind == MO_JSON_NUMBER) {
            node->inputs[i] = (mo_operand){-1, value->number};
            continue;
        }
        if (value->kind != MO_JSON_STRING) {
            return mo_reader_fail(&d->reader, value, NULL, "expected the name of a tensor, found %s",
                                  mo_json_kind_name(value->kind));
        }
        if (!mo_draft_resolve(d, value, &node->inputs[i].tensor)) return false;
    }
    return true;
}

bool mo_draft_read(mo_draft *d, const mo_json *root)
{
    const mo_reader *r = &d->reader;
    const mo_json *inputs, *nodes;
    if (!mo_reader_member(r, root, "a program", "inputs", MO_JSON_ARRAY, &inputs)) return false;
    if (!mo_reader_member(r, root, "a program", "nodes", MO_JSON_ARRAY, &nodes)) return false;
    size_t capacity = (size_t)inputs->count;
    for (int i = 0; i < nodes->count; i++) {
        const mo_json *outputs = mo_json_get(&nodes->items[i], "outputs");
        capacity += outputs == NULL ? 1 : (size_t)outputs->count + 1;
    }
    d->tensors = MO_NEW_ARRAY(r->arena, mo_tensor, capacity);
    d->declared = MO_NEW_ARRAY(r->arena, const mo_json *, capacity);
    d->names = mo_strmap_new(r->arena, capacity);
    d->n_nodes = nodes->count;
    d->nodes = MO_NEW_ARRAY(r->arena, mo_node, nodes->count);
    d->objects = MO_NEW_ARRAY(r->arena, const mo_json *, nodes->count);
    for (int i = 0; i < inputs->count; i++) {
        if (!read_input(d, &inputs->items[i])) return false;
    }
    d->n_inputs = d->n_tensors;
    for (int i = 0; i < nodes->count; i++) {
        if (!read_node(d, &nodes->items[i], i)) return false;
    }
    for (int i = 0; i < nodes->count; i++) {
        if (!resolve_operands(d, i)) return false;
    }
    return true;
}
