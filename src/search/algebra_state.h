/* Inside of the algebra search: the AND-OR graph of values.
 *
 * A value is a function of free axes with a dtype, known by its fingerprint. It has derivations (an
 * operator applied to values: the AND side) and expressions (normal forms of abstract expressions under
 * which it has been built: pruning looks at each of them, since a parent may be in reach through one form
 * of its operand and not through another). */
#ifndef MO_SEARCH_ALGEBRA_STATE_H
#define MO_SEARCH_ALGEBRA_STATE_H

#include "abstract/abstract.h"
#include "search/algebra.h"
#include "verify/prim_eval.h"

/* Elements that a value may have on a small instance, reduced axes of its operator included. */
enum { MO_ALGEBRA_CELLS = 16384 };

/* A small random instance of the graph: extents, field, contents of the tensors read. */
typedef struct {
    mo_field field;
    mo_instance at;
} mo_algebra_instance;

/* Draws extents (axes that run over one dimension of a tensor share theirs), field and contents for draw
 * number `round`; redraws until every value of the graph is defined, and as far as possible until every
 * radicand of the graph is a square. False if the former does not end. */
bool mo_algebra_draw(mo_arena *arena, const mo_prim *graph, uint64_t seed, uint64_t round,
                     mo_algebra_instance *instance);

/* Has every one of these a true square root? Where there is none the field's root is a mere multiplicative
 * map, with the same value for x and -x. */
bool mo_algebra_roots(const mo_field *field, const mo_fval *radicands, int64_t count);

/* Does this node of the graph take a root of its first operand? */
bool mo_algebra_takes_root(const mo_prim *graph, const mo_prim_node *node);

/* Do both graphs save the same values on this instance? */
bool mo_algebra_same(mo_arena *scratch, const mo_algebra_instance *instance, const mo_prim *a,
                     const mo_prim *b);

typedef struct {
    mo_prim_node facts; /* axes, dtype; op and number of a CONST */
    mo_hash128 print;
    const mo_fval *elements;
    int first_derivation, last_derivation; /* -1: none */
} mo_algebra_value;

typedef struct {
    int form;  /* operator with attributes; for a leaf the node itself */
    int in[2]; /* values */
    mo_axes reduced;
    int value; /* result, or -1 when it is undefined on the instance */
    int next;  /* of the same value */
    int64_t cost;
} mo_algebra_derivation;

typedef struct {
    int value;
    mo_abs_expr expr;
} mo_algebra_class;

typedef struct {
    int *slots; /* index + 1, or 0 */
    uint32_t mask, count;
} mo_algebra_index;

typedef struct {
    mo_arena *arena;      /* of the search; released with it */
    const mo_prim *graph; /* cleaned copy of what is searched */
    const mo_algebra_options *options;
    mo_algebra_instance *instance;
    mo_abs *abs;
    int n_targets;
    mo_abs_expr *targets;
    int *roots; /* value of each saver */
    int n_forms, n_values, n_derivations, n_classes;
    int form_capacity, value_capacity, derivation_capacity, class_capacity;
    mo_prim_node *forms;
    mo_algebra_value *values;
    mo_algebra_derivation *derivations;
    mo_algebra_class *classes; /* by rising number of new operators */
    mo_algebra_index value_index, derivation_index, class_index;
    bool seeding;    /* the graph's own values are being entered */
    mo_fval *buffer; /* room for the largest value */
    mo_algebra_stats stats;
    bool stopped;
} mo_algebra;

/* algebra_space.c */
void mo_algebra_space_init(mo_algebra *s);
int mo_algebra_form(mo_algebra *s, const mo_prim_node *node); /* the form of this operator and attributes */

/* Value of a form applied to values (in[1] is ignored for one operand), evaluated unless it is known; -1 if
 * it is undefined on the instance. Records the derivation. */
int mo_algebra_derive(mo_algebra *s, int form, const int in[2], mo_axes reduced);

/* Adds the pair and returns true, or false if it is known. */
bool mo_algebra_add_class(mo_algebra *s, int value, mo_abs_expr expr);

/* algebra_canon.c. The skeleton of a graph identifies its reductions and what they reduce, up to scaling by
 * numbers and the spelling of products: graphs that differ less are alike. */
uint64_t mo_algebra_skeleton(mo_arena *scratch, const mo_prim *graph);

static inline bool mo_algebra_commutes(mo_op op)
{
    return op == MO_OP_ADD || op == MO_OP_MUL || op == MO_OP_MATMUL || op == MO_OP_MAXIMUM ||
           op == MO_OP_MINIMUM;
}

/* Operators that do something: no iterators, numbers, accumulators. */
static inline bool mo_algebra_counts(const mo_prim_node *node)
{
    return mo_op_kind_of(node->op) != MO_KIND_STRUCTURE || node->op == MO_OP_MASK;
}

/* algebra_enumerate.c: fills the space. */
void mo_algebra_enumerate(mo_algebra *s);

int64_t mo_algebra_node_cost(const mo_prim *graph, mo_op op, mo_axes axes);

#endif
