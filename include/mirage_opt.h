/* mirage-opt as a library: the same run as the command line's, from text to text.
 *
 * Link with the static libraries of the build (libmo_cli.a and those below it). Nothing is printed, no
 * file is read or written (--save-temps excepted), and no signal handler is installed. Calls from several
 * threads must not overlap. */
#ifndef MIRAGE_OPT_H
#define MIRAGE_OPT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values of `status`: the exit codes of the command line. */
enum {
    MIRAGE_OPT_OK = 0,
    MIRAGE_OPT_SPEEDUP_NOT_MET = 1, /* there is a product */
    MIRAGE_OPT_BAD_INPUT = 2,
    MIRAGE_OPT_NO_DEVICE = 3,
    MIRAGE_OPT_NUMERIC = 4,
    MIRAGE_OPT_BUDGET = 5
};

typedef struct {
    int status;
    char *message; /* the verdict, or the diagnostic of a run that failed; never NULL */
    char *cuda;    /* the emitted file, or NULL */
    char *report;  /* JSON, schema mirage-opt-report/1, or NULL */
} mirage_opt_result;

/* "0.1.0" */
const char *mirage_opt_version(void);

/* Optimises the program (JSON, format mirage-opt/1) of `length` bytes. `name` stands for its file name in
 * messages. `options` are words as on the command line: "--arch", "sm_90a", "--no-gpu"; those that name
 * files or ask for something else than a run (-o, --report, --check, --help, ...) are MIRAGE_OPT_BAD_INPUT.
 * Returns result->status; the caller frees the result. */
int mirage_opt_run(const char *program, size_t length, const char *name, const char *const *options,
                   int n_options, mirage_opt_result *result);

void mirage_opt_result_free(mirage_opt_result *result);

#ifdef __cplusplus
}
#endif

#endif
