#include "base/clock.h"

#include "base/status.h"

#include <time.h>

#define UNBOUNDED 1e9

double mo_clock_seconds(void)
{
    struct timespec now;
    MO_CHECK(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

mo_deadline mo_deadline_in(double seconds, const volatile sig_atomic_t *stop)
{
    return (mo_deadline){mo_clock_seconds() + seconds, stop};
}

bool mo_deadline_stopped(const mo_deadline *deadline)
{
    return deadline != NULL && deadline->stop != NULL && *deadline->stop != 0;
}

bool mo_deadline_passed(const mo_deadline *deadline)
{
    if (deadline == NULL) return false;
    if (mo_deadline_stopped(deadline)) return true;
    return deadline->end > 0 && mo_clock_seconds() >= deadline->end;
}

double mo_deadline_left(const mo_deadline *deadline)
{
    if (mo_deadline_stopped(deadline)) return 0;
    if (deadline == NULL || deadline->end <= 0) return UNBOUNDED;
    double left = deadline->end - mo_clock_seconds();
    return left > 0 ? left : 0;
}
