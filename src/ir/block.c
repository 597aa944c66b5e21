#include "ir/block.h"

#include <string.h>

typedef struct {
    const mo_kernel *kernel;
    const mo_prim *g;
    mo_block *block;
    mo_axes loop;     /* the loop axis, or none */
    bool *final_only; /* maxima that cannot run: something is not linear in what they shift */
    bool again;       /* one more became known */
} analysis;

/* The maximum over the loop that exp(s - max s) is shifted by, or -1. */
static int shift_of(const analysis *a, const mo_prim_node *node)
{
    const mo_prim *g = a->g;
    if (node->op != MO_OP_EXP || g->nodes[node->in[0]].op != MO_OP_SUB) return -1;
    const mo_prim_node *difference = &g->nodes[node->in[0]];
    const mo_prim_node *shift = &g->nodes[difference->in[1]];
    bool matches = shift->op == MO_OP_MAX && shift->in[0] == difference->in[0] && shift->reduced == a->loop;
    return matches && !a->final_only[difference->in[1]] ? difference->in[1] : -1;
}

/* Whoever is not linear in a shifted value needs the maximum itself. */
static void settle(analysis *a, int maximum)
{
    if (maximum < 0 || a->final_only[maximum]) return;
    a->final_only[maximum] = true;
    a->again = true;
}

static int running_of(const analysis *a, const mo_prim_node *node, int i)
{
    return i < node->n_in ? a->block->running[node->in[i]] : -1;
}

/* The maximum that the result of a linear operator is shifted by, from those of its operands; -2 if the
 * operator is not linear in them. */
static int linear(const analysis *a, const mo_prim_node *node, int x, int y)
{
    const mo_axes *maximum = NULL;
    switch (node->op) {
    case MO_OP_NEG: return x;
    case MO_OP_ADD:
    case MO_OP_SUB: return x == y ? x : -2;
    case MO_OP_DIV: return y < 0 ? x : -2;
    case MO_OP_MUL: return x < 0 ? y : y < 0 ? x : -2;
    case MO_OP_MATMUL:
    case MO_OP_SUM:
        if (x >= 0 && y >= 0) return -2;
        x = x >= 0 ? x : y;
        maximum = &a->g->nodes[x].axes;
        return (*maximum & node->reduced) == 0 ? x : -2; /* the factor differs along these axes */
    default: return -2;
    }
}

static void visit_running(analysis *a, int i)
{
    const mo_prim_node *node = &a->g->nodes[i];
    int x = running_of(a, node, 0), y = running_of(a, node, 1);
    int shift = linear(a, node, x, y);
    if (shift == -2) {
        settle(a, x);
        settle(a, y);
        shift = -1;
    }
    if (node->reduced & a->loop)
        a->block->rescaled[i] = shift;
    else
        a->block->running[i] = shift;
}

static void visit(analysis *a, int i)
{
    const mo_prim_node *node = &a->g->nodes[i];
    int ready = 0, shift = shift_of(a, node);
    a->block->running[i] = a->block->rescaled[i] = -1;
    for (int j = 0; j < node->n_in; j++)
        if (a->block->ready[node->in[j]] > ready) ready = a->block->ready[node->in[j]];
    if (running_of(a, node, 0) >= 0 || running_of(a, node, 1) >= 0) visit_running(a, i);
    if (shift >= 0) {
        int argument = a->g->nodes[node->in[0]].in[0];
        ready = a->block->ready[argument];
        a->block->running[i] = shift;
    }
    if (node->reduced & a->loop) {
        ready++;
        if (ready > a->block->loops) a->block->loops = ready;
    }
    a->block->ready[i] = ready;
}

static const char *check_outputs(const analysis *a, mo_axes grid)
{
    for (int s = 0; s < a->g->n_savers; s++) {
        mo_axes axes = a->g->nodes[a->g->savers[s].node].axes;
        if (axes & a->loop) return "an output over the loop axis";
        if ((axes & grid) != grid) return "an output that several blocks would write";
    }
    return NULL;
}

static mo_axes grid_axes(const mo_kernel *kernel)
{
    mo_axes used = 0, grid = 0;
    for (int i = 0; i < kernel->body->n_nodes; i++) used |= kernel->body->nodes[i].axes;
    MO_FOR_AXES(a, used)
        if (kernel->schedule.place[a] == MO_PLACE_GRID) grid |= 1u << a;
    return grid;
}

const char *mo_block_analyse(mo_arena *arena, const mo_kernel *kernel, mo_block *block)
{
    const mo_prim *g = kernel->body;
    const mo_schedule *s = &kernel->schedule;
    analysis a = {.kernel = kernel, .g = g, .block = block};
    if (s->loop_axis >= 0) a.loop = 1u << s->loop_axis;
    mo_axes grid = grid_axes(kernel);
    for (int i = 0; i < g->n_axes; i++)
        if ((s->place[i] == MO_PLACE_LOOP) != (i == s->loop_axis))
            return "a looped axis that is not the loop's";
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].reduced & grid) return "a reduction over a grid axis";
    a.final_only = MO_NEW_ARRAY(arena, bool, g->n_nodes);
    block->ready = MO_NEW_ARRAY(arena, int, g->n_nodes);
    block->running = MO_NEW_ARRAY(arena, int, g->n_nodes);
    block->rescaled = MO_NEW_ARRAY(arena, int, g->n_nodes);
    do {
        a.again = false;
        block->loops = 0;
        for (int i = 0; i < g->n_nodes; i++) visit(&a, i);
    } while (a.again);
    return check_outputs(&a, grid);
}

int64_t mo_block_grid(const mo_kernel *kernel)
{
    int64_t blocks = 1;
    MO_FOR_AXES(a, grid_axes(kernel)) {
        int64_t tile = kernel->schedule.tile[a];
        blocks *= (kernel->body->axes[a].extent + tile - 1) / tile;
    }
    return blocks;
}

int64_t mo_block_tile(const mo_kernel *kernel, mo_axes axes)
{
    int64_t elements = 1;
    MO_FOR_AXES(a, axes) elements *= kernel->schedule.tile[a];
    return elements;
}
