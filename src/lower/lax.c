#include "lower/lax.h"

/* Exponentials of an operator on the way from its operands, or -1: it is none of LAX. */
static int exponentials(const mo_node *node)
{
    switch (node->op) {
    case MO_OP_EXP:
    case MO_OP_SOFTMAX:
    case MO_OP_SIGMOID:
    case MO_OP_SILU:
    case MO_OP_TANH: return 1;
    case MO_OP_CAST: return node->attrs.dtype == MO_F32 ? 0 : -1;
    case MO_OP_GELU: return node->attrs.approximate_tanh ? 1 : -1;
    case MO_OP_MAXIMUM:
    case MO_OP_MINIMUM:
    case MO_OP_MAX:
    case MO_OP_MIN:
    case MO_OP_POW:
    case MO_OP_LOG:
    case MO_OP_ABS:
    case MO_OP_RELU:
    case MO_OP_CLAMP:
    case MO_OP_CAUSAL_MASK: return -1;
    default: return 0;
    }
}

bool mo_is_lax(const mo_program *program, const mo_subprogram *part)
{
    mo_arena *scratch = mo_arena_new();
    int *depth = MO_NEW_ARRAY(scratch, int, program->n_tensors + 1); /* of tensors from outside: 0 */
    bool lax = true;
    for (int i = 0; i < part->count && lax; i++) {
        const mo_node *node = &program->nodes[part->nodes[i]];
        int own = exponentials(node), before = 0;
        for (int j = 0; j < node->n_inputs; j++)
            if (node->inputs[j].tensor >= 0 && depth[node->inputs[j].tensor] > before)
                before = depth[node->inputs[j].tensor];
        for (int o = 0; o < node->n_outputs; o++) depth[node->outputs[o]] = before + own;
        lax = own >= 0 && before + own <= 1;
    }
    mo_arena_free(scratch);
    return lax;
}
