#include "ir/window.h"

#include <string.h>

/* The next group of neighbouring dimensions from both shapes with the same number of elements; false at the
 * end or where there is none. */
static bool next_group(mo_shape from, mo_shape to, int *i, int *j, int *end_i, int *end_j)
{
    int64_t a = 1, b = 1;
    *end_i = *i;
    *end_j = *j;
    if (*i < from.rank) a = from.dim[(*end_i)++];
    if (*j < to.rank) b = to.dim[(*end_j)++];
    while (a != b) {
        if (a < b && *end_i < from.rank)
            a *= from.dim[(*end_i)++];
        else if (b < a && *end_j < to.rank)
            b *= to.dim[(*end_j)++];
        else
            return false;
    }
    return true;
}

/* Do these dimensions of extent above 1 nest without gaps? *inner: the step of the innermost one. */
static bool nest(mo_shape shape, const int64_t *strides, int first, int end, int64_t *inner)
{
    int64_t expected = -1;
    *inner = 1;
    for (int d = end - 1; d >= first; d--) {
        if (shape.dim[d] == 1) continue;
        if (expected < 0) *inner = strides[d];
        if (expected >= 0 && strides[d] != expected) return false;
        expected = strides[d] * shape.dim[d];
    }
    return true;
}

bool mo_window_reshape(mo_shape from, const int64_t *strides, mo_shape to, int64_t *result)
{
    for (int i = 0, j = 0, end_i, end_j; i < from.rank || j < to.rank; i = end_i, j = end_j) {
        int64_t step;
        if (!next_group(from, to, &i, &j, &end_i, &end_j) || !nest(from, strides, i, end_i, &step))
            return false;
        for (int d = end_j - 1; d >= j; d--) {
            result[d] = step;
            step *= to.dim[d];
        }
    }
    return true;
}

static bool set_strides(const mo_program *p, const mo_node *node, const mo_tensor *in, mo_tensor *out)
{
    switch (node->op) {
    case MO_OP_TRANSPOSE:
        for (int d = 0; d < out->shape.rank; d++) out->strides[d] = in->strides[node->attrs.perm[d]];
        return true;
    case MO_OP_BROADCAST_TO:
        for (int d = 0; d < out->shape.rank; d++) {
            int from = d - (out->shape.rank - in->shape.rank);
            out->strides[d] = from < 0 || in->shape.dim[from] == 1 ? 0 : in->strides[from];
        }
        return true;
    case MO_OP_RESHAPE: return mo_window_reshape(in->shape, in->strides, out->shape, out->strides);
    case MO_OP_SLICE:
        memcpy(out->strides, in->strides, sizeof out->strides);
        out->offset = node->attrs.start * in->strides[node->attrs.axes[0]];
        return true;
    case MO_OP_SPLIT:
        memcpy(out->strides, in->strides, sizeof out->strides);
        for (int i = 0; i < out->producer_output; i++)
            out->offset += node->attrs.sections[i] * in->strides[node->attrs.axes[0]];
        return true;
    default: (void)p; return false;
    }
}

void mo_program_set_windows(mo_program *program)
{
    for (int n = 0; n < program->n_nodes; n++) {
        const mo_node *node = &program->nodes[n];
        if (mo_op_kind_of(node->op) != MO_KIND_VIEW) continue;
        int source = node->inputs[0].tensor;
        const mo_tensor *in = &program->tensors[source];
        for (int i = 0; i < node->n_outputs; i++) {
            mo_tensor *out = &program->tensors[node->outputs[i]];
            out->offset = 0;
            if (set_strides(program, node, in, out)) {
                out->window_of = mo_window_root(program, source) + 1;
                out->offset += in->offset;
            } else {
                mo_shape_row_major(out->shape, out->strides);
                out->offset = 0;
            }
        }
    }
}
