#include "listing.h"

#include "abstract/abstract.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- sets ---- */

class_set class_set_new(mo_arena *arena)
{
    class_set set = {.arena = arena, .capacity = 1024};
    set.hash = MO_NEW_ARRAY(arena, mo_hash128, set.capacity);
    return set;
}

void class_set_add(class_set *set, mo_hash128 hash)
{
    if (set->count == set->capacity) class_set_sort(set);
    if (set->count > set->capacity / 2) {
        mo_hash128 *grown = MO_NEW_ARRAY(set->arena, mo_hash128, 2 * (size_t)set->capacity);
        memcpy(grown, set->hash, sizeof *grown * (size_t)set->count);
        set->hash = grown;
        set->capacity *= 2;
    }
    set->hash[set->count++] = hash;
}

static int by_value(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(mo_hash128));
}

void class_set_sort(class_set *set)
{
    int kept = 0;
    qsort(set->hash, (size_t)set->count, sizeof *set->hash, by_value);
    for (int i = 0; i < set->count; i++)
        if (kept == 0 || !mo_hash_equal(set->hash[kept - 1], set->hash[i])) set->hash[kept++] = set->hash[i];
    set->count = kept;
}

bool class_set_has(const class_set *set, mo_hash128 hash)
{
    return bsearch(&hash, set->hash, (size_t)set->count, sizeof hash, by_value) != NULL;
}

int class_set_missing(const class_set *a, const class_set *b, mo_hash128 *example)
{
    int missing = 0;
    for (int i = 0; i < a->count; i++) {
        if (class_set_has(b, a->hash[i])) continue;
        *example = a->hash[i];
        missing++;
    }
    return missing;
}

/* ---- prefixes ---- */

/* `stored`: of the tensors that kernels wrote (id 0: none did); or NULL. */
static mo_abs_expr *expressions(mo_arena *arena, mo_abs *abs, const mo_prim *g, const mo_abs_expr *stored)
{
    mo_abs_expr *expr = MO_NEW_ARRAY(arena, mo_abs_expr, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        if (stored != NULL && g->nodes[i].op == MO_OP_ITER && stored[g->nodes[i].access.tensor].id != 0) {
            expr[i] = stored[g->nodes[i].access.tensor];
            continue;
        }
        mo_abs_expr in[2] = {expr[g->nodes[i].in[0]], expr[g->nodes[i].in[1]]};
        expr[i] = mo_abs_of_prim(abs, g, &g->nodes[i], in);
    }
    return expr;
}

/* Are all these values of `g` sub-expressions of what `program` saves? */
static bool all_wanted(mo_abs *abs, const mo_prim *g, const mo_abs_expr *expr, const mo_prim *program,
                       const mo_abs_expr *target)
{
    for (int i = 0; i < g->n_nodes; i++) {
        bool wanted = g->nodes[i].n_in == 0;
        for (int s = 0; s < program->n_savers && !wanted; s++)
            wanted = mo_abs_subexpr(abs, expr[i], target[program->savers[s].node]);
        if (!wanted) return false;
    }
    return true;
}

bool prefixes_are_wanted(const mo_prim *graph, const mo_prim *program)
{
    mo_arena *arena = mo_arena_new();
    mo_abs *abs = mo_abs_new(mo_abs_needs_numbers(program));
    mo_abs_expr *target = expressions(arena, abs, program, NULL),
                *expr = expressions(arena, abs, graph, NULL);
    bool all = all_wanted(abs, graph, expr, program, target);
    mo_abs_free(abs);
    mo_arena_free(arena);
    return all;
}

bool equal_by_axioms(const mo_prim *graph, const mo_prim *program)
{
    mo_arena *arena = mo_arena_new();
    mo_abs *abs = mo_abs_new(mo_abs_needs_numbers(program));
    mo_abs_expr *target = expressions(arena, abs, program, NULL),
                *expr = expressions(arena, abs, graph, NULL);
    bool equal = true;
    for (int s = 0; s < program->n_savers; s++)
        equal &= expr[graph->savers[s].node].id == target[program->savers[s].node].id;
    mo_abs_free(abs);
    mo_arena_free(arena);
    return equal;
}

bool kernels_are_wanted(const mo_mugraph *graph, const mo_prim *program)
{
    mo_arena *arena = mo_arena_new();
    mo_abs *abs = mo_abs_new(mo_abs_needs_numbers(program));
    mo_abs_expr *target = expressions(arena, abs, program, NULL);
    mo_abs_expr *stored = MO_NEW_ARRAY(arena, mo_abs_expr, graph->n_tensors);
    bool all = true;
    for (int k = 0; k < graph->n_kernels && all; k++) {
        const mo_prim *body = graph->kernels[k].body;
        mo_abs_expr *expr = expressions(arena, abs, body, stored);
        all = all_wanted(abs, body, expr, program, target);
        for (int s = 0; s < body->n_savers; s++)
            stored[body->savers[s].access.tensor] = expr[body->savers[s].node];
    }
    mo_abs_free(abs);
    mo_arena_free(arena);
    return all;
}

/* ---- listing ---- */

enum { MAX_ROOTS = 8, MAX_PLACEMENTS = 256 };

typedef struct {
    mo_arena *arena;
    const mo_prim *g;
    kernel_choice choice;
    int max_kernels;
    void (*found)(void *context, const mo_mugraph *graph);
    void *context;
    int n_roots, root[MAX_ROOTS]; /* nodes in device memory: cut values and outputs */
    int saver[MAX_ROOTS];         /* of an output; -1 for a cut value */
    bool cut[MAX_ROOTS];          /* CUT_KERNELS: has a kernel of its own, and is read by others */
    int n_launches, launch_of[MAX_ROOTS];
    uint32_t read[MAX_ROOTS]; /* by launch: roots that it reads */
} listing;

/* Node `node` in `body`, with everything below it down to inputs and the roots that the launch reads. */
static int copy_cone(const listing *l, mo_prim *body, const mo_access *access, uint32_t reads,
                     uint32_t *reached, int *number, int node)
{
    if (number[node] >= 0) return number[node];
    const mo_prim_node *from = &l->g->nodes[node];
    for (int r = 0; r < l->n_roots; r++) {
        if (l->root[r] != node || !(reads >> r & 1u)) continue;
        *reached |= 1u << r;
        return number[node] = mo_prim_iter(body, from->dtype, from->compute, &access[r]);
    }
    mo_prim_node copy = *from;
    for (int i = 0; i < copy.n_in; i++)
        copy.in[i] = copy_cone(l, body, access, reads, reached, number, copy.in[i]);
    return number[node] = mo_prim_append(body, copy);
}

static mo_prim *launch_body(const listing *l, int launch, const mo_access *access, uint32_t *reached)
{
    mo_prim *body = mo_prim_new(l->arena, l->g->program);
    int *number = MO_NEW_ARRAY(l->arena, int, l->g->n_nodes);
    for (int i = 0; i < l->g->n_nodes; i++) number[i] = -1;
    body->n_axes = l->g->n_axes;
    memcpy(body->axes, l->g->axes, sizeof body->axes);
    uint32_t reads = l->read[launch];
    *reached = 0;
    for (int r = 0; r < l->n_roots; r++)
        if (l->launch_of[r] == launch)
            mo_prim_save(body, copy_cone(l, body, access, reads, reached, number, l->root[r]), &access[r]);
    return body;
}

/* Tensors for the cut values in `graph`; the accesses of all roots. */
static void make_accesses(const listing *l, mo_mugraph *graph, mo_access *access)
{
    for (int r = 0; r < l->n_roots; r++) {
        if (l->saver[r] >= 0) {
            access[r] = l->g->savers[l->saver[r]].access;
            continue;
        }
        const mo_prim_node *node = &l->g->nodes[l->root[r]];
        mo_shape shape = {0};
        int8_t dim_axis[MO_MAX_RANK];
        int64_t strides[MO_MAX_RANK];
        MO_FOR_AXES(a, node->axes) {
            dim_axis[shape.rank] = (int8_t)a;
            shape.dim[shape.rank++] = l->g->axes[a].extent;
        }
        mo_shape_row_major(shape, strides);
        access[r] = mo_access_make(mo_mugraph_add_tensor(graph, "mid", shape, node->dtype, node->compute),
                                   shape, strides, dim_axis);
    }
}

static int operators(const mo_prim *body)
{
    int count = 0;
    for (int i = 0; i < body->n_nodes; i++) count += body->nodes[i].n_in > 0;
    return count;
}

/* Does nothing over the looped axis need what is accumulated over it? */
static bool one_pass(mo_arena *arena, const mo_prim *body, int loop)
{
    bool *late = MO_NEW_ARRAY(arena, bool, body->n_nodes);
    mo_axes looped = loop < 0 ? 0 : 1u << loop;
    for (int i = 0; i < body->n_nodes; i++) {
        const mo_prim_node *node = &body->nodes[i];
        bool in_loop = ((node->axes | node->reduced) & looped) != 0;
        for (int j = 0; j < node->n_in; j++) late[i] |= late[node->in[j]];
        if (late[i] && in_loop) return false;
        late[i] |= (node->reduced & looped) != 0;
    }
    return true;
}

/* Every schedule that the body can run under. */
static int placements(mo_arena *arena, mo_prim *body, mo_schedule *list)
{
    int count = 0;
    mo_axes used = 0, reduced = 0;
    for (int i = 0; i < body->n_nodes; i++) {
        used |= body->nodes[i].axes | body->nodes[i].reduced;
        reduced |= body->nodes[i].reduced;
    }
    if (operators(body) == 1) list[count++] = mo_schedule_plain(body);
    for (int loop = -1; loop < body->n_axes; loop++) {
        if (loop >= 0 && !(reduced >> loop & 1u)) continue;
        mo_axes rest = loop < 0 ? used : used & ~(1u << loop);
        for (mo_axes grid = rest;; grid = (grid - 1) & rest) {
            mo_kernel kernel = {.name = "kernel", .program_node = -1, .body = body};
            kernel.schedule = (mo_schedule){.kind = MO_SCHEDULE_BLOCK,
                                            .threads = 128,
                                            .stages = 1,
                                            .row_axis = -1,
                                            .loop_axis = loop,
                                            .p_axis = -1,
                                            .q_axis = -1};
            for (int a = 0; a < body->n_axes; a++) {
                bool on_grid = grid >> a & 1u;
                kernel.schedule.place[a] = a == loop ? MO_PLACE_LOOP
                                           : on_grid ? MO_PLACE_GRID
                                                     : MO_PLACE_WHOLE;
                kernel.schedule.tile[a] = a == loop || on_grid ? 1 : body->axes[a].extent;
            }
            if (mo_kernel_check(arena, &kernel) == NULL && one_pass(arena, body, loop)) {
                cr_assert_lt(count, MAX_PLACEMENTS);
                list[count++] = kernel.schedule;
            }
            if (grid == 0) break;
        }
    }
    return count;
}

/* All combinations of the kernels' schedules from kernel k on. */
static void combine(const listing *l, mo_mugraph *graph, mo_schedule *const *lists, const int *counts, int k)
{
    if (k == graph->n_kernels) {
        l->found(l->context, graph);
        return;
    }
    for (int i = 0; i < counts[k]; i++) {
        graph->kernels[k].schedule = lists[k][i];
        combine(l, graph, lists, counts, k + 1);
    }
}

/* Launches in an order in which everything is written before it is read; false if there is none. */
static bool launch_order(const listing *l, int *order)
{
    uint32_t written = 0, done = 0;
    for (int n = 0; n < l->n_launches; n++) {
        int next = -1;
        for (int k = l->n_launches - 1; k >= 0; k--)
            if (!(done >> k & 1u) && (l->read[k] & ~written) == 0) next = k;
        if (next < 0) return false;
        order[n] = next;
        done |= 1u << next;
        for (int r = 0; r < l->n_roots; r++)
            if (l->launch_of[r] == next) written |= 1u << r;
    }
    return true;
}

/* Launches and what they read are chosen. */
static void try_launches(listing *l)
{
    mo_arena_mark mark = mo_arena_get_mark(l->arena);
    mo_mugraph *graph = mo_mugraph_new(l->arena, l->g->program, MAX_ROOTS);
    mo_access access[MAX_ROOTS];
    int order[MAX_ROOTS], counts[MAX_ROOTS];
    mo_schedule *lists[MAX_ROOTS];
    uint32_t needed = 0;
    bool valid = launch_order(l, order);
    make_accesses(l, graph, access);
    for (int n = 0; n < l->n_launches && valid; n++) {
        uint32_t reached;
        mo_prim *body = launch_body(l, order[n], access, &reached);
        needed |= reached;
        valid = reached == l->read[order[n]];
        lists[n] = MO_NEW_ARRAY(l->arena, mo_schedule, MAX_PLACEMENTS);
        counts[n] = valid ? placements(l->arena, body, lists[n]) : 0;
        mo_schedule plain = mo_schedule_plain(body);
        mo_mugraph_add_kernel(graph, "kernel", -1, body, &plain);
    }
    for (int r = 0; r < l->n_roots; r++) valid &= (l->saver[r] >= 0 && !l->cut[r]) || (needed >> r & 1u);
    if (valid) combine(l, graph, lists, counts, 0);
    mo_arena_reset(l->arena, mark);
}

/* Every launch reads the cut values that it comes upon. */
static void read_cuts(listing *l)
{
    mo_arena_mark mark = mo_arena_get_mark(l->arena);
    mo_access access[MAX_ROOTS];
    make_accesses(l, mo_mugraph_new(l->arena, l->g->program, MAX_ROOTS), access);
    for (int launch = 0; launch < l->n_launches; launch++) {
        l->read[launch] = 0;
        for (int r = 0; r < l->n_roots; r++)
            if (l->cut[r] && l->launch_of[r] != launch) l->read[launch] |= 1u << r;
        launch_body(l, launch, access, &l->read[launch]);
    }
    mo_arena_reset(l->arena, mark);
}

static void choose_reads(listing *l, int launch)
{
    if (l->choice == CUT_KERNELS) {
        read_cuts(l);
        try_launches(l);
        return;
    }
    if (launch == l->n_launches) {
        try_launches(l);
        return;
    }
    uint32_t others = 0;
    for (int r = 0; r < l->n_roots; r++)
        if (l->launch_of[r] != launch) others |= 1u << r;
    for (uint32_t reads = others;; reads = (reads - 1) & others) {
        l->read[launch] = reads;
        choose_reads(l, launch + 1);
        if (reads == 0) break;
    }
}

/* Cut values have a kernel each; outputs one, or one each. */
static bool grouped_as_cut(const listing *l)
{
    int size[MAX_ROOTS] = {0}, savers = 0, largest = 0;
    for (int r = 0; r < l->n_roots; r++) {
        size[l->launch_of[r]]++;
        savers += !l->cut[r];
    }
    for (int r = 0; r < l->n_roots; r++) {
        int n = size[l->launch_of[r]];
        if (l->cut[r] && n > 1) return false;
        if (n > largest) largest = n;
    }
    return largest == 1 || largest == savers;
}

/* Every partition of the roots into launches. */
static void group(listing *l, int r)
{
    if (r == l->n_roots) {
        if (l->choice == CUT_KERNELS && !grouped_as_cut(l)) return;
        choose_reads(l, 0);
        return;
    }
    for (int launch = 0; launch <= l->n_launches && launch < l->max_kernels; launch++) {
        int before = l->n_launches;
        l->launch_of[r] = launch;
        if (launch == l->n_launches) l->n_launches++;
        group(l, r + 1);
        l->n_launches = before;
    }
}

/* Results of reductions, what several operators use, and what a reduction takes. */
static bool worth_cutting(const mo_prim *g, int node)
{
    int users = 0, savers = 0;
    bool reduced = g->nodes[node].reduced != 0;
    for (int i = 0; i < g->n_nodes; i++)
        for (int j = 0; j < g->nodes[i].n_in; j++) {
            if (g->nodes[i].in[j] != node || (j == 1 && g->nodes[i].in[0] == node)) continue;
            users++;
            reduced |= g->nodes[i].reduced != 0;
        }
    for (int s = 0; s < g->n_savers; s++) savers += g->savers[s].node == node;
    return users > 0 && (reduced || users + savers > 1);
}

void list_kernels(const mo_prim *graph, kernel_choice choice, int max_kernels,
                  void (*found)(void *context, const mo_mugraph *graph), void *context)
{
    listing l = {.arena = mo_arena_new(),
                 .g = graph,
                 .choice = choice,
                 .max_kernels = max_kernels,
                 .found = found,
                 .context = context};
    int nodes[32], n = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        bool saved = false;
        for (int s = 0; s < graph->n_savers; s++) saved |= graph->savers[s].node == i;
        if (graph->nodes[i].n_in == 0 || saved) continue;
        if (choice == EVERY_KERNEL || worth_cutting(graph, i)) nodes[n++] = i;
    }
    int outputs = choice == CUT_KERNELS ? graph->n_savers : 0; /* some are read back: cut as well */
    for (uint32_t cuts = 0; cuts < 1u << (n + outputs); cuts++) {
        l.n_roots = 0;
        if (__builtin_popcount(cuts) + graph->n_savers > MAX_ROOTS) continue;
        bool worth = true;
        for (int s = 0; s < graph->n_savers; s++) {
            l.saver[l.n_roots] = s;
            l.cut[l.n_roots] = cuts >> (n + s) & 1u;
            worth &= !l.cut[l.n_roots] || worth_cutting(graph, graph->savers[s].node);
            l.root[l.n_roots++] = graph->savers[s].node;
        }
        for (int i = 0; i < n; i++) {
            if (!(cuts >> i & 1u)) continue;
            l.saver[l.n_roots] = -1;
            l.cut[l.n_roots] = true;
            l.root[l.n_roots++] = nodes[i];
        }
        l.n_launches = 0;
        if (worth) group(&l, 0);
    }
    mo_arena_free(l.arena);
}
