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

mo_program_eval *mo_program_eval_new(const mo_program *program, const mo_draw *draw, bool small_masks)
{
    mo_program_eval *e = check_room(calloc(1, sizeof *e));
    e->program = program;
    e->draw = draw;
    e->small_masks = small_masks;
    e->arena = mo_arena_new();
    e->tensors = MO_NEW_ARRAY(e->arena, mo_memo, program->n_tensors + 1);
    e->rows = MO_NEW_ARRAY(e->arena, mo_memo, 2 * program->n_nodes + 1);
    e->numbers = MO_NEW_ARRAY(e->arena, mo_fval, 2 * program->n_nodes + 1);
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
    mo_tiles_free(&e->tiles);
    mo_arena_free(e->arena);
    free(e);
}

void mo_program_eval_forget(mo_program_eval *e)
{
    clear_all(e, false);
    memset(e->numbers, 0, sizeof *e->numbers * 2 * (size_t)e->program->n_nodes);
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

bool mo_mask_keeps(int64_t offset, int64_t row, int64_t column, int64_t columns)
{
    if (columns == 1) return offset >= 0 || row > 0;
    uint64_t twice = (uint64_t)offset << 1, code = offset < 0 ? ~twice : twice, n = (uint64_t)columns;
    uint64_t first = code % n, second = (first + code / n) % n, at = (uint64_t)column;
    if (row == 0) return at != first;
    if (row == 1) return at == first || at != second;
    uint64_t bits = mo_rng_at(code ^ 0x8ebc6af09c88c6e3u, (uint64_t)row);
    return bits % n == at || (mo_rng_at(bits, at) >> 63) != 0;
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
    mo_fval *number = &e->numbers[2 * (node - e->program->nodes) + (operand > 0)];
    if (number->state == 0) *number = mo_field_constant(e->draw->field, o->number);
    for (int64_t i = 0; i < n; i++) out[i] = *number;
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
        if (node->op == MO_OP_DIV) {
            mo_field_divide(f, out, other, n);
            return;
        }
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

/* Do neighbours along dimension x lie closer together than along y? */
static bool lies_closer(const mo_program *program, int tensor, int x, int y)
{
    const mo_tensor *t = &program->tensors[tensor];
    if (tensor < program->n_inputs) return t->strides[x] < t->strides[y];
    const mo_node *node = &program->nodes[t->producer];
    if (node->op != MO_OP_TRANSPOSE) return x > y;
    return lies_closer(program, node->inputs[0].tensor, node->attrs.perm[x], node->attrs.perm[y]);
}

typedef struct {
    mo_program_eval *e;
    const mo_node *node;
    const int64_t *index; /* of the first element */
    int64_t rows, n;
    int inner[2], rank; /* dimension of each operand that is summed over; of the result */
} product;

static product product_at(mo_program_eval *e, const mo_node *node, const int64_t *index, int64_t rows,
                          int64_t n)
{
    const mo_tensor *t = e->program->tensors;
    product p = {e, node, index, rows, n, {0, 0}, t[node->outputs[0]].shape.rank};
    p.inner[0] = t[node->inputs[0].tensor].shape.rank - (node->attrs.transpose_a ? 2 : 1);
    p.inner[1] = t[node->inputs[1].tensor].shape.rank - (node->attrs.transpose_b ? 1 : 2);
    return p;
}

/* `run` elements of row or column number `line` of an operand, from k on. */
static void read_line(const product *p, int operand, int64_t line, int64_t k, int64_t run, mo_fval *out)
{
    int tensor = p->node->inputs[operand].tensor;
    const mo_shape *shape = &p->e->program->tensors[tensor].shape;
    int64_t own[MO_MAX_RANK] = {0};
    if (operand == 0)
        matmul_index(shape, p->rank, p->index, p->node->attrs.transpose_a, p->index[p->rank - 2] + line, k,
                     own);
    else
        matmul_index(shape, p->rank, p->index, p->node->attrs.transpose_b, k, p->index[p->rank - 1] + line,
                     own);
    mo_program_eval_along(p->e, tensor, own, p->inner[operand], run, out);
}

/* Do the elements of the columns of the right operand lie closer to those of the next column? */
static bool columns_turned(const product *p)
{
    int inner = p->inner[1], tensor = p->node->inputs[1].tensor;
    int other = 2 * p->e->program->tensors[tensor].shape.rank - 3 - inner;
    return p->n > 1 && lies_closer(p->e->program, tensor, other, inner);
}

/* The columns of the right operand: tile[column * run + element], read in the direction in which elements lie
 * side by side. */
static void read_columns(const product *p, bool turned, int64_t k, int64_t run, mo_fval *tile)
{
    int tensor = p->node->inputs[1].tensor;
    const mo_shape *shape = &p->e->program->tensors[tensor].shape;
    for (int64_t j = 0; !turned && j < p->n; j++) read_line(p, 1, j, k, run, tile + j * run);
    for (int64_t i = 0; turned && i < run; i++) {
        int64_t own[MO_MAX_RANK] = {0};
        mo_fval line[MO_EVAL_CHUNK];
        matmul_index(shape, p->rank, p->index, p->node->attrs.transpose_b, k + i, p->index[p->rank - 1], own);
        mo_program_eval_along(p->e, tensor, own, 2 * shape->rank - 3 - p->inner[1], p->n, line);
        for (int64_t j = 0; j < p->n; j++) tile[j * run + i] = line[j];
    }
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Rows times columns, of k to k + run - 1. */
static void add_products(const product *p, bool turned, int64_t k, int64_t run, mo_tile *tile)
{
    const mo_field *f = p->e->draw->field;
    for (int64_t r = 0; r < p->rows; r++) read_line(p, 0, r, k, run, tile->left + r * run);
    if (p->rows > 1 || turned) {
        read_columns(p, turned, k, run, tile->right);
        mo_field_block_add(f, &(mo_field_block){tile->left, tile->right, p->rows, p->n, run}, tile->sums);
    } else {
        for (int64_t j = 0; j < p->n; j++) {
            read_line(p, 1, j, k, run, tile->right);
            mo_field_sum_dot(f, &tile->sums[j], tile->left, tile->right, run);
        }
    }
    p->e->products += run * p->n * p->rows;
}

/* `rows` rows times `n` columns, from `index` on; rows * n is at most MO_TILE_SUMS. */
static void rows_times_columns(mo_program_eval *e, const mo_node *node, const int64_t *index, int64_t rows,
                               int64_t n, mo_fval *out)
{
    product p = product_at(e, node, index, rows, n);
    const mo_field *f = e->draw->field;
    bool turned = columns_turned(&p);
    int64_t extent = e->program->tensors[node->inputs[0].tensor].shape.dim[p.inner[0]];
    int64_t longest = least(MO_EVAL_CHUNK, rows > 1 || turned ? MO_TILE / (rows > n ? rows : n) : MO_TILE);
    mo_tile *tile = mo_tiles_enter(&e->tiles);
    for (int64_t j = 0; j < rows * n; j++) tile->sums[j] = mo_field_sum_start(f);
    for (int64_t k = 0; k < extent; k += longest)
        add_products(&p, turned, k, least(longest, extent - k), tile);
    for (int64_t j = 0; j < rows * n; j++) out[j] = mo_field_sum_end(f, &tile->sums[j]);
    mo_tiles_leave(&e->tiles);
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
        bool keep = e->small_masks ? mo_mask_keeps(offset, row, column, shape->dim[shape->rank - 1])
                                   : column - row <= offset;
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
    mo_fval block[MO_TILE_SUMS];
    int64_t rows = shape->dim[shape->rank - 2] - index[shape->rank - 2], row = shape->dim[shape->rank - 1];
    int64_t at[MO_MAX_RANK], columns;
    memcpy(at, index, sizeof at);
    if (rows > MO_EVAL_ROWS) rows = MO_EVAL_ROWS;
    for (int64_t done = 0; done < n; done += columns, at[shape->rank - 1] += columns) {
        columns = least(n - done, MO_TILE_COLUMNS);
        rows_times_columns(e, node, at, rows, columns, block);
        for (int64_t r = 0; r < rows; r++)
            mo_memo_put(&e->tensors[node->outputs[0]], position + done + r * row, 1, columns,
                        block + r * columns);
    }
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
