/* Every operator of the table takes part in the search: small programs with it are searched, the winner and
 * the unfused program are verified, emitted and run in the emulator.
 *
 * usage: test_operators INCLUDE_DIR KIND [-v]
 * INCLUDE_DIR holds emu_cuda.h; KIND is a kind of operators: product, binary, unary, reduce, compound, view.
 * An operator that has no program here is a failure. */
#include "emitted.h"
#include "lower/lower.h"
#include "parse/parse.h"
#include "search/search.h"
#include "search/unfused.h"

#include <stdio.h>
#include <string.h>

enum { SUBPROGRAM_NODES = 64, TOP_K = 4, MAX_STATES = 20000 };

/* An operator applied to: a [12,16]; p, of the same shape and at least 1; the inputs B [12,16], M [16,8],
 * v and u [16], C [12,4]. */
typedef struct {
    mo_op op;
    const char *inputs, *attributes;
} row;

static const row rows[] = {
    {MO_OP_MATMUL, "'a','M'", ""},
    {MO_OP_MATMUL, "'a','B'", ",'transpose_b':true"},
    {MO_OP_MATMUL, "'a','B'", ",'transpose_a':true"},
    {MO_OP_ADD, "'a','B'", ""},
    {MO_OP_SUB, "'a','u'", ""},
    {MO_OP_SUB, "1,'a'", ""},
    {MO_OP_MUL, "'a','B'", ""},
    {MO_OP_DIV, "'a','p'", ""},
    {MO_OP_DIV, "0.5,'p'", ""},
    {MO_OP_MAXIMUM, "'a','B'", ""},
    {MO_OP_MAXIMUM, "'a',0.25", ""},
    {MO_OP_MINIMUM, "'a','v'", ""},
    {MO_OP_POW, "'p',1.3", ""},
    {MO_OP_POW, "'a',3", ""},
    {MO_OP_NEG, "'a'", ""},
    {MO_OP_EXP, "'a'", ""},
    {MO_OP_LOG, "'p'", ""},
    {MO_OP_SQRT, "'p'", ""},
    {MO_OP_RSQRT, "'p'", ""},
    {MO_OP_SQUARE, "'a'", ""},
    {MO_OP_ABS, "'a'", ""},
    {MO_OP_RECIPROCAL, "'p'", ""},
    {MO_OP_RELU, "'a'", ""},
    {MO_OP_SIGMOID, "'a'", ""},
    {MO_OP_SILU, "'a'", ""},
    {MO_OP_TANH, "'a'", ""},
    {MO_OP_GELU, "'a'", ",'approximate':'none'"},
    {MO_OP_GELU, "'a'", ",'approximate':'tanh'"},
    {MO_OP_CLAMP, "'a'", ",'min':-0.5,'max':0.75"},
    {MO_OP_CAST, "'a'", ",'dtype':'bf16'"},
    {MO_OP_SUM, "'a'", ",'axes':[-1],'keepdims':true"},
    {MO_OP_MEAN, "'a'", ",'axes':[-1],'keepdims':true"},
    {MO_OP_MAX, "'a'", ",'axes':[0],'keepdims':true"},
    {MO_OP_MIN, "'a'", ",'axes':[-1],'keepdims':true"},
    {MO_OP_SOFTMAX, "'a'", ",'axis':-1"},
    {MO_OP_SOFTMAX, "'a'", ",'axis':0"},
    {MO_OP_RMS_NORM, "'a','v'", ",'axes':[-1],'eps':1e-5"},
    {MO_OP_LAYER_NORM, "'a','v','u'", ",'axes':[-1],'eps':1e-5"},
    {MO_OP_L2_NORM, "'a'", ",'axes':[-1],'eps':1e-6"},
    {MO_OP_CAUSAL_MASK, "'a'", ",'offset':3"},
    {MO_OP_RESHAPE, "'a'", ",'shape':[12,4,-1]"},
    {MO_OP_TRANSPOSE, "'a'", ",'perm':[1,0]"},
    {MO_OP_CONCAT, "'C','a'", ",'axis':1"},
    {MO_OP_SLICE, "'a'", ",'axis':0,'start':1,'stop':-2"},
    {MO_OP_SPLIT, "'a'", ",'axis':1,'sections':[5,11]"},
    {MO_OP_BROADCAST_TO, "'a'", ",'shape':[3,12,16]"},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Where the operator stands. */
typedef enum { BEHIND_PRODUCT, BEFORE_SUM, BEFORE_PRODUCT, PLACES } place;
static const char *const place_names[] = {"behind a product", "before a sum", "before a product"};

typedef struct {
    const char *include_dir;
    bool verbose;
    int programs, failures;
} test;

typedef struct {
    test *to;
    mo_arena *arena;
    const char *name;
    const mo_program *program;
    mo_lowered lowered;
    mo_search_result found;
} trial;

static void fail(const trial *t, const char *what, const char *why)
{
    printf("FAIL %s: %s%s%s\n", t->name, what, why == NULL ? "" : ": ", why == NULL ? "" : why);
    t->to->failures++;
}

/* The program's text: a product or an input, the operator, and something that takes its result. */
static char *program_text(mo_arena *arena, const row *r, place where)
{
    mo_str text = {0};
    mo_str_add(&text, "{'format':'mirage-opt/1','name':'operator','inputs':[");
    static const char *const inputs[] = {"X", "[12,20]", "W", "[20,16]", "A", "[12,16]", "B", "[12,16]",
                                         "M", "[16,8]",  "v", "[16]",    "u", "[16]",    "C", "[12,4]"};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i += 2)
        mo_str_printf(&text, "%s{'name':'%s','shape':%s,'dtype':'f16'}", i == 0 ? "" : ",", inputs[i],
                      inputs[i + 1]);
    mo_str_add(&text, "],'nodes':[");
    if (where == BEHIND_PRODUCT)
        mo_str_add(&text, "{'op':'matmul','inputs':['X','W'],'output':'a'},");
    else
        mo_str_add(&text, "{'op':'add','inputs':['A','v'],'output':'a'},");
    if (strstr(r->inputs, "'p'") != NULL)
        mo_str_add(&text, "{'op':'square','inputs':['a'],'output':'q'},"
                          "{'op':'add','inputs':['q',1],'output':'p'},");
    mo_str_printf(&text, "{'op':'%s','inputs':[%s]%s,", mo_op_name(r->op), r->inputs, r->attributes);
    mo_str_printf(&text, "%s},", r->op == MO_OP_SPLIT ? "'outputs':['other','o']" : "'output':'o'");
    /* What is masked stays finite behind an exponential. */
    bool masked = r->op == MO_OP_CAUSAL_MASK;
    mo_str_printf(&text, "{'op':'%s','inputs':['o'%s],'output':'e'}", masked ? "exp" : "mul",
                  masked ? "" : ",0.5");
    if (where == BEFORE_SUM) mo_str_add(&text, ",{'op':'sum','inputs':['e'],'axes':[-1],'output':'y'}");
    if (where == BEFORE_PRODUCT) mo_str_add(&text, ",{'op':'matmul','inputs':['e','M'],'output':'y'}");
    mo_str_printf(&text, "],'outputs':['%s']}", where == BEHIND_PRODUCT ? "e" : "y");
    char *json = mo_arena_printf(arena, "%s", mo_str_text(&text));
    for (char *c = json; *c != '\0'; c++)
        if (*c == '\'') *c = '"';
    mo_str_free(&text);
    return json;
}

static bool search(trial *t)
{
    static mo_error error;
    mo_search_options options = {.device = mo_device_for_arch(90),
                                 .max_states = MAX_STATES,
                                 .max_kernel_ops = 5,
                                 .prune = true,
                                 .top_k = TOP_K,
                                 .threads = 1,
                                 .verify_delta = 1e-6};
    if (mo_lower_program(t->arena, t->program, SUBPROGRAM_NODES, &t->lowered, &error) != MO_OK) {
        fail(t, "lower", error.text);
        return false;
    }
    if (mo_search_run(t->arena, t->program, &t->lowered, &options, &t->found, &error) != MO_OK) {
        fail(t, "search", error.text);
        return false;
    }
    if (t->found.counts.verified == 0 || t->found.baseline == 0) fail(t, "the search accepts nothing", NULL);
    return t->found.baseline > 0;
}

/* Does a kernel of the graph hold this operator, and another one (if `joined`)? */
static bool holds(const mo_mugraph *graph, mo_op op, bool joined)
{
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_prim *body = graph->kernels[k].body;
        int own = 0, others = 0;
        for (int i = 0; i < body->n_nodes; i++) {
            bool works = mo_op_is_pointwise(body->nodes[i].op) || body->nodes[i].n_in > 0;
            own += body->nodes[i].op == op;
            others += works && body->nodes[i].op != op;
        }
        if (own > 0 && (!joined || others > 0)) return true;
    }
    return false;
}

/* Operators that stay what they are share a kernel with others in some graph; for those that are lowered to
 * others some graph has fewer kernels. Movement needs no kernel of its own. */
static void expect_fused(const trial *t, mo_op op)
{
    const mo_search_result *f = &t->found;
    const mo_mugraph *unfused = f->candidates[f->baseline];
    mo_op own = op == MO_OP_CAUSAL_MASK ? MO_OP_MASK : op;
    bool stays = holds(unfused, own, false), fused = false;
    for (int i = 0; i < f->baseline; i++)
        fused |=
            stays ? holds(f->candidates[i], own, true) : f->candidates[i]->n_kernels < unfused->n_kernels;
    if (!fused && mo_op_kind_of(op) != MO_KIND_VIEW) fail(t, "stands alone in every graph", NULL);
}

static void expect_equal(const trial *t, const mo_mugraph *graph, const char *what)
{
    mo_verify_options options = {.delta = 1e-12, .seed = 5, .threads = 1};
    mo_verify_report report;
    mo_equiv verdict = mo_verify_mugraph(t->program, graph, &options, &report);
    if (verdict != MO_EQUAL_TESTED)
        fail(t, what, verdict == MO_DIFFERENT ? "differs" : report.reason);
    else if (report.full_checked != report.full_elements)
        fail(t, what, "not every element was compared");
}

/* False with the reason where the numbers are not good enough. */
static bool runs(const trial *t, const mo_subject *subject, const mo_mugraph *graph, unsigned sets, char *why,
                 size_t size)
{
    const char *reason = NULL;
    mo_emitted emitted;
    if (!mo_emit(t->arena, graph, 90, NULL, &emitted, &reason)) {
        snprintf(why, size, "not emitted: %s", reason);
        return false;
    }
    mo_run_plan plan = {.schedules = 1, .sets = sets};
    return mo_emitted_run(subject, &emitted, t->to->include_dir, plan, why, size);
}

/* The unfused program may need f32 between its kernels, as in the tool. */
static void expect_good_numbers(const trial *t)
{
    static char why[16384];
    const mo_search_result *f = &t->found;
    const mo_subject *subject = mo_subject_new(t->arena, t->program, 0);
    if (!runs(t, subject, f->candidates[0], 0, why, sizeof why)) fail(t, "the winner", why);
    if (runs(t, subject, f->candidates[f->baseline], 0, why, sizeof why)) return;
    const mo_mugraph *wide =
        mo_unfused(t->arena, t->program, &t->lowered, mo_device_for_arch(90), 0, 0, MO_WIDEST);
    if (!runs(t, subject, wide, 1u << MO_SET_SPECIAL, why, sizeof why)) fail(t, "unfused", why);
}

static void try_program(test *to, const row *r, place where)
{
    static mo_error error;
    mo_program *program = NULL;
    trial t = {.to = to, .arena = mo_arena_new()};
    const char *text = program_text(t.arena, r, where);
    int failures = to->failures;
    t.name = mo_arena_printf(t.arena, "%s(%s)%s %s", mo_op_name(r->op), r->inputs, r->attributes,
                             place_names[where]);
    to->programs++;
    if (mo_parse_program(t.arena, "p.json", text, strlen(text), &program, NULL, &error) != MO_OK) {
        fail(&t, "parse", error.text);
    } else {
        t.program = program;
        if (search(&t)) {
            expect_fused(&t, r->op);
            expect_equal(&t, t.found.candidates[0], "the winner");
            expect_equal(&t, t.found.candidates[t.found.baseline], "unfused");
            expect_good_numbers(&t);
        }
    }
    if (to->verbose && to->failures == failures)
        printf("ok   %s: %d kernels for %d\n", t.name, t.found.candidates[0]->n_kernels,
               t.found.candidates[t.found.baseline]->n_kernels);
    fflush(stdout);
    mo_arena_free(t.arena);
}

/* Does the result have 16 columns in its last dimension and the shape [12,16]? Others are not multiplied. */
static bool keeps_shape(mo_op op)
{
    mo_op_kind kind = mo_op_kind_of(op);
    return kind == MO_KIND_BINARY || kind == MO_KIND_UNARY || kind == MO_KIND_COMPOUND ||
           op == MO_OP_BROADCAST_TO || op == MO_OP_SLICE;
}

static void try_operator(test *to, mo_op op)
{
    int n = 0;
    for (int i = 0; i < ROWS; i++) {
        if (rows[i].op != op) continue;
        n++;
        for (int where = 0; where < PLACES; where++)
            if (where != BEFORE_PRODUCT || keeps_shape(op)) try_program(to, &rows[i], (place)where);
    }
    if (n > 0) return;
    printf("FAIL %s: no program with it\n", mo_op_name(op));
    to->failures++;
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {
        [MO_KIND_PRODUCT] = "product", [MO_KIND_BINARY] = "binary",     [MO_KIND_UNARY] = "unary",
        [MO_KIND_REDUCE] = "reduce",   [MO_KIND_COMPOUND] = "compound", [MO_KIND_VIEW] = "view"};
    if (argc < 3) {
        fprintf(stderr, "usage: test_operators INCLUDE_DIR KIND [-v]\n");
        return 2;
    }
    test t = {.include_dir = argv[1], .verbose = argc > 3};
    for (int op = 0; op < MO_OP_COUNT; op++) {
        mo_op_kind kind = mo_op_kind_of((mo_op)op);
        if (kind != MO_KIND_STRUCTURE && strcmp(kinds[kind], argv[2]) == 0) try_operator(&t, (mo_op)op);
    }
    printf("%s operators: %d programs, %d failures\n", argv[2], t.programs, t.failures);
    return t.failures == 0 && t.programs > 0 ? 0 : 1;
}
