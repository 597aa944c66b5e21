/* 16-bit storage types and element access by type; include after ptx.cuh.
 *
 * mo_half and mo_bf16 only store: all arithmetic is done in float. Templates over an element type T in
 * {mo_half, mo_bf16, float} use mo_load, mo_store, and for fragments of 16-bit types mo_pack, mo_unpack and
 * mo_mma. Items are separated by blank lines, as in ptx.cuh. */

struct mo_half {
    unsigned short bits;
};

struct mo_bf16 {
    unsigned short bits;
};

MO_DEV float mo_to_float(mo_half x)
{
    return mo_f16_to_float(x.bits);
}

MO_DEV float mo_to_float(mo_bf16 x)
{
    return mo_bf16_to_float(x.bits);
}

MO_DEV float mo_to_float(float x)
{
    return x;
}

/* Conversions by element type: mo_elem<T>::make rounds to nearest even, pack puts `lo` in the low half. */
template <typename T> struct mo_elem;

template <> struct mo_elem<mo_half> {
    static __device__ __forceinline__ mo_half make(float x)
    {
        mo_half h;
        h.bits = mo_float_to_f16(x);
        return h;
    }
    static __device__ __forceinline__ unsigned pack(float lo, float hi)
    {
        return mo_pack_f16(lo, hi);
    }
    static __device__ __forceinline__ void unpack(unsigned pair, float &lo, float &hi)
    {
        mo_unpack_f16(pair, lo, hi);
    }
    static __device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
    {
        mo_mma_f16(d, a, b);
    }
};

template <> struct mo_elem<mo_bf16> {
    static __device__ __forceinline__ mo_bf16 make(float x)
    {
        mo_bf16 b;
        b.bits = mo_float_to_bf16(x);
        return b;
    }
    static __device__ __forceinline__ unsigned pack(float lo, float hi)
    {
        return mo_pack_bf16(lo, hi);
    }
    static __device__ __forceinline__ void unpack(unsigned pair, float &lo, float &hi)
    {
        mo_unpack_bf16(pair, lo, hi);
    }
    static __device__ __forceinline__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
    {
        mo_mma_bf16(d, a, b);
    }
};

template <> struct mo_elem<float> {
    static __device__ __forceinline__ float make(float x)
    {
        return x;
    }
};

template <typename T> MO_DEV float mo_load(const T *from)
{
    return mo_to_float(*from);
}

template <typename T> MO_DEV void mo_store(T *to, float x)
{
    *to = mo_elem<T>::make(x);
}

/* x as it reads back after being stored as T. */
template <typename T> MO_DEV float mo_round(float x)
{
    return mo_to_float(mo_elem<T>::make(x));
}

template <typename T> MO_DEV unsigned mo_pack(float lo, float hi)
{
    return mo_elem<T>::pack(lo, hi);
}

template <typename T> MO_DEV void mo_unpack(unsigned pair, float &lo, float &hi)
{
    mo_elem<T>::unpack(pair, lo, hi);
}

template <typename T> MO_DEV void mo_mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2])
{
    mo_elem<T>::mma(d, a, b);
}
