/* An equality-saturation graph over the axioms: the oracle that knows no normal form.
 *
 * It starts from one term and adds, for every axiom in both directions, what the axiom makes of every node,
 * until nothing is new. Every class that then exists is a sub-expression of the term, and if nothing was cut
 * off there are no others: a term is a sub-expression exactly if looking it up, node by node, succeeds.
 *
 * With signs and fractions the set is infinite (1 = s * s for s = sqrt(sqrt(-1)), and so on): then no class
 * is made whose smallest term has more than `bound` nodes (0: no bound). */
#ifndef MO_TESTS_ABSTRACT_EGRAPH_H
#define MO_TESTS_ABSTRACT_EGRAPH_H

#include "terms.h"

#define EGRAPH_NONE UINT32_MAX

typedef struct {
    term_op op;
    uint32_t value, a, b; /* a, b: classes */
    uint32_t class;
} egraph_node;

/* What is added to the axioms. */
typedef struct {
    bool unit;      /* mul(1, x) = x */
    bool signs;     /* mul(-1, -1) = 1 */
    bool fractions; /* div(x, 1) = x and sqrt(1) = 1 */
} egraph_theory;

typedef struct {
    egraph_theory theory;
    uint32_t bound, limit; /* of a class's smallest term; of nodes */
    egraph_node *node;
    uint32_t n, n_classes, unions;
    uint32_t *parent;       /* of classes, towards the one that stands for all */
    uint32_t *size, *best;  /* of a class: nodes of its smallest term, and the node at that term's top */
    uint32_t *first, *next; /* the nodes of a class as a list, each index + 1 */
    uint32_t *slots, mask;
    uint32_t one, minus;
    bool full, cut;
} egraph;

egraph *egraph_new(egraph_theory theory, uint32_t bound, uint32_t limit);
void egraph_free(egraph *g);
uint32_t egraph_add(egraph *g, const term_table *table, uint32_t t);

/* False if it ran into the limit of nodes. `cut` says whether `bound` kept anything out. */
bool egraph_saturate(egraph *g);

bool egraph_is_class(const egraph *g, uint32_t class);
uint32_t egraph_find(const egraph *g, term_op op, uint32_t value, uint32_t a, uint32_t b); /* or NONE */
uint32_t egraph_smallest(const egraph *g, term_table *table, uint32_t class);

#endif
