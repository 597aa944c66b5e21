/* Inside of the prover. */
#ifndef MO_VERIFY_PROOF_PARTS_H
#define MO_VERIFY_PROOF_PARTS_H

#include "verify/normal_parts.h"
#include "verify/proof.h"

/* What is being compared, and what has been claimed so far. */
typedef struct {
    mo_arena *arena;
    mo_normals *forms;
    const mo_program *program;
    const mo_program *other; /* or NULL */
    const mo_mugraph *graph; /* or NULL */
    mo_split_need need; /* why a value is NULL, if the forms have not failed: a variable to be split first */
    uint32_t next_var;  /* number of the next variable that is half of another */
    int n_claims, claim_capacity;
    mo_claim **claims;
    int *slots; /* hash table of claims: 1 + index */
    size_t n_slots;
} mo_prover;

/* Variables of reductions: number 0 to 15 are those of outputs, then these, then halves of others. */
#define MO_PROOF_VARS 1000u
#define MO_PROOF_HALVES 0x1000000u

/* Remembers why there is no value: the variable that has to be split, or else that there is no way. NULL. */
const mo_normal *mo_prove_needs(mo_prover *p, const mo_split_need *need);

/* The claim about a value at these indices, or NULL. */
const mo_claim *mo_prove_find(const mo_prover *p, mo_claim_kind kind, int kernel, int value, int n,
                              const mo_affine *index);
/* Records one; gives the form back. */
const mo_normal *mo_prove_claim(mo_prover *p, mo_claim_kind kind, int kernel, int value, int n,
                                const mo_affine *index, const mo_normal *form);

/* Index of each dimension with these extents and strides from an offset. A dimension with stride 0 has index
 * 0. False where the offset is not one of them for sure. */
bool mo_prove_decompose(mo_prover *p, const mo_affine *offset, int n, const int64_t *extents,
                        const int64_t *strides, mo_affine *index);

/* SUM, MAX or MIN of what `body` gives over all values of n indices with these extents. Numbers of variables
 * start at `first`. */
typedef const mo_normal *mo_prove_body(void *context, const mo_affine *at);
const mo_normal *mo_prove_reduce(mo_prover *p, mo_op op, int n, const int64_t *extents, uint32_t first,
                                 mo_prove_body *body, void *context);

/* An element of a tensor of a program (`kind` says which). */
const mo_normal *mo_prove_program(mo_prover *p, mo_claim_kind kind, int tensor, const mo_affine *index);
/* An element of a tensor of the muGraph by its place in memory. */
const mo_normal *mo_prove_tensor(mo_prover *p, int tensor, const mo_affine *place);

#endif
