/* The pipeline of one run: target, search, emission, ranking by measured or estimated time, products. */
#ifndef MO_CLI_RUN_H
#define MO_CLI_RUN_H

#include "base/log.h"
#include "cli/options.h"
#include "ir/program.h"

/* Texts in the arena of the run; NULL for what was not asked for. */
typedef struct {
    const char *cu, *mugraph, *report;
    const char *verdict; /* "ok: OUT.cu ..." */
    mo_status status;    /* MO_OK, or what the run ends with although there are products:
                            MO_ERR_SPEEDUP, MO_ERR_INTERRUPTED, MO_ERR_TERMINATED */
} mo_products;

/* `shown` names the product in the verdict. Returns MO_OK when there are products. */
mo_status mo_run(mo_arena *arena, const mo_options *options, const mo_program *program, const char *shown,
                 mo_log *log, mo_products *products, mo_error *error);

#endif
