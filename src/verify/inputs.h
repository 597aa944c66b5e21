/* Inputs for the numeric gate: what they contain, and their form in memory. */
#ifndef MO_VERIFY_INPUTS_H
#define MO_VERIFY_INPUTS_H

#include "verify/inputs_plan.h"

/* Fills inputs[t] (dense, row-major; NULL: not wanted) with values of the input's dtype. Rows are slices
 * along the last dimension; only inputs that the plan calls special get special rows. The spread of an offset
 * row is at least 8 units in the last place of its offset. */
void mo_inputs_draw(const mo_inputs_plan *plan, mo_inputs_kind kind, uint64_t seed, double *const *inputs);

/* Elements of memory that the strides of an input reach (its highest offset plus 1). */
int64_t mo_input_span(const mo_tensor *tensor);

/* Dense doubles to the bytes of an input as stored (strides, dtype); gaps are zero. Of elements that share
 * their place (stride 0) the last counts: mo_inputs_draw gives them equal values. */
void mo_pack_input(const mo_tensor *tensor, const double *values, void *bytes);

/* Bytes of an output as stored (row-major) to doubles. */
void mo_unpack_output(const mo_tensor *tensor, const void *bytes, double *values);

#endif
