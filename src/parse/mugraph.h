/* The JSON form of a muGraph (format `mirage-opt-mugraph/1`, docs/mugraph.md) back to a muGraph.
 *
 * Strict, like the reader of programs: a file that is not what the writer could have written for this
 * program is refused with a located message (MO_ERR_USER). Inputs correspond to the program's by name,
 * outputs by position. What the graph computes is not looked at: that is for the equivalence test. The graph
 * has passed mo_mugraph_check, and lives in the arena. */
#ifndef MO_PARSE_MUGRAPH_H
#define MO_PARSE_MUGRAPH_H

#include "base/json.h"
#include "ir/mugraph.h"

#include <stddef.h>

/* Whether the text is JSON that says it is a muGraph. */
bool mo_parse_is_mugraph(mo_arena *arena, const char *text, size_t length);

mo_status mo_parse_mugraph(mo_arena *arena, const mo_program *program, const char *file_name,
                           const char *text, size_t length, mo_mugraph **graph, mo_error *error);

/* The same for a value inside a JSON text that has been read already, such as a report's winner. */
mo_status mo_parse_mugraph_value(mo_arena *arena, const mo_program *program, const mo_source *source,
                                 const mo_json *value, mo_mugraph **graph, mo_error *error);

#endif
