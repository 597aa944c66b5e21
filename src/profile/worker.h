/* A child process that owns the GPU, so that a kernel which reads where it must not, never ends or
 * upsets the driver costs one candidate and not the run.
 *
 * The child is forked anew after it was lost, which works only while nothing in this process has ever
 * initialised the driver (profile/child.h): this process does not, and compiles in a child too. A new child
 * knows nothing: mo_worker_generation tells callers when to send their data again. Not thread-safe. */
#ifndef MO_PROFILE_WORKER_H
#define MO_PROFILE_WORKER_H

#include "base/str.h"
#include "gpu/driver.h"
#include "profile/protocol.h"

#include <stdint.h>

typedef struct mo_worker mo_worker;

/* Fills the driver's table in the child: mo_cuda_load, or a stand-in of a test. */
typedef mo_status mo_cuda_loader(mo_cuda *cuda, mo_error *error);

mo_worker *mo_worker_new(mo_cuda_loader *load, int device);
void mo_worker_free(mo_worker *worker); /* NULL is allowed; ends the child */

/* Forks the child if there is none and does not wait for it to have opened the GPU, which takes a while. */
mo_status mo_worker_launch(mo_worker *worker, mo_error *error);

/* The same, and waits; facts of the GPU. MO_ERR_ENV when there is no usable one. */
mo_status mo_worker_start(mo_worker *worker, mo_gpu_facts *facts, mo_error *error);

/* Is there a child? One that has died unnoticed still counts. */
bool mo_worker_running(const mo_worker *worker);

/* Counts the children started so far. */
uint64_t mo_worker_generation(const mo_worker *worker);

typedef enum {
    MO_CALL_OK, /* *reply holds the answer behind its code OK */
    MO_CALL_NO_FIT,
    MO_CALL_BAD_WRITE,
    MO_CALL_FAILED, /* the driver reported an error, or the child died */
    MO_CALL_TIMEOUT,
    MO_CALL_NO_GPU /* no child could be started */
} mo_call;

/* Sends a request and waits until `end` (a time of mo_clock_seconds). On OK, *in reads the answer, which
 * lives until the next call. Otherwise *error says why; except after NO_FIT the child is gone. */
mo_call mo_worker_call(mo_worker *worker, const mo_str *request, double end, mo_message *in, mo_error *error);

#endif
