/* Data movement on small tensors over the fields. */
#ifndef MO_VERIFY_VIEWS_H
#define MO_VERIFY_VIEWS_H

#include "ir/program.h"
#include "verify/field.h"

/* Computes all results of a node that moves data from its operands. `data` (by tensor) is row-major. */
void mo_views_store(const mo_program *program, const mo_node *node, mo_fval *const *data);

#endif
