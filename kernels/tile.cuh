/* Tiles in shared memory, matrix fragments and their combination over warps; include after math.cuh. Items
 * are separated by blank lines.
 *
 * A product has a 16-side (axis p: rows of the m16n8k16 A operand) and an 8-side (axis q: columns of B); k is
 * summed. Lane l of a warp holds, with g = l / 4 and t = l % 4:
 *   A  f[i] halves h: p = g + i % 2 * 8, k = 2t + h + i / 2 * 8        (4 registers)
 *   B  f[i] halves h: q = g,             k = 2t + h + i * 8            (2 registers)
 *   C  c[i]:          p = g + i / 2 * 8, q = 2t + i % 2                (4 floats)
 * The 8 rows of an ldmatrix phase must lie in different banks: rows of a tile are padded to an odd number of
 * 16-byte chunks, or their chunks are permuted (mo_swizzled). */

/* Layout of a tile: rows of STRIDE elements. */
template <int STRIDE> struct mo_rows {
    MO_DEV int at(int row, int col) { return row * STRIDE + col; }
};

/* Layout of 16-bit elements that tensor copies leave: panels of ROWS rows and COLS = 16, 32 or 64 columns, one
 * behind the other; the 16-byte chunks of a row are permuted with the row (the swizzle of as many bytes as a
 * row has). */
template <int ROWS, int COLS> struct mo_swizzled {
    MO_DEV int at(int row, int col)
    {
        int chunk = col % COLS / 8 ^ row / (64 / COLS) % (COLS / 8);
        return col / COLS * (ROWS * COLS) + row * COLS + chunk * 8 + col % 8;
    }
};

/* Starts copying ROWS x COLS elements into shared rows of STRIDE elements, CHUNK elements at a time, shared
 * among THREADS threads. What lies outside rows x cols becomes zero; WHOLE says that nothing does. */
template <typename T, int ROWS, int COLS, int STRIDE, int CHUNK, int THREADS, bool WHOLE>
MO_DEV void mo_copy_tile(T *tile, const T *from, int row_stride, int rows, int cols, int thread)
{
    constexpr int PER_ROW = COLS / CHUNK, BYTES = CHUNK * (int)sizeof(T);
    if constexpr (PER_ROW <= THREADS) {
        /* every thread keeps its column: all its addresses are the first one plus a constant */
        constexpr int STEP = THREADS / PER_ROW;
        const int r = thread / PER_ROW, c = thread % PER_ROW * CHUNK;
        if (THREADS % PER_ROW != 0 && r >= STEP) return;
        T *to = tile + r * STRIDE + c;
        const T *at = from + (long long)r * row_stride + c;
#pragma unroll
        for (int n = 0; n < (ROWS + STEP - 1) / STEP; n++) {
            if (ROWS % STEP != 0 && r + n * STEP >= ROWS) break;
            bool inside = WHOLE || (r + n * STEP < rows && c < cols);
            mo_cp_async_zfill(to + n * STEP * STRIDE, inside ? at + (long long)n * STEP * row_stride : from, BYTES,
                              inside);
        }
    } else {
        for (int i = thread; i < ROWS * PER_ROW; i += THREADS) {
            int r = i / PER_ROW, c = i % PER_ROW * CHUNK;
            bool inside = WHOLE || (r < rows && c < cols);
            mo_cp_async_zfill(tile + r * STRIDE + c, inside ? from + (long long)r * row_stride + c : from, BYTES,
                              inside);
        }
    }
}

/* The same element by element, for rows that no asynchronous copy can take; columns may be strided. */
template <typename T, int ROWS, int COLS, int STRIDE, int THREADS>
MO_DEV void mo_copy_tile_scalar(T *tile, const T *from, int row_stride, int col_stride, int rows, int cols, int thread)
{
#pragma unroll 4
    for (int i = thread; i < ROWS * COLS; i += THREADS) {
        int r = i / COLS, c = i % COLS;
        tile[r * STRIDE + c] = r < rows && c < cols ? from[(long long)r * row_stride + (long long)c * col_stride] : mo_elem<T>::make(0.0f);
    }
}

/* A fragment at (p0, k0) of a tile with rows p and columns k. */
template <typename Layout, typename T> MO_DEV void mo_frag_a_rows(unsigned (&f)[4], const T *tile, int p0, int k0)
{
    int lane = threadIdx.x % 32;
    mo_ldmatrix_x4(f, tile + Layout::at(p0 + lane % 16, k0 + lane / 16 * 8));
}

/* A fragment at (p0, k0) of a tile with rows k and columns p. */
template <typename Layout, typename T> MO_DEV void mo_frag_a_cols(unsigned (&f)[4], const T *tile, int p0, int k0)
{
    int lane = threadIdx.x % 32;
    mo_ldmatrix_x4_trans(f, tile + Layout::at(k0 + lane % 8 + lane / 16 * 8, p0 + lane / 8 % 2 * 8));
}

/* Turns four pairs of a lane left by its place in the quad: pair c becomes pair (c + t) % 4. */
MO_DEV void mo_turn(unsigned (&to)[4], const unsigned (&from)[4])
{
    int t = threadIdx.x % 4;
    unsigned once[4];
#pragma unroll
    for (int c = 0; c < 4; c++) once[c] = t & 1 ? from[(c + 1) % 4] : from[c];
#pragma unroll
    for (int c = 0; c < 4; c++) to[c] = t & 2 ? once[(c + 2) % 4] : once[c];
}

/* A fragment at p0 of a tile with rows k and columns p, for an 8-side operand whose lanes hold 16 bytes of
 * elements k0 + 8t ... and turned them: position (half r, pair t) of step s is element
 * 8t + 2 * ((2s + r + t) % 4). */
template <typename Layout, typename T> MO_DEV void mo_frag_a_turned(unsigned (&f)[4], const T *tile, int p0, int k0, int s)
{
    int lane = threadIdx.x % 32, t = lane % 8 / 2, pair = (2 * s + lane / 16 + t) % 4;
    mo_ldmatrix_x4_trans(f, tile + Layout::at(k0 + 8 * t + 2 * pair + lane % 2, p0 + lane / 8 % 2 * 8));
}

/* B fragment at (q0, k0) of a tile with rows q and columns k. */
template <typename Layout, typename T> MO_DEV void mo_frag_b_rows(unsigned (&f)[2], const T *tile, int q0, int k0)
{
    int lane = threadIdx.x % 32;
    mo_ldmatrix_x2(f, tile + Layout::at(q0 + lane % 8, k0 + lane / 8 % 2 * 8));
}

/* B fragment at (q0, k0) of a tile with rows k and columns q. */
template <typename Layout, typename T> MO_DEV void mo_frag_b_cols(unsigned (&f)[2], const T *tile, int q0, int k0)
{
    int lane = threadIdx.x % 32;
    mo_ldmatrix_x2_trans(f, tile + Layout::at(k0 + lane % 16, q0));
}

/* Two neighbouring B fragments, at (q0, k0) and (q0 + 8, k0), by one instruction each. */
template <typename Layout, typename T>
MO_DEV void mo_frag_b2_rows(unsigned (&f0)[2], unsigned (&f1)[2], const T *tile, int q0, int k0)
{
    int lane = threadIdx.x % 32;
    unsigned f[4];
    mo_ldmatrix_x4(f, tile + Layout::at(q0 + lane % 8 + lane / 16 * 8, k0 + lane / 8 % 2 * 8));
    f0[0] = f[0], f0[1] = f[1], f1[0] = f[2], f1[1] = f[3];
}

template <typename Layout, typename T>
MO_DEV void mo_frag_b2_cols(unsigned (&f0)[2], unsigned (&f1)[2], const T *tile, int q0, int k0)
{
    int lane = threadIdx.x % 32;
    unsigned f[4];
    mo_ldmatrix_x4_trans(f, tile + Layout::at(k0 + lane % 16, q0 + lane / 16 * 8));
    f0[0] = f[0], f0[1] = f[1], f1[0] = f[2], f1[1] = f[3];
}

/* The A fragment at (p0, k0) of a f32 tile with rows p and columns k: four floats are the 16 bytes that
 * ldmatrix hands to a quad. */
template <typename Layout> MO_DEV void mo_tf32_a_rows(float (&x)[4], const float *tile, int p0, int k0)
{
    int lane = threadIdx.x % 32;
    unsigned f[4];
    mo_ldmatrix_x4(f, tile + Layout::at(p0 + lane % 16, k0 + lane / 16 * 4));
#pragma unroll
    for (int i = 0; i < 4; i++) x[i] = mo_as_float(f[i]);
}

/* The B fragment at (q0, k0) of a f32 tile with rows q and columns k. */
template <typename Layout> MO_DEV void mo_tf32_b_rows(float (&x)[2], const float *tile, int q0, int k0)
{
    int lane = threadIdx.x % 32;
    unsigned f[2];
    mo_ldmatrix_x2(f, tile + Layout::at(q0 + lane % 8, k0 + lane / 8 % 2 * 4));
    x[0] = mo_as_float(f[0]), x[1] = mo_as_float(f[1]);
}

/* Half h of a fragment register as a float. */
template <typename T> MO_DEV float mo_frag_get(unsigned pair, int h)
{
    float lo, hi;
    mo_unpack<T>(pair, lo, hi);
    return h ? hi : lo;
}

/* Writes a C fragment at (p0, q0) into a f32 tile with rows q of STRIDE floats (STRIDE % 16 == 4: no bank
 * conflicts). */
template <int STRIDE> MO_DEV void mo_store_c(float *tile, const float (&c)[4], int p0, int q0)
{
    int g = threadIdx.x % 32 / 4, t = threadIdx.x % 4;
#pragma unroll
    for (int i = 0; i < 4; i++) tile[(q0 + 2 * t + i % 2) * STRIDE + p0 + g + i / 2 * 8] = c[i];
}

/* Sums VEC neighbouring elements over the partial tiles of COUNT warp groups, DISTANCE floats apart. */
template <int COUNT, int DISTANCE, int VEC> MO_DEV void mo_sum_parts(float (&x)[VEC], const float *part)
{
#pragma unroll
    for (int v = 0; v < VEC; v++) x[v] = part[v];
#pragma unroll
    for (int i = 1; i < COUNT; i++)
#pragma unroll
        for (int v = 0; v < VEC; v++) x[v] += part[i * DISTANCE + v];
}

/* Combines a row statistic over the partial values of COUNT warp groups, DISTANCE floats apart. */
template <typename Op, int COUNT, int DISTANCE> MO_DEV float mo_reduce_parts(const float *part)
{
    float x = part[0];
#pragma unroll
    for (int i = 1; i < COUNT; i++) x = Op::apply(x, part[i * DISTANCE]);
    return x;
}

/* Combines x over the four lanes that hold the same row of a fragment. */
template <typename Op> MO_DEV float mo_reduce_quad(float x)
{
    x = Op::apply(x, mo_shfl_xor(x, 1));
    return Op::apply(x, mo_shfl_xor(x, 2));
}
