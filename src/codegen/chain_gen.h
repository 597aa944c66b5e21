/* Shared by the parts of the CHAIN emitter: the plan, and values at one element.
 *
 * Naming in emitted code: f_X is an array of C fragments [row fragment][8 columns][4], row_X a value for the
 * two rows of a thread [row fragment][2], col_X one for its two columns of each 8 [8 columns][2], acc_X
 * accumulators, run_X and shift_X the maximum so far and what exponentials are shifted by. */
#ifndef MO_CODEGEN_CHAIN_GEN_H
#define MO_CODEGEN_CHAIN_GEN_H

#include "codegen/gen.h"
#include "optimize/chain_plan.h"

/* Where a value is asked for. */
typedef enum {
    MO_CHAIN_AT_ROW,    /* before the loop, for one row */
    MO_CHAIN_AT_COLUMN, /* in the loop, for one column of the slab */
    MO_CHAIN_AT_SCORE,  /* in the loop, for an element (i, j, c) of a fragment */
    MO_CHAIN_AT_TAIL    /* behind it, for an element (p, q) of the block */
} mo_chain_at;

typedef struct {
    mo_gen *gen;
    const mo_schedule *s;
    mo_chain_plan plan;
    int group_threads;
    const char *index[MO_MAX_AXES]; /* index of an axis at the current element */
    const char *guard[MO_MAX_AXES]; /* condition that it is inside, or NULL */
    const char *local[MO_MAX_AXES]; /* index within the tile, for shared memory */
    const char **value;             /* names known at the current element */
    bool *stored;                   /* values that have an array: f_X, row_X or col_X */
    mo_chain_at at;
} mo_chain_gen;

void mo_chain_gen_setup(mo_chain_gen *w);  /* constants, indices, shared memory */
void mo_chain_gen_copies(mo_chain_gen *w); /* resident tiles; what starts the copy of a slab */
void mo_chain_gen_rows(mo_chain_gen *w);   /* values of rows, before the loop */
void mo_chain_gen_loop(mo_chain_gen *w);
void mo_chain_gen_tail(mo_chain_gen *w);

/* Emits what computes `node` at the current element; returns its name. */
const char *mo_chain_gen_value(mo_chain_gen *w, int node);
void mo_chain_gen_forget(mo_chain_gen *w); /* a new element: nothing is known */

/* Binds an axis to an index expression; `inside` as in `guard`. */
void mo_chain_gen_bind(mo_chain_gen *w, int axis, const char *local, const char *index, int64_t covered);
void mo_chain_gen_unbind(mo_chain_gen *w, int axis);

bool mo_chain_gen_is_maximum(const mo_chain_gen *w, int node); /* does it shift exponentials while it runs? */

/* Name of the value's array with its prefix: "f_exp5", "row_sum3", "col_sum7". */
const char *mo_chain_gen_array(mo_chain_gen *w, int node);
const char *mo_chain_gen_tile_name(mo_chain_gen *w, int node); /* "s_K1" */

#endif
