/* Forking, and seeing to the end of what was forked. */
#include "profile/child.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The parent may be gone already when the death signal is asked for: then the parent's id differs. */
static void prepare(pid_t parent)
{
    const struct rlimit no_core = {0, 0};
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    setrlimit(RLIMIT_CORE, &no_core);
}

mo_status mo_child_start(mo_child *child, mo_child_body *body, void *context, mo_error *error)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return mo_fail(error, MO_ERR_ENV, "cannot make a socket pair: %s", strerror(errno));
    }
    pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        prepare(parent);
        body(context, pair[1]);
        _exit(0);
    }
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        return mo_fail(error, MO_ERR_ENV, "cannot start a process: %s", strerror(errno));
    }
    *child = (mo_child){.pid = pid, .socket = pair[0]};
    return MO_OK;
}

/* Waits at most a few seconds for the child's end. */
static bool reap(pid_t child, int *status)
{
    for (int i = 0; i < 3000; i++) {
        pid_t r = waitpid(child, status, WNOHANG);
        if (r == child || (r < 0 && errno != EINTR)) return true;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return false;
}

int mo_child_stop(mo_child *child, bool gently)
{
    int status = 0;
    if (child->pid == 0) return 0;
    close(child->socket);
    if (!gently || !reap(child->pid, &status)) {
        kill(child->pid, SIGKILL);
        reap(child->pid, &status);
    }
    child->pid = 0;
    return status;
}
