/* Small instances: the fingerprints of the algebra search and its second look at each result. */
#include "search/algebra_state.h"

#include "base/status.h"

enum { MAX_DRAWS = 8, MAX_REPAIRS = 2000 };

static int find(const int *parent, int a)
{
    while (parent[a] != a) a = parent[a];
    return a;
}

/* Axes that run over the same dimension of a tensor must have the same extent. */
static void unify_axes(mo_arena *arena, const mo_prim *g, int parent[MO_MAX_AXES])
{
    int8_t(*axis_of)[MO_MAX_RANK] = mo_arena_alloc(arena, sizeof *axis_of * (size_t)g->program->n_tensors);
    for (int a = 0; a < MO_MAX_AXES; a++) parent[a] = a;
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_access *access = &g->nodes[i].access;
        if (g->nodes[i].op != MO_OP_ITER) continue;
        MO_CHECK(access->rank >= 0 && access->tensor < g->program->n_tensors);
        for (int d = 0; d < access->rank; d++) {
            if (access->dim_axis[d] < 0) continue;
            int8_t *known = &axis_of[access->tensor][d];
            if (*known)
                parent[find(parent, access->dim_axis[d])] = find(parent, *known - 1);
            else
                *known = (int8_t)(access->dim_axis[d] + 1);
        }
    }
}

/* Axes whose length is a number of the graph (a mean divides by it). */
static mo_axes counted_axes(const mo_prim *g)
{
    mo_axes axes = 0;
    for (int i = 0; i < g->n_nodes; i++) axes |= g->nodes[i].const_axes;
    return axes;
}

static bool all_fit(const mo_prim *g, const int extent[MO_MAX_AXES])
{
    mo_instance instance;
    for (int a = 0; a < MO_MAX_AXES; a++) instance.extent[a] = extent[a];
    for (int i = 0; i < g->n_nodes; i++)
        if (mo_instance_size(&instance, g->nodes[i].axes | g->nodes[i].reduced) > MO_ALGEBRA_CELLS / 4)
            return false;
    return true;
}

/* Different extents for independent axes, so that values of different roles cannot be confused: primes for
 * axes whose length is a number of the graph, short cycles for the others; shorter ones if need be. */
static void choose_extents(mo_arena *arena, const mo_prim *g, uint64_t round, int extent[MO_MAX_AXES])
{
    static const int primes[] = {3, 5, 2, 7};
    int parent[MO_MAX_AXES];
    unify_axes(arena, g, parent);
    mo_axes counted = 0, lengths = counted_axes(g);
    MO_FOR_AXES(a, lengths) counted |= 1u << find(parent, a);
    for (int longest = 5; longest >= 2; longest--) {
        uint64_t next = round, next_prime = round;
        for (int a = 0; a < MO_MAX_AXES; a++) {
            extent[a] = 1;
            if (a >= g->n_axes || parent[a] != a) continue;
            int wanted = 2 + (int)(next % (uint64_t)(longest - 1));
            if (longest > 2 && counted >> a & 1u)
                wanted = primes[next_prime++ % 4];
            else
                next++;
            extent[a] = g->axes[a].extent < wanted ? (int)g->axes[a].extent : wanted;
        }
        for (int a = 0; a < g->n_axes; a++) extent[a] = extent[find(parent, a)];
        if (all_fit(g, extent)) return;
    }
}

static void fill_tensors(mo_arena *arena, const mo_prim *g, uint64_t key, mo_algebra_instance *instance)
{
    int n = g->program->n_tensors;
    mo_shape *shapes = MO_NEW_ARRAY(arena, mo_shape, n);
    mo_fval **data = MO_NEW_ARRAY(arena, mo_fval *, n);
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_access *access = &g->nodes[i].access;
        if (g->nodes[i].op != MO_OP_ITER) continue;
        mo_shape *shape = &shapes[access->tensor];
        shape->rank = access->rank;
        for (int d = 0; d < access->rank; d++) {
            int64_t dim = access->dim_axis[d] < 0 ? 1 : instance->at.extent[access->dim_axis[d]];
            if (dim > shape->dim[d]) shape->dim[d] = dim;
        }
    }
    for (int t = 0; t < n; t++) {
        if (shapes[t].rank == 0 && shapes[t].dim[0] == 0) shapes[t].dim[0] = 1;
        int64_t elements = mo_shape_elements(shapes[t]);
        data[t] = MO_NEW_ARRAY(arena, mo_fval, elements);
        for (int64_t i = 0; i < elements; i++)
            data[t][i] = mo_field_random(&instance->field, mo_rng_at(key, (uint64_t)t), (uint64_t)i);
    }
    instance->at.shapes = shapes;
    instance->at.data = data;
}

static mo_fval **evaluate(mo_arena *arena, const mo_algebra_instance *instance, const mo_prim *g)
{
    mo_fval **values = MO_NEW_ARRAY(arena, mo_fval *, g->n_nodes);
    for (int i = 0; i < g->n_nodes; i++)
        values[i] = MO_NEW_ARRAY(arena, mo_fval, mo_instance_size(&instance->at, g->nodes[i].axes));
    mo_prim_eval(&instance->field, &instance->at, g, values);
    return values;
}

static bool all_defined(const mo_algebra_instance *instance, const mo_prim *g, mo_fval *const *values)
{
    bool clean = true;
    for (int i = 0; i < g->n_nodes && clean; i++)
        mo_fingerprint(values[i], mo_instance_size(&instance->at, g->nodes[i].axes), &clean);
    return clean;
}

static bool is_integer(double x)
{
    return x >= -1e9 && x <= 1e9 && (double)(int64_t)x >= x && (double)(int64_t)x <= x;
}

bool mo_algebra_takes_root(const mo_prim *graph, const mo_prim_node *node)
{
    if (node->op == MO_OP_SQRT || node->op == MO_OP_RSQRT) return true;
    return node->op == MO_OP_POW && !is_integer(graph->nodes[node->in[1]].number);
}

bool mo_algebra_roots(const mo_field *field, const mo_fval *radicands, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (!mo_field_is_square(field, radicands[i])) return false;
    return true;
}

/* Radicands that are no squares: how many, and the first in topological order. */
typedef struct {
    int count, node;
    int64_t element;
} misses;

static misses find_misses(const mo_algebra_instance *instance, const mo_prim *g, mo_fval *const *values)
{
    misses m = {0, -1, 0};
    for (int i = 0; i < g->n_nodes; i++) {
        if (!mo_algebra_takes_root(g, &g->nodes[i])) continue;
        int in = g->nodes[i].in[0];
        int64_t size = mo_instance_size(&instance->at, g->nodes[in].axes);
        for (int64_t k = 0; k < size; k++) {
            if (mo_field_is_square(&instance->field, values[in][k])) continue;
            if (m.count++ > 0) continue;
            m.node = in;
            m.element = k;
        }
    }
    return m;
}

static void mark_cone(const mo_prim *g, int node, bool *in_cone)
{
    in_cone[node] = true;
    for (int i = node; i >= 0; i--)
        for (int j = 0; in_cone[i] && j < g->nodes[i].n_in; j++) in_cone[g->nodes[i].in[j]] = true;
}

/* A random cell of the inputs that this element depends on. */
static mo_fval *pick_cell(mo_arena *arena, const mo_algebra_instance *instance, const mo_prim *g, misses miss,
                          mo_rng *rng)
{
    bool *in_cone = MO_NEW_ARRAY(arena, bool, g->n_nodes);
    int index[MO_MAX_AXES], leaf = -1;
    uint64_t seen = 0;
    mark_cone(g, miss.node, in_cone);
    for (int i = 0; i < g->n_nodes; i++)
        if (in_cone[i] && g->nodes[i].op == MO_OP_ITER && mo_rng_below(rng, ++seen) == 0) leaf = i;
    if (leaf < 0) return NULL;
    for (int a = MO_MAX_AXES - 1; a >= 0; a--) {
        int extent = instance->at.extent[a];
        index[a] = (int)mo_rng_below(rng, (uint64_t)extent);
        if (!(g->nodes[miss.node].axes >> a & 1u)) continue;
        index[a] = (int)(miss.element % extent);
        miss.element /= extent;
    }
    const mo_access *access = &g->nodes[leaf].access;
    const mo_shape *shape = &instance->at.shapes[access->tensor];
    int64_t cell = 0;
    for (int d = 0; d < access->rank; d++)
        cell = cell * shape->dim[d] + (access->dim_axis[d] < 0 ? 0 : index[access->dim_axis[d]]);
    return &instance->at.data[access->tensor][cell];
}

/* Redraws single inputs below a radicand that is no square, and keeps what does not make matters worse.
 * Each radicand takes a few tries, where a new draw of everything would never end. */
static void repair_roots(mo_arena *arena, const mo_algebra_instance *instance, const mo_prim *g,
                         mo_fval *const *values, uint64_t key)
{
    mo_rng rng = mo_rng_seed(key, 1);
    misses now = find_misses(instance, g, values);
    for (int i = 0; i < MAX_REPAIRS && now.count > 0; i++) {
        mo_arena_mark mark = mo_arena_get_mark(arena);
        mo_fval *cell = pick_cell(arena, instance, g, now, &rng);
        mo_arena_reset(arena, mark);
        if (!cell) break;
        mo_fval before = *cell;
        *cell = mo_field_random(&instance->field, mo_rng_next(&rng), (uint64_t)i);
        mo_prim_eval(&instance->field, &instance->at, g, values);
        misses after = find_misses(instance, g, values);
        if (after.count > now.count)
            *cell = before;
        else
            now = after;
    }
    mo_prim_eval(&instance->field, &instance->at, g, values);
}

bool mo_algebra_draw(mo_arena *arena, const mo_prim *graph, uint64_t seed, uint64_t round,
                     mo_algebra_instance *instance)
{
    int n_constants = 0;
    double *constants = MO_NEW_ARRAY(arena, double, graph->n_nodes * 3);
    for (int i = 0; i < graph->n_nodes; i++) {
        const mo_prim_node *node = &graph->nodes[i];
        if (node->op == MO_OP_CONST && !node->const_axes) constants[n_constants++] = node->number;
        if (node->op != MO_OP_CLAMP) continue;
        constants[n_constants++] = node->min;
        constants[n_constants++] = node->max;
    }
    choose_extents(arena, graph, round, instance->at.extent);
    /* A second exponential on a path needs a longer chain of primes. */
    for (uint64_t draw = 0; draw < MAX_DRAWS; draw++) {
        uint64_t number = round * MAX_DRAWS + draw;
        uint64_t key = mo_rng_at(seed ^ 0x616c676562726121u, number);
        mo_field_draw(&instance->field, seed, number, draw > 0, constants, n_constants);
        /* With a real order max(x, y) would be x on every other instance, and so the same value. */
        instance->field.free_order = true;
        fill_tensors(arena, graph, key, instance);
        mo_fval **values = evaluate(arena, instance, graph);
        repair_roots(arena, instance, graph, values, key);
        if (all_defined(instance, graph, values)) return true;
    }
    return false;
}

bool mo_algebra_same(mo_arena *scratch, const mo_algebra_instance *instance, const mo_prim *a,
                     const mo_prim *b)
{
    mo_arena_mark mark = mo_arena_get_mark(scratch);
    mo_fval **x = evaluate(scratch, instance, a), **y = evaluate(scratch, instance, b);
    bool same = a->n_savers == b->n_savers;
    for (int s = 0; s < a->n_savers && same; s++) {
        int i = a->savers[s].node, j = b->savers[s].node;
        same = a->nodes[i].axes == b->nodes[j].axes;
        int64_t count = same ? mo_instance_size(&instance->at, a->nodes[i].axes) : 0;
        for (int64_t k = 0; k < count && same; k++) same = mo_fval_equal(x[i][k], y[j][k]);
    }
    mo_arena_reset(scratch, mark);
    return same;
}
