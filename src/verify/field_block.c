/* Sums of products for blocks of rows and columns. Parts are laid out one after the other, so that eight
 * elements are multiplied at once; four products below 2^62 are added up before a sum is split into halves.
 */
#include "verify/field.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define STEP 16   /* elements of one step; what is missing is filled up with zeros */
#define ROOM 8192 /* elements of an operand */

typedef struct {
    uint64_t low, high; /* sums of the halves of products */
} halves;

typedef void dot_row(const uint32_t *row, const uint32_t *columns, int64_t n, int64_t count, halves *out);

/* One row times `count` columns of n elements each. */
static void dot_any(const uint32_t *row, const uint32_t *columns, int64_t n, int64_t count, halves *out)
{
    for (int64_t j = 0; j < count; j++, columns += n) {
        halves sum = {0, 0};
        for (int64_t i = 0; i < n; i++) {
            uint64_t product = (uint64_t)row[i] * columns[i];
            sum.low += (uint32_t)product;
            sum.high += product >> 32;
        }
        out[j] = sum;
    }
}

#if defined(__x86_64__)
typedef struct {
    __m256i low, high;
} lanes;

__attribute__((target("avx2"))) static inline __m256i load(const uint32_t *from)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)from);
}

/* Four products in each lane. */
__attribute__((target("avx2"))) static inline void step(lanes *sum, const __m256i row[4],
                                                        const uint32_t *column)
{
    __m256i x = load(column), y = load(column + 8);
    __m256i all = _mm256_add_epi64(
        _mm256_add_epi64(_mm256_mul_epu32(row[0], x), _mm256_mul_epu32(row[1], _mm256_srli_epi64(x, 32))),
        _mm256_add_epi64(_mm256_mul_epu32(row[2], y), _mm256_mul_epu32(row[3], _mm256_srli_epi64(y, 32))));
    sum->low = _mm256_add_epi64(sum->low, _mm256_and_si256(all, _mm256_set1_epi64x(0xffffffff)));
    sum->high = _mm256_add_epi64(sum->high, _mm256_srli_epi64(all, 32));
}

__attribute__((target("avx2"))) static inline halves gather(const lanes *sum)
{
    uint64_t low[4], high[4];
    memcpy(low, &sum->low, sizeof low);
    memcpy(high, &sum->high, sizeof high);
    return (halves){low[0] + low[1] + low[2] + low[3], high[0] + high[1] + high[2] + high[3]};
}

__attribute__((target("avx2"))) static void dot_avx2(const uint32_t *row, const uint32_t *columns, int64_t n,
                                                     int64_t count, halves *out)
{
    for (int64_t j = 0; j < count; j += 4) {
        lanes sums[4];
        int64_t last = count - j < 4 ? count - j - 1 : 3;
        const uint32_t *column[4];
        for (int64_t c = 0; c < 4; c++) {
            sums[c].low = sums[c].high = _mm256_setzero_si256();
            column[c] = columns + (j + (c < last ? c : last)) * n;
        }
        for (int64_t i = 0; i < n; i += STEP) {
            __m256i x = load(row + i), y = load(row + i + 8);
            __m256i parts[4] = {x, _mm256_srli_epi64(x, 32), y, _mm256_srli_epi64(y, 32)};
            step(&sums[0], parts, column[0] + i);
            step(&sums[1], parts, column[1] + i);
            step(&sums[2], parts, column[2] + i);
            step(&sums[3], parts, column[3] + i);
        }
        for (int64_t c = 0; c <= last; c++) out[j + c] = gather(&sums[c]);
    }
}

static dot_row *choose_dot(void)
{
    return __builtin_cpu_supports("avx2") ? dot_avx2 : dot_any;
}
#else
static dot_row *choose_dot(void)
{
    return dot_any;
}
#endif

/* The state that all values have, or 0. */
static uint32_t common_state(const mo_fval *values, int64_t n)
{
    uint32_t differ = 0;
    for (int64_t i = 1; i < n; i++) differ |= values[i].state ^ values[0].state;
    return differ == 0 ? values[0].state : 0;
}

static void pack(const mo_fval *values, int64_t count, int64_t n, int64_t padded, bool q, uint32_t *out)
{
    for (int64_t j = 0; j < count; j++, values += n, out += padded) {
        for (int64_t i = 0; i < n; i++) out[i] = q ? values[i].q : values[i].p;
        for (int64_t i = n; i < padded; i++) out[i] = 0;
    }
}

/* acc + low + 2^32 high, as mo_accumulate keeps it. */
static uint64_t add_halves(const mo_modulus *m, uint32_t two_32, uint64_t acc, halves sum)
{
    uint64_t limit = (uint64_t)m->prime << 32;
    acc = mo_accumulate(acc, mo_mod(m, sum.low), 1, limit);
    return mo_accumulate(acc, mo_mod(m, sum.high), two_32, limit);
}

static void add_part(const mo_field *f, const mo_field_block *b, bool q, mo_field_sum *sums)
{
    const mo_modulus *m = q ? &f->q : &f->p;
    uint32_t left[ROOM], right[ROOM], two_32 = mo_mod(m, (uint64_t)1 << 32);
    halves out[MO_FIELD_COLUMNS];
    dot_row *dot = choose_dot();
    int64_t padded = (b->n + STEP - 1) / STEP * STEP;
    pack(b->left, b->rows, b->n, padded, q, left);
    pack(b->right, b->columns, b->n, padded, q, right);
    for (int64_t r = 0; r < b->rows; r++) {
        dot(left + r * padded, right, padded, b->columns, out);
        for (int64_t j = 0; j < b->columns; j++) {
            mo_field_sum *sum = &sums[r * b->columns + j];
            uint64_t *acc = q ? &sum->q : &sum->p;
            *acc = add_halves(m, two_32, *acc, out[j]);
        }
    }
}

static bool all_started(const mo_field_block *b, const mo_field_sum *sums)
{
    for (int64_t i = 0; i < b->rows * b->columns; i++)
        if (sums[i].state != sums[0].state || !(sums[i].state & MO_FV_P)) return false;
    return true;
}

void mo_field_block_add(const mo_field *f, const mo_field_block *b, mo_field_sum *sums)
{
    uint32_t left = common_state(b->left, b->rows * b->n), right = common_state(b->right, b->columns * b->n);
    uint32_t state = left & right & sums[0].state;
    int64_t padded = (b->n + STEP - 1) / STEP * STEP;
    bool fits = b->columns <= MO_FIELD_COLUMNS && b->rows * padded <= ROOM && b->columns * padded <= ROOM;
    if (!fits || !(state & MO_FV_P) || state & MO_FV_R || !all_started(b, sums)) {
        for (int64_t r = 0; r < b->rows; r++)
            for (int64_t j = 0; j < b->columns; j++)
                mo_field_sum_dot(f, &sums[r * b->columns + j], b->left + r * b->n, b->right + j * b->n, b->n);
        return;
    }
    add_part(f, b, false, sums);
    if (state & MO_FV_Q) add_part(f, b, true, sums);
    for (int64_t i = 0; i < b->rows * b->columns; i++) sums[i].state = state;
}
