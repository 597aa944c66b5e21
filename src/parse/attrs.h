/* Attributes of a node from its JSON object (private to parse): as written, not yet in normal form. */
#ifndef MO_PARSE_ATTRS_H
#define MO_PARSE_ATTRS_H

#include "ir/program.h"
#include "parse/reader.h"

/* Refuses keys that the operator does not take, then reads those that it does. */
bool mo_parse_attrs(const mo_reader *r, const mo_json *object, mo_op op, mo_attrs *attrs);

#endif
