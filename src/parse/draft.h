/* A program while it is being read (private to parse): nodes in the order of the file, before names are
 * resolved, shapes inferred and unneeded nodes dropped. Lives in the reader's arena. */
#ifndef MO_PARSE_DRAFT_H
#define MO_PARSE_DRAFT_H

#include "base/strmap.h"
#include "ir/program.h"
#include "parse/reader.h"

typedef struct {
    mo_reader reader;
    int n_inputs, n_tensors, n_nodes;
    mo_tensor *tensors;       /* inputs first, then outputs of nodes in the order of the file */
    const mo_json **declared; /* where each tensor gets its name */
    mo_node *nodes;
    const mo_json **objects; /* of each node */
    mo_strmap names;
} mo_draft;

/* Reads inputs and nodes; a node's operands are resolved once all names are known. */
bool mo_draft_read(mo_draft *d, const mo_json *root);

/* The tensor with the name that `value` holds. */
bool mo_draft_resolve(const mo_draft *d, const mo_json *value, int *tensor);

/* Order in which every node comes after the nodes that it needs: that of the file wherever it is one
 * already. Refuses cycles. `order` has room for all nodes. */
bool mo_draft_order(const mo_draft *d, int *order);

#endif
