/* How slabs come to a STREAM kernel's blocks: asynchronous copies by every thread, boxes of the tensor copy
 * engine, or loads straight to registers. */
#include "codegen/stream_gen.h"

static const char *axis_name(const mo_stream_gen *w, int axis)
{
    return w->gen->g->axes[axis].name;
}

static const char *start_of(mo_stream_gen *w, int axis)
{
    if (axis < 0 || axis != w->s->p_axis) {
        if (axis < 0 || axis != w->s->q_axis) return "0";
    }
    return mo_arena_printf(w->gen->arena, "%s0", axis_name(w, axis));
}

/* No tile runs over the end of the axis. */
static bool never_over(const mo_stream_gen *w, int axis, int size)
{
    return axis < 0 ? size == 1 : w->gen->g->axes[axis].extent % size == 0;
}

/* How many rows or columns from `start` on exist: a constant when the tile never runs over the end. */
static const char *valid(mo_stream_gen *w, int axis, const char *start, int size)
{
    if (axis < 0) return "1";
    if (never_over(w, axis, size)) return mo_arena_printf(w->gen->arena, "%d", size);
    return mo_arena_printf(w->gen->arena, "%lld - %s", (long long)w->gen->g->axes[axis].extent, start);
}

static void copy_tile(mo_stream_gen *w, const mo_tile *tile, const char *inner_start, const char *base,
                      const char *threads, const char *thread)
{
    mo_gen *gen = w->gen;
    const mo_prim_node *n = &gen->g->nodes[tile->node];
    const char *type = mo_gen_type(tile->dtype), *tensor = mo_gen_tensor(gen, n->access.tensor);
    const char *axis_start = start_of(w, tile->axis);
    const char *index[MO_MAX_AXES];
    for (int a = 0; a < MO_MAX_AXES; a++) index[a] = w->index[a];
    index[tile->inner] = inner_start;
    if (tile->axis >= 0) index[tile->axis] = axis_start;
    const char *from = mo_gen_offset(gen, n->axes, &n->access, index);
    const char *inner_valid = valid(w, tile->inner, inner_start, tile->inner_rows ? tile->rows : tile->cols);
    const char *axis_valid = valid(w, tile->axis, axis_start, tile->inner_rows ? tile->cols : tile->rows);
    const char *rows = tile->inner_rows ? inner_valid : axis_valid,
               *cols = tile->inner_rows ? axis_valid : inner_valid;
    bool whole = never_over(w, tile->axis, tile->inner_rows ? tile->cols : tile->rows) &&
                 never_over(w, tile->inner, tile->inner_rows ? tile->rows : tile->cols);
    if (tile->copy == MO_TILE_CHUNKS)
        mo_gen_line(
            gen, "mo_copy_tile<%s, %d, %d, %d, %d, %s, %s>((%s *)(%s + %d), g_%s + %s, %lld, %s, %s, %s);",
            type, tile->rows, tile->cols, tile->stride, tile->chunk, threads, whole ? "true" : "false", type,
            base, tile->offset, tensor, from, (long long)tile->row_step, rows, cols, thread);
    else
        mo_gen_line(
            gen,
            "mo_copy_tile_scalar<%s, %d, %d, %d, %s>((%s *)(%s + %d), g_%s + %s, %lld, %lld, %s, %s, %s);",
            type, tile->rows, tile->cols, tile->stride, threads, type, base, tile->offset, tensor, from,
            (long long)tile->row_step, (long long)tile->col_step, rows, cols, thread);
}

static const char *map_name(mo_stream_gen *w, const mo_tile *tile)
{
    return mo_arena_printf(w->gen->arena, "map_%s", mo_stream_gen_tile_name(w, tile->node) + 2);
}

/* What lies along a box: columns, rows, and the batch axis if there is one. */
void mo_stream_gen_maps(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    gen->maps = MO_NEW_ARRAY(gen->arena, mo_gen_map, w->plan.n_tiles);
    gen->mapped = MO_NEW_ARRAY(gen->arena, bool, gen->g->n_nodes);
    for (int i = 0; i < w->plan.n_tiles; i++) {
        const mo_tile *tile = &w->plan.tiles[i];
        if (tile->copy != MO_TILE_BOX) continue;
        gen->mapped[tile->node] = true;
        const mo_prim_node *n = &gen->g->nodes[tile->node];
        int row_axis = tile->inner_rows ? tile->inner : tile->axis,
            col_axis = tile->inner_rows ? tile->axis : tile->inner;
        int bytes = mo_dtype_size(tile->dtype);
        mo_tensor_map map = {
            .dtype = tile->dtype, .rank = tile->batch_axis < 0 ? 2 : 3, .swizzle = tile->swizzle};
        map.size[0] = col_axis < 0 ? 1 : gen->g->axes[col_axis].extent;
        map.size[1] = row_axis < 0 ? 1 : gen->g->axes[row_axis].extent;
        map.stride[0] = row_axis < 0 ? 16 : tile->row_step * bytes;
        map.box[0] = tile->panel;
        map.box[1] = tile->rows;
        if (tile->batch_axis >= 0) {
            map.size[2] = gen->g->axes[tile->batch_axis].extent;
            map.stride[1] = n->access.stride[tile->batch_axis] * bytes;
            map.box[2] = 1;
        }
        gen->maps[gen->n_maps++] = (mo_gen_map){map_name(w, tile), n->access.tensor, map};
    }
}

void mo_stream_gen_barriers(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    mo_gen_line(gen, "constexpr int BARRIER_OFFSET = %d, BOX_BYTES = %d; // of a stage",
                w->plan.barrier_offset, w->plan.box_bytes);
    mo_gen_line(gen,
                "unsigned long long *const full = (unsigned long long *)(mo_smem + BARRIER_OFFSET) + group * "
                "STAGES; // a slab has come");
    mo_gen_line(gen, "if (threadIdx.x %% GROUP_THREADS == 0) {");
    for (int i = 0; i < gen->n_maps; i++) mo_gen_line(gen, "mo_tma_prefetch_map(&%s);", gen->maps[i].name);
    mo_gen_line(gen, "for (int i = 0; i < STAGES; i++) mo_mbar_init(full + i, 1);");
    mo_gen_line(gen, "mo_mbar_fence_init();");
    mo_gen_line(gen, "}");
    mo_stream_gen_group_barrier(w);
}

/* Is every element of the tensor read by one block only? Then it need not stay in the L2 cache. */
static bool read_once(const mo_stream_gen *w, const mo_tile *tile)
{
    const mo_prim *g = w->gen->g;
    const int axis[2] = {w->s->p_axis, w->s->q_axis};
    for (int i = 0; i < 2; i++)
        if (axis[i] >= 0 && axis[i] != tile->axis && g->axes[axis[i]].extent > w->s->tile[axis[i]])
            return false;
    return true;
}

/* By one thread: the panels of a tile. */
static void copy_box(mo_stream_gen *w, const mo_tile *tile)
{
    mo_gen *gen = w->gen;
    const char *k0 = mo_arena_printf(gen->arena, "%s0", axis_name(w, w->s->loop_axis)),
               *across = start_of(w, tile->axis);
    const char *x = tile->inner_rows ? across : k0, *y = tile->inner_rows ? k0 : across;
    const char *z =
        tile->batch_axis < 0 ? "" : mo_arena_printf(gen->arena, ", %s", w->index[tile->batch_axis]);
    int panels = tile->cols / tile->panel, bytes = tile->rows * tile->panel * mo_dtype_size(tile->dtype);
    const char *policy = read_once(w, tile) ? "mo_l2_policy::evict_first" : "mo_l2_policy::normal";
    for (int i = 0; i < panels; i++) {
        const char *plus = i == 0 ? "" : mo_arena_printf(gen->arena, " + %d", i * tile->panel);
        mo_gen_line(gen, "mo_tma_load_%dd(stage + %d, &%s, %s%s, %s%s, full + i %% STAGES, %s);",
                    tile->batch_axis < 0 ? 2 : 3, tile->offset + i * bytes, map_name(w, tile), x, plus, y, z,
                    policy);
    }
}

static void copy_boxes(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    if (w->plan.n_boxes == 0) return;
    mo_gen_line(gen, "if (thread == 0) {");
    mo_gen_line(gen, "mo_mbar_expect_tx(full + i %% STAGES, BOX_BYTES);");
    for (int i = 0; i < w->plan.n_tiles; i++)
        if (w->plan.tiles[i].copy == MO_TILE_BOX) copy_box(w, &w->plan.tiles[i]);
    mo_gen_line(gen, "}");
}

void mo_stream_gen_copies(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    const char *block_threads = mo_arena_printf(gen->arena, "%d", w->s->threads);
    for (int i = 0; i < w->plan.n_resident; i++) {
        const mo_tile *tile = &w->plan.resident[i];
        copy_tile(w, tile, "0", "mo_smem", block_threads, "threadIdx.x");
    }
    const char *k = axis_name(w, w->s->loop_axis);
    bool batches = w->plan.n_boxes == 0 || w->plan.n_chunks > 0;
    if (!batches && w->plan.n_resident > 0) mo_gen_line(gen, "mo_cp_commit();");
    mo_gen_line(gen, "// Starts the copy of this group's i-th slab%s.",
                batches ? "; past the end it only closes an empty batch" : ", if there is one");
    mo_gen_line(gen, "auto start_copy = [&](int i) {");
    mo_gen_line(gen, "const int slab = %s, %s0 = slab * SLAB;", mo_stream_gen_slab(w), k);
    mo_gen_line(gen, "unsigned char *const stage = ring + i %% STAGES * STAGE_BYTES;");
    mo_gen_line(gen, "const int thread = threadIdx.x %% GROUP_THREADS;");
    mo_gen_line(gen, "if (slab < SLABS) {");
    copy_boxes(w);
    for (int i = 0; i < w->plan.n_tiles; i++) {
        const mo_tile *tile = &w->plan.tiles[i];
        if (tile->copy != MO_TILE_CHUNKS && tile->copy != MO_TILE_SCALAR) continue;
        copy_tile(w, tile, mo_arena_printf(gen->arena, "%s0", k), "stage", "GROUP_THREADS", "thread");
    }
    mo_gen_line(gen, "}");
    if (batches) mo_gen_line(gen, "mo_cp_commit();");
    mo_gen_line(gen, "};");
}

/* Registers of the direct operands, and what loads a slab of them. */
void mo_stream_gen_direct(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    const char *k = axis_name(w, w->s->loop_axis);
    if (w->plan.n_direct == 0) return;
    for (int i = 0; i < w->plan.n_tiles; i++) {
        const mo_tile *tile = &w->plan.tiles[i];
        if (tile->copy != MO_TILE_DIRECT) continue;
        mo_gen_line(gen, "unsigned next_%s[%d][SLAB / 32][4]; // of the next slab: 16 bytes for each lane",
                    mo_stream_gen_tile_name(w, tile->node) + 2,
                    mo_stream_gen_warp_fragments(w, tile->rows, MO_SIDE_Q));
    }
    mo_gen_line(gen, "auto load_next = [&](int i) {");
    mo_gen_line(gen, "const int slab = %s, %s0 = slab * SLAB;", mo_stream_gen_slab(w), k);
    mo_gen_line(gen, "if (slab >= SLABS) return;");
    for (int i = 0; i < w->plan.n_tiles; i++) {
        const mo_tile *tile = &w->plan.tiles[i];
        if (tile->copy != MO_TILE_DIRECT) continue;
        const mo_prim_node *n = &gen->g->nodes[tile->node];
        const char *name = mo_stream_gen_tile_name(w, tile->node) + 2;
        int fragments = mo_stream_gen_warp_fragments(w, tile->rows, MO_SIDE_Q);
        const char *index[MO_MAX_AXES];
        for (int a = 0; a < MO_MAX_AXES; a++) index[a] = w->index[a];
        index[tile->inner] = mo_arena_printf(gen->arena, "(%s0 + kk + 8 * t)", k);
        if (tile->axis >= 0) index[tile->axis] = "row";
        mo_gen_line(gen, "#pragma unroll");
        mo_gen_line(gen, "for (int j = 0; j < %d; j++) {", fragments);
        mo_gen_line(gen, "const int row = %s + (warp_q + j * WARPS_Q) * 8 + g;", start_of(w, tile->axis));
        mo_gen_line(gen, "#pragma unroll");
        mo_gen_line(gen, "for (int kk = 0; kk < SLAB; kk += 32) {");
        mo_gen_line(gen, "unsigned(&to)[4] = next_%s[j][kk / 32];", name);
        mo_gen_line(gen, "to[0] = to[1] = to[2] = to[3] = 0;");
        long long rows = tile->axis < 0 ? 1 : (long long)gen->g->axes[tile->axis].extent;
        mo_gen_line(gen, "if (row < %lld) mo_ld16(to, g_%s + %s);", rows,
                    mo_gen_tensor(gen, n->access.tensor), mo_gen_offset(gen, n->axes, &n->access, index));
        mo_gen_line(gen, "}");
        mo_gen_line(gen, "}");
    }
    mo_gen_line(gen, "};");
}

/* In the loop: this slab's registers become fragments, the next one's are asked for. */
void mo_stream_gen_take_direct(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    if (w->plan.n_direct == 0) return;
    for (int i = 0; i < w->plan.n_tiles; i++) {
        const mo_tile *tile = &w->plan.tiles[i];
        if (tile->copy != MO_TILE_DIRECT) continue;
        const char *name = mo_stream_gen_tile_name(w, tile->node) + 2;
        int fragments = mo_stream_gen_warp_fragments(w, tile->rows, MO_SIDE_Q);
        mo_gen_line(gen, "unsigned r_%s[%d][SLAB / 32][4];", name, fragments);
        mo_gen_line(gen, "#pragma unroll");
        mo_gen_line(gen, "for (int j = 0; j < %d; j++)", fragments);
        mo_gen_line(gen, "#pragma unroll");
        mo_gen_line(gen, "for (int n = 0; n < SLAB / 32; n++) mo_turn(r_%s[j][n], next_%s[j][n]);", name,
                    name);
    }
    mo_gen_line(gen, "load_next(i + 1);");
}
