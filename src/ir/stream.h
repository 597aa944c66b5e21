/* Structure of a block graph under a STREAM schedule.
 *
 * One loop over slabs of the loop axis k feeds accumulators (products and row statistics over k). Behind it
 * stand elementwise operators on accumulated values, and products over an axis r that every block holds
 * whole: one operand made from accumulated values, the other read from memory. Nothing inside the loop may
 * use an accumulated value (it would be needed before its loop has ended). */
#ifndef MO_IR_STREAM_H
#define MO_IR_STREAM_H

#include "ir/mugraph.h"

typedef enum {
    MO_ROLE_POST,     /* without the loop axis and not a product: evaluated behind the loop */
    MO_ROLE_LOOP,     /* has the loop axis */
    MO_ROLE_RESIDENT, /* operand of a product over a whole axis, independent of accumulators */
    MO_ROLE_ACCUM,    /* product over the loop axis */
    MO_ROLE_STAT,     /* sum, max or min over the loop axis */
    MO_ROLE_TILE,     /* operand of a product over a whole axis, made from accumulated values */
    MO_ROLE_ACCUM2    /* product over a whole axis */
} mo_stream_role;

typedef enum { MO_SIDE_NONE, MO_SIDE_P, MO_SIDE_Q } mo_side; /* 16-side, 8-side of the mma */

typedef struct {
    mo_stream_role *role; /* for each node */
    mo_side *side;        /* LOOP, RESIDENT, TILE operands, STAT: the side of their tile axis */
    bool *late;           /* depends on an accumulator */
    bool *pending;        /* at work while it is analysed */
    bool mma;             /* all products have one 16-bit compute dtype; otherwise they are f32, by TF32 */
    mo_dtype mma_dtype;
} mo_stream;

/* Fills *stream (arrays from `arena`); NULL, or why the graph cannot run under this schedule. */
const char *mo_stream_analyse(mo_arena *arena, const mo_kernel *kernel, mo_stream *stream);

/* Blocks along x (q tiles times the cluster), y (p tiles) and z (the other grid axes); false if a launch
 * cannot have so many. */
bool mo_stream_grid(const mo_prim *body, const mo_schedule *schedule, int64_t grid[3]);

/* The tile axis of a value under a STREAM schedule: its axis beside `inner` (loop or whole axis) that is not
 * fixed within a block; -1 if there is none, -2 if there are several. */
int mo_stream_tile_axis(const mo_kernel *kernel, mo_axes axes, int inner);

#endif
