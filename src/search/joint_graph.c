/* Complete kernel graphs of the joint search: the second look, the muGraph, its class. */
#include "search/joint_state.h"

#include "base/status.h"

#include <string.h>

/* ---- the second look ---- */

static int copy_value(const joint *s, mo_prim *to, int *node_of, int value)
{
    if (node_of[value] >= 0) return node_of[value];
    mo_prim_node node = s->values[value].node;
    for (int i = 0; i < node.n_in; i++) node.in[i] = copy_value(s, to, node_of, node.in[i]);
    if (node.n_in > 0) node.number = 0;
    return node_of[value] = mo_prim_append(to, node);
}

static mo_prim *new_graph(const joint *s, int **node_of)
{
    mo_prim *g = mo_prim_new(s->scratch, s->graph->program);
    g->n_axes = s->graph->n_axes;
    memcpy(g->axes, s->graph->axes, sizeof g->axes);
    *node_of = MO_NEW_ARRAY(s->scratch, int, JOINT_MAX_VALUES);
    for (int i = 0; i < JOINT_MAX_VALUES; i++) (*node_of)[i] = -1;
    return g;
}

static int target_value(const joint *s, int target)
{
    return joint_find_value(s, s->target_print[target], s->graph->nodes[s->target_node[target]].axes);
}

static bool agrees(const joint *s)
{
    int *node_of;
    mo_prim *whole = new_graph(s, &node_of);
    for (int t = 0; t < s->n_targets; t++)
        mo_prim_save(whole, copy_value(s, whole, node_of, target_value(s, t)), &s->graph->savers[t].access);
    mo_prim_infer_dtypes(whole);
    return mo_algebra_same(s->scratch, s->second, s->graph, whole);
}

/* ---- the muGraph ---- */

/* Which output of the program is this value? -1: none. */
static int target_of(const joint *s, int value)
{
    for (int t = 0; t < s->n_targets; t++)
        if (target_value(s, t) == value) return t;
    return -1;
}

static bool is_read(const joint *s, int value)
{
    for (int k = 0; k < s->n_kernels; k++)
        for (int i = 0; i < s->kernels[k].n_reads; i++)
            if (s->kernels[k].reads[i] == value) return true;
    return false;
}

static bool all_needed(const joint *s)
{
    for (int k = 0; k < s->n_kernels; k++)
        for (int i = 0; i < s->kernels[k].n_outputs; i++)
            if (target_of(s, s->kernels[k].outputs[i]) < 0 && !is_read(s, s->kernels[k].outputs[i]))
                return false;
    return true;
}

typedef struct {
    const joint *s;
    mo_mugraph *graph;
    mo_access access[JOINT_MAX_VALUES]; /* of values in device memory */
} assembly;

/* A new intermediate, row-major over its axes; or the program's output. */
static void place_output(assembly *a, int value)
{
    const joint *s = a->s;
    int target = target_of(s, value);
    if (target >= 0) {
        a->access[value] = s->graph->savers[target].access;
        return;
    }
    const mo_prim_node *node = &s->values[value].node;
    mo_shape shape = {0};
    int8_t dim_axis[MO_MAX_RANK];
    int64_t strides[MO_MAX_RANK];
    MO_FOR_AXES(axis, node->axes) {
        MO_CHECK(shape.rank < MO_MAX_RANK);
        dim_axis[shape.rank] = (int8_t)axis;
        shape.dim[shape.rank++] = s->graph->axes[axis].extent;
    }
    mo_shape_row_major(shape, strides);
    int tensor = mo_mugraph_add_tensor(a->graph, "mid", shape, node->dtype, node->dtype);
    a->access[value] = mo_access_make(tensor, shape, strides, dim_axis);
}

static mo_schedule schedule_of(const joint *s, const joint_kernel *kernel, const mo_prim *body)
{
    if (kernel->predefined) return mo_schedule_plain(body);
    mo_schedule schedule = {.kind = MO_SCHEDULE_BLOCK,
                            .threads = 128,
                            .stages = 1,
                            .row_axis = -1,
                            .loop_axis = kernel->loop ? mo_axes_first(kernel->loop) : -1,
                            .p_axis = -1,
                            .q_axis = -1};
    for (int a = 0; a < s->graph->n_axes; a++) {
        bool grid = kernel->grid >> a & 1u, loop = kernel->loop >> a & 1u;
        schedule.place[a] = grid ? MO_PLACE_GRID : loop ? MO_PLACE_LOOP : MO_PLACE_WHOLE;
        schedule.tile[a] = grid || loop ? 1 : s->graph->axes[a].extent;
    }
    return schedule;
}

static void add_kernel(assembly *a, const joint_kernel *kernel)
{
    const joint *s = a->s;
    int *node_of;
    mo_prim *body = new_graph(s, &node_of);
    for (int i = 0; i < kernel->n_reads; i++) {
        int value = kernel->reads[i];
        const mo_prim_node *node = &s->values[value].node;
        node_of[value] = node->op == MO_OP_ITER
                             ? mo_prim_append(body, *node)
                             : mo_prim_iter(body, node->dtype, node->dtype, &a->access[value]);
    }
    for (int i = 0; i < kernel->n_ops; i++) copy_value(s, body, node_of, kernel->ops[i]);
    for (int i = 0; i < kernel->n_outputs; i++) {
        place_output(a, kernel->outputs[i]);
        mo_prim_save(body, node_of[kernel->outputs[i]], &a->access[kernel->outputs[i]]);
    }
    mo_prim_infer_dtypes(body);
    mo_schedule schedule = schedule_of(s, kernel, body);
    mo_mugraph_add_kernel(a->graph, "kernel", -1, body, &schedule);
}

static mo_mugraph *assemble(const joint *s)
{
    assembly *a = MO_NEW(s->scratch, assembly);
    a->s = s;
    a->graph = mo_mugraph_new(s->scratch, s->graph->program, JOINT_MAX_VALUES);
    for (int k = 0; k < s->n_kernels; k++) add_kernel(a, &s->kernels[k]);
    return a->graph;
}

/* ---- classes ---- */

static int by_bytes(const mo_hash128 *a, const mo_hash128 *b)
{
    if (a->hi != b->hi) return a->hi < b->hi ? -1 : 1;
    return a->lo < b->lo ? -1 : a->lo > b->lo;
}

static void sort_hashes(mo_hash128 *list, int count)
{
    for (int i = 1; i < count; i++)
        for (int j = i; j > 0 && by_bytes(&list[j], &list[j - 1]) < 0; j--) {
            mo_hash128 moving = list[j];
            list[j] = list[j - 1];
            list[j - 1] = moving;
        }
}

/* What a node computes, from the hashes of its operands; `stored` has those of tensors that kernels wrote. */
static mo_hash128 node_class(const mo_prim_node *node, const mo_hash128 *nodes, const mo_hash128 *stored)
{
    struct {
        uint64_t op, reduced, const_axes, attributes;
        double numbers[3];
        int64_t tensor, axis[MO_MAX_RANK], inner[MO_MAX_RANK], mask[3];
        mo_hash128 in[2];
    } key;
    memset(&key, 0, sizeof key);
    key.op = node->op;
    if (node->op == MO_OP_ITER && (stored[node->access.tensor].lo | stored[node->access.tensor].hi)) {
        key.in[0] = stored[node->access.tensor];
    } else if (node->op == MO_OP_ITER) {
        key.tensor = 1 + node->access.tensor;
        for (int d = 0; d < node->access.rank; d++) {
            key.axis[d] = 1 + node->access.dim_axis[d];
            key.inner[d] = node->access.dim_inner[d];
        }
    }
    key.reduced = node->reduced;
    key.const_axes = node->const_axes;
    key.attributes = (node->op == MO_OP_CAST ? 2 + 2 * (uint64_t)node->dtype : 0) + node->approximate_tanh;
    key.mask[0] = node->mask_rows;
    key.mask[1] = node->mask_columns;
    key.mask[2] = node->mask_offset;
    key.numbers[0] = node->number;
    key.numbers[1] = node->min;
    key.numbers[2] = node->max;
    for (int i = 0; i < node->n_in; i++) key.in[i] = nodes[node->in[i]];
    if (node->n_in == 2 && mo_algebra_commutes(node->op)) sort_hashes(key.in, 2);
    return mo_hash_128(&key, sizeof key, 7);
}

/* Where the axes of a kernel's values are. */
static void placement_class(const mo_kernel *kernel, uint64_t words[3])
{
    mo_axes used = 0;
    for (int i = 0; i < kernel->body->n_nodes; i++)
        used |= kernel->body->nodes[i].axes | kernel->body->nodes[i].reduced;
    words[0] = 1 + (kernel->schedule.kind == MO_SCHEDULE_PLAIN);
    MO_FOR_AXES(a, used) {
        if (kernel->schedule.kind == MO_SCHEDULE_PLAIN) break;
        if (kernel->schedule.place[a] == MO_PLACE_GRID) words[1] |= 1ull << a;
        if (kernel->schedule.place[a] == MO_PLACE_LOOP) words[2] |= 1ull << a;
    }
}

mo_hash128 mo_mugraph_class(mo_arena *scratch, const mo_mugraph *graph, mo_class_kind kind)
{
    mo_arena_mark mark = mo_arena_get_mark(scratch);
    mo_hash128 *stored = MO_NEW_ARRAY(scratch, mo_hash128, graph->n_tensors + 1);
    mo_hash128 *kernels = MO_NEW_ARRAY(scratch, mo_hash128, graph->n_kernels + 1);
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_prim *body = graph->kernels[k].body;
        mo_hash128 *nodes = MO_NEW_ARRAY(scratch, mo_hash128, body->n_nodes + 1);
        mo_hash128 *roots = MO_NEW_ARRAY(scratch, mo_hash128, body->n_savers + 1);
        for (int i = 0; i < body->n_nodes; i++) nodes[i] = node_class(&body->nodes[i], nodes, stored);
        for (int i = 0; i < body->n_savers; i++) {
            int tensor = body->savers[i].access.tensor;
            stored[tensor] = nodes[body->savers[i].node];
            uint64_t words[3] = {stored[tensor].lo, stored[tensor].hi,
                                 (uint64_t)graph->tensors[tensor].output};
            roots[i] = mo_hash_128(words, sizeof words, 8);
        }
        sort_hashes(roots, body->n_savers);
        mo_hash128 root = mo_hash_128(roots, sizeof *roots * (size_t)body->n_savers, 9);
        uint64_t words[5] = {0, 0, 0, root.lo, root.hi};
        if (kind == MO_CLASS_PLACED) placement_class(&graph->kernels[k], words);
        kernels[k] = mo_hash_128(words, sizeof words, 10);
    }
    sort_hashes(kernels, graph->n_kernels);
    mo_hash128 hash = mo_hash_128(kernels, sizeof *kernels * (size_t)graph->n_kernels, 11);
    mo_arena_reset(scratch, mark);
    return hash;
}

/* ---- acceptance ---- */

/* Enters the class; false if it is known. */
static bool enter_class(joint *s, mo_hash128 hash)
{
    uint32_t at = (uint32_t)hash.lo & s->class_mask;
    for (; s->class_used[at]; at = (at + 1) & s->class_mask)
        if (mo_hash_equal(s->classes[at], hash)) return false;
    s->classes[at] = hash;
    s->class_used[at] = true;
    return true;
}

static void grow_classes(joint *s)
{
    uint32_t n = s->class_mask + 1;
    mo_hash128 *old = s->classes;
    bool *used = s->class_used;
    s->class_mask = 2 * n - 1;
    s->classes = MO_NEW_ARRAY(s->arena, mo_hash128, 2 * (size_t)n);
    s->class_used = MO_NEW_ARRAY(s->arena, bool, 2 * (size_t)n);
    for (uint32_t i = 0; i < n; i++)
        if (used[i]) enter_class(s, old[i]);
}

void joint_accept(joint *s)
{
    if (!all_needed(s)) return;
    mo_arena_mark mark = mo_arena_get_mark(s->scratch);
    s->stats.accepted++;
    if (!agrees(s)) {
        s->stats.rejected++;
    } else {
        mo_mugraph *graph = assemble(s);
        mo_hash128 hash = mo_mugraph_class(s->scratch, graph, MO_CLASS_PLACED);
        if (enter_class(s, hash)) {
            s->stats.classes++;
            if (s->options.found) s->options.found(s->options.found_context, hash, graph);
            if (s->stats.classes > s->class_mask / 2) grow_classes(s);
        }
    }
    mo_arena_reset(s->scratch, mark);
}
