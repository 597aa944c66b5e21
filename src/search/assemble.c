#include "search/assemble.h"

#include "search/unfused.h"

#include <stdio.h>
#include <string.h>

/* Moves accesses to intermediates behind those of the subprograms before. */
static void shift_tensors(mo_prim *body, int program_tensors, int shift)
{
    for (int i = 0; i < body->n_nodes; i++)
        if (body->nodes[i].op == MO_OP_ITER && body->nodes[i].access.tensor >= program_tensors)
            body->nodes[i].access.tensor += shift;
    for (int s = 0; s < body->n_savers; s++)
        if (body->savers[s].access.tensor >= program_tensors) body->savers[s].access.tensor += shift;
}

/* A name from what the kernel does: its products and reductions, else its last operator. */
static const char *kernel_name(mo_arena *arena, const mo_prim *body)
{
    int products = 0, reductions = 0;
    for (int i = 0; i < body->n_nodes; i++) {
        products += body->nodes[i].op == MO_OP_MATMUL;
        reductions += body->nodes[i].reduced != 0 && body->nodes[i].op != MO_OP_MATMUL;
    }
    if (products > 0) return mo_arena_printf(arena, "matmul%s", reductions > 0 ? "_stats" : "");
    if (reductions > 0) return "reduce";
    return mo_op_name(body->nodes[body->savers[0].node].op);
}

static void add_move(mo_mugraph *graph, const mo_subprogram *part)
{
    if (mo_node_needs_kernel(graph->program, part->nodes[0]))
        mo_mugraph_add_move(graph, part->nodes[0], NULL);
}

mo_mugraph *mo_assemble(mo_arena *arena, const mo_program *program, const mo_lowered *lowered,
                        const mo_partition *const *partitions, const int *choice, bool symbolic)
{
    int kernels = 0;
    for (int i = 0; i < lowered->n_subprograms; i++)
        kernels += partitions[i] == NULL ? 1 : partitions[i]->n_kernels + partitions[i]->n_intermediates;
    mo_mugraph *graph = mo_mugraph_new(arena, program, kernels);
    int at = 0;
    for (int i = 0; i < lowered->n_subprograms; i++) {
        const mo_partition *p = partitions[i];
        int shift = graph->n_tensors - program->n_tensors;
        if (p == NULL) add_move(graph, &lowered->subprograms[i]);
        for (int t = 0; p != NULL && t < p->n_intermediates; t++)
            mo_mugraph_add_tensor(graph, mo_arena_printf(arena, "mid%d", shift + t), p->shape[t], p->dtype[t],
                                  p->compute[t]);
        for (int k = 0; p != NULL && k < p->n_kernels; k++) {
            const mo_cut_kernel *kernel = &p->kernels[k];
            const mo_scheduled *scheduled =
                kernel->use_block ? &kernel->block : &kernel->choices[choice == NULL ? 0 : choice[at]];
            mo_prim *body = mo_prim_copy(arena, symbolic ? kernel->symbolic : kernel->body);
            shift_tensors(body, program->n_tensors, shift);
            mo_mugraph_add_kernel(graph, kernel_name(arena, body), -1, body, &scheduled->schedule);
            graph->cost_ns += scheduled->cost_ns;
            at++;
        }
    }
    mo_widen_between(graph);
    mo_mugraph_add_copies(graph);
    return graph;
}
