/* Text form of a program, and its hash.
 *
 *     program "rmsnorm_linear"
 *     input "X": f16 [16,4096]
 *     input "W": f16 [4096,6144] strides=[6144,1]
 *     node "N": f16 [16,4096] = rms_norm("X") axes=[1] eps=1e-05
 *     node "Y": f16 [16,6144] = matmul("N", "W")
 *     output "Y"
 *
 * Strides are left out where they are row-major, booleans where they are false. The hash is taken of the
 * same lines, with tensors numbered instead of named and nodes in the order in which the outputs need
 * them, so that it depends on neither names nor the order of the file. */
#include "ir/program.h"

#include "base/json.h"

#include <inttypes.h>
#include <string.h>

typedef struct {
    mo_str *out;
    const mo_program *program;
    const int *number; /* of each tensor; NULL: print names */
} printer;

static void add_name(mo_str *out, const char *name)
{
    mo_str_add(out, "\"");
    for (const char *c = name; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') mo_str_add(out, "\\");
        mo_str_add_bytes(out, c, 1);
    }
    mo_str_add(out, "\"");
}

static void add_tensor(const printer *p, int tensor)
{
    if (p->number == NULL)
        add_name(p->out, p->program->tensors[tensor].name);
    else
        mo_str_printf(p->out, "%%%d", p->number[tensor]);
}

static void add_number(mo_str *out, double value)
{
    char text[32];
    mo_double_text(value, text);
    mo_str_add(out, text);
}

static void add_ints(mo_str *out, const int64_t *values, int count)
{
    mo_str_add(out, "[");
    for (int i = 0; i < count; i++) mo_str_printf(out, "%s%" PRId64, i == 0 ? "" : ",", values[i]);
    mo_str_add(out, "]");
}

static void add_indices(mo_str *out, const int *values, int count)
{
    int64_t wide[MO_MAX_RANK];
    for (int i = 0; i < count; i++) wide[i] = values[i];
    add_ints(out, wide, count);
}

static void add_declaration(const printer *p, int tensor)
{
    const mo_tensor *t = &p->program->tensors[tensor];
    add_tensor(p, tensor);
    mo_str_printf(p->out, ": %s ", mo_dtype_name(t->dtype));
    mo_shape_print(p->out, t->shape);
}

static void add_input(const printer *p, int tensor)
{
    const mo_tensor *t = &p->program->tensors[tensor];
    int64_t row_major[MO_MAX_RANK];
    mo_shape_row_major(t->shape, row_major);
    mo_str_add(p->out, "input ");
    add_declaration(p, tensor);
    if (memcmp(row_major, t->strides, sizeof row_major[0] * (size_t)t->shape.rank) != 0) {
        mo_str_add(p->out, " strides=");
        add_ints(p->out, t->strides, t->shape.rank);
    }
    mo_str_add(p->out, "\n");
}

static void add_attribute(const printer *p, const mo_node *node, const mo_attr_row *row)
{
    const mo_attrs *attrs = &node->attrs;
    const void *member = (const char *)attrs + row->offset;
    if (row->type == MO_TYPE_BOOL && !*(const bool *)member) return;
    mo_str_printf(p->out, " %s=", row->key);
    switch (row->type) {
    case MO_TYPE_BOOL: mo_str_add(p->out, "true"); break;
    case MO_TYPE_INT: mo_str_printf(p->out, "%" PRId64, *(const int64_t *)member); break;
    case MO_TYPE_NUMBER: add_number(p->out, *(const double *)member); break;
    case MO_TYPE_AXIS: mo_str_printf(p->out, "%d", attrs->axes[0]); break;
    case MO_TYPE_AXES: add_indices(p->out, attrs->axes, attrs->n_axes); break;
    case MO_TYPE_PERM:
        add_indices(p->out, attrs->perm, p->program->tensors[node->outputs[0]].shape.rank);
        break;
    case MO_TYPE_SHAPE: mo_shape_print(p->out, attrs->shape); break;
    case MO_TYPE_DTYPE: mo_str_add(p->out, mo_dtype_name(attrs->dtype)); break;
    case MO_TYPE_APPROXIMATE: mo_str_add(p->out, attrs->approximate_tanh ? "tanh" : "none"); break;
    case MO_TYPE_SECTIONS: add_ints(p->out, attrs->sections, attrs->n_sections); break;
    }
}

static void add_node(const printer *p, const mo_node *node)
{
    mo_str_add(p->out, "node ");
    for (int i = 0; i < node->n_outputs; i++) {
        if (i > 0) mo_str_add(p->out, ", ");
        add_declaration(p, node->outputs[i]);
    }
    mo_str_printf(p->out, " = %s(", mo_op_name(node->op));
    for (int i = 0; i < node->n_inputs; i++) {
        if (i > 0) mo_str_add(p->out, ", ");
        if (node->inputs[i].tensor >= 0)
            add_tensor(p, node->inputs[i].tensor);
        else
            add_number(p->out, node->inputs[i].number);
    }
    mo_str_add(p->out, ")");
    int rows;
    const mo_attr_row *table = mo_attr_table(&rows);
    for (int i = 0; i < rows; i++) {
        if ((mo_op_get(node->op)->attributes & table[i].bit) != 0) add_attribute(p, node, &table[i]);
    }
    mo_str_add(p->out, "\n");
}

/* `order` lists the nodes to print; NULL: all, as they are. */
static void add_program(const printer *p, const int *order, int n_nodes)
{
    for (int i = 0; i < p->program->n_inputs; i++) add_input(p, i);
    for (int i = 0; i < n_nodes; i++) add_node(p, &p->program->nodes[order == NULL ? i : order[i]]);
    for (int i = 0; i < p->program->n_outputs; i++) {
        mo_str_add(p->out, "output ");
        add_tensor(p, p->program->outputs[i]);
        mo_str_add(p->out, "\n");
    }
}

void mo_program_print(mo_str *out, const mo_program *program)
{
    printer p = {out, program, NULL};
    mo_str_add(out, "program ");
    add_name(out, program->name);
    mo_str_add(out, "\n");
    add_program(&p, NULL, program->n_nodes);
}

/* Walk from one tensor to everything that it needs; a node is listed after its operands. The stack is
 * explicit because a program may be a chain of many thousand nodes. */
typedef struct {
    const mo_program *program;
    bool *entered;
    int *stack, depth;
    int *next_input; /* of each node on the stack */
    int *order, count;
} walk;

static void enter(walk *w, int tensor)
{
    int node = tensor < 0 ? -1 : w->program->tensors[tensor].producer;
    if (node < 0 || w->entered[node]) return;
    w->entered[node] = true;
    w->stack[w->depth++] = node;
}

static void list_needed(walk *w, int tensor)
{
    enter(w, tensor);
    while (w->depth > 0) {
        int index = w->stack[w->depth - 1];
        const mo_node *node = &w->program->nodes[index];
        if (w->next_input[index] < node->n_inputs) {
            enter(w, node->inputs[w->next_input[index]++].tensor);
            continue;
        }
        w->order[w->count++] = index;
        w->depth--;
    }
}

void mo_program_set_hash(mo_program *program)
{
    mo_arena *arena = program->arena;
    mo_arena_mark mark = mo_arena_get_mark(arena);
    int nodes = program->n_nodes;
    walk w = {.program = program,
              .entered = MO_NEW_ARRAY(arena, bool, nodes),
              .stack = MO_NEW_ARRAY(arena, int, nodes),
              .next_input = MO_NEW_ARRAY(arena, int, nodes),
              .order = MO_NEW_ARRAY(arena, int, nodes)};
    for (int i = 0; i < program->n_outputs; i++) list_needed(&w, program->outputs[i]);
    int *number = MO_NEW_ARRAY(arena, int, program->n_tensors);
    int next = 0;
    for (; next < program->n_inputs; next++) number[next] = next;
    for (int i = 0; i < w.count; i++) {
        const mo_node *node = &program->nodes[w.order[i]];
        for (int k = 0; k < node->n_outputs; k++) number[node->outputs[k]] = next++;
    }
    mo_str text = {0};
    printer p = {&text, program, number};
    add_program(&p, w.order, w.count);
    program->hash = mo_hash_128(mo_str_text(&text), text.length, 0);
    mo_str_free(&text);
    mo_arena_reset(arena, mark);
}
