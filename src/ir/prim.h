/* Primitive graph: a program (or a part of one) lowered to primitive operators over labelled axes.
 *
 * A value is a function of its free axes, given as a bit mask: the order of dimensions exists only in
 * memory, at iterators (reads) and savers (writes), as a stride in elements for each axis. Elementwise
 * operators join their operands by label (a missing label is a broadcast); reductions and matmul remove
 * the labels that they sum over. So transposed operands, batch axes and broadcasts need no operator.
 *
 * Axes are index variables of operator instances, as in einsum: they unify along an edge from producer
 * to consumer, never because extents are equal. Extent 1 is no axis. A label that is reduced in one
 * place may be free elsewhere: the reduction binds it.
 *
 * Nodes are in topological order (operands before users). Owned by an arena; copied by
 * mo_prim_copy. */
#ifndef MO_IR_PRIM_H
#define MO_IR_PRIM_H

#include "ir/program.h"

#define MO_MAX_AXES 32

typedef uint32_t mo_axes; /* bit a: axis a */

typedef struct {
    char name[16];  /* "m", "k", "n", "b0": for people */
    int64_t extent; /* at least 2 */
} mo_axis;

/* How a value lies in memory. `tensor` is an index into the program's tensors; a kernel of a muGraph may
 * also use the muGraph's own intermediates, which are numbered behind them.
 * `dim_axis` says which axis runs over each dimension of that tensor (-1: none, the index is 0), `dim_inner`
 * which one runs inside it over the same dimension (1 + axis; 0: none), so that the index there is
 * dim_axis * extent of dim_inner + dim_inner: an axis that was split. This is what a small instance with
 * other extents is built from. `stride` is the same in elements of the real tensor, and is what code is
 * generated from. Once axes have been merged (mo_prim_merge_axes) only the strides are valid, and `rank` is
 * -1. */
typedef struct {
    int tensor;
    int rank;
    int8_t dim_axis[MO_MAX_RANK], dim_inner[MO_MAX_RANK];
    int64_t stride[MO_MAX_AXES];
} mo_access;

typedef struct {
    mo_op op; /* ITER, CONST, pointwise, SUM, MAX, MIN, MATMUL */
    int n_in;
    int in[2];
    mo_axes axes;       /* free axes of the value */
    mo_axes reduced;    /* SUM, MAX, MIN, MATMUL: bound axes. MATMUL is the sum of in[0]*in[1] over them */
    mo_dtype dtype;     /* value dtype; for CAST the target */
    mo_dtype compute;   /* compute dtype */
    double number;      /* CONST */
    mo_axes const_axes; /* CONST: the number is the product of these axes' extents (a mean's n); 0: plain */
    double min, max;    /* CLAMP */
    bool approximate_tanh; /* GELU */
    /* MASK: keeps what has index(columns) <= index(rows) + offset, -inf elsewhere; 1 + axis, 0: index 0 */
    int8_t mask_rows, mask_columns;
    int64_t mask_offset;
    mo_access access; /* ITER: what is read */
} mo_prim_node;

/* An output saver: `node` is written through `access`. */
typedef struct {
    int node;
    mo_access access;
} mo_saver;

typedef struct {
    mo_arena *arena;
    const mo_program *program;
    int n_axes, n_nodes, n_savers;
    int node_capacity;
    mo_axis axes[MO_MAX_AXES];
    mo_prim_node *nodes;
    mo_saver *savers; /* in the order of the program's outputs (or of the node's outputs) */
    int saver_capacity;
} mo_prim;

mo_prim *mo_prim_new(mo_arena *arena, const mo_program *program);
mo_prim *mo_prim_copy(mo_arena *arena, const mo_prim *graph);

/* Appends a node and returns its index. `axes`, dtype and compute of pointwise and reduction nodes are
 * computed from the operands. */
int mo_prim_iter(mo_prim *g, mo_dtype dtype, mo_dtype compute, const mo_access *access);
int mo_prim_const(mo_prim *g, double number);
int mo_prim_extent_const(mo_prim *g, mo_axes axes); /* the product of their extents */
int mo_prim_unary(mo_prim *g, mo_op op, int a);     /* no attributes */
int mo_prim_binary(mo_prim *g, mo_op op, int a, int b);
int mo_prim_reduce(mo_prim *g, mo_op op, int a, mo_axes reduced);
int mo_prim_matmul(mo_prim *g, int a, int b, mo_axes reduced);
int mo_prim_append(mo_prim *g, mo_prim_node node); /* any node, as it is */
void mo_prim_save(mo_prim *g, int node, const mo_access *access);

/* Access to a tensor of this shape and strides with the given axis for each dimension (-1: none). */
mo_access mo_access_make(int tensor, mo_shape shape, const int64_t *strides, const int8_t *dim_axis);

/* Axes that an access runs over, also those with stride 0 (a broadcast input); none without dimensions. */
mo_axes mo_access_axes(const mo_access *access);

/* Step of each axis through a tensor with these strides of its dimensions; `extent` of the axes. */
void mo_access_steps(const mo_access *access, const int64_t *dim_strides, const int *extent,
                     int64_t steps[MO_MAX_AXES]);

/* Recomputes dtype and compute of every node by the precision rule. */
void mo_prim_infer_dtypes(mo_prim *g);

/* Renames axis `from` to `to` everywhere (iterators, savers, reductions). The caller makes sure that no
 * value carries both; extents are equal. */
void mo_prim_rename_axis(mo_prim *g, int from, int to);

/* Merges pairs of axes that always stand together as one (outer stride = inner stride times inner extent
 * in every access, both or neither in every value and reduction): fewer, longer axes for placement.
 * Afterwards accesses have no dimensions any more (rank -1). */
void mo_prim_merge_axes(mo_prim *g);

/* Drops nodes that no saver needs and merges equal nodes (common subexpressions); keeps the order. */
void mo_prim_clean(mo_prim *g);

/* Axes whose indices a node looks at. */
static inline mo_axes mo_mask_axes(const mo_prim_node *node)
{
    mo_axes axes = 0;
    if (node->op == MO_OP_MASK && node->mask_rows > 0) axes |= 1u << (node->mask_rows - 1);
    if (node->op == MO_OP_MASK && node->mask_columns > 0) axes |= 1u << (node->mask_columns - 1);
    return axes;
}

int64_t mo_prim_extent(const mo_prim *g, mo_axes axes); /* product of extents */
static inline int mo_axes_count(mo_axes axes)
{
    return __builtin_popcount(axes);
}
static inline int mo_axes_first(mo_axes axes)
{
    return __builtin_ctz(axes);
} /* axes != 0 */
/* The next axis of the mask behind axis `a` (-1 to start); MO_MAX_AXES at the end. */
static inline int mo_axes_next(mo_axes axes, int a)
{
    mo_axes rest = a + 1 < MO_MAX_AXES ? axes >> (a + 1) : 0;
    return rest == 0 ? MO_MAX_AXES : a + 1 + mo_axes_first(rest);
}
#define MO_FOR_AXES(a, mask) \
    for (int a = mo_axes_next((mask), -1); a < MO_MAX_AXES; a = mo_axes_next((mask), a))

/* One line for each node: "%3 = matmul(%0, %1) sum[k] -> [m,n]". */
void mo_prim_print(mo_str *out, const mo_prim *graph);

/* Hash of everything that decides what the graph computes and how it reads and writes memory. */
mo_hash128 mo_prim_hash(const mo_prim *graph, uint64_t seed);

/* NULL if the graph is well formed, otherwise what is wrong (static text). Checked between passes. */
const char *mo_prim_check(const mo_prim *graph);

#endif
