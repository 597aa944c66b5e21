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
 * `random_mask`: causal masks are random patterns (small instances). */
mo_program_eval *mo_program_eval_new(const mo_program *program, const mo_draw *draw, bool random_mask);
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

/* Does the random pattern that stands for a causal mask of this offset keep (row, column)? At least one
 * column of each row is kept. */
bool mo_mask_keeps(const mo_field *f, int64_t offset, int64_t row, int64_t column, int64_t columns);

#endif
