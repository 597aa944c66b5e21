#include "base/log.h"

#include "base/clock.h"
#include "base/str.h"

#include <stdarg.h>

#define LINE_INTERVAL 0.1
#define PLAIN_INTERVAL 2.0
#define WIPE "\r\033[K"

mo_log mo_log_make(FILE *out, mo_log_level level, mo_progress progress)
{
    if (level == MO_LOG_QUIET) progress = MO_PROGRESS_NONE;
    return (mo_log){.out = out, .level = level, .progress = progress};
}

static void write_message(mo_log *log, const char *kind, const char *format, va_list args, const char *end)
{
    char text[4608]; /* holds every mo_error */
    vsnprintf(text, sizeof text, format, args);
    mo_str line = {0};
    if (log->line_shown) mo_str_add(&line, WIPE);
    mo_str_printf(&line, "%s%s%s", kind, text, end);
    fwrite(line.data, 1, line.length, log->out);
    fflush(log->out);
    mo_str_free(&line);
}

#define WRITE(log, kind, format)                             \
    do {                                                     \
        va_list args_;                                       \
        va_start(args_, format);                             \
        write_message((log), (kind), (format), args_, "\n"); \
        (log)->line_shown = false;                           \
        va_end(args_);                                       \
    } while (0)

void mo_log_line(mo_log *log, mo_log_level level, const char *format, ...)
{
    if (log->level >= level) WRITE(log, "", format);
}

void mo_log_verdict(mo_log *log, const char *format, ...)
{
    WRITE(log, "mirage-opt: ", format);
}

void mo_log_note(mo_log *log, const char *format, ...)
{
    if (log->level >= MO_LOG_NORMAL) WRITE(log, "mirage-opt: note: ", format);
}

void mo_log_detail(mo_log *log, const char *format, ...)
{
    if (log->level >= MO_LOG_VERBOSE) WRITE(log, "mirage-opt: ", format);
}

void mo_log_progress(mo_log *log, const char *format, ...)
{
    if (log == NULL || log->progress == MO_PROGRESS_NONE) return;
    double now = mo_clock_seconds();
    if (now < log->next) return;
    bool in_place = log->progress == MO_PROGRESS_LINE;
    log->next = now + (in_place ? LINE_INTERVAL : PLAIN_INTERVAL);
    va_list args;
    va_start(args, format);
    write_message(log, "mirage-opt: ", format, args, in_place ? "" : "\n");
    va_end(args);
    log->line_shown = in_place;
}

void mo_log_progress_end(mo_log *log)
{
    if (log == NULL || !log->line_shown) return;
    fputs(WIPE, log->out);
    fflush(log->out);
    log->line_shown = false;
}
