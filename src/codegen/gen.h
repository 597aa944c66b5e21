/* Shared by the emitters of the three kinds of schedule: the text being written and names for values.
 *
 * Naming in emitted code: g_X is a tensor in device memory, s_X its tile in shared memory, r_X a row in
 * registers, f_X a matrix fragment, i_m the index along axis m; values are called after their operator. */
#ifndef MO_CODEGEN_GEN_H
#define MO_CODEGEN_GEN_H

#include "codegen/emit.h"

/* A tensor map among a kernel's parameters, behind the pointers. */
typedef struct {
    const char *name;
    int tensor;
    mo_tensor_map map;
} mo_gen_map;

typedef struct {
    mo_arena *arena;
    const mo_mugraph *mugraph;
    const mo_kernel *kernel;
    const mo_prim *g;
    int arch; /* 80, 90, ... */
    mo_str text;
    int indent;
    int unique; /* for names that must not clash */
    int n_maps;
    mo_gen_map *maps;
    bool *mapped;       /* by node: iterators that are read through a tensor map alone; NULL: none */
    bool early;         /* the kernel may start while the one before it still writes (mo_grid_wait) */
    const char *reason; /* why the kernel cannot be emitted; NULL so far */
} mo_gen;

/* One line of code at the current indentation. A line that ends with '{' indents what follows; one that
 * starts with '}' ends that. */
void mo_gen_line(mo_gen *gen, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* "mo_half", "mo_bf16" or "float". */
const char *mo_gen_type(mo_dtype dtype);

/* A number as a float literal that reads back exactly after rounding to f32. */
const char *mo_gen_number(mo_gen *gen, double number);

/* C expression of a pointwise node of operands a and b (b unused for unary operators); index[axis] is the
 * expression for an axis, which a mask looks at. */
const char *mo_gen_pointwise(mo_gen *gen, const mo_prim_node *node, const char *a, const char *b,
                             const char *const index[MO_MAX_AXES]);

/* "mo_sum_op", "mo_max_op", "mo_min_op" of a reduction. */
const char *mo_gen_reduction(mo_op op);

/* Name of the value of a node, from its operator: "div7". */
const char *mo_gen_value_name(mo_gen *gen, int node);

/* A node as an operand in comments: a tensor, a number, or the name of its value. */
const char *mo_gen_short_name(mo_gen *gen, int node);

/* What node `node` is, for a comment: "sum(t1 * t1) over k". */
const char *mo_gen_describe(mo_gen *gen, int node);

/* Offset of an access as an expression: index[a] is the expression for axis a (NULL: skipped, index 0). */
const char *mo_gen_offset(mo_gen *gen, mo_axes axes, const mo_access *access,
                          const char *const index[MO_MAX_AXES]);

const char *mo_gen_tensor(mo_gen *gen, int tensor); /* symbol */

/* Opens the kernel: signature with one parameter for each tensor it touches (reads first). */
void mo_gen_open_kernel(mo_gen *gen);

/* Lets an sm_90 kernel start early: called before mo_gen_open_kernel, and where it may first touch memory.
 * What stands between the two (barriers, indices) overlaps the end of the kernel before. */
void mo_gen_start_early(mo_gen *gen);
void mo_gen_wait_for_others(mo_gen *gen);

/* Tensors of a kernel in the order of its parameters; returns their number. */
int mo_gen_parameters(const mo_gen *gen, int **tensors, bool **written);

/* The emitters. Each writes one kernel and fills grid, block and shared_bytes; false with gen->reason. */
typedef struct {
    unsigned grid[3], block[3];
    unsigned shared_bytes;
    unsigned cluster;    /* blocks along x; 0 and 1: none */
    int64_t parts_bytes; /* that blocks leave for others in the workspace */
} mo_gen_launch;

bool mo_gen_plain(mo_gen *gen, mo_gen_launch *launch);
bool mo_gen_row(mo_gen *gen, mo_gen_launch *launch);
bool mo_gen_stream(mo_gen *gen, mo_gen_launch *launch);
bool mo_gen_chain(mo_gen *gen, mo_gen_launch *launch);
bool mo_gen_copy(mo_gen *gen, mo_gen_launch *launch);

#endif
