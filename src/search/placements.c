/* Each axis gets its place from its role:
 *
 *   reduced somewhere               the loop, if it is the one tried, otherwise whole
 *   free in every output, batch     grid, one index for each block
 *   free in every output            grid, a tile
 *   free in some outputs only       whole: no two blocks may write one element */
#include "search/placements.h"

#include "cost/block.h"

#define MAX_TILED 3 /* axes whose tiles vary */

typedef struct {
    mo_arena *scratch;
    const mo_cost_context *context;
    mo_kernel kernel;
    mo_block block;
    mo_scheduled *best;
    bool found;
    int tiled[MAX_TILED], n_tiled;
    int64_t *tried, *too_large;
} placing;

static mo_axes reduced_axes(const mo_prim *g)
{
    mo_axes reduced = 0;
    for (int i = 0; i < g->n_nodes; i++) reduced |= g->nodes[i].reduced;
    return reduced;
}

static mo_axes common_output_axes(const mo_prim *g)
{
    mo_axes common = ~(mo_axes)0;
    for (int s = 0; s < g->n_savers; s++) common &= g->nodes[g->savers[s].node].axes;
    return common;
}

/* Axes that both operands of every product carry, if one does: nothing is shared between their indices. */
static bool is_batch(const mo_prim *g, int axis)
{
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_prim_node *node = &g->nodes[i];
        if (node->op != MO_OP_MATMUL || !(node->axes >> axis & 1u)) continue;
        if (!(g->nodes[node->in[0]].axes & g->nodes[node->in[1]].axes & 1u << axis)) return false;
    }
    return true;
}

static void offer(placing *p)
{
    mo_schedule *s = &p->kernel.schedule;
    int64_t elements = 1;
    for (int i = 0; i < p->n_tiled; i++) elements *= s->tile[p->tiled[i]];
    s->threads = elements > 4096 ? 256 : 128;
    mo_arena_mark mark = mo_arena_get_mark(p->scratch);
    mo_block_facts facts = mo_cost_block_facts(p->scratch, p->context, &p->kernel, &p->block);
    mo_arena_reset(p->scratch, mark);
    ++*p->tried;
    int64_t cost = mo_cost_block(p->context, &p->kernel, &p->block, &facts);
    if (cost == INT64_MAX) ++*p->too_large;
    if (cost == INT64_MAX || (p->found && cost >= p->best->cost_ns)) return;
    p->found = true;
    *p->best = (mo_scheduled){.schedule = *s, .cost_ns = cost};
}

static void offer_loops(placing *p)
{
    static const int64_t slabs[] = {16, 32, 64, 128, 256};
    mo_schedule *s = &p->kernel.schedule;
    if (s->loop_axis < 0) {
        s->stages = 1;
        offer(p);
        return;
    }
    int64_t extent = p->kernel.body->axes[s->loop_axis].extent;
    for (size_t i = 0; i < sizeof slabs / sizeof *slabs; i++) {
        if (i > 0 && slabs[i - 1] >= extent) return;
        s->tile[s->loop_axis] = slabs[i] < extent ? slabs[i] : extent;
        for (s->stages = 2; s->stages <= 4; s->stages++) offer(p);
    }
}

static void offer_tiles(placing *p, int at)
{
    static const int64_t tiles[] = {8, 16, 32, 64, 128, 256};
    if (at >= p->n_tiled || at == MAX_TILED) {
        offer_loops(p);
        return;
    }
    int axis = p->tiled[at];
    int64_t extent = p->kernel.body->axes[axis].extent;
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++) {
        if (i > 0 && tiles[i - 1] >= extent) return;
        p->kernel.schedule.tile[axis] = tiles[i] < extent ? tiles[i] : extent;
        offer_tiles(p, at + 1);
    }
}

/* Places with this loop axis (-1: none), tiles open. */
static void place(placing *p, int loop)
{
    const mo_prim *g = p->kernel.body;
    mo_axes reduced = reduced_axes(g), common = common_output_axes(g);
    p->kernel.schedule = (mo_schedule){.kind = MO_SCHEDULE_BLOCK,
                                       .threads = 128,
                                       .stages = 1,
                                       .row_axis = -1,
                                       .loop_axis = loop,
                                       .p_axis = -1,
                                       .q_axis = -1};
    p->n_tiled = 0;
    for (int a = 0; a < g->n_axes; a++) {
        bool grid = common >> a & 1u && !(reduced >> a & 1u), batch = grid && is_batch(g, a);
        if (grid && !batch && p->n_tiled == MAX_TILED) batch = true;
        p->kernel.schedule.place[a] = a == loop ? MO_PLACE_LOOP : grid ? MO_PLACE_GRID : MO_PLACE_WHOLE;
        p->kernel.schedule.tile[a] = batch ? 1 : g->axes[a].extent;
        if (grid && !batch) p->tiled[p->n_tiled++] = a;
    }
}

bool mo_placements(mo_arena *scratch, const mo_cost_context *context, mo_prim *body, mo_scheduled *best,
                   int64_t *tried, int64_t *too_large)
{
    placing p = {
        .scratch = scratch, .context = context, .best = best, .tried = tried, .too_large = too_large};
    p.kernel = (mo_kernel){.name = "", .program_node = -1, .body = body};
    mo_axes loops = reduced_axes(body);
    for (int loop = -1; loop < body->n_axes; loop++) {
        if (loop >= 0 && !(loops >> loop & 1u)) continue;
        mo_arena_mark mark = mo_arena_get_mark(scratch);
        place(&p, loop);
        if (mo_block_analyse(scratch, &p.kernel, &p.block) == NULL) offer_tiles(&p, 0);
        mo_arena_reset(scratch, mark);
    }
    return p.found;
}
