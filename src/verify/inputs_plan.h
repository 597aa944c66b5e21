/* Which sets of inputs a program gets, and what follows from the program for their contents.
 *
 * Everything is read off the program as written; only the scales of the logits sets need a number more, the
 * magnitudes that the random set reaches (mo_oracle_options.peaks). */
#ifndef MO_VERIFY_INPUTS_PLAN_H
#define MO_VERIFY_INPUTS_PLAN_H

#include "ir/program.h"

typedef enum {
    MO_INPUTS_RANDOM,     /* N(0,1); variance 1/K for inputs that only stand on the right of matmul */
    MO_INPUTS_OFFSET_100, /* rows offset by 100 times their spread */
    MO_INPUTS_OFFSET_1000,
    MO_INPUTS_LARGE,        /* rows in the thousands, random rows, rows in the hundreds */
    MO_INPUTS_ZERO,         /* rows of 0, tiny rows, random rows */
    MO_INPUTS_TINY,         /* the same, the tiny ones first */
    MO_INPUTS_LOGITS_50,    /* what the first exponential reads reaches 50 */
    MO_INPUTS_LOGITS_60000, /* and 60000 */
    MO_INPUTS_INFINITE,     /* rows of -inf as a whole and in part, rows with one NaN, subnormal rows */
    MO_INPUTS_NAN,          /* the same, a row with NaN of the last input first */
    MO_INPUTS_KINDS
} mo_inputs_kind;

const char *mo_inputs_name(mo_inputs_kind kind); /* "random", "offset-100", ... */

enum { MO_LOGITS = 2 }; /* 50 and 60000 */

#define MO_LATTICE_SPREAD 2.0 /* of whole numbers, in units */

/* What the sets do with one input. */
typedef struct {
    int64_t right;            /* length of the sum that it is only ever the right operand of, or 0 */
    bool special;             /* rank 2 and more, no right operand: it has special rows */
    bool sharp;               /* reaches the operand of exp or softmax, where a small error grows */
    bool multiplied;          /* reaches a matmul */
    int infinite;             /* 1 + its position among those whose rows may hold -inf and NaN; 0: none may */
    double logits[MO_LOGITS]; /* factor on the random values; 1: as in the random set */
    double unit;              /* logits-60000: values are small multiples of this; 0: not */
} mo_input_plan;

typedef struct {
    const mo_program *program;
    const mo_input_plan *inputs;
    int n_infinite; /* inputs whose rows may hold -inf and NaN: they take turns */
    int n_sets;
    mo_inputs_kind sets[MO_INPUTS_KINDS]; /* the random one first, then in the order of their kinds */
} mo_inputs_plan;

/* The plan of a program, in `arena`. `peaks`, by tensor, are the largest finite magnitudes on random inputs;
 * NULL: no logits sets.
 *
 * tiny and nan are there only for inputs of so few rows that zero and infinite do not hold all kinds of rows.
 * Rows hold -inf and NaN where each can reach its own results only, and where equal graphs agree on them: in
 * inputs that reach no right operand of matmul, no transposed left one, and whose last dimension stays last.
 * Logits of 60000 are made for exp and softmax only where every order of summation gives the same ones. */
mo_inputs_plan *mo_inputs_plan_new(mo_arena *arena, const mo_program *program, const double *peaks);

/* Does the input have other values in this set than in the random one? */
bool mo_inputs_differ(const mo_inputs_plan *plan, mo_inputs_kind kind, int input);

/* Index of the node whose operand the logits sets are about, or -1: the first operator that computes an
 * exponential and whose operand grows with some input. */
int mo_inputs_exponential(const mo_program *program);

/* Length of the sum that input t is only ever the right operand of (through views or directly), or 0. */
int64_t mo_inputs_right_length(const mo_program *program, int t);

#endif
