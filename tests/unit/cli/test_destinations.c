#include "cli/destinations.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Plans in a fresh folder that holds the file p.json. */
static mo_status plan(mo_arena *arena, const mo_options *options, mo_destinations *result)
{
    char folder[] = "/tmp/mirage-opt-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    FILE *file = fopen("p.json", "w");
    cr_assert_not_null(file);
    fclose(file);
    mo_error error = {0};
    mo_status status = mo_destinations_plan(arena, options, result, &error);
    unlink("p.json");
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(rmdir(folder), 0, "the plan left something behind");
    return status;
}

Test(destinations, stems)
{
    mo_arena *arena = mo_arena_new();
    cr_assert_str_eq(mo_path_stem(arena, "a/b.c/model.v2.json"), "model.v2");
    cr_assert_str_eq(mo_path_stem(arena, "model"), "model");
    cr_assert_str_eq(mo_path_stem(arena, "a.b/.hidden"), ".hidden");
    mo_arena_free(arena);
}

Test(destinations, default_is_the_program_with_another_ending_here)
{
    mo_arena *arena = mo_arena_new();
    mo_destinations d;
    mo_options o = {.program = "p.json", .emit = MO_EMIT_CU | MO_EMIT_MUGRAPH};
    cr_assert_eq(plan(arena, &o, &d), MO_OK);
    cr_assert_str_eq(d.cu, "p.cu");
    cr_assert_str_eq(d.mugraph, "p.mugraph.json");
    cr_assert_null(d.report);
    o.program = "-";
    o.emit = MO_EMIT_CU;
    cr_assert_eq(plan(arena, &o, &d), MO_OK);
    cr_assert_str_eq(d.cu, "-");
    mo_arena_free(arena);
}

Test(destinations, several_kinds_share_the_stem_and_one_kind_is_exact)
{
    mo_arena *arena = mo_arena_new();
    mo_destinations d;
    mo_options o = {.program = "p.json", .output = "fused.txt", .emit = MO_EMIT_MUGRAPH};
    cr_assert_eq(plan(arena, &o, &d), MO_OK);
    cr_assert_str_eq(d.mugraph, "fused.txt");
    o.emit |= MO_EMIT_CU;
    cr_assert_eq(plan(arena, &o, &d), MO_OK);
    cr_assert_str_eq(d.cu, "fused.txt");
    cr_assert_str_eq(d.mugraph, "fused.mugraph.json");
    mo_arena_free(arena);
}

Test(destinations, clashes_are_refused)
{
    mo_arena *arena = mo_arena_new();
    mo_destinations d;
    mo_options same = {.program = "p.json", .output = "./p.json", .emit = MO_EMIT_CU};
    cr_assert_eq(plan(arena, &same, &d), MO_ERR_USER);
    mo_options twice = {.program = "p.json", .output = "x", .report = "x", .emit = MO_EMIT_CU};
    cr_assert_eq(plan(arena, &twice, &d), MO_ERR_USER);
    mo_options stdouts = {.program = "p.json", .output = "-", .report = "-", .emit = MO_EMIT_CU};
    cr_assert_eq(plan(arena, &stdouts, &d), MO_ERR_USER);
    mo_arena_free(arena);
}
