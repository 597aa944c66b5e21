/* Which dimensions must have the same extent, and a small extent for each.
 *
 * A dimension is a class; operators unify classes (dimensions that must agree), or say that one is the
 * product (reshape) or the sum (slice, split, concat) of others. Independent classes then get different
 * small extents: the same graph on tiny tensors, where wrong wiring still shows. Two graphs over the same
 * tensors share one set of classes. Lives in the arena given. */
#ifndef MO_VERIFY_DIMS_H
#define MO_VERIFY_DIMS_H

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct mo_dims mo_dims;

mo_dims *mo_dims_new(mo_arena *arena);

/* A new class of this real extent; all of extent 1 are one class, which stays 1. */
int mo_dims_add(mo_dims *dims, int64_t extent);

/* These return false when the extents cannot be reconciled, which only a malformed graph causes; structure
 * that cannot be kept on a small instance (a reshape of [6,4] to [4,6]) pins the classes to their real
 * extents instead. */
bool mo_dims_equal(mo_dims *dims, int a, int b);
bool mo_dims_product(mo_dims *dims, int whole, const int *parts, int n); /* outermost first */
bool mo_dims_sum(mo_dims *dims, int whole, const int *parts, int n);     /* in order; extent 0 is left out */

/* Dimensions `from` are the same elements, row-major, as dimensions `to`. */
bool mo_dims_reshape(mo_dims *dims, const int *from, int n_from, const int *to, int n_to);

/* This class shall be as short as possible (2): exponentials are summed over it. */
void mo_dims_shorten(mo_dims *dims, int dim);

/* This class keeps its real extent. */
void mo_dims_pin(mo_dims *dims, int dim);

/* Chooses the small extents. */
void mo_dims_choose(mo_dims *dims);
int64_t mo_dims_small(const mo_dims *dims, int dim);
int64_t mo_dims_extent(const mo_dims *dims, int dim);

/* Representative of the class, below mo_dims_count. */
int mo_dims_class(const mo_dims *dims, int dim);
int mo_dims_count(const mo_dims *dims);

#endif
