/* Claims, and ranges of indices that are split as needed. */
#include "verify/proof_parts.h"

#include "base/hash.h"

#include <string.h>

#define MOST_CASES 64

const mo_normal *mo_prove_needs(mo_prover *p, const mo_split_need *need)
{
    if (need->kind == MO_SPLIT_NONE)
        mo_normal_fail(p->forms, "an index that no split of its variables makes plain");
    p->need = *need;
    return NULL;
}

/* ---- claims ---- */

static uint64_t hash_claim(mo_claim_kind kind, int kernel, int value, int n, const mo_affine *index)
{
    int64_t head[3] = {(int64_t)kind, kernel, value};
    uint64_t hash = mo_hash64(head, sizeof head, 0);
    for (int i = 0; i < n; i++) {
        hash = mo_hash64(&index[i].constant, sizeof index[i].constant, hash);
        for (int j = 0; j < index[i].n; j++) {
            uint64_t term[2] = {(uint64_t)index[i].term[j].var.number << 32 | index[i].term[j].var.extent,
                                (uint64_t)index[i].term[j].factor};
            hash = mo_hash64(term, sizeof term, hash);
        }
    }
    return hash;
}

static bool same_claim(const mo_claim *c, mo_claim_kind kind, int kernel, int value, int n,
                       const mo_affine *index)
{
    if (c->kind != kind || c->kernel != kernel || c->value != value || c->n != n) return false;
    for (int i = 0; i < n; i++)
        if (!mo_affine_equal(&c->index[i], &index[i])) return false;
    return true;
}

static size_t find_slot(const mo_prover *p, mo_claim_kind kind, int kernel, int value, int n,
                        const mo_affine *index)
{
    size_t at = hash_claim(kind, kernel, value, n, index) & (p->n_slots - 1);
    while (p->slots[at] != 0 && !same_claim(p->claims[p->slots[at] - 1], kind, kernel, value, n, index))
        at = (at + 1) & (p->n_slots - 1);
    return at;
}

const mo_claim *mo_prove_find(const mo_prover *p, mo_claim_kind kind, int kernel, int value, int n,
                              const mo_affine *index)
{
    if (p->n_slots == 0) return NULL;
    int at = p->slots[find_slot(p, kind, kernel, value, n, index)];
    return at == 0 ? NULL : p->claims[at - 1];
}

static void grow(mo_prover *p)
{
    p->claim_capacity = p->claim_capacity == 0 ? 64 : 2 * p->claim_capacity;
    mo_claim **claims = MO_NEW_ARRAY(p->arena, mo_claim *, p->claim_capacity);
    if (p->n_claims > 0) memcpy(claims, p->claims, sizeof(mo_claim *) * (size_t)p->n_claims);
    p->claims = claims;
    p->n_slots = 4 * (size_t)p->claim_capacity;
    p->slots = MO_NEW_ARRAY(p->arena, int, p->n_slots);
    for (int i = 0; i < p->n_claims; i++) {
        const mo_claim *c = p->claims[i];
        p->slots[find_slot(p, c->kind, c->kernel, c->value, c->n, c->index)] = i + 1;
    }
}

const mo_normal *mo_prove_claim(mo_prover *p, mo_claim_kind kind, int kernel, int value, int n,
                                const mo_affine *index, const mo_normal *form)
{
    if (form == NULL) return NULL;
    if (p->n_claims == p->claim_capacity) grow(p);
    mo_claim *c = MO_NEW(p->arena, mo_claim);
    mo_affine *kept = MO_NEW_ARRAY(p->arena, mo_affine, n + 1);
    for (int i = 0; i < n; i++) kept[i] = index[i];
    *c = (mo_claim){kind, kernel, value, n, kept, form};
    size_t at = find_slot(p, kind, kernel, value, n, index);
    p->claims[p->n_claims++] = c;
    p->slots[at] = p->n_claims;
    return form;
}

/* ---- places in memory ---- */

bool mo_prove_decompose(mo_prover *p, const mo_affine *offset, int n, const int64_t *extents,
                        const int64_t *strides, mo_affine *index)
{
    mo_affine rest = *offset;
    mo_split_need need;
    bool done[MO_MAX_AXES] = {false};
    for (int i = 0; i < n; i++) index[i] = mo_affine_constant(0);
    for (;;) {
        int next = -1;
        for (int i = 0; i < n; i++)
            if (!done[i] && strides[i] > 0 && extents[i] > 1 && (next < 0 || strides[i] > strides[next]))
                next = i;
        if (next < 0) break;
        done[next] = true;
        mo_affine remainder;
        if (!mo_affine_divide(&rest, strides[next], &index[next], &remainder, &need)) {
            mo_prove_needs(p, &need);
            return false;
        }
        int64_t least, most;
        mo_affine_range(&index[next], &least, &most);
        if (least < 0 || most >= extents[next]) return mo_normal_fail(p->forms, "an index beyond its extent");
        rest = remainder;
    }
    if (rest.n == 0 && rest.constant == 0) return true;
    return mo_normal_fail(p->forms, "a place in memory that nothing is written to");
}

/* ---- reductions ---- */

/* Values of the indices: each over its own variables. */
typedef struct {
    mo_affine at[MO_MAX_AXES];
    int n_vars;
    mo_var vars[MO_MAX_AXES];
} range;

/* The range with one variable split. The second half stands for itself (RANGE); *halves tells. */
static bool split_range(mo_prover *p, const range *whole, int n, range half[2], int *halves)
{
    int at = 0;
    while (at < whole->n_vars && !mo_var_same(whole->vars[at], p->need.var)) at++;
    if (at == whole->n_vars || p->need.kind == MO_SPLIT_NONE) return false;
    mo_var var = p->need.var, first = {p->next_var++, 0}, second = {p->next_var++, 0};
    mo_affine by[2];
    uint32_t cut = (uint32_t)p->need.at;
    half[0] = half[1] = *whole;
    if (p->need.kind == MO_SPLIT_DIGITS) {
        first.extent = var.extent / cut;
        second.extent = cut;
        by[0] = mo_affine_constant(0);
        mo_affine high = mo_affine_var(first), low = mo_affine_var(second);
        if (!mo_affine_add(&by[0], &high, cut) || !mo_affine_add(&by[0], &low, 1)) return false;
        if (whole->n_vars == MO_MAX_AXES) return false;
        half[0].vars[at] = first;
        half[0].vars[half[0].n_vars++] = second;
        *halves = 1;
    } else {
        first.extent = cut;
        second.extent = var.extent - cut;
        by[0] = mo_affine_var(first);
        by[1] = mo_affine_var(second);
        by[1].constant = cut;
        half[0].vars[at] = first;
        half[1].vars[at] = second;
        *halves = 2;
    }
    for (int h = 0; h < *halves; h++)
        for (int i = 0; i < n; i++)
            if (!mo_affine_substitute(&half[h].at[i], var, &by[h])) return false;
    p->need = (mo_split_need){0};
    return true;
}

static const mo_normal *reduce_range(mo_prover *p, mo_op op, const range *r, const mo_normal *value)
{
    if (op == MO_OP_MAX) return mo_normal_largest(p->forms, value, r->vars, r->n_vars);
    if (op == MO_OP_MIN) return mo_normal_smallest(p->forms, value, r->vars, r->n_vars);
    return mo_normal_sum(p->forms, value, r->vars, r->n_vars);
}

static const mo_normal *combine(mo_prover *p, mo_op op, const mo_normal *a, const mo_normal *b)
{
    if (op == MO_OP_MAX) return mo_normal_maximum(p->forms, a, b);
    if (op == MO_OP_MIN) return mo_normal_minimum(p->forms, a, b);
    return mo_normal_add(p->forms, a, b);
}

const mo_normal *mo_prove_reduce(mo_prover *p, mo_op op, int n, const int64_t *extents, uint32_t first,
                                 mo_prove_body *body, void *context)
{
    range *todo = MO_NEW_ARRAY(p->arena, range, MOST_CASES);
    const mo_normal *result = NULL;
    int left = 1;
    for (int i = 0; i < n; i++) {
        mo_var var = {first + (uint32_t)i, (uint32_t)extents[i]};
        todo[0].at[i] = mo_affine_var(var);
        if (extents[i] > 1) todo[0].vars[todo[0].n_vars++] = var;
    }
    while (left > 0) {
        range now = todo[--left], half[2];
        const mo_normal *value = body(context, now.at);
        if (value == NULL) {
            int halves;
            if (p->forms->failed != NULL || !split_range(p, &now, n, half, &halves)) return NULL;
            if (left + halves > MOST_CASES) {
                mo_normal_fail(p->forms, "a reduction in too many ranges");
                return NULL;
            }
            for (int h = 0; h < halves; h++) todo[left++] = half[h];
            continue;
        }
        value = reduce_range(p, op, &now, value);
        if (value == NULL) return NULL;
        result = result == NULL ? value : combine(p, op, result, value);
        if (result == NULL) return NULL;
    }
    return result;
}
