#include "cli/verify.h"

#include "cli/prove.h"
#include "verify/equiv.h"

#include <string.h>

static const mo_tensor *find_input(const mo_program *program, const char *name)
{
    for (int i = 0; i < program->n_inputs; i++)
        if (strcmp(program->tensors[i].name, name) == 0) return &program->tensors[i];
    return NULL;
}

static bool agree(const mo_tensor *a, const mo_tensor *b)
{
    return mo_shape_equal(a->shape, b->shape) && a->dtype == b->dtype;
}

static mo_status disagree(const char *what, const mo_tensor *a, const mo_tensor *b, mo_error *error)
{
    mo_str text = {0};
    mo_str_printf(&text, "--verify: %s '%s' is %s ", what, a->name, mo_dtype_name(a->dtype));
    mo_shape_print(&text, a->shape);
    mo_str_printf(&text, " here and %s ", mo_dtype_name(b->dtype));
    mo_shape_print(&text, b->shape);
    mo_str_add(&text, " there");
    mo_fail(error, MO_ERR_USER, "%s", text.data);
    mo_str_free(&text);
    return MO_ERR_USER;
}

static mo_status check_inputs(const mo_program *a, const mo_program *b, const char *where, mo_error *error)
{
    for (int i = 0; i < a->n_inputs; i++) {
        const mo_tensor *mine = &a->tensors[i], *theirs = find_input(b, mine->name);
        if (theirs == NULL)
            return mo_fail(error, MO_ERR_USER, "--verify: input '%s' is missing in %s", mine->name, where);
        if (!agree(mine, theirs)) return disagree("input", mine, theirs, error);
    }
    return MO_OK;
}

static mo_status check_interface(const mo_program *program, const mo_program *other, mo_error *error)
{
    mo_status status = check_inputs(program, other, "the other program", error);
    if (status == MO_OK) status = check_inputs(other, program, "the program", error);
    if (status != MO_OK) return status;
    if (program->n_outputs != other->n_outputs)
        return mo_fail(error, MO_ERR_USER, "--verify: %d outputs here and %d there", program->n_outputs,
                       other->n_outputs);
    for (int i = 0; i < program->n_outputs; i++) {
        const mo_tensor *a = &program->tensors[program->outputs[i]], *b = &other->tensors[other->outputs[i]];
        if (!agree(a, b)) return disagree("output", a, b, error);
    }
    return MO_OK;
}

static void add_difference(mo_str *out, const mo_program *program, const mo_verify_report *report)
{
    mo_str_printf(out, "different (output %s", program->tensors[program->outputs[report->output]].name);
    mo_str_add(out, ", index [");
    for (int d = 0; d < report->rank; d++)
        mo_str_printf(out, "%s%lld", d == 0 ? "" : ",", (long long)report->index[d]);
    mo_str_add(out, "]");
    if (report->witness)
        mo_str_printf(out, ", values %.17g and %.17g", report->program_value, report->other_value);
    mo_str_add(out, ")\n");
}

static mo_verify_options wanted(const mo_options *options)
{
    return (mo_verify_options){
        .delta = options->verify_delta, .seed = (uint64_t)options->seed, .threads = (int)options->threads};
}

static mo_status answer(mo_str *out, const mo_program *program, mo_equiv verdict,
                        const mo_verify_report *report)
{
    if (verdict == MO_DIFFERENT) {
        add_difference(out, program, report);
        return MO_ERR_NUMERIC;
    }
    if (report->proved) {
        mo_str_add(out, "proved\n");
        return MO_OK;
    }
    if (verdict == MO_UNDECIDED) {
        mo_str_printf(out, "undecided: %s\n",
                      report->reason == NULL ? "no reason was given" : report->reason);
        return MO_ERR_UNDECIDED;
    }
    if (report->delta >= 0)
        mo_str_printf(out, "tested (delta %.3g)\n", report->delta);
    else
        mo_str_add(out, "tested (delta null)\n");
    return MO_OK;
}

mo_status mo_verify_answer(const mo_options *options, const mo_program *program, const mo_program *other,
                           mo_log *log, mo_str *out, mo_error *error)
{
    mo_status status = check_interface(program, other, error);
    if (status != MO_OK) return status;
    mo_verify_options asked = wanted(options);
    mo_verify_report report = {0};
    mo_equiv verdict = mo_verify_programs(program, other, &asked, &report);
    if (verdict != MO_DIFFERENT) report.proved = mo_prove_and_tell(program, NULL, other, log);
    return answer(out, program, verdict, &report);
}

mo_status mo_verify_mugraph_answer(const mo_options *options, const mo_program *program,
                                   const mo_mugraph *graph, mo_log *log, mo_str *out)
{
    mo_verify_options asked = wanted(options);
    mo_verify_report report = {0};
    mo_equiv verdict = mo_verify_mugraph(program, graph, &asked, &report);
    if (verdict != MO_DIFFERENT) report.proved = mo_prove_and_tell(program, graph, NULL, log);
    return answer(out, program, verdict, &report);
}
