/* LAX subprograms, as the Mirage paper calls them: multi-linear operators, division and exponentiation, with
 * at most one exponentiation on a path. Those are what its random tests have a bound for. */
#ifndef MO_LOWER_LAX_H
#define MO_LOWER_LAX_H

#include "ir/lowered.h"

/* Roots count as linear (norms are LAX there); softmax, sigmoid and the like as exponentials and quotients.
 * Maxima, masks and functions without algebra lie outside: to the search and to the tests they are functions
 * that nothing is known about, or little, so that a subprogram that has them is searched and verified all the
 * same. */
bool mo_is_lax(const mo_program *program, const mo_subprogram *part);

#endif
