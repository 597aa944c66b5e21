/* Exact arithmetic that stands in for the reals: pairs (or triples) of residues.
 *
 * A value lives in Z_p x Z_q with p = 2q+1 (and x Z_r with q = 2r+1 in a chain). The q-part exists for
 * values that will stand under an exponential: exp maps (., x_q) to w^x_q for a random w of order q, and
 * the q-part of the result is unknown (in a chain it comes from the r-part in the same way, so that two
 * exponentials may stand on one path). Sums, products and quotients go part by part; a square root is the
 * power map x^((p+1)/4), which is multiplicative everywhere and a true root of squares. Order (max, relu,
 * clamp, ...) is a real total order of the p-parts. What has no algebra (log, erf, rounding) is a random
 * function keyed by the p-part and every attribute.
 *
 * With `free` set, roots and everything that has to do with order are random functions of their operands
 * as well (symmetric ones where they are): two graphs that agree then agree whatever these functions are.
 * That asks for more than is true (sqrt(ab) = sqrt(a) sqrt(b) is lost), but it is covered by a bound and
 * needs no squares.
 *
 * A field is drawn from a seed and immutable afterwards; values are plain data. */
#ifndef MO_VERIFY_FIELD_H
#define MO_VERIFY_FIELD_H

#include "base/hash.h"
#include "ir/prim.h"
#include "verify/primes.h"

/* Bits of mo_fval.state. A value has either some known parts (P first) or one of the last two bits; 0 is
 * never the state of a value. */
enum {
    MO_FV_P = 1,
    MO_FV_Q = 2,
    MO_FV_R = 4,
    MO_FV_NEG_INF = 8,   /* a masked element */
    MO_FV_UNDEFINED = 16 /* a quotient by zero, ...: this draw of the inputs says nothing */
};

typedef struct {
    uint32_t p, q, r; /* parts that are not known mean nothing */
    uint32_t state;
} mo_fval;

#define MO_POWER_DIGITS 4

typedef struct {
    mo_modulus p, q, r;     /* r.prime is 0 without a chain */
    bool free;              /* set by the caller after the draw */
    bool free_order;        /* the same for what has to do with order alone; roots stay true */
    uint32_t parts;         /* state of a fully known value: P|Q or P|Q|R */
    uint64_t key;           /* of the random functions */
    uint64_t order_key;     /* of the order */
    bool constants_square;  /* every positive constant is a square in every field (see mo_field_draw) */
    bool constants_ordered; /* the constants stand in their real order */
    uint32_t exp_p[MO_POWER_DIGITS][256]; /* powers of w, by the bytes of the exponent */
    uint32_t exp_q[MO_POWER_DIGITS][256];
} mo_field;

/* Draws primes, w and keys from (seed, round). `constants` are the numbers that the compared graphs contain:
 * primes are drawn again until all their absolute values are squares, and the order until they stand in
 * their real order. With more than six of them that are no products of 2, 3, 5 and 7 neither is possible
 * in reasonable time, and the two flags say so: a mismatch then rejects nothing. */
void mo_field_draw(mo_field *field, uint64_t seed, uint64_t round, bool chain, const double *constants,
                   int n_constants);

/* The shortest decimal that reads back as `number`, as an exact rational in each field. */
mo_fval mo_field_constant(const mo_field *f, double number);
mo_fval mo_field_integer(const mo_field *f, int64_t number);

/* Uniform value number `index` of the stream `key`. */
static inline mo_fval mo_field_random(const mo_field *f, uint64_t key, uint64_t index)
{
    uint64_t bits = mo_rng_at(key, index);
    mo_fval v = {0, 0, 0, f->parts};
    v.p = (uint32_t)(((mo_u128)bits * f->p.prime) >> 64);
    bits = mo_mix64(bits ^ 0xa0761d6478bd642fu);
    v.q = (uint32_t)(((mo_u128)bits * f->q.prime) >> 64);
    if (f->r.prime == 0) return v;
    bits = mo_mix64(bits ^ 0xe7037ed1a0b428dbu);
    v.r = (uint32_t)(((mo_u128)bits * f->r.prime) >> 64);
    return v;
}

mo_fval mo_field_add(const mo_field *f, mo_fval a, mo_fval b);
mo_fval mo_field_sub(const mo_field *f, mo_fval a, mo_fval b);
mo_fval mo_field_mul(const mo_field *f, mo_fval a, mo_fval b);
mo_fval mo_field_div(const mo_field *f, mo_fval a, mo_fval b);
mo_fval mo_field_neg(const mo_field *f, mo_fval a);
/* values[i] = values[i] / divisors[i], with few inverses. */
void mo_field_divide(const mo_field *f, mo_fval *values, const mo_fval *divisors, int64_t n);
mo_fval mo_field_reciprocal(const mo_field *f, mo_fval a);
mo_fval mo_field_exp(const mo_field *f, mo_fval a);
mo_fval mo_field_sqrt(const mo_field *f, mo_fval a);
mo_fval mo_field_pow(const mo_field *f, mo_fval a, double exponent);
mo_fval mo_field_max(const mo_field *f, mo_fval a, mo_fval b);
mo_fval mo_field_min(const mo_field *f, mo_fval a, mo_fval b);

/* Is every known part of a radicand a square, so that its root is a true one? */
bool mo_field_is_square(const mo_field *f, mo_fval a);

/* A random function of the p-part of `a`, one for each `tag`. */
mo_fval mo_field_keyed(const mo_field *f, uint64_t tag, mo_fval a);

/* Rounding to a narrower type. mo_cast_is_identity says which casts are none. */
mo_fval mo_field_cast(const mo_field *f, mo_dtype to, mo_fval a);
static inline bool mo_cast_is_identity(mo_dtype from, mo_dtype to)
{
    return to == MO_F32 || to == from;
}

/* By the table of operators. `attrs` gives op and attributes (clamp bounds, the form of gelu, the target of
 * a narrowing cast). pow takes its exponent as a number: mo_field_pow. */
mo_fval mo_field_unary(const mo_field *f, const mo_prim_node *attrs, mo_fval x);
mo_fval mo_field_binary(const mo_field *f, mo_op op, mo_fval a, mo_fval b);

/* SUM, MAX, MIN (MATMUL: the sum of its products): the first element, one more, and the result. */
mo_fval mo_field_reduce_start(const mo_field *f, mo_op op, mo_fval x);
mo_fval mo_field_reduce_step(const mo_field *f, mo_op op, mo_fval acc, mo_fval x);
mo_fval mo_field_reduce_end(const mo_field *f, mo_op op, mo_fval acc);

/* Equal in every part that both know. Undefined equals nothing. */
bool mo_fval_equal(mo_fval a, mo_fval b);

/* The same p-part (or both masked): what results are compared by. The other parts are there for exponentials;
 * where a value is one of several roots or the larger of two they may choose differently. */
static inline bool mo_fval_same(mo_fval a, mo_fval b)
{
    uint32_t both = a.state & b.state;
    return (both & MO_FV_NEG_INF) || ((both & MO_FV_P) && a.p == b.p);
}

/* Hash of the p-parts: equal for arrays that are equal as functions, whatever other parts are known.
 * `clean` (may be NULL) tells whether every element is defined. */
mo_hash128 mo_fingerprint(const mo_fval *values, int64_t count, bool *clean);

static inline bool mo_field_order_is_free(const mo_field *f)
{
    return f->free || f->free_order;
}

static inline mo_fval mo_fval_special(uint32_t state)
{
    return (mo_fval){0, 0, 0, state};
}

/* Sum of products without a division for each term. */
typedef struct {
    uint64_t p, q, r;
    uint32_t state;
    mo_fval slow; /* once a special value has been seen: the exact sum so far */
} mo_field_sum;

static inline mo_field_sum mo_field_sum_start(const mo_field *f)
{
    return (mo_field_sum){0, 0, 0, f->parts, {0, 0, 0, 0}};
}

void mo_field_sum_special(const mo_field *f, mo_field_sum *sum, mo_fval a, mo_fval b);
mo_fval mo_field_sum_end(const mo_field *f, const mo_field_sum *sum);

/* acc + x*y for an accumulator below prime << 32; keeps it there. */
static inline uint64_t mo_accumulate(uint64_t acc, uint32_t x, uint32_t y, uint64_t limit)
{
    uint64_t sum = acc + (uint64_t)x * y, less = sum - limit;
    return sum < limit ? sum : less;
}

/* Adds n products. */
void mo_field_sum_dot(const mo_field *f, mo_field_sum *sum, const mo_fval *a, const mo_fval *b, int64_t n);

/* Rows times columns, both of n elements: adds to sums[row * columns + column]. Fast for up to
 * MO_FIELD_COLUMNS columns. */
#define MO_FIELD_COLUMNS 256

typedef struct {
    const mo_fval *left, *right; /* [row * n + element], [column * n + element] */
    int64_t rows, columns, n;
} mo_field_block;

void mo_field_block_add(const mo_field *f, const mo_field_block *block, mo_field_sum *sums);

static inline void mo_field_sum_add(const mo_field *f, mo_field_sum *sum, mo_fval a, mo_fval b)
{
    uint32_t state = sum->state & a.state & b.state;
    if (!(state & MO_FV_P)) {
        mo_field_sum_special(f, sum, a, b);
        return;
    }
    sum->state = state;
    sum->p = mo_accumulate(sum->p, a.p, b.p, (uint64_t)f->p.prime << 32);
    sum->q = mo_accumulate(sum->q, a.q, b.q, (uint64_t)f->q.prime << 32);
    if (state & MO_FV_R) sum->r = mo_accumulate(sum->r, a.r, b.r, (uint64_t)f->r.prime << 32);
}

#endif
