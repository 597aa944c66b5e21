/* The whole certificate: is it well formed, do its claims follow, do its cases settle every output? */
#include "verify/recheck_parts.h"

#include "verify/equiv_parts.h"

#include <string.h>

#define MOST_STEPS 4000000
#define MOST_DEPTH 64
#define MOST_CASES 4096

/* ---- well formed ---- */

static bool proper_rational(mo_rational q)
{
    if (q.den <= 0 || q.num == 0) return false;
    return mo_rational_same(q, mo_rational_make(q.num, q.den));
}

static bool proper_vars(const mo_var *vars, int n)
{
    if (n < 0 || n > MO_RECHECK_VARS) return false;
    for (int i = 0; i < n; i++)
        if (vars[i].number >= MO_RECHECK_BOUND || vars[i].extent < 1 || vars[i].extent > INT32_MAX)
            return false;
    return true;
}

static bool proper_index(const mo_affine *index)
{
    int64_t least, most;
    if (index->n < 0 || index->n > MO_AFFINE_TERMS) return false;
    for (int i = 0; i < index->n; i++) {
        mo_var var = index->term[i].var;
        if (!proper_vars(&var, 1) || var.extent < 2 || index->term[i].factor == 0) return false;
        if (i > 0 && mo_var_compare(index->term[i - 1].var, var) >= 0) return false;
    }
    return mo_recheck_range(index, &least, &most);
}

/* What each kind of atom consists of. */
static bool proper_atom_fields(const mo_recheck *r, const mo_atom *a)
{
    bool indexed = a->kind == MO_ATOM_INPUT || a->kind == MO_ATOM_MASK || a->kind == MO_ATOM_INDICATOR;
    if (!proper_index(&a->index) || !proper_vars(a->bound, a->n_bound)) return false;
    if (!indexed && (a->index.n > 0 || a->index.constant != 0)) return false;
    if ((a->kind == MO_ATOM_LARGEST) != (a->n_bound > 0)) return false;
    switch (a->kind) {
    case MO_ATOM_INPUT: return a->n_args == 0 && a->tensor >= 0 && a->tensor < r->program->n_inputs;
    case MO_ATOM_EXP:
    case MO_ATOM_SUM:
    case MO_ATOM_LARGEST: return a->n_args == 1;
    case MO_ATOM_PRIME: return a->n_args == 0 && a->tag >= 2 && a->tag <= INT64_MAX;
    case MO_ATOM_MAX: return a->n_args >= 1 && a->n_args <= MO_RECHECK_FACTORS;
    case MO_ATOM_FUNCTION: return a->n_args == 1 && mo_op_is_pointwise(a->op);
    case MO_ATOM_MASK:
    case MO_ATOM_INDICATOR: return a->n_args == 0;
    }
    return false;
}

static bool proper_form(mo_recheck *r, const mo_normal *f, int depth)
{
    if (f == NULL || f->n < 0 || depth > MOST_DEPTH || !mo_recheck_step(r)) return false;
    for (int t = 0; t < f->n; t++) {
        const mo_term *term = &f->terms[t];
        if (!proper_rational(term->coefficient) || !proper_vars(term->bound, term->n_bound)) return false;
        if (term->n_factors < 0 || term->n_factors > MO_RECHECK_FACTORS) return false;
        for (int i = 0; i < term->n_factors; i++) {
            const mo_atom *atom = term->factors[i].atom;
            if (!proper_rational(term->factors[i].power)) return false;
            if (atom == NULL || !proper_atom_fields(r, atom)) return false;
            for (int a = 0; a < atom->n_args; a++)
                if (!proper_form(r, atom->args[a], depth + 1)) return false;
        }
    }
    return true;
}

static bool index_within(const mo_affine *index, int64_t extent)
{
    int64_t least, most;
    return mo_recheck_range(index, &least, &most) && least >= 0 && most < extent;
}

static bool proper_element(const mo_claim *c, const mo_program *program)
{
    if (program == NULL || c->value < 0 || c->value >= program->n_tensors) return false;
    const mo_shape *shape = &program->tensors[c->value].shape;
    if (c->n != shape->rank) return false;
    for (int d = 0; d < c->n; d++)
        if (!index_within(&c->index[d], shape->dim[d])) return false;
    return true;
}

static bool proper_node(const mo_claim *c, const mo_mugraph *graph)
{
    if (graph == NULL || c->kernel < 0 || c->kernel >= graph->n_kernels) return false;
    const mo_prim *body = graph->kernels[c->kernel].body;
    int i = 0;
    if (c->value < 0 || c->value >= body->n_nodes) return false;
    if (c->n != mo_axes_count(body->nodes[c->value].axes)) return false;
    MO_FOR_AXES(a, body->nodes[c->value].axes)
        if (!index_within(&c->index[i++], body->axes[a].extent)) return false;
    return true;
}

static bool proper_claim(mo_recheck *r, const mo_claim *c)
{
    if (c->n < 0 || c->n > MO_MAX_AXES) return false;
    for (int i = 0; i < c->n; i++)
        if (!proper_index(&c->index[i])) return false;
    if (!proper_form(r, c->form, 0)) return false;
    switch (c->kind) {
    case MO_CLAIM_PROGRAM: return proper_element(c, r->program);
    case MO_CLAIM_OTHER: return proper_element(c, r->other);
    case MO_CLAIM_TENSOR:
        return r->graph != NULL && c->value >= 0 && c->value < r->graph->n_tensors && c->n == 1 &&
               index_within(&c->index[0], INT64_MAX);
    case MO_CLAIM_NODE: return proper_node(c, r->graph);
    }
    return false;
}

static bool check_claim(mo_recheck *r, const mo_claim *c)
{
    if (!proper_claim(r, c)) return mo_recheck_fail(r, "a claim that is not well formed");
    bool follows = c->kind == MO_CLAIM_NODE     ? mo_recheck_node_claim(r, c)
                   : c->kind == MO_CLAIM_TENSOR ? mo_recheck_tensor_claim(r, c)
                                                : mo_recheck_program_claim(r, c);
    return (follows && r->reason == NULL) ||
           mo_recheck_fail(r, "a form that does not follow from its operands");
}

static bool check_claims(mo_recheck *r)
{
    for (r->now = 0; r->now < r->proof->n_claims; r->now++) {
        mo_arena_mark mark = mo_arena_get_mark(r->arena);
        bool follows = check_claim(r, &r->proof->claims[r->now]);
        mo_arena_reset(r->arena, mark);
        if (!follows) return false;
    }
    return true;
}

/* ---- cases ---- */

static bool same_index(const mo_affine *a, const mo_affine *b, int n)
{
    for (int i = 0; i < n; i++)
        if (!mo_affine_equal(&a[i], &b[i])) return false;
    return true;
}

/* Is it one of the claims that have been checked? */
static bool is_checked(const mo_recheck *r, const mo_claim *c)
{
    for (int i = 0; c != NULL && i < r->proof->n_claims; i++) {
        const mo_claim *known = &r->proof->claims[i];
        if (known->kind == c->kind && known->value == c->value && known->form == c->form &&
            known->n == c->n && (c->kind != MO_CLAIM_NODE || known->kernel == c->kernel) &&
            same_index(known->index, c->index, c->n))
            return true;
    }
    return false;
}

/* The muGraph's tensor that holds the output; -1: not a single one. */
static int holder(const mo_mugraph *graph, int output)
{
    int found = -1;
    for (int t = 0; t < graph->n_tensors; t++) {
        if (graph->tensors[t].output != output) continue;
        if (found >= 0) return -1;
        found = t;
    }
    return found;
}

/* Is the claim about the element of the other side's output with this index? */
static bool is_right(mo_recheck *r, const mo_claim *c, const mo_proof_case *k)
{
    if (r->other != NULL)
        return c->kind == MO_CLAIM_OTHER && c->value == r->other->outputs[k->output] && c->n == k->n &&
               same_index(c->index, k->index, k->n);
    mo_affine place = mo_affine_constant(0);
    int tensor = holder(r->graph, k->output);
    if (tensor < 0 || c->kind != MO_CLAIM_TENSOR || c->value != tensor || c->n != 1) return false;
    const mo_mutensor *t = &r->graph->tensors[tensor];
    if (!mo_shape_equal(t->shape, r->program->tensors[r->program->outputs[k->output]].shape)) return false;
    for (int d = 0; d < k->n; d++)
        if (!mo_recheck_shift(r, &place, &k->index[d], t->strides[d])) return false;
    return mo_affine_equal(&place, &c->index[0]);
}

static bool check_case(mo_recheck *r, const mo_proof_case *k)
{
    int tensor = r->program->outputs[k->output];
    mo_recheck_map map = {.n = 0};
    if (k->n != r->program->tensors[tensor].shape.rank) return mo_recheck_fail(r, "a case with another rank");
    for (int d = 0; d < k->n; d++)
        if (!proper_index(&k->index[d])) return mo_recheck_fail(r, "a case that is not well formed");
    if (!is_checked(r, k->left) || !is_checked(r, k->right))
        return mo_recheck_fail(r, "a case with a claim that was not made");
    const mo_claim *left = k->left;
    if (left->kind != MO_CLAIM_PROGRAM || left->value != tensor || left->n != k->n ||
        !same_index(left->index, k->index, k->n) || !is_right(r, k->right, k))
        return mo_recheck_fail(r, "a case whose claims are about other elements");
    const mo_normal *a = mo_recheck_copy(r, left->form, &map), *b = mo_recheck_copy(r, k->right->form, &map);
    return mo_recheck_equal(r, a, b) || mo_recheck_fail(r, "a case whose forms differ");
}

static bool check_output(mo_recheck *r, int output)
{
    const mo_shape *shape = &r->program->tensors[r->program->outputs[output]].shape;
    const mo_affine **parts = MO_NEW_ARRAY(r->arena, const mo_affine *, r->proof->n_cases + 1);
    int n = 0;
    for (int i = 0; i < r->proof->n_cases; i++) {
        if (r->proof->cases[i].output != output) continue;
        if (!check_case(r, &r->proof->cases[i])) return false;
        parts[n++] = r->proof->cases[i].index;
    }
    return mo_recheck_partition(r, parts, n, shape->rank, shape->dim);
}

/* ---- all of it ---- */

/* The other program with this one's inputs in front, if both mean the same by them. */
static bool take_other(mo_recheck *r, const mo_program *other)
{
    r->other = mo_equiv_reorder(r->arena, r->program, other);
    bool fits = r->other != NULL && r->other->n_outputs == r->program->n_outputs;
    for (int i = 0; i < other->n_inputs && fits; i++)
        for (int j = 0; j < r->program->n_inputs && fits; j++)
            if (strcmp(other->tensors[i].name, r->program->tensors[j].name) == 0)
                fits = mo_shape_equal(other->tensors[i].shape, r->program->tensors[j].shape);
    for (int o = 0; o < r->program->n_outputs && fits; o++)
        fits = mo_shape_equal(r->other->tensors[r->other->outputs[o]].shape,
                              r->program->tensors[r->program->outputs[o]].shape);
    return fits || mo_recheck_fail(r, "inputs or outputs do not correspond");
}

static bool take_graph(mo_recheck *r, const mo_mugraph *graph)
{
    r->graph = graph;
    for (int k = 0; k < graph->n_kernels; k++)
        if (graph->kernels[k].body == NULL) return mo_recheck_fail(r, "a kernel without a body");
    if (graph->program != r->program) return mo_recheck_fail(r, "a graph of another program");
    return mo_mugraph_check(r->arena, graph) == NULL || mo_recheck_fail(r, "a graph that is not valid");
}

static bool check(mo_recheck *r, const mo_mugraph *graph, const mo_program *other)
{
    if (!r->proof->proved || (graph == NULL) == (other == NULL))
        return mo_recheck_fail(r, "no certificate of an equality");
    if (graph != NULL ? !take_graph(r, graph) : !take_other(r, other)) return false;
    if (r->proof->n_cases > MOST_CASES) return mo_recheck_fail(r, "too many cases");
    if (!check_claims(r)) return false;
    for (int o = 0; o < r->program->n_outputs; o++)
        if (!check_output(r, o)) return false;
    return true;
}

bool mo_proof_recheck(const mo_program *program, const mo_mugraph *graph, const mo_program *other,
                      const mo_proof *proof, const char **reason)
{
    mo_recheck r = {.arena = mo_arena_new(),
                    .program = program,
                    .proof = proof,
                    .next_var = MO_RECHECK_BOUND,
                    .work = MOST_STEPS};
    bool accepted = check(&r, graph, other);
    mo_arena_free(r.arena);
    *reason = accepted ? NULL : r.reason;
    return accepted;
}
