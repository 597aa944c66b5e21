/* What each operator says about dimensions, and the small program. */
#include "verify/shrink.h"

#include "base/status.h"

#include <string.h>

typedef struct {
    mo_arena *arena;
    mo_shrink *shrink;
    const mo_node *node;
} node_dims;

static const mo_tensor *tensor_of(const node_dims *n, int tensor)
{
    return &n->shrink->program->tensors[tensor];
}

static int *dims_of(const node_dims *n, int tensor)
{
    return n->shrink->tensors[tensor].dim;
}

static int rank_of(const node_dims *n, int tensor)
{
    return tensor_of(n, tensor)->shape.rank;
}

static int output_of(const node_dims *n)
{
    return n->node->outputs[0];
}

/* Unless one of them is 1: a broadcast. */
static void agree(const node_dims *n, int a, int b)
{
    mo_dims *dims = n->shrink->dims;
    if (mo_dims_extent(dims, a) == 1 || mo_dims_extent(dims, b) == 1) return;
    MO_CHECK(mo_dims_equal(dims, a, b));
}

/* Dimensions of `tensor` agree with those of the output, the last with the last; `skip` of them at the end
 * are left out on both sides. */
static void agree_from_end(const node_dims *n, int tensor, int skip)
{
    int out = output_of(n);
    int rank = rank_of(n, tensor), rank_out = rank_of(n, out);
    for (int i = 1 + skip; i <= rank && i <= rank_out; i++)
        agree(n, dims_of(n, tensor)[rank - i], dims_of(n, out)[rank_out - i]);
}

static void matmul_dims(const node_dims *n)
{
    int a = n->node->inputs[0].tensor, b = n->node->inputs[1].tensor, out = output_of(n);
    int ra = rank_of(n, a), rb = rank_of(n, b), rc = rank_of(n, out);
    int ta = n->node->attrs.transpose_a ? 1 : 0, tb = n->node->attrs.transpose_b ? 1 : 0;
    agree(n, dims_of(n, a)[ra - 1 - ta], dims_of(n, b)[rb - 2 + tb]);
    agree(n, dims_of(n, a)[ra - 2 + ta], dims_of(n, out)[rc - 2]);
    agree(n, dims_of(n, b)[rb - 1 - tb], dims_of(n, out)[rc - 1]);
    agree_from_end(n, a, 2);
    agree_from_end(n, b, 2);
}

static bool has_axis(const mo_attrs *attrs, int axis)
{
    for (int i = 0; i < attrs->n_axes; i++)
        if (attrs->axes[i] == axis) return true;
    return false;
}

static void reduce_dims(const node_dims *n)
{
    int in = n->node->inputs[0].tensor, at = 0;
    for (int d = 0; d < rank_of(n, in); d++) {
        bool reduced = has_axis(&n->node->attrs, d);
        if (!reduced) agree(n, dims_of(n, in)[d], dims_of(n, output_of(n))[at]);
        if (!reduced || n->node->attrs.keepdims) at++;
    }
}

static void slice_dims(const node_dims *n, int index)
{
    int in = n->node->inputs[0].tensor, out = output_of(n), axis = n->node->attrs.axes[0];
    int64_t extent = tensor_of(n, in)->shape.dim[axis];
    int64_t start = n->node->attrs.start, stop = n->node->attrs.stop;
    mo_dims *dims = n->shrink->dims;
    int parts[3], count = 0;
    if (start > 0) n->shrink->slice_start[index] = parts[count++] = mo_dims_add(dims, start);
    parts[count++] = dims_of(n, out)[axis];
    if (stop < extent) parts[count++] = mo_dims_add(dims, extent - stop);
    MO_CHECK(mo_dims_sum(dims, dims_of(n, in)[axis], parts, count));
}

/* Split and concat: one whole, several parts along the axis. */
static void part_dims(const node_dims *n, int whole, const int *parts, int count)
{
    int axis = n->node->attrs.axes[0];
    int *ids = MO_NEW_ARRAY(n->arena, int, count);
    for (int i = 0; i < count; i++) {
        ids[i] = dims_of(n, parts[i])[axis];
        for (int d = 0; d < rank_of(n, whole); d++)
            if (d != axis) agree(n, dims_of(n, whole)[d], dims_of(n, parts[i])[d]);
    }
    MO_CHECK(mo_dims_sum(n->shrink->dims, dims_of(n, whole)[axis], ids, count));
}

static void view_dims(const node_dims *n, int index)
{
    const mo_node *node = n->node;
    int in = node->inputs[0].tensor, out = output_of(n);
    if (node->op == MO_OP_TRANSPOSE) {
        for (int d = 0; d < rank_of(n, out); d++)
            agree(n, dims_of(n, in)[node->attrs.perm[d]], dims_of(n, out)[d]);
    } else if (node->op == MO_OP_RESHAPE) {
        MO_CHECK(mo_dims_reshape(n->shrink->dims, dims_of(n, in), rank_of(n, in), dims_of(n, out),
                                 rank_of(n, out)));
    } else if (node->op == MO_OP_BROADCAST_TO) {
        agree_from_end(n, in, 0);
    } else if (node->op == MO_OP_SPLIT) {
        part_dims(n, in, node->outputs, node->n_outputs);
    } else if (node->op == MO_OP_CONCAT) {
        int *parts = MO_NEW_ARRAY(n->arena, int, node->n_inputs);
        for (int i = 0; i < node->n_inputs; i++) parts[i] = node->inputs[i].tensor;
        part_dims(n, out, parts, node->n_inputs);
    } else {
        for (int d = 0; d < rank_of(n, in); d++)
            if (d != node->attrs.axes[0]) agree(n, dims_of(n, in)[d], dims_of(n, out)[d]);
        slice_dims(n, index);
    }
}

/* Sums of exponentials make the bound of the test bad quickly: keep them short. */
static void shorten_dims(const node_dims *n, const int *depths)
{
    const mo_node *node = n->node;
    int in = node->inputs[0].tensor;
    if (node->op == MO_OP_MATMUL) {
        int k = dims_of(n, in)[rank_of(n, in) - 1 - (node->attrs.transpose_a ? 1 : 0)];
        if (depths[in] > 0 || depths[node->inputs[1].tensor] > 0) mo_dims_shorten(n->shrink->dims, k);
        return;
    }
    bool sums = node->op == MO_OP_SOFTMAX;
    if (mo_op_kind_of(node->op) == MO_KIND_REDUCE || mo_op_kind_of(node->op) == MO_KIND_COMPOUND)
        sums |= depths[in] > 0;
    for (int i = 0; sums && i < node->attrs.n_axes; i++)
        mo_dims_shorten(n->shrink->dims, dims_of(n, in)[node->attrs.axes[i]]);
}

static void operator_dims(const node_dims *n, int index)
{
    switch (mo_op_kind_of(n->node->op)) {
    case MO_KIND_PRODUCT: matmul_dims(n); break;
    case MO_KIND_REDUCE: reduce_dims(n); break;
    case MO_KIND_VIEW: view_dims(n, index); break;
    default:
        for (int i = 0; i < n->node->n_inputs; i++)
            if (n->node->inputs[i].tensor >= 0) agree_from_end(n, n->node->inputs[i].tensor, 0);
    }
}

int *mo_program_exp_depths(mo_arena *arena, const mo_program *program)
{
    int *depths = MO_NEW_ARRAY(arena, int, program->n_tensors + 1);
    for (int i = 0; i < program->n_nodes; i++) {
        const mo_node *node = &program->nodes[i];
        int depth = 0;
        for (int j = 0; j < node->n_inputs; j++) {
            int t = node->inputs[j].tensor;
            if (t >= 0 && depths[t] > depth) depth = depths[t];
        }
        switch (node->op) {
        case MO_OP_EXP:
        case MO_OP_SIGMOID:
        case MO_OP_SILU:
        case MO_OP_TANH:
        case MO_OP_SOFTMAX: depth++; break;
        case MO_OP_GELU: depth = node->attrs.approximate_tanh ? depth + 1 : 0; break;
        case MO_OP_LOG: depth = 0; break;
        case MO_OP_CAST: depth = node->attrs.dtype == MO_F32 ? depth : 0; break;
        default: break;
        }
        for (int j = 0; j < node->n_outputs; j++) depths[node->outputs[j]] = depth;
    }
    return depths;
}

mo_shrink mo_shrink_program(mo_arena *arena, mo_dims *dims, const mo_program *program)
{
    mo_shrink shrink = {.dims = dims, .program = program};
    shrink.tensors = MO_NEW_ARRAY(arena, mo_dim_ids, program->n_tensors);
    shrink.slice_start = MO_NEW_ARRAY(arena, int, program->n_nodes + 1);
    for (int t = 0; t < program->n_tensors; t++)
        for (int d = 0; d < program->tensors[t].shape.rank; d++)
            shrink.tensors[t].dim[d] = mo_dims_add(dims, program->tensors[t].shape.dim[d]);
    const int *depths = mo_program_exp_depths(arena, program);
    for (int i = 0; i < program->n_nodes; i++) {
        node_dims n = {arena, &shrink, &program->nodes[i]};
        shrink.slice_start[i] = -1;
        operator_dims(&n, i);
        shorten_dims(&n, depths);
    }
    return shrink;
}

static void small_attributes(mo_arena *arena, const mo_shrink *shrink, mo_program *small, int index)
{
    mo_node *node = &small->nodes[index];
    mo_shape out = small->tensors[node->outputs[0]].shape;
    if (node->op == MO_OP_RESHAPE || node->op == MO_OP_BROADCAST_TO) node->attrs.shape = out;
    if (node->op == MO_OP_SLICE) {
        int before = shrink->slice_start[index];
        node->attrs.start = before < 0 ? 0 : mo_dims_small(shrink->dims, before);
        node->attrs.stop = node->attrs.start + out.dim[node->attrs.axes[0]];
    }
    if (node->op == MO_OP_SPLIT) {
        int64_t *sections = MO_NEW_ARRAY(arena, int64_t, node->n_outputs);
        for (int i = 0; i < node->n_outputs; i++)
            sections[i] = small->tensors[node->outputs[i]].shape.dim[node->attrs.axes[0]];
        node->attrs.sections = sections;
    }
}

static bool still_infers(const mo_program *small, const mo_node *node)
{
    mo_shape shapes[64];
    mo_dtype dtypes[64];
    mo_shape_error error;
    if (node->n_outputs > 64 || !mo_node_infer(small->tensors, node, shapes, dtypes, &error)) return false;
    for (int i = 0; i < node->n_outputs; i++)
        if (!mo_shape_equal(shapes[i], small->tensors[node->outputs[i]].shape)) return false;
    return true;
}

/* Row-major, but a broadcast input (stride 0) stays one. */
static void small_strides(const mo_tensor *real, mo_tensor *tensor)
{
    mo_shape_row_major(tensor->shape, tensor->strides);
    for (int d = 0; d < real->shape.rank; d++)
        if (real->strides[d] == 0 && real->shape.dim[d] > 1) tensor->strides[d] = 0;
}

mo_program *mo_shrink_build(mo_arena *arena, const mo_shrink *shrink)
{
    const mo_program *program = shrink->program;
    mo_program *small = MO_NEW(arena, mo_program);
    *small = *program;
    small->arena = arena;
    small->tensors = MO_NEW_ARRAY(arena, mo_tensor, program->n_tensors);
    memcpy(small->tensors, program->tensors, sizeof *small->tensors * (size_t)program->n_tensors);
    small->nodes = MO_NEW_ARRAY(arena, mo_node, program->n_nodes + 1);
    if (program->n_nodes > 0)
        memcpy(small->nodes, program->nodes, sizeof *small->nodes * (size_t)program->n_nodes);
    for (int t = 0; t < program->n_tensors; t++) {
        mo_tensor *tensor = &small->tensors[t];
        for (int d = 0; d < tensor->shape.rank; d++)
            tensor->shape.dim[d] = mo_dims_small(shrink->dims, shrink->tensors[t].dim[d]);
        small_strides(&program->tensors[t], tensor);
    }
    for (int i = 0; i < program->n_nodes; i++) {
        small_attributes(arena, shrink, small, i);
        if (!still_infers(small, &small->nodes[i])) return NULL;
    }
    return small;
}
