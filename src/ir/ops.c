#include "ir/ops.h"

#include "base/status.h"

#include <string.h>

static const mo_op_facts facts[MO_OP_COUNT] = {
#define MO_OP(id, name, min_in, max_in, kind, attributes, levels, abstract, flops) \
    [MO_OP_##id] = {name, min_in, max_in, MO_KIND_##kind, MO_ATTR_##attributes, MO_LEVEL_##levels, flops},
#include "ir/ops.def"
#undef MO_OP
};

const mo_op_facts *mo_op_get(mo_op op)
{
    MO_CHECK((unsigned)op < MO_OP_COUNT);
    return &facts[op];
}

bool mo_op_is_pointwise(mo_op op)
{
    mo_op_kind kind = mo_op_kind_of(op);
    return kind == MO_KIND_UNARY || kind == MO_KIND_BINARY || op == MO_OP_MASK;
}

bool mo_op_find(const char *name, mo_op *op)
{
    for (int i = 0; i < MO_OP_COUNT; i++) {
        if (facts[i].kind == MO_KIND_STRUCTURE || strcmp(facts[i].name, name) != 0) continue;
        *op = (mo_op)i;
        return true;
    }
    return false;
}
