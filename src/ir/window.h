/* Windows: results of data movement that are addressed in the memory of another tensor.
 *
 * A transpose, slice, split or broadcast of a tensor is the same memory with other strides and an offset, and
 * so is a reshape as long as strides can express it. Such a tensor needs no kernel. */
#ifndef MO_IR_WINDOW_H
#define MO_IR_WINDOW_H

#include "ir/program.h"

/* Fills window_of, offset and strides of every tensor that can be a window; other results are row-major.
 * Called by the parser; nodes in topological order. */
void mo_program_set_windows(mo_program *program);

/* Strides of a tensor of shape `from` and these strides under another shape with as many elements; false if
 * no strides express it. */
bool mo_window_reshape(mo_shape from, const int64_t *strides, mo_shape to, int64_t *result);

/* The tensor whose memory it lies in: itself if it is no window. */
static inline int mo_window_root(const mo_program *program, int tensor)
{
    int of = program->tensors[tensor].window_of;
    return of > 0 ? of - 1 : tensor;
}

#endif
