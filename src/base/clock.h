/* Wall-clock time and the bound on a run.
 *
 * A deadline is asked often and by many threads, so it is two reads: the monotonic clock and a flag that
 * a signal handler or another thread may set. It is a value: copy it freely. */
#ifndef MO_BASE_CLOCK_H
#define MO_BASE_CLOCK_H

#include <signal.h>
#include <stdbool.h>

/* Seconds since some fixed point; never goes back. */
double mo_clock_seconds(void);

typedef struct {
    double end;                        /* mo_clock_seconds() at which the budget is spent; <= 0: no bound */
    const volatile sig_atomic_t *stop; /* nonzero: stop now; NULL: no such flag */
} mo_deadline;

/* `seconds` from now; `stop` may be NULL. */
mo_deadline mo_deadline_in(double seconds, const volatile sig_atomic_t *stop);

bool mo_deadline_passed(const mo_deadline *deadline);  /* NULL never passes */
bool mo_deadline_stopped(const mo_deadline *deadline); /* by the flag, not by time */

/* Seconds left, 0 once passed; a large number where there is no bound. */
double mo_deadline_left(const mo_deadline *deadline);

#endif
