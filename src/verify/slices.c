/* How far each value is aligned with the inputs it depends on, dimension by dimension. */
#include "verify/slices.h"

#include "base/status.h"

#include <string.h>

#define ABSENT (-2) /* the value does not depend on this input at all */
#define LOST (-1)   /* it depends on all of this dimension */
#define HOPEFUL 3   /* radicands that may have to become squares at the same time */

typedef struct {
    int8_t dim[MO_MAX_RANK];
} alignment;

typedef struct {
    const mo_program *program;
    alignment *of; /* [tensor * n_inputs + input] */
} alignments;

static alignment *at(const alignments *a, int tensor, int input)
{
    return &a->of[tensor * a->program->n_inputs + input];
}

static bool in_axes(const mo_attrs *attrs, int dim)
{
    for (int i = 0; i < attrs->n_axes; i++)
        if (attrs->axes[i] == dim) return true;
    return false;
}

static void from_end(const mo_shape *in, const mo_shape *out, int skip, int8_t map[MO_MAX_RANK])
{
    for (int d = 0; d < in->rank - skip; d++)
        if (in->dim[d] == out->dim[d + out->rank - in->rank]) map[d] = (int8_t)(d + out->rank - in->rank);
}

static void map_matmul(const mo_node *node, int operand, const mo_shape *in, const mo_shape *out,
                       int8_t map[MO_MAX_RANK])
{
    bool transposed = operand == 0 ? node->attrs.transpose_a : node->attrs.transpose_b;
    from_end(in, out, 2, map);
    if (operand == 0)
        map[in->rank - 2 + (transposed ? 1 : 0)] = (int8_t)(out->rank - 2);
    else
        map[in->rank - 1 - (transposed ? 1 : 0)] = (int8_t)(out->rank - 1);
}

/* Dimensions before and after the part that a reshape rearranges. */
static void map_reshape(const mo_shape *in, const mo_shape *out, int8_t map[MO_MAX_RANK])
{
    int d = 0, last = 0;
    while (d < in->rank && d < out->rank && in->dim[d] == out->dim[d]) {
        map[d] = (int8_t)d;
        d++;
    }
    while (last < in->rank - d && last < out->rank - d &&
           in->dim[in->rank - 1 - last] == out->dim[out->rank - 1 - last]) {
        map[in->rank - 1 - last] = (int8_t)(out->rank - 1 - last);
        last++;
    }
}

/* Dimension of the output that each dimension of the operand runs along, or LOST. */
static void map_operand(const mo_program *program, const mo_node *node, int operand, int8_t map[MO_MAX_RANK])
{
    const mo_shape *in = &program->tensors[node->inputs[operand].tensor].shape;
    const mo_shape *out = &program->tensors[node->outputs[0]].shape;
    memset(map, LOST, MO_MAX_RANK);
    int to = 0;
    switch (node->op) {
    case MO_OP_MATMUL: map_matmul(node, operand, in, out, map); return;
    case MO_OP_RESHAPE: map_reshape(in, out, map); return;
    case MO_OP_TRANSPOSE:
        for (int d = 0; d < out->rank; d++) map[node->attrs.perm[d]] = (int8_t)d;
        return;
    case MO_OP_SUM:
    case MO_OP_MEAN:
    case MO_OP_MAX:
    case MO_OP_MIN:
        for (int d = 0; d < in->rank; d++) {
            if (!in_axes(&node->attrs, d)) map[d] = (int8_t)to;
            if (!in_axes(&node->attrs, d) || node->attrs.keepdims) to++;
        }
        return;
    default: break;
    }
    from_end(in, out, 0, map);
    bool mixes = mo_op_kind_of(node->op) == MO_KIND_COMPOUND || mo_op_kind_of(node->op) == MO_KIND_VIEW;
    for (int d = 0; mixes && operand == 0 && d < in->rank; d++)
        if (in_axes(&node->attrs, d)) map[d] = LOST;
}

/* A value computed from two operands is aligned where both agree. */
static void join(alignment *into, const alignment *from, const int8_t map[MO_MAX_RANK])
{
    if (from->dim[0] == ABSENT) return;
    bool first = into->dim[0] == ABSENT;
    for (int d = 0; d < MO_MAX_RANK; d++) {
        int8_t moved = from->dim[d] < 0 ? (int8_t)LOST : map[from->dim[d]];
        into->dim[d] = first || into->dim[d] == moved ? moved : (int8_t)LOST;
    }
}

static alignments align(mo_arena *arena, const mo_program *program)
{
    alignments a = {program, MO_NEW_ARRAY(arena, alignment, program->n_tensors * program->n_inputs + 1)};
    for (int t = 0; t < program->n_tensors; t++)
        for (int x = 0; x < program->n_inputs; x++) {
            memset(at(&a, t, x)->dim, t == x ? LOST : ABSENT, MO_MAX_RANK);
            if (t == x)
                for (int d = 0; d < program->tensors[x].shape.rank; d++) at(&a, t, x)->dim[d] = (int8_t)d;
        }
    for (int i = 0; i < program->n_nodes; i++) {
        const mo_node *node = &program->nodes[i];
        for (int j = 0; j < node->n_inputs; j++) {
            if (node->inputs[j].tensor < 0) continue;
            int8_t map[MO_MAX_RANK];
            map_operand(program, node, j, map);
            for (int o = 0; o < node->n_outputs; o++)
                for (int x = 0; x < program->n_inputs; x++)
                    join(at(&a, node->outputs[o], x), at(&a, node->inputs[j].tensor, x), map);
        }
    }
    return a;
}

static bool has_root(mo_op op)
{
    return op == MO_OP_SQRT || op == MO_OP_RSQRT || op == MO_OP_POW || op == MO_OP_RMS_NORM ||
           op == MO_OP_LAYER_NORM || op == MO_OP_L2_NORM;
}

/* The input with the most slices; among equals one that no other root has chosen. */
static mo_slice_choice choose(const alignments *a, int node, const bool *chosen)
{
    const mo_program *program = a->program;
    const mo_node *n = &program->nodes[node];
    const mo_shape *shape = &program->tensors[n->inputs[0].tensor].shape;
    bool norm = mo_op_kind_of(n->op) == MO_KIND_COMPOUND;
    int64_t radicands = 1, best_slices = 0;
    for (int d = 0; d < shape->rank; d++)
        if (!norm || !in_axes(&n->attrs, d)) radicands *= shape->dim[d];
    mo_slice_choice best = {.input = -1};
    for (int x = 0; x < program->n_inputs; x++) {
        const alignment *al = at(a, n->inputs[0].tensor, x);
        if (al->dim[0] == ABSENT) continue;
        mo_slice_choice c = {.input = x};
        int64_t slices = 1;
        for (int d = 0; d < MO_MAX_RANK; d++) {
            c.dim[d] = al->dim[d];
            if (c.dim[d] >= 0 && norm && in_axes(&n->attrs, c.dim[d])) c.dim[d] = LOST;
            if (c.dim[d] >= 0) slices *= program->tensors[x].shape.dim[d];
        }
        c.radicands = radicands / slices > 0 ? radicands / slices : 1;
        bool better = slices > best_slices ||
                      (slices == best_slices && best.input >= 0 && chosen[best.input] && !chosen[x]);
        if (!better) continue;
        best = c;
        best_slices = slices;
    }
    return best;
}

mo_slice_choice *mo_slices_plan(mo_arena *arena, const mo_program *program, mo_draw *draw)
{
    alignments a = align(arena, program);
    mo_slice_choice *plan = MO_NEW_ARRAY(arena, mo_slice_choice, program->n_nodes + 1);
    bool *chosen = MO_NEW_ARRAY(arena, bool, program->n_inputs + 1);
    uint32_t *dims = MO_NEW_ARRAY(arena, uint32_t, program->n_inputs + 1);
    for (int i = 0; i < program->n_nodes; i++) {
        plan[i].input = -1;
        if (!has_root(program->nodes[i].op)) continue;
        plan[i] = choose(&a, i, chosen);
        int x = plan[i].input;
        if (x < 0) continue;
        uint32_t own = 0;
        for (int d = 0; d < program->tensors[x].shape.rank; d++)
            if (plan[i].dim[d] >= 0) own |= 1u << d;
        dims[x] = chosen[x] ? dims[x] & own : own;
        chosen[x] = true;
    }
    for (int x = 0; x < program->n_inputs; x++)
        if (chosen[x]) mo_draw_slice(draw, arena, x, dims[x]);
    return plan;
}

/* Radicands come in the order in which they were met; a slice that several of them ask for moves on by as
 * many draws, which does no harm. */
int mo_slices_again(const mo_slice_choice *plan, mo_draw *draw, const mo_bad_radicand *bad, int n_bad)
{
    int hopeful = 0;
    for (int i = 0; i < n_bad; i++) {
        const mo_slice_choice *choice = &plan[bad[i].node];
        if (choice->input < 0 || choice->radicands > HOPEFUL) continue;
        int64_t index[MO_MAX_RANK] = {0};
        for (int d = 0; d < MO_MAX_RANK; d++)
            if (choice->dim[d] >= 0) index[d] = bad[i].index[choice->dim[d]];
        mo_draw_again(draw, choice->input, index);
        hopeful++;
    }
    return hopeful;
}
