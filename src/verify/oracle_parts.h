/* Inside of the interpreters: what their files share. */
#ifndef MO_VERIFY_ORACLE_PARTS_H
#define MO_VERIFY_ORACLE_PARTS_H

#include "base/pool.h"
#include "verify/oracle.h"

typedef struct {
    const mo_program *program;
    const mo_oracle_options *options;
    bool single; /* f32 steps */
    mo_pool *pool;
    const double **tensors; /* by tensor: inputs and what has been computed */
} mo_oracle;

/* A result of one step in the precision of the mode. */
static inline double mo_oracle_step(const mo_oracle *o, double value)
{
    return o->single ? (double)(float)value : value;
}

double *mo_oracle_alloc(int64_t count);

void mo_oracle_do_matmul(const mo_oracle *o, const mo_node *node, double *out);
void mo_oracle_do_reduce(const mo_oracle *o, const mo_node *node, double *out);
void mo_oracle_do_compound(const mo_oracle *o, const mo_node *node, double *out);
void mo_oracle_do_view(const mo_oracle *o, const mo_node *node, double *const *outs);

#endif
