/* The program's own shapes: corners, tile boundaries and random elements (or all), cone by cone. */
#include "verify/equiv_parts.h"

#include "base/pool.h"
#include "base/status.h"
#include "verify/cone.h"
#include "verify/mugraph_eval.h"
#include "verify/program_eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PARTS 4            /* tasks; each has its own values, so that the result does not depend on threads */
#define RANDOM_ROWS 32     /* random elements: this many rows, and in each of them */
#define RANDOM_COLUMNS 8   /* this many elements; rows share most of their cones */
#define MOST_BOUNDARY 4096 /* tile corners of one output */
#define MOST_ALL (1 << 20) /* outputs up to this may be evaluated in full */
#define MOST_SETTLING 80   /* passes, as long as they cost less than this many whole ones: */
#define MOST_WHOLE_PASSES 4
#define LEAST_TABULATED ((int64_t)1 << 26) /* products for which inputs are drawn once and kept */
#define MOST_TABULATED ((int64_t)1 << 25)  /* elements: 256 MB */
#define LEAST_ROWS 16                      /* of a part */
#define LONGEST_RUN 64                     /* neighbouring elements that are evaluated at once */
#define SAMPLE_STEP 16                     /* every so many elements meet (nearly) all radicands */
#define DEFAULT_PRODUCTS (INT64_C(1) << 24)
#define LEAST_CONE 0x1p26  /* an element that takes more, and twice what there is to spend, is left out */
#define ELEMENT_COST 8.0   /* multiplications that take as long as any other operator on one element */
#define FULL_ROUND 0x10000 /* number of the draw: not one of the small rounds */

typedef struct {
    int output;
    int64_t position; /* row-major in the output */
} element;

typedef struct {
    mo_equiv_task *t;
    mo_arena *arena;
    mo_field field;
    mo_draw draw;
    mo_slice_choice *slices;
    int64_t n, capacity;
    element *elements; /* in the order of evaluation */
    bool all_active;
    bool *active;           /* evaluated in this pass */
    bool *suspect;          /* met a bad radicand */
    mo_fval *ours, *theirs; /* state 0: not evaluated */
    int64_t limit;          /* products of one part on the program's side */
    bool all;               /* every element of every output */
    int64_t spent;          /* in all passes */
    mo_program_eval *evals[PARTS], *others[PARTS];
    mo_mugraph_eval *graphs[PARTS];
} full;

static void add_element(full *f, int output, int64_t position)
{
    if (f->n == f->capacity) {
        element *grown = MO_NEW_ARRAY(f->arena, element, f->capacity * 2);
        memcpy(grown, f->elements, sizeof *grown * (size_t)f->n);
        f->elements = grown;
        f->capacity *= 2;
    }
    f->elements[f->n++] = (element){output, position};
}

static int compare_elements(const void *a, const void *b)
{
    const element *x = a, *y = b;
    if (x->output != y->output) return x->output < y->output ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position ? 1 : 0;
}

static void sort_elements(full *f)
{
    qsort(f->elements, (size_t)f->n, sizeof *f->elements, compare_elements);
    int64_t kept = 0;
    for (int64_t i = 0; i < f->n; i++)
        if (kept == 0 || compare_elements(&f->elements[kept - 1], &f->elements[i]) != 0)
            f->elements[kept++] = f->elements[i];
    f->n = kept;
}

/* Multiplications that the whole program amounts to. */
double mo_equiv_cost(const mo_program *program)
{
    double total = 0;
    for (int i = 0; i < program->n_nodes; i++) {
        const mo_node *node = &program->nodes[i];
        if (node->inputs[0].tensor < 0) continue;
        const mo_shape *in = &program->tensors[node->inputs[0].tensor].shape;
        double cost = ELEMENT_COST * (double)mo_shape_elements(*in);
        if (node->op == MO_OP_MATMUL) {
            int64_t k = in->dim[in->rank - (node->attrs.transpose_a ? 2 : 1)];
            cost = (double)mo_shape_elements(program->tensors[node->outputs[0]].shape) * (double)k;
        }
        total += cost;
    }
    return total;
}

/* Extent of a dimension's tile in the kernel that writes this tensor: the dimension's axis, by stride. */
static int64_t tile_of(const mo_mugraph *graph, int tensor, int64_t stride, int64_t extent)
{
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_kernel *kernel = &graph->kernels[k];
        for (int s = 0; s < kernel->body->n_savers; s++) {
            const mo_access *access = &kernel->body->savers[s].access;
            if (access->tensor != tensor) continue;
            for (int a = 0; a < kernel->body->n_axes; a++)
                if (access->stride[a] == stride && kernel->schedule.tile[a] > 0)
                    return kernel->schedule.tile[a] < extent ? kernel->schedule.tile[a] : extent;
        }
    }
    return extent;
}

/* First and last index of tiles along a dimension: of all of them where they are few, otherwise of the first,
 * the last and some between. */
static int64_t boundaries(int64_t extent, int64_t tile, int64_t most, int64_t *list)
{
    int64_t tiles = (extent + tile - 1) / tile, step = 1, n = 0;
    while ((tiles + step - 1) / step > most / 2) step++;
    for (int64_t i = 0; i < tiles; i += step) {
        int64_t last = (i + 1) * tile - 1 < extent ? (i + 1) * tile - 1 : extent - 1;
        list[n++] = i * tile;
        if (last != i * tile) list[n++] = last;
    }
    if (list[n - 1] != extent - 1) list[n++] = extent - 1;
    return n;
}

static void add_boundaries(full *f, int output)
{
    const mo_tensor *tensor = &f->t->program->tensors[f->t->program->outputs[output]];
    const mo_shape *shape = &tensor->shape;
    int64_t lists[MO_MAX_RANK][64], counts[MO_MAX_RANK], row_major[MO_MAX_RANK], total = 1;
    mo_shape_row_major(*shape, row_major);
    for (int d = 0; d < shape->rank; d++) {
        int64_t tile = f->t->graph == NULL
                           ? shape->dim[d]
                           : tile_of(f->t->graph, f->t->outputs[output], row_major[d], shape->dim[d]);
        counts[d] = boundaries(shape->dim[d], tile, total > 64 ? 4 : 62, lists[d]);
        total *= counts[d];
    }
    for (int64_t i = 0; i < total && i < MOST_BOUNDARY; i++) {
        int64_t rest = total > MOST_BOUNDARY ? i * (total / MOST_BOUNDARY) : i, position = 0;
        for (int d = 0; d < shape->rank; d++) {
            position += lists[d][rest % counts[d]] * row_major[d];
            rest /= counts[d];
        }
        add_element(f, output, position);
    }
}

/* Rows first to last - 1, column block by column block, so that products can be shared by rows. */
static void add_rows(full *f, int output, int64_t first, int64_t last, int64_t row)
{
    for (int64_t column = 0; column < row; column += LONGEST_RUN)
        for (int64_t start = first * row; start < last * row; start += row)
            for (int64_t j = column; j < row && j < column + LONGEST_RUN; j++)
                add_element(f, output, start + j);
}

/* A part gets rows of its own where there are many (what a row needs is then computed once), otherwise
 * columns. */
static void add_all(full *f, int output, int64_t elements, int64_t row)
{
    int64_t rows = elements / row, shares = rows >= PARTS * LEAST_ROWS ? PARTS : 1;
    for (int64_t i = 0; i < shares; i++) add_rows(f, output, rows * i / shares, rows * (i + 1) / shares, row);
}

static void choose_elements(full *f)
{
    const mo_program *program = f->t->program;
    int64_t total = 0;
    for (int o = 0; o < program->n_outputs; o++)
        total += mo_shape_elements(program->tensors[program->outputs[o]].shape);
    f->t->report->full_elements = total;
    f->all = total <= MOST_ALL && mo_equiv_cost(program) <= (double)f->limit * PARTS;
    mo_rng rng = mo_rng_seed(f->t->options->seed, 0x66756c6c);
    for (int o = 0; o < program->n_outputs; o++) {
        int64_t elements = mo_shape_elements(program->tensors[program->outputs[o]].shape);
        const mo_shape *shape = &program->tensors[program->outputs[o]].shape;
        int64_t row = shape->rank > 0 ? shape->dim[shape->rank - 1] : 1;
        if (f->all) {
            add_all(f, o, elements, row);
            continue;
        }
        if (mo_cone_cost(f->arena, program, program->outputs[o]) >
            fmax(LEAST_CONE, 2.0 * PARTS * (double)f->limit))
            continue;
        add_boundaries(f, o);
        for (int i = 0; i < RANDOM_ROWS; i++) {
            int64_t start = (int64_t)mo_rng_below(&rng, (uint64_t)(elements / row)) * row;
            for (int j = 0; j < RANDOM_COLUMNS; j++)
                add_element(f, o, start + (int64_t)mo_rng_below(&rng, (uint64_t)row));
        }
    }
    if (!f->all) sort_elements(f);
}

/* Last element (exclusive) of the run of active neighbours in one row that begins at i. */
static int64_t run_end(const full *f, int64_t i, int64_t end, int64_t row)
{
    int64_t j = i + 1;
    while (j < end && j - i < LONGEST_RUN && f->active[j] && f->elements[j].output == f->elements[i].output &&
           f->elements[j].position == f->elements[i].position + (j - i) && f->elements[j].position % row != 0)
        j++;
    return j;
}

static const mo_shape *output_shape(const mo_program *program, int output)
{
    return &program->tensors[program->outputs[output]].shape;
}

static int bad_count(const full *f, int part)
{
    const mo_bad_radicand *bad;
    int n = mo_program_eval_bad(f->evals[part], &bad);
    return f->others[part] == NULL ? n : n + mo_program_eval_bad(f->others[part], &bad);
}

static void run_program(const full *f, mo_program_eval *eval, const mo_program *program, int64_t i, int64_t n,
                        mo_fval *out)
{
    const mo_shape *shape = output_shape(f->t->program, f->elements[i].output);
    int64_t index[MO_MAX_RANK] = {0}, rest = f->elements[i].position;
    for (int d = shape->rank - 1; d >= 0; d--) {
        index[d] = rest % shape->dim[d];
        rest /= shape->dim[d];
    }
    mo_program_eval_along(eval, program->outputs[f->elements[i].output], index, shape->rank - 1, n, out);
}

/* One part of the elements: the program's side, and the other side where it is a program (its radicands
 * have to be squares as well). */
static void program_part(void *context, int worker, int64_t part)
{
    (void)worker;
    full *f = context;
    int64_t begin = f->n * part / PARTS, end = f->n * (part + 1) / PARTS;
    mo_program_eval_forget(f->evals[part]);
    mo_program_eval_set_eager(f->evals[part], f->all && f->all_active);
    if (f->others[part] != NULL) {
        mo_program_eval_forget(f->others[part]);
        mo_program_eval_set_eager(f->others[part], f->all && f->all_active);
    }
    for (int64_t i = begin, next; i < end; i = next) {
        next = i + 1;
        f->ours[i].state = f->theirs[i].state = 0;
        f->suspect[i] = false;
        if (!f->active[i]) continue;
        if (i > begin && mo_program_eval_products(f->evals[part]) > f->limit) continue;
        const mo_shape *shape = output_shape(f->t->program, f->elements[i].output);
        next = run_end(f, i, end, shape->rank == 0 ? 1 : shape->dim[shape->rank - 1]);
        int before = bad_count(f, (int)part);
        run_program(f, f->evals[part], f->t->program, i, next - i, f->ours + i);
        if (f->others[part] != NULL) run_program(f, f->others[part], f->t->other, i, next - i, f->theirs + i);
        bool bad = bad_count(f, (int)part) != before;
        for (int64_t j = i; j < next; j++) f->suspect[j] = bad;
    }
}

static void graph_part(void *context, int worker, int64_t part)
{
    (void)worker;
    full *f = context;
    int64_t begin = f->n * part / PARTS, end = f->n * (part + 1) / PARTS;
    mo_mugraph_eval *eval = f->graphs[part];
    mo_mugraph_eval_set_eager(eval, f->all);
    for (int64_t i = begin, next; i < end; i = next) {
        next = i + 1;
        if (f->ours[i].state == 0) continue;
        if (i > begin && mo_mugraph_eval_products(eval) > 4 * f->limit) continue;
        const mo_shape *shape = output_shape(f->t->program, f->elements[i].output);
        next = run_end(f, i, end, shape->rank == 0 ? 1 : shape->dim[shape->rank - 1]);
        while (next > i + 1 && f->ours[next - 1].state == 0) next--;
        mo_mugraph_eval_along(eval, f->t->outputs[f->elements[i].output], f->elements[i].position, 1,
                              next - i, f->theirs + i);
    }
}

/* Draws the slices of all bad radicands again; false if there are none with any hope. */
static bool draw_again(full *f)
{
    int hopeful = 0;
    for (int part = 0; part < PARTS; part++) {
        const mo_bad_radicand *bad;
        int n = mo_program_eval_bad(f->evals[part], &bad);
        hopeful += mo_slices_again(f->slices, &f->draw, bad, n);
    }
    return hopeful > 0;
}

/* Inputs are drawn once for a pass over many elements. */
static void tabulate(full *f, mo_pool *pool)
{
    if (f->limit * PARTS >= LEAST_TABULATED) mo_draw_tabulate(&f->draw, f->arena, pool, MOST_TABULATED);
}

/* Has the program radicands that have to be squares? */
static bool has_radicands(const full *f)
{
    for (int i = 0; i < f->t->program->n_nodes; i++)
        if (f->slices[i].input >= 0) return !f->field.free;
    return false;
}

/* Passes over few elements until their radicands are squares, then over all, until nothing bad is met. */
static bool settle(full *f, mo_pool *pool)
{
    int64_t n_active = 0, step = has_radicands(f) ? SAMPLE_STEP : 1;
    for (int64_t i = 0; i < f->n; i++) n_active += f->active[i] = i % step == 0;
    for (int tries = 0;; tries++) {
        f->all_active = n_active == f->n;
        if (f->all_active || tries == 0) tabulate(f, pool);
        mo_pool_run(pool, PARTS, program_part, f);
        int64_t suspects = 0;
        for (int64_t i = 0; i < f->n; i++) suspects += f->suspect[i] ? 1 : 0;
        bool whole = f->all_active;
        if (suspects == 0 && whole) return true;
        for (int part = 0; part < PARTS; part++) f->spent += mo_program_eval_products(f->evals[part]);
        bool more = tries < MOST_SETTLING && f->spent < MOST_WHOLE_PASSES * PARTS * f->limit;
        bool hope = suspects == 0 || (more && draw_again(f));
        if (!hope && whole) return false;
        bool focus = suspects > 0 && hope;
        n_active = 0;
        for (int64_t i = 0; i < f->n; i++) n_active += f->active[i] = !focus || f->suspect[i];
    }
}

static mo_equiv judge(full *f)
{
    mo_verify_report *report = f->t->report;
    bool undefined = false;
    report->full_checked = 0;
    /* Undefined on both sides: a row that is masked as a whole, a quotient by zero. Nothing is compared
     * there. */
    for (int64_t i = 0; i < f->n; i++) {
        if (f->ours[i].state == 0 || f->theirs[i].state == 0) continue;
        if ((f->ours[i].state | f->theirs[i].state) & MO_FV_UNDEFINED) {
            undefined |= f->ours[i].state != f->theirs[i].state;
            continue;
        }
        report->full_checked++;
        if (mo_fval_same(f->ours[i], f->theirs[i])) continue;
        const mo_shape *shape = output_shape(f->t->program, f->elements[i].output);
        report->output = f->elements[i].output;
        report->rank = shape->rank;
        int64_t rest = f->elements[i].position;
        for (int d = shape->rank - 1; d >= 0; d--) {
            report->index[d] = rest % shape->dim[d];
            rest /= shape->dim[d];
        }
        return MO_DIFFERENT;
    }
    if (!undefined && (report->full_checked > 0 || f->n == 0)) return MO_EQUAL_TESTED;
    report->reason = "values are undefined at the program's own shape";
    return MO_UNDECIDED;
}

static const char *open_parts(full *f)
{
    const char *reason = NULL;
    for (int part = 0; part < PARTS; part++) {
        f->evals[part] = mo_program_eval_new(f->t->program, &f->draw, false);
        if (f->t->other != NULL) f->others[part] = mo_program_eval_new(f->t->other, &f->draw, false);
        if (f->t->graph == NULL) continue;
        f->graphs[part] = mo_mugraph_eval_new(f->t->graph, &f->draw, &reason);
        if (f->graphs[part] == NULL) return reason;
    }
    return NULL;
}

static mo_equiv run_full(full *f, bool *decisive)
{
    const char *reason = open_parts(f);
    if (reason != NULL) {
        f->t->report->reason = reason;
        return MO_UNDECIDED;
    }
    mo_pool *pool = mo_pool_new(f->t->options->threads);
    bool exact = settle(f, pool);
    if (f->t->graph != NULL) mo_pool_run(pool, PARTS, graph_part, f);
    mo_pool_free(pool);
    *decisive = exact && !f->t->soft && !f->t->free && f->field.constants_square;
    return judge(f);
}

mo_equiv mo_equiv_full(mo_equiv_task *t, bool *decisive)
{
    full f = {.t = t, .arena = mo_arena_new(), .capacity = 1024};
    int64_t products = t->options->max_products == 0 ? DEFAULT_PRODUCTS : t->options->max_products;
    f.limit = products / PARTS;
    uint64_t number = FULL_ROUND + (uint64_t)t->full_draw;
    mo_field_draw(&f.field, t->options->seed, number, t->chain, t->constants, t->n_constants);
    mo_draw_inputs(&f.draw, f.arena, t->program);
    f.field.free = t->free;
    f.slices = mo_slices_plan(f.arena, t->program, &f.draw);
    mo_draw_start(&f.draw, &f.field, t->options->seed, number);
    f.elements = MO_NEW_ARRAY(f.arena, element, f.capacity);
    choose_elements(&f);
    f.active = MO_NEW_ARRAY(f.arena, bool, f.n + 1);
    f.suspect = MO_NEW_ARRAY(f.arena, bool, f.n + 1);
    f.ours = MO_NEW_ARRAY(f.arena, mo_fval, f.n + 1);
    f.theirs = MO_NEW_ARRAY(f.arena, mo_fval, f.n + 1);
    mo_equiv result = run_full(&f, decisive);
    for (int part = 0; part < PARTS; part++) {
        mo_program_eval_free(f.evals[part]);
        mo_program_eval_free(f.others[part]);
        mo_mugraph_eval_free(f.graphs[part]);
    }
    mo_arena_free(f.arena);
    return result;
}
