/* Warp-wide data exchange and matrix products, by the fragment layouts of the PTX manual. */
#include "emu_internal.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* ---- shuffles and votes ---- */

typedef struct {
    unsigned in, out;
    int kind, by;
} shuffle_args;

static void run_shuffle(mo_emu *emu, thread **lanes)
{
    (void)emu;
    for (int i = 0; i < WARP; i++) {
        shuffle_args *a = lanes[i]->args;
        int from = a->kind == MO_EMU_SHFL_XOR ? i ^ a->by : a->kind == MO_EMU_SHFL_DOWN ? i + a->by : a->by;
        if (a->kind == MO_EMU_SHFL_INDEX) from &= WARP - 1;
        if (from < 0 || from >= WARP) from = i;
        a->out = ((const shuffle_args *)lanes[from]->args)->in;
    }
}

unsigned mo_emu_shuffle(mo_emu *emu, const void *pc, unsigned x, int kind, int by)
{
    static const char *const names[] = {"shfl.xor", "shfl.down", "shfl.idx"};
    shuffle_args a = {x, 0, kind, by};
    mo_emu_meet(emu, pc, names[kind], 0, &a, run_shuffle);
    return a.out;
}

static void run_ballot(mo_emu *emu, thread **lanes)
{
    (void)emu;
    unsigned votes = 0;
    for (int i = 0; i < WARP; i++)
        if (((const shuffle_args *)lanes[i]->args)->in != 0) votes |= 1u << i;
    for (int i = 0; i < WARP; i++) ((shuffle_args *)lanes[i]->args)->out = votes;
}

unsigned mo_emu_ballot(mo_emu *emu, const void *pc, bool vote)
{
    shuffle_args a = {vote, 0, 0, 0};
    mo_emu_meet(emu, pc, "vote.ballot", 0, &a, run_ballot);
    return a.out;
}

/* ---- ldmatrix ---- */

typedef struct {
    unsigned *r;
    const void *row;
    int count;
    bool trans;
} ldmatrix_args;

/* One 16-bit element, on behalf of the lane that receives it. */
static unsigned element(mo_emu *emu, thread *to, location row, unsigned column)
{
    unsigned short x;
    row.offset += 2 * (size_t)column;
    mo_emu_touch(emu, to, to->pc, &row, 2, READ);
    memcpy(&x, mo_emu_shared_bytes(emu, row.block, row.offset), 2);
    return x;
}

static void run_ldmatrix(mo_emu *emu, thread **lanes)
{
    const ldmatrix_args *shape = lanes[0]->args;
    for (int i = 0; i < shape->count; i++) {
        location rows[8];
        for (int r = 0; r < 8; r++) {
            thread *t = lanes[8 * i + r];
            rows[r] = mo_emu_locate(emu, t, t->pc, "ldmatrix", ((const ldmatrix_args *)t->args)->row, 16, 16,
                                    MO_EMU_SHARED);
        }
        for (unsigned lane = 0; lane < WARP; lane++) {
            unsigned g = lane / 4, t = lane % 4;
            thread *to = lanes[lane];
            unsigned low = shape->trans ? element(emu, to, rows[2 * t], g) : element(emu, to, rows[g], 2 * t);
            unsigned high =
                shape->trans ? element(emu, to, rows[2 * t + 1], g) : element(emu, to, rows[g], 2 * t + 1);
            ((const ldmatrix_args *)to->args)->r[i] = low | high << 16;
        }
    }
}

void mo_emu_ldmatrix(mo_emu *emu, const void *pc, unsigned *r, const void *row, int count, bool trans)
{
    ldmatrix_args a = {r, row, count, trans};
    mo_emu_meet(emu, pc, "ldmatrix", 2 * count + trans, &a, run_ldmatrix);
}

/* ---- mma ---- */

typedef struct {
    float *d;
    const unsigned *a, *b;
    int kind;
} mma_args;

static double half_at(int kind, unsigned pair, unsigned high)
{
    unsigned short bits = (unsigned short)(pair >> (16 * high));
    return (double)(kind == MO_EMU_MMA_F16 ? mo_emu_f16_to_float(bits)
                                           : mo_emu_as_float((unsigned)bits << 16));
}

static double tf32(unsigned x)
{
    return (double)mo_emu_as_float(x & 0xffffe000u);
}

static void gather16(int kind, thread **lanes, double a[16][16], double b[16][8])
{
    for (unsigned lane = 0; lane < WARP; lane++) {
        const mma_args *m = lanes[lane]->args;
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i < 4; i++)
            for (unsigned h = 0; h < 2; h++)
                a[g + 8 * (i & 1)][2 * t + h + 8 * (i >> 1)] = half_at(kind, m->a[i], h);
        for (unsigned i = 0; i < 2; i++)
            for (unsigned h = 0; h < 2; h++) b[2 * t + h + 8 * i][g] = half_at(kind, m->b[i], h);
    }
}

static void gather8(thread **lanes, double a[16][16], double b[16][8])
{
    for (unsigned lane = 0; lane < WARP; lane++) {
        const mma_args *m = lanes[lane]->args;
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i < 4; i++) a[g + 8 * (i & 1)][t + 4 * (i >> 1)] = tf32(m->a[i]);
        for (unsigned i = 0; i < 2; i++) b[t + 4 * i][g] = tf32(m->b[i]);
    }
}

/* d + the sum of a[k] b[k] as the hardware adds: summands are aligned to the largest one and cut off one bit
 * behind f32, and so is the sum. */
static float truncated_sum(float d, const double *a, double (*b)[8], unsigned column, unsigned depth)
{
    double summand[17] = {(double)d}, sum = (double)d;
    int largest = INT_MIN;
    for (unsigned k = 0; k < depth; k++) sum += summand[k + 1] = a[k] * b[k][column];
    if (!isfinite(sum) || sum == 0.0) return (float)sum;
    for (unsigned k = 0; k <= depth; k++)
        if (summand[k] != 0.0 && ilogb(summand[k]) > largest) largest = ilogb(summand[k]);
    sum = 0.0;
    for (unsigned k = 0; k <= depth; k++) sum += ldexp(trunc(ldexp(summand[k], 24 - largest)), largest - 24);
    return sum == 0.0 ? 0.0f : (float)ldexp(trunc(ldexp(sum, 23 - ilogb(sum))), ilogb(sum) - 23);
}

/* 16 bits: products and sums in double, one rounding, which is better than the hardware. TF32 stands for f32,
 * where the difference would show. */
static void run_mma(mo_emu *emu, thread **lanes)
{
    double a[16][16], b[16][8];
    int kind = ((const mma_args *)lanes[0]->args)->kind;
    unsigned depth = kind == MO_EMU_MMA_TF32 ? 8 : 16;
    if (kind == MO_EMU_MMA_TF32)
        gather8(lanes, a, b);
    else
        gather16(kind, lanes, a, b);
    for (unsigned row = 0; row < 16; row++) {
        double sum[8] = {0};
        for (unsigned k = 0; k < depth; k++)
            for (unsigned column = 0; column < 8; column++) sum[column] += a[row][k] * b[k][column];
        for (unsigned column = 0; column < 8; column++) {
            float *d = ((const mma_args *)lanes[4 * (row % 8) + column / 2]->args)->d;
            unsigned i = column % 2 + 2 * (row / 8);
            d[i] = kind == MO_EMU_MMA_TF32 ? truncated_sum(d[i], a[row], b, column, depth)
                                           : (float)((double)d[i] + sum[column]);
        }
    }
    emu->counts.mmas++;
}

void mo_emu_mma(mo_emu *emu, const void *pc, int kind, float *d, const unsigned *a, const unsigned *b)
{
    static const char *const names[] = {"mma f16", "mma bf16", "mma tf32"};
    mma_args args = {d, a, b, kind};
    mo_emu_meet(emu, pc, names[kind], 0, &args, run_mma);
}

/* ---- wgmma ---- */

typedef struct {
    float *d;
    unsigned long long a, b;
    int kind;
} wgmma_args;

/* An operand as its descriptor says. Only what mo_wgmma_rows and mo_wgmma_columns describe is emulated: rows
 * of 128 bytes with the 128-byte swizzle. */
typedef struct {
    unsigned start, panel; /* bytes */
    bool columns, bf16;
} operand;

static operand operand_of(mo_emu *emu, const thread *t, unsigned long long tile, bool columns, bool bf16)
{
    operand o = {(unsigned)(tile & 0x3fffu) << 4, (unsigned)(tile >> 16 & 0x3fffu) << 4, columns, bf16};
    if (tile >> 32 != (64ull | 1ull << 30) || (!columns && o.panel != 16))
        mo_emu_fail(emu, t, t->pc, "wgmma: tile descriptor %016llx: this layout is not emulated", tile);
    if (o.start % 1024 > (columns ? 0 : 96))
        mo_emu_fail(emu, t, t->pc, "wgmma: the tile starts %u bytes behind a multiple of 1024",
                    o.start % 1024);
    return o;
}

/* Element (row, k) of the operand, on behalf of t. The swizzle works on addresses, so that a start within the
 * first row moves along it. */
static double operand_element(mo_emu *emu, thread *t, const operand *o, unsigned row, unsigned k)
{
    unsigned short x;
    size_t at =
        o->columns ? o->start + row / 64 * o->panel + k * 128 + 2 * (row % 64) : o->start + row * 128 + 2 * k;
    at ^= (at >> 7 & 7) << 4;
    if (at + 2 > emu->launch->shared_bytes)
        mo_emu_fail(emu, t, t->pc, "wgmma: row %u of a tile lies outside of shared memory", row);
    location where = {.shared = true, .block = t->block, .offset = at};
    mo_emu_touch(emu, t, t->pc, &where, 2, READ);
    memcpy(&x, mo_emu_shared_bytes(emu, t->block, at), 2);
    if (!o->bf16) return (double)mo_emu_f16_to_float(x);
    unsigned wide = (unsigned)x << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return (double)value;
}

/* One thread's elements of two rows: all columns 8 j + 2 t and the next. */
static void wgmma_lane(mo_emu *emu, thread *t)
{
    const wgmma_args *m = t->args;
    bool bf16 = m->kind & MO_EMU_BF16;
    operand a = operand_of(emu, t, m->a, m->kind & MO_EMU_COLUMNS_A, bf16),
            b = operand_of(emu, t, m->b, m->kind & MO_EMU_COLUMNS_B, bf16);
    unsigned row = t->warp % 4 * 16 + t->lane / 4;
    double left[2][16];
    for (unsigned h = 0; h < 2; h++)
        for (unsigned k = 0; k < 16; k++) left[h][k] = operand_element(emu, t, &a, row + 8 * h, k);
    for (unsigned i = 0; i < (unsigned)(m->kind & MO_EMU_WGMMA_N) / 4; i++) {
        unsigned column = i / 2 * 8 + t->lane % 4 * 2 + i % 2;
        double sum[2] = {0, 0};
        for (unsigned k = 0; k < 16; k++) {
            double right = operand_element(emu, t, &b, column, k);
            for (unsigned h = 0; h < 2; h++) sum[h] += left[h][k] * right;
        }
        for (unsigned h = 0; h < 2; h++) {
            float *d = &m->d[i / 2 * 4 + i % 2 + 2 * h];
            *d = (float)((double)*d + sum[h]);
        }
    }
}

static void run_wgmma(mo_emu *emu, thread **lanes)
{
    for (int i = 0; i < WARP; i++) wgmma_lane(emu, lanes[i]);
    emu->counts.mmas++;
}

/* Done at once, warp by warp: the earliest that the hardware may read the tiles. */
void mo_emu_wgmma(mo_emu *emu, const void *pc, float *d, unsigned long long a, unsigned long long b, int kind)
{
    wgmma_args args = {d, a, b, kind};
    if (emu->warps_per_block % 4 != 0)
        mo_emu_fail(emu, emu->running, pc, "wgmma: the block has no whole warp groups");
    mo_emu_meet(emu, pc, "wgmma", 0, &args, run_wgmma);
}
