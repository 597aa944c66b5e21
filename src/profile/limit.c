/* What a program must move and multiply at least. */
#include "profile/profile.h"

#include "base/status.h"
#include "cost/device.h"

static bool input_used(const mo_program *p, int input)
{
    for (int n = 0; n < p->n_nodes; n++) {
        for (int i = 0; i < p->nodes[n].n_inputs; i++) {
            if (p->nodes[n].inputs[i].tensor == input) return true;
        }
    }
    for (int o = 0; o < p->n_outputs; o++) {
        if (p->outputs[o] == input) return true;
    }
    return false;
}

/* Elements that are there: a dimension of stride 0 repeats the same ones. */
static int64_t stored_elements(const mo_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->shape.rank; d++) n *= t->strides[d] == 0 ? 1 : t->shape.dim[d];
    return n;
}

int64_t mo_profile_bytes(const mo_program *program)
{
    int64_t bytes = 0;
    for (int i = 0; i < program->n_inputs; i++) {
        const mo_tensor *t = &program->tensors[i];
        if (input_used(program, i)) bytes += stored_elements(t) * mo_dtype_size(t->dtype);
    }
    for (int o = 0; o < program->n_outputs; o++) {
        const mo_tensor *t = &program->tensors[program->outputs[o]];
        bytes += mo_shape_elements(t->shape) * mo_dtype_size(t->dtype);
    }
    return bytes;
}

int64_t mo_profile_flops(const mo_mugraph *graph)
{
    int64_t flops = 0;
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_prim *body = graph->kernels[k].body;
        for (int n = 0; n < body->n_nodes; n++) {
            const mo_prim_node *node = &body->nodes[n];
            if (node->op == MO_OP_MATMUL) flops += 2 * mo_prim_extent(body, node->axes | node->reduced);
        }
    }
    return flops;
}

mo_profile_limit mo_profile_limit_estimate(const mo_program *program, const mo_mugraph *graph, int arch,
                                           double time_us)
{
    const mo_device *device = mo_device_for_arch(arch);
    MO_CHECK(device != NULL);
    mo_profile_limit limit = {.bytes = mo_profile_bytes(program), .flops = mo_profile_flops(graph)};
    double memory = (double)limit.bytes / (double)device->dram_bytes_per_us;
    double matrix = (double)limit.flops / (double)device->mma_flops_per_us;
    limit.bound = matrix > memory ? MO_BOUND_MATRIX : MO_BOUND_MEMORY;
    limit.floor_us = matrix > memory ? matrix : memory;
    if (time_us > 0) limit.fraction = limit.floor_us / time_us;
    return limit;
}
