/* Sizes and identities of graphs: block operators, canonical hash, skeleton. */
#include "ir/thread_graph.h"
#include "search/algebra_state.h"

#include <string.h>

int mo_algebra_block_ops(const mo_prim *graph)
{
    int count = 0;
    for (int i = 0; i < graph->n_nodes; i++)
        count += mo_algebra_counts(&graph->nodes[i]) && !mo_thread_graph_joins(graph, i);
    return count;
}

int mo_algebra_paper_ops(const mo_prim *graph)
{
    int count = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        mo_op op = graph->nodes[i].op;
        count += op == MO_OP_ITER || mo_algebra_counts(&graph->nodes[i]);
        count += op == MO_OP_MATMUL;
    }
    return count;
}

typedef struct {
    uint64_t op, reduced, number, const_axes, min, max, attributes, mask;
    mo_hash128 in[2];
} node_key;

static uint64_t bits(double x)
{
    uint64_t b;
    memcpy(&b, &x, sizeof b);
    return b;
}

static mo_hash128 access_hash(const mo_access *access, mo_hash128 node)
{
    int64_t words[MO_MAX_AXES + 3] = {access->tensor, (int64_t)node.lo, (int64_t)node.hi};
    memcpy(words + 3, access->stride, sizeof access->stride);
    return mo_hash_128(words, sizeof words, 2);
}

static mo_hash128 node_hash(const mo_prim_node *node, const mo_hash128 *hashes)
{
    node_key key;
    memset(&key, 0, sizeof key);
    key.op = node->op;
    key.reduced = node->reduced;
    key.number = bits(node->number);
    key.const_axes = node->const_axes;
    key.min = bits(node->min);
    key.max = bits(node->max);
    key.attributes = (node->op == MO_OP_CAST ? 2 + (uint64_t)node->dtype * 2 : 0) + node->approximate_tanh;
    key.mask = ((uint64_t)node->mask_rows << 56) + ((uint64_t)node->mask_columns << 48) +
               (uint64_t)node->mask_offset;
    for (int j = 0; j < node->n_in; j++) key.in[j] = hashes[node->in[j]];
    if (node->n_in == 2 && mo_algebra_commutes(node->op) &&
        memcmp(&key.in[0], &key.in[1], sizeof key.in[0]) > 0) {
        mo_hash128 first = key.in[0];
        key.in[0] = key.in[1];
        key.in[1] = first;
    }
    mo_hash128 hash = mo_hash_128(&key, sizeof key, 1);
    return node->op == MO_OP_ITER ? access_hash(&node->access, hash) : hash;
}

mo_hash128 mo_algebra_hash(mo_arena *scratch, const mo_prim *graph)
{
    mo_arena_mark mark = mo_arena_get_mark(scratch);
    mo_hash128 *hashes = MO_NEW_ARRAY(scratch, mo_hash128, graph->n_nodes);
    mo_hash128 *outputs = MO_NEW_ARRAY(scratch, mo_hash128, graph->n_savers);
    for (int i = 0; i < graph->n_nodes; i++) hashes[i] = node_hash(&graph->nodes[i], hashes);
    for (int s = 0; s < graph->n_savers; s++)
        outputs[s] = access_hash(&graph->savers[s].access, hashes[graph->savers[s].node]);
    mo_hash128 hash = mo_hash_128(outputs, sizeof *outputs * (size_t)graph->n_savers, 3);
    mo_arena_reset(scratch, mark);
    return hash;
}

/* Is this operand a number, or made of numbers? */
static bool is_number(const mo_prim_node *node)
{
    return node->op == MO_OP_CONST;
}

static mo_hash128 unordered(uint64_t tag, mo_hash128 a, mo_hash128 b)
{
    uint64_t words[5] = {tag, a.lo, a.hi, b.lo, b.hi};
    if (memcmp(&a, &b, sizeof a) > 0) {
        memcpy(words + 1, &b, sizeof b);
        memcpy(words + 3, &a, sizeof a);
    }
    return mo_hash_128(words, sizeof words, 4);
}

/* Hash of a node in which scaling by a number does not show, a square is a product, and so is what a
 * matmul sums. */
static mo_hash128 skeleton_hash(const mo_prim *g, const mo_prim_node *node, const mo_hash128 *hashes)
{
    const mo_prim_node *a = &g->nodes[node->in[0]], *b = &g->nodes[node->in[1]];
    const mo_hash128 x = hashes[node->in[0]], y = hashes[node->in[1]];
    switch (node->op) {
    case MO_OP_SQUARE: return unordered(MO_OP_MUL, x, x);
    case MO_OP_MUL:
        if (is_number(a)) return y;
        return is_number(b) ? x : unordered(MO_OP_MUL, x, y);
    case MO_OP_DIV:
        if (is_number(b)) return x;
        break;
    case MO_OP_MATMUL: {
        mo_hash128 in[1] = {unordered(MO_OP_MUL, x, y)};
        mo_prim_node sum = {.op = MO_OP_SUM, .n_in = 1, .reduced = node->reduced};
        return node_hash(&sum, in);
    }
    default: break;
    }
    return node_hash(node, hashes);
}

uint64_t mo_algebra_skeleton(mo_arena *scratch, const mo_prim *graph)
{
    mo_arena_mark mark = mo_arena_get_mark(scratch);
    mo_hash128 *hashes = MO_NEW_ARRAY(scratch, mo_hash128, graph->n_nodes);
    uint64_t skeleton = 0;
    for (int i = 0; i < graph->n_nodes; i++) {
        hashes[i] = skeleton_hash(graph, &graph->nodes[i], hashes);
        if (graph->nodes[i].reduced) skeleton += mo_mix64(hashes[i].lo);
    }
    mo_arena_reset(scratch, mark);
    return skeleton;
}
