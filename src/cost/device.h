/* Facts of GPUs, used for placement limits and the cost model. Integers only: a ranking must come out the
 * same on every machine. */
#ifndef MO_COST_DEVICE_H
#define MO_COST_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *name; /* "NVIDIA H200" */
    int arch;         /* 80, 86, 89, 90, 100, 120 */
    int sms;
    int shared_per_block; /* bytes, opt-in limit */
    int shared_per_sm;
    int64_t dram_bytes_per_us; /* read bandwidth, large sizes */
    int64_t l2_bytes_per_us;
    int64_t l2_bytes;
    int64_t mma_flops_per_us; /* dense f16 with f32 accumulation, mma.sync */
    int64_t f32_flops_per_us;
    int launch_ns; /* one kernel inside a CUDA graph, empty */
} mo_device;

/* Table entry for an architecture number (the data-centre part of that generation); NULL if unknown. */
const mo_device *mo_device_for_arch(int arch);
/* Table entry of a GPU by the name its driver reports; where no entry has that name, that of its
 * architecture. */
const mo_device *mo_device_by_name(const char *name, int arch);
/* Parses "sm_90a", "sm_80": the number, or -1. */
int mo_arch_parse(const char *text);
/* "sm_90a" for 90, "sm_100a", "sm_80", ... */
const char *mo_arch_name(int arch);

#endif
