/* The axioms as rewritings of terms, each in both directions. */
#ifndef MO_TESTS_ABSTRACT_AXIOMS_H
#define MO_TESTS_ABSTRACT_AXIOMS_H

#include "terms.h"

enum { AXIOMS_MAX = 4096 };

typedef struct {
    uint32_t out[AXIOMS_MAX];
    uint32_t n;
} term_list;

/* Appends what one axiom makes of t at its root. `numbers`: also mul(1, x) = x = div(x, 1), sqrt(1) = 1 and
 * mul(-1, -1) = 1. */
void axioms_at_root(term_table *table, uint32_t t, bool numbers, term_list *r);

/* The same at any position. */
void axioms_anywhere(term_table *table, uint32_t t, bool numbers, term_list *r);

#endif
