/* Shapes, the attribute table and the compute dtypes of a program. */
#include "ir/program.h"

#include "base/status.h"

#include <inttypes.h>
#include <stddef.h>

int64_t mo_shape_elements(mo_shape shape)
{
    int64_t elements = 1;
    for (int i = 0; i < shape.rank; i++) {
        if (__builtin_mul_overflow(elements, shape.dim[i], &elements)) return INT64_MAX;
    }
    return elements;
}

bool mo_shape_equal(mo_shape a, mo_shape b)
{
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; i++) {
        if (a.dim[i] != b.dim[i]) return false;
    }
    return true;
}

bool mo_shape_broadcast(mo_shape a, mo_shape b, mo_shape *result)
{
    mo_shape r = {.rank = a.rank > b.rank ? a.rank : b.rank};
    for (int i = 1; i <= r.rank; i++) {
        int64_t x = i <= a.rank ? a.dim[a.rank - i] : 1;
        int64_t y = i <= b.rank ? b.dim[b.rank - i] : 1;
        if (x != y && x != 1 && y != 1) return false;
        r.dim[r.rank - i] = x == 1 ? y : x;
    }
    *result = r;
    return true;
}

void mo_shape_row_major(mo_shape shape, int64_t strides[MO_MAX_RANK])
{
    int64_t stride = 1;
    for (int i = shape.rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= shape.dim[i];
    }
}

void mo_shape_print(mo_str *out, mo_shape shape)
{
    mo_str_add(out, "[");
    for (int i = 0; i < shape.rank; i++) mo_str_printf(out, "%s%" PRId64, i == 0 ? "" : ",", shape.dim[i]);
    mo_str_add(out, "]");
}

const char *mo_shape_problem(mo_shape shape, int *dim)
{
    *dim = -1;
    if (shape.rank < 0 || shape.rank > MO_MAX_RANK) return "the rank is above 8";
    for (int i = 0; i < shape.rank; i++) {
        *dim = i;
        if (shape.dim[i] == 0) return "a dimension of size 0 is not supported";
        if (shape.dim[i] < 0) return "a dimension is at least 1";
        if (shape.dim[i] >= MO_MAX_ELEMENTS) return "a tensor of 2^31 or more elements is not supported";
    }
    *dim = -1;
    if (mo_shape_elements(shape) >= MO_MAX_ELEMENTS)
        return "a tensor of 2^31 or more elements is not supported";
    return NULL;
}

static const mo_attr_row attr_table[] = {
    {MO_ATTR_TRANSPOSE, "transpose_a", MO_TYPE_BOOL, false, offsetof(mo_attrs, transpose_a)},
    {MO_ATTR_TRANSPOSE, "transpose_b", MO_TYPE_BOOL, false, offsetof(mo_attrs, transpose_b)},
    {MO_ATTR_APPROXIMATE, "approximate", MO_TYPE_APPROXIMATE, true, 0},
    {MO_ATTR_CLAMP, "min", MO_TYPE_NUMBER, true, offsetof(mo_attrs, min)},
    {MO_ATTR_CLAMP, "max", MO_TYPE_NUMBER, true, offsetof(mo_attrs, max)},
    {MO_ATTR_DTYPE, "dtype", MO_TYPE_DTYPE, true, 0},
    {MO_ATTR_AXIS, "axis", MO_TYPE_AXIS, true, 0},
    {MO_ATTR_AXES, "axes", MO_TYPE_AXES, true, 0},
    {MO_ATTR_KEEPDIMS, "keepdims", MO_TYPE_BOOL, false, offsetof(mo_attrs, keepdims)},
    {MO_ATTR_EPS, "eps", MO_TYPE_NUMBER, true, offsetof(mo_attrs, eps)},
    {MO_ATTR_OFFSET, "offset", MO_TYPE_INT, false, offsetof(mo_attrs, offset)},
    {MO_ATTR_SHAPE, "shape", MO_TYPE_SHAPE, true, 0},
    {MO_ATTR_PERM, "perm", MO_TYPE_PERM, true, 0},
    {MO_ATTR_RANGE, "start", MO_TYPE_INT, true, offsetof(mo_attrs, start)},
    {MO_ATTR_RANGE, "stop", MO_TYPE_INT, true, offsetof(mo_attrs, stop)},
    {MO_ATTR_SECTIONS, "sections", MO_TYPE_SECTIONS, true, 0},
};

const mo_attr_row *mo_attr_table(int *count)
{
    *count = (int)(sizeof attr_table / sizeof attr_table[0]);
    return attr_table;
}

/* For each value the set of dtypes (bits) of the inputs that reach it, where a narrowing cast counts as
 * an input of its dtype. A 16-bit result comes either from such a cast or from operands of its own dtype,
 * so only f32 values have anything to find out. */
void mo_program_set_compute(mo_program *program)
{
    mo_arena_mark mark = mo_arena_get_mark(program->arena);
    unsigned *reached = MO_NEW_ARRAY(program->arena, unsigned, program->n_tensors);
    for (int t = 0; t < program->n_inputs; t++) reached[t] = 1u << program->tensors[t].dtype;
    for (int n = 0; n < program->n_nodes; n++) {
        const mo_node *node = &program->nodes[n];
        unsigned mask = 0;
        for (int i = 0; i < node->n_inputs; i++) {
            if (node->inputs[i].tensor >= 0) mask |= reached[node->inputs[i].tensor];
        }
        if (node->op == MO_OP_CAST && node->attrs.dtype != MO_F32) mask = 1u << node->attrs.dtype;
        for (int i = 0; i < node->n_outputs; i++) reached[node->outputs[i]] = mask;
    }
    for (int t = 0; t < program->n_tensors; t++) {
        mo_tensor *tensor = &program->tensors[t];
        tensor->compute = tensor->dtype;
        if (reached[t] == 1u << MO_F16) tensor->compute = MO_F16;
        if (reached[t] == 1u << MO_BF16) tensor->compute = MO_BF16;
    }
    mo_arena_reset(program->arena, mark);
}
