/* Axes of primitive graphs as classes of dimensions,.
 *
 * A kernel's axis runs over dimensions of tensors (its accesses), so it belongs to their class; a tensor's
 * classes are shared by every kernel and program that touches it. */
#ifndef MO_VERIFY_BIND_H
#define MO_VERIFY_BIND_H

#include "ir/mugraph.h"
#include "verify/field.h"
#include "verify/shrink.h"

/* A primitive graph whose accesses name dimensions again (also after axes have been merged, as far as each
 * axis runs over neighbouring dimensions). */
typedef struct {
    mo_prim *graph;
    int axis[MO_MAX_AXES]; /* class of each axis */
} mo_bound_prim;

/* Shape and strides of a tensor by its number, and the classes of its dimensions. */
typedef struct {
    int n;
    const mo_shape *shapes;
    const int64_t (*strides)[MO_MAX_RANK];
    mo_dim_ids *dims;
} mo_bind_tensors;

/* False with a reason (static text) where the accesses do not tell which dimensions an axis runs over. */
bool mo_bind_prim(mo_arena *arena, mo_dims *dims, const mo_prim *graph, const mo_bind_tensors *tensors,
                  mo_bound_prim *bound, const char **reason);

/* A mean's length may be a number in a kernel that no longer reads what the mean ran over. Such axes become
 * the class among `lengths` (the axes of the program's means) that is as long as they are together; where
 * none is, they stay on their own. */
void mo_bind_lengths(mo_dims *dims, const mo_bound_prim *bound, const int *lengths, int n);

/* Exponentials on the way to each node, see mo_program_exp_depths. */
int *mo_prim_exp_depths(mo_arena *arena, const mo_prim *graph);

#endif
