/* Axis labels of tensor dimensions: union-find over (use of a tensor, dimension). */
#ifndef MO_LOWER_LABELS_H
#define MO_LOWER_LABELS_H

#include "ir/program.h"

/* Label variables of the dimensions of one use of a tensor; -1 for extent 1. */
typedef struct {
    int rank;
    int var[MO_MAX_RANK];
} mo_labels;

typedef struct {
    mo_labels inputs[3]; /* tensor operands only; numbers have rank 0 */
    mo_labels output;
} mo_node_labels;

typedef struct {
    mo_arena *arena;
    int count, capacity;
    int *parent;
    int64_t *extent;
} mo_label_set;

void mo_label_set_init(mo_label_set *set, mo_arena *arena);
int mo_label_find(const mo_label_set *set, int var);

/* Labels every node of the set: labels[i] belongs to nodes[i]. False with a reason if some value would
 * carry one label twice or an operator has no labels yet. */
bool mo_label_nodes(mo_label_set *set, const mo_program *program, const int *nodes, int n_nodes,
                    mo_node_labels *labels, const char **reason);

#endif
