/* For each kind of inputs: values, their form in memory, the float64 reference and the f32 yardstick. All
 * of it is computed once and then only read.
 *
 * Inputs that do not differ between the kinds (weights, most of all) are drawn and stored once. The
 * interpreters run side by side, as many as memory allows. */
#include "profile/numeric.h"

#include "base/pool.h"
#include "verify/accept.h"
#include "verify/inputs.h"
#include "verify/oracle.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_SETS = MO_INPUTS_KINDS, MODES = 2 };

struct mo_numeric_gate {
    const mo_program *program;
    const mo_inputs_plan *plan;
    double factor;
    int threads;
    int64_t longest;
    int64_t *input_bytes, *output_bytes;
    const void **contents;
    double **values[MOST_SETS][MODES]; /* of each output: reference and yardstick */
};

static const mo_tensor *output_of(const mo_program *program, int output)
{
    return &program->tensors[program->outputs[output]];
}

static int64_t elements_of(const mo_program *program, int tensor)
{
    return mo_shape_elements(program->tensors[tensor].shape);
}

static void sizes(mo_numeric_gate *gate, mo_arena *arena)
{
    const mo_program *p = gate->program;
    gate->input_bytes = MO_NEW_ARRAY(arena, int64_t, p->n_inputs + 1);
    gate->output_bytes = MO_NEW_ARRAY(arena, int64_t, p->n_outputs + 1);
    for (int i = 0; i < p->n_inputs; i++) {
        gate->input_bytes[i] = mo_input_span(&p->tensors[i]) * mo_dtype_size(p->tensors[i].dtype);
    }
    for (int o = 0; o < p->n_outputs; o++) {
        gate->output_bytes[o] = elements_of(p, p->outputs[o]) * mo_dtype_size(output_of(p, o)->dtype);
    }
}

/* ---- drawing ---- */

/* Sets first to last - 1 at work: inputs[set * n_inputs + input]. */
typedef struct {
    mo_numeric_gate *gate;
    const mo_matmul_hook *hook;
    double **inputs, *peaks;  /* of the random set, by tensor */
    int first, last, threads; /* of each interpreter */
} wave;

static bool drawn_once(const mo_numeric_gate *gate, int set, int input)
{
    return set > 0 && !mo_inputs_differ(gate->plan, gate->plan->sets[set], input);
}

static double *new_values(int64_t count)
{
    double *values = malloc((size_t)count * sizeof *values);
    if (values == NULL) MO_BUG("out of memory (%lld elements)", (long long)count);
    return values;
}

/* Values of one set; what the sets have in common comes with set 0 and stays. */
static void draw(const wave *w, uint64_t seed, int set)
{
    const mo_program *p = w->gate->program;
    double **inputs = &w->inputs[set * p->n_inputs];
    for (int i = 0; i < p->n_inputs; i++) {
        inputs[i] = drawn_once(w->gate, set, i) ? NULL : new_values(elements_of(p, i));
    }
    mo_inputs_draw(w->gate->plan, w->gate->plan->sets[set], seed, inputs);
    for (int i = 0; i < p->n_inputs; i++) {
        if (drawn_once(w->gate, set, i)) inputs[i] = w->inputs[i];
    }
}

static void pack_one(void *context, int worker, int64_t index)
{
    (void)worker;
    const wave *w = context;
    const mo_program *p = w->gate->program;
    int input = (int)(index % p->n_inputs), set = w->first + (int)(index / p->n_inputs);
    if (drawn_once(w->gate, set, input)) return;
    /* The caller gave each of these its own memory. */
    void *bytes = (void *)(uintptr_t)w->gate->contents[set * p->n_inputs + input];
    mo_pack_input(&p->tensors[input], w->inputs[set * p->n_inputs + input], bytes);
}

static void place_contents(mo_numeric_gate *gate, mo_arena *arena, int set)
{
    int n = gate->program->n_inputs;
    for (int i = 0; i < n; i++) {
        gate->contents[set * n + i] = drawn_once(gate, set, i)
                                          ? gate->contents[i]
                                          : mo_arena_alloc(arena, (size_t)gate->input_bytes[i]);
    }
}

/* ---- interpreting ---- */

/* The outputs' values under one interpreter, into memory that is there. */
static void evaluate_one(void *context, int worker, int64_t index)
{
    static const mo_oracle_mode modes[MODES] = {MO_ORACLE_F64, MO_ORACLE_YARDSTICK};
    (void)worker;
    const wave *w = context;
    const mo_program *p = w->gate->program;
    int set = w->first + (int)(index / MODES), mode = (int)(index % MODES);
    mo_oracle_options options = {.mode = modes[mode], .threads = w->threads, .hook = w->hook};
    if (set == 0 && mode == 0) options.peaks = w->peaks;
    double **all = calloc((size_t)p->n_tensors + 1, sizeof *all);
    if (all == NULL) MO_BUG("out of memory");
    mo_oracle_run(p, &options, (const double *const *)&w->inputs[set * p->n_inputs], all);
    for (int o = 0; o < p->n_outputs; o++) {
        memcpy(w->gate->values[set][mode][o], all[p->outputs[o]],
               (size_t)elements_of(p, p->outputs[o]) * sizeof(double));
    }
    mo_oracle_free(p, all);
    free(all);
}

static void place_values(mo_numeric_gate *gate, mo_arena *arena, int set)
{
    const mo_program *p = gate->program;
    for (int m = 0; m < MODES; m++) {
        gate->values[set][m] = MO_NEW_ARRAY(arena, double *, p->n_outputs);
        for (int o = 0; o < p->n_outputs; o++) {
            gate->values[set][m][o] = MO_NEW_ARRAY(arena, double, (size_t)elements_of(p, p->outputs[o]));
        }
    }
}

/* Sets whose interpreters fit a quarter of the machine's memory together; at least one. What one takes is
 * estimated as all tensors in double, and again half as much for the operands of products as floats. */
static int sets_at_once(const mo_inputs_plan *plan)
{
    const mo_program *program = plan->program;
    double all = 0, room = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 4;
    for (int t = 0; t < program->n_tensors; t++) {
        bool shared = t < program->n_inputs && !plan->inputs[t].special;
        all += (double)elements_of(program, t) * (shared ? 4.0 : 12.0) * MODES;
    }
    return all * MOST_SETS <= room ? MOST_SETS : all >= room ? 1 : (int)(room / all);
}

static void run_wave(wave *w, mo_arena *arena, uint64_t seed, mo_pool *pool)
{
    mo_numeric_gate *gate = w->gate;
    int n = gate->program->n_inputs, tasks = (w->last - w->first) * MODES;
    for (int s = w->first; s < w->last; s++) {
        place_contents(gate, arena, s);
        place_values(gate, arena, s);
        draw(w, seed, s);
    }
    mo_pool_run(pool, (int64_t)(w->last - w->first) * n, pack_one, w);
    w->threads = (gate->threads + tasks - 1) / tasks;
    mo_pool_run(pool, tasks, evaluate_one, w);
    for (int s = w->first; s < w->last; s++) {
        for (int i = 0; i < n; i++) {
            if (s > 0 && !drawn_once(gate, s, i)) free(w->inputs[s * n + i]);
        }
    }
}

mo_numeric_gate *mo_numeric_new(mo_arena *arena, const mo_program *program, uint64_t seed, double factor,
                                mo_matmul_device *device, int threads)
{
    mo_numeric_gate *gate = MO_NEW(arena, mo_numeric_gate);
    mo_matmul_hook hook = {0};
    if (device != NULL) hook = mo_matmul_hook_of(device);
    gate->program = program;
    gate->factor = factor;
    gate->threads = threads > 0 ? threads : mo_core_count();
    gate->longest = mo_accept_longest(program);
    sizes(gate, arena);
    gate->plan = mo_inputs_plan_new(arena, program, NULL);
    gate->contents = MO_NEW_ARRAY(arena, const void *, MOST_SETS * program->n_inputs + 1);
    wave w = {.gate = gate, .hook = device == NULL ? NULL : &hook};
    w.inputs = calloc((size_t)MOST_SETS * (size_t)program->n_inputs + 1, sizeof *w.inputs);
    if (w.inputs == NULL) MO_BUG("out of memory");
    w.peaks = MO_NEW_ARRAY(arena, double, program->n_tensors);
    int most = MOST_SETS * MODES, step = sets_at_once(gate->plan);
    mo_pool *pool = mo_pool_new(gate->threads < most ? gate->threads : most);
    w.last = 1; /* the random set alone: the others are planned by its magnitudes */
    run_wave(&w, arena, seed, pool);
    gate->plan = mo_inputs_plan_new(arena, program, w.peaks);
    int sets = gate->plan->n_sets;
    for (w.first = 1; w.first < sets; w.first = w.last) {
        w.last = w.first + step < sets ? w.first + step : sets;
        run_wave(&w, arena, seed, pool);
    }
    mo_pool_free(pool);
    for (int i = 0; i < program->n_inputs; i++) free(w.inputs[i]);
    free(w.inputs);
    return gate;
}

/* ---- what is there ---- */

int mo_numeric_sets(const mo_numeric_gate *gate)
{
    return gate->plan->n_sets;
}

const int64_t *mo_numeric_input_bytes(const mo_numeric_gate *gate)
{
    return gate->input_bytes;
}

const int64_t *mo_numeric_output_bytes(const mo_numeric_gate *gate)
{
    return gate->output_bytes;
}

const void *const *mo_numeric_contents(const mo_numeric_gate *gate)
{
    return gate->contents;
}

/* ---- judging ---- */

typedef struct {
    const mo_numeric_gate *gate;
    const void *const *outputs;
    mo_accept_result *results; /* [set * n_outputs + output] */
} judging;

static void judge_one(void *context, int worker, int64_t index)
{
    (void)worker;
    const judging *j = context;
    const mo_numeric_gate *gate = j->gate;
    int n = gate->program->n_outputs, set = (int)(index / n), o = (int)(index % n);
    const mo_tensor *tensor = output_of(gate->program, o);
    double *decoded = new_values(mo_shape_elements(tensor->shape));
    mo_unpack_output(tensor, j->outputs[index], decoded);
    j->results[index] = mo_accept_output(tensor, gate->factor, gate->longest, decoded,
                                         gate->values[set][0][o], gate->values[set][1][o]);
    free(decoded);
}

/* A failure is worse than a success; else what counts is how much of the allowed error is there. */
static bool worse(const mo_accept_result *a, const mo_accept_result *b)
{
    if (a->ok != b->ok) return !a->ok;
    return a->error * b->allowed > b->error * a->allowed;
}

static void merge(const mo_inputs_plan *plan, const mo_accept_result *results, int n_outputs, int output,
                  mo_numeric_entry *entry)
{
    const mo_accept_result *worst = NULL;
    *entry = (mo_numeric_entry){.output = output};
    for (int s = 0; s < plan->n_sets; s++) {
        const mo_accept_result *r = &results[s * n_outputs + output];
        entry->skipped += r->skipped;
        entry->judged += !r->skipped;
        if (r->skipped || (worst != NULL && !worse(r, worst))) continue;
        worst = r;
        entry->inputs = mo_inputs_name(plan->sets[s]);
    }
    if (worst == NULL) return;
    entry->error = worst->error;
    entry->yardstick = worst->yardstick;
    entry->allowed = worst->allowed;
    entry->special = worst->special;
    entry->max_abs = worst->max_abs;
    entry->ok = worst->ok;
}

void mo_numeric_judge(const mo_numeric_gate *gate, const void *const *outputs, mo_numeric_entry *entries)
{
    int n = gate->program->n_outputs, tasks = gate->plan->n_sets * n;
    judging j = {gate, outputs, calloc((size_t)tasks + 1, sizeof *j.results)};
    if (j.results == NULL) MO_BUG("out of memory");
    mo_pool *pool = mo_pool_new(gate->threads < tasks ? gate->threads : tasks);
    mo_pool_run(pool, tasks, judge_one, &j);
    mo_pool_free(pool);
    for (int o = 0; o < n; o++) merge(gate->plan, j.results, n, o, &entries[o]);
    free(j.results);
}
