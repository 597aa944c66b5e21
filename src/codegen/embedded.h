/* The device library (kernels/NAME.cuh) as text, embedded at build time. NUL-terminated. */
#ifndef MO_CODEGEN_EMBEDDED_H
#define MO_CODEGEN_EMBEDDED_H

extern const char mo_kernels_half[];
extern const char mo_kernels_math[];
extern const char mo_kernels_ptx[];
extern const char mo_kernels_reduce[];
extern const char mo_kernels_tile[];

#endif
