/* From chosen partitions of the subprograms to a muGraph. */
#ifndef MO_SEARCH_ASSEMBLE_H
#define MO_SEARCH_ASSEMBLE_H

#include "ir/lowered.h"
#include "search/cuts.h"

/* `partitions[i]` runs subprogram i (NULL for one that moves data); `choice` gives the schedule of each
 * kernel in order over all of them (NULL: the cheapest). With `symbolic` the bodies keep their dimensions
 * (for the equivalence test). */
mo_mugraph *mo_assemble(mo_arena *arena, const mo_program *program, const mo_lowered *lowered,
                        const mo_partition *const *partitions, const int *choice, bool symbolic);

#endif
