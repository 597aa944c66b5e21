#include "optimize/describe.h"

#include "optimize/chain_plan.h"
#include "optimize/stream_plan.h"

typedef struct {
    mo_arena *scratch;
    const mo_mugraph *graph;
    const mo_kernel *kernel;
    const mo_prim *g;
    mo_stream_plan stream; /* of a STREAM kernel */
    mo_chain_plan chain;   /* of a CHAIN kernel */
    int shared_limit;
    mo_str *out;
} describing;

static bool is_stream(const describing *d)
{
    return d->kernel->schedule.kind == MO_SCHEDULE_STREAM;
}

static bool is_chain(const describing *d)
{
    return d->kernel->schedule.kind == MO_SCHEDULE_CHAIN;
}

/* A comma before all entries but the first of a list that began at `start`. */
static void separate(describing *d, size_t start)
{
    if (d->out->length > start) mo_str_add(d->out, ", ");
}

static void add_name(describing *d, int node)
{
    const mo_prim_node *n = &d->g->nodes[node];
    if (n->op == MO_OP_ITER)
        mo_str_add(d->out, d->graph->tensors[n->access.tensor].symbol);
    else
        mo_str_printf(d->out, "%s%d", mo_op_name(n->op), node);
}

/* ---- layout ---- */

static void add_rows(describing *d, int node, int cols, int stride)
{
    add_name(d, node);
    mo_str_printf(d->out, " rows of %d", stride);
    if (stride > cols) mo_str_printf(d->out, " (%d + %d)", cols, stride - cols);
}

static void add_tiles(describing *d, const mo_tile *tiles, int count, size_t start)
{
    for (int i = 0; i < count; i++) {
        const mo_tile *t = &tiles[i];
        separate(d, start);
        if (d->g->nodes[t->node].op != MO_OP_ITER) mo_str_add(d->out, "tile of ");
        if (t->copy == MO_TILE_DIRECT || t->copy == MO_TILE_BOX) add_name(d, t->node);
        if (t->copy == MO_TILE_DIRECT)
            mo_str_add(d->out, " straight to registers");
        else if (t->copy == MO_TILE_BOX && t->swizzle > 0)
            mo_str_printf(d->out, " swizzle %d (%d x %d box)", t->swizzle, t->rows, t->panel);
        else if (t->copy == MO_TILE_BOX)
            mo_str_printf(d->out, " dense (%d x %d box)", t->rows, t->panel);
        else
            add_rows(d, t->node, t->cols, t->stride);
    }
}

static void describe_layout(describing *d)
{
    size_t start = d->out->length;
    if (is_stream(d)) {
        add_tiles(d, d->stream.tiles, d->stream.n_tiles, start);
        add_tiles(d, d->stream.resident, d->stream.n_resident, start);
        add_tiles(d, d->stream.between, d->stream.n_between, start);
        for (int i = 0; i < d->stream.n_accums; i++) {
            separate(d, start);
            add_rows(d, d->stream.accums[i].value, d->stream.accums[i].p_size, d->stream.accums[i].stride);
        }
    } else if (is_chain(d)) {
        for (int i = 0; i < d->chain.n_tiles; i++) {
            separate(d, start);
            add_rows(d, d->chain.tiles[i].node, d->chain.tiles[i].cols, d->chain.tiles[i].stride);
        }
        mo_str_printf(d->out, ", exchange rows of %d (%d + %d)", d->chain.column_stride, d->chain.columns,
                      d->chain.column_stride - d->chain.columns);
    }
}

/* ---- schedule ---- */

static void add_step(describing *d, mo_step step)
{
    const mo_stream_plan *plan = &d->stream;
    switch (step.kind) {
    case MO_STEP_STAT: add_name(d, plan->stats[step.index].node); return;
    case MO_STEP_ACCUM: add_name(d, plan->accums[step.index].value); return;
    case MO_STEP_BETWEEN:
        mo_str_add(d->out, "tile of ");
        add_name(d, plan->between[step.index].node);
        return;
    case MO_STEP_PRODUCT: mo_str_printf(d->out, "product over %s", d->g->axes[step.index].name); return;
    case MO_STEP_POST: add_name(d, plan->posts[step.index].node); return;
    case MO_STEP_SAVE:
        mo_str_printf(d->out, "store %s", d->graph->tensors[d->g->savers[step.index].access.tensor].symbol);
        return;
    }
}

static void describe_row_schedule(describing *d)
{
    int *level = MO_NEW_ARRAY(d->scratch, int, d->g->n_nodes + 1), passes = 0, reductions = 0;
    mo_schedule_levels(d->g, d->graph->off, level);
    for (int i = 0; i < d->g->n_nodes; i++) {
        reductions += d->g->nodes[i].reduced != 0;
        if (level[i] > passes) passes = level[i];
    }
    mo_str_printf(d->out, "%d reductions in %d passes over the row", reductions, passes);
}

static void describe_schedule(describing *d)
{
    if (d->kernel->schedule.kind == MO_SCHEDULE_ROW) describe_row_schedule(d);
    if (is_chain(d))
        mo_str_add(d->out, d->graph->off & MO_PASS_SCHEDULE
                               ? "a barrier behind every product and exchange"
                               : "a barrier for each slab and behind the exchange");
    if (!is_stream(d)) return;
    int barriers = 0;
    for (int i = 0; i < d->stream.n_steps; i++) barriers += d->stream.steps[i].barrier;
    mo_str_printf(d->out, "%d barrier%s behind the loop: ", barriers, barriers == 1 ? "" : "s");
    for (int i = 0; i < d->stream.n_steps; i++) {
        add_step(d, d->stream.steps[i]);
        if (i + 1 < d->stream.n_steps) mo_str_add(d->out, d->stream.steps[i].barrier ? " | " : ", ");
    }
}

/* ---- memory ---- */

static void add_place(describing *d, const char *what, int node, int offset)
{
    mo_str_printf(d->out, ", %s", what);
    add_name(d, node);
    mo_str_printf(d->out, " at %d", offset);
}

static void describe_memory(describing *d)
{
    const mo_schedule *s = &d->kernel->schedule;
    if (!is_stream(d) && !is_chain(d)) return;
    int peak = is_stream(d) ? d->stream.shared_bytes : d->chain.shared_bytes;
    int resident = is_stream(d) ? d->stream.resident_bytes : d->chain.resident_bytes;
    int stage = is_stream(d) ? d->stream.stage_bytes : d->chain.stage_bytes;
    mo_str_printf(d->out, "peak %d of %d bytes: ring at %d (%d groups x %d stages x %d)", peak,
                  d->shared_limit, resident, s->groups, s->stages, stage);
    for (int i = 0; is_stream(d) && i < d->stream.n_stats; i++)
        add_place(d, "", d->stream.stats[i].node, resident + d->stream.stats[i].offset);
    for (int i = 0; is_stream(d) && i < d->stream.n_between; i++)
        add_place(d, "tile of ", d->stream.between[i].node, resident + d->stream.between[i].offset);
    for (int i = 0; is_stream(d) && i < d->stream.n_accums; i++)
        add_place(d, "", d->stream.accums[i].value, resident + d->stream.accums[i].offset);
    for (int i = 0; is_stream(d) && i < d->stream.n_posts; i++)
        add_place(d, "", d->stream.posts[i].node, resident + d->stream.posts[i].offset);
    for (int i = 0; is_chain(d) && i < d->chain.n_parts; i++)
        add_place(d, "", d->chain.parts[i].node, resident + d->chain.parts[i].offset);
}

/* ---- pipeline ---- */

static void describe_pipeline(describing *d)
{
    static const char *const ways[] = {"element by element", "by asynchronous copies", "by boxes",
                                       "by loads to registers"};
    const mo_schedule *s = &d->kernel->schedule;
    if (!is_stream(d) && !is_chain(d)) return;
    mo_str_printf(d->out, "%d stage%s", s->stages, s->stages == 1 ? "" : "s");
    for (int i = 0; is_stream(d) && i < d->stream.n_tiles; i++) {
        mo_str_add(d->out, ", ");
        add_name(d, d->stream.tiles[i].node);
        mo_str_printf(d->out, " %s", ways[d->stream.tiles[i].copy]);
    }
    for (int i = 0; is_chain(d) && i < d->chain.n_tiles; i++) {
        mo_str_add(d->out, ", ");
        add_name(d, d->chain.tiles[i].node);
        mo_str_printf(d->out, " %s", ways[d->chain.tiles[i].chunk > 0]);
    }
}

/* ---- threads ---- */

static void describe_threads(describing *d)
{
    const mo_schedule *s = &d->kernel->schedule;
    if (s->kind == MO_SCHEDULE_ROW)
        mo_str_add(d->out, s->resident ? "rows stay in registers" : "rows are read again in every pass");
    if (is_chain(d)) mo_str_add(d->out, "scores stay in fragments, outputs in registers");
    if (!is_stream(d)) return;
    size_t start = d->out->length;
    for (int i = 0; i < d->g->n_nodes; i++) {
        const mo_prim_node *n = &d->g->nodes[i];
        if (!mo_op_is_pointwise(n->op) || mo_stream_plan_accumulated(&d->stream, i)) continue;
        bool stored = false;
        for (int b = 0; b < d->stream.n_between; b++) stored |= d->stream.between[b].node == i;
        for (int p = 0; p < d->stream.n_posts; p++) stored |= d->stream.posts[p].node == i;
        separate(d, start);
        add_name(d, i);
        mo_str_add(d->out, stored ? " in shared memory" : " in registers");
    }
    if (d->out->length == start) mo_str_add(d->out, "no elementwise operator");
}

static bool plan(describing *d)
{
    mo_plan_context context = mo_plan_context_of(d->scratch, d->graph);
    if (is_stream(d))
        return mo_stream_plan_make(d->scratch, &context, d->kernel, d->shared_limit, &d->stream) == NULL;
    if (is_chain(d))
        return mo_chain_plan_make(d->scratch, &context, d->kernel, d->shared_limit, &d->chain) == NULL;
    return true;
}

void mo_optimize_describe(mo_arena *scratch, const mo_mugraph *graph, const mo_kernel *kernel,
                          int shared_limit, int bit, mo_str *out)
{
    describing d = {.scratch = scratch,
                    .graph = graph,
                    .kernel = kernel,
                    .g = kernel->body,
                    .shared_limit = shared_limit,
                    .out = out};
    if (!plan(&d)) return;
    switch (1 << bit) {
    case MO_PASS_LAYOUT: describe_layout(&d); return;
    case MO_PASS_SCHEDULE: describe_schedule(&d); return;
    case MO_PASS_MEMORY: describe_memory(&d); return;
    case MO_PASS_PIPELINE: describe_pipeline(&d); return;
    case MO_PASS_THREADS: describe_threads(&d); return;
    default: return;
    }
}
