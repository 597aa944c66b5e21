/* JSON form of a muGraph, format mirage-opt-mugraph/1 (docs/mugraph.md). parse/mugraph.h reads it back. */
#ifndef MO_IR_MUGRAPH_JSON_H
#define MO_IR_MUGRAPH_JSON_H

#include "base/json.h"
#include "ir/mugraph.h"

#define MO_MUGRAPH_FORMAT "mirage-opt-mugraph/1"

/* Writes the graph as one object; `key` as for the other functions of the writer. */
void mo_mugraph_write_json(mo_json_writer *w, const char *key, const mo_mugraph *graph);

/* Iterations of the kernel's loop in each block (and warp group): 1 without a loop. */
int64_t mo_kernel_iterations(const mo_kernel *kernel);

/* Names of schedules and places: "plain", "row", "stream"; "grid", "loop", "whole". */
const char *mo_schedule_name(mo_schedule_kind kind);
const char *mo_place_name(mo_place place);
bool mo_schedule_find(const char *name, mo_schedule_kind *kind);
bool mo_place_find(const char *name, mo_place *place);

#endif
