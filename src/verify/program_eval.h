/* Values of a program as written over the fields: lazy, element by element along one dimension.
 *
 * Compound operators are evaluated by their definitions, views by index arithmetic; nothing goes through
 * the lowering that the search uses. What is asked for is computed with what it depends on (its cone) and
 * kept where that saves work, so the same evaluator serves tiny instances in full and single elements of
 * large programs. Not thread-safe: one evaluator for each thread. */
#ifndef MO_VERIFY_PROGRAM_EVAL_H
#define MO_VERIFY_PROGRAM_EVAL_H

#include "verify/draw.h"

typedef struct mo_program_eval mo_program_eval;

/* A radicand that is no square: element `index` of the operand of a root, or a row of a norm (where the
 * entries of the normalised dimensions are 0). */
typedef struct {
    int node;
    int64_t index[MO_MAX_RANK];
} mo_bad_radicand;

/* `draw` gives the inputs and the field and may change between calls of mo_program_eval_forget.
 * `small_masks`: causal masks are the patterns of mo_mask_keeps (small instances). */
mo_program_eval *mo_program_eval_new(const mo_program *program, const mo_draw *draw, bool small_masks);
/* Every element will be asked for, along the last dimension: products are computed for several rows at once.
 */
void mo_program_eval_set_eager(mo_program_eval *eval, bool eager);

void mo_program_eval_free(mo_program_eval *eval);

/* Drops all values (the inputs have changed), the list of bad radicands and the count of products. */
void mo_program_eval_forget(mo_program_eval *eval);

/* Elements of `tensor` from `index` on along dimension `dim`; dim < 0: the single element (n = 1). */
void mo_program_eval_along(mo_program_eval *eval, int tensor, const int64_t index[MO_MAX_RANK], int dim,
                           int64_t n, mo_fval *out);

/* Bad radicands met since the last forget; they stand until the next call of anything else here. */
int mo_program_eval_bad(const mo_program_eval *eval, const mo_bad_radicand **list);

/* Multiply-add steps done since the last forget. */
int64_t mo_program_eval_products(const mo_program_eval *eval);

/* Does the pattern that stands for a causal mask of this offset on a small instance keep (row, column)? With
 * the offset as it is, most masks would keep everything or nothing there. The pattern is never all of the
 * matrix; it keeps something of each row, and of each column where there are two rows; offsets near 0 have
 * different ones. A single column is masked in row 0 where the offset is negative. */
bool mo_mask_keeps(int64_t offset, int64_t row, int64_t column, int64_t columns);

#endif
