#include "corpus.h"

#include "parse/parse.h"
#include "verify/inputs.h"
#include "verify/oracle.h"
#include "verify/prim_float.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIFFERENT 1e-7 /* relative, and a value of 1e-3 counts as 0 */
#define SAME 1e-10

mo_program *corpus_program(mo_arena *arena, const char *text)
{
    char *json = mo_arena_printf(arena, "{'format': 'mirage-opt/1', %s}", text);
    mo_program *program = NULL;
    mo_error error = {0};
    for (char *c = json; *c != '\0'; c++)
        if (*c == '\'') *c = '"';
    if (mo_parse_program(arena, "corpus.json", json, strlen(json), &program, NULL, &error) != MO_OK) {
        printf("%s\n%s\n", error.text, json);
        exit(1);
    }
    return program;
}

static int64_t elements(const mo_program *p, int tensor)
{
    return mo_shape_elements(p->tensors[tensor].shape);
}

/* Dense values to their places in memory. */
static double *lay_out(mo_arena *arena, const mo_tensor *t, const double *dense)
{
    double *memory = MO_NEW_ARRAY(arena, double, mo_input_span(t) + 1);
    int64_t strides[MO_MAX_RANK];
    mo_shape_row_major(t->shape, strides);
    for (int64_t i = 0; i < mo_shape_elements(t->shape); i++) {
        int64_t place = 0;
        for (int d = 0; d < t->shape.rank; d++) place += i / strides[d] % t->shape.dim[d] * t->strides[d];
        memory[place] = dense[i];
    }
    return memory;
}

/* Outputs of a program for one draw. */
static double **outputs_of(mo_arena *arena, const mo_program *p, double *const *inputs)
{
    double **values = MO_NEW_ARRAY(arena, double *, p->n_tensors + 1);
    double **outputs = MO_NEW_ARRAY(arena, double *, p->n_outputs + 1);
    mo_oracle_run(p, &(mo_oracle_options){.mode = MO_ORACLE_F64, .threads = 1}, (const double *const *)inputs,
                  values);
    for (int o = 0; o < p->n_outputs; o++) {
        int64_t n = elements(p, p->outputs[o]);
        outputs[o] = MO_NEW_ARRAY(arena, double, n + 1);
        memcpy(outputs[o], values[p->outputs[o]], sizeof(double) * (size_t)n);
    }
    mo_oracle_free(p, values);
    return outputs;
}

void corpus_prepare(corpus_base *base, mo_arena *arena, const mo_program *program)
{
    *base = (corpus_base){.arena = arena, .program = program};
    for (int d = 0; d < CORPUS_DRAWS; d++) {
        base->inputs[d] = MO_NEW_ARRAY(arena, double *, program->n_inputs + 1);
        base->memory[d] = MO_NEW_ARRAY(arena, double *, program->n_inputs + 1);
        for (int x = 0; x < program->n_inputs; x++)
            base->inputs[d][x] = MO_NEW_ARRAY(arena, double, elements(program, x) + 1);
        mo_inputs_draw(mo_inputs_plan_new(arena, program, NULL), MO_INPUTS_RANDOM, (uint64_t)d + 1,
                       base->inputs[d]);
        for (int x = 0; x < program->n_inputs; x++) {
            for (int64_t i = 0; d == 1 && i < elements(program, x); i++)
                base->inputs[d][x][i] *= 1e-3; /* small values make a small eps visible */
            base->memory[d][x] = lay_out(arena, &program->tensors[x], base->inputs[d][x]);
        }
        base->reference[d] = outputs_of(arena, program, base->inputs[d]);
    }
}

/* Adds one output to the verdict. */
static int compare(const double *a, const double *b, int64_t n)
{
    int verdict = 0;
    for (int64_t i = 0; i < n; i++) {
        double difference = fabs(a[i] - b[i]), scale = fabs(a[i]) + fabs(b[i]) + 1e-3;
        if (!isfinite(a[i]) || !isfinite(b[i]))
            verdict = -1;
        else if (difference > DIFFERENT * scale)
            return 1;
        else if (difference > SAME * scale)
            verdict = -1;
    }
    return verdict;
}

static int worse(int a, int b)
{
    return a == 1 || b == 1 ? 1 : a == -1 || b == -1 ? -1 : 0;
}

/* The body with all accesses going by their strides. */
static mo_prim *by_strides(mo_arena *arena, const mo_prim *body)
{
    mo_prim *copy = mo_prim_copy(arena, body);
    for (int i = 0; i < copy->n_nodes; i++) copy->nodes[i].access.rank = -1;
    for (int i = 0; i < copy->n_savers; i++) copy->savers[i].access.rank = -1;
    return copy;
}

static int64_t span(const mo_mutensor *t)
{
    int64_t last = 0;
    for (int d = 0; d < t->shape.rank; d++) last += (t->shape.dim[d] - 1) * t->strides[d];
    return last + 1;
}

/* Memory of all tensors after a run; windows lie in that of others. */
static double **run_graph(mo_arena *arena, const corpus_base *base, const mo_mugraph *graph, int draw)
{
    mo_shape *shapes = MO_NEW_ARRAY(arena, mo_shape, graph->n_tensors + 1);
    double **data = MO_NEW_ARRAY(arena, double *, graph->n_tensors + 1);
    for (int t = 0; t < graph->n_tensors; t++) {
        shapes[t] = graph->tensors[t].shape;
        if (mo_mugraph_root(graph, t) != t) continue;
        data[t] = t < base->program->n_inputs ? base->memory[draw][t]
                                              : MO_NEW_ARRAY(arena, double, span(&graph->tensors[t]) + 1);
    }
    for (int t = 0; t < graph->n_tensors; t++)
        if (data[t] == NULL) data[t] = data[mo_mugraph_root(graph, t)] + graph->tensors[t].offset;
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_prim *body = graph->kernels[k].body;
        mo_instance in = {.shapes = shapes};
        for (int a = 0; a < MO_MAX_AXES; a++) in.extent[a] = a < body->n_axes ? (int)body->axes[a].extent : 1;
        mo_prim_float(&in, by_strides(arena, body), data);
    }
    return data;
}

int corpus_judge_graph(const corpus_base *base, const mo_mugraph *graph)
{
    int verdict = 0;
    for (int d = 0; d < CORPUS_DRAWS && verdict != 1; d++) {
        mo_arena *arena = mo_arena_new();
        double **data = run_graph(arena, base, graph, d);
        for (int t = 0; t < graph->n_tensors; t++) {
            int o = graph->tensors[t].output;
            if (o < 0) continue;
            int64_t n = elements(base->program, base->program->outputs[o]);
            verdict = worse(verdict, compare(base->reference[d][o], data[t], n));
        }
        mo_arena_free(arena);
    }
    return verdict;
}

int corpus_judge_program(const corpus_base *base, const mo_program *other)
{
    int verdict = 0;
    for (int d = 0; d < CORPUS_DRAWS && verdict != 1; d++) {
        mo_arena *arena = mo_arena_new();
        double **outputs = outputs_of(arena, other, base->inputs[d]);
        for (int o = 0; o < base->program->n_outputs; o++)
            verdict = worse(verdict, compare(base->reference[d][o], outputs[o],
                                             elements(base->program, base->program->outputs[o])));
        mo_arena_free(arena);
    }
    return verdict;
}
