/* CUDA text of a muGraph: one self-contained .cu file, and what a launcher needs to run its kernels
 * without the file's host part. */
#ifndef MO_CODEGEN_EMIT_H
#define MO_CODEGEN_EMIT_H

#include "ir/mugraph.h"

/* What a tensor map says of memory (cuTensorMapEncodeTiled): sizes and box in elements, the contiguous axis
 * first; strides in bytes of the axes behind it; swizzle in bytes. Outside the tensor it reads zeros. */
typedef struct {
    mo_dtype dtype;
    int rank; /* 2 or 3 */
    int64_t size[3], stride[2];
    int box[3], swizzle;
} mo_tensor_map;

typedef enum { MO_ARG_INPUT, MO_ARG_OUTPUT, MO_ARG_WORKSPACE } mo_arg_kind;

enum { MO_ARG_PARTS = -1, MO_ARG_ARRIVED = -2 }; /* sums (f32) and counters of blocks that share a loop */

typedef struct {
    mo_arg_kind kind;
    int index; /* INPUT: program input; OUTPUT: position among the program's outputs; WORKSPACE: tensor, or
                * one of those above */
    int64_t offset;           /* bytes */
    const mo_tensor_map *map; /* NULL: a pointer; otherwise a map of what lies there, passed by value */
} mo_arg;

typedef struct {
    const char *kernel; /* extern "C" name */
    unsigned grid[3], cluster[3], block[3];
    bool early;            /* starts while the kernel before it ends, and waits for that itself */
    unsigned shared_bytes; /* dynamic shared memory */
    int n_args;            /* pointers, then tensor maps */
    mo_arg *args;
} mo_launch;

typedef struct {
    const char *source; /* the whole file; host part behind #ifndef __CUDACC_RTC__ */
    int n_launches;
    mo_launch *launches; /* in order */
    int64_t workspace_bytes;
    int64_t
        zeroed_bytes; /* from its start: must be zero before the first launch; every launch leaves them so */
} mo_emitted;

/* Measured facts for the comment at the head of the file; NULL members are left out. */
typedef struct {
    const char *options;      /* the options that decide the graph */
    const char *measurements; /* several lines, without comment markers */
    const char *version;      /* of the tool */
    const mo_mugraph
        *self_test; /* the program as written, PLAIN schedules: what the file's main compares with */
} mo_emit_header;

/* The parts of the device library that `code` uses, in order, appended to *out. */
void mo_emit_library(mo_arena *arena, mo_str *out, const char *code);

/* Kernels alone, appended to *text; fills the launches of *emitted. */
bool mo_emit_kernels(mo_arena *arena, const mo_mugraph *graph, int arch, mo_str *text, mo_emitted *emitted,
                     const char **reason);

/* Emits `graph` for sm_`arch` (80, 90, ...). Returns false with the reason (a search outcome: status
 * no-fit) when the generator cannot express this schedule. Text and tables live in `arena`. */
bool mo_emit(mo_arena *arena, const mo_mugraph *graph, int arch, const mo_emit_header *header,
             mo_emitted *emitted, const char **reason);

#endif
