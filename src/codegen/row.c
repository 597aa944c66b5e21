/* ROW schedule: the threads of a block share rows (one axis), elementwise chains run in registers, and
 * reductions over the row combine across the threads that share it. A graph with reductions inside
 * reductions is cut into passes over the row; a resident row is read from memory once.
 *
 * Pass l computes the reductions whose operand needs l reductions before it, and stores what is final then.
 * A value of the row that several passes need stays in registers; the rest is computed again. */
#include "codegen/gen.h"

#include "base/status.h"
#include "optimize/schedule.h"

#include <string.h>

typedef struct {
    mo_gen *gen;
    const mo_schedule *s;
    int64_t extent, rows, parts; /* parts: blocks that divide a row */
    int row_threads, rows_per_block, items, passes;
    int shared_results;       /* reductions that have met in shared memory so far */
    bool tail_row, tail_item; /* guards needed */
    int *level;               /* reductions on the deepest path to a node */
    bool *kept;               /* row value stored in registers between passes */
    const char **scalar;      /* values without the row axis: name, once emitted */
    const char **element;     /* row values inside the current item and element: name */
    const char **divisor;     /* scalars that row values are divided by: name of the mo_divisor */
    const char *index[MO_MAX_AXES];
} row_gen;

static bool on_row(const row_gen *r, int node)
{
    return (r->gen->g->nodes[node].axes >> r->s->row_axis & 1u) != 0;
}

/* Can this access be read or written `vector` elements at a time? */
static bool vector_access(const row_gen *r, mo_axes axes, const mo_access *access)
{
    if (r->s->vector == 1 || access->stride[r->s->row_axis] != 1) return false;
    if (r->gen->mugraph->tensors[access->tensor].offset % r->s->vector != 0) return false;
    MO_FOR_AXES(a, axes & ~(1u << r->s->row_axis))
        if (access->stride[a] % r->s->vector != 0) return false;
    return true;
}

/* Pass in which a user needs the node's row values. */
static int pass_of_use(const row_gen *r, int user)
{
    return r->gen->g->nodes[user].reduced != 0 ? r->level[user] - 1 : r->level[user];
}

/* A pointwise row value needed in a later pass than its own as well is kept. */
static void choose_kept(row_gen *r)
{
    const mo_prim *g = r->gen->g;
    for (int i = 0; i < g->n_nodes; i++) {
        if (!on_row(r, i) || !mo_op_is_pointwise(g->nodes[i].op) || !r->s->resident) continue;
        bool now = false, later = false;
        for (int u = i + 1; u < g->n_nodes; u++)
            for (int j = 0; j < g->nodes[u].n_in; j++) {
                if (g->nodes[u].in[j] != i) continue;
                if (pass_of_use(r, u) > r->level[i])
                    later = true;
                else
                    now = true;
            }
        r->kept[i] = now && later;
    }
}

static const char *scalar_value(row_gen *r, int node)
{
    mo_gen *gen = r->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    if (r->scalar[node] != NULL) return r->scalar[node];
    MO_CHECK(n->reduced == 0);
    const char *name = mo_gen_value_name(gen, node);
    if (n->op == MO_OP_CONST) {
        name = mo_gen_number(gen, n->number);
    } else if (n->op == MO_OP_ITER) {
        mo_gen_line(gen, "const float %s = mo_load(g_%s + %s);", name, mo_gen_tensor(gen, n->access.tensor),
                    mo_gen_offset(gen, n->axes, &n->access, r->index));
    } else {
        const char *a = scalar_value(r, n->in[0]);
        const char *b = n->n_in > 1 ? scalar_value(r, n->in[1]) : "";
        mo_gen_line(gen, "const float %s = %s;", name, mo_gen_pointwise(gen, n, a, b, r->index));
    }
    r->scalar[node] = name;
    return name;
}

/* A quotient of a row value and a scalar is a product with the inverse: a division for each element would
 * take as long as the row takes to arrive. */
static bool divides_by_scalar(const row_gen *r, int node)
{
    const mo_prim_node *n = &r->gen->g->nodes[node];
    return n->op == MO_OP_DIV && on_row(r, n->in[0]) && !on_row(r, n->in[1]);
}

static bool is_sqrt(const row_gen *r, int node)
{
    return r->gen->g->nodes[node].op == MO_OP_SQRT;
}

static void declare_divisor(row_gen *r, int node)
{
    mo_gen *gen = r->gen;
    if (r->divisor[node] != NULL) return;
    bool root = is_sqrt(r, node);
    const char *of = scalar_value(r, root ? gen->g->nodes[node].in[0] : node);
    r->divisor[node] = mo_arena_printf(gen->arena, "by_%s", mo_gen_value_name(gen, node));
    mo_gen_line(gen, "const mo_divisor %s = mo_divisor_of%s(%s);", r->divisor[node], root ? "_sqrt" : "", of);
}

/* Scalars below a row value, so that they are emitted outside the item loop. */
static void hoist_scalars(row_gen *r, int node)
{
    const mo_prim *g = r->gen->g;
    bool *needed = MO_NEW_ARRAY(r->gen->arena, bool, node + 1);
    needed[node] = true;
    for (int i = node; i >= 0; i--) {
        if (!needed[i] || !on_row(r, i)) continue;
        for (int j = 0; j < g->nodes[i].n_in; j++)
            if (j == 0 || !divides_by_scalar(r, i)) needed[g->nodes[i].in[j]] = true;
    }
    for (int i = 0; i <= node; i++) {
        if (needed[i] && !on_row(r, i)) scalar_value(r, i);
        if (needed[i] && divides_by_scalar(r, i)) declare_divisor(r, g->nodes[i].in[1]);
    }
}

static const char *row_array(row_gen *r, int node)
{
    const mo_prim_node *n = &r->gen->g->nodes[node];
    const char *base =
        n->op == MO_OP_ITER ? mo_gen_tensor(r->gen, n->access.tensor) : mo_gen_value_name(r->gen, node);
    return n->op == MO_OP_ITER ? mo_arena_printf(r->gen->arena, "r_%s_%d", base, node)
                               : mo_arena_printf(r->gen->arena, "r_%s", base);
}

static const char *element_value(row_gen *r, int node, int pass)
{
    mo_gen *gen = r->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    if (!on_row(r, node)) return scalar_value(r, node);
    if (r->element[node] != NULL) return r->element[node];
    const char *name;
    if (n->op == MO_OP_ITER || (r->kept[node] && pass > r->level[node])) {
        name = mo_arena_printf(gen->arena, r->s->resident ? "%s[i][v]" : "%s[v]", row_array(r, node));
    } else {
        const char *index[MO_MAX_AXES];
        memcpy(index, r->index, sizeof index);
        index[r->s->row_axis] = mo_arena_printf(gen->arena, "(%s + v)", r->index[r->s->row_axis]);
        const char *a = element_value(r, n->in[0], pass);
        name = mo_gen_value_name(gen, node);
        if (divides_by_scalar(r, node)) {
            mo_gen_line(gen, "const float %s = mo_divide(%s, %s);", name, a, r->divisor[n->in[1]]);
        } else {
            const char *b = n->n_in > 1 ? element_value(r, n->in[1], pass) : "";
            mo_gen_line(gen, "const float %s = %s;", name, mo_gen_pointwise(gen, n, a, b, index));
        }
        if (r->kept[node]) mo_gen_line(gen, "%s[i][v] = %s;", row_array(r, node), name);
    }
    r->element[node] = name;
    return name;
}

static const char *row_index(row_gen *r)
{
    return mo_arena_printf(r->gen->arena, "i_%s", r->gen->g->axes[r->s->row_axis].name);
}

static void open_items(row_gen *r)
{
    mo_gen *gen = r->gen;
    const char *index = row_index(r);
    if (r->s->resident) {
        if (r->items > 1) mo_gen_line(gen, "#pragma unroll");
        mo_gen_line(gen, "for (int i = 0; i < %d; i++) {", r->items);
        mo_gen_line(gen, "[[maybe_unused]] const int %s = %s(i * LANES + lane) * VEC;", index,
                    r->parts > 1 ? "part + " : "");
        if (r->tail_item) mo_gen_line(gen, "if (%s < %lld) {", index, (long long)r->extent);
    } else {
        mo_gen_line(gen, "for (int %s = lane * VEC; %s < %lld; %s += LANES * VEC) {", index, index,
                    (long long)r->extent, index);
    }
    r->index[r->s->row_axis] = index;
}

static void close_items(row_gen *r)
{
    if (r->s->resident && r->tail_item) mo_gen_line(r->gen, "}");
    mo_gen_line(r->gen, "}");
}

/* Into floats, or where one is given and the access is wide, into an array of words. */
static void load_element(row_gen *r, int node, const char *into, const char *words)
{
    mo_gen *gen = r->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    const char *tensor = mo_gen_tensor(gen, n->access.tensor);
    const char *offset = mo_gen_offset(gen, n->axes, &n->access, r->index);
    if (vector_access(r, n->axes, &n->access)) {
        if (words == NULL)
            mo_gen_line(gen, "mo_load_vec<VEC>(%s, g_%s + %s);", into, tensor, offset);
        else
            mo_gen_line(gen, "mo_load_words(%s, g_%s + %s);", words, tensor, offset);
        return;
    }
    mo_gen_line(gen, "#pragma unroll");
    mo_gen_line(gen, "for (int v = 0; v < VEC; v++) %s[v] = mo_load(g_%s + %s + v * %lld);", into, tensor,
                offset, (long long)n->access.stride[r->s->row_axis]);
}

/* Does this pass's work on `node` reach the iterator? */
static bool reaches(const row_gen *r, int node, int pass, int target)
{
    bool *reaching = MO_NEW_ARRAY(r->gen->arena, bool, r->gen->g->n_nodes);
    reaching[target] = true;
    for (int i = target + 1; i <= node; i++) {
        const mo_prim_node *n = &r->gen->g->nodes[i];
        if (!on_row(r, i) || (r->kept[i] && pass > r->level[i])) continue;
        for (int j = 0; j < n->n_in; j++) reaching[i] |= reaching[n->in[j]];
    }
    return reaching[node];
}

static bool reduces_in(const row_gen *r, int node, int pass)
{
    return r->gen->g->nodes[node].reduced != 0 && r->level[node] - 1 == pass;
}

static bool saves_in(const row_gen *r, int saver, int pass)
{
    int node = r->gen->g->savers[saver].node;
    return on_row(r, node) && r->level[node] == pass;
}

/* Does a pass need the values of this iterator of the row? */
static bool used_in(const row_gen *r, int iterator, int pass)
{
    const mo_prim *g = r->gen->g;
    bool used = false;
    for (int u = 0; u < g->n_nodes; u++)
        for (int j = 0; reduces_in(r, u, pass) && j < g->nodes[u].n_in; j++)
            used |= reaches(r, g->nodes[u].in[j], pass, iterator);
    for (int s = 0; s < g->n_savers; s++)
        used |= saves_in(r, s, pass) && reaches(r, g->savers[s].node, pass, iterator);
    return used;
}

static int first_use(const row_gen *r, int iterator)
{
    int pass = 0;
    while (pass < r->passes && !used_in(r, iterator, pass)) pass++;
    return pass;
}

static bool is_row_iterator(const row_gen *r, int node)
{
    return on_row(r, node) && r->gen->g->nodes[node].op == MO_OP_ITER;
}

static bool is_wide(const row_gen *r, int iterator)
{
    const mo_prim_node *n = &r->gen->g->nodes[iterator];
    return vector_access(r, n->axes, &n->access);
}

/* An iterator's elements as they lie in memory. */
static const char *word_array(row_gen *r, int iterator)
{
    return mo_arena_printf(r->gen->arena, "w%s", row_array(r, iterator) + 1);
}

static mo_dtype stored_type(const row_gen *r, int iterator)
{
    return r->gen->mugraph->tensors[r->gen->g->nodes[iterator].access.tensor].dtype;
}

static void declare_rows(row_gen *r)
{
    mo_gen *gen = r->gen;
    for (int i = 0; i < gen->g->n_nodes; i++) {
        if (!is_row_iterator(r, i) && !r->kept[i]) continue;
        mo_gen_line(gen, "float %s[%d][VEC];", row_array(r, i), r->items);
        if (!is_row_iterator(r, i) || !is_wide(r, i)) continue;
        mo_gen_line(gen, "unsigned %s[%d][%d]%s;", word_array(r, i), r->items,
                    r->s->vector * mo_dtype_size(stored_type(r, i)) / 4, r->tail_item ? " = {}" : "");
    }
}

/* An expression of one word of each load, whose value is 0 and unknown to the compiler. */
static const char *join_loads(row_gen *r)
{
    mo_str all = {0};
    for (int node = 0; node < r->gen->g->n_nodes; node++)
        for (int i = 0; i < r->items && is_row_iterator(r, node) && is_wide(r, node); i++)
            mo_str_printf(&all, "%s%s[%d][0]", all.length > 0 ? " | " : "", word_array(r, node), i);
    const char *text = mo_arena_strdup(r->gen->arena, mo_str_text(&all));
    mo_str_free(&all);
    return text;
}

static void unpack_rows(row_gen *r)
{
    mo_gen *gen = r->gen;
    mo_gen_line(gen,
                "// All loads are under way before the first value is used: nothing is 0, but the compiler,");
    mo_gen_line(gen, "// which would wait in between to save registers, cannot know that.");
    mo_gen_line(gen, "const unsigned nothing = (%s) & gridDim.z >> 1;", join_loads(r));
    open_items(r);
    for (int i = 0; i < gen->g->n_nodes; i++)
        if (is_row_iterator(r, i) && is_wide(r, i))
            mo_gen_line(gen, "mo_unpack_words<%s>(%s[i], %s[i], %s);", mo_gen_type(stored_type(r, i)),
                        row_array(r, i), word_array(r, i), first_use(r, i) == 0 ? "nothing" : "0u");
    close_items(r);
}

/* What is needed first is loaded first. */
static void load_resident_rows(row_gen *r)
{
    mo_gen *gen = r->gen;
    bool any_wide = false;
    declare_rows(r);
    open_items(r);
    for (int pass = 0; pass <= r->passes; pass++)
        for (int i = 0; i < gen->g->n_nodes; i++) {
            if (!is_row_iterator(r, i) || first_use(r, i) != pass) continue;
            any_wide |= is_wide(r, i);
            load_element(r, i, mo_arena_printf(gen->arena, "%s[i]", row_array(r, i)),
                         mo_arena_printf(gen->arena, "%s[i]", word_array(r, i)));
        }
    close_items(r);
    for (int i = 0; i < gen->g->n_nodes; i++)
        if (gen->g->nodes[i].op == MO_OP_ITER && !on_row(r, i)) scalar_value(r, i);
    if (any_wide) unpack_rows(r);
}

/* Loads the iterators that this pass uses, when the row is not resident. */
static void load_passing_rows(row_gen *r, int pass)
{
    for (int i = 0; i < r->gen->g->n_nodes; i++) {
        if (!is_row_iterator(r, i) || !used_in(r, i, pass)) continue;
        mo_gen_line(r->gen, "float %s[VEC];", row_array(r, i));
        load_element(r, i, row_array(r, i), NULL);
    }
}

static void accumulate(row_gen *r, int node, int pass)
{
    mo_gen *gen = r->gen;
    const mo_prim_node *n = &gen->g->nodes[node];
    const char *name = mo_gen_value_name(gen, node);
    const char *a = element_value(r, n->in[0], pass);
    if (n->op == MO_OP_MATMUL)
        mo_gen_line(gen, "%s += %s * %s;", name, a, element_value(r, n->in[1], pass));
    else
        mo_gen_line(gen, "%s = %s::apply(%s, %s);", name, mo_gen_reduction(n->op), name, a);
}

static void save_elements(row_gen *r, int pass)
{
    mo_gen *gen = r->gen;
    for (int s = 0; s < gen->g->n_savers; s++) {
        if (!saves_in(r, s, pass)) continue;
        const mo_saver *saver = &gen->g->savers[s];
        mo_axes axes = gen->g->nodes[saver->node].axes;
        const char *offset = mo_gen_offset(gen, axes, &saver->access, r->index);
        const char *tensor = mo_gen_tensor(gen, saver->access.tensor);
        const char *guard = r->tail_row ? "if (active) " : "";
        if (vector_access(r, axes, &saver->access)) {
            mo_gen_line(gen, "%smo_store_vec<VEC>(g_%s + %s, out%d);", guard, tensor, offset, s);
            continue;
        }
        mo_gen_line(gen, "#pragma unroll");
        mo_gen_line(gen, "for (int v = 0; v < VEC; v++) %smo_store(g_%s + %s + v * %lld, out%d[v]);", guard,
                    tensor, offset, (long long)saver->access.stride[r->s->row_axis], s);
    }
}

static void pass_over_row(row_gen *r, int pass)
{
    mo_gen *gen = r->gen;
    const mo_prim *g = gen->g;
    bool work = false;
    for (int i = 0; i < g->n_nodes; i++) {
        if (!reduces_in(r, i, pass)) continue;
        mo_gen_line(gen, "float %s = %s::start(); // %s", mo_gen_value_name(gen, i),
                    mo_gen_reduction(g->nodes[i].op), mo_gen_describe(gen, i));
        for (int j = 0; j < g->nodes[i].n_in; j++) hoist_scalars(r, g->nodes[i].in[j]);
        work = true;
    }
    for (int s = 0; s < g->n_savers; s++) {
        if (!saves_in(r, s, pass)) continue;
        hoist_scalars(r, g->savers[s].node);
        work = true;
    }
    if (!work) return;
    open_items(r);
    if (!r->s->resident) load_passing_rows(r, pass);
    for (int s = 0; s < g->n_savers; s++)
        if (saves_in(r, s, pass)) mo_gen_line(gen, "float out%d[VEC];", s);
    memset(r->element, 0, sizeof *r->element * (size_t)g->n_nodes);
    mo_gen_line(gen, "#pragma unroll");
    mo_gen_line(gen, "for (int v = 0; v < VEC; v++) {");
    for (int i = 0; i < g->n_nodes; i++)
        if (reduces_in(r, i, pass)) accumulate(r, i, pass);
    for (int s = 0; s < g->n_savers; s++)
        if (saves_in(r, s, pass))
            mo_gen_line(gen, "out%d[v] = %s;", s, element_value(r, g->savers[s].node, pass));
    mo_gen_line(gen, "}");
    save_elements(r, pass);
    close_items(r);
}

/* The results of all warps of the block for one reduction, in its own part of the scratch memory. */
static const char *shared_results(const row_gen *r, int reduction)
{
    int at = (r->shared_results + reduction) * (r->s->threads / 32);
    return at == 0 ? "scratch" : mo_arena_printf(r->gen->arena, "scratch + %d", at);
}

/* Reductions of one pass meet in shared memory together, behind one barrier. */
static void combine_lanes(row_gen *r, int pass)
{
    mo_gen *gen = r->gen;
    const mo_prim *g = gen->g;
    bool shared = r->row_threads > 32;
    int count = 0;
    for (int i = 0; i < g->n_nodes; i++) {
        if (!reduces_in(r, i, pass)) continue;
        const char *name = mo_gen_value_name(gen, i);
        mo_gen_line(gen, "%s = mo_reduce_warp<%s, %s>(%s);", name, mo_gen_reduction(g->nodes[i].op),
                    shared ? "32" : "LANES", name);
        if (shared) mo_gen_line(gen, "mo_share_warp(%s, %s);", shared_results(r, count++), name);
    }
    if (count == 0) return;
    mo_gen_line(gen, "__syncthreads();");
    count = 0;
    for (int i = 0; i < g->n_nodes; i++)
        if (reduces_in(r, i, pass))
            mo_gen_line(gen, "%s = mo_reduce_shared<%s, LANES>(%s);", mo_gen_value_name(gen, i),
                        mo_gen_reduction(g->nodes[i].op), shared_results(r, count++));
    r->shared_results += count;
}

static void combine(row_gen *r, int pass)
{
    mo_gen *gen = r->gen;
    if (!r->s->rows_fast) combine_lanes(r, pass);
    for (int i = 0; i < gen->g->n_nodes; i++) {
        if (!reduces_in(r, i, pass)) continue;
        const char *name = mo_gen_value_name(gen, i), *op = mo_gen_reduction(gen->g->nodes[i].op);
        if (r->s->rows_fast)
            mo_gen_line(gen, "%s = mo_reduce_strided<%s, LANES, %d>(%s, scratch);", name, op,
                        r->rows_per_block, name);
        r->scalar[i] = name;
    }
}

/* The indices of the axes beside the row, from the row's number; the fastest has the smallest stride. */
static void decode_row(row_gen *r)
{
    mo_gen *gen = r->gen;
    const mo_prim *g = gen->g;
    mo_axes axes = g->nodes[g->savers[0].node].axes & ~(1u << r->s->row_axis);
    const mo_access *access = &g->savers[0].access;
    mo_gen_line(gen, "int rest = %s;", r->tail_row ? "active ? row : 0" : "row");
    while (axes != 0) {
        int fastest = mo_axes_first(axes);
        MO_FOR_AXES(a, axes)
            if (access->stride[a] < access->stride[fastest]) fastest = a;
        axes &= ~(1u << fastest);
        r->index[fastest] = mo_arena_printf(gen->arena, "i_%s", g->axes[fastest].name);
        mo_gen_line(gen, axes == 0 ? "const int %s = rest;" : "const int %s = rest %% %lld;",
                    r->index[fastest], (long long)g->axes[fastest].extent);
        if (axes != 0) mo_gen_line(gen, "rest /= %lld;", (long long)g->axes[fastest].extent);
    }
}

static void open_row_kernel(row_gen *r)
{
    mo_gen *gen = r->gen;
    const mo_prim *g = gen->g;
    /* The launch and the way to the first load take about as long as the row itself: let them overlap the end
     * of the kernel before this one. */
    mo_gen_start_early(gen);
    mo_gen_open_kernel(gen);
    mo_gen_line(gen, "constexpr int LANES = %d; // threads that share a row of %lld", r->row_threads,
                (long long)r->extent);
    mo_gen_line(gen, "constexpr int ROWS = %d;  // rows of a block", r->rows_per_block);
    mo_gen_line(gen, "constexpr int VEC = %d;", r->s->vector);
    int reductions = 0;
    for (int i = 0; i < g->n_nodes; i++) reductions += g->nodes[i].reduced != 0;
    if (reductions > 0 && r->s->rows_fast)
        mo_gen_line(gen, "__shared__ float scratch[%d];", r->s->threads);
    else if (reductions > 0 && r->row_threads > 32)
        mo_gen_line(gen, "__shared__ __align__(16) float scratch[%d];", reductions * (r->s->threads / 32));
    mo_gen_line(gen, "const int lane = threadIdx.x %s;", r->s->rows_fast ? "/ ROWS" : "% LANES");
    const char *block = "blockIdx.x";
    if (r->parts > 1) {
        block = mo_arena_printf(gen->arena, "blockIdx.x / %lld", (long long)r->parts);
        mo_gen_line(gen, "const int part = blockIdx.x %% %lld * %lld; // blocks divide the row",
                    (long long)r->parts, (long long)r->s->tile[r->s->row_axis]);
    }
    mo_gen_line(gen, "[[maybe_unused]] const int row = %s * ROWS + threadIdx.x %s;", block,
                r->s->rows_fast ? "% ROWS" : "/ LANES");
    if (r->tail_row) mo_gen_line(gen, "const bool active = row < %lld;", (long long)r->rows);
    if (r->rows > 1) decode_row(r);
    mo_gen_wait_for_others(gen);
}

static void save_scalars(row_gen *r)
{
    mo_gen *gen = r->gen;
    for (int s = 0; s < gen->g->n_savers; s++) {
        const mo_saver *saver = &gen->g->savers[s];
        if (on_row(r, saver->node)) continue;
        const char *x = scalar_value(r, saver->node);
        mo_gen_line(gen, "if (lane == 0%s) mo_store(g_%s + %s, %s);", r->tail_row ? " && active" : "",
                    mo_gen_tensor(gen, saver->access.tensor),
                    mo_gen_offset(gen, gen->g->nodes[saver->node].axes, &saver->access, r->index), x);
    }
}

bool mo_gen_row(mo_gen *gen, mo_gen_launch *launch)
{
    const mo_prim *g = gen->g;
    const mo_schedule *s = &gen->kernel->schedule;
    row_gen r = {.gen = gen, .s = s, .extent = g->axes[s->row_axis].extent, .row_threads = s->lanes};
    r.rows_per_block = s->threads / s->lanes;
    r.rows = mo_prim_extent(g, g->nodes[g->savers[0].node].axes & ~(1u << s->row_axis));
    int64_t chunk = (int64_t)s->lanes * s->vector, part = s->tile[s->row_axis];
    r.parts = (r.extent + part - 1) / part;
    r.items = (int)((part + chunk - 1) / chunk);
    r.tail_item = r.extent % (r.parts > 1 ? part : chunk) != 0;
    r.tail_row = r.rows % r.rows_per_block != 0;
    r.level = MO_NEW_ARRAY(gen->arena, int, g->n_nodes);
    r.kept = MO_NEW_ARRAY(gen->arena, bool, g->n_nodes);
    r.scalar = MO_NEW_ARRAY(gen->arena, const char *, g->n_nodes);
    r.element = MO_NEW_ARRAY(gen->arena, const char *, g->n_nodes);
    r.divisor = MO_NEW_ARRAY(gen->arena, const char *, g->n_nodes);
    mo_schedule_levels(g, gen->mugraph->off, r.level);
    choose_kept(&r);
    for (int i = 0; i < g->n_nodes; i++)
        if (r.level[i] > r.passes) r.passes = r.level[i];
    open_row_kernel(&r);
    if (s->resident) load_resident_rows(&r);
    for (int pass = 0; pass <= r.passes; pass++) {
        pass_over_row(&r, pass);
        combine(&r, pass);
    }
    save_scalars(&r);
    mo_gen_line(gen, "}");
    int64_t blocks = (r.rows + r.rows_per_block - 1) / r.rows_per_block * r.parts;
    *launch = (mo_gen_launch){.grid = {(unsigned)blocks, 1, 1}, .block = {(unsigned)s->threads, 1, 1}};
    return true;
}
