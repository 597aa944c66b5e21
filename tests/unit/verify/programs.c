#include "programs.h"

#include "lower/lower.h"
#include "parse/parse.h"

#include <criterion/criterion.h>
#include <string.h>

mo_program *test_program(mo_arena *arena, const char *inputs, const char *nodes, const char *outputs)
{
    const char *text = mo_arena_printf(arena,
                                       "{\"format\": \"mirage-opt/1\", \"inputs\": [%s], \"nodes\": [%s], "
                                       "\"outputs\": [%s]}",
                                       inputs, nodes, outputs);
    mo_program *program = NULL;
    mo_error error;
    mo_status status = mo_parse_program(arena, "test.json", text, strlen(text), &program, NULL, &error);
    cr_assert_eq(status, MO_OK, "%s", error.text);
    return program;
}

mo_mugraph *test_fused(mo_arena *arena, const mo_program *program)
{
    mo_lowered lowered;
    mo_error error;
    cr_assert_eq(mo_lower_program(arena, program, 100, &lowered, &error), MO_OK, "%s", error.text);
    mo_mugraph *graph = mo_mugraph_new(arena, program, lowered.n_subprograms);
    for (int i = 0; i < lowered.n_subprograms; i++) {
        mo_prim *body = lowered.subprograms[i].graph;
        mo_schedule schedule = mo_schedule_plain(body);
        mo_mugraph_add_kernel(graph, "part", -1, body, &schedule);
    }
    mo_mugraph_add_copies(graph);
    return graph;
}
