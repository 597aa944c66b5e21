#include "verify/views.h"

#include "base/status.h"

#include <string.h>

/* Position of an element in its operand's array, from its index in the result. */
static int64_t source(const mo_program *program, const mo_node *node, int output, const int64_t *index,
                      int *operand)
{
    int64_t at[MO_MAX_RANK] = {0}, position = 0;
    int axis = node->attrs.axes[0];
    *operand = 0;
    const mo_shape *result = &program->tensors[node->outputs[output]].shape;
    memcpy(at, index, sizeof *at * (size_t)result->rank);
    switch (node->op) {
    case MO_OP_TRANSPOSE:
        for (int d = 0; d < result->rank; d++) at[node->attrs.perm[d]] = index[d];
        break;
    case MO_OP_SLICE: at[axis] += node->attrs.start; break;
    case MO_OP_SPLIT:
        for (int i = 0; i < output; i++) at[axis] += node->attrs.sections[i];
        break;
    case MO_OP_CONCAT:
        while (at[axis] >= program->tensors[node->inputs[*operand].tensor].shape.dim[axis])
            at[axis] -= program->tensors[node->inputs[(*operand)++].tensor].shape.dim[axis];
        break;
    case MO_OP_BROADCAST_TO: {
        const mo_shape *shape = &program->tensors[node->inputs[0].tensor].shape;
        for (int d = 0; d < shape->rank; d++)
            at[d] = shape->dim[d] == 1 ? 0 : index[d + result->rank - shape->rank];
        break;
    }
    default: MO_BUG("%s moves no data", mo_op_name(node->op));
    }
    const mo_shape *shape = &program->tensors[node->inputs[*operand].tensor].shape;
    for (int d = 0; d < shape->rank; d++) position = position * shape->dim[d] + at[d];
    return position;
}

static bool next(const mo_shape *shape, int64_t *index)
{
    for (int d = shape->rank - 1; d >= 0; d--) {
        if (++index[d] < shape->dim[d]) return true;
        index[d] = 0;
    }
    return false;
}

void mo_views_store(const mo_program *program, const mo_node *node, mo_fval *const *data)
{
    for (int o = 0; o < node->n_outputs; o++) {
        const mo_shape *shape = &program->tensors[node->outputs[o]].shape;
        mo_fval *to = data[node->outputs[o]];
        if (node->op == MO_OP_RESHAPE) {
            memcpy(to, data[node->inputs[0].tensor], sizeof *to * (size_t)mo_shape_elements(*shape));
            continue;
        }
        int64_t index[MO_MAX_RANK] = {0};
        do {
            int operand;
            int64_t from = source(program, node, o, index, &operand);
            *to++ = data[node->inputs[operand].tensor][from];
        } while (next(shape, index));
    }
}
