/* Both sides of a proof, case by case. */
#include "verify/proof.h"

#include "base/strmap.h"
#include "verify/equiv_parts.h"
#include "verify/proof_parts.h"

#include <string.h>

#define MOST_CASES 64 /* parts of an output */

/* Some elements of an output: an index for each dimension. */
typedef struct {
    int n;
    mo_affine index[MO_MAX_RANK];
} part;

typedef struct {
    mo_prover p;
    mo_proof *proof;
    int n_cases;
    mo_proof_case *cases;
} task;

static const mo_normal *left_value(task *t, int output, const part *elements)
{
    return mo_prove_program(&t->p, MO_CLAIM_PROGRAM, t->p.program->outputs[output], elements->index);
}

/* The muGraph's tensor that an output is stored in. */
static int stored_in(const mo_mugraph *graph, int output)
{
    for (int t = 0; t < graph->n_tensors; t++)
        if (graph->tensors[t].output == output) return t;
    return -1;
}

static const mo_normal *right_value(task *t, int output, const part *elements, mo_claim *claim)
{
    mo_prover *p = &t->p;
    if (p->other != NULL) {
        *claim =
            (mo_claim){MO_CLAIM_OTHER, -1, p->other->outputs[output], elements->n, elements->index, NULL};
        return mo_prove_program(p, MO_CLAIM_OTHER, claim->value, elements->index);
    }
    int tensor = stored_in(p->graph, output);
    mo_affine *place = MO_NEW(p->arena, mo_affine);
    if (tensor < 0) {
        mo_normal_fail(p->forms, "an output that is not stored");
        return NULL;
    }
    for (int d = 0; d < elements->n; d++)
        if (!mo_affine_add(place, &elements->index[d], p->graph->tensors[tensor].strides[d])) {
            mo_normal_fail(p->forms, "an index has too many variables");
            return NULL;
        }
    *claim = (mo_claim){MO_CLAIM_TENSOR, -1, tensor, 1, place, NULL};
    return mo_prove_tensor(p, tensor, place);
}

/* The part with one of its variables split: one or two parts. 0: that is no way on. */
static int split_part(task *t, const part *whole, part half[2])
{
    mo_split_need need = t->p.need;
    mo_affine by[2];
    uint32_t cut = (uint32_t)need.at;
    bool occurs = false;
    for (int d = 0; d < whole->n; d++) occurs = occurs || mo_affine_factor(&whole->index[d], need.var) != 0;
    if (t->p.forms->failed != NULL || need.kind == MO_SPLIT_NONE || !occurs) return 0;
    int halves = need.kind == MO_SPLIT_DIGITS ? 1 : 2;
    mo_var first = {t->p.next_var++, need.kind == MO_SPLIT_DIGITS ? need.var.extent / cut : cut};
    mo_var second = {t->p.next_var++, need.kind == MO_SPLIT_DIGITS ? cut : need.var.extent - cut};
    mo_affine a = mo_affine_var(first), b = mo_affine_var(second);
    if (need.kind == MO_SPLIT_DIGITS) {
        by[0] = b;
        if (!mo_affine_add(&by[0], &a, cut)) return 0;
    } else {
        by[0] = a;
        by[1] = b;
        by[1].constant = cut;
    }
    for (int h = 0; h < halves; h++) {
        half[h] = *whole;
        for (int d = 0; d < whole->n; d++)
            if (!mo_affine_substitute(&half[h].index[d], need.var, &by[h])) return 0;
    }
    t->p.need = (mo_split_need){0};
    return halves;
}

static void keep_case(task *t, int output, const part *elements, const mo_claim *right)
{
    mo_prover *p = &t->p;
    mo_affine *index = MO_NEW_ARRAY(p->arena, mo_affine, elements->n + 1);
    memcpy(index, elements->index, sizeof *index * (size_t)elements->n);
    int tensor = p->program->outputs[output];
    t->cases[t->n_cases++] =
        (mo_proof_case){output, elements->n, index,
                        mo_prove_find(p, MO_CLAIM_PROGRAM, -1, tensor, elements->n, elements->index),
                        mo_prove_find(p, right->kind, -1, right->value, right->n, right->index)};
}

/* One output, in parts as needed. False with a reason. */
static bool prove_output(task *t, int output)
{
    const mo_shape *shape = &t->p.program->tensors[t->p.program->outputs[output]].shape;
    part *todo = MO_NEW_ARRAY(t->p.arena, part, MOST_CASES);
    int left = 1;
    todo[0].n = shape->rank;
    for (int d = 0; d < shape->rank; d++)
        todo[0].index[d] = mo_affine_var((mo_var){(uint32_t)d, (uint32_t)shape->dim[d]});
    while (left > 0) {
        part now = todo[--left], half[2];
        mo_claim claim;
        const mo_normal *a = left_value(t, output, &now);
        const mo_normal *b = a == NULL ? NULL : right_value(t, output, &now, &claim);
        if (b == NULL) {
            int halves = split_part(t, &now, half);
            if (halves == 0 || left + halves > MOST_CASES || t->n_cases + left + halves > MOST_CASES)
                return mo_normal_fail(t->p.forms, "indices that have to be split too often");
            for (int h = 0; h < halves; h++) todo[left++] = half[h];
            continue;
        }
        keep_case(t, output, &now, &claim);
        if (!mo_normal_equal(t->p.forms, a, b)) return mo_normal_fail(t->p.forms, "the normal forms differ");
    }
    return true;
}

static mo_proof *prove(mo_arena *arena, const mo_program *program, const mo_program *other,
                       const mo_mugraph *graph)
{
    mo_proof *proof = MO_NEW(arena, mo_proof);
    proof->arena = arena;
    proof->forms = mo_normals_new(arena);
    task t = {.p = {.arena = arena,
                    .forms = proof->forms,
                    .program = program,
                    .other = other,
                    .graph = graph,
                    .next_var = MO_PROOF_HALVES},
              .proof = proof,
              .cases = MO_NEW_ARRAY(arena, mo_proof_case, MOST_CASES * (program->n_outputs + 1))};
    proof->proved = true;
    for (int o = 0; o < program->n_outputs && proof->proved; o++) {
        int before = t.n_cases;
        t.n_cases = 0;
        t.cases += before;
        proof->n_cases += before;
        proof->proved = prove_output(&t, o);
    }
    t.cases -= proof->n_cases;
    proof->n_cases += t.n_cases;
    proof->cases = t.cases;
    proof->reason = proof->proved ? NULL : proof->forms->failed;
    mo_claim *claims = MO_NEW_ARRAY(arena, mo_claim, t.p.n_claims + 1);
    for (int i = 0; i < t.p.n_claims; i++) claims[i] = *t.p.claims[i];
    proof->claims = claims;
    proof->n_claims = t.p.n_claims;
    return proof;
}

/* What is not valid has no meaning that could be proved. */
mo_proof *mo_prove_mugraph(const mo_program *program, const mo_mugraph *graph)
{
    mo_arena *arena = mo_arena_new();
    const char *invalid = mo_mugraph_check(arena, graph);
    if (invalid == NULL) return prove(arena, program, NULL, graph);
    mo_proof *proof = MO_NEW(arena, mo_proof);
    proof->arena = arena;
    proof->reason = invalid;
    return proof;
}

static bool same_kind(const mo_tensor *a, const mo_tensor *b)
{
    return mo_shape_equal(a->shape, b->shape) && a->dtype == b->dtype;
}

/* Have inputs of the same name, and outputs at the same position, one shape and dtype? */
static bool correspond(const mo_program *a, const mo_program *b)
{
    for (int i = 0; i < a->n_inputs; i++)
        for (int j = 0; j < b->n_inputs; j++)
            if (strcmp(a->tensors[i].name, b->tensors[j].name) == 0 &&
                !same_kind(&a->tensors[i], &b->tensors[j]))
                return false;
    if (a->n_outputs != b->n_outputs) return false;
    for (int o = 0; o < a->n_outputs; o++)
        if (!same_kind(&a->tensors[a->outputs[o]], &b->tensors[b->outputs[o]])) return false;
    return true;
}

mo_proof *mo_prove_programs(const mo_program *program, const mo_program *other)
{
    mo_arena *arena = mo_arena_new();
    mo_program *reordered = mo_equiv_reorder(arena, program, other);
    if (reordered != NULL && correspond(program, other)) return prove(arena, program, reordered, NULL);
    mo_proof *proof = MO_NEW(arena, mo_proof);
    proof->arena = arena;
    proof->reason = "inputs or outputs do not correspond";
    return proof;
}

void mo_proof_free(mo_proof *proof)
{
    if (proof != NULL) mo_arena_free(proof->arena);
}

/* ---- for people ---- */

static void print_index(mo_str *out, mo_var_names *names, const mo_affine *index, int n)
{
    mo_str_add(out, "[");
    for (int i = 0; i < n; i++) {
        if (i > 0) mo_str_add(out, ",");
        mo_affine_print(out, names, &index[i]);
    }
    mo_str_add(out, "]");
}

static void print_claim(mo_str *out, const mo_program *program, const mo_mugraph *graph,
                        const mo_program *other, const mo_claim *c)
{
    mo_var_names names = {0};
    if (c->kind == MO_CLAIM_PROGRAM) mo_str_printf(out, "  program: %s", program->tensors[c->value].name);
    if (c->kind == MO_CLAIM_OTHER) mo_str_printf(out, "  other: %s", other->tensors[c->value].name);
    if (c->kind == MO_CLAIM_TENSOR) mo_str_printf(out, "  graph: %s@", graph->tensors[c->value].symbol);
    if (c->kind == MO_CLAIM_NODE)
        mo_str_printf(out, "  graph: %s %%%d", graph->kernels[c->kernel].name, c->value);
    print_index(out, &names, c->index, c->n);
    mo_str_add(out, " = ");
    mo_normal_print(out, program, &names, c->form);
    mo_str_add(out, "\n");
}

/* Claims that differ in the names of their variables alone are told once. */
static void print_steps(mo_str *out, const mo_program *program, const mo_mugraph *graph,
                        const mo_program *other, const mo_proof *proof)
{
    mo_arena *arena = mo_arena_new();
    mo_strmap told = mo_strmap_new(arena, (size_t)proof->n_claims);
    mo_str_add(out, "steps:\n");
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < proof->n_claims; i++) {
            mo_str line = {0};
            if ((proof->claims[i].kind == MO_CLAIM_PROGRAM) != (side == 0)) continue;
            print_claim(&line, program, graph, other, &proof->claims[i]);
            const char *text = mo_arena_strdup(arena, mo_str_text(&line));
            if (mo_strmap_find(&told, text) == NULL) {
                mo_strmap_put(&told, text, i);
                mo_str_add(out, text);
            }
            mo_str_free(&line);
        }
    mo_arena_free(arena);
}

/* The forms that differ: those of the last case. */
static void print_unequal(mo_str *out, const mo_program *program, const mo_proof *proof)
{
    if (proof->n_cases == 0) return;
    const mo_proof_case *c = &proof->cases[proof->n_cases - 1];
    mo_var_names names = {0};
    mo_str_printf(out, "    %s", program->tensors[program->outputs[c->output]].name);
    print_index(out, &names, c->index, c->n);
    mo_str_add(out, " = ");
    mo_normal_print(out, program, &names, c->left->form);
    mo_str_add(out, "\n    against ");
    mo_normal_print(out, program, &names, c->right->form);
    mo_str_add(out, "\n");
}

void mo_proof_print(mo_str *out, const mo_program *program, const mo_mugraph *graph, const mo_program *other,
                    const mo_proof *proof)
{
    if (!proof->proved) {
        mo_str_printf(out, "not proved: %s\n", proof->reason);
        print_unequal(out, program, proof);
        return;
    }
    for (int i = 0; i < proof->n_cases; i++) {
        const mo_proof_case *c = &proof->cases[i];
        mo_var_names names = {0};
        mo_str_printf(out, "proved: %s", program->tensors[program->outputs[c->output]].name);
        print_index(out, &names, c->index, c->n);
        mo_str_add(out, " is on both sides\n    ");
        mo_normal_print(out, program, &names, c->left->form);
        if (c->left->form != c->right->form) mo_str_add(out, "\n  which over common denominators is\n    ");
        if (c->left->form != c->right->form) mo_normal_print(out, program, &names, c->right->form);
        mo_str_add(out, "\n");
    }
    print_steps(out, program, graph, other, proof);
}
