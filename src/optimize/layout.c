#include "optimize/layout.h"

#define BANKS 32
#define BANK_BYTES 4
#define CHUNK 16     /* bytes that ldmatrix and the copies move */
#define MOST_BOX 256 /* elements along each side of a box */
#define CONFLICT_COST 3
#define BOX_COST 2
#define MOST_PADDING 8 /* chunks: from there on the banks repeat */

int mo_layout_choices(int cols, mo_dtype dtype, bool box, mo_layout choices[MO_LAYOUT_CHOICES])
{
    static const int widths[] = {64, 32, 16}; /* rows of 128, 64 and 32 bytes: what can be swizzled */
    int size = mo_dtype_size(dtype), per_chunk = CHUNK / size, count = 0;
    int dense = (cols + per_chunk - 1) / per_chunk * per_chunk;
    if (!box) {
        for (int pad = 0; pad < MOST_PADDING; pad++)
            choices[count++] = (mo_layout){cols, dense + pad * per_chunk, 0};
        return count;
    }
    for (int i = 0; i < 3; i++)
        if (cols % widths[i] == 0) choices[count++] = (mo_layout){widths[i], widths[i], widths[i] * size};
    if (cols <= MOST_BOX) choices[count++] = (mo_layout){cols, cols, 0};
    return count;
}

/* Times that the busiest bank is passed when 8 rows of a panel are read at its first 16 bytes. Elsewhere in
 * the row it is the same: the padding shifts all rows alike, and the swizzle permutes the chunks. */
static int conflicts(const mo_layout *l, int size)
{
    int load[BANKS * BANK_BYTES / CHUNK] = {0}, most = 0;
    for (int row = 0; row < 8; row++) {
        int chunk = row * l->stride * size / CHUNK;
        if (l->swizzle > 0) chunk ^= row / (128 / l->swizzle) % (l->swizzle / CHUNK);
        int times = ++load[chunk % (BANKS * BANK_BYTES / CHUNK)];
        if (times > most) most = times;
    }
    return most;
}

int mo_layout_cost(int cols, mo_dtype dtype, const mo_layout *l)
{
    int size = mo_dtype_size(dtype), per_chunk = CHUNK / size;
    int panels = (cols + l->panel - 1) / l->panel,
        padding = l->stride / per_chunk - (l->panel + per_chunk - 1) / per_chunk;
    return CONFLICT_COST * (conflicts(l, size) - 1) + BOX_COST * (panels - 1) + padding;
}

mo_layout mo_layout_choose(int cols, mo_dtype dtype, bool box, mo_passes off)
{
    mo_layout choices[MO_LAYOUT_CHOICES];
    int count = mo_layout_choices(cols, dtype, box, choices), best = -1, least = 0;
    for (int i = 0; i < count; i++) {
        bool plain = choices[i].swizzle == 0 && choices[i].panel == cols;
        if (off & MO_PASS_LAYOUT) {
            if (plain) return choices[i];
            continue;
        }
        int cost = mo_layout_cost(cols, dtype, &choices[i]);
        if (best >= 0 && cost >= least) continue;
        best = i;
        least = cost;
    }
    return choices[best < 0 ? 0 : best];
}

/* The same for a load of a warp: lane (g, t) reads float g of row t. */
static int across_conflicts(int stride)
{
    int load[BANKS] = {0}, most = 0;
    for (int lane = 0; lane < 32; lane++) {
        int times = ++load[(lane % 4 * stride + lane / 4) % BANKS];
        if (times > most) most = times;
    }
    return most;
}

int mo_layout_across(int cols, mo_passes off)
{
    int per_chunk = CHUNK / BANK_BYTES, dense = (cols + per_chunk - 1) / per_chunk * per_chunk;
    int best = dense, least = CONFLICT_COST * (across_conflicts(dense) - 1);
    for (int pad = 1; pad < MOST_PADDING && !(off & MO_PASS_LAYOUT); pad++) {
        int stride = dense + pad * per_chunk, cost = CONFLICT_COST * (across_conflicts(stride) - 1) + pad;
        if (cost >= least) continue;
        best = stride;
        least = cost;
    }
    return best;
}

/* The same for one store of a warp: lane (g, t) holds columns 2t and 2t + 1 of row g of a C fragment. */
static int store_conflicts(int stride, bool along)
{
    int load[2][BANKS] = {{0}}, most = 0;
    for (int lane = 0; lane < 32; lane++) {
        int g = lane / 4, t = lane % 4, half = along ? lane / 16 : 0; /* 8 bytes: 16 lanes at a time */
        int at = along ? g * stride + 2 * t : 2 * t * stride + g;
        int times = ++load[half][at % BANKS];
        if (times > most) most = times;
    }
    return most;
}

int mo_layout_exchange(int size, bool along, mo_passes off)
{
    int best = size, least = CONFLICT_COST * (store_conflicts(size, along) - 1);
    for (int pad = 1; pad < MOST_PADDING && !(off & MO_PASS_LAYOUT); pad++) {
        int stride = size + pad * CHUNK / BANK_BYTES,
            cost = CONFLICT_COST * (store_conflicts(stride, along) - 1) + pad;
        if (cost >= least) continue;
        best = stride;
        least = cost;
    }
    return best;
}
