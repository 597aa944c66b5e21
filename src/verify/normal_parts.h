/* Inside of normal forms: terms in the making. */
#ifndef MO_VERIFY_NORMAL_PARTS_H
#define MO_VERIFY_NORMAL_PARTS_H

#include "verify/normal.h"

#define MO_NORMAL_BOUND 12        /* variables of a term */
#define MO_NORMAL_FACTORS 48      /* factors of a term */
#define MO_NORMAL_TERMS 2048      /* terms of a form */
#define MO_NORMAL_PRODUCTS 200000 /* terms put together for one mo_normals */
#define MO_NORMAL_OBJECTS 400000  /* atoms and forms of one mo_normals */

/* A term that is being put together: factors in any order, variables with any names. */
typedef struct {
    mo_rational coefficient;
    uint32_t above; /* bound variables that get a new name get a number from here on */
    int n_bound, n_factors;
    mo_var bound[MO_NORMAL_BOUND];
    mo_factor factors[MO_NORMAL_FACTORS];
} mo_draft;

/* Terms that will be added up. */
typedef struct {
    int n, capacity;
    mo_term *terms;
} mo_term_list;

/* Records why and returns false. */
bool mo_normal_fail(mo_normals *s, const char *why);

/* The atom or form that is equal to this one. Fields for identity and free variables are filled in. NULL when
 * there are too many. */
const mo_atom *mo_normal_intern_atom(mo_normals *s, const mo_atom *atom);
const mo_normal *mo_normal_intern(mo_normals *s, const mo_term *terms, int n);

/* Puts a power of an atom in; powers of equal atoms are joined. */
bool mo_draft_factor(mo_normals *s, mo_draft *d, const mo_atom *atom, mo_rational power);
/* Puts `by` in the place of a variable in all factors. */
bool mo_draft_substitute(mo_normals *s, mo_draft *d, mo_var var, const mo_affine *by);
/* Multiplies a term into the draft; variables are renamed so that none is bound twice. */
bool mo_draft_multiply(mo_normals *s, mo_draft *d, const mo_term *term);
/* Brings the draft into its form and adds the terms (several where a power of a sum was multiplied out). */
bool mo_draft_finish(mo_normals *s, mo_draft *d, mo_term_list *list);
/* The sum of the terms of a list as a form. */
const mo_normal *mo_normal_collect(mo_normals *s, mo_term_list *list);

bool mo_term_list_add(mo_normals *s, mo_term_list *list, const mo_term *term);

/* Orders terms by everything but their coefficients. */
int mo_term_compare(const mo_term *a, const mo_term *b);

/* Names bound variables by the draft alone: merges pairs that stand for one variable, drops unused ones, and
 * numbers the rest. Powers have been multiplied out. */
bool mo_draft_canonical(mo_normals *s, mo_draft *d);

const mo_atom *mo_atom_substitute(mo_normals *s, const mo_atom *atom, mo_var var, const mo_affine *by);
/* The form of an atom to a power. */
const mo_normal *mo_normal_atom(mo_normals *s, const mo_atom *atom, mo_rational power);
const mo_normal *mo_normal_from_term(mo_normals *s, const mo_term *term);

bool mo_normal_has(const mo_var *free, int n, mo_var var);
/* 1 + the highest number among them. */
uint32_t mo_normal_above(const mo_var *vars, int n, uint32_t least);

/* Hands every index below an atom in which u or v may occur to `visit`; false as soon as that is, or where a
 * nested sum has a variable of the same name beside one of them. */
typedef bool mo_affine_visit(void *context, const mo_affine *index);
bool mo_atom_visit(const mo_atom *atom, mo_var u, mo_var v, mo_affine_visit *visit, void *context);

/* Fill in the looks, hashes that order what has no order of its own. Those of the parts are there. */
void mo_normal_set_looks(mo_normal *f);
void mo_atom_set_looks(mo_atom *atom);

/* The term that a form is measured by: the same for all names of its variables, as far as looks tell. */
const mo_term *mo_normal_leading(const mo_normal *f);

/* Can the value not be below 0, as far as signs show? */
bool mo_normal_never_negative(mo_normals *s, const mo_normal *a);

/* The two sums that a form was multiplied out from, the first time; false if it was not. */
bool mo_normal_product_of(const mo_normals *s, const mo_normal *a, const mo_normal *factors[2]);

/* Joins terms that are one sum over adjoining ranges. */
bool mo_normal_join(mo_normals *s, mo_term_list *list);

#endif
