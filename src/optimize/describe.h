/* What the passes decided for a kernel, in words (-v). */
#ifndef MO_OPTIMIZE_DESCRIBE_H
#define MO_OPTIMIZE_DESCRIBE_H

#include "ir/mugraph.h"

/* Appends what pass `bit` decided for the kernel, in one line without an end; nothing where it has nothing to
 * decide. `shared_limit`: bytes a block may use. */
void mo_optimize_describe(mo_arena *scratch, const mo_mugraph *graph, const mo_kernel *kernel,
                          int shared_limit, int bit, mo_str *out);

#endif
