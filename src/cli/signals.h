/* SIGINT and SIGTERM ask the run to end with the best found so far; a second one ends it at once.
 * The flag is the one piece of global state that a signal handler needs. */
#ifndef MO_CLI_SIGNALS_H
#define MO_CLI_SIGNALS_H

#include "base/status.h"

#include <signal.h>

/* Installs the handlers; SIGPIPE is ignored, so that a closed stdout is a write error. */
void mo_signals_install(void);

/* 0, or the number of the signal that came. */
const volatile sig_atomic_t *mo_signals_flag(void);

/* MO_OK, MO_ERR_INTERRUPTED or MO_ERR_TERMINATED. */
mo_status mo_signals_status(void);

#endif
