/* Abstract expressions of primitive graph nodes: one rule for each name in the abstract column of
 * ops.def. */
#include "abstract/abstract.h"
#include "base/status.h"

#include <string.h>

typedef struct {
    mo_abs *abs;
    const mo_prim *graph;
    const mo_prim_node *node;
    const mo_abs_expr *in;
} site;

static uint64_t reduced_length(const site *s)
{
    return (uint64_t)mo_prim_extent(s->graph, s->node->reduced);
}

static mo_abs_expr rule_MATMUL(const site *s)
{
    return mo_abs_sum(s->abs, reduced_length(s), mo_abs_mul(s->abs, s->in[0], s->in[1]));
}

static mo_abs_expr rule_SUM(const site *s)
{
    return mo_abs_sum(s->abs, reduced_length(s), s->in[0]);
}
static mo_abs_expr rule_ADD(const site *s)
{
    return mo_abs_add(s->abs, s->in[0], s->in[1]);
}
static mo_abs_expr rule_SUB(const site *s)
{
    return mo_abs_sub(s->abs, s->in[0], s->in[1]);
}
static mo_abs_expr rule_MUL(const site *s)
{
    return mo_abs_mul(s->abs, s->in[0], s->in[1]);
}
static mo_abs_expr rule_DIV(const site *s)
{
    return mo_abs_div(s->abs, s->in[0], s->in[1]);
}
static mo_abs_expr rule_NEG(const site *s)
{
    return mo_abs_neg(s->abs, s->in[0]);
}
static mo_abs_expr rule_EXP(const site *s)
{
    return mo_abs_exp(s->abs, s->in[0]);
}
static mo_abs_expr rule_SQRT(const site *s)
{
    return mo_abs_sqrt(s->abs, s->in[0]);
}
static mo_abs_expr rule_SQUARE(const site *s)
{
    return mo_abs_mul(s->abs, s->in[0], s->in[0]);
}
static mo_abs_expr rule_SAME(const site *s)
{
    return s->in[0];
}

static mo_abs_expr rule_RECIPROCAL(const site *s)
{
    return mo_abs_div(s->abs, mo_abs_number(s->abs, 1.0), s->in[0]);
}

static mo_abs_expr rule_RSQRT(const site *s)
{
    return mo_abs_div(s->abs, mo_abs_number(s->abs, 1.0), mo_abs_sqrt(s->abs, s->in[0]));
}

/* The function's name is the operator with every attribute; a maximum over an axis also has a length. */
static mo_abs_expr rule_OPAQUE(const site *s)
{
    const mo_prim_node *node = s->node;
    struct {
        uint64_t op, dtype, approximate, length, mask, offset;
        double min, max;
    } key = {.op = node->op};
    if (node->op == MO_OP_CAST) key.dtype = node->dtype;
    if (node->op == MO_OP_GELU) key.approximate = node->approximate_tanh;
    if (node->op == MO_OP_CLAMP) {
        key.min = node->min;
        key.max = node->max;
    }
    if (node->reduced) key.length = reduced_length(s);
    if (node->op == MO_OP_MASK) {
        key.mask = (uint64_t)node->mask_rows << 8 | (uint64_t)node->mask_columns;
        key.offset = (uint64_t)node->mask_offset;
    }

    mo_abs_expr x = s->in[0], y = node->n_in == 2 ? s->in[1] : (mo_abs_expr){0};
    bool commutes = node->op == MO_OP_MAXIMUM || node->op == MO_OP_MINIMUM;
    if (commutes && x.id > y.id) {
        x = s->in[1];
        y = s->in[0];
    }
    return mo_abs_opaque(s->abs, &key, sizeof key, x, y);
}

static mo_abs_expr rule_SILU(const site *s)
{
    return rule_OPAQUE(s);
}

static mo_abs_expr rule_LOWERED(const site *s)
{
    MO_BUG("%s is not a primitive operator", mo_op_name(s->node->op));
}

typedef mo_abs_expr (*rule)(const site *);

static const rule rules[MO_OP_COUNT] = {
#define MO_OP(id, name, min_in, max_in, kind, attributes, levels, abstract, flops) \
    [MO_OP_##id] = rule_##abstract,
#include "ir/ops.def"
#undef MO_OP
};

mo_abs_expr mo_abs_of_prim(mo_abs *abs, const mo_prim *graph, const mo_prim_node *node,
                           const mo_abs_expr *operands)
{
    if (node->op == MO_OP_ITER) return mo_abs_leaf(abs, (uint64_t)node->access.tensor);
    if (node->op == MO_OP_CAST && node->dtype == MO_F32) return operands[0]; /* widening is the identity */
    if (node->op == MO_OP_CONST) return mo_abs_number(abs, node->number);
    site s = {abs, graph, node, operands};
    return rules[node->op](&s);
}

bool mo_abs_needs_numbers(const mo_prim *graph)
{
    for (int i = 0; i < graph->n_nodes; i++) {
        switch (graph->nodes[i].op) {
        case MO_OP_CONST:
        case MO_OP_NEG:
        case MO_OP_SUB:
        case MO_OP_RSQRT:
        case MO_OP_RECIPROCAL: return true;
        default: break;
        }
    }
    return false;
}
