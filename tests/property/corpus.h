/* Shared by the corpora: programs as text, and what float64 says about graphs and programs. */
#ifndef MO_TESTS_PROPERTY_CORPUS_H
#define MO_TESTS_PROPERTY_CORPUS_H

#include "base/rng.h"
#include "ir/mugraph.h"

enum { CORPUS_DRAWS = 3 };

/* A program and its outputs in float64 for some draws of the inputs, as they lie in memory. */
typedef struct {
    mo_arena *arena;
    const mo_program *program;
    double **inputs[CORPUS_DRAWS];    /* dense, by input */
    double **memory[CORPUS_DRAWS];    /* by input, by place */
    double **reference[CORPUS_DRAWS]; /* by output */
} corpus_base;

/* From a program in JSON without the "format" key and the outer braces, with ' for "; ends the process with
 * the message if it does not parse. */
mo_program *corpus_program(mo_arena *arena, const char *text);

void corpus_prepare(corpus_base *base, mo_arena *arena, const mo_program *program);

/* 1: float64 tells the graph (or other program with the same inputs in the same order) from the program, 0:
 * it sees no difference, -1: it cannot say (values that are not finite, or rounding). Graphs are evaluated
 * through the strides of their accesses. */
int corpus_judge_graph(const corpus_base *base, const mo_mugraph *graph);
int corpus_judge_program(const corpus_base *base, const mo_program *other);

#endif
