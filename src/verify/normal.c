/* Interning, sums and products of forms. */
#include "verify/normal.h"

#include "base/hash.h"
#include "verify/normal_parts.h"

#include <string.h>

typedef struct {
    size_t capacity, count;
    const void **slots;
} table;

/* Forms that are products of sums, by id. */
typedef struct {
    uint32_t capacity;
    const mo_normal *(*factors)[2];
} products;

struct mo_normal_tables {
    table atoms, forms;
    products products;
};

mo_normals *mo_normals_new(mo_arena *arena)
{
    mo_normals *s = MO_NEW(arena, mo_normals);
    s->arena = arena;
    s->tables = MO_NEW(arena, struct mo_normal_tables);
    return s;
}

bool mo_normal_fail(mo_normals *s, const char *why)
{
    if (s->failed == NULL) s->failed = why;
    return false;
}

/* ---- variables ---- */

bool mo_normal_has(const mo_var *free, int n, mo_var var)
{
    for (int i = 0; i < n; i++)
        if (mo_var_same(free[i], var)) return true;
    return false;
}

uint32_t mo_normal_above(const mo_var *vars, int n, uint32_t least)
{
    for (int i = 0; i < n; i++)
        if (vars[i].number >= least) least = vars[i].number + 1;
    return least;
}

#define MOST_FREE 24

typedef struct {
    int n;
    bool overflow;
    mo_var var[MOST_FREE];
} var_set;

static void add_var(var_set *set, mo_var var)
{
    int at = 0;
    while (at < set->n && mo_var_compare(set->var[at], var) < 0) at++;
    if (at < set->n && mo_var_same(set->var[at], var)) return;
    if (set->n == MOST_FREE) {
        set->overflow = true;
        return;
    }
    memmove(&set->var[at + 1], &set->var[at], sizeof set->var[0] * (size_t)(set->n - at));
    set->var[at] = var;
    set->n++;
}

static void add_vars(var_set *set, const mo_var *vars, int n, const mo_var *bound, int n_bound)
{
    for (int i = 0; i < n; i++)
        if (!mo_normal_has(bound, n_bound, vars[i])) add_var(set, vars[i]);
}

static const mo_var *keep_vars(mo_normals *s, const var_set *set)
{
    if (set->overflow) {
        mo_normal_fail(s, "too many index variables");
        return NULL;
    }
    mo_var *kept = MO_NEW_ARRAY(s->arena, mo_var, set->n + 1);
    memcpy(kept, set->var, sizeof *kept * (size_t)set->n);
    return kept;
}

/* ---- tables ---- */

typedef bool same_entry(const void *a, const void *b);

static uint64_t hash_of(const void *entry, bool atom)
{
    return atom ? ((const mo_atom *)entry)->hash : ((const mo_normal *)entry)->hash;
}

static void grow(mo_normals *s, table *t, bool atom)
{
    table old = *t;
    t->capacity = old.capacity == 0 ? 256 : 2 * old.capacity;
    t->slots = MO_NEW_ARRAY(s->arena, const void *, t->capacity);
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.slots[i] == NULL) continue;
        size_t at = hash_of(old.slots[i], atom) & (t->capacity - 1);
        while (t->slots[at] != NULL) at = (at + 1) & (t->capacity - 1);
        t->slots[at] = old.slots[i];
    }
}

/* The place of an entry: that of the equal one, or a free one. */
static const void **find(mo_normals *s, table *t, const void *entry, uint64_t hash, bool atom,
                         same_entry *same)
{
    if (2 * t->count >= t->capacity) grow(s, t, atom);
    size_t at = hash & (t->capacity - 1);
    while (t->slots[at] != NULL && (hash_of(t->slots[at], atom) != hash || !same(t->slots[at], entry)))
        at = (at + 1) & (t->capacity - 1);
    return &t->slots[at];
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return mo_hash64(&value, sizeof value, hash);
}

static uint64_t hash_rational(uint64_t hash, mo_rational r)
{
    return mix(mix(mix(hash, (uint64_t)r.num), (uint64_t)(r.num >> 64)), (uint64_t)r.den);
}

static uint64_t hash_vars(uint64_t hash, const mo_var *vars, int n)
{
    for (int i = 0; i < n; i++) hash = mix(hash, (uint64_t)vars[i].number << 32 | vars[i].extent);
    return mix(hash, (uint64_t)n);
}

static uint64_t hash_affine(uint64_t hash, const mo_affine *a)
{
    for (int i = 0; i < a->n; i++) {
        hash = hash_vars(hash, &a->term[i].var, 1);
        hash = mix(hash, (uint64_t)a->term[i].factor);
    }
    return mix(hash, (uint64_t)a->constant);
}

static bool same_vars(const mo_var *a, int n, const mo_var *b, int m)
{
    if (n != m) return false;
    for (int i = 0; i < n; i++)
        if (!mo_var_same(a[i], b[i])) return false;
    return true;
}

static bool same_atom(const void *x, const void *y)
{
    const mo_atom *a = x, *b = y;
    if (a->kind != b->kind || a->tensor != b->tensor || a->op != b->op || a->tag != b->tag ||
        a->n_args != b->n_args)
        return false;
    if (!mo_affine_equal(&a->index, &b->index) || !same_vars(a->bound, a->n_bound, b->bound, b->n_bound))
        return false;
    for (int i = 0; i < a->n_args; i++)
        if (a->args[i] != b->args[i]) return false;
    return true;
}

const mo_atom *mo_normal_intern_atom(mo_normals *s, const mo_atom *wanted)
{
    mo_atom a = *wanted;
    a.hash =
        hash_affine(mix(mix(mix((uint64_t)a.kind, (uint64_t)a.tensor), (uint64_t)a.op), a.tag), &a.index);
    for (int i = 0; i < a.n_args; i++) a.hash = mix(a.hash, a.args[i]->id);
    a.hash = hash_vars(a.hash, a.bound, a.n_bound);
    const void **slot = find(s, &s->tables->atoms, &a, a.hash, true, same_atom);
    if (*slot != NULL) return *slot;
    if (s->n_atoms >= MO_NORMAL_OBJECTS) {
        mo_normal_fail(s, "the expressions grow too large");
        return NULL;
    }
    var_set free = {0};
    for (int i = 0; i < a.index.n; i++) add_var(&free, a.index.term[i].var);
    for (int i = 0; i < a.n_args; i++)
        add_vars(&free, a.args[i]->free, a.args[i]->n_free, a.bound, a.n_bound);
    a.n_free = free.n;
    a.free = keep_vars(s, &free);
    if (a.free == NULL) return NULL;
    a.id = s->n_atoms++;
    const mo_normal **args = MO_NEW_ARRAY(s->arena, const mo_normal *, a.n_args + 1);
    mo_var *bound = MO_NEW_ARRAY(s->arena, mo_var, a.n_bound + 1);
    for (int i = 0; i < a.n_args; i++) args[i] = a.args[i];
    for (int i = 0; i < a.n_bound; i++) bound[i] = a.bound[i];
    a.args = args;
    a.bound = bound;
    mo_atom *kept = MO_NEW(s->arena, mo_atom);
    *kept = a;
    mo_atom_set_looks(kept);
    *slot = kept;
    s->tables->atoms.count++;
    return kept;
}

static bool same_term(const mo_term *a, const mo_term *b)
{
    return mo_rational_same(a->coefficient, b->coefficient) && mo_term_compare(a, b) == 0;
}

static bool same_form(const void *x, const void *y)
{
    const mo_normal *a = x, *b = y;
    if (a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (!same_term(&a->terms[i], &b->terms[i])) return false;
    return true;
}

static uint64_t hash_term(uint64_t hash, const mo_term *t)
{
    hash = hash_vars(hash_rational(hash, t->coefficient), t->bound, t->n_bound);
    for (int i = 0; i < t->n_factors; i++)
        hash = hash_rational(mix(hash, t->factors[i].atom->id), t->factors[i].power);
    return hash;
}

static mo_term keep_term(mo_normals *s, const mo_term *t)
{
    mo_term kept = *t;
    mo_var *bound = MO_NEW_ARRAY(s->arena, mo_var, t->n_bound + 1);
    mo_factor *factors = MO_NEW_ARRAY(s->arena, mo_factor, t->n_factors + 1);
    for (int i = 0; i < t->n_bound; i++) bound[i] = t->bound[i];
    for (int i = 0; i < t->n_factors; i++) factors[i] = t->factors[i];
    kept.bound = bound;
    kept.factors = factors;
    return kept;
}

const mo_normal *mo_normal_intern(mo_normals *s, const mo_term *terms, int n)
{
    mo_normal f = {.n = n, .terms = terms, .hash = 0x5bf03635u};
    for (int i = 0; i < n; i++) f.hash = hash_term(f.hash, &terms[i]);
    const void **slot = find(s, &s->tables->forms, &f, f.hash, false, same_form);
    if (*slot != NULL) return *slot;
    if (s->n_forms >= MO_NORMAL_OBJECTS) {
        mo_normal_fail(s, "the expressions grow too large");
        return NULL;
    }
    var_set free = {0};
    for (int i = 0; i < n; i++)
        for (int j = 0; j < terms[i].n_factors; j++) {
            const mo_atom *atom = terms[i].factors[j].atom;
            add_vars(&free, atom->free, atom->n_free, terms[i].bound, terms[i].n_bound);
        }
    f.n_free = free.n;
    f.free = keep_vars(s, &free);
    if (f.free == NULL) return NULL;
    mo_term *kept = MO_NEW_ARRAY(s->arena, mo_term, n + 1);
    for (int i = 0; i < n; i++) kept[i] = keep_term(s, &terms[i]);
    f.terms = kept;
    f.id = s->n_forms++;
    mo_normal *form = MO_NEW(s->arena, mo_normal);
    *form = f;
    mo_normal_set_looks(form);
    *slot = form;
    s->tables->forms.count++;
    return form;
}

/* ---- lists of terms ---- */

static int compare_rational(mo_rational a, mo_rational b)
{
    if (a.num != b.num) return a.num < b.num ? -1 : 1;
    return (a.den > b.den) - (a.den < b.den);
}

int mo_term_compare(const mo_term *a, const mo_term *b)
{
    if (a->n_factors != b->n_factors) return a->n_factors < b->n_factors ? -1 : 1;
    if (a->n_bound != b->n_bound) return a->n_bound < b->n_bound ? -1 : 1;
    for (int i = 0; i < a->n_factors; i++) {
        uint32_t x = a->factors[i].atom->id, y = b->factors[i].atom->id;
        if (x != y) return x < y ? -1 : 1;
        int order = compare_rational(a->factors[i].power, b->factors[i].power);
        if (order != 0) return order;
    }
    for (int i = 0; i < a->n_bound; i++) {
        int order = mo_var_compare(a->bound[i], b->bound[i]);
        if (order != 0) return order;
    }
    return 0;
}

bool mo_term_list_add(mo_normals *s, mo_term_list *list, const mo_term *term)
{
    if (term->coefficient.num == 0) return true;
    if (list->n >= MO_NORMAL_TERMS) return mo_normal_fail(s, "a sum has too many terms");
    if (list->n == list->capacity) {
        list->capacity = list->capacity == 0 ? 8 : 2 * list->capacity;
        mo_term *grown = MO_NEW_ARRAY(s->arena, mo_term, list->capacity);
        if (list->n > 0) memcpy(grown, list->terms, sizeof *grown * (size_t)list->n);
        list->terms = grown;
    }
    list->terms[list->n++] = keep_term(s, term);
    return true;
}

/* Stable merge by insertion: lists are short, and mostly sorted already. */
static bool add_up(mo_normals *s, mo_term_list *list)
{
    int n = 0;
    for (int i = 0; i < list->n; i++) {
        mo_term t = list->terms[i];
        int at = n;
        while (at > 0 && mo_term_compare(&list->terms[at - 1], &t) > 0) at--;
        if (at > 0 && mo_term_compare(&list->terms[at - 1], &t) == 0) {
            mo_rational *sum = &list->terms[at - 1].coefficient;
            if (!mo_rational_add(*sum, t.coefficient, sum)) return mo_normal_fail(s, "a number is too long");
            continue;
        }
        memmove(&list->terms[at + 1], &list->terms[at], sizeof t * (size_t)(n - at));
        list->terms[at] = t;
        n++;
    }
    list->n = 0;
    for (int i = 0; i < n; i++)
        if (list->terms[i].coefficient.num != 0) list->terms[list->n++] = list->terms[i];
    return true;
}

const mo_normal *mo_normal_collect(mo_normals *s, mo_term_list *list)
{
    if (s->failed != NULL || !add_up(s, list)) return NULL;
    if (!mo_normal_join(s, list) || !add_up(s, list)) return NULL;
    return mo_normal_intern(s, list->terms, list->n);
}

/* ---- the ring ---- */

const mo_normal *mo_normal_from_term(mo_normals *s, const mo_term *term)
{
    if (s->failed != NULL) return NULL;
    return mo_normal_intern(s, term, term->coefficient.num == 0 ? 0 : 1);
}

const mo_normal *mo_normal_number(mo_normals *s, mo_rational value)
{
    mo_term t = {.coefficient = value};
    return mo_normal_from_term(s, &t);
}

const mo_normal *mo_normal_integer(mo_normals *s, int64_t value)
{
    return mo_normal_number(s, mo_rational_integer(value));
}

const mo_normal *mo_normal_double(mo_normals *s, double value)
{
    mo_rational number;
    if (mo_rational_from_double(value, &number)) return mo_normal_number(s, number);
    mo_normal_fail(s, "a number is too long");
    return NULL;
}

const mo_normal *mo_normal_atom(mo_normals *s, const mo_atom *atom, mo_rational power)
{
    if (atom == NULL || s->failed != NULL) return NULL;
    mo_factor factor = {atom, power};
    mo_term t = {.coefficient = {1, 1}, .n_factors = 1, .factors = &factor};
    return mo_normal_from_term(s, &t);
}

const mo_normal *mo_normal_input(mo_normals *s, int tensor, const mo_affine *place)
{
    mo_atom a = {.kind = MO_ATOM_INPUT, .tensor = tensor, .index = *place};
    return mo_normal_atom(s, mo_normal_intern_atom(s, &a), mo_rational_integer(1));
}

const mo_normal *mo_normal_add(mo_normals *s, const mo_normal *a, const mo_normal *b)
{
    if (a == NULL || b == NULL) return NULL;
    if (b->n == 0) return a;
    if (a->n == 0) return b;
    mo_term_list list = {0};
    for (int i = 0; i < a->n; i++)
        if (!mo_term_list_add(s, &list, &a->terms[i])) return NULL;
    for (int i = 0; i < b->n; i++)
        if (!mo_term_list_add(s, &list, &b->terms[i])) return NULL;
    return mo_normal_collect(s, &list);
}

const mo_normal *mo_normal_scale(mo_normals *s, const mo_normal *a, mo_rational by)
{
    if (a == NULL || mo_rational_is(by, 1)) return a;
    mo_term_list list = {0};
    for (int i = 0; i < a->n; i++) {
        mo_term t = a->terms[i];
        if (!mo_rational_mul(t.coefficient, by, &t.coefficient)) {
            mo_normal_fail(s, "a number is too long");
            return NULL;
        }
        if (!mo_term_list_add(s, &list, &t)) return NULL;
    }
    return mo_normal_intern(s, list.terms, list.n);
}

const mo_normal *mo_normal_sub(mo_normals *s, const mo_normal *a, const mo_normal *b)
{
    return mo_normal_add(s, a, mo_normal_scale(s, b, mo_rational_integer(-1)));
}

static void remember_product(mo_normals *s, const mo_normal *product, const mo_normal *a, const mo_normal *b)
{
    products *known = &s->tables->products;
    if (product == NULL || product == a || product == b || a->n < 2 || b->n < 2) return;
    if (product->id >= known->capacity) {
        products old = *known;
        known->capacity = 2 * product->id + 64;
        known->factors = mo_arena_alloc(s->arena, sizeof *known->factors * known->capacity);
        if (old.capacity > 0) memcpy(known->factors, old.factors, sizeof *old.factors * old.capacity);
    }
    if (known->factors[product->id][0] != NULL) return;
    known->factors[product->id][0] = a;
    known->factors[product->id][1] = b;
}

const mo_normal *mo_normal_mul(mo_normals *s, const mo_normal *a, const mo_normal *b)
{
    if (a == NULL || b == NULL) return NULL;
    mo_term_list list = {0};
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < b->n; j++) {
            mo_draft d = {.coefficient = {1, 1}};
            if (!mo_draft_multiply(s, &d, &a->terms[i]) || !mo_draft_multiply(s, &d, &b->terms[j]))
                return NULL;
            if (!mo_draft_finish(s, &d, &list)) return NULL;
        }
    const mo_normal *product = mo_normal_collect(s, &list);
    remember_product(s, product, a, b);
    return product;
}

bool mo_normal_product_of(const mo_normals *s, const mo_normal *a, const mo_normal *factors[2])
{
    const products *known = &s->tables->products;
    if (a->id >= known->capacity || known->factors[a->id][0] == NULL) return false;
    memcpy(factors, known->factors[a->id], sizeof known->factors[a->id]);
    return true;
}

const mo_normal *mo_normal_div(mo_normals *s, const mo_normal *a, const mo_normal *b)
{
    return mo_normal_mul(s, a, mo_normal_power(s, b, mo_rational_integer(-1)));
}

const mo_normal *mo_normal_sum(mo_normals *s, const mo_normal *a, const mo_var *vars, int n)
{
    if (a == NULL) return NULL;
    mo_term_list list = {0};
    for (int i = 0; i < a->n; i++) {
        mo_draft d = {.coefficient = {1, 1}, .above = mo_normal_above(vars, n, 0)};
        if (!mo_draft_multiply(s, &d, &a->terms[i])) return NULL;
        for (int j = 0; j < n; j++) {
            if (vars[j].extent < 2) continue;
            if (d.n_bound == MO_NORMAL_BOUND) {
                mo_normal_fail(s, "a sum over too many variables");
                return NULL;
            }
            d.bound[d.n_bound++] = vars[j];
        }
        if (!mo_draft_finish(s, &d, &list)) return NULL;
    }
    return mo_normal_collect(s, &list);
}
