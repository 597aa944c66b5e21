/* Shared by the parts of the STREAM emitter: the plan, and values at one element of a tile. */
#ifndef MO_CODEGEN_STREAM_GEN_H
#define MO_CODEGEN_STREAM_GEN_H

#include "codegen/gen.h"
#include "optimize/stream_plan.h"

/* Where elementwise values are asked for. */
typedef enum {
    MO_AT_LOOP, /* inside the loop: iterators with the inner axis come from their tiles */
    MO_AT_TAIL  /* behind it: accumulated values come from shared memory, iterators from memory */
} mo_at;

typedef struct {
    mo_gen *gen;
    const mo_schedule *s;
    mo_stream_plan plan;
    int group_threads;
    const char *index[MO_MAX_AXES]; /* index of each grid axis, for global reads */
    const char *local[MO_MAX_AXES]; /* index within the block's tile (or slab) */
    const char **value;             /* names known at the current element */
    const char **fragment;          /* iterator -> expression of the element in a loaded fragment, or NULL */
    const mo_post **stored;         /* values that have gone through memory, or NULL */
    mo_at at;
} mo_stream_gen;

/* Pieces of the kernel in order. */
void mo_stream_gen_setup(mo_stream_gen *w);    /* constants, thread and block indices, shared memory */
void mo_stream_gen_copies(mo_stream_gen *w);   /* what starts the copy of a slab and of resident tiles */
void mo_stream_gen_maps(mo_stream_gen *w);     /* tensor maps among the kernel's parameters */
void mo_stream_gen_barriers(mo_stream_gen *w); /* mbarriers of this group */
void mo_stream_gen_loop(mo_stream_gen *w);     /* ring, products, statistics */
void mo_stream_gen_parts(
    mo_stream_gen *w); /* combination over blocks that share the loop: one block goes on */
void mo_stream_gen_tail(mo_stream_gen *w); /* combination over groups, later products, stores */

/* Products whose reduced axis is `inner`, over `length` elements of it; inside the loop (slab of a ring) or
 * behind it. */
void mo_stream_gen_products(mo_stream_gen *w, int inner);

/* Operands without a tile: before the loop, and in each iteration. */
void mo_stream_gen_direct(mo_stream_gen *w);
void mo_stream_gen_take_direct(mo_stream_gen *w);

/* Orders the threads of a group. */
void mo_stream_gen_group_barrier(mo_stream_gen *w);

/* The layout type of a tile: "mo_rows<72>". */
const char *mo_stream_gen_layout(mo_stream_gen *w, const mo_tile *tile);

/* The i-th slab of this group. */
const char *mo_stream_gen_slab(const mo_stream_gen *w);

/* Emits what computes `node` at the current element; returns its name. */
const char *mo_stream_gen_value(mo_stream_gen *w, int node);
void mo_stream_gen_forget(mo_stream_gen *w); /* a new element: nothing is known */

/* Under warp-group products every warp of a group takes its share of the 8-side for row statistics. */
bool mo_stream_gen_spread(const mo_stream_gen *w, mo_side side);
/* Opens the loop over this warp's fragments of one side for a statistic: variable i or j, and p or q the
 * first element. Returns the number of braces. */
int mo_stream_gen_open_stat(mo_stream_gen *w, int size, mo_side side);
int mo_stream_gen_stat_fragments(const mo_stream_gen *w, int size, mo_side side);
/* The same for products. */
int mo_stream_gen_open_fragments(mo_stream_gen *w, int size, mo_side side);
int mo_stream_gen_fragments(const mo_stream_gen *w, int size, mo_side side);      /* of a block */
int mo_stream_gen_warp_fragments(const mo_stream_gen *w, int size, mo_side side); /* of a warp, at most */
const mo_tile *mo_stream_gen_tile(const mo_stream_gen *w, int node);              /* its tile, or NULL */
const char *mo_stream_gen_tile_name(mo_stream_gen *w, int node);                  /* "s_X" */
const char *mo_stream_gen_accum_name(mo_stream_gen *w, int accum); /* registers: "acc_matmul3" */

#endif
