/* The common small instance of both sides, and what the test can tell about them. */
#include "verify/equiv_parts.h"

#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_CELLS (1 << 16) /* elements of the largest tensor or value of a small instance */

static void add_constant(mo_equiv_task *t, double number)
{
    double *grown = MO_NEW_ARRAY(t->arena, double, t->n_constants + 1);
    if (t->n_constants > 0) memcpy(grown, t->constants, sizeof *grown * (size_t)t->n_constants);
    for (int i = 0; i < t->n_constants; i++)
        if (grown[i] == number) return;
    grown[t->n_constants++] = number;
    t->constants = grown;
}

/* Numbers of a program. */
static void program_constants(mo_equiv_task *t, const mo_program *program)
{
    for (int i = 0; i < program->n_nodes; i++) {
        const mo_node *node = &program->nodes[i];
        for (int j = 0; j < node->n_inputs; j++)
            if (node->inputs[j].tensor < 0 && node->op != MO_OP_POW) add_constant(t, node->inputs[j].number);
        if (node->op == MO_OP_RMS_NORM || node->op == MO_OP_LAYER_NORM || node->op == MO_OP_L2_NORM)
            add_constant(t, node->attrs.eps);
        if (node->op == MO_OP_CLAMP) {
            add_constant(t, node->attrs.min);
            add_constant(t, node->attrs.max);
        }
    }
}

/* The lengths that means divide by. */
static void add_lengths(mo_equiv_task *t, const mo_program *program)
{
    for (int i = 0; i < program->n_nodes; i++) {
        const mo_node *node = &program->nodes[i];
        bool mean = node->op == MO_OP_MEAN || node->op == MO_OP_RMS_NORM || node->op == MO_OP_LAYER_NORM;
        double length = 1.0;
        for (int a = 0; mean && a < node->attrs.n_axes; a++)
            length *= (double)program->tensors[node->inputs[0].tensor].shape.dim[node->attrs.axes[a]];
        if (mean) add_constant(t, length);
    }
}

static void graph_constants(mo_equiv_task *t)
{
    for (int k = 0; k < t->graph->n_kernels; k++) {
        const mo_prim *body = t->graph->kernels[k].body;
        for (int i = 0; i < body->n_nodes; i++) {
            const mo_prim_node *node = &body->nodes[i];
            if (node->op == MO_OP_CONST && node->const_axes == 0) add_constant(t, node->number);
            if (node->op != MO_OP_CLAMP) continue;
            add_constant(t, node->min);
            add_constant(t, node->max);
        }
    }
}

/* Tensors of the muGraph: the program's with its classes, the others with classes of their own. */
static mo_bind_tensors bind_tensors(mo_equiv_task *t)
{
    t->n_tensors = t->graph->n_tensors;
    t->tensor_dims = MO_NEW_ARRAY(t->arena, mo_dim_ids, t->n_tensors + 1);
    mo_shape *shapes = MO_NEW_ARRAY(t->arena, mo_shape, t->n_tensors + 1);
    int64_t(*strides)[MO_MAX_RANK] = mo_arena_alloc(t->arena, sizeof *strides * (size_t)(t->n_tensors + 1));
    for (int i = 0; i < t->n_tensors; i++) {
        bool own = i >= t->program->n_tensors;
        shapes[i] = own ? t->graph->tensors[i].shape : t->program->tensors[i].shape;
        memcpy(strides[i], own ? t->graph->tensors[i].strides : t->program->tensors[i].strides,
               sizeof strides[i]);
        if (!own)
            t->tensor_dims[i] = t->shrink.tensors[i];
        else
            for (int d = 0; d < shapes[i].rank; d++)
                t->tensor_dims[i].dim[d] = mo_dims_add(t->dims, shapes[i].dim[d]);
    }
    return (mo_bind_tensors){t->n_tensors, shapes, (const int64_t(*)[MO_MAX_RANK])strides, t->tensor_dims};
}

/* The muGraph's tensor that holds each output: outputs that repeat or are inputs have a copy. */
static void find_outputs(mo_equiv_task *t)
{
    t->outputs = MO_NEW_ARRAY(t->arena, int, t->program->n_outputs + 1);
    memcpy(t->outputs, t->program->outputs, sizeof *t->outputs * (size_t)t->program->n_outputs);
    for (int i = 0; i < t->graph->n_tensors; i++)
        if (t->graph->tensors[i].output >= 0) t->outputs[t->graph->tensors[i].output] = i;
}

/* Classes of the axes that the program's means run over; returns their number. */
static int mean_lengths(const mo_equiv_task *t, int *lengths, int room)
{
    int count = 0;
    for (int i = 0; i < t->program->n_nodes; i++) {
        const mo_node *node = &t->program->nodes[i];
        bool mean = node->op == MO_OP_MEAN || node->op == MO_OP_RMS_NORM || node->op == MO_OP_LAYER_NORM;
        for (int a = 0; mean && a < node->attrs.n_axes && count < room; a++)
            lengths[count++] = t->shrink.tensors[node->inputs[0].tensor].dim[node->attrs.axes[a]];
    }
    return count;
}

static bool bind_graph(mo_equiv_task *t)
{
    int lengths[64], n_lengths = mean_lengths(t, lengths, 64);
    mo_bind_tensors tensors = bind_tensors(t);
    t->kernels = MO_NEW_ARRAY(t->arena, mo_bound_prim, t->graph->n_kernels + 1);
    for (int k = 0; k < t->graph->n_kernels; k++)
        if (!mo_bind_prim(t->arena, t->dims, t->graph->kernels[k].body, &tensors, &t->kernels[k],
                          &t->small_reason))
            return false;
    for (int k = 0; k < t->graph->n_kernels; k++)
        mo_bind_lengths(t->dims, &t->kernels[k], lengths, n_lengths);
    return true;
}

/* Inputs are the same tensors; outputs correspond by position. */
static bool bind_other(mo_equiv_task *t)
{
    t->shrink_other = mo_shrink_program(t->arena, t->dims, t->other);
    const mo_program *a = t->program, *b = t->other;
    for (int i = 0; i < a->n_inputs; i++)
        for (int d = 0; d < a->tensors[i].shape.rank; d++)
            if (!mo_dims_equal(t->dims, t->shrink.tensors[i].dim[d], t->shrink_other.tensors[i].dim[d]))
                return false;
    for (int o = 0; o < a->n_outputs; o++)
        for (int d = 0; d < a->tensors[a->outputs[o]].shape.rank; d++)
            if (!mo_dims_equal(t->dims, t->shrink.tensors[a->outputs[o]].dim[d],
                               t->shrink_other.tensors[b->outputs[o]].dim[d]))
                return false;
    return true;
}

static bool program_is_small(const mo_program *program)
{
    for (int i = 0; i < program->n_tensors; i++)
        if (mo_shape_elements(program->tensors[i].shape) > MOST_CELLS) return false;
    return true;
}

static bool kernel_is_small(const mo_equiv_task *t, const mo_bound_prim *kernel)
{
    for (int i = 0; i < kernel->graph->n_nodes; i++) {
        int64_t size = 1;
        MO_FOR_AXES(a, kernel->graph->nodes[i].axes) {
            size *= mo_dims_small(t->dims, kernel->axis[a]);
            if (size > MOST_CELLS) return false;
        }
    }
    return true;
}

static void small_shapes(mo_equiv_task *t)
{
    t->shapes = MO_NEW_ARRAY(t->arena, mo_shape, t->n_tensors + 1);
    for (int i = 0; i < t->n_tensors; i++) {
        bool own = i >= t->program->n_tensors;
        t->shapes[i] = own ? t->graph->tensors[i].shape : t->program->tensors[i].shape;
        for (int d = 0; d < t->shapes[i].rank; d++)
            t->shapes[i].dim[d] = mo_dims_small(t->dims, t->tensor_dims[i].dim[d]);
    }
}

/* x * 64 and mean(x) can only agree where the mean runs over 64 elements. */
static bool mentions(const mo_equiv_task *t, int64_t extent)
{
    for (int i = 0; i < t->n_constants; i++) {
        double number = fabs(t->constants[i]), length = (double)extent;
        if (number == length || fabs(number * length - 1.0) < 1e-12) return true;
    }
    return false;
}

static void keep_mentioned(mo_equiv_task *t)
{
    for (int i = 0; i < mo_dims_count(t->dims); i++) {
        if (mo_dims_class(t->dims, i) == 0 || !mentions(t, mo_dims_extent(t->dims, i))) continue;
        t->mentioned = true;
        if (t->keep_mentioned) mo_dims_pin(t->dims, i);
    }
}

static bool make_small(mo_equiv_task *t)
{
    t->small_reason = "the extents of the two sides cannot be reconciled";
    if (t->graph != NULL ? !bind_graph(t) : !bind_other(t)) return false;
    keep_mentioned(t);
    mo_dims_choose(t->dims);
    t->small_reason = "no small instance of these shapes";
    mo_program *small = mo_shrink_build(t->arena, &t->shrink);
    if (small == NULL || !program_is_small(small)) return false;
    if (t->graph != NULL) {
        small_shapes(t);
        for (int k = 0; k < t->graph->n_kernels; k++)
            if (!kernel_is_small(t, &t->kernels[k])) return false;
    } else {
        t->small_other = mo_shrink_build(t->arena, &t->shrink_other);
        if (t->small_other == NULL || !program_is_small(t->small_other)) return false;
    }
    t->small = small;
    return true;
}

/* Forms of what moves data, from those of what was written so far. */
static void move_forms(const mo_equiv_task *t, mo_form *all)
{
    for (int n = 0; n < t->program->n_nodes; n++) {
        const mo_node *node = &t->program->nodes[n];
        if (mo_op_kind_of(node->op) != MO_KIND_VIEW) continue;
        mo_form *operands = MO_NEW_ARRAY(t->arena, mo_form, node->n_inputs);
        for (int j = 0; j < node->n_inputs; j++) operands[j] = all[node->inputs[j].tensor];
        for (int o = 0; o < node->n_outputs; o++)
            all[node->outputs[o]] = mo_form_view(operands, node->n_inputs);
    }
}

/* Forms of the outputs of the other side. */
static mo_form *other_forms(mo_equiv_task *t, mo_form_rules rules, const mo_form *forms)
{
    mo_form *outputs = MO_NEW_ARRAY(t->arena, mo_form, t->program->n_outputs + 1);
    if (t->other != NULL) {
        mo_form *all = MO_NEW_ARRAY(t->arena, mo_form, t->other->n_tensors + 1);
        mo_forms_program(&t->shrink_other, t->small_other, rules, all);
        for (int o = 0; o < t->program->n_outputs; o++) outputs[o] = all[t->other->outputs[o]];
        return outputs;
    }
    mo_form *all = MO_NEW_ARRAY(t->arena, mo_form, t->n_tensors + 1);
    memcpy(all, forms, sizeof *all * (size_t)t->program->n_inputs);
    for (int k = 0; k < t->graph->n_kernels; k++) {
        const mo_bound_prim *kernel = &t->kernels[k];
        move_forms(t, all);
        mo_form *nodes = MO_NEW_ARRAY(t->arena, mo_form, kernel->graph->n_nodes + 1);
        mo_forms_prim(t->dims, kernel, rules, all, nodes);
        for (int s = 0; s < kernel->graph->n_savers; s++) {
            const mo_saver *saver = &kernel->graph->savers[s];
            int tensor = saver->access.tensor;
            all[tensor] =
                mo_form_saved(t->dims, &nodes[saver->node], &t->tensor_dims[tensor], t->shapes[tensor].rank);
        }
    }
    move_forms(t, all);
    for (int o = 0; o < t->program->n_outputs; o++) outputs[o] = all[t->outputs[o]];
    return outputs;
}

/* `small` stands for the real program where there is no small one: only the flags count then. */
static void judge_forms(mo_equiv_task *t, bool free_functions)
{
    mo_form_rules rules = {t->chain, free_functions};
    mo_form *forms = MO_NEW_ARRAY(t->arena, mo_form, t->program->n_tensors + 1);
    mo_forms_program(&t->shrink, t->small == NULL ? t->program : t->small, rules, forms);
    double bits = 1.0;
    for (int i = 0; i < t->n_constants; i++)
        if (mo_bound_constant_bits(t->constants[i]) > bits) bits = mo_bound_constant_bits(t->constants[i]);
    double *per_round = &t->per_round[free_functions ? 1 : 0];
    *per_round = t->small == NULL ? 1.0 : 0.0;
    mo_form *others = t->small == NULL ? NULL : other_forms(t, rules, forms);
    for (int o = 0; o < t->program->n_outputs; o++) {
        const mo_form *a = &forms[t->program->outputs[o]], *b = others == NULL ? a : &others[o];
        t->soft |= a->order || a->opaque || b->order || b->opaque;
        t->can_be_free |= a->order || a->root || b->order || b->root;
        double bound = mo_bound_round(a, b, bits);
        if (!(bound < *per_round)) *per_round = bound;
    }
}

/* A name for each class of the instance: the axes of the kernels have names, dimensions of inputs get the
 * input's. */
static void name_class(mo_equiv_task *t, bool *named, int dim, const char *name)
{
    mo_verify_report *r = t->report;
    int c = mo_dims_class(t->dims, dim);
    if (c == 0 || named[c] || r->n_axes == MO_VERIFY_AXES) return;
    named[c] = true;
    mo_verify_axis *axis = &r->axes[r->n_axes];
    int same = 0;
    for (int i = 0; i < r->n_axes; i++) same += strncmp(r->axes[i].name, name, strlen(name)) == 0 ? 1 : 0;
    if (same == 0)
        snprintf(axis->name, sizeof axis->name, "%s", name);
    else
        snprintf(axis->name, sizeof axis->name, "%.15s_%d", name, same);
    axis->extent = mo_dims_small(t->dims, dim);
    r->n_axes++;
}

static void name_instance(mo_equiv_task *t)
{
    bool *named = MO_NEW_ARRAY(t->arena, bool, mo_dims_count(t->dims));
    for (int k = 0; t->graph != NULL && k < t->graph->n_kernels; k++) {
        const mo_prim *body = t->kernels[k].graph;
        for (int a = 0; a < body->n_axes; a++)
            if (body->axes[a].name[0] != '\0')
                name_class(t, named, t->kernels[k].axis[a], body->axes[a].name);
    }
    for (int i = 0; i < t->program->n_inputs; i++)
        for (int d = 0; d < t->program->tensors[i].shape.rank; d++) {
            char name[32];
            snprintf(name, sizeof name, "%.15s.%d", t->program->tensors[i].name, d);
            name_class(t, named, t->shrink.tensors[i].dim[d], name);
        }
}

void mo_equiv_prepare(mo_equiv_task *t)
{
    t->dims = mo_dims_new(t->arena);
    t->shrink = mo_shrink_program(t->arena, t->dims, t->program);
    const int *depths = mo_program_exp_depths(t->arena, t->program);
    for (int i = 0; i < t->program->n_tensors; i++) t->chain |= depths[i] > 1;
    if (t->graph != NULL) find_outputs(t);
    program_constants(t, t->program);
    if (t->graph != NULL) graph_constants(t);
    if (t->other != NULL) program_constants(t, t->other);
    if (make_small(t)) {
        t->small_reason = NULL;
        add_lengths(t, t->small);
        name_instance(t);
    }
    add_lengths(t, t->program);
    judge_forms(t, false);
    judge_forms(t, true);
}
