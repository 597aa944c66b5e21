/* Merging of axes that always stand together (see mo_prim_merge_axes). */
#include "base/status.h"
#include "ir/prim.h"

#include <string.h>

static bool both_or_neither(mo_axes axes, int outer, int inner)
{
    return (axes >> outer & 1u) == (axes >> inner & 1u);
}

static bool strides_nest(const mo_prim *g, const mo_access *access, int outer, int inner)
{
    return access->stride[outer] == access->stride[inner] * g->axes[inner].extent;
}

static bool can_merge(const mo_prim *g, int outer, int inner)
{
    bool together = false;
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_prim_node *node = &g->nodes[i];
        if (!both_or_neither(node->axes, outer, inner)) return false;
        if (!both_or_neither(node->reduced, outer, inner)) return false;
        if (!both_or_neither(node->const_axes, outer, inner)) return false;
        together |= (node->axes >> outer & 1u) != 0;
        if (node->op == MO_OP_ITER && !strides_nest(g, &node->access, outer, inner)) return false;
    }
    for (int s = 0; s < g->n_savers; s++)
        if (!strides_nest(g, &g->savers[s].access, outer, inner)) return false;
    return together;
}

static void drop_outer(mo_access *access, int outer)
{
    access->stride[outer] = 0;
    access->rank = -1;
}

static void merge(mo_prim *g, int outer, int inner)
{
    for (int i = 0; i < g->n_nodes; i++) {
        mo_prim_node *node = &g->nodes[i];
        node->axes &= ~(1u << outer);
        node->reduced &= ~(1u << outer);
        node->const_axes &= ~(1u << outer);
        if (node->op == MO_OP_ITER) drop_outer(&node->access, outer);
    }
    for (int s = 0; s < g->n_savers; s++) drop_outer(&g->savers[s].access, outer);
    g->axes[inner].extent *= g->axes[outer].extent;
}

/* Axes that stay as they are: those whose index a mask looks at, and both parts of axes that were split
 * (merged with others they would run over one and a half dimensions, which nothing could tell from the
 * strides any more). */
static mo_axes kept_axes(const mo_prim *g)
{
    mo_axes split = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_access *access = &g->nodes[i].access;
        split |= mo_mask_axes(&g->nodes[i]);
        for (int d = 0; g->nodes[i].op == MO_OP_ITER && d < access->rank; d++)
            if (access->dim_inner[d] > 0)
                split |= 1u << access->dim_axis[d] | 1u << (access->dim_inner[d] - 1);
    }
    return split;
}

void mo_prim_merge_axes(mo_prim *g)
{
    mo_axes kept = kept_axes(g);
    for (int i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].op == MO_OP_ITER) g->nodes[i].access.rank = -1;
    for (int s = 0; s < g->n_savers; s++) g->savers[s].access.rank = -1;
    bool changed = true;
    while (changed) {
        changed = false;
        for (int outer = 0; outer < g->n_axes; outer++)
            for (int inner = 0; inner < g->n_axes; inner++)
                if (outer != inner && !((kept >> outer | kept >> inner) & 1u) && can_merge(g, outer, inner)) {
                    merge(g, outer, inner);
                    changed = true;
                }
    }
}
