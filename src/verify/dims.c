/* Union-find whose classes may be refined into products and sums of other classes. */
#include "verify/dims.h"

#include "base/status.h"

#include <string.h>

#define LONGEST 7 /* small extents run from 2 to this and start again */
#define MAX_PARTS 64

typedef enum { LEAF, PRODUCT, SUM } class_kind;

typedef struct {
    int parent;
    int64_t extent, small;
    class_kind kind;
    int first, second; /* PRODUCT: outer and inner; SUM: before and after */
    bool shortest, pinned;
} dim_class;

struct mo_dims {
    mo_arena *arena;
    int count, capacity;
    dim_class *classes;
};

typedef struct {
    int n;
    int part[MAX_PARTS];
} part_list;

static int new_class(mo_dims *dims, int64_t extent)
{
    if (dims->count == dims->capacity) {
        dim_class *grown = MO_NEW_ARRAY(dims->arena, dim_class, dims->capacity * 2);
        memcpy(grown, dims->classes, sizeof *grown * (size_t)dims->count);
        dims->classes = grown;
        dims->capacity *= 2;
    }
    dims->classes[dims->count] = (dim_class){.parent = dims->count, .extent = extent};
    return dims->count++;
}

mo_dims *mo_dims_new(mo_arena *arena)
{
    mo_dims *dims = MO_NEW(arena, mo_dims);
    dims->arena = arena;
    dims->capacity = 64;
    dims->classes = MO_NEW_ARRAY(arena, dim_class, dims->capacity);
    new_class(dims, 1);
    return dims;
}

int mo_dims_add(mo_dims *dims, int64_t extent)
{
    MO_CHECK(extent >= 1);
    return extent == 1 ? 0 : new_class(dims, extent);
}

int mo_dims_class(const mo_dims *dims, int dim)
{
    while (dims->classes[dim].parent != dim) dim = dims->classes[dim].parent;
    return dim;
}

int mo_dims_count(const mo_dims *dims)
{
    return dims->count;
}

int64_t mo_dims_extent(const mo_dims *dims, int dim)
{
    return dims->classes[dim].extent;
}

static dim_class *class_of(const mo_dims *dims, int dim)
{
    return &dims->classes[mo_dims_class(dims, dim)];
}

/* The leaves below `dim` that are reached through `kind` only. */
static bool flatten(const mo_dims *dims, int dim, class_kind kind, part_list *list)
{
    dim = mo_dims_class(dims, dim);
    const dim_class *c = &dims->classes[dim];
    if (c->kind == kind) return flatten(dims, c->first, kind, list) && flatten(dims, c->second, kind, list);
    if (list->n == MAX_PARTS) return false;
    list->part[list->n++] = dim;
    return true;
}

void mo_dims_pin(mo_dims *dims, int dim)
{
    dim_class *c = class_of(dims, dim);
    c->pinned = true;
    if (c->kind == LEAF) return;
    mo_dims_pin(dims, c->first);
    mo_dims_pin(dims, c->second);
}

static void refine(mo_dims *dims, int dim, class_kind kind, int first, int second)
{
    dim_class *c = class_of(dims, dim);
    MO_CHECK(c->kind == LEAF);
    c->kind = kind;
    c->first = first;
    c->second = second;
    if (!c->pinned) return;
    mo_dims_pin(dims, first);
    mo_dims_pin(dims, second);
}

/* Splits the class `longer` so that it ends (PRODUCT) or begins (SUM) with `shorter`; `rest` is what is
 * left of it. */
static bool split_part(mo_dims *dims, class_kind kind, int longer, int shorter, int *rest)
{
    int64_t a = mo_dims_extent(dims, longer), b = mo_dims_extent(dims, shorter);
    if (class_of(dims, longer)->kind != LEAF) return false;
    if (kind == PRODUCT && a % b != 0) return false;
    *rest = mo_dims_add(dims, kind == PRODUCT ? a / b : a - b);
    if (kind == PRODUCT)
        refine(dims, longer, kind, *rest, shorter);
    else
        refine(dims, longer, kind, shorter, *rest);
    return true;
}

/* Refines both lists until they agree part by part. Products are walked from the innermost part. */
static bool align(mo_dims *dims, class_kind kind, part_list *a, part_list *b)
{
    int i = kind == PRODUCT ? a->n - 1 : 0, j = kind == PRODUCT ? b->n - 1 : 0;
    int step = kind == PRODUCT ? -1 : 1;
    while (i >= 0 && i < a->n && j >= 0 && j < b->n) {
        int x = mo_dims_class(dims, a->part[i]), y = mo_dims_class(dims, b->part[j]);
        int64_t ex = mo_dims_extent(dims, x), ey = mo_dims_extent(dims, y);
        if (x == y || ex == ey) {
            if (!mo_dims_equal(dims, x, y)) return false;
            i += step;
            j += step;
        } else if (ex > ey) {
            if (!split_part(dims, kind, x, y, &a->part[i])) return false;
            j += step;
        } else {
            if (!split_part(dims, kind, y, x, &b->part[j])) return false;
            i += step;
        }
    }
    return true;
}

bool mo_dims_equal(mo_dims *dims, int a, int b)
{
    a = mo_dims_class(dims, a);
    b = mo_dims_class(dims, b);
    if (a == b) return true;
    dim_class *x = &dims->classes[a], *y = &dims->classes[b];
    if (x->extent != y->extent) return false;
    if (x->kind != LEAF && y->kind == LEAF) return mo_dims_equal(dims, b, a);
    bool pinned = x->pinned || y->pinned;
    y->shortest |= x->shortest;
    if (x->kind == LEAF) {
        x->parent = b;
    } else {
        part_list p = {0}, q = {0};
        bool same = x->kind == y->kind && flatten(dims, a, x->kind, &p) && flatten(dims, b, y->kind, &q) &&
                    align(dims, x->kind, &p, &q);
        pinned |= !same;
        dims->classes[a].parent = b;
    }
    if (pinned) mo_dims_pin(dims, b);
    return true;
}

static int64_t combined(const mo_dims *dims, class_kind kind, const int *parts, int n)
{
    int64_t total = kind == PRODUCT ? 1 : 0;
    for (int i = 0; i < n; i++) {
        int64_t extent = mo_dims_extent(dims, parts[i]);
        total = kind == PRODUCT ? total * extent : total + extent;
    }
    return total;
}

/* One class that is the product or the sum of the parts. */
static int composite(mo_dims *dims, class_kind kind, const int *parts, int n)
{
    int whole = parts[n - 1];
    for (int i = n - 2; i >= 0; i--) {
        int64_t a = mo_dims_extent(dims, parts[i]), b = mo_dims_extent(dims, whole);
        int outer = new_class(dims, kind == PRODUCT ? a * b : a + b);
        refine(dims, outer, kind, parts[i], whole);
        whole = outer;
    }
    return whole;
}

static bool composed(mo_dims *dims, class_kind kind, int whole, const int *parts, int n)
{
    if (mo_dims_extent(dims, whole) != combined(dims, kind, parts, n)) return false;
    return n == 0 || mo_dims_equal(dims, composite(dims, kind, parts, n), whole);
}

bool mo_dims_product(mo_dims *dims, int whole, const int *parts, int n)
{
    part_list kept = {0};
    for (int i = 0; i < n; i++)
        if (mo_dims_extent(dims, parts[i]) > 1) kept.part[kept.n++] = parts[i];
    return composed(dims, PRODUCT, whole, kept.part, kept.n);
}

bool mo_dims_sum(mo_dims *dims, int whole, const int *parts, int n)
{
    return n <= MAX_PARTS && composed(dims, SUM, whole, parts, n);
}

bool mo_dims_reshape(mo_dims *dims, const int *from, int n_from, const int *to, int n_to)
{
    int i = 0, j = 0;
    while (i < n_from || j < n_to) {
        int first_i = i, first_j = j;
        int64_t a = i < n_from ? mo_dims_extent(dims, from[i++]) : 1;
        int64_t b = j < n_to ? mo_dims_extent(dims, to[j++]) : 1;
        while (a != b) {
            if (a < b && i < n_from)
                a *= mo_dims_extent(dims, from[i++]);
            else if (b < a && j < n_to)
                b *= mo_dims_extent(dims, to[j++]);
            else
                return false;
        }
        if (a == 1) continue;
        part_list p = {0};
        for (int k = first_i; k < i; k++)
            if (mo_dims_extent(dims, from[k]) > 1) p.part[p.n++] = from[k];
        if (!mo_dims_product(dims, composite(dims, PRODUCT, p.part, p.n), to + first_j, j - first_j))
            return false;
    }
    return true;
}

void mo_dims_shorten(mo_dims *dims, int dim)
{
    class_of(dims, dim)->shortest = true;
}

static void spread_shortest(mo_dims *dims, int dim)
{
    dim_class *c = class_of(dims, dim);
    c->shortest = true;
    if (c->kind == LEAF) return;
    spread_shortest(dims, c->first);
    spread_shortest(dims, c->second);
}

static int64_t small_of(mo_dims *dims, int dim)
{
    dim_class *c = class_of(dims, dim);
    if (c->small == 0) {
        int64_t a = small_of(dims, c->first), b = small_of(dims, c->second);
        c->small = c->kind == PRODUCT ? a * b : a + b;
    }
    return c->small;
}

void mo_dims_choose(mo_dims *dims)
{
    dims->classes[0].small = 1;
    for (int i = 1; i < dims->count; i++)
        if (mo_dims_class(dims, i) == i && dims->classes[i].shortest) spread_shortest(dims, i);
    int64_t next = 2;
    for (int i = 1; i < dims->count; i++) {
        dim_class *c = &dims->classes[i];
        if (c->parent != i || c->kind != LEAF) continue;
        int64_t wanted = c->shortest ? 2 : next;
        if (!c->shortest) next = next == LONGEST ? 2 : next + 1;
        c->small = c->pinned || c->extent < wanted ? c->extent : wanted;
    }
    for (int i = 1; i < dims->count; i++)
        if (mo_dims_class(dims, i) == i) small_of(dims, i);
}

int64_t mo_dims_small(const mo_dims *dims, int dim)
{
    return class_of(dims, dim)->small;
}
