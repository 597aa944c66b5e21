/* Input generation and memory form. */
#include "verify/inputs.h"

#include "base/pool.h"
#include "base/rng.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

#define HUNDREDS 256.0
#define THOUSANDS 8192.0
#define LEAST_ULPS 8.0
#define OFFSET_BITS 11
#define SHARP_OFFSET 0x1p-6
#define SHARP_LARGE 16.0
#define SHARP_LESS 4.0
#define LARGEST_F16 65504.0
#define SLICE 65536 /* elements of one task */

/* Elements 2 * pair and 2 * pair + 1 of a stream of independent numbers from N(0,1) (Box-Muller). */
static void normal_pair(uint64_t key, uint64_t pair, double z[2])
{
    double u = ((double)(mo_rng_at(key, 2 * pair) >> 11) + 1.0) * 0x1p-53;
    double v = (double)(mo_rng_at(key, 2 * pair + 1) >> 11) * 0x1p-53;
    double radius = sqrt(-2.0 * log(u)), angle = 6.283185307179586476925 * v;
    z[0] = radius * cos(angle);
    z[1] = radius * sin(angle);
}

typedef struct {
    const mo_tensor *tensor;
    const mo_input_plan *plan;
    mo_inputs_kind kind;
    uint64_t key;
    int n_infinite;
    bool differs, broadcast;
    int64_t row_major[MO_MAX_RANK];
    double *out;
} draw_task;

/* Distance of neighbouring numbers of the dtype around `value`. */
static double ulp(mo_dtype dtype, double value)
{
    int exponent;
    frexp(value, &exponent);
    return ldexp(2.0 * mo_dtype_unit_roundoff(dtype), exponent - 1);
}

/* Signs in no order, so that in no order of summation those of many rows cancel better than in another. */
static double sign_of(int64_t row)
{
    uint64_t x = (uint64_t)row + 1;
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53u;
    return x >> 63 ? 1.0 : -1.0;
}

/* In f32 the values are multiples of an even larger step, so that the mean of a row is the same for every
 * order of summation (that of 4096 elements, as in f16 and bf16): it cancels, and what rounding does to it is
 * a matter of chance that one row cannot judge. Offsets of what an exponential reads are scaled down as a
 * whole. */
static double offset_element(const mo_tensor *tensor, bool sharp, double ratio, double noise, int64_t row)
{
    double spread = fmax(1.0, LEAST_ULPS * ulp(tensor->dtype, ratio));
    double step = ldexp(1.0, ilogb(ratio) - OFFSET_BITS), x = sign_of(row) * ratio + spread * noise;
    if (tensor->dtype == MO_F32) x = nearbyint(x / step) * step;
    return sharp ? x * SHARP_OFFSET : x;
}

/* f16 keeps what is below its normal numbers exactly enough for products and sums in f32. */
static double tiny_scale(mo_dtype dtype)
{
    return dtype == MO_F16 ? 0x1p-10 : 0x1p-20;
}

static double subnormal_scale(mo_dtype dtype)
{
    return dtype == MO_F16 ? 0x1p-18 : 0x1p-130;
}

/* Tensor cores multiply f32 numbers in parts, of which the lower ones are lost below 2^-115: there only every
 * second element is so small. */
static double subnormal_element(const draw_task *t, double noise, int64_t column)
{
    bool parts = t->tensor->dtype == MO_F32 && t->plan->multiplied;
    return parts && column % 2 == 0 ? noise : noise * subnormal_scale(t->tensor->dtype);
}

/* Rows in the thousands, random ones, rows in the hundreds. Where an error of the operand of an exponential
 * would grow with it the factors are smaller, so that it stays as small as what is allowed. */
static double large_element(bool sharp, double noise, int64_t row)
{
    switch (row % 3) {
    case 0: return noise * (sharp ? SHARP_LARGE : THOUSANDS);
    case 1: return noise;
    default: return noise * (sharp ? SHARP_LESS : HUNDREDS);
    }
}

static double small_element(mo_dtype dtype, double noise, int64_t row)
{
    return row % 3 == 0 ? 0.0 : row % 3 == 1 ? noise * tiny_scale(dtype) : noise;
}

/* The place of the NaN in a row: it begins at the end, and wanders. */
static int64_t nan_column(int64_t round, int64_t length)
{
    return (length - 1 + round / 6 * 37) % length;
}

/* One element of the rows that are not finite. Of n inputs each row is special in one, so that what this one
 * does is seen; one round after the other they hold -inf in the first half, one NaN, subnormal numbers, -inf
 * everywhere, -inf in the second half, what is random. */
static double infinite_element(const draw_task *t, double noise, int64_t turn, int64_t column)
{
    int64_t length = t->tensor->shape.dim[t->tensor->shape.rank - 1], round = turn / t->n_infinite;
    if (turn % t->n_infinite != t->plan->infinite - 1) return noise;
    switch (round % 6) {
    case 0: return column < (length + 1) / 2 ? (double)-INFINITY : noise;
    case 1: return column == nan_column(round, length) ? (double)NAN : noise;
    case 2: return subnormal_element(t, noise, column);
    case 3: return (double)-INFINITY;
    case 4: return column >= length / 2 ? (double)-INFINITY : noise;
    default: return noise;
    }
}

static double logits_element(const draw_task *t, int which, double spread, double z)
{
    if (which == 1 && t->plan->unit > 0.0) return nearbyint(MO_LATTICE_SPREAD * z) * t->plan->unit;
    double x = z * spread * t->plan->logits[which];
    return t->tensor->dtype == MO_F16 ? fmin(fmax(x, -LARGEST_F16), LARGEST_F16) : x;
}

/* The element at `position` from a number of N(0,1). */
static double element_of(const draw_task *t, double z, double spread, int64_t length, int64_t position)
{
    double noise = z * spread;
    int64_t row = position / length, column = position % length;
    if (!t->differs) return noise;
    switch (t->kind) {
    case MO_INPUTS_OFFSET_100: return offset_element(t->tensor, t->plan->sharp, 100.0, noise, row);
    case MO_INPUTS_OFFSET_1000: return offset_element(t->tensor, t->plan->sharp, 1000.0, noise, row);
    case MO_INPUTS_LARGE: return large_element(t->plan->sharp, noise, row);
    case MO_INPUTS_ZERO: return small_element(t->tensor->dtype, noise, row);
    case MO_INPUTS_TINY: return small_element(t->tensor->dtype, noise, row + 1);
    case MO_INPUTS_LOGITS_50: return logits_element(t, 0, spread, z);
    case MO_INPUTS_LOGITS_60000: return logits_element(t, 1, spread, z);
    case MO_INPUTS_INFINITE: return infinite_element(t, noise, row, column);
    case MO_INPUTS_NAN: return infinite_element(t, noise, row + 2 * t->n_infinite - 1, column);
    default: return noise;
    }
}

/* Position whose value this element has: its own, but for broadcast dimensions (stride 0) index 0. */
static int64_t source_of(const mo_tensor *tensor, const int64_t *row_major, int64_t position)
{
    int64_t source = 0;
    for (int d = 0; d < tensor->shape.rank; d++)
        if (tensor->strides[d] != 0) source += position / row_major[d] % tensor->shape.dim[d] * row_major[d];
    return source;
}

static void draw_slice(void *context, int worker, int64_t slice)
{
    (void)worker;
    const draw_task *t = context;
    const mo_shape *shape = &t->tensor->shape;
    int64_t total = mo_shape_elements(*shape), first = slice * SLICE;
    int64_t last = first + SLICE < total ? first + SLICE : total;
    int64_t length = shape->rank > 0 ? shape->dim[shape->rank - 1] : 1, have = -1;
    double z[2], spread = t->plan->right > 0 ? 1.0 / sqrt((double)t->plan->right) : 1.0;
    for (int64_t i = first; i < last; i++) {
        int64_t from = t->broadcast ? source_of(t->tensor, t->row_major, i) : i;
        if (from / 2 != have) normal_pair(t->key, (uint64_t)(from / 2), z);
        have = from / 2;
        t->out[i] = mo_dtype_round(t->tensor->dtype, element_of(t, z[from % 2], spread, length, from));
    }
}

/* The logits sets are the random numbers again, scaled: so their magnitudes are known. */
static uint64_t stream_of(mo_inputs_kind kind, bool differs)
{
    bool random = !differs || kind == MO_INPUTS_LOGITS_50 || kind == MO_INPUTS_LOGITS_60000;
    return random ? MO_INPUTS_RANDOM : (uint64_t)kind;
}

void mo_inputs_draw(const mo_inputs_plan *plan, mo_inputs_kind kind, uint64_t seed, double *const *inputs)
{
    mo_pool *pool = mo_pool_new(0);
    for (int t = 0; t < plan->program->n_inputs; t++) {
        const mo_tensor *tensor = &plan->program->tensors[t];
        if (inputs[t] == NULL) continue;
        draw_task task = {.tensor = tensor,
                          .plan = &plan->inputs[t],
                          .kind = kind,
                          .n_infinite = plan->n_infinite,
                          .out = inputs[t]};
        task.differs = mo_inputs_differ(plan, kind, t);
        uint64_t stream = (uint64_t)t * MO_INPUTS_KINDS + stream_of(kind, task.differs);
        task.key = mo_rng_at(seed ^ 0x1f83d9abfb41bd6bu, stream);
        mo_shape_row_major(tensor->shape, task.row_major);
        for (int d = 0; d < tensor->shape.rank; d++)
            task.broadcast |= tensor->strides[d] == 0 && tensor->shape.dim[d] > 1;
        mo_pool_run(pool, (mo_shape_elements(tensor->shape) + SLICE - 1) / SLICE, draw_slice, &task);
    }
    mo_pool_free(pool);
}

int64_t mo_input_span(const mo_tensor *tensor)
{
    int64_t last = 0;
    for (int d = 0; d < tensor->shape.rank; d++) last += (tensor->shape.dim[d] - 1) * tensor->strides[d];
    return last + 1;
}

static void store(mo_dtype dtype, void *bytes, int64_t at, double value)
{
    uint32_t bits = mo_dtype_encode(dtype, value);
    if (mo_dtype_size(dtype) == 2)
        ((uint16_t *)bytes)[at] = (uint16_t)bits;
    else
        ((uint32_t *)bytes)[at] = bits;
}

void mo_pack_input(const mo_tensor *tensor, const double *values, void *bytes)
{
    memset(bytes, 0, (size_t)mo_input_span(tensor) * (size_t)mo_dtype_size(tensor->dtype));
    int64_t total = mo_shape_elements(tensor->shape), row_major[MO_MAX_RANK];
    mo_shape_row_major(tensor->shape, row_major);
    bool same = memcmp(row_major, tensor->strides, sizeof *row_major * (size_t)tensor->shape.rank) == 0;
    for (int64_t i = 0; i < total; i++) {
        int64_t at = same ? i : 0;
        for (int d = 0; !same && d < tensor->shape.rank; d++)
            at += i / row_major[d] % tensor->shape.dim[d] * tensor->strides[d];
        store(tensor->dtype, bytes, at, values[i]);
    }
}

void mo_unpack_output(const mo_tensor *tensor, const void *bytes, double *values)
{
    int64_t total = mo_shape_elements(tensor->shape);
    for (int64_t i = 0; i < total; i++) {
        uint32_t bits =
            mo_dtype_size(tensor->dtype) == 2 ? ((const uint16_t *)bytes)[i] : ((const uint32_t *)bytes)[i];
        values[i] = mo_dtype_decode(tensor->dtype, bits);
    }
}
