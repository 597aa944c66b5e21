/* What the parts of the executor share; see executor.h for the purpose. */
#ifndef MO_PROFILE_EXECUTOR_STATE_H
#define MO_PROFILE_EXECUTOR_STATE_H

#include "codegen/emit.h"
#include "profile/executor.h"

/* Where buffers lie in one allocation, with guards before, between and behind them. */
typedef struct {
    uint32_t n;
    size_t *size, *offset;
    size_t total;
} mo_layout;

/* The set whose inputs are looked at after a run. What a kernel writes to does not hang on values, so one
 * set is enough for this costly check. */
enum { MO_CHECKED_SET = 0 };

/* An input of one set: its bytes between two guards. Sets whose bytes are the same share one. */
typedef struct {
    mo_cu_pointer memory; /* 0 where `at` points into another set's */
    mo_cu_pointer at;     /* of the bytes */
    uint64_t hash;        /* of MO_CHECKED_SET: of the memory as uploaded, guards included */
} mo_exec_input;

typedef struct {
    bool used;
    mo_layout layout; /* of a set in one piece, as the rotating copies have it */
    uint32_t n_sets;
    mo_exec_input *inputs; /* [set * layout.n + input] */
} mo_exec_data;

typedef struct {
    bool used;
    uint32_t data;
    mo_cu_module module;
    uint32_t n_launches;
    mo_gpu_kernel *kernels;
    uint32_t *n_args;
    mo_arg **args;
    mo_gpu_map_shape **maps; /* [launch][argument]; rank 0: a pointer */
    mo_layout outputs, workspace;
    size_t zeroed; /* bytes of the workspace, from its start, that are zero before the first launch */
    mo_cu_pointer output_memory, workspace_memory;
} mo_exec_job;

/* Copies of a set, each followed by room for the outputs. Kept for the next job of the same shape. */
typedef struct {
    mo_cu_pointer memory;
    size_t stride, output_bytes;
    uint32_t data, set;
    int n_sets;
} mo_exec_pool;

struct mo_executor {
    mo_gpu gpu;
    mo_exec_data data[MO_EXECUTOR_SLOTS];
    mo_exec_job jobs[MO_EXECUTOR_SLOTS];
    mo_exec_pool pool;
    unsigned char *host; /* for what comes back from the GPU; kept, since fresh pages are slow */
    size_t host_bytes;
    mo_error error; /* of the current request */
};

/* Memory for copies from the GPU, valid until the next call. */
unsigned char *mo_exec_host(mo_executor *x, size_t bytes);

/* Bytes of an input's memory, and where in it the input begins. */
size_t mo_exec_input_bytes(const mo_exec_data *data, uint32_t input);
extern const size_t mo_exec_guard_bytes;

/* Places of the inputs of a set, and of a copy of one that lies in one piece at `base`. */
void mo_exec_set_places(const mo_exec_data *data, uint32_t set, mo_cu_pointer *places);
void mo_exec_copy_places(const mo_exec_data *data, mo_cu_pointer base, mo_cu_pointer *places);

/* Launches the job's kernels in order; asynchronous. `inputs`: the place of each; `outputs`: the base of
 * the job's layout. */
bool mo_exec_launch(mo_executor *x, const mo_exec_job *job, const mo_cu_pointer *inputs,
                    mo_cu_pointer outputs);

/* Allocates outputs and workspace of the job unless it has them. */
bool mo_exec_buffers(mo_executor *x, mo_exec_job *job);
void mo_exec_drop_pool(mo_executor *x);

/* Bodies of requests: return the code, and append the reply's data on OK; x->error says why not. */
mo_reply_code mo_exec_run(mo_executor *x, mo_message *in, mo_str *reply);
mo_reply_code mo_exec_time(mo_executor *x, mo_message *in, mo_str *reply);

#endif
