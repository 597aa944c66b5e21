/* Programs for the tests of this folder, from short JSON. */
#ifndef MO_TESTS_VERIFY_PROGRAMS_H
#define MO_TESTS_VERIFY_PROGRAMS_H

#include "ir/mugraph.h"

/* A program from its "inputs", "nodes" and "outputs" lists without the outer brackets; the test fails with
 * the message if it is refused. */
mo_program *test_program(mo_arena *arena, const char *inputs, const char *nodes, const char *outputs);

/* The program as one kernel for each run of nodes that lowers as a whole, with plain schedules. */
mo_mugraph *test_fused(mo_arena *arena, const mo_program *program);

#endif
