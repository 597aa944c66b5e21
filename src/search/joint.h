/* The joint search: Algorithm 1 of the paper, followed literally, as a check on the decoupled search.
 *
 * Depth-first over kernel graphs and, inside each graph-defined kernel, over block graphs. A state is a list
 * of kernels; a kernel is one operator on tensors in device memory (predefined), or a placement of the axes
 * (any on the grid, at most one looped over, the rest whole) and a block graph built operator by operator
 * from tensors in device memory. Every operator is tried on every tuple of known values, if its rank is above
 * that of the operator before; it is kept if its abstract expression is a sub-expression of an output's, the
 * axes fit, and the tiles fit in shared memory, in this order. A graph is accepted when all outputs of the
 * program are in device memory, by their fingerprints, and a second random instance agrees.
 *
 * Where this fills in what the paper leaves open:
 * - Ranks compare the largest operand first. Compared in the order of the operands, x / exp(y) has no
 *   canonical order: the quotient's operands would be below exp's, which must come before it.
 * - A kernel's rank is the list of the tensors that it reads. Kernels of equal rank come in either order.
 * - A block graph reads what its operators take; its inputs are not chosen beforehand.
 * - An accumulator is a reduction over the looped axis. What is accumulated is not used inside the loop.
 * - A value is computed in one way: another way to compute a value of the graph is a duplicate. Two kernels
 *   may compute it in the same way. A kernel reads a value or computes it, but does not do both.
 * - Every value that a kernel writes is an output or is read by another kernel.
 *
 * Plain rather than fast: for tests and for measuring what pruning does. Single-threaded, deterministic. */
#ifndef MO_SEARCH_JOINT_H
#define MO_SEARCH_JOINT_H

#include "ir/mugraph.h"

/* Members that are 0 stand for the default (in brackets). */
typedef struct {
    int max_kernels;    /* [5] */
    int max_block_ops;  /* of one block graph [11] */
    int max_ops;        /* different operators of the whole graph [max_kernels * max_block_ops] */
    bool count_paper;   /* max_block_ops counts input iterators and accumulators of products as well */
    bool no_prune;      /* abstract expressions are not looked at */
    int64_t max_states; /* operators tried on tuples [no bound] */
    int64_t
        shared_bytes; /* of all tiles of a block graph, each grid and looped axis in tiles of 16 [no bound] */
    uint64_t seed;
    bool (*stop)(void *context); /* asked now and then; true ends the search */
    void *stop_context;
    /* Called once for each class with a graph of it, whose kernels have BLOCK schedules (predefined ones:
     * PLAIN); it is gone after the call. */
    void (*found)(void *context, mo_hash128 class_of, const mo_mugraph *graph);
    void *found_context;
} mo_joint_options;

typedef struct {
    int64_t states;                                                           /* operators tried on tuples */
    int64_t pruned_expression, pruned_shape, pruned_memory, pruned_duplicate; /* of these */
    int64_t kernel_graphs, block_graphs;                                      /* visited */
    int64_t accepted, rejected; /* graphs whose outputs are there; of these refused by the second look */
    int64_t classes;            /* of the accepted ones */
    bool complete;              /* neither stopped nor cut by max_states */
} mo_joint_stats;

/* `graph` as for mo_algebra_search. What it found is told through options->found. */
mo_joint_stats mo_joint_search(const mo_prim *graph, const mo_joint_options *options);

typedef enum {
    MO_CLASS_PLACED,   /* with the placement of each kernel's axes */
    MO_CLASS_STRUCTURE /* kernels and their block graphs only */
} mo_class_kind;

/* The class of a muGraph: the set of its kernels, each by what its outputs are computed from (down to inputs
 * and tensors of other kernels, which are known by how they are computed, not by number), operands of
 * commuting operators in either order, and for each axis that it uses whether it is on the grid, looped over
 * or whole. Kernels with PLAIN schedules have no placement. Axes are compared as they are: all graphs for one
 * program are over the program's axes. */
mo_hash128 mo_mugraph_class(mo_arena *scratch, const mo_mugraph *graph, mo_class_kind kind);

#endif
