/* The verdict from its parts. */
#include "verify/equiv.h"

#include "base/status.h"
#include "verify/equiv_parts.h"

#include <string.h>

#define FULL_DRAWS 16

static void start_report(mo_verify_report *report)
{
    *report = (mo_verify_report){.delta = -1.0};
}

/* With free functions first, where that makes a difference: it needs fewer and cheaper rounds and has a
 * bound more often. What it cannot show equal is tried again with true roots and order. */
static mo_equiv free_first(mo_equiv_task *t, mo_equiv (*test)(mo_equiv_task *, bool *), bool *decisive)
{
    t->free = t->can_be_free;
    mo_equiv result = test(t, decisive);
    if (result == MO_EQUAL_TESTED || !t->free) return result;
    t->free = false;
    t->report->reason = NULL;
    return test(t, decisive);
}

/* The program's own shape where the small instance has no word: one draw says nothing about an order (the
 * smaller of two values is the first one every other time), so that there are as many as the small instance
 * would have had. */
static mo_equiv full_alone(mo_equiv_task *t, bool *decisive)
{
    mo_equiv result = MO_EQUAL_TESTED;
    int draws = t->soft ? FULL_DRAWS : 1;
    for (int i = 0; i < draws && result == MO_EQUAL_TESTED; i++) {
        t->full_draw = i;
        result = free_first(t, mo_equiv_full, decisive);
    }
    t->full_draw = 0;
    return result;
}

static mo_equiv undecided(mo_equiv_task *t, const char *reason)
{
    t->report->reason = reason;
    return MO_UNDECIDED;
}

/* The two differ on the small instance, which a number that only fits the real extents may be the reason
 * of: the program's own shape has the last word. */
static mo_equiv settle_difference(mo_equiv_task *t, bool decisive)
{
    mo_verify_report *report = t->report;
    bool everywhere = decisive;
    if (t->options->max_products >= 0) {
        mo_equiv full = full_alone(t, &everywhere);
        if (full == MO_EQUAL_TESTED && report->full_checked == report->full_elements) return MO_EQUAL_TESTED;
        if (full == MO_EQUAL_TESTED)
            return undecided(
                t, "equal where the program's own shape was looked at, but not on the small instance");
        if (full == MO_UNDECIDED) return full;
    }
    if (mo_equiv_witness(t) || decisive || everywhere) return MO_DIFFERENT;
    return undecided(
        t, "the fields tell the two apart, but not in a way that decides, and float64 sees no difference");
}

/* Only the program's own shape. */
static mo_equiv full_verdict(mo_equiv_task *t)
{
    bool decisive = false;
    mo_equiv full = t->small == NULL ? full_alone(t, &decisive) : free_first(t, mo_equiv_full, &decisive);
    if (full == MO_EQUAL_TESTED && t->small == NULL && t->report->full_checked == 0)
        return undecided(t, "no small instance, and every element depends on too much to be evaluated");
    if (full != MO_DIFFERENT || mo_equiv_witness(t) || decisive) return full;
    return undecided(t, "an element differs at the program's own shape, but not in a way that decides");
}

static mo_equiv verdict(mo_equiv_task *t)
{
    bool evaluate_full = t->options->max_products >= 0, decisive = false;
    mo_equiv_prepare(t);
    if (t->small == NULL) return evaluate_full ? full_verdict(t) : undecided(t, t->small_reason);
    mo_equiv small = free_first(t, mo_equiv_small, &decisive);
    if (small == MO_DIFFERENT && t->mentioned && !t->keep_mentioned) {
        mo_equiv_task again = {.arena = t->arena,
                               .program = t->program,
                               .graph = t->graph,
                               .other = t->other,
                               .options = t->options,
                               .report = t->report,
                               .keep_mentioned = true};
        t->report->n_axes = 0;
        return verdict(&again);
    }
    if (small == MO_DIFFERENT) return settle_difference(t, decisive);
    return small == MO_EQUAL_TESTED && evaluate_full ? full_verdict(t) : small;
}

static bool bodies_are_there(const mo_mugraph *graph)
{
    for (int k = 0; k < graph->n_kernels; k++)
        if (graph->kernels[k].body == NULL) return false;
    return true;
}

mo_equiv mo_verify_mugraph(const mo_program *program, const mo_mugraph *graph,
                           const mo_verify_options *options, mo_verify_report *report)
{
    start_report(report);
    if (!bodies_are_there(graph)) {
        report->reason = "a kernel without a body";
        return MO_UNDECIDED;
    }
    mo_equiv_task task = {
        .arena = mo_arena_new(), .program = program, .graph = graph, .options = options, .report = report};
    mo_equiv result = verdict(&task);
    mo_arena_free(task.arena);
    return result;
}

mo_equiv mo_verify_programs(const mo_program *program, const mo_program *other,
                            const mo_verify_options *options, mo_verify_report *report)
{
    start_report(report);
    mo_equiv_task task = {.arena = mo_arena_new(), .program = program, .options = options, .report = report};
    task.other = mo_equiv_reorder(task.arena, program, other);
    mo_equiv result = MO_UNDECIDED;
    if (task.other == NULL || program->n_outputs != other->n_outputs)
        report->reason = "inputs or outputs do not correspond";
    else
        result = verdict(&task);
    mo_arena_free(task.arena);
    return result;
}

static int find_input(const mo_program *program, const char *name)
{
    for (int t = 0; t < program->n_inputs; t++)
        if (strcmp(program->tensors[t].name, name) == 0) return t;
    return -1;
}

mo_program *mo_equiv_reorder(mo_arena *arena, const mo_program *program, const mo_program *other)
{
    int shift = program->n_inputs - other->n_inputs;
    int *number = MO_NEW_ARRAY(arena, int, other->n_tensors + 1);
    mo_program *copy = MO_NEW(arena, mo_program);
    *copy = *other;
    copy->arena = arena;
    copy->n_inputs = program->n_inputs;
    copy->n_tensors = other->n_tensors + shift;
    copy->tensors = MO_NEW_ARRAY(arena, mo_tensor, copy->n_tensors + 1);
    memcpy(copy->tensors, program->tensors, sizeof *copy->tensors * (size_t)program->n_inputs);
    for (int t = 0; t < other->n_tensors; t++) {
        number[t] = t < other->n_inputs ? find_input(program, other->tensors[t].name) : t + shift;
        if (number[t] < 0) return NULL;
        if (t >= other->n_inputs) copy->tensors[number[t]] = other->tensors[t];
    }
    copy->nodes = MO_NEW_ARRAY(arena, mo_node, other->n_nodes + 1);
    for (int i = 0; i < other->n_nodes; i++) {
        mo_node *node = &copy->nodes[i];
        *node = other->nodes[i];
        node->inputs = MO_NEW_ARRAY(arena, mo_operand, node->n_inputs);
        node->outputs = MO_NEW_ARRAY(arena, int, node->n_outputs);
        for (int j = 0; j < node->n_inputs; j++) {
            node->inputs[j] = other->nodes[i].inputs[j];
            if (node->inputs[j].tensor >= 0) node->inputs[j].tensor = number[node->inputs[j].tensor];
        }
        for (int j = 0; j < node->n_outputs; j++) node->outputs[j] = number[other->nodes[i].outputs[j]];
    }
    copy->outputs = MO_NEW_ARRAY(arena, int, other->n_outputs + 1);
    for (int o = 0; o < other->n_outputs; o++) copy->outputs[o] = number[other->outputs[o]];
    return copy;
}
