/* Values at one element: of a row, of a column, of a fragment, of the output. */
#include "codegen/chain_gen.h"

#include "base/status.h"

#include <string.h>

const char *mo_chain_gen_tile_name(mo_chain_gen *w, int node)
{
    int tensor = w->gen->g->nodes[node].access.tensor;
    return mo_arena_printf(w->gen->arena, "s_%s%d", mo_gen_tensor(w->gen, tensor), node);
}

const char *mo_chain_gen_array(mo_chain_gen *w, int node)
{
    mo_chain_role role = w->plan.chain.role[node];
    const char *prefix = role == MO_CHAIN_ROW ? "row" : role == MO_CHAIN_COLUMN ? "col" : "f";
    return mo_arena_printf(w->gen->arena, "%s_%s", prefix, mo_gen_value_name(w->gen, node));
}

void mo_chain_gen_forget(mo_chain_gen *w)
{
    memset(w->value, 0, sizeof *w->value * (size_t)w->gen->g->n_nodes);
}

void mo_chain_gen_bind(mo_chain_gen *w, int axis, const char *local, const char *index, int64_t covered)
{
    int64_t extent = w->gen->g->axes[axis].extent;
    w->local[axis] = local;
    w->index[axis] = index;
    w->guard[axis] =
        extent % covered == 0 ? NULL : mo_arena_printf(w->gen->arena, "%s < %lld", index, (long long)extent);
}

void mo_chain_gen_unbind(mo_chain_gen *w, int axis)
{
    w->local[axis] = w->index[axis] = w->guard[axis] = NULL;
}

static const char *from_memory(mo_chain_gen *w, int node, const char *name)
{
    mo_gen *gen = w->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    mo_str guard = {0};
    MO_FOR_AXES(a, n->axes)
        if (w->guard[a] != NULL) mo_str_printf(&guard, "%s%s", guard.length > 0 ? " && " : "", w->guard[a]);
    const char *load = mo_arena_printf(gen->arena, "mo_load(g_%s + %s)", mo_gen_tensor(gen, n->access.tensor),
                                       mo_gen_offset(gen, n->axes, &n->access, w->index));
    if (guard.length > 0)
        mo_gen_line(gen, "const float %s = %s ? %s : 0.0f;", name, mo_str_text(&guard), load);
    else
        mo_gen_line(gen, "const float %s = %s;", name, load);
    mo_str_free(&guard);
    return name;
}

static const char *from_tile(mo_chain_gen *w, const mo_chain_tile *tile, const char *name)
{
    mo_gen_line(w->gen, "const float %s = mo_load(%s + (%s) * %d + %s);", name,
                mo_chain_gen_tile_name(w, tile->node), w->local[tile->row_axis], tile->stride,
                w->local[tile->col_axis]);
    return name;
}

/* What the groups left of a statistic or an accumulator, put together. */
static const char *from_parts(mo_chain_gen *w, const mo_chain_part *part, const char *name)
{
    mo_gen *gen = w->gen;
    const char *row = w->local[w->s->p_axis];
    mo_chain_role role = w->plan.chain.role[part->node];
    if (role == MO_CHAIN_ROW) return mo_arena_printf(gen->arena, "part_%s[%s]", name, row);
    const char *at = role == MO_CHAIN_STAT
                         ? row
                         : mo_arena_printf(gen->arena, "(%s) * %d + %s", row, part->size / w->plan.rows,
                                           w->local[w->s->q_axis]);
    mo_gen_line(gen, "const float %s = mo_reduce_parts<%s, GROUPS, %d>(part_%s + %s);", name,
                mo_gen_reduction(gen->g->nodes[part->node].op), part->size, name, at);
    return name;
}

static const char *from_array(mo_chain_gen *w, int node)
{
    mo_chain_role role = w->plan.chain.role[node];
    const char *element = role == MO_CHAIN_ROW      ? (w->at == MO_CHAIN_AT_ROW ? "[i][r]" : "[i][c / 2]")
                          : role == MO_CHAIN_COLUMN ? (w->at == MO_CHAIN_AT_COLUMN ? "[j][h]" : "[j][c % 2]")
                                                    : "[i][j][c]";
    return mo_arena_printf(w->gen->arena, "%s%s", mo_chain_gen_array(w, node), element);
}

/* exp(s - max s) while the maximum runs: shifted by what it is so far. */
static const char *shifted(mo_chain_gen *w, int node, int maximum, const char *name)
{
    mo_gen *gen = w->gen;
    const char *x = mo_chain_gen_value(w, gen->g->nodes[gen->g->nodes[node].in[0]].in[0]);
    mo_gen_line(gen, "const float %s = mo_ex2((%s - shift_%s[i][c / 2]) * LOG2_E);", name, x,
                mo_gen_value_name(gen, maximum));
    return name;
}

static const char *computed(mo_chain_gen *w, int node, const char *name)
{
    mo_gen *gen = w->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    int maximum = mo_chain_shift(gen->g, &w->plan.chain, node);
    if (maximum >= 0 && w->at == MO_CHAIN_AT_SCORE) return shifted(w, node, maximum, name);
    const char *a = mo_chain_gen_value(w, n->in[0]);
    const char *b = n->n_in > 1 ? mo_chain_gen_value(w, n->in[1]) : "";
    mo_gen_line(gen, "const float %s = %s;", name, mo_gen_pointwise(gen, n, a, b, w->index));
    return name;
}

const char *mo_chain_gen_value(mo_chain_gen *w, int node)
{
    mo_gen *gen = w->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    if (w->value[node] != NULL) return w->value[node];
    const char *name = mo_gen_value_name(gen, node);
    const mo_chain_tile *tile = mo_chain_plan_tile(&w->plan, node);
    const mo_chain_part *part = mo_chain_plan_part(&w->plan, node);
    if (n->op == MO_OP_CONST)
        name = mo_gen_number(gen, n->number);
    else if (w->stored[node] && w->at != MO_CHAIN_AT_TAIL)
        name = from_array(w, node);
    else if (tile != NULL && w->at == MO_CHAIN_AT_COLUMN)
        name = from_tile(w, tile, name);
    else if (n->op == MO_OP_ITER)
        name = from_memory(w, node, name);
    else if (part != NULL && w->at == MO_CHAIN_AT_TAIL)
        name = from_parts(w, part, name);
    else
        name = computed(w, node, name);
    w->value[node] = name;
    return name;
}
