/* Cutting a program into runs of nodes that lower as a whole. */
#include "lower/lower.h"

static mo_prim *lower_run(mo_arena *arena, const mo_program *program, int first, int count,
                          const char **reason)
{
    int *nodes = MO_NEW_ARRAY(arena, int, count);
    for (int i = 0; i < count; i++) nodes[i] = first + i;
    return mo_lower_nodes(arena, program, nodes, count, reason);
}

static mo_status refuse(const mo_program *program, const mo_node *node, mo_error *error)
{
    static const mo_source nowhere = {.name = "program", .text = "", .length = 0};
    bool known = program->source != NULL;
    return mo_diag_fail(error, known ? program->source : &nowhere, known ? node->offset : 0, node->path, NULL,
                        "%s: not supported yet: nothing is emitted for it", mo_op_name(node->op));
}

static mo_status lower_nodes_alone(mo_arena *arena, const mo_program *program, mo_lowered *lowered,
                                   mo_error *error)
{
    lowered->nodes = MO_NEW_ARRAY(arena, mo_prim *, program->n_nodes + 1);
    for (int n = 0; n < program->n_nodes; n++) {
        const char *reason = NULL;
        lowered->nodes[n] = mo_lower_nodes(arena, program, &n, 1, &reason);
        if (lowered->nodes[n] == NULL) return refuse(program, &program->nodes[n], error);
    }
    return MO_OK;
}

mo_status mo_lower_program(mo_arena *arena, const mo_program *program, int max_nodes, mo_lowered *lowered,
                           mo_error *error)
{
    *lowered = (mo_lowered){.subprograms = MO_NEW_ARRAY(arena, mo_subprogram, program->n_nodes + 1)};
    mo_status status = lower_nodes_alone(arena, program, lowered, error);
    if (status != MO_OK) return status;
    for (int first = 0; first < program->n_nodes;) {
        const char *reason = NULL;
        mo_subprogram run = {.first = first, .count = 1, .graph = lowered->nodes[first]};
        for (int n = 2; first + n <= program->n_nodes; n++) {
            mo_prim *graph = lower_run(arena, program, first, n, &reason);
            if (graph == NULL || graph->n_nodes > max_nodes) break;
            run.graph = graph;
            run.count = n;
        }
        lowered->subprograms[lowered->n_subprograms++] = run;
        first += run.count;
    }
    return MO_OK;
}
