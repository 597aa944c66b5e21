/* Bottom-up enumeration: every operator on every tuple of known values, by rising number of new operators.
 *
 * Level 0 are the graph's own values. A result on level L combines operands whose levels add up to L - 1,
 * so each tuple is tried once, and the order depends on nothing but the graph. */
#include "search/algebra_state.h"

#include "base/status.h"

enum { STOP_INTERVAL = 1 << 14, MAX_FORMS = 64, MAX_REDUCTIONS = 64 };

typedef struct {
    mo_algebra *s;
    int unary[MAX_FORMS], n_unary; /* forms */
    int binary[MAX_FORMS], n_binary;
    int sum, matmul;
    struct {
        int form;
        mo_axes reduced;
    } extremum[MAX_REDUCTIONS]; /* max and min, as in the graph */
    struct {
        int form, exponent; /* pow, and the value that is its second operand */
    } power[MAX_REDUCTIONS];
    int n_extremum, n_power;
    bool shifted;                /* the graph shifts an argument of exp by a maximum: then only the */
    int *exponents, n_exponents; /* values that it takes exponentials of itself are safe for exp */
    int *divisors, n_divisors;   /* values that the graph divides by */
    bool square;                 /* x * x is written as a square */
    mo_axes summed;              /* axes that the graph sums over */
    mo_axes *shapes;             /* axes of the graph's values */
    int n_shapes;
} plan;

static void add_once(int *list, int *n, int form)
{
    for (int i = 0; i < *n; i++)
        if (list[i] == form) return;
    if (*n < MAX_FORMS) list[(*n)++] = form;
}

static int form_of(mo_algebra *s, mo_op op, int n_in)
{
    mo_prim_node node = {.op = op, .n_in = n_in};
    return mo_algebra_form(s, &node);
}

static void plan_shape(plan *p, mo_axes axes)
{
    for (int i = 0; i < p->n_shapes; i++)
        if (p->shapes[i] == axes) return;
    p->shapes[p->n_shapes++] = axes;
}

static void plan_extremum(plan *p, int form, mo_axes reduced)
{
    for (int i = 0; i < p->n_extremum; i++)
        if (p->extremum[i].form == form && p->extremum[i].reduced == reduced) return;
    if (p->n_extremum == MAX_REDUCTIONS) return;
    p->extremum[p->n_extremum].form = form;
    p->extremum[p->n_extremum++].reduced = reduced;
}

static void plan_power(plan *p, int form, int exponent)
{
    for (int i = 0; i < p->n_power; i++)
        if (p->power[i].form == form && p->power[i].exponent == exponent) return;
    if (p->n_power == MAX_REDUCTIONS) return;
    p->power[p->n_power].form = form;
    p->power[p->n_power++].exponent = exponent;
}

/* exp(x - max x) is exp(x) / exp(max x) to the algebra, but exp(x) overflows: a graph that takes care of
 * that gets no equivalent that does not. */
static void plan_exponents(plan *p, const int *value_of)
{
    const mo_prim *g = p->s->graph;
    p->exponents = MO_NEW_ARRAY(p->s->arena, int, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].op != MO_OP_EXP) continue;
        const mo_prim_node *in = &g->nodes[g->nodes[i].in[0]];
        p->shifted |= in->op == MO_OP_SUB && g->nodes[in->in[1]].op == MO_OP_MAX;
        p->exponents[p->n_exponents++] = value_of[g->nodes[i].in[0]];
    }
}

static bool safe_exponent(const plan *p, int value)
{
    if (!p->shifted || p->s->options->any_exp) return true;
    for (int i = 0; i < p->n_exponents; i++)
        if (p->exponents[i] == value) return true;
    return false;
}

/* x / y * y is x to the algebra, but it is not where y may be 0: a result divides by what the graph divides
 * by, by numbers, and by products and quotients of these. */
static void plan_divisors(plan *p, const int *value_of)
{
    const mo_prim *g = p->s->graph;
    p->divisors = MO_NEW_ARRAY(p->s->arena, int, g->n_nodes + 1);
    for (int i = 0; i < g->n_nodes; i++) {
        mo_op op = g->nodes[i].op;
        if (op == MO_OP_DIV) p->divisors[p->n_divisors++] = value_of[g->nodes[i].in[1]];
        if (op == MO_OP_RECIPROCAL || op == MO_OP_RSQRT)
            p->divisors[p->n_divisors++] = value_of[g->nodes[i].in[0]];
    }
}

static bool safe_divisor(const plan *p, int value, int depth)
{
    const mo_algebra *s = p->s;
    if (s->options->any_exp) return true;
    for (int i = 0; i < p->n_divisors; i++)
        if (p->divisors[i] == value) return true;
    for (int d = s->values[value].first_derivation; d >= 0; d = s->derivations[d].next) {
        const mo_algebra_derivation *made = &s->derivations[d];
        mo_op op = s->forms[made->form].op;
        if (op == MO_OP_CONST) return true;
        if (depth == 0) continue;
        if (op == MO_OP_SQRT && safe_divisor(p, made->in[0], depth - 1)) return true;
        if (op != MO_OP_MUL && op != MO_OP_DIV) continue;
        if (safe_divisor(p, made->in[0], depth - 1) && safe_divisor(p, made->in[1], depth - 1)) return true;
    }
    return false;
}

/* What a node of the graph adds to the operators that are applied. */
static void plan_node(plan *p, const mo_prim_node *node, const int *value_of)
{
    int form = mo_algebra_form(p->s, node);
    plan_shape(p, node->axes);
    switch (node->op) {
    case MO_OP_MATMUL:
    case MO_OP_SUM: p->summed |= node->reduced; return;
    case MO_OP_MAX:
    case MO_OP_MIN: plan_extremum(p, form, node->reduced); return;
    case MO_OP_POW: plan_power(p, form, value_of[node->in[1]]); return;
    default: break;
    }
    p->square |= node->op == MO_OP_SQUARE;
    if (mo_op_kind_of(node->op) == MO_KIND_UNARY) add_once(p->unary, &p->n_unary, form);
    if (mo_op_kind_of(node->op) == MO_KIND_BINARY) add_once(p->binary, &p->n_binary, form);
}

/* The graph's own values: level 0. Returns the value of each node. */
static int *seed(mo_algebra *s)
{
    const mo_prim *g = s->graph;
    int *value_of = MO_NEW_ARRAY(s->arena, int, g->n_nodes);
    mo_abs_expr *exprs = MO_NEW_ARRAY(s->arena, mo_abs_expr, g->n_nodes);
    for (int i = 0; i < g->n_nodes; i++) {
        const mo_prim_node *node = &g->nodes[i];
        int in[2] = {-1, -1};
        mo_abs_expr operands[2] = {{0}, {0}};
        for (int j = 0; j < node->n_in; j++) {
            in[j] = value_of[node->in[j]];
            operands[j] = exprs[node->in[j]];
        }
        s->seeding = true;
        value_of[i] = mo_algebra_derive(s, mo_algebra_form(s, node), in, node->reduced);
        s->seeding = false;
        MO_CHECK(value_of[i] >= 0);
        exprs[i] = mo_abs_of_prim(s->abs, g, node, operands);
    }
    s->n_targets = g->n_savers;
    s->targets = MO_NEW_ARRAY(s->arena, mo_abs_expr, g->n_savers + 1);
    s->roots = MO_NEW_ARRAY(s->arena, int, g->n_savers + 1);
    for (int t = 0; t < g->n_savers; t++) {
        s->targets[t] = exprs[g->savers[t].node];
        s->roots[t] = value_of[g->savers[t].node];
    }
    for (int i = 0; i < g->n_nodes; i++) mo_algebra_add_class(s, value_of[i], exprs[i]);
    if (!s->options->no_prune) mo_abs_set_targets(s->abs, s->targets, s->n_targets);
    return value_of;
}

static void make_plan(plan *p, mo_algebra *s, const int *value_of)
{
    *p = (plan){.s = s};
    p->shapes = MO_NEW_ARRAY(s->arena, mo_axes, s->graph->n_nodes + 1);
    p->sum = form_of(s, MO_OP_SUM, 1);
    p->matmul = form_of(s, MO_OP_MATMUL, 2);
    add_once(p->binary, &p->n_binary, form_of(s, MO_OP_ADD, 2));
    add_once(p->binary, &p->n_binary, form_of(s, MO_OP_MUL, 2));
    add_once(p->binary, &p->n_binary, form_of(s, MO_OP_DIV, 2));
    plan_exponents(p, value_of);
    plan_divisors(p, value_of);
    for (int i = 0; i < s->graph->n_nodes; i++) plan_node(p, &s->graph->nodes[i], value_of);
}

static bool wanted(mo_algebra *s, mo_abs_expr expr)
{
    if (s->options->no_prune) return true;
    for (int t = 0; t < s->n_targets; t++)
        if (mo_abs_subexpr(s->abs, expr, s->targets[t])) return true;
    return false;
}

/* One application of an operator to known values. */
static void apply(plan *p, int form, int a, int b, mo_axes reduced)
{
    mo_algebra *s = p->s;
    if (s->stats.states++ % STOP_INTERVAL == 0 && s->options->stop &&
        s->options->stop(s->options->stop_context))
        s->stopped = true;
    if (s->stats.states > s->options->max_states) s->stopped = true;
    if (s->stats.states % STOP_INTERVAL == 0 && (int64_t)mo_arena_bytes(s->arena) > s->options->max_bytes)
        s->stopped = true;
    if (s->stopped) return;

    const mo_algebra_class *x = &s->classes[a], *y = b < 0 ? NULL : &s->classes[b];
    mo_abs_expr operands[2] = {x->expr, y ? y->expr : (mo_abs_expr){0}};
    int in[2] = {x->value, y ? y->value : -1};
    s->forms[form].reduced = reduced; /* the rule of the abstract expression reads it */
    mo_abs_expr expr = mo_abs_of_prim(s->abs, s->graph, &s->forms[form], operands);
    if (!wanted(s, expr)) {
        s->stats.pruned_expression++;
        return;
    }
    int value = mo_algebra_derive(s, form, in, reduced);
    if (value < 0 || !mo_algebra_add_class(s, value, expr)) s->stats.pruned_duplicate++;
}

static void bad_shape(plan *p)
{
    p->s->stats.states++;
    p->s->stats.pruned_shape++;
}

static void unsafe(plan *p)
{
    p->s->stats.states++;
    p->s->stats.pruned_unsafe++;
}

static void apply_unary(plan *p, int a)
{
    mo_axes axes = p->s->values[p->s->classes[a].value].facts.axes, sums = axes & p->summed;
    for (int i = 0; i < p->n_unary; i++) {
        bool exponential = p->s->forms[p->unary[i]].op == MO_OP_EXP;
        if (!exponential || safe_exponent(p, p->s->classes[a].value))
            apply(p, p->unary[i], a, -1, 0);
        else
            unsafe(p);
    }
    for (mo_axes r = sums; r; r = (r - 1) & sums) apply(p, p->sum, a, -1, r);
    for (int i = 0; i < p->n_extremum; i++) {
        mo_axes r = p->extremum[i].reduced;
        if ((axes & r) == r)
            apply(p, p->extremum[i].form, a, -1, r);
        else
            bad_shape(p);
    }
}

/* pow: its exponent is a number of the graph, whose class was made with the graph's own values. */
static void apply_powers(plan *p, int a)
{
    for (int i = 0; i < p->n_power; i++) {
        int b = 0;
        while (p->s->classes[b].value != p->power[i].exponent) b++;
        apply(p, p->power[i].form, a, b, 0);
    }
}

static bool shape_allowed(const plan *p, mo_axes joined, mo_axes a, mo_axes b)
{
    if (joined == a || joined == b) return true;
    for (int i = 0; i < p->n_shapes; i++)
        if (p->shapes[i] == joined) return true;
    return false;
}

static bool ordered(mo_op op)
{
    return op == MO_OP_DIV || op == MO_OP_SUB;
}

static void apply_ordered(plan *p, int form, int a, int b)
{
    if (p->s->forms[form].op == MO_OP_DIV && !safe_divisor(p, p->s->classes[b].value, 2))
        unsafe(p);
    else
        apply(p, form, a, b, 0);
}

static void apply_binary(plan *p, int a, int b)
{
    const mo_algebra *s = p->s;
    int va = s->classes[a].value, vb = s->classes[b].value;
    mo_axes x = s->values[va].facts.axes, y = s->values[vb].facts.axes, sums = x & y & p->summed;
    bool allowed = shape_allowed(p, x | y, x, y);
    for (int i = 0; i < p->n_binary; i++) {
        mo_op op = p->s->forms[p->binary[i]].op;
        if (!allowed) {
            bad_shape(p);
            continue;
        }
        if (op == MO_OP_MUL && va == vb && p->square) continue;
        if (ordered(op) && va == vb) continue;
        apply_ordered(p, p->binary[i], a, b);
        if (ordered(op)) apply_ordered(p, p->binary[i], b, a);
    }
    if (va == vb) return; /* a sum of squares is no matmul */
    if (!sums) bad_shape(p);
    for (mo_axes r = sums; r; r = (r - 1) & sums) apply(p, p->matmul, a, b, r);
}

/* All tuples whose results are on this level; `begin[l]` is the first class of level l. */
static void apply_level(plan *p, const int *begin, int level)
{
    mo_algebra *s = p->s;
    for (int a = begin[level - 1]; a < begin[level] && !s->stopped; a++) {
        apply_unary(p, a);
        apply_powers(p, a);
    }
    for (int l = 0; 2 * l <= level - 1; l++) {
        int other = level - 1 - l;
        for (int a = begin[l]; a < begin[l + 1] && !s->stopped; a++)
            for (int b = l == other ? a : begin[other]; b < begin[other + 1] && !s->stopped; b++)
                apply_binary(p, a, b);
    }
}

void mo_algebra_enumerate(mo_algebra *s)
{
    plan p;
    int *value_of = seed(s);
    make_plan(&p, s, value_of);
    int levels = s->options->max_new, last = 0;
    int *begin = MO_NEW_ARRAY(s->arena, int, levels + 2);
    begin[1] = s->n_classes;
    /* Beyond twice the last level that brought something, no operands are left to combine. */
    for (int level = 1; level <= levels && level <= 2 * last + 1 && !s->stopped; level++) {
        apply_level(&p, begin, level);
        begin[level + 1] = s->n_classes;
        if (begin[level + 1] > begin[level]) last = level;
    }
    s->stats.values = s->n_values;
    s->stats.expressions = s->n_classes;
    s->stats.complete = !s->stopped;
}
