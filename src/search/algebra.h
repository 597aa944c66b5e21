/* The algebra step of the search: all graphs over symbolic axes that compute what a primitive graph does.
 *
 * Bottom-up over values, seeded with the graph's own: every operator is applied to every tuple of known
 * values; a result is kept if its abstract expression is a sub-expression of a saved value's
 * (abstract/abstract.h). Values are told apart by a fingerprint on a small random instance; everything
 * known about a value is one node of an AND-OR graph, from which whole graphs are then taken cheapest
 * first and checked once more on a fresh instance. docs/search.md explains space, order and guarantee.
 *
 * Deterministic: the same graph, options and seed give the same list on every machine. Single-threaded;
 * calls do not share state. Results live in the given arena. */
#ifndef MO_SEARCH_ALGEBRA_H
#define MO_SEARCH_ALGEBRA_H

#include "ir/prim.h"

/* Members that are 0 stand for the default. */
typedef struct {
    int64_t max_states; /* applications of an operator to a tuple of values */
    int64_t
        max_bytes; /* of memory for values and expressions found; ends the enumeration as max_states does */
    int max_new;   /* operators on top of the graph's own values, counted as a tree */
    int max_block_ops; /* of a result, as mo_algebra_block_ops counts; default: the graph's own + 3 */
    int max_ops;       /* of a result, plainly counted; default: the graph's own + 6 */
    int max_graphs;    /* length of the result */
    int max_alike;     /* results whose reductions (matmul, sum, max, min) are of the same values, up to
                        * scaling by numbers; the cheapest ones are kept */
    bool any_exp;      /* also exponentials whose argument the graph has shifted by a maximum, unshifted, and
                        * quotients by what the graph does not divide by */
    bool count_paper;  /* max_block_ops is in the paper's count (mo_algebra_paper_ops) */
    bool no_prune;     /* keep every value, whatever its abstract expression */
    uint64_t seed;
    bool (*stop)(void *context); /* asked now and then; true ends the search with what there is */
    void *stop_context;
} mo_algebra_options;

typedef struct {
    int64_t states;                                            /* applications tried */
    int64_t pruned_expression, pruned_shape, pruned_duplicate; /* of these */
    int64_t pruned_unsafe;                                     /* unshifted exponentials, new divisors */
    int64_t values, expressions;        /* kept: values, and (value, expression) pairs */
    int64_t graphs, verified, rejected; /* taken from the AND-OR graph, and the check */
    bool complete;                      /* no bound but sizes cut the enumeration */
} mo_algebra_stats;

typedef struct {
    int n_graphs;
    mo_prim **graphs; /* cheapest first; cleaned, dtypes inferred, same axes and savers as the given
                       * graph; the order of a commuting operator's operands means nothing */
    int64_t *costs;   /* flops at real extents plus a constant for each operator */
    int original;     /* which of them is the given graph */
    mo_algebra_stats stats;
} mo_algebra_result;

/* `graph` must have accesses with dimensions (no merged axes). */
mo_algebra_result mo_algebra_search(mo_arena *arena, const mo_prim *graph, const mo_algebra_options *options);

/* The paper's count: every node but savers; a product over a loop has an accumulator behind it. */
int mo_algebra_paper_ops(const mo_prim *graph);

/* Operators other than iterators, numbers, accumulators and savers; an elementwise operator whose only
 * consumer is elementwise counts with that one. */
int mo_algebra_block_ops(const mo_prim *graph);

/* Canonical hash: independent of node order and of the order of commuting operands. */
mo_hash128 mo_algebra_hash(mo_arena *scratch, const mo_prim *graph);

#endif
