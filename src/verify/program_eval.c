/* Lazy evaluation of a program as written. The rows of reductions and norms: program_rows.c. */
#include "verify/program_eval.h"

#include "base/status.h"
#include "verify/program_rows.h"

#include <stdlib.h>
#include <string.h>

static mo_program_eval *check_room(mo_program_eval *e)
{
    if (e == NULL) MO_BUG("out of memory");
    return e;
}

/* Values that cost little and are used once are computed again instead of kept. */
static mo_memo plan_tensor(const mo_program *program, int tensor, int uses)
{
    const mo_tensor *t = &program->tensors[tensor];
    mo_op op = program->nodes[t->producer].op;
    mo_op_kind kind = mo_op_kind_of(op);
    bool expensive = kind == MO_KIND_PRODUCT || kind == MO_KIND_REDUCE;
    bool cheap = kind == MO_KIND_VIEW || op == MO_OP_NEG || op == MO_OP_SQUARE || op == MO_OP_CAUSAL_MASK ||
                 (kind == MO_KIND_BINARY && op != MO_OP_DIV && op != MO_OP_POW);
    if (kind == MO_KIND_VIEW || (cheap && uses < 2)) return (mo_memo){0};
    return mo_memo_plan(mo_shape_elements(t->shape), expensive);
}

mo_program_eval *mo_program_eval_new(const mo_program *program, const mo_draw *draw, bool random_mask)
{
    mo_program_eval *e = check_room(calloc(1, sizeof *e));
    e->program = program;
    e->draw = draw;
    e->random_mask = random_mask;
    e->arena = mo_arena_new();
    e->tensors = MO_NEW_ARRAY(e->arena, mo_memo, program->n_tensors + 1);
    e->rows = MO_NEW_ARRAY(e->arena, mo_memo, 2 * program->n_nodes + 1);
    int *uses = MO_NEW_ARRAY(e->arena, int, program->n_tensors + 1);
    for (int i = 0; i < program->n_nodes; i++)
        for (int j = 0; j < program->nodes[i].n_inputs; j++)
            if (program->nodes[i].inputs[j].tensor >= 0) uses[program->nodes[i].inputs[j].tensor]++;
    for (int t = program->n_inputs; t < program->n_tensors; t++)
        e->tensors[t] = plan_tensor(program, t, uses[t]);
    for (int i = 0; i < program->n_nodes; i++) {
        int64_t rows = mo_program_rows(program, i);
        e->rows[2 * i] = e->rows[2 * i + 1] = mo_memo_plan(rows, true);
    }
    e->capacity_bad = 64;
    e->bad = MO_NEW_ARRAY(e->arena, mo_bad_radicand, e->capacity_bad);
    return e;
}

void mo_program_eval_set_eager(mo_program_eval *e, bool eager)
{
    e->eager = eager;
}

static void clear_all(mo_program_eval *e, bool release)
{
    for (int t = 0; t < e->program->n_tensors; t++) {
        if (release)
            mo_memo_free(&e->tensors[t]);
        else
            mo_memo_clear(&e->tensors[t]);
    }
    for (int i = 0; i < 2 * e->program->n_nodes; i++) {
        if (release)
            mo_memo_free(&e->rows[i]);
        else
            mo_memo_clear(&e->rows[i]);
    }
}

void mo_program_eval_free(mo_program_eval *e)
{
    if (e == NULL) return;
    clear_all(e, true);
    mo_arena_free(e->arena);
    free(e);
}

void mo_program_eval_forget(mo_program_eval *e)
{
    clear_all(e, false);
    e->n_bad = 0;
    e->products = 0;
}

int mo_program_eval_bad(const mo_program_eval *e, const mo_bad_radicand **list)
{
    *list = e->bad;
    return e->n_bad;
}

int64_t mo_program_eval_products(const mo_program_eval *e)
{
    return e->products;
}

void mo_program_eval_radicand(mo_program_eval *e, int node, const int64_t *index, int rank, mo_fval value)
{
    if (e->draw->field->free || value.state & MO_FV_UNDEFINED) return;
    if (mo_field_is_square(e->draw->field, value)) return;
    if (e->n_bad == e->capacity_bad) {
        mo_bad_radicand *grown = MO_NEW_ARRAY(e->arena, mo_bad_radicand, 2 * e->capacity_bad);
        memcpy(grown, e->bad, sizeof *grown * (size_t)e->n_bad);
        e->bad = grown;
        e->capacity_bad *= 2;
    }
    mo_bad_radicand *bad = &e->bad[e->n_bad++];
    *bad = (mo_bad_radicand){.node = node};
    memcpy(bad->index, index, sizeof *index * (size_t)rank);
}

bool mo_mask_keeps(const mo_field *f, int64_t offset, int64_t row, int64_t column, int64_t columns)
{
    uint64_t key = mo_rng_at(f->key ^ 0x8ebc6af09c88c6e3u, (uint64_t)offset);
    uint64_t bits = mo_rng_at(key, (uint64_t)row);
    if ((int64_t)(bits % (uint64_t)columns) == column) return true;
    return (mo_rng_at(bits, (uint64_t)column) >> 63) != 0;
}

/* An operand of an operator that broadcasts: elements for the output's index along the output's `dim`. */
static void broadcast_along(mo_program_eval *e, int tensor, int rank_out, const int64_t *index, int dim,
                            int64_t n, mo_fval *out)
{
    const mo_shape *shape = &e->program->tensors[tensor].shape;
    int64_t own[MO_MAX_RANK] = {0};
    int shift = rank_out - shape->rank, own_dim = dim - shift;
    for (int d = 0; d < shape->rank; d++) own[d] = shape->dim[d] == 1 ? 0 : index[d + shift];
    if (own_dim >= 0 && shape->dim[own_dim] > 1) {
        mo_program_eval_along(e, tensor, own, own_dim, n, out);
        return;
    }
    mo_program_eval_along(e, tensor, own, -1, 1, out);
    for (int64_t i = 1; i < n; i++) out[i] = out[0];
}

static void operand_along(mo_program_eval *e, const mo_node *node, int operand, const int64_t *index, int dim,
                          int64_t n, mo_fval *out)
{
    const mo_operand *o = &node->inputs[operand];
    if (o->tensor >= 0) {
        int rank_out = e->program->tensors[node->outputs[0]].shape.rank;
        broadcast_along(e, o->tensor, rank_out, index, dim, n, out);
        return;
    }
    mo_fval number = mo_field_constant(e->draw->field, o->number);
    for (int64_t i = 0; i < n; i++) out[i] = number;
}

static bool is_root(const mo_node *node)
{
    if (node->op != MO_OP_POW) return node->op == MO_OP_SQRT || node->op == MO_OP_RSQRT;
    double twice = 2.0 * node->inputs[1].number;
    return (double)(int64_t)twice == twice && (int64_t)twice % 2 != 0;
}

static void pointwise_along(mo_program_eval *e, int index_of_node, const int64_t *index, int dim, int64_t n,
                            mo_fval *out)
{
    const mo_node *node = &e->program->nodes[index_of_node];
    const mo_field *f = e->draw->field;
    int rank = e->program->tensors[node->outputs[0]].shape.rank;
    operand_along(e, node, 0, index, dim, n, out);
    if (is_root(node)) {
        int64_t at[MO_MAX_RANK] = {0};
        memcpy(at, index, sizeof *at * (size_t)rank);
        for (int64_t i = 0; i < n; i++) {
            mo_program_eval_radicand(e, index_of_node, at, rank, out[i]);
            if (dim >= 0) at[dim]++;
        }
    }
    if (node->op == MO_OP_POW) {
        for (int64_t i = 0; i < n; i++) out[i] = mo_field_pow(f, out[i], node->inputs[1].number);
    } else if (node->n_inputs == 2) {
        mo_fval other[MO_EVAL_CHUNK];
        operand_along(e, node, 1, index, dim, n, other);
        for (int64_t i = 0; i < n; i++) out[i] = mo_field_binary(f, node->op, out[i], other[i]);
    } else {
        const mo_attrs *a = &node->attrs;
        mo_prim_node attrs = {.op = node->op,
                              .dtype = a->dtype,
                              .min = a->min,
                              .max = a->max,
                              .approximate_tanh = a->approximate_tanh};
        mo_dtype from = e->program->tensors[node->inputs[0].tensor].dtype;
        if (node->op == MO_OP_CAST && mo_cast_is_identity(from, a->dtype)) return;
        for (int64_t i = 0; i < n; i++) out[i] = mo_field_unary(f, &attrs, out[i]);
    }
}

/* Index of an operand of a matmul: batch dimensions broadcast, the last two are given. */
static void matmul_index(const mo_shape *shape, int rank_out, const int64_t *index, bool transposed,
                         int64_t row, int64_t column, int64_t own[MO_MAX_RANK])
{
    int shift = rank_out - shape->rank;
    for (int d = 0; d < shape->rank - 2; d++) own[d] = shape->dim[d] == 1 ? 0 : index[d + shift];
    own[shape->rank - 2] = transposed ? column : row;
    own[shape->rank - 1] = transposed ? row : column;
}

/* `rows` rows times `n` columns, from `index` on; rows * n is at most MO_EVAL_BLOCK. */
static void rows_times_columns(mo_program_eval *e, const mo_node *node, const int64_t *index, int64_t rows,
                               int64_t n, mo_fval *out)
{
    const mo_program *program = e->program;
    int a = node->inputs[0].tensor, b = node->inputs[1].tensor;
    const mo_shape *sa = &program->tensors[a].shape, *sb = &program->tensors[b].shape;
    int rank = program->tensors[node->outputs[0]].shape.rank;
    bool ta = node->attrs.transpose_a, tb = node->attrs.transpose_b;
    int dim_a = sa->rank - 1 - (ta ? 1 : 0), dim_b = sb->rank - 2 + (tb ? 1 : 0);
    const mo_field *f = e->draw->field;
    mo_field_sum sums[MO_EVAL_BLOCK];
    mo_fval left[MO_EVAL_ROWS][MO_EVAL_CHUNK], right[MO_EVAL_CHUNK];
    for (int64_t j = 0; j < rows * n; j++) sums[j] = mo_field_sum_start(f);
    for (int64_t k = 0; k < sa->dim[dim_a]; k += MO_EVAL_CHUNK) {
        int64_t run = sa->dim[dim_a] - k < MO_EVAL_CHUNK ? sa->dim[dim_a] - k : MO_EVAL_CHUNK;
        int64_t own[MO_MAX_RANK] = {0};
        for (int64_t r = 0; r < rows; r++) {
            matmul_index(sa, rank, index, ta, index[rank - 2] + r, k, own);
            mo_program_eval_along(e, a, own, dim_a, run, left[r]);
        }
        for (int64_t j = 0; j < n; j++) {
            matmul_index(sb, rank, index, tb, k, index[rank - 1] + j, own);
            mo_program_eval_along(e, b, own, dim_b, run, right);
            for (int64_t r = 0; r < rows; r++) mo_field_sum_dot(f, &sums[r * n + j], left[r], right, run);
        }
        e->products += run * n * rows;
    }
    for (int64_t j = 0; j < rows * n; j++) out[j] = mo_field_sum_end(f, &sums[j]);
}

static void matmul_along(mo_program_eval *e, const mo_node *node, const int64_t *index, int dim, int64_t n,
                         mo_fval *out)
{
    int rank = e->program->tensors[node->outputs[0]].shape.rank;
    if (dim < 0 || dim == rank - 1) {
        rows_times_columns(e, node, index, 1, n, out);
        return;
    }
    int64_t at[MO_MAX_RANK] = {0};
    memcpy(at, index, sizeof *at * (size_t)rank);
    for (int64_t i = 0; i < n; i++, at[dim]++) rows_times_columns(e, node, at, 1, 1, out + i);
}

/* Row-major positions are the same on both sides; runs that stay within one dimension of the input are
 * taken at once. */
static void reshape_along(mo_program_eval *e, const mo_node *node, const int64_t *index, int dim, int64_t n,
                          mo_fval *out)
{
    const mo_shape *from = &e->program->tensors[node->inputs[0].tensor].shape;
    const mo_shape *to = &e->program->tensors[node->outputs[0]].shape;
    int64_t strides_from[MO_MAX_RANK], strides_to[MO_MAX_RANK], position = 0;
    mo_shape_row_major(*from, strides_from);
    mo_shape_row_major(*to, strides_to);
    for (int d = 0; d < to->rank; d++) position += index[d] * strides_to[d];
    int64_t step = dim < 0 ? 1 : strides_to[dim];
    while (n > 0) {
        int64_t own[MO_MAX_RANK] = {0}, run = 1;
        int own_dim = -1;
        for (int d = 0; d < from->rank; d++) {
            own[d] = position / strides_from[d] % from->dim[d];
            if (strides_from[d] != step || from->dim[d] == 1) continue;
            own_dim = d;
            run = from->dim[d] - own[d];
        }
        if (run > n) run = n;
        mo_program_eval_along(e, node->inputs[0].tensor, own, own_dim, run, out);
        out += run;
        n -= run;
        position += run * step;
    }
}

static void concat_along(mo_program_eval *e, const mo_node *node, const int64_t *index, int dim, int64_t n,
                         mo_fval *out)
{
    int axis = node->attrs.axes[0], part = 0;
    int64_t own[MO_MAX_RANK];
    memcpy(own, index, sizeof own);
    while (n > 0) {
        int64_t extent = e->program->tensors[node->inputs[part].tensor].shape.dim[axis];
        if (own[axis] >= extent) {
            own[axis] -= extent;
            part++;
            continue;
        }
        int64_t run = dim == axis && extent - own[axis] < n ? extent - own[axis] : n;
        mo_program_eval_along(e, node->inputs[part].tensor, own, dim, run, out);
        if (dim == axis) own[axis] += run;
        out += run;
        n -= run;
    }
}

static void view_along(mo_program_eval *e, const mo_node *node, int output, const int64_t *index, int dim,
                       int64_t n, mo_fval *out)
{
    int in = node->inputs[0].tensor;
    int64_t own[MO_MAX_RANK];
    memcpy(own, index, sizeof own);
    switch (node->op) {
    case MO_OP_TRANSPOSE:
        for (int d = 0; d < e->program->tensors[in].shape.rank; d++) own[node->attrs.perm[d]] = index[d];
        mo_program_eval_along(e, in, own, dim < 0 ? -1 : node->attrs.perm[dim], n, out);
        return;
    case MO_OP_RESHAPE: reshape_along(e, node, index, dim, n, out); return;
    case MO_OP_CONCAT: concat_along(e, node, index, dim, n, out); return;
    case MO_OP_BROADCAST_TO: operand_along(e, node, 0, index, dim, n, out); return;
    case MO_OP_SLICE: own[node->attrs.axes[0]] += node->attrs.start; break;
    default:
        for (int i = 0; i < output; i++) own[node->attrs.axes[0]] += node->attrs.sections[i];
    }
    mo_program_eval_along(e, in, own, dim, n, out);
}

static void mask_along(mo_program_eval *e, const mo_node *node, const int64_t *index, int dim, int64_t n,
                       mo_fval *out)
{
    const mo_shape *shape = &e->program->tensors[node->outputs[0]].shape;
    operand_along(e, node, 0, index, dim, n, out);
    int64_t offset = node->attrs.offset;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = index[shape->rank - 2] + (dim == shape->rank - 2 ? i : 0);
        int64_t column = index[shape->rank - 1] + (dim == shape->rank - 1 ? i : 0);
        bool keep = e->random_mask
                        ? mo_mask_keeps(e->draw->field, offset, row, column, shape->dim[shape->rank - 1])
                        : column <= row + offset;
        if (!keep) out[i] = mo_fval_special(MO_FV_NEG_INF);
    }
}

/* x * row, (x - row) * row', exp(x) * row, then weight and bias. */
static void compound_along(mo_program_eval *e, int index_of_node, const int64_t *index, int dim, int64_t n,
                           mo_fval *out)
{
    const mo_node *node = &e->program->nodes[index_of_node];
    const mo_field *f = e->draw->field;
    mo_fval other[MO_EVAL_CHUNK];
    mo_program_eval_along(e, node->inputs[0].tensor, index, dim, n, out);
    if (node->op == MO_OP_SOFTMAX)
        for (int64_t i = 0; i < n; i++) out[i] = mo_field_exp(f, out[i]);
    if (node->op == MO_OP_LAYER_NORM) {
        mo_program_rows_along(e, index_of_node, 1, index, dim, n, other);
        for (int64_t i = 0; i < n; i++) out[i] = mo_field_sub(f, out[i], other[i]);
    }
    mo_program_rows_along(e, index_of_node, 0, index, dim, n, other);
    for (int64_t i = 0; i < n; i++) out[i] = mo_field_mul(f, out[i], other[i]);
    for (int j = 1; j < node->n_inputs; j++) {
        operand_along(e, node, j, index, dim, n, other);
        for (int64_t i = 0; i < n; i++)
            out[i] = j == 1 ? mo_field_mul(f, out[i], other[i]) : mo_field_add(f, out[i], other[i]);
    }
}

static void compute(mo_program_eval *e, int tensor, const int64_t *index, int dim, int64_t n, mo_fval *out)
{
    const mo_tensor *t = &e->program->tensors[tensor];
    const mo_node *node = &e->program->nodes[t->producer];
    switch (mo_op_kind_of(node->op)) {
    case MO_KIND_PRODUCT: matmul_along(e, node, index, dim, n, out); return;
    case MO_KIND_UNARY:
    case MO_KIND_BINARY: pointwise_along(e, t->producer, index, dim, n, out); return;
    case MO_KIND_REDUCE: mo_program_reduce_along(e, t->producer, index, dim, n, out); return;
    case MO_KIND_VIEW: view_along(e, node, t->producer_output, index, dim, n, out); return;
    case MO_KIND_COMPOUND:
        if (node->op == MO_OP_CAUSAL_MASK)
            mask_along(e, node, index, dim, n, out);
        else
            compound_along(e, t->producer, index, dim, n, out);
        return;
    default: MO_BUG("%s in a program", mo_op_name(node->op));
    }
}

/* This row of a product and some that follow go to the memory of the tensor. */
static void eager_rows(mo_program_eval *e, const mo_node *node, const mo_shape *shape, const int64_t *index,
                       int64_t position, int64_t n)
{
    mo_fval block[MO_EVAL_BLOCK];
    int64_t rows = shape->dim[shape->rank - 2] - index[shape->rank - 2], row = shape->dim[shape->rank - 1];
    if (rows > MO_EVAL_ROWS) rows = MO_EVAL_ROWS;
    if (rows > MO_EVAL_BLOCK / n) rows = MO_EVAL_BLOCK / n;
    rows_times_columns(e, node, index, rows, n, block);
    for (int64_t r = 0; r < rows; r++)
        mo_memo_put(&e->tensors[node->outputs[0]], position + r * row, 1, n, block + r * n);
}

/* At most MO_EVAL_CHUNK elements. */
static void chunk_along(mo_program_eval *e, int tensor, const int64_t *index, int dim, int64_t n,
                        mo_fval *out)
{
    const mo_shape *shape = &e->program->tensors[tensor].shape;
    mo_memo *memo = &e->tensors[tensor];
    if (memo->size == 0) {
        compute(e, tensor, index, dim, n, out);
        return;
    }
    int64_t strides[MO_MAX_RANK], position = 0;
    mo_shape_row_major(*shape, strides);
    for (int d = 0; d < shape->rank; d++) position += index[d] * strides[d];
    int64_t stride = dim < 0 ? 0 : strides[dim];
    if (mo_memo_get(memo, position, stride, n, out)) return;
    const mo_node *node = &e->program->nodes[e->program->tensors[tensor].producer];
    if (e->eager && node->op == MO_OP_MATMUL && dim == shape->rank - 1) {
        eager_rows(e, node, shape, index, position, n);
        if (mo_memo_get(memo, position, stride, n, out)) return;
    }
    compute(e, tensor, index, dim, n, out);
    mo_memo_put(memo, position, stride, n, out);
}

void mo_program_eval_along(mo_program_eval *e, int tensor, const int64_t index[MO_MAX_RANK], int dim,
                           int64_t n, mo_fval *out)
{
    const mo_tensor *t = &e->program->tensors[tensor];
    if (tensor < e->program->n_inputs) {
        int64_t offset = 0;
        for (int d = 0; d < t->shape.rank; d++) offset += index[d] * t->strides[d];
        mo_draw_along(e->draw, tensor, offset, dim < 0 ? 0 : t->strides[dim], n, out);
        return;
    }
    int64_t at[MO_MAX_RANK] = {0};
    memcpy(at, index, sizeof *at * (size_t)t->shape.rank);
    for (int64_t done = 0; done < n; done += MO_EVAL_CHUNK) {
        int64_t run = n - done < MO_EVAL_CHUNK ? n - done : MO_EVAL_CHUNK;
        chunk_along(e, tensor, at, dim, run, out + done);
        if (dim >= 0) at[dim] += run;
    }
}
