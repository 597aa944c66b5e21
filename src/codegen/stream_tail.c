/* Behind the loop: the groups' partial accumulators and statistics meet in shared memory; intermediate tiles
 * feed products over whole axes; then every thread takes elements of the output. */
#include "codegen/stream_gen.h"

/* The same array in the other block of the pair. */
static void declare_peer(mo_gen *gen, int node)
{
    const char *name = mo_gen_value_name(gen, node);
    mo_gen_line(gen, "const float *const peer_%s = (const float *)mo_cluster_map(part_%s, rank ^ 1);", name,
                name);
}

static void declare_parts(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    mo_gen_line(gen, "unsigned char *const tail = mo_smem + RESIDENT_BYTES;");
    for (int i = 0; i < w->plan.n_stats; i++)
        mo_gen_line(gen, "float *const part_%s = (float *)(tail + %d);",
                    mo_gen_value_name(gen, w->plan.stats[i].node), w->plan.stats[i].offset);
    for (int i = 0; i < w->plan.n_accums; i++)
        mo_gen_line(gen, "float *const part_%s = (float *)(tail + %d);",
                    mo_gen_value_name(gen, w->plan.accums[i].value), w->plan.accums[i].offset);
    for (int i = 0; w->s->cluster > 1 && i < w->plan.n_stats; i++) declare_peer(gen, w->plan.stats[i].node);
    for (int i = 0; w->s->cluster > 1 && i < w->plan.n_accums; i++)
        declare_peer(gen, w->plan.accums[i].value);
    for (int i = 0; i < w->plan.n_between; i++) {
        const char *type = mo_gen_type(w->plan.between[i].dtype);
        mo_gen_line(gen, "%s *const %s = (%s *)(tail + %d);", type,
                    mo_stream_gen_tile_name(w, w->plan.between[i].node), type, w->plan.between[i].offset);
    }
    for (int i = 0; i < w->plan.n_posts; i++)
        mo_gen_line(gen, "float *const post_%s = (float *)(tail + %d);",
                    mo_gen_value_name(gen, w->plan.posts[i].node), w->plan.posts[i].offset);
    for (int i = 0; i < w->plan.n_resident; i++) {
        const char *type = mo_gen_type(w->plan.resident[i].dtype);
        mo_gen_line(gen, "const %s *const %s = (const %s *)(mo_smem + %d);", type,
                    mo_stream_gen_tile_name(w, w->plan.resident[i].node), type, w->plan.resident[i].offset);
    }
}

static void exchange_accum(mo_stream_gen *w, int index)
{
    mo_gen *gen = w->gen;
    const mo_accum *accum = &w->plan.accums[index];
    int loops = mo_stream_gen_open_fragments(w, accum->p_size, MO_SIDE_P);
    loops += mo_stream_gen_open_fragments(w, accum->q_size, MO_SIDE_Q);
    mo_gen_line(gen, "mo_store_c<%d>(part_%s + group * %d, %s[i][j], p, q);", accum->stride,
                mo_gen_value_name(gen, accum->value), accum->q_size * accum->stride,
                mo_stream_gen_accum_name(w, index));
    while (loops-- > 0) mo_gen_line(gen, "}");
}

static void exchange_stat(mo_stream_gen *w, const mo_stat *stat)
{
    mo_gen *gen = w->gen;
    const char *name = mo_gen_value_name(gen, stat->node);
    const char *op = mo_gen_reduction(gen->g->nodes[stat->node].op);
    int loops = mo_stream_gen_open_stat(w, stat->size, stat->side);
    if (stat->side == MO_SIDE_P) {
        mo_gen_line(gen, "#pragma unroll");
        mo_gen_line(gen, "for (int r = 0; r < 2; r++) {");
        mo_gen_line(gen, "const float x = mo_reduce_quad<%s>(stat_%s[i][r]);", op, name);
        mo_gen_line(gen, "if (t == 0 && warp_q == 0) part_%s[group * %d + p + g + r * 8] = x;", name,
                    stat->size);
        mo_gen_line(gen, "}");
    } else {
        mo_gen_line(gen, "const float x = mo_reduce_quad<%s>(stat_%s[j]);", op, name);
        mo_gen_line(gen, "if (t == 0%s) part_%s[group * %d + q + g] = x;",
                    mo_stream_gen_spread(w, MO_SIDE_Q) ? "" : " && warp_p == 0", name, stat->size);
    }
    while (loops-- > 0) mo_gen_line(gen, "}");
}

/* Index of a grid axis: start of the block plus local. */
static void bind(mo_stream_gen *w, int axis, const char *local)
{
    if (axis < 0) return;
    w->local[axis] = local;
    bool tiled = axis == w->s->p_axis || axis == w->s->q_axis;
    w->index[axis] =
        tiled ? mo_arena_printf(w->gen->arena, "(%s0 + %s)", w->gen->g->axes[axis].name, local) : local;
}

static void unbind(mo_stream_gen *w, int axis)
{
    if (axis < 0) return;
    w->local[axis] = NULL;
    w->index[axis] = NULL;
}

static void between_tile(mo_stream_gen *w, const mo_tile *tile)
{
    mo_gen *gen = w->gen;
    const mo_prim *g = gen->g;
    long long inner_extent = (long long)g->axes[tile->inner].extent;
    mo_gen_line(gen, "// %s as an operand, for the product over %s", mo_gen_value_name(gen, tile->node),
                g->axes[tile->inner].name);
    mo_gen_line(gen, "for (int e = threadIdx.x; e < %d; e += %d) {", tile->rows * tile->cols, w->s->threads);
    mo_gen_line(gen, "const int row = e / %d, col = e %% %d;", tile->cols, tile->cols);
    mo_gen_line(gen, "float x = 0.0f;");
    bind(w, tile->axis, "row");
    bind(w, tile->inner, "col");
    if (tile->axis >= 0)
        mo_gen_line(gen, "if (%s < %lld && col < %lld) {", w->index[tile->axis],
                    (long long)g->axes[tile->axis].extent, inner_extent);
    else
        mo_gen_line(gen, "if (row == 0 && col < %lld) {", inner_extent);
    w->at = MO_AT_TAIL;
    mo_stream_gen_forget(w);
    mo_gen_line(gen, "x = %s;", mo_stream_gen_value(w, tile->node));
    mo_gen_line(gen, "}");
    mo_gen_line(gen, "mo_store(%s + row * %d + col, x);", mo_stream_gen_tile_name(w, tile->node),
                tile->stride);
    mo_gen_line(gen, "}");
    unbind(w, tile->axis);
    unbind(w, tile->inner);
}

/* Sums what the groups left of one array into its first part. */
static void combine_groups(mo_stream_gen *w, int node, const char *op, int size)
{
    mo_gen *gen = w->gen;
    const char *name = mo_gen_value_name(gen, node);
    mo_gen_line(gen,
                "for (int e = threadIdx.x; e < %d; e += %d) part_%s[e] = mo_reduce_parts<%s, GROUPS, "
                "%d>(part_%s + e);",
                size, w->s->threads, name, op, size, name);
}

static void combine_step(mo_stream_gen *w, mo_step step)
{
    if (step.kind == MO_STEP_STAT) {
        const mo_stat *stat = &w->plan.stats[step.index];
        combine_groups(w, stat->node, mo_gen_reduction(w->gen->g->nodes[stat->node].op), stat->size);
    } else if (step.kind == MO_STEP_ACCUM) {
        const mo_accum *a = &w->plan.accums[step.index];
        combine_groups(w, a->value, "mo_sum_op", a->q_size * a->stride);
    }
}

/* Makes what was exchanged at this depth readable: by this block, or by the pair of blocks. */
static void meet(mo_stream_gen *w, int depth)
{
    bool exchanged = false;
    mo_gen_line(w->gen, "__syncthreads();");
    if (w->s->parts > 1 && depth == 0) mo_stream_gen_parts(w);
    if (w->s->cluster == 1) return;
    for (int i = 0; i < w->plan.n_steps; i++) {
        mo_step step = w->plan.steps[i];
        if (step.depth != depth || (step.kind != MO_STEP_STAT && step.kind != MO_STEP_ACCUM)) continue;
        if (w->s->groups > 1) combine_step(w, step);
        exchanged = true;
    }
    if (exchanged) mo_gen_line(w->gen, "mo_cluster_sync();");
}

/* Elements that a thread stores at once: 2 where the output runs along the 16-side's axis in pairs. */
static int store_width(const mo_stream_gen *w, const mo_saver *saver, mo_axes axes)
{
    int p = w->s->p_axis;
    if (p < 0 || !(axes >> p & 1u) || saver->access.stride[p] != 1) return 1;
    if (mo_dtype_size(w->gen->mugraph->tensors[saver->access.tensor].dtype) != 2) return 1;
    if (w->gen->g->axes[p].extent % 2 != 0 || w->s->tile[p] % 2 != 0) return 1;
    MO_FOR_AXES(a, axes)
        if (a != p && saver->access.stride[a] % 2 != 0) return 1;
    return 2;
}

/* Blocks along a grid axis that the output lacks would all write the same: the first one does. */
static const char *writer_guard(mo_stream_gen *w, mo_axes axes)
{
    mo_gen *gen = w->gen;
    mo_str guard = {0};
    const int axis[2] = {w->s->q_axis, w->s->p_axis};
    for (int i = 0; i < 2; i++)
        if (axis[i] >= 0 && !(axes >> axis[i] & 1u))
            mo_str_printf(&guard, " && %s0 == 0", gen->g->axes[axis[i]].name);
    for (int a = 0; a < gen->g->n_axes; a++)
        if (w->index[a] != NULL && !(axes >> a & 1u)) mo_str_printf(&guard, " && %s == 0", w->index[a]);
    const char *text = mo_arena_strdup(gen->arena, mo_str_text(&guard));
    mo_str_free(&guard);
    return text;
}

static void skip_outside(mo_stream_gen *w, int axis, long long size)
{
    if (axis >= 0 && w->gen->g->axes[axis].extent % size != 0)
        mo_gen_line(w->gen, "if (%s >= %lld) continue;", w->index[axis],
                    (long long)w->gen->g->axes[axis].extent);
}

static void store_output(mo_stream_gen *w, const mo_saver *saver)
{
    mo_gen *gen = w->gen;
    const mo_prim *g = gen->g;
    mo_axes axes = g->nodes[saver->node].axes;
    int p = w->s->p_axis >= 0 && axes >> w->s->p_axis & 1u ? w->s->p_axis : -1;
    int q = w->s->q_axis >= 0 && axes >> w->s->q_axis & 1u ? w->s->q_axis : -1;
    int vec = store_width(w, saver, axes);
    long long p_size = p < 0 ? 1 : (long long)w->s->tile[p], q_size = q < 0 ? 1 : (long long)w->s->tile[q];
    const char *guard = writer_guard(w, axes);
    const char *tensor = mo_gen_tensor(gen, saver->access.tensor);
    mo_gen_line(gen, "// %s", tensor);
    if (guard[0] != '\0') mo_gen_line(gen, "if (%s) {", guard + 4);
    if (w->s->cluster > 1)
        mo_gen_line(gen, "for (int e = threadIdx.x + rank * %d; e < %lld; e += %d) {", w->s->threads,
                    p_size / vec * q_size, w->s->threads * w->s->cluster);
    else
        mo_gen_line(gen, "for (int e = threadIdx.x; e < %lld; e += %d) {", p_size / vec * q_size,
                    w->s->threads);
    mo_gen_line(gen, "const int q = e / %lld, p = e %% %lld * %d;", p_size / vec, p_size / vec, vec);
    mo_gen_line(gen, "(void)q, (void)p;");
    bind(w, q, "q");
    bind(w, p, "p");
    skip_outside(w, q, q_size);
    skip_outside(w, p, p_size);
    const char *offset = mo_gen_offset(gen, axes, &saver->access, w->index);
    mo_gen_line(gen, "float out[%d];", vec);
    mo_gen_line(gen, "#pragma unroll");
    mo_gen_line(gen, "for (int v = 0; v < %d; v++) {", vec);
    if (p >= 0) bind(w, p, "p + v");
    w->at = MO_AT_TAIL;
    mo_stream_gen_forget(w);
    mo_gen_line(gen, "out[v] = %s;", mo_stream_gen_value(w, saver->node));
    mo_gen_line(gen, "}");
    mo_gen_line(gen, "mo_store_vec<%d>(g_%s + %s, out);", vec, tensor, offset);
    mo_gen_line(gen, "}");
    if (guard[0] != '\0') mo_gen_line(gen, "}");
    unbind(w, p);
    unbind(w, q);
}

/* An elementwise operator on all elements of the block, into shared memory. */
static void store_post(mo_stream_gen *w, const mo_post *post)
{
    mo_gen *gen = w->gen;
    mo_gen_line(gen, "// %s", mo_gen_describe(gen, post->node));
    mo_gen_line(gen, "for (int e = threadIdx.x; e < %d; e += %d) {", post->p_size * post->q_size,
                w->s->threads);
    mo_gen_line(gen, "const int q = e / %d, p = e %% %d;", post->p_size, post->p_size);
    mo_gen_line(gen, "(void)q, (void)p;");
    bind(w, post->q_axis, "q");
    bind(w, post->p_axis, "p");
    skip_outside(w, post->q_axis, post->q_size);
    skip_outside(w, post->p_axis, post->p_size);
    w->at = MO_AT_TAIL;
    mo_stream_gen_forget(w);
    mo_gen_line(gen, "post_%s[e] = %s;", mo_gen_value_name(gen, post->node),
                mo_stream_gen_value(w, post->node));
    mo_gen_line(gen, "}");
    unbind(w, post->p_axis);
    unbind(w, post->q_axis);
    w->stored[post->node] = post;
}

static void run_step(mo_stream_gen *w, mo_step step)
{
    switch (step.kind) {
    case MO_STEP_STAT: exchange_stat(w, &w->plan.stats[step.index]); return;
    case MO_STEP_ACCUM: exchange_accum(w, step.index); return;
    case MO_STEP_BETWEEN: between_tile(w, &w->plan.between[step.index]); return;
    case MO_STEP_PRODUCT: mo_stream_gen_products(w, step.index); return;
    case MO_STEP_POST: store_post(w, &w->plan.posts[step.index]); return;
    case MO_STEP_SAVE: store_output(w, &w->gen->g->savers[step.index]); return;
    }
}

void mo_stream_gen_tail(mo_stream_gen *w)
{
    declare_parts(w);
    for (int i = 0; i < w->plan.n_steps; i++) {
        mo_step step = w->plan.steps[i];
        run_step(w, step);
        if (!step.barrier) continue;
        if (step.depth < w->plan.steps[i + 1].depth)
            meet(w, step.depth);
        else
            mo_gen_line(w->gen, "__syncthreads();");
    }
    if (w->s->cluster > 1)
        mo_gen_line(w->gen, "mo_cluster_sync(); // the other block may still be reading this one's memory");
}
