/* The unfused program as a muGraph: one predefined kernel for each written node. */
#ifndef MO_SEARCH_UNFUSED_H
#define MO_SEARCH_UNFUSED_H

#include "cost/model.h"
#include "ir/lowered.h"

/* What goes between kernels: each value's own type; f32, but for operands of products; all f32. */
typedef enum { MO_NARROW, MO_WIDE, MO_WIDEST } mo_width;

/* Each node with its cheapest schedule (what every speedup is measured against), or with PLAIN schedules
 * and f32 between them (what an emitted file's self-test compares with). `rank` > 0: the rank-th cheapest
 * where there is one. The wider forms are what is emitted where 16 bits between kernels fail the numeric
 * gate. */
mo_mugraph *mo_unfused(mo_arena *arena, const mo_program *program, const mo_lowered *lowered,
                       const mo_device *device, mo_passes off, int rank, mo_width width);
mo_mugraph *mo_unfused_plain(mo_arena *arena, const mo_program *program, const mo_lowered *lowered);

/* What goes from one subprogram to another is stored in f32, unless products read it: cutting the program
 * where data is moved must not cost accuracy. */
void mo_widen_between(mo_mugraph *graph);

/* Stored type of each of the program's tensors, with room for `more` intermediates. */
mo_dtype *mo_tensor_dtypes(mo_arena *arena, const mo_program *program, int more);

/* Estimate of what mo_mugraph_add_copies adds to every graph of the program. */
int64_t mo_copies_cost(mo_arena *arena, const mo_program *program, const mo_device *device);

#endif
