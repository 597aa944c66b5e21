/* Random sub-expression questions: targets with the shapes of real programs, and candidates made from them
 * by taking parts, rewriting by axioms and mutating. */
#ifndef MO_TESTS_ABSTRACT_QUESTIONS_H
#define MO_TESTS_ABSTRACT_QUESTIONS_H

#include "axioms.h"

typedef struct {
    term_table *table;
    mo_rng rng;
    bool numbers; /* also 1, -1, differences and reciprocals */
    term_list rewritings;
} questioner;

typedef enum {
    ASK_PART,      /* a subterm of the target: entailed */
    ASK_REWRITTEN, /* a subterm of a term that equals the target, itself rewritten: entailed */
    ASK_MUTANT,    /* one of these with one change */
    ASK_JOINED,    /* an operator on two subterms */
    ASK_SMALL,     /* a random term over the same leaves */
    ASK_COUNT
} question_kind;

/* Empties the table and draws a target into it. */
uint32_t question_target(questioner *q);

/* Draws a candidate, and says how it was made. */
uint32_t question_candidate(questioner *q, uint32_t target, question_kind *kind);

#endif
