/* STREAM: launch, then for each wave of blocks a fixed cost, then the cubic mean-like sum of five times that
 * overlap imperfectly: device memory, L2, the chain of iterations of one group, the issue slots of one SM,
 * and the waits for slabs. Beside them stand what overlaps with nothing: products over axes that a block
 * holds whole, the exchanges between groups and between a pair of blocks, registers that do not suffice, and
 * more bytes in flight than help. The constants were fitted to 849 schedules of fourteen programs measured on
 * an H200 (docs/performance.md), those of copies by threads to 376 others; bandwidths and rates scale by the
 * device table. */
#include "cost/model.h"

#define LATENCY_NS 900 /* first bytes of a cold read (ROW, PLAIN) */
#define START_NS 1600  /* STREAM: beside the launch */
#define WAVE_NS 100    /* first slab, store */
#define FLIGHT_NS 1100 /* of a cold slab, for Little's law */
#define SM_BYTES_PER_US                                                                                \
    80000                /* that one SM takes from memory at most: 33 MB through 32 of them took 14 us \
                          */
#define SLAB_WAIT_NS 980 /* for each iteration, shared by the slabs in flight */
#define L2_PERMILLE 463  /* of the time that the table's L2 bandwidth takes: blocks ask for the same lines */
#define STEP_PS 42500    /* one k16 step of a warp: ldmatrix to mma */
#define STEP_PS_PER_ACC 1780
#define HELD_STEP_NS \
    806              /* a k16 step over an axis that is held whole: its operands come from memory unstaged */
#define COPY_PS 4753 /* for each 16-byte copy of a thread */
#define DIRECT_PS 67400 /* for each 16-byte load of a direct operand */
#define ISSUE_PS 21400  /* issue slots of a k16 step */
#define ISSUE_PS_PER_ACC 810
#define ISSUE_PS_PER_COPY 10380
#define ISSUE_PS_PER_DIRECT 80000
#define WGMMA_SLAB_NS 150    /* from a slab that has come to one that is free */
#define WGMMA_PS_PER_ACC 610 /* a k16 step of a warp group, for each accumulator of a thread */
#define EXCHANGE_PS 26       /* of an accumulator of a block through shared memory, behind the loop */
#define CLUSTER_NS 1372      /* two cluster barriers */
#define CLUSTER_PS 160       /* of an accumulator that a pair of blocks exchanges */
#define PARTS_NS 1400        /* sums to device memory, a counter, and back */
#define PARTS_PS 40          /* of an accumulator that one block leaves for another */
#define CROWDED_READS \
    2 /* of what all blocks ask for at once: times what L2 takes; less, the more iterations */
#define SPILL_PS 27900            /* for each step and missing register */
#define IN_FLIGHT_BYTES 98304     /* of one SM that help */
#define IN_FLIGHT_PS_PER_KB 10850 /* for those beyond */
#define IN_FLIGHT_WGMMA_PS_PER_KB 2100
#define REGISTERS_PER_THREAD 60 /* beside the accumulators */
/* Products of f32, as sums of TF32 products: for a k16 step and a fragment of the accumulator six mma.k8,
 * each of which takes the time of a 16-bit mma.k16, and eight additions; for a k16 step five instructions
 * that split each element, 8 of a lane in a fragment of the 16-side and 4 in one of the 8-side, beside loads
 * and waits that are not many more. By the constants above that is 3 times a 16-bit step with one fragment
 * and 6 times one with sixteen. */
#define TF32_FACTOR 5
#define TF32_REGISTERS 4 /* that a split fragment of the 8-side takes more than a 16-bit one */
#define TF32_SUMS 24 /* registers of the 16-side's fragment, and of sums on their way to the accumulators */

#define ROW_START_NS 450  /* beside the launch */
#define ROW_THREAD_PS 500 /* for each thread of a block */
#define ROW_SHUFFLE_NS 15
#define ROW_BARRIER_NS 60
#define ROW_WARP_NS 3     /* of a row, behind the barrier */
#define ROW_ELEMENT_NS 6  /* of a thread */
#define ROW_PASSING_NS 20 /* the same, where the row is read again */
#define ROW_BLOCK_PS 1100 /* launch of a block */
#define ROW_PIECE_LOSS 32 /* bytes lost for each piece of a row that is read on its own */
#define PLAIN_STEP_NS 20  /* a load or a step of a reduction */
#define MOST_STEPS ((int64_t)1 << 40)
#define MOST_NODES 256   /* larger graphs are not looked at so closely */
#define MOST_VISITS 4096 /* nodes of a nest, before it counts as endless */

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

/* Shared memory of one slab of an iterator: rows padded to an odd number of 16-byte chunks, or twice an odd
 * number where a product by TF32 reads f32 elements across them. */
static int64_t slab_bytes(const mo_prim *g, const mo_schedule *s, const mo_prim_node *n, int size)
{
    int tile = -1;
    MO_FOR_AXES(a, n->axes)
        if (a != s->loop_axis && !(s->place[a] == MO_PLACE_GRID && s->tile[a] == 1)) tile = a;
    int64_t across = 8, inner = round_up(s->tile[s->loop_axis], 16);
    if (tile >= 0) across = round_up(s->tile[tile], tile != s->q_axis ? 16 : s->wgmma ? 64 : 8);
    bool inner_rows = tile >= 0 && n->access.stride[tile] == 1 && n->access.stride[s->loop_axis] != 1;
    int64_t rows = inner_rows ? inner : across, cols = inner_rows ? across : inner;
    if (s->copy != MO_COPY_ASYNC) return round_up(rows * cols * size, 1024);
    int64_t chunks = divide_up(cols * size, 16);
    bool across_rows = size == 4 && inner_rows && mo_cost_uses_f32(g);
    return round_up(rows * (across_rows ? (chunks + 1) / 4 * 4 + 2 : chunks | 1) * 16, 128);
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
        facts->direct_bytes += slab_bytes(g, s, n, size);
    else if (looped)
        facts->stage_bytes += slab_bytes(g, s, n, size);
}

static void count_product(const mo_prim *g, const mo_schedule *s, const mo_prim_node *n,
                          mo_kernel_facts *facts)
{
    int64_t p = 16, q = 8, other = 1;
    MO_FOR_AXES(a, n->axes) {
        if (a == s->q_axis)
            q = round_up(s->tile[a], s->wgmma ? 64 : 8);
        else if (a == s->p_axis || s->place[a] != MO_PLACE_GRID)
            p = round_up(s->tile[a], 16);
    }
    MO_FOR_AXES(a, n->reduced) other *= g->axes[a].extent;
    facts->flops += 2 * p * q * other * facts->blocks / (s->cluster * s->parts);
    int64_t warps = (int64_t)s->warps_p * s->warps_q * 32;
    if (warps > 0) {
        facts->accumulators += divide_up(p / 16, s->warps_p) * divide_up(q / 8, s->warps_q) * 4;
        facts->shared_bytes += s->groups * q * (p + 4) * 4;
        if (mo_cost_uses_f32(g))
            facts->registers =
                max64(facts->registers, divide_up(q / 8, s->warps_q) * TF32_REGISTERS + TF32_SUMS);
    }
}

mo_kernel_facts mo_cost_facts(const mo_cost_context *c, const mo_prim *g, const mo_schedule *s)
{
    mo_kernel_facts facts = {.blocks = 1};
    mo_axes saved = 0;
    for (int i = 0; i < g->n_savers; i++) saved |= g->nodes[g->savers[i].node].axes;
    if (s->kind == MO_SCHEDULE_STREAM) {
        facts.blocks = s->cluster * s->parts;
        MO_FOR_AXES(a, saved) facts.blocks *= divide_up(g->axes[a].extent, s->tile[a]);
    } else if (s->kind == MO_SCHEDULE_ROW) {
        facts.blocks = divide_up(mo_prim_extent(g, saved & ~(1u << s->row_axis)), s->threads / s->lanes) *
                       divide_up(g->axes[s->row_axis].extent, s->tile[s->row_axis]);
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
    facts.block_bytes /= s->kind == MO_SCHEDULE_STREAM ? s->cluster * s->parts : 1;
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

/* k16 steps of one group in one block over axes that are held whole. */
static int64_t held_steps(const mo_prim *g, const mo_schedule *s)
{
    int64_t steps = 0;
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == MO_OP_MATMUL && !(g->nodes[i].reduced >> s->loop_axis & 1u))
            steps += divide_up(mo_prim_extent(g, g->nodes[i].reduced), 16 * (int64_t)s->groups);
    return steps;
}

/* How a STREAM schedule fills the processors. */
typedef struct {
    int64_t resident, waves, active,
        per_sm;                      /* blocks: on one SM at once, rounds, at once, on one SM in all */
    int64_t iterations, steps, held; /* of one group */
    int64_t flying;                  /* slabs under way in a ring */
} stream_use;

static stream_use use_of(const mo_cost_context *c, const mo_prim *g, const mo_schedule *s,
                         const mo_kernel_facts *f)
{
    const mo_device *d = c->device;
    stream_use u;
    u.resident = min64(d->shared_per_sm / (f->shared_bytes + 1024),
                       65536 / (s->threads * (f->accumulators + f->registers + REGISTERS_PER_THREAD)));
    u.resident = max64(min64(u.resident, 2048 / s->threads), 1);
    u.waves = divide_up(f->blocks, u.resident * d->sms);
    u.active = min64(f->blocks, u.resident * d->sms);
    u.per_sm = divide_up(f->blocks, d->sms);
    u.iterations = divide_up(divide_up(g->axes[s->loop_axis].extent, s->tile[s->loop_axis]),
                             (int64_t)s->groups * s->cluster * s->parts);
    u.held = held_steps(g, s);
    u.steps = u.iterations * divide_up(s->tile[s->loop_axis], 16);
    u.flying = s->copy == MO_COPY_ASYNC ? max64(s->stages - 1, 1) : s->stages;
    return u;
}

/* Times that overlap, each as if it were alone. */
static int64_t overlapping(const mo_cost_context *c, const mo_prim *g, const mo_schedule *s,
                           const mo_kernel_facts *f, const stream_use *u)
{
    const mo_device *d = c->device;
    int64_t factor = mo_cost_uses_f32(g) ? TF32_FACTOR : 1, threads = s->threads / s->groups;
    int64_t copies = s->copy == MO_COPY_ASYNC ? u->iterations * f->stage_bytes / 16 / threads : 0;
    int64_t direct = u->iterations * f->direct_bytes / 16 / threads;
    int64_t reach = max64(u->active * f->stage_bytes * s->groups * u->flying * 1000 / FLIGHT_NS, 1);
    int64_t chain = u->steps * (STEP_PS + STEP_PS_PER_ACC * f->accumulators) * factor + copies * COPY_PS +
                    direct * DIRECT_PS;
    int64_t issue = (u->steps + u->held) * (ISSUE_PS + ISSUE_PS_PER_ACC * f->accumulators) * factor +
                    copies * ISSUE_PS_PER_COPY + direct * ISSUE_PS_PER_DIRECT;
    if (s->wgmma) {
        chain = u->iterations * WGMMA_SLAB_NS * 1000 + u->steps * WGMMA_PS_PER_ACC * f->accumulators;
        issue = u->steps * WGMMA_PS_PER_ACC * f->accumulators; /* of all four schedulers at once */
    }
    const int64_t times[] = {
        f->dram_bytes * 1000 / min64(reach, d->dram_bytes_per_us),
        f->block_bytes * f->blocks * L2_PERMILLE / d->l2_bytes_per_us,
        chain * u->waves / 1000,
        issue * (s->threads / 32) * u->per_sm / 4000,
        u->iterations * u->waves * SLAB_WAIT_NS / u->flying,
    };
    return mo_cost_overlap(times, 5);
}

/* Registers that a thread lacks beside its accumulators. */
static int64_t missing_registers(const mo_schedule *s, const mo_kernel_facts *f)
{
    int64_t there = min64(65536 / s->threads / 8 * 8, 255);
    return max64(f->accumulators + f->registers + REGISTERS_PER_THREAD - 4 - there, 0);
}

static int64_t cost_stream(const mo_cost_context *c, const mo_prim *g, const mo_schedule *s,
                           const mo_kernel_facts *f)
{
    stream_use u = use_of(c, g, s, f);
    int64_t in_flight =
        min64(u.resident, u.per_sm) * s->groups * min64(u.flying, u.iterations) * f->stage_bytes;
    int64_t ps = u.held * u.waves * HELD_STEP_NS * 1000, exchanged = f->accumulators * s->threads;
    if (s->cluster > 1) ps += CLUSTER_NS * 1000 + CLUSTER_PS * exchanged / s->groups;
    if (s->parts > 1) ps += PARTS_NS * 1000 + PARTS_PS * (s->parts + 1) * exchanged / s->groups;
    ps += EXCHANGE_PS * exchanged * u.waves;
    int64_t again = max64(f->block_bytes * f->blocks - f->dram_bytes, 0);
    ps += again * CROWDED_READS * 1000000 / c->device->l2_bytes_per_us / (u.iterations * u.iterations);
    int64_t crowd = s->wgmma ? IN_FLIGHT_WGMMA_PS_PER_KB : IN_FLIGHT_PS_PER_KB;
    ps += max64(in_flight - IN_FLIGHT_BYTES, 0) / 1024 * crowd;
    ps += missing_registers(s, f) * (u.steps + u.held) * SPILL_PS;
    return c->device->launch_ns + START_NS + u.waves * WAVE_NS + ps / 1000 + overlapping(c, g, s, f, &u);
}

/* Reductions on the deepest path; *all counts those beside them too, which share their exchanges. */
static int reduction_levels(const mo_prim *g, int *all)
{
    int level[MOST_NODES] = {0}, most = 0;
    *all = 0;
    for (int i = 0; i < g->n_nodes && i < MOST_NODES; i++) {
        for (int j = 0; j < g->nodes[i].n_in; j++)
            if (level[g->nodes[i].in[j]] > level[i]) level[i] = level[g->nodes[i].in[j]];
        level[i] += g->nodes[i].reduced != 0;
        *all += g->nodes[i].reduced != 0;
        if (level[i] > most) most = level[i];
    }
    return most;
}

/* Shuffles, then for more than a warp a barrier and the results of all warps. */
static int64_t reduction_ns(const mo_schedule *s)
{
    int64_t ns = 0;
    if (s->rows_fast) return 200;
    for (int d = 1; d < s->lanes && d < 32; d *= 2) ns += ROW_SHUFFLE_NS;
    return s->lanes > 32 ? ns + ROW_BARRIER_NS + s->lanes / 32 * ROW_WARP_NS : ns;
}

/* Neighbouring threads are far apart in some operand. */
static bool row_is_strided(const mo_prim *g, const mo_schedule *s)
{
    for (int i = 0; i < g->n_nodes && !s->rows_fast; i++)
        if (g->nodes[i].op == MO_OP_ITER && g->nodes[i].axes >> s->row_axis & 1u &&
            g->nodes[i].access.stride[s->row_axis] > 1)
            return true;
    return false;
}

/* Memory at the rate of the device, unless rows are read in pieces of little more than a sector. */
static int64_t row_memory_ns(const mo_cost_context *c, const mo_prim *g, const mo_schedule *s,
                             const mo_kernel_facts *f, int64_t passes)
{
    int64_t bytes = f->dram_bytes * (row_is_strided(g, s) ? 8 : 1) * (3 + passes) / 4;
    int64_t ns = bytes * 1000 / c->device->dram_bytes_per_us, piece = 2 * (int64_t)s->lanes * s->vector;
    bool pieces = !s->rows_fast && (int64_t)s->lanes * s->vector < g->axes[s->row_axis].extent;
    return pieces ? ns + ns * ROW_PIECE_LOSS / piece : ns;
}

/* What overlaps: device memory, the ways into the processors that have a block, their issue slots, and the
 * launch of blocks. What does not: the first bytes, the elements of a thread, the reductions. Fitted to 360
 * schedules of ten programs measured on an H200, where a launch overlaps the kernel before it. */
static int64_t cost_row(const mo_cost_context *c, const mo_prim *g, const mo_schedule *s,
                        const mo_kernel_facts *f)
{
    const mo_device *d = c->device;
    int reductions, levels = reduction_levels(g, &reductions);
    int64_t busy = min64(f->blocks, d->sms), passes = s->resident ? 1 : levels + 1;
    int64_t at_once = (int64_t)d->sms * max64(min64(2048 / s->threads, 32), 1);
    int64_t elements = divide_up(s->tile[s->row_axis], s->lanes);
    const int64_t times[] = {
        row_memory_ns(c, g, s, f, passes),
        (f->block_bytes * f->blocks + f->dram_bytes / 3) * 1000 / (3 * d->dram_bytes_per_us * busy / d->sms),
        (f->pointwise + f->flops) * 2000 / (d->f32_flops_per_us * busy / d->sms),
        f->blocks * ROW_BLOCK_PS / 1000,
    };
    int64_t serial =
        (levels + reductions) * reduction_ns(s) / 2 + elements * (s->vector == 1 ? 4 : 1) * ROW_ELEMENT_NS;
    if (!s->resident)
        serial += divide_up(f->blocks, at_once) * passes * (LATENCY_NS + elements * ROW_PASSING_NS);
    return d->launch_ns + ROW_START_NS + s->threads * ROW_THREAD_PS / 1000 + serial +
           mo_cost_overlap(times, 4);
}

static int64_t saturating_product(int64_t a, int64_t b)
{
    return b != 0 && a > MOST_STEPS / b ? MOST_STEPS : a * b;
}

/* Steps of the thread that computes node `node` where the nodes in `known` are: what stands in a loop is
 * computed again each time round, unless it was known outside (codegen/plain.c). `left` bounds the walk,
 * whose length grows as the text of the kernel does. */
static int64_t plain_steps(const mo_prim *g, int node, bool *known, int *left)
{
    const mo_prim_node *n = &g->nodes[node];
    if (known[node] || n->op == MO_OP_CONST) return 0;
    if (--*left < 0) return MOST_STEPS;
    known[node] = true;
    if (n->op == MO_OP_ITER) return 1;
    bool inside[MOST_NODES];
    for (int i = 0; i < g->n_nodes; i++) inside[i] = known[i] && (g->nodes[i].axes & n->reduced) == 0;
    int64_t steps = n->reduced != 0; /* elementwise arithmetic is hidden behind its operands */
    for (int j = 0; j < n->n_in; j++)
        steps = min64(steps + plain_steps(g, n->in[j], n->reduced != 0 ? inside : known, left), MOST_STEPS);
    return saturating_product(steps, mo_prim_extent(g, n->reduced));
}

static int64_t cost_plain(const mo_cost_context *c, const mo_prim *g, const mo_kernel_facts *f)
{
    const mo_device *d = c->device;
    int64_t longest = 1, work = f->pointwise + f->flops;
    int left = MOST_VISITS;
    for (int i = 0; i < g->n_savers && g->n_nodes <= MOST_NODES; i++) {
        bool known[MOST_NODES] = {false};
        int64_t steps = plain_steps(g, g->savers[i].node, known, &left);
        work = max64(work, saturating_product(steps, mo_prim_extent(g, g->nodes[g->savers[i].node].axes)));
        longest = max64(longest, steps);
    }
    mo_axes reduced = 0;
    for (int i = 0; i < g->n_nodes; i++) reduced |= g->nodes[i].reduced;
    int64_t dram = f->dram_bytes * 2000 / d->dram_bytes_per_us;
    int64_t compute = saturating_product(work, 8 * 1000) / d->f32_flops_per_us;
    int64_t chain = max64(mo_prim_extent(g, reduced) * 40, longest * PLAIN_STEP_NS);
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
