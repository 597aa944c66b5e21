/* Values at one element of a tile, and names of tiles and accumulators. */
#include "codegen/stream_gen.h"

#include "base/status.h"

#include <string.h>

int mo_stream_gen_fragments(const mo_stream_gen *w, int size, mo_side side)
{
    (void)w;
    return size / (side == MO_SIDE_P ? 16 : 8);
}

int mo_stream_gen_warp_fragments(const mo_stream_gen *w, int size, mo_side side)
{
    int warps = side == MO_SIDE_P ? w->s->warps_p : w->s->warps_q;
    return (mo_stream_gen_fragments(w, size, side) + warps - 1) / warps;
}

bool mo_stream_gen_spread(const mo_stream_gen *w, mo_side side)
{
    return w->s->wgmma && side == MO_SIDE_Q;
}

int mo_stream_gen_stat_fragments(const mo_stream_gen *w, int size, mo_side side)
{
    int fragments = mo_stream_gen_fragments(w, size, side), warps = w->s->warps_p;
    return mo_stream_gen_spread(w, side) ? (fragments + warps - 1) / warps
                                         : mo_stream_gen_warp_fragments(w, size, side);
}

static int open_loop(mo_stream_gen *w, int size, mo_side side, bool spread)
{
    mo_gen *gen = w->gen;
    bool p = side == MO_SIDE_P;
    char i = p ? 'i' : 'j', first = p ? 'p' : 'q', by = p || spread ? 'p' : 'q';
    int warps = by == 'p' ? w->s->warps_p : w->s->warps_q, fragments = mo_stream_gen_fragments(w, size, side);
    mo_gen_line(gen, "#pragma unroll");
    mo_gen_line(gen, "for (int %c = 0; %c < %d; %c++) {", i, i, (fragments + warps - 1) / warps, i);
    mo_gen_line(gen, "const int %c = (warp_%c + %c * WARPS_%c) * %d;", first, by, i, by == 'p' ? 'P' : 'Q',
                p ? 16 : 8);
    if (fragments % warps == 0) return 1;
    mo_gen_line(gen, "if (%c < %d) {", first, size);
    return 2;
}

int mo_stream_gen_open_fragments(mo_stream_gen *w, int size, mo_side side)
{
    return open_loop(w, size, side, false);
}

int mo_stream_gen_open_stat(mo_stream_gen *w, int size, mo_side side)
{
    return open_loop(w, size, side, mo_stream_gen_spread(w, side));
}

const char *mo_stream_gen_slab(const mo_stream_gen *w)
{
    if (w->s->parts > 1) return "(i * GROUPS + group) * PARTS + part";
    return w->s->cluster > 1 ? "(i * GROUPS + group) * CLUSTER + rank" : "i * GROUPS + group";
}

const mo_tile *mo_stream_gen_tile(const mo_stream_gen *w, int node)
{
    for (int i = 0; i < w->plan.n_tiles; i++)
        if (w->plan.tiles[i].node == node) return &w->plan.tiles[i];
    for (int i = 0; i < w->plan.n_resident; i++)
        if (w->plan.resident[i].node == node) return &w->plan.resident[i];
    for (int i = 0; i < w->plan.n_between; i++)
        if (w->plan.between[i].node == node) return &w->plan.between[i];
    return NULL;
}

const char *mo_stream_gen_tile_name(mo_stream_gen *w, int node)
{
    const mo_prim_node *n = &w->gen->g->nodes[node];
    if (n->op == MO_OP_ITER)
        return mo_arena_printf(w->gen->arena, "s_%s%d", mo_gen_tensor(w->gen, n->access.tensor), node);
    return mo_arena_printf(w->gen->arena, "s_%s", mo_gen_value_name(w->gen, node));
}

const char *mo_stream_gen_layout(mo_stream_gen *w, const mo_tile *tile)
{
    if (tile->copy == MO_TILE_BOX && tile->swizzle > 0)
        return mo_arena_printf(w->gen->arena, "mo_swizzled<%d, %d>", tile->rows, tile->panel);
    return mo_arena_printf(w->gen->arena, "mo_rows<%d>", tile->stride);
}

const char *mo_stream_gen_accum_name(mo_stream_gen *w, int accum)
{
    return mo_arena_printf(w->gen->arena, "acc_%s", mo_gen_value_name(w->gen, w->plan.accums[accum].value));
}

void mo_stream_gen_forget(mo_stream_gen *w)
{
    memset(w->value, 0, sizeof *w->value * (size_t)w->gen->g->n_nodes);
}

static const char *local_of(const mo_stream_gen *w, int axis)
{
    return axis < 0 || w->local[axis] == NULL ? "0" : w->local[axis];
}

/* Element of a tile at the local indices. */
static const char *tile_element(mo_stream_gen *w, const mo_tile *tile)
{
    if (w->fragment[tile->node] != NULL) return w->fragment[tile->node];
    const char *row = local_of(w, tile->inner_rows ? tile->inner : tile->axis);
    const char *col = local_of(w, tile->inner_rows ? tile->axis : tile->inner);
    MO_CHECK(tile->copy != MO_TILE_DIRECT);
    if (tile->swizzle > 0)
        return mo_arena_printf(w->gen->arena, "mo_load(%s + %s::at(%s, %s))",
                               mo_stream_gen_tile_name(w, tile->node), mo_stream_gen_layout(w, tile), row,
                               col);
    return mo_arena_printf(w->gen->arena, "mo_load(%s + (%s) * %d + %s)",
                           mo_stream_gen_tile_name(w, tile->node), row, tile->stride, col);
}

static const char *accumulated(mo_stream_gen *w, int node)
{
    mo_gen *gen = w->gen;
    const char *name = mo_gen_value_name(gen, node);
    for (int i = 0; i < w->plan.n_stats; i++) {
        const mo_stat *stat = &w->plan.stats[i];
        if (stat->node != node) continue;
        const char *op = mo_gen_reduction(gen->g->nodes[node].op), *row = local_of(w, stat->axis);
        if (w->s->cluster > 1)
            mo_gen_line(gen, "const float %s = %s::apply(part_%s[%s], peer_%s[%s]);", name, op, name, row,
                        name, row);
        else if (w->s->parts > 1)
            mo_gen_line(gen, "const float %s = part_%s[%s];", name, name, row);
        else
            mo_gen_line(gen, "const float %s = mo_reduce_parts<%s, GROUPS, %d>(part_%s + %s);", name, op,
                        stat->size, name, row);
        return name;
    }
    const mo_accum *accum = &w->plan.accums[w->plan.accum_of[node]];
    MO_CHECK(accum->value == node);
    const char *at = mo_arena_printf(gen->arena, "(%s) * %d + %s", local_of(w, accum->q_axis), accum->stride,
                                     local_of(w, accum->p_axis));
    if (w->s->cluster > 1 || w->s->parts > 1) {
        if (w->s->cluster > 1)
            mo_gen_line(gen, "const float %s = part_%s[%s] + peer_%s[%s];", name, name, at, name, at);
        else
            mo_gen_line(gen, "const float %s = part_%s[%s];", name, name, at);
        return name;
    }
    mo_gen_line(gen, "float %s[1];", name);
    mo_gen_line(gen, "mo_sum_parts<GROUPS, %d>(%s, part_%s + %s);", accum->q_size * accum->stride, name, name,
                at);
    return mo_arena_printf(gen->arena, "%s[0]", name);
}

const char *mo_stream_gen_value(mo_stream_gen *w, int node)
{
    mo_gen *gen = w->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    if (w->value[node] != NULL) return w->value[node];
    const char *name = mo_gen_value_name(gen, node);
    const mo_tile *tile = mo_stream_gen_tile(w, node);
    if (n->op == MO_OP_CONST) {
        name = mo_gen_number(gen, n->number);
    } else if (tile != NULL && w->at == MO_AT_LOOP) {
        mo_gen_line(gen, "const float %s = %s;", name, tile_element(w, tile));
    } else if (w->at == MO_AT_TAIL && w->stored[node] != NULL) {
        const mo_post *post = w->stored[node];
        mo_gen_line(gen, "const float %s = post_%s[(%s) * %d + %s];", name, name, local_of(w, post->q_axis),
                    post->p_size, local_of(w, post->p_axis));
    } else if (n->op == MO_OP_ITER) {
        mo_gen_line(gen, "const float %s = mo_load(g_%s + %s);", name, mo_gen_tensor(gen, n->access.tensor),
                    mo_gen_offset(gen, n->axes, &n->access, w->index));
    } else if (mo_stream_plan_accumulated(&w->plan, node)) {
        name = accumulated(w, node);
    } else {
        const char *a = mo_stream_gen_value(w, n->in[0]);
        const char *b = n->n_in > 1 ? mo_stream_gen_value(w, n->in[1]) : "";
        mo_gen_line(gen, "const float %s = %s;", name, mo_gen_pointwise(gen, n, a, b, w->index));
    }
    w->value[node] = name;
    return name;
}
