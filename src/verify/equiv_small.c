/* Rounds of the algebraic test on the small instance. */
#include "verify/equiv_parts.h"

#include "base/status.h"
#include "verify/program_eval.h"
#include "verify/views.h"

#include <math.h>
#include <string.h>

#define ROUNDS_WITHOUT_BOUND 16
#define MOST_ROUNDS 256        /* a bound that needs more is none */
#define MOST_SETTLING 80       /* draws until all radicands are squares */
#define MOST_REDRAWS 8         /* draws until all values are defined */
#define MORE_AFTER_MISMATCH 24 /* rounds that look for one where the mismatch is decisive */

typedef struct {
    mo_equiv_task *t;
    mo_arena *arena;
    mo_field field;
    mo_draw draw;
    mo_slice_choice *slices;
    mo_program_eval *eval, *eval_other;
    mo_fval **data;         /* of the muGraph's tensors */
    mo_fval ***values;      /* [kernel][node] */
    mo_instance *instances; /* by kernel */
    bool exact;             /* all radicands of both sides are squares */
} rounds;

static void make_instances(rounds *r)
{
    mo_equiv_task *t = r->t;
    r->data = MO_NEW_ARRAY(r->arena, mo_fval *, t->n_tensors + 1);
    for (int i = 0; i < t->n_tensors; i++)
        r->data[i] = MO_NEW_ARRAY(r->arena, mo_fval, mo_shape_elements(t->shapes[i]));
    r->instances = MO_NEW_ARRAY(r->arena, mo_instance, t->graph->n_kernels + 1);
    r->values = MO_NEW_ARRAY(r->arena, mo_fval **, t->graph->n_kernels + 1);
    for (int k = 0; k < t->graph->n_kernels; k++) {
        const mo_bound_prim *kernel = &t->kernels[k];
        mo_instance *in = &r->instances[k];
        in->shapes = t->shapes;
        in->data = r->data;
        for (int a = 0; a < MO_MAX_AXES; a++) in->extent[a] = 1;
        for (int a = 0; a < kernel->graph->n_axes; a++)
            in->extent[a] = (int)mo_dims_small(t->dims, kernel->axis[a]);
        r->values[k] = MO_NEW_ARRAY(r->arena, mo_fval *, kernel->graph->n_nodes + 1);
        for (int i = 0; i < kernel->graph->n_nodes; i++)
            r->values[k][i] =
                MO_NEW_ARRAY(r->arena, mo_fval, mo_instance_size(in, kernel->graph->nodes[i].axes));
    }
}

/* All elements of a tensor of a small program, row-major. */
static void whole_tensor(mo_program_eval *eval, const mo_program *program, int tensor, mo_fval *out)
{
    const mo_shape *shape = &program->tensors[tensor].shape;
    int64_t index[MO_MAX_RANK] = {0};
    int last = shape->rank - 1;
    int64_t run = last < 0 ? 1 : shape->dim[last];
    for (;;) {
        mo_program_eval_along(eval, tensor, index, last, run, out);
        out += run;
        int d = last - 1;
        while (d >= 0 && ++index[d] == shape->dim[d]) index[d--] = 0;
        if (d < 0) return;
    }
}

static mo_fval *tensor_values(rounds *r, mo_program_eval *eval, const mo_program *program, int tensor)
{
    mo_fval *out = MO_NEW_ARRAY(r->arena, mo_fval, mo_shape_elements(program->tensors[tensor].shape));
    whole_tensor(eval, program, tensor, out);
    return out;
}

/* Evaluates the outputs of the program's side; draws slices with bad radicands again until there are none,
 * or no hope. */
static void settle(rounds *r, mo_fval **outputs)
{
    const mo_program *small = r->t->small;
    r->exact = false;
    mo_arena_mark mark = mo_arena_get_mark(r->arena);
    for (int tries = 0; tries < MOST_SETTLING; tries++) {
        mo_arena_reset(r->arena, mark);
        mo_program_eval_forget(r->eval);
        for (int o = 0; o < small->n_outputs; o++)
            outputs[o] = tensor_values(r, r->eval, small, small->outputs[o]);
        const mo_bad_radicand *bad;
        int n_bad = mo_program_eval_bad(r->eval, &bad);
        r->exact = n_bad == 0;
        if (r->exact || tries == MOST_SETTLING - 1) return;
        if (mo_slices_again(r->slices, &r->draw, bad, n_bad) == 0) return;
    }
}

static bool is_root(const mo_prim *graph, const mo_prim_node *node)
{
    if (node->op != MO_OP_POW) return node->op == MO_OP_SQRT || node->op == MO_OP_RSQRT;
    double exponent = graph->nodes[node->in[1]].number;
    return exponent != floor(exponent);
}

static bool kernel_is_exact(const rounds *r, int k)
{
    const mo_prim *graph = r->t->kernels[k].graph;
    for (int i = 0; i < graph->n_nodes; i++) {
        if (!is_root(graph, &graph->nodes[i])) continue;
        int operand = graph->nodes[i].in[0];
        int64_t size = mo_instance_size(&r->instances[k], graph->nodes[operand].axes);
        for (int64_t e = 0; e < size; e++)
            if (!mo_field_is_square(&r->field, r->values[k][operand][e])) return false;
    }
    return true;
}

/* Windows into what was written so far, and what copies of it hold. */
static void move_data(rounds *r)
{
    const mo_program *small = r->t->small;
    for (int n = 0; n < small->n_nodes; n++)
        if (mo_op_kind_of(small->nodes[n].op) == MO_KIND_VIEW)
            mo_views_store(small, &small->nodes[n], r->data);
}

static void evaluate_graph(rounds *r, mo_fval **outputs)
{
    mo_equiv_task *t = r->t;
    for (int i = 0; i < t->program->n_inputs; i++) whole_tensor(r->eval, t->small, i, r->data[i]);
    for (int k = 0; k < t->graph->n_kernels; k++) {
        const mo_prim *graph = t->kernels[k].graph;
        move_data(r);
        mo_prim_eval(&r->field, &r->instances[k], graph, r->values[k]);
        for (int s = 0; s < graph->n_savers; s++) {
            int node = graph->savers[s].node;
            mo_prim_store(&r->instances[k], &graph->savers[s].access, graph->nodes[node].axes,
                          r->values[k][node]);
        }
        r->exact = r->exact && kernel_is_exact(r, k);
    }
    move_data(r);
    for (int o = 0; o < t->program->n_outputs; o++) outputs[o] = r->data[t->outputs[o]];
}

static void evaluate_other(rounds *r, mo_fval **outputs)
{
    const mo_program *small = r->t->small_other;
    mo_program_eval_forget(r->eval_other);
    for (int o = 0; o < small->n_outputs; o++)
        outputs[o] = tensor_values(r, r->eval_other, small, small->outputs[o]);
    const mo_bad_radicand *bad;
    r->exact = r->exact && mo_program_eval_bad(r->eval_other, &bad) == 0;
}

typedef enum { SAME, UNLIKE, UNDEFINED } outcome;

/* Compares all outputs; the place of the first difference goes to the report. */
static outcome compare(const rounds *r, mo_fval *const *ours, mo_fval *const *theirs)
{
    const mo_program *small = r->t->small;
    bool undefined = false;
    for (int o = 0; o < small->n_outputs; o++) {
        const mo_shape *shape = &small->tensors[small->outputs[o]].shape;
        int64_t total = mo_shape_elements(*shape);
        for (int64_t i = 0; i < total; i++) {
            if ((ours[o][i].state | theirs[o][i].state) & MO_FV_UNDEFINED) {
                undefined = true;
                continue;
            }
            if (mo_fval_same(ours[o][i], theirs[o][i])) continue;
            mo_verify_report *report = r->t->report;
            report->output = o;
            report->rank = shape->rank;
            int64_t rest = i;
            for (int d = shape->rank - 1; d >= 0; d--) {
                report->index[d] = rest % shape->dim[d];
                rest /= shape->dim[d];
            }
            return UNLIKE;
        }
    }
    return undefined ? UNDEFINED : SAME;
}

/* One round with the draw of this number. */
static outcome run_round(rounds *r, uint64_t number)
{
    mo_equiv_task *t = r->t;
    mo_field_draw(&r->field, t->options->seed, number, t->chain, t->constants, t->n_constants);
    r->field.free = t->free;
    mo_draw_start(&r->draw, &r->field, t->options->seed, number);
    mo_fval **ours = MO_NEW_ARRAY(r->arena, mo_fval *, t->program->n_outputs + 1);
    mo_fval **theirs = MO_NEW_ARRAY(r->arena, mo_fval *, t->program->n_outputs + 1);
    settle(r, ours);
    if (t->graph != NULL)
        evaluate_graph(r, theirs);
    else
        evaluate_other(r, theirs);
    t->report->primes[0] = r->field.p.prime;
    t->report->primes[1] = r->field.q.prime;
    return compare(r, ours, theirs);
}

static bool decides(const rounds *r)
{
    return !r->t->soft && !r->t->free && r->exact && r->field.constants_square;
}

/* Number of rounds that the wanted bound asks for; *delta becomes the bound that they give, or -1. */
static int rounds_for(const mo_equiv_task *t, double *delta)
{
    double wanted = t->options->delta, per_round = t->per_round[t->free ? 1 : 0];
    *delta = -1.0;
    if (!(per_round < 1.0) || !(wanted > 0.0)) return ROUNDS_WITHOUT_BOUND;
    double needed = ceil(log(wanted) / log(per_round));
    if (needed < 1.0) needed = 1.0;
    if (!(needed <= MOST_ROUNDS)) return ROUNDS_WITHOUT_BOUND;
    *delta = wanted;
    return (int)needed;
}

/* The rounds, and after a mismatch some more that look for one which decides. */
static mo_equiv run_rounds(rounds *r, bool *decisive)
{
    mo_verify_report *report = r->t->report;
    double delta;
    int wanted = rounds_for(r->t, &delta), redraws = 0;
    bool mismatch = false;
    uint64_t number = 0;
    mo_arena_mark mark = mo_arena_get_mark(r->arena);
    for (int done = 0; done < wanted;) {
        mo_arena_reset(r->arena, mark);
        outcome result = run_round(r, number++);
        if (result == UNLIKE && !mismatch) {
            mismatch = true;
            wanted = done + MORE_AFTER_MISMATCH;
        }
        if (result == UNLIKE && decides(r)) *decisive = true;
        if (result == UNLIKE && (*decisive || r->t->soft || r->t->free)) return MO_DIFFERENT;
        if (result == UNDEFINED && !mismatch && ++redraws > MOST_REDRAWS) {
            report->reason = "values stay undefined on the small instance";
            return MO_UNDECIDED;
        }
        if (result != UNDEFINED || mismatch) done++;
        if (!mismatch) report->rounds = done;
    }
    if (mismatch) return MO_DIFFERENT;
    report->delta = delta;
    return MO_EQUAL_TESTED;
}

mo_equiv mo_equiv_small(mo_equiv_task *t, bool *decisive)
{
    rounds r = {.t = t, .arena = mo_arena_new()};
    mo_draw_inputs(&r.draw, r.arena, t->small);
    r.slices = mo_slices_plan(r.arena, t->small, &r.draw);
    r.draw.field = &r.field;
    r.eval = mo_program_eval_new(t->small, &r.draw, true);
    if (t->graph != NULL)
        make_instances(&r);
    else
        r.eval_other = mo_program_eval_new(t->small_other, &r.draw, true);
    *decisive = false;
    mo_equiv result = run_rounds(&r, decisive);
    mo_program_eval_free(r.eval);
    mo_program_eval_free(r.eval_other);
    mo_arena_free(r.arena);
    return result;
}
