/* Thread graphs: what of a block graph stays in the registers of its threads.
 *
 * As in the paper they are found by fusion, not enumerated: an elementwise operator whose only use is another
 * elementwise operator joins it, until nothing joins any more. What remains are chains whose inner values are
 * never stored; each counts as one operator of its block graph. */
#ifndef MO_IR_THREAD_GRAPH_H
#define MO_IR_THREAD_GRAPH_H

#include "ir/prim.h"

/* Does this node join the thread graph of its only user? */
bool mo_thread_graph_joins(const mo_prim *graph, int node);

/* The thread graph of each node, numbered by its last node: graph_of[i] is that node's index, or -1 where
 * node i is not elementwise. `graph_of` has room for all nodes. */
void mo_thread_graphs(const mo_prim *graph, int *graph_of);

#endif
