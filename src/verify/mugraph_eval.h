/* Values of a muGraph over the fields at the program's own shapes: lazy, like program_eval.h, but through the
 * kernels' bodies and the strides of their accesses (what code is generated from). Not thread-safe. */
#ifndef MO_VERIFY_MUGRAPH_EVAL_H
#define MO_VERIFY_MUGRAPH_EVAL_H

#include "ir/mugraph.h"
#include "verify/draw.h"

typedef struct mo_mugraph_eval mo_mugraph_eval;

/* NULL with a reason (static text) where a tensor is written in a way that an element does not tell who
 * wrote it. */
mo_mugraph_eval *mo_mugraph_eval_new(const mo_mugraph *graph, const mo_draw *draw, const char **reason);
void mo_mugraph_eval_free(mo_mugraph_eval *eval);

/* Drops all values (the inputs have changed) and the count of products. */
void mo_mugraph_eval_forget(mo_mugraph_eval *eval);

/* n elements of a tensor of the muGraph, from `offset` (in elements of memory) on, `stride` apart. */
void mo_mugraph_eval_along(mo_mugraph_eval *eval, int tensor, int64_t offset, int64_t stride, int64_t n,
                           mo_fval *out);

/* Every element will be asked for: products are computed for several rows at once. */
void mo_mugraph_eval_set_eager(mo_mugraph_eval *eval, bool eager);

/* Multiply-add steps done since the last forget. */
int64_t mo_mugraph_eval_products(const mo_mugraph_eval *eval);

#endif
