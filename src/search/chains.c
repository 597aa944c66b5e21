#include "search/chains.h"

#include "base/status.h"
#include "cost/block.h"
#include "optimize/chain_plan.h"
#include "optimize/pipeline.h"

#define MAX_THREADS 512
#define MIN_THREADS 64
#define MAX_REGISTERS 170 /* floats of accumulators, scores and operands in a thread */

typedef struct {
    mo_arena *scratch;
    const mo_cost_context *context;
    mo_kernel kernel;
    mo_chain chain;
    int accumulators;
    void (*offer)(void *to, const mo_schedule *schedule, int64_t cost_ns);
    void *to;
} chaining;

/* Registers of a thread: accumulators, two slabs of scores (before and after the exponential). */
static int64_t registers(const chaining *c)
{
    const mo_schedule *s = &c->kernel.schedule;
    int64_t fragments = (s->tile[s->p_axis] + 16 * s->warps_p - 1) / (16 * s->warps_p);
    return fragments * (c->accumulators * s->tile[s->q_axis] / 2 + s->tile[s->loop_axis]);
}

/* The cost model knows only what the plan needs with all passes. */
static bool plans(chaining *c)
{
    mo_plan_context context = {c->context->tensor_dtype, NULL, c->context->off};
    mo_chain_plan plan;
    return mo_chain_plan_make(c->scratch, &context, &c->kernel, c->context->device->shared_per_block,
                              &plan) == NULL;
}

static void offer(chaining *c)
{
    mo_arena_mark mark = mo_arena_get_mark(c->scratch);
    mo_block_facts facts = mo_cost_block_facts(c->scratch, c->context, &c->kernel, &c->chain.block);
    int64_t cost = mo_cost_chain(c->context, &c->kernel, &facts);
    if (c->context->off != 0 && cost != INT64_MAX && !plans(c)) cost = INT64_MAX;
    mo_arena_reset(c->scratch, mark);
    c->offer(c->to, &c->kernel.schedule, cost);
}

static void offer_warps(chaining *c)
{
    mo_schedule *s = &c->kernel.schedule;
    mo_pipeline choices[MO_PIPELINE_CHOICES];
    int count = mo_pipeline_chain(c->context->off, choices);
    int64_t slabs =
        (c->kernel.body->axes[s->loop_axis].extent + s->tile[s->loop_axis] - 1) / s->tile[s->loop_axis];
    for (s->warps_p = 1; s->warps_p <= 8; s->warps_p *= 2)
        for (s->groups = 1; s->groups <= 8; s->groups *= 2) {
            int64_t fragments = (s->tile[s->p_axis] + 16 * s->warps_p - 1) / (16 * s->warps_p);
            bool idle = s->warps_p > 1 && 16 * (s->warps_p - 1) >= s->tile[s->p_axis];
            s->threads = s->warps_p * s->groups * 32;
            if (idle || fragments > 2 || s->threads > MAX_THREADS || s->threads < MIN_THREADS) continue;
            if (s->groups > slabs || registers(c) > MAX_REGISTERS) continue;
            for (int i = 0; i < count; i++) {
                s->stages = choices[i].stages;
                offer(c);
            }
        }
}

static void offer_slabs(chaining *c)
{
    static const int64_t slabs[] = {32, 64, 128};
    mo_schedule *s = &c->kernel.schedule;
    int64_t extent = c->kernel.body->axes[s->loop_axis].extent;
    for (int i = 0; i < 3; i++) {
        if (i > 0 && slabs[i - 1] >= extent) return;
        s->tile[s->loop_axis] = slabs[i] < extent ? slabs[i] : extent;
        offer_warps(c);
    }
}

static void offer_tiles(chaining *c)
{
    static const int64_t rows[] = {16, 32, 64, 128}, columns[] = {64, 128, 256};
    mo_schedule *s = &c->kernel.schedule;
    int64_t p = c->kernel.body->axes[s->p_axis].extent, q = c->kernel.body->axes[s->q_axis].extent;
    bool divided = s->place[s->q_axis] == MO_PLACE_GRID;
    for (int i = 0; i < 4; i++) {
        if (i > 0 && rows[i - 1] >= p) return;
        s->tile[s->p_axis] = rows[i] < p ? rows[i] : p;
        for (int j = 0; j < 3; j++) {
            if (j > 0 && (!divided || columns[j - 1] >= q)) break;
            s->tile[s->q_axis] = divided && columns[j] < q ? columns[j] : q;
            offer_slabs(c);
        }
    }
}

static mo_axes common_output_axes(const mo_prim *g)
{
    mo_axes common = ~(mo_axes)0;
    for (int s = 0; s < g->n_savers; s++) common &= g->nodes[g->savers[s].node].axes;
    return common;
}

/* Outputs' axes on the grid, one index of each for a block; the rest whole. */
static mo_schedule schedule_of(const mo_prim *g, int loop, int p, int q)
{
    mo_axes common = common_output_axes(g);
    mo_schedule s = {.kind = MO_SCHEDULE_CHAIN,
                     .threads = 128,
                     .row_axis = -1,
                     .loop_axis = loop,
                     .groups = 1,
                     .warps_p = 4,
                     .stages = 2,
                     .p_axis = p,
                     .q_axis = q};
    for (int a = 0; a < g->n_axes; a++) {
        bool grid = common >> a & 1u;
        s.place[a] = a == loop ? MO_PLACE_LOOP : grid ? MO_PLACE_GRID : MO_PLACE_WHOLE;
        s.tile[a] = grid && a != p && a != q ? 1 : g->axes[a].extent;
    }
    return s;
}

static bool has_product_in_loop(const mo_prim *g, const mo_chain *chain)
{
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == MO_OP_MATMUL && chain->role[i] == MO_CHAIN_SCORE) return true;
    return false;
}

static void try_axes(chaining *c, int loop, int p, int q)
{
    mo_arena_mark mark = mo_arena_get_mark(c->scratch);
    const mo_prim *g = c->kernel.body;
    c->kernel.schedule = schedule_of(g, loop, p, q);
    if (mo_chain_analyse(c->scratch, &c->kernel, &c->chain) == NULL && has_product_in_loop(g, &c->chain)) {
        c->accumulators = 0;
        for (int i = 0; i < g->n_nodes; i++) c->accumulators += c->chain.role[i] == MO_CHAIN_ACCUM;
        offer_tiles(c);
    }
    mo_arena_reset(c->scratch, mark);
}

void mo_chains(mo_arena *scratch, const mo_cost_context *context, mo_prim *body,
               void (*offer_to)(void *to, const mo_schedule *schedule, int64_t cost_ns), void *to)
{
    chaining c = {.scratch = scratch, .context = context, .offer = offer_to, .to = to};
    c.kernel = (mo_kernel){.name = "", .program_node = -1, .body = body};
    mo_axes loops = 0, saved = 0;
    for (int i = 0; i < body->n_nodes; i++)
        if (body->nodes[i].op == MO_OP_MATMUL) loops |= body->nodes[i].reduced;
    for (int s = 0; s < body->n_savers; s++) saved |= body->nodes[body->savers[s].node].axes;
    MO_FOR_AXES(loop, loops & ~saved)
        MO_FOR_AXES(p, saved)
            MO_FOR_AXES(q, saved)
                if (p != q) try_axes(&c, loop, p, q);
}
