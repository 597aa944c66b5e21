/* Estimated time of a kernel, in nanoseconds, from its body and schedule. Integers only. */
#ifndef MO_COST_MODEL_H
#define MO_COST_MODEL_H

#include "cost/device.h"
#include "ir/mugraph.h"

/* What a schedule makes of a body. */
typedef struct {
    int64_t blocks;
    int64_t dram_bytes;   /* every tensor once */
    int64_t block_bytes;  /* read by one block */
    int64_t stage_bytes;  /* STREAM: one slab of one group in shared memory */
    int64_t direct_bytes; /* STREAM: the same in registers */
    int64_t shared_bytes; /* STREAM: about */
    int64_t accumulators; /* STREAM: floats for each thread */
    int64_t registers;    /* STREAM: of fragments, beyond what those of 16-bit products need */
    int64_t flops;        /* of the matrix or f32 units, padding included */
    int64_t pointwise;    /* elementwise operations */
} mo_kernel_facts;

/* `dtype_of(tensor)` gives the stored type of any tensor that the body uses. */
typedef struct {
    const mo_device *device;
    const mo_dtype *tensor_dtype;
    mo_passes off; /* passes of the optimiser that are switched off */
} mo_cost_context;

mo_kernel_facts mo_cost_facts(const mo_cost_context *context, const mo_prim *body,
                              const mo_schedule *schedule);
int64_t mo_cost_kernel(const mo_cost_context *context, const mo_prim *body, const mo_schedule *schedule);
/* The same where the facts are at hand. */
int64_t mo_cost_of_facts(const mo_cost_context *context, const mo_prim *body, const mo_schedule *schedule,
                         const mo_kernel_facts *facts);

/* A COPY kernel for a node of the program. */
int64_t mo_cost_move(const mo_cost_context *context, const mo_program *program, int node);

/* Times (ns) that overlap imperfectly: the integer cube root of the sum of their cubes. */
int64_t mo_cost_overlap(const int64_t *times, int count);

/* Does a product of the graph run in f32, not in 16 bits? */
bool mo_cost_uses_f32(const mo_prim *body);

/* Bytes that must move (each input that is used once, each output once) and the least flops of the graph's
 * products: what the time of any kernel is compared with. */
int64_t mo_program_bytes(const mo_program *program);
int64_t mo_mugraph_flops(const mo_mugraph *graph);

/* Time of one read of `bytes` and one launch, by the device table. */
int64_t mo_cost_floor(const mo_device *device, int64_t bytes, int64_t flops);

#endif
