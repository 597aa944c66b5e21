/* Certificates are accepted; damaged ones are refused. */
#include "programs.h"
#include "verify/recheck.h"

#include "lower/lower.h"

#include <criterion/criterion.h>
#include <string.h>

#define X "{\"name\":\"X\",\"shape\":[6,64],\"dtype\":\"f16\"}"
#define Y "{\"name\":\"Y\",\"shape\":[6,64],\"dtype\":\"f16\"}"
#define XY X "," Y
#define W "{\"name\":\"W\",\"shape\":[64,64],\"dtype\":\"f16\"}"
#define V "{\"name\":\"V\",\"shape\":[64,64],\"dtype\":\"f16\"}"
#define VEC \
    "{\"name\":\"w\",\"shape\":[64],\"dtype\":\"f16\"},{\"name\":\"b\",\"shape\":[64],\"dtype\":\"f16\"}"
#define XWV X "," W "," V
#define QKV                                                                                                \
    "{\"name\":\"Q\",\"shape\":[2,8,64],\"dtype\":\"f16\"},{\"name\":\"K\",\"shape\":[2,32,64],\"dtype\":" \
    "\"f16\"},"                                                                                            \
    "{\"name\":\"V\",\"shape\":[2,32,64],\"dtype\":\"f16\"}"
#define N(op, in, out) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"}"
#define NA(op, in, out, attrs) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"," attrs "}"
#define LAST "\"axes\":[-1],\"keepdims\":true"

typedef struct {
    const char *what, *inputs, *a, *b;
} pair;

/* clang-format off */
static const pair pairs[] = {
    {"distributed product", XY, N("add", "\"Y\",3", "s") "," N("mul", "\"X\",\"s\"", "o"),
     N("mul", "\"X\",\"Y\"", "a") "," N("mul", "\"X\",3", "b") "," N("add", "\"a\",\"b\"", "o")},
    {"associated matmuls", XWV, N("matmul", "\"X\",\"W\"", "s") "," N("matmul", "\"s\",\"V\"", "o"),
     N("matmul", "\"W\",\"V\"", "s") "," N("matmul", "\"X\",\"s\"", "o")},
    {"norm moved past the product", XWV,
     NA("rms_norm", "\"X\"", "s", "\"axes\":[-1],\"eps\":1e-5") "," N("matmul", "\"s\",\"W\"", "o"),
     N("square", "\"X\"", "q") "," NA("mean", "\"q\"", "m", LAST) "," N("add", "\"m\",1e-5", "e") ","
     N("rsqrt", "\"e\"", "r") "," N("matmul", "\"X\",\"W\"", "p") "," N("mul", "\"p\",\"r\"", "o")},
    {"layer norm in one pass", X "," VEC, NA("layer_norm", "\"X\",\"w\",\"b\"", "o", "\"axes\":[-1],\"eps\":1e-5"),
     NA("mean", "\"X\"", "m", LAST) "," N("square", "\"X\"", "q") "," NA("mean", "\"q\"", "p", LAST) ","
     N("square", "\"m\"", "n") "," N("sub", "\"p\",\"n\"", "v") "," N("add", "\"v\",1e-5", "e") ","
     N("sqrt", "\"e\"", "r") "," N("sub", "\"X\",\"m\"", "d") "," N("div", "\"d\",\"r\"", "y") ","
     N("mul", "\"y\",\"w\"", "z") "," N("add", "\"z\",\"b\"", "o")},
    {"l2 norm squared", X, NA("l2_norm", "\"X\"", "n", "\"axes\":[-1],\"eps\":1e-6") "," N("square", "\"n\"", "o"),
     N("square", "\"X\"", "q") "," NA("sum", "\"q\"", "s", LAST) "," N("add", "\"s\",1e-6", "e") ","
     N("div", "\"q\",\"e\"", "o")},
    {"softmax with its maximum", X, NA("softmax", "\"X\"", "o", "\"axis\":-1"),
     NA("max", "\"X\"", "m", LAST) "," N("sub", "\"X\",\"m\"", "d") "," N("exp", "\"d\"", "e") ","
     NA("sum", "\"e\"", "s", LAST) "," N("div", "\"e\",\"s\"", "o")},
    {"attention in two parts", QKV,
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA("softmax", "\"s\"", "p", "\"axis\":-1") ","
     N("matmul", "\"p\",\"V\"", "o"),
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," N("exp", "\"s\"", "e") ","
     NA("slice", "\"e\"", "e1", "\"axis\":2,\"start\":0,\"stop\":20") ","
     NA("slice", "\"e\"", "e2", "\"axis\":2,\"start\":20,\"stop\":32") ","
     NA("slice", "\"V\"", "v1", "\"axis\":1,\"start\":0,\"stop\":20") ","
     NA("slice", "\"V\"", "v2", "\"axis\":1,\"start\":20,\"stop\":32") ","
     N("matmul", "\"e1\",\"v1\"", "n1") "," N("matmul", "\"e2\",\"v2\"", "n2") "," N("add", "\"n1\",\"n2\"", "n") ","
     NA("sum", "\"e1\"", "d1", LAST) "," NA("sum", "\"e2\"", "d2", LAST) "," N("add", "\"d1\",\"d2\"", "d") ","
     N("div", "\"n\",\"d\"", "o")},
    {"masked attention", QKV,
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA("causal_mask", "\"s\"", "t", "\"offset\":24") ","
     NA("softmax", "\"t\"", "p", "\"axis\":-1") "," N("matmul", "\"p\",\"V\"", "o"),
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA("causal_mask", "\"s\"", "t", "\"offset\":24") ","
     N("exp", "\"t\"", "e") "," NA("sum", "\"e\"", "d", LAST) "," N("matmul", "\"e\",\"V\"", "n") ","
     N("div", "\"n\",\"d\"", "o")},
    {"silu", X, N("silu", "\"X\"", "o"), N("sigmoid", "\"X\"", "s") "," N("mul", "\"X\",\"s\"", "o")},
    {"gelu by tanh", X, NA("gelu", "\"X\"", "o", "\"approximate\":\"tanh\""),
     N("pow", "\"X\",3", "c") "," N("mul", "\"c\",0.044715", "d") "," N("add", "\"X\",\"d\"", "e") ","
     N("mul", "\"e\",0.7978845608028654", "f") "," N("tanh", "\"f\"", "t") "," N("add", "\"t\",1", "g") ","
     N("mul", "\"g\",\"X\"", "h") "," N("mul", "\"h\",0.5", "o")},
    {"relu by abs", X, N("relu", "\"X\"", "o"),
     N("abs", "\"X\"", "a") "," N("add", "\"X\",\"a\"", "s") "," N("mul", "\"s\",0.5", "o")},
    {"clamp", X, NA("clamp", "\"X\"", "o", "\"min\":-1,\"max\":6"),
     N("maximum", "\"X\",-1", "s") "," N("minimum", "\"s\",6", "o")},
    {"the larger of two that differ by a number", X,
     N("add", "\"X\",1", "s") "," N("maximum", "\"X\",\"s\"", "o"),
     N("add", "\"X\",1", "s") "," N("maximum", "\"s\",\"X\"", "o")},
    {"clamp with one bound that is never met", X,
     N("square", "\"X\"", "q") "," NA("clamp", "\"q\"", "o", "\"min\":-1,\"max\":2"),
     N("square", "\"X\"", "q") "," N("minimum", "\"q\",2", "o")},
    {"maximum with a positive factor", XY,
     N("exp", "\"Y\"", "e") "," N("mul", "\"X\",\"e\"", "p") "," N("relu", "\"p\"", "o"),
     N("relu", "\"X\"", "r") "," N("exp", "\"Y\"", "e") "," N("mul", "\"e\",\"r\"", "o")},
    {"relu of a row maximum", X, NA("max", "\"X\"", "m", LAST) "," N("relu", "\"m\"", "o"),
     NA("max", "\"X\"", "m", LAST) "," N("maximum", "0,\"m\"", "o")},
    {"root of a square", X, N("square", "\"X\"", "q") "," N("sqrt", "\"q\"", "o"), N("abs", "\"X\"", "o")},
    {"inverse root", X,
     N("square", "\"X\"", "q") "," N("add", "\"q\",1", "s") "," N("pow", "\"s\",-1.5", "o"),
     N("square", "\"X\"", "q") "," N("add", "1,\"q\"", "s") "," N("sqrt", "\"s\"", "r") ","
     N("mul", "\"r\",\"s\"", "t") "," N("reciprocal", "\"t\"", "o")},
    {"functions", X,
     N("exp", "\"X\"", "e") "," N("log", "\"e\"", "l") "," NA("cast", "\"l\"", "c", "\"dtype\":\"bf16\"") ","
     N("pow", "\"c\",0.3", "p") "," NA("gelu", "\"p\"", "o", "\"approximate\":\"none\""),
     N("add", "0,\"X\"", "y") "," N("exp", "\"y\"", "e") "," N("log", "\"e\"", "l") ","
     NA("cast", "\"l\"", "c", "\"dtype\":\"bf16\"") "," N("pow", "\"c\",0.3", "p") ","
     NA("gelu", "\"p\"", "o", "\"approximate\":\"none\"")},
    {"maxima in parts", X, NA("max", "\"X\"", "o", "\"axes\":[0,1],\"keepdims\":true"),
     NA("max", "\"X\"", "m", "\"axes\":[0],\"keepdims\":true") "," NA("max", "\"m\"", "o", LAST)},
    {"minima in parts", X, NA("min", "\"X\"", "o", "\"axes\":[0,1],\"keepdims\":true"),
     NA("min", "\"X\"", "m", LAST) "," NA("min", "\"m\"", "o", "\"axes\":[0],\"keepdims\":true")},
    {"sums in digits", XY, N("mul", "\"X\",\"Y\"", "p") "," NA("sum", "\"p\"", "o", "\"axes\":[1]"),
     N("mul", "\"X\",\"Y\"", "p") "," NA("reshape", "\"p\"", "h", "\"shape\":[6,4,16]") ","
     NA("sum", "\"h\"", "s", "\"axes\":[2]") "," NA("sum", "\"s\"", "o", "\"axes\":[1]")},
    {"sum over a concat", XY, NA("concat", "\"X\",\"Y\"", "c", "\"axis\":1") "," NA("sum", "\"c\"", "o", LAST),
     NA("sum", "\"X\"", "a", LAST) "," NA("sum", "\"Y\"", "b", LAST) "," N("add", "\"a\",\"b\"", "o")},
    {"concat and split", XY,
     NA("concat", "\"X\",\"Y\"", "c", "\"axis\":1") "," N("neg", "\"c\"", "o"),
     N("neg", "\"X\"", "a") "," N("neg", "\"Y\"", "b") "," NA("concat", "\"a\",\"b\"", "o", "\"axis\":1")},
    {"concatenated weights", XWV,
     NA("concat", "\"W\",\"V\"", "c", "\"axis\":1") "," N("matmul", "\"X\",\"c\"", "p") ","
     NA("slice", "\"p\"", "o", "\"axis\":1,\"start\":64,\"stop\":128"), N("matmul", "\"X\",\"V\"", "o")},
    {"transposed product", XWV, N("matmul", "\"X\",\"W\"", "o"),
     NA("transpose", "\"W\"", "t", "\"perm\":[1,0]") "," NA("matmul", "\"X\",\"t\"", "o", "\"transpose_b\":true")},
    {"heads by reshape", X,
     NA("reshape", "\"X\"", "h", "\"shape\":[6,4,16]") "," NA("transpose", "\"h\"", "t", "\"perm\":[1,0,2]") ","
     N("exp", "\"t\"", "o"),
     N("exp", "\"X\"", "e") "," NA("reshape", "\"e\"", "h", "\"shape\":[6,4,16]") ","
     NA("transpose", "\"h\"", "o", "\"perm\":[1,0,2]")},
    {"broadcast", X "," VEC,
     NA("broadcast_to", "\"w\"", "t", "\"shape\":[6,64]") "," N("mul", "\"t\",\"X\"", "o"),
     N("mul", "\"X\",\"w\"", "o")},
};
/* clang-format on */
#define N_PAIRS ((int)(sizeof pairs / sizeof *pairs))

/* One kernel for each run of nodes that lowers as a whole, and one for each node that moves data. */
static mo_mugraph *graph_of(mo_arena *arena, const mo_program *program)
{
    mo_lowered lowered;
    mo_error error;
    cr_assert_eq(mo_lower_program(arena, program, 100, &lowered, &error), MO_OK, "%s", error.text);
    mo_mugraph *graph = mo_mugraph_new(arena, program, lowered.n_subprograms);
    for (int i = 0; i < lowered.n_subprograms; i++) {
        const mo_subprogram *part = &lowered.subprograms[i];
        if (part->graph == NULL && mo_node_needs_kernel(program, part->nodes[0]))
            mo_mugraph_add_move(graph, part->nodes[0], NULL);
        if (part->graph == NULL) continue;
        mo_schedule schedule = mo_schedule_plain(part->graph);
        mo_mugraph_add_kernel(graph, "part", -1, part->graph, &schedule);
    }
    mo_mugraph_add_copies(graph);
    return graph;
}

/* What is compared, and its certificate. */
typedef struct {
    mo_arena *arena;
    mo_program *program, *other;
    mo_mugraph *graph;
    mo_proof *proof;
} subject;

static subject make_subject(const pair *p, bool graph)
{
    subject s = {.arena = mo_arena_new()};
    s.program = test_program(s.arena, p->inputs, p->a, "\"o\"");
    if (graph) s.graph = graph_of(s.arena, s.program);
    if (!graph) s.other = test_program(s.arena, p->inputs, p->b, "\"o\"");
    s.proof = graph ? mo_prove_mugraph(s.program, s.graph) : mo_prove_programs(s.program, s.other);
    cr_assert(s.proof->proved, "%s: %s", p->what, s.proof->reason);
    return s;
}

static void free_subject(subject *s)
{
    mo_proof_free(s->proof);
    mo_arena_free(s->arena);
}

static bool accepted(const subject *s, const mo_proof *proof, const char **reason)
{
    return mo_proof_recheck(s->program, s->graph, s->other, proof, reason);
}

Test(recheck, certificates_are_accepted)
{
    for (int i = 0; i < 2 * N_PAIRS; i++) {
        subject s = make_subject(&pairs[i / 2], i % 2 != 0);
        const char *reason = NULL;
        cr_expect(accepted(&s, s.proof, &reason), "%s (%s): %s", pairs[i / 2].what,
                  i % 2 != 0 ? "graph" : "program", reason);
        free_subject(&s);
    }
}

/* Of these, many a changed operator, or another sign below a square, gives the same, so that they are not
 * among the pairs. */
Test(recheck, certificates_that_bear_damage_are_accepted)
{
    const pair some[] = {
        {"l2 norm of a softmax", X,
         NA("softmax", "\"X\"", "p", "\"axis\":-1") "," NA("l2_norm", "\"p\"", "o",
                                                           "\"axes\":[-1],\"eps\":0.01"),
         N("exp", "\"X\"", "e") "," NA("sum", "\"e\"", "s", LAST) "," N("div", "\"e\",\"s\"", "p") "," NA(
             "l2_norm", "\"p\"", "o", "\"axes\":[-1],\"eps\":0.01")},
        {"the larger of 0 and what is never below", X, N("square", "\"X\"", "q") "," N("relu", "\"q\"", "o"),
         N("square", "\"X\"", "o")},
        {"norm of single elements", "{\"name\":\"X\",\"shape\":[6,1],\"dtype\":\"f16\"}",
         NA("layer_norm", "\"X\"", "n", "\"axes\":[-1],\"eps\":1e-5") "," N("add", "\"n\",\"X\"", "o"),
         N("mul", "\"X\",1", "o")},
    };
    for (int i = 0; i < 6; i++) {
        subject s = make_subject(&some[i / 2], i % 2 != 0);
        const char *reason = NULL;
        cr_expect(accepted(&s, s.proof, &reason), "%s: %s", some[i / 2].what, reason);
        free_subject(&s);
    }
}

/* ---- damage to forms ---- */

typedef enum {
    DOUBLED_COEFFICIENT,
    OTHER_SIGN,
    OTHER_POWER,
    OTHER_INDEX_FACTOR,
    OTHER_INDEX_CONSTANT,
    OTHER_INDEX_VARIABLE,
    OTHER_TENSOR,
    LONGER_SUM,
    UNBOUND_VARIABLE,
    OTHER_TAG,
    DROPPED_TERM,
    DROPPED_FACTOR,
    DROPPED_ARGUMENT,
    ADDED_ARGUMENT,
    DAMAGES
} damage;

/* Copies a form and damages it at one place: `left` counts the places of that kind. */
typedef struct {
    mo_arena *arena;
    damage kind;
    int left, n_inputs;
    mo_var from, to; /* renamed, from LONGER_SUM on */
} copier;

static bool is_place(copier *c, damage kind)
{
    return c->kind == kind && c->left-- == 0;
}

static bool indexed(const mo_atom *a)
{
    return a->kind == MO_ATOM_INPUT || a->kind == MO_ATOM_MASK || a->kind == MO_ATOM_INDICATOR;
}

static mo_affine copy_index(copier *c, const mo_affine *index)
{
    mo_affine copy = mo_affine_constant(index->constant);
    if (is_place(c, OTHER_INDEX_CONSTANT)) copy.constant++;
    for (int i = 0; i < index->n; i++) {
        mo_var var = index->term[i].var;
        int64_t factor = index->term[i].factor;
        if (is_place(c, OTHER_INDEX_FACTOR)) factor += factor == -1 ? 2 : 1;
        if (is_place(c, OTHER_INDEX_VARIABLE)) var.number = 77;
        if (c->to.extent > 0 && mo_var_same(var, c->from)) var = c->to;
        mo_affine term = mo_affine_var(var);
        cr_assert(mo_affine_add(&copy, &term, factor));
    }
    return copy;
}

static const mo_normal *copy_form(copier *c, const mo_normal *form);

/* Twice a form, so that the largest of 0 and both is another value. */
static const mo_normal *twice(copier *c, const mo_normal *form)
{
    mo_normal *copy = MO_NEW(c->arena, mo_normal);
    mo_term *terms = MO_NEW_ARRAY(c->arena, mo_term, form->n + 1);
    *copy = *form;
    memcpy(terms, form->terms, sizeof *terms * (size_t)form->n);
    for (int t = 0; t < form->n; t++)
        terms[t].coefficient = mo_rational_make(2 * terms[t].coefficient.num, terms[t].coefficient.den);
    copy->terms = terms;
    return copy;
}

static const mo_atom *copy_atom(copier *c, const mo_atom *atom)
{
    mo_atom *copy = MO_NEW(c->arena, mo_atom);
    const mo_normal **args = MO_NEW_ARRAY(c->arena, const mo_normal *, atom->n_args + 2);
    *copy = *atom;
    if (indexed(atom)) copy->index = copy_index(c, &atom->index);
    if (atom->kind == MO_ATOM_INPUT && c->n_inputs > 1 && is_place(c, OTHER_TENSOR))
        copy->tensor = (atom->tensor + 1) % c->n_inputs;
    if ((atom->kind == MO_ATOM_FUNCTION || atom->kind == MO_ATOM_PRIME) && is_place(c, OTHER_TAG))
        copy->tag++;
    copy->n_args = 0;
    for (int a = 0; a < atom->n_args; a++)
        if (atom->n_args < 2 || !is_place(c, DROPPED_ARGUMENT))
            args[copy->n_args++] = copy_form(c, atom->args[a]);
    if (atom->kind == MO_ATOM_MAX && is_place(c, ADDED_ARGUMENT))
        args[copy->n_args++] = twice(c, atom->args[0]);
    copy->args = args;
    return copy;
}

static mo_term copy_term(copier *c, const mo_term *term)
{
    mo_term copy = *term;
    mo_factor *factors = MO_NEW_ARRAY(c->arena, mo_factor, term->n_factors + 1);
    mo_var *bound = MO_NEW_ARRAY(c->arena, mo_var, term->n_bound + 1);
    copy.n_bound = copy.n_factors = 0;
    if (is_place(c, DOUBLED_COEFFICIENT))
        copy.coefficient = mo_rational_make(2 * copy.coefficient.num, copy.coefficient.den);
    if (is_place(c, OTHER_SIGN)) copy.coefficient.num = -copy.coefficient.num;
    for (int b = 0; b < term->n_bound; b++) {
        bound[copy.n_bound++] = term->bound[b];
        if (is_place(c, UNBOUND_VARIABLE)) copy.n_bound--;
        if (!is_place(c, LONGER_SUM)) continue;
        c->from = term->bound[b];
        c->to = (mo_var){c->from.number, c->from.extent + 1};
        bound[copy.n_bound - 1] = c->to;
    }
    for (int f = 0; f < term->n_factors; f++) {
        if (is_place(c, DROPPED_FACTOR)) continue;
        mo_factor *factor = &factors[copy.n_factors++];
        *factor = (mo_factor){copy_atom(c, term->factors[f].atom), term->factors[f].power};
        if (factor->atom->kind == MO_ATOM_INDICATOR || !is_place(c, OTHER_POWER)) continue;
        factor->power.num +=
            factor->power.num == -factor->power.den ? 2 * factor->power.den : factor->power.den;
    }
    copy.bound = bound;
    copy.factors = factors;
    return copy;
}

static const mo_normal *copy_form(copier *c, const mo_normal *form)
{
    mo_normal *copy = MO_NEW(c->arena, mo_normal);
    mo_term *terms = MO_NEW_ARRAY(c->arena, mo_term, form->n + 1);
    *copy = *form;
    copy->n = 0;
    for (int t = 0; t < form->n; t++)
        if (!is_place(c, DROPPED_TERM)) terms[copy->n++] = copy_term(c, &form->terms[t]);
    copy->terms = terms;
    return copy;
}

/* ---- damage to certificates ---- */

/* A copy of a certificate with its own claims and cases; forms are shared. */
static mo_proof copy_proof(mo_arena *arena, const mo_proof *from)
{
    mo_proof copy = *from;
    mo_claim *claims = MO_NEW_ARRAY(arena, mo_claim, from->n_claims + 1);
    mo_proof_case *cases = MO_NEW_ARRAY(arena, mo_proof_case, from->n_cases + 1);
    memcpy(claims, from->claims, sizeof *claims * (size_t)from->n_claims);
    memcpy(cases, from->cases, sizeof *cases * (size_t)from->n_cases);
    copy.claims = claims;
    copy.cases = cases;
    return copy;
}

static mo_claim *claim_of(const mo_proof *proof, int i)
{
    return (mo_claim *)(uintptr_t)&proof->claims[i];
}

static mo_proof_case *case_of(const mo_proof *proof, int i)
{
    return (mo_proof_case *)(uintptr_t)&proof->cases[i];
}

static bool same_claim(const mo_claim *a, const mo_claim *b)
{
    return a->kind == b->kind && a->kernel == b->kernel && a->value == b->value && a->form == b->form;
}

/* The certificate with another form in a claim, or in all claims with the same form; the cases follow. */
static mo_proof with_form(mo_arena *arena, const mo_proof *from, int at, const mo_normal *form,
                          bool everywhere)
{
    mo_proof copy = copy_proof(arena, from);
    const mo_claim *old = &from->claims[at];
    for (int i = 0; i < copy.n_claims; i++)
        if (i == at || (everywhere && copy.claims[i].form == old->form)) claim_of(&copy, i)->form = form;
    for (int i = 0; i < copy.n_cases; i++)
        for (int side = 0; side < 2; side++) {
            const mo_claim **claim = side == 0 ? &case_of(&copy, i)->left : &case_of(&copy, i)->right;
            if (!same_claim(*claim, old) && !(everywhere && (*claim)->form == old->form)) continue;
            mo_claim *own = MO_NEW(arena, mo_claim);
            *own = **claim;
            own->form = form;
            *claim = own;
        }
    return copy;
}

static void expect_refused(const subject *s, const mo_proof *proof, const pair *p, const char *what, int at,
                           int place)
{
    const char *reason = NULL;
    cr_expect(!accepted(s, proof, &reason), "%s (%s): accepted, claim %d, place %d: %s", p->what,
              s->graph != NULL ? "graph" : "program", at, place, what);
}

static const char *const damage_names[DAMAGES] = {
    "doubled coefficient", "other sign",           "other power",
    "other index factor",  "other index constant", "other index variable",
    "other tensor",        "longer sum",           "unbound variable",
    "other tag",           "dropped term",         "dropped factor",
    "dropped argument",    "added argument"};

static int damage_forms(const subject *s, const pair *p, damage kind, bool everywhere)
{
    int count = 0;
    for (int i = 0; i < s->proof->n_claims; i++)
        for (int place = 0;; place++) {
            mo_arena *arena = mo_arena_new();
            copier c = {.arena = arena, .kind = kind, .left = place, .n_inputs = s->program->n_inputs};
            const mo_normal *form = copy_form(&c, s->proof->claims[i].form);
            bool damaged = c.left < 0;
            mo_proof proof = with_form(arena, s->proof, i, form, everywhere);
            if (damaged) expect_refused(s, &proof, p, damage_names[kind], i, place);
            count += damaged;
            mo_arena_free(arena);
            if (!damaged) break;
        }
    return count;
}

static int damage_all_forms(bool graph, bool everywhere)
{
    int count = 0;
    for (int i = 0; i < N_PAIRS; i++) {
        subject s = make_subject(&pairs[i], graph);
        for (damage kind = 0; kind < DAMAGES; kind++) count += damage_forms(&s, &pairs[i], kind, everywhere);
        free_subject(&s);
    }
    return count;
}

Test(recheck, damaged_forms_are_refused)
{
    cr_expect_gt(damage_all_forms(false, false), 1000);
    cr_expect_gt(damage_all_forms(true, false), 1000);
}

Test(recheck, forms_that_are_damaged_everywhere_are_refused)
{
    cr_expect_gt(damage_all_forms(false, true), 1000);
    cr_expect_gt(damage_all_forms(true, true), 1000);
}

/* What the tests damage is a copy that would be accepted. */
Test(recheck, copies_are_accepted)
{
    for (int i = 0; i < N_PAIRS; i++) {
        subject s = make_subject(&pairs[i], false);
        for (int c = 0; c < s.proof->n_claims; c++) {
            copier copy = {.arena = s.arena, .kind = DAMAGES};
            const mo_normal *form = copy_form(&copy, s.proof->claims[c].form);
            mo_proof proof = with_form(s.arena, s.proof, c, form, c % 2 == 0);
            const char *reason = NULL;
            cr_expect(accepted(&s, &proof, &reason), "%s, claim %d: %s", pairs[i].what, c, reason);
        }
        free_subject(&s);
    }
}

/* The claim says what another one says. */
static int exchange_forms(const subject *s, const pair *p)
{
    int count = 0;
    for (int i = 0; i < s->proof->n_claims; i++)
        for (int j = 0; j < s->proof->n_claims; j++) {
            if (s->proof->claims[i].form == s->proof->claims[j].form) continue;
            mo_arena *arena = mo_arena_new();
            mo_proof proof = with_form(arena, s->proof, i, s->proof->claims[j].form, false);
            expect_refused(s, &proof, p, "form of another claim", i, j);
            mo_arena_free(arena);
            count++;
        }
    return count;
}

/* Index number d of a claim changed; -1: none. */
static bool damage_index(mo_affine *index, int how)
{
    int at = how / 2;
    if (at > index->n) return false;
    if (at == index->n && how % 2 == 1) return false;
    if (at == index->n)
        index->constant++;
    else if (how % 2 == 0)
        index->term[at].factor += index->term[at].factor == -1 ? 2 : 1;
    else
        index->term[at].var.extent++;
    return true;
}

static int damage_claims(const subject *s, const pair *p)
{
    int count = 0;
    for (int i = 0; i < s->proof->n_claims; i++)
        for (int d = 0; d < s->proof->claims[i].n; d++)
            for (int how = 0;; how++) {
                mo_arena *arena = mo_arena_new();
                mo_proof proof = copy_proof(arena, s->proof);
                mo_affine *index = MO_NEW_ARRAY(arena, mo_affine, proof.claims[i].n);
                memcpy(index, proof.claims[i].index, sizeof *index * (size_t)proof.claims[i].n);
                bool damaged = damage_index(&index[d], how);
                claim_of(&proof, i)->index = index;
                if (damaged) expect_refused(s, &proof, p, "other index", i, how);
                mo_arena_free(arena);
                count += damaged;
                if (!damaged) break;
            }
    return count;
}

static int damage_cases(const subject *s, const pair *p)
{
    int count = 0;
    for (int i = 0; i < s->proof->n_cases; i++) {
        mo_arena *arena = mo_arena_new();
        mo_proof proof = copy_proof(arena, s->proof);
        case_of(&proof, i)->output++;
        expect_refused(s, &proof, p, "a case of no output", -1, i);
        proof = copy_proof(arena, s->proof);
        *case_of(&proof, i) = proof.cases[--proof.n_cases];
        expect_refused(s, &proof, p, "a dropped case", -1, i);
        proof = copy_proof(arena, s->proof);
        *case_of(&proof, proof.n_cases++) = proof.cases[i];
        expect_refused(s, &proof, p, "a case twice", -1, i);
        for (int j = 0; j < s->proof->n_claims; j++)
            for (int side = 0; side < 2; side++) {
                proof = copy_proof(arena, s->proof);
                const mo_claim **claim = side == 0 ? &case_of(&proof, i)->left : &case_of(&proof, i)->right;
                if (same_claim(*claim, &s->proof->claims[j])) continue;
                *claim = &s->proof->claims[j];
                expect_refused(s, &proof, p, "a case with another claim", j, i);
                count++;
            }
        mo_arena_free(arena);
        count += 3;
    }
    return count;
}

Test(recheck, exchanged_forms_are_refused)
{
    int count = 0;
    for (int i = 0; i < 2 * N_PAIRS; i++) {
        subject s = make_subject(&pairs[i / 2], i % 2 != 0);
        count += exchange_forms(&s, &pairs[i / 2]);
        free_subject(&s);
    }
    cr_expect_gt(count, 1000);
}

Test(recheck, damaged_indices_and_cases_are_refused)
{
    int count = 0;
    for (int i = 0; i < 2 * N_PAIRS; i++) {
        subject s = make_subject(&pairs[i / 2], i % 2 != 0);
        count += damage_claims(&s, &pairs[i / 2]) + damage_cases(&s, &pairs[i / 2]);
        free_subject(&s);
    }
    cr_expect_gt(count, 1000);
}

/* ---- the certificate of something else ---- */

/* Operators that take the same operands. */
static const mo_op exchanged[][2] = {
    {MO_OP_ADD, MO_OP_SUB},         {MO_OP_SUB, MO_OP_ADD},      {MO_OP_MUL, MO_OP_DIV},
    {MO_OP_DIV, MO_OP_MUL},         {MO_OP_MAX, MO_OP_MIN},      {MO_OP_MIN, MO_OP_MAX},
    {MO_OP_SUM, MO_OP_MAX},         {MO_OP_MEAN, MO_OP_SUM},     {MO_OP_MAXIMUM, MO_OP_MINIMUM},
    {MO_OP_MINIMUM, MO_OP_MAXIMUM}, {MO_OP_SQRT, MO_OP_RSQRT},   {MO_OP_RSQRT, MO_OP_SQRT},
    {MO_OP_SQUARE, MO_OP_NEG},      {MO_OP_NEG, MO_OP_EXP},      {MO_OP_EXP, MO_OP_LOG},
    {MO_OP_LOG, MO_OP_EXP},         {MO_OP_SIGMOID, MO_OP_SILU}, {MO_OP_SILU, MO_OP_SIGMOID},
    {MO_OP_TANH, MO_OP_SIGMOID},    {MO_OP_RELU, MO_OP_ABS},     {MO_OP_ABS, MO_OP_RELU},
    {MO_OP_RECIPROCAL, MO_OP_NEG},  {MO_OP_SUM, MO_OP_MEAN},     {MO_OP_RMS_NORM, MO_OP_LAYER_NORM},
    {MO_OP_MATMUL, MO_OP_MAX},
};
#define N_EXCHANGED ((int)(sizeof exchanged / sizeof *exchanged))

enum {
    OTHER_EPS = N_EXCHANGED,
    OTHER_OFFSET,
    OTHER_START,
    OTHER_NUMBER,
    OTHER_BOUNDS,
    TURNED,
    SWAPPED,
    CHANGES
};

static bool turn_operand(mo_node *node)
{
    node->attrs.transpose_b = !node->attrs.transpose_b;
    return node->op == MO_OP_MATMUL;
}

static bool swap_operands(mo_node *node)
{
    if (node->op != MO_OP_SUB && node->op != MO_OP_DIV && node->op != MO_OP_MATMUL &&
        node->op != MO_OP_CONCAT)
        return false;
    mo_operand first = node->inputs[0];
    node->inputs[0] = node->inputs[1];
    node->inputs[1] = first;
    return true;
}

/* False where the node has nothing of the kind. */
static bool change_node(mo_node *node, int change)
{
    bool norm = node->op == MO_OP_RMS_NORM || node->op == MO_OP_LAYER_NORM || node->op == MO_OP_L2_NORM;
    bool number = node->n_inputs == 2 && node->inputs[1].tensor < 0;
    if (change < N_EXCHANGED && node->op != exchanged[change][0]) return false;
    if (change < N_EXCHANGED && node->op == MO_OP_MATMUL) return false;
    switch (change) {
    default: node->op = exchanged[change][1]; return true;
    case OTHER_EPS: node->attrs.eps *= 2; return norm;
    case OTHER_OFFSET: node->attrs.offset--; return node->op == MO_OP_CAUSAL_MASK;
    case OTHER_START: node->attrs.start++; return node->op == MO_OP_SLICE;
    case OTHER_NUMBER: node->inputs[1].number += number ? 1.0 : 0.0; return number;
    case OTHER_BOUNDS: node->attrs.max += 1.0; return node->op == MO_OP_CLAMP;
    case TURNED: return turn_operand(node);
    case SWAPPED: return swap_operands(node);
    }
}

static int change_program(const subject *s, const pair *p, bool other)
{
    int count = 0;
    mo_program *program = other ? s->other : s->program;
    for (int i = 0; i < program->n_nodes; i++)
        for (int change = 0; change < CHANGES; change++) {
            mo_node *node = &program->nodes[i], old = *node;
            mo_operand inputs[3] = {{0}};
            memcpy(inputs, old.inputs, sizeof *inputs * (size_t)(old.n_inputs < 3 ? old.n_inputs : 3));
            bool changed = change_node(node, change);
            if (changed) expect_refused(s, s->proof, p, mo_op_name(old.op), i, change);
            *node = old;
            memcpy(old.inputs, inputs, sizeof *inputs * (size_t)(old.n_inputs < 3 ? old.n_inputs : 3));
            count += changed;
        }
    return count;
}

static bool swap_strides(mo_prim *body, mo_prim_node *node)
{
    int first = mo_axes_next(node->axes, -1), second = mo_axes_next(node->axes, first);
    if (node->op != MO_OP_ITER || first >= MO_MAX_AXES || second >= MO_MAX_AXES) return false;
    if (body->axes[first].extent != body->axes[second].extent) return false;
    int64_t stride = node->access.stride[first];
    node->access.stride[first] = node->access.stride[second];
    node->access.stride[second] = stride;
    return true;
}

static bool change_body_node(mo_prim *body, mo_prim_node *node, int change)
{
    int first;
    if (change < N_EXCHANGED) {
        bool product = node->op == MO_OP_MATMUL;
        if (node->op != exchanged[change][0] || exchanged[change][1] == MO_OP_MEAN) return false;
        node->n_in = product ? 1 : node->n_in;
        node->op = exchanged[change][1];
        return true;
    }
    switch (change) {
    case OTHER_OFFSET: node->mask_offset--; return node->op == MO_OP_MASK;
    case OTHER_NUMBER: node->number += 1.0; return node->op == MO_OP_CONST;
    case OTHER_BOUNDS: node->max += 1.0; return node->op == MO_OP_CLAMP;
    case TURNED: return swap_strides(body, node);
    case SWAPPED:
        if (node->op != MO_OP_SUB && node->op != MO_OP_DIV) return false;
        first = node->in[0];
        node->in[0] = node->in[1];
        node->in[1] = first;
        return true;
    default: return false;
    }
}

static int change_graph(const subject *s, const pair *p)
{
    int count = 0;
    for (int k = 0; k < s->graph->n_kernels; k++) {
        mo_prim *body = s->graph->kernels[k].body;
        for (int i = 0; i < body->n_nodes; i++)
            for (int change = 0; change < CHANGES; change++) {
                mo_prim_node old = body->nodes[i];
                bool changed = change_body_node(body, &body->nodes[i], change);
                if (changed) expect_refused(s, s->proof, p, mo_op_name(old.op), i, change);
                body->nodes[i] = old;
                count += changed;
            }
    }
    return count;
}

Test(recheck, certificates_of_something_else_are_refused)
{
    int count = 0;
    for (int i = 0; i < 2 * N_PAIRS; i++) {
        subject s = make_subject(&pairs[i / 2], i % 2 != 0);
        count += change_program(&s, &pairs[i / 2], false);
        count += s.graph != NULL ? change_graph(&s, &pairs[i / 2]) : change_program(&s, &pairs[i / 2], true);
        free_subject(&s);
    }
    cr_expect_gt(count, 300);
}

/* ---- certificates made by hand ---- */

/* A certificate that W summed over its columns is the same in a program and a copy of it. */
typedef struct {
    mo_arena *arena;
    mo_program *program, *other;
    mo_normals *forms;
    mo_proof proof;
    mo_claim claims[8];
    mo_proof_case cases[4];
} craft;

static const mo_var row = {0, 64};

static craft start_craft_of(const char *nodes)
{
    craft c = {.arena = mo_arena_new()};
    c.program = test_program(c.arena, W, nodes, "\"o\"");
    c.other = test_program(c.arena, W, nodes, "\"o\"");
    c.forms = mo_normals_new(c.arena);
    c.proof = (mo_proof){.arena = c.arena, .forms = c.forms, .proved = true};
    return c;
}

static craft start_craft(void)
{
    return start_craft_of(NA("sum", "\"W\"", "o", "\"axes\":[1]"));
}

static void add_claim(craft *c, mo_claim_kind kind, int value, int n, const mo_affine *index,
                      const mo_normal *form)
{
    mo_affine *kept = MO_NEW_ARRAY(c->arena, mo_affine, n);
    memcpy(kept, index, sizeof *kept * (size_t)n);
    c->claims[c->proof.n_claims++] = (mo_claim){kind, -1, value, n, kept, form};
}

static const mo_normal *element_at(craft *c, const mo_affine index[2])
{
    mo_affine place = mo_affine_constant(0);
    cr_assert(mo_affine_add(&place, &index[0], 64) && mo_affine_add(&place, &index[1], 1));
    return mo_normal_input(c->forms, 0, &place);
}

static void add_case(craft *c, const mo_affine *index)
{
    int n = c->claims[c->proof.n_claims - 1].n;
    mo_affine *kept = MO_NEW_ARRAY(c->arena, mo_affine, n);
    memcpy(kept, index, sizeof *kept * (size_t)n);
    c->cases[c->proof.n_cases++] =
        (mo_proof_case){0, n, kept, &c->claims[c->proof.n_claims - 2], &c->claims[c->proof.n_claims - 1]};
}

static bool crafted_is_accepted(craft *c)
{
    const char *reason;
    c->proof.claims = c->claims;
    c->proof.cases = c->cases;
    return mo_proof_recheck(c->program, NULL, c->other, &c->proof, &reason);
}

/* The sum in two ranges of 32, the second from `start` on. */
static bool two_ranges(int64_t start)
{
    craft c = start_craft();
    mo_var low = {100, 32}, high = {101, 32};
    mo_affine first[2] = {mo_affine_var(row), mo_affine_var(low)},
              second[2] = {mo_affine_var(row), mo_affine_var(high)};
    second[1].constant = start;
    const mo_normal *a = element_at(&c, first), *b = element_at(&c, second);
    const mo_normal *sum =
        mo_normal_add(c.forms, mo_normal_sum(c.forms, a, &low, 1), mo_normal_sum(c.forms, b, &high, 1));
    for (mo_claim_kind kind = MO_CLAIM_PROGRAM; kind <= MO_CLAIM_OTHER; kind++) {
        add_claim(&c, kind, 0, 2, first, a);
        add_claim(&c, kind, 0, 2, second, b);
    }
    add_claim(&c, MO_CLAIM_PROGRAM, 1, 1, first, sum);
    add_claim(&c, MO_CLAIM_OTHER, 1, 1, first, sum);
    add_case(&c, first);
    bool result = crafted_is_accepted(&c);
    mo_arena_free(c.arena);
    return result;
}

Test(recheck, ranges_of_a_reduction_cover_it_once)
{
    cr_expect(two_ranges(32));
    cr_expect_not(two_ranges(16), "elements that are counted twice");
    cr_expect_not(two_ranges(0), "elements that are counted twice");
    cr_expect_not(two_ranges(33), "elements that are left out");
}

/* The sum of the diagonal is none of rows: the variable of the sum must not be that of the row. */
Test(recheck, variables_of_a_reduction_run_freely)
{
    craft c = start_craft();
    mo_var column = {100, 64};
    mo_affine diagonal[2] = {mo_affine_var(row), mo_affine_var(row)}, moving = mo_affine_var(column);
    const mo_normal *element = element_at(&c, diagonal);
    const mo_normal *sum =
        mo_normal_sum(c.forms, mo_normal_substitute(c.forms, element, row, &moving), &column, 1);
    add_claim(&c, MO_CLAIM_PROGRAM, 0, 2, diagonal, element);
    add_claim(&c, MO_CLAIM_OTHER, 0, 2, diagonal, element);
    add_claim(&c, MO_CLAIM_PROGRAM, 1, 1, diagonal, sum);
    add_claim(&c, MO_CLAIM_OTHER, 1, 1, diagonal, sum);
    add_case(&c, diagonal);
    cr_expect_not(crafted_is_accepted(&c));
    mo_arena_free(c.arena);
}

/* A product of W and itself over a variable of both, or over two that have nothing to do with each other. */
static bool product_over(mo_var left, mo_var right)
{
    craft c = start_craft_of(N("matmul", "\"W\",\"W\"", "o"));
    mo_var column = {1, 64};
    mo_affine a[2] = {mo_affine_var(row), mo_affine_var(left)},
              b[2] = {mo_affine_var(right), mo_affine_var(column)};
    mo_affine at[2] = {a[0], b[1]};
    const mo_normal *product = mo_normal_mul(c.forms, element_at(&c, a), element_at(&c, b));
    const mo_normal *sum = mo_normal_sum(c.forms, product, &right, 1);
    for (mo_claim_kind kind = MO_CLAIM_PROGRAM; kind <= MO_CLAIM_OTHER; kind++) {
        add_claim(&c, kind, 0, 2, a, element_at(&c, a));
        add_claim(&c, kind, 0, 2, b, element_at(&c, b));
    }
    add_claim(&c, MO_CLAIM_PROGRAM, 1, 2, at, sum);
    add_claim(&c, MO_CLAIM_OTHER, 1, 2, at, sum);
    add_case(&c, at);
    bool result = crafted_is_accepted(&c);
    mo_arena_free(c.arena);
    return result;
}

Test(recheck, factors_of_a_product_run_together)
{
    mo_var one = {100, 64}, two = {101, 64};
    cr_expect(product_over(one, one));
    cr_expect_not(product_over(one, two));
}

/* The square of -sqrt(x) is x, too: both sides claim that the root of w^2 is w. */
Test(recheck, roots_are_not_negative)
{
    for (int honest = 0; honest < 2; honest++) {
        craft c = start_craft_of(N("square", "\"W\"", "q") "," N("sqrt", "\"q\"", "o"));
        mo_affine at[2] = {mo_affine_var(row), mo_affine_var((mo_var){1, 64})};
        const mo_normal *w = element_at(&c, at), *square = mo_normal_mul(c.forms, w, w);
        const mo_normal *root = honest ? mo_normal_power(c.forms, square, (mo_rational){1, 2}) : w;
        for (mo_claim_kind kind = MO_CLAIM_PROGRAM; kind <= MO_CLAIM_OTHER; kind++) {
            add_claim(&c, kind, 0, 2, at, w);
            add_claim(&c, kind, 1, 2, at, square);
        }
        add_claim(&c, MO_CLAIM_PROGRAM, 2, 2, at, root);
        add_claim(&c, MO_CLAIM_OTHER, 2, 2, at, root);
        add_case(&c, at);
        cr_expect_eq(crafted_is_accepted(&c), honest == 1);
        mo_arena_free(c.arena);
    }
}

/* The rows below 32 and those from `start` on; each case has a claim on either side. */
static bool two_cases(int64_t start)
{
    craft c = start_craft();
    mo_var column = {100, 64}, half = {1, 32};
    mo_affine at[2][2] = {{mo_affine_var(half), mo_affine_var(column)},
                          {mo_affine_var(half), mo_affine_var(column)}};
    at[1][0].constant = start;
    for (int i = 0; i < 2; i++) {
        const mo_normal *element = element_at(&c, at[i]);
        const mo_normal *sum = mo_normal_sum(c.forms, element, &column, 1);
        add_claim(&c, MO_CLAIM_PROGRAM, 0, 2, at[i], element);
        add_claim(&c, MO_CLAIM_OTHER, 0, 2, at[i], element);
        add_claim(&c, MO_CLAIM_PROGRAM, 1, 1, at[i], sum);
        add_claim(&c, MO_CLAIM_OTHER, 1, 1, at[i], sum);
        add_case(&c, at[i]);
    }
    bool result = crafted_is_accepted(&c);
    mo_arena_free(c.arena);
    return result;
}

Test(recheck, cases_cover_an_output_once)
{
    cr_expect(two_cases(32));
    cr_expect_not(two_cases(31));
    cr_expect_not(two_cases(33));
    cr_expect_not(two_cases(0));
}

/* Claims of a case that were never made, with forms that agree. */
Test(recheck, cases_without_their_claims_are_refused)
{
    for (int i = 0; i < N_PAIRS; i++) {
        subject s = make_subject(&pairs[i], false);
        mo_proof proof = copy_proof(s.arena, s.proof);
        const mo_normal *form = proof.claims[0].form;
        mo_claim left = *proof.cases[0].left, right = *proof.cases[0].right;
        if (left.form == form) form = proof.claims[1].form;
        left.form = right.form = form;
        case_of(&proof, 0)->left = &left;
        case_of(&proof, 0)->right = &right;
        if (form != s.proof->cases[0].left->form)
            expect_refused(&s, &proof, &pairs[i], "claims of its own", -1, 0);
        free_subject(&s);
    }
}

/* There is no row 64. */
Test(recheck, elements_beyond_a_tensor_are_refused)
{
    for (int64_t shift = 0; shift < 2; shift++) {
        craft c = start_craft();
        mo_var column = {100, 64};
        mo_affine at[2] = {mo_affine_var(row), mo_affine_var(column)}, beyond[2] = {at[0], at[1]};
        const mo_normal *sum = mo_normal_sum(c.forms, element_at(&c, at), &column, 1);
        beyond[0].constant += shift;
        for (mo_claim_kind kind = MO_CLAIM_PROGRAM; kind <= MO_CLAIM_OTHER; kind++)
            add_claim(&c, kind, 0, 2, at, element_at(&c, at));
        add_claim(&c, MO_CLAIM_PROGRAM, 0, 2, beyond, element_at(&c, beyond));
        add_claim(&c, MO_CLAIM_PROGRAM, 1, 1, at, sum);
        add_claim(&c, MO_CLAIM_OTHER, 1, 1, at, sum);
        add_case(&c, at);
        cr_expect_eq(crafted_is_accepted(&c), shift == 0);
        mo_arena_free(c.arena);
    }
}

/* A claim counts only behind those that it needs: otherwise two wrong ones could hold each other up. */
Test(recheck, claims_in_another_order_are_refused)
{
    for (int i = 0; i < N_PAIRS; i++) {
        subject s = make_subject(&pairs[i], false);
        mo_proof proof = copy_proof(s.arena, s.proof);
        for (int j = 0; j < proof.n_claims; j++)
            *claim_of(&proof, j) = s.proof->claims[proof.n_claims - 1 - j];
        expect_refused(&s, &proof, &pairs[i], "reversed", -1, -1);
        free_subject(&s);
    }
}

/* Numbers of tensors are the same, shapes are not. */
Test(recheck, programs_with_other_shapes_are_refused)
{
    const char *reason;
    subject s = make_subject(&pairs[0], false);
    mo_program *wide = test_program(s.arena,
                                    "{\"name\":\"X\",\"shape\":[6,32],\"dtype\":\"f16\"},{\"name\":\"Y\","
                                    "\"shape\":[6,32],\"dtype\":\"f16\"}",
                                    pairs[0].b, "\"o\"");
    cr_expect_not(mo_proof_recheck(s.program, NULL, wide, s.proof, &reason));
    cr_expect_not(mo_proof_recheck(wide, NULL, s.other, s.proof, &reason));
    const pair inner = {"inner extent", X, NA("mean", "\"X\"", "o", "\"axes\":[1]"),
                        NA("mean", "\"X\"", "o", "\"axes\":[1]")};
    subject t = make_subject(&inner, false);
    mo_program *narrow =
        test_program(t.arena, "{\"name\":\"X\",\"shape\":[6,32],\"dtype\":\"f16\"}", inner.b, "\"o\"");
    cr_expect_not(mo_proof_recheck(t.program, NULL, narrow, t.proof, &reason));
    free_subject(&t);
    free_subject(&s);
}

/* What is said of the graph is true, but only about the first row of the output, where all rows are equal. */
Test(recheck, other_elements_of_an_output_are_refused)
{
    const pair rows = {"equal rows", VEC,
                       N("neg", "\"w\"", "n") "," NA("broadcast_to", "\"n\"", "o", "\"shape\":[6,64]"), ""};
    subject s = make_subject(&rows, true);
    mo_proof proof = copy_proof(s.arena, s.proof);
    mo_claim right = *proof.cases[0].right;
    mo_affine first = mo_affine_constant(0);
    for (int i = 0; i < proof.n_claims; i++) {
        mo_claim *claim = claim_of(&proof, i);
        if (claim->kind == MO_CLAIM_PROGRAM) continue;
        bool stored = same_claim(claim, &right) && mo_affine_equal(claim->index, right.index);
        mo_affine *index = MO_NEW_ARRAY(s.arena, mo_affine, claim->n + 1);
        for (int d = 0; d < claim->n; d++) {
            index[d] = claim->index[d];
            cr_assert(mo_affine_substitute(&index[d], (mo_var){0, 6}, &first));
        }
        claim->index = index;
        if (stored) right = *claim;
    }
    case_of(&proof, 0)->right = &right;
    expect_refused(&s, &proof, &rows, "first row", -1, -1);
    cr_expect_eq(right.index[0].n, 1);
    free_subject(&s);
}

Test(recheck, certificates_that_prove_nothing_are_refused)
{
    const char *reason;
    subject s = make_subject(&pairs[0], false);
    mo_proof proof = copy_proof(s.arena, s.proof);
    proof.proved = false;
    cr_expect_not(accepted(&s, &proof, &reason));
    cr_expect_str_eq(reason, "no certificate of an equality");
    cr_expect_not(mo_proof_recheck(s.program, NULL, NULL, s.proof, &reason));
    free_subject(&s);
}
