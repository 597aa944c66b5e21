/* Pointwise functions and vector access; include after half.cuh. All arithmetic is f32. Items are separated
 * by blank lines, as in ptx.cuh. */

MO_DEV float mo_relu(float x)
{
    return mo_max_nan(x, 0.0f);
}

MO_DEV float mo_clamp(float x, float least, float most)
{
    return mo_min_nan(mo_max_nan(x, least), most);
}

MO_DEV float mo_sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

MO_DEV float mo_silu(float x)
{
    return x / (1.0f + expf(-x));
}

/* x/2 (1 + erf(x / sqrt 2)), through erfc so that large negative x does not cancel. */
MO_DEV float mo_gelu_erf(float x)
{
    return 0.5f * x * erfcf(-0.70710678118654752f * x);
}

/* x/2 (1 + tanh u) = x / (1 + exp(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3). */
MO_DEV float mo_gelu_tanh(float x)
{
    return x / (1.0f + expf(-1.59576912160573071f * (x + 0.044715f * x * x * x)));
}

/* A number that many are divided by: x * scale * inverse is x / y up to 2 units in the last place. The scale
 * keeps the inverse of a subnormal y finite. */
struct mo_divisor {
    float scale, inverse;
};

MO_DEV mo_divisor mo_divisor_of(float y)
{
    mo_divisor d;
    d.scale = fabsf(y) < 1.17549435e-38f ? 1.84467441e19f : 1.0f;
    d.inverse = 1.0f / (y * d.scale);
    return d;
}

/* The square root of y, whose inverse is never too large. */
MO_DEV mo_divisor mo_divisor_of_sqrt(float y)
{
    mo_divisor d;
    d.scale = 1.0f;
    d.inverse = mo_rsqrt(y);
    return d;
}

MO_DEV float mo_divide(float x, mo_divisor by)
{
    return x * by.scale * by.inverse;
}

/* Neighbouring elements as they lie in memory; the pointer is aligned to their size. In two steps, so that many
 * loads are under way together: mo_unpack_words makes floats of them, and `nothing`, which is 0, delays that
 * until it is known. */
template <int N, typename T> MO_DEV void mo_load_words(unsigned (&words)[N], const T *from)
{
    if constexpr (N % 4 == 0) {
        constexpr int PER = 16 / (int)sizeof(T);
#pragma unroll
        for (int i = 0; i < N / 4; i++) {
            unsigned r[4];
            mo_ld16(r, from + i * PER);
#pragma unroll
            for (int j = 0; j < 4; j++) words[4 * i + j] = r[j];
        }
    } else if constexpr (N == 2) {
        mo_ld8(words, from);
    } else {
        static_assert(N == 1, "no such access");
        words[0] = mo_ld4(from);
    }
}

template <typename T, int N, int VEC>
MO_DEV void mo_unpack_words(float (&x)[VEC], const unsigned (&words)[N], unsigned nothing)
{
#pragma unroll
    for (int i = 0; i < N; i++) {
        if constexpr (sizeof(T) == 4) {
            x[i] = mo_as_float(words[i] | nothing);
        } else {
            mo_unpack<T>(words[i] | nothing, x[2 * i], x[2 * i + 1]);
        }
    }
}

/* VEC consecutive elements as floats; the pointer is aligned to their size. */
template <int VEC, typename T> MO_DEV void mo_load_vec(float (&x)[VEC], const T *from)
{
    unsigned words[VEC * sizeof(T) / 4];
    mo_load_words(words, from);
    mo_unpack_words<T>(x, words, 0u);
}

template <int VEC, typename T> MO_DEV void mo_store_vec(T *to, const float (&x)[VEC])
{
    constexpr int BYTES = VEC * (int)sizeof(T);
    if constexpr (BYTES == 16 || BYTES == 32) {
        constexpr int PER = 16 / (int)sizeof(T);
#pragma unroll
        for (int i = 0; i < VEC; i += PER) {
            unsigned r[4];
#pragma unroll
            for (int j = 0; j < 4; j++) {
                if constexpr (sizeof(T) == 4) {
                    r[j] = mo_as_uint(x[i + j]);
                } else {
                    r[j] = mo_pack<T>(x[i + 2 * j], x[i + 2 * j + 1]);
                }
            }
            mo_st16(to + i, r);
        }
    } else if constexpr (BYTES == 4 && VEC == 2) {
        mo_st4(to, mo_pack<T>(x[0], x[1]));
    } else {
#pragma unroll
        for (int i = 0; i < VEC; i++) mo_store(to + i, x[i]);
    }
}
