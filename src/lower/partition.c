/* Cutting a program into runs of nodes that lower as a whole. */
#include "ir/window.h"
#include "lower/lower.h"

static mo_status refuse(const mo_program *program, const mo_node *node, const char *reason, mo_error *error)
{
    static const mo_source nowhere = {.name = "program", .text = "", .length = 0};
    bool known = program->source != NULL;
    return mo_diag_fail(error, known ? program->source : &nowhere, known ? node->offset : 0, node->path, NULL,
                        "%s: %s", mo_op_name(node->op), reason);
}

static bool moves_data(const mo_program *program, int node)
{
    return mo_op_kind_of(program->nodes[node].op) == MO_KIND_VIEW;
}

static mo_status lower_nodes_alone(mo_arena *arena, const mo_program *program, mo_lowered *lowered,
                                   mo_error *error)
{
    lowered->nodes = MO_NEW_ARRAY(arena, mo_prim *, program->n_nodes + 1);
    for (int n = 0; n < program->n_nodes; n++) {
        const char *reason = NULL;
        if (moves_data(program, n)) continue;
        lowered->nodes[n] = mo_lower_nodes(arena, program, &n, 1, &reason);
        if (lowered->nodes[n] == NULL) return refuse(program, &program->nodes[n], reason, error);
    }
    return MO_OK;
}

static bool is_ready(const mo_program *program, int node, const bool *done)
{
    for (int i = 0; i < program->nodes[node].n_inputs; i++) {
        int tensor = program->nodes[node].inputs[i].tensor;
        if (tensor >= program->n_inputs && !done[program->tensors[tensor].producer]) return false;
    }
    return true;
}

/* Windows into inputs come first, other nodes that move data only when nothing else can go on: they stand
 * between as few others as possible. */
static int urgency(const mo_program *program, int node)
{
    if (!moves_data(program, node)) return 1;
    int tensor = program->nodes[node].outputs[0];
    return mo_window_root(program, tensor) < program->n_inputs ? 0 : 2;
}

static int *order_nodes(mo_arena *arena, const mo_program *program)
{
    int *order = MO_NEW_ARRAY(arena, int, program->n_nodes + 1), count = 0;
    bool *done = MO_NEW_ARRAY(arena, bool, program->n_nodes + 1);
    while (count < program->n_nodes) {
        int next = -1;
        for (int n = program->n_nodes - 1; n >= 0; n--) {
            bool better = next < 0 || urgency(program, n) <= urgency(program, next);
            if (!done[n] && better && is_ready(program, n, done)) next = n;
        }
        done[next] = true;
        order[count++] = next;
    }
    return order;
}

mo_status mo_lower_program(mo_arena *arena, const mo_program *program, int max_nodes, mo_lowered *lowered,
                           mo_error *error)
{
    *lowered = (mo_lowered){.subprograms = MO_NEW_ARRAY(arena, mo_subprogram, program->n_nodes + 1)};
    mo_status status = lower_nodes_alone(arena, program, lowered, error);
    if (status != MO_OK) return status;
    const int *order = order_nodes(arena, program);
    for (int first = 0; first < program->n_nodes;) {
        const char *reason = NULL;
        mo_subprogram run = {.nodes = order + first, .count = 1, .graph = lowered->nodes[order[first]]};
        for (int n = 2; run.graph != NULL && first + n <= program->n_nodes; n++) {
            if (moves_data(program, order[first + n - 1])) break;
            mo_prim *graph = mo_lower_nodes(arena, program, order + first, n, &reason);
            if (graph == NULL || graph->n_nodes > max_nodes) break;
            run.graph = graph;
            run.count = n;
        }
        lowered->subprograms[lowered->n_subprograms++] = run;
        first += run.count;
    }
    return MO_OK;
}
