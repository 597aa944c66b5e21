#include "ir/passes.h"

#include "base/status.h"

const char *mo_pass_name(int bit)
{
    static const char *const names[MO_PASS_COUNT] = {"layout", "schedule", "memory", "pipeline", "threads"};
    MO_CHECK(bit >= 0 && bit < MO_PASS_COUNT);
    return names[bit];
}
