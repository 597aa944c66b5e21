/* The cost of kernels that compute reductions inside reductions. */
#include "fixture.h"

#include "cost/model.h"
#include "lower/lower.h"
#include "search/unfused.h"

#include <criterion/criterion.h>

#define SOFTMAX(in, out, axis) "{'op':'softmax','inputs':['" in "'],'output':'" out "','axis':" axis "}"
#define PROGRAM(shape, nodes) "'inputs':[" FIXTURE_INPUT("X", shape) "],'nodes':[" nodes "],'outputs':['Y']"

static int64_t plain_cost(mo_arena *arena, const mo_program *program)
{
    mo_prim *g = fixture_graph(arena, program);
    mo_schedule schedule = mo_schedule_plain(g);
    mo_cost_context context = {mo_device_for_arch(90), mo_tensor_dtypes(arena, program, program->n_nodes), 0};
    return mo_cost_kernel(&context, g, &schedule);
}

static int64_t unfused_cost(mo_arena *arena, const mo_program *program)
{
    mo_lowered lowered;
    mo_error error = {0};
    cr_assert_eq(mo_lower_program(arena, program, 64, &lowered, &error), MO_OK, "%s", error.text);
    return mo_unfused(arena, program, &lowered, mo_device_for_arch(90), 0, 0, MO_NARROW)->cost_ns;
}

Test(cost, softmax_of_softmax_in_one_plain_kernel_is_dearer_than_unfused)
{
    static const char *const programs[] = {
        PROGRAM("[64,512]", SOFTMAX("X", "S", "1") "," SOFTMAX("S", "Y", "1")),
        PROGRAM("[64,64]", SOFTMAX("X", "S", "0") "," SOFTMAX("S", "Y", "1")),
        PROGRAM("[16,32]", SOFTMAX("X", "S", "0") "," SOFTMAX("S", "Y", "1")),
    };
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        mo_arena *arena = mo_arena_new();
        mo_program *program = fixture_program(arena, programs[p]);
        int64_t plain = plain_cost(arena, program), unfused = unfused_cost(arena, program);
        cr_expect_gt(plain, unfused, "program %d: %d, %d ns", (int)p, (int)plain, (int)unfused);
        mo_arena_free(arena);
    }
}

/* Three softmaxes along alternating axes: a thread computes columns of rows of columns. */
Test(cost, nested_reductions_are_counted_as_often_as_they_run)
{
    mo_arena *arena = mo_arena_new();
    mo_program *two =
        fixture_program(arena, PROGRAM("[32,32]", SOFTMAX("X", "S", "0") "," SOFTMAX("S", "Y", "1")));
    mo_program *three = fixture_program(
        arena,
        PROGRAM("[32,32]", SOFTMAX("X", "S", "0") "," SOFTMAX("S", "T", "1") "," SOFTMAX("T", "Y", "0")));
    cr_expect_gt(plain_cost(arena, three), 20 * plain_cost(arena, two));
    mo_arena_free(arena);
}
