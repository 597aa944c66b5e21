#include "abstract/store.h"

#include "base/status.h"

#include <stdlib.h>

typedef struct {
    uint32_t *polys;
    uint32_t count, capacity;
} poly_list;

static void push(mo_abs *abs, poly_list *list, uint32_t poly)
{
    if (poly == ABS_ABSENT) return;
    for (uint32_t i = 0; i < list->count; i++)
        if (list->polys[i] == poly) return;
    if (list->count == list->capacity) {
        uint32_t *grown = MO_NEW_ARRAY(abs->scratch, uint32_t, list->capacity * 2);
        for (uint32_t i = 0; i < list->count; i++) grown[i] = list->polys[i];
        list->polys = grown;
        list->capacity *= 2;
    }
    list->polys[list->count++] = poly;
}

static void push_parts(mo_abs *abs, poly_list *list, uint32_t poly)
{
    uint32_t n, n_opaques;
    const mo_abs_term *terms = mo_abs_terms(abs, poly, &n);
    for (uint32_t i = 0; i < n; i++) {
        const mo_abs_mono *m = mo_abs_mono_at(abs, terms[i].mono);
        push(abs, list, m->ex);
        push(abs, list, m->sq);
        push(abs, list, m->den);
        const uint32_t *opaques = mo_abs_bag(abs, m->opaques, &n_opaques);
        for (uint32_t j = 0; j < n_opaques; j++) {
            const uint32_t *call = (const uint32_t *)abs->opaques.entries[opaques[j]].data;
            push(abs, list, call[1]);
            push(abs, list, call[2]);
        }
    }
}

/* T and every argument and denominator inside it, as an interned list (a bag id). */
static uint32_t inside(mo_abs *abs, uint32_t target)
{
    uint32_t known;
    if (mo_abs_memo_find(abs, MEMO_INSIDE, target, 0, &known)) return known;
    mo_arena_mark mark = mo_arena_get_mark(abs->scratch);
    poly_list list = {MO_NEW_ARRAY(abs->scratch, uint32_t, 16), 0, 16};
    push(abs, &list, target);
    for (uint32_t i = 0; i < list.count; i++) push_parts(abs, &list, list.polys[i]);
    uint32_t id = mo_abs_intern(abs, &abs->bags, list.polys, list.count * sizeof *list.polys);
    mo_arena_reset(abs->scratch, mark);
    return mo_abs_memo_put(abs, MEMO_INSIDE, target, 0, id);
}

static int by_mono(const void *key, const void *element)
{
    uint32_t x = *(const uint32_t *)key, y = ((const mo_abs_term *)element)->mono;
    return (x > y) - (x < y);
}

/* Is operator * x contained in P? */
static bool contains(mo_abs *abs, uint32_t p, uint32_t operator_mono, uint32_t x)
{
    uint32_t np, nx;
    const mo_abs_term *t = mo_abs_terms(abs, p, &np), *y = mo_abs_terms(abs, x, &nx);
    for (uint32_t j = 0; j < nx; j++) {
        uint32_t mono = mo_abs_times(abs, operator_mono, y[j].mono);
        const mo_abs_term *found = bsearch(&mono, t, np, sizeof *t, by_mono);
        if (!found || found->count < y[j].count) return false;
    }
    return true;
}

/* Does some monomial multiple of x lie in P? Whatever the multiple, it takes the first monomial of x to
 * some monomial of P. Where a quotient is not unique the answer is yes: that prunes less, never more. */
static bool fits(mo_abs *abs, uint32_t x, uint32_t p)
{
    uint32_t np, nx;
    if (mo_abs_size(abs, x) > mo_abs_size(abs, p)) return false;
    if (mo_abs_poly_parts(abs, x) & ~mo_abs_poly_parts(abs, p)) return false;
    const mo_abs_term *t = mo_abs_terms(abs, p, &np), *y = mo_abs_terms(abs, x, &nx);
    for (uint32_t i = 0; i < np; i++) {
        uint32_t o = mo_abs_over(abs, t[i].mono, y[0].mono);
        if (o == ABS_MANY) return true;
        if (o < ABS_LAST_ID && contains(abs, p, o, x)) return true;
    }
    return false;
}

bool mo_abs_subexpr(mo_abs *abs, mo_abs_expr x, mo_abs_expr target)
{
    MO_CHECK(x.id != ABS_ABSENT && target.id != ABS_ABSENT);
    uint32_t known, n;
    if (target.id == ABS_BIG) return true;
    if (x.id == ABS_BIG) return false;
    if (x.id == target.id) return true;
    if (mo_abs_memo_find(abs, MEMO_SUBEXPR, x.id, target.id, &known)) return known != 0;
    uint32_t list = inside(abs, target.id);
    bool yes = false;
    const uint32_t *polys = mo_abs_bag(abs, list, &n);
    for (uint32_t i = 0; i < n && !yes; i++) yes = fits(abs, x.id, polys[i]);
    return mo_abs_memo_put(abs, MEMO_SUBEXPR, x.id, target.id, yes) != 0;
}

void mo_abs_set_targets(mo_abs *abs, const mo_abs_expr *targets, int count)
{
    uint32_t n, total = 0;
    for (int t = 0; t < count; t++) {
        if (targets[t].id == ABS_BIG) return; /* everything may be part of it */
        mo_abs_bag(abs, inside(abs, targets[t].id), &n);
        total += n;
    }
    abs->bounds = MO_NEW_ARRAY(abs->arena, mo_abs_bound, total + 1);
    for (int t = 0; t < count; t++) {
        const uint32_t *polys = mo_abs_bag(abs, inside(abs, targets[t].id), &n);
        for (uint32_t i = 0; i < n; i++)
            abs->bounds[abs->n_bounds++] =
                (mo_abs_bound){mo_abs_poly_parts(abs, polys[i]), mo_abs_size(abs, polys[i])};
    }
}
