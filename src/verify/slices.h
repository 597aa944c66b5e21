/* Which part of which input to draw again when a radicand is no square.
 *
 * A radicand that depends on one slice of an input (a row, say) becomes a square after some redraws of that
 * slice alone, whatever the others are. The plan says for each node with a root which input that is and how
 * the input's dimensions follow from the radicand's index. */
#ifndef MO_VERIFY_SLICES_H
#define MO_VERIFY_SLICES_H

#include "verify/program_eval.h"

typedef struct {
    int input;               /* -1: the node has no root, or nothing to draw again */
    int8_t dim[MO_MAX_RANK]; /* for each dimension of the input: the radicand's dimension, or -1 */
    int64_t radicands;       /* number of radicands that share one slice */
} mo_slice_choice;

/* One choice for each node; cuts the inputs of `draw` into slices accordingly. */
mo_slice_choice *mo_slices_plan(mo_arena *arena, const mo_program *program, mo_draw *draw);

/* Draws the slices of these radicands again, each once. Returns how many of the radicands have any hope of
 * becoming squares that way. */
int mo_slices_again(const mo_slice_choice *plan, mo_draw *draw, const mo_bad_radicand *bad, int n_bad);

#endif
