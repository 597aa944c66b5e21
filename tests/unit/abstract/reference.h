/* A second decision procedure for "x is a sub-expression of T", to compare the first with: the definitions
 * of the normal form written down plainly. Polynomials are sorted arrays of monomials that are compared by
 * content; nothing is shared, hashed or remembered, and every operation allocates its result. */
#ifndef MO_TESTS_ABSTRACT_REFERENCE_H
#define MO_TESTS_ABSTRACT_REFERENCE_H

#include "terms.h"

#include "base/arena.h"

/* One clause taken away or bent, to see that a comparison notices. */
typedef enum {
    FLAW_NONE,
    FLAW_DENOMINATORS_NOT_ENTERED,
    FLAW_EMPTY_NUMERATOR,  /* quotients may have monomials without numerator */
    FLAW_MULTIPLICITY,     /* containment as sets */
    FLAW_WHOLE_EXP,        /* exponents cancel as a whole or not at all */
    FLAW_WHOLE_SQRT,       /* the same for radicands */
    FLAW_WHOLE_DEN,        /* and for denominators */
    FLAW_FIRST_MONOMIAL,   /* only the target's first monomial is tried */
    FLAW_WHOLE_SUMS,       /* x must have as many monomials as the part of the target */
    FLAW_NO_BACKTRACKING,  /* division gives up at the first dead end */
    FLAW_SUMS_ANY_LENGTH,  /* lengths of sums are not compared */
    FLAW_ARGUMENTS_HIDDEN, /* arguments of functions without axioms are not entered */
    FLAW_COUNT
} ref_flaw;

typedef struct ref_poly ref_poly;

typedef struct {
    mo_arena *arena;
    bool numbers; /* 1 is the unit, -1 a sign */
    ref_flaw flaw;
} ref_context;

/* T and every argument, radicand and denominator in it. */
typedef struct {
    const ref_poly **part;
    uint32_t n;
} ref_target;

const ref_poly *ref_normal(const ref_context *c, const term_table *table, uint32_t t);
bool ref_equal(const ref_poly *p, const ref_poly *q);
ref_target ref_target_of(const ref_context *c, const ref_poly *target);
bool ref_subexpr(const ref_context *c, const ref_poly *x, const ref_target *target);

/* Do two monomials of a denominator or radicand in x differ by a unit such as -1? Quotients by it need not be
 * unique, and "no" from ref_subexpr then means nothing. */
bool ref_has_ambiguous_part(const ref_context *c, const ref_poly *x);

#endif
