/* Requests that build and release state; running and timing are in executor_run.c and executor_time.c. */
#include "profile/executor_state.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

const size_t mo_exec_guard_bytes = 1024;
static const size_t alignment = 256;

static void *zeroed(size_t count, size_t size)
{
    void *memory = calloc(count == 0 ? 1 : count, size);
    if (memory == NULL) MO_BUG("out of memory");
    return memory;
}

static void layout_init(mo_layout *layout, uint32_t n)
{
    *layout = (mo_layout){.n = n, .size = zeroed(n, sizeof(size_t)), .offset = zeroed(n, sizeof(size_t))};
}

/* Places the buffers once their sizes are known. */
static void layout_place(mo_layout *layout)
{
    size_t at = mo_exec_guard_bytes;
    for (uint32_t i = 0; i < layout->n; i++) {
        at = (at + alignment - 1) & ~(alignment - 1);
        layout->offset[i] = at;
        at += layout->size[i] + mo_exec_guard_bytes;
    }
    layout->total = (at + alignment - 1) & ~(alignment - 1);
}

static void layout_free(mo_layout *layout)
{
    free(layout->size);
    free(layout->offset);
    *layout = (mo_layout){0};
}

static void drop_data(mo_executor *x, mo_exec_data *data)
{
    uint32_t n = data->n_sets * data->layout.n;
    for (uint32_t i = 0; i < n; i++) mo_gpu_free(&x->gpu, &data->inputs[i].memory);
    free(data->inputs);
    layout_free(&data->layout);
    *data = (mo_exec_data){0};
}

static void drop_job(mo_executor *x, mo_exec_job *job)
{
    mo_gpu_free(&x->gpu, &job->output_memory);
    mo_gpu_free(&x->gpu, &job->workspace_memory);
    mo_gpu_unload(&x->gpu, &job->module);
    for (uint32_t i = 0; i < job->n_launches; i++) {
        free(job->args[i]);
        free(job->maps[i]);
    }
    free(job->args);
    free(job->maps);
    free(job->n_args);
    free(job->kernels);
    layout_free(&job->outputs);
    layout_free(&job->workspace);
    *job = (mo_exec_job){0};
}

void mo_exec_drop_pool(mo_executor *x)
{
    mo_gpu_free(&x->gpu, &x->pool.memory);
    x->pool = (mo_exec_pool){0};
}

mo_executor *mo_executor_new(const mo_cuda *cuda, int device, mo_error *error)
{
    mo_executor *x = zeroed(1, sizeof *x);
    if (mo_gpu_open(&x->gpu, cuda, device, error)) return x;
    free(x);
    return NULL;
}

void mo_executor_free(mo_executor *x)
{
    for (int i = 0; i < MO_EXECUTOR_SLOTS; i++) {
        drop_data(x, &x->data[i]);
        drop_job(x, &x->jobs[i]);
    }
    mo_exec_drop_pool(x);
    mo_gpu_close(&x->gpu);
    free(x->host);
    free(x);
}

unsigned char *mo_exec_host(mo_executor *x, size_t bytes)
{
    if (bytes <= x->host_bytes) return x->host;
    free(x->host);
    x->host = zeroed(bytes, 1);
    x->host_bytes = bytes;
    return x->host;
}

size_t mo_exec_input_bytes(const mo_exec_data *data, uint32_t input)
{
    return data->layout.size[input] + 2 * mo_exec_guard_bytes;
}

void mo_exec_set_places(const mo_exec_data *data, uint32_t set, mo_cu_pointer *places)
{
    for (uint32_t i = 0; i < data->layout.n; i++) places[i] = data->inputs[set * data->layout.n + i].at;
}

void mo_exec_copy_places(const mo_exec_data *data, mo_cu_pointer base, mo_cu_pointer *places)
{
    for (uint32_t i = 0; i < data->layout.n; i++) places[i] = base + data->layout.offset[i];
}

static mo_reply_code facts(mo_executor *x, mo_str *reply)
{
    mo_put_bytes(reply, &x->gpu.facts, sizeof x->gpu.facts);
    return MO_REPLY_OK;
}

/* The hash is taken of what the device holds. */
static bool hash_input(mo_executor *x, const mo_exec_data *data, uint32_t index, mo_exec_input *input)
{
    size_t bytes = mo_exec_input_bytes(data, index);
    unsigned char *copy = mo_exec_host(x, bytes);
    if (!mo_gpu_read(&x->gpu, copy, input->memory, bytes, &x->error)) return false;
    input->hash = mo_hash64(copy, bytes, 0);
    return true;
}

/* One input of a set from `length` bytes, or of any values where there are none. */
static mo_reply_code upload(mo_executor *x, const mo_exec_data *data, uint32_t index, mo_exec_input *input,
                            const unsigned char *bytes, size_t length)
{
    size_t size = data->layout.size[index], total = mo_exec_input_bytes(data, index);
    if (!mo_gpu_alloc(&x->gpu, &input->memory, total, &x->error)) return MO_REPLY_NO_FIT;
    input->at = input->memory + mo_exec_guard_bytes;
    bool ok = mo_gpu_fill(&x->gpu, input->memory, 0xff, total, &x->error) &&
              (length == 0 ? mo_gpu_fill(&x->gpu, input->at, 0x3c, size, &x->error)
                           : mo_gpu_write(&x->gpu, input->at, bytes, length, &x->error)) &&
              mo_gpu_synchronize(&x->gpu, "uploading inputs", &x->error);
    return ok ? MO_REPLY_OK : MO_REPLY_FAILED;
}

/* slot, inputs, their sizes, sets */
static mo_reply_code load_data(mo_executor *x, mo_message *in)
{
    uint32_t slot = mo_get_u32(in);
    uint32_t n = mo_get_count(in, sizeof(int64_t));
    MO_CHECK(slot < MO_EXECUTOR_SLOTS && !in->bad);
    mo_exec_data *data = &x->data[slot];
    if (x->pool.data == slot) mo_exec_drop_pool(x);
    drop_data(x, data);
    layout_init(&data->layout, n);
    for (uint32_t i = 0; i < n; i++) data->layout.size[i] = (size_t)mo_get_i64(in);
    layout_place(&data->layout);
    data->n_sets = mo_get_u32(in);
    MO_CHECK(!in->bad && data->n_sets >= 1);
    data->used = true;
    data->inputs = zeroed((size_t)data->n_sets * n, sizeof *data->inputs);
    return MO_REPLY_OK;
}

/* slot, set, for each input the set whose bytes it shares, or this one and the bytes (none: any values will
 * do) */
static mo_reply_code load_set(mo_executor *x, mo_message *in)
{
    uint32_t slot = mo_get_u32(in), set = mo_get_u32(in);
    MO_CHECK(slot < MO_EXECUTOR_SLOTS && x->data[slot].used && set < x->data[slot].n_sets);
    mo_exec_data *data = &x->data[slot];
    for (uint32_t i = 0; i < data->layout.n; i++) {
        mo_exec_input *input = &data->inputs[set * data->layout.n + i];
        uint32_t shared = mo_get_u32(in);
        MO_CHECK(!in->bad && shared <= set);
        if (shared < set) {
            input->at = data->inputs[shared * data->layout.n + i].at;
            continue;
        }
        size_t length;
        const unsigned char *bytes = mo_get_bytes(in, &length);
        MO_CHECK(!in->bad && (length == 0 || length == data->layout.size[i]));
        mo_reply_code code = upload(x, data, i, input, bytes, length);
        if (code != MO_REPLY_OK) return code;
        if (set == MO_CHECKED_SET && !hash_input(x, data, i, input)) return MO_REPLY_FAILED;
    }
    return MO_REPLY_OK;
}

static void read_map(mo_gpu_map_shape *map, mo_message *in)
{
    map->rank = mo_get_u32(in);
    if (map->rank == 0) return;
    mo_dtype dtype = (mo_dtype)mo_get_u32(in);
    map->element = dtype == MO_F16 ? MO_GPU_F16 : dtype == MO_BF16 ? MO_GPU_BF16 : MO_GPU_F32;
    map->swizzle = mo_get_u32(in);
    for (int i = 0; i < 3; i++) {
        map->size[i] = (uint64_t)mo_get_i64(in);
        int64_t stride = mo_get_i64(in);
        if (i < 2) map->stride[i] = (uint64_t)stride;
        map->box[i] = mo_get_u32(in);
    }
    MO_CHECK(!in->bad && map->rank <= 3);
}

static void read_launch(mo_exec_job *job, uint32_t i, const mo_exec_data *data, mo_message *in)
{
    mo_gpu_kernel *k = &job->kernels[i];
    for (int d = 0; d < 3; d++) k->grid[d] = mo_get_u32(in);
    for (int d = 0; d < 3; d++) k->cluster[d] = mo_get_u32(in);
    for (int d = 0; d < 3; d++) k->block[d] = mo_get_u32(in);
    k->early = mo_get_u32(in) != 0;
    k->shared_bytes = mo_get_u32(in);
    job->n_args[i] = mo_get_count(in, 2 * sizeof(uint32_t));
    job->args[i] = zeroed(job->n_args[i], sizeof **job->args);
    job->maps[i] = zeroed(job->n_args[i], sizeof **job->maps);
    for (uint32_t a = 0; a < job->n_args[i]; a++) {
        mo_arg *arg = &job->args[i][a];
        arg->kind = (mo_arg_kind)mo_get_u32(in);
        arg->index = (int)mo_get_u32(in);
        arg->offset = mo_get_i64(in);
        read_map(&job->maps[i][a], in);
        uint32_t limit = arg->kind == MO_ARG_INPUT ? data->layout.n : job->outputs.n;
        MO_CHECK(!in->bad && arg->offset >= 0);
        if (arg->kind == MO_ARG_WORKSPACE)
            MO_CHECK((size_t)arg->offset <= job->workspace.size[0]);
        else
            MO_CHECK(arg->index >= 0 && (uint32_t)arg->index < limit);
    }
}

static void read_outputs(mo_exec_job *job, mo_message *in)
{
    layout_init(&job->outputs, mo_get_count(in, sizeof(int64_t)));
    for (uint32_t i = 0; i < job->outputs.n; i++) job->outputs.size[i] = (size_t)mo_get_i64(in);
    layout_place(&job->outputs);
    layout_init(&job->workspace, 1);
    job->workspace.size[0] = (size_t)mo_get_i64(in);
    job->zeroed = (size_t)mo_get_i64(in);
    MO_CHECK(job->zeroed <= job->workspace.size[0]);
    layout_place(&job->workspace);
}

/* The driver gets a copy, since within a message an image may lie at any address. */
static bool load_module(mo_executor *x, mo_exec_job *job, const unsigned char *cubin, size_t size)
{
    void *image = zeroed(size + 1, 1);
    memcpy(image, cubin, size);
    bool ok = mo_gpu_load(&x->gpu, image, &job->module, &x->error);
    free(image);
    return ok;
}

/* slot, data, cubin, output sizes, workspace size, launches -> registers, local and static shared bytes
 * of each kernel. */
static mo_reply_code load_job(mo_executor *x, mo_message *in, mo_str *reply)
{
    uint32_t slot = mo_get_u32(in), data = mo_get_u32(in);
    MO_CHECK(slot < MO_EXECUTOR_SLOTS && data < MO_EXECUTOR_SLOTS && x->data[data].used);
    mo_exec_job *job = &x->jobs[slot];
    drop_job(x, job);
    job->used = true;
    job->data = data;
    size_t size;
    const unsigned char *cubin = mo_get_bytes(in, &size);
    read_outputs(job, in);
    job->n_launches = mo_get_count(in, 12 * sizeof(uint32_t));
    MO_CHECK(!in->bad);
    job->kernels = zeroed(job->n_launches, sizeof *job->kernels);
    job->n_args = zeroed(job->n_launches, sizeof *job->n_args);
    job->args = zeroed(job->n_launches, sizeof *job->args);
    job->maps = zeroed(job->n_launches, sizeof *job->maps);
    if (!load_module(x, job, cubin, size)) return MO_REPLY_FAILED;
    for (uint32_t i = 0; i < job->n_launches; i++) {
        bool fits;
        const char *name = mo_get_text(in);
        read_launch(job, i, &x->data[data], in);
        mo_gpu_kernel *k = &job->kernels[i];
        if (!mo_gpu_prepare(&x->gpu, job->module, name, k, &fits, &x->error)) {
            return fits ? MO_REPLY_FAILED : MO_REPLY_NO_FIT;
        }
        mo_put_u32(reply, (uint32_t)k->registers);
        mo_put_u32(reply, (uint32_t)k->local_bytes);
        mo_put_u32(reply, (uint32_t)k->shared_static);
    }
    return MO_REPLY_OK;
}

static mo_reply_code dispatch(mo_executor *x, mo_message *in, mo_str *reply)
{
    uint32_t kind = mo_get_u32(in), slot;
    switch (kind) {
    case MO_REQUEST_FACTS: return facts(x, reply);
    case MO_REQUEST_DATA: return load_data(x, in);
    case MO_REQUEST_SET: return load_set(x, in);
    case MO_REQUEST_JOB: return load_job(x, in, reply);
    case MO_REQUEST_RUN: return mo_exec_run(x, in, reply);
    case MO_REQUEST_TIME: return mo_exec_time(x, in, reply);
    case MO_REQUEST_DROP_JOB:
    case MO_REQUEST_DROP_DATA:
        slot = mo_get_u32(in);
        MO_CHECK(slot < MO_EXECUTOR_SLOTS);
        if (kind == MO_REQUEST_DROP_JOB)
            drop_job(x, &x->jobs[slot]);
        else
            drop_data(x, &x->data[slot]);
        return MO_REPLY_OK;
    default: MO_BUG("request %u", kind);
    }
}

bool mo_executor_handle(mo_executor *x, const void *request, size_t length, mo_str *reply)
{
    mo_message in = {.at = request, .left = length};
    mo_str body = {0};
    x->error = (mo_error){0};
    mo_reply_code code = dispatch(x, &in, &body);
    mo_put_u32(reply, (uint32_t)code);
    if (code == MO_REPLY_OK)
        mo_str_add_bytes(reply, body.data, body.length);
    else
        mo_put_text(reply, x->error.text);
    mo_str_free(&body);
    return code == MO_REPLY_OK || code == MO_REPLY_NO_FIT;
}
