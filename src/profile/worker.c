/* The child's loop and the parent's calls. The two speak over a socket pair; a reply that makes the child
 * useless is its last. */
#include "profile/worker.h"

#include "base/clock.h"
#include "profile/executor.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct mo_worker {
    mo_cuda_loader *load;
    int device;
    pid_t child;        /* 0: none */
    int socket;         /* valid while there is a child */
    uint64_t generation;
    mo_str reply;
};

static const double start_seconds = 120; /* the first use of a GPU can be slow on a busy machine */

mo_worker *mo_worker_new(mo_cuda_loader *load, int device)
{
    mo_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) MO_BUG("out of memory");
    worker->load = load;
    worker->device = device;
    return worker;
}

bool mo_worker_running(const mo_worker *worker)
{
    return worker->child != 0;
}

uint64_t mo_worker_generation(const mo_worker *worker)
{
    return worker->generation;
}

/* ---- the child ---- */

/* Answers every request with the reason why there is no GPU. */
static void serve_refusal(int socket, const mo_error *error)
{
    mo_str request = {0}, reply = {0};
    while (mo_message_receive(socket, &request, 0) == MO_IO_OK) {
        mo_str_clear(&reply);
        mo_put_u32(&reply, MO_REPLY_FAILED);
        mo_put_text(&reply, error->text);
        if (mo_message_send(socket, reply.data, reply.length, 0) != MO_IO_OK) break;
    }
    mo_str_free(&request);
    mo_str_free(&reply);
}

static void serve(int socket, mo_executor *executor)
{
    mo_str request = {0}, reply = {0};
    bool usable = true;
    while (usable && mo_message_receive(socket, &request, 0) == MO_IO_OK) {
        mo_str_clear(&reply);
        usable = mo_executor_handle(executor, request.data, request.length, &reply);
        if (mo_message_send(socket, reply.data, reply.length, 0) != MO_IO_OK) break;
    }
    mo_str_free(&request);
    mo_str_free(&reply);
    if (usable) mo_executor_free(executor);
}

/* The parent may be gone already when the death signal is asked for: then the parent's id differs. */
static void prepare_child(pid_t parent)
{
    const struct rlimit no_core = {0, 0};
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    setrlimit(RLIMIT_CORE, &no_core);
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
}

static _Noreturn void child_main(const mo_worker *worker, int socket, pid_t parent)
{
    mo_cuda cuda;
    mo_error error = {0};
    prepare_child(parent);
    mo_executor *executor = NULL;
    if (worker->load(&cuda, &error) == MO_OK) executor = mo_executor_new(&cuda, worker->device, &error);
    if (executor == NULL) serve_refusal(socket, &error);
    else serve(socket, executor);
    _exit(0);
}

/* ---- the parent ---- */

/* Waits at most a few seconds for the child's end. */
static bool reap(pid_t child, int *status)
{
    for (int i = 0; i < 300; i++) {
        pid_t r = waitpid(child, status, WNOHANG);
        if (r == child || (r < 0 && errno != EINTR)) return true;
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    return false;
}

/* Ends the child: gently by closing its socket, which it sees once it is idle. One that hangs inside the
 * driver even when killed is left behind. Returns the wait status. */
static int stop(mo_worker *worker, bool gently)
{
    int status = 0;
    if (worker->child == 0) return 0;
    close(worker->socket);
    if (!gently || !reap(worker->child, &status)) {
        kill(worker->child, SIGKILL);
        reap(worker->child, &status);
    }
    worker->child = 0;
    return status;
}

void mo_worker_free(mo_worker *worker)
{
    if (worker == NULL) return;
    stop(worker, true);
    mo_str_free(&worker->reply);
    free(worker);
}

static mo_status start(mo_worker *worker, mo_error *error)
{
    int pair[2];
    if (worker->child != 0) return MO_OK;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        return mo_fail(error, MO_ERR_ENV, "cannot make a socket pair: %s", strerror(errno));
    }
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) {
        close(pair[0]);
        child_main(worker, pair[1], parent);
    }
    close(pair[1]);
    if (child < 0) {
        close(pair[0]);
        return mo_fail(error, MO_ERR_ENV, "cannot start a process for the GPU: %s", strerror(errno));
    }
    worker->child = child;
    worker->socket = pair[0];
    worker->generation++;
    return MO_OK;
}

mo_status mo_worker_start(mo_worker *worker, mo_gpu_facts *facts, mo_error *error)
{
    mo_str request = {0};
    mo_message in;
    mo_put_u32(&request, MO_REQUEST_FACTS);
    mo_call call = mo_worker_call(worker, &request, mo_clock_seconds() + start_seconds, &in, error);
    mo_str_free(&request);
    if (call != MO_CALL_OK) {
        if (error != NULL) error->status = MO_ERR_ENV;
        return MO_ERR_ENV;
    }
    size_t length;
    const unsigned char *bytes = mo_get_bytes(&in, &length);
    MO_CHECK(bytes != NULL && length == sizeof *facts);
    memcpy(facts, bytes, sizeof *facts);
    return MO_OK;
}

/* The answer's code and what it means for the child. */
static mo_call decode(mo_worker *worker, mo_message *in, mo_error *error)
{
    *in = (mo_message){.at = (const unsigned char *)worker->reply.data, .left = worker->reply.length};
    switch (mo_get_u32(in)) {
    case MO_REPLY_OK: return MO_CALL_OK;
    case MO_REPLY_NO_FIT: mo_fail(error, MO_ERR_ENV, "%s", mo_get_text(in)); return MO_CALL_NO_FIT;
    case MO_REPLY_BAD_WRITE:
        mo_fail(error, MO_ERR_ENV, "%s", mo_get_text(in));
        stop(worker, false);
        return MO_CALL_BAD_WRITE;
    default:
        mo_fail(error, MO_ERR_ENV, "%s", mo_get_text(in));
        stop(worker, false);
        return MO_CALL_FAILED;
    }
}

static mo_call explain_loss(mo_worker *worker, mo_io io, mo_error *error)
{
    int status = stop(worker, io == MO_IO_CLOSED);
    if (io == MO_IO_TIMEOUT) {
        mo_fail(error, MO_ERR_ENV, "the kernels did not end in time");
        return MO_CALL_TIMEOUT;
    }
    if (WIFSIGNALED(status)) {
        mo_fail(error, MO_ERR_ENV, "the process that ran the kernels died: %s", strsignal(WTERMSIG(status)));
    } else {
        mo_fail(error, MO_ERR_ENV, "the process that ran the kernels ended early");
    }
    return MO_CALL_FAILED;
}

mo_call mo_worker_call(mo_worker *worker, const mo_str *request, double end, mo_message *in,
                       mo_error *error)
{
    if (start(worker, error) != MO_OK) return MO_CALL_NO_GPU;
    mo_io io = mo_message_send(worker->socket, request->data, request->length, end);
    if (io == MO_IO_OK) io = mo_message_receive(worker->socket, &worker->reply, end);
    return io == MO_IO_OK ? decode(worker, in, error) : explain_loss(worker, io, error);
}
