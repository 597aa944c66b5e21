/* Index variables and affine forms over them: how the elements of tensors are named in a proof. */
#ifndef MO_VERIFY_AFFINE_H
#define MO_VERIFY_AFFINE_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* A variable runs over 0 .. extent-1. Two variables are the same when number and extent are. */
typedef struct {
    uint32_t number;
    uint32_t extent;
} mo_var;

#define MO_AFFINE_TERMS 12

/* constant + sum of factor * var; factors are not 0, variables ascend by number and extent. */
typedef struct {
    int64_t constant;
    int n;
    struct {
        mo_var var;
        int64_t factor;
    } term[MO_AFFINE_TERMS];
} mo_affine;

static inline bool mo_var_same(mo_var a, mo_var b)
{
    return a.number == b.number && a.extent == b.extent;
}

int mo_var_compare(mo_var a, mo_var b);

mo_affine mo_affine_constant(int64_t value);
mo_affine mo_affine_var(mo_var var);

/* a + factor * b, into *a. False when there are more than MO_AFFINE_TERMS variables or numbers overflow. */
bool mo_affine_add(mo_affine *a, const mo_affine *b, int64_t factor);

bool mo_affine_equal(const mo_affine *a, const mo_affine *b);

/* Factor of a variable, 0 if it does not occur. */
int64_t mo_affine_factor(const mo_affine *a, mo_var var);

/* Puts `by` in the place of a variable. False as for mo_affine_add. */
bool mo_affine_substitute(mo_affine *a, mo_var var, const mo_affine *by);

/* Least and greatest value. */
void mo_affine_range(const mo_affine *a, int64_t *least, int64_t *most);

/* What has to become of a variable before a question about an index has one answer for all its values. */
typedef enum {
    MO_SPLIT_NONE,   /* no way is known */
    MO_SPLIT_DIGITS, /* var = at * high + low, with low below `at` */
    MO_SPLIT_RANGE   /* the values below `at` apart from the others */
} mo_split_kind;

typedef struct {
    mo_split_kind kind;
    mo_var var;
    int64_t at;
} mo_split_need;

/* a = divisor * quotient + remainder with 0 <= remainder < divisor, as affine forms. False where that needs
 * a variable to be split first: *need says which. */
bool mo_affine_divide(const mo_affine *a, int64_t divisor, mo_affine *quotient, mo_affine *remainder,
                      mo_split_need *need);

/* Is a < bound for all values of the variables (1), for none (0)? -1: for some; *need says what to split. */
int mo_affine_below(const mo_affine *a, int64_t bound, mo_split_need *need);

/* Names of variables in a text: those with small numbers are i0, i1, ..., others k0, k1, ... as they come. */
#define MO_NAMED_VARS 48

typedef struct {
    int n;
    mo_var var[MO_NAMED_VARS];
} mo_var_names;

void mo_var_print(mo_str *out, mo_var_names *names, mo_var var);

/* "64*i1+k0-3" */
void mo_affine_print(mo_str *out, mo_var_names *names, const mo_affine *a);

#endif
