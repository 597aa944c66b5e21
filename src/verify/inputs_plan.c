/* What follows from a program for its input sets: how tensors grow with inputs, where rows may hold NaN. */
#include "verify/inputs_plan.h"

#include <math.h>

#define HIGHEST 60000.0 /* a little less than the largest f16, 65504 */
#define CLOSE 0.1       /* no need to draw another input for so little */
#define LATTICE_TARGET 56000.0
#define LATTICE_BITS 4

static const double targets[MO_LOGITS] = {50.0, HIGHEST};

const char *mo_inputs_name(mo_inputs_kind kind)
{
    static const char *const names[MO_INPUTS_KINDS] = {
        "random", "offset-100", "offset-1000",  "large",    "zero",
        "tiny",   "logits-50",  "logits-60000", "infinite", "nan"};
    return names[kind];
}

static bool is_view(mo_op op)
{
    return mo_op_kind_of(op) == MO_KIND_VIEW;
}

/* ---- right operands ---- */

/* Is tensor t read only by matmuls, on the right? *length becomes the longest sum; *uses counts them. */
static bool only_right(const mo_program *program, int t, int64_t *length, int *uses)
{
    for (int i = 0; i < program->n_outputs; i++)
        if (program->outputs[i] == t) return false;
    for (int i = 0; i < program->n_nodes; i++) {
        const mo_node *node = &program->nodes[i];
        for (int j = 0; j < node->n_inputs; j++) {
            if (node->inputs[j].tensor != t) continue;
            if (is_view(node->op)) {
                for (int o = 0; o < node->n_outputs; o++)
                    if (!only_right(program, node->outputs[o], length, uses)) return false;
                continue;
            }
            if (node->op != MO_OP_MATMUL || j == 0) return false;
            const mo_shape *shape = &program->tensors[t].shape;
            int64_t k = shape->dim[shape->rank - (node->attrs.transpose_b ? 1 : 2)];
            if (k > *length) *length = k;
            (*uses)++;
        }
    }
    return true;
}

int64_t mo_inputs_right_length(const mo_program *program, int t)
{
    int64_t length = 0;
    int uses = 0;
    return only_right(program, t, &length, &uses) && uses > 0 ? length : 0;
}

/* ---- growth ---- */

static double operand_degree(const mo_node *node, int j, const double *degree)
{
    return j < node->n_inputs && node->inputs[j].tensor >= 0 ? degree[node->inputs[j].tensor] : 0.0;
}

static double highest_degree(const mo_node *node, const double *degree)
{
    double highest = operand_degree(node, 0, degree);
    for (int j = 1; j < node->n_inputs; j++) highest = fmax(highest, operand_degree(node, j, degree));
    return highest;
}

/* With which power of a large factor on some inputs does the result of a node grow? Where a sum has summands
 * of several powers the highest counts; bounded functions have 0. */
static double node_degree(const mo_node *node, const double *degree)
{
    double a = operand_degree(node, 0, degree), b = operand_degree(node, 1, degree);
    switch (node->op) {
    case MO_OP_MATMUL:
    case MO_OP_MUL: return a + b;
    case MO_OP_DIV: return a - b;
    case MO_OP_POW: return node->inputs[1].tensor < 0 ? a * node->inputs[1].number : 0.0;
    case MO_OP_SQUARE: return 2.0 * a;
    case MO_OP_SQRT: return a / 2.0;
    case MO_OP_RSQRT: return -a / 2.0;
    case MO_OP_RECIPROCAL: return -a;
    case MO_OP_RMS_NORM: return b;
    case MO_OP_LAYER_NORM: return fmax(b, operand_degree(node, 2, degree));
    case MO_OP_L2_NORM:
    case MO_OP_EXP:
    case MO_OP_LOG:
    case MO_OP_SOFTMAX:
    case MO_OP_SIGMOID:
    case MO_OP_TANH:
    case MO_OP_CLAMP: return 0.0;
    default: return highest_degree(node, degree);
    }
}

/* degree[tensor] with respect to the marked inputs. */
static void find_degrees(const mo_program *program, const bool *marked, double *degree)
{
    for (int t = 0; t < program->n_tensors; t++) degree[t] = t < program->n_inputs && marked[t] ? 1.0 : 0.0;
    for (int i = 0; i < program->n_nodes; i++)
        for (int o = 0; o < program->nodes[i].n_outputs; o++)
            degree[program->nodes[i].outputs[o]] = node_degree(&program->nodes[i], degree);
}

static bool is_sharp(mo_op op)
{
    return op == MO_OP_EXP || op == MO_OP_SOFTMAX;
}

static bool is_exponential(mo_op op)
{
    return is_sharp(op) || op == MO_OP_SIGMOID || op == MO_OP_SILU || op == MO_OP_TANH || op == MO_OP_GELU;
}

typedef struct {
    mo_arena *arena;
    const mo_program *program;
    const double *peaks; /* or NULL */
    mo_input_plan *inputs;
    int n_infinite;
    bool *marked;
    double *degree;
} planner;

static void mark_only(const planner *p, int input)
{
    for (int t = 0; t < p->program->n_inputs; t++) p->marked[t] = t == input;
    find_degrees(p->program, p->marked, p->degree);
}

/* Does the operand of node i grow with this input alone? */
static bool grows_with(const planner *p, int i, int input)
{
    mark_only(p, input);
    return p->degree[p->program->nodes[i].inputs[0].tensor] > 0.0;
}

static bool grows(const planner *p, int i)
{
    for (int t = 0; t < p->program->n_inputs; t++)
        if (grows_with(p, i, t)) return true;
    return false;
}

static int find_exponential(const planner *p)
{
    for (int i = 0; i < p->program->n_nodes; i++)
        if (is_exponential(p->program->nodes[i].op) && grows(p, i)) return i;
    return -1;
}

static planner new_planner(mo_arena *arena, const mo_program *program, const double *peaks)
{
    planner p = {.arena = arena, .program = program, .peaks = peaks};
    p.inputs = MO_NEW_ARRAY(arena, mo_input_plan, program->n_inputs + 1);
    p.marked = MO_NEW_ARRAY(arena, bool, program->n_inputs + 1);
    p.degree = MO_NEW_ARRAY(arena, double, program->n_tensors + 1);
    return p;
}

int mo_inputs_exponential(const mo_program *program)
{
    mo_arena *arena = mo_arena_new();
    planner p = new_planner(arena, program, NULL);
    int node = find_exponential(&p);
    mo_arena_free(arena);
    return node;
}

/* ---- rows that may hold -inf and NaN ---- */

static bool keeps_last_dimension(const mo_program *program, const mo_node *node)
{
    if (node->op != MO_OP_TRANSPOSE) return true;
    int rank = program->tensors[node->inputs[0].tensor].shape.rank;
    return rank == 0 || node->attrs.perm[rank - 1] == rank - 1;
}

/* Does a node mix the rows of its j-th operand, or put other elements into them? */
static bool mixes_rows(const mo_program *program, const mo_node *node, int j)
{
    if (node->op == MO_OP_MATMUL) return j == 1 || node->attrs.transpose_a;
    return !keeps_last_dimension(program, node);
}

/* Follows what an input reaches: are its rows still apart at the end, and does a product read them? */
static void follow_rows(const planner *p, int input, bool *apart, bool *multiplied)
{
    const mo_program *program = p->program;
    bool *reached = MO_NEW_ARRAY(p->arena, bool, program->n_tensors + 1);
    reached[input] = true;
    *apart = true;
    for (int i = 0; i < program->n_nodes; i++) {
        const mo_node *node = &program->nodes[i];
        for (int j = 0; j < node->n_inputs; j++) {
            if (node->inputs[j].tensor < 0 || !reached[node->inputs[j].tensor]) continue;
            *apart &= !mixes_rows(program, node, j);
            *multiplied |= node->op == MO_OP_MATMUL;
            for (int o = 0; o < node->n_outputs; o++) reached[node->outputs[o]] = true;
        }
    }
}

/* ---- logits ---- */

enum { INEXACT = 2 };

/* Products on the way to what a node computes, if no step rounds where inputs are small multiples of one
 * number: at most one product of two inputs, sums, and what moves or masks. INEXACT otherwise. */
static int node_products(const mo_node *node, const int *products)
{
    int most = 0;
    bool number = false;
    for (int j = 0; j < node->n_inputs; j++) {
        int t = node->inputs[j].tensor;
        number |= t < 0;
        if (t >= 0 && products[t] > most) most = products[t];
    }
    if (node->op == MO_OP_MATMUL) return most == 0 ? 1 : INEXACT;
    bool scaled = (node->op == MO_OP_MUL || node->op == MO_OP_DIV) && number;
    bool sum = node->op == MO_OP_ADD || node->op == MO_OP_SUB || node->op == MO_OP_NEG;
    return scaled || sum || node->op == MO_OP_CAUSAL_MASK || is_view(node->op) ? most : INEXACT;
}

/* Are the values of tensor t the same for every order of summation, inputs being on a lattice? */
static bool is_exact(const planner *p, int t)
{
    int *products = MO_NEW_ARRAY(p->arena, int, p->program->n_tensors + 1);
    for (int i = 0; i < p->program->n_nodes; i++)
        for (int o = 0; o < p->program->nodes[i].n_outputs; o++)
            products[p->program->nodes[i].outputs[o]] = node_products(&p->program->nodes[i], products);
    return products[t] != INEXACT;
}

/* The degree of the operand of node i in all inputs that grow it and are (or are not) special. */
static double mark_growing(const planner *p, int i, bool special)
{
    bool *marked = MO_NEW_ARRAY(p->arena, bool, p->program->n_inputs + 1);
    for (int t = 0; t < p->program->n_inputs; t++)
        marked[t] = p->inputs[t].special == special && grows_with(p, i, t);
    for (int t = 0; t < p->program->n_inputs; t++) p->marked[t] = marked[t];
    find_degrees(p->program, p->marked, p->degree);
    return p->degree[p->program->nodes[i].inputs[0].tensor];
}

static double spread_of(const mo_input_plan *input)
{
    return input->right > 0 ? 1.0 / sqrt((double)input->right) : 1.0;
}

/* The factor on the marked inputs that makes the operand of node i `gain` times as large, as far as an f16
 * holds them and, in the set that goes to the limit, every other value inside that grows no faster. */
static double shared_factor(const planner *p, int i, double gain, bool to_the_limit)
{
    const mo_program *program = p->program;
    double own = p->degree[program->nodes[i].inputs[0].tensor], factor = pow(gain, 1.0 / own);
    for (int t = 0; t < program->n_tensors; t++) {
        double degree = p->degree[t], peak = p->peaks[t];
        bool counts = t < program->n_inputs ? p->marked[t] : to_the_limit && degree <= own;
        if (counts && degree > 0.0 && peak > 0.0) factor = fmin(factor, pow(HIGHEST / peak, 1.0 / degree));
    }
    return factor;
}

/* Special inputs first: what others hold is the same in all sets otherwise, and need not be drawn again. */
static void scale_inputs(const planner *p, int i, int which)
{
    double left = targets[which] / p->peaks[p->program->nodes[i].inputs[0].tensor];
    for (int special = 1; special >= 0; special--) {
        double degree = mark_growing(p, i, special == 1);
        if (degree <= 0.0 || fabs(left - 1.0) < CLOSE) continue;
        double factor = shared_factor(p, i, left, which == 1);
        for (int t = 0; t < p->program->n_inputs; t++)
            if (p->marked[t]) p->inputs[t].logits[which] *= factor;
        left /= pow(factor, degree);
        if (which == 1) return; /* what is missing would go beyond a limit */
    }
}

/* Rounded down to a number of few bits, so that small multiples of it are numbers of every dtype. */
static double few_bits(double x)
{
    int exponent;
    double fraction = frexp(x, &exponent);
    return ldexp(floor(ldexp(fraction, LATTICE_BITS)), exponent - LATTICE_BITS);
}

/* All inputs that the operand grows with become multiples of their units. */
static void place_on_lattice(const planner *p, int i)
{
    int operand = p->program->nodes[i].inputs[0].tensor;
    bool *growing = MO_NEW_ARRAY(p->arena, bool, p->program->n_inputs + 1);
    for (int t = 0; t < p->program->n_inputs; t++) growing[t] = grows_with(p, i, t);
    for (int t = 0; t < p->program->n_inputs; t++) p->marked[t] = growing[t];
    find_degrees(p->program, p->marked, p->degree);
    double factor = pow(LATTICE_TARGET / p->peaks[operand], 1.0 / p->degree[operand]);
    for (int t = 0; t < p->program->n_inputs; t++)
        if (growing[t]) p->inputs[t].unit = few_bits(factor * spread_of(&p->inputs[t]) / MO_LATTICE_SPREAD);
}

/* Which of the two sets there are. */
static void plan_logits(const planner *p, bool wanted[MO_LOGITS])
{
    int i = find_exponential(p);
    if (i < 0 || p->peaks == NULL) return;
    const mo_node *node = &p->program->nodes[i];
    double peak = p->peaks[node->inputs[0].tensor];
    if (!(peak > 0.0) || !isfinite(peak)) return;
    scale_inputs(p, i, 0);
    wanted[0] = true;
    wanted[1] = !is_sharp(node->op) || is_exact(p, node->inputs[0].tensor);
    if (!wanted[1]) return;
    if (is_sharp(node->op))
        place_on_lattice(p, i);
    else
        scale_inputs(p, i, 1);
}

/* ---- the plan ---- */

static void plan_inputs(planner *p)
{
    const mo_program *program = p->program;
    for (int t = 0; t < program->n_inputs; t++) {
        mo_input_plan *input = &p->inputs[t];
        input->right = mo_inputs_right_length(program, t);
        input->special = program->tensors[t].shape.rank >= 2 && input->right == 0;
        bool apart;
        follow_rows(p, t, &apart, &input->multiplied);
        if (input->special && apart) input->infinite = ++p->n_infinite;
        for (int l = 0; l < MO_LOGITS; l++) input->logits[l] = 1.0;
        for (int i = 0; i < program->n_nodes && !input->sharp; i++)
            input->sharp = is_sharp(program->nodes[i].op) && grows_with(p, i, t);
    }
}

static int64_t rows_of(const mo_tensor *tensor)
{
    return mo_shape_elements(tensor->shape) / tensor->shape.dim[tensor->shape.rank - 1];
}

/* Fewest rows of the inputs that have special (or infinite) ones; 0: there are none. */
static int64_t fewest_rows(const planner *p, bool infinite)
{
    int64_t fewest = 0;
    for (int t = 0; t < p->program->n_inputs; t++) {
        if (infinite ? p->inputs[t].infinite == 0 : !p->inputs[t].special) continue;
        int64_t rows = rows_of(&p->program->tensors[t]);
        if (fewest == 0 || rows < fewest) fewest = rows;
    }
    return fewest;
}

mo_inputs_plan *mo_inputs_plan_new(mo_arena *arena, const mo_program *program, const double *peaks)
{
    planner p = new_planner(arena, program, peaks);
    plan_inputs(&p);
    bool logits[MO_LOGITS] = {false, false};
    plan_logits(&p, logits);
    int64_t special = fewest_rows(&p, false), infinite = fewest_rows(&p, true);
    const bool wanted[MO_INPUTS_KINDS] = {[MO_INPUTS_RANDOM] = true,
                                          [MO_INPUTS_OFFSET_100] = special > 0,
                                          [MO_INPUTS_OFFSET_1000] = special > 0,
                                          [MO_INPUTS_LARGE] = special > 0,
                                          [MO_INPUTS_ZERO] = special > 0,
                                          [MO_INPUTS_TINY] = special == 1,
                                          [MO_INPUTS_LOGITS_50] = logits[0],
                                          [MO_INPUTS_LOGITS_60000] = logits[1],
                                          [MO_INPUTS_INFINITE] = infinite > 0,
                                          [MO_INPUTS_NAN] = infinite > 0 && infinite < 2 * p.n_infinite};
    mo_inputs_plan *plan = MO_NEW(arena, mo_inputs_plan);
    *plan = (mo_inputs_plan){.program = program, .inputs = p.inputs, .n_infinite = p.n_infinite};
    for (int kind = 0; kind < MO_INPUTS_KINDS; kind++)
        if (wanted[kind]) plan->sets[plan->n_sets++] = (mo_inputs_kind)kind;
    return plan;
}

bool mo_inputs_differ(const mo_inputs_plan *plan, mo_inputs_kind kind, int input)
{
    const mo_input_plan *own = &plan->inputs[input];
    switch (kind) {
    case MO_INPUTS_RANDOM: return false;
    case MO_INPUTS_LOGITS_50: return own->logits[0] != 1.0;
    case MO_INPUTS_LOGITS_60000: return own->logits[1] != 1.0 || own->unit > 0.0;
    case MO_INPUTS_INFINITE:
    case MO_INPUTS_NAN: return own->infinite > 0;
    default: return own->special;
    }
}
