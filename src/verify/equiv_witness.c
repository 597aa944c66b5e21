/* A difference that can be shown: both sides in float64. */
#include "verify/equiv_parts.h"

#include "base/status.h"
#include "verify/oracle.h"
#include "verify/prim_float.h"

#include <math.h>
#include <stdlib.h>

#define DRAWS 12
#define MOST_FOR_GRAPH 0x1p20 /* multiplications of one evaluation at the real shapes */
#define MOST_FOR_PROGRAM 0x1p26
#define SEEN 1e-6 /* relative difference that rounding cannot explain */

/* What is evaluated: the real shapes or the small ones. */
typedef struct {
    mo_equiv_task *t;
    const mo_program *program, *other;
    mo_shape *shapes; /* of the muGraph's tensors */
    bool real;
} view;

/* Values around 0, of several sizes, and mostly positive ones in every third draw. */
static double draw_value(uint64_t key, int64_t i, int draw)
{
    static const double scales[] = {1.0, 8.0, 1e-3, 0.25};
    double u = (double)(mo_rng_at(key, (uint64_t)i) >> 11) * 0x1p-53;
    double centred = draw % 3 == 2 ? u + 0.1 : 2.0 * u - 1.0;
    return centred * 2.0 * scales[draw % 4];
}

static void run_graph(const view *v, double *const *inputs, double **outputs, mo_arena *arena)
{
    const mo_equiv_task *t = v->t;
    double **data = MO_NEW_ARRAY(arena, double *, t->n_tensors + 1);
    for (int i = 0; i < t->n_tensors; i++)
        data[i] = i < v->program->n_inputs ? inputs[i]
                                           : MO_NEW_ARRAY(arena, double, mo_shape_elements(v->shapes[i]));
    for (int k = 0; k < t->graph->n_kernels; k++) {
        const mo_bound_prim *kernel = &t->kernels[k];
        mo_instance in = {.shapes = v->shapes};
        for (int a = 0; a < MO_MAX_AXES; a++) in.extent[a] = 1;
        for (int a = 0; a < kernel->graph->n_axes; a++)
            in.extent[a] =
                (int)(v->real ? kernel->graph->axes[a].extent : mo_dims_small(t->dims, kernel->axis[a]));
        mo_prim_float(&in, kernel->graph, data);
    }
    for (int o = 0; o < v->program->n_outputs; o++) outputs[o] = data[t->outputs[o]];
}

static double **run_program(const mo_program *program, double *const *inputs, mo_arena *arena)
{
    double **values = MO_NEW_ARRAY(arena, double *, program->n_tensors + 1);
    mo_oracle_run(program, &(mo_oracle_options){.mode = MO_ORACLE_F64, .threads = 1},
                  (const double *const *)inputs, values);
    return values;
}

/* Both finite and far apart, or exactly one of them finite. */
static bool differ(double a, double b, double scale)
{
    if (!isfinite(a) || !isfinite(b)) return isfinite(a) != isfinite(b);
    return fabs(a - b) > SEEN * fmax(fmax(fabs(a), fabs(b)), scale * 1e-3);
}

static bool compare(const view *v, double *const *ours, double *const *theirs)
{
    mo_verify_report *r = v->t->report;
    for (int o = 0; o < v->program->n_outputs; o++) {
        const mo_shape *shape = &v->program->tensors[v->program->outputs[o]].shape;
        int64_t total = mo_shape_elements(*shape);
        double scale = 0.0;
        for (int64_t i = 0; i < total; i++)
            if (isfinite(ours[o][i])) scale = fmax(scale, fabs(ours[o][i]));
        for (int64_t i = 0; i < total; i++) {
            if (!differ(ours[o][i], theirs[o][i], scale)) continue;
            r->witness = true;
            r->witness_small = !v->real;
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

static double *draw_input(const mo_program *program, int input, uint64_t key, int draw, mo_arena *arena)
{
    const mo_tensor *tensor = &program->tensors[input];
    int64_t n = mo_shape_elements(tensor->shape), row_major[MO_MAX_RANK];
    mo_shape_row_major(tensor->shape, row_major);
    double *values = MO_NEW_ARRAY(arena, double, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t from = 0; /* broadcast dimensions repeat their first element */
        for (int d = 0; d < tensor->shape.rank; d++)
            if (tensor->strides[d] != 0) from += i / row_major[d] % tensor->shape.dim[d] * row_major[d];
        values[i] = draw_value(key, from, draw);
    }
    return values;
}

static bool try_draw(const view *v, int draw, mo_arena *arena)
{
    const mo_program *program = v->program;
    double **inputs = MO_NEW_ARRAY(arena, double *, program->n_inputs + 1);
    for (int x = 0; x < program->n_inputs; x++) {
        uint64_t key = mo_rng_at(v->t->options->seed + (uint64_t)draw * 977u, (uint64_t)x);
        inputs[x] = draw_input(program, x, key, draw, arena);
    }
    double **outputs = MO_NEW_ARRAY(arena, double *, program->n_outputs + 1);
    double **theirs = MO_NEW_ARRAY(arena, double *, program->n_outputs + 1);
    double **ours = run_program(program, inputs, arena), **others = NULL;
    for (int o = 0; o < program->n_outputs; o++) outputs[o] = ours[program->outputs[o]];
    if (v->t->graph != NULL) {
        run_graph(v, inputs, theirs, arena);
    } else {
        others = run_program(v->other, inputs, arena);
        for (int o = 0; o < program->n_outputs; o++) theirs[o] = others[v->other->outputs[o]];
    }
    bool found = compare(v, outputs, theirs);
    mo_oracle_free(program, ours);
    if (others != NULL) mo_oracle_free(v->other, others);
    return found;
}

static bool try_view(const view *v)
{
    bool found = false;
    for (int draw = 0; draw < DRAWS && !found; draw++) {
        mo_arena *arena = mo_arena_new();
        found = try_draw(v, draw, arena);
        mo_arena_free(arena);
    }
    return found;
}

/* Real shapes of the muGraph's tensors. */
static mo_shape *real_shapes(mo_equiv_task *t)
{
    mo_shape *shapes = MO_NEW_ARRAY(t->arena, mo_shape, t->n_tensors + 1);
    for (int i = 0; i < t->n_tensors; i++)
        shapes[i] = i < t->program->n_tensors ? t->program->tensors[i].shape : t->graph->tensors[i].shape;
    return shapes;
}

bool mo_equiv_witness(mo_equiv_task *t)
{
    if (t->small == NULL) return false;
    view real = {t, t->program, t->other, t->graph == NULL ? NULL : real_shapes(t), true};
    double cost = mo_equiv_cost(t->program) + (t->other == NULL ? 0.0 : mo_equiv_cost(t->other));
    double affordable = t->graph != NULL ? MOST_FOR_GRAPH : MOST_FOR_PROGRAM;
    if (t->options->max_products >= 0 && cost <= affordable && try_view(&real)) return true;
    return try_view(&(view){t, t->small, t->small_other, t->shapes, false});
}
