/* Element types and their arithmetic facts. */
#ifndef MO_IR_DTYPE_H
#define MO_IR_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum { MO_F16, MO_BF16, MO_F32, MO_DTYPE_COUNT } mo_dtype;

const char *mo_dtype_name(mo_dtype dtype);             /* "f16", "bf16", "f32" */
bool mo_dtype_find(const char *name, mo_dtype *dtype); /* canonical names and aliases */
int mo_dtype_size(mo_dtype dtype);                     /* bytes */
double mo_dtype_unit_roundoff(mo_dtype dtype);         /* 2^-11, 2^-8, 2^-24 */
double mo_dtype_subnormal(mo_dtype dtype);             /* spacing of subnormal numbers */

/* Type of the result of an operator on operands of types a and b: the same, or f32 when mixed. */
mo_dtype mo_dtype_promote(mo_dtype a, mo_dtype b);

/* Rounds to nearest even, once, from double; overflow gives an infinity. */
double mo_dtype_round(mo_dtype dtype, double value);

/* Bits of `value` (which is rounded first), in the low 16 or 32 bits; and back. */
uint32_t mo_dtype_encode(mo_dtype dtype, double value);
double mo_dtype_decode(mo_dtype dtype, uint32_t bits);

#endif
