/* Data movement: every view is a strided copy. */
#include "verify/oracle_parts.h"

#include "base/status.h"

#include <string.h>

/* to[index * to_strides] = from[index * from_strides] for all indices of `shape`. */
static void copy(const mo_shape *shape, double *to, const int64_t *to_strides, const double *from,
                 const int64_t *from_strides)
{
    int64_t index[MO_MAX_RANK] = {0};
    if (shape->rank == 0) {
        *to = *from;
        return;
    }
    int last = shape->rank - 1;
    for (;;) {
        for (int64_t i = 0; i < shape->dim[last]; i++)
            to[i * to_strides[last]] = from[i * from_strides[last]];
        int d = last - 1;
        for (; d >= 0; d--) {
            to += to_strides[d];
            from += from_strides[d];
            if (++index[d] < shape->dim[d]) break;
            to -= to_strides[d] * shape->dim[d];
            from -= from_strides[d] * shape->dim[d];
            index[d] = 0;
        }
        if (d < 0) return;
    }
}

static const mo_shape *shape_of(const mo_oracle *o, int tensor)
{
    return &o->program->tensors[tensor].shape;
}

static void concat(const mo_oracle *o, const mo_node *node, double *out)
{
    int axis = node->attrs.axes[0];
    int64_t to[MO_MAX_RANK], from[MO_MAX_RANK], start = 0;
    mo_shape_row_major(*shape_of(o, node->outputs[0]), to);
    for (int j = 0; j < node->n_inputs; j++) {
        const mo_shape *part = shape_of(o, node->inputs[j].tensor);
        mo_shape_row_major(*part, from);
        copy(part, out + start * to[axis], to, o->tensors[node->inputs[j].tensor], from);
        start += part->dim[axis];
    }
}

/* A slice of the input that starts at `start` along the axis. */
static void part_of(const mo_oracle *o, const mo_node *node, int output, int64_t start, double *out)
{
    int in = node->inputs[0].tensor;
    int64_t to[MO_MAX_RANK], from[MO_MAX_RANK];
    const mo_shape *shape = shape_of(o, node->outputs[output]);
    mo_shape_row_major(*shape, to);
    mo_shape_row_major(*shape_of(o, in), from);
    copy(shape, out, to, o->tensors[in] + start * from[node->attrs.axes[0]], from);
}

void mo_oracle_do_view(const mo_oracle *o, const mo_node *node, double *const *outs)
{
    int in = node->inputs[0].tensor;
    const double *x = o->tensors[in];
    const mo_shape *shape = shape_of(o, in), *result = shape_of(o, node->outputs[0]);
    int64_t own[MO_MAX_RANK], from[MO_MAX_RANK] = {0}, to[MO_MAX_RANK], start = 0;
    mo_shape_row_major(*shape, own);
    mo_shape_row_major(*result, to);
    switch (node->op) {
    case MO_OP_RESHAPE: memcpy(outs[0], x, sizeof *x * (size_t)mo_shape_elements(*shape)); return;
    case MO_OP_TRANSPOSE:
        for (int d = 0; d < result->rank; d++) from[d] = own[node->attrs.perm[d]];
        break;
    case MO_OP_BROADCAST_TO:
        for (int d = 0; d < shape->rank; d++)
            from[d + result->rank - shape->rank] = shape->dim[d] == 1 ? 0 : own[d];
        break;
    case MO_OP_CONCAT: concat(o, node, outs[0]); return;
    case MO_OP_SLICE: part_of(o, node, 0, node->attrs.start, outs[0]); return;
    case MO_OP_SPLIT:
        for (int j = 0; j < node->n_outputs; j++) {
            part_of(o, node, j, start, outs[j]);
            start += node->attrs.sections[j];
        }
        return;
    default: MO_BUG("%s moves no data", mo_op_name(node->op));
    }
    copy(result, outs[0], to, x, from);
}
