/* Claims about a muGraph: nodes of its bodies, and places in the memory of its tensors. */
#include "verify/recheck_parts.h"

/* ---- nodes ---- */

typedef struct {
    mo_recheck *r;
    const mo_claim *claim;
    const mo_prim *body;
    const mo_prim_node *node;
    const mo_normal *form;     /* what is claimed */
    mo_affine at[MO_MAX_AXES]; /* by axis; 0 for those that the node does not have */
} site;

static mo_recheck_need operand(const site *x, int j)
{
    mo_recheck_need need = mo_recheck_need_of(MO_CLAIM_NODE, x->claim->kernel, x->node->in[j]);
    MO_FOR_AXES(a, x->body->nodes[x->node->in[j]].axes) {
        int slot = -1, before = 0;
        if (x->node->reduced >> a & 1u) {
            MO_FOR_AXES(b, x->node->reduced) before += b < a;
            slot = before;
        }
        mo_recheck_need_index(&need, &x->at[a], slot);
    }
    return need;
}

/* What operand j is at these indices. */
static const mo_normal *value_of(const site *x, int j)
{
    mo_recheck_need need = operand(x, j);
    return mo_recheck_find(x->r, &need);
}

static bool iterator(const site *x)
{
    mo_affine place = mo_affine_constant(0);
    MO_FOR_AXES(a, x->node->axes)
        if (!mo_recheck_shift(x->r, &place, &x->at[a], x->node->access.stride[a])) return false;
    mo_recheck_need need = mo_recheck_need_of(MO_CLAIM_TENSOR, -1, x->node->access.tensor);
    mo_recheck_need_index(&need, &place, -1);
    return mo_recheck_equal(x->r, x->form, mo_recheck_find(x->r, &need));
}

static bool mask(const site *x)
{
    mo_affine index = mo_affine_constant(0), unit = mo_affine_constant(1);
    int rows = x->node->mask_rows - 1, columns = x->node->mask_columns - 1;
    if (!mo_recheck_shift(x->r, &index, &unit, -x->node->mask_offset)) return false;
    if (columns >= 0 && !mo_recheck_shift(x->r, &index, &x->at[columns], 1)) return false;
    if (rows >= 0 && !mo_recheck_shift(x->r, &index, &x->at[rows], -1)) return false;
    return mo_recheck_equal(x->r, x->form, mo_recheck_mask(x->r, value_of(x, 0), &index));
}

static bool pointwise(const site *x)
{
    const mo_normal *a = value_of(x, 0), *b = NULL;
    const mo_prim_node *first = &x->body->nodes[x->node->in[0]];
    if (x->node->op == MO_OP_CAST && (x->node->dtype == MO_F32 || x->node->dtype == first->dtype))
        return mo_recheck_equal(x->r, x->form, a);
    if (x->node->op == MO_OP_POW) {
        const mo_prim_node *exponent = &x->body->nodes[x->node->in[1]];
        return exponent->op == MO_OP_CONST &&
               mo_recheck_is_pointwise(x->r, x->form, x->node, a, NULL, exponent->number);
    }
    if (x->node->n_in == 2) b = value_of(x, 1);
    if (x->node->n_in == 2 && b == NULL) return false;
    return mo_recheck_is_pointwise(x->r, x->form, x->node, a, b, 0.0);
}

static bool reduction(const site *x)
{
    bool product = x->node->op == MO_OP_MATMUL;
    mo_recheck_need needs[2] = {operand(x, 0)};
    mo_recheck_piece *pieces;
    int64_t extents[MO_MAX_AXES];
    int n_slots = 0;
    if (product) needs[1] = operand(x, 1);
    MO_FOR_AXES(a, x->node->reduced) extents[n_slots++] = x->body->axes[a].extent;
    int n = mo_recheck_cover(x->r, needs, product ? 2 : 1, n_slots, extents, &pieces);
    if (x->node->op == MO_OP_MAX || x->node->op == MO_OP_MIN)
        return mo_recheck_is_extreme_of(x->r, x->form, pieces, n, x->node->op == MO_OP_MAX);
    if (!product && x->node->op != MO_OP_SUM)
        return mo_recheck_fail(x->r, "an operator that is not known here");
    const mo_normal *sum = mo_recheck_integer(x->r, 0);
    for (int i = 0; i < n; i++) {
        const mo_normal *value = pieces[i].form[0];
        if (product) value = mo_recheck_mul(x->r, value, pieces[i].form[1]);
        sum = mo_recheck_add(x->r, sum, mo_recheck_sum(x->r, value, pieces[i].vars, pieces[i].n_vars));
    }
    return n > 0 && mo_recheck_equal(x->r, x->form, sum);
}

bool mo_recheck_node_claim(mo_recheck *r, const mo_claim *claim)
{
    site x = {.r = r, .claim = claim, .body = r->graph->kernels[claim->kernel].body};
    mo_recheck_map map = {.n = 0};
    int n = 0;
    x.node = &x.body->nodes[claim->value];
    MO_FOR_AXES(a, x.node->axes) x.at[a] = claim->index[n++];
    x.form = mo_recheck_copy(r, claim->form, &map);
    if (x.form == NULL) return false;
    if (x.node->op == MO_OP_ITER) return iterator(&x);
    if (x.node->op == MO_OP_CONST) return mo_recheck_equal(r, x.form, mo_recheck_double(r, x.node->number));
    if (x.node->op == MO_OP_MASK) return mask(&x);
    return mo_op_is_pointwise(x.node->op) ? pointwise(&x) : reduction(&x);
}

/* ---- tensors ---- */

static bool is_tensor_at(mo_recheck *r, const mo_normal *form, int tensor, const mo_affine *place)
{
    mo_recheck_need need = mo_recheck_need_of(MO_CLAIM_TENSOR, -1, tensor);
    mo_recheck_need_index(&need, place, -1);
    return mo_recheck_equal(r, form, mo_recheck_find(r, &need));
}

/* Do the tensors of a concat or a reshape fit together? All are what the node's shapes say, and the result is
 * in row-major order. */
static bool moves_fit(mo_recheck *r, const mo_kernel *kernel)
{
    const mo_program *program = r->graph->program;
    if (kernel->program_node < 0 || kernel->program_node >= program->n_nodes) return false;
    const mo_node *node = &program->nodes[kernel->program_node];
    const mo_mutensor *to = &r->graph->tensors[kernel->moves[0]];
    int64_t strides[MO_MAX_RANK];
    if (node->op != MO_OP_CONCAT && node->op != MO_OP_RESHAPE) return false;
    if (kernel->n_moves != node->n_inputs + 1) return false;
    for (int i = 0; i < kernel->n_moves; i++) {
        int tensor = i == 0 ? node->outputs[0] : node->inputs[i - 1].tensor;
        if (!mo_shape_equal(r->graph->tensors[kernel->moves[i]].shape, program->tensors[tensor].shape))
            return false;
    }
    mo_shape_row_major(to->shape, strides);
    for (int d = 0; d < to->shape.rank; d++)
        if (to->shape.dim[d] > 1 && to->strides[d] != strides[d]) return false;
    return true;
}

/* The place in a concat's operand that holds the element; *from is the operand, 0 if there is no single one.
 */
static void find_part(const mo_recheck *r, const mo_kernel *kernel, int axis, mo_affine *index, int *from)
{
    int64_t least, most, start = 0;
    *from = 0;
    if (!mo_recheck_range(index, &least, &most)) return;
    for (int i = 1; i < kernel->n_moves; i++) {
        int64_t end = start + r->graph->tensors[kernel->moves[i]].shape.dim[axis];
        if (least >= start && most < end) {
            *from = i;
            index->constant -= start;
            return;
        }
        start = end;
    }
}

/* What a kernel that moves data writes there. A reshape reads the same place in row-major order. */
static bool is_moved(mo_recheck *r, const mo_normal *form, const mo_kernel *kernel, const mo_affine *place)
{
    if (!moves_fit(r, kernel)) return mo_recheck_fail(r, "a copy whose tensors do not fit its node");
    const mo_node *node = &r->graph->program->nodes[kernel->program_node];
    bool concat = node->op == MO_OP_CONCAT;
    const mo_shape *shape = &r->graph->tensors[kernel->moves[concat ? 0 : 1]].shape;
    mo_affine index[MO_MAX_RANK], source = mo_affine_constant(0);
    int64_t strides[MO_MAX_RANK];
    int from = 1;
    mo_shape_row_major(*shape, strides);
    if (!mo_recheck_digits(r, place, shape->rank, shape->dim, strides, index)) return false;
    if (concat) find_part(r, kernel, node->attrs.axes[0], &index[node->attrs.axes[0]], &from);
    if (from == 0) return mo_recheck_fail(r, "an element in several parts of a concat");
    const mo_mutensor *part = &r->graph->tensors[kernel->moves[from]];
    for (int d = 0; d < shape->rank; d++)
        if (!mo_recheck_shift(r, &source, &index[d], part->strides[d])) return false;
    return is_tensor_at(r, form, kernel->moves[from], &source);
}

/* What a saver writes there: the value at the indices whose element lies at the place. */
static bool is_saved(mo_recheck *r, const mo_normal *form, int kernel, const mo_saver *saver,
                     const mo_affine *place)
{
    const mo_prim *body = r->graph->kernels[kernel].body;
    int64_t extents[MO_MAX_AXES], strides[MO_MAX_AXES];
    mo_affine index[MO_MAX_AXES];
    int n = 0;
    mo_recheck_need need = mo_recheck_need_of(MO_CLAIM_NODE, kernel, saver->node);
    MO_FOR_AXES(a, body->nodes[saver->node].axes) {
        extents[n] = body->axes[a].extent;
        strides[n++] = saver->access.stride[a];
    }
    if (!mo_recheck_digits(r, place, n, extents, strides, index)) return false;
    for (int i = 0; i < n; i++) mo_recheck_need_index(&need, &index[i], -1);
    return mo_recheck_equal(r, form, mo_recheck_find(r, &need));
}

static bool is_written(mo_recheck *r, const mo_normal *form, int tensor, const mo_affine *place)
{
    for (int k = 0; k < r->graph->n_kernels; k++) {
        const mo_kernel *kernel = &r->graph->kernels[k];
        if (kernel->n_moves > 0 && kernel->moves[0] == tensor) return is_moved(r, form, kernel, place);
        for (int s = 0; s < kernel->body->n_savers; s++)
            if (kernel->body->savers[s].access.tensor == tensor)
                return is_saved(r, form, k, &kernel->body->savers[s], place);
    }
    return mo_recheck_fail(r, "a tensor that nothing writes");
}

bool mo_recheck_tensor_claim(mo_recheck *r, const mo_claim *claim)
{
    const mo_mutensor *tensor = &r->graph->tensors[claim->value];
    mo_recheck_map map = {.n = 0};
    mo_affine place = claim->index[0], offset = mo_affine_constant(1);
    const mo_normal *form = mo_recheck_copy(r, claim->form, &map);
    if (form == NULL) return false;
    if (tensor->window_of > 0) {
        if (!mo_recheck_shift(r, &place, &offset, tensor->offset)) return false;
        return is_tensor_at(r, form, tensor->window_of - 1, &place);
    }
    if (claim->value >= r->graph->program->n_inputs) return is_written(r, form, claim->value, &place);
    mo_atom atom = {.kind = MO_ATOM_INPUT, .tensor = claim->value, .index = place};
    const mo_normal *element = mo_recheck_power_of(r, mo_recheck_atom(r, &atom), mo_rational_integer(1));
    return mo_recheck_equal(r, form, element);
}
