/* A lowered program: what the search starts from. Made by lower, owned by its arena. */
#ifndef MO_IR_LOWERED_H
#define MO_IR_LOWERED_H

#include "ir/prim.h"

/* Nodes that are searched as a whole, or one node that moves data. */
typedef struct {
    const int *nodes; /* program nodes, in topological order */
    int count;
    mo_prim *graph; /* NULL: the node moves data */
} mo_subprogram;

typedef struct {
    int n_subprograms;
    mo_subprogram *subprograms;
    mo_prim **nodes; /* each program node lowered alone: the bodies of the unfused program; NULL where it
                        moves data */
} mo_lowered;

#endif
