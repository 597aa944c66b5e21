/* --verify: does another program, or a muGraph, compute what the program computes? */
#ifndef MO_CLI_VERIFY_H
#define MO_CLI_VERIFY_H

#include "base/str.h"
#include "base/log.h"
#include "cli/options.h"
#include "ir/mugraph.h"

/* Adds the answer, one line, to *out; tells a proof in detail lines. Returns MO_OK, MO_ERR_NUMERIC for
 * different ones or MO_ERR_UNDECIDED with an empty *error; MO_ERR_USER when inputs or outputs do not
 * correspond. */
mo_status mo_verify_answer(const mo_options *options, const mo_program *program, const mo_program *other,
                           mo_log *log, mo_str *out, mo_error *error);

/* The same for a muGraph, which has been read for this program. */
mo_status mo_verify_mugraph_answer(const mo_options *options, const mo_program *program,
                                   const mo_mugraph *graph, mo_log *log, mo_str *out);

#endif
