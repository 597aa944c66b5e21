#include "optimize/schedule.h"

#include "optimize/stream_plan.h"

static void add(mo_stream_plan *plan, mo_step_kind kind, int index, int depth)
{
    plan->steps[plan->n_steps++] = (mo_step){.kind = kind, .index = index, .depth = depth};
}

static int post_of(const mo_stream_plan *plan, int node)
{
    for (int i = 0; i < plan->n_posts; i++)
        if (plan->posts[i].node == node) return i;
    return -1;
}

/* Depth of each post, given that of values which were exchanged; returns the depth of what reads them all. */
static int post_depths(const mo_prim *g, const mo_stream_plan *plan, int start, int *depth)
{
    int behind = start;
    for (int i = 0; i < plan->n_posts; i++) { /* in the order of the graph */
        const mo_prim_node *n = &g->nodes[plan->posts[i].node];
        depth[i] = start;
        for (int j = 0; j < n->n_in; j++) {
            int p = post_of(plan, n->in[j]);
            if (p >= 0 && depth[p] >= depth[i]) depth[i] = depth[p] + 1;
        }
        if (depth[i] >= behind) behind = depth[i] + 1;
    }
    return behind;
}

static void add_posts(mo_arena *arena, const mo_prim *g, mo_stream_plan *plan, int start)
{
    int *depth = MO_NEW_ARRAY(arena, int, plan->n_posts + 1);
    int behind = post_depths(g, plan, start, depth);
    for (int d = start; d < behind; d++)
        for (int i = 0; i < plan->n_posts; i++)
            if (depth[i] == d) add(plan, MO_STEP_POST, i, d);
    for (int s = 0; s < g->n_savers; s++) add(plan, MO_STEP_SAVE, s, behind);
}

static void add_products(const mo_prim *g, mo_stream_plan *plan)
{
    mo_axes done = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        if (plan->roles.role[i] != MO_ROLE_ACCUM2 || (done & g->nodes[i].reduced) != 0) continue;
        done |= g->nodes[i].reduced;
        add(plan, MO_STEP_PRODUCT, mo_axes_first(g->nodes[i].reduced), 2);
    }
}

/* Everything from the loop is exchanged at depth 0, but what only the outputs read is kept in registers until
 * the last exchange, where there are two: its bytes are then free for the intermediate tiles. */
void mo_schedule_tail(mo_arena *arena, const mo_kernel *kernel, mo_passes off, mo_stream_plan *plan)
{
    const mo_prim *g = kernel->body;
    int last = plan->n_between > 0 ? 2 : 0;
    int most = plan->n_stats + plan->n_accums + plan->n_between + plan->n_posts + g->n_savers + g->n_nodes;
    plan->steps = MO_NEW_ARRAY(arena, mo_step, most + 1);
    for (int i = 0; i < plan->n_stats; i++) add(plan, MO_STEP_STAT, i, 0);
    for (int i = 0; i < plan->n_accums; i++)
        if (plan->accums[i].early) add(plan, MO_STEP_ACCUM, i, 0);
    for (int i = 0; i < plan->n_between; i++) add(plan, MO_STEP_BETWEEN, i, 1);
    if (plan->n_between > 0) add_products(g, plan);
    for (int i = 0; i < plan->n_accums; i++)
        if (!plan->accums[i].early) add(plan, MO_STEP_ACCUM, i, last);
    add_posts(arena, g, plan, last + 1);
    for (int i = 0; i + 1 < plan->n_steps; i++)
        plan->steps[i].barrier = (off & MO_PASS_SCHEDULE) || plan->steps[i].depth < plan->steps[i + 1].depth;
}

void mo_schedule_levels(const mo_prim *g, mo_passes off, int *level)
{
    int passes = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        level[i] = 0;
        for (int j = 0; j < g->nodes[i].n_in; j++)
            if (level[g->nodes[i].in[j]] > level[i]) level[i] = level[g->nodes[i].in[j]];
        if (g->nodes[i].reduced == 0) continue;
        passes++;
        level[i] = off & MO_PASS_SCHEDULE ? passes : level[i] + 1;
    }
}
