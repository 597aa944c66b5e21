/* Values of primitive graphs over the fields, on a small instance of their axes.
 *
 * The value of a node is an array over its free axes in the order of their numbers, the first outermost
 * (row-major). Evaluating one node allocates nothing, so that a search can fingerprint a candidate from
 * the arrays of its operands. */
#ifndef MO_VERIFY_PRIM_EVAL_H
#define MO_VERIFY_PRIM_EVAL_H

#include "verify/field.h"

/* Small extents, and the contents of memory. */
typedef struct {
    int extent[MO_MAX_AXES];
    const mo_shape *shapes; /* by tensor number; dimensions that no axis runs over included */
    mo_fval *const *data;   /* row-major over `shapes`; NULL where nothing is read */
} mo_instance;

typedef struct {
    const mo_prim_node *node; /* the operand itself: its axes, its dtype, its number */
    const mo_fval *values;
} mo_prim_operand;

/* Elements of a value with these free axes. */
int64_t mo_instance_size(const mo_instance *instance, mo_axes axes);

void mo_prim_eval_node(const mo_field *f, const mo_instance *instance, const mo_prim_node *node,
                       const mo_prim_operand *operands, mo_fval *out);

/* values[i] has room for node i (mo_instance_size of its axes). */
void mo_prim_eval(const mo_field *f, const mo_instance *instance, const mo_prim *graph,
                  mo_fval *const *values);

/* Writes a value with these free axes through a saver into data[access.tensor]. An axis that the value does
 * not have repeats it. */
void mo_prim_store(const mo_instance *instance, const mo_access *access, mo_axes axes, const mo_fval *values);

#endif
