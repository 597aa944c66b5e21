/* Messages for people, on one stream (stderr). A product never goes through here.
 *
 * A message is one write, so lines of several processes do not mix. On a terminal a progress line may stand
 * at the bottom; it is wiped before a message. One thread at a time. */
#ifndef MO_BASE_LOG_H
#define MO_BASE_LOG_H

#include <stdbool.h>
#include <stdio.h>

typedef enum { MO_LOG_QUIET, MO_LOG_NORMAL, MO_LOG_VERBOSE } mo_log_level;
typedef enum { MO_PROGRESS_NONE, MO_PROGRESS_PLAIN, MO_PROGRESS_LINE } mo_progress;

typedef struct {
    FILE *out;
    mo_log_level level;
    mo_progress progress;
    bool line_shown; /* a progress line stands on the terminal */
    double next;     /* clock at which the next progress message may be written */
} mo_log;

mo_log mo_log_make(FILE *out, mo_log_level level, mo_progress progress);

/* A line as it is, from this level on (QUIET: always); then "mirage-opt: ..." always, "mirage-opt: note: ..."
 * unless QUIET, "mirage-opt: ..." when VERBOSE. */
void mo_log_line(mo_log *log, mo_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void mo_log_verdict(mo_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mo_log_note(mo_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mo_log_detail(mo_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What is going on. LINE: rewritten in place, at most ten times a second. PLAIN: a line of its own, at
 * most one in two seconds. Call from one thread only. NULL is allowed. */
void mo_log_progress(mo_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mo_log_progress_end(mo_log *log); /* wipes the line */

#endif
