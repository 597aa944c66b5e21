/* Tables of the AND-OR graph: forms, values, derivations, classes. */
#include "search/algebra_state.h"

#include "base/status.h"

#include <string.h>

typedef struct {
    uint64_t word[4];
} key;

static key value_key(const mo_algebra_value *v)
{
    return (key){{v->print.lo, v->print.hi, v->facts.axes, (uint64_t)v->facts.dtype}};
}

static key derivation_key(const mo_algebra_derivation *d)
{
    return (key){{(uint64_t)d->form, (uint64_t)d->in[0], (uint64_t)d->in[1], d->reduced}};
}

static key class_key(const mo_algebra_class *c)
{
    return (key){{(uint64_t)c->value, c->expr.id, 0, 0}};
}

static key key_at(const mo_algebra *s, const mo_algebra_index *index, int i)
{
    if (index == &s->value_index) return value_key(&s->values[i]);
    if (index == &s->derivation_index) return derivation_key(&s->derivations[i]);
    return class_key(&s->classes[i]);
}

static uint32_t hash_of(const key *k)
{
    uint64_t h = 0;
    for (int i = 0; i < 4; i++) h = mo_mix64(h + k->word[i] + 0x9e3779b97f4a7c15u);
    return (uint32_t)h;
}

/* Slot where this key is, or where it belongs. */
static int *probe(const mo_algebra *s, const mo_algebra_index *index, const key *k)
{
    uint32_t at = hash_of(k) & index->mask;
    for (; index->slots[at]; at = (at + 1) & index->mask) {
        key other = key_at(s, index, index->slots[at] - 1);
        if (memcmp(&other, k, sizeof other) == 0) break;
    }
    return &index->slots[at];
}

/* Enters item number `item`, whose table already holds it. */
static void enter(mo_algebra *s, mo_algebra_index *index, int item)
{
    if (++index->count > index->mask / 2) {
        index->mask = index->mask * 2 + 1;
        index->slots = MO_NEW_ARRAY(s->arena, int, index->mask + 1);
        for (int i = 0; i < item; i++) {
            key k = key_at(s, index, i);
            *probe(s, index, &k) = i + 1;
        }
    }
    key k = key_at(s, index, item);
    *probe(s, index, &k) = item + 1;
}

/* Makes room for one more element of a table. */
#define RESERVE(s, table, count, capacity)                                              \
    do {                                                                                \
        if ((count) < (capacity)) break;                                                \
        (capacity) = (capacity) ? (capacity)*2 : 64;                                    \
        void *grown = mo_arena_alloc((s)->arena, sizeof *(table) * (size_t)(capacity)); \
        if (count) memcpy(grown, (table), sizeof *(table) * (size_t)(count));           \
        (table) = grown;                                                                \
    } while (0)

static void index_init(mo_algebra *s, mo_algebra_index *index)
{
    index->mask = 255;
    index->slots = MO_NEW_ARRAY(s->arena, int, index->mask + 1);
}

void mo_algebra_space_init(mo_algebra *s)
{
    index_init(s, &s->value_index);
    index_init(s, &s->derivation_index);
    index_init(s, &s->class_index);
    int64_t cells = MO_ALGEBRA_CELLS;
    for (int i = 0; i < s->graph->n_nodes; i++) {
        int64_t size = mo_instance_size(&s->instance->at, s->graph->nodes[i].axes);
        if (size > cells) cells = size;
    }
    s->buffer = MO_NEW_ARRAY(s->arena, mo_fval, cells);
}

/* Also for zeros of either sign and for NaN. */
static bool same_bits(double a, double b)
{
    uint64_t x, y;
    memcpy(&x, &a, sizeof x);
    memcpy(&y, &b, sizeof y);
    return x == y;
}

static bool same_form(const mo_prim_node *a, const mo_prim_node *b)
{
    if (a->op != b->op) return false;
    switch (a->op) {
    case MO_OP_ITER:
        return a->dtype == b->dtype && a->axes == b->axes && a->access.tensor == b->access.tensor &&
               memcmp(&a->access.dim_axis, &b->access.dim_axis, (size_t)a->access.rank) == 0 &&
               memcmp(&a->access.stride, &b->access.stride, sizeof a->access.stride) == 0;
    case MO_OP_CONST: return same_bits(a->number, b->number) && a->const_axes == b->const_axes;
    case MO_OP_CAST: return a->dtype == b->dtype;
    case MO_OP_CLAMP: return same_bits(a->min, b->min) && same_bits(a->max, b->max);
    case MO_OP_GELU: return a->approximate_tanh == b->approximate_tanh;
    case MO_OP_MASK:
        return a->mask_rows == b->mask_rows && a->mask_columns == b->mask_columns &&
               a->mask_offset == b->mask_offset;
    case MO_OP_POW: return a->in[1] == b->in[1]; /* the number, in the cleaned graph */
    default: return true;
    }
}

int mo_algebra_form(mo_algebra *s, const mo_prim_node *node)
{
    for (int i = 0; i < s->n_forms; i++)
        if (same_form(&s->forms[i], node)) return i;
    RESERVE(s, s->forms, s->n_forms, s->form_capacity);
    s->forms[s->n_forms] = *node;
    return s->n_forms++;
}

int64_t mo_algebra_node_cost(const mo_prim *graph, mo_op op, mo_axes axes)
{
    enum { NODE_COST = 4096 };
    int64_t flops = mo_op_get(op)->flops;
    if (mo_op_kind_of(op) == MO_KIND_STRUCTURE) return 0;
    return NODE_COST + flops * mo_prim_extent(graph, axes);
}

/* dtype of a result: the promotion of the operands' that are no numbers. */
static mo_dtype result_dtype(const mo_prim_node *form, const mo_prim_node *a, const mo_prim_node *b)
{
    if (form->n_in == 0 || form->op == MO_OP_CAST) return form->dtype;
    bool first = a && a->op != MO_OP_CONST, second = b && b->op != MO_OP_CONST;
    if (first && second) return mo_dtype_promote(a->dtype, b->dtype);
    return first ? a->dtype : second ? b->dtype : MO_F32;
}

/* Evaluates the form on the small instance; the result's facts go to `result`. False if it is too large
 * or undefined somewhere, which is also how a root counts that is none. */
static bool evaluate(mo_algebra *s, int form, const int in[2], mo_axes reduced, mo_algebra_value *result)
{
    mo_prim_node node = s->forms[form];
    mo_prim_operand operands[2] = {{NULL, NULL}, {NULL, NULL}};
    mo_axes joined = node.n_in == 0 ? node.axes : 0;
    for (int i = 0; i < node.n_in; i++) {
        const mo_algebra_value *v = &s->values[in[i]];
        operands[i] = (mo_prim_operand){&v->facts, v->elements};
        joined = i == 0 ? v->facts.axes : joined | v->facts.axes;
    }
    if (!s->seeding && mo_instance_size(&s->instance->at, joined) > MO_ALGEBRA_CELLS) return false;
    if (!s->seeding && mo_algebra_takes_root(s->graph, &node)) {
        const mo_algebra_value *v = &s->values[in[0]];
        int64_t count = mo_instance_size(&s->instance->at, v->facts.axes);
        if (!mo_algebra_roots(&s->instance->field, v->elements, count)) return false;
    }
    node.axes = joined & ~reduced;
    node.reduced = reduced;
    node.dtype = result_dtype(&node, operands[0].node, operands[1].node);
    result->facts = node;
    int64_t size = mo_instance_size(&s->instance->at, node.axes);
    bool clean;
    mo_prim_eval_node(&s->instance->field, &s->instance->at, &node, operands, s->buffer);
    result->print = mo_fingerprint(s->buffer, size, &clean);
    return clean;
}

/* The value with these facts and fingerprint, whose elements are in the buffer. */
static int intern_value(mo_algebra *s, mo_algebra_value *made)
{
    key k = value_key(made);
    int *slot = probe(s, &s->value_index, &k);
    if (*slot) return *slot - 1;
    int64_t size = mo_instance_size(&s->instance->at, made->facts.axes);
    mo_fval *elements = MO_NEW_ARRAY(s->arena, mo_fval, size);
    memcpy(elements, s->buffer, sizeof *elements * (size_t)size);
    made->elements = elements;
    made->first_derivation = made->last_derivation = -1;
    RESERVE(s, s->values, s->n_values, s->value_capacity);
    s->values[s->n_values] = *made;
    enter(s, &s->value_index, s->n_values);
    return s->n_values++;
}

static void link_derivation(mo_algebra *s, int derivation)
{
    const mo_algebra_derivation *d = &s->derivations[derivation];
    const mo_prim_node *form = &s->forms[d->form];
    if (d->value < 0) return;
    for (int i = 0; i < form->n_in; i++)
        if (d->in[i] == d->value) return; /* x = x * 1 derives nothing */
    mo_algebra_value *v = &s->values[d->value];
    if (v->last_derivation < 0)
        v->first_derivation = derivation;
    else
        s->derivations[v->last_derivation].next = derivation;
    v->last_derivation = derivation;
}

int mo_algebra_derive(mo_algebra *s, int form, const int in[2], mo_axes reduced)
{
    const mo_prim_node *f = &s->forms[form];
    mo_algebra_derivation d = {.form = form, .in = {-1, -1}, .reduced = reduced, .next = -1};
    for (int i = 0; i < f->n_in; i++) d.in[i] = in[i];
    if (f->n_in == 2 && mo_algebra_commutes(f->op) && d.in[0] > d.in[1]) {
        d.in[0] = in[1];
        d.in[1] = in[0];
    }
    key k = derivation_key(&d);
    int *slot = probe(s, &s->derivation_index, &k);
    if (*slot) return s->derivations[*slot - 1].value;

    mo_algebra_value made;
    memset(&made, 0, sizeof made);
    d.value = evaluate(s, form, d.in, reduced, &made) ? intern_value(s, &made) : -1;
    d.cost = mo_algebra_node_cost(s->graph, f->op, made.facts.axes | reduced);
    RESERVE(s, s->derivations, s->n_derivations, s->derivation_capacity);
    s->derivations[s->n_derivations] = d;
    enter(s, &s->derivation_index, s->n_derivations);
    link_derivation(s, s->n_derivations++);
    return d.value;
}

bool mo_algebra_add_class(mo_algebra *s, int value, mo_abs_expr expr)
{
    mo_algebra_class c = {value, expr};
    key k = class_key(&c);
    if (*probe(s, &s->class_index, &k)) return false;
    RESERVE(s, s->classes, s->n_classes, s->class_capacity);
    s->classes[s->n_classes] = c;
    enter(s, &s->class_index, s->n_classes++);
    return true;
}
