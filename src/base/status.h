/* Outcome of an operation that can fail for a reason outside the program's control.
 *
 * The values are the exit codes of the command-line tool. Four kinds of trouble are kept apart: user
 * errors (MO_ERR_USER, with a located message), environment errors (MO_ERR_ENV, with what was tried),
 * search outcomes (never a status: a counted verdict), and bugs (MO_CHECK, which ends the process
 * with exit code 70 and says what and where). */
#ifndef MO_BASE_STATUS_H
#define MO_BASE_STATUS_H

typedef enum {
    MO_OK = 0,
    MO_ERR_SPEEDUP = 1, /* --require-speedup was not met */
    MO_ERR_USER = 2,    /* usage, bad input, unreadable input, unwritable destination */
    MO_ERR_ENV = 3,     /* a GPU, driver or NVRTC that was asked for is missing */
    MO_ERR_NUMERIC = 4, /* even the unfused program fails the numeric gate */
    MO_ERR_BUDGET = 5,  /* the budget ended before anything could be emitted */
    MO_ERR_UNDECIDED = 6,
    MO_ERR_INTERNAL = 70,
    MO_ERR_IO = 74,
    MO_ERR_INTERRUPTED = 130,
    MO_ERR_TERMINATED = 143
} mo_status;

/* First error of an operation: its status and a complete message, without trailing newline. */
typedef struct {
    mo_status status;
    char text[4096];
} mo_error;

/* Records `status` and the formatted message in *error (which may be NULL) and returns `status`. */
mo_status mo_fail(mo_error *error, mo_status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Ends the process with exit code 70. Use MO_CHECK and MO_BUG, which fill in the place. */
_Noreturn void mo_bug(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define MO_BUG(...) mo_bug(__FILE__, __LINE__, __VA_ARGS__)

/* A condition that only a defect of this program can break. Kept in release builds. */
#define MO_CHECK(condition)                                       \
    do {                                                          \
        if (!(condition)) MO_BUG("check failed: %s", #condition); \
    } while (0)

#endif
