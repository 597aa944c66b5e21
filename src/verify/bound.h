/* How likely is it that one round of the algebraic test misses a difference?
 *
 * Every value is a quotient of sums of terms f exp(g/h) with polynomials f, g, h of the inputs. From degrees
 * and numbers of terms follows a bound for one round: for k exponential terms in the difference of two such
 * quotients 8 d k^4 / q + q^(-1/k^2); without exponentials d / p.
 *
 * Functions without algebra are random functions, so each application to a new argument is one more
 * variable; it counts as new unless two different arguments happen to agree in this round, which adds their
 * own (small) probability. With free functions that holds for roots and order too. Otherwise a root adjoins
 * an algebraic number: with R of them the degree of the norm grows by 2^R, and so does the probability by
 * the condition that the radicands are squares. Where a value is outside this (order that is not free,
 * random functions or roots of exponentials, exponentials of exponentials or of roots) there is no bound. */
#ifndef MO_VERIFY_BOUND_H
#define MO_VERIFY_BOUND_H

#include "verify/bind.h"
#include "verify/shrink.h"

typedef struct {
    double degree_num, degree_den; /* of one element */
    double terms_num, terms_den;
    double degree_arg;        /* largest degree inside an exponential */
    double roots;             /* different radicands that one element depends on */
    double calls;             /* applications of random functions that it depends on */
    double call_degree;       /* largest degree of their arguments */
    uint64_t dims;            /* classes of the value's dimensions (bit: class modulo 64) */
    uint64_t den, den_exp;    /* classes on which its denominator depends, and what of it has exponentials */
    uint64_t exponent, inner; /* classes on which its exponents depend, and its radicands and calls */
    int exps;                 /* exponentials on one path */
    bool order, root;         /* max, relu, clamp, ...; square roots */
    bool opaque;              /* a random function stands for what has no algebra */
    bool unbounded;           /* outside of what the bound covers */
} mo_form;

typedef struct {
    bool chain; /* two exponentials on a path keep their algebra */
    bool free;  /* see field.h */
} mo_form_rules;

/* Forms of all tensors of the small program (of `shrink`), and of all nodes of a bound kernel body, whose
 * iterators take the forms of their tensors from `tensors`. */
void mo_forms_program(const mo_shrink *shrink, const mo_program *small, mo_form_rules rules,
                      mo_form *tensors);
void mo_forms_prim(const mo_dims *dims, const mo_bound_prim *body, mo_form_rules rules,
                   const mo_form *tensors, mo_form *nodes);

/* Form of what moves data: elements of any of the operands, from anywhere. */
mo_form mo_form_view(const mo_form *operands, int n);

/* The form of a tensor that a node of a kernel is saved to: dimensions take the place of axes. */
mo_form mo_form_saved(const mo_dims *dims, const mo_form *node, const mo_dim_ids *ids, int rank);

/* Bound for one round on missing a difference between elements of these forms; 1 or more: none.
 * `constant_bits` is the length of the longest constant as a quotient of integers. */
double mo_bound_round(const mo_form *a, const mo_form *b, double constant_bits);

/* Bits of numerator and denominator of the shortest decimal. */
double mo_bound_constant_bits(double number);

#endif
