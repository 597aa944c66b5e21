#include "generate.h"

#define MOST_TENSORS 128

static int pick(mo_rng *rng, int n)
{
    return (int)mo_rng_below(rng, (uint64_t)n);
}

static double pick_number(mo_rng *rng)
{
    static const double numbers[] = {0, -0.0, 1, -1.5, 0.1, 1.0 / 3, 1e-12, 3e38, 0.08838834764831845};
    return numbers[pick(rng, 9)];
}

static mo_shape pick_shape(mo_rng *rng)
{
    static const int64_t dims[] = {1, 2, 4, 4, 6};
    mo_shape shape = {.rank = pick(rng, 4)};
    for (int i = 0; i < shape.rank; i++) shape.dim[i] = dims[pick(rng, 5)];
    return shape;
}

/* Names that need escapes, that clash as symbols, and plain ones. */
static const char *pick_name(mo_arena *arena, mo_rng *rng, int number)
{
    switch (pick(rng, 6)) {
    case 0: return mo_arena_printf(arena, "t%d", number);
    case 1: return mo_arena_printf(arena, "a \"quoted\" %d", number);
    case 2: return mo_arena_printf(arena, "back\\slash%d", number);
    case 3: return mo_arena_printf(arena, "\xc3\xa9%d", number);
    case 4: return mo_arena_printf(arena, "%d", number);
    default: return mo_arena_printf(arena, "#%d, = [x]", number);
    }
}

static void pick_attributes(mo_arena *arena, mo_rng *rng, mo_shape input, mo_node *node)
{
    mo_attrs *a = &node->attrs;
    uint32_t takes = mo_op_get(node->op)->attributes;
    a->transpose_a = pick(rng, 2) != 0;
    a->transpose_b = pick(rng, 2) != 0;
    a->keepdims = pick(rng, 2) != 0;
    a->approximate_tanh = pick(rng, 2) != 0;
    a->dtype = (mo_dtype)pick(rng, MO_DTYPE_COUNT);
    a->n_axes = (takes & MO_ATTR_AXIS) != 0 ? 1 : (takes & MO_ATTR_PERM) != 0 ? input.rank : 1 + pick(rng, 3);
    for (int i = 0; i < MO_MAX_RANK; i++) a->axes[i] = pick(rng, 6) - 3;
    for (int i = 0; i < input.rank; i++) a->perm[i] = (i + 1) % input.rank;
    if (mo_op_kind_of(node->op) == MO_KIND_REDUCE && pick(rng, 3) == 0) a->n_axes = MO_ALL_AXES;
    a->eps = 1e-5 * pick(rng, 3);
    a->min = -pick(rng, 3);
    a->max = pick(rng, 3) * 0.1;
    a->offset = pick(rng, 9) - 4;
    a->shape = pick_shape(rng);
    if (node->op == MO_OP_RESHAPE && a->shape.rank > 0) a->shape.dim[0] = -1;
    a->start = pick(rng, 3) - 1;
    a->stop = pick(rng, 5) - 2;
    if ((takes & MO_ATTR_SECTIONS) == 0) return;
    node->n_outputs = 2;
    node->outputs = MO_NEW_ARRAY(arena, int, 2);
    a->section_count = 2;
}

static void append_node(mo_rng *rng, mo_program *p)
{
    mo_shape shapes[2];
    mo_dtype dtypes[2];
    mo_shape_error error;
    mo_node node = {.op = (mo_op)pick(rng, MO_OP_COUNT), .n_outputs = 1};
    const mo_op_facts *facts = mo_op_get(node.op);
    if (facts->kind == MO_KIND_STRUCTURE) return;
    int most = facts->max_inputs > 4 ? 4 : facts->max_inputs;
    node.n_inputs = facts->min_inputs + pick(rng, most - facts->min_inputs + 1);
    node.inputs = MO_NEW_ARRAY(p->arena, mo_operand, node.n_inputs);
    node.outputs = MO_NEW_ARRAY(p->arena, int, 2);
    for (int i = 0; i < node.n_inputs; i++) {
        bool number = facts->kind == MO_KIND_BINARY && (node.op == MO_OP_POW ? i == 1 : pick(rng, 4) == 0);
        node.inputs[i] =
            number ? (mo_operand){-1, pick_number(rng)} : (mo_operand){pick(rng, p->n_tensors), 0};
    }
    int first = node.inputs[0].tensor;
    pick_attributes(p->arena, rng, first < 0 ? (mo_shape){0} : p->tensors[first].shape, &node);
    if (!mo_node_normalize(p->arena, p->tensors, &node, &error)) return;
    if (!mo_node_infer(p->tensors, &node, shapes, dtypes, &error)) return;
    for (int i = 0; i < node.n_outputs; i++) {
        mo_tensor t = {.name = pick_name(p->arena, rng, p->n_tensors),
                       .shape = shapes[i],
                       .dtype = dtypes[i],
                       .producer = p->n_nodes,
                       .producer_output = i};
        mo_shape_row_major(t.shape, t.strides);
        node.outputs[i] = p->n_tensors;
        p->tensors[p->n_tensors++] = t;
    }
    p->nodes[p->n_nodes++] = node;
}

mo_program *mo_generate_program(mo_arena *arena, mo_rng *rng, int n_nodes)
{
    mo_program *p = MO_NEW(arena, mo_program);
    *p = (mo_program){.arena = arena, .name = pick_name(arena, rng, 0), .n_inputs = 1 + pick(rng, 4)};
    p->tensors = MO_NEW_ARRAY(arena, mo_tensor, MOST_TENSORS);
    p->nodes = MO_NEW_ARRAY(arena, mo_node, n_nodes);
    for (int i = 0; i < p->n_inputs; i++) {
        mo_tensor *t = &p->tensors[p->n_tensors++];
        *t = (mo_tensor){.name = pick_name(arena, rng, i), .shape = pick_shape(rng), .producer = -1};
        t->dtype = (mo_dtype)pick(rng, MO_DTYPE_COUNT);
        mo_shape_row_major(t->shape, t->strides);
        if (t->shape.rank > 0 && pick(rng, 4) == 0) t->strides[0] = pick(rng, 3) * 100;
    }
    for (int tries = 0; tries < 50 * n_nodes && p->n_nodes < n_nodes && p->n_tensors + 2 <= MOST_TENSORS;
         tries++) {
        append_node(rng, p);
    }
    p->n_outputs = 1 + pick(rng, 3);
    p->outputs = MO_NEW_ARRAY(arena, int, p->n_outputs);
    for (int i = 0; i < p->n_outputs; i++) p->outputs[i] = pick(rng, p->n_tensors);
    mo_program_set_compute(p);
    mo_program_set_symbols(p);
    mo_program_set_hash(p);
    return p;
}
