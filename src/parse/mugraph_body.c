/* The block graph of a kernel: operators in order, and where values are read and written. What can be worked
 * out from the rest (axes of a value, imap, fmap, omap, strides where dimensions are named) must agree. */
#include "parse/mugraph_parts.h"

#include <string.h>

#define MOST_INDICES 0x1p62 /* of one value, the reduced axes included */

static bool read_axis_list(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *value,
                           mo_axes *axes)
{
    *axes = 0;
    if (!mo_reader_expect(&m->reader, value, MO_JSON_ARRAY)) return false;
    for (int i = 0; i < value->count; i++) {
        int axis;
        if (!mo_mugraph_read_axis(m, body, &value->items[i], &axis)) return false;
        if (*axes >> axis & 1u)
            return mo_reader_fail(&m->reader, &value->items[i], NULL, "the axis stands twice");
        *axes |= (mo_axes)1 << axis;
    }
    return true;
}

/* A list of axes that must be `expected`. */
static bool check_axis_list(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *object,
                            const char *key, mo_axes expected)
{
    const mo_json *value = mo_json_get(object, key);
    mo_axes axes;
    if (value == NULL) return mo_reader_fail(&m->reader, object, NULL, "the key '%s' is missing", key);
    if (!read_axis_list(m, body, value, &axes)) return false;
    if (axes == expected) return true;
    mo_str text = {0};
    MO_FOR_AXES(a, expected) mo_str_printf(&text, "%s%s", text.length > 0 ? ", " : "", body->axes[a].name);
    bool fine =
        mo_reader_fail(&m->reader, value, NULL, "'%s' does not follow from the rest: it should be [%s]", key,
                       mo_str_text(&text));
    mo_str_free(&text);
    return fine;
}

static mo_axes placed(const mo_kernel *kernel, mo_axes axes, mo_place place)
{
    mo_axes result = 0;
    MO_FOR_AXES(a, axes)
        if (kernel->schedule.place[a] == place) result |= (mo_axes)1 << a;
    return result;
}

static bool read_tensor(const mo_mugraph_reader *m, const mo_json *object, int *tensor)
{
    const mo_json *value;
    if (!mo_reader_member(&m->reader, object, "an access", "tensor", MO_JSON_STRING, &value)) return false;
    const int *found = mo_strmap_find(&m->tensors, value->string);
    if (found == NULL) {
        return mo_reader_fail(&m->reader, value, NULL, "no tensor is called %s",
                              mo_reader_quote(&m->reader, value->string));
    }
    *tensor = *found;
    return true;
}

/* An object of strides by axis; its keys are the axes of the access. */
static bool read_strides(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *object,
                         mo_access *access, mo_axes *axes)
{
    const mo_reader *r = &m->reader;
    const mo_mutensor *tensor = &m->graph->tensors[access->tensor];
    const mo_json *strides;
    int64_t last = 0, end = 0;
    *axes = 0;
    if (!mo_reader_member(r, object, "an access", "strides", MO_JSON_OBJECT, &strides)) return false;
    for (int d = 0; d < tensor->shape.rank; d++) end += tensor->strides[d] * (tensor->shape.dim[d] - 1);
    for (int i = 0; i < strides->count; i++) {
        const mo_json *value = &strides->items[i];
        int a = 0;
        while (a < body->n_axes && strcmp(body->axes[a].name, value->key) != 0) a++;
        if (a == body->n_axes)
            return mo_reader_fail(r, value, NULL, "the kernel has no axis %s",
                                  mo_reader_quote(r, value->key));
        if (!mo_reader_int(r, value, &access->stride[a])) return false;
        if (access->stride[a] < 0 || access->stride[a] >= MO_MAX_ELEMENTS)
            return mo_reader_fail(r, value, NULL, "a stride is at least 0 and below 2^31");
        last += access->stride[a] * (body->axes[a].extent - 1);
        if (last > end)
            return mo_reader_fail(r, value, NULL, "the access reaches beyond the end of the tensor");
        *axes |= (mo_axes)1 << a;
    }
    return true;
}

/* The axis over each dimension, where axes have not been merged. */
static bool read_dims(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *object, mo_axes axes,
                      mo_access *access)
{
    const mo_reader *r = &m->reader;
    const mo_mutensor *tensor = &m->graph->tensors[access->tensor];
    const mo_json *dims = mo_json_get(object, "dims");
    access->rank = -1;
    if (dims == NULL) return true;
    if (!mo_reader_expect(r, dims, MO_JSON_ARRAY)) return false;
    if (dims->count != tensor->shape.rank) {
        return mo_reader_fail(r, dims, NULL, "%d dimensions for a tensor of rank %d", dims->count,
                              tensor->shape.rank);
    }
    int8_t dim_axis[MO_MAX_RANK];
    for (int d = 0; d < dims->count; d++) {
        int a = -1;
        if (dims->items[d].kind != MO_JSON_NULL && !mo_mugraph_read_axis(m, body, &dims->items[d], &a))
            return false;
        if (a >= 0 && body->axes[a].extent != tensor->shape.dim[d])
            return mo_reader_fail(r, &dims->items[d], NULL, "the axis has extent %lld and the dimension %lld",
                                  (long long)body->axes[a].extent, (long long)tensor->shape.dim[d]);
        dim_axis[d] = (int8_t)a;
    }
    mo_access named = mo_access_make(access->tensor, tensor->shape, tensor->strides, dim_axis);
    if (memcmp(named.stride, access->stride, sizeof named.stride) != 0)
        return mo_reader_fail(r, mo_json_get(object, "strides"), NULL, "the strides are not those of 'dims'");
    for (int d = 0; d < dims->count; d++)
        if (dim_axis[d] >= 0 && !(axes >> dim_axis[d] & 1u))
            return mo_reader_fail(r, &dims->items[d], NULL, "the axis has no stride");
    *access = named;
    return true;
}

static bool read_access(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *object,
                        mo_access *access, mo_axes *axes)
{
    return read_tensor(m, object, &access->tensor) && read_strides(m, body, object, access, axes) &&
           read_dims(m, body, object, *axes, access);
}

static bool read_iter(const mo_mugraph_reader *m, const mo_kernel *kernel, const mo_json *object,
                      mo_prim_node *node)
{
    static const char *const keys[] = {"id",   "op",      "tensor", "imap",   "fmap",
                                       "dims", "strides", "dtype",  "compute"};
    const mo_prim *body = kernel->body;
    return mo_reader_check_keys(&m->reader, object, "an iterator", keys, sizeof keys / sizeof keys[0]) &&
           read_access(m, body, object, &node->access, &node->axes) &&
           check_axis_list(m, body, object, "imap", placed(kernel, node->axes, MO_PLACE_GRID)) &&
           check_axis_list(m, body, object, "fmap", placed(kernel, node->axes, MO_PLACE_LOOP));
}

static bool read_const(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *object,
                       mo_prim_node *node)
{
    static const char *const keys[] = {"id", "op", "number", "extent_of", "axes", "dtype", "compute"};
    const mo_reader *r = &m->reader;
    const mo_json *number, *extents = mo_json_get(object, "extent_of");
    if (!mo_reader_check_keys(r, object, "a number", keys, sizeof keys / sizeof keys[0])) return false;
    if (!mo_reader_member(r, object, "a number", "number", MO_JSON_NUMBER, &number)) return false;
    node->number = number->number;
    if (!check_axis_list(m, body, object, "axes", 0)) return false;
    if (extents == NULL) return true;
    if (!read_axis_list(m, body, extents, &node->const_axes)) return false;
    double product = 1.0;
    MO_FOR_AXES(a, node->const_axes) product *= (double)body->axes[a].extent;
    if (node->const_axes != 0 && product == node->number) return true;
    return mo_reader_fail(r, number, NULL, "the number is not the product of the extents");
}

static bool read_operands(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *object,
                          mo_prim_node *node)
{
    const mo_json *inputs;
    int64_t *ids;
    const mo_op_facts *facts = mo_op_get(node->op);
    if (!mo_reader_member(&m->reader, object, facts->name, "inputs", MO_JSON_ARRAY, &inputs)) return false;
    if (!mo_reader_ints(&m->reader, inputs, &ids)) return false;
    node->n_in = facts->min_inputs;
    if (inputs->count != node->n_in) {
        return mo_reader_fail(&m->reader, inputs, NULL, "%s has %d operands, not %d", facts->name, node->n_in,
                              inputs->count);
    }
    for (int i = 0; i < node->n_in; i++) {
        if (ids[i] < 0 || ids[i] >= body->n_nodes)
            return mo_reader_fail(&m->reader, &inputs->items[i], NULL, "an operand comes before its user");
        node->in[i] = (int)ids[i];
        node->axes |= body->nodes[node->in[i]].axes;
    }
    if (node->op == MO_OP_POW && body->nodes[node->in[1]].op != MO_OP_CONST)
        return mo_reader_fail(&m->reader, &inputs->items[1], NULL, "an exponent is a number");
    return true;
}

static bool read_reduced(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *object,
                         mo_prim_node *node)
{
    const mo_json *over;
    if (!mo_reader_member(&m->reader, object, mo_op_name(node->op), "over", MO_JSON_ARRAY, &over))
        return false;
    if (!read_axis_list(m, body, over, &node->reduced)) return false;
    if (node->reduced == 0 || (node->reduced & ~node->axes) != 0)
        return mo_reader_fail(&m->reader, over, NULL, "'over' names axes of the operands, at least one");
    node->axes &= ~node->reduced;
    return true;
}

static bool read_clamp(const mo_mugraph_reader *m, const mo_json *object, mo_prim_node *node)
{
    const mo_json *min, *max;
    if (!mo_reader_member(&m->reader, object, "clamp", "min", MO_JSON_NUMBER, &min)) return false;
    if (!mo_reader_member(&m->reader, object, "clamp", "max", MO_JSON_NUMBER, &max)) return false;
    node->min = min->number;
    node->max = max->number;
    return node->min <= node->max || mo_reader_fail(&m->reader, max, NULL, "max is below min");
}

static bool read_approximate(const mo_mugraph_reader *m, const mo_json *object, mo_prim_node *node)
{
    const mo_json *value;
    if (!mo_reader_member(&m->reader, object, "gelu", "approximate", MO_JSON_STRING, &value)) return false;
    node->approximate_tanh = strcmp(value->string, "tanh") == 0;
    return node->approximate_tanh || strcmp(value->string, "none") == 0 ||
           mo_reader_fail(&m->reader, value, NULL, "'approximate' is \"none\" or \"tanh\"");
}

/* An axis of the operand, or null for index 0. */
static bool read_mask_axis(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *object,
                           const char *key, mo_axes axes, int8_t *axis)
{
    const mo_json *value = mo_json_get(object, key);
    int a = -1;
    if (value == NULL)
        return mo_reader_fail(&m->reader, object, NULL, "a mask has rows, columns and an offset");
    if (value->kind != MO_JSON_NULL && !mo_mugraph_read_axis(m, body, value, &a)) return false;
    *axis = (int8_t)(a + 1);
    return a < 0 || axes >> a & 1u ||
           mo_reader_fail(&m->reader, value, NULL, "the operand does not have this axis");
}

static bool read_mask(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *object,
                      mo_prim_node *node)
{
    const mo_json *offset;
    if (!read_mask_axis(m, body, object, "rows", node->axes, &node->mask_rows)) return false;
    if (!read_mask_axis(m, body, object, "columns", node->axes, &node->mask_columns)) return false;
    if (!mo_reader_member(&m->reader, object, "a mask", "offset", MO_JSON_NUMBER, &offset)) return false;
    return mo_reader_int(&m->reader, offset, &node->mask_offset);
}

/* Operators with operands. */
static bool read_operator(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *object,
                          mo_prim_node *node)
{
    const char *keys[10] = {"id", "op", "inputs", "axes", "dtype", "compute"};
    size_t n_keys = 6;
    mo_op_kind kind = mo_op_kind_of(node->op);
    bool reduces = kind == MO_KIND_REDUCE || kind == MO_KIND_PRODUCT;
    if (reduces) keys[n_keys++] = "over";
    if (node->op == MO_OP_GELU) keys[n_keys++] = "approximate";
    if (node->op == MO_OP_CLAMP) {
        keys[n_keys++] = "min";
        keys[n_keys++] = "max";
    }
    if (node->op == MO_OP_MASK) {
        keys[n_keys++] = "rows";
        keys[n_keys++] = "columns";
        keys[n_keys++] = "offset";
    }
    if (!mo_reader_check_keys(&m->reader, object, mo_op_name(node->op), keys, n_keys)) return false;
    if (!read_operands(m, body, object, node)) return false;
    if (reduces && !read_reduced(m, body, object, node)) return false;
    if (node->op == MO_OP_CLAMP && !read_clamp(m, object, node)) return false;
    if (node->op == MO_OP_GELU && !read_approximate(m, object, node)) return false;
    if (node->op == MO_OP_MASK && !read_mask(m, body, object, node)) return false;
    return check_axis_list(m, body, object, "axes", node->axes);
}

static bool read_op(const mo_mugraph_reader *m, const mo_json *object, mo_op *op)
{
    const mo_json *value;
    if (!mo_reader_member(&m->reader, object, "a node", "op", MO_JSON_STRING, &value)) return false;
    for (int i = 0; i < MO_OP_COUNT; i++) {
        if (!(mo_op_get((mo_op)i)->levels & MO_LEVEL_B) || strcmp(mo_op_name((mo_op)i), value->string) != 0)
            continue;
        *op = (mo_op)i;
        return true;
    }
    return mo_reader_fail(&m->reader, value, NULL, "block graphs have no operator %s",
                          mo_reader_quote(&m->reader, value->string));
}

static bool check_size(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *object, mo_axes axes)
{
    double indices = 1.0;
    MO_FOR_AXES(a, axes) indices *= (double)body->axes[a].extent;
    return indices < MOST_INDICES ||
           mo_reader_fail(&m->reader, object, NULL, "a value of 2^62 or more elements");
}

static bool read_node(const mo_mugraph_reader *m, const mo_kernel *kernel, const mo_json *object)
{
    const mo_reader *r = &m->reader;
    const mo_json *id, *dtype, *compute;
    mo_prim_node node = {0};
    int64_t index;
    if (!mo_reader_expect(r, object, MO_JSON_OBJECT)) return false;
    if (!mo_reader_member(r, object, "a node", "id", MO_JSON_NUMBER, &id) || !mo_reader_int(r, id, &index))
        return false;
    if (index != kernel->body->n_nodes)
        return mo_reader_fail(r, id, NULL, "ids count from 0 in the order of the nodes");
    if (!read_op(m, object, &node.op)) return false;
    bool fine = node.op == MO_OP_ITER    ? read_iter(m, kernel, object, &node)
                : node.op == MO_OP_CONST ? read_const(m, kernel->body, object, &node)
                                         : read_operator(m, kernel->body, object, &node);
    if (!fine || !check_size(m, kernel->body, object, node.axes | node.reduced)) return false;
    if (!mo_reader_member(r, object, "a node", "dtype", MO_JSON_STRING, &dtype)) return false;
    if (!mo_reader_member(r, object, "a node", "compute", MO_JSON_STRING, &compute)) return false;
    if (!mo_reader_dtype(r, dtype, &node.dtype) || !mo_reader_dtype(r, compute, &node.compute)) return false;
    mo_prim_append(kernel->body, node);
    return true;
}

static bool read_saver(const mo_mugraph_reader *m, const mo_kernel *kernel, const mo_json *object)
{
    static const char *const keys[] = {"node", "tensor", "omap", "dims", "strides"};
    const mo_reader *r = &m->reader;
    const mo_json *value;
    mo_access access = {0};
    mo_axes axes;
    int64_t node;
    if (!mo_reader_expect(r, object, MO_JSON_OBJECT)) return false;
    if (!mo_reader_check_keys(r, object, "a saver", keys, sizeof keys / sizeof keys[0])) return false;
    if (!mo_reader_member(r, object, "a saver", "node", MO_JSON_NUMBER, &value)) return false;
    if (!mo_reader_int(r, value, &node)) return false;
    if (node < 0 || node >= kernel->body->n_nodes)
        return mo_reader_fail(r, value, NULL, "there is no such node");
    if (!read_access(m, kernel->body, object, &access, &axes)) return false;
    if (access.tensor < m->program->n_inputs)
        return mo_reader_fail(r, mo_json_get(object, "tensor"), NULL, "an input is not written");
    mo_axes free_axes = kernel->body->nodes[node].axes;
    if (!check_axis_list(m, kernel->body, object, "omap", placed(kernel, free_axes, MO_PLACE_GRID)))
        return false;
    mo_prim_save(kernel->body, (int)node, &access);
    return true;
}

bool mo_mugraph_read_body(mo_mugraph_reader *m, const mo_json *object, mo_kernel *kernel)
{
    const mo_json *nodes, *savers;
    if (!mo_reader_member(&m->reader, object, "a kernel", "nodes", MO_JSON_ARRAY, &nodes)) return false;
    if (!mo_reader_member(&m->reader, object, "a kernel", "savers", MO_JSON_ARRAY, &savers)) return false;
    for (int i = 0; i < nodes->count; i++)
        if (!read_node(m, kernel, &nodes->items[i])) return false;
    for (int i = 0; i < savers->count; i++)
        if (!read_saver(m, kernel, &savers->items[i])) return false;
    return true;
}
