/* Keyed drawing of inputs. */
#include "verify/draw.h"

#include "base/status.h"

#include <string.h>

#define MOST_SLICES (1 << 20)

void mo_draw_init(mo_draw *draw, mo_arena *arena, int n_tensors)
{
    *draw = (mo_draw){.n_tensors = n_tensors};
    draw->tensors = MO_NEW_ARRAY(arena, mo_draw_tensor, n_tensors + 1);
}

void mo_draw_set(mo_draw *draw, mo_arena *arena, int tensor, const mo_shape *shape, const int64_t *strides)
{
    mo_draw_tensor *t = &draw->tensors[tensor];
    t->shape = *shape;
    memcpy(t->strides, strides, sizeof t->strides);
    t->n_slices = 1;
    t->salts = MO_NEW(arena, uint32_t);
}

void mo_draw_inputs(mo_draw *draw, mo_arena *arena, const mo_program *program)
{
    mo_draw_init(draw, arena, program->n_inputs);
    for (int t = 0; t < program->n_inputs; t++)
        mo_draw_set(draw, arena, t, &program->tensors[t].shape, program->tensors[t].strides);
}

void mo_draw_start(mo_draw *draw, const mo_field *field, uint64_t seed, uint64_t round)
{
    draw->field = field;
    draw->key = mo_rng_at(seed ^ 0x2545f4914f6cdd1du, round);
    for (int t = 0; t < draw->n_tensors; t++) draw->tensors[t].table = NULL;
    for (int t = 0; t < draw->n_tensors; t++)
        if (draw->tensors[t].salts != NULL)
            memset(draw->tensors[t].salts, 0, sizeof(uint32_t) * (size_t)draw->tensors[t].n_slices);
}

/* Does every stride reach past the whole of the dimensions with smaller strides, so that an offset gives
 * back the index? */
static bool strides_nest(const mo_draw_tensor *t)
{
    for (int i = 0; i < t->shape.rank; i++)
        for (int j = 0; j < t->shape.rank; j++) {
            if (i == j || t->shape.dim[i] == 1 || t->shape.dim[j] == 1) continue;
            if (t->strides[i] == t->strides[j]) return false;
            if (t->strides[i] > t->strides[j] && t->strides[i] < t->strides[j] * t->shape.dim[j])
                return false;
        }
    return true;
}

void mo_draw_slice(mo_draw *draw, mo_arena *arena, int tensor, uint32_t dims)
{
    mo_draw_tensor *t = &draw->tensors[tensor];
    t->slice_dims = 0;
    t->n_slices = 1;
    if (!strides_nest(t)) dims = 0;
    for (int d = t->shape.rank - 1; d >= 0; d--) {
        if (!(dims >> d & 1u) || t->strides[d] == 0 || t->shape.dim[d] == 1) continue;
        if (t->n_slices * t->shape.dim[d] > MOST_SLICES) continue;
        t->slice_dims |= 1u << d;
        t->slice_step[d] = t->n_slices;
        t->n_slices *= t->shape.dim[d];
    }
    t->salts = MO_NEW_ARRAY(arena, uint32_t, t->n_slices);
}

static int64_t slice_of(const mo_draw_tensor *t, int64_t offset)
{
    int64_t slice = 0;
    for (int d = 0; d < t->shape.rank; d++)
        if (t->slice_dims >> d & 1u)
            slice += (int64_t)((uint64_t)offset / (uint64_t)t->strides[d] % (uint64_t)t->shape.dim[d]) *
                     t->slice_step[d];
    return slice;
}

static uint64_t slice_key(const mo_draw *draw, int tensor, int64_t slice)
{
    uint64_t salt = draw->tensors[tensor].salts[slice];
    return mo_mix64(draw->key + (uint64_t)(tensor + 1) * 0x9e3779b97f4a7c15u) ^ mo_mix64(salt);
}

/* Length of the run from `offset` on that stays in one slice, as far as that is easy to see. */
static int64_t run_length(const mo_draw_tensor *t, int64_t offset, int64_t stride, int64_t n)
{
    if (t->slice_dims == 0) return n;
    for (int d = 0; d < t->shape.rank; d++) {
        if (!(t->slice_dims >> d & 1u)) continue;
        int64_t room = t->strides[d] - 1 - offset % t->strides[d]; /* offsets left before the index changes */
        int64_t steps = stride == 0 ? n : room / stride + 1;
        if (steps < n) n = steps;
    }
    return n;
}

#define TABLE_CHUNK 65536
#define MOST_STRIDE 16 /* elements: further apart drawing again is cheaper than reading memory */

typedef struct {
    const mo_draw *draw;
    int tensor;
    int64_t span;
    mo_drawn *table;
} tabulation;

static void tabulate_chunk(void *context, int worker, int64_t index)
{
    const tabulation *t = context;
    mo_fval values[256];
    (void)worker;
    int64_t end = (index + 1) * TABLE_CHUNK < t->span ? (index + 1) * TABLE_CHUNK : t->span;
    for (int64_t start = index * TABLE_CHUNK; start < end; start += 256) {
        int64_t n = end - start < 256 ? end - start : 256;
        mo_draw_along(t->draw, t->tensor, start, 1, n, values);
        for (int64_t i = 0; i < n; i++) t->table[start + i] = (mo_drawn){values[i].p, values[i].q};
    }
}

void mo_draw_tabulate(mo_draw *draw, mo_arena *arena, mo_pool *pool, int64_t most)
{
    if (draw->field->r.prime != 0) return;
    for (int i = 0; i < draw->n_tensors; i++) {
        mo_draw_tensor *t = &draw->tensors[i];
        int64_t span = 1;
        for (int d = 0; d < t->shape.rank; d++) span += t->strides[d] * (t->shape.dim[d] - 1);
        if (span > most) continue;
        most -= span;
        if (t->table != NULL) continue;
        if (t->room == NULL) t->room = MO_NEW_ARRAY(arena, mo_drawn, span);
        tabulation all = {draw, i, span, t->room};
        mo_pool_run(pool, (span + TABLE_CHUNK - 1) / TABLE_CHUNK, tabulate_chunk, &all);
        t->table = t->room;
    }
}

void mo_draw_along(const mo_draw *draw, int tensor, int64_t offset, int64_t stride, int64_t n, mo_fval *out)
{
    const mo_draw_tensor *t = &draw->tensors[tensor];
    if (t->table != NULL && stride <= MOST_STRIDE) {
        const mo_drawn *from = t->table + offset;
        for (int64_t i = 0; i < n; i++, from += stride)
            out[i] = (mo_fval){from->p, from->q, 0, draw->field->parts};
        return;
    }
    while (n > 0) {
        int64_t run = run_length(t, offset, stride, n);
        uint64_t key = slice_key(draw, tensor, slice_of(t, offset));
        for (int64_t i = 0; i < run; i++)
            out[i] = mo_field_random(draw->field, key, (uint64_t)(offset + i * stride));
        out += run;
        offset += run * stride;
        n -= run;
    }
}

void mo_draw_again(mo_draw *draw, int tensor, const int64_t index[MO_MAX_RANK])
{
    mo_draw_tensor *t = &draw->tensors[tensor];
    int64_t slice = 0;
    t->table = NULL;
    for (int d = 0; d < t->shape.rank; d++)
        if (t->slice_dims >> d & 1u) slice += index[d] * t->slice_step[d];
    t->salts[slice]++;
}
