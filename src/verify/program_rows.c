/* Rows: all elements of a tensor that differ only in the reduced dimensions. */
#include "verify/program_rows.h"

#include "base/status.h"

#include <string.h>

typedef enum { ROW_SUM, ROW_SQUARES, ROW_EXPS, ROW_MAX, ROW_MIN } row_kind;

static mo_op row_op(row_kind kind)
{
    return kind == ROW_MAX ? MO_OP_MAX : kind == ROW_MIN ? MO_OP_MIN : MO_OP_SUM;
}

static bool is_reduced(const mo_attrs *attrs, int dim)
{
    for (int i = 0; i < attrs->n_axes; i++)
        if (attrs->axes[i] == dim) return true;
    return false;
}

static bool has_rows(mo_op op)
{
    return op == MO_OP_SOFTMAX || op == MO_OP_RMS_NORM || op == MO_OP_LAYER_NORM || op == MO_OP_L2_NORM;
}

int64_t mo_program_rows(const mo_program *program, int node)
{
    const mo_node *n = &program->nodes[node];
    if (!has_rows(n->op)) return 0;
    const mo_shape *shape = &program->tensors[n->inputs[0].tensor].shape;
    int64_t rows = 1;
    for (int d = 0; d < shape->rank; d++)
        if (!is_reduced(&n->attrs, d)) rows *= shape->dim[d];
    return rows;
}

static mo_fval row_step(const mo_field *f, row_kind kind, mo_fval acc, mo_fval x)
{
    switch (kind) {
    case ROW_SQUARES: return mo_field_add(f, acc, mo_field_mul(f, x, x));
    case ROW_EXPS: return mo_field_add(f, acc, mo_field_exp(f, x));
    default: return mo_field_reduce_step(f, row_op(kind), acc, x);
    }
}

/* Reduces the row of `tensor` through `index` over `attrs->axes`, of x - shift where a shift is given.
 * Maximum and minimum start from their first element. */
static mo_fval reduce_row(mo_program_eval *e, int tensor, const mo_attrs *attrs, const int64_t *index,
                          row_kind kind, const mo_fval *shift)
{
    const mo_shape *shape = &e->program->tensors[tensor].shape;
    const mo_field *f = e->draw->field;
    int64_t at[MO_MAX_RANK] = {0};
    for (int d = 0; d < shape->rank; d++) at[d] = is_reduced(attrs, d) ? 0 : index[d];
    int inner = attrs->n_axes > 0 ? attrs->axes[attrs->n_axes - 1] : -1;
    int64_t length = inner < 0 ? 1 : shape->dim[inner];
    mo_fval chunk[MO_EVAL_CHUNK], acc = mo_field_integer(f, 0);
    bool empty = kind == ROW_MAX || kind == ROW_MIN;
    for (;;) {
        for (int64_t start = 0; start < length; start += MO_EVAL_CHUNK) {
            int64_t run = length - start < MO_EVAL_CHUNK ? length - start : MO_EVAL_CHUNK;
            if (inner >= 0) at[inner] = start;
            mo_program_eval_along(e, tensor, at, inner, run, chunk);
            e->products += run;
            for (int64_t i = 0; i < run; i++) {
                mo_fval x = shift == NULL ? chunk[i] : mo_field_sub(f, chunk[i], *shift);
                acc = empty ? mo_field_reduce_start(f, row_op(kind), x) : row_step(f, kind, acc, x);
                empty = false;
            }
        }
        int i = attrs->n_axes - 2;
        while (i >= 0 && ++at[attrs->axes[i]] == shape->dim[attrs->axes[i]]) at[attrs->axes[i--]] = 0;
        if (i < 0) return mo_field_reduce_end(f, row_op(kind), acc);
    }
}

static mo_fval row_count(const mo_program_eval *e, const mo_node *node)
{
    const mo_shape *shape = &e->program->tensors[node->inputs[0].tensor].shape;
    int64_t count = 1;
    for (int i = 0; i < node->attrs.n_axes; i++) count *= shape->dim[node->attrs.axes[i]];
    return mo_field_integer(e->draw->field, count);
}

static mo_fval row_fact(mo_program_eval *e, int index_of_node, int fact, const int64_t *index)
{
    const mo_node *node = &e->program->nodes[index_of_node];
    const mo_field *f = e->draw->field;
    int x = node->inputs[0].tensor;
    if (fact == 1)
        return mo_field_div(f, reduce_row(e, x, &node->attrs, index, ROW_SUM, NULL), row_count(e, node));
    if (node->op == MO_OP_SOFTMAX)
        return mo_field_reciprocal(f, reduce_row(e, x, &node->attrs, index, ROW_EXPS, NULL));
    mo_fval mean;
    if (node->op == MO_OP_LAYER_NORM) mo_program_rows_along(e, index_of_node, 1, index, -1, 1, &mean);
    const mo_fval *shift = node->op == MO_OP_LAYER_NORM ? &mean : NULL;
    mo_fval squares = reduce_row(e, x, &node->attrs, index, ROW_SQUARES, shift);
    if (node->op != MO_OP_L2_NORM) squares = mo_field_div(f, squares, row_count(e, node));
    mo_fval radicand = mo_field_add(f, squares, mo_field_constant(f, node->attrs.eps));
    int rank = e->program->tensors[x].shape.rank;
    int64_t row[MO_MAX_RANK] = {0};
    for (int d = 0; d < rank; d++) row[d] = is_reduced(&node->attrs, d) ? 0 : index[d];
    mo_program_eval_radicand(e, index_of_node, row, rank, radicand);
    return mo_field_reciprocal(f, mo_field_sqrt(f, radicand));
}

void mo_program_rows_along(mo_program_eval *e, int node, int fact, const int64_t *index, int dim, int64_t n,
                           mo_fval *out)
{
    const mo_node *nd = &e->program->nodes[node];
    const mo_shape *shape = &e->program->tensors[nd->inputs[0].tensor].shape;
    mo_memo *memo = &e->rows[2 * node + fact];
    int64_t at[MO_MAX_RANK] = {0};
    memcpy(at, index, sizeof *at * (size_t)shape->rank);
    bool same_row = dim < 0 || is_reduced(&nd->attrs, dim);
    for (int64_t i = 0; i < n; i++) {
        if (i > 0 && same_row) {
            out[i] = out[0];
            continue;
        }
        int64_t row = 0;
        for (int d = 0; d < shape->rank; d++)
            if (!is_reduced(&nd->attrs, d)) row = row * shape->dim[d] + at[d];
        if (!mo_memo_get(memo, row, 0, 1, &out[i])) {
            out[i] = row_fact(e, node, fact, at);
            mo_memo_put(memo, row, 0, 1, &out[i]);
        }
        if (!same_row) at[dim]++;
    }
}

void mo_program_reduce_along(mo_program_eval *e, int node, const int64_t *index, int dim, int64_t n,
                             mo_fval *out)
{
    const mo_node *nd = &e->program->nodes[node];
    const mo_shape *shape = &e->program->tensors[nd->inputs[0].tensor].shape;
    row_kind kind = nd->op == MO_OP_MAX ? ROW_MAX : nd->op == MO_OP_MIN ? ROW_MIN : ROW_SUM;
    mo_fval count = row_count(e, nd);
    int64_t own[MO_MAX_RANK] = {0};
    int own_dim = -1, from = 0;
    for (int d = 0; d < shape->rank; d++) {
        bool reduced = is_reduced(&nd->attrs, d);
        if (!reduced && from == dim) own_dim = d;
        if (!reduced) own[d] = index[from];
        if (!reduced || nd->attrs.keepdims) from++;
    }
    for (int64_t i = 0; i < n; i++) {
        mo_fval v = reduce_row(e, nd->inputs[0].tensor, &nd->attrs, own, kind, NULL);
        out[i] = nd->op == MO_OP_MEAN ? mo_field_div(e->draw->field, v, count) : v;
        if (own_dim >= 0) own[own_dim]++;
    }
}
