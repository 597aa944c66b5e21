/* Program: the tensor program as written (a kernel graph of predefined operators).
 *
 * Built by parse, immutable afterwards, owned by one arena. Nodes are in topological order; tensors are
 * numbered with the inputs first. All attributes are in normal form: axes sorted and non-negative,
 * defaults filled in, -1 in shapes resolved, slice bounds resolved, sections as a list. */
#ifndef MO_IR_PROGRAM_H
#define MO_IR_PROGRAM_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/hash.h"
#include "base/str.h"
#include "ir/dtype.h"
#include "ir/ops.h"

#define MO_MAX_RANK 8

#define MO_MAX_ELEMENTS ((int64_t)1 << 31) /* a tensor has fewer */

typedef struct {
    int rank;
    int64_t dim[MO_MAX_RANK];
} mo_shape;

int64_t mo_shape_elements(mo_shape shape); /* INT64_MAX when it does not fit */
bool mo_shape_equal(mo_shape a, mo_shape b);
/* NumPy broadcasting; false when the shapes do not agree. */
bool mo_shape_broadcast(mo_shape a, mo_shape b, mo_shape *result);
void mo_shape_row_major(mo_shape shape, int64_t strides[MO_MAX_RANK]);
void mo_shape_print(mo_str *out, mo_shape shape); /* [2,256,64] */
/* NULL for a shape that a tensor may have; otherwise what is wrong with it, and the dimension in *dim
 * (-1: the whole). */
const char *mo_shape_problem(mo_shape shape, int *dim);

/* An input or the result of a node. */
typedef struct {
    const char *name;
    mo_shape shape;
    mo_dtype dtype;               /* declared, set by cast, or promoted */
    mo_dtype compute;             /* compute dtype: what it may be rounded to inside a kernel */
    int64_t strides[MO_MAX_RANK]; /* in elements; row-major unless an input declares others, or a window has
                                     others */
    int window_of;                /* 1 + the tensor whose memory it lies in (ir/window.h); 0: its own */
    int64_t offset;               /* there, in elements */
    int producer;                 /* node index, or -1 for an input */
    int producer_output;          /* which output of that node */
} mo_tensor;

/* A tensor, or a number where the operator allows one (tensor < 0). */
typedef struct {
    int tensor;
    double number;
} mo_operand;

typedef struct {
    bool transpose_a, transpose_b, keepdims;
    bool approximate_tanh; /* gelu: tanh form; false is the erf form */
    mo_dtype dtype;        /* cast */
    int n_axes;            /* reductions, norms; softmax, concat, slice, split: exactly one */
    int axes[MO_MAX_RANK];
    double eps;
    double min, max;       /* clamp */
    int64_t offset;        /* causal_mask */
    mo_shape shape;        /* reshape, broadcast_to */
    int perm[MO_MAX_RANK]; /* transpose */
    int64_t start, stop;   /* slice */
    int n_sections;        /* split */
    const int64_t *sections;
    int64_t section_count; /* split, until normalised: that many equal sections; 0: a list */
} mo_attrs;

typedef struct {
    mo_op op;
    int n_inputs;
    mo_operand *inputs;
    int n_outputs;
    int *outputs; /* tensor indices */
    mo_attrs attrs;
    size_t offset;    /* where the node stands in the source text; for diagnostics */
    const char *path; /* its JSON pointer there, or NULL */
} mo_node;

typedef struct {
    mo_arena *arena;
    const char *name;   /* as written, or the file's stem */
    const char *symbol; /* C identifier, see mo_program_symbols */
    int n_tensors, n_inputs, n_nodes, n_outputs;
    mo_tensor *tensors;   /* the first n_inputs are the inputs, in the file's order */
    const char **symbols; /* C identifier of each tensor, unique among themselves */
    mo_node *nodes;
    int *outputs;            /* tensor indices; may repeat, may be inputs */
    const mo_source *source; /* the text it was read from (borrowed), or NULL; for diagnostics */
    mo_hash128 hash;         /* of the canonical text form without names */
} mo_program;

/* Fills tensors[].compute by the precision rule (docs/format.md). Called by the parser. */
void mo_program_set_compute(mo_program *program);

/* C identifiers: every byte outside [A-Za-z0-9_] becomes '_', a digit in front gets "p_", clashes and
 * C++ keywords get a number. Called by the parser. */
void mo_program_set_symbols(mo_program *program);

/* Shape and dtype of the outputs of `node` from its inputs; MO_ERR_USER with the reason otherwise.
 * `what` of the error says which input (0, 1, ...) or -1 for an attribute. */
typedef struct {
    int input;             /* offending input, or -1 */
    const char *attribute; /* offending attribute, or NULL */
    int element;           /* offending element of the attribute's list, or -1 */
    const char *hint;      /* or NULL */
    char text[1024];
} mo_shape_error;
bool mo_node_infer(const mo_tensor *tensors, const mo_node *node, mo_shape *shapes, mo_dtype *dtypes,
                   mo_shape_error *error);

/* Brings the attributes of `node` to normal form, given its inputs; false with the reason otherwise.
 * Before that an axis may be negative, n_axes may be MO_ALL_AXES, a shape may hold one -1, slice bounds
 * may be negative, split may have section_count, and the length of perm stands in n_axes. */
#define MO_ALL_AXES (-1)
bool mo_node_normalize(mo_arena *arena, const mo_tensor *tensors, mo_node *node, mo_shape_error *error);

/* Fills in an error and returns false. */
bool mo_shape_fail(mo_shape_error *error, int input, const char *attribute, int element, const char *format,
                   ...) __attribute__((format(printf, 5, 6)));

/* The attributes as a table: readers and printers walk it. */
typedef enum {
    MO_TYPE_BOOL,
    MO_TYPE_INT,
    MO_TYPE_NUMBER,
    MO_TYPE_AXIS,
    MO_TYPE_AXES,
    MO_TYPE_PERM,
    MO_TYPE_SHAPE,
    MO_TYPE_DTYPE,
    MO_TYPE_APPROXIMATE,
    MO_TYPE_SECTIONS
} mo_attr_type;

typedef struct {
    uint32_t bit; /* MO_ATTR_*: the operators that take this key */
    const char *key;
    mo_attr_type type;
    bool required; /* but axes of reductions are optional */
    size_t offset; /* of the member of mo_attrs (BOOL, INT, NUMBER) */
} mo_attr_row;

const mo_attr_row *mo_attr_table(int *count);

/* Text form, one line for each input, node and output; parse/text.h reads it back. */
void mo_program_print(mo_str *out, const mo_program *program);

/* Fills program->hash: equal for programs that differ only in names and in the order of their nodes. */
void mo_program_set_hash(mo_program *program);

#endif
