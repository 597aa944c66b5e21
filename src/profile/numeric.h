/* The numeric gate: input sets, what the program makes of them in float64 and in its own precision, and
 * the verdict on what a candidate's kernels made of them. */
#ifndef MO_PROFILE_NUMERIC_H
#define MO_PROFILE_NUMERIC_H

#include "base/arena.h"
#include "ir/program.h"
#include "profile/oracle_kernels.h"

/* The verdict on one output: all of its measures are those of one set, the one whose error comes closest
 * to what is allowed there (or exceeds it most). */
typedef struct {
    int output;         /* position among the program's outputs */
    const char *inputs; /* the set that decided: "random", "offset-100", ...; NULL: none could be judged */
    double error, yardstick, allowed;
    int64_t special; /* elements that are not finite in the reference */
    double max_abs;  /* largest absolute difference */
    int judged;      /* sets that said something */
    int skipped;     /* sets where the program's own precision overflows and the reference does not */
    bool ok;         /* within what is allowed on every set judged, of which there is one */
} mo_numeric_entry;

typedef struct mo_numeric_gate mo_numeric_gate;

/* Draws the sets of `seed` and computes references and yardsticks; `device` (or NULL) does the large
 * products. Everything lives in `arena`. `threads` <= 0: all cores. */
mo_numeric_gate *mo_numeric_new(mo_arena *arena, const mo_program *program, uint64_t seed, double factor,
                                mo_matmul_device *device, int threads);

int mo_numeric_sets(const mo_numeric_gate *gate);
const int64_t *mo_numeric_input_bytes(const mo_numeric_gate *gate);
const int64_t *mo_numeric_output_bytes(const mo_numeric_gate *gate);

/* [set * n_inputs + input]. Sets in which an input has the same bytes have the same pointer. */
const void *const *mo_numeric_contents(const mo_numeric_gate *gate);

/* Judges the outputs (as stored) of all sets, outputs[set * n_outputs + output], into an entry for each. */
void mo_numeric_judge(const mo_numeric_gate *gate, const void *const *outputs, mo_numeric_entry *entries);

#endif
