/* Operators: the table of ops.def as an enumeration and its facts. */
#ifndef MO_IR_OPS_H
#define MO_IR_OPS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
#define MO_OP(id, ...) MO_OP_##id,
#include "ir/ops.def"
#undef MO_OP
    MO_OP_COUNT
} mo_op;

typedef enum {
    MO_KIND_PRODUCT,
    MO_KIND_BINARY,
    MO_KIND_UNARY,
    MO_KIND_REDUCE,
    MO_KIND_COMPOUND,
    MO_KIND_VIEW,
    MO_KIND_STRUCTURE
} mo_op_kind;

enum {
    MO_ATTR_NONE = 0,
    MO_ATTR_TRANSPOSE = 1 << 0,   /* transpose_a, transpose_b: bool, default false */
    MO_ATTR_AXES = 1 << 1,        /* axes: list; default all for reductions, required for norms */
    MO_ATTR_KEEPDIMS = 1 << 2,    /* keepdims: bool, default false */
    MO_ATTR_AXIS = 1 << 3,        /* axis: integer */
    MO_ATTR_EPS = 1 << 4,         /* eps: finite number >= 0 */
    MO_ATTR_APPROXIMATE = 1 << 5, /* approximate: "none" or "tanh", required */
    MO_ATTR_CLAMP = 1 << 6,       /* min, max: numbers, min <= max */
    MO_ATTR_DTYPE = 1 << 7,       /* dtype */
    MO_ATTR_OFFSET = 1 << 8,      /* offset: integer, default 0 */
    MO_ATTR_SHAPE = 1 << 9,       /* shape: list; one -1 allowed for reshape */
    MO_ATTR_PERM = 1 << 10,       /* perm: a permutation */
    MO_ATTR_RANGE = 1 << 11,      /* start, stop: integers, negative counts from the end */
    MO_ATTR_SECTIONS = 1 << 12    /* sections: count or list; the node has `outputs` */
};

enum { MO_LEVEL_T = 1, MO_LEVEL_B = 2, MO_LEVEL_K = 4, MO_LEVEL_KBT = 7 };

/* sqrt(2/pi) in the tanh form of gelu, as people write it. */
#define MO_GELU_ROOT 0.7978845608028654

typedef struct {
    const char *name;
    int min_inputs, max_inputs;
    mo_op_kind kind;
    uint32_t attributes; /* MO_ATTR_* */
    uint32_t levels;     /* MO_LEVEL_* */
    int flops;
} mo_op_facts;

const mo_op_facts *mo_op_get(mo_op op);
static inline const char *mo_op_name(mo_op op)
{
    return mo_op_get(op)->name;
}
static inline mo_op_kind mo_op_kind_of(mo_op op)
{
    return mo_op_get(op)->kind;
}

/* Elementwise: unary and binary operators. */
bool mo_op_is_pointwise(mo_op op);

/* Operator with this name that a program may use (STRUCTURE is excluded); false if there is none. */
bool mo_op_find(const char *name, mo_op *op);

#endif
