/* Pass `threads`: thread graphs, that is, what of a block graph stays in the registers of its threads.
 *
 * Decides which elementwise values are never stored: in a STREAM kernel everything between the exchange of
 * the accumulators and the stores of the outputs, in a ROW kernel the row itself between its passes, if the
 * registers of a thread can hold its part. Objective: the fewest trips of a value through memory.
 *
 * Off: behind the loop of a STREAM kernel every elementwise operator is a pass of its own that leaves its
 * result in shared memory; the passes of a ROW kernel read the row from device memory again. Elementwise
 * operators in front of a product, those of a CHAIN kernel and those within one pass of a ROW kernel stay in
 * registers: the generator has no other form for them. */
#ifndef MO_OPTIMIZE_THREADS_H
#define MO_OPTIMIZE_THREADS_H

#include "ir/mugraph.h"

struct mo_stream_plan;

/* ROW: do the rows of all iterators stay in registers? The schedule but `resident` is known. */
bool mo_threads_resident(const mo_prim *graph, const mo_schedule *schedule, mo_passes off);

/* STREAM: fills the plan's posts, the values that go through memory, without their offsets. */
void mo_threads_posts(mo_arena *arena, const mo_kernel *kernel, mo_passes off, struct mo_stream_plan *plan);

#endif
