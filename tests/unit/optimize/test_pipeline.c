/* What the pipeline and threads passes offer, and what is left when they are off. */
#include "optimize/pipeline.h"
#include "optimize/threads.h"

#include <criterion/criterion.h>

Test(pipeline, choices)
{
    mo_pipeline choices[MO_PIPELINE_CHOICES];
    cr_assert_eq(mo_pipeline_stream(true, 0, choices), MO_PIPELINE_CHOICES);
    int count = mo_pipeline_stream(false, 0, choices);
    cr_assert_gt(count, 1);
    for (int i = 0; i < count; i++) {
        cr_assert_eq(choices[i].copy, MO_COPY_ASYNC);
        cr_assert_gt(choices[i].stages, 1);
    }
}

Test(pipeline, off_is_one_slab)
{
    mo_pipeline choices[MO_PIPELINE_CHOICES];
    for (int chain = 0; chain < 2; chain++) {
        int count = chain ? mo_pipeline_chain(MO_PASS_PIPELINE, choices)
                          : mo_pipeline_stream(true, MO_PASS_PIPELINE, choices);
        cr_assert_eq(count, 1);
        cr_assert_eq(choices[0].copy, MO_COPY_ASYNC);
        cr_assert_eq(choices[0].stages, 1);
    }
}

Test(threads, rows_stay_where_registers_hold_them)
{
    mo_axis axis = {.name = "k", .extent = 1024};
    mo_prim_node node = {.op = MO_OP_ITER, .axes = 1};
    mo_prim g = {0};
    g.n_nodes = 1;
    g.nodes = &node;
    g.n_axes = 1;
    g.axes[0] = axis;
    mo_schedule s = {.kind = MO_SCHEDULE_ROW, .row_axis = 0, .lanes = 32, .threads = 256, .vector = 8};
    s.place[0] = MO_PLACE_WHOLE;
    cr_assert(mo_threads_resident(&g, &s, 0));
    cr_assert(!mo_threads_resident(&g, &s, MO_PASS_THREADS));
    s.threads = 1024 + 32; /* 32 floats in each: more than half of the registers */
    cr_assert(!mo_threads_resident(&g, &s, 0));
    s.threads = 256;
    s.lanes = 4;
    cr_assert(!mo_threads_resident(&g, &s, 0));
    s.place[0] = MO_PLACE_GRID; /* blocks divide the row */
    s.tile[0] = 256;
    cr_assert(mo_threads_resident(&g, &s, 0));
}
