#include "ir/thread_graph.h"

static bool is_operand(const mo_prim_node *user, int node)
{
    for (int i = 0; i < user->n_in; i++)
        if (user->in[i] == node) return true;
    return false;
}

/* The only user of a node, or -1; a saver is a user that is no node. */
static int only_user(const mo_prim *g, int node)
{
    int user = -1;
    for (int s = 0; s < g->n_savers; s++)
        if (g->savers[s].node == node) return -1;
    for (int i = node + 1; i < g->n_nodes; i++) {
        if (!is_operand(&g->nodes[i], node)) continue;
        if (user >= 0) return -1;
        user = i;
    }
    return user;
}

bool mo_thread_graph_joins(const mo_prim *g, int node)
{
    if (!mo_op_is_pointwise(g->nodes[node].op)) return false;
    int user = only_user(g, node);
    return user >= 0 && mo_op_is_pointwise(g->nodes[user].op);
}

void mo_thread_graphs(const mo_prim *g, int *graph_of)
{
    for (int i = g->n_nodes - 1; i >= 0; i--) {
        graph_of[i] = mo_op_is_pointwise(g->nodes[i].op) ? i : -1;
        if (mo_thread_graph_joins(g, i)) graph_of[i] = graph_of[only_user(g, i)];
    }
}
