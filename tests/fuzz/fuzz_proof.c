/* Fuzzer of the prover: random programs and the graphs that the search makes of them are brought into normal
 * form, and the forms are evaluated in double and compared with the float64 interpreter. A rule of the normal
 * forms that is wrong, or an index that is off, gives a wrong number.
 *
 * usage: fuzz_proof [COUNT [SEED [NODES]]] */
#include "base/rng.h"
#include "cost/device.h"
#include "lower/lower.h"
#include "parse/parse.h"
#include "random_program.h"
#include "search/search.h"
#include "verify/inputs.h"
#include "verify/oracle.h"
#include "verify/proof.h"
#include "verify/recheck.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TERMS = 20000, SAMPLES = 3, TOP_K = 6, MAX_STATES = 4000, SUBPROGRAM_NODES = 64 };

typedef struct {
    long programs, graphs, proved, checked, values, skipped, failures;
} counts;

/* Values of variables, innermost last. */
typedef struct {
    int n;
    mo_var var[64];
    int64_t value[64];
} scope;

typedef struct {
    const mo_program *program;
    double **memory; /* of each input, by place */
    long budget;     /* terms that may still be evaluated */
} evaluator;

static double value_of(evaluator *e, scope *s, const mo_normal *form);

static int64_t place_of(const scope *s, const mo_affine *a)
{
    int64_t place = a->constant;
    for (int i = 0; i < a->n; i++) {
        int at = s->n - 1;
        while (at >= 0 && !mo_var_same(s->var[at], a->term[i].var)) at--;
        if (at < 0) {
            printf("a variable without a value\n");
            exit(1);
        }
        place += a->term[i].factor * s->value[at];
    }
    return place;
}

static double as_double(mo_rational r)
{
    return (double)r.num / (double)r.den;
}

/* The next values of n variables from `from` on; false after the last. */
static bool advance(scope *s, int from, int n)
{
    for (int i = from; i < from + n; i++) {
        if (++s->value[i] < s->var[i].extent) return true;
        s->value[i] = 0;
    }
    return false;
}

static void bind(scope *s, const mo_var *vars, int n)
{
    for (int i = 0; i < n; i++) {
        s->var[s->n] = vars[i];
        s->value[s->n++] = 0;
    }
}

static double function_of(const mo_atom *atom, double x)
{
    mo_attrs attrs = {0};
    double exponent;
    memcpy(&exponent, &atom->tag, sizeof exponent);
    if (atom->op == MO_OP_CAST) return mo_dtype_round((mo_dtype)atom->tag, x);
    return mo_oracle_pointwise(atom->op, &attrs, x, atom->op == MO_OP_POW ? exponent : 0.0);
}

static double atom_value(evaluator *e, scope *s, const mo_atom *atom)
{
    double x = 0.0;
    int from = s->n;
    switch (atom->kind) {
    case MO_ATOM_INPUT: return e->memory[atom->tensor][place_of(s, &atom->index)];
    case MO_ATOM_EXP: return exp(value_of(e, s, atom->args[0]));
    case MO_ATOM_SUM: return value_of(e, s, atom->args[0]);
    case MO_ATOM_PRIME: return (double)atom->tag;
    case MO_ATOM_MAX:
        for (int i = 0; i < atom->n_args; i++) x = fmax(x, value_of(e, s, atom->args[i]));
        return x;
    case MO_ATOM_LARGEST:
        bind(s, atom->bound, atom->n_bound);
        x = -(double)INFINITY;
        do x = fmax(x, value_of(e, s, atom->args[0]));
        while (e->budget >= 0 && advance(s, from, atom->n_bound));
        s->n = from;
        return x;
    case MO_ATOM_FUNCTION: return function_of(atom, value_of(e, s, atom->args[0]));
    case MO_ATOM_MASK: return place_of(s, &atom->index) <= 0 ? 0.0 : -(double)INFINITY;
    case MO_ATOM_INDICATOR: return place_of(s, &atom->index) <= 0 ? 1.0 : 0.0;
    }
    return (double)NAN;
}

static double product_of(evaluator *e, scope *s, const mo_term *t)
{
    double product = as_double(t->coefficient);
    if (--e->budget < 0) return (double)NAN;
    for (int i = 0; i < t->n_factors; i++) {
        double x = atom_value(e, s, t->factors[i].atom), p = as_double(t->factors[i].power);
        product *= p == 1.0 ? x : pow(x, p);
    }
    return product;
}

static double value_of(evaluator *e, scope *s, const mo_normal *form)
{
    double sum = 0.0;
    for (int i = 0; i < form->n; i++) {
        const mo_term *t = &form->terms[i];
        int from = s->n;
        bind(s, t->bound, t->n_bound);
        do sum += product_of(e, s, t);
        while (t->n_bound > 0 && e->budget >= 0 && advance(s, from, t->n_bound));
        s->n = from;
    }
    return sum;
}

/* ---- one program ---- */

typedef struct {
    counts *c;
    uint64_t seed;
    mo_arena *arena;
    mo_rng rng;
    mo_program *program;
    evaluator e;
    double **values; /* of the interpreter, by tensor */
} trial;

static void draw(trial *t)
{
    const mo_program *p = t->program;
    double **dense = MO_NEW_ARRAY(t->arena, double *, p->n_inputs + 1);
    t->e.program = p;
    t->e.memory = MO_NEW_ARRAY(t->arena, double *, p->n_inputs + 1);
    for (int x = 0; x < p->n_inputs; x++)
        dense[x] = MO_NEW_ARRAY(t->arena, double, mo_shape_elements(p->tensors[x].shape) + 1);
    mo_inputs_draw(mo_inputs_plan_new(t->arena, p, NULL), MO_INPUTS_RANDOM, t->seed, dense);
    for (int x = 0; x < p->n_inputs; x++) {
        const mo_tensor *tensor = &p->tensors[x];
        int64_t strides[MO_MAX_RANK];
        mo_shape_row_major(tensor->shape, strides);
        t->e.memory[x] = MO_NEW_ARRAY(t->arena, double, mo_input_span(tensor) + 1);
        for (int64_t i = 0; i < mo_shape_elements(tensor->shape); i++) {
            int64_t place = 0;
            for (int d = 0; d < tensor->shape.rank; d++)
                place += i / strides[d] % tensor->shape.dim[d] * tensor->strides[d];
            t->e.memory[x][place] = dense[x][i];
        }
    }
    t->values = MO_NEW_ARRAY(t->arena, double *, p->n_tensors + 1);
    mo_oracle_run(p, &(mo_oracle_options){.mode = MO_ORACLE_F64, .threads = 1, .keep_all = true},
                  (const double *const *)dense, t->values);
}

static void add_vars(scope *s, mo_rng *rng, const mo_affine *a)
{
    for (int i = 0; i < a->n; i++) {
        bool known = false;
        for (int j = 0; j < s->n; j++) known = known || mo_var_same(s->var[j], a->term[i].var);
        if (known) continue;
        s->var[s->n] = a->term[i].var;
        s->value[s->n++] = (int64_t)mo_rng_below(rng, a->term[i].var.extent);
    }
}

/* Compares a form for an element of a tensor of the program with the interpreter. */
static void compare(trial *t, int tensor, const mo_affine *index, const mo_normal *form, const char *what)
{
    const mo_tensor *x = &t->program->tensors[tensor];
    if (t->values[tensor] == NULL) return;
    for (int sample = 0; sample < SAMPLES; sample++) {
        scope s = {0};
        int64_t strides[MO_MAX_RANK], at = 0;
        mo_shape_row_major(x->shape, strides);
        for (int d = 0; d < x->shape.rank; d++) add_vars(&s, &t->rng, &index[d]);
        for (int d = 0; d < x->shape.rank; d++) at += place_of(&s, &index[d]) * strides[d];
        t->e.budget = MOST_TERMS;
        double wanted = t->values[tensor][at], found = value_of(&t->e, &s, form);
        if (!isfinite(wanted) || !isfinite(found) || t->e.budget < 0) {
            t->c->skipped++;
            continue;
        }
        t->c->values++;
        if (fabs(wanted - found) <= 1e-5 * (fabs(wanted) + fabs(found)) + 1e-7) continue;
        mo_str text = {0};
        mo_var_names names = {0};
        mo_normal_print(&text, t->program, &names, form);
        printf("FAIL program %llu, %s %s[%lld]: %.12g, form %.12g\n  %s\n", (unsigned long long)t->seed, what,
               x->name, (long long)at, wanted, found, mo_str_text(&text));
        mo_str_free(&text);
        t->c->failures++;
        return;
    }
}

/* With MO_TELL set: why a graph was not proved. */
static void tell(const trial *t, const mo_mugraph *graph, const mo_proof *proof)
{
    if (getenv("MO_TELL") == NULL) return;
    mo_str text = {0};
    mo_program_print(&text, t->program);
    mo_mugraph_print(&text, graph);
    mo_proof_print(&text, t->program, graph, NULL, proof);
    printf("program %llu:\n%s", (unsigned long long)t->seed, mo_str_text(&text));
    mo_str_free(&text);
}

static void try_graph(trial *t, const mo_mugraph *graph)
{
    mo_proof *proof = mo_prove_mugraph(t->program, graph);
    t->c->graphs++;
    t->c->proved += proof->proved;
    const char *objection = NULL;
    t->c->checked += proof->proved && mo_proof_recheck(t->program, graph, NULL, proof, &objection);
    if (objection != NULL && getenv("MO_TELL") != NULL)
        printf("program %llu: refused: %s\n", (unsigned long long)t->seed, objection);
    if (!proof->proved) tell(t, graph, proof);
    for (int i = 0; i < proof->n_cases; i++)
        compare(t, t->program->outputs[proof->cases[i].output], proof->cases[i].index,
                proof->cases[i].right->form, "graph");
    mo_proof_free(proof);
}

static void try_claims(trial *t)
{
    mo_proof *proof = mo_prove_programs(t->program, t->program);
    for (int i = 0; i < proof->n_claims; i++) {
        const mo_claim *c = &proof->claims[i];
        if (c->kind == MO_CLAIM_PROGRAM && c->value >= t->program->n_inputs)
            compare(t, c->value, c->index, c->form, "program");
    }
    mo_proof_free(proof);
}

static void run_program(counts *c, uint64_t seed, int nodes)
{
    trial t = {.c = c, .seed = seed, .arena = mo_arena_new(), .rng = mo_rng_seed(seed, 1)};
    mo_str text = {0};
    mo_error error = {0};
    mo_lowered lowered;
    mo_search_result found;
    mo_search_options options = {.device = mo_device_for_arch(90),
                                 .max_states = MAX_STATES,
                                 .max_kernel_ops = 5,
                                 .prune = true,
                                 .top_k = TOP_K,
                                 .threads = 1,
                                 .verify_delta = 1e-6};
    mo_random_program(&text, seed, nodes);
    mo_status status =
        mo_parse_program(t.arena, "random", mo_str_text(&text), text.length, &t.program, NULL, &error);
    if (status == MO_OK) {
        c->programs++;
        draw(&t);
        try_claims(&t);
        status = mo_lower_program(t.arena, t.program, SUBPROGRAM_NODES, &lowered, &error);
    }
    if (status == MO_OK) status = mo_search_run(t.arena, t.program, &lowered, &options, &found, &error);
    for (int i = 0; status == MO_OK && i < found.n_candidates; i++) try_graph(&t, found.candidates[i]);
    if (status != MO_OK) {
        printf("FAIL program %llu: %s\n", (unsigned long long)seed, error.text);
        c->failures++;
    }
    if (t.values != NULL) mo_oracle_free(t.program, t.values);
    mo_str_free(&text);
    mo_arena_free(t.arena);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 60;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    counts c = {0};
    for (long i = 0; i < count; i++) run_program(&c, seed + (uint64_t)i, argc > 3 ? atoi(argv[3]) : 0);
    printf("fuzz_proof: %ld programs; of %ld graphs %ld proved, %ld of them checked again; %ld values "
           "compared, %ld "
           "left out, %ld failures\n",
           c.programs, c.graphs, c.proved, c.checked, c.values, c.skipped, c.failures);
    bool enough = c.values > 10 * c.programs && 10 * c.checked >= 9 * c.graphs;
    return c.failures == 0 && enough ? 0 : 1;
}
