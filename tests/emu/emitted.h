/* Runs the kernels of an emitted file in the emulator and judges what they leave by the numeric rule.
 *
 * A subject is a program with its input sets: those of the numeric gate (verify/inputs_plan.h), and one more
 * whose inputs all hold rows of -inf and single NaN and infinities. Everything lives in the given arena. */
#ifndef MO_EMITTED_H
#define MO_EMITTED_H

#include "codegen/emit.h"
#include "verify/inputs.h"

enum { MO_SET_SPECIAL = MO_INPUTS_KINDS, MO_SETS };

typedef struct {
    mo_arena *arena;
    const mo_program *program;
    int64_t longest;
    const mo_inputs_plan *plan;
    void **contents[MO_SETS];                          /* of each input, as stored; NULL: no such set */
    double **reference[MO_SETS], **yardstick[MO_SETS]; /* of each output */
} mo_subject;

mo_subject *mo_subject_new(mo_arena *arena, const mo_program *program, uint64_t seed);

/* What to run: every schedule of the emulator in [0, schedules) on random inputs, those from 2 on without
 * looking for races, then one run for each other set of the bit mask `sets` that the program has. */
typedef struct {
    int schedules;
    unsigned sets;
} mo_run_plan;

/* False with the reason in why[0..size). `include_dir` holds emu_cuda.h. */
bool mo_emitted_run(const mo_subject *subject, const mo_emitted *emitted, const char *include_dir,
                    mo_run_plan plan, char *why, size_t size);

#endif
