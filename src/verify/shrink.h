/* A program on small tensors: the same nodes, other extents.
 *
 * Works on the program as written. The dimensions of one or several programs (and of muGraphs over them)
 * are classes of one mo_dims; once those have been given small extents, mo_shrink_build makes a program of
 * that size, whose attributes (shapes, slice bounds, sections) are adapted. */
#ifndef MO_VERIFY_SHRINK_H
#define MO_VERIFY_SHRINK_H

#include "ir/program.h"
#include "verify/dims.h"

typedef struct {
    int dim[MO_MAX_RANK];
} mo_dim_ids;

typedef struct {
    mo_dims *dims;
    const mo_program *program;
    mo_dim_ids *tensors; /* classes of the dimensions of each tensor */
    int *slice_start;    /* SLICE nodes: class of the part before the slice, or -1 */
} mo_shrink;

/* Adds the classes of a program and what its nodes say about them. */
mo_shrink mo_shrink_program(mo_arena *arena, mo_dims *dims, const mo_program *program);

/* The small program. NULL if a small extent breaks a node after all (checked by shape inference). */
mo_program *mo_shrink_build(mo_arena *arena, const mo_shrink *shrink);

/* For each tensor: the most exponentials that stand on one path to it. A random function (rounding, log)
 * starts from 0 again. */
int *mo_program_exp_depths(mo_arena *arena, const mo_program *program);

#endif
