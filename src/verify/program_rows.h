/* Inside of the program evaluator: what reductions, norms and softmax need to know of a whole row. */
#ifndef MO_VERIFY_PROGRAM_ROWS_H
#define MO_VERIFY_PROGRAM_ROWS_H

#include "verify/memo.h"
#include "verify/program_eval.h"
#include "verify/tiles.h"

#define MO_EVAL_CHUNK 256 /* elements that are computed at once */
#define MO_EVAL_ROWS 16   /* rows of a product */

struct mo_program_eval {
    const mo_program *program;
    const mo_draw *draw;
    bool small_masks;
    bool eager;
    mo_arena *arena;
    mo_memo *tensors; /* by tensor */
    mo_memo *rows;    /* two for each node: factor and mean of its rows */
    mo_fval *numbers; /* two for each node: operands that are numbers; state 0: not asked for yet */
    mo_bad_radicand *bad;
    int n_bad, capacity_bad;
    int64_t products;
    mo_tiles tiles;
};

/* Notes the radicand if it is no square. */
void mo_program_eval_radicand(mo_program_eval *e, int node, const int64_t *index, int rank, mo_fval value);

/* Rows of a norm or softmax (elements of its input without the normalised dimensions); 0 for others. */
int64_t mo_program_rows(const mo_program *program, int node);

/* Row facts for the elements from `index` on along `dim` of the input of a norm or softmax. Fact 0 is the
 * factor (1 / sum of exponentials, 1 / root), fact 1 the mean. */
void mo_program_rows_along(mo_program_eval *e, int node, int fact, const int64_t *index, int dim, int64_t n,
                           mo_fval *out);

/* Elements of the result of a reduction. */
void mo_program_reduce_along(mo_program_eval *e, int node, const int64_t *index, int dim, int64_t n,
                             mo_fval *out);

#endif
