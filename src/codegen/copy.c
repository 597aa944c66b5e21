/* COPY: concat and reshape as written, a thread for each element of the result. */
#include "codegen/gen.h"

/* Indices i0, i1, ... of element `i` of a row-major tensor. */
static void indices(mo_gen *gen, mo_shape shape)
{
    mo_gen_line(gen, "unsigned rest = i;");
    for (int d = shape.rank - 1; d >= 0; d--) {
        mo_gen_line(gen, "const unsigned i%d = rest %% %lldu;", d, (long long)shape.dim[d]);
        mo_gen_line(gen, "rest /= %lldu;", (long long)shape.dim[d]);
    }
}

/* Reads the element at i0, i1, ... of a tensor, with `start` taken off the index of dimension `axis`. */
static void move(mo_gen *gen, int tensor, int axis, int64_t start)
{
    const mo_mutensor *from = &gen->mugraph->tensors[tensor];
    mo_str at = {0};
    for (int d = 0; d < from->shape.rank; d++) {
        if (from->strides[d] == 0 || from->shape.dim[d] == 1) continue;
        const char *index = d == axis && start > 0
                                ? mo_arena_printf(gen->arena, "(i%d - %lldu)", d, (long long)start)
                                : mo_arena_printf(gen->arena, "i%d", d);
        mo_str_printf(&at, "%s%s * %lldull", at.length > 0 ? " + " : "", index, (long long)from->strides[d]);
    }
    if (from->offset > 0)
        mo_str_printf(&at, "%s%lldull", at.length > 0 ? " + " : "", (long long)from->offset);
    mo_gen_line(gen, "mo_store(g_%s + i, mo_load(g_%s + %s));", mo_gen_tensor(gen, gen->kernel->moves[0]),
                mo_gen_tensor(gen, tensor), at.length > 0 ? mo_str_text(&at) : "0");
    mo_str_free(&at);
}

static void concat(mo_gen *gen, const mo_node *node)
{
    int axis = node->attrs.axes[0];
    int64_t start = 0;
    for (int j = 1; j < gen->kernel->n_moves; j++) {
        int tensor = gen->kernel->moves[j];
        int64_t end = start + gen->mugraph->tensors[tensor].shape.dim[axis];
        mo_gen_line(gen, "if (i%d >= %lldu && i%d < %lldu) {", axis, (long long)start, axis, (long long)end);
        move(gen, tensor, axis, start);
        mo_gen_line(gen, "}");
        start = end;
    }
}

bool mo_gen_copy(mo_gen *gen, mo_gen_launch *launch)
{
    const mo_node *node = &gen->mugraph->program->nodes[gen->kernel->program_node];
    const mo_mutensor *to = &gen->mugraph->tensors[gen->kernel->moves[0]];
    int64_t total = mo_shape_elements(to->shape);
    int threads = gen->kernel->schedule.threads;
    mo_gen_open_kernel(gen);
    mo_gen_line(gen, "// %s, an element for each thread", mo_op_name(node->op));
    mo_gen_line(gen, "const unsigned i = blockIdx.x * %du + threadIdx.x;", threads);
    mo_gen_line(gen, "if (i < %lldu) {", (long long)total);
    if (node->op == MO_OP_CONCAT) {
        indices(gen, to->shape);
        concat(gen, node);
    } else {
        indices(gen, gen->mugraph->tensors[gen->kernel->moves[1]].shape);
        move(gen, gen->kernel->moves[1], -1, 0);
    }
    mo_gen_line(gen, "}");
    mo_gen_line(gen, "}");
    *launch = (mo_gen_launch){.grid = {(unsigned)((total + threads - 1) / threads), 1, 1},
                              .block = {(unsigned)threads, 1, 1}};
    return true;
}
