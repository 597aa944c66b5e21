/* Lazy evaluation of kernels' bodies at full shape. */
#include "verify/mugraph_eval.h"

#include "base/status.h"
#include "verify/memo.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK 256 /* elements that are computed at once */

/* Who writes a tensor. */
typedef struct {
    const mo_prim *body; /* NULL: an input */
    const mo_saver *saver;
    int kernel;
} writer;

struct mo_mugraph_eval {
    const mo_mugraph *graph;
    const mo_draw *draw;
    mo_arena *arena;
    writer *writers;  /* by tensor */
    mo_memo **memos;  /* [kernel][node] */
    int64_t products;
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
    bool expensive = kind == MO_KIND_PRODUCT || kind == MO_KIND_REDUCE;
    bool cheap = kind == MO_KIND_STRUCTURE || node->op == MO_OP_NEG || node->op == MO_OP_SQUARE ||
                 (kind == MO_KIND_BINARY && node->op != MO_OP_DIV && node->op != MO_OP_POW);
    if (node->op == MO_OP_ITER || (cheap && uses < 2)) return (mo_memo){0, NULL};
    return mo_memo_plan(mo_prim_extent(body, node->axes), expensive);
}

static bool plan_kernel(mo_mugraph_eval *e, int k, const char **reason)
{
    const mo_prim *body = e->graph->kernels[k].body;
    e->memos[k] = MO_NEW_ARRAY(e->arena, mo_memo, body->n_nodes + 1);
    int *uses = MO_NEW_ARRAY(e->arena, int, body->n_nodes + 1);
    for (int i = 0; i < body->n_nodes; i++)
        for (int j = 0; j < body->nodes[i].n_in; j++) uses[body->nodes[i].in[j]]++;
    for (int i = 0; i < body->n_nodes; i++) e->memos[k][i] = plan_node(body, i, uses[i]);
    for (int s = 0; s < body->n_savers; s++) {
        const mo_saver *saver = &body->savers[s];
        if (!saver_is_whole(body, saver)) {
            *reason = "a saver writes some element more than once";
            return false;
        }
        e->writers[saver->access.tensor] = (writer){body, saver, k};
    }
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
            free(e->memos[k][i].values);
    mo_arena_free(e->arena);
    free(e);
}

void mo_mugraph_eval_forget(mo_mugraph_eval *e)
{
    for (int k = 0; k < e->graph->n_kernels; k++)
        for (int i = 0; i < e->graph->kernels[k].body->n_nodes; i++) mo_memo_clear(&e->memos[k][i]);
    e->products = 0;
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
    mo_mugraph_eval_along(s->e, node->access.tensor, offset, axis < 0 ? 0 : node->access.stride[axis], n, out);
}

static void pointwise_along(const scope *s, const mo_prim_node *node, int64_t *at, int axis, int64_t n, mo_fval *out)
{
    const mo_field *f = s->e->draw->field;
    operand_along(s, node->in[0], at, axis, n, out);
    if (node->op == MO_OP_POW) {
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
        for (int64_t i = 0; i < n; i++) out[i] = mo_field_binary(f, node->op, out[i], other[i]);
    } else {
        if (node->op == MO_OP_CAST && mo_cast_is_identity(s->body->nodes[node->in[0]].dtype, node->dtype)) return;
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
    MO_FOR_AXES(a, outer)
    {
        if (++at[a] < body->axes[a].extent) return true;
        at[a] = 0;
    }
    return false;
}

/* One element of a reduction or a product at `at`. */
static mo_fval reduce_at(const scope *s, const mo_prim_node *node, const int64_t *free_at)
{
    const mo_field *f = s->e->draw->field;
    int64_t at[MO_MAX_AXES];
    memcpy(at, free_at, sizeof at);
    MO_FOR_AXES(a, node->reduced) at[a] = 0;
    int inner = inner_axis(s->body, node->reduced);
    mo_axes outer = node->reduced & ~(1u << inner);
    mo_field_sum sum = mo_field_sum_start(f);
    mo_fval left[CHUNK], right[CHUNK], acc = {0, 0, 0, 0};
    bool product = node->op == MO_OP_MATMUL;
    do {
        for (int64_t start = 0; start < s->body->axes[inner].extent; start += CHUNK) {
            int64_t run = s->body->axes[inner].extent - start;
            if (run > CHUNK) run = CHUNK;
            at[inner] = start;
            s->e->products += run;
            operand_along(s, node->in[0], at, inner, run, left);
            if (product) operand_along(s, node->in[1], at, inner, run, right);
            for (int64_t i = 0; i < run; i++) {
                if (product) mo_field_sum_add(f, &sum, left[i], right[i]);
                else if (acc.state == 0) acc = mo_field_reduce_start(f, node->op, left[i]);
                else acc = mo_field_reduce_step(f, node->op, acc, left[i]);
            }
        }
    } while (next_outer(s->body, outer, at));
    return product ? mo_field_sum_end(f, &sum) : mo_field_reduce_end(f, node->op, acc);
}

static void compute(const scope *s, int index, int64_t *at, int axis, int64_t n, mo_fval *out)
{
    const mo_prim_node *node = &s->body->nodes[index];
    const mo_field *f = s->e->draw->field;
    if (node->op == MO_OP_ITER) {
        iterator_along(s, node, at, axis, n, out);
    } else if (node->op == MO_OP_CONST) {
        *out = node->const_axes == 0 ? mo_field_constant(f, node->number)
                                     : mo_field_integer(f, mo_prim_extent(s->body, node->const_axes));
    } else if (node->op == MO_OP_ACCUM) {
        operand_along(s, node->in[0], at, axis, n, out);
    } else if (mo_op_is_pointwise(node->op)) {
        pointwise_along(s, node, at, axis, n, out);
    } else {
        int64_t own[MO_MAX_AXES];
        memcpy(own, at, sizeof own);
        for (int64_t i = 0; i < n; i++) {
            out[i] = reduce_at(s, node, own);
            if (axis >= 0) own[axis]++;
        }
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
    int64_t position = 0, stride = 0, step = 1;
    for (int a = s->body->n_axes - 1; a >= 0; a--) {
        if (!(s->body->nodes[index].axes >> a & 1u)) continue;
        position += at[a] * step;
        if (a == axis) stride = step;
        step *= s->body->axes[a].extent;
    }
    if (mo_memo_get(memo, position, stride, n, out)) return;
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

void mo_mugraph_eval_along(mo_mugraph_eval *e, int tensor, int64_t offset, int64_t stride, int64_t n, mo_fval *out)
{
    const writer *w = &e->writers[tensor];
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
