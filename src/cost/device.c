#include "cost/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bandwidths and rates are what large kernels reach, not datasheet peaks: the H200 row was measured, the
 * others are its fractions of peak applied to the vendor's datasheets. */
static const mo_device devices[] = {
    {"NVIDIA A100", 80, 108, 163 * 1024, 164 * 1024, 1400000, 3200000, 40ll << 20, 270000000, 15000000, 700},
    {"NVIDIA A10", 86, 72, 99 * 1024, 100 * 1024, 530000, 1500000, 6ll << 20, 110000000, 20000000, 700},
    {"NVIDIA L40S", 89, 142, 99 * 1024, 100 * 1024, 780000, 2800000, 96ll << 20, 300000000, 60000000, 700},
    {"NVIDIA H200", 90, 132, 227 * 1024, 228 * 1024, 4300000, 5000000, 60ll << 20, 600000000, 45000000, 600},
    {"NVIDIA B200", 100, 148, 227 * 1024, 228 * 1024, 7000000, 7500000, 126ll << 20, 700000000, 50000000,
     600},
    {"NVIDIA RTX 5090", 120, 170, 99 * 1024, 100 * 1024, 1600000, 4000000, 96ll << 20, 300000000, 80000000,
     700},
};

const mo_device *mo_device_for_arch(int arch)
{
    const mo_device *best = NULL;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (devices[i].arch <= arch) best = &devices[i];
    return best;
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
