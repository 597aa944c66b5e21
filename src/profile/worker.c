/* The child's loop and the parent's calls. The two speak over a socket pair; a reply that makes the child
 * useless is its last. */
#include "profile/worker.h"

#include "base/clock.h"
#include "profile/child.h"
#include "profile/executor.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

struct mo_worker {
    mo_cuda_loader *load;
    int device;
    mo_child child;
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
    return worker->child.pid != 0;
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

static void work(void *context, int socket)
{
    const mo_worker *worker = context;
    mo_cuda cuda;
    mo_error error = {0};
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    mo_executor *executor = NULL;
    if (worker->load(&cuda, &error) == MO_OK) executor = mo_executor_new(&cuda, worker->device, &error);
    if (executor == NULL)
        serve_refusal(socket, &error);
    else
        serve(socket, executor);
}

/* ---- the parent ---- */

void mo_worker_free(mo_worker *worker)
{
    if (worker == NULL) return;
    mo_child_stop(&worker->child, true);
    mo_str_free(&worker->reply);
    free(worker);
}

mo_status mo_worker_launch(mo_worker *worker, mo_error *error)
{
    if (worker->child.pid != 0) return MO_OK;
    mo_status status = mo_child_start(&worker->child, work, worker, error);
    if (status == MO_OK) worker->generation++;
    return status;
}

/* A program that embeds this one may have used the driver itself: no child of its process can then. */
static void hint_at_driver(const mo_worker *worker, mo_error *error)
{
    static const char hint[] = "\nhint: this process has loaded the CUDA driver itself; the profiler works "
                               "in child processes and needs one that has not";
    if (error == NULL || worker->load != mo_cuda_load) return;
    void *library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) return;
    dlclose(library);
    size_t length = strlen(error->text);
    if (length + sizeof hint <= sizeof error->text) memcpy(error->text + length, hint, sizeof hint);
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
        hint_at_driver(worker, error);
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
        mo_child_stop(&worker->child, false);
        return MO_CALL_BAD_WRITE;
    default:
        mo_fail(error, MO_ERR_ENV, "%s", mo_get_text(in));
        mo_child_stop(&worker->child, false);
        return MO_CALL_FAILED;
    }
}

static mo_call explain_loss(mo_worker *worker, mo_io io, mo_error *error)
{
    int status = mo_child_stop(&worker->child, io == MO_IO_CLOSED);
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

mo_call mo_worker_call(mo_worker *worker, const mo_str *request, double end, mo_message *in, mo_error *error)
{
    if (mo_worker_launch(worker, error) != MO_OK) return MO_CALL_NO_GPU;
    mo_io io = mo_message_send(worker->child.socket, request->data, request->length, end);
    if (io == MO_IO_OK) io = mo_message_receive(worker->child.socket, &worker->reply, end);
    return io == MO_IO_OK ? decode(worker, in, error) : explain_loss(worker, io, error);
}
