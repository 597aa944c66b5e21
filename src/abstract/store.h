/* Inside of abstract expressions: the hash-consed normal form and its operations.
 *
 *     Poly  a multiset of Mono
 *     Mono  sign * sig * leaves * opaques * exp(ex) * sqrt(sq) / den
 *
 * `sig` is the product of the sum lengths that float to the monomial, `leaves` a multiset of variables
 * and literals, `opaques` a multiset of applications of functions without axioms, `ex` and `sq` the
 * arguments of the one merged exponential and square root, `den` the product of all denominators; the
 * last three are Polys. All are ids into pools of byte strings, so that equality is one comparison.
 * A Mono whose numerator is empty is an operator: "sum of length 4" or "divided by d". */
#ifndef MO_ABSTRACT_STORE_H
#define MO_ABSTRACT_STORE_H

#include "abstract/abstract.h"

typedef struct {
    uint64_t sig;
    uint32_t sign; /* 1: negative */
    uint32_t leaves, opaques;
    uint32_t ex, sq, den;
} mo_abs_mono;

typedef struct {
    uint32_t mono, count;
} mo_abs_term;

typedef struct {
    const void *data;
    uint32_t length, hash;
    uint32_t size;  /* polys: monomials with multiplicity */
    uint64_t parts; /* monos, polys: which parts occur, hashed to bits */
} mo_abs_entry;

typedef struct {
    mo_abs_entry *entries;
    uint32_t *slots; /* id + 1, or 0 */
    uint32_t count, capacity, mask;
} mo_abs_pool;

typedef enum {
    MEMO_NONE,
    MEMO_BAG_ADD,
    MEMO_BAG_MINUS,
    MEMO_TIMES,
    MEMO_ADD,
    MEMO_MUL,
    MEMO_SCALE,
    MEMO_MINUS,
    MEMO_DIVIDE,
    MEMO_UNIT_BETWEEN,
    MEMO_INSIDE,
    MEMO_SUBEXPR
} mo_abs_memo_kind;

typedef struct {
    uint32_t kind, a, b, value;
} mo_abs_memo;

/* What a part of a target allows. */
typedef struct {
    uint64_t parts;
    uint32_t size;
} mo_abs_bound;

struct mo_abs {
    mo_arena *arena;   /* everything interned */
    mo_arena *scratch; /* buffers of the running operation, released in stack order */
    bool numbers;
    uint64_t limit; /* monomials */
    int n_bounds;   /* 0: no targets are set */
    mo_abs_bound *bounds;
    mo_abs_pool symbols, bags, opaques, monos, polys;
    mo_abs_memo *memo;
    uint32_t memo_count, memo_mask;
};

/* Ids that are always there. */
enum { ABS_EMPTY_BAG = 0, ABS_ONE = 0 /* mono */, ABS_ABSENT = 0 /* poly */, ABS_UNIT = 1 /* poly {ONE} */ };

/* Results that are no id. */
#define ABS_BIG UINT32_MAX        /* outgrew the limit */
#define ABS_NONE (UINT32_MAX - 1) /* no such quotient or difference */
#define ABS_MANY (UINT32_MAX - 2) /* perhaps more than one quotient */
#define ABS_LAST_ID (UINT32_MAX - 3)

void mo_abs_store_init(mo_abs *abs);
uint32_t mo_abs_intern(mo_abs *abs, mo_abs_pool *pool, const void *data, size_t length);
bool mo_abs_memo_find(const mo_abs *abs, mo_abs_memo_kind kind, uint32_t a, uint32_t b, uint32_t *value);
uint32_t mo_abs_memo_put(mo_abs *abs, mo_abs_memo_kind kind, uint32_t a, uint32_t b, uint32_t value);

static inline const mo_abs_mono *mo_abs_mono_at(const mo_abs *abs, uint32_t id)
{
    return (const mo_abs_mono *)abs->monos.entries[id].data;
}
static inline const mo_abs_term *mo_abs_terms(const mo_abs *abs, uint32_t poly, uint32_t *count)
{
    *count = abs->polys.entries[poly].length / (uint32_t)sizeof(mo_abs_term);
    return (const mo_abs_term *)abs->polys.entries[poly].data;
}
static inline const uint32_t *mo_abs_bag(const mo_abs *abs, uint32_t bag, uint32_t *count)
{
    *count = abs->bags.entries[bag].length / (uint32_t)sizeof(uint32_t);
    return (const uint32_t *)abs->bags.entries[bag].data;
}
/* If some bit of `parts` of n is missing in m, m is no multiple of n. */
static inline uint64_t mo_abs_mono_parts(const mo_abs *abs, uint32_t id)
{
    return abs->monos.entries[id].parts;
}
static inline uint64_t mo_abs_poly_parts(const mo_abs *abs, uint32_t id)
{
    return abs->polys.entries[id].parts;
}
static inline uint32_t mo_abs_size(const mo_abs *abs, uint32_t poly)
{
    return abs->polys.entries[poly].size;
}

/* poly.c: the operations. ABSENT is neutral for add and mul; BIG in, BIG out. */
uint32_t mo_abs_mono_id(mo_abs *abs, mo_abs_mono mono);
uint32_t mo_abs_poly_of(mo_abs *abs, uint32_t mono);
uint32_t mo_abs_times(mo_abs *abs, uint32_t m, uint32_t n);
uint32_t mo_abs_poly_add(mo_abs *abs, uint32_t p, uint32_t q);
uint32_t mo_abs_poly_mul(mo_abs *abs, uint32_t p, uint32_t q);
uint32_t mo_abs_scale(mo_abs *abs, uint32_t operator_mono, uint32_t p);
uint32_t mo_abs_poly_intern(mo_abs *abs, mo_abs_term *terms, uint32_t count); /* sorts and merges */

/* quotient.c: their inverses. */
uint32_t mo_abs_over(mo_abs *abs, uint32_t m, uint32_t n);        /* the o with times(o, n) = m */
uint32_t mo_abs_poly_minus(mo_abs *abs, uint32_t p, uint32_t q);  /* the r with add(q, r) = p */
uint32_t mo_abs_poly_divide(mo_abs *abs, uint32_t p, uint32_t q); /* the r with mul(q, r) = p */

#endif
