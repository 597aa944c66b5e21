#include "emitted.h"

#include "base/rng.h"
#include "base/status.h"
#include "emu.h"
#include "verify/accept.h"
#include "verify/oracle.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FACTOR 4.0 /* of the numeric rule */

/* ---- inputs and references ---- */

static int64_t elements(const mo_tensor *t)
{
    return mo_shape_elements(t->shape);
}

static const mo_tensor *output_of(const mo_program *p, int output)
{
    return &p->tensors[p->outputs[output]];
}

static size_t input_bytes(const mo_tensor *t)
{
    return (size_t)mo_input_span(t) * (size_t)mo_dtype_size(t->dtype);
}

static size_t output_bytes(const mo_tensor *t)
{
    return (size_t)elements(t) * (size_t)mo_dtype_size(t->dtype);
}

/* Every fifth row -inf, every seventh with one NaN, every eleventh with one infinity; broadcast dimensions
 * (stride 0) keep equal values. */
static void make_special(const mo_tensor *t, uint64_t key, double *values)
{
    int64_t row_major[MO_MAX_RANK], length = t->shape.rank > 0 ? t->shape.dim[t->shape.rank - 1] : 1;
    mo_shape_row_major(t->shape, row_major);
    for (int64_t i = 0; i < elements(t); i++) {
        int64_t from = 0;
        for (int d = 0; d < t->shape.rank; d++)
            if (t->strides[d] != 0) from += i / row_major[d] % t->shape.dim[d] * row_major[d];
        int64_t row = from / length, column = from % length;
        int64_t chosen = (int64_t)(mo_rng_at(key, (uint64_t)row) % (uint64_t)length);
        if (row % 5 == 3) values[i] = -INFINITY;
        if (row % 7 == 2 && column == chosen) values[i] = NAN;
        if (row % 11 == 4 && column == chosen) values[i] = INFINITY;
    }
}

static double **evaluate(const mo_subject *s, mo_oracle_mode mode, double *const *inputs, double *peaks)
{
    const mo_program *p = s->program;
    mo_oracle_options options = {.mode = mode, .threads = 1, .peaks = peaks};
    double **all = MO_NEW_ARRAY(s->arena, double *, p->n_tensors),
           **kept = MO_NEW_ARRAY(s->arena, double *, p->n_outputs);
    mo_oracle_run(p, &options, (const double *const *)inputs, all);
    for (int o = 0; o < p->n_outputs; o++) {
        size_t n = (size_t)elements(output_of(p, o));
        kept[o] = MO_NEW_ARRAY(s->arena, double, n);
        memcpy(kept[o], all[p->outputs[o]], n * sizeof **kept);
    }
    mo_oracle_free(p, all);
    return kept;
}

/* `peaks` (or NULL) gets the magnitudes of the reference. */
static void make_set(mo_subject *s, int set, uint64_t seed, double *peaks)
{
    const mo_program *p = s->program;
    double **inputs = MO_NEW_ARRAY(s->arena, double *, p->n_inputs + 1);
    for (int i = 0; i < p->n_inputs; i++)
        inputs[i] = MO_NEW_ARRAY(s->arena, double, elements(&p->tensors[i]));
    mo_inputs_draw(s->plan, set == MO_SET_SPECIAL ? MO_INPUTS_RANDOM : (mo_inputs_kind)set, seed, inputs);
    s->contents[set] = MO_NEW_ARRAY(s->arena, void *, p->n_inputs + 1);
    for (int i = 0; i < p->n_inputs; i++) {
        if (set == MO_SET_SPECIAL) make_special(&p->tensors[i], seed + (uint64_t)i, inputs[i]);
        s->contents[set][i] = mo_arena_alloc(s->arena, input_bytes(&p->tensors[i]));
        mo_pack_input(&p->tensors[i], inputs[i], s->contents[set][i]);
    }
    s->reference[set] = evaluate(s, MO_ORACLE_F64, inputs, peaks);
    s->yardstick[set] = evaluate(s, MO_ORACLE_YARDSTICK, inputs, NULL);
}

mo_subject *mo_subject_new(mo_arena *arena, const mo_program *program, uint64_t seed)
{
    mo_subject *s = MO_NEW(arena, mo_subject);
    *s = (mo_subject){.arena = arena, .program = program, .longest = mo_accept_longest(program)};
    double *peaks = MO_NEW_ARRAY(arena, double, program->n_tensors);
    s->plan = mo_inputs_plan_new(arena, program, NULL);
    make_set(s, MO_INPUTS_RANDOM, seed, peaks);
    s->plan = mo_inputs_plan_new(arena, program, peaks);
    for (int i = 1; i < s->plan->n_sets; i++) make_set(s, (int)s->plan->sets[i], seed, NULL);
    make_set(s, MO_SET_SPECIAL, seed, NULL);
    return s;
}

/* ---- memory ---- */

typedef struct {
    void **inputs, **outputs, *workspace;
} memory;

static void *room(size_t bytes)
{
    void *p = aligned_alloc(256, (bytes + 511) / 256 * 256);
    if (p == NULL) abort();
    return p;
}

static memory make_memory(const mo_subject *s, mo_emu *emu, const mo_emitted *emitted)
{
    const mo_program *p = s->program;
    size_t workspace = (size_t)emitted->workspace_bytes;
    memory m = {MO_NEW_ARRAY(s->arena, void *, p->n_inputs + 1),
                MO_NEW_ARRAY(s->arena, void *, p->n_outputs + 1), room(workspace)};
    for (int i = 0; i < p->n_inputs; i++) {
        size_t bytes = input_bytes(&p->tensors[i]);
        m.inputs[i] = room(bytes);
        mo_emu_add_buffer(emu, p->tensors[i].name, m.inputs[i], bytes, false);
    }
    for (int o = 0; o < p->n_outputs; o++) {
        size_t bytes = output_bytes(output_of(p, o));
        m.outputs[o] = room(bytes);
        mo_emu_add_buffer(emu, output_of(p, o)->name, m.outputs[o], bytes, true);
    }
    if (workspace > 0) mo_emu_add_buffer(emu, "workspace", m.workspace, workspace, true);
    return m;
}

static void free_memory(const mo_subject *s, memory *m)
{
    for (int i = 0; i < s->program->n_inputs; i++) free(m->inputs[i]);
    for (int o = 0; o < s->program->n_outputs; o++) free(m->outputs[o]);
    free(m->workspace);
}

/* Inputs of the set; everything else is poisoned. */
static void fill_memory(const mo_subject *s, const memory *m, const mo_emitted *emitted, int set)
{
    const mo_program *p = s->program;
    for (int i = 0; i < p->n_inputs; i++)
        memcpy(m->inputs[i], s->contents[set][i], input_bytes(&p->tensors[i]));
    for (int o = 0; o < p->n_outputs; o++) memset(m->outputs[o], 0xff, output_bytes(output_of(p, o)));
    memset(m->workspace, 0xff, (size_t)emitted->workspace_bytes);
    memset(m->workspace, 0, (size_t)emitted->zeroed_bytes);
}

/* ---- running ---- */

static const void *argument(const memory *m, const mo_arg *arg)
{
    const char *base = m->workspace;
    if (arg->kind == MO_ARG_INPUT) base = m->inputs[arg->index];
    if (arg->kind == MO_ARG_OUTPUT) base = m->outputs[arg->index];
    return base + arg->offset;
}

static mo_emu_tensor_map map_of(const mo_tensor_map *from, const void *base)
{
    mo_emu_tensor_map map = {.base = base,
                             .rank = from->rank,
                             .element_bytes = mo_dtype_size(from->dtype),
                             .swizzle = from->swizzle};
    for (int i = 0; i < from->rank; i++) {
        map.size[i] = (uint64_t)from->size[i];
        if (i + 1 < from->rank) map.stride[i] = (uint64_t)from->stride[i];
        map.box[i] = (unsigned)from->box[i];
    }
    return map;
}

static mo_emu_dim dim(const unsigned size[3])
{
    return (mo_emu_dim){size[0], size[1], size[2]};
}

static bool run_launches(mo_emu *emu, const mo_emitted *emitted, const memory *m, uint64_t seed, bool racy,
                         char *why, size_t size)
{
    for (int l = 0; l < emitted->n_launches; l++) {
        const mo_launch *from = &emitted->launches[l];
        mo_emu_launch launch = {.kernel = from->kernel,
                                .grid = dim(from->grid),
                                .block = dim(from->block),
                                .cluster = dim(from->cluster),
                                .shared_bytes = from->shared_bytes,
                                .n_args = from->n_args,
                                .racy = racy,
                                .seed = seed};
        mo_emu_tensor_map maps[MO_EMU_MAX_ARGS];
        for (int i = 0; i < from->n_args && i < MO_EMU_MAX_ARGS; i++) {
            launch.args[i] = argument(m, &from->args[i]);
            if (from->args[i].map == NULL) continue;
            maps[i] = map_of(from->args[i].map, launch.args[i]);
            launch.args[i] = &maps[i];
        }
        char message[3072];
        if (mo_emu_run(emu, &launch, message, sizeof message)) continue;
        snprintf(why, size, "%s: %s", from->kernel, message);
        return false;
    }
    return true;
}

static const char *set_name(int set)
{
    return set == MO_SET_SPECIAL ? "special" : mo_inputs_name((mo_inputs_kind)set);
}

/* A set where the program's own precision overflows says nothing. */
static bool judge(const mo_subject *s, int set, const memory *m, char *why, size_t size)
{
    for (int o = 0; o < s->program->n_outputs; o++) {
        const mo_tensor *t = output_of(s->program, o);
        double *out = malloc((size_t)elements(t) * sizeof *out);
        if (out == NULL) abort();
        mo_unpack_output(t, m->outputs[o], out);
        mo_accept_result r =
            mo_accept_output(t, FACTOR, s->longest, out, s->reference[set][o], s->yardstick[set][o]);
        free(out);
        if (r.ok || r.skipped) continue;
        snprintf(why, size, "output %d, inputs %s: error %g, allowed %g, %lld elements not finite%s", o,
                 set_name(set), r.error, r.allowed, (long long)r.special,
                 r.error <= r.allowed ? " (some wrongly so, or wrongly finite)" : "");
        return false;
    }
    return true;
}

static bool run_once(const mo_subject *s, mo_emu *emu, const mo_emitted *emitted, const memory *m, int set,
                     uint64_t seed, bool racy, char *why, size_t size)
{
    char message[3600];
    fill_memory(s, m, emitted, set);
    bool ok = run_launches(emu, emitted, m, seed, racy, message, sizeof message) &&
              judge(s, set, m, message, sizeof message);
    if (!ok) snprintf(why, size, "schedule %d: %s", (int)seed, message);
    return ok;
}

bool mo_emitted_run(const mo_subject *s, const mo_emitted *emitted, const char *include_dir, mo_run_plan plan,
                    char *why, size_t size)
{
    mo_emu *emu = mo_emu_load_source(emitted->source, "emitted.cu", include_dir, why, size);
    if (emu == NULL) return false;
    memory m = make_memory(s, emu, emitted);
    bool ok = true;
    for (int seed = 0; ok && seed < plan.schedules; seed++)
        ok = run_once(s, emu, emitted, &m, 0, (uint64_t)seed, seed >= 2, why, size);
    for (int set = 1; ok && set < MO_SETS; set++)
        if (plan.sets >> set & 1u && s->contents[set] != NULL)
            ok = run_once(s, emu, emitted, &m, set, (uint64_t)(set % 4), true, why, size);
    free_memory(s, &m);
    mo_emu_free(emu);
    return ok;
}
