/* Index-aware normal forms: what an element of a tensor is, as an expression of the elements of the inputs.
 *
 * A form is a sum of terms; a term is a rational coefficient times a product of powers of atoms, summed over
 * bound index variables:
 *
 *     sum[k < 4096] X[i,k] * W[k,j] * (1/100000 + 1/4096 * sum[k < 4096] X[i,k]^2)^(-1/2)
 *
 * Atoms are elements of inputs and what cannot be taken apart: exponentials of a single term, powers of a
 * sum, maxima, functions without algebra. The rules that bring expressions into this form hold over the reals
 * wherever both sides have a value:
 *
 *   products are multiplied out; factors that do not depend on a summation variable leave the sum; sums nest
 *   in any order; sum over (high, low) of f(n*high + low) is one sum, and adjoining ranges are one range;
 *   exp(a + b) = exp(a) exp(b); (c a b)^r = c^r a^r b^r where that is true for the reals; maxima are
 *   max(a, b) = a + max(0, b - a), scaled by positive numbers, and may be nested in any order.
 *
 * Bound variables are numbered by the form alone, so that equal forms are equal pointers within one
 * mo_normals. Two equal functions may have different forms (there is no normal form for all of this); two
 * functions with the same form are equal. Everything lives in the arena of the mo_normals. */
#ifndef MO_VERIFY_NORMAL_H
#define MO_VERIFY_NORMAL_H

#include "base/arena.h"
#include "ir/prim.h"
#include "verify/affine.h"
#include "verify/rational.h"

typedef struct mo_normal mo_normal;
typedef struct mo_atom mo_atom;

typedef enum {
    MO_ATOM_INPUT,     /* element `index` (in memory) of input `tensor` */
    MO_ATOM_EXP,       /* exp(arg), arg a single term with coefficient 1 */
    MO_ATOM_SUM,       /* arg itself, under a power that is not a whole positive number */
    MO_ATOM_PRIME,     /* the prime number `tag`, under such a power */
    MO_ATOM_MAX,       /* the largest of 0 and the args */
    MO_ATOM_LARGEST,   /* the largest arg over the bound variables */
    MO_ATOM_FUNCTION,  /* a function without algebra of arg: an operator with an attribute, `tag` */
    MO_ATOM_MASK,      /* 0 where index <= 0, -inf elsewhere */
    MO_ATOM_INDICATOR, /* 1 where index <= 0, 0 elsewhere */
} mo_atom_kind;

struct mo_atom {
    mo_atom_kind kind;
    uint32_t id; /* order of creation */
    int tensor;  /* INPUT */
    mo_op op;    /* FUNCTION */
    uint64_t tag;
    mo_affine index;
    int n_args, n_bound;
    const mo_normal *const *args;
    const mo_var *bound; /* LARGEST */
    int n_free;
    const mo_var *free;      /* ascending */
    uint64_t hash, looks[2]; /* looks: whatever its variables are called, without and with indices */
};

typedef struct {
    const mo_atom *atom;
    mo_rational power;
} mo_factor;

typedef struct {
    mo_rational coefficient;
    int n_bound, n_factors;
    const mo_var *bound;
    const mo_factor *factors; /* by id of the atom */
} mo_term;

struct mo_normal {
    uint32_t id;
    int n; /* 0: the number 0 */
    const mo_term *terms;
    int n_free;
    const mo_var *free;
    uint64_t hash, looks[2];
};

/* Makes forms. One that fails (too large, a number that does not fit, a quotient by 0) leaves the reason in
 * `failed` and gives NULL; NULL operands give NULL, so that only the end of a calculation need be looked at.
 */
typedef struct mo_normals {
    mo_arena *arena;
    const char *failed;                    /* static text */
    uint32_t n_atoms, n_forms, n_products; /* so far; each is bounded */
    struct mo_normal_tables *tables;
} mo_normals;

mo_normals *mo_normals_new(mo_arena *arena);

const mo_normal *mo_normal_number(mo_normals *s, mo_rational value);
const mo_normal *mo_normal_integer(mo_normals *s, int64_t value);
const mo_normal *mo_normal_double(mo_normals *s, double value); /* its shortest decimal */
const mo_normal *mo_normal_input(mo_normals *s, int tensor, const mo_affine *place);

const mo_normal *mo_normal_add(mo_normals *s, const mo_normal *a, const mo_normal *b);
const mo_normal *mo_normal_sub(mo_normals *s, const mo_normal *a, const mo_normal *b);
const mo_normal *mo_normal_scale(mo_normals *s, const mo_normal *a, mo_rational by);
const mo_normal *mo_normal_mul(mo_normals *s, const mo_normal *a, const mo_normal *b);
const mo_normal *mo_normal_power(mo_normals *s, const mo_normal *a, mo_rational exponent);
const mo_normal *mo_normal_div(mo_normals *s, const mo_normal *a, const mo_normal *b);
const mo_normal *mo_normal_exp(mo_normals *s, const mo_normal *a);
const mo_normal *mo_normal_maximum(mo_normals *s, const mo_normal *a, const mo_normal *b);
const mo_normal *mo_normal_minimum(mo_normals *s, const mo_normal *a, const mo_normal *b);
const mo_normal *mo_normal_function(mo_normals *s, mo_op op, uint64_t tag, const mo_normal *a);
/* a where index <= 0, -inf elsewhere */
const mo_normal *mo_normal_mask(mo_normals *s, const mo_normal *a, const mo_affine *index);

/* Sum, or largest or smallest value, over variables that may occur in `a`. */
const mo_normal *mo_normal_sum(mo_normals *s, const mo_normal *a, const mo_var *vars, int n);
const mo_normal *mo_normal_largest(mo_normals *s, const mo_normal *a, const mo_var *vars, int n);
const mo_normal *mo_normal_smallest(mo_normals *s, const mo_normal *a, const mo_var *vars, int n);

/* Operators of the table: elementwise ones; the attributes are those of `node`. pow takes its exponent from
 * `number`. */
const mo_normal *mo_normal_pointwise(mo_normals *s, const mo_prim_node *node, const mo_normal *a,
                                     const mo_normal *b, double number);

/* `a` with `by` in the place of a free variable. */
const mo_normal *mo_normal_substitute(mo_normals *s, const mo_normal *a, mo_var var, const mo_affine *by);

/* Are they the same, if need be after multiplying both with their common denominators? */
bool mo_normal_equal(mo_normals *s, const mo_normal *a, const mo_normal *b);

/* One line of text. `program` gives the names of the inputs. */
void mo_normal_print(mo_str *out, const mo_program *program, mo_var_names *names, const mo_normal *a);

#endif
