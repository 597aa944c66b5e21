/* Sets of cut values, smaller ones first, each size depth-first in order of node numbers. The kernel of a cut
 * value depends only on the cuts before it, so that its cost is known at once: a set is given up when the
 * kernels that it has and the launches that it still needs cost more than the worst partition kept. */
#include "search/cuts.h"

#include "base/status.h"
#include "search/split.h"

#include <string.h>

#define MOST_PARTS 64 /* blocks that share a reduced axis */
#define MOST_SPLITS 6 /* powers of two up to there */
#define LEAST_PART 64 /* elements of the axis for each */

/* One set being tried. */
typedef struct {
    mo_cutter *cutter;
    const mo_prim *graph;
    mo_dtype *dtypes; /* of tensors as stored: the program's, then the cut values */
    int n_cut;
    int cut[MO_MAX_CUT];               /* nodes, ascending */
    mo_cut_kernel kernels[MO_MAX_CUT]; /* in scratch memory */
    int64_t cost_ns, any_ns;           /* of these: emittable, any */
    const bool *partial;               /* nodes that are partial sums, always in f32; or NULL */
    int parts_axis;                    /* their parts: the outermost dimension in memory; or -1 */
} cut_set;

static mo_partition_list new_list(mo_arena *arena, int capacity)
{
    return (mo_partition_list){.capacity = capacity, .best = MO_NEW_ARRAY(arena, mo_partition, capacity + 1)};
}

void mo_cutter_init(mo_cutter *cutter, mo_arena *arena, const mo_device *device, mo_passes off, mo_pool *pool,
                    int max_kernels, int capacity, int any_capacity)
{
    *cutter = (mo_cutter){.arena = arena, .device = device, .max_kernels = max_kernels};
    cutter->scratch = mo_arena_new();
    cutter->emittable = new_list(arena, capacity);
    cutter->any = new_list(arena, any_capacity);
    cutter->cache = mo_body_cache_new(arena, device, off, pool, MO_KERNEL_CHOICES);
}

void mo_cutter_free(mo_cutter *cutter)
{
    mo_body_cache_free(cutter->cache);
    mo_arena_free(cutter->scratch);
    cutter->scratch = NULL;
}

static int cut_position(const cut_set *set, int node)
{
    for (int i = 0; i < set->n_cut; i++)
        if (set->cut[i] == node) return i;
    return -1;
}

static void add_dimension(const cut_set *set, int axis, mo_shape *shape, int8_t dim_axis[MO_MAX_RANK])
{
    MO_CHECK(shape->rank < MO_MAX_RANK);
    dim_axis[shape->rank] = (int8_t)axis;
    shape->dim[shape->rank++] = set->graph->axes[axis].extent;
}

/* The saver that writes this node, or -1. */
static int saver_of(const mo_prim *g, int node)
{
    for (int s = 0; s < g->n_savers; s++)
        if (g->savers[s].node == node) return s;
    return -1;
}

/* Intermediates are numbered behind the program's tensors; a cut value that is saved has its own there. */
static int tensor_of(const cut_set *set, int position)
{
    int saver = saver_of(set->graph, set->cut[position]), tensor = set->graph->program->n_tensors;
    if (saver >= 0) return set->graph->savers[saver].access.tensor;
    for (int i = 0; i < position; i++) tensor += saver_of(set->graph, set->cut[i]) < 0;
    return tensor;
}

/* An intermediate is laid out with its axes in their order, the last one contiguous; parts of a split axis
 * lie one behind the other. */
static mo_access intermediate_access(const cut_set *set, int position, mo_shape *shape)
{
    const mo_prim *g = set->graph;
    int8_t dim_axis[MO_MAX_RANK];
    int64_t strides[MO_MAX_RANK];
    mo_axes axes = g->nodes[set->cut[position]].axes;
    int saver = saver_of(g, set->cut[position]);
    *shape = (mo_shape){0};
    if (saver >= 0) return g->savers[saver].access;
    if (set->parts_axis >= 0 && axes >> set->parts_axis & 1u) {
        add_dimension(set, set->parts_axis, shape, dim_axis);
        axes &= ~(1u << set->parts_axis);
    }
    MO_FOR_AXES(a, axes) add_dimension(set, a, shape, dim_axis);
    mo_shape_row_major(*shape, strides);
    return mo_access_make(tensor_of(set, position), *shape, strides, dim_axis);
}

/* What products of 16-bit operands read is rounded to the compute dtype there anyway; everything else, also
 * an operand of a product that runs in f32 and what other operators read too, stays in f32, so that cutting
 * never loses accuracy. */
static mo_dtype intermediate_dtype(const mo_prim *g, int node)
{
    mo_dtype compute = g->nodes[node].compute;
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_prim_node *n = &g->nodes[i];
        bool reads = (n->n_in > 0 && n->in[0] == node) || (n->n_in > 1 && n->in[1] == node);
        if (!reads) continue;
        if (n->op != MO_OP_MATMUL || g->nodes[n->in[0]].compute != g->nodes[n->in[1]].compute) return MO_F32;
    }
    return compute;
}

static mo_dtype stored_dtype(const cut_set *set, int node)
{
    int saver = saver_of(set->graph, node);
    if (saver >= 0) return set->graph->program->tensors[set->graph->savers[saver].access.tensor].dtype;
    return set->partial != NULL && set->partial[node] ? MO_F32 : intermediate_dtype(set->graph, node);
}

/* Copies what `node` needs into `body`; cut values and inputs become iterators. Returns its number there. */
static int copy_cone(const cut_set *set, mo_prim *body, int *number, int node, bool root)
{
    const mo_prim *g = set->graph;
    if (number[node] >= 0) return number[node];
    int position = root ? -1 : cut_position(set, node);
    if (position >= 0) {
        mo_shape shape;
        mo_access access = intermediate_access(set, position, &shape);
        number[node] = mo_prim_iter(body, stored_dtype(set, node), g->nodes[node].compute, &access);
        return number[node];
    }
    mo_prim_node copy = g->nodes[node];
    for (int i = 0; i < copy.n_in; i++) copy.in[i] = copy_cone(set, body, number, copy.in[i], false);
    number[node] = mo_prim_append(body, copy);
    return number[node];
}

static mo_prim *new_body(const cut_set *set, int **number)
{
    mo_prim *body = mo_prim_new(set->cutter->scratch, set->graph->program);
    body->n_axes = set->graph->n_axes;
    memcpy(body->axes, set->graph->axes, sizeof body->axes);
    *number = MO_NEW_ARRAY(set->cutter->scratch, int, set->graph->n_nodes);
    for (int i = 0; i < set->graph->n_nodes; i++) (*number)[i] = -1;
    return body;
}

static mo_prim *body_of_cut(const cut_set *set, int position)
{
    int *number;
    mo_prim *body = new_body(set, &number);
    mo_shape shape;
    mo_access access = intermediate_access(set, position, &shape);
    mo_prim_save(body, copy_cone(set, body, number, set->cut[position], true), &access);
    return body;
}

/* Body of savers first .. last - 1 of the graph, but for those whose values are cut. */
static mo_prim *body_of_savers(const cut_set *set, int first, int last)
{
    int *number;
    mo_prim *body = new_body(set, &number);
    for (int s = first; s < last; s++) {
        const mo_saver *saver = &set->graph->savers[s];
        if (cut_position(set, saver->node) >= 0) continue;
        mo_prim_save(body, copy_cone(set, body, number, saver->node, false), &saver->access);
    }
    return body;
}

static mo_cut_kernel schedule_body(mo_cutter *cutter, mo_prim *body, const mo_dtype *dtypes)
{
    mo_cut_kernel kernel = {.symbolic = body, .body = mo_prim_copy(cutter->scratch, body)};
    mo_prim_merge_axes(kernel.body);
    const mo_body_schedules *found = mo_body_cache_get(cutter->cache, kernel.body, dtypes,
                                                       cutter->planning ? NULL : &cutter->counts.bodies);
    kernel.n_choices = found->n_choices;
    kernel.choices = found->choices;
    kernel.has_block = found->has_block;
    kernel.block = found->block;
    return kernel;
}

static void plan_body(const cut_set *set, const mo_prim *body)
{
    mo_body_cache_plan(set->cutter->cache, body, set->dtypes, set->graph->program->n_tensors + MO_MAX_CUT);
}

/* Cost of a kernel with the generator's schedules only, or with any. */
static int64_t kernel_cost(const mo_cut_kernel *kernel, bool any)
{
    bool block = any && kernel->has_block && kernel->block.cost_ns < kernel->choices[0].cost_ns;
    return block ? kernel->block.cost_ns : kernel->choices[0].cost_ns;
}

/* Appends the kernels of the savers: all in one launch if that is cheaper than one for each. */
static void add_saver_kernels(const cut_set *set, mo_partition *partition, bool any)
{
    mo_cutter *cutter = set->cutter;
    int n = set->graph->n_savers;
    mo_cut_kernel together = schedule_body(cutter, body_of_savers(set, 0, n), set->dtypes);
    int64_t apart_cost = 0;
    int n_apart = 0;
    mo_cut_kernel *apart = MO_NEW_ARRAY(cutter->scratch, mo_cut_kernel, n);
    for (int s = 0; n > 1 && s < n; s++) {
        if (cut_position(set, set->graph->savers[s].node) >= 0) continue;
        apart[n_apart] = schedule_body(cutter, body_of_savers(set, s, s + 1), set->dtypes);
        apart_cost += kernel_cost(&apart[n_apart++], any);
    }
    if (n_apart <= 1 || kernel_cost(&together, any) <= apart_cost) {
        partition->kernels[partition->n_kernels++] = together;
        partition->cost_ns += kernel_cost(&together, any);
        return;
    }
    for (int s = 0; s < n_apart; s++) partition->kernels[partition->n_kernels++] = apart[s];
    partition->cost_ns += apart_cost;
}

static bool belongs(const mo_partition_list *list, int64_t cost_ns)
{
    return list->count < list->capacity || (list->count > 0 && cost_ns < list->best[list->count - 1].cost_ns);
}

static void keep(mo_arena *arena, mo_partition_list *list, const mo_partition *partition)
{
    if (!belongs(list, partition->cost_ns)) return;
    int at = list->count < list->capacity ? list->count++ : list->count - 1;
    while (at > 0 && list->best[at - 1].cost_ns > partition->cost_ns) {
        list->best[at] = list->best[at - 1];
        at--;
    }
    mo_partition *to = &list->best[at];
    *to = *partition;
    to->kernels = MO_NEW_ARRAY(arena, mo_cut_kernel, partition->n_kernels);
    for (int k = 0; k < partition->n_kernels; k++) {
        to->kernels[k] = partition->kernels[k];
        to->kernels[k].body = mo_prim_copy(arena, partition->kernels[k].body);
        to->kernels[k].symbolic = mo_prim_copy(arena, partition->kernels[k].symbolic);
    }
}

/* The first `n_first` kernels, and those of the savers, which depend on all cuts. */
static mo_partition make_partition(const cut_set *set, int n_first, bool any)
{
    mo_cutter *cutter = set->cutter;
    const mo_prim *g = set->graph;
    mo_partition partition = {.n_kernels = n_first};
    partition.cost_ns = any ? set->any_ns : set->cost_ns;
    partition.kernels = MO_NEW_ARRAY(cutter->scratch, mo_cut_kernel, n_first + g->n_savers);
    for (int i = 0; i < n_first; i++) partition.kernels[i] = set->kernels[i];
    for (int i = 0; i < set->n_cut; i++) {
        if (saver_of(g, set->cut[i]) >= 0) continue;
        int at = partition.n_intermediates++;
        intermediate_access(set, i, &partition.shape[at]);
        partition.dtype[at] = set->dtypes[tensor_of(set, i)];
        partition.compute[at] = g->nodes[set->cut[i]].compute;
    }
    add_saver_kernels(set, &partition, any);
    return partition;
}

static void try_set(const cut_set *set, int n_first)
{
    mo_cutter *cutter = set->cutter;
    mo_arena_mark mark = mo_arena_get_mark(cutter->scratch);
    mo_partition emittable = make_partition(set, n_first, false), any = make_partition(set, n_first, true);
    bool differs = false;
    for (int k = 0; k < any.n_kernels; k++) {
        any.kernels[k].use_block = kernel_cost(&any.kernels[k], true) < kernel_cost(&any.kernels[k], false);
        differs |= any.kernels[k].use_block;
    }
    cutter->counts.partitions++;
    keep(cutter->arena, &cutter->emittable, &emittable);
    if (differs) keep(cutter->arena, &cutter->any, &any);
    mo_arena_reset(cutter->scratch, mark);
}

/* Is a saved value stored as precisely as an intermediate in its place would be? */
static bool reads_back(const mo_prim *g, int node)
{
    mo_dtype stored = g->program->tensors[g->savers[saver_of(g, node)].access.tensor].dtype;
    return stored == MO_F32 || stored == intermediate_dtype(g, node);
}

/* Values worth a trip through memory: results of reductions, what several operators use (or one does, and it
 * is saved anyway), and the last value of an elementwise chain in front of a reduction. Cutting elsewhere in
 * a chain only moves elementwise work. */
static bool worth_cutting(const mo_prim *g, int node)
{
    const mo_prim_node *n = &g->nodes[node];
    if (n->op == MO_OP_ITER || n->op == MO_OP_CONST || mo_axes_count(n->axes) > MO_MAX_RANK) return false;
    int users = 0, savers = 0;
    for (int s = 0; s < g->n_savers; s++) savers += g->savers[s].node == node;
    bool reduced = false;
    for (int i = node + 1; i < g->n_nodes; i++) {
        const mo_prim_node *user = &g->nodes[i];
        if (user->n_in == 0 || (user->in[0] != node && (user->n_in < 2 || user->in[1] != node))) continue;
        users++;
        reduced |= user->reduced != 0;
    }
    if (savers > 0 && (savers > 1 || users == 0 || !reads_back(g, node))) return false;
    return n->reduced != 0 || users + savers > 1 || reduced;
}

static bool must_stop(mo_cutter *cutter)
{
    if (!cutter->stopped) cutter->stopped = cutter->stop != NULL && cutter->stop(cutter->stop_context);
    bool enough = cutter->max_partitions > 0 && cutter->counts.partitions >= cutter->max_partitions;
    cutter->bounded |= enough;
    return enough || cutter->stopped;
}

/* Can a partition with these cuts, `more` others and the savers still be one of the cheapest? */
static bool hopeful(const cut_set *set, int more)
{
    const mo_cutter *cutter = set->cutter;
    int64_t launches = (int64_t)(more + 1) * cutter->device->launch_ns;
    return belongs(&cutter->emittable, set->cost_ns + launches) ||
           belongs(&cutter->any, set->any_ns + launches);
}

static void add_cut(cut_set *set, int node)
{
    int position = set->n_cut++;
    set->cut[position] = node;
    set->dtypes[tensor_of(set, position)] = stored_dtype(set, node);
    set->kernels[position] = schedule_body(set->cutter, body_of_cut(set, position), set->dtypes);
    set->cost_ns += kernel_cost(&set->kernels[position], false);
    set->any_ns += kernel_cost(&set->kernels[position], true);
}

/* The kernels of the savers of a set that may be tried. */
static void plan_savers(const cut_set *set)
{
    int n = set->graph->n_savers;
    if (!hopeful(set, 0)) return;
    plan_body(set, body_of_savers(set, 0, n));
    for (int s = 0; n > 1 && s < n; s++) plan_body(set, body_of_savers(set, s, s + 1));
}

/* What the next step of `extend` needs: the kernel of each cut, then those behind the last one. */
static void plan_step(cut_set *set, int from, int more)
{
    mo_cutter *cutter = set->cutter;
    mo_arena_mark mark = mo_arena_get_mark(cutter->scratch);
    cut_set next = *set;
    next.n_cut++;
    for (int node = from; node < set->graph->n_nodes; node++) {
        if (!worth_cutting(set->graph, node)) continue;
        next.cut[set->n_cut] = node;
        next.dtypes[set->graph->program->n_tensors + set->n_cut] = stored_dtype(set, node);
        plan_body(&next, body_of_cut(&next, set->n_cut));
    }
    mo_body_cache_run(cutter->cache);
    cutter->planning = true;
    for (int node = from; more == 1 && node < set->graph->n_nodes; node++) {
        if (!worth_cutting(set->graph, node)) continue;
        next = *set;
        add_cut(&next, node);
        plan_savers(&next);
    }
    cutter->planning = false;
    mo_body_cache_run(cutter->cache);
    mo_arena_reset(cutter->scratch, mark);
}

/* All sets with `more` cuts from node `from` on beside those that there are. */
static void extend(cut_set *set, int from, int more)
{
    mo_cutter *cutter = set->cutter;
    if (must_stop(cutter) || !hopeful(set, more)) return;
    if (more == 0) {
        try_set(set, set->n_cut);
        return;
    }
    if (mo_body_cache_ahead(cutter->cache)) plan_step(set, from, more);
    for (int node = from; node < set->graph->n_nodes; node++) {
        if (!worth_cutting(set->graph, node)) continue;
        mo_arena_mark mark = mo_arena_get_mark(cutter->scratch);
        int64_t cost = set->cost_ns, any = set->any_ns;
        add_cut(set, node);
        extend(set, node + 1, more - 1);
        set->n_cut--;
        set->cost_ns = cost;
        set->any_ns = any;
        mo_arena_reset(cutter->scratch, mark);
    }
}

static cut_set new_set(mo_cutter *cutter, const mo_prim *graph)
{
    const mo_program *program = graph->program;
    cut_set set = {.cutter = cutter, .graph = graph, .parts_axis = -1};
    set.dtypes = MO_NEW_ARRAY(cutter->scratch, mo_dtype, program->n_tensors + MO_MAX_CUT);
    for (int t = 0; t < program->n_tensors; t++) set.dtypes[t] = program->tensors[t].dtype;
    return set;
}

void mo_cutter_add(mo_cutter *cutter, const mo_prim *graph)
{
    mo_arena_mark mark = mo_arena_get_mark(cutter->scratch);
    cut_set set = new_set(cutter, graph);
    for (int cuts = 0; cuts < cutter->max_kernels && cuts <= MO_MAX_CUT; cuts++) extend(&set, 0, cuts);
    mo_arena_reset(cutter->scratch, mark);
}

/* One kernel for all partial results: none of them is read from memory there. */
static mo_prim *body_of_partials(const cut_set *set)
{
    cut_set uncut = *set;
    uncut.n_cut = 0;
    int *number;
    mo_prim *body = new_body(set, &number);
    for (int i = 0; i < set->n_cut; i++) {
        mo_shape shape;
        mo_access access = intermediate_access(set, i, &shape);
        mo_prim_save(body, copy_cone(&uncut, body, number, set->cut[i], true), &access);
    }
    return body;
}

/* The cut that stores the partial results; false if there are too many. */
static bool cut_partials(mo_cutter *cutter, const mo_split *split, cut_set *set)
{
    *set = new_set(cutter, split->graph);
    set->partial = split->partial;
    set->parts_axis = split->parts_axis;
    for (int i = 0; i < split->graph->n_nodes; i++) {
        if (!split->partial[i]) continue;
        if (set->n_cut == MO_MAX_CUT || mo_axes_count(split->graph->nodes[i].axes) > MO_MAX_RANK)
            return false;
        set->dtypes[split->graph->program->n_tensors + set->n_cut] = MO_F32;
        set->cut[set->n_cut++] = i;
    }
    return true;
}

static void add_partials(cut_set *set)
{
    set->kernels[0] = schedule_body(set->cutter, body_of_partials(set), set->dtypes);
    set->cost_ns = kernel_cost(&set->kernels[0], false);
    set->any_ns = kernel_cost(&set->kernels[0], true);
}

/* The splits of one axis; returns their number. */
static int split_sets(mo_cutter *cutter, const mo_prim *graph, int axis, cut_set *sets)
{
    int n = 0;
    for (int64_t parts = 2; parts <= MOST_PARTS; parts *= 2) {
        int64_t extent = graph->axes[axis].extent;
        mo_split split;
        if (extent % parts != 0 || extent / parts < LEAST_PART) break;
        if (!mo_split_axis(cutter->scratch, graph, axis, parts, &split)) break;
        n += cut_partials(cutter, &split, &sets[n]);
    }
    return n;
}

static void plan_splits(const cut_set *sets, int n)
{
    mo_cutter *cutter = sets[0].cutter;
    for (int i = 0; i < n; i++) plan_body(&sets[i], body_of_partials(&sets[i]));
    mo_body_cache_run(cutter->cache);
    cutter->planning = true;
    for (int i = 0; i < n; i++) {
        cut_set set = sets[i];
        add_partials(&set);
        plan_savers(&set);
    }
    cutter->planning = false;
    mo_body_cache_run(cutter->cache);
}

void mo_cutter_add_splits(mo_cutter *cutter, const mo_prim *graph)
{
    if (cutter->max_kernels < 2) return;
    for (int axis = 0; axis < graph->n_axes && !must_stop(cutter); axis++) {
        mo_arena_mark mark = mo_arena_get_mark(cutter->scratch);
        cut_set sets[MOST_SPLITS];
        int n = split_sets(cutter, graph, axis, sets);
        if (n > 0 && mo_body_cache_ahead(cutter->cache)) plan_splits(sets, n);
        for (int i = 0; i < n && !must_stop(cutter); i++) {
            add_partials(&sets[i]);
            if (hopeful(&sets[i], 0)) try_set(&sets[i], 1);
        }
        mo_arena_reset(cutter->scratch, mark);
    }
}
