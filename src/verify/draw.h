/* Random inputs of one round: a keyed function of (tensor, element, slice salt), so that every use of a
 * tensor sees the same values in whatever order they are asked for.
 *
 * A tensor may be divided into slices along some of its dimensions; each slice has a salt and can be drawn
 * again by itself. That is how radicands become squares one row at a time. */
#ifndef MO_VERIFY_DRAW_H
#define MO_VERIFY_DRAW_H

#include "base/pool.h"
#include "verify/field.h"

typedef struct {
    uint32_t p, q;
} mo_drawn;

typedef struct {
    mo_shape shape;
    int64_t strides[MO_MAX_RANK];
    uint32_t slice_dims; /* bit d: slices are numbered along dimension d */
    int64_t slice_step[MO_MAX_RANK];
    int64_t n_slices;
    uint32_t *salts;       /* one for each slice */
    const mo_drawn *table; /* of all elements of memory, or NULL: drawn whenever they are asked for */
    mo_drawn *room;        /* of the table */
} mo_draw_tensor;

typedef struct {
    const mo_field *field;
    uint64_t key; /* of the seed and the round */
    int n_tensors;
    mo_draw_tensor *tensors;
} mo_draw;

/* Tensor numbers count from 0; their shapes and strides are filled in by the caller (mo_draw_set). */
void mo_draw_init(mo_draw *draw, mo_arena *arena, int n_tensors);
void mo_draw_set(mo_draw *draw, mo_arena *arena, int tensor, const mo_shape *shape, const int64_t *strides);
/* The inputs of a program. */
void mo_draw_inputs(mo_draw *draw, mo_arena *arena, const mo_program *program);

/* Starts a round: a field, and all salts 0. */
void mo_draw_start(mo_draw *draw, const mo_field *field, uint64_t seed, uint64_t round);

/* Cuts the tensor into slices along these dimensions (at most 2^20 of them; beyond that it stays whole, and
 * so does a tensor whose strides do not nest). Before mo_draw_start. */
void mo_draw_slice(mo_draw *draw, mo_arena *arena, int tensor, uint32_t dims);

/* Elements at `offset` (in elements of memory), offset + stride, ... */
void mo_draw_along(const mo_draw *draw, int tensor, int64_t offset, int64_t stride, int64_t n, mo_fval *out);

/* Draws all elements of tensors once and keeps them, as far as `most` elements in all go: for rounds that ask
 * for them often. Behind mo_draw_start; a tensor that is drawn again loses its table until the next call. */
void mo_draw_tabulate(mo_draw *draw, mo_arena *arena, mo_pool *pool, int64_t most);

/* Draws the slice that holds this element again. */
void mo_draw_again(mo_draw *draw, int tensor, const int64_t index[MO_MAX_RANK]);

#endif
