#include "cli/signals.h"

#include <stddef.h>

static volatile sig_atomic_t received;

static void remember(int number)
{
    received = number;
}

void mo_signals_install(void)
{
    struct sigaction action = {.sa_handler = remember, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    sigemptyset(&ignore.sa_mask);
    sigaction(SIGPIPE, &ignore, NULL);
}

const volatile sig_atomic_t *mo_signals_flag(void)
{
    return &received;
}

mo_status mo_signals_status(void)
{
    if (received == SIGINT) return MO_ERR_INTERRUPTED;
    return received == SIGTERM ? MO_ERR_TERMINATED : MO_OK;
}
