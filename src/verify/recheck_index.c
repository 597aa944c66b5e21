/* Indices: which claims an operator looks at, and whether parts make up a whole. */
#include "verify/recheck_parts.h"

#include <string.h>

#define MOST_PIECES 256

bool mo_recheck_shift(mo_recheck *r, mo_affine *a, const mo_affine *b, int64_t factor)
{
    return mo_affine_add(a, b, factor) || mo_recheck_fail(r, "an index has too many variables");
}

bool mo_recheck_range(const mo_affine *a, int64_t *least, int64_t *most)
{
    mo_i128 low = a->constant, high = a->constant, limit = (mo_i128)1 << 62;
    for (int i = 0; i < a->n; i++) {
        mo_i128 reach = (mo_i128)a->term[i].factor * ((mo_i128)a->term[i].var.extent - 1);
        *(reach < 0 ? &low : &high) += reach;
    }
    if (low < -limit || high > limit) return false;
    *least = (int64_t)low;
    *most = (int64_t)high;
    return true;
}

/* ---- places in memory ---- */

/* a = divisor * quotient + rest, the whole part of each factor to the quotient. */
static bool divide(mo_recheck *r, const mo_affine *a, int64_t divisor, mo_affine *quotient, mo_affine *rest)
{
    int64_t whole = a->constant / divisor - (a->constant % divisor < 0 ? 1 : 0);
    *quotient = mo_affine_constant(whole);
    *rest = mo_affine_constant(a->constant - whole * divisor);
    for (int i = 0; i < a->n; i++) {
        mo_affine var = mo_affine_var(a->term[i].var);
        whole = a->term[i].factor / divisor - (a->term[i].factor % divisor < 0 ? 1 : 0);
        if (!mo_recheck_shift(r, quotient, &var, whole)) return false;
        if (!mo_recheck_shift(r, rest, &var, a->term[i].factor - whole * divisor)) return false;
    }
    return true;
}

static bool within(const mo_affine *a, int64_t limit)
{
    int64_t least, most;
    return mo_recheck_range(a, &least, &most) && least >= 0 && most < limit;
}

bool mo_recheck_digits(mo_recheck *r, const mo_affine *place, int n, const int64_t *extents,
                       const int64_t *strides, mo_affine *index)
{
    bool done[MO_MAX_AXES] = {false};
    mo_affine left = *place;
    for (int i = 0; i < n; i++) index[i] = mo_affine_constant(0);
    for (;;) {
        int next = -1;
        mo_i128 others = 0;
        for (int i = 0; i < n; i++)
            if (!done[i] && extents[i] > 1 && (next < 0 || strides[i] > strides[next])) next = i;
        if (next < 0) break;
        done[next] = true;
        for (int i = 0; i < n; i++)
            if (!done[i] && extents[i] > 1) others += (mo_i128)strides[i] * (extents[i] - 1);
        if (strides[next] <= 0 || strides[next] <= others)
            return mo_recheck_fail(r, "elements that may lie in one place");
        mo_affine rest;
        if (!divide(r, &left, strides[next], &index[next], &rest)) return false;
        if (!within(&rest, strides[next]) || !within(&index[next], extents[next]))
            return mo_recheck_fail(r, "a place in memory that no index is known for");
        left = rest;
    }
    if (left.n == 0 && left.constant == 0) return true;
    return mo_recheck_fail(r, "a place in memory without an element");
}

/* ---- claims ---- */

mo_recheck_need mo_recheck_need_of(mo_claim_kind kind, int kernel, int value)
{
    return (mo_recheck_need){.kind = kind, .kernel = kernel, .value = value};
}

void mo_recheck_need_index(mo_recheck_need *need, const mo_affine *index, int slot)
{
    need->index[need->n] = slot < 0 ? *index : mo_affine_constant(0);
    need->slot[need->n++] = slot;
}

static bool answers(const mo_claim *claim, const mo_recheck_need *need)
{
    if (claim->kind != need->kind || claim->value != need->value || claim->n != need->n) return false;
    if (claim->kind == MO_CLAIM_NODE && claim->kernel != need->kernel) return false;
    for (int i = 0; i < need->n; i++)
        if (need->slot[i] < 0 && !mo_affine_equal(&claim->index[i], &need->index[i])) return false;
    return true;
}

const mo_normal *mo_recheck_find(mo_recheck *r, const mo_recheck_need *need)
{
    mo_recheck_map map = {.n = 0};
    for (int i = 0; i < r->now; i++)
        if (answers(&r->proof->claims[i], need)) return mo_recheck_copy(r, r->proof->claims[i].form, &map);
    mo_recheck_fail(r, "no earlier claim about an operand");
    return NULL;
}

/* ---- boxes ---- */

#define MOST_MEMBERS (1 << 20)

/* Some of the values 0 .. extent-1 of an index: a range, or those that are marked. */
typedef struct {
    int64_t extent, first, length;
    const bool *marked; /* NULL: the range */
} values;

/* The product of these, in each dimension. */
typedef struct {
    int n;
    values side[MO_MAX_AXES];
    int64_t volume;
} box;

/* Does the index take on each value of a range once? The variables are digits. */
static bool is_range(const mo_affine *index, values *v)
{
    bool done[MO_AFFINE_TERMS] = {false};
    v->first = index->constant;
    v->length = 1;
    for (int i = 0; i < index->n; i++) {
        int j = 0;
        while (j < index->n && (done[j] || index->term[j].factor != v->length)) j++;
        if (j == index->n) return false;
        done[j] = true;
        v->length *= index->term[j].var.extent;
        if (v->length > v->extent) return false;
    }
    return v->first >= 0 && v->first <= v->extent - v->length;
}

/* Goes through the values of variables from number `from` on; false when one is taken on twice. */
static bool mark(const mo_affine *index, int from, int64_t value, int64_t extent, bool *marked)
{
    if (from == index->n) {
        if (value < 0 || value >= extent || marked[value]) return false;
        marked[value] = true;
        return true;
    }
    for (int64_t i = 0; i < index->term[from].var.extent; i++)
        if (!mark(index, from + 1, value + i * index->term[from].factor, extent, marked)) return false;
    return true;
}

static bool make_values(mo_recheck *r, const mo_affine *index, int64_t extent, values *v)
{
    int64_t least, most;
    *v = (values){.extent = extent};
    if (!mo_recheck_range(index, &least, &most) || least < 0 || most >= extent) return false;
    if (is_range(index, v)) return true;
    if (extent > MOST_MEMBERS) return false;
    bool *marked = MO_NEW_ARRAY(r->arena, bool, extent);
    if (!mark(index, 0, index->constant, extent, marked)) return false;
    v->marked = marked;
    v->length = 0;
    for (int64_t i = 0; i < extent; i++) v->length += marked[i];
    return true;
}

static bool has_value(const values *v, int64_t value)
{
    return v->marked != NULL ? v->marked[value] : value >= v->first && value < v->first + v->length;
}

/* How many values do they have in common? */
static int64_t common_values(const values *a, const values *b)
{
    int64_t count = 0;
    if (a->marked == NULL && b->marked == NULL) {
        int64_t from = a->first > b->first ? a->first : b->first;
        int64_t end_a = a->first + a->length, end_b = b->first + b->length,
                end = end_a < end_b ? end_a : end_b;
        return end > from ? end - from : 0;
    }
    for (int64_t i = 0; i < a->extent; i++) count += has_value(a, i) && has_value(b, i);
    return count;
}

static bool shares_variable(const mo_affine *a, const mo_affine *b)
{
    for (int i = 0; i < a->n; i++)
        if (mo_affine_factor(b, a->term[i].var) != 0) return true;
    return false;
}

/* Each dimension has variables of its own, and takes on no value twice. */
static bool make_box(mo_recheck *r, const mo_affine *index, int n, const int64_t *extents, box *b)
{
    b->n = n;
    b->volume = 1;
    for (int i = 0; i < n; i++) {
        if (!make_values(r, &index[i], extents[i], &b->side[i])) return false;
        b->volume *= b->side[i].length;
        for (int j = 0; j < i; j++)
            if (shares_variable(&index[i], &index[j])) return false;
    }
    return true;
}

static bool disjoint(const box *a, const box *b)
{
    for (int i = 0; i < a->n; i++)
        if (common_values(&a->side[i], &b->side[i]) == 0) return true;
    return false;
}

static bool same_box(const box *a, const box *b)
{
    for (int i = 0; i < a->n; i++) {
        const values *x = &a->side[i], *y = &b->side[i];
        if (x->length != y->length || common_values(x, y) != x->length) return false;
    }
    return true;
}

bool mo_recheck_partition(mo_recheck *r, const mo_affine *const *parts, int n_parts, int n,
                          const int64_t *extents)
{
    box *boxes = MO_NEW_ARRAY(r->arena, box, n_parts + 1);
    int64_t missing = 1;
    for (int d = 0; d < n; d++) missing *= extents[d];
    for (int i = 0; i < n_parts; i++) {
        if (!make_box(r, parts[i], n, extents, &boxes[i]))
            return mo_recheck_fail(r, "a case with an index that is taken on twice");
        for (int j = 0; j < i; j++)
            if (!disjoint(&boxes[i], &boxes[j])) return mo_recheck_fail(r, "an element in two cases");
        missing -= boxes[i].volume;
    }
    return missing == 0 || mo_recheck_fail(r, "elements that no case is about");
}

/* ---- reductions ---- */

/* A part of a reduction by a claim about each operand. */
typedef struct {
    const mo_claim *claim[2];
    mo_affine at[MO_MAX_AXES];
    box box;
} candidate;

typedef struct {
    int n_slots, n, n_chosen;
    const int64_t *extents;
    candidate *list, **chosen;
} cover;

/* Takes the indices that a claim has along the reduced axes. */
static bool take_slots(const mo_claim *claim, const mo_recheck_need *need, candidate *c, bool *known)
{
    for (int i = 0; i < need->n; i++) {
        int slot = need->slot[i];
        if (slot < 0) continue;
        if (known[slot] && !mo_affine_equal(&c->at[slot], &claim->index[i])) return false;
        known[slot] = true;
        c->at[slot] = claim->index[i];
    }
    return true;
}

/* Variables of the reduction must be none of those that the result depends on. */
static bool runs_freely(const candidate *c, int n_slots, const mo_recheck_need *needs, int n_needs)
{
    for (int o = 0; o < n_needs; o++)
        for (int i = 0; i < needs[o].n; i++)
            for (int s = 0; s < n_slots; s++)
                if (needs[o].slot[i] < 0 && shares_variable(&needs[o].index[i], &c->at[s])) return false;
    return true;
}

static bool add_candidate(mo_recheck *r, cover *all, const mo_recheck_need *needs, int n_needs,
                          const mo_claim *a, const mo_claim *b)
{
    candidate c = {.claim = {a, b}};
    bool known[MO_MAX_AXES] = {false};
    if (!mo_recheck_step(r)) return false;
    if (!take_slots(a, &needs[0], &c, known)) return true;
    if (b != NULL && !take_slots(b, &needs[1], &c, known)) return true;
    for (int s = 0; s < all->n_slots; s++)
        if (!known[s]) c.at[s] = mo_affine_var(mo_recheck_var(r, (uint32_t)all->extents[s]));
    if (!runs_freely(&c, all->n_slots, needs, n_needs) ||
        !make_box(r, c.at, all->n_slots, all->extents, &c.box))
        return true;
    int at = 0; /* large ones first */
    while (at < all->n && all->list[at].box.volume >= c.box.volume) {
        if (same_box(&all->list[at].box, &c.box)) return true;
        at++;
    }
    if (all->n == MOST_PIECES) return mo_recheck_fail(r, "a reduction in too many ranges");
    memmove(&all->list[at + 1], &all->list[at], sizeof c * (size_t)(all->n - at));
    all->list[at] = c;
    all->n++;
    return true;
}

/* Chooses among the candidates from number i on, so that they have `missing` elements and none twice. */
static bool choose(mo_recheck *r, cover *all, int i, int64_t missing)
{
    if (missing == 0) return true;
    for (; i < all->n; i++) {
        candidate *c = &all->list[i];
        bool fits = c->box.volume <= missing;
        if (!mo_recheck_step(r)) return false;
        for (int j = 0; j < all->n_chosen && fits; j++) fits = disjoint(&c->box, &all->chosen[j]->box);
        if (!fits) continue;
        all->chosen[all->n_chosen++] = c;
        if (choose(r, all, i + 1, missing - c->box.volume)) return true;
        all->n_chosen--;
    }
    return false;
}

static bool make_piece(mo_recheck *r, const cover *all, const candidate *c, mo_recheck_piece *piece)
{
    mo_recheck_map map = {.n = 0};
    for (int s = 0; s < all->n_slots; s++)
        for (int v = 0; v < c->at[s].n; v++) {
            if (piece->n_vars == MO_RECHECK_VARS) return mo_recheck_fail(r, "a sum over too many variables");
            piece->vars[piece->n_vars++] = c->at[s].term[v].var;
        }
    for (int o = 0; o < 2 && c->claim[o] != NULL; o++) {
        piece->form[o] = mo_recheck_copy(r, c->claim[o]->form, &map);
        if (piece->form[o] == NULL) return false;
    }
    return true;
}

int mo_recheck_cover(mo_recheck *r, const mo_recheck_need *needs, int n_needs, int n_slots,
                     const int64_t *extents, mo_recheck_piece **pieces)
{
    const mo_claim *claims = r->proof->claims;
    cover all = {.n_slots = n_slots,
                 .extents = extents,
                 .list = MO_NEW_ARRAY(r->arena, candidate, MOST_PIECES + 1),
                 .chosen = MO_NEW_ARRAY(r->arena, candidate *, MOST_PIECES + 1)};
    int64_t missing = 1;
    for (int s = 0; s < n_slots; s++) missing *= extents[s];
    for (int i = 0; i < r->now; i++) {
        if (!answers(&claims[i], &needs[0])) continue;
        if (n_needs == 1 && !add_candidate(r, &all, needs, 1, &claims[i], NULL)) return 0;
        for (int j = 0; j < r->now && n_needs == 2; j++)
            if (answers(&claims[j], &needs[1]) && !add_candidate(r, &all, needs, 2, &claims[i], &claims[j]))
                return 0;
    }
    if (!choose(r, &all, 0, missing)) {
        mo_recheck_fail(r, "claims that do not cover a reduction");
        return 0;
    }
    *pieces = MO_NEW_ARRAY(r->arena, mo_recheck_piece, all.n_chosen + 1);
    for (int i = 0; i < all.n_chosen; i++)
        if (!make_piece(r, &all, all.chosen[i], &(*pieces)[i])) return 0;
    return all.n_chosen;
}
