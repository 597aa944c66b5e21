/* PLAIN schedule: one thread for each output element; reductions are loops in that thread. Right for any
 * graph and any strides; the last resort where nothing faster fits. */
#include "codegen/gen.h"

#include <string.h>

#define LONGEST_TEXT (1u << 20) /* reductions in reductions are written out, again and again */

/* Values known at one point of the nest: their names, and the index variable of each axis. */
typedef struct scope {
    const char **value; /* for each node, or NULL */
    const char *index[MO_MAX_AXES];
} scope;

static scope inner_scope(mo_gen *gen, const scope *outer, mo_axes bound)
{
    scope s = *outer;
    s.value = MO_NEW_ARRAY(gen->arena, const char *, gen->g->n_nodes);
    for (int i = 0; i < gen->g->n_nodes; i++)
        if ((gen->g->nodes[i].axes & bound) == 0) s.value[i] = outer->value[i];
    return s;
}

static const char *value(mo_gen *gen, scope *s, int node);

static void reduction(mo_gen *gen, scope *s, int node, const char *name)
{
    const mo_prim_node *n = &gen->g->nodes[node];
    const char *op = mo_gen_reduction(n->op);
    mo_gen_line(gen, "float %s = %s::start(); // %s", name, op, mo_gen_describe(gen, node));
    scope inside = inner_scope(gen, s, n->reduced);
    int loops = 0;
    MO_FOR_AXES(a, n->reduced) {
        const char *index = mo_arena_printf(gen->arena, "i_%s_%d", gen->g->axes[a].name, gen->unique++);
        inside.index[a] = index;
        mo_gen_line(gen, "for (int %s = 0; %s < %lld; %s++) {", index, index,
                    (long long)gen->g->axes[a].extent, index);
        loops++;
    }
    const char *x = value(gen, &inside, n->in[0]);
    if (n->op == MO_OP_MATMUL)
        mo_gen_line(gen, "%s += %s * %s;", name, x, value(gen, &inside, n->in[1]));
    else
        mo_gen_line(gen, "%s = %s::apply(%s, %s);", name, op, name, x);
    while (loops-- > 0) mo_gen_line(gen, "}");
}

/* Emits what computes `node` at the scope's indices, unless known; returns its name. */
static const char *value(mo_gen *gen, scope *s, int node)
{
    if (s->value[node] != NULL) return s->value[node];
    const mo_prim_node *n = &gen->g->nodes[node];
    const char *name = mo_arena_printf(gen->arena, "%s_%d", mo_gen_value_name(gen, node), gen->unique++);
    if (gen->text.length > LONGEST_TEXT) gen->reason = "too many nested reductions for a thread";
    if (gen->reason != NULL) return name;
    if (n->op == MO_OP_CONST) {
        name = mo_gen_number(gen, n->number);
    } else if (n->op == MO_OP_ITER) {
        mo_gen_line(gen, "const float %s = mo_load(g_%s + %s);", name, mo_gen_tensor(gen, n->access.tensor),
                    mo_gen_offset(gen, n->axes, &n->access, s->index));
    } else if (n->reduced != 0) {
        reduction(gen, s, node, name);
    } else {
        const char *a = value(gen, s, n->in[0]);
        const char *b = n->n_in > 1 ? value(gen, s, n->in[1]) : "";
        mo_gen_line(gen, "const float %s = %s;", name, mo_gen_pointwise(gen, n, a, b, s->index));
    }
    s->value[node] = name;
    return name;
}

/* Declares the index of each axis of `axes` from the linear index `i`; the smallest stride runs fastest. */
static void decode(mo_gen *gen, mo_axes axes, const mo_access *access, scope *s)
{
    mo_gen_line(gen, "int rest = i;");
    while (axes != 0) {
        int fastest = mo_axes_first(axes);
        MO_FOR_AXES(a, axes)
            if (access->stride[a] < access->stride[fastest]) fastest = a;
        axes &= ~(1u << fastest);
        const char *name = gen->g->axes[fastest].name;
        s->index[fastest] = mo_arena_printf(gen->arena, "i_%s", name);
        long long extent = (long long)gen->g->axes[fastest].extent;
        if (axes == 0) {
            mo_gen_line(gen, "const int i_%s = rest;", name);
        } else {
            mo_gen_line(gen, "const int i_%s = rest %% %lld;", name, extent);
            mo_gen_line(gen, "rest /= %lld;", extent);
        }
    }
}

bool mo_gen_plain(mo_gen *gen, mo_gen_launch *launch)
{
    const mo_prim *g = gen->g;
    int threads = gen->kernel->schedule.threads;
    int64_t most = 1;
    mo_gen_open_kernel(gen);
    mo_gen_line(gen, "const int i = blockIdx.x * %d + threadIdx.x;", threads);
    for (int k = 0; k < g->n_savers; k++) {
        const mo_saver *saver = &g->savers[k];
        mo_axes axes = g->nodes[saver->node].axes;
        int64_t count = mo_prim_extent(g, axes);
        if (count > most) most = count;
        mo_gen_line(gen, "if (i < %lld) {", (long long)count);
        scope s = {.value = MO_NEW_ARRAY(gen->arena, const char *, g->n_nodes)};
        if (axes != 0) decode(gen, axes, &saver->access, &s);
        const char *x = value(gen, &s, saver->node);
        mo_gen_line(gen, "mo_store(g_%s + %s, %s);", mo_gen_tensor(gen, saver->access.tensor),
                    mo_gen_offset(gen, axes, &saver->access, s.index), x);
        mo_gen_line(gen, "}");
    }
    mo_gen_line(gen, "}");
    *launch = (mo_gen_launch){.grid = {(unsigned)((most + threads - 1) / threads), 1, 1},
                              .block = {(unsigned)threads, 1, 1}};
    return gen->reason == NULL;
}
