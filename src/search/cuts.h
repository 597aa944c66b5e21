/* Cutting a graph of primitives into kernels.
 *
 * A cut is a set of values that go through device memory. Each of them, and each group of saved values that
 * can share a launch, is the root of one kernel, whose body is everything below it down to inputs and other
 * cut values (what two kernels need is computed twice). */
#ifndef MO_SEARCH_CUTS_H
#define MO_SEARCH_CUTS_H

#include "search/body_cache.h"

#define MO_MAX_CUT 7 /* values in device memory beside inputs and outputs */
#define MO_KERNEL_CHOICES 24

typedef struct {
    mo_prim *body;     /* axes merged; intermediates are numbered from the program's tensors on */
    mo_prim *symbolic; /* the same with dimensions, for the equivalence test */
    int n_choices;
    const mo_scheduled *choices; /* that the generator has a form for, cheapest first */
    bool has_block, use_block;   /* is there a BLOCK schedule; is it the one of this partition */
    mo_scheduled block;
} mo_cut_kernel;

/* One way to run a graph: kernels in launch order. */
typedef struct {
    int n_kernels, n_intermediates;
    mo_cut_kernel *kernels; /* `n_kernels` */
    mo_shape shape[MO_MAX_CUT];
    mo_dtype dtype[MO_MAX_CUT], compute[MO_MAX_CUT];
    int64_t cost_ns; /* with the cheapest schedules of its list */
} mo_partition;

typedef struct {
    int64_t partitions;
    mo_body_counts bodies;
} mo_cut_counts;

typedef struct {
    int capacity, count;
    mo_partition *best; /* cheapest first */
} mo_partition_list;

typedef struct {
    mo_arena *arena;   /* of what is kept */
    mo_arena *scratch; /* of the set being tried */
    const mo_device *device;
    int max_kernels;
    mo_partition_list emittable; /* every kernel has a form in the generator */
    mo_partition_list any;       /* cheaper with BLOCK schedules */
    mo_body_cache *cache;
    bool planning; /* looking ahead: nothing counts */
    mo_cut_counts counts;
    int64_t max_partitions; /* tried over all graphs, a deterministic bound; 0: none */
    bool (*stop)(void *context);
    void *stop_context;
    bool stopped, bounded; /* by the one, by the other */
} mo_cutter;

/* Keeps up to `capacity` emittable partitions, and up to `any_capacity` others. The threads of `pool` (NULL:
 * none) change nothing but the time that it takes. */
void mo_cutter_init(mo_cutter *cutter, mo_arena *arena, const mo_device *device, mo_passes off, mo_pool *pool,
                    int max_kernels, int capacity, int any_capacity);

/* Tries every cut of `graph` and keeps the cheapest partitions of all graphs given so far. */
void mo_cutter_add(mo_cutter *cutter, const mo_prim *graph);

/* Tries to divide reduced axes of `graph` among blocks (search/split.h): one kernel for the partial results,
 * one for the rest. */
void mo_cutter_add_splits(mo_cutter *cutter, const mo_prim *graph);
void mo_cutter_free(mo_cutter *cutter); /* what was kept stays */

#endif
