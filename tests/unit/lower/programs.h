/* Programs for the tests of this folder, from short JSON with ' for ". */
#ifndef MO_TESTS_UNIT_LOWER_PROGRAMS_H
#define MO_TESTS_UNIT_LOWER_PROGRAMS_H

#include "lower/lower.h"

/* "X:f16[8,16] W:f32[16]/0,1" as inputs (a slash introduces strides) and nodes as in the file; the outputs
 * are names separated by spaces. The test fails with the message if the program is refused. */
mo_program *make_program(mo_arena *arena, const char *inputs, const char *nodes, const char *outputs);

mo_lowered lower(mo_arena *arena, const mo_program *program);

/* The whole program as one graph; the test fails if it does not lower as a whole. */
mo_prim *lower_whole(mo_arena *arena, const mo_program *program);

/* What mo_prim_print writes, in the arena. */
const char *text_of(mo_arena *arena, const mo_prim *graph);

int count_iterators(const mo_prim *graph, int tensor);

#endif
