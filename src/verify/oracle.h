/* Interpreters of programs as written, in floating point: the float64 reference and the f32 yardstick.
 *
 * Written independently of lowering and code generation. Tensors are dense row-major arrays of doubles;
 * inputs have been rounded to their dtype by the caller (see inputs.h). */
#ifndef MO_VERIFY_ORACLE_H
#define MO_VERIFY_ORACLE_H

#include "ir/program.h"

typedef enum {
    MO_ORACLE_F64,      /* everything in double, compound operators by their definitions */
    MO_ORACLE_YARDSTICK /* each step rounded to f32, each matmul operand to its compute dtype, no more */
} mo_oracle_mode;

/* c[b, i, j] = sum over l of a[b, i, l] * b[b, l, j]; strides in elements, c packed. */
typedef struct {
    int64_t batch, m, n, k;
    int64_t a_batch, a_m, a_k;
    int64_t b_batch, b_k, b_n;
} mo_oracle_matmul;

/* Somebody who does large products faster. Arrays hold doubles, or floats when `single` (each product and
 * each sum rounded, l ascending). False: not done, it is computed here instead. */
typedef struct {
    bool (*run)(void *context, const mo_oracle_matmul *shape, bool single, const void *a, const void *b,
                void *c);
    void *context;
    int64_t least_products; /* smaller ones are not offered */
} mo_matmul_hook;

typedef struct {
    mo_oracle_mode mode;
    int threads;                /* <= 0: all cores */
    const mo_matmul_hook *hook; /* or NULL */
    bool keep_all;              /* false: only the program's outputs are kept */
    double *peaks;              /* NULL, or [tensor]: gets the largest finite magnitude of each */
} mo_oracle_options;

/* Evaluates the program. values[t] of each kept tensor (an input only if it is an output too) is malloced
 * and unrounded: rounding to the output's dtype is left to the comparison. Others are NULL. */
void mo_oracle_run(const mo_program *program, const mo_oracle_options *options, const double *const *inputs,
                   double **values);
void mo_oracle_free(const mo_program *program, double **values);

/* One element of a pointwise operator, in double. `b` is ignored by unary ones. NaN propagates through
 * maximum, relu, clamp and the like. */
double mo_oracle_pointwise(mo_op op, const mo_attrs *attrs, double a, double b);

#endif
