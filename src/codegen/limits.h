/* Limits of architectures that decide whether a kernel can be emitted. */
#ifndef MO_CODEGEN_LIMITS_H
#define MO_CODEGEN_LIMITS_H

/* Bytes of shared memory that a block may ask for. */
int mo_shared_limit(int arch);

#endif
