/* The worker's side of profiling: holds input sets and compiled jobs on the GPU, runs and times them on
 * request (profile/protocol.h). Knows bytes and launches, no graphs and no numbers.
 *
 * Every buffer of a set lies between guards of 0xFF bytes: reads beyond a buffer give NaN, and writes
 * beyond one are found after the run. Outputs and workspace are filled with 0xFF (NaN in every element
 * type) before each run. A job that wrote where it must not is reported with BAD_WRITE.
 *
 * One thread; owns its GPU context. After a reply that makes mo_executor_handle return false the process
 * should end: the context is lost or its memory is no longer trusted. */
#ifndef MO_PROFILE_EXECUTOR_H
#define MO_PROFILE_EXECUTOR_H

#include "base/str.h"
#include "gpu/run.h"
#include "profile/protocol.h"

typedef struct mo_executor mo_executor;

/* The most data sets and jobs that can be held at a time; their numbers are below this. */
enum { MO_EXECUTOR_SLOTS = 64 };

/* NULL with MO_ERR_ENV when the device cannot be opened. */
mo_executor *mo_executor_new(const mo_cuda *cuda, int device, mo_error *error);
void mo_executor_free(mo_executor *executor);

/* Handles one request and appends the reply. False: answer, then end. */
bool mo_executor_handle(mo_executor *executor, const void *request, size_t length, mo_str *reply);

#endif
