/* Where the products of a run go: names by the rules of -o, --emit and --report, checked before the
 * search starts. */
#ifndef MO_CLI_DESTINATIONS_H
#define MO_CLI_DESTINATIONS_H

#include "base/arena.h"
#include "cli/options.h"

/* Names, "-" for standard output, NULL for what was not asked for. */
typedef struct {
    const char *cu, *mugraph, *report, *save_temps;
    const char *shown; /* the product that the verdict names */
} mo_destinations;

/* MO_ERR_USER when a destination cannot be written, would overwrite the program, or two are the same.
 * Makes the folder of --save-temps. */
mo_status mo_destinations_plan(mo_arena *arena, const mo_options *options, mo_destinations *plan,
                               mo_error *error);

/* The last part of a path without its ending: "a/model.v2.json" gives "model.v2". */
const char *mo_path_stem(mo_arena *arena, const char *path);

#endif
