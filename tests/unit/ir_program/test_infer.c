/* Shape and dtype rules, each as a node of a small program: the type of the last node, or the complaint. */
#include "parse/parse.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *inputs;   /* "A [2,3] f16; B [3] f32" */
    const char *node;     /* members after "inputs" of the node, which reads A, B, ... as listed */
    const char *expected; /* its type, or a part of the message */
} rule_case;

/* {"name": "A", "shape": [2,3], "dtype": "f16"}, ... */
static void add_inputs(mo_str *out, const char *inputs)
{
    char copy[512], *rest = NULL;
    snprintf(copy, sizeof copy, "%s", inputs);
    for (char *item = strtok_r(copy, ";", &rest); item != NULL; item = strtok_r(NULL, ";", &rest)) {
        char name[32], shape[128], dtype[32];
        cr_assert_eq(sscanf(item, " %31s %127s %31s", name, shape, dtype), 3, "%s", item);
        mo_str_printf(out, "%s{\"name\": \"%s\", \"shape\": %s, \"dtype\": \"%s\"}", item == copy ? "" : ", ",
                      name, shape, dtype);
    }
}

static void check(const rule_case *c)
{
    static mo_error error;
    mo_arena *arena = mo_arena_new();
    mo_str text = {0}, type = {0};
    mo_str_add(&text, "{\"format\": \"mirage-opt/1\", \"inputs\": [");
    add_inputs(&text, c->inputs);
    bool split = strstr(c->node, "\"outputs\"") != NULL;
    mo_str_printf(&text, "], \"nodes\": [{%s%s}], \"outputs\": [\"Y\"]}", c->node,
                  split ? "" : ", \"output\": \"Y\"");
    mo_program *program;
    mo_status status = mo_parse_program(arena, "t.json", text.data, text.length, &program, NULL, &error);
    if (status == MO_OK) {
        const mo_node *node = &program->nodes[0];
        for (int i = 0; i < node->n_outputs; i++) {
            const mo_tensor *t = &program->tensors[node->outputs[i]];
            mo_str_printf(&type, "%s%s ", i == 0 ? "" : ", ", mo_dtype_name(t->dtype));
            mo_shape_print(&type, t->shape);
        }
        cr_expect_str_eq(mo_str_text(&type), c->expected, "%s", c->node);
    } else {
        cr_expect(strstr(error.text, c->expected) != NULL, "%s\nexpected: %s\n%s", c->node, c->expected,
                  error.text);
    }
    mo_str_free(&text);
    mo_str_free(&type);
    mo_arena_free(arena);
}

#define CHECK_ALL(cases) \
    for (size_t i_ = 0; i_ < sizeof(cases) / sizeof(cases)[0]; i_++) check(&(cases)[i_])

Test(infer, matmul)
{
    static const rule_case cases[] = {
        {"A [2,3] f16; B [3,5] f16", "\"op\": \"matmul\", \"inputs\": [\"A\", \"B\"]", "f16 [2,5]"},
        {"A [2,3] f16; B [3,5] bf16", "\"op\": \"matmul\", \"inputs\": [\"A\", \"B\"]", "f32 [2,5]"},
        {"A [3,2] f16; B [5,3] f16",
         "\"op\": \"matmul\", \"inputs\": [\"A\", \"B\"], \"transpose_a\": true, \"transpose_b\": true",
         "f16 [2,5]"},
        {"A [7,1,2,3] f32; B [4,3,5] f32", "\"op\": \"matmul\", \"inputs\": [\"A\", \"B\"]", "f32 [7,4,2,5]"},
        {"A [2,3] f16; B [9,3,1] f16", "\"op\": \"matmul\", \"inputs\": [\"A\", \"B\"]", "f16 [9,2,1]"},
        {"A [3] f16; B [3,5] f16", "\"op\": \"matmul\", \"inputs\": [\"A\", \"B\"]",
         "/nodes/0/inputs/0: matmul: needs rank 2 or more (A [3])"},
        {"A [2,3] f16; B [4,5] f16", "\"op\": \"matmul\", \"inputs\": [\"A\", \"B\"]",
         "inner dimensions 3 and 4 differ (A [2,3], B [4,5])"},
        {"A [2,2,3] f16; B [3,3,5] f16", "\"op\": \"matmul\", \"inputs\": [\"A\", \"B\"]",
         "batch dimensions"},
        {"A [2,3] f16; B [3,3] f16", "\"op\": \"matmul\", \"inputs\": [\"A\", \"B\"], \"transpose_b\": 1",
         "/nodes/0/transpose_b: expected a boolean"},
    };
    CHECK_ALL(cases);
}

Test(infer, binary)
{
    static const rule_case cases[] = {
        {"A [4,1,3] f16; B [2,1] f16", "\"op\": \"add\", \"inputs\": [\"A\", \"B\"]", "f16 [4,2,3]"},
        {"A [] f16; B [2,3] f32", "\"op\": \"sub\", \"inputs\": [\"A\", \"B\"]", "f32 [2,3]"},
        {"A [2] bf16", "\"op\": \"mul\", \"inputs\": [\"A\", 2.5]", "bf16 [2]"},
        {"A [2] bf16", "\"op\": \"div\", \"inputs\": [1, \"A\"]", "bf16 [2]"},
        {"A [2] f16", "\"op\": \"maximum\", \"inputs\": [0, \"A\"]", "f16 [2]"},
        {"A [2] f16", "\"op\": \"pow\", \"inputs\": [\"A\", 3]", "f16 [2]"},
        {"A [2] f16", "\"op\": \"pow\", \"inputs\": [3, \"A\"]",
         "/inputs/0: pow: this operand must be a tensor"},
        {"A [2] f16", "\"op\": \"pow\", \"inputs\": [\"A\", \"A\"]",
         "/inputs/1: pow: the exponent must be a number"},
        {"A [2] f16", "\"op\": \"add\", \"inputs\": [1, 2]",
         "/inputs/1: add: only one operand may be a number"},
        {"A [2] f16", "\"op\": \"add\", \"inputs\": [\"A\"]", "add: takes 2 inputs, not 1"},
        {"A [2] f16; B [3] f16", "\"op\": \"minimum\", \"inputs\": [\"A\", \"B\"]",
         "do not broadcast (A [2], B [3])"},
        {"A [2] f16", "\"op\": \"mul\", \"inputs\": [\"A\", 1e39]", "beyond the range of f32"},
        {"A [65536,1] f16; B [32768] f16", "\"op\": \"add\", \"inputs\": [\"A\", \"B\"]",
         "2^31 or more elements"},
    };
    CHECK_ALL(cases);
}

Test(infer, unary)
{
    static const rule_case cases[] = {
        {"A [2,3] f16", "\"op\": \"silu\", \"inputs\": [\"A\"]", "f16 [2,3]"},
        {"A [] f32", "\"op\": \"exp\", \"inputs\": [\"A\"]", "f32 []"},
        {"A [2] f16", "\"op\": \"exp\", \"inputs\": [1.5]", "must be a tensor, not a number"},
        {"A [2] f16", "\"op\": \"gelu\", \"inputs\": [\"A\"], \"approximate\": \"tanh\"", "f16 [2]"},
        {"A [2] f16", "\"op\": \"gelu\", \"inputs\": [\"A\"]", "gelu needs the key 'approximate'"},
        {"A [2] f16", "\"op\": \"clamp\", \"inputs\": [\"A\"], \"min\": -1, \"max\": -1", "f16 [2]"},
        {"A [2] f16", "\"op\": \"clamp\", \"inputs\": [\"A\"], \"min\": 1, \"max\": 0.5",
         "min 1 is above max 0.5"},
        {"A [2] f16", "\"op\": \"cast\", \"inputs\": [\"A\"], \"dtype\": \"float32\"", "f32 [2]"},
        {"A [2] f16", "\"op\": \"cast\", \"inputs\": [\"A\"], \"dtype\": \"int\"", "unknown dtype 'int'"},
    };
    CHECK_ALL(cases);
}

Test(infer, reductions)
{
    static const rule_case cases[] = {
        {"A [2,3,4] f16", "\"op\": \"sum\", \"inputs\": [\"A\"]", "f16 []"},
        {"A [2,3,4] f16", "\"op\": \"sum\", \"inputs\": [\"A\"], \"keepdims\": true", "f16 [1,1,1]"},
        {"A [2,3,4] f16", "\"op\": \"mean\", \"inputs\": [\"A\"], \"axes\": [-1, 0]", "f16 [3]"},
        {"A [2,3,4] f16", "\"op\": \"max\", \"inputs\": [\"A\"], \"axes\": [1], \"keepdims\": true",
         "f16 [2,1,4]"},
        {"A [] f16", "\"op\": \"min\", \"inputs\": [\"A\"]", "f16 []"},
        {"A [2,3] f16", "\"op\": \"sum\", \"inputs\": [\"A\"], \"axes\": []",
         "/nodes/0/axes: the list of axes is empty"},
        {"A [2,3] f16", "\"op\": \"sum\", \"inputs\": [\"A\"], \"axes\": [0, -2]",
         "/axes/1: sum: axis -2 is listed twice"},
        {"A [2,3] f16", "\"op\": \"sum\", \"inputs\": [\"A\"], \"axes\": [2]",
         "axis 2 is out of range for rank 2"},
        {"A [2,3] f16", "\"op\": \"sum\", \"inputs\": [\"A\"], \"axes\": [0,1,2,3,4,5,6,7,8]", "9 axes"},
        {"A [] f16", "\"op\": \"sum\", \"inputs\": [\"A\"], \"axes\": [0]",
         "axis 0 is out of range for rank 0"},
    };
    CHECK_ALL(cases);
}

Test(infer, compound)
{
    static const rule_case cases[] = {
        {"A [2,3] f16", "\"op\": \"softmax\", \"inputs\": [\"A\"], \"axis\": 0", "f16 [2,3]"},
        {"A [] f16", "\"op\": \"softmax\", \"inputs\": [\"A\"], \"axis\": 0", "out of range for rank 0"},
        {"A [2,3] f16", "\"op\": \"rms_norm\", \"inputs\": [\"A\"], \"axes\": [-1], \"eps\": 0", "f16 [2,3]"},
        {"A [2,3,4] f16; W [3,4] f32",
         "\"op\": \"rms_norm\", \"inputs\": [\"A\", \"W\"], \"axes\": [-1, -2], \"eps\": 1", "f32 [2,3,4]"},
        {"A [2,3] f16; W [3] f16; B [3] f16",
         "\"op\": \"layer_norm\", \"inputs\": [\"A\", \"W\", \"B\"], \"axes\": [1], \"eps\": 1e-5",
         "f16 [2,3]"},
        {"A [2,3] f16; W [3] f16; B [1,3] f16",
         "\"op\": \"layer_norm\", \"inputs\": [\"A\", \"W\", \"B\"], \"axes\": [1], \"eps\": 1e-5",
         "/inputs/2: layer_norm: the bias does not have the normalised shape (A [2,3], B [1,3])"},
        {"A [2,3,4] f16", "\"op\": \"rms_norm\", \"inputs\": [\"A\"], \"axes\": [0, 2], \"eps\": 0",
         "the last dimensions"},
        {"A [2,3,4] f16", "\"op\": \"l2_norm\", \"inputs\": [\"A\"], \"axes\": [0, 2], \"eps\": 0",
         "f16 [2,3,4]"},
        {"A [2,3] f16", "\"op\": \"l2_norm\", \"inputs\": [\"A\"], \"axes\": [1], \"eps\": -1",
         "eps -1 is negative"},
        {"A [2,3] f16; B [3] f16",
         "\"op\": \"l2_norm\", \"inputs\": [\"A\", \"B\"], \"axes\": [1], \"eps\": 1", "takes 1 input"},
        {"A [2,3] f16", "\"op\": \"causal_mask\", \"inputs\": [\"A\"], \"offset\": -2", "f16 [2,3]"},
        {"A [3] f16", "\"op\": \"causal_mask\", \"inputs\": [\"A\"]", "needs rank 2 or more (A [3])"},
    };
    CHECK_ALL(cases);
}

Test(infer, movement)
{
    static const rule_case cases[] = {
        {"A [4,6] f16", "\"op\": \"reshape\", \"inputs\": [\"A\"], \"shape\": [2, -1, 3]", "f16 [2,4,3]"},
        {"A [1] f16", "\"op\": \"reshape\", \"inputs\": [\"A\"], \"shape\": []", "f16 []"},
        {"A [4,6] f16", "\"op\": \"reshape\", \"inputs\": [\"A\"], \"shape\": [7, -1]",
         "24 elements do not divide by 7"},
        {"A [4,6] f16", "\"op\": \"reshape\", \"inputs\": [\"A\"], \"shape\": [5, 5]",
         "24 elements do not become 25"},
        {"A [4,6] f16", "\"op\": \"reshape\", \"inputs\": [\"A\"], \"shape\": [0, -1]",
         "/shape/0: reshape: a dimension of size 0"},
        {"A [4,6] f16", "\"op\": \"reshape\", \"inputs\": [\"A\"], \"shape\": [24, -2]", "at least 1"},
        {"A [2,3,4] f16", "\"op\": \"transpose\", \"inputs\": [\"A\"], \"perm\": [2, 0, -2]", "f16 [4,2,3]"},
        {"A [2,3,4] f16", "\"op\": \"transpose\", \"inputs\": [\"A\"], \"perm\": [2, 0]",
         "perm has 2 entries"},
        {"A [2,3] f16; B [2,5] f32", "\"op\": \"concat\", \"inputs\": [\"A\", \"B\"], \"axis\": -1",
         "f32 [2,8]"},
        {"A [2,3] f16; B [3,5] f16", "\"op\": \"concat\", \"inputs\": [\"A\", \"B\"], \"axis\": 1",
         "shapes differ"},
        {"A [2,3] f16; B [3] f16", "\"op\": \"concat\", \"inputs\": [\"A\", \"B\"], \"axis\": 0",
         "shapes differ"},
        {"A [2,9] f16", "\"op\": \"slice\", \"inputs\": [\"A\"], \"axis\": 1, \"start\": -7, \"stop\": -1",
         "f16 [2,6]"},
        {"A [2,9] f16", "\"op\": \"slice\", \"inputs\": [\"A\"], \"axis\": 1, \"start\": 0, \"stop\": 9",
         "f16 [2,9]"},
        {"A [2,9] f16", "\"op\": \"slice\", \"inputs\": [\"A\"], \"axis\": 1, \"start\": 0, \"stop\": 10",
         "stop 10 is out of range"},
        {"A [2,9] f16", "\"op\": \"slice\", \"inputs\": [\"A\"], \"axis\": 1, \"start\": 9, \"stop\": 9",
         "start 9 is out of range"},
        {"A [2,9] f16", "\"op\": \"slice\", \"inputs\": [\"A\"], \"axis\": 1, \"start\": 3",
         "needs the key 'stop'"},
        {"A [2,9] f16",
         "\"op\": \"split\", \"inputs\": [\"A\"], \"axis\": 1, \"sections\": 3, \"outputs\": [\"Y\", \"Z\", "
         "\"V\"]",
         "f16 [2,3], f16 [2,3], f16 [2,3]"},
        {"A [2,9] f16",
         "\"op\": \"split\", \"inputs\": [\"A\"], \"axis\": 1, \"sections\": [4, 5], \"outputs\": [\"Y\", "
         "\"Z\"]",
         "f16 [2,4], f16 [2,5]"},
        {"A [2,9] f16",
         "\"op\": \"split\", \"inputs\": [\"A\"], \"axis\": 1, \"sections\": [4, 6], \"outputs\": [\"Y\", "
         "\"Z\"]",
         "longer than size 9"},
        {"A [2,9] f16",
         "\"op\": \"split\", \"inputs\": [\"A\"], \"axis\": 1, \"sections\": [9, 0], \"outputs\": [\"Y\", "
         "\"Z\"]",
         "a section is at least 1"},
        {"A [2,9] f16",
         "\"op\": \"split\", \"inputs\": [\"A\"], \"axis\": 1, \"sections\": 2, \"outputs\": [\"Y\", \"Z\"]",
         "size 9 does not divide into 2"},
        {"A [2000000000] f16",
         "\"op\": \"split\", \"inputs\": [\"A\"], \"axis\": 0, \"sections\": 2000000000, \"outputs\": "
         "[\"Y\"]",
         "2000000000 sections for 1 outputs"},
        {"A [3,1] f16", "\"op\": \"broadcast_to\", \"inputs\": [\"A\"], \"shape\": [2, 3, 5]", "f16 [2,3,5]"},
        {"A [3,1] f16", "\"op\": \"broadcast_to\", \"inputs\": [\"A\"], \"shape\": [1, 5]",
         "does not broadcast to [1,5]"},
        {"A [3,1] f16", "\"op\": \"broadcast_to\", \"inputs\": [\"A\"], \"shape\": [3, -1]", "at least 1"},
    };
    CHECK_ALL(cases);
}

/* Nodes that did not come from a file: not in normal form, or not of a program at all. */
Test(infer, refuses_defective_nodes)
{
    mo_tensor tensor = {.name = "A", .shape = {2, {4, 6}}, .dtype = MO_F16};
    mo_operand operand = {0, 0};
    int output = 1;
    mo_node node = {.n_inputs = 1, .inputs = &operand, .n_outputs = 1, .outputs = &output};
    mo_shape shape;
    mo_dtype dtype;
    mo_shape_error error;
    node.op = MO_OP_ITER;
    cr_assert_not(mo_node_infer(&tensor, &node, &shape, &dtype, &error));
    node.op = MO_OP_SUM;
    node.attrs.n_axes = 2;
    node.attrs.axes[0] = 1;
    cr_assert_not(mo_node_infer(&tensor, &node, &shape, &dtype, &error));
    cr_assert_str_eq(error.text, "axes are not in ascending order");
    node.attrs.axes[0] = -1;
    cr_assert_not(mo_node_infer(&tensor, &node, &shape, &dtype, &error));
    node.op = MO_OP_EXP;
    node.n_outputs = 2;
    cr_assert_not(mo_node_infer(&tensor, &node, &shape, &dtype, &error));
}

Test(shape, elements_saturate)
{
    mo_shape huge = {3, {INT64_MAX / 2, 2, 2}};
    cr_assert_eq(mo_shape_elements(huge), INT64_MAX);
    cr_assert_eq(mo_shape_elements((mo_shape){0, {0}}), 1);
}
