#include "base/clock.h"
#include "base/log.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* What a log of this level and progress writes for one message of each kind. The caller frees it. */
static char *written(mo_log_level level, mo_progress progress)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    cr_assert_not_null(out);
    mo_log log = mo_log_make(out, level, progress);
    mo_log_progress(&log, "step %d", 1);
    mo_log_progress(&log, "step %d", 2); /* too soon */
    mo_log_detail(&log, "detail");
    mo_log_note(&log, "note");
    mo_log_line(&log, MO_LOG_QUIET, "f:1:2: error: e");
    mo_log_progress_end(&log);
    mo_log_verdict(&log, "ok: %s", "x");
    fclose(out);
    return text;
}

static void expect(mo_log_level level, mo_progress progress, const char *expected)
{
    char *text = written(level, progress);
    cr_assert_str_eq(text, expected);
    free(text);
}

Test(log, levels)
{
    expect(MO_LOG_QUIET, MO_PROGRESS_PLAIN, "f:1:2: error: e\nmirage-opt: ok: x\n");
    expect(MO_LOG_NORMAL, MO_PROGRESS_NONE, "mirage-opt: note: note\nf:1:2: error: e\nmirage-opt: ok: x\n");
    expect(MO_LOG_VERBOSE, MO_PROGRESS_NONE,
           "mirage-opt: detail\nmirage-opt: note: note\nf:1:2: error: e\nmirage-opt: ok: x\n");
}

Test(log, a_progress_line_is_wiped_before_the_next_message)
{
    expect(MO_LOG_NORMAL, MO_PROGRESS_PLAIN,
           "mirage-opt: step 1\nmirage-opt: note: note\nf:1:2: error: e\nmirage-opt: ok: x\n");
    expect(MO_LOG_NORMAL, MO_PROGRESS_LINE,
           "mirage-opt: step 1\r\033[Kmirage-opt: note: note\nf:1:2: error: e\nmirage-opt: ok: x\n");
}

Test(clock, deadlines)
{
    volatile sig_atomic_t stop = 0;
    mo_deadline far = mo_deadline_in(1000, &stop), over = mo_deadline_in(-1, NULL);
    cr_assert_not(mo_deadline_passed(&far));
    cr_assert_gt(mo_deadline_left(&far), 990);
    cr_assert(mo_deadline_passed(&over));
    cr_assert_not(mo_deadline_stopped(&over));
    cr_assert_float_eq(mo_deadline_left(&over), 0, 0);
    stop = 1;
    cr_assert(mo_deadline_passed(&far));
    cr_assert(mo_deadline_stopped(&far));
    cr_assert_float_eq(mo_deadline_left(&far), 0, 0);
    mo_deadline unbounded = {0};
    cr_assert_not(mo_deadline_passed(&unbounded));
    cr_assert_not(mo_deadline_passed(NULL));
}
