#include "random_program.h"

#include "base/rng.h"
#include "ir/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VALUES = 256, MAX_DIMS = 4, MOST_ELEMENTS = 6000, MOST_PRODUCTS = 150000, NAME_SIZE = 80 };

#define LARGEST 300.0 /* about the largest absolute value that is let through */

typedef struct {
    char name[NAME_SIZE];
    int rank;
    int64_t dim[MAX_DIMS];
    double size;   /* about the largest absolute value */
    bool positive; /* at least about 0.1 */
    bool used, input;
} value;

typedef struct {
    mo_rng rng;
    mo_str inputs, nodes;
    int n_values, n_nodes;
    mo_dtype dtype; /* of most inputs */
    bool odd_names;
    value values[MAX_VALUES];
} generator;

/* ---- choices ---- */

static int below(generator *g, int n)
{
    return (int)mo_rng_below(&g->rng, (uint64_t)n);
}

static bool chance(generator *g, int percent)
{
    return below(g, 100) < percent;
}

static int64_t random_extent(generator *g)
{
    static const int64_t extents[] = {1, 2, 3, 5, 7, 8, 16, 17, 24, 31, 33, 48, 64, 100, 130};
    return extents[below(g, sizeof extents / sizeof *extents)];
}

static const char *random_dtype(generator *g)
{
    static const char *const names[] = {"f16", "bf16", "f32"};
    return names[chance(g, 80) ? (int)g->dtype : below(g, 3)];
}

static int64_t elements(const value *v)
{
    int64_t product = 1;
    for (int d = 0; d < v->rank; d++) product *= v->dim[d];
    return product;
}

/* A shape with at most MOST_ELEMENTS elements. */
static value random_shape(generator *g, int rank)
{
    value v = {.rank = rank};
    do {
        for (int d = 0; d < rank; d++) v.dim[d] = random_extent(g);
    } while (elements(&v) > MOST_ELEMENTS);
    return v;
}

/* ---- values ---- */

static void name_value(generator *g, value *v, const char *prefix)
{
    /* Names that emitted code uses itself, and some that are no identifiers. */
    static const char *const odd[] = {"div%d", "g_x%d", "mo_load",  "class", "1st_%d",    "caf\\u00e9 %d",
                                      "i_n",   "k0",    "matmul%d", "rank",  "mo_half%d", "main",
                                      "a-%d",  "out%d", "p",        "*/ %d"};
    for (bool clash = true; clash;) {
        const char *pattern = odd[below(g, sizeof odd / sizeof *odd)];
        if (!g->odd_names || chance(g, 60)) {
            snprintf(v->name, sizeof v->name, "%s%d", prefix, g->n_values);
        } else {
            size_t length = strcspn(pattern, "%");
            bool numbered = pattern[length] != '\0';
            snprintf(v->name, sizeof v->name, "%.*s", (int)length, pattern);
            if (numbered) snprintf(v->name + length, sizeof v->name - length, "%d", g->n_values);
        }
        clash = false;
        for (int i = 0; i < g->n_values; i++) clash |= strcmp(g->values[i].name, v->name) == 0;
    }
}

static int add_value(generator *g, value v)
{
    g->values[g->n_values] = v;
    return g->n_values++;
}

static void print_list(mo_str *out, const int64_t *list, int count)
{
    mo_str_add(out, "[");
    for (int i = 0; i < count; i++) mo_str_printf(out, "%s%lld", i > 0 ? ", " : "", (long long)list[i]);
    mo_str_add(out, "]");
}

/* Strides of an input: its dimensions in another order, with gaps, or broadcast. */
static void print_strides(generator *g, const value *v)
{
    int order[MAX_DIMS];
    int64_t stride[MAX_DIMS], step = chance(g, 20) ? 2 : 1;
    for (int d = 0; d < v->rank; d++) order[d] = d;
    for (int d = v->rank - 1; d > 0 && chance(g, 70); d--) {
        int other = below(g, d + 1), kept = order[d];
        order[d] = order[other];
        order[other] = kept;
    }
    bool broadcast = chance(g, 30);
    for (int i = v->rank - 1; i >= 0; i--) {
        bool drop = broadcast && chance(g, 50);
        stride[order[i]] = drop ? 0 : step;
        if (!drop) step *= v->dim[order[i]];
        if (chance(g, 25)) step += 1 + below(g, 8);
    }
    mo_str_add(&g->inputs, ", \"strides\": ");
    print_list(&g->inputs, stride, v->rank);
}

static int add_input(generator *g, value v)
{
    name_value(g, &v, "x");
    v.size = 4.0;
    v.positive = false;
    v.used = false;
    v.input = true;
    mo_str_printf(&g->inputs, "%s  {\"name\": \"%s\", \"shape\": ", g->inputs.length > 0 ? ",\n" : "",
                  v.name);
    print_list(&g->inputs, v.dim, v.rank);
    mo_str_printf(&g->inputs, ", \"dtype\": \"%s\"", random_dtype(g));
    if (v.rank > 0 && chance(g, 20)) print_strides(g, &v);
    mo_str_add(&g->inputs, "}");
    return add_value(g, v);
}

/* An existing value, more likely a late one. */
static int pick(generator *g)
{
    int last = g->n_values - 1;
    return chance(g, 60) ? last - below(g, last < 3 ? last + 1 : 3) : below(g, last + 1);
}

static void start_node(generator *g, const char *op)
{
    mo_str_printf(&g->nodes, "%s  {\"op\": \"%s\", \"inputs\": [", g->nodes.length > 0 ? ",\n" : "", op);
}

static void operand(generator *g, int a, const char *comma)
{
    mo_str_printf(&g->nodes, "%s\"%s\"", comma, g->values[a].name);
    g->values[a].used = true;
}

/* Opens a node that reads value `a` (and `b`, unless negative). */
static void open_node(generator *g, const char *op, int a, int b)
{
    start_node(g, op);
    operand(g, a, "");
    if (b >= 0) operand(g, b, ", ");
    mo_str_add(&g->nodes, "]");
}

static void close_node(generator *g, value v)
{
    v.used = v.input = false;
    name_value(g, &v, "t");
    mo_str_printf(&g->nodes, ", \"output\": \"%s\"}", v.name);
    g->n_nodes++;
    add_value(g, v);
}

/* ---- operators ---- */

typedef struct {
    const char *op, *attributes;
    double factor, least, most; /* size of the result: factor * size, clamped to [least, most] */
    bool positive;
} unary_row;

static void unary(generator *g)
{
    static const unary_row rows[] = {
        {"neg", "", 1, 0, 1e9, false},
        {"abs", "", 1, 0, 1e9, false},
        {"relu", "", 1, 0, 1e9, false},
        {"sigmoid", "", 0, 1, 1, false},
        {"silu", "", 1, 0, 1e9, false},
        {"tanh", "", 0, 1, 1, false},
        {"gelu", ", \"approximate\": \"none\"", 1, 0, 1e9, false},
        {"gelu", ", \"approximate\": \"tanh\"", 1, 0, 1e9, false},
        {"clamp", ", \"min\": -1.5, \"max\": 2", 1, 0, 2, false},
        {"clamp", ", \"min\": 0.25, \"max\": 3", 1, 3, 3, true},
        {"cast", ", \"dtype\": \"f16\"", 1, 0, 1e9, false},
        {"cast", ", \"dtype\": \"bf16\"", 1, 0, 1e9, false},
        {"cast", ", \"dtype\": \"f32\"", 1, 0, 1e9, false},
    };
    const unary_row *row = &rows[below(g, sizeof rows / sizeof *rows)];
    int a = pick(g);
    value v = g->values[a];
    open_node(g, row->op, a, -1);
    mo_str_add(&g->nodes, row->attributes);
    v.size = fmin(fmax(v.size * row->factor, row->least), row->most);
    v.positive = row->positive || (v.positive && row->factor > 0 && strcmp(row->op, "neg") != 0);
    close_node(g, v);
}

/* Operators that need a range of their operand. */
static void ranged(generator *g)
{
    int a = pick(g);
    value v = g->values[a];
    if (v.positive) {
        static const char *const ops[] = {"log", "sqrt", "rsqrt", "reciprocal"};
        int which = below(g, 4);
        open_node(g, ops[which], a, -1);
        v.size = which == 1 ? v.size : 10.0;
        v.positive = which == 1 || (which > 1 && g->values[a].size < 10.0);
    } else if (v.size <= 5.0 && chance(g, 60)) {
        open_node(g, "exp", a, -1);
        v.size = exp(v.size);
    } else if (v.size <= 16.0) {
        open_node(g, "square", a, -1);
        v.size *= v.size;
    } else {
        return;
    }
    close_node(g, v);
}

static void with_number(generator *g)
{
    static const char *const ops[] = {"add", "sub", "mul", "div", "maximum", "minimum"};
    static const char *const numbers[] = {"0.5", "2", "-1", "0.1", "1e-3", "3", "0.17", "-0.25", "1", "0"};
    int a = pick(g), op = below(g, 6), number = below(g, op == 3 ? 9 : 10);
    value v = g->values[a];
    double x = strtod(numbers[number], NULL);
    bool first = op != 3 && chance(g, 20);
    if (op == 3 && fabs(x) < 0.1) return;
    v.size = op < 2    ? v.size + fabs(x)
             : op == 2 ? v.size * fabs(x)
             : op == 3 ? v.size / fabs(x)
                       : fmax(v.size, fabs(x));
    if (v.size > LARGEST) return;
    start_node(g, ops[op]);
    if (first) mo_str_add(&g->nodes, numbers[number]);
    operand(g, a, first ? ", " : "");
    mo_str_printf(&g->nodes, first ? "]" : ", %s]", numbers[number]);
    v.positive = (op == 4 && x >= 0.1) || (op == 0 && v.positive && x >= 0);
    close_node(g, v);
}

static void power(generator *g)
{
    static const char *const any[] = {"2", "3", "1", "0"}, *const positive[] = {"0.5", "-1", "1.5", "-0.5"};
    int a = pick(g), which = below(g, 4);
    value v = g->values[a];
    if (!v.positive && v.size > (which == 1 ? 6.0 : 16.0)) return;
    start_node(g, "pow");
    operand(g, a, "");
    mo_str_printf(&g->nodes, ", %s]", v.positive ? positive[which] : any[which]);
    v.size = v.positive ? fmax(v.size * sqrt(v.size), 10.0) : pow(v.size, strtod(any[which], NULL));
    if (v.size < 1) v.size = 1;
    v.positive = v.positive && which != 1;
    close_node(g, v);
}

/* The shape that a and b broadcast to; false if they do not, or if it has too many elements. */
static bool broadcast(const value *a, const value *b, value *result)
{
    *result = (value){.rank = a->rank > b->rank ? a->rank : b->rank};
    for (int i = 0; i < result->rank; i++) {
        int64_t x = i < a->rank ? a->dim[a->rank - 1 - i] : 1, y = i < b->rank ? b->dim[b->rank - 1 - i] : 1;
        if (x != y && x != 1 && y != 1) return false;
        result->dim[result->rank - 1 - i] = x == 1 ? y : x;
    }
    return elements(result) <= MOST_ELEMENTS;
}

/* A shape that broadcasts with v: some dimensions left out, some 1, some of v's own ones grown. */
static value partner_shape(generator *g, const value *v)
{
    value p = {.rank = v->rank};
    int drop = v->rank > 0 && chance(g, 30) ? below(g, v->rank + 1) : 0;
    p.rank = v->rank - drop;
    for (int d = 0; d < p.rank; d++) {
        int64_t extent = v->dim[d + drop];
        p.dim[d] = chance(g, 25) ? 1 : extent == 1 && chance(g, 30) ? random_extent(g) : extent;
    }
    return p;
}

static int find_partner(generator *g, int a)
{
    value joined;
    for (int tries = 0; tries < 4; tries++) {
        int b = pick(g);
        if (broadcast(&g->values[a], &g->values[b], &joined)) return b;
    }
    value p = partner_shape(g, &g->values[a]);
    return broadcast(&g->values[a], &p, &joined) ? add_input(g, p) : a;
}

static void binary(generator *g)
{
    static const char *const ops[] = {"add", "sub", "mul", "maximum", "minimum", "div"};
    int a = pick(g), b = find_partner(g, a), op = below(g, g->values[b].positive ? 6 : 5);
    value joined, x = g->values[a], y = g->values[b];
    if (!broadcast(&x, &y, &joined)) return;
    joined.size = op < 2    ? x.size + y.size
                  : op == 2 ? x.size * y.size
                  : op == 5 ? x.size * 10
                            : fmax(x.size, y.size);
    if (joined.size > LARGEST) return;
    joined.positive = x.positive && y.positive && (op == 0 || op == 3 || op == 4);
    open_node(g, ops[op], a, b);
    close_node(g, joined);
}

/* Chooses axes of v: prints them, clears them in *kept, and returns how many elements they have. */
static int64_t random_axes(generator *g, const value *v, bool kept[MAX_DIMS], int *count)
{
    int64_t chosen[MAX_DIMS], product = 1;
    *count = 0;
    for (int d = 0; d < v->rank; d++) kept[d] = !chance(g, 50);
    if (v->rank > 0) kept[below(g, v->rank)] = false;
    for (int d = 0; d < v->rank; d++) {
        if (kept[d]) continue;
        chosen[(*count)++] = chance(g, 40) ? d - v->rank : d;
        product *= v->dim[d];
    }
    if (*count > 0) mo_str_add(&g->nodes, ", \"axes\": ");
    if (*count > 0) print_list(&g->nodes, chosen, *count);
    return product;
}

static void reduction(generator *g)
{
    static const char *const ops[] = {"sum", "mean", "max", "min"};
    int a = pick(g), op = below(g, 4), count;
    value v = g->values[a], r = {.size = v.size, .positive = v.positive};
    bool kept[MAX_DIMS] = {false}, keepdims = chance(g, 40);
    if (op == 0 && v.size * (double)elements(&v) > 20 * LARGEST) return;
    open_node(g, ops[op], a, -1);
    int64_t product = 1;
    if (v.rank > 0 && chance(g, 85))
        product = random_axes(g, &v, kept, &count);
    else
        product = elements(&v);
    if (op == 0) r.size *= v.positive ? (double)product : 2 * sqrt((double)product);
    for (int d = 0; d < v.rank; d++) {
        if (kept[d])
            r.dim[r.rank++] = v.dim[d];
        else if (keepdims)
            r.dim[r.rank++] = 1;
    }
    if (keepdims) mo_str_add(&g->nodes, ", \"keepdims\": true");
    close_node(g, r);
}

static void softmax(generator *g)
{
    int a = pick(g);
    value v = g->values[a];
    if (v.rank == 0) return;
    open_node(g, "softmax", a, -1);
    mo_str_printf(&g->nodes, ", \"axis\": %d", below(g, 2 * v.rank) - v.rank);
    v.size = 1;
    v.positive = false;
    close_node(g, v);
}

/* A norm over trailing axes, perhaps with weight and bias. */
static void norm(generator *g)
{
    static const char *const ops[] = {"rms_norm", "layer_norm", "l2_norm"};
    int a = pick(g), op = below(g, 3), first = 0, count;
    value v = g->values[a];
    if (v.rank == 0) return;
    first = chance(g, 70) ? v.rank - 1 : below(g, v.rank);
    value w = {.rank = v.rank - first};
    memcpy(w.dim, v.dim + first, sizeof *w.dim * (size_t)w.rank);
    int weight = op < 2 && chance(g, 50) ? add_input(g, w) : -1;
    int bias = op == 1 && weight >= 0 && chance(g, 60) ? add_input(g, w) : -1;
    start_node(g, ops[op]);
    operand(g, a, "");
    if (weight >= 0) operand(g, weight, ", ");
    if (bias >= 0) operand(g, bias, ", ");
    mo_str_add(&g->nodes, "]");
    bool kept[MAX_DIMS];
    if (op == 2) {
        random_axes(g, &v, kept, &count);
    } else {
        int64_t axes[MAX_DIMS];
        for (int d = first; d < v.rank; d++) axes[d - first] = chance(g, 40) ? d - v.rank : d;
        mo_str_add(&g->nodes, ", \"axes\": ");
        print_list(&g->nodes, axes, w.rank);
    }
    mo_str_add(&g->nodes, chance(g, 50) ? ", \"eps\": 1e-5" : ", \"eps\": 0.01");
    v.size = weight >= 0 ? 30 : 8;
    v.positive = false;
    close_node(g, v);
}

/* Batch dimensions of the other operand: those of v, some 1, some left out. */
static int batch_of(generator *g, const value *v, int64_t dim[MAX_DIMS])
{
    int rank = v->rank - 2, drop = chance(g, 40) ? below(g, rank + 1) : 0;
    for (int d = drop; d < rank; d++) dim[d - drop] = chance(g, 25) ? 1 : v->dim[d];
    return rank - drop;
}

static bool multiplies(const value *a, bool ta, const value *b, bool tb, value *result, int64_t *k)
{
    if (a->rank < 2 || b->rank < 2) return false;
    int64_t inner = a->dim[a->rank - (ta ? 2 : 1)];
    if (inner != b->dim[b->rank - (tb ? 1 : 2)]) return false;
    value x = *a, y = *b;
    x.dim[x.rank - 1] = x.dim[x.rank - 2] = y.dim[y.rank - 1] = y.dim[y.rank - 2] = 1;
    if (!broadcast(&x, &y, result)) return false;
    result->dim[result->rank - 2] = a->dim[a->rank - (ta ? 1 : 2)];
    result->dim[result->rank - 1] = b->dim[b->rank - (tb ? 2 : 1)];
    *k = inner;
    return elements(result) <= MOST_ELEMENTS && elements(result) * inner <= MOST_PRODUCTS;
}

static void matmul(generator *g)
{
    int a = pick(g);
    bool ta = chance(g, 25), tb = chance(g, 35), flip = chance(g, 25);
    for (int i = g->n_values - 1; i >= 0 && g->values[a].rank < 2; i--) a = i;
    value v = g->values[a], result;
    int64_t k;
    if (v.rank < 2) return;
    int b = -1;
    for (int tries = 0; tries < 3 && b < 0; tries++) {
        int other = pick(g);
        if (multiplies(&v, ta, &g->values[other], tb, &result, &k)) b = other;
    }
    if (b < 0) {
        value w = {0};
        w.rank = batch_of(g, &v, w.dim) + 2;
        int64_t inner = v.dim[v.rank - ((ta != flip) ? 2 : 1)], own = random_extent(g);
        bool t = flip ? !tb : tb; /* the other operand may come first */
        w.dim[w.rank - 2] = t ? own : inner;
        w.dim[w.rank - 1] = t ? inner : own;
        if (flip) {
            /* w is the left operand: its inner axis is the last one unless transposed. */
            inner = v.dim[v.rank - (tb ? 1 : 2)];
            w.dim[w.rank - (ta ? 2 : 1)] = inner;
            w.dim[w.rank - (ta ? 1 : 2)] = own;
        }
        bool fits = flip ? multiplies(&w, ta, &v, tb, &result, &k) : multiplies(&v, ta, &w, tb, &result, &k);
        if (!fits) return;
        b = add_input(g, w);
    } else {
        flip = false;
    }
    double scale = g->values[b].input && !flip ? 6.0 : 2 * sqrt((double)k) * g->values[b].size;
    result.size = v.size * scale;
    result.positive = false;
    if (result.size > 4 * LARGEST) return;
    if (flip)
        open_node(g, "matmul", b, a);
    else
        open_node(g, "matmul", a, b);
    if (ta) mo_str_add(&g->nodes, ", \"transpose_a\": true");
    if (tb) mo_str_add(&g->nodes, ", \"transpose_b\": true");
    close_node(g, result);
}

/* ---- data movement ---- */

static void transpose(generator *g, int a)
{
    value v = g->values[a], r = v;
    int64_t perm[MAX_DIMS];
    for (int d = 0; d < v.rank; d++) perm[d] = d;
    for (int d = v.rank - 1; d > 0; d--) {
        int other = below(g, d + 1);
        int64_t kept = perm[d];
        perm[d] = perm[other];
        perm[other] = kept;
    }
    for (int d = 0; d < v.rank; d++) r.dim[d] = v.dim[perm[d]];
    open_node(g, "transpose", a, -1);
    mo_str_add(&g->nodes, ", \"perm\": ");
    print_list(&g->nodes, perm, v.rank);
    close_node(g, r);
}

static void slice(generator *g, int a)
{
    value v = g->values[a];
    int axis = below(g, v.rank);
    if (v.dim[axis] == 1) return;
    int64_t start = below(g, (int)v.dim[axis]), stop = start + 1 + below(g, (int)(v.dim[axis] - start));
    open_node(g, "slice", a, -1);
    mo_str_printf(&g->nodes, ", \"axis\": %d, \"start\": %lld, \"stop\": %lld", axis, (long long)start,
                  (long long)stop);
    v.dim[axis] = stop - start;
    close_node(g, v);
}

/* Two neighbours become one, or one becomes two. */
static void reshape(generator *g, int a)
{
    value v = g->values[a], r = v;
    int at = below(g, v.rank);
    int64_t factor = v.dim[at] % 3 == 0 ? 3 : v.dim[at] % 2 == 0 ? 2 : 1;
    if (v.rank > 1 && (v.rank == MAX_DIMS || chance(g, 50))) {
        at = below(g, v.rank - 1);
        r.dim[at] *= r.dim[at + 1];
        for (int d = at + 1; d + 1 < v.rank; d++) r.dim[d] = v.dim[d + 1];
        r.rank--;
    } else if (v.rank < MAX_DIMS) {
        for (int d = v.rank; d > at + 1; d--) r.dim[d] = v.dim[d - 1];
        r.dim[at] = v.dim[at] / factor;
        r.dim[at + 1] = factor;
        r.rank++;
    }
    open_node(g, "reshape", a, -1);
    mo_str_add(&g->nodes, ", \"shape\": ");
    print_list(&g->nodes, r.dim, r.rank);
    close_node(g, r);
}

static void concat(generator *g, int a)
{
    value v = g->values[a], w = v, r = v;
    int axis = below(g, v.rank);
    w.dim[axis] = 1 + below(g, 9);
    r.dim[axis] += w.dim[axis];
    if (elements(&r) > MOST_ELEMENTS) return;
    int b = add_input(g, w);
    bool first = chance(g, 50);
    open_node(g, "concat", first ? a : b, first ? b : a);
    mo_str_printf(&g->nodes, ", \"axis\": %d", axis - (chance(g, 30) ? v.rank : 0));
    r.size = fmax(v.size, 4.0);
    r.positive = false;
    close_node(g, r);
}

static void broadcast_to(generator *g, int a)
{
    value v = g->values[a], r = v;
    if (v.rank < MAX_DIMS && chance(g, 50)) {
        for (int d = v.rank; d > 0; d--) r.dim[d] = v.dim[d - 1];
        r.dim[0] = random_extent(g);
        r.rank++;
    }
    for (int d = 0; d < r.rank; d++)
        if (r.dim[d] == 1) r.dim[d] = random_extent(g);
    if (elements(&r) > MOST_ELEMENTS) return;
    open_node(g, "broadcast_to", a, -1);
    mo_str_add(&g->nodes, ", \"shape\": ");
    print_list(&g->nodes, r.dim, r.rank);
    close_node(g, r);
}

/* A split into two, of which the second is the value that goes on. */
static void split(generator *g, int a)
{
    value v = g->values[a], first = v, second = v;
    int axis = below(g, v.rank);
    if (v.dim[axis] < 2 || g->n_values > MAX_VALUES - 6) return;
    first.dim[axis] = 1 + below(g, (int)v.dim[axis] - 1);
    second.dim[axis] = v.dim[axis] - first.dim[axis];
    open_node(g, "split", a, -1);
    first.used = first.input = second.used = second.input = false;
    name_value(g, &first, "s");
    add_value(g, first);
    name_value(g, &second, "s");
    mo_str_printf(&g->nodes, ", \"axis\": %d, \"sections\": [%lld, %lld], \"outputs\": [\"%s\", \"%s\"]}",
                  axis, (long long)first.dim[axis], (long long)second.dim[axis], first.name, second.name);
    g->n_nodes++;
    add_value(g, second);
}

static void movement(generator *g)
{
    static void (*const moves[])(generator *, int) = {transpose, slice, reshape, concat, broadcast_to, split};
    int a = pick(g);
    if (g->values[a].rank > 0) moves[below(g, 6)](g, a);
}

/* A causal mask in front of a softmax over the last axis: exp(-inf) is 0, rows that are masked as a whole are
 * NaN. */
static void masked_softmax(generator *g)
{
    int a = pick(g);
    value v = g->values[a];
    if (v.rank < 2) return;
    open_node(g, "causal_mask", a, -1);
    mo_str_printf(&g->nodes, ", \"offset\": %d", below(g, 6) - 2);
    close_node(g, v);
    g->values[g->n_values - 1].used = true;
    open_node(g, "softmax", g->n_values - 1, -1);
    mo_str_add(&g->nodes, ", \"axis\": -1");
    v.size = 1;
    v.positive = false;
    close_node(g, v);
}

/* ---- the program ---- */

static void node(generator *g)
{
    int choice = below(g, 120);
    if (choice >= 104)
        movement(g);
    else if (choice >= 100)
        masked_softmax(g);
    else if (choice < 28)
        matmul(g);
    else if (choice < 43)
        binary(g);
    else if (choice < 56)
        unary(g);
    else if (choice < 64)
        with_number(g);
    else if (choice < 76)
        reduction(g);
    else if (choice < 84)
        softmax(g);
    else if (choice < 92)
        norm(g);
    else if (choice < 96)
        ranged(g);
    else
        power(g);
}

/* Everything that nothing uses, and now and then a value twice, one from the middle, or an input. */
static void print_outputs(generator *g, mo_str *out)
{
    int count = 0;
    for (int i = 0; i < g->n_values; i++) {
        bool last = i == g->n_values - 1;
        bool take = (!g->values[i].used && !g->values[i].input) || (last && count == 0) || chance(g, 4);
        for (int times = take ? 1 + chance(g, 4) : 0; times > 0; times--)
            mo_str_printf(out, "%s\"%s\"", count++ > 0 ? ", " : "", g->values[i].name);
    }
}

void mo_random_program(mo_str *out, uint64_t seed, int nodes)
{
    static const char *const names[] = {"p",
                                        "mo_a_rather_long_name_of_a_program_that_no_table_would_hold_in_full",
                                        "9 lives", "main", "class"};
    generator g = {.rng = mo_rng_seed(seed, 17)};
    g.dtype = (mo_dtype)below(&g, 3);
    g.odd_names = chance(&g, 20);
    if (nodes == 0) nodes = 1 + below(&g, 12);
    for (int i = 1 + below(&g, 2); i > 0; i--)
        add_input(&g, random_shape(&g, chance(&g, 60) ? 2 : below(&g, MAX_DIMS + 1)));
    for (int tries = 0; g.n_nodes < nodes && tries < 20 * nodes && g.n_values < MAX_VALUES - 4; tries++)
        node(&g);
    char name[32];
    snprintf(name, sizeof name, "fuzz%llu", (unsigned long long)seed);
    mo_str_printf(out, "{\"format\": \"mirage-opt/1\", \"name\": \"%s\",\n \"inputs\": [\n",
                  g.odd_names ? names[below(&g, 5)] : name);
    mo_str_printf(out, "%s],\n \"nodes\": [\n%s],\n \"outputs\": [", mo_str_text(&g.inputs),
                  mo_str_text(&g.nodes));
    print_outputs(&g, out);
    mo_str_add(out, "]}\n");
    mo_str_free(&g.inputs);
    mo_str_free(&g.nodes);
}
