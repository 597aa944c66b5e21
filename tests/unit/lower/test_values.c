/* What a lowered graph computes is what the program computes: primitive graphs and the program as written, in
 * float64, on random programs. Two interpreters that share no code beyond single operators. */
#include "programs.h"
#include "unit/lowerable.h"
#include "verify/oracle.h"
#include "verify/prim_float.h"

#include <criterion/criterion.h>
#include <math.h>

#define PROGRAMS 2000
#define CLOSE 1e-8 /* relative to the largest value of an output */
#define STEP 1e-12 /* relative change of the inputs that shows how far rounding may reach */

static double **draw_inputs(mo_arena *arena, const mo_program *p, uint64_t seed, double step)
{
    double **inputs = MO_NEW_ARRAY(arena, double *, p->n_inputs);
    mo_rng rng = mo_rng_seed(seed, 1);
    for (int t = 0; t < p->n_inputs; t++) {
        int64_t n = mo_shape_elements(p->tensors[t].shape);
        inputs[t] = MO_NEW_ARRAY(arena, double, n);
        for (int64_t i = 0; i < n; i++) {
            double u = (double)mo_rng_below(&rng, 1u << 30) / (1u << 29); /* 0 to 2 */
            double value = seed % 2 == 0 ? u + 0.25 : u - 1.0;
            inputs[t][i] = value * (1.0 + (i % 2 == 0 ? step : -step));
        }
    }
    return inputs;
}

static double **run_oracle(const mo_program *p, double *const *inputs, mo_arena *arena)
{
    double **values = MO_NEW_ARRAY(arena, double *, p->n_tensors);
    mo_oracle_run(p, &(mo_oracle_options){.mode = MO_ORACLE_F64, .threads = 1}, (const double *const *)inputs,
                  values);
    return values;
}

/* Runs the graphs one after the other. */
static double **run_graphs(const mo_program *p, mo_prim *const *graphs, int n, double *const *inputs,
                           mo_arena *arena)
{
    double **data = MO_NEW_ARRAY(arena, double *, p->n_tensors);
    mo_shape *shapes = MO_NEW_ARRAY(arena, mo_shape, p->n_tensors);
    for (int t = 0; t < p->n_tensors; t++) {
        shapes[t] = p->tensors[t].shape;
        int64_t elements = mo_shape_elements(shapes[t]);
        data[t] = t < p->n_inputs ? inputs[t] : MO_NEW_ARRAY(arena, double, elements);
        for (int64_t i = 0; t >= p->n_inputs && i < elements; i++) data[t][i] = 1e300; /* never written */
    }
    for (int g = 0; g < n; g++) {
        mo_instance instance = {.shapes = shapes};
        for (int a = 0; a < MO_MAX_AXES; a++) instance.extent[a] = 1;
        for (int a = 0; a < graphs[g]->n_axes; a++) instance.extent[a] = (int)graphs[g]->axes[a].extent;
        mo_prim_float(&instance, graphs[g], data);
    }
    return data;
}

/* Largest distance over the outputs, relative to each one's largest finite value; infinite where one value is
 * finite and the other is not. */
static double distance(const mo_program *p, double *const *a, double *const *b)
{
    double worst = 0.0;
    for (int o = 0; o < p->n_outputs; o++) {
        int t = p->outputs[o];
        int64_t n = mo_shape_elements(p->tensors[t].shape);
        if (t < p->n_inputs) continue;
        double largest = 1e-300;
        for (int64_t i = 0; i < n; i++)
            if (isfinite(a[t][i])) largest = fmax(largest, fabs(a[t][i]));
        for (int64_t i = 0; i < n; i++) {
            if (isnan(a[t][i]) && isnan(b[t][i])) continue;
            if (a[t][i] == b[t][i]) continue;
            worst = fmax(worst, isfinite(a[t][i]) && isfinite(b[t][i]) ? fabs(a[t][i] - b[t][i]) / largest
                                                                       : HUGE_VAL);
        }
    }
    return worst;
}

typedef struct {
    int used[MO_OP_COUNT];
    int compared, sensitive, cut, joined;
} tally;

static void try_program(uint64_t seed, tally *count)
{
    mo_arena *arena = mo_arena_new();
    mo_rng rng = mo_rng_seed(seed, 0);
    mo_program *p = lowerable_program(arena, &rng, 1 + (int)(seed % 10));
    mo_lowered lowered = lower(arena, p);
    mo_prim **graphs = MO_NEW_ARRAY(arena, mo_prim *, lowered.n_subprograms);
    for (int i = 0; i < lowered.n_subprograms; i++) graphs[i] = lowered.subprograms[i].graph;
    double **inputs = draw_inputs(arena, p, seed, 0.0);
    double **expected = run_oracle(p, inputs, arena);
    double **nearby = run_oracle(p, draw_inputs(arena, p, seed, STEP), arena);
    double joined = distance(p, expected, run_graphs(p, graphs, lowered.n_subprograms, inputs, arena));
    double alone = distance(p, expected, run_graphs(p, lowered.nodes, p->n_nodes, inputs, arena));
    if (joined < CLOSE && alone < CLOSE) {
        count->compared++;
        for (int n = 0; n < p->n_nodes; n++) count->used[p->nodes[n].op]++;
    } else {
        mo_str text = {0};
        mo_program_print(&text, p);
        cr_expect_gt(distance(p, expected, nearby), CLOSE, "seed %d: distances %g and %g\n%s", (int)seed,
                     joined, alone, text.data);
        mo_str_free(&text);
        count->sensitive++;
    }
    count->cut += lowered.n_subprograms > 1;
    count->joined += lowered.n_subprograms < p->n_nodes;
    mo_oracle_free(p, expected);
    mo_oracle_free(p, nearby);
    mo_arena_free(arena);
}

Test(values, lowered_programs_compute_what_was_written, .timeout = 300)
{
    tally count = {0};
    for (uint64_t seed = 0; seed < PROGRAMS; seed++) try_program(seed, &count);
    cr_expect_geq(count.compared, PROGRAMS * 95 / 100, "%d programs, %d ill-conditioned", count.compared,
                  count.sensitive);
    cr_expect(count.cut >= 10 && count.joined > PROGRAMS / 2, "%d cut, %d joined", count.cut, count.joined);
    for (int op = 0; op < MO_OP_COUNT; op++)
        if (lowerable_has_form((mo_op)op))
            cr_expect_gt(count.used[op], 5, "%s: %d", mo_op_name((mo_op)op), count.used[op]);
}
