/* Does a muGraph (or another program) compute what a program computes, over the reals?
 *
 * First on a small instance of the same graphs: every element of every output, over finite fields, as many
 * rounds as the bound asks for. Then at the program's own shapes: corner and tile-boundary elements and
 * random ones, through the strides that code is generated from. The program's side is evaluated as
 * written. A mismatch is a difference only where the arithmetic of the fields decides it and the program's
 * own shape confirms it (unless that is left out), or where float64 shows it; otherwise the answer is
 * UNDECIDED. */
#ifndef MO_VERIFY_EQUIV_H
#define MO_VERIFY_EQUIV_H

#include "ir/mugraph.h"

typedef enum { MO_EQUAL_TESTED, MO_DIFFERENT, MO_UNDECIDED } mo_equiv;

typedef struct {
    double delta; /* wanted bound on accepting a graph that differs on the small instance */
    uint64_t seed;
    int threads;          /* <= 0: all cores */
    int64_t max_products; /* multiplications to spend at full shape; 0: 2^24; < 0: no evaluation there */
} mo_verify_options;

typedef struct {
    char name[32];
    int64_t extent;
} mo_verify_axis;

#define MO_VERIFY_AXES 32

typedef struct {
    bool proved;        /* set by who has a proof (proof.h): the test itself proves nothing */
    const char *reason; /* UNDECIDED: why (static text) */
    double delta;       /* < 0: no bound holds */
    int rounds;
    uint32_t primes[2]; /* p and q of the last round */
    int n_axes;         /* the small instance */
    mo_verify_axis axes[MO_VERIFY_AXES];
    int64_t full_checked, full_elements;
    /* DIFFERENT: an element that differs, and both values in float64 (on the program's own shapes, or on the
     * small instance if witness_small). Without a witness only the place is known. */
    bool witness, witness_small;
    int output;
    int rank;
    int64_t index[MO_MAX_RANK];
    double program_value, other_value;
} mo_verify_report;

mo_equiv mo_verify_mugraph(const mo_program *program, const mo_mugraph *graph,
                           const mo_verify_options *options, mo_verify_report *report);

/* The same for a second program. Inputs correspond by name, outputs by position; the caller has checked
 * that these agree in shape and dtype. */
mo_equiv mo_verify_programs(const mo_program *program, const mo_program *other,
                            const mo_verify_options *options, mo_verify_report *report);

#endif
