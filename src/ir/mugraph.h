/* muGraph: a kernel graph whose nodes are predefined kernels (one node of the program as written) or
 * graph-defined kernels. Both carry a body: a block graph (the primitive graph of what one launch
 * computes) and its schedule: where each axis lives and how the block's threads share the work.
 *
 * imap, omap and fmap of the paper follow from the placement of the axes: a grid axis of an iterator's
 * access is its imap, a loop axis its fmap, a grid axis of a saver its omap.
 *
 * Tensors: the program's tensors first (same numbers), then the muGraph's own intermediates. */
#ifndef MO_IR_MUGRAPH_H
#define MO_IR_MUGRAPH_H

#include "ir/passes.h"
#include "ir/prim.h"

typedef enum {
    MO_PLACE_GRID, /* `tile` consecutive indices for each block */
    MO_PLACE_LOOP, /* `tile` consecutive indices for each iteration (and each warp group) */
    MO_PLACE_WHOLE /* the whole axis in every block */
} mo_place;

/* How the slabs of a STREAM kernel come to a block. */
typedef enum {
    MO_COPY_ASYNC,  /* asynchronous copies of up to 16 bytes by every thread */
    MO_COPY_TENSOR, /* sm_90: boxes by the tensor copy engine, wherever a tile allows it */
    MO_COPY_DIRECT  /* the same; operands of the 8-side go straight from memory to registers where they can */
} mo_copy;

/* How a kernel's block works. */
typedef enum {
    MO_SCHEDULE_PLAIN,  /* a thread for each output element; any graph */
    MO_SCHEDULE_ROW,    /* one shared axis spread over threads, reductions across them; no matmul */
    MO_SCHEDULE_STREAM, /* matmuls that stream slabs of the reduced axis through per-group rings */
    MO_SCHEDULE_CHAIN,  /* products in the loop whose results feed products over it, in registers (ir/chain.h)
                         */
    MO_SCHEDULE_COPY,   /* moves data as a node of the program says; the body is empty */
    MO_SCHEDULE_BLOCK   /* any block graph with a sequence of loops over one axis (ir/block.h): ranked and
                         * verified, but not emitted yet */
} mo_schedule_kind;

typedef struct {
    mo_schedule_kind kind;
    mo_place place[MO_MAX_AXES];
    int64_t tile[MO_MAX_AXES]; /* elements; the extent for WHOLE */
    int threads;               /* threads of a block */
    /* ROW */
    int row_axis;   /* the axis spread over threads */
    int lanes;      /* threads that share a row: a power of two; threads / lanes rows a block */
    bool rows_fast; /* neighbouring threads take neighbouring rows, not neighbouring elements */
    bool resident;  /* the row stays in registers: one pass over memory */
    int vector;     /* elements for each access */
    /* STREAM, CHAIN, BLOCK */
    int loop_axis; /* the axis that is streamed, or -1 (BLOCK); its tile is the slab of one iteration */
    int cluster;   /* blocks that share the loop axis and combine through distributed shared memory:
                    * 1 or 2 */
    int parts;  /* STREAM: blocks that share the loop axis and combine through device memory; the block that
                 * comes last does it */
    int groups; /* warp groups, each with its own slabs of the loop axis and its own ring */
    int warps_p, warps_q; /* warps of a group over the tile's m16 and n8 side */
    int stages;           /* slabs in flight in each ring (BLOCK: of the block) */
    int p_axis, q_axis;   /* grid axes on the m16 and the n8 side of the mma, or -1 */
    mo_copy copy;         /* STREAM */
    bool wgmma; /* STREAM, sm_90: products by groups of four warps that read shared memory themselves */
} mo_schedule;

typedef struct {
    const char *name; /* C identifier, unique in the muGraph */
    int program_node; /* predefined: the program's node; -1: graph-defined */
    mo_prim *body;
    mo_schedule schedule;
    int n_moves; /* COPY: the tensor written, then those read, in the order of the node's inputs */
    const int *moves;
} mo_kernel;

typedef struct {
    const char *symbol;
    mo_shape shape;
    mo_dtype dtype; /* as stored */
    mo_dtype compute;
    int64_t strides[MO_MAX_RANK];
    int window_of;  /* 1 + the tensor whose memory it lies in (ir/window.h); 0: its own */
    int64_t offset; /* there, in elements */
    int output;     /* position among the program's outputs that this tensor is stored at, or -1 */
} mo_mutensor;

typedef struct {
    mo_arena *arena;
    const mo_program *program;
    const char *prefix;       /* of the kernels' names; the program's symbol */
    int n_tensors, n_kernels; /* tensors: program->n_tensors and then the intermediates */
    mo_mutensor *tensors;
    mo_kernel *kernels; /* in launch order */
    int64_t cost_ns;    /* estimate of the cost model */
    mo_passes off;      /* passes of the optimiser that its kernels do without */
} mo_mugraph;

/* A muGraph with the program's tensors, no kernels, and room for `max_kernels` kernels and as many
 * intermediates. */
mo_mugraph *mo_mugraph_new(mo_arena *arena, const mo_program *program, int max_kernels);
/* Appends a row-major intermediate and returns its index. A symbol that is taken gets a '_'. */
int mo_mugraph_add_tensor(mo_mugraph *graph, const char *symbol, mo_shape shape, mo_dtype dtype,
                          mo_dtype compute);
/* Appends a kernel; its name is made from `name` and the position. */
mo_kernel *mo_mugraph_add_kernel(mo_mugraph *graph, const char *name, int program_node, mo_prim *body,
                                 const mo_schedule *schedule);
/* Appends the kernel of a concat or a reshape that is no window. `tensor_of` (by program tensor; NULL: all)
 * gives the tensor that stands for one where it is another. */
mo_kernel *mo_mugraph_add_move(mo_mugraph *graph, int program_node, const int *tensor_of);
/* Does the program's node need a kernel: is it anything else than windows? */
bool mo_node_needs_kernel(const mo_program *program, int node);
/* The tensor whose memory it lies in. */
int mo_mugraph_root(const mo_mugraph *graph, int tensor);
/* Outputs that repeat, or that are inputs or windows, get a copying kernel each. */
void mo_mugraph_add_copies(mo_mugraph *graph);

/* "async", "tensor", "direct"; MO_COPY_ASYNC and false if it is none of them. */
const char *mo_copy_name(mo_copy copy);
bool mo_copy_parse(const char *name, mo_copy *copy);

/* A schedule that runs any body: a thread for each output element. */
mo_schedule mo_schedule_plain(const mo_prim *body);

/* NULL if the body can run under the schedule: what each kind of schedule asks of a block graph. */
const char *mo_kernel_check(mo_arena *scratch, const mo_kernel *kernel);

/* NULL if valid (Definition 2.1 of the paper, and every tensor written once before it is read),
 * otherwise what is wrong. Run between passes in debug builds and on every candidate. */
const char *mo_mugraph_check(mo_arena *scratch, const mo_mugraph *graph);

void mo_mugraph_print(mo_str *out, const mo_mugraph *graph);
mo_hash128 mo_mugraph_hash(const mo_mugraph *graph);

#endif
