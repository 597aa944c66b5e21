/* Proofs as the command line shows them. */
#ifndef MO_CLI_PROVE_H
#define MO_CLI_PROVE_H

#include "base/log.h"
#include "ir/mugraph.h"

/* Proves that `graph`, or the program `other` (one of them NULL), computes what `program` does, and has the
 * certificate checked again. Tells the certificate, or why there is none, in detail lines. */
bool mo_prove_and_tell(const mo_program *program, const mo_mugraph *graph, const mo_program *other,
                       mo_log *log);

#endif
