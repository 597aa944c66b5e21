/* One run of a job on poisoned buffers, and the check of the guards behind it. */
#include "profile/executor_state.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static mo_cu_pointer place_of(const mo_exec_job *job, const mo_arg *arg, const mo_cu_pointer *inputs,
                              mo_cu_pointer outputs)
{
    mo_cu_pointer base = job->workspace_memory + job->workspace.offset[0];
    if (arg->kind == MO_ARG_INPUT) base = inputs[arg->index];
    if (arg->kind == MO_ARG_OUTPUT) base = outputs + job->outputs.offset[arg->index];
    return base + (mo_cu_pointer)arg->offset;
}

/* An argument's value: a pointer, or a tensor map of what lies there. */
typedef union {
    mo_cu_pointer pointer;
    mo_gpu_map map;
} value;

bool mo_exec_launch(mo_executor *x, const mo_exec_job *job, const mo_cu_pointer *inputs,
                    mo_cu_pointer outputs)
{
    for (uint32_t i = 0; i < job->n_launches; i++) {
        uint32_t n = job->n_args[i];
        value *values = aligned_alloc(_Alignof(value), (n + 1) * sizeof *values);
        void **places = malloc((n + 1) * sizeof *places);
        if (values == NULL || places == NULL) MO_BUG("out of memory");
        bool ok = true;
        for (uint32_t a = 0; a < n && ok; a++) {
            const mo_gpu_map_shape *map = &job->maps[i][a];
            mo_cu_pointer at = place_of(job, &job->args[i][a], inputs, outputs);
            places[a] = &values[a];
            values[a].pointer = at;
            if (map->rank > 0) ok = mo_gpu_encode_map(&x->gpu, map, at, &values[a].map, &x->error);
        }
        ok = ok && mo_gpu_launch(&x->gpu, &job->kernels[i], places, &x->error);
        free(values);
        free(places);
        if (!ok) return false;
    }
    return true;
}

bool mo_exec_buffers(mo_executor *x, mo_exec_job *job)
{
    if (job->output_memory == 0 &&
        !mo_gpu_alloc(&x->gpu, &job->output_memory, job->outputs.total, &x->error)) {
        return false;
    }
    return job->workspace_memory != 0 ||
           (mo_gpu_alloc(&x->gpu, &job->workspace_memory, job->workspace.total, &x->error) &&
            mo_gpu_fill(&x->gpu, job->workspace_memory + job->workspace.offset[0], 0, job->zeroed,
                        &x->error));
}

/* True if everything outside the buffers still is 0xFF. */
static bool guards_whole(const mo_layout *layout, const unsigned char *memory)
{
    size_t at = 0;
    for (uint32_t i = 0; i <= layout->n; i++) {
        size_t end = i == layout->n ? layout->total : layout->offset[i];
        for (; at < end; at++) {
            if (memory[at] != 0xff) return false;
        }
        if (i < layout->n) at = layout->offset[i] + layout->size[i];
    }
    return true;
}

/* Copies the memory back and checks its guards; *memory is valid until the next fetch. */
static mo_reply_code fetch(mo_executor *x, const mo_layout *layout, mo_cu_pointer from, const char *what,
                           unsigned char **memory)
{
    *memory = mo_exec_host(x, layout->total);
    if (!mo_gpu_read(&x->gpu, *memory, from, layout->total, &x->error)) return MO_REPLY_FAILED;
    if (guards_whole(layout, *memory)) return MO_REPLY_OK;
    mo_fail(&x->error, MO_ERR_ENV, "a kernel wrote outside %s", what);
    return MO_REPLY_BAD_WRITE;
}

static mo_reply_code check_inputs(mo_executor *x, const mo_exec_data *data)
{
    for (uint32_t i = 0; i < data->layout.n; i++) {
        const mo_exec_input *input = &data->inputs[MO_CHECKED_SET * data->layout.n + i];
        size_t bytes = mo_exec_input_bytes(data, i);
        unsigned char *memory = mo_exec_host(x, bytes);
        if (!mo_gpu_read(&x->gpu, memory, input->memory, bytes, &x->error)) return MO_REPLY_FAILED;
        if (mo_hash64(memory, bytes, 0) == input->hash) continue;
        mo_fail(&x->error, MO_ERR_ENV, "a kernel wrote to the inputs");
        return MO_REPLY_BAD_WRITE;
    }
    return MO_REPLY_OK;
}

/* The workspace can be large and its contents are nobody's business: only its ends are looked at. */
static mo_reply_code check_workspace(mo_executor *x, const mo_exec_job *job)
{
    const mo_layout *w = &job->workspace;
    size_t ends[2][2] = {{0, w->offset[0]}, {w->offset[0] + w->size[0], w->total}};
    for (int e = 0; e < 2; e++) {
        unsigned char *memory = NULL;
        size_t none = 0;
        mo_layout part = {.n = 0, .size = &none, .offset = &none, .total = ends[e][1] - ends[e][0]};
        mo_reply_code code = fetch(x, &part, job->workspace_memory + ends[e][0], "the workspace", &memory);
        if (code != MO_REPLY_OK) return code;
    }
    return MO_REPLY_OK;
}

/* The job's kernels once, on buffers of 0xFF. */
static bool run_poisoned(mo_executor *x, mo_exec_job *job, uint32_t set)
{
    const mo_exec_data *data = &x->data[job->data];
    mo_cu_pointer *inputs = calloc((size_t)data->layout.n + 1, sizeof *inputs);
    if (inputs == NULL) MO_BUG("out of memory");
    mo_exec_set_places(data, set, inputs);
    bool ok =
        mo_gpu_fill(&x->gpu, job->output_memory, 0xff, job->outputs.total, &x->error) &&
        mo_gpu_fill(&x->gpu, job->workspace_memory, 0xff, job->workspace.total, &x->error) &&
        mo_gpu_fill(&x->gpu, job->workspace_memory + job->workspace.offset[0], 0, job->zeroed, &x->error) &&
        mo_exec_launch(x, job, inputs, job->output_memory) &&
        mo_gpu_synchronize(&x->gpu, "running the kernels", &x->error);
    free(inputs);
    return ok;
}

/* job, set -> contents of each output */
mo_reply_code mo_exec_run(mo_executor *x, mo_message *in, mo_str *reply)
{
    uint32_t slot = mo_get_u32(in), set = mo_get_u32(in);
    MO_CHECK(!in->bad && slot < MO_EXECUTOR_SLOTS && x->jobs[slot].used);
    mo_exec_job *job = &x->jobs[slot];
    const mo_exec_data *data = &x->data[job->data];
    MO_CHECK(set < data->n_sets);
    if (!mo_exec_buffers(x, job)) return MO_REPLY_NO_FIT;
    if (!run_poisoned(x, job, set)) return MO_REPLY_FAILED;
    unsigned char *memory;
    mo_reply_code code = check_workspace(x, job);
    if (code == MO_REPLY_OK && set == MO_CHECKED_SET) code = check_inputs(x, data);
    if (code == MO_REPLY_OK) code = fetch(x, &job->outputs, job->output_memory, "the outputs", &memory);
    for (uint32_t i = 0; i < job->outputs.n && code == MO_REPLY_OK; i++) {
        mo_put_bytes(reply, memory + job->outputs.offset[i], job->outputs.size[i]);
    }
    return code;
}
