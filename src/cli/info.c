#include "cli/info.h"

#include "cli/options.h"
#include "cost/device.h"
#include "gpu/nvrtc.h"
#include "ir/ops.h"

#include <stdio.h>

void mo_info_help(mo_str *out)
{
    mo_str_add(
        out, "usage: mirage-opt [OPTIONS] PROGRAM.json -o OUT.cu\n"
             "\n"
             "Searches for a faster program that computes the same as PROGRAM.json ('-': stdin), checks it,\n"
             "and writes it as one self-contained CUDA file.\n"
             "\n");
    mo_options_help(out);
    mo_str_add(out, "\n"
                    "exit codes:\n"
                    "  0    emitted, or checked, or equal (--verify)\n"
                    "  1    --require-speedup was not met (the file is written)\n"
                    "  2    usage, bad or unreadable input, unwritable destination (nothing is written)\n"
                    "  3    a GPU, driver or NVRTC that was asked for is missing\n"
                    "  4    even the unfused program fails the numeric check (nothing is written);\n"
                    "       --verify says different\n"
                    "  5    the budget ended before anything could be emitted\n"
                    "  6    --verify is undecided\n"
                    "  70   internal error\n"
                    "  74   input/output error while writing\n"
                    "  130  interrupted; 143 terminated (the best so far is emitted)\n");
}

void mo_info_version(mo_str *out)
{
    mo_str_add(out, "mirage-opt " MO_VERSION "\n");
}

/* Attributes as a program writes them; optional ones in brackets. */
static const struct {
    uint32_t bit;
    const char *text;
} attributes[] = {
    {MO_ATTR_TRANSPOSE, "[transpose_a] [transpose_b]"},
    {MO_ATTR_KEEPDIMS, "[keepdims]"},
    {MO_ATTR_AXIS, "axis"},
    {MO_ATTR_EPS, "eps"},
    {MO_ATTR_APPROXIMATE, "approximate"},
    {MO_ATTR_CLAMP, "min max"},
    {MO_ATTR_DTYPE, "dtype"},
    {MO_ATTR_OFFSET, "[offset]"},
    {MO_ATTR_SHAPE, "shape"},
    {MO_ATTR_PERM, "perm"},
    {MO_ATTR_RANGE, "start stop"},
    {MO_ATTR_SECTIONS, "sections"},
};

static void add_operator(mo_str *out, const mo_op_facts *facts)
{
    char operands[32];
    int least = facts->min_inputs, most = facts->max_inputs;
    if (least == most)
        snprintf(operands, sizeof operands, "%d", least);
    else
        snprintf(operands, sizeof operands, "%d-%d", least, most);
    mo_str_printf(out, "%-14s%-8s", facts->name, operands);
    const char *separator = "";
    if (facts->attributes & MO_ATTR_AXES) {
        mo_str_add(out, facts->kind == MO_KIND_REDUCE ? "[axes]" : "axes");
        separator = " ";
    }
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if ((facts->attributes & attributes[i].bit) == 0) continue;
        mo_str_printf(out, "%s%s", separator, attributes[i].text);
        separator = " ";
    }
    while (out->data[out->length - 1] == ' ') out->data[--out->length] = '\0';
    mo_str_add(out, "\n");
}

void mo_info_ops(mo_str *out)
{
    mo_str_printf(out, "%-14s%-8s%s\n", "operator", "inputs", "attributes ([optional])");
    for (int op = 0; op < MO_OP_COUNT; op++) {
        const mo_op_facts *facts = mo_op_get((mo_op)op);
        if (facts->kind != MO_KIND_STRUCTURE) add_operator(out, facts);
    }
}

mo_status mo_info_archs(mo_str *out, mo_error *error)
{
    mo_nvrtc *nvrtc = mo_nvrtc_open(error);
    if (nvrtc == NULL) return error->status;
    int archs[64];
    int count = mo_nvrtc_archs(nvrtc, archs, 64);
    for (int i = 0; i < count; i++) mo_str_printf(out, "%s\n", mo_arch_name(archs[i]));
    mo_nvrtc_close(nvrtc);
    return MO_OK;
}
