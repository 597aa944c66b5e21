/* The loop of a STREAM kernel: every group walks its own slabs through its own ring. */
#include "codegen/stream_gen.h"

static void declare_registers(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    for (int i = 0; i < w->plan.n_accums; i++) {
        const mo_accum *accum = &w->plan.accums[i];
        mo_gen_line(gen, "float %s[%d][%d][4] = {}; // %s", mo_stream_gen_accum_name(w, i),
                    mo_stream_gen_warp_fragments(w, accum->p_size, MO_SIDE_P),
                    mo_stream_gen_warp_fragments(w, accum->q_size, MO_SIDE_Q),
                    mo_gen_describe(gen, accum->value));
    }
    for (int i = 0; i < w->plan.n_stats; i++) {
        const mo_stat *stat = &w->plan.stats[i];
        int count = mo_stream_gen_stat_fragments(w, stat->size, stat->side);
        const char *name = mo_gen_value_name(gen, stat->node);
        const char *op = mo_gen_reduction(gen->g->nodes[stat->node].op);
        const char *pair = stat->side == MO_SIDE_P ? "[2]" : "";
        mo_gen_line(gen, "float stat_%s[%d]%s; // %s", name, count, pair, mo_gen_describe(gen, stat->node));
        mo_gen_line(gen, "#pragma unroll");
        if (stat->side == MO_SIDE_P)
            mo_gen_line(gen, "for (int i = 0; i < %d; i++) stat_%s[i][0] = stat_%s[i][1] = %s::start();",
                        count, name, name, op);
        else
            mo_gen_line(gen, "for (int j = 0; j < %d; j++) stat_%s[j] = %s::start();", count, name, op);
    }
}

void mo_stream_gen_group_barrier(mo_stream_gen *w)
{
    if (w->group_threads == 32)
        mo_gen_line(w->gen, "mo_syncwarp();");
    else if (w->s->groups == 1)
        mo_gen_line(w->gen, "__syncthreads();");
    else
        mo_gen_line(w->gen, "mo_bar_sync(1 + group, GROUP_THREADS);");
}

/* Asynchronous copies by all threads: a slab is refilled while the one before it is multiplied. */
static void wait_for_chunks(mo_stream_gen *w)
{
    bool alone = w->s->stages == 1; /* copied when it is needed */
    if (alone) mo_gen_line(w->gen, "start_copy(i);");
    mo_gen_line(w->gen, alone ? "mo_cp_wait<0>();" : "mo_cp_wait<STAGES - 2>();");
    mo_stream_gen_group_barrier(w);
    if (!alone) mo_gen_line(w->gen, "start_copy(i + STAGES - 1);");
}

/* Boxes: wait, multiply, refill the same slab. Tiles beside them come through the group's threads. */
static void wait_for_boxes(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    mo_gen_line(gen, "mo_mbar_wait(full + i %% STAGES, i / STAGES & 1);");
    if (w->plan.n_chunks > 0) mo_gen_line(gen, "mo_cp_wait<STAGES - 1>();");
    if (w->plan.n_boxes + w->plan.n_direct < w->plan.n_tiles) mo_stream_gen_group_barrier(w);
}

static void declare_tiles(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    mo_gen_line(gen, "const unsigned char *const stage = ring + i %% STAGES * STAGE_BYTES;");
    for (int i = 0; i < w->plan.n_tiles; i++) {
        const mo_tile *tile = &w->plan.tiles[i];
        const char *type = mo_gen_type(tile->dtype);
        if (tile->copy == MO_TILE_DIRECT) continue;
        mo_gen_line(gen, "const %s *const %s = (const %s *)(stage + %d);", type,
                    mo_stream_gen_tile_name(w, tile->node), type, tile->offset);
    }
}

/* Warp-group products of a slab go on while those of the next one are started, if there is another slab: then
 * the one before is free. */
static void refill(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    int pending = w->s->wgmma && w->s->stages > 1 ? 1 : 0;
    if (w->s->wgmma) mo_gen_line(gen, "mo_wgmma_wait<%d>();", pending);
    mo_stream_gen_group_barrier(w);
    if (pending > 0)
        mo_gen_line(gen, "if (i > 0) start_copy(i - 1 + STAGES);");
    else
        mo_gen_line(gen, "start_copy(i + STAGES);");
}

static void settle(mo_stream_gen *w)
{
    mo_gen_line(w->gen, "mo_wgmma_wait<0>();");
    for (int a = 0; a < w->plan.n_accums; a++)
        mo_gen_line(w->gen, "mo_wgmma_settle(%s);", mo_stream_gen_accum_name(w, a));
}

void mo_stream_gen_loop(mo_stream_gen *w)
{
    mo_gen *gen = w->gen;
    const char *k = gen->g->axes[w->s->loop_axis].name;
    bool boxes = w->plan.n_boxes > 0,
         ragged = w->plan.slabs % (w->s->groups * w->s->cluster * w->s->parts) != 0;
    declare_registers(w);
    mo_stream_gen_direct(w);
    bool alone = !boxes && w->s->stages == 1;
    if (!alone)
        mo_gen_line(gen, "for (int i = 0; i < %s; i++) start_copy(i);", boxes ? "STAGES" : "STAGES - 1");
    if (w->plan.n_direct > 0) mo_gen_line(gen, "load_next(0);");
    mo_gen_line(gen, "for (int i = 0; i < %d; i++) {", w->plan.iterations);
    if (!boxes) wait_for_chunks(w);
    mo_gen_line(gen, "const int slab = %s, %s0 = slab * SLAB;", mo_stream_gen_slab(w), k);
    mo_gen_line(gen, "(void)slab, (void)%s0;", k);
    if (ragged) mo_gen_line(gen, "if (slab < SLABS) {");
    mo_stream_gen_take_direct(w);
    if (boxes) wait_for_boxes(w);
    declare_tiles(w);
    mo_stream_gen_products(w, w->s->loop_axis);
    if (gen->mugraph->off & MO_PASS_SCHEDULE) mo_stream_gen_group_barrier(w);
    if (ragged) mo_gen_line(gen, "}");
    if (boxes)
        refill(w);
    else if (alone)
        mo_stream_gen_group_barrier(w);
    mo_gen_line(gen, "}");
    if (w->s->wgmma) settle(w);
    if (!boxes || w->plan.n_chunks + w->plan.n_resident > 0) mo_gen_line(gen, "mo_cp_wait<0>();");
    mo_gen_line(gen, "__syncthreads(); // the ring is free: its memory now holds what the groups exchange");
}
