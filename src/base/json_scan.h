/* First pass of the JSON reader (private to it): decides whether a text is strict JSON and notes where
 * each value stands, in the order of their first bytes. */
#ifndef MO_BASE_JSON_SCAN_H
#define MO_BASE_JSON_SCAN_H

#include "base/json.h"

typedef struct {
    size_t offset, key_offset;
    bool integer;
} mo_json_mark;

/* Appends one mo_json_mark for each value to `marks`. */
mo_status mo_json_scan(const mo_source *source, mo_str *marks, mo_error *error);

#endif
