/* Products over one reduced axis on matrix units, and the row statistics of the loop. Operands that are plain
 * tiles come by ldmatrix; elementwise chains are computed element by element in the fragment layout. 16-bit
 * operands are rounded once; all others are multiplied in f32, as sums of TF32 products (mo_mma_f32).
 */
#include "codegen/stream_gen.h"

#include "base/status.h"

typedef struct {
    mo_stream_gen *w;
    int inner;
    bool loop;
    const char *length;
} products;

static bool has_fragment_tile(const mo_stream_gen *w, int node)
{
    const mo_tile *tile = mo_stream_gen_tile(w, node);
    return tile != NULL && tile->dtype == w->plan.roles.mma_dtype;
}

static int operand_size(const mo_stream_gen *w, int product, mo_side side)
{
    const mo_accum *accum = &w->plan.accums[w->plan.accum_of[product]];
    return side == MO_SIDE_P ? accum->p_size : accum->q_size;
}

static int operand_of(const mo_stream_gen *w, int product, mo_side side)
{
    const mo_prim_node *n = &w->gen->g->nodes[product];
    return w->plan.roles.side[n->in[0]] == side ? n->in[0] : n->in[1];
}

static bool is_product(const products *p, int node)
{
    const mo_prim_node *n = &p->w->gen->g->nodes[node];
    return n->op == MO_OP_MATMUL && n->reduced == 1u << p->inner;
}

/* Is `node` the first product that uses this operand on this side? */
static bool first_use(const products *p, int node, mo_side side)
{
    for (int i = 0; i < node; i++)
        if (is_product(p, i) && operand_of(p->w, i, side) == operand_of(p->w, node, side)) return false;
    return true;
}

static const char *fragment_name(mo_stream_gen *w, int operand)
{
    const mo_prim_node *n = &w->gen->g->nodes[operand];
    if (n->op != MO_OP_ITER)
        return mo_arena_printf(w->gen->arena, "f_%s", mo_gen_value_name(w->gen, operand));
    return mo_arena_printf(w->gen->arena, "f_%s%d", mo_gen_tensor(w->gen, n->access.tensor), operand);
}

static void close_loops(mo_gen *gen, int count)
{
    while (count-- > 0) mo_gen_line(gen, "}");
}

static const char *start_name(mo_stream_gen *w, int axis)
{
    if (axis == w->s->p_axis || axis == w->s->q_axis || axis == w->s->loop_axis)
        return mo_arena_printf(w->gen->arena, "%s0 + ", w->gen->g->axes[axis].name);
    return "";
}

/* Sets the local and the (clamped) global index of an axis to an expression. */
static void bind(mo_stream_gen *w, int axis, const char *local)
{
    if (axis < 0) return;
    long long last = (long long)w->gen->g->axes[axis].extent - 1;
    const char *global = mo_arena_printf(w->gen->arena, "%s%s", start_name(w, axis), local);
    w->local[axis] = local;
    w->index[axis] = mo_arena_printf(w->gen->arena, "(%s < %lld ? %s : %lld)", global, last, global, last);
}

static void unbind(mo_stream_gen *w, int axis)
{
    if (axis < 0) return;
    w->local[axis] = NULL;
    w->index[axis] = NULL;
}

/* What a value counts as past the end of the reduced axis: `neutral`. */
static const char *masked(products *p, const char *x, const char *k, const char *neutral)
{
    mo_stream_gen *w = p->w;
    int64_t extent = w->gen->g->axes[p->inner].extent;
    if (extent % (p->loop ? w->plan.slab : 16) == 0) return x;
    return mo_arena_printf(w->gen->arena, "%s%s < %lld ? %s : %s", start_name(w, p->inner), k,
                           (long long)extent, x, neutral);
}

/* Value of `node` at element (row, k) of its side, as a C expression; emits what it needs. */
static const char *element(products *p, int node, int axis, const char *row, const char *k,
                           const char *neutral)
{
    mo_stream_gen *w = p->w;
    mo_stream_gen_forget(w);
    bind(w, axis, row);
    bind(w, p->inner, k);
    w->at = MO_AT_LOOP;
    const char *x = mo_stream_gen_value(w, node);
    bool plain = mo_stream_gen_tile(w, node) != NULL && neutral[0] == '0';
    x = plain ? x : masked(p, x, k, neutral);
    unbind(w, axis);
    unbind(w, p->inner);
    return x;
}

static int axis_of(const mo_stream_gen *w, int node, int inner)
{
    return mo_stream_tile_axis(w->gen->kernel, w->gen->g->nodes[node].axes, inner);
}

/* Fills fragment `into` with an operand that is not a plain tile. */
static void computed_fragment(products *p, int operand, mo_side side, const char *into)
{
    mo_gen *gen = p->w->gen;
    bool is_p = side == MO_SIDE_P;
    const char *type = mo_gen_type(p->w->plan.roles.mma_dtype);
    mo_gen_line(gen, "#pragma unroll");
    mo_gen_line(gen, "for (int r = 0; r < %d; r++) {", is_p ? 4 : 2);
    mo_gen_line(gen, "float pair[2];");
    mo_gen_line(gen, "#pragma unroll");
    mo_gen_line(gen, "for (int h = 0; h < 2; h++) {");
    mo_gen_line(gen, is_p ? "const int row = p + g + r %% 2 * 8, k = kk + 2 * t + h + r / 2 * 8;"
                          : "const int row = q + g, k = kk + 2 * t + h + r * 8;");
    mo_gen_line(gen, "(void)row;");
    mo_gen_line(gen, "pair[h] = %s;",
                element(p, operand, axis_of(p->w, operand, p->inner), "row", "k", "0.0f"));
    mo_gen_line(gen, "}");
    mo_gen_line(gen, "%s[r] = mo_pack<%s>(pair[0], pair[1]);", into, type);
    mo_gen_line(gen, "}");
}

static void fragment(products *p, int operand, mo_side side, const char *into)
{
    mo_stream_gen *w = p->w;
    if (!has_fragment_tile(w, operand)) {
        computed_fragment(p, operand, side, into);
        return;
    }
    const mo_tile *tile = mo_stream_gen_tile(w, operand);
    if (tile->copy == MO_TILE_DIRECT) {
        const char *name = mo_stream_gen_tile_name(w, operand) + 2;
        mo_gen_line(
            w->gen,
            "%s[0] = r_%s[j][kk / 32][kk / 16 %% 2 * 2], %s[1] = r_%s[j][kk / 32][kk / 16 %% 2 * 2 + 1];",
            into, name, into, name);
        return;
    }
    if (p->loop && w->plan.n_direct > 0) {
        mo_gen_line(w->gen, "mo_frag_a_turned<%s>(%s, %s, p, kk / 32 * 32, kk / 16 %% 2);",
                    mo_stream_gen_layout(w, tile), into, mo_stream_gen_tile_name(w, operand));
        return;
    }
    mo_gen_line(w->gen, "mo_frag_%c_%s<%s>(%s, %s, %c, kk);", side == MO_SIDE_P ? 'a' : 'b',
                tile->inner_rows ? "cols" : "rows", mo_stream_gen_layout(w, tile), into,
                mo_stream_gen_tile_name(w, operand), side == MO_SIDE_P ? 'p' : 'q');
}

/* The direct operand that a value depends on, or -1. */
static int direct_source(const mo_stream_gen *w, int node)
{
    const mo_prim_node *n = &w->gen->g->nodes[node];
    const mo_tile *tile = n->op == MO_OP_ITER ? mo_stream_gen_tile(w, node) : NULL;
    if (tile != NULL && tile->copy == MO_TILE_DIRECT) return node;
    for (int j = 0; j < n->n_in; j++)
        if (direct_source(w, n->in[j]) >= 0) return direct_source(w, n->in[j]);
    return -1;
}

/* Can a statistic be taken where fragments of `operand` (-1: none) are at hand? */
static bool served(const mo_stream_gen *w, const mo_stat *stat, mo_side side, int size, int operand)
{
    if (stat->side != side || stat->size != size) return false;
    int source = w->plan.n_direct > 0 ? direct_source(w, stat->node) : -1;
    return source < 0 || source == operand;
}

/* Adds the current fragments' elements to the statistics of one side that they serve. */
static void statistics(products *p, mo_side side, int size, int operand)
{
    mo_stream_gen *w = p->w;
    mo_gen *gen = w->gen;
    bool is_p = side == MO_SIDE_P;
    for (int i = 0; i < w->plan.n_stats; i++) {
        const mo_stat *stat = &w->plan.stats[i];
        if (!served(w, stat, side, size, operand)) continue;
        const mo_prim_node *n = &gen->g->nodes[stat->node];
        const char *op = mo_gen_reduction(n->op);
        mo_gen_line(gen, "#pragma unroll");
        mo_gen_line(gen, "for (int e = 0; e < %d; e++) {", is_p ? 8 : 4);
        mo_gen_line(gen, "const int r = e / 2, h = e %% 2;");
        mo_gen_line(gen, is_p ? "const int row = p + g + r %% 2 * 8, k = kk + 2 * t + h + r / 2 * 8;"
                              : "const int row = q + g, k = kk + 2 * t + h + r * 8;");
        mo_gen_line(gen, "(void)row, (void)k;");
        const char *neutral = n->op == MO_OP_SUM ? "0.0f" : mo_arena_printf(gen->arena, "%s::start()", op);
        const char *x = element(p, n->in[0], stat->axis, "row", "k", neutral);
        const char *into = mo_arena_printf(gen->arena, is_p ? "stat_%s[i][r %% 2]" : "stat_%s[j]",
                                           mo_gen_value_name(gen, stat->node));
        mo_gen_line(gen, "%s = %s::apply(%s, %s);", into, op, into, x);
        mo_gen_line(gen, "}");
    }
}

static void multiply_all(products *p, int first, const char *a)
{
    mo_stream_gen *w = p->w;
    mo_gen *gen = w->gen;
    for (int n = first; n < gen->g->n_nodes; n++) {
        if (!is_product(p, n) || operand_of(w, n, MO_SIDE_P) != operand_of(w, first, MO_SIDE_P)) continue;
        const char *b = fragment_name(w, operand_of(w, n, MO_SIDE_Q));
        const char *acc = mo_stream_gen_accum_name(w, w->plan.accum_of[n]);
        int loops = mo_stream_gen_open_fragments(w, operand_size(w, n, MO_SIDE_Q), MO_SIDE_Q);
        mo_gen_line(gen, "(void)q;");
        mo_gen_line(gen, "mo_mma<%s>(%s[i][j], %s, %s[j]);", mo_gen_type(w->plan.roles.mma_dtype), acc, a, b);
        close_loops(gen, loops);
    }
}

static bool stat_pending(const mo_stream_gen *w, mo_side side, int size, int operand, const bool *done)
{
    for (int i = 0; i < w->plan.n_stats; i++)
        if (served(w, &w->plan.stats[i], side, size, operand) && !done[i]) return true;
    return false;
}

static void mark_done(const mo_stream_gen *w, mo_side side, int size, int operand, bool *done)
{
    for (int i = 0; i < w->plan.n_stats; i++)
        if (served(w, &w->plan.stats[i], side, size, operand)) done[i] = true;
}

/* Statistics of a side and size that no operand's fragments served. */
static void remaining_statistics(products *p, bool *done)
{
    mo_stream_gen *w = p->w;
    for (int i = 0; p->loop && i < w->plan.n_stats; i++) {
        const mo_stat *stat = &w->plan.stats[i];
        if (done[i]) continue;
        int loops = mo_stream_gen_open_stat(w, stat->size, stat->side);
        statistics(p, stat->side, stat->size, -1);
        close_loops(w->gen, loops);
        mark_done(w, stat->side, stat->size, -1, done);
    }
}

/* A vector fills one row of its fragments: statistics that have a row axis must not read the others. */
static bool is_vector_among_rows(const mo_stream_gen *w, int operand, mo_side side)
{
    bool rows = false;
    for (int i = 0; i < w->plan.n_stats; i++)
        rows |= w->plan.stats[i].side == side && w->plan.stats[i].axis >= 0;
    return rows && mo_stream_gen_tile(w, operand)->axis < 0;
}

static void remember_fragment(mo_stream_gen *w, int operand, mo_side side, const char *expression)
{
    if (w->gen->g->nodes[operand].op != MO_OP_ITER || !has_fragment_tile(w, operand)) return;
    if (!is_vector_among_rows(w, operand, side)) w->fragment[operand] = expression;
}

/* Loads a plain operand's fragments two at a time where a warp's are neighbours; false if they are not. */
static bool paired_fragments(products *p, int operand, int size, const char *f)
{
    mo_stream_gen *w = p->w;
    int count = mo_stream_gen_warp_fragments(w, size, MO_SIDE_Q);
    if (w->s->warps_q != 1 || count % 2 != 0 || !has_fragment_tile(w, operand)) return false;
    const mo_tile *tile = mo_stream_gen_tile(w, operand);
    if (tile->copy == MO_TILE_DIRECT) return false;
    mo_gen_line(w->gen, "#pragma unroll");
    mo_gen_line(w->gen, "for (int j = 0; j < %d; j += 2) mo_frag_b2_%s<%s>(%s[j], %s[j + 1], %s, j * 8, kk);",
                count, tile->inner_rows ? "cols" : "rows", mo_stream_gen_layout(w, tile), f, f,
                mo_stream_gen_tile_name(w, operand));
    return true;
}

static void q_fragments(products *p, bool *done)
{
    mo_stream_gen *w = p->w;
    mo_gen *gen = w->gen;
    const char *type = mo_gen_type(w->plan.roles.mma_dtype);
    for (int n = 0; n < gen->g->n_nodes; n++) {
        if (!is_product(p, n) || !first_use(p, n, MO_SIDE_Q)) continue;
        int operand = operand_of(w, n, MO_SIDE_Q), size = operand_size(w, n, MO_SIDE_Q);
        const char *f = fragment_name(w, operand);
        mo_gen_line(gen, "unsigned %s[%d][2];", f, mo_stream_gen_warp_fragments(w, size, MO_SIDE_Q));
        bool paired = paired_fragments(p, operand, size, f);
        bool statistic = p->loop && stat_pending(w, MO_SIDE_Q, size, operand, done);
        if (paired && !statistic) continue;
        int loops = mo_stream_gen_open_fragments(w, size, MO_SIDE_Q);
        if (!paired) fragment(p, operand, MO_SIDE_Q, mo_arena_printf(gen->arena, "%s[j]", f));
        remember_fragment(w, operand, MO_SIDE_Q,
                          mo_arena_printf(gen->arena, "mo_frag_get<%s>(%s[j][r], h)", type, f));
        if (statistic) {
            statistics(p, MO_SIDE_Q, size, operand);
            mark_done(w, MO_SIDE_Q, size, operand, done);
        }
        w->fragment[operand] = NULL;
        close_loops(gen, loops);
    }
}

static void p_fragments(products *p, bool *done)
{
    mo_stream_gen *w = p->w;
    mo_gen *gen = w->gen;
    const char *type = mo_gen_type(w->plan.roles.mma_dtype);
    for (int n = 0; n < gen->g->n_nodes; n++) {
        if (!is_product(p, n) || !first_use(p, n, MO_SIDE_P)) continue;
        int operand = operand_of(w, n, MO_SIDE_P), size = operand_size(w, n, MO_SIDE_P);
        const char *f = fragment_name(w, operand);
        int loops = mo_stream_gen_open_fragments(w, size, MO_SIDE_P);
        mo_gen_line(gen, "unsigned %s[4];", f);
        fragment(p, operand, MO_SIDE_P, f);
        remember_fragment(w, operand, MO_SIDE_P,
                          mo_arena_printf(gen->arena, "mo_frag_get<%s>(%s[r], h)", type, f));
        if (p->loop && stat_pending(w, MO_SIDE_P, size, operand, done)) {
            statistics(p, MO_SIDE_P, size, operand);
            mark_done(w, MO_SIDE_P, size, operand, done);
        }
        w->fragment[operand] = NULL;
        multiply_all(p, n, f);
        close_loops(gen, loops);
    }
}

static void mma_products(products *p)
{
    mo_stream_gen *w = p->w;
    mo_gen *gen = w->gen;
    bool *done = MO_NEW_ARRAY(gen->arena, bool, w->plan.n_stats + 1);
    if (p->loop) {
        mo_gen_line(gen, "#pragma unroll");
        mo_gen_line(gen, "for (int kk = 0; kk < SLAB; kk += 16) {");
    } else {
        bool pair = w->s->cluster > 1;
        mo_gen_line(gen, "for (int kk = %s * 16; kk < %s; kk += GROUPS%s * 16) {",
                    pair ? "(group * CLUSTER + rank)" : "group", p->length, pair ? " * CLUSTER" : "");
    }
    q_fragments(p, done);
    p_fragments(p, done);
    remaining_statistics(p, done);
    mo_gen_line(gen, "}");
}

/* A tile in shared memory from this warp group's row of the m64 block `i` on, or from its first column on. */
static const char *wgmma_operand(products *p, int operand, mo_side side)
{
    mo_stream_gen *w = p->w;
    const mo_tile *tile = mo_stream_gen_tile(w, operand);
    const char *name = mo_stream_gen_tile_name(w, operand);
    const char *row = side == MO_SIDE_P ? "(warp_p / 4 * 4 + i * WARPS_P) * 16" : "0";
    int panel = tile->rows * 64;
    if (!tile->inner_rows)
        return mo_arena_printf(w->gen->arena, "mo_wgmma_rows(%s + kk / 64 * %d + kk %% 64 + %s * 64)", name,
                               panel, row);
    return mo_arena_printf(w->gen->arena, "mo_wgmma_columns<%d>(%s + %s / 64 * %d + kk * 64)", panel * 2,
                           name, row, panel);
}

static void wgmma_product(products *p, int n)
{
    mo_stream_gen *w = p->w;
    mo_gen *gen = w->gen;
    const mo_accum *accum = &w->plan.accums[w->plan.accum_of[n]];
    int left = operand_of(w, n, MO_SIDE_P), right = operand_of(w, n, MO_SIDE_Q);
    mo_gen_line(gen, "#pragma unroll");
    mo_gen_line(gen, "for (int i = 0; i < %d; i++)", accum->p_size / 16 / w->s->warps_p);
    mo_gen_line(gen, "mo_wgmma_%s_n%d<%d, %d>(%s[i], %s, %s);",
                w->plan.roles.mma_dtype == MO_F16 ? "f16" : "bf16", accum->q_size,
                mo_stream_gen_tile(w, left)->inner_rows, mo_stream_gen_tile(w, right)->inner_rows,
                mo_stream_gen_accum_name(w, w->plan.accum_of[n]), wgmma_operand(p, left, MO_SIDE_P),
                wgmma_operand(p, right, MO_SIDE_Q));
}

/* Statistics read the slab while the matrix units do; every warp takes its share of the rows. */
static void wgmma_statistics(products *p)
{
    mo_stream_gen *w = p->w;
    mo_gen *gen = w->gen;
    const char *type = mo_gen_type(w->plan.roles.mma_dtype);
    bool *done = MO_NEW_ARRAY(gen->arena, bool, w->plan.n_stats + 1);
    if (w->plan.n_stats == 0) return;
    mo_gen_line(gen, "#pragma unroll");
    mo_gen_line(gen, "for (int kk = 0; kk < SLAB; kk += 16) {");
    for (int n = 0; n < gen->g->n_nodes; n++)
        for (mo_side side = MO_SIDE_P; is_product(p, n) && side <= MO_SIDE_Q; side++) {
            int operand = operand_of(w, n, side), size = operand_size(w, n, side);
            if (!stat_pending(w, side, size, operand, done)) continue;
            int loops = mo_stream_gen_open_stat(w, size, side);
            mo_gen_line(gen, "unsigned f[%d];", side == MO_SIDE_P ? 4 : 2);
            fragment(p, operand, side, "f");
            remember_fragment(w, operand, side,
                              mo_arena_printf(gen->arena, "mo_frag_get<%s>(f[r], h)", type));
            statistics(p, side, size, operand);
            mark_done(w, side, size, operand, done);
            w->fragment[operand] = NULL;
            close_loops(gen, loops);
        }
    remaining_statistics(p, done);
    mo_gen_line(gen, "}");
}

static void wgmma_products(products *p)
{
    mo_stream_gen *w = p->w;
    mo_gen *gen = w->gen;
    mo_gen_line(gen, "mo_wgmma_fence();");
    mo_gen_line(gen, "#pragma unroll");
    mo_gen_line(gen, "for (int kk = 0; kk < SLAB; kk += 16) {");
    for (int n = 0; n < gen->g->n_nodes; n++)
        if (is_product(p, n)) wgmma_product(p, n);
    mo_gen_line(gen, "}");
    mo_gen_line(gen, "mo_wgmma_commit();");
    wgmma_statistics(p);
}

/* Is every value of the operand a TF32 number? */
static bool is_exact(const mo_stream_gen *w, int operand)
{
    const mo_tile *tile = mo_stream_gen_tile(w, operand);
    return tile != NULL && mo_dtype_size(tile->dtype) == 2;
}

static const char *tf32_type(const mo_stream_gen *w, int operand, mo_side side)
{
    return mo_arena_printf(w->gen->arena, "mo_tf32<%d, %s>", side == MO_SIDE_P ? 4 : 2,
                           is_exact(w, operand) ? "true" : "false");
}

/* Loads or computes an operand's elements at kk ... kk + 7 and makes fragment `into` of them. */
static void tf32_fragment(products *p, int operand, mo_side side, const char *into)
{
    mo_stream_gen *w = p->w;
    mo_gen *gen = w->gen;
    const mo_tile *tile = mo_stream_gen_tile(w, operand);
    bool is_p = side == MO_SIDE_P;
    mo_gen_line(gen, "float x[%d];", is_p ? 4 : 2);
    if (tile != NULL && tile->dtype == MO_F32 && !tile->inner_rows) {
        mo_gen_line(gen, "mo_tf32_%c_rows<%s>(x, %s, %c, kk);", is_p ? 'a' : 'b',
                    mo_stream_gen_layout(w, tile), mo_stream_gen_tile_name(w, operand), is_p ? 'p' : 'q');
    } else {
        mo_gen_line(gen, "#pragma unroll");
        mo_gen_line(gen, "for (int r = 0; r < %d; r++) {", is_p ? 4 : 2);
        mo_gen_line(gen, is_p ? "const int row = p + g + r %% 2 * 8, k = kk + t + r / 2 * 4;"
                              : "const int row = q + g, k = kk + t + r * 4;");
        mo_gen_line(gen, "(void)row;");
        mo_gen_line(gen, "x[r] = %s;",
                    element(p, operand, axis_of(w, operand, p->inner), "row", "k", "0.0f"));
        mo_gen_line(gen, "}");
    }
    mo_gen_line(gen, "%s.set(x);", into);
}

/* The fragments of a 16-side operand, each multiplied as soon as it is there. */
static void tf32_p_side(products *p, int first)
{
    mo_stream_gen *w = p->w;
    mo_gen *gen = w->gen;
    int operand = operand_of(w, first, MO_SIDE_P);
    const char *a = fragment_name(w, operand);
    int loops = mo_stream_gen_open_fragments(w, operand_size(w, first, MO_SIDE_P), MO_SIDE_P);
    mo_gen_line(gen, "%s %s;", tf32_type(w, operand, MO_SIDE_P), a);
    tf32_fragment(p, operand, MO_SIDE_P, a);
    for (int n = first; n < gen->g->n_nodes; n++) {
        if (!is_product(p, n) || operand_of(w, n, MO_SIDE_P) != operand) continue;
        const char *acc = mo_stream_gen_accum_name(w, w->plan.accum_of[n]);
        const char *b = fragment_name(w, operand_of(w, n, MO_SIDE_Q));
        int inner = mo_stream_gen_open_fragments(w, operand_size(w, n, MO_SIDE_Q), MO_SIDE_Q);
        mo_gen_line(gen, "(void)q;");
        mo_gen_line(gen, "mo_mma_f32(%s[i][j], %s, %s[j]);", acc, a, b);
        close_loops(gen, inner);
    }
    close_loops(gen, loops);
}

static void tf32_q_side(products *p, int first)
{
    mo_stream_gen *w = p->w;
    int operand = operand_of(w, first, MO_SIDE_Q), size = operand_size(w, first, MO_SIDE_Q);
    const char *f = fragment_name(w, operand);
    mo_gen_line(w->gen, "%s %s[%d];", tf32_type(w, operand, MO_SIDE_Q), f,
                mo_stream_gen_warp_fragments(w, size, MO_SIDE_Q));
    int loops = mo_stream_gen_open_fragments(w, size, MO_SIDE_Q);
    tf32_fragment(p, operand, MO_SIDE_Q, mo_arena_printf(w->gen->arena, "%s[j]", f));
    close_loops(w->gen, loops);
}

/* Statistics that no 16-bit fragments serve: every lane of a quad takes every fourth element of its rows. */
static void element_statistics(products *p)
{
    mo_stream_gen *w = p->w;
    mo_gen *gen = w->gen;
    for (int i = 0; p->loop && i < w->plan.n_stats; i++) {
        const mo_stat *stat = &w->plan.stats[i];
        const mo_prim_node *n = &gen->g->nodes[stat->node];
        const char *op = mo_gen_reduction(n->op), *name = mo_gen_value_name(gen, stat->node);
        bool is_p = stat->side == MO_SIDE_P;
        mo_gen_line(gen, "for (int kk = t; kk < SLAB; kk += 4) {");
        int loops = mo_stream_gen_open_stat(w, stat->size, stat->side);
        mo_gen_line(gen, "#pragma unroll");
        mo_gen_line(gen, "for (int h = 0; h < %d; h++) {", is_p ? 2 : 1);
        mo_gen_line(gen, is_p ? "const int row = p + g + h * 8;" : "const int row = q + g;");
        mo_gen_line(gen, "(void)row;");
        const char *neutral = n->op == MO_OP_SUM ? "0.0f" : mo_arena_printf(gen->arena, "%s::start()", op);
        const char *x = element(p, n->in[0], stat->axis, "row", "kk", neutral);
        const char *into = mo_arena_printf(gen->arena, is_p ? "stat_%s[i][h]" : "stat_%s[j]", name);
        mo_gen_line(gen, "%s = %s::apply(%s, %s);", into, op, into, x);
        close_loops(gen, loops + 2);
    }
}

static void tf32_products(products *p)
{
    mo_stream_gen *w = p->w;
    mo_gen *gen = w->gen;
    bool pair = w->s->cluster > 1;
    mo_gen_line(gen, "#pragma unroll 4");
    if (p->loop)
        mo_gen_line(gen, "for (int kk = 0; kk < SLAB; kk += 8) {");
    else
        mo_gen_line(gen, "for (int kk = %s * 8; kk < %s; kk += GROUPS%s * 8) {",
                    pair ? "(group * CLUSTER + rank)" : "group", p->length, pair ? " * CLUSTER" : "");
    for (int n = 0; n < gen->g->n_nodes; n++)
        if (is_product(p, n) && first_use(p, n, MO_SIDE_Q)) tf32_q_side(p, n);
    for (int n = 0; n < gen->g->n_nodes; n++)
        if (is_product(p, n) && first_use(p, n, MO_SIDE_P)) tf32_p_side(p, n);
    mo_gen_line(gen, "}");
    element_statistics(p);
}

void mo_stream_gen_products(mo_stream_gen *w, int inner)
{
    long long extent = (long long)w->gen->g->axes[inner].extent;
    bool loop = inner == w->s->loop_axis;
    long long rounded = (extent + 15) / 16 * 16;
    products p = {
        .w = w, .inner = inner, .loop = loop, .length = mo_arena_printf(w->gen->arena, "%lld", rounded)};
    for (int i = 0; i < w->gen->g->n_nodes; i++)
        if (is_product(&p, i)) mo_gen_line(w->gen, "// %s", mo_gen_describe(w->gen, i));
    if (w->s->wgmma && loop)
        wgmma_products(&p);
    else if (w->plan.roles.mma)
        mma_products(&p);
    else
        tf32_products(&p);
}
