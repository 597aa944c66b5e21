#include "search/joint_state.h"

#include "base/status.h"

#include <string.h>

enum { STOP_INTERVAL = 1 << 10, TILE = 16 };

/* Order of two operators in a block graph: the largest operand first. */
typedef struct {
    int high, low, form;
    mo_axes reduced;
} rank;

/* A block graph being built. Known values: numbers, what is in device memory, what was computed. */
typedef struct {
    joint_kernel kernel;
    int n_known;
    joint_id known[JOINT_MAX_VALUES];
    bool computed[JOINT_MAX_VALUES]; /* here; otherwise it is a number or read */
    bool closed[JOINT_MAX_VALUES];   /* in device memory, but computed here */
    uint8_t uses[JOINT_MAX_VALUES];
    bool late[JOINT_MAX_VALUES]; /* depends on something accumulated */
    int accumulators, accumulated_products;
    int64_t bytes;
    rank last;
} block;

static void gen_kernel(joint *s);
static void gen_block(joint *s, block *b);

static bool must_stop(joint *s)
{
    const mo_joint_options *o = &s->options;
    if (s->stats.states % STOP_INTERVAL == 0 && o->stop != NULL && o->stop(o->stop_context))
        s->stopped = true;
    if (o->max_states > 0 && s->stats.states >= o->max_states) s->stopped = true;
    return s->stopped;
}

static bool above(rank a, rank b)
{
    if (a.high != b.high) return a.high > b.high;
    if (a.low != b.low) return a.low > b.low;
    if (a.form != b.form) return a.form > b.form;
    return a.reduced > b.reduced;
}

static bool in_device(const joint *s, int value)
{
    for (int i = 0; i < s->n_device; i++)
        if (s->device[i] == value) return true;
    return false;
}

/* ---- ConstructOp ---- */

static bool wanted(joint *s, mo_abs_expr expr)
{
    for (int t = 0; t < s->n_targets; t++)
        if (mo_abs_subexpr(s->abs, expr, s->targets[t])) return true;
    return false;
}

/* Elementwise results have the axes of an operand or of a value of the program. */
static bool shape_allowed(const joint *s, const mo_prim_node *node)
{
    if (node->n_in < 2 || node->op == MO_OP_MATMUL) return true;
    if (node->axes == s->values[node->in[0]].node.axes || node->axes == s->values[node->in[1]].node.axes)
        return true;
    for (int i = 0; i < s->n_shapes; i++)
        if (s->shapes[i] == node->axes) return true;
    return false;
}

static mo_dtype result_dtype(const joint *s, const mo_prim_node *node)
{
    if (node->op == MO_OP_CAST) return node->dtype;
    mo_dtype dtype = MO_F32;
    bool found = false;
    for (int i = 0; i < node->n_in; i++) {
        const mo_prim_node *in = &s->values[node->in[i]].node;
        if (in->op == MO_OP_CONST) continue;
        dtype = found ? mo_dtype_promote(dtype, in->dtype) : in->dtype;
        found = true;
    }
    return dtype;
}

/* Bytes of a value's tile in shared memory. */
static int64_t tile_bytes(const joint *s, const joint_kernel *kernel, const mo_prim_node *node)
{
    int64_t bytes = mo_dtype_size(node->dtype);
    MO_FOR_AXES(a, node->axes) {
        int64_t extent = s->graph->axes[a].extent;
        bool divided = (kernel->grid | kernel->loop) >> a & 1u;
        bytes *= divided && extent > TILE ? TILE : extent;
    }
    return bytes;
}

/* The value of `node` (operands are values), entered if it is new: *entered. -1: invalid. `kernel` has the
 * placement; `late_use`: the loop goes over it and an operand is only known behind the loop. */
static int construct(joint *s, mo_prim_node *node, const joint_kernel *kernel, bool late_use, int64_t *bytes,
                     bool *entered)
{
    mo_joint_stats *stats = &s->stats;
    *entered = false;
    stats->states++;
    mo_abs_expr expr = {0};
    if (!s->options.no_prune) {
        expr = joint_expression(s, node);
        if (!wanted(s, expr)) return stats->pruned_expression++, -1;
    }
    if (late_use || node->reduced & kernel->grid || !shape_allowed(s, node)) return stats->pruned_shape++, -1;
    node->dtype = result_dtype(s, node);
    *bytes += kernel->predefined ? 0 : tile_bytes(s, kernel, node);
    if (s->options.shared_bytes > 0 && *bytes > s->options.shared_bytes) return stats->pruned_memory++, -1;
    int known = joint_find_derivation(s, node);
    if (known >= 0) return known;
    mo_hash128 print;
    if (!joint_evaluate(s, node, &print) || joint_find_value(s, print, node->axes) >= 0)
        return stats->pruned_duplicate++, -1;
    if (s->n_values - s->n_leaves >= s->options.max_ops) return -1;
    MO_CHECK(s->n_values < JOINT_MAX_VALUES);
    s->values[s->n_values] = (joint_value){*node, print, expr, NULL};
    *entered = true;
    return s->n_values++;
}

/* Makes the node of a form on operands; false where the plan leaves it out. */
static bool make_node(const joint *s, const joint_form *form, int x, int y, mo_axes reduced,
                      mo_prim_node *node)
{
    *node = form->node;
    mo_op op = node->op;
    node->in[0] = x;
    node->in[1] = node->n_in == 2 ? y : 0;
    node->axes = s->values[x].node.axes;
    if (node->n_in == 2) node->axes |= s->values[y].node.axes;
    node->reduced = reduced;
    node->axes &= ~reduced;
    if (op == MO_OP_MUL && x == y && s->square) return false;
    if (mo_mask_axes(node) & ~node->axes) return false;
    return x != y || (op != MO_OP_DIV && op != MO_OP_SUB && op != MO_OP_MATMUL);
}

/* Calls `apply` for the form with every set of reduced axes that it has on these operands. */
static void for_reductions(joint *s, void *context, int form, int a, int b, int x, int y,
                           void (*apply)(joint *s, void *context, int form, int a, int b, mo_axes reduced))
{
    const mo_prim_node *node = &s->forms[form].node;
    mo_axes axes = s->values[x].node.axes;
    if (node->op == MO_OP_MATMUL) axes &= s->values[y].node.axes;
    if (node->op != MO_OP_SUM && node->op != MO_OP_MATMUL) {
        if ((axes & node->reduced) == node->reduced) apply(s, context, form, a, b, node->reduced);
        return;
    }
    for (mo_axes r = axes & s->summed; r; r = (r - 1) & (axes & s->summed)) apply(s, context, form, a, b, r);
}

/* Every form on every tuple of known values; `apply` gets positions among `known`. */
static void for_tuples(joint *s, void *context, const joint_id *known, int n_known,
                       void (*apply)(joint *s, void *context, int form, int a, int b, mo_axes reduced))
{
    for (int a = 0; a < n_known; a++)
        for (int f = 0; f < s->n_forms; f++) {
            const joint_form *form = &s->forms[f];
            if (s->stopped) return;
            if (form->node.n_in == 1) {
                for_reductions(s, context, f, a, -1, known[a], 0, apply);
                continue;
            }
            for (int b = 0; b < n_known; b++) {
                if (form->second >= 0 && known[b] != form->second) continue;
                if (mo_algebra_commutes(form->node.op) && b > a) break;
                for_reductions(s, context, f, a, b, known[a], known[b], apply);
            }
        }
}

/* ---- GenBlock ---- */

static void note_read(joint *s, joint_kernel *kernel, int value)
{
    if (s->values[value].node.op == MO_OP_CONST) return;
    for (int i = 0; i < kernel->n_reads; i++)
        if (kernel->reads[i] == value) return;
    kernel->reads[kernel->n_reads++] = (joint_id)value;
}

static int counted_ops(const joint *s, const block *b)
{
    int paper = b->kernel.n_reads + b->accumulated_products;
    return b->kernel.n_ops + (s->options.count_paper ? paper : 0);
}

/* The block graph with the operator at its end. */
static void extend_block(joint *s, const block *from, int value, int a, int c, rank r, bool late,
                         int64_t bytes)
{
    block b = *from;
    int in[2] = {a, c};
    for (int i = 0; i < 2; i++) {
        if (in[i] < 0) continue;
        b.uses[in[i]]++;
        if (!b.computed[in[i]]) note_read(s, &b.kernel, b.known[in[i]]);
    }
    for (int i = 0; i < b.n_known; i++) { /* computed here although it is in device memory */
        if (b.known[i] != value) continue;
        if (b.computed[i] || b.uses[i] > 0) return;
        b.closed[i] = true;
    }
    const mo_prim_node *node = &s->values[value].node;
    bool accumulator = (node->reduced & b.kernel.loop) != 0;
    b.accumulators += accumulator;
    b.accumulated_products += accumulator && node->op == MO_OP_MATMUL;
    b.kernel.ops[b.kernel.n_ops++] = (joint_id)value;
    b.known[b.n_known] = (joint_id)value;
    b.computed[b.n_known] = true;
    b.late[b.n_known++] = late || accumulator;
    b.bytes = bytes;
    b.last = r;
    if (counted_ops(s, &b) <= s->options.max_block_ops) gen_block(s, &b);
}

static void apply_in_block(joint *s, void *context, int form, int a, int c, mo_axes reduced)
{
    block *b = context;
    rank r = {a > c ? a : c, a > c ? c : a, form * 2 + (a < c), reduced};
    mo_prim_node node;
    int x = b->known[a], y = c < 0 ? 0 : b->known[c];
    if (b->closed[a] || (c >= 0 && b->closed[c]) || !above(r, b->last)) return;
    if (!make_node(s, &s->forms[form], x, y, reduced, &node) || must_stop(s)) return;
    bool late = b->late[a] || (c >= 0 && b->late[c]), entered;
    int64_t bytes = b->bytes;
    if (!b->computed[a] && b->uses[a] == 0) bytes += tile_bytes(s, &b->kernel, &s->values[x].node);
    if (c >= 0 && c != a && !b->computed[c] && b->uses[c] == 0)
        bytes += tile_bytes(s, &b->kernel, &s->values[y].node);
    bool in_loop = ((node.axes | reduced) & b->kernel.loop) != 0;
    int value = construct(s, &node, &b->kernel, late && in_loop, &bytes, &entered);
    if (value >= 0) extend_block(s, b, value, a, c, r, late, bytes);
    if (entered) s->n_values--;
}

/* The lists of tensors read, largest first, do not descend from one kernel to the next. */
static bool in_order(joint *s, joint_kernel *kernel)
{
    for (int i = 0; i < kernel->n_reads; i++) {
        int position = 0;
        while (s->device[position] != kernel->reads[i]) position++;
        int at = i;
        for (; at > 0 && kernel->read_rank[at - 1] < position; at--)
            kernel->read_rank[at] = kernel->read_rank[at - 1];
        kernel->read_rank[at] = (joint_id)position;
    }
    if (s->n_kernels == 0) return true;
    const joint_kernel *last = &s->kernels[s->n_kernels - 1];
    for (int i = 0; i < kernel->n_reads && i < last->n_reads; i++)
        if (kernel->read_rank[i] != last->read_rank[i]) return kernel->read_rank[i] > last->read_rank[i];
    return kernel->n_reads >= last->n_reads;
}

/* Is this output in device memory, or written by the kernel? */
static bool is_output_there(const joint *s, const joint_kernel *kernel, int target)
{
    mo_axes axes = s->graph->nodes[s->target_node[target]].axes;
    for (int i = 0; i < s->n_device + (kernel ? kernel->n_outputs : 0); i++) {
        const joint_value *v = &s->values[i < s->n_device ? s->device[i] : kernel->outputs[i - s->n_device]];
        if (v->node.axes == axes && mo_hash_equal(v->print, s->target_print[target])) return true;
    }
    return false;
}

static bool complete(const joint *s, const joint_kernel *kernel)
{
    for (int t = 0; t < s->n_targets; t++)
        if (!is_output_there(s, kernel, t)) return false;
    return true;
}

static void add_kernel(joint *s, joint_kernel *kernel)
{
    if (s->n_kernels + 1 == s->options.max_kernels && !complete(s, kernel)) return;
    if (!in_order(s, kernel)) return;
    int n_device = s->n_device;
    s->kernels[s->n_kernels++] = *kernel;
    for (int i = 0; i < kernel->n_outputs; i++) s->device[s->n_device++] = kernel->outputs[i];
    gen_kernel(s);
    s->n_device = n_device;
    s->n_kernels--;
}

/* Can a block write this value, which it computed? */
static bool can_save(const joint *s, const block *b, int value)
{
    mo_axes axes = s->values[value].node.axes;
    return (axes & b->kernel.grid) == b->kernel.grid && !(axes & b->kernel.loop) && !in_device(s, value);
}

/* Closes the block graph in every way: what is not consumed is saved, what is may be. */
static void close_block(joint *s, const block *b)
{
    joint_id outputs[JOINT_MAX_BLOCK], optional[JOINT_MAX_BLOCK];
    int n_required = 0, n_optional = 0;
    if (b->kernel.n_ops == 0 || (b->kernel.loop && b->accumulators == 0)) return;
    for (int i = 0; i < b->n_known; i++) {
        if (!b->computed[i]) continue;
        bool saved = can_save(s, b, b->known[i]);
        if (!saved && b->uses[i] == 0) return;
        if (saved && b->uses[i] == 0) outputs[n_required++] = b->known[i];
        if (saved && b->uses[i] > 0) optional[n_optional++] = b->known[i];
    }
    for (uint32_t set = 0; set < 1u << n_optional && !s->stopped; set++) {
        joint_kernel kernel = b->kernel;
        memcpy(kernel.outputs, outputs, sizeof outputs);
        kernel.n_outputs = n_required;
        for (int i = 0; i < n_optional; i++)
            if (set >> i & 1u) kernel.outputs[kernel.n_outputs++] = optional[i];
        if (kernel.n_outputs > 0) add_kernel(s, &kernel);
    }
}

static void gen_block(joint *s, block *b)
{
    if (must_stop(s)) return;
    s->stats.block_graphs++;
    close_block(s, b);
    if (counted_ops(s, b) < s->options.max_block_ops && b->kernel.n_ops < JOINT_MAX_BLOCK)
        for_tuples(s, b, b->known, b->n_known, apply_in_block);
}

/* ---- GenKernel ---- */

static void apply_predefined(joint *s, void *context, int form, int a, int c, mo_axes reduced)
{
    const joint_id *known = context;
    joint_kernel kernel = {.predefined = true};
    mo_prim_node node;
    bool entered;
    int64_t bytes = 0;
    if (!make_node(s, &s->forms[form], known[a], c < 0 ? 0 : known[c], reduced, &node) || must_stop(s))
        return;
    int value = construct(s, &node, &kernel, false, &bytes, &entered);
    if (value >= 0 && !in_device(s, value)) {
        note_read(s, &kernel, known[a]);
        if (c >= 0) note_read(s, &kernel, known[c]);
        kernel.ops[kernel.n_ops++] = kernel.outputs[kernel.n_outputs++] = (joint_id)value;
        add_kernel(s, &kernel);
    }
    if (entered) s->n_values--;
}

/* Numbers, then what is in device memory. */
static int known_values(const joint *s, joint_id *known)
{
    int n = 0;
    for (int i = 0; i < s->n_leaves; i++)
        if (s->values[i].node.op == MO_OP_CONST) known[n++] = (joint_id)i;
    for (int i = 0; i < s->n_device; i++) known[n++] = s->device[i];
    return n;
}

static void gen_graph_defined(joint *s)
{
    mo_axes all = 0;
    for (int i = 0; i < s->n_device; i++) all |= s->values[s->device[i]].node.axes;
    for (int loop = -1; loop < s->graph->n_axes; loop++) {
        if (loop >= 0 && !((s->reduced & all) >> loop & 1u)) continue;
        mo_axes looped = loop < 0 ? 0 : 1u << loop, free_axes = all & ~looped;
        for (mo_axes grid = free_axes;; grid = (grid - 1) & free_axes) {
            block *b = MO_NEW(s->scratch, block);
            b->kernel.grid = grid;
            b->kernel.loop = looped;
            b->last = (rank){-1, -1, -1, 0};
            b->n_known = known_values(s, b->known);
            gen_block(s, b);
            if (grid == 0 || s->stopped) break;
        }
    }
}

static void gen_kernel(joint *s)
{
    s->stats.kernel_graphs++;
    if (complete(s, NULL)) {
        joint_accept(s);
        return;
    }
    if (s->n_kernels == s->options.max_kernels || must_stop(s)) return;
    mo_arena_mark mark = mo_arena_get_mark(s->scratch);
    joint_id *known = MO_NEW_ARRAY(s->scratch, joint_id, JOINT_MAX_VALUES);
    int n_known = known_values(s, known);
    for_tuples(s, known, known, n_known, apply_predefined);
    gen_graph_defined(s);
    mo_arena_reset(s->scratch, mark);
}

mo_joint_stats mo_joint_search(const mo_prim *graph, const mo_joint_options *options)
{
    enum { KERNELS = 5, BLOCK_OPS = 11, FIRST_CLASSES = 1024 };
    mo_arena *arena = mo_arena_new();
    joint *s = MO_NEW(arena, joint);
    mo_prim *cleaned = mo_prim_copy(arena, graph);
    mo_prim_clean(cleaned);
    s->arena = arena;
    s->scratch = mo_arena_new();
    s->graph = cleaned;
    s->options = *options;
    if (s->options.max_kernels == 0) s->options.max_kernels = KERNELS;
    if (s->options.max_block_ops == 0) s->options.max_block_ops = BLOCK_OPS;
    if (s->options.max_ops == 0) s->options.max_ops = s->options.max_kernels * s->options.max_block_ops;
    MO_CHECK(s->options.max_kernels <= JOINT_MAX_KERNELS);
    s->first = MO_NEW(arena, mo_algebra_instance);
    s->second = MO_NEW(arena, mo_algebra_instance);
    s->class_mask = FIRST_CLASSES - 1;
    s->classes = MO_NEW_ARRAY(arena, mo_hash128, FIRST_CLASSES);
    s->class_used = MO_NEW_ARRAY(arena, bool, FIRST_CLASSES);
    s->abs = mo_abs_new(mo_abs_needs_numbers(cleaned));
    if (mo_algebra_draw(arena, cleaned, options->seed, 0, s->first) &&
        mo_algebra_draw(arena, cleaned, options->seed, 1, s->second)) {
        joint_plan(s);
        gen_kernel(s);
        s->stats.complete = !s->stopped;
    }
    mo_joint_stats stats = s->stats;
    mo_abs_free(s->abs);
    mo_arena_free(s->scratch);
    mo_arena_free(arena);
    return stats;
}
