/* Matrix products of the interpreters: each element is one sum over ascending k, in double or in float. */
#include "verify/oracle_parts.h"

#include "base/status.h"

#include <stdlib.h>
#include <string.h>

#define PANEL 8 /* columns that one task computes at once: two vectors of each type */
#define ROWS 4  /* rows that share a load of the panel */

typedef double double_vector __attribute__((vector_size(4 * sizeof(double))));
typedef float float_vector __attribute__((vector_size(4 * sizeof(float))));

#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define WIDE __attribute__((target_clones("avx2", "default"))) /* the same results: nothing is contracted */
#else
#define WIDE
#endif

/* Operands as arrays of the type that is computed in. */
typedef struct {
    mo_oracle_matmul shape;
    const double *a_double, *b_double;
    const float *a_float, *b_float;
    double *out;
    int64_t panels;
} product;

/* Four rows times one panel; rows beyond the last repeat it. */
#define DEFINE_TILE(name, type, vector)                                                                      \
    WIDE static void name(const type *const row[ROWS], int64_t step, int64_t k, const type *columns,         \
                          type sums[ROWS][PANEL])                                                            \
    {                                                                                                        \
        vector s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0}, s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};       \
        for (int64_t l = 0; l < k; l++) {                                                                    \
            vector left, right;                                                                              \
            memcpy(&left, columns + l * PANEL, sizeof left);                                                 \
            memcpy(&right, columns + l * PANEL + 4, sizeof right);                                           \
            type x0 = row[0][l * step], x1 = row[1][l * step], x2 = row[2][l * step], x3 = row[3][l * step]; \
            s00 += x0 * left, s01 += x0 * right, s10 += x1 * left, s11 += x1 * right;                        \
            s20 += x2 * left, s21 += x2 * right, s30 += x3 * left, s31 += x3 * right;                        \
        }                                                                                                    \
        const vector all[ROWS][2] = {{s00, s01}, {s10, s11}, {s20, s21}, {s30, s31}};                        \
        memcpy(sums, all, sizeof all);                                                                       \
    }

DEFINE_TILE(tile_double, double, double_vector)
DEFINE_TILE(tile_float, float, float_vector)

#define DEFINE_PANEL(name, type, a_of, b_of, tile)                                                   \
    static void name(const product *p, int64_t batch, int64_t first)                                 \
    {                                                                                                \
        const mo_oracle_matmul *s = &p->shape;                                                       \
        int64_t width = s->n - first < PANEL ? s->n - first : PANEL;                                 \
        type *columns = calloc((size_t)(s->k * PANEL), sizeof *columns);                             \
        if (columns == NULL) MO_BUG("out of memory");                                                \
        const type *b = (b_of) + batch * s->b_batch + first * s->b_n;                                \
        for (int64_t l = 0; l < s->k; l++)                                                           \
            for (int64_t j = 0; j < width; j++) columns[l * PANEL + j] = b[l * s->b_k + j * s->b_n]; \
        for (int64_t i = 0; i < s->m; i += ROWS) {                                                   \
            type sums[ROWS][PANEL];                                                                  \
            const type *row[ROWS];                                                                   \
            int64_t rows = s->m - i < ROWS ? s->m - i : ROWS;                                        \
            for (int64_t r = 0; r < ROWS; r++)                                                       \
                row[r] = (a_of) + batch * s->a_batch + (i + (r < rows ? r : rows - 1)) * s->a_m;     \
            tile(row, s->a_k, s->k, columns, sums);                                                  \
            for (int64_t r = 0; r < rows; r++)                                                       \
                for (int64_t j = 0; j < width; j++)                                                  \
                    p->out[(batch * s->m + i + r) * s->n + first + j] = (double)sums[r][j];          \
        }                                                                                            \
        free(columns);                                                                               \
    }

DEFINE_PANEL(panel_double, double, p->a_double, p->b_double, tile_double)
DEFINE_PANEL(panel_float, float, p->a_float, p->b_float, tile_float)

static void panel_task(void *context, int worker, int64_t index)
{
    (void)worker;
    const product *p = context;
    int64_t batch = index / p->panels, first = index % p->panels * PANEL;
    if (p->a_float != NULL)
        panel_float(p, batch, first);
    else
        panel_double(p, batch, first);
}

/* Rounded to the compute dtype, as floats. An input already has the values of its own dtype. */
static float *to_floats(const mo_tensor *tensor, const double *values)
{
    int64_t n = mo_shape_elements(tensor->shape);
    bool rounded = tensor->producer < 0 && tensor->compute == tensor->dtype;
    float *copy = malloc(sizeof *copy * (size_t)n);
    if (copy == NULL) MO_BUG("out of memory");
    for (int64_t i = 0; i < n; i++)
        copy[i] = (float)(rounded ? values[i] : mo_dtype_round(tensor->compute, values[i]));
    return copy;
}

static bool offer_to_hook(const mo_oracle *o, const product *p)
{
    const mo_matmul_hook *hook = o->options->hook;
    const mo_oracle_matmul *s = &p->shape;
    if (hook == NULL || s->batch * s->m * s->n * s->k < hook->least_products) return false;
    int64_t n = s->batch * s->m * s->n;
    if (p->a_float == NULL) return hook->run(hook->context, s, false, p->a_double, p->b_double, p->out);
    float *c = malloc(sizeof *c * (size_t)n);
    if (c == NULL) MO_BUG("out of memory");
    bool done = hook->run(hook->context, s, true, p->a_float, p->b_float, c);
    for (int64_t i = 0; done && i < n; i++) p->out[i] = (double)c[i];
    free(c);
    return done;
}

static void run_product(const mo_oracle *o, product *p)
{
    if (offer_to_hook(o, p)) return;
    p->panels = (p->shape.n + PANEL - 1) / PANEL;
    mo_pool_run(o->pool, p->panels * p->shape.batch, panel_task, p);
}

/* Matrix of an operand for one index of the result's batch dimensions. */
static int64_t batch_offset(const mo_shape *in, const mo_shape *out, int64_t batch)
{
    int64_t strides[MO_MAX_RANK], offset = 0;
    mo_shape_row_major(*in, strides);
    for (int d = out->rank - 3; d >= 0; d--) {
        int own = d - (out->rank - in->rank);
        if (own >= 0 && in->dim[own] > 1) offset += batch % out->dim[d] * strides[own];
        batch /= out->dim[d];
    }
    return offset;
}

/* Step from batch to batch if it is the same for all of them; -1 otherwise. */
static int64_t batch_step(const mo_shape *in, const mo_shape *out, int64_t batches)
{
    int64_t step = batches > 1 ? batch_offset(in, out, 1) : 0;
    for (int64_t b = 0; b < batches; b++)
        if (batch_offset(in, out, b) != b * step) return -1;
    return step;
}

static void set_matrix_steps(const mo_node *node, const mo_shape *a, const mo_shape *b, mo_oracle_matmul *s)
{
    int64_t a_row = a->dim[a->rank - 1], b_row = b->dim[b->rank - 1];
    bool ta = node->attrs.transpose_a, tb = node->attrs.transpose_b;
    s->m = ta ? a_row : a->dim[a->rank - 2];
    s->k = ta ? a->dim[a->rank - 2] : a_row;
    s->n = tb ? b->dim[b->rank - 2] : b_row;
    s->a_m = ta ? 1 : a_row;
    s->a_k = ta ? a_row : 1;
    s->b_k = tb ? 1 : b_row;
    s->b_n = tb ? b_row : 1;
}

void mo_oracle_do_matmul(const mo_oracle *o, const mo_node *node, double *out)
{
    const mo_tensor *a = &o->program->tensors[node->inputs[0].tensor];
    const mo_tensor *b = &o->program->tensors[node->inputs[1].tensor];
    const mo_shape *shape = &o->program->tensors[node->outputs[0]].shape;
    const double *av = o->tensors[node->inputs[0].tensor], *bv = o->tensors[node->inputs[1].tensor];
    product p = {.out = out};
    set_matrix_steps(node, &a->shape, &b->shape, &p.shape);
    int64_t batches = 1;
    for (int d = 0; d < shape->rank - 2; d++) batches *= shape->dim[d];
    float *af = NULL, *bf = NULL;
    if (o->single) {
        af = to_floats(a, av);
        bf = to_floats(b, bv);
    }
    int64_t a_step = batch_step(&a->shape, shape, batches), b_step = batch_step(&b->shape, shape, batches);
    bool regular = a_step >= 0 && b_step >= 0;
    p.shape.batch = regular ? batches : 1;
    p.shape.a_batch = regular ? a_step : 0;
    p.shape.b_batch = regular ? b_step : 0;
    for (int64_t batch = 0; batch < (regular ? 1 : batches); batch++) {
        int64_t at_a = batch_offset(&a->shape, shape, batch), at_b = batch_offset(&b->shape, shape, batch);
        p.a_double = av + at_a;
        p.b_double = bv + at_b;
        p.a_float = af == NULL ? NULL : af + at_a;
        p.b_float = bf == NULL ? NULL : bf + at_b;
        p.out = out + batch * p.shape.m * p.shape.n;
        run_product(o, &p);
    }
    free(af);
    free(bf);
}
