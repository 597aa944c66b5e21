/* Classes of axes from accesses. */
#include "verify/bind.h"

#include "base/status.h"

#include <string.h>

typedef struct {
    mo_dims *dims;
    const mo_bind_tensors *tensors;
    mo_bound_prim *bound;
    const char *reason;
} binder;

static bool refuse(binder *b, const char *reason)
{
    b->reason = reason;
    return false;
}

/* Dimensions of extent above 1, the one with the smallest stride first. */
static int by_stride(const mo_shape *shape, const int64_t *strides, int order[MO_MAX_RANK])
{
    int n = 0;
    for (int d = shape->rank - 1; d >= 0; d--) {
        if (shape->dim[d] == 1) continue;
        int at = n++;
        for (; at > 0 && strides[order[at - 1]] > strides[d]; at--) order[at] = order[at - 1];
        order[at] = d;
    }
    return n;
}

/* Dimensions that an axis of this stride and extent runs over, innermost first: neighbours in memory and in
 * the shape. 0 if there are none. */
static int run_of_dims(const mo_shape *shape, const int64_t *strides, int64_t stride, int64_t extent,
                       const bool *taken, int run[MO_MAX_RANK])
{
    int order[MO_MAX_RANK];
    int n = by_stride(shape, strides, order);
    for (int first = 0; first < n; first++) {
        if (strides[order[first]] != stride || taken[order[first]]) continue;
        int count = 0;
        int64_t covered = 1;
        for (int i = first; i < n && covered < extent; i++) {
            int d = order[i];
            if (taken[d] || strides[d] != stride * covered || (count > 0 && d > run[count - 1])) break;
            run[count++] = d;
            covered *= shape->dim[d];
        }
        if (covered == extent) return count;
    }
    return 0;
}

/* Names the dimension that an axis with this stride shares with another one, which lies around it. */
static bool restore_split(binder *b, mo_access *access, mo_axes left, int inner, bool *taken)
{
    const mo_shape *shape = &b->tensors->shapes[access->tensor];
    const int64_t *strides = b->tensors->strides[access->tensor];
    const mo_axis *axes = b->bound->graph->axes;
    for (int d = 0; d < shape->rank; d++) {
        if (taken[d] || shape->dim[d] == 1 || strides[d] != access->stride[inner]) continue;
        MO_FOR_AXES(outer, left) {
            if (outer == inner || access->stride[outer] != strides[d] * axes[inner].extent) continue;
            if (axes[outer].extent * axes[inner].extent != shape->dim[d]) continue;
            const int parts[] = {b->bound->axis[outer], b->bound->axis[inner]};
            taken[d] = true;
            access->dim_axis[d] = (int8_t)outer;
            access->dim_inner[d] = (int8_t)(inner + 1);
            return mo_dims_product(b->dims, b->tensors->dims[access->tensor].dim[d], parts, 2);
        }
    }
    return false;
}

/* What is left when every axis over whole dimensions has its dimensions. */
static bool restore_splits(binder *b, mo_access *access, mo_axes left, bool *taken)
{
    mo_axes done = 0;
    MO_FOR_AXES(a, left)
        if (restore_split(b, access, left, a, taken))
            MO_FOR_AXES(outer, left) {
                for (int d = 0; d < access->rank; d++)
                    if (access->dim_inner[d] == a + 1 && access->dim_axis[d] == outer)
                        done |= 1u << outer | 1u << a;
            }
    return done == left;
}

/* Names the dimensions of an access that only has strides. The innermost dimension of a run stands for the
 * whole run: small tensors are row-major, so the axis steps through them by its stride. */
static bool restore(binder *b, mo_access *access, mo_axes axes)
{
    const mo_shape *shape = &b->tensors->shapes[access->tensor];
    const int64_t *strides = b->tensors->strides[access->tensor];
    bool taken[MO_MAX_RANK] = {false};
    access->rank = shape->rank;
    mo_axes left = 0;
    for (int d = 0; d < shape->rank; d++) access->dim_axis[d] = -1;
    MO_FOR_AXES(a, axes) {
        int run[MO_MAX_RANK], parts[MO_MAX_RANK];
        int64_t extent = b->bound->graph->axes[a].extent;
        int n = run_of_dims(shape, strides, access->stride[a], extent, taken, run);
        if (n == 0 && access->stride[a] == 0) continue; /* a value that is the same along this axis */
        if (n == 0) {
            left |= 1u << a;
            continue;
        }
        for (int i = 0; i < n; i++) {
            taken[run[i]] = true;
            parts[n - 1 - i] = b->tensors->dims[access->tensor].dim[run[i]];
        }
        access->dim_axis[run[0]] = (int8_t)a;
        if (!mo_dims_product(b->dims, b->bound->axis[a], parts, n))
            return refuse(b, "extents of an axis disagree");
    }
    if (restore_splits(b, access, left, taken)) return true;
    return refuse(b, "an axis runs over no whole dimensions of a tensor");
}

static bool bind_access(binder *b, mo_access *access, mo_axes axes)
{
    if (access->tensor < 0 || access->tensor >= b->tensors->n)
        return refuse(b, "access to an unknown tensor");
    if (access->rank < 0) return restore(b, access, axes);
    const mo_shape *shape = &b->tensors->shapes[access->tensor];
    if (access->rank != shape->rank) return refuse(b, "access of another rank than its tensor");
    for (int d = 0; d < access->rank; d++) {
        int a = access->dim_axis[d], inner = access->dim_inner[d] - 1;
        if (a < 0) continue;
        int parts[2] = {b->bound->axis[a], inner < 0 ? 0 : b->bound->axis[inner]};
        if (!mo_dims_product(b->dims, b->tensors->dims[access->tensor].dim[d], parts, inner < 0 ? 1 : 2))
            return refuse(b, "an axis is longer or shorter than its dimension");
    }
    return true;
}

/* Axes that memory is read or written along. */
static mo_axes accessed_axes(const mo_prim *g)
{
    mo_axes axes = 0;
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == MO_OP_ITER) axes |= g->nodes[i].axes | mo_access_axes(&g->nodes[i].access);
    for (int s = 0; s < g->n_savers; s++) axes |= mo_access_axes(&g->savers[s].access);
    return axes;
}

void mo_bind_lengths(mo_dims *dims, const mo_bound_prim *bound, const int *lengths, int n)
{
    const mo_prim *g = bound->graph;
    mo_axes known = accessed_axes(g);
    for (int i = 0; i < g->n_nodes; i++) {
        mo_axes axes = g->nodes[i].op == MO_OP_CONST ? g->nodes[i].const_axes : 0;
        int parts[MO_MAX_AXES], count = 0;
        if ((axes & ~known) == 0) continue;
        for (int a = MO_MAX_AXES - 1; a >= 0; a--) /* the outer part of a split axis has the higher number */
            if (axes >> a & 1u) parts[count++] = bound->axis[a];
        for (int l = 0; l < n; l++)
            if (mo_dims_extent(dims, lengths[l]) == mo_prim_extent(g, axes) &&
                mo_dims_product(dims, lengths[l], parts, count))
                break;
        known |= axes;
    }
}

int *mo_prim_exp_depths(mo_arena *arena, const mo_prim *graph)
{
    int *depths = MO_NEW_ARRAY(arena, int, graph->n_nodes + 1);
    for (int i = 0; i < graph->n_nodes; i++) {
        const mo_prim_node *node = &graph->nodes[i];
        for (int j = 0; j < node->n_in; j++)
            if (depths[node->in[j]] > depths[i]) depths[i] = depths[node->in[j]];
        switch (node->op) {
        case MO_OP_EXP:
        case MO_OP_SIGMOID:
        case MO_OP_SILU:
        case MO_OP_TANH: depths[i]++; break;
        case MO_OP_GELU: depths[i] = node->approximate_tanh ? depths[i] + 1 : 0; break;
        case MO_OP_LOG: depths[i] = 0; break;
        case MO_OP_CAST:
            if (!mo_cast_is_identity(graph->nodes[node->in[0]].dtype, node->dtype)) depths[i] = 0;
            break;
        default: break;
        }
    }
    return depths;
}

static void shorten_axes(mo_arena *arena, mo_dims *dims, const mo_bound_prim *bound)
{
    const int *depths = mo_prim_exp_depths(arena, bound->graph);
    for (int i = 0; i < bound->graph->n_nodes; i++) {
        const mo_prim_node *node = &bound->graph->nodes[i];
        bool exps = false;
        for (int j = 0; j < node->n_in; j++) exps |= depths[node->in[j]] > 0;
        MO_FOR_AXES(a, node->reduced)
            if (exps) mo_dims_shorten(dims, bound->axis[a]);
    }
}

bool mo_bind_prim(mo_arena *arena, mo_dims *dims, const mo_prim *graph, const mo_bind_tensors *tensors,
                  mo_bound_prim *bound, const char **reason)
{
    binder b = {dims, tensors, bound, NULL};
    bound->graph = mo_prim_copy(arena, graph);
    for (int a = 0; a < graph->n_axes; a++) bound->axis[a] = mo_dims_add(dims, graph->axes[a].extent);
    bool fine = true;
    for (int i = 0; fine && i < graph->n_nodes; i++)
        if (graph->nodes[i].op == MO_OP_ITER)
            fine = bind_access(&b, &bound->graph->nodes[i].access, graph->nodes[i].axes);
    for (int s = 0; fine && s < graph->n_savers; s++)
        fine = bind_access(&b, &bound->graph->savers[s].access, graph->nodes[graph->savers[s].node].axes);
    if (fine)
        shorten_axes(arena, dims, bound);
    else
        *reason = b.reason;
    return fine;
}
