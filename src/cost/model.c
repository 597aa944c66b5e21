/* STREAM: launch, then for each wave of blocks a fixed cost, then the cubic mean-like sum of five times that
 * overlap imperfectly: device memory, L2, the chain of iterations of one group, the issue slots of one SM,
 * and the waits for slabs. The constants were fitted to 376 schedules of seven programs measured on an H200
 * (docs/performance.md); bandwidths and rates scale by the device table. */
#include "cost/model.h"

#define LATENCY_NS 900   /* first bytes of a cold read (ROW, PLAIN) */
#define START_NS 1100    /* STREAM: beside the launch */
#define WAVE_NS 1800     /* first slab, exchange between groups, store */
#define FLIGHT_NS 656    /* of a cold slab, for Little's law */
#define SLAB_WAIT_NS 585 /* for each iteration, shared by the slabs in flight */
#define STEP_NS 33       /* one k16 step of a warp: ldmatrix to mma */
#define STEP_PS_PER_ACC 1652
#define COPY_PS 4753  /* for each 16-byte copy of a thread */
#define ISSUE_PS 6888 /* issue slots of a k16 step */
#define ISSUE_PS_PER_ACC 1508
#define ISSUE_PS_PER_COPY 10380
#define CLUSTER_NS 900          /* two cluster barriers and the exchange between a pair of blocks */
#define REGISTERS_PER_THREAD 60 /* beside the accumulators */

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t round_up(int64_t a, int64_t b)
{
    return divide_up(a, b) * b;
}

/* Elements of `axes` that one block reads. */
static int64_t block_elements(const mo_prim *g, const mo_schedule *s, mo_axes axes)
{
    int64_t product = 1;
    MO_FOR_AXES(a, axes) product *= s->place[a] == MO_PLACE_GRID ? s->tile[a] : g->axes[a].extent;
    return product;
}

/* Shared memory of one slab of an iterator: rows padded to an odd number of 16-byte chunks. */
static int64_t slab_bytes(const mo_schedule *s, const mo_prim_node *n, int size)
{
    int tile = -1;
    MO_FOR_AXES(a, n->axes)
        if (a != s->loop_axis && !(s->place[a] == MO_PLACE_GRID && s->tile[a] == 1)) tile = a;
    int64_t across = 8, inner = round_up(s->tile[s->loop_axis], 16);
    if (tile >= 0) across = round_up(s->tile[tile], tile == s->q_axis ? 8 : 16);
    bool inner_rows = tile >= 0 && n->access.stride[tile] == 1 && n->access.stride[s->loop_axis] != 1;
    int64_t rows = inner_rows ? inner : across, cols = inner_rows ? across : inner;
    if (s->copy != MO_COPY_ASYNC) return round_up(rows * cols * size, 1024);
    return round_up(rows * (divide_up(cols * size, 16) | 1) * 16, 128);
}

static void count_iterator(const mo_cost_context *c, const mo_prim *g, const mo_schedule *s, int node,
                           mo_kernel_facts *facts)
{
    const mo_prim_node *n = &g->nodes[node];
    int size = mo_dtype_size(c->tensor_dtype[n->access.tensor]);
    mo_axes real = 0;
    MO_FOR_AXES(a, n->axes)
        if (n->access.stride[a] != 0) real |= 1u << a;
    facts->dram_bytes += mo_prim_extent(g, real) * size;
    facts->block_bytes += block_elements(g, s, real) * size;
    bool looped = s->loop_axis >= 0 && n->axes >> s->loop_axis & 1u;
    bool direct = s->copy == MO_COPY_DIRECT && (s->p_axis < 0 || !(n->axes >> s->p_axis & 1u));
    if (looped && direct)
        facts->direct_bytes += slab_bytes(s, n, size);
    else if (looped)
        facts->stage_bytes += slab_bytes(s, n, size);
}

static void count_product(const mo_prim *g, const mo_schedule *s, const mo_prim_node *n,
                          mo_kernel_facts *facts)
{
    int64_t p = 16, q = 8, other = 1;
    MO_FOR_AXES(a, n->axes) {
        if (a == s->q_axis)
            q = round_up(s->tile[a], 8);
        else if (a == s->p_axis || s->place[a] != MO_PLACE_GRID)
            p = round_up(s->tile[a], 16);
    }
    MO_FOR_AXES(a, n->reduced) other *= g->axes[a].extent;
    facts->flops += 2 * p * q * other * facts->blocks / s->cluster;
    int64_t warps = (int64_t)s->warps_p * s->warps_q * 32;
    if (warps > 0) {
        facts->accumulators += divide_up(p / 16, s->warps_p) * divide_up(q / 8, s->warps_q) * 4;
        facts->shared_bytes += s->groups * q * (p + 4) * 4;
    }
}

mo_kernel_facts mo_cost_facts(const mo_cost_context *c, const mo_prim *g, const mo_schedule *s)
{
    mo_kernel_facts facts = {.blocks = 1};
    mo_axes saved = 0;
    for (int i = 0; i < g->n_savers; i++) saved |= g->nodes[g->savers[i].node].axes;
    if (s->kind == MO_SCHEDULE_STREAM) {
        facts.blocks = s->cluster;
        MO_FOR_AXES(a, saved) facts.blocks *= divide_up(g->axes[a].extent, s->tile[a]);
    } else if (s->kind == MO_SCHEDULE_ROW) {
        facts.blocks = divide_up(mo_prim_extent(g, saved & ~(1u << s->row_axis)), s->threads / s->lanes);
    } else {
        facts.blocks = divide_up(mo_prim_extent(g, saved), s->threads);
    }
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_prim_node *n = &g->nodes[i];
        if (n->op == MO_OP_ITER)
            count_iterator(c, g, s, i, &facts);
        else if (n->op == MO_OP_MATMUL && s->kind == MO_SCHEDULE_STREAM)
            count_product(g, s, n, &facts);
        else if (n->op == MO_OP_MATMUL)
            facts.flops += 2 * mo_prim_extent(g, n->axes | n->reduced);
        else
            facts.pointwise += mo_prim_extent(g, n->axes | n->reduced) * mo_op_get(n->op)->flops;
    }
    for (int i = 0; i < g->n_savers; i++) {
        int size = mo_dtype_size(c->tensor_dtype[g->savers[i].access.tensor]);
        facts.dram_bytes += mo_prim_extent(g, g->nodes[g->savers[i].node].axes) * size;
    }
    facts.block_bytes /= s->kind == MO_SCHEDULE_STREAM ? s->cluster : 1;
    int64_t ring = facts.stage_bytes * s->stages * s->groups;
    if (ring > facts.shared_bytes) facts.shared_bytes = ring;
    return facts;
}

bool mo_cost_uses_f32(const mo_prim *g)
{
    for (int i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != MO_OP_MATMUL) continue;
        mo_dtype a = g->nodes[g->nodes[i].in[0]].compute, b = g->nodes[g->nodes[i].in[1]].compute;
        if (a != b || a == MO_F32) return true;
    }
    return false;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t mo_cost_overlap(const int64_t *times, int count)
{
    int64_t largest = 1, scale = 1, sum = 0;
    for (int i = 0; i < count; i++) largest = max64(largest, times[i]);
    while (largest / scale > 1000000) scale *= 8;
    for (int i = 0; i < count; i++) sum += times[i] / scale * (times[i] / scale) * (times[i] / scale);
    int64_t root = largest / scale;
    for (int i = 0; i < 60; i++) { /* Newton; from above it only falls */
        int64_t next = (2 * root + sum / (root * root)) / 3;
        if (i > 0 && next >= root) break;
        root = next;
    }
    return root * scale;
}

/* k16 steps of one group in one block: over the loop axis, and over axes that a block holds whole. */
static int64_t steps_of_group(const mo_prim *g, const mo_schedule *s, int64_t iterations)
{
    int64_t steps = iterations * divide_up(s->tile[s->loop_axis], 16);
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == MO_OP_MATMUL && !(g->nodes[i].reduced >> s->loop_axis & 1u))
            steps += divide_up(mo_prim_extent(g, g->nodes[i].reduced), 16 * (int64_t)s->groups);
    return steps;
}

static int64_t cost_stream(const mo_cost_context *c, const mo_prim *g, const mo_schedule *s,
                           const mo_kernel_facts *f)
{
    const mo_device *d = c->device;
    int64_t resident = d->shared_per_sm / (f->shared_bytes + 1024);
    resident = min64(resident, 65536 / (s->threads * (f->accumulators + REGISTERS_PER_THREAD)));
    resident = max64(min64(resident, 2048 / s->threads), 1);
    int64_t waves = divide_up(f->blocks, resident * d->sms), active = min64(f->blocks, resident * d->sms);
    int64_t iterations = divide_up(divide_up(g->axes[s->loop_axis].extent, s->tile[s->loop_axis]),
                                   (int64_t)s->groups * s->cluster);
    int64_t steps = steps_of_group(g, s, iterations);
    bool boxes = s->copy != MO_COPY_ASYNC;
    int64_t copied = boxes ? f->direct_bytes : f->stage_bytes,
            flying = boxes ? s->stages : max64(s->stages - 1, 1);
    int64_t copies = iterations * copied / 16 / (s->threads / s->groups);
    int64_t reach = max64(active * f->stage_bytes * s->groups * flying * 1000 / FLIGHT_NS, 1);
    int64_t factor = mo_cost_uses_f32(g) ? 8 : 1;
    int64_t chain = steps * (STEP_NS * 1000 + STEP_PS_PER_ACC * f->accumulators) * factor + copies * COPY_PS;
    int64_t issue =
        steps * (ISSUE_PS + ISSUE_PS_PER_ACC * f->accumulators) * factor + copies * ISSUE_PS_PER_COPY;
    const int64_t times[] = {
        f->dram_bytes * 1000 / min64(reach, d->dram_bytes_per_us),
        f->block_bytes * f->blocks * 900 / d->l2_bytes_per_us,
        chain * waves / 1000,
        issue * (s->threads / 32) * divide_up(f->blocks, d->sms) / 4000,
        iterations * waves * SLAB_WAIT_NS / flying,
    };
    int64_t exchange = s->cluster > 1 ? CLUSTER_NS : 0;
    return d->launch_ns + START_NS + waves * WAVE_NS + exchange + mo_cost_overlap(times, 5);
}

static int64_t cost_row(const mo_cost_context *c, const mo_prim *g, const mo_schedule *s,
                        const mo_kernel_facts *f)
{
    const mo_device *d = c->device;
    int levels = 0, strided = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        levels += g->nodes[i].reduced != 0;
        if (g->nodes[i].op != MO_OP_ITER || !(g->nodes[i].axes >> s->row_axis & 1u)) continue;
        if (!s->rows_fast && g->nodes[i].access.stride[s->row_axis] > 1) strided = 1;
    }
    int64_t at_once = (int64_t)d->sms * (2048 / s->threads), waves = divide_up(f->blocks, at_once);
    int64_t busy = f->blocks < d->sms ? f->blocks : d->sms;
    int64_t bandwidth = d->dram_bytes_per_us * busy / d->sms;
    int64_t passes = s->resident ? 1 : levels + 1;
    int64_t dram = f->dram_bytes * 1000 / bandwidth * (strided ? 8 : 1) * (3 + passes) / 4;
    int64_t items = divide_up(g->axes[s->row_axis].extent, s->lanes);
    int64_t chain = waves * (LATENCY_NS + (levels + 1) * (200 + items * 2 * (s->vector == 1 ? 4 : 1)));
    if (!s->resident) chain += waves * items * 20 * passes;
    int64_t compute = f->pointwise * 1000 / (d->f32_flops_per_us * busy / d->sms);
    return d->launch_ns + max64(max64(dram + LATENCY_NS, chain), compute + LATENCY_NS);
}

static int64_t cost_plain(const mo_cost_context *c, const mo_prim *g, const mo_kernel_facts *f)
{
    const mo_device *d = c->device;
    int64_t work = f->pointwise + f->flops, serial = 1;
    mo_axes reduced = 0;
    for (int i = 0; i < g->n_nodes; i++) reduced |= g->nodes[i].reduced;
    serial = mo_prim_extent(g, reduced);
    int64_t dram = f->dram_bytes * 2000 / d->dram_bytes_per_us;
    int64_t compute = work * 8 * 1000 / d->f32_flops_per_us;
    int64_t chain = serial * 40;
    return d->launch_ns + LATENCY_NS + max64(max64(dram, compute), chain);
}

int64_t mo_cost_of_facts(const mo_cost_context *c, const mo_prim *body, const mo_schedule *s,
                         const mo_kernel_facts *facts)
{
    switch (s->kind) {
    case MO_SCHEDULE_STREAM: return cost_stream(c, body, s, facts);
    case MO_SCHEDULE_ROW: return cost_row(c, body, s, facts);
    case MO_SCHEDULE_PLAIN: return cost_plain(c, body, facts);
    case MO_SCHEDULE_COPY:
    case MO_SCHEDULE_CHAIN:
    case MO_SCHEDULE_BLOCK: break; /* mo_cost_move, cost/block.h */
    }
    return INT64_MAX;
}

int64_t mo_cost_kernel(const mo_cost_context *c, const mo_prim *body, const mo_schedule *s)
{
    mo_kernel_facts facts = mo_cost_facts(c, body, s);
    return mo_cost_of_facts(c, body, s, &facts);
}

int64_t mo_cost_move(const mo_cost_context *c, const mo_program *program, int node)
{
    const mo_tensor *to = &program->tensors[program->nodes[node].outputs[0]];
    int64_t bytes = 2 * mo_shape_elements(to->shape) * mo_dtype_size(to->dtype);
    return c->device->launch_ns + LATENCY_NS + bytes * 2000 / c->device->dram_bytes_per_us;
}

int64_t mo_program_bytes(const mo_program *program)
{
    int64_t bytes = 0;
    for (int t = 0; t < program->n_tensors; t++) {
        bool counts = false;
        for (int n = 0; t < program->n_inputs && n < program->n_nodes; n++)
            for (int j = 0; j < program->nodes[n].n_inputs; j++)
                counts |= program->nodes[n].inputs[j].tensor == t;
        for (int i = 0; i < program->n_outputs; i++) {
            if (program->outputs[i] != t) continue;
            counts = true;
        }
        if (counts)
            bytes += mo_shape_elements(program->tensors[t].shape) * mo_dtype_size(program->tensors[t].dtype);
    }
    return bytes;
}

int64_t mo_mugraph_flops(const mo_mugraph *graph)
{
    int64_t flops = 0;
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_prim *g = graph->kernels[k].body;
        for (int i = 0; i < g->n_nodes; i++)
            if (g->nodes[i].op == MO_OP_MATMUL)
                flops += 2 * mo_prim_extent(g, g->nodes[i].axes | g->nodes[i].reduced);
    }
    return flops;
}

int64_t mo_cost_floor(const mo_device *device, int64_t bytes, int64_t flops)
{
    int64_t memory = device->launch_ns + LATENCY_NS / 2 + bytes * 1000 / device->dram_bytes_per_us;
    int64_t matrix = flops * 1000 / device->mma_flops_per_us;
    return max64(memory, matrix);
}
