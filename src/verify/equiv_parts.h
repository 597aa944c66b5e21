/* Inside of the equivalence test: one comparison and its parts. */
#ifndef MO_VERIFY_EQUIV_PARTS_H
#define MO_VERIFY_EQUIV_PARTS_H

#include "verify/bind.h"
#include "verify/bound.h"
#include "verify/draw.h"
#include "verify/equiv.h"
#include "verify/prim_eval.h"
#include "verify/slices.h"

/* A program against a muGraph, or against another program whose inputs have been put in the same order. */
typedef struct {
    mo_arena *arena;
    const mo_program *program;
    const mo_mugraph *graph; /* or NULL */
    const mo_program *other; /* or NULL */
    const mo_verify_options *options;
    mo_verify_report *report;
    bool keep_mentioned; /* dimensions whose extent a number mentions keep it on the small instance */

    /* The small instance; `small` is NULL where there is none, and small_reason says why. */
    const char *small_reason;
    mo_dims *dims;
    mo_shrink shrink, shrink_other;
    mo_program *small, *small_other;
    int n_tensors; /* of the muGraph */
    mo_dim_ids *tensor_dims;
    mo_shape *shapes; /* small */
    mo_bound_prim *kernels;
    int *outputs; /* the muGraph's tensor for each output */

    /* What the test can tell. */
    int n_constants;
    double *constants;
    bool chain;          /* two exponentials on a path */
    bool mentioned;      /* there is such a dimension */
    bool soft;           /* order or random functions: a mismatch decides nothing */
    bool can_be_free;    /* there are roots or order: free functions make a difference */
    double per_round[2]; /* bound for one round, [1] with free functions; 1 or more: none */
    int full_draw;       /* number of the draw at the program's own shape */
    bool free;           /* functions are free now (see field.h): a mismatch decides nothing either */
} mo_equiv_task;

/* Builds the small instance and the facts. */
void mo_equiv_prepare(mo_equiv_task *task);

/* Rounds on the small instance, with free functions if task->free. MO_DIFFERENT: a mismatch; *decisive tells
 * whether the arithmetic decides it. MO_UNDECIDED with a reason where values stayed undefined. */
mo_equiv mo_equiv_small(mo_equiv_task *task, bool *decisive);

/* Looks for a difference in float64, at the program's own shapes where that is cheap and on the small
 * instance otherwise, and records it. */
bool mo_equiv_witness(mo_equiv_task *task);

/* Multiplications that evaluating a whole program amounts to. */
double mo_equiv_cost(const mo_program *program);

/* Elements at the program's own shapes; the same answers. Elements that depend on too much are left out: with
 * none left, EQUAL means nothing (report->full_checked is 0). */
mo_equiv mo_equiv_full(mo_equiv_task *task, bool *decisive);

/* `other` with the inputs of `program` (by name, with their strides) in front. NULL if one is missing. */
mo_program *mo_equiv_reorder(mo_arena *arena, const mo_program *program, const mo_program *other);

#endif
