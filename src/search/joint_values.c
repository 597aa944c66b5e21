/* Values of the joint search: operators that are applied, fingerprints, expressions. */
#include "search/joint_state.h"

#include "base/status.h"

#include <string.h>

enum { MEMO_SIZE = 1 << 18 };

static bool same_operator(const mo_prim_node *a, const mo_prim_node *b)
{
    if (a->op != b->op || a->number < b->number || a->number > b->number) return false;
    if (a->min < b->min || a->min > b->min || a->max < b->max || a->max > b->max) return false;
    if (a->op == MO_OP_CAST && a->dtype != b->dtype) return false;
    if (a->mask_rows != b->mask_rows || a->mask_columns != b->mask_columns ||
        a->mask_offset != b->mask_offset)
        return false;
    return a->approximate_tanh == b->approximate_tanh;
}

static void add_form(joint *s, const mo_prim_node *node, int second)
{
    mo_prim_node n = *node;
    if (n.op == MO_OP_SUM || n.op == MO_OP_MATMUL) n.reduced = 0;
    for (int i = 0; i < s->n_forms; i++)
        if (same_operator(&s->forms[i].node, &n) && s->forms[i].second == second &&
            s->forms[i].node.reduced == n.reduced)
            return;
    MO_CHECK(s->n_forms < JOINT_MAX_FORMS);
    s->forms[s->n_forms++] = (joint_form){n, second};
}

static void add_plain_form(joint *s, mo_op op, int n_in)
{
    mo_prim_node node = {.op = op, .n_in = n_in};
    add_form(s, &node, -1);
}

/* Iterators and numbers are the first values. Returns the value of each node of the graph that is a leaf. */
static int *add_leaves(joint *s)
{
    const mo_prim *g = s->graph;
    int *value_of = MO_NEW_ARRAY(s->arena, int, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_prim_node *node = &g->nodes[i];
        value_of[i] = -1;
        if (node->n_in > 0) continue;
        MO_CHECK(s->n_values < JOINT_MAX_VALUES / 2);
        joint_value *v = &s->values[s->n_values];
        v->node = *node;
        bool clean = joint_evaluate(s, node, &v->print);
        MO_CHECK(clean);
        joint_fill(s, s->n_values);
        if (!s->options.no_prune) v->expr = mo_abs_of_prim(s->abs, g, node, NULL);
        if (node->op == MO_OP_ITER) s->device[s->n_device++] = (joint_id)s->n_values;
        value_of[i] = s->n_values++;
    }
    s->n_leaves = s->n_values;
    return value_of;
}

static void add_shape(joint *s, mo_axes axes)
{
    for (int i = 0; i < s->n_shapes; i++)
        if (s->shapes[i] == axes) return;
    s->shapes[s->n_shapes++] = axes;
}

static void make_targets(joint *s)
{
    const mo_prim *g = s->graph;
    mo_abs_expr *exprs = MO_NEW_ARRAY(s->arena, mo_abs_expr, g->n_nodes + 1);
    mo_fval **values = MO_NEW_ARRAY(s->arena, mo_fval *, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_prim_node *node = &g->nodes[i];
        mo_abs_expr in[2] = {exprs[node->in[0]], exprs[node->in[1]]};
        if (!s->options.no_prune) exprs[i] = mo_abs_of_prim(s->abs, g, node, in);
        values[i] = MO_NEW_ARRAY(s->arena, mo_fval, mo_instance_size(&s->first->at, node->axes));
    }
    mo_prim_eval(&s->first->field, &s->first->at, g, values);
    s->n_targets = g->n_savers;
    MO_CHECK(s->n_targets <= MO_MAX_AXES);
    for (int t = 0; t < s->n_targets; t++) {
        int node = g->savers[t].node;
        s->target_node[t] = node;
        s->targets[t] = exprs[node];
        s->target_print[t] =
            mo_fingerprint(values[node], mo_instance_size(&s->first->at, g->nodes[node].axes), NULL);
    }
    if (!s->options.no_prune) mo_abs_set_targets(s->abs, s->targets, s->n_targets);
}

void joint_plan(joint *s)
{
    const mo_prim *g = s->graph;
    s->memo = MO_NEW_ARRAY(s->arena, joint_memo, MEMO_SIZE);
    s->shapes = MO_NEW_ARRAY(s->arena, mo_axes, g->n_nodes + 1);
    s->cells = MO_ALGEBRA_CELLS;
    s->buffer = MO_NEW_ARRAY(s->arena, mo_fval, s->cells);
    int *value_of = add_leaves(s);
    make_targets(s);
    add_plain_form(s, MO_OP_ADD, 2);
    add_plain_form(s, MO_OP_MUL, 2);
    add_plain_form(s, MO_OP_DIV, 2);
    add_plain_form(s, MO_OP_SUM, 1);
    add_plain_form(s, MO_OP_MATMUL, 2);
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_prim_node *node = &g->nodes[i];
        add_shape(s, node->axes);
        if (node->op == MO_OP_MATMUL || node->op == MO_OP_SUM) s->summed |= node->reduced;
        s->reduced |= node->reduced;
        s->square |= node->op == MO_OP_SQUARE;
        if (node->n_in == 0) continue;
        mo_prim_node form = *node;
        if (node->op == MO_OP_POW) form.number = g->nodes[node->in[1]].number;
        add_form(s, &form, node->op == MO_OP_POW ? value_of[node->in[1]] : -1);
    }
}

int joint_find_value(const joint *s, mo_hash128 print, mo_axes axes)
{
    for (int i = 0; i < s->n_values; i++)
        if (mo_hash_equal(s->values[i].print, print) && s->values[i].node.axes == axes) return i;
    return -1;
}

int joint_find_derivation(const joint *s, const mo_prim_node *node)
{
    for (int i = s->n_leaves; i < s->n_values; i++) {
        const mo_prim_node *other = &s->values[i].node;
        if (!same_operator(other, node) || other->reduced != node->reduced) continue;
        if (other->in[0] == node->in[0] && other->in[1] == node->in[1]) return i;
        if (mo_algebra_commutes(node->op) && other->in[0] == node->in[1] && other->in[1] == node->in[0])
            return i;
    }
    return -1;
}

static void evaluate_into(joint *s, const mo_prim_node *node, mo_fval *out)
{
    mo_prim_operand operands[2] = {{NULL, NULL}, {NULL, NULL}};
    for (int i = 0; i < node->n_in; i++) {
        joint_fill(s, node->in[i]);
        operands[i] = (mo_prim_operand){&s->values[node->in[i]].node, s->values[node->in[i]].elements};
    }
    mo_prim_eval_node(&s->first->field, &s->first->at, node, operands, out);
}

static mo_hash128 memo_key(const joint *s, const mo_prim_node *node)
{
    struct {
        uint64_t op, reduced, attributes, axes[2];
        int64_t mask[3];
        double number[3];
        mo_hash128 in[2];
    } key;
    memset(&key, 0, sizeof key);
    key.op = node->op;
    key.reduced = node->reduced;
    key.attributes = (uint64_t)node->approximate_tanh + 2 * (uint64_t)node->dtype;
    key.mask[0] = node->mask_rows;
    key.mask[1] = node->mask_columns;
    key.mask[2] = node->mask_offset;
    key.number[0] = node->number;
    key.number[1] = node->min;
    key.number[2] = node->max;
    for (int i = 0; i < node->n_in; i++) {
        key.in[i] = s->values[node->in[i]].print;
        key.axes[i] = s->values[node->in[i]].node.axes;
    }
    return mo_hash_128(&key, sizeof key, 5);
}

static bool is_integer(double x)
{
    double whole = (double)(int64_t)x;
    return whole >= x && whole <= x;
}

/* Where a radicand has no true root the field's root is not one. */
static bool defined_root(joint *s, const mo_prim_node *node)
{
    bool takes = node->op == MO_OP_SQRT || node->op == MO_OP_RSQRT;
    if (!takes && (node->op != MO_OP_POW || is_integer(node->number))) return true;
    joint_fill(s, node->in[0]);
    const joint_value *v = &s->values[node->in[0]];
    return mo_algebra_roots(&s->first->field, v->elements, mo_instance_size(&s->first->at, v->node.axes));
}

bool joint_evaluate(joint *s, const mo_prim_node *node, mo_hash128 *print)
{
    mo_axes joined = node->axes | node->reduced;
    int64_t size = mo_instance_size(&s->first->at, node->axes);
    if (mo_instance_size(&s->first->at, joined) > s->cells) return false;
    mo_hash128 key = memo_key(s, node);
    joint_memo *memo = &s->memo[key.lo % MEMO_SIZE];
    bool known = node->n_in > 0 && memo->used && mo_hash_equal(memo->key, key);
    if (!known) {
        evaluate_into(s, node, s->buffer);
        *memo = (joint_memo){.key = key, .used = true};
        memo->print = mo_fingerprint(s->buffer, size, &memo->clean);
        if (node->n_in > 0) memo->clean &= defined_root(s, node);
    }
    *print = memo->print;
    return memo->clean;
}

void joint_fill(joint *s, int value)
{
    joint_value *v = &s->values[value];
    if (v->elements != NULL) return;
    if (s->rooms[value] == NULL) s->rooms[value] = MO_NEW_ARRAY(s->arena, mo_fval, s->cells);
    evaluate_into(s, &v->node, s->rooms[value]);
    v->elements = s->rooms[value];
}

mo_abs_expr joint_expression(joint *s, const mo_prim_node *node)
{
    mo_abs_expr in[2] = {{0}, {0}};
    for (int i = 0; i < node->n_in; i++) in[i] = s->values[node->in[i]].expr;
    return mo_abs_of_prim(s->abs, s->graph, node, in);
}
