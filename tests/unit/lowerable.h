/* Random small programs of operators that have a primitive form, grown node by node: a node that its rules
 * refuse is thrown away. For the tests of several folders. */
#ifndef MO_TESTS_UNIT_LOWERABLE_H
#define MO_TESTS_UNIT_LOWERABLE_H

#include "base/rng.h"
#include "ir/program.h"

static int lowerable_pick(mo_rng *rng, int n)
{
    return (int)mo_rng_below(rng, (uint64_t)n);
}

static bool lowerable_has_form(mo_op op)
{
    mo_op_kind kind = mo_op_kind_of(op);
    return kind != MO_KIND_STRUCTURE && kind != MO_KIND_VIEW;
}

static mo_shape lowerable_shape(mo_rng *rng)
{
    static const int64_t dims[] = {1, 3, 3, 3, 4};
    mo_shape shape = {.rank = lowerable_pick(rng, 4)};
    for (int i = 0; i < shape.rank; i++) shape.dim[i] = dims[lowerable_pick(rng, 5)];
    return shape;
}

static void lowerable_attributes(mo_rng *rng, int rank, mo_node *node)
{
    mo_attrs *a = &node->attrs;
    uint32_t takes = mo_op_get(node->op)->attributes;
    if (takes & MO_ATTR_TRANSPOSE) {
        a->transpose_a = lowerable_pick(rng, 2) != 0;
        a->transpose_b = lowerable_pick(rng, 2) != 0;
    }
    if (takes & MO_ATTR_KEEPDIMS) a->keepdims = lowerable_pick(rng, 2) != 0;
    if (takes & MO_ATTR_APPROXIMATE) a->approximate_tanh = lowerable_pick(rng, 2) != 0;
    if (takes & MO_ATTR_DTYPE) a->dtype = (mo_dtype)lowerable_pick(rng, MO_DTYPE_COUNT);
    if (takes & MO_ATTR_EPS) a->eps = 0.125 * lowerable_pick(rng, 3);
    if (takes & MO_ATTR_OFFSET) a->offset = lowerable_pick(rng, 5) - 2;
    if (takes & MO_ATTR_CLAMP) {
        a->min = -0.5 * lowerable_pick(rng, 3);
        a->max = 0.7 * lowerable_pick(rng, 3);
    }
    if (!(takes & (MO_ATTR_AXES | MO_ATTR_AXIS))) return;
    bool norm = mo_op_kind_of(node->op) == MO_KIND_COMPOUND;
    a->n_axes = (takes & MO_ATTR_AXIS) != 0 || rank == 0 ? 1 : 1 + lowerable_pick(rng, rank);
    for (int i = 0; i < a->n_axes; i++)
        a->axes[i] = norm && (takes & MO_ATTR_AXES) ? -1 - i : lowerable_pick(rng, 3);
    if (!norm && lowerable_pick(rng, 4) == 0) a->n_axes = MO_ALL_AXES;
}

static void lowerable_append(mo_rng *rng, mo_program *p)
{
    mo_shape shape;
    mo_dtype dtype;
    mo_shape_error error;
    mo_node node = {.op = (mo_op)lowerable_pick(rng, MO_OP_COUNT), .n_outputs = 1};
    if (!lowerable_has_form(node.op)) return;
    const mo_op_facts *facts = mo_op_get(node.op);
    node.n_inputs = facts->min_inputs + lowerable_pick(rng, facts->max_inputs - facts->min_inputs + 1);
    node.inputs = MO_NEW_ARRAY(p->arena, mo_operand, node.n_inputs);
    node.outputs = MO_NEW_ARRAY(p->arena, int, 1);
    for (int i = 0; i < node.n_inputs; i++) {
        static const double numbers[] = {0.5, -1.5, 2, 3, 0.1, -0.0};
        bool number =
            facts->kind == MO_KIND_BINARY && (node.op == MO_OP_POW ? i == 1 : lowerable_pick(rng, 4) == 0);
        node.inputs[i] = number ? (mo_operand){-1, numbers[lowerable_pick(rng, 6)]}
                                : (mo_operand){lowerable_pick(rng, p->n_tensors), 0};
    }
    int first = node.inputs[0].tensor;
    lowerable_attributes(rng, first < 0 ? 0 : p->tensors[first].shape.rank, &node);
    if (!mo_node_normalize(p->arena, p->tensors, &node, &error)) return;
    if (!mo_node_infer(p->tensors, &node, &shape, &dtype, &error)) return;
    mo_tensor *t = &p->tensors[p->n_tensors];
    *t = (mo_tensor){.name = mo_arena_printf(p->arena, "t%d", p->n_tensors),
                     .shape = shape,
                     .dtype = dtype,
                     .producer = p->n_nodes};
    mo_shape_row_major(t->shape, t->strides);
    node.outputs[0] = p->n_tensors++;
    p->nodes[p->n_nodes++] = node;
}

/* Results that no node needs, and up to two outputs more, repeated ones and inputs among them. */
static void lowerable_outputs(mo_rng *rng, mo_program *p)
{
    p->outputs = MO_NEW_ARRAY(p->arena, int, p->n_nodes + 3);
    for (int t = p->n_inputs; t < p->n_tensors; t++) {
        bool needed = false;
        for (int n = 0; n < p->n_nodes; n++)
            for (int i = 0; i < p->nodes[n].n_inputs; i++) needed |= p->nodes[n].inputs[i].tensor == t;
        if (!needed) p->outputs[p->n_outputs++] = t;
    }
    int more = p->n_outputs == 0 ? 1 : lowerable_pick(rng, 3);
    while (more-- > 0) p->outputs[p->n_outputs++] = lowerable_pick(rng, p->n_tensors);
}

static mo_program *lowerable_program(mo_arena *arena, mo_rng *rng, int n_nodes)
{
    mo_program *p = MO_NEW(arena, mo_program);
    *p = (mo_program){.arena = arena, .name = "random", .n_inputs = 1 + lowerable_pick(rng, 3)};
    p->tensors = MO_NEW_ARRAY(arena, mo_tensor, p->n_inputs + n_nodes);
    p->nodes = MO_NEW_ARRAY(arena, mo_node, n_nodes);
    for (int i = 0; i < p->n_inputs; i++) {
        mo_tensor *t = &p->tensors[p->n_tensors++];
        *t = (mo_tensor){
            .name = mo_arena_printf(arena, "t%d", i), .shape = lowerable_shape(rng), .producer = -1};
        t->dtype = (mo_dtype)lowerable_pick(rng, MO_DTYPE_COUNT);
        mo_shape_row_major(t->shape, t->strides);
        if (t->shape.rank > 1 && t->shape.dim[0] > 1 && lowerable_pick(rng, 4) == 0)
            t->strides[0] += lowerable_pick(rng, 3);
    }
    for (int tries = 0; tries < 100 * n_nodes && p->n_nodes < n_nodes; tries++) lowerable_append(rng, p);
    lowerable_outputs(rng, p);
    mo_program_set_compute(p);
    mo_program_set_symbols(p);
    mo_program_set_hash(p);
    return p;
}

#endif
