#include "search/extract.h"

#include "base/status.h"

#include <string.h>

enum { ADDED = 1, OPEN = -1 };

/* A partial choice: `derivation` for its value, on top of the parent's choices. */
typedef struct {
    int parent;     /* or -1 */
    int derivation; /* or -1: nothing chosen yet */
    int64_t cost;   /* of the graph when the rest is filled in greedily */
} choice;

struct mo_extract {
    const mo_algebra *space;
    mo_arena *arena;
    int max_ops;
    int64_t steps, max_steps;
    choice *choices;
    int n_choices, capacity;
    int *heap, n_heap;
    int64_t *tree; /* by value: cost of its cheapest tree, or INT64_MAX */
    int *greedy;   /* by value: derivation of that tree */
    bool *leaf;    /* by value: it is read or a number */
    int *chosen;   /* by value: derivation of the choice at hand, or OPEN */
    int *order;    /* values of the graph at hand, operands before users */
    int n_order;
    uint32_t *mark, stamp; /* by value */
};

static int arity(const mo_extract *e, int derivation)
{
    return e->space->forms[e->space->derivations[derivation].form].n_in;
}

static int64_t plus(int64_t a, int64_t b)
{
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Cheapest trees, by relaxation until nothing changes: at most as many rounds as a tree is deep. */
static void find_trees(mo_extract *e)
{
    const mo_algebra *s = e->space;
    for (int v = 0; v < s->n_values; v++) e->tree[v] = INT64_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < s->n_derivations; i++) {
            const mo_algebra_derivation *d = &s->derivations[i];
            if (d->value < 0) continue;
            e->leaf[d->value] |= arity(e, i) == 0;
            int64_t cost = d->cost + ADDED;
            for (int j = 0; j < arity(e, i); j++) cost = plus(cost, e->tree[d->in[j]]);
            if (cost >= e->tree[d->value]) continue;
            e->tree[d->value] = cost;
            e->greedy[d->value] = i;
            changed = true;
        }
    }
}

/* Among equals the newest first: that finishes a graph before it starts on the next. */
static bool before(const mo_extract *e, int a, int b)
{
    const choice *x = &e->choices[a], *y = &e->choices[b];
    return x->cost != y->cost ? x->cost < y->cost : a > b;
}

static void swap(int *a, int *b)
{
    int t = *a;
    *a = *b;
    *b = t;
}

static void heap_push(mo_extract *e, int item)
{
    int i = e->n_heap++;
    e->heap[i] = item;
    for (; i > 0 && before(e, e->heap[i], e->heap[(i - 1) / 2]); i = (i - 1) / 2)
        swap(&e->heap[i], &e->heap[(i - 1) / 2]);
}

static int heap_pop(mo_extract *e)
{
    int top = e->heap[0], i = 0;
    e->heap[0] = e->heap[--e->n_heap];
    for (;;) {
        int least = i;
        for (int child = 2 * i + 1; child <= 2 * i + 2 && child < e->n_heap; child++)
            if (before(e, e->heap[child], e->heap[least])) least = child;
        if (least == i) return top;
        swap(&e->heap[i], &e->heap[least]);
        i = least;
    }
}

static void push_choice(mo_extract *e, choice c)
{
    if (e->n_choices == e->capacity) {
        choice *grown = MO_NEW_ARRAY(e->arena, choice, e->capacity * 2);
        int *heap = MO_NEW_ARRAY(e->arena, int, e->capacity * 2);
        memcpy(grown, e->choices, sizeof *grown * (size_t)e->n_choices);
        memcpy(heap, e->heap, sizeof *heap * (size_t)e->n_heap);
        e->choices = grown;
        e->heap = heap;
        e->capacity *= 2;
    }
    e->choices[e->n_choices] = c;
    heap_push(e, e->n_choices++);
}

/* Loads the choices of item `c` into `chosen` (and resets it afterwards). */
static void load(mo_extract *e, int c, bool set)
{
    for (; c >= 0; c = e->choices[c].parent) {
        int d = e->choices[c].derivation;
        if (d >= 0) e->chosen[e->space->derivations[d].value] = set ? d : OPEN;
    }
}

/* What a walk over the graph of a choice finds: its cost with greedy fillings, its operators, how many of
 * them every filling has, and the first value that is open in fact. */
typedef struct {
    int64_t cost;
    int ops, least_ops, open;
} survey;

static void visit(mo_extract *e, int value, bool decided, survey *found)
{
    if (e->mark[value] == e->stamp) return;
    e->mark[value] = e->stamp;
    const mo_algebra_value *v = &e->space->values[value];
    int d = e->chosen[value];
    if (d == OPEN && v->first_derivation == v->last_derivation) d = v->first_derivation;
    if (d == OPEN) {
        if (found->open < 0) found->open = value;
        found->least_ops += decided && !e->leaf[value];
        decided = false;
        d = e->greedy[value];
    } else {
        found->least_ops += decided && arity(e, d) > 0;
    }
    const mo_algebra_derivation *derivation = &e->space->derivations[d];
    found->cost = plus(found->cost, derivation->cost);
    found->ops += arity(e, d) > 0;
    for (int i = 0; i < arity(e, d); i++) visit(e, derivation->in[i], decided, found);
    e->order[e->n_order++] = value;
}

static survey look(mo_extract *e)
{
    survey found = {0, 0, 0, -1};
    e->stamp++;
    e->n_order = 0;
    for (int t = 0; t < e->space->n_targets; t++) visit(e, e->space->roots[t], true, &found);
    return found;
}

/* Does a path of decided derivations lead from `from` to `to`? */
static bool reaches(mo_extract *e, int from, int to)
{
    if (from == to) return true;
    if (e->mark[from] == e->stamp) return false;
    e->mark[from] = e->stamp;
    const mo_algebra_value *v = &e->space->values[from];
    int d = e->chosen[from];
    if (d == OPEN && v->first_derivation == v->last_derivation) d = v->first_derivation;
    if (d == OPEN) return false;
    for (int i = 0; i < arity(e, d); i++)
        if (reaches(e, e->space->derivations[d].in[i], to)) return true;
    return false;
}

static void split(mo_extract *e, int item, int value)
{
    const mo_algebra *s = e->space;
    for (int d = s->values[value].first_derivation; d >= 0; d = s->derivations[d].next) {
        bool cycle = false;
        for (int i = 0; i < arity(e, d) && !cycle; i++) {
            e->stamp++;
            cycle = reaches(e, s->derivations[d].in[i], value);
        }
        if (cycle) continue;
        e->chosen[value] = d;
        survey found = look(e);
        e->chosen[value] = OPEN;
        if (found.least_ops <= e->max_ops) push_choice(e, (choice){item, d, found.cost});
    }
}

mo_extract *mo_extract_new(mo_arena *arena, const mo_algebra *space, int max_ops, int64_t max_steps)
{
    mo_extract *e = MO_NEW(arena, mo_extract);
    *e = (mo_extract){
        .space = space, .arena = arena, .max_ops = max_ops, .max_steps = max_steps, .capacity = 1024};
    e->choices = MO_NEW_ARRAY(arena, choice, e->capacity);
    e->heap = MO_NEW_ARRAY(arena, int, e->capacity);
    e->tree = MO_NEW_ARRAY(arena, int64_t, space->n_values);
    e->greedy = MO_NEW_ARRAY(arena, int, space->n_values);
    e->leaf = MO_NEW_ARRAY(arena, bool, space->n_values);
    e->chosen = MO_NEW_ARRAY(arena, int, space->n_values);
    e->order = MO_NEW_ARRAY(arena, int, space->n_values);
    e->mark = MO_NEW_ARRAY(arena, uint32_t, space->n_values);
    for (int v = 0; v < space->n_values; v++) e->chosen[v] = OPEN;
    find_trees(e);
    push_choice(e, (choice){-1, -1, look(e).cost});
    return e;
}

/* Matmul commutes; written with the operand first whose own axis was numbered first, as programs are. */
static void order_operands(const mo_prim *g, mo_prim_node *node)
{
    if (node->op != MO_OP_MATMUL) return;
    mo_axes a = g->nodes[node->in[0]].axes, b = g->nodes[node->in[1]].axes;
    mo_axes own_a = a & ~b, own_b = b & ~a;
    if (!own_a || !own_b || mo_axes_first(own_a) < mo_axes_first(own_b)) return;
    int first = node->in[0];
    node->in[0] = node->in[1];
    node->in[1] = first;
}

/* The graph of the choice at hand: `order` and `chosen` are set. */
static mo_prim *build(mo_extract *e, mo_arena *arena)
{
    const mo_algebra *s = e->space;
    mo_prim *g = mo_prim_new(arena, s->graph->program);
    g->n_axes = s->graph->n_axes;
    memcpy(g->axes, s->graph->axes, sizeof g->axes);
    int *node_of = MO_NEW_ARRAY(e->arena, int, s->n_values);
    for (int i = 0; i < e->n_order; i++) {
        int value = e->order[i], d = e->chosen[value];
        if (d == OPEN) d = s->values[value].first_derivation;
        const mo_algebra_derivation *derivation = &s->derivations[d];
        mo_prim_node node = s->forms[derivation->form];
        for (int j = 0; j < node.n_in; j++) node.in[j] = node_of[derivation->in[j]];
        order_operands(g, &node);
        node.axes = s->values[value].facts.axes;
        node.reduced = derivation->reduced;
        node_of[value] = mo_prim_append(g, node);
    }
    for (int t = 0; t < s->graph->n_savers; t++)
        mo_prim_save(g, node_of[s->roots[t]], &s->graph->savers[t].access);
    mo_prim_infer_dtypes(g);
    mo_prim_clean(g);
    return g;
}

mo_prim *mo_extract_next(mo_extract *e, mo_arena *arena)
{
    while (e->n_heap && e->steps < e->max_steps) {
        int item = heap_pop(e);
        e->steps++;
        load(e, item, true);
        survey found = look(e);
        mo_prim *g = NULL;
        if (found.open >= 0) {
            split(e, item, found.open);
        } else if (found.ops <= e->max_ops) {
            g = build(e, arena);
        }
        load(e, item, false);
        if (g) return g;
    }
    return NULL;
}

bool mo_extract_exhausted(const mo_extract *e)
{
    return e->n_heap == 0;
}
