/* Input generation and memory form. */
#include "verify/inputs.h"

#include "base/pool.h"
#include "base/rng.h"
#include "base/status.h"

#include <math.h>
#include <string.h>

#define LARGE_SCALE 256.0
#define LEAST_ULPS 8.0
#define SLICE 65536 /* elements of one task */

const char *mo_inputs_name(mo_inputs_kind kind)
{
    static const char *const names[MO_INPUTS_KINDS] = {"random", "offset-100", "offset-1000",
                                                       "large",  "tiny",       "zero"};
    return names[kind];
}

/* Elements 2 * pair and 2 * pair + 1 of a stream of independent numbers from N(0,1) (Box-Muller). */
static void normal_pair(uint64_t key, uint64_t pair, double z[2])
{
    double u = ((double)(mo_rng_at(key, 2 * pair) >> 11) + 1.0) * 0x1p-53;
    double v = (double)(mo_rng_at(key, 2 * pair + 1) >> 11) * 0x1p-53;
    double radius = sqrt(-2.0 * log(u)), angle = 6.283185307179586476925 * v;
    z[0] = radius * cos(angle);
    z[1] = radius * sin(angle);
}

static bool is_view(mo_op op)
{
    return mo_op_kind_of(op) == MO_KIND_VIEW;
}

/* Is tensor t read only by matmuls, on the right? *length becomes the longest sum; *uses counts them. */
static bool only_right(const mo_program *program, int t, int64_t *length, int *uses)
{
    for (int i = 0; i < program->n_outputs; i++)
        if (program->outputs[i] == t) return false;
    for (int i = 0; i < program->n_nodes; i++) {
        const mo_node *node = &program->nodes[i];
        for (int j = 0; j < node->n_inputs; j++) {
            if (node->inputs[j].tensor != t) continue;
            if (is_view(node->op)) {
                for (int o = 0; o < node->n_outputs; o++)
                    if (!only_right(program, node->outputs[o], length, uses)) return false;
                continue;
            }
            if (node->op != MO_OP_MATMUL || j == 0) return false;
            const mo_shape *shape = &program->tensors[t].shape;
            int64_t k = shape->dim[shape->rank - (node->attrs.transpose_b ? 1 : 2)];
            if (k > *length) *length = k;
            (*uses)++;
        }
    }
    return true;
}

int64_t mo_inputs_right_length(const mo_program *program, int t)
{
    int64_t length = 0;
    int uses = 0;
    return only_right(program, t, &length, &uses) && uses > 0 ? length : 0;
}

bool mo_inputs_special(const mo_program *program, int t)
{
    return program->tensors[t].shape.rank >= 2 && mo_inputs_right_length(program, t) == 0;
}

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

static double offset_element(mo_dtype dtype, double ratio, double noise, int64_t row)
{
    double spread = fmax(1.0, LEAST_ULPS * ulp(dtype, ratio));
    return sign_of(row) * ratio + spread * noise;
}

static double special_element(const mo_tensor *tensor, mo_inputs_kind kind, double noise, int64_t row)
{
    switch (kind) {
    case MO_INPUTS_OFFSET_100: return offset_element(tensor->dtype, 100.0, noise, row);
    case MO_INPUTS_OFFSET_1000: return offset_element(tensor->dtype, 1000.0, noise, row);
    case MO_INPUTS_LARGE: return row % 2 == 0 ? noise : noise * LARGE_SCALE;
    case MO_INPUTS_TINY: return row % 2 == 0 ? noise : noise * (tensor->dtype == MO_F16 ? 0x1p-10 : 0x1p-20);
    case MO_INPUTS_ZERO: return row % 2 == 0 ? noise : 0.0;
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

typedef struct {
    const mo_tensor *tensor;
    mo_inputs_kind kind;
    uint64_t key;
    double scale;
    bool special, broadcast;
    int64_t row_major[MO_MAX_RANK];
    double *out;
} draw_task;

static void draw_slice(void *context, int worker, int64_t slice)
{
    (void)worker;
    const draw_task *t = context;
    const mo_shape *shape = &t->tensor->shape;
    int64_t total = mo_shape_elements(*shape), first = slice * SLICE;
    int64_t last = first + SLICE < total ? first + SLICE : total;
    int64_t length = shape->rank > 0 ? shape->dim[shape->rank - 1] : 1, have = -1;
    double z[2];
    for (int64_t i = first; i < last; i++) {
        int64_t from = t->broadcast ? source_of(t->tensor, t->row_major, i) : i;
        if (from / 2 != have) normal_pair(t->key, (uint64_t)(from / 2), z);
        have = from / 2;
        double noise = z[from % 2] * t->scale;
        if (t->special) noise = special_element(t->tensor, t->kind, noise, from / length);
        t->out[i] = mo_dtype_round(t->tensor->dtype, noise);
    }
}

void mo_inputs_draw(const mo_program *program, mo_inputs_kind kind, uint64_t seed, double *const *inputs)
{
    mo_pool *pool = mo_pool_new(0);
    for (int t = 0; t < program->n_inputs; t++) {
        const mo_tensor *tensor = &program->tensors[t];
        if (inputs[t] == NULL) continue;
        int64_t right = mo_inputs_right_length(program, t);
        draw_task task = {.tensor = tensor, .kind = kind, .scale = 1.0, .out = inputs[t]};
        if (right > 0) task.scale = 1.0 / sqrt((double)right);
        task.special = mo_inputs_special(program, t);
        uint64_t set = task.special ? (uint64_t)kind : 0;
        task.key = mo_rng_at(seed ^ 0x1f83d9abfb41bd6bu, (uint64_t)t * MO_INPUTS_KINDS + set);
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
