/* A child process of this one, forked and not executed anew, with a socket between the two.
 *
 * Children do what this process must not: use the CUDA driver (profile/worker.h) and NVRTC, which
 * initialises the driver of its own accord (profile/compile.h). A driver that was initialised before a
 * fork is of no use behind it, so that one call in this process would be the end of every later child.
 *
 * A child ignores SIGINT, SIGTERM and SIGQUIT, which are its parent's business, dies with its parent and
 * leaves no core file. Not thread-safe. */
#ifndef MO_PROFILE_CHILD_H
#define MO_PROFILE_CHILD_H

#include "base/status.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    pid_t pid;  /* 0: none */
    int socket; /* this process's end, while there is a child */
} mo_child;

/* What the child does; it ends when this returns. */
typedef void mo_child_body(void *context, int socket);

/* MO_ERR_ENV when there can be no other process. */
mo_status mo_child_start(mo_child *child, mo_child_body *body, void *context, mo_error *error);

/* Ends the child if there is one: gently by closing the socket, which it sees once it is idle, else at
 * once. One that hangs inside the driver even when killed is left behind. Returns its wait status. */
int mo_child_stop(mo_child *child, bool gently);

#endif
