#include "fixture.h"

#include "lower/lower.h"
#include "parse/parse.h"

#include <criterion/criterion.h>
#include <string.h>

mo_program *fixture_program(mo_arena *arena, const char *text)
{
    char *json = mo_arena_printf(arena, "{\"format\":\"mirage-opt/1\",%s}", text);
    for (char *c = json; *c != '\0'; c++)
        if (*c == '\'') *c = '"';
    mo_program *program = NULL;
    mo_error error = {0};
    mo_status status = mo_parse_program(arena, "test.json", json, strlen(json), &program, NULL, &error);
    cr_assert_eq(status, MO_OK, "%s", error.text);
    return program;
}

mo_prim *fixture_graph(mo_arena *arena, const mo_program *program)
{
    mo_lowered lowered;
    mo_error error = {0};
    cr_assert_eq(mo_lower_program(arena, program, 64, &lowered, &error), MO_OK, "%s", error.text);
    cr_assert_eq(lowered.n_subprograms, 1);
    return lowered.subprograms[0].graph;
}

mo_search_result fixture_search(mo_arena *arena, const mo_program *program)
{
    mo_lowered lowered;
    mo_error error = {0};
    mo_search_result result;
    mo_search_options options = {.device = mo_device_for_arch(90),
                                 .max_states = 400000,
                                 .max_kernel_ops = 5,
                                 .prune = true,
                                 .top_k = 8,
                                 .threads = 2,
                                 .verify_delta = 1e-12};
    cr_assert_eq(mo_lower_program(arena, program, 64, &lowered, &error), MO_OK, "%s", error.text);
    cr_assert_eq(mo_search_run(arena, program, &lowered, &options, &result, &error), MO_OK, "%s", error.text);
    return result;
}
