/* A lowered program: what the search starts from. Made by lower, owned by its arena. */
#ifndef MO_IR_LOWERED_H
#define MO_IR_LOWERED_H

#include "ir/prim.h"

/* A run of consecutive nodes that is searched as a whole. */
typedef struct {
    int first, count; /* program nodes */
    mo_prim *graph;
} mo_subprogram;

typedef struct {
    int n_subprograms;
    mo_subprogram *subprograms;
    mo_prim **nodes; /* each program node lowered alone: the bodies of the unfused program */
} mo_lowered;

#endif
