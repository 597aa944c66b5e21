/* Inside of the second look at certificates.
 *
 * Forms here are trees of the same types as the prover's, but they belong to the check: `hash` is a look that
 * leaves out the names of variables, `id` and `free` are not used, and the factors and terms are in any
 * order. Every bound variable has a name of its own, from MO_RECHECK_BOUND on: no form can catch another's
 * variables. A form that is put to use a second time is copied, with new names. */
#ifndef MO_VERIFY_RECHECK_PARTS_H
#define MO_VERIFY_RECHECK_PARTS_H

#include "verify/recheck.h"

#define MO_RECHECK_BOUND 0x40000000u /* certificates use lower numbers */
#define MO_RECHECK_FACTORS 64
#define MO_RECHECK_VARS 24 /* bound by one term */

typedef struct {
    mo_arena *arena; /* emptied after each claim */
    const mo_program *program, *other;
    const mo_mugraph *graph;
    const mo_proof *proof;
    int now;            /* claims below this one have been checked */
    uint32_t next_var;  /* number of the next bound variable */
    int64_t work;       /* steps that are left */
    const char *reason; /* the first failure; everything gives NULL or false after it */
} mo_recheck;

/* Records why and returns false. */
bool mo_recheck_fail(mo_recheck *r, const char *why);
/* One step; false when there have been too many. */
bool mo_recheck_step(mo_recheck *r);

/* ---- forms ---- */

/* What stands for a variable. The last entry for a variable counts. */
typedef struct {
    int n;
    struct {
        mo_var var;
        mo_affine by;
    } entry[64];
} mo_recheck_map;

typedef struct {
    int n, capacity;
    mo_term *terms;
} mo_recheck_list;

/* A product under summation signs that is being put together. */
typedef struct {
    mo_rational coefficient;
    int n_bound, n_factors;
    mo_var bound[MO_RECHECK_VARS];
    mo_factor factors[MO_RECHECK_FACTORS];
} mo_recheck_product;

/* The form with variables replaced and new names for all bound ones. The map is left as it was. */
const mo_normal *mo_recheck_copy(mo_recheck *r, const mo_normal *from, mo_recheck_map *map);
const mo_atom *mo_recheck_copy_atom(mo_recheck *r, const mo_atom *from, mo_recheck_map *map);
mo_var mo_recheck_var(mo_recheck *r, uint32_t extent);
bool mo_recheck_bind(mo_recheck *r, mo_recheck_map *map, mo_var var, const mo_affine *by);

/* Fills in the look and keeps it. */
const mo_atom *mo_recheck_atom(mo_recheck *r, const mo_atom *atom);
uint64_t mo_recheck_look(const mo_atom *atom, const mo_var *self); /* *self is told apart from others */
bool mo_recheck_occurs(const mo_atom *atom, mo_var var);

bool mo_recheck_times(mo_recheck *r, mo_recheck_product *p, const mo_atom *atom, mo_rational power);
/* Multiplies a copy of a term in. */
bool mo_recheck_times_term(mo_recheck *r, mo_recheck_product *p, const mo_term *term, mo_recheck_map *map);
/* exp(by * form), as powers of exponentials of single terms. */
bool mo_recheck_times_exp(mo_recheck *r, mo_recheck_product *p, const mo_normal *form, mo_rational by);
/* Simplifies the product, multiplies whole powers of sums out and adds the terms. */
bool mo_recheck_finish(mo_recheck *r, mo_recheck_product *p, mo_recheck_list *list);
/* Adds equal terms up and joins adjoining ranges. */
const mo_normal *mo_recheck_collect(mo_recheck *r, mo_recheck_list *list);

const mo_normal *mo_recheck_number(mo_recheck *r, mo_rational value);
const mo_normal *mo_recheck_integer(mo_recheck *r, int64_t value);
const mo_normal *mo_recheck_double(mo_recheck *r, double value);
const mo_normal *mo_recheck_power_of(mo_recheck *r, const mo_atom *atom, mo_rational power);
const mo_normal *mo_recheck_add(mo_recheck *r, const mo_normal *a, const mo_normal *b);
const mo_normal *mo_recheck_sub(mo_recheck *r, const mo_normal *a, const mo_normal *b);
const mo_normal *mo_recheck_scale(mo_recheck *r, const mo_normal *a, mo_rational by);
const mo_normal *mo_recheck_mul(mo_recheck *r, const mo_normal *a, const mo_normal *b);
const mo_normal *mo_recheck_exp(mo_recheck *r, const mo_normal *a);
const mo_normal *mo_recheck_mask(mo_recheck *r, const mo_normal *a, const mo_affine *index);
/* Sum over variables that are free in `a`. */
const mo_normal *mo_recheck_sum(mo_recheck *r, const mo_normal *a, const mo_var *vars, int n);

/* ---- comparing ---- */

/* Equal but for the names of bound variables and the order of terms and factors. */
bool mo_recheck_same_atom(mo_recheck *r, const mo_atom *a, const mo_atom *b);
bool mo_recheck_same_product(mo_recheck *r, const mo_term *a,
                             const mo_term *b); /* whatever the coefficients */

/* Is a - b = 0 after multiplying out, if need be with the denominators? */
bool mo_recheck_equal(mo_recheck *r, const mo_normal *a, const mo_normal *b);

/* ---- operators ---- */

/* A value under bound variables: the largest over all of their values is meant. */
typedef struct {
    const mo_normal *form;
    int n;
    mo_var vars[MO_RECHECK_VARS];
} mo_recheck_choice;

/* Can the value not be below 0, as far as signs show? */
bool mo_recheck_not_negative(mo_recheck *r, const mo_normal *f);
bool mo_recheck_factor_not_negative(mo_recheck *r, const mo_factor *f);
/* Is f the largest of these? */
bool mo_recheck_is_largest(mo_recheck *r, const mo_normal *f, const mo_recheck_choice *choices, int n);
bool mo_recheck_is_clamp(mo_recheck *r, const mo_normal *f, const mo_normal *x, double min, double max);
/* Is f = x^(halves / 2)? */
bool mo_recheck_is_power(mo_recheck *r, const mo_normal *f, const mo_normal *x, int64_t halves);
/* Is f = x / sqrt(radicand)? */
bool mo_recheck_is_over_root(mo_recheck *r, const mo_normal *f, const mo_normal *x,
                             const mo_normal *radicand);
/* Is f what the elementwise operator makes of a and b? Attributes are those of `node`; `number` is the
 * exponent of pow. */
bool mo_recheck_is_pointwise(mo_recheck *r, const mo_normal *f, const mo_prim_node *node, const mo_normal *a,
                             const mo_normal *b, double number);

/* ---- indices ---- */

/* Element of a value that is needed. Where slot[i] is not -1, the index runs over that axis of a reduction.
 */
typedef struct {
    mo_claim_kind kind;
    int kernel, value, n;
    mo_affine index[MO_MAX_AXES];
    int slot[MO_MAX_AXES];
} mo_recheck_need;

/* A part of a reduction: the variables that run, and the operands' forms under them. */
typedef struct {
    int n_vars;
    mo_var vars[MO_RECHECK_VARS];
    const mo_normal *form[2];
} mo_recheck_piece;

mo_recheck_need mo_recheck_need_of(mo_claim_kind kind, int kernel, int value);
void mo_recheck_need_index(mo_recheck_need *need, const mo_affine *index, int slot);

/* A copy of what an earlier claim says about this element. NULL: none does. */
const mo_normal *mo_recheck_find(mo_recheck *r, const mo_recheck_need *need);
/* Splits a reduction over axes with these extents by the earlier claims about its one or two operands, so
 * that each of its elements is in one piece. 0: no such claims. */
int mo_recheck_cover(mo_recheck *r, const mo_recheck_need *needs, int n_needs, int n_slots,
                     const int64_t *extents, mo_recheck_piece **pieces);

/* Is f the largest or smallest value of a reduction in these pieces? */
bool mo_recheck_is_extreme_of(mo_recheck *r, const mo_normal *f, const mo_recheck_piece *pieces, int n,
                              bool largest);

/* a + factor * b, or a failure. */
bool mo_recheck_shift(mo_recheck *r, mo_affine *a, const mo_affine *b, int64_t factor);
/* Least and greatest value; false where it is too large to tell. */
bool mo_recheck_range(const mo_affine *a, int64_t *least, int64_t *most);
/* The index in each dimension of a place in memory, when no two elements lie in one place. */
bool mo_recheck_digits(mo_recheck *r, const mo_affine *place, int n, const int64_t *extents,
                       const int64_t *strides, mo_affine *index);
/* Does a list of indices (n of them each) go through all elements of this shape, once each? */
bool mo_recheck_partition(mo_recheck *r, const mo_affine *const *parts, int n_parts, int n,
                          const int64_t *extents);

/* ---- claims ---- */

bool mo_recheck_program_claim(mo_recheck *r, const mo_claim *claim);
bool mo_recheck_tensor_claim(mo_recheck *r, const mo_claim *claim);
bool mo_recheck_node_claim(mo_recheck *r, const mo_claim *claim);

#endif
