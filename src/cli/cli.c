/* stdout carries products only; everything said to people goes to stderr. */
#include "cli/cli.h"

#include "base/file.h"
#include "base/log.h"
#include "cli/destinations.h"
#include "cli/info.h"
#include "cli/run.h"
#include "cli/verify.h"
#include "parse/mugraph.h"
#include "parse/parse.h"

#include <string.h>
#include <unistd.h>

static mo_log make_log(const mo_options *options)
{
    mo_log_level level = options->quiet ? MO_LOG_QUIET : options->verbose ? MO_LOG_VERBOSE : MO_LOG_NORMAL;
    mo_progress progress = MO_PROGRESS_NONE;
    if (options->progress == MO_PROGRESS_WORD_PLAIN) progress = MO_PROGRESS_PLAIN;
    if (options->progress == MO_PROGRESS_AUTO && isatty(STDERR_FILENO)) progress = MO_PROGRESS_LINE;
    return mo_log_make(stderr, level, progress);
}

/* Answers --help and its like; *answered tells whether one was asked for. */
static mo_status answer(const mo_options *options, bool *answered, mo_error *error)
{
    mo_str text = {0};
    mo_status status = MO_OK;
    *answered = options->help || options->version || options->list_ops || options->list_archs;
    if (options->help)
        mo_info_help(&text);
    else if (options->version)
        mo_info_version(&text);
    else if (options->list_ops)
        mo_info_ops(&text);
    else if (options->list_archs)
        status = mo_info_archs(&text, error);
    if (status == MO_OK && *answered) status = mo_file_write("-", mo_str_text(&text), text.length, error);
    mo_str_free(&text);
    return status;
}

/* A text and what messages call it. */
typedef struct {
    const char *name, *text;
    size_t length;
} input_file;

static mo_status read_file(mo_arena *arena, const char *path, input_file *file, mo_error *error)
{
    file->name = strcmp(path, "-") == 0 ? "<stdin>" : path;
    return mo_file_read(arena, path, &file->text, &file->length, error);
}

static mo_status parse_program(mo_arena *arena, const input_file *file, mo_log *log, mo_program **program,
                               mo_error *error)
{
    mo_str notes = {0};
    mo_status status = mo_parse_program(arena, file->name, file->text, file->length, program, &notes, error);
    if (status == MO_OK && notes.length > 0)
        mo_log_line(log, MO_LOG_NORMAL, "%.*s", (int)notes.length - 1, notes.data); /* without the last \n */
    mo_str_free(&notes);
    return status;
}

static mo_status read_program(mo_arena *arena, const char *path, mo_log *log, mo_program **program,
                              mo_error *error)
{
    input_file file;
    mo_status status = read_file(arena, path, &file, error);
    return status == MO_OK ? parse_program(arena, &file, log, program, error) : status;
}

static mo_status write_products(const mo_destinations *plan, const mo_products *products, mo_error *error)
{
    const char *files[][2] = {
        {plan->cu, products->cu}, {plan->mugraph, products->mugraph}, {plan->report, products->report}};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (files[i][0] == NULL) continue;
        mo_status status = mo_file_write(files[i][0], files[i][1], strlen(files[i][1]), error);
        if (status != MO_OK) return status;
    }
    return MO_OK;
}

static mo_status optimise(mo_arena *arena, const mo_options *options, const mo_program *program, mo_log *log,
                          mo_error *error)
{
    mo_destinations plan;
    mo_products products;
    mo_status status = mo_destinations_plan(arena, options, &plan, error);
    if (status != MO_OK) return status;
    const char *shown = strcmp(plan.shown, "-") == 0 ? "<stdout>" : plan.shown;
    status = mo_run(arena, options, program, shown, log, &products, error);
    if (status == MO_OK) status = write_products(&plan, &products, error);
    if (status != MO_OK) return status;
    mo_log_verdict(log, "%s", products.verdict);
    return products.status;
}

/* OTHER is a program or a muGraph: its "format" says which. */
static mo_status compare(mo_arena *arena, const mo_options *options, const mo_program *program, mo_log *log,
                         mo_str *answer_text, mo_error *error)
{
    input_file file;
    mo_status status = read_file(arena, options->verify, &file, error);
    if (status != MO_OK) return status;
    if (mo_parse_is_mugraph(arena, file.text, file.length)) {
        mo_mugraph *graph;
        status = mo_parse_mugraph(arena, program, file.name, file.text, file.length, &graph, error);
        return status == MO_OK ? mo_verify_mugraph_answer(options, program, graph, log, answer_text) : status;
    }
    mo_program *other;
    status = parse_program(arena, &file, log, &other, error);
    return status == MO_OK ? mo_verify_answer(options, program, other, log, answer_text, error) : status;
}

static mo_status verify(mo_arena *arena, const mo_options *options, const mo_program *program, mo_log *log,
                        mo_error *error)
{
    mo_str text = {0};
    mo_status status = compare(arena, options, program, log, &text, error);
    if (text.length > 0) {
        mo_status written = mo_file_write("-", text.data, text.length, error);
        if (written != MO_OK) status = written;
    }
    mo_str_free(&text);
    return status;
}

static mo_status work(mo_arena *arena, int argc, char **argv, mo_log *log, mo_error *error)
{
    mo_options options;
    mo_status status = mo_options_parse(argc, argv, &options, error);
    if (status != MO_OK) return status;
    *log = make_log(&options);
    bool answered;
    status = answer(&options, &answered, error);
    if (status != MO_OK || answered) return status;
    mo_program *program;
    status = read_program(arena, options.program, log, &program, error);
    if (status != MO_OK) return status;
    if (options.verify != NULL) return verify(arena, &options, program, log, error);
    if (!options.check) return optimise(arena, &options, program, log, error);
    mo_log_line(log, MO_LOG_NORMAL, "mirage-opt: ok: %s is valid (inputs %d, nodes %d, outputs %d)",
                program->name, program->n_inputs, program->n_nodes, program->n_outputs);
    return MO_OK;
}

int mo_cli_main(int argc, char **argv)
{
    mo_arena *arena = mo_arena_new();
    mo_log log = mo_log_make(stderr, MO_LOG_NORMAL, MO_PROGRESS_NONE);
    mo_error error = {0};
    mo_status status = work(arena, argc, argv, &log, &error);
    /* Errors with a place of their own ("model.json:3:7: error: ...") stand as they are. */
    if (error.text[0] != '\0' && strstr(error.text, ": error: ") != NULL)
        mo_log_line(&log, MO_LOG_QUIET, "%s", error.text);
    else if (error.text[0] != '\0')
        mo_log_line(&log, MO_LOG_QUIET, "mirage-opt: error: %s", error.text);
    mo_arena_free(arena);
    return (int)status;
}
