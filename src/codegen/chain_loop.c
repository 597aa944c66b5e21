/* Before the loop and in it: values of rows, the ring, products, statistics. */
#include "codegen/chain_gen.h"

#include "base/status.h"

#define HOISTED_REGISTERS 32 /* a resident operand stays in registers if its fragments take no more */

bool mo_chain_gen_is_maximum(const mo_chain_gen *w, int node)
{
    const mo_prim *g = w->gen->g;
    for (int i = 0; i < g->n_nodes; i++)
        if (mo_chain_shift(g, &w->plan.chain, i) == node) return true;
    return false;
}

static void unroll(mo_chain_gen *w)
{
    mo_gen_line(w->gen, "#pragma unroll");
}

static const char *axis_name(const mo_chain_gen *w, int axis)
{
    return w->gen->g->axes[axis].name;
}

static bool feeds(const mo_prim *g, int node, int user)
{
    for (int j = 0; j < g->nodes[user].n_in; j++)
        if (g->nodes[user].in[j] == node) return true;
    return false;
}

/* Is the value used by one of this role? */
static bool feeds_role(const mo_chain_gen *w, int node, mo_chain_role role)
{
    for (int i = node + 1; i < w->gen->g->n_nodes; i++)
        if (w->plan.chain.role[i] == role && feeds(w->gen->g, node, i)) return true;
    return false;
}

/* ---- rows ---- */

static void bind_row(mo_chain_gen *w, const char *local)
{
    int p = w->s->p_axis;
    const char *index = mo_arena_printf(w->gen->arena, "(%s0 + %s)", axis_name(w, p), local);
    mo_chain_gen_bind(w, p, local, index, w->plan.rows);
}

static void reduce_row(mo_chain_gen *w, int node)
{
    mo_gen *gen = w->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    const char *op = mo_gen_reduction(n->op), *array = mo_chain_gen_array(w, node);
    int d = mo_axes_first(n->reduced);
    mo_gen_line(gen, "float x = %s::start();", op);
    mo_gen_line(gen, "for (int d = t; d < %lld; d += 4) {", (long long)gen->g->axes[d].extent);
    mo_chain_gen_bind(w, d, "d", "d", 1);
    mo_chain_gen_forget(w);
    mo_gen_line(gen, "x = %s::apply(x, %s);", op, mo_chain_gen_value(w, n->in[0]));
    mo_gen_line(gen, "}");
    mo_chain_gen_unbind(w, d);
    mo_gen_line(gen, "%s[i][r] = mo_reduce_quad<%s>(x);", array, op);
}

void mo_chain_gen_rows(mo_chain_gen *w)
{
    mo_gen *gen = w->gen;
    w->at = MO_CHAIN_AT_ROW;
    for (int i = 0; i < gen->g->n_nodes; i++) {
        const mo_prim_node *n = &gen->g->nodes[i];
        if (w->plan.chain.role[i] != MO_CHAIN_ROW || n->op == MO_OP_CONST) continue;
        if (n->reduced == 0 && !feeds_role(w, i, MO_CHAIN_SCORE)) continue;
        mo_gen_line(gen, "float %s[ROWS][2]; // %s", mo_chain_gen_array(w, i), mo_gen_describe(gen, i));
        unroll(w);
        mo_gen_line(gen, "for (int i = 0; i < ROWS; i++) {");
        unroll(w);
        mo_gen_line(gen, "for (int r = 0; r < 2; r++) {");
        bind_row(w, "warp_row + i * 16 + g + r * 8");
        mo_chain_gen_forget(w);
        if (n->reduced != 0)
            reduce_row(w, i);
        else
            mo_gen_line(gen, "%s[i][r] = %s;", mo_chain_gen_array(w, i), mo_chain_gen_value(w, i));
        mo_gen_line(gen, "}");
        mo_gen_line(gen, "}");
        w->stored[i] = true;
    }
    mo_chain_gen_unbind(w, w->s->p_axis);
}

/* ---- columns ---- */

static void bind_column(mo_chain_gen *w, const char *local)
{
    int k = w->s->loop_axis;
    const char *index = mo_arena_printf(w->gen->arena, "(%s0 + %s)", axis_name(w, k), local);
    mo_chain_gen_bind(w, k, local, index, w->plan.slab);
}

/* Four threads share a column; then each takes those of its own two. */
static void reduce_column(mo_chain_gen *w, int node)
{
    mo_gen *gen = w->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    const char *op = mo_gen_reduction(n->op), *array = mo_chain_gen_array(w, node);
    int d = mo_axes_first(n->reduced);
    bind_column(w, "j * 8 + g");
    mo_chain_gen_bind(w, d, "d", "d", 1);
    mo_gen_line(gen, "float x = %s::start();", op);
    mo_gen_line(gen, "for (int d = t; d < %lld; d += 4) {", (long long)gen->g->axes[d].extent);
    mo_chain_gen_forget(w);
    mo_gen_line(gen, "x = %s::apply(x, %s);", op, mo_chain_gen_value(w, n->in[0]));
    mo_gen_line(gen, "}");
    mo_chain_gen_unbind(w, d);
    mo_gen_line(gen, "x = mo_reduce_quad<%s>(x);", op);
    mo_gen_line(gen, "%s[j][0] = mo_shfl(x, 8 * t);", array);
    mo_gen_line(gen, "%s[j][1] = mo_shfl(x, 8 * t + 4);", array);
}

static void emit_column(mo_chain_gen *w, int node)
{
    mo_gen *gen = w->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    if (n->op == MO_OP_CONST || (n->reduced == 0 && !feeds_role(w, node, MO_CHAIN_SCORE))) return;
    w->at = MO_CHAIN_AT_COLUMN;
    mo_gen_line(gen, "float %s[SLAB / 8][2]; // %s", mo_chain_gen_array(w, node), mo_gen_describe(gen, node));
    unroll(w);
    mo_gen_line(gen, "for (int j = 0; j < SLAB / 8; j++) {");
    mo_chain_gen_forget(w);
    if (n->reduced != 0) {
        reduce_column(w, node);
    } else {
        unroll(w);
        mo_gen_line(gen, "for (int h = 0; h < 2; h++) {");
        bind_column(w, "j * 8 + 2 * t + h");
        mo_gen_line(gen, "%s[j][h] = %s;", mo_chain_gen_array(w, node), mo_chain_gen_value(w, node));
        mo_gen_line(gen, "}");
    }
    mo_gen_line(gen, "}");
    w->stored[node] = true;
}

/* ---- products ---- */

/* The operand of a product in the loop that has the rows. */
static const mo_chain_tile *row_operand(const mo_chain_gen *w, const mo_prim_node *n)
{
    const mo_chain_tile *a = mo_chain_plan_tile(&w->plan, n->in[0]);
    return a->streamed ? mo_chain_plan_tile(&w->plan, n->in[1]) : a;
}

static const mo_chain_tile *streamed_operand(const mo_chain_gen *w, const mo_prim_node *n)
{
    for (int j = 0; j < 2; j++) {
        const mo_chain_tile *tile = mo_chain_plan_tile(&w->plan, n->in[j]);
        if (tile != NULL && tile->streamed) return tile;
    }
    MO_BUG("a product without a streamed operand");
}

static int padded_extent(const mo_chain_gen *w, int axis)
{
    return (int)(w->gen->g->axes[axis].extent + 15) / 16 * 16;
}

static bool is_hoisted(const mo_chain_gen *w, int inner)
{
    return w->plan.row_fragments * padded_extent(w, inner) / 16 * 4 <= HOISTED_REGISTERS;
}

static const char *fragment_name(mo_chain_gen *w, const mo_chain_tile *tile)
{
    return mo_arena_printf(w->gen->arena, "a_%s", mo_chain_gen_tile_name(w, tile->node) + 2);
}

/* Fragment of the rows' operand at `kk` into `name`[i]... */
static void load_rows(mo_chain_gen *w, const mo_chain_tile *tile, const char *into)
{
    const char *way = tile->row_axis == w->s->p_axis ? "rows" : "cols";
    mo_gen_line(w->gen, "mo_frag_a_%s<mo_rows<%d>>(%s, %s, warp_row + i * 16, kk);", way, tile->stride, into,
                mo_chain_gen_tile_name(w, tile->node));
}

static void declare_tile(mo_chain_gen *w, const mo_chain_tile *tile)
{
    const char *type = mo_gen_type(w->plan.chain.mma_dtype);
    mo_gen_line(w->gen, "const %s *const %s = (const %s *)(%s + %d);", type,
                mo_chain_gen_tile_name(w, tile->node), type, tile->streamed ? "stage" : "mo_smem",
                tile->offset);
}

/* Rows' operands that fit are loaded once. */
static void hoist_rows(mo_chain_gen *w)
{
    mo_gen *gen = w->gen;
    for (int i = 0; i < w->plan.n_tiles; i++)
        if (!w->plan.tiles[i].streamed) declare_tile(w, &w->plan.tiles[i]);
    bool *done = MO_NEW_ARRAY(gen->arena, bool, gen->g->n_nodes);
    for (int i = 0; i < gen->g->n_nodes; i++) {
        const mo_prim_node *n = &gen->g->nodes[i];
        if (n->op != MO_OP_MATMUL || w->plan.chain.role[i] != MO_CHAIN_SCORE) continue;
        const mo_chain_tile *tile = row_operand(w, n);
        int inner = mo_axes_first(n->reduced), steps = padded_extent(w, inner) / 16;
        if (!is_hoisted(w, inner) || done[tile->node]) continue;
        done[tile->node] = true;
        const char *name = fragment_name(w, tile);
        mo_gen_line(gen, "unsigned %s[ROWS][%d][4]; // %s in registers", name, steps,
                    mo_gen_tensor(gen, gen->g->nodes[tile->node].access.tensor));
        unroll(w);
        mo_gen_line(gen, "for (int i = 0; i < ROWS; i++) {");
        unroll(w);
        mo_gen_line(gen, "for (int kk = 0; kk < %d; kk += 16) {", steps * 16);
        load_rows(w, tile, mo_arena_printf(gen->arena, "%s[i][kk / 16]", name));
        mo_gen_line(gen, "}");
        mo_gen_line(gen, "}");
    }
}

static void multiply(mo_chain_gen *w, const char *array, const char *left)
{
    mo_gen *gen = w->gen;
    const char *type = mo_gen_type(w->plan.chain.mma_dtype);
    unroll(w);
    mo_gen_line(gen, "for (int i = 0; i < ROWS; i++) {");
    mo_gen_line(gen, "mo_mma<%s>(%s[i][j], %s, b0);", type, array, left);
    mo_gen_line(gen, "mo_mma<%s>(%s[i][j + 1], %s, b1);", type, array, left);
    mo_gen_line(gen, "}");
}

/* A product over a whole axis: a slab of scores. */
static void emit_scores(mo_chain_gen *w, int node)
{
    mo_gen *gen = w->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    int inner = mo_axes_first(n->reduced);
    const mo_chain_tile *rows = row_operand(w, n), *columns = streamed_operand(w, n);
    const char *array = mo_chain_gen_array(w, node), *name = fragment_name(w, rows);
    mo_gen_line(gen, "float %s[ROWS][SLAB / 8][4] = {}; // %s", array, mo_gen_describe(gen, node));
    unroll(w);
    mo_gen_line(gen, "for (int kk = 0; kk < %d; kk += 16) {", padded_extent(w, inner));
    if (!is_hoisted(w, inner)) {
        mo_gen_line(gen, "unsigned %s[ROWS][1][4];", name);
        unroll(w);
        mo_gen_line(gen, "for (int i = 0; i < ROWS; i++) {");
        load_rows(w, rows, mo_arena_printf(gen->arena, "%s[i][0]", name));
        mo_gen_line(gen, "}");
    }
    unroll(w);
    mo_gen_line(gen, "for (int j = 0; j < SLAB / 8; j += 2) {");
    mo_gen_line(gen, "unsigned b0[2], b1[2];");
    mo_gen_line(gen, "mo_frag_b2_%s<mo_rows<%d>>(b0, b1, %s, j * 8, kk);",
                columns->row_axis == w->s->loop_axis ? "rows" : "cols", columns->stride,
                mo_chain_gen_tile_name(w, columns->node));
    multiply(w, array,
             mo_arena_printf(gen->arena, "%s[i][%s]", name, is_hoisted(w, inner) ? "kk / 16" : "0"));
    mo_gen_line(gen, "}");
    mo_gen_line(gen, "}");
    w->stored[node] = true;
}

/* A whole slab lies inside the axis. */
static bool is_even(const mo_chain_gen *w)
{
    return w->gen->g->axes[w->s->loop_axis].extent % w->plan.slab == 0;
}

/* Scores become the 16-side operand of a product over the loop. */
static void emit_accumulation(mo_chain_gen *w, int node)
{
    mo_gen *gen = w->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    const mo_chain_tile *tile = streamed_operand(w, n);
    int scores = n->in[0] == tile->node ? n->in[1] : n->in[0];
    const char *from = mo_chain_gen_array(w, scores), *type = mo_gen_type(w->plan.chain.mma_dtype);
    const char *k = axis_name(w, w->s->loop_axis);
    mo_gen_line(gen, "// %s", mo_gen_describe(gen, node));
    unroll(w);
    mo_gen_line(gen, "for (int kk = 0; kk < SLAB; kk += 16) {");
    mo_gen_line(gen, "unsigned a[ROWS][4]; // C fragments are A fragments, rounded");
    unroll(w);
    mo_gen_line(gen, "for (int i = 0; i < ROWS; i++) {");
    unroll(w);
    mo_gen_line(gen, "for (int h = 0; h < 4; h++) {");
    mo_gen_line(
        gen, "const float x = %s[i][kk / 8 + h / 2][h %% 2 * 2], y = %s[i][kk / 8 + h / 2][h %% 2 * 2 + 1];",
        from, from);
    if (is_even(w)) {
        mo_gen_line(gen, "a[i][h] = mo_pack<%s>(x, y);", type);
    } else {
        mo_gen_line(gen, "const int left = %lld - (%s0 + kk + h / 2 * 8 + 2 * t); // of the axis",
                    (long long)gen->g->axes[w->s->loop_axis].extent, k);
        mo_gen_line(gen, "a[i][h] = mo_pack<%s>(left > 0 ? x : 0.0f, left > 1 ? y : 0.0f);", type);
    }
    mo_gen_line(gen, "}");
    mo_gen_line(gen, "}");
    unroll(w);
    mo_gen_line(gen, "for (int j = 0; j < %d; j += 2) {", w->plan.columns / 8);
    mo_gen_line(gen, "unsigned b0[2], b1[2];");
    mo_gen_line(gen, "mo_frag_b2_%s<mo_rows<%d>>(b0, b1, %s, j * 8, kk);",
                tile->row_axis == w->s->loop_axis ? "cols" : "rows", tile->stride,
                mo_chain_gen_tile_name(w, tile->node));
    multiply(w, mo_arena_printf(gen->arena, "acc_%s", mo_gen_value_name(gen, node)), "a[i]");
    mo_gen_line(gen, "}");
    mo_gen_line(gen, "}");
}

/* ---- scores and statistics ---- */

/* Elementwise scores that a statistic or a product reads. */
static void emit_elementwise(mo_chain_gen *w, int node)
{
    mo_gen *gen = w->gen;
    if (!feeds_role(w, node, MO_CHAIN_STAT) && !feeds_role(w, node, MO_CHAIN_ACCUM)) return;
    const char *array = mo_chain_gen_array(w, node);
    mo_gen_line(gen, "float %s[ROWS][SLAB / 8][4]; // %s", array, mo_gen_describe(gen, node));
    unroll(w);
    mo_gen_line(gen, "for (int i = 0; i < ROWS; i++) {");
    unroll(w);
    mo_gen_line(gen, "for (int j = 0; j < SLAB / 8; j++) {");
    unroll(w);
    mo_gen_line(gen, "for (int c = 0; c < 4; c++) {");
    w->at = MO_CHAIN_AT_SCORE;
    bind_row(w, "warp_row + i * 16 + g + c / 2 * 8");
    bind_column(w, "j * 8 + 2 * t + c % 2");
    mo_chain_gen_forget(w);
    mo_gen_line(gen, "%s[i][j][c] = %s;", array, mo_chain_gen_value(w, node));
    for (int i = 0; i < 3; i++) mo_gen_line(gen, "}");
    w->stored[node] = true;
}

/* Combines a row of this slab into x. */
static void reduce_slab(mo_chain_gen *w, int node)
{
    mo_gen *gen = w->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    const char *op = mo_gen_reduction(n->op), *from = mo_chain_gen_array(w, n->in[0]);
    unroll(w);
    mo_gen_line(gen, "for (int j = 0; j < SLAB / 8; j++) {");
    unroll(w);
    mo_gen_line(gen, "for (int h = 0; h < 2; h++) {");
    if (is_even(w))
        mo_gen_line(gen, "x = %s::apply(x, %s[i][j][r * 2 + h]);", op, from);
    else
        mo_gen_line(gen, "if (%s0 + j * 8 + 2 * t + h < %lld) x = %s::apply(x, %s[i][j][r * 2 + h]);",
                    axis_name(w, w->s->loop_axis), (long long)gen->g->axes[w->s->loop_axis].extent, op, from);
    mo_gen_line(gen, "}");
    mo_gen_line(gen, "}");
}

/* What was accumulated with the old maximum is scaled to the new one. */
static void rescale(mo_chain_gen *w, int maximum)
{
    mo_gen *gen = w->gen;
    for (int i = 0; i < gen->g->n_nodes; i++) {
        const char *name = mo_gen_value_name(gen, i);
        if (w->plan.chain.block.rescaled[i] != maximum) continue;
        if (w->plan.chain.role[i] == MO_CHAIN_STAT) {
            mo_gen_line(gen, "stat_%s[i][r] *= factor;", name);
            continue;
        }
        unroll(w);
        mo_gen_line(gen, "for (int j = 0; j < %d; j++) {", w->plan.columns / 8);
        mo_gen_line(gen, "acc_%s[i][j][2 * r] *= factor;", name);
        mo_gen_line(gen, "acc_%s[i][j][2 * r + 1] *= factor;", name);
        mo_gen_line(gen, "}");
    }
}

static void emit_statistic(mo_chain_gen *w, int node)
{
    mo_gen *gen = w->gen;
    const char *name = mo_gen_value_name(gen, node);
    const char *op = mo_gen_reduction(gen->g->nodes[node].op);
    bool runs = mo_chain_gen_is_maximum(w, node);
    mo_gen_line(gen, "// %s", mo_gen_describe(gen, node));
    if (runs) mo_gen_line(gen, "float shift_%s[ROWS][2];", name);
    unroll(w);
    mo_gen_line(gen, "for (int i = 0; i < ROWS; i++) {");
    unroll(w);
    mo_gen_line(gen, "for (int r = 0; r < 2; r++) {");
    if (runs)
        mo_gen_line(gen, "float x = %s::start();", op);
    else
        mo_gen_line(gen, "float &x = stat_%s[i][r];", name);
    reduce_slab(w, node);
    if (runs) {
        mo_gen_line(gen, "const float before = stat_%s[i][r];", name);
        mo_gen_line(gen, "const float top = mo_max_nan(before, mo_reduce_quad<%s>(x));", op);
        mo_gen_line(gen, "const float shift = top == %s ? 0.0f : top; // nothing but -inf so far",
                    "mo_max_op::start()");
        mo_gen_line(gen, "const float factor = mo_ex2((before - shift) * LOG2_E);");
        mo_gen_line(gen, "stat_%s[i][r] = top;", name);
        mo_gen_line(gen, "shift_%s[i][r] = shift;", name);
        rescale(w, node);
    }
    mo_gen_line(gen, "}");
    mo_gen_line(gen, "}");
}

static void declare_registers(mo_chain_gen *w)
{
    mo_gen *gen = w->gen;
    bool exponentials = false;
    for (int i = 0; i < gen->g->n_nodes; i++) {
        const char *name = mo_gen_value_name(gen, i);
        mo_chain_role role = w->plan.chain.role[i];
        exponentials |= mo_chain_shift(gen->g, &w->plan.chain, i) >= 0;
        if (role == MO_CHAIN_ACCUM)
            mo_gen_line(gen, "float acc_%s[ROWS][%d][4] = {}; // %s", name, w->plan.columns / 8,
                        mo_gen_describe(gen, i));
        if (role != MO_CHAIN_STAT) continue;
        mo_gen_line(gen, "float stat_%s[ROWS][2]; // %s", name, mo_gen_describe(gen, i));
        unroll(w);
        mo_gen_line(gen, "for (int i = 0; i < ROWS; i++) stat_%s[i][0] = stat_%s[i][1] = %s::start();", name,
                    name, mo_gen_reduction(gen->g->nodes[i].op));
    }
    if (exponentials) mo_gen_line(gen, "constexpr float LOG2_E = 1.44269504f; // e^x = 2^(x log2 e)");
}

static void group_barrier(mo_chain_gen *w)
{
    if (w->group_threads == 32)
        mo_gen_line(w->gen, "mo_syncwarp();");
    else if (w->s->groups == 1)
        mo_gen_line(w->gen, "__syncthreads();");
    else
        mo_gen_line(w->gen, "mo_bar_sync(1 + group, GROUP_THREADS);");
}

static void emit_node(mo_chain_gen *w, int node)
{
    const mo_prim_node *n = &w->gen->g->nodes[node];
    switch (w->plan.chain.role[node]) {
    case MO_CHAIN_COLUMN: emit_column(w, node); return;
    case MO_CHAIN_SCORE:
        if (n->op == MO_OP_MATMUL)
            emit_scores(w, node);
        else
            emit_elementwise(w, node);
        return;
    case MO_CHAIN_STAT: emit_statistic(w, node); return;
    case MO_CHAIN_ACCUM: emit_accumulation(w, node); return;
    default: return;
    }
}

/* The nodes in order; what reads tiles is followed by a barrier where barriers are not being saved. */
static void emit_nodes(mo_chain_gen *w)
{
    const mo_prim *g = w->gen->g;
    for (int i = 0; i < g->n_nodes; i++) {
        mo_chain_role role = w->plan.chain.role[i];
        bool in_loop = role == MO_CHAIN_SCORE || role == MO_CHAIN_ACCUM;
        emit_node(w, i);
        if (w->gen->mugraph->off & MO_PASS_SCHEDULE && in_loop && g->nodes[i].op == MO_OP_MATMUL)
            group_barrier(w);
    }
}

/* Waits for slab i, and starts the copy of a later one. */
static void take_slab(mo_chain_gen *w)
{
    bool alone = w->s->stages == 1; /* copied when it is needed */
    if (alone) mo_gen_line(w->gen, "start_copy(i);");
    mo_gen_line(w->gen, alone ? "mo_cp_wait<0>();" : "mo_cp_wait<STAGES - 2>();");
    group_barrier(w);
    if (!alone) mo_gen_line(w->gen, "start_copy(i + STAGES - 1);");
}

void mo_chain_gen_loop(mo_chain_gen *w)
{
    mo_gen *gen = w->gen;
    const char *k = axis_name(w, w->s->loop_axis);
    declare_registers(w);
    mo_gen_line(gen, "mo_cp_wait<STAGES - 1>();");
    mo_gen_line(gen, "__syncthreads(); // resident tiles are here");
    hoist_rows(w);
    mo_gen_line(gen, "for (int i = 0; i < %d; i++) {", w->plan.iterations);
    take_slab(w);
    mo_gen_line(gen, "const int slab = i * GROUPS + group, %s0 = slab * SLAB;", k);
    mo_gen_line(gen, "(void)slab, (void)%s0;", k);
    bool ragged = w->plan.slabs % w->s->groups != 0;
    if (ragged) mo_gen_line(gen, "if (slab < SLABS) {");
    mo_gen_line(gen, "const unsigned char *const stage = ring + i %% STAGES * STAGE_BYTES;");
    for (int i = 0; i < w->plan.n_tiles; i++)
        if (w->plan.tiles[i].streamed) declare_tile(w, &w->plan.tiles[i]);
    emit_nodes(w);
    if (ragged) mo_gen_line(gen, "}");
    if (w->s->stages == 1) group_barrier(w);
    mo_gen_line(gen, "}");
    mo_chain_gen_unbind(w, w->s->loop_axis);
    mo_gen_line(gen, "mo_cp_wait<0>();");
    mo_gen_line(gen, "__syncthreads(); // the ring is free: its memory now holds what the groups exchange");
}
