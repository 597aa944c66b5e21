/* Reduced axes that are divided: the same values, and still safe where exponentials are large. */
#include "fixture.h"

#include "base/rng.h"
#include "search/split.h"
#include "verify/prim_float.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const char *const programs[] = {
    "'inputs':[" FIXTURE_INPUT("X", "[4,24]") "," FIXTURE_INPUT(
        "W", "[24,6]") "],'nodes':[{'op':'matmul','inputs':"
                       "['X','W'],'output':'P'},{'op':'square','inputs':['X'],'output':'S'},{'op':'mean','"
                       "inputs':['S'],'output':'M',"
                       "'axes':[-1],'keepdims':true},{'op':'add','inputs':['M',1e-5],'output':'A'},{'op':'"
                       "sqrt','inputs':['A'],"
                       "'output':'R'},{'op':'div','inputs':['P','R'],'output':'Y'}],'outputs':['Y']",
    "'inputs':[" FIXTURE_INPUT("Q", "[2,4,6]") "," FIXTURE_INPUT("K", "[2,24,6]") "," FIXTURE_INPUT(
        "V", "[2,24,6]") "],'nodes':[{'op':'matmul','inputs':['Q','K'],'output':'S','transpose_b':true},{'op'"
                         ":'max','inputs':['S'],"
                         "'output':'M','axes':[-1],'keepdims':true},{'op':'sub','inputs':['S','M'],'output':'"
                         "D'},{'op':'exp','inputs':"
                         "['D'],'output':'E'},{'op':'sum','inputs':['E'],'output':'L','axes':[-1],'keepdims':"
                         "true},{'op':'matmul',"
                         "'inputs':['E','V'],'output':'O'},{'op':'div','inputs':['O','L'],'output':'Y'},{'op'"
                         ":'log','inputs':['L'],"
                         "'output':'G'},{'op':'add','inputs':['G','M'],'output':'Z'}],'outputs':['Y','Z']",
    "'inputs':[" FIXTURE_INPUT(
        "X", "[4,24]") "],'nodes':[{'op':'max','inputs':['X'],'output':'A','axes':[-1]},{'op':"
                       "'min','inputs':['X'],'output':'B','axes':[-1]},{'op':'sub','inputs':['A','B'],'"
                       "output':'Y'}],'outputs':['Y']",
};

static mo_instance instance_of(const mo_prim *g)
{
    mo_instance instance = {0};
    for (int a = 0; a < g->n_axes; a++) instance.extent[a] = (int)g->axes[a].extent;
    return instance;
}

/* Outputs of the graph in float64, one behind the other. */
static double *outputs_of(mo_arena *arena, const mo_program *program, const mo_prim *g, double scale,
                          int64_t *n)
{
    mo_rng rng = mo_rng_seed(3, 0);
    mo_shape *shapes = MO_NEW_ARRAY(arena, mo_shape, program->n_tensors);
    double **data = MO_NEW_ARRAY(arena, double *, program->n_tensors);
    for (int t = 0; t < program->n_tensors; t++) {
        int64_t size = mo_shape_elements(program->tensors[t].shape);
        shapes[t] = program->tensors[t].shape;
        data[t] = MO_NEW_ARRAY(arena, double, size);
        for (int64_t i = 0; t < program->n_inputs && i < size; i++)
            data[t][i] = scale * ((double)mo_rng_below(&rng, 2001) - 1000.0) / 1000.0;
    }
    mo_instance instance = instance_of(g);
    instance.shapes = shapes;
    mo_prim_float(&instance, g, data);
    double *all = MO_NEW_ARRAY(arena, double, 1000);
    *n = 0;
    for (int o = 0; o < program->n_outputs; o++)
        for (int64_t i = 0; i < mo_shape_elements(shapes[program->outputs[o]]); i++)
            all[(*n)++] = data[program->outputs[o]][i];
    return all;
}

static void expect_same(mo_arena *arena, const mo_program *program, const mo_prim *a, const mo_prim *b,
                        double scale)
{
    int64_t n, m;
    const double *x = outputs_of(arena, program, a, scale, &n), *y = outputs_of(arena, program, b, scale, &m);
    cr_assert_eq(n, m);
    for (int64_t i = 0; i < n; i++) {
        cr_expect(isfinite(y[i]), "scale %g: element %d is %g", scale, (int)i, y[i]);
        cr_expect(fabs(x[i] - y[i]) <= 1e-9 * (1.0 + fabs(x[i])), "scale %g: element %d: %g, %g", scale,
                  (int)i, x[i], y[i]);
    }
}

Test(split, same_values_at_any_scale)
{
    int splits = 0;
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        mo_arena *arena = mo_arena_new();
        mo_program *program = fixture_program(arena, programs[p]);
        mo_prim *g = fixture_graph(arena, program);
        for (int axis = 0; axis < g->n_axes; axis++)
            for (int64_t parts = 2; parts <= 6; parts++) {
                mo_split split;
                if (g->axes[axis].extent % parts != 0 || g->axes[axis].extent == parts) continue;
                if (!mo_split_axis(arena, g, axis, parts, &split)) continue;
                cr_assert_null(mo_prim_check(split.graph));
                expect_same(arena, program, g, split.graph, 1.0);
                expect_same(arena, program, g, split.graph, 300.0);
                splits++;
            }
        mo_arena_free(arena);
    }
    cr_expect_geq(splits, 10);
}

/* The finite-field test agrees, on a small instance where both parts of the axis have extents of their own.
 */
Test(split, verified_as_kernels)
{
    for (size_t p = 0; p < sizeof programs / sizeof *programs; p++) {
        mo_arena *arena = mo_arena_new();
        mo_program *program = fixture_program(arena, programs[p]);
        mo_prim *g = fixture_graph(arena, program);
        int axis = 0;
        while (g->axes[axis].extent != 24) axis++;
        mo_split split;
        cr_assert(mo_split_axis(arena, g, axis, 4, &split), "program %d", (int)p);
        mo_prim_clean(split.graph);
        mo_mugraph *graph = mo_mugraph_new(arena, program, 1);
        mo_schedule plain = mo_schedule_plain(split.graph);
        mo_mugraph_add_kernel(graph, "all", -1, split.graph, &plain);
        cr_assert_null(mo_mugraph_check(arena, graph));
        mo_verify_report report;
        mo_verify_options options = {.delta = 1e-12, .threads = 1};
        cr_expect_eq(mo_verify_mugraph(program, graph, &options, &report), MO_EQUAL_TESTED, "program %d: %s",
                     (int)p, report.reason);
        cr_expect_gt(report.n_axes, 0, "program %d: no small instance", (int)p);
        mo_arena_free(arena);
    }
}

static mo_prim *lowered(mo_arena *arena, const char *text)
{
    return fixture_graph(arena, fixture_program(arena, text));
}

Test(split, what_cannot_be_divided)
{
    mo_arena *arena = mo_arena_new();
    mo_split split;
    mo_prim *norm = lowered(arena, programs[0]);
    for (int a = 0; a < norm->n_axes; a++) {
        bool saved = norm->nodes[norm->savers[0].node].axes >> a & 1u;
        if (saved) cr_expect_not(mo_split_axis(arena, norm, a, 2, &split), "an output's axis");
    }
    /* Divided by its sum before the product: the second kernel would need the exponentials again. */
    mo_prim *softmax = lowered(
        arena,
        "'inputs':[" FIXTURE_INPUT("S", "[4,24]") "," FIXTURE_INPUT(
            "V", "[24,6]") "],'nodes':[{'op':'softmax','inputs':['S'],'output':'P','axis':-1},{'op':'matmul',"
                           "'inputs':['P','V'],'output':'Y'}],'outputs':['Y']");
    int axis = 0;
    while (softmax->axes[axis].extent != 24) axis++;
    cr_expect_not(mo_split_axis(arena, softmax, axis, 4, &split));
    mo_arena_free(arena);
}
