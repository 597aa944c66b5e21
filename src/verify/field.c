/* Drawing of fields, ring arithmetic, roots and order. The functions of single operators: field_ops.c. */
#include "verify/field.h"

#include "base/decimal.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <stddef.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define MAX_CONSTANTS 64 /* different ones */
#define MAX_ORDERED 9    /* that can be put in order: 9! redraws of a hash */
#define MAX_HARD 6       /* constants beside products of 2, 3, 5 and 7 */
#define MAX_HARD_CHAIN 4 /* in a chain each of them fails seven draws of eight */
#define PRIME_TRIES 20000
#define ORDER_TRIES 4000000

static uint32_t constant_part(const mo_modulus *m, mo_decimal d, bool negative)
{
    uint32_t ten = mo_mod_power(m, 10, (uint32_t)abs(d.exponent));
    if (d.exponent < 0) ten = mo_mod_inverse(m, ten);
    uint32_t value = mo_mod_mul(m, mo_mod(m, d.digits), ten);
    return negative ? mo_mod_sub(m, 0, value) : value;
}

mo_fval mo_field_constant(const mo_field *f, double number)
{
    MO_CHECK(isfinite(number));
    mo_decimal d = mo_decimal_shortest(fabs(number));
    bool negative = signbit(number) && d.digits != 0;
    mo_fval v = {constant_part(&f->p, d, negative), constant_part(&f->q, d, negative), 0, f->parts};
    if (f->r.prime != 0) v.r = constant_part(&f->r, d, negative);
    return v;
}

mo_fval mo_field_integer(const mo_field *f, int64_t number)
{
    uint64_t magnitude = number < 0 ? (uint64_t)-number : (uint64_t)number;
    mo_fval v = {mo_mod(&f->p, magnitude), mo_mod(&f->q, magnitude), 0, f->parts};
    if (f->r.prime != 0) v.r = mo_mod(&f->r, magnitude);
    return number < 0 ? mo_field_neg(f, v) : v;
}

mo_fval mo_field_keyed(const mo_field *f, uint64_t tag, mo_fval a)
{
    if (!(a.state & MO_FV_P)) return mo_fval_special(MO_FV_UNDEFINED);
    return mo_field_random(f, f->key ^ mo_mix64(tag + 0x51ed270b0a1f39c1u), a.p);
}

/* Magnitude of the order key: positive, and one of 2^62 values. */
static int64_t order_hash(const mo_field *f, uint32_t p)
{
    return (int64_t)(mo_rng_at(f->order_key, p) >> 2) + 1;
}

/* Order of the p-parts: squares are the positive ones, and -x lies opposite to x. */
static int64_t order_key(const mo_field *f, mo_fval a)
{
    if (a.state & MO_FV_NEG_INF) return INT64_MIN;
    if (a.p == 0) return 0;
    if (mo_mod_is_square(&f->p, a.p)) return order_hash(f, a.p);
    return -order_hash(f, f->p.prime - a.p);
}

static mo_fval larger(const mo_field *f, mo_fval a, mo_fval b, bool wanted)
{
    if ((a.state | b.state) & MO_FV_UNDEFINED) return mo_fval_special(MO_FV_UNDEFINED);
    if (mo_field_order_is_free(f)) {
        mo_op op = wanted ? MO_OP_MAX : MO_OP_MIN;
        mo_fval both = mo_field_reduce_step(f, op, mo_field_reduce_start(f, op, a), b);
        return mo_field_reduce_end(f, op, both);
    }
    if (a.state & b.state & MO_FV_P && a.p == b.p) return a.state >= b.state ? a : b;
    return (order_key(f, a) > order_key(f, b)) == wanted ? a : b;
}

mo_fval mo_field_max(const mo_field *f, mo_fval a, mo_fval b)
{
    return larger(f, a, b, true);
}

mo_fval mo_field_min(const mo_field *f, mo_fval a, mo_fval b)
{
    return larger(f, a, b, false);
}

/* Absolute values of the constants, ascending and distinct, without 0. */
static int magnitudes(const double *constants, int n, double *sorted, int *hard)
{
    int count = 0;
    *hard = 0;
    for (int i = 0; i < n; i++) {
        double value = fabs(constants[i]);
        int at = 0;
        while (at < count && sorted[at] < value) at++;
        if (value == 0.0 || (at < count && sorted[at] == value)) continue;
        if (count == MAX_CONSTANTS) return count + 1;
        memmove(sorted + at + 1, sorted + at, sizeof *sorted * (size_t)(count - at));
        sorted[at] = value;
        count++;
        uint64_t rest = mo_decimal_shortest(value).digits;
        for (uint64_t prime = 2; prime < 8; prime++)
            while (rest % prime == 0) rest /= prime;
        *hard += rest != 1 ? 1 : 0;
    }
    return count;
}

static bool all_square(const mo_field *f, const double *sorted, int count)
{
    for (int i = 0; i < count; i++)
        if (!mo_field_is_square(f, mo_field_constant(f, sorted[i]))) return false;
    return true;
}

static void draw_order(mo_field *f, mo_rng *rng, const double *sorted, int count)
{
    uint32_t parts[MAX_ORDERED];
    if (count > MAX_ORDERED) return;
    for (int i = 0; i < count; i++) parts[i] = mo_field_constant(f, sorted[i]).p;
    for (int tries = 0; tries < ORDER_TRIES && !f->constants_ordered; tries++) {
        f->order_key = mo_rng_next(rng);
        int64_t last = 0;
        int i = 0;
        for (; i < count; i++) {
            int64_t key = order_hash(f, parts[i]);
            if (key <= last) break;
            last = key;
        }
        f->constants_ordered = i == count;
    }
}

/* Powers of w by the bytes of the exponent. */
static void fill_powers(const mo_modulus *m, uint32_t w, uint32_t table[MO_POWER_DIGITS][256])
{
    for (int digit = 0; digit < MO_POWER_DIGITS; digit++) {
        table[digit][0] = 1;
        for (int i = 1; i < 256; i++) table[digit][i] = mo_mod_mul(m, table[digit][i - 1], w);
        w = mo_mod_mul(m, table[digit][255], w);
    }
}

/* The squares other than 1 are the elements of order (prime - 1) / 2. */
static uint32_t random_square(const mo_modulus *m, mo_rng *rng)
{
    uint32_t root = 2 + (uint32_t)mo_rng_below(rng, m->prime - 3);
    return mo_mod_mul(m, root, root);
}

void mo_field_draw(mo_field *field, uint64_t seed, uint64_t round, bool chain, const double *constants,
                   int n_constants)
{
    double sorted[MAX_CONSTANTS];
    int hard, count = magnitudes(constants, n_constants, sorted, &hard);
    bool possible = count <= MAX_CONSTANTS && hard <= (chain ? MAX_HARD_CHAIN : MAX_HARD);
    mo_rng rng = mo_rng_seed(seed, round);
    memset(field, 0, sizeof *field);
    for (int tries = 0; tries < PRIME_TRIES; tries++) {
        uint32_t primes[3] = {0, 0, 0};
        mo_primes_draw(&rng, chain ? 3 : 2, primes);
        field->p = mo_modulus_make(primes[0]);
        field->q = mo_modulus_make(primes[1]);
        if (chain) field->r = mo_modulus_make(primes[2]);
        field->parts = MO_FV_P | MO_FV_Q | (chain ? (uint32_t)MO_FV_R : 0u);
        field->constants_square = possible && all_square(field, sorted, count);
        if (field->constants_square || !possible) break;
    }
    field->key = mo_rng_next(&rng);
    field->order_key = mo_rng_next(&rng);
    if (field->constants_square) draw_order(field, &rng, sorted, count);
    fill_powers(&field->p, random_square(&field->p, &rng), field->exp_p);
    if (chain) fill_powers(&field->q, random_square(&field->q, &rng), field->exp_q);
}

mo_fval mo_field_add(const mo_field *f, mo_fval a, mo_fval b)
{
    uint32_t state = a.state & b.state;
    if (!(state & MO_FV_P)) {
        bool infinite = (a.state | b.state) & MO_FV_NEG_INF && !((a.state | b.state) & MO_FV_UNDEFINED);
        return mo_fval_special(infinite ? MO_FV_NEG_INF : MO_FV_UNDEFINED);
    }
    mo_fval v = {mo_mod_add(&f->p, a.p, b.p), mo_mod_add(&f->q, a.q, b.q), 0, state};
    if (state & MO_FV_R) v.r = mo_mod_add(&f->r, a.r, b.r);
    return v;
}

mo_fval mo_field_neg(const mo_field *f, mo_fval a)
{
    if (!(a.state & MO_FV_P)) return mo_fval_special(MO_FV_UNDEFINED);
    mo_fval v = {mo_mod_sub(&f->p, 0, a.p), mo_mod_sub(&f->q, 0, a.q), 0, a.state};
    if (a.state & MO_FV_R) v.r = mo_mod_sub(&f->r, 0, a.r);
    return v;
}

mo_fval mo_field_sub(const mo_field *f, mo_fval a, mo_fval b)
{
    return mo_field_add(f, a, mo_field_neg(f, b));
}

/* -inf times a positive number is -inf; anything else with -inf is no value that we could name. */
static mo_fval mul_special(const mo_field *f, mo_fval a, mo_fval b)
{
    mo_fval other = a.state & MO_FV_NEG_INF ? b : a;
    bool positive = (a.state | b.state) & MO_FV_NEG_INF && other.state & MO_FV_P && order_key(f, other) > 0;
    return mo_fval_special(positive ? MO_FV_NEG_INF : MO_FV_UNDEFINED);
}

mo_fval mo_field_mul(const mo_field *f, mo_fval a, mo_fval b)
{
    uint32_t state = a.state & b.state;
    if (!(state & MO_FV_P)) return mul_special(f, a, b);
    mo_fval v = {mo_mod_mul(&f->p, a.p, b.p), mo_mod_mul(&f->q, a.q, b.q), 0, state};
    if (state & MO_FV_R) v.r = mo_mod_mul(&f->r, a.r, b.r);
    return v;
}

/* A part that is 0 has no inverse; it matters only while that part is known. */
mo_fval mo_field_reciprocal(const mo_field *f, mo_fval a)
{
    if (a.state & MO_FV_NEG_INF) return mo_field_integer(f, 0);
    if (!(a.state & MO_FV_P)) return a;
    mo_fval v = {mo_mod_inverse(&f->p, a.p), 0, 0, a.state};
    bool fine = a.p != 0;
    if (a.state & MO_FV_Q) {
        v.q = mo_mod_inverse(&f->q, a.q);
        fine &= a.q != 0;
    }
    if (a.state & MO_FV_R) {
        v.r = mo_mod_inverse(&f->r, a.r);
        fine &= a.r != 0;
    }
    return fine ? v : mo_fval_special(MO_FV_UNDEFINED);
}

mo_fval mo_field_div(const mo_field *f, mo_fval a, mo_fval b)
{
    return mo_field_mul(f, a, mo_field_reciprocal(f, b));
}

static uint32_t power_of(const mo_modulus *m, const uint32_t table[MO_POWER_DIGITS][256], uint32_t exponent)
{
    uint32_t low = mo_mod_mul(m, table[0][exponent & 255u], table[1][exponent >> 8 & 255u]);
    uint32_t high = mo_mod_mul(m, table[2][exponent >> 16 & 255u], table[3][exponent >> 24]);
    return mo_mod_mul(m, low, high);
}

/* Without a q-part there is nothing to raise w to: one more random function. */
mo_fval mo_field_exp(const mo_field *f, mo_fval a)
{
    if (a.state & MO_FV_NEG_INF) return mo_field_integer(f, 0);
    if (!(a.state & MO_FV_P)) return a;
    if (!(a.state & MO_FV_Q)) return mo_field_keyed(f, MO_OP_EXP, a);
    mo_fval v = {power_of(&f->p, f->exp_p, a.q), 0, 0, MO_FV_P};
    if (a.state & MO_FV_R) {
        v.q = power_of(&f->q, f->exp_q, a.r);
        v.state |= MO_FV_Q;
    }
    return v;
}

/* Every prime of a chain is 3 mod 4. */
static uint32_t root_part(const mo_modulus *m, uint32_t value)
{
    return mo_mod_power(m, value, m->prime / 4 + 1);
}

mo_fval mo_field_sqrt(const mo_field *f, mo_fval a)
{
    if (!(a.state & MO_FV_P)) return mo_fval_special(MO_FV_UNDEFINED);
    if (f->free) return mo_field_keyed(f, MO_OP_SQRT, a);
    mo_fval v = {root_part(&f->p, a.p), 0, 0, a.state};
    if (a.state & MO_FV_Q) v.q = root_part(&f->q, a.q);
    if (a.state & MO_FV_R) v.r = root_part(&f->r, a.r);
    return v;
}

bool mo_field_is_square(const mo_field *f, mo_fval a)
{
    if (!(a.state & MO_FV_P)) return false;
    if (!mo_mod_is_square(&f->p, a.p)) return false;
    if (a.state & MO_FV_Q && !mo_mod_is_square(&f->q, a.q)) return false;
    return !(a.state & MO_FV_R) || mo_mod_is_square(&f->r, a.r);
}

void mo_field_sum_special(const mo_field *f, mo_field_sum *sum, mo_fval a, mo_fval b)
{
    if (sum->state != 0) {
        sum->slow = mo_field_sum_end(f, sum);
        sum->state = 0;
    }
    sum->slow = mo_field_add(f, sum->slow, mo_field_mul(f, a, b));
}

/* Without special values and without a chain there is one short loop. */
/* Sums of the low and of the high halves of n products, for both parts: no step waits for a reduction of the
 * one before. n is at most 2^31. */
typedef struct {
    uint64_t low_p, high_p, low_q, high_q;
    uint32_t state; /* bits that all values have */
} dot_halves;

static dot_halves dot_any(const mo_fval *a, const mo_fval *b, int64_t n)
{
    dot_halves sum = {.state = UINT32_MAX};
    for (int64_t i = 0; i < n; i++) {
        uint64_t p = (uint64_t)a[i].p * b[i].p, q = (uint64_t)a[i].q * b[i].q;
        sum.state &= a[i].state & b[i].state;
        sum.low_p += (uint32_t)p;
        sum.high_p += p >> 32;
        sum.low_q += (uint32_t)q;
        sum.high_q += q >> 32;
    }
    return sum;
}

#if defined(__x86_64__)
_Static_assert(sizeof(mo_fval) == 16 && offsetof(mo_fval, q) == 4 && offsetof(mo_fval, state) == 12,
               "p, q, r, state: half a register");

/* Two values at a time; the same integers as above. */
__attribute__((target("avx2"))) static dot_halves dot_avx2(const mo_fval *a, const mo_fval *b, int64_t n)
{
    enum { PAIRS = _MM_SHUFFLE(3, 1, 2, 0) }; /* p, r, q, state: the even ones are multiplied */
    __m256i low = _mm256_setzero_si256(), high = low, state = _mm256_set1_epi32(-1);
    const __m256i half = _mm256_set1_epi64x(0xffffffff);
    int64_t i = 0;
    for (; i + 2 <= n; i += 2) {
        __m256i x = _mm256_loadu_si256((const __m256i *)(const void *)&a[i]);
        __m256i y = _mm256_loadu_si256((const __m256i *)(const void *)&b[i]);
        state = _mm256_and_si256(state, _mm256_and_si256(x, y));
        __m256i product = _mm256_mul_epu32(_mm256_shuffle_epi32(x, PAIRS), _mm256_shuffle_epi32(y, PAIRS));
        low = _mm256_add_epi64(low, _mm256_and_si256(product, half));
        high = _mm256_add_epi64(high, _mm256_srli_epi64(product, 32));
    }
    uint64_t lows[4], highs[4];
    uint32_t states[8];
    memcpy(lows, &low, sizeof lows);
    memcpy(highs, &high, sizeof highs);
    memcpy(states, &state, sizeof states);
    dot_halves last = dot_any(a + i, b + i, n - i);
    return (dot_halves){lows[0] + lows[2] + last.low_p, highs[0] + highs[2] + last.high_p,
                        lows[1] + lows[3] + last.low_q, highs[1] + highs[3] + last.high_q,
                        states[3] & states[7] & last.state};
}

static dot_halves dot(const mo_fval *a, const mo_fval *b, int64_t n)
{
    return __builtin_cpu_supports("avx2") ? dot_avx2(a, b, n) : dot_any(a, b, n);
}
#else
static dot_halves dot(const mo_fval *a, const mo_fval *b, int64_t n)
{
    return dot_any(a, b, n);
}
#endif

/* acc + low + 2^32 high. */
static uint64_t add_halves(const mo_modulus *m, uint64_t acc, uint64_t low, uint64_t high)
{
    uint64_t limit = (uint64_t)m->prime << 32;
    acc = mo_accumulate(acc, mo_mod(m, low), 1, limit);
    return mo_accumulate(acc, mo_mod(m, high), mo_mod(m, (uint64_t)1 << 32), limit);
}

void mo_field_sum_dot(const mo_field *f, mo_field_sum *sum, const mo_fval *a, const mo_fval *b, int64_t n)
{
    dot_halves d = dot(a, b, n);
    uint32_t state = sum->state & d.state;
    if (!(state & MO_FV_P) || state & MO_FV_R) {
        for (int64_t i = 0; i < n; i++) mo_field_sum_add(f, sum, a[i], b[i]);
        return;
    }
    sum->p = add_halves(&f->p, sum->p, d.low_p, d.high_p);
    sum->q = add_halves(&f->q, sum->q, d.low_q, d.high_q);
    sum->state = state;
}

mo_fval mo_field_sum_end(const mo_field *f, const mo_field_sum *sum)
{
    if (sum->state == 0) return sum->slow;
    mo_fval v = {mo_mod(&f->p, sum->p), mo_mod(&f->q, sum->q), 0, sum->state};
    if (sum->state & MO_FV_R) v.r = mo_mod(&f->r, sum->r);
    return v;
}

bool mo_fval_equal(mo_fval a, mo_fval b)
{
    uint32_t both = a.state & b.state;
    if (both & MO_FV_NEG_INF) return true;
    if (!(both & MO_FV_P) || a.p != b.p) return false;
    if (both & MO_FV_Q && a.q != b.q) return false;
    return !(both & MO_FV_R) || a.r == b.r;
}

mo_hash128 mo_fingerprint(const mo_fval *values, int64_t count, bool *clean)
{
    enum { CHUNK = 256 };
    uint32_t text[CHUNK];
    mo_hash128 hash = {(uint64_t)count, 0};
    uint32_t seen = 0;
    for (int64_t start = 0; start < count; start += CHUNK) {
        int64_t n = count - start < CHUNK ? count - start : CHUNK;
        for (int64_t i = 0; i < n; i++) {
            mo_fval v = values[start + i];
            seen |= v.state;
            text[i] = v.state & MO_FV_P ? v.p : UINT32_MAX - v.state;
        }
        mo_hash128 part = mo_hash_128(text, sizeof *text * (size_t)n, hash.lo);
        hash = (mo_hash128){part.lo, part.hi ^ (hash.hi * 0x9e3779b97f4a7c15u)};
    }
    if (clean != NULL) *clean = !(seen & MO_FV_UNDEFINED);
    return hash;
}
