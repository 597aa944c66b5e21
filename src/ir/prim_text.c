/* Text form and well-formedness of primitive graphs. */
#include "base/json.h"
#include "base/status.h"
#include "ir/prim.h"

#include <string.h>

static void print_axes(mo_str *out, const mo_prim *g, mo_axes axes)
{
    mo_str_add(out, "[");
    const char *comma = "";
    MO_FOR_AXES(a, axes) {
        mo_str_printf(out, "%s%s", comma, g->axes[a].name);
        comma = ",";
    }
    mo_str_add(out, "]");
}

static void print_access(mo_str *out, const mo_prim *g, const mo_access *access)
{
    mo_str_printf(out, "t%d(", access->tensor);
    const char *comma = "";
    for (int a = 0; a < g->n_axes; a++) {
        if (access->stride[a] == 0) continue;
        mo_str_printf(out, "%s%s*%lld", comma, g->axes[a].name, (long long)access->stride[a]);
        comma = " + ";
    }
    mo_str_add(out, ")");
}

static void print_number(mo_str *out, const char *before, double number)
{
    char text[32];
    mo_double_text(number, text);
    mo_str_printf(out, "%s%s", before, text);
}

static void print_node(mo_str *out, const mo_prim *g, int index)
{
    const mo_prim_node *node = &g->nodes[index];
    mo_str_printf(out, "  %%%d = %s", index, mo_op_name(node->op));
    if (node->op == MO_OP_ITER) {
        mo_str_add(out, " ");
        print_access(out, g, &node->access);
    } else if (node->op == MO_OP_CONST) {
        print_number(out, " ", node->number);
    } else {
        mo_str_printf(out, "(%%%d", node->in[0]);
        if (node->n_in == 2) mo_str_printf(out, ", %%%d", node->in[1]);
        mo_str_add(out, ")");
    }
    if (node->op == MO_OP_CLAMP) {
        print_number(out, " min ", node->min);
        print_number(out, " max ", node->max);
    }
    if (node->op == MO_OP_MASK) {
        mo_str_add(out, " of ");
        print_axes(out, g, mo_mask_axes(node));
        mo_str_printf(out, " offset %lld", (long long)node->mask_offset);
    }
    if (node->op == MO_OP_GELU) mo_str_add(out, node->approximate_tanh ? " tanh" : " none");
    if (node->reduced != 0) {
        mo_str_add(out, " over ");
        print_axes(out, g, node->reduced);
    }
    mo_str_add(out, " -> ");
    print_axes(out, g, node->axes);
    mo_str_printf(out, " %s\n", mo_dtype_name(node->dtype));
}

void mo_prim_print(mo_str *out, const mo_prim *g)
{
    for (int a = 0; a < g->n_axes; a++)
        mo_str_printf(out, "  axis %s %lld\n", g->axes[a].name, (long long)g->axes[a].extent);
    for (int i = 0; i < g->n_nodes; i++) print_node(out, g, i);
    for (int s = 0; s < g->n_savers; s++) {
        mo_str_printf(out, "  save %%%d -> ", g->savers[s].node);
        print_access(out, g, &g->savers[s].access);
        mo_str_add(out, "\n");
    }
}

static void hash_access(mo_str *bytes, const mo_prim *g, const mo_access *access)
{
    mo_str_add_bytes(bytes, &access->tensor, sizeof access->tensor);
    mo_str_add_bytes(bytes, access->stride, sizeof access->stride[0] * (size_t)g->n_axes);
}

mo_hash128 mo_prim_hash(const mo_prim *g, uint64_t seed)
{
    mo_str bytes = {0};
    for (int a = 0; a < g->n_axes; a++)
        mo_str_add_bytes(&bytes, &g->axes[a].extent, sizeof g->axes[a].extent);
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_prim_node *n = &g->nodes[i];
        const int64_t facts[] = {n->op,         n->n_in,
                                 n->in[0],      n->n_in > 1 ? n->in[1] : 0,
                                 n->axes,       n->reduced,
                                 n->dtype,      n->compute,
                                 n->const_axes, n->approximate_tanh,
                                 n->mask_rows,  n->mask_columns,
                                 n->mask_offset};
        const double numbers[] = {n->number, n->min, n->max};
        mo_str_add_bytes(&bytes, facts, sizeof facts);
        mo_str_add_bytes(&bytes, numbers, sizeof numbers);
        if (n->op == MO_OP_ITER) hash_access(&bytes, g, &n->access);
    }
    for (int s = 0; s < g->n_savers; s++) {
        mo_str_add_bytes(&bytes, &g->savers[s].node, sizeof g->savers[s].node);
        hash_access(&bytes, g, &g->savers[s].access);
    }
    mo_hash128 hash = mo_hash_128(mo_str_text(&bytes), bytes.length, seed);
    mo_str_free(&bytes);
    return hash;
}

static const char *check_node(const mo_prim *g, int index)
{
    const mo_prim_node *node = &g->nodes[index];
    const mo_op_facts *facts = mo_op_get(node->op);
    if (node->n_in != facts->min_inputs && node->op != MO_OP_ITER && node->op != MO_OP_CONST)
        return "operator with the wrong number of operands";
    mo_axes joined = 0;
    for (int i = 0; i < node->n_in; i++) {
        if (node->in[i] < 0 || node->in[i] >= index) return "operand does not come before its user";
        joined |= g->nodes[node->in[i]].axes;
    }
    if (g->n_axes < MO_MAX_AXES && node->axes >> g->n_axes != 0) return "axis out of range";
    switch (facts->kind) {
    case MO_KIND_UNARY:
    case MO_KIND_BINARY: return node->axes == joined && node->reduced == 0 ? NULL : "pointwise axes disagree";
    case MO_KIND_PRODUCT:
    case MO_KIND_REDUCE:
        if ((joined & node->reduced) != node->reduced) return "reduction over an axis that no operand has";
        return node->axes == (joined & ~node->reduced) ? NULL : "axes of a reduction disagree";
    case MO_KIND_STRUCTURE:
        if (node->op == MO_OP_CONST) return node->axes == 0 ? NULL : "a number with axes";
        if (node->op != MO_OP_MASK) return NULL;
        if ((mo_mask_axes(node) & ~joined) != 0) return "a mask over an axis that its operand lacks";
        return node->axes == joined && node->reduced == 0 ? NULL : "pointwise axes disagree";
    default: return "operator that is not primitive";
    }
}

const char *mo_prim_check(const mo_prim *g)
{
    if (g->n_axes < 0 || g->n_axes > MO_MAX_AXES) return "too many axes";
    for (int a = 0; a < g->n_axes; a++)
        if (g->axes[a].extent < 1) return "axis without extent";
    for (int i = 0; i < g->n_nodes; i++) {
        const char *wrong = check_node(g, i);
        if (wrong != NULL) return wrong;
    }
    if (g->n_savers == 0) return "nothing is saved";
    for (int s = 0; s < g->n_savers; s++)
        if (g->savers[s].node < 0 || g->savers[s].node >= g->n_nodes) return "saver of a missing value";
    return NULL;
}
