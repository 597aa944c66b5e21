/* Forms of a muGraph: through its kernels' bodies and the places in memory where they read and write. */
#include "verify/proof_parts.h"

#include "base/status.h"
#include "verify/field.h"

#include <string.h>

/* A node of a body at these indices of the axes. */
typedef struct {
    mo_prover *p;
    int kernel;
    const mo_prim *body;
    const mo_prim_node *node;
    const mo_affine *at; /* by axis */
} site;

static const mo_normal *node_value(mo_prover *p, int kernel, int node, const mo_affine *at);

static const mo_normal *too_many(mo_prover *p)
{
    mo_normal_fail(p->forms, "an index has too many variables");
    return NULL;
}

static const mo_normal *iterator(const site *x)
{
    mo_affine offset = mo_affine_constant(0);
    MO_FOR_AXES(a, x->node->axes)
        if (!mo_affine_add(&offset, &x->at[a], x->node->access.stride[a])) return too_many(x->p);
    return mo_prove_tensor(x->p, x->node->access.tensor, &offset);
}

static const mo_normal *mask(const site *x, const mo_normal *value)
{
    mo_affine index = mo_affine_constant(-x->node->mask_offset);
    int rows = x->node->mask_rows - 1, columns = x->node->mask_columns - 1;
    if (columns >= 0 && !mo_affine_add(&index, &x->at[columns], 1)) return too_many(x->p);
    if (rows >= 0 && !mo_affine_add(&index, &x->at[rows], -1)) return too_many(x->p);
    return mo_normal_mask(x->p->forms, value, &index);
}

static const mo_normal *pointwise(const site *x)
{
    const mo_prim_node *node = x->node;
    const mo_normal *a = node_value(x->p, x->kernel, node->in[0], x->at), *b = NULL;
    if (a == NULL) return NULL;
    if (node->op == MO_OP_MASK) return mask(x, a);
    if (node->op == MO_OP_CAST && mo_cast_is_identity(x->body->nodes[node->in[0]].dtype, node->dtype))
        return a;
    if (node->op == MO_OP_POW)
        return mo_normal_pointwise(x->p->forms, node, a, NULL, x->body->nodes[node->in[1]].number);
    if (node->n_in == 2) b = node_value(x->p, x->kernel, node->in[1], x->at);
    if (node->n_in == 2 && b == NULL) return NULL;
    return mo_normal_pointwise(x->p->forms, node, a, b, 0.0);
}

static const mo_normal *reduced_at(void *context, const mo_affine *values)
{
    const site *x = context;
    mo_affine at[MO_MAX_AXES];
    int i = 0;
    memcpy(at, x->at, sizeof at);
    MO_FOR_AXES(a, x->node->reduced) at[a] = values[i++];
    const mo_normal *left = node_value(x->p, x->kernel, x->node->in[0], at);
    if (x->node->op != MO_OP_MATMUL || left == NULL) return left;
    return mo_normal_mul(x->p->forms, left, node_value(x->p, x->kernel, x->node->in[1], at));
}

static const mo_normal *reduction(site *x, int index)
{
    int64_t extents[MO_MAX_AXES];
    int n = 0;
    MO_FOR_AXES(a, x->node->reduced) extents[n++] = x->body->axes[a].extent;
    uint32_t first = MO_PROOF_VARS + 0x200000u + 0x8000u * (uint32_t)x->kernel + 32 * (uint32_t)index;
    return mo_prove_reduce(x->p, x->node->op == MO_OP_MATMUL ? MO_OP_SUM : x->node->op, n, extents, first,
                           reduced_at, x);
}

static const mo_normal *node_value(mo_prover *p, int kernel, int index, const mo_affine *at)
{
    const mo_prim *body = p->graph->kernels[kernel].body;
    const mo_prim_node *node = &body->nodes[index];
    mo_affine own[MO_MAX_AXES];
    int n = 0;
    if (p->forms->failed != NULL) return NULL;
    MO_FOR_AXES(a, node->axes) own[n++] = at[a];
    const mo_claim *known = mo_prove_find(p, MO_CLAIM_NODE, kernel, index, n, own);
    if (known != NULL) return known->form;
    site x = {p, kernel, body, node, at};
    const mo_normal *value;
    if (node->op == MO_OP_ITER)
        value = iterator(&x);
    else if (node->op == MO_OP_CONST)
        value = mo_normal_double(p->forms, node->number);
    else if (mo_op_is_pointwise(node->op) || node->op == MO_OP_MASK)
        value = pointwise(&x);
    else
        value = reduction(&x, index);
    return mo_prove_claim(p, MO_CLAIM_NODE, kernel, index, n, own, value);
}

/* ---- tensors ---- */

/* What a kernel that moves data puts at a place of its result. */
static const mo_normal *moved(mo_prover *p, const mo_kernel *kernel, const mo_affine *place)
{
    const mo_node *node = &p->graph->program->nodes[kernel->program_node];
    bool concat = node->op == MO_OP_CONCAT;
    const mo_mutensor *tensors = p->graph->tensors;
    const mo_shape *shape = &tensors[kernel->moves[concat ? 0 : 1]].shape;
    mo_affine index[MO_MAX_RANK], offset = mo_affine_constant(0);
    int64_t strides[MO_MAX_RANK];
    int from = 1;
    mo_shape_row_major(*shape, strides);
    if (!mo_prove_decompose(p, place, shape->rank, shape->dim, strides, index)) return NULL;
    for (mo_affine *at = &index[node->attrs.axes[0]]; concat; from++) {
        mo_split_need need;
        int64_t extent = tensors[kernel->moves[from]].shape.dim[node->attrs.axes[0]];
        int below = mo_affine_below(at, extent, &need);
        if (below < 0) return mo_prove_needs(p, &need);
        if (below == 1) break;
        at->constant -= extent;
    }
    for (int d = 0; d < shape->rank; d++)
        if (!mo_affine_add(&offset, &index[d], tensors[kernel->moves[from]].strides[d])) return too_many(p);
    return mo_prove_tensor(p, kernel->moves[from], &offset);
}

/* The kernel and saver that write a tensor; saver -1: it moves data; false: nobody does. */
static bool find_writer(const mo_mugraph *graph, int tensor, int *kernel, int *saver)
{
    for (*kernel = 0; *kernel < graph->n_kernels; ++*kernel) {
        const mo_kernel *k = &graph->kernels[*kernel];
        *saver = -1;
        if (k->n_moves > 0 && k->moves[0] == tensor) return true;
        for (*saver = 0; *saver < k->body->n_savers; ++*saver)
            if (k->body->savers[*saver].access.tensor == tensor) return true;
    }
    return false;
}

/* The value of a saver at a place: the axes are its digits. */
static const mo_normal *saved(mo_prover *p, int kernel, const mo_saver *saver, const mo_affine *place)
{
    const mo_prim *body = p->graph->kernels[kernel].body;
    int64_t extents[MO_MAX_AXES];
    mo_affine at[MO_MAX_AXES];
    for (int a = 0; a < body->n_axes; a++) extents[a] = body->axes[a].extent;
    MO_FOR_AXES(a, body->nodes[saver->node].axes)
        if (saver->access.stride[a] == 0) {
            mo_normal_fail(p->forms, "an element that is written more than once");
            return NULL;
        }
    if (!mo_prove_decompose(p, place, body->n_axes, extents, saver->access.stride, at)) return NULL;
    return node_value(p, kernel, saver->node, at);
}

const mo_normal *mo_prove_tensor(mo_prover *p, int tensor, const mo_affine *wanted)
{
    int kernel, saver;
    if (p->forms->failed != NULL) return NULL;
    const mo_claim *known = mo_prove_find(p, MO_CLAIM_TENSOR, -1, tensor, 1, wanted);
    if (known != NULL) return known->form;
    mo_affine place = *wanted;
    const mo_normal *value = NULL;
    int root = mo_mugraph_root(p->graph, tensor);
    if (root != tensor) {
        place.constant += p->graph->tensors[tensor].offset;
        value = mo_prove_tensor(p, root, &place);
    } else if (tensor < p->graph->program->n_inputs) {
        value = mo_normal_input(p->forms, tensor, &place);
    } else if (!find_writer(p->graph, tensor, &kernel, &saver)) {
        mo_normal_fail(p->forms, "a tensor that nothing writes");
    } else if (saver < 0) {
        value = moved(p, &p->graph->kernels[kernel], &place);
    } else {
        value = saved(p, kernel, &p->graph->kernels[kernel].body->savers[saver], &place);
    }
    return mo_prove_claim(p, MO_CLAIM_TENSOR, -1, tensor, 1, wanted, value);
}
