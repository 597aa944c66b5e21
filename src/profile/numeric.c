/* For each kind of inputs: values, their form in memory, the float64 reference and the f32 yardstick. All
 * of it is computed once and then only read. */
#include "profile/numeric.h"

#include "verify/accept.h"
#include "verify/inputs.h"
#include "verify/oracle.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    double **reference, **yardstick; /* of each output */
} values;

struct mo_numeric_gate {
    const mo_program *program;
    double factor;
    int64_t longest;
    int64_t *input_bytes, *output_bytes;
    const void **contents;
    double *decoded;                /* room for the largest output */
    values sets[MO_INPUTS_KINDS];
};

static const mo_tensor *output_of(const mo_program *program, int output)
{
    return &program->tensors[program->outputs[output]];
}

static void sizes(mo_numeric_gate *gate, mo_arena *arena)
{
    const mo_program *p = gate->program;
    int64_t most = 0;
    gate->input_bytes = MO_NEW_ARRAY(arena, int64_t, p->n_inputs + 1);
    gate->output_bytes = MO_NEW_ARRAY(arena, int64_t, p->n_outputs + 1);
    for (int i = 0; i < p->n_inputs; i++) {
        gate->input_bytes[i] = mo_input_span(&p->tensors[i]) * mo_dtype_size(p->tensors[i].dtype);
    }
    for (int o = 0; o < p->n_outputs; o++) {
        int64_t n = mo_shape_elements(output_of(p, o)->shape);
        gate->output_bytes[o] = n * mo_dtype_size(output_of(p, o)->dtype);
        if (n > most) most = n;
    }
    gate->decoded = MO_NEW_ARRAY(arena, double, most);
}

/* The outputs' values under one interpreter, copied to the arena. */
static double **evaluate(const mo_numeric_gate *gate, mo_arena *arena, const mo_oracle_options *options,
                         const double *const *inputs)
{
    const mo_program *p = gate->program;
    double **all = calloc((size_t)p->n_tensors, sizeof *all);
    if (all == NULL) MO_BUG("out of memory");
    mo_oracle_run(p, options, inputs, all);
    double **kept = MO_NEW_ARRAY(arena, double *, p->n_outputs);
    for (int o = 0; o < p->n_outputs; o++) {
        size_t n = (size_t)mo_shape_elements(output_of(p, o)->shape);
        kept[o] = MO_NEW_ARRAY(arena, double, n);
        memcpy(kept[o], all[p->outputs[o]], n * sizeof **kept);
    }
    mo_oracle_free(p, all);
    free(all);
    return kept;
}

static void draw(mo_numeric_gate *gate, mo_arena *arena, mo_inputs_kind kind, uint64_t seed,
                 const mo_matmul_hook *hook, int threads)
{
    const mo_program *p = gate->program;
    double **inputs = calloc((size_t)p->n_inputs + 1, sizeof *inputs);
    if (inputs == NULL) MO_BUG("out of memory");
    for (int i = 0; i < p->n_inputs; i++) {
        inputs[i] = calloc((size_t)mo_shape_elements(p->tensors[i].shape), sizeof **inputs);
        if (inputs[i] == NULL) MO_BUG("out of memory");
    }
    mo_inputs_draw(p, kind, seed, inputs);
    for (int i = 0; i < p->n_inputs; i++) {
        void *bytes = mo_arena_alloc(arena, (size_t)gate->input_bytes[i]);
        mo_pack_input(&p->tensors[i], inputs[i], bytes);
        gate->contents[(int)kind * p->n_inputs + i] = bytes;
    }
    mo_oracle_options options = {.mode = MO_ORACLE_F64, .threads = threads, .hook = hook};
    gate->sets[kind].reference = evaluate(gate, arena, &options, (const double *const *)inputs);
    options.mode = MO_ORACLE_YARDSTICK;
    gate->sets[kind].yardstick = evaluate(gate, arena, &options, (const double *const *)inputs);
    for (int i = 0; i < p->n_inputs; i++) free(inputs[i]);
    free(inputs);
}

mo_numeric_gate *mo_numeric_new(mo_arena *arena, const mo_program *program, uint64_t seed, double factor,
                                mo_matmul_device *device, int threads)
{
    mo_numeric_gate *gate = MO_NEW(arena, mo_numeric_gate);
    mo_matmul_hook hook = {0};
    if (device != NULL) hook = mo_matmul_hook_of(device);
    gate->program = program;
    gate->factor = factor;
    gate->longest = mo_accept_longest(program);
    sizes(gate, arena);
    gate->contents = MO_NEW_ARRAY(arena, const void *, MO_INPUTS_KINDS * program->n_inputs + 1);
    for (int k = 0; k < MO_INPUTS_KINDS; k++) {
        draw(gate, arena, (mo_inputs_kind)k, seed, device == NULL ? NULL : &hook, threads);
    }
    return gate;
}

int mo_numeric_sets(const mo_numeric_gate *gate)
{
    (void)gate;
    return MO_INPUTS_KINDS;
}

const char *mo_numeric_set_name(const mo_numeric_gate *gate, int set)
{
    (void)gate;
    return mo_inputs_name((mo_inputs_kind)set);
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

void mo_numeric_begin(const mo_numeric_gate *gate, mo_numeric_entry *entries)
{
    for (int o = 0; o < gate->program->n_outputs; o++) {
        entries[o] = (mo_numeric_entry){.output = o, .ok = true};
    }
}

/* Closer to (or further beyond) what is allowed than the sets before? An error that is no number is the
 * worst there is. */
static bool worse(const mo_numeric_entry *entry, const mo_accept_result *result)
{
    if (entry->judged == 0 || !result->ok) return true;
    return result->error * entry->allowed > entry->error * result->allowed;
}

void mo_numeric_judge(const mo_numeric_gate *gate, int set, const void *const *outputs,
                      mo_numeric_entry *entries)
{
    for (int o = 0; o < gate->program->n_outputs; o++) {
        const mo_tensor *tensor = output_of(gate->program, o);
        mo_numeric_entry *entry = &entries[o];
        mo_unpack_output(tensor, outputs[o], gate->decoded);
        mo_accept_result r = mo_accept_output(tensor, gate->factor, gate->longest, gate->decoded,
                                              gate->sets[set].reference[o], gate->sets[set].yardstick[o]);
        if (r.skipped) {
            entry->skipped++;
            continue;
        }
        if (entry->ok && worse(entry, &r)) {
            entry->error = r.error;
            entry->yardstick = r.yardstick;
            entry->allowed = r.allowed;
            entry->ok = r.ok;
        }
        entry->judged++;
        entry->special += r.special;
        if (r.max_abs > entry->max_abs) entry->max_abs = r.max_abs;
    }
}
