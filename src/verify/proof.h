/* Proof that a muGraph, or another program, computes what a program computes.
 *
 * Both sides are brought into index-aware normal form (normal.h), element by element but for all elements at
 * once: the indices are variables. Inputs are named by their place in memory, so that strides and offsets are
 * part of the proof. Where an index is needed in digits, or in ranges (reshape, concat), variables are split.
 * The same form on both sides is a proof, over the reals and wherever both have a value, for the program's
 * own shape and every input. Not finding one says nothing.
 *
 * The program's side is taken as written; compound operators by their definitions. The claims that were made
 * on the way are the certificate: mo_proof_recheck (recheck.h) goes through them again with code of its own.
 */
#ifndef MO_VERIFY_PROOF_H
#define MO_VERIFY_PROOF_H

#include "ir/mugraph.h"
#include "verify/normal.h"

typedef enum { MO_CLAIM_PROGRAM, MO_CLAIM_OTHER, MO_CLAIM_TENSOR, MO_CLAIM_NODE } mo_claim_kind;

/* "This value at these indices is this form." What a claim needs of other values is claimed before it.
 *
 *   PROGRAM, OTHER  value `value` (a tensor) of the program, or of the other program with its inputs in the
 *                   program's order; an index for each dimension
 *   TENSOR          tensor `value` of the muGraph; index[0] is the place in its memory, in elements
 *   NODE            node `value` in the body of `kernel`; an index for each axis of the body that the node
 * has */
typedef struct {
    mo_claim_kind kind;
    int kernel, value;
    int n;
    const mo_affine *index;
    const mo_normal *form;
} mo_claim;

/* A part of an output's elements: which, and the claims that meet there. */
typedef struct {
    int output; /* position among the program's outputs */
    int n;
    const mo_affine *index; /* for each dimension, over the variables of the case */
    const mo_claim *left, *right;
} mo_proof_case;

typedef struct {
    mo_arena *arena; /* owns everything here */
    mo_normals *forms;
    bool proved;
    const char *reason; /* not proved: why (static text) */
    int n_claims, n_cases;
    const mo_claim *claims;
    const mo_proof_case *cases; /* all elements of all outputs, each in one of them */
} mo_proof;

/* Free with mo_proof_free. */
mo_proof *mo_prove_mugraph(const mo_program *program, const mo_mugraph *graph);
mo_proof *mo_prove_programs(const mo_program *program, const mo_program *other);
void mo_proof_free(mo_proof *proof); /* NULL is allowed */

/* The certificate for people: the form of each output and the claims that lead to it, the program's first. */
void mo_proof_print(mo_str *out, const mo_program *program, const mo_mugraph *graph, const mo_program *other,
                    const mo_proof *proof);

#endif
