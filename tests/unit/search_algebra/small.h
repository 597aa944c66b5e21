/* Small programs in a short form, and what the tests know about them. */
#ifndef TEST_SEARCH_ALGEBRA_SMALL_H
#define TEST_SEARCH_ALGEBRA_SMALL_H

#include "ir/prim.h"

typedef struct {
    const char *name;
    const char *inputs;  /* "X[3,4] W[4,5]" */
    const char *nodes;   /* "P = matmul X W; Y = sum P axes:[1]": inputs are names or numbers */
    const char *outputs; /* "Y Z" */
    int ops, kernels;    /* with which the joint search takes a moment: operators, kernels */
    int unpruned_ops;    /* operators with which it takes a moment without pruning */
    int new_operators;   /* on top of the program's values: the same for the algebra without pruning */
} small_program;

extern const small_program small_programs[];
extern const int n_small_programs;

/* The program lowered, cleaned, all in f32. */
mo_prim *lower_small(mo_arena *arena, const small_program *program);

#endif
