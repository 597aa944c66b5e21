/* Passes of the optimiser (one file each in src/optimize/) under the names that --disable-pass takes. A set
 * of them says what is switched off, for ablations; usually it is empty. */
#ifndef MO_IR_PASSES_H
#define MO_IR_PASSES_H

typedef unsigned mo_passes;

enum {
    MO_PASS_LAYOUT = 1,
    MO_PASS_SCHEDULE = 2,
    MO_PASS_MEMORY = 4,
    MO_PASS_PIPELINE = 8,
    MO_PASS_THREADS = 16
};

#define MO_PASS_COUNT 5
#define MO_PASS_WORDS "layout|schedule|memory|pipeline|threads" /* bit by bit, for the command line */

const char *mo_pass_name(int bit);

#endif
