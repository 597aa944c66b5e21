/* A difference that can be shown: both sides in float64. */
#include "verify/equiv_parts.h"

#include "base/status.h"
#include "verify/inputs.h"
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

/* A kernel's body that reads and writes through its strides alone, as code does. */
static const mo_prim *by_strides(mo_arena *arena, const mo_prim *body)
{
    mo_prim *copy = mo_prim_copy(arena, body);
    for (int i = 0; i < copy->n_nodes; i++) copy->nodes[i].access.rank = -1;
    for (int s = 0; s < copy->n_savers; s++) copy->savers[s].access.rank = -1;
    return copy;
}

static bool is_inside(const mo_equiv_task *t, const mo_prim *body, mo_axes axes, const mo_access *access)
{
    int64_t last = 0, tensor = access->tensor;
    MO_FOR_AXES(a, axes) last += access->stride[a] * (body->axes[a].extent - 1);
    return tensor < t->program->n_inputs ? last < mo_input_span(&t->program->tensors[tensor])
                                         : last < mo_shape_elements(t->graph->tensors[tensor].shape);
}

/* Whether every access stays within its tensor: a wrong graph may not. */
static bool strides_stay_inside(const mo_equiv_task *t)
{
    for (int k = 0; k < t->graph->n_kernels; k++) {
        const mo_prim *body = t->graph->kernels[k].body;
        for (int i = 0; i < body->n_nodes; i++)
            if (body->nodes[i].op == MO_OP_ITER &&
                !is_inside(t, body, body->nodes[i].axes, &body->nodes[i].access))
                return false;
        for (int s = 0; s < body->n_savers; s++)
            if (!is_inside(t, body, body->nodes[body->savers[s].node].axes, &body->savers[s].access))
                return false;
    }
    return true;
}

/* An input as it lies in memory. */
static double *as_stored(const mo_tensor *tensor, const double *values, mo_arena *arena)
{
    int64_t n = mo_shape_elements(tensor->shape), row_major[MO_MAX_RANK];
    mo_shape_row_major(tensor->shape, row_major);
    double *stored = MO_NEW_ARRAY(arena, double, mo_input_span(tensor));
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (int d = 0; d < tensor->shape.rank; d++)
            at += i / row_major[d] % tensor->shape.dim[d] * tensor->strides[d];
        stored[at] = values[i];
    }
    return stored;
}

/* On the real shapes through the strides, on the small instance by the dimensions. */
static void run_graph(const view *v, double *const *inputs, double **outputs, mo_arena *arena)
{
    const mo_equiv_task *t = v->t;
    double **data = MO_NEW_ARRAY(arena, double *, t->n_tensors + 1);
    for (int i = 0; i < t->n_tensors; i++) {
        if (i < v->program->n_inputs)
            data[i] = v->real ? as_stored(&v->program->tensors[i], inputs[i], arena) : inputs[i];
        else
            data[i] = MO_NEW_ARRAY(arena, double, mo_shape_elements(v->shapes[i]));
    }
    for (int k = 0; k < t->graph->n_kernels; k++) {
        const mo_prim *body = v->real ? by_strides(arena, t->graph->kernels[k].body) : t->kernels[k].graph;
        mo_instance in = {.shapes = v->shapes};
        for (int a = 0; a < MO_MAX_AXES; a++) in.extent[a] = 1;
        for (int a = 0; a < body->n_axes; a++)
            in.extent[a] =
                (int)(v->real ? body->axes[a].extent : mo_dims_small(t->dims, t->kernels[k].axis[a]));
        mo_prim_float(&in, body, data);
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
    view real = {t, t->program, t->other, t->graph == NULL ? NULL : real_shapes(t), true};
    double cost = mo_equiv_cost(t->program) + (t->other == NULL ? 0.0 : mo_equiv_cost(t->other));
    double affordable = t->graph != NULL ? MOST_FOR_GRAPH : MOST_FOR_PROGRAM;
    bool possible = t->graph == NULL || strides_stay_inside(t);
    if (t->options->max_products >= 0 && possible && cost <= affordable && try_view(&real)) return true;
    return t->small != NULL && try_view(&(view){t, t->small, t->small_other, t->shapes, false});
}
