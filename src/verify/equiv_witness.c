/* A difference that can be shown: both sides in float64 on the small instance. */
#include "verify/equiv_parts.h"

#include "base/status.h"
#include "verify/oracle.h"
#include "verify/prim_float.h"

#include <math.h>
#include <stdlib.h>

#define DRAWS 12
#define SEEN 1e-6 /* relative difference that rounding cannot explain */

/* Values around 0, of several sizes, and mostly positive ones in every third draw. */
static double draw_value(uint64_t key, int64_t i, int draw)
{
    static const double scales[] = {1.0, 8.0, 1e-3, 0.25};
    double u = (double)(mo_rng_at(key, (uint64_t)i) >> 11) * 0x1p-53;
    double centred = draw % 3 == 2 ? u + 0.1 : 2.0 * u - 1.0;
    return centred * 2.0 * scales[draw % 4];
}

static void run_graph(mo_equiv_task *t, double *const *inputs, double **outputs, mo_arena *arena)
{
    double **data = MO_NEW_ARRAY(arena, double *, t->n_tensors + 1);
    for (int i = 0; i < t->n_tensors; i++)
        data[i] = i < t->program->n_inputs ? inputs[i]
                                           : MO_NEW_ARRAY(arena, double, mo_shape_elements(t->shapes[i]));
    for (int k = 0; k < t->graph->n_kernels; k++) {
        mo_instance in = {.shapes = t->shapes};
        for (int a = 0; a < MO_MAX_AXES; a++)
            in.extent[a] = a < t->kernels[k].graph->n_axes ? (int)mo_dims_small(t->dims, t->kernels[k].axis[a]) : 1;
        mo_prim_float(&in, t->kernels[k].graph, data);
    }
    for (int o = 0; o < t->program->n_outputs; o++) outputs[o] = data[t->outputs[o]];
}

static double **run_program(const mo_program *program, double *const *inputs, mo_arena *arena)
{
    double **values = MO_NEW_ARRAY(arena, double *, program->n_tensors + 1);
    mo_oracle_run(program, &(mo_oracle_options){.mode = MO_ORACLE_F64, .threads = 1}, (const double *const *)inputs,
                  values);
    return values;
}

/* Both finite and far apart, or exactly one of them finite. */
static bool differ(double a, double b, double scale)
{
    if (!isfinite(a) || !isfinite(b)) return isfinite(a) != isfinite(b);
    return fabs(a - b) > SEEN * fmax(fmax(fabs(a), fabs(b)), scale * 1e-3);
}

static bool compare(mo_equiv_task *t, double *const *ours, double *const *theirs)
{
    mo_verify_report *r = t->report;
    for (int o = 0; o < t->program->n_outputs; o++) {
        const mo_shape *shape = &t->small->tensors[t->small->outputs[o]].shape;
        int64_t total = mo_shape_elements(*shape);
        double scale = 0.0;
        for (int64_t i = 0; i < total; i++)
            if (isfinite(ours[o][i])) scale = fmax(scale, fabs(ours[o][i]));
        for (int64_t i = 0; i < total; i++) {
            if (!differ(ours[o][i], theirs[o][i], scale)) continue;
            r->witness = true;
            r->output = o;
            r->rank = shape->rank;
            r->program_value = ours[o][i];
            r->other_value = theirs[o][i];
            int64_t rest = i;
            for (int d = shape->rank - 1; d >= 0; d--) {
                r->index[d] = rest % shape->dim[d];
                rest /= shape->dim[d];
            }
            return true;
        }
    }
    return false;
}

static bool try_draw(mo_equiv_task *t, int draw, mo_arena *arena)
{
    const mo_program *small = t->small;
    double **inputs = MO_NEW_ARRAY(arena, double *, small->n_inputs + 1);
    for (int x = 0; x < small->n_inputs; x++) {
        int64_t n = mo_shape_elements(small->tensors[x].shape), row_major[MO_MAX_RANK];
        mo_shape_row_major(small->tensors[x].shape, row_major);
        uint64_t key = mo_rng_at(t->options->seed + (uint64_t)draw * 977u, (uint64_t)x);
        inputs[x] = MO_NEW_ARRAY(arena, double, n);
        for (int64_t i = 0; i < n; i++) {
            int64_t from = 0; /* broadcast dimensions repeat their first element */
            for (int d = 0; d < small->tensors[x].shape.rank; d++)
                if (small->tensors[x].strides[d] != 0)
                    from += i / row_major[d] % small->tensors[x].shape.dim[d] * row_major[d];
            inputs[x][i] = draw_value(key, from, draw);
        }
    }
    double **outputs = MO_NEW_ARRAY(arena, double *, small->n_outputs + 1);
    double **theirs = MO_NEW_ARRAY(arena, double *, small->n_outputs + 1);
    double **ours = run_program(small, inputs, arena), **others = NULL;
    for (int o = 0; o < small->n_outputs; o++) outputs[o] = ours[small->outputs[o]];
    if (t->graph != NULL) {
        run_graph(t, inputs, theirs, arena);
    } else {
        others = run_program(t->small_other, inputs, arena);
        for (int o = 0; o < small->n_outputs; o++) theirs[o] = others[t->small_other->outputs[o]];
    }
    bool found = compare(t, outputs, theirs);
    mo_oracle_free(small, ours);
    if (others != NULL) mo_oracle_free(t->small_other, others);
    return found;
}

bool mo_equiv_witness(mo_equiv_task *t)
{
    mo_arena *arena = mo_arena_new();
    bool found = false;
    for (int draw = 0; draw < DRAWS && !found; draw++) found = try_draw(t, draw, arena);
    mo_arena_free(arena);
    return found;
}
