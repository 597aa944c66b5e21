/* The numeric rule: is a kernel's result close enough to the float64 reference?
 *
 * The error of an output is the largest relative error (2-norm) of its rows; short rows are joined. What is
 * allowed follows from the same error of the yardstick: factor * yardstick + 2u + 16 sqrt(L) 2^-24. */
#ifndef MO_VERIFY_ACCEPT_H
#define MO_VERIFY_ACCEPT_H

#include "ir/program.h"

typedef struct {
    double error, yardstick,
        allowed;     /* of the row that comes closest to what is allowed for it, or exceeds it most */
    int64_t special; /* elements whose rounded reference is not finite */
    double max_abs;  /* largest absolute difference of finite elements */
    bool skipped;    /* the yardstick is not finite where the reference is: this set says nothing */
    bool ok;
} mo_accept_result;

/* Judges `out` (as stored, decoded) against the unrounded reference and yardstick. `tensor` is the output;
 * `longest` the most elements that one written operator reduces (mo_accept_longest). */
mo_accept_result mo_accept_output(const mo_tensor *tensor, double factor, int64_t longest, const double *out,
                                  const double *reference, const double *yardstick);

int64_t mo_accept_longest(const mo_program *program);

/* Elements of each joined row: the length of a row, or of several of them. */
int64_t mo_accept_row_length(mo_shape shape);

#endif
