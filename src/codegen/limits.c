#include "codegen/limits.h"

int mo_shared_limit(int arch)
{
    switch (arch) {
    case 80:
    case 87: return 163 * 1024;
    case 86:
    case 89:
    case 120: return 99 * 1024;
    default: return 227 * 1024;
    }
}
