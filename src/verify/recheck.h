/* Second look at a certificate.
 *
 * Goes through the claims of a proof again with code that shares nothing with the prover but the plain data:
 * no tables, no names of variables that depend on the form, no order of terms. It starts from the program as
 * written and from the muGraph.
 *
 * A claim holds for all values of the variables in it. Each is checked against earlier claims about its
 * operands: which elements of them are needed follows from the operator and is worked out here; the form must
 * follow by one operator. Sums and products are multiplied out and compared term by term, up to the names of
 * bound variables; quotients and roots are checked by their inverse; maxima as sets. The ranges of a
 * reduction must cover each of its elements once, and so must the cases of each output.
 *
 * What is not understood is refused. Like the proof, this is about the reals, where both sides have a value.
 */
#ifndef MO_VERIFY_RECHECK_H
#define MO_VERIFY_RECHECK_H

#include "verify/proof.h"

/* Does the certificate prove what it says? `graph` or `other` is NULL. If not, *reason is why (static text).
 */
bool mo_proof_recheck(const mo_program *program, const mo_mugraph *graph, const mo_program *other,
                      const mo_proof *proof, const char **reason);

#endif
