#include "cli/prove.h"

#include "verify/proof.h"
#include "verify/recheck.h"

#include <string.h>

static void tell_lines(mo_log *log, const char *text)
{
    while (*text != '\0') {
        int length = (int)strcspn(text, "\n");
        mo_log_detail(log, "%.*s", length, text);
        text += length + (text[length] == '\n');
    }
}

bool mo_prove_and_tell(const mo_program *program, const mo_mugraph *graph, const mo_program *other,
                       mo_log *log)
{
    mo_proof *proof = graph != NULL ? mo_prove_mugraph(program, graph) : mo_prove_programs(program, other);
    mo_str text = {0};
    const char *objection = NULL;
    bool proved = proof->proved && mo_proof_recheck(program, graph, other, proof, &objection);
    mo_proof_print(&text, program, graph, other, proof);
    tell_lines(log, mo_str_text(&text));
    if (objection != NULL) mo_log_detail(log, "the second check does not accept the proof: %s", objection);
    mo_str_free(&text);
    mo_proof_free(proof);
    return proved;
}
