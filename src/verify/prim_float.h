/* Values of a primitive graph in float64 on a small instance: for showing where two graphs differ. */
#ifndef MO_VERIFY_PRIM_FLOAT_H
#define MO_VERIFY_PRIM_FLOAT_H

#include "verify/prim_eval.h"

/* Evaluates all nodes and stores what the savers write. `data` (by tensor number, row-major over
 * instance->shapes) takes the place of instance->data. Accesses that have no dimensions (rank -1) go by their
 * strides: `data` then holds those tensors as they lie in memory. */
void mo_prim_float(const mo_instance *instance, const mo_prim *graph, double *const *data);

#endif
