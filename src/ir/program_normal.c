/* Attributes as written to normal form, given the shapes of the node's inputs. */
#include "ir/program.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool mo_shape_fail(mo_shape_error *error, int input, const char *attribute, int element, const char *format,
                   ...)
{
    error->input = input;
    error->attribute = attribute;
    error->element = element;
    error->hint = NULL;
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
    return false;
}

/* Counts a negative axis from the end; false when it is out of range. */
static bool wrap_axis(int *axis, int rank)
{
    if (*axis < -rank || *axis >= rank) return false;
    if (*axis < 0) *axis += rank;
    return true;
}

static bool normalize_axes(mo_attrs *attrs, const char *key, bool list, int rank, mo_shape_error *error)
{
    for (int i = 0; i < attrs->n_axes; i++) {
        int written = attrs->axes[i];
        if (!wrap_axis(&attrs->axes[i], rank)) {
            return mo_shape_fail(error, -1, key, list ? i : -1, "axis %d is out of range for rank %d",
                                 written, rank);
        }
        for (int j = 0; j < i; j++) {
            if (attrs->axes[j] != attrs->axes[i]) continue;
            return mo_shape_fail(error, -1, key, list ? i : -1, "axis %d is listed twice", written);
        }
    }
    for (int i = 1; i < attrs->n_axes; i++) {
        for (int j = i; j > 0 && attrs->axes[j - 1] > attrs->axes[j]; j--) {
            int axis = attrs->axes[j];
            attrs->axes[j] = attrs->axes[j - 1];
            attrs->axes[j - 1] = axis;
        }
    }
    return true;
}

static bool normalize_perm(mo_attrs *attrs, int rank, mo_shape_error *error)
{
    if (attrs->n_axes != rank) {
        return mo_shape_fail(error, -1, "perm", -1, "perm has %d entries, but the input has rank %d",
                             attrs->n_axes, rank);
    }
    for (int i = 0; i < rank; i++) {
        int written = attrs->perm[i];
        if (!wrap_axis(&attrs->perm[i], rank)) {
            return mo_shape_fail(error, -1, "perm", i, "axis %d is out of range for rank %d", written, rank);
        }
        for (int j = 0; j < i; j++) {
            if (attrs->perm[j] != attrs->perm[i]) continue;
            return mo_shape_fail(error, -1, "perm", i, "axis %d is listed twice", written);
        }
    }
    attrs->n_axes = 0;
    return true;
}

/* Replaces the one -1 of a reshape by what is left of the elements. */
static bool normalize_reshape(mo_attrs *attrs, mo_shape input, mo_shape_error *error)
{
    int open = -1;
    mo_shape rest = attrs->shape;
    for (int i = 0; i < attrs->shape.rank; i++) {
        if (attrs->shape.dim[i] != -1) continue;
        if (open >= 0) return mo_shape_fail(error, -1, "shape", i, "only one dimension may be -1");
        open = i;
        rest.dim[i] = 1;
    }
    if (open < 0) return true;
    int dim;
    const char *problem = mo_shape_problem(rest, &dim);
    if (problem != NULL) return mo_shape_fail(error, -1, "shape", dim, "%s", problem);
    int64_t elements = mo_shape_elements(input), known = mo_shape_elements(rest);
    if (elements % known != 0) {
        return mo_shape_fail(error, -1, "shape", open, "%" PRId64 " elements do not divide by %" PRId64,
                             elements, known);
    }
    attrs->shape.dim[open] = elements / known;
    return true;
}

static bool normalize_slice(mo_attrs *attrs, int64_t extent, mo_shape_error *error)
{
    int64_t start = attrs->start < 0 ? attrs->start + extent : attrs->start;
    int64_t stop = attrs->stop < 0 ? attrs->stop + extent : attrs->stop;
    if (start < 0 || start >= extent) {
        return mo_shape_fail(error, -1, "start", -1, "start %" PRId64 " is out of range for size %" PRId64,
                             attrs->start, extent);
    }
    if (stop < 0 || stop > extent) {
        return mo_shape_fail(error, -1, "stop", -1, "stop %" PRId64 " is out of range for size %" PRId64,
                             attrs->stop, extent);
    }
    if (stop <= start) {
        return mo_shape_fail(error, -1, "stop", -1, "the slice from %" PRId64 " to %" PRId64 " is empty",
                             start, stop);
    }
    attrs->start = start;
    attrs->stop = stop;
    return true;
}

static bool normalize_split(mo_arena *arena, mo_node *node, int64_t extent, mo_shape_error *error)
{
    mo_attrs *attrs = &node->attrs;
    int64_t count = attrs->section_count;
    if (count == 0) return true;
    if (count < 0 || count > extent || extent % count != 0) {
        return mo_shape_fail(error, -1, "sections", -1,
                             "size %" PRId64 " does not divide into %" PRId64 " equal sections", extent,
                             count);
    }
    if (count != node->n_outputs) { /* also keeps a huge count from being laid out */
        return mo_shape_fail(error, -1, "sections", -1, "%" PRId64 " sections for %d outputs", count,
                             node->n_outputs);
    }
    int64_t *sections = MO_NEW_ARRAY(arena, int64_t, count);
    for (int64_t i = 0; i < count; i++) sections[i] = extent / count;
    attrs->sections = sections;
    attrs->n_sections = (int)count;
    attrs->section_count = 0;
    return true;
}

bool mo_node_normalize(mo_arena *arena, const mo_tensor *tensors, mo_node *node, mo_shape_error *error)
{
    uint32_t takes = mo_op_get(node->op)->attributes;
    const uint32_t shaped = MO_ATTR_AXES | MO_ATTR_AXIS | MO_ATTR_PERM | MO_ATTR_SHAPE;
    if ((takes & shaped) == 0 || node->n_inputs == 0 || node->inputs[0].tensor < 0) return true;
    mo_shape input = tensors[node->inputs[0].tensor].shape;
    mo_attrs *attrs = &node->attrs;
    if ((takes & MO_ATTR_AXES) != 0 && attrs->n_axes == MO_ALL_AXES) {
        attrs->n_axes = input.rank;
        for (int i = 0; i < input.rank; i++) attrs->axes[i] = i;
    }
    bool list = (takes & MO_ATTR_AXES) != 0;
    if (list || (takes & MO_ATTR_AXIS) != 0) {
        if (!normalize_axes(attrs, list ? "axes" : "axis", list, input.rank, error)) return false;
    }
    if ((takes & MO_ATTR_PERM) != 0) return normalize_perm(attrs, input.rank, error);
    if (node->op == MO_OP_RESHAPE) return normalize_reshape(attrs, input, error);
    if (node->op == MO_OP_SLICE) return normalize_slice(attrs, input.dim[attrs->axes[0]], error);
    if (node->op == MO_OP_SPLIT) return normalize_split(arena, node, input.dim[attrs->axes[0]], error);
    return true;
}
