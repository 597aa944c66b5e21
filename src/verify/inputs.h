/* Inputs for the numeric gate: what they contain, and their form in memory. */
#ifndef MO_VERIFY_INPUTS_H
#define MO_VERIFY_INPUTS_H

#include "ir/program.h"

typedef enum {
    MO_INPUTS_RANDOM,     /* N(0,1); variance 1/K for inputs that only stand on the right of matmul */
    MO_INPUTS_OFFSET_100, /* rows offset by 100 times their spread */
    MO_INPUTS_OFFSET_1000,
    MO_INPUTS_LARGE, /* every second row large */
    MO_INPUTS_TINY,  /* every second row tiny */
    MO_INPUTS_ZERO,  /* every second row 0 */
    MO_INPUTS_KINDS
} mo_inputs_kind;

const char *mo_inputs_name(mo_inputs_kind kind); /* "random", "offset-100", ... */

/* Fills inputs[t] (dense, row-major; NULL: not wanted) with values of the input's dtype. Rows are slices
 * along the last dimension; only inputs of rank 2 and more that are not right operands alone get the special
 * rows. The spread of an offset row is at least 8 units in the last place of its offset. */
void mo_inputs_draw(const mo_program *program, mo_inputs_kind kind, uint64_t seed, double *const *inputs);

/* Does input t differ between the kinds? If not, it has the same values in all of them. */
bool mo_inputs_special(const mo_program *program, int t);

/* Length of the sum that input t is only ever the right operand of (through views or directly), or 0. */
int64_t mo_inputs_right_length(const mo_program *program, int t);

/* Elements of memory that the strides of an input reach (its highest offset plus 1). */
int64_t mo_input_span(const mo_tensor *tensor);

/* Dense doubles to the bytes of an input as stored (strides, dtype); gaps are zero. Of elements that share
 * their place (stride 0) the last counts: mo_inputs_draw gives them equal values. */
void mo_pack_input(const mo_tensor *tensor, const double *values, void *bytes);

/* Bytes of an output as stored (row-major) to doubles. */
void mo_unpack_output(const mo_tensor *tensor, const void *bytes, double *values);

#endif
