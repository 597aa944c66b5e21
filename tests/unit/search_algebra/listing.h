/* The decoupled side of the comparison with the joint search: every way to run the graphs that the algebra
 * found, exhaustively. */
#ifndef TEST_SEARCH_ALGEBRA_LISTING_H
#define TEST_SEARCH_ALGEBRA_LISTING_H

#include "search/algebra.h"
#include "search/joint.h"

/* Hashes, sorted by class_set_sort. */
typedef struct {
    mo_arena *arena;
    mo_hash128 *hash;
    int count, capacity;
} class_set;

class_set class_set_new(mo_arena *arena);
void class_set_add(class_set *set, mo_hash128 hash);
void class_set_sort(class_set *set); /* and drops duplicates */
bool class_set_has(const class_set *set, mo_hash128 hash);

/* How many of `a` are not in `b`; both sorted. *example is one of them. */
int class_set_missing(const class_set *a, const class_set *b, mo_hash128 *example);

/* Is the abstract expression of every value of the graph a sub-expression of one that `program` saves? */
bool prefixes_are_wanted(const mo_prim *graph, const mo_prim *program);

/* Do the axioms prove that the graph saves what the program saves? */
bool equal_by_axioms(const mo_prim *graph, const mo_prim *program);

/* prefixes_are_wanted for all kernels of a muGraph, whose values are then those of the whole graph. */
bool kernels_are_wanted(const mo_mugraph *graph, const mo_prim *program);

typedef enum {
    EVERY_KERNEL, /* every set of values that go through device memory beside the outputs, every grouping of
                   * them and the outputs into kernels, for every kernel every choice of what it reads and
                   * what it computes again */
    CUT_KERNELS   /* of these, those that search/cuts.h promises: values worth a trip through memory, a kernel
                   * for each and one or as many for the outputs, which read what is in memory; an output that
                   * others use may be such a value */
} kernel_choice;

/* Calls `found` for every way to run `graph` in at most `max_kernels` kernels, with every placement of a
 * kernel's axes that mo_kernel_check allows and that needs one pass over the looped axis. A kernel of one
 * operator may also be predefined (PLAIN). Every stored value is needed. */
void list_kernels(const mo_prim *graph, kernel_choice choice, int max_kernels,
                  void (*found)(void *context, const mo_mugraph *graph), void *context);

#endif
