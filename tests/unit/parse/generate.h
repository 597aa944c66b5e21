/* Random valid programs, grown node by node: a node that its rules refuse is thrown away. */
#ifndef MO_TESTS_UNIT_PARSE_GENERATE_H
#define MO_TESTS_UNIT_PARSE_GENERATE_H

#include "base/rng.h"
#include "ir/program.h"

mo_program *mo_generate_program(mo_arena *arena, mo_rng *rng, int n_nodes);

#endif
