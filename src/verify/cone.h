/* What one element of an output depends on: an estimate of the work to evaluate it alone. */
#ifndef MO_VERIFY_CONE_H
#define MO_VERIFY_CONE_H

#include "ir/program.h"

/* Multiplications that one element of this tensor takes (any other operator counts as several for each
 * element). Sets of indices are taken for boxes, so it is exact without views and near the truth with them.
 */
double mo_cone_cost(mo_arena *scratch, const mo_program *program, int tensor);

#endif
