/* Lazy evaluation of kernels' bodies at full shape. */
#include "verify/mugraph_eval.h"

#include "base/status.h"
#include "verify/memo.h"
#include "verify/tiles.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 256 /* elements that are computed at once */
#define ROWS 16   /* rows of a product */

/* Who writes a tensor. */
typedef struct {
    const mo_kernel *move; /* a COPY kernel, or NULL */
    const mo_prim *body;   /* otherwise; NULL: an input */
    const mo_saver *saver;
    int kernel;
} writer;

struct mo_mugraph_eval {
    const mo_mugraph *graph;
    const mo_draw *draw;
    mo_arena *arena;
    writer *writers; /* by tensor */
    mo_memo **memos; /* [kernel][node] */
    int64_t products;
    bool eager;
    mo_tiles tiles;
};

typedef struct {
    mo_mugraph_eval *e;
    const mo_prim *body;
    mo_memo *memos;
} scope;

/* Axes of a saver must decompose an offset: each stride reaches past the whole of the smaller ones. */
static bool decomposes(const mo_prim *body, const mo_access *access)
{
    for (int a = 0; a < body->n_axes; a++)
        for (int b = 0; b < body->n_axes; b++) {
            int64_t sa = access->stride[a], sb = access->stride[b];
            if (a == b || sa == 0 || sb == 0) continue;
            if (sa == sb || (sa > sb && sa < sb * body->axes[b].extent)) return false;
        }
    return true;
}

static bool saver_is_whole(const mo_prim *body, const mo_saver *saver)
{
    MO_FOR_AXES(a, body->nodes[saver->node].axes)
        if (saver->access.stride[a] == 0) return false;
    return decomposes(body, &saver->access);
}

static mo_memo plan_node(const mo_prim *body, int index, int uses)
{
    const mo_prim_node *node = &body->nodes[index];
    mo_op_kind kind = mo_op_kind_of(node->op);
    bool expensive = kind == MO_KIND_PRODUCT || kind == MO_KIND_REDUCE || uses > 1;
    bool cheap = kind == MO_KIND_STRUCTURE || node->op == MO_OP_NEG || node->op == MO_OP_SQUARE ||
                 (kind == MO_KIND_BINARY && node->op != MO_OP_DIV && node->op != MO_OP_POW);
    if (node->op == MO_OP_CONST) return mo_memo_plan(1, false);
    if (node->op == MO_OP_ITER || (cheap && uses < 2)) return (mo_memo){0};
    return mo_memo_plan(mo_prim_extent(body, node->axes), expensive);
}

static bool plan_kernel(mo_mugraph_eval *e, int k, const char **reason)
{
    const mo_prim *body = e->graph->kernels[k].body;
    e->memos[k] = MO_NEW_ARRAY(e->arena, mo_memo, body->n_nodes + 1);
    int *uses = MO_NEW_ARRAY(e->arena, int, body->n_nodes + 1);
    for (int i = 0; i < body->n_nodes; i++)
        for (int j = 0; j < body->nodes[i].n_in; j++) uses[body->nodes[i].in[j]]++;
    /* What is stored may be read any number of times: a chain of such values would double at each of them. */
    for (int s = 0; s < body->n_savers; s++) uses[body->savers[s].node] += 2;
    for (int i = 0; i < body->n_nodes; i++) e->memos[k][i] = plan_node(body, i, uses[i]);
    for (int s = 0; s < body->n_savers; s++) {
        const mo_saver *saver = &body->savers[s];
        if (!saver_is_whole(body, saver)) {
            *reason = "a saver writes some element more than once";
            return false;
        }
        e->writers[saver->access.tensor] = (writer){NULL, body, saver, k};
    }
    const mo_kernel *kernel = &e->graph->kernels[k];
    if (kernel->n_moves > 0) e->writers[kernel->moves[0]] = (writer){kernel, NULL, NULL, k};
    return true;
}

mo_mugraph_eval *mo_mugraph_eval_new(const mo_mugraph *graph, const mo_draw *draw, const char **reason)
{
    mo_mugraph_eval *e = calloc(1, sizeof *e);
    if (e == NULL) MO_BUG("out of memory");
    e->graph = graph;
    e->draw = draw;
    e->arena = mo_arena_new();
    e->writers = MO_NEW_ARRAY(e->arena, writer, graph->n_tensors + 1);
    e->memos = MO_NEW_ARRAY(e->arena, mo_memo *, graph->n_kernels + 1);
    for (int k = 0; k < graph->n_kernels; k++) {
        if (plan_kernel(e, k, reason)) continue;
        mo_mugraph_eval_free(e);
        return NULL;
    }
    return e;
}

void mo_mugraph_eval_free(mo_mugraph_eval *e)
{
    if (e == NULL) return;
    for (int k = 0; k < e->graph->n_kernels; k++)
        for (int i = 0; e->memos[k] != NULL && i < e->graph->kernels[k].body->n_nodes; i++)
            mo_memo_free(&e->memos[k][i]);
    mo_tiles_free(&e->tiles);
    mo_arena_free(e->arena);
    free(e);
}

void mo_mugraph_eval_forget(mo_mugraph_eval *e)
{
    for (int k = 0; k < e->graph->n_kernels; k++)
        for (int i = 0; i < e->graph->kernels[k].body->n_nodes; i++) mo_memo_clear(&e->memos[k][i]);
    e->products = 0;
}

void mo_mugraph_eval_set_eager(mo_mugraph_eval *e, bool eager)
{
    e->eager = eager;
}

int64_t mo_mugraph_eval_products(const mo_mugraph_eval *e)
{
    return e->products;
}

static void node_along(const scope *s, int node, int64_t *at, int axis, int64_t n, mo_fval *out);

/* The value of an operand along `axis`; one that does not have the axis is repeated. */
static void operand_along(const scope *s, int node, int64_t *at, int axis, int64_t n, mo_fval *out)
{
    if (axis >= 0 && s->body->nodes[node].axes >> axis & 1u) {
        node_along(s, node, at, axis, n, out);
        return;
    }
    node_along(s, node, at, -1, 1, out);
    for (int64_t i = 1; i < n; i++) out[i] = out[0];
}

static void iterator_along(const scope *s, const mo_prim_node *node, const int64_t *at, int axis, int64_t n,
                           mo_fval *out)
{
    int64_t offset = 0;
    MO_FOR_AXES(a, node->axes) offset += at[a] * node->access.stride[a];
    mo_mugraph_eval_along(s->e, node->access.tensor, offset, axis < 0 ? 0 : node->access.stride[axis], n,
                          out);
}

static void mask_along(const mo_prim_node *node, const int64_t *at, int axis, int64_t n, mo_fval *out)
{
    int rows = node->mask_rows - 1, columns = node->mask_columns - 1;
    for (int64_t i = 0; i < n; i++) {
        int64_t row = rows < 0 ? 0 : at[rows] + (axis >= 0 && axis == rows ? i : 0);
        int64_t column = columns < 0 ? 0 : at[columns] + (axis >= 0 && axis == columns ? i : 0);
        if (column - row > node->mask_offset) out[i] = mo_fval_special(MO_FV_NEG_INF);
    }
}

static void pointwise_along(const scope *s, const mo_prim_node *node, int64_t *at, int axis, int64_t n,
                            mo_fval *out)
{
    const mo_field *f = s->e->draw->field;
    operand_along(s, node->in[0], at, axis, n, out);
    if (node->op == MO_OP_MASK) {
        mask_along(node, at, axis, n, out);
    } else if (node->op == MO_OP_POW) {
        double exponent = s->body->nodes[node->in[1]].number;
        for (int64_t i = 0; i < n; i++) out[i] = mo_field_pow(f, out[i], exponent);
    } else if (node->op == MO_OP_DIV && (axis < 0 || !(s->body->nodes[node->in[1]].axes >> axis & 1u))) {
        mo_fval factor; /* one divisor for all */
        node_along(s, node->in[1], at, -1, 1, &factor);
        factor = mo_field_reciprocal(f, factor);
        for (int64_t i = 0; i < n; i++) out[i] = mo_field_mul(f, out[i], factor);
    } else if (node->n_in == 2) {
        mo_fval other[CHUNK];
        operand_along(s, node->in[1], at, axis, n, other);
        if (node->op == MO_OP_DIV) {
            mo_field_divide(f, out, other, n);
            return;
        }
        for (int64_t i = 0; i < n; i++) out[i] = mo_field_binary(f, node->op, out[i], other[i]);
    } else {
        if (node->op == MO_OP_CAST && mo_cast_is_identity(s->body->nodes[node->in[0]].dtype, node->dtype))
            return;
        for (int64_t i = 0; i < n; i++) out[i] = mo_field_unary(f, node, out[i]);
    }
}

/* The longest of the reduced axes is walked innermost. */
static int inner_axis(const mo_prim *body, mo_axes reduced)
{
    int inner = mo_axes_first(reduced);
    MO_FOR_AXES(a, reduced)
        if (body->axes[a].extent > body->axes[inner].extent) inner = a;
    return inner;
}

static bool next_outer(const mo_prim *body, mo_axes outer, int64_t *at)
{
    MO_FOR_AXES(a, outer) {
        if (++at[a] < body->axes[a].extent) return true;
        at[a] = 0;
    }
    return false;
}

/* One element of a reduction at `at`. */
static mo_fval reduce_at(const scope *s, const mo_prim_node *node, const int64_t *free_at)
{
    const mo_field *f = s->e->draw->field;
    int64_t at[MO_MAX_AXES];
    memcpy(at, free_at, sizeof at);
    MO_FOR_AXES(a, node->reduced) at[a] = 0;
    int inner = inner_axis(s->body, node->reduced);
    mo_axes outer = node->reduced & ~(1u << inner);
    mo_fval chunk[CHUNK], acc = {0, 0, 0, 0};
    do {
        for (int64_t start = 0; start < s->body->axes[inner].extent; start += CHUNK) {
            int64_t run = s->body->axes[inner].extent - start;
            if (run > CHUNK) run = CHUNK;
            at[inner] = start;
            s->e->products += run;
            operand_along(s, node->in[0], at, inner, run, chunk);
            for (int64_t i = 0; i < run; i++) {
                if (acc.state == 0)
                    acc = mo_field_reduce_start(f, node->op, chunk[i]);
                else
                    acc = mo_field_reduce_step(f, node->op, acc, chunk[i]);
            }
        }
    } while (next_outer(s->body, outer, at));
    return mo_field_reduce_end(f, node->op, acc);
}

/* A block of a product: `rows` indices of the axis `row` (-1: one) by n of `column` (-1: one), where `left`
 * does not depend on `column` and `right` not on `row`. */
typedef struct {
    int left, right; /* operands */
    int row, column;
    int64_t rows, n;
} block;

static bool has_axis(const scope *s, int node, int axis)
{
    return axis >= 0 && (s->body->nodes[node].axes >> axis & 1u);
}

/* How far apart neighbours along this axis lie in what the value is read from. */
static int64_t step_along(const scope *s, int index, int axis)
{
    const mo_prim_node *node = &s->body->nodes[index];
    if (node->op == MO_OP_ITER) return node->access.stride[axis];
    int64_t step = 1;
    if (s->memos[index].size > 0 || node->n_in == 0) {
        for (int a = axis + 1; a < s->body->n_axes; a++)
            step *= has_axis(s, index, a) ? s->body->axes[a].extent : 1;
        return step;
    }
    return step_along(s, node->in[has_axis(s, node->in[0], axis) ? 0 : 1], axis);
}

/* Do the elements of the columns of the right operand lie closer to those of the next column? */
static bool columns_turned(const scope *s, const block *b, int inner)
{
    return b->n > 1 && step_along(s, b->right, b->column) < step_along(s, b->right, inner);
}

/* The columns of the right operand, `run` elements of each along `inner`: tile[column * run + element]. Read
 * in the direction in which elements lie side by side. */
static void read_columns(const scope *s, const block *b, bool turned, int64_t *at, int inner, int64_t run,
                         mo_fval *tile)
{
    int64_t start = at[inner], first = b->column >= 0 ? at[b->column] : 0;
    for (int64_t k = 0; turned && k < run; k++) {
        mo_fval line[CHUNK];
        at[inner] = start + k;
        operand_along(s, b->right, at, b->column, b->n, line);
        for (int64_t j = 0; j < b->n; j++) tile[j * run + k] = line[j];
    }
    at[inner] = start;
    for (int64_t j = 0; !turned && j < b->n; j++) {
        if (b->column >= 0) at[b->column] = first + j;
        operand_along(s, b->right, at, inner, run, tile + j * run);
    }
    if (b->column >= 0) at[b->column] = first;
}

/* `run` products of each element, from `at` on along `inner`. */
static void add_products(const scope *s, const block *b, bool turned, int64_t *at, int inner, int64_t run,
                         mo_tile *tile)
{
    const mo_field *f = s->e->draw->field;
    int64_t row = b->row >= 0 ? at[b->row] : 0, column = b->column >= 0 ? at[b->column] : 0;
    for (int64_t r = 0; r < b->rows; r++) {
        if (b->row >= 0) at[b->row] = row + r;
        operand_along(s, b->left, at, inner, run, tile->left + r * run);
    }
    if (b->row >= 0) at[b->row] = row;
    if (b->rows > 1 || turned) {
        read_columns(s, b, turned, at, inner, run, tile->right);
        mo_field_block_add(f, &(mo_field_block){tile->left, tile->right, b->rows, b->n, run}, tile->sums);
    } else {
        for (int64_t j = 0; j < b->n; j++) {
            if (b->column >= 0) at[b->column] = column + j;
            operand_along(s, b->right, at, inner, run, tile->right);
            mo_field_sum_dot(f, &tile->sums[j], tile->left, tile->right, run);
        }
        if (b->column >= 0) at[b->column] = column;
    }
    s->e->products += run * b->rows * b->n;
}

static void product_block(const scope *s, const mo_prim_node *node, const block *b, const int64_t *free_at,
                          mo_fval *out)
{
    const mo_field *f = s->e->draw->field;
    int64_t at[MO_MAX_AXES], longest = CHUNK;
    memcpy(at, free_at, sizeof at);
    MO_FOR_AXES(a, node->reduced) at[a] = 0;
    int inner = inner_axis(s->body, node->reduced);
    bool turned = columns_turned(s, b, inner);
    if ((b->rows > 1 || turned) && longest > MO_TILE / (b->rows > b->n ? b->rows : b->n))
        longest = MO_TILE / (b->rows > b->n ? b->rows : b->n);
    mo_tile *tile = mo_tiles_enter(&s->e->tiles);
    for (int64_t i = 0; i < b->rows * b->n; i++) tile->sums[i] = mo_field_sum_start(f);
    do {
        for (int64_t start = 0; start < s->body->axes[inner].extent; start += longest) {
            int64_t left = s->body->axes[inner].extent - start;
            at[inner] = start;
            add_products(s, b, turned, at, inner, left < longest ? left : longest, tile);
        }
    } while (next_outer(s->body, node->reduced & ~(1u << inner), at));
    for (int64_t i = 0; i < b->rows * b->n; i++) out[i] = mo_field_sum_end(f, &tile->sums[i]);
    mo_tiles_leave(&s->e->tiles);
}

/* The block of n elements along `axis`; `wanted` rows where some axis allows it. False if both operands
 * depend on `axis`, so that there is nothing to share. */
static bool plan_block(const scope *s, const mo_prim_node *node, const int64_t *at, int axis, int64_t n,
                       int64_t wanted, block *b)
{
    *b = (block){node->in[0], node->in[1], -1, axis, 1, n};
    if (has_axis(s, b->left, axis)) *b = (block){node->in[1], node->in[0], -1, axis, 1, n};
    if (has_axis(s, b->left, axis)) return false;
    if (wanted == 1 || axis < 0) return true;
    MO_FOR_AXES(a, node->axes) {
        int64_t rows = s->body->axes[a].extent - at[a];
        if (a == axis || has_axis(s, b->right, a) || rows <= b->rows) continue;
        b->row = a;
        b->rows = rows < wanted ? rows : wanted;
    }
    if (b->rows > MO_TILE_SUMS / n) b->rows = MO_TILE_SUMS / n;
    return true;
}

static void product_along(const scope *s, const mo_prim_node *node, const int64_t *at, int axis, int64_t n,
                          mo_fval *out)
{
    block b;
    if (plan_block(s, node, at, axis, n, 1, &b)) {
        product_block(s, node, &b, at, out);
        return;
    }
    int64_t own[MO_MAX_AXES];
    memcpy(own, at, sizeof own);
    plan_block(s, node, at, -1, 1, 1, &b);
    for (int64_t i = 0; i < n; i++, own[axis]++) product_block(s, node, &b, own, out + i);
}

static void compute(const scope *s, int index, int64_t *at, int axis, int64_t n, mo_fval *out)
{
    const mo_prim_node *node = &s->body->nodes[index];
    const mo_field *f = s->e->draw->field;
    if (node->op == MO_OP_ITER) {
        iterator_along(s, node, at, axis, n, out);
    } else if (node->op == MO_OP_CONST) {
        *out = mo_field_constant(f, node->number); /* lengths too: it is the number that code is made from */
    } else if (mo_op_is_pointwise(node->op)) {
        pointwise_along(s, node, at, axis, n, out);
    } else if (node->op == MO_OP_MATMUL) {
        product_along(s, node, at, axis, n, out);
    } else {
        int64_t own[MO_MAX_AXES];
        memcpy(own, at, sizeof own);
        for (int64_t i = 0; i < n; i++) {
            out[i] = reduce_at(s, node, own);
            if (axis >= 0) own[axis]++;
        }
    }
}

/* Position of an element in the memory of its node, and the step along `axis`. */
static int64_t memo_position(const scope *s, int index, const int64_t *at, int axis, int64_t *stride)
{
    int64_t position = 0, step = 1;
    *stride = 0;
    for (int a = s->body->n_axes - 1; a >= 0; a--) {
        if (!has_axis(s, index, a)) continue;
        position += at[a] * step;
        if (a == axis) *stride = step;
        step *= s->body->axes[a].extent;
    }
    return position;
}

/* Keeps what a block computed: b->rows rows of b->n elements. */
static void keep_block(const scope *s, int index, const int64_t *at, const block *b, const mo_fval *values)
{
    int64_t stride, row_stride, position = memo_position(s, index, at, b->column, &stride);
    memo_position(s, index, at, b->row, &row_stride);
    for (int64_t r = 0; r < b->rows; r++)
        mo_memo_put(&s->memos[index], position + r * row_stride, stride, b->n, values + r * b->n);
}

/* Elements along an axis of both operands have nothing in common: each is computed with a block around it,
 * over axes of one operand. */
static void eager_blocks(const scope *s, int index, const int64_t *from, int axis, int64_t n)
{
    const mo_prim_node *node = &s->body->nodes[index];
    int64_t at[MO_MAX_AXES], stride;
    int column = -1;
    memcpy(at, from, sizeof at);
    MO_FOR_AXES(a, node->axes) {
        if (has_axis(s, node->in[0], a) && has_axis(s, node->in[1], a)) continue;
        if (column < 0 || s->body->axes[a].extent > s->body->axes[column].extent) column = a;
    }
    for (int64_t i = 0; i < n; i++, at[axis]++) {
        mo_fval values[MO_TILE_SUMS];
        block b;
        int64_t columns = column < 0 ? 1 : s->body->axes[column].extent - at[column];
        int64_t position = memo_position(s, index, at, axis, &stride);
        if (mo_memo_get(&s->memos[index], position, stride, 1, values)) continue;
        MO_CHECK(
            plan_block(s, node, at, column, columns < MO_TILE_COLUMNS ? columns : MO_TILE_COLUMNS, ROWS, &b));
        product_block(s, node, &b, at, values);
        keep_block(s, index, at, &b, values);
    }
}

/* These elements of a product and more rows of them go to its memory. */
static void eager_rows(const scope *s, int index, const int64_t *at, int axis, int64_t n)
{
    mo_fval values[MO_TILE_SUMS];
    block b;
    int64_t place[MO_MAX_AXES], columns;
    memcpy(place, at, sizeof place);
    if (plan_block(s, &s->body->nodes[index], at, axis, 1, ROWS, &b)) {
        for (int64_t done = 0; done < n; done += columns, place[axis] += columns) {
            columns = n - done < MO_TILE_COLUMNS ? n - done : MO_TILE_COLUMNS;
            b.n = columns;
            product_block(s, &s->body->nodes[index], &b, place, values);
            keep_block(s, index, place, &b, values);
        }
    } else if (s->memos[index].slots == 0) {
        eager_blocks(s, index, at, axis, n);
    }
}

/* At most CHUNK elements along an axis that the value has; `at` is left as it was. */
static void node_along(const scope *s, int index, int64_t *at, int axis, int64_t n, mo_fval *out)
{
    mo_memo *memo = &s->memos[index];
    if (memo->size == 0) {
        compute(s, index, at, axis, n, out);
        return;
    }
    int64_t stride, position = memo_position(s, index, at, axis, &stride);
    if (mo_memo_get(memo, position, stride, n, out)) return;
    bool product = s->body->nodes[index].op == MO_OP_MATMUL;
    if (s->e->eager && product && axis >= 0) {
        eager_rows(s, index, at, axis, n);
        if (mo_memo_get(memo, position, stride, n, out)) return;
    }
    compute(s, index, at, axis, n, out);
    mo_memo_put(memo, position, stride, n, out);
}

/* Index of each axis from an offset into the tensor that the saver writes. */
static void decompose(const mo_prim *body, const mo_access *access, int64_t offset, int64_t at[MO_MAX_AXES])
{
    memset(at, 0, sizeof *at * MO_MAX_AXES);
    for (int a = 0; a < body->n_axes; a++)
        if (access->stride[a] > 0) at[a] = offset / access->stride[a] % body->axes[a].extent;
}

/* An axis whose stride is the asked one, or -1. */
static int axis_of_stride(const mo_prim *body, const mo_access *access, int64_t stride)
{
    for (int a = 0; a < body->n_axes; a++)
        if (stride > 0 && access->stride[a] == stride) return a;
    return -1;
}

/* The operand of a concat that holds index `*at` along its axis; *at becomes the index there. */
static int operand_of(const mo_mugraph_eval *e, const mo_kernel *kernel, int axis, int64_t *at)
{
    int j = 1;
    while (*at >= e->graph->tensors[kernel->moves[j]].shape.dim[axis])
        *at -= e->graph->tensors[kernel->moves[j++]].shape.dim[axis];
    return kernel->moves[j];
}

/* One element of what a COPY kernel writes, by its place in memory (row-major). */
static void moved_at(mo_mugraph_eval *e, const mo_kernel *kernel, int64_t place, mo_fval *out)
{
    const mo_node *node = &e->graph->program->nodes[kernel->program_node];
    bool concat = node->op == MO_OP_CONCAT;
    const mo_shape *shape = &e->graph->tensors[kernel->moves[concat ? 0 : 1]].shape;
    int64_t index[MO_MAX_RANK], offset = 0;
    for (int d = shape->rank - 1; d >= 0; d--) {
        index[d] = place % shape->dim[d];
        place /= shape->dim[d];
    }
    int from =
        concat ? operand_of(e, kernel, node->attrs.axes[0], &index[node->attrs.axes[0]]) : kernel->moves[1];
    for (int d = 0; d < shape->rank; d++) offset += index[d] * e->graph->tensors[from].strides[d];
    mo_mugraph_eval_along(e, from, offset, 0, 1, out);
}

void mo_mugraph_eval_along(mo_mugraph_eval *e, int tensor, int64_t offset, int64_t stride, int64_t n,
                           mo_fval *out)
{
    if (e->graph->tensors[tensor].window_of > 0) {
        offset += e->graph->tensors[tensor].offset;
        tensor = mo_mugraph_root(e->graph, tensor);
    }
    const writer *w = &e->writers[tensor];
    if (w->move != NULL) {
        for (int64_t i = 0; i < n; i++) moved_at(e, w->move, offset + i * stride, out + i);
        return;
    }
    if (w->body == NULL) {
        MO_CHECK(tensor < e->graph->program->n_inputs);
        mo_draw_along(e->draw, tensor, offset, stride, n, out);
        return;
    }
    scope s = {e, w->body, e->memos[w->kernel]};
    int axis = axis_of_stride(w->body, &w->saver->access, stride);
    while (n > 0) {
        int64_t at[MO_MAX_AXES], run = 1;
        decompose(w->body, &w->saver->access, offset, at);
        if (axis >= 0) run = w->body->axes[axis].extent - at[axis];
        if (run > n) run = n;
        if (run > CHUNK) run = CHUNK;
        operand_along(&s, w->saver->node, at, axis, run, out);
        out += run;
        n -= run;
        offset += run * stride;
    }
}
