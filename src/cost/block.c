#include "cost/block.h"

#define START_NS 1100 /* beside the launch */
#define WAVE_NS 1800  /* first slab, store */
#define FLIGHT_NS 656 /* of a cold slab, for Little's law */
#define SLAB_WAIT_NS 585
#define STEP_NS 180 /* a product or a reduction across the block, dependent on the one before */
#define ACCUMULATOR_LIMIT (1 << 17) /* bytes: half of the register file */
#define REGISTERS_PER_THREAD 60     /* beside the accumulators */
#define LEAST_PRODUCT 128           /* elements of an m16n8 fragment */

static int64_t max64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* Elements of a value that a block makes in all, over a whole loop. */
static int64_t block_elements(const mo_kernel *kernel, mo_axes axes)
{
    int64_t elements = 1;
    MO_FOR_AXES(a, axes)
        elements *= kernel->schedule.place[a] == MO_PLACE_GRID ? kernel->schedule.tile[a]
                                                               : kernel->body->axes[a].extent;
    return elements;
}

/* The loops in which each node with the loop axis is evaluated, as a mask. */
static uint32_t *loops_of(mo_arena *scratch, const mo_kernel *kernel, const mo_block *block)
{
    const mo_prim *g = kernel->body;
    mo_axes loop = kernel->schedule.loop_axis < 0 ? 0 : 1u << kernel->schedule.loop_axis;
    uint32_t *mask = MO_NEW_ARRAY(scratch, uint32_t, g->n_nodes + 1);
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        const mo_prim_node *node = &g->nodes[i];
        for (int j = 0; j < node->n_in; j++) {
            if (!(g->nodes[node->in[j]].axes & loop)) continue;
            mask[node->in[j]] |= node->reduced & loop ? 1u << min64(block->ready[i] - 1, 31) : mask[i];
        }
    }
    return mask;
}

static void count_iterator(const mo_cost_context *c, const mo_kernel *kernel, const mo_prim_node *node,
                           int64_t times, mo_block_facts *f)
{
    const mo_schedule *s = &kernel->schedule;
    int64_t size = mo_dtype_size(c->tensor_dtype[node->access.tensor]);
    mo_axes real = 0;
    MO_FOR_AXES(a, node->axes)
        if (node->access.stride[a] != 0) real |= 1u << a;
    f->dram_bytes += mo_prim_extent(kernel->body, real) * size;
    f->block_bytes += block_elements(kernel, real) * size * times;
    int64_t tile = mo_block_tile(kernel, real) * size;
    if (s->loop_axis >= 0 && real >> s->loop_axis & 1u)
        f->stage_bytes += tile;
    else
        f->shared_bytes += tile;
}

static void count_operator(const mo_kernel *kernel, int index, int64_t times, mo_block_facts *f)
{
    const mo_prim *g = kernel->body;
    const mo_prim_node *node = &g->nodes[index];
    int64_t made = block_elements(kernel, node->axes), over = block_elements(kernel, node->reduced);
    if (node->op != MO_OP_MATMUL) {
        f->pointwise += made * over * mo_op_get(node->op)->flops * times;
    } else {
        f->product_flops += 2 * max64(made, LEAST_PRODUCT) * over * times;
        for (int j = 0; j < 2; j++)
            if (g->nodes[node->in[j]].op != MO_OP_ITER)
                f->shared_bytes += mo_block_tile(kernel, g->nodes[node->in[j]].axes) * 2;
    }
    if (node->reduced == 0) return;
    f->accumulator_bytes += mo_block_tile(kernel, node->axes) * 4;
    mo_axes loop = kernel->schedule.loop_axis < 0 ? 0 : 1u << kernel->schedule.loop_axis;
    if ((node->axes | node->reduced) & loop) f->steps++;
}

mo_block_facts mo_cost_block_facts(mo_arena *scratch, const mo_cost_context *c, const mo_kernel *kernel,
                                   const mo_block *block)
{
    const mo_prim *g = kernel->body;
    const mo_schedule *s = &kernel->schedule;
    mo_block_facts f = {.blocks = mo_block_grid(kernel), .iterations = 1};
    const uint32_t *loops = loops_of(scratch, kernel, block);
    for (int i = 0; i < g->n_nodes; i++) {
        int64_t times = loops[i] == 0 ? 1 : __builtin_popcount(loops[i]);
        if (g->nodes[i].op == MO_OP_ITER)
            count_iterator(c, kernel, &g->nodes[i], times, &f);
        else if (g->nodes[i].op != MO_OP_CONST)
            count_operator(kernel, i, times, &f);
    }
    for (int i = 0; i < g->n_savers; i++)
        f.dram_bytes += mo_prim_extent(g, g->nodes[g->savers[i].node].axes) *
                        mo_dtype_size(c->tensor_dtype[g->savers[i].access.tensor]);
    if (s->loop_axis >= 0) f.iterations = divide_up(g->axes[s->loop_axis].extent, s->tile[s->loop_axis]);
    f.shared_bytes += f.stage_bytes * s->stages;
    return f;
}

/* Blocks that share a multiprocessor. */
static int64_t blocks_per_sm(const mo_device *d, const mo_schedule *s, const mo_block_facts *f)
{
    int64_t registers = s->threads * REGISTERS_PER_THREAD + f->accumulator_bytes / 4;
    int64_t count = min64(d->shared_per_sm / (f->shared_bytes + 1024), 65536 / registers);
    return max64(min64(count, 2048 / s->threads), 1);
}

int64_t mo_cost_block(const mo_cost_context *c, const mo_kernel *kernel, const mo_block *block,
                      const mo_block_facts *f)
{
    const mo_device *d = c->device;
    const mo_schedule *s = &kernel->schedule;
    if (f->shared_bytes > d->shared_per_block || f->accumulator_bytes > ACCUMULATOR_LIMIT) return INT64_MAX;
    int64_t resident = blocks_per_sm(d, s, f), waves = divide_up(f->blocks, resident * d->sms);
    int64_t active = min64(f->blocks, resident * d->sms), turns = max64(block->loops, 1) * f->iterations;
    int64_t flight = max64(f->stage_bytes * (s->stages - 1), f->block_bytes / turns);
    int64_t reach = max64(active * flight * 1000 / FLIGHT_NS, 1);
    int64_t rate = mo_cost_uses_f32(kernel->body) ? d->f32_flops_per_us : d->mma_flops_per_us / 2;
    int64_t per_sm = divide_up(f->blocks, d->sms) * d->sms;
    const int64_t times[] = {
        f->dram_bytes * 1000 / min64(reach, d->dram_bytes_per_us),
        f->block_bytes * f->blocks * 900 / d->l2_bytes_per_us,
        turns * waves * (SLAB_WAIT_NS / max64(s->stages - 1, 1) + f->steps * STEP_NS),
        f->product_flops * per_sm * 1000 / rate + f->pointwise * per_sm * 1000 / d->f32_flops_per_us,
    };
    return d->launch_ns + START_NS + waves * WAVE_NS + mo_cost_overlap(times, 4);
}

#define SLAB_CHAIN_NS 350      /* of a warp, for a slab: latencies */
#define SLAB_CHAIN_PS_PER 5600 /* for each element of the slab */
#define PADDED 9               /* eighths that rows take with their padding */
#define POINTWISE_FACTOR 2     /* exponentials run at a fraction of the rate that the table counts */

int64_t mo_cost_chain(const mo_cost_context *c, const mo_kernel *kernel, const mo_block_facts *f)
{
    const mo_device *d = c->device;
    const mo_schedule *s = &kernel->schedule;
    int64_t per_group = divide_up(f->iterations, s->groups);
    int64_t ring = f->stage_bytes * s->stages * s->groups * PADDED / 8;
    int64_t tail = f->accumulator_bytes * s->groups * PADDED / 8;
    int64_t resident = (f->shared_bytes - f->stage_bytes * s->stages) * PADDED / 8;
    mo_block_facts block = *f;
    block.shared_bytes = resident + max64(ring, tail);
    block.accumulator_bytes = f->accumulator_bytes * s->groups;
    if (block.shared_bytes > d->shared_per_block) return INT64_MAX;
    int64_t together = blocks_per_sm(d, s, &block), waves = divide_up(f->blocks, together * d->sms);
    int64_t active = min64(f->blocks, together * d->sms),
            fragments = s->tile[s->p_axis] / (16 * (int64_t)s->warps_p);
    int64_t reach =
        max64(active * f->stage_bytes * s->groups * max64(s->stages - 1, 1) * 1000 / FLIGHT_NS, 1);
    int64_t slab_ns = SLAB_CHAIN_NS + s->tile[s->loop_axis] * SLAB_CHAIN_PS_PER * max64(fragments, 1) / 1000;
    int64_t per_sm = divide_up(f->blocks, d->sms) * d->sms;
    int64_t work = f->product_flops * per_sm * 1000 / (d->mma_flops_per_us * 2 / 3) +
                   f->pointwise * per_sm * POINTWISE_FACTOR * 1000 / d->f32_flops_per_us;
    const int64_t times[] = {
        f->dram_bytes * 1000 / min64(reach, d->dram_bytes_per_us),
        f->block_bytes * f->blocks * 900 / d->l2_bytes_per_us,
        waves * per_group * slab_ns,
        work,
    };
    return d->launch_ns + START_NS + waves * WAVE_NS + mo_cost_overlap(times, 4);
}
