/* Inside of the joint search: the state of its recursion. Everything is a stack, undone on return. */
#ifndef MO_SEARCH_JOINT_STATE_H
#define MO_SEARCH_JOINT_STATE_H

#include "search/algebra_state.h"
#include "search/joint.h"

enum { JOINT_MAX_VALUES = 48, JOINT_MAX_KERNELS = 8, JOINT_MAX_BLOCK = 24, JOINT_MAX_FORMS = 64 };

typedef int8_t joint_id; /* of a value; small, because states are copied */

/* A value of the graph with the one way it is computed. Leaves have no operands. */
typedef struct {
    mo_prim_node node; /* operator and attributes, axes, dtype; in[] are values */
    mo_hash128 print;
    mo_abs_expr expr;
    const mo_fval *elements; /* on the first instance; NULL until something is built on it */
} joint_value;

typedef struct {
    bool predefined;
    mo_axes grid, loop;
    int n_ops, n_reads, n_outputs;
    joint_id ops[JOINT_MAX_BLOCK]; /* in order of computation */
    joint_id reads[JOINT_MAX_VALUES], read_rank[JOINT_MAX_VALUES];
    joint_id outputs[JOINT_MAX_BLOCK];
} joint_kernel;

/* An operator of the plan; for sums and products the reduced axes are chosen for each tuple. */
typedef struct {
    mo_prim_node node; /* of pow: `number` is the exponent */
    int second;        /* of pow: its value; else -1 */
} joint_form;

/* Fingerprints of operators on operands, by both; direct-mapped. */
typedef struct {
    mo_hash128 key, print;
    bool used, clean;
} joint_memo;

typedef struct {
    mo_arena *arena, *scratch;
    const mo_prim *graph; /* cleaned copy of what is searched */
    mo_joint_options options;
    mo_algebra_instance *first, *second;
    mo_abs *abs;
    int n_targets, target_node[MO_MAX_AXES];
    mo_abs_expr targets[MO_MAX_AXES];
    mo_hash128 target_print[MO_MAX_AXES];
    int n_forms;
    joint_form forms[JOINT_MAX_FORMS];
    mo_axes summed;  /* axes that the graph sums over */
    mo_axes reduced; /* axes of any reduction: these may be looped over */
    mo_axes *shapes; /* axes of the graph's values */
    int n_shapes;
    bool square; /* x * x is written as a square */
    joint_memo *memo;
    int64_t cells; /* room in each of `rooms` */
    mo_fval *rooms[JOINT_MAX_VALUES], *buffer;
    /* the state */
    int n_values, n_leaves;
    joint_value values[JOINT_MAX_VALUES];
    int n_device;
    joint_id device[JOINT_MAX_VALUES]; /* values in device memory: iterators, then what kernels wrote */
    int n_kernels;
    joint_kernel kernels[JOINT_MAX_KERNELS];
    mo_joint_stats stats;
    bool stopped;
    mo_hash128 *classes; /* a hash table of those found */
    bool *class_used;
    uint32_t class_mask;
} joint;

/* joint_values.c */
void joint_plan(joint *s);

/* Does the value of one of the leaves, or of one that is computed, agree with these? -1 if none. */
int joint_find_value(const joint *s, mo_hash128 print, mo_axes axes);

/* The value that is computed by this operator on these values, if it is computed somewhere already; -1. */
int joint_find_derivation(const joint *s, const mo_prim_node *node);

/* Fingerprint and axes of the operator on values in[]; false if it is undefined, or too large. */
bool joint_evaluate(joint *s, const mo_prim_node *node, mo_hash128 *print);

/* Makes sure that the elements of the value are there. */
void joint_fill(joint *s, int value);

mo_abs_expr joint_expression(joint *s, const mo_prim_node *node);

/* joint_graph.c: the state is a complete kernel graph. */
void joint_accept(joint *s);

#endif
