/* Estimated time of a kernel under a BLOCK schedule. The terms are those of a STREAM kernel (cost/model.c);
 * their constants are not fitted, because no such kernel is emitted yet. Integers only. */
#ifndef MO_COST_BLOCK_H
#define MO_COST_BLOCK_H

#include "cost/model.h"
#include "ir/block.h"

typedef struct {
    int64_t blocks, iterations; /* of one loop */
    int64_t dram_bytes;         /* every tensor once */
    int64_t block_bytes;        /* read by one block, again in each loop that needs it */
    int64_t stage_bytes;        /* one slab of everything that is looped over */
    int64_t shared_bytes;       /* stages, tiles held whole, operands made in the block */
    int64_t accumulator_bytes;  /* in registers, of a block */
    int64_t product_flops;      /* of a block */
    int64_t pointwise;          /* elementwise operations of a block */
    int64_t steps;              /* dependent products and reductions of one iteration */
} mo_block_facts;

mo_block_facts mo_cost_block_facts(mo_arena *scratch, const mo_cost_context *context, const mo_kernel *kernel,
                                   const mo_block *block);

/* In nanoseconds; INT64_MAX if shared memory or registers do not hold the block. */
int64_t mo_cost_block(const mo_cost_context *context, const mo_kernel *kernel, const mo_block *block,
                      const mo_block_facts *facts);

/* The same for a CHAIN schedule (ir/chain.h). Constants from measurements of hand-written attention kernels
 * on an H200: work of the matrix units and of the exponentials adds up, and a slab costs a warp its chain of
 * products, reductions across lanes and exponentials. */
int64_t mo_cost_chain(const mo_cost_context *context, const mo_kernel *kernel, const mo_block_facts *facts);

#endif
