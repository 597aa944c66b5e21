#include "cost/device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bandwidths and rates are what large kernels reach, not datasheet peaks. The H200 row was measured; the
 * others are peaks times the fraction that the H200 reaches (0.9 of the memory, 0.6 of the wgmma peak by
 * mma.sync, 0.67 of f32) or, for parts whose peak is that of mma.sync, 0.85 of it. L2 rates and launches are
 * estimates. The last row of an architecture is the one taken where only the architecture is known. */
static const mo_device devices[] = {
    /* "NVIDIA A100 Tensor Core GPU Architecture" (whitepaper) and "NVIDIA Ampere GPU Architecture Tuning
     * Guide": 108 SMs, 164 KB of shared memory each, 40 MB L2, 1.555 TB/s (the 40 GB part), 312 TFLOP/s
     * f16, 19.5 f32. */
    {"NVIDIA A100", 80, 108, 163 * 1024, 164 * 1024, 1400000, 3200000, 40ll << 20, 270000000, 15000000, 700},
    {"NVIDIA A10", 86, 72, 99 * 1024, 100 * 1024, 530000, 1500000, 6ll << 20, 110000000, 20000000, 700},
    /* "NVIDIA Ada GPU Architecture" (whitepaper) and "NVIDIA Ada GPU Architecture Tuning Guide": 128 SMs, 100
     * KB of shared memory each, 72 MB L2, 1.008 TB/s, 165.2 TFLOP/s f16 with f32 sums, 82.6 f32. */
    {"NVIDIA GeForce RTX 4090", 89, 128, 99 * 1024, 100 * 1024, 905000, 2800000, 72ll << 20, 140000000,
     55000000, 700},
    /* "NVIDIA L40S" (datasheet): 18176 cores (142 SMs), 864 GB/s, 362 TFLOP/s f16, 91.6 f32; the whitepaper
     * above for shared memory and 96 MB L2. */
    {"NVIDIA L40S", 89, 142, 99 * 1024, 100 * 1024, 780000, 2800000, 96ll << 20, 300000000, 60000000, 700},
    /* "NVIDIA H100 Tensor Core GPU Architecture" (whitepaper) and "NVIDIA Hopper Tuning Guide": the SXM5 part
     * has 132 SMs, 228 KB of shared memory each, 50 MB L2, 3.35 TB/s, 989 TFLOP/s f16, 67 f32. */
    {"NVIDIA H100", 90, 132, 227 * 1024, 228 * 1024, 3000000, 5000000, 50ll << 20, 600000000, 45000000, 600},
    /* "NVIDIA H200 Tensor Core GPU" (datasheet): 4.8 TB/s, otherwise as the H100; measured. */
    {"NVIDIA H200", 90, 132, 227 * 1024, 228 * 1024, 4300000, 5000000, 60ll << 20, 600000000, 45000000, 600},
    /* "NVIDIA Blackwell Tuning Guide" (228 KB of shared memory for each SM) and "NVIDIA HGX B200"
     * (datasheet): 8 TB/s, 2.25 PFLOP/s f16 by tcgen05, 75 TFLOP/s f32. SMs and L2 as the driver reports
     * them. mma.sync is far from the peak there: its rate is that of Hopper for each SM. */
    {"NVIDIA B200", 100, 148, 227 * 1024, 228 * 1024, 7000000, 7500000, 126ll << 20, 700000000, 50000000,
     600},
    {"NVIDIA GeForce RTX 5090", 120, 170, 99 * 1024, 100 * 1024, 1600000, 4000000, 96ll << 20, 300000000,
     80000000, 700},
};

const mo_device *mo_device_for_arch(int arch)
{
    const mo_device *best = NULL;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (devices[i].arch <= arch) best = &devices[i];
    return best;
}

/* Drivers put the variant behind the name: "NVIDIA A100-SXM4-80GB", "NVIDIA H100 80GB HBM3". The next
 * character tells an A10 from an A100, and both from an A10G. */
static bool names(const char *row, const char *reported)
{
    size_t length = strlen(row);
    return strncmp(row, reported, length) == 0 && !isalnum((unsigned char)reported[length]);
}

const mo_device *mo_device_by_name(const char *name, int arch)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (devices[i].arch == arch && names(devices[i].name, name)) return &devices[i];
    return mo_device_for_arch(arch);
}

int mo_arch_parse(const char *text)
{
    if (strncmp(text, "sm_", 3) != 0) return -1;
    char *end;
    long number = strtol(text + 3, &end, 10);
    if (end == text + 3 || end - text > 6 || (strcmp(end, "") != 0 && strcmp(end, "a") != 0)) return -1;
    return number < 80 || number > 200 ? -1 : (int)number;
}

const char *mo_arch_name(int arch)
{
    switch (arch) {
    case 80: return "sm_80";
    case 86: return "sm_86";
    case 87: return "sm_87";
    case 89: return "sm_89";
    case 90: return "sm_90a";
    case 100: return "sm_100a";
    case 103: return "sm_103a";
    case 110: return "sm_110a";
    case 120: return "sm_120a";
    case 121: return "sm_121a";
    default: return NULL;
    }
}
