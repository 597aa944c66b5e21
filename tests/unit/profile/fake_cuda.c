#include "unit/profile/fake_cuda.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    float *in, *out, *scratch;
} fake_args;

struct CUfunc_st {
    const char *name;
    void (*body)(fake_args a);
    double us;
    int shared;
};

typedef struct {
    mo_cu_function function;
    fake_args args;
} node;

struct CUgraph_st {
    int n, capacity;
    node *nodes;
};

/* Lives in the worker process; the test process never touches it. */
static struct {
    bool capturing, lost, hanging;
    struct CUgraph_st *graph;
    double now_us;
    unsigned launches, graphs;
} state;

static void times(fake_args a, float factor)
{
    for (int i = 0; i < FAKE_COUNT; i++) a.out[i] = factor * a.in[i];
}

static void twice(fake_args a)
{
    times(a, 2.0f);
}
static void wrong(fake_args a)
{
    times(a, 3.0f);
}
static void nothing(fake_args a)
{
    (void)a;
}
static void fault(fake_args a)
{
    (void)a;
    state.lost = true;
}
static void hang(fake_args a)
{
    (void)a;
    state.hanging = true;
}

static _Noreturn void crash(fake_args a)
{
    (void)a;
    abort();
}

static void overrun(fake_args a)
{
    times(a, 2.0f);
    a.out[FAKE_COUNT] = 1.0f;
}

static void clobber(fake_args a)
{
    times(a, 2.0f);
    a.in[3] += 1.0f;
}

static void scratch(fake_args a)
{
    memcpy(a.scratch, a.in, FAKE_COUNT * sizeof(float));
    for (int i = 0; i < FAKE_COUNT; i++) a.out[i] = 2.0f * a.scratch[i];
}

static void jitter(fake_args a)
{
    times(a, 2.0f);
    state.now_us += (double)(state.launches * 7 % 5);
}

/* The profiler records three graphs to time a job. */
static void lucky(fake_args a)
{
    times(a, 2.0f);
    if (state.graphs > 3 * FAKE_TIMED) state.now_us += 1;
}

static struct CUfunc_st functions[] = {
    {"twice", twice, 10, 0},    {"close", twice, 10.1, 0},    {"slow", twice, 100, 0},
    {"wrong", wrong, 5, 0},     {"nothing", nothing, 5, 0},   {"overrun", overrun, 5, 0},
    {"clobber", clobber, 5, 0}, {"scratch", scratch, 5, 0},   {"jitter", jitter, 10, 0},
    {"lucky", lucky, 9.95, 0},  {"hungry", twice, 5, 300000}, {"fault", fault, 5, 0},
    {"hang", hang, 5, 0},       {"crash", crash, 5, 0},       {"read2", nothing, 20, 0},
    {"read4", nothing, 20, 0},  {"read8", nothing, 20, 0},    {"flush", nothing, 20, 0},
};

enum { ILLEGAL_ACCESS = 700, NOT_FOUND = 500, OUT_OF_MEMORY = 2 };
static const size_t memory_bytes = (size_t)1 << 30;

static void execute(const node *n)
{
    state.launches++;
    state.now_us += n->function->us;
    n->function->body(n->args);
}

static mo_cu_result status(void)
{
    while (state.hanging) pause();
    return state.lost ? ILLEGAL_ACCESS : 0;
}

static mo_cu_result f_init(unsigned flags)
{
    (void)flags;
    return 0;
}
static mo_cu_result f_version(int *version)
{
    *version = 13000;
    return 0;
}
static mo_cu_result f_count(int *count)
{
    *count = 1;
    return 0;
}
static mo_cu_result f_context_set(mo_cu_context context)
{
    (void)context;
    return 0;
}
static mo_cu_result f_release(mo_cu_device device)
{
    (void)device;
    return 0;
}
static mo_cu_result f_synchronize(mo_cu_stream stream)
{
    (void)stream;
    return status();
}
static mo_cu_result f_event_synchronize(mo_cu_event event)
{
    (void)event;
    return status();
}

static mo_cu_result f_error(mo_cu_result result, const char **text)
{
    *text = result == ILLEGAL_ACCESS ? "FAKE_ILLEGAL_ACCESS" : "FAKE_ERROR";
    return 0;
}

static mo_cu_result f_device(mo_cu_device *device, int index)
{
    *device = index;
    return 0;
}

static mo_cu_result f_name(char *name, int size, mo_cu_device device)
{
    (void)device;
    strncpy(name, "Fake GPU", (size_t)size);
    return 0;
}

static mo_cu_result f_attribute(int *value, unsigned attribute, mo_cu_device device)
{
    (void)device;
    switch (attribute) {
    case MO_CU_DEVICE_MAJOR: *value = 9; break;
    case MO_CU_DEVICE_MINOR: *value = 0; break;
    case MO_CU_DEVICE_SMS: *value = 4; break;
    case MO_CU_DEVICE_L2_BYTES: *value = 1 << 16; break;
    default: *value = 232448; break;
    }
    return 0;
}

static mo_cu_result f_total(size_t *bytes, mo_cu_device device)
{
    (void)device;
    *bytes = memory_bytes;
    return 0;
}

static mo_cu_result f_retain(mo_cu_context *context, mo_cu_device device)
{
    static char context_object;
    (void)device;
    *context = (mo_cu_context)(void *)&context_object;
    return 0;
}

static mo_cu_result f_info(size_t *available, size_t *total)
{
    *available = *total = memory_bytes;
    return 0;
}

static mo_cu_result f_alloc(mo_cu_pointer *pointer, size_t bytes)
{
    void *memory = bytes > memory_bytes ? NULL : malloc(bytes);
    *pointer = (mo_cu_pointer)(uintptr_t)memory;
    return memory == NULL ? OUT_OF_MEMORY : 0;
}

static void *at(mo_cu_pointer pointer)
{
    return (void *)(uintptr_t)pointer;
}

static mo_cu_result f_free(mo_cu_pointer pointer)
{
    free(at(pointer));
    return 0;
}

static mo_cu_result f_write(mo_cu_pointer to, const void *from, size_t bytes)
{
    memcpy(at(to), from, bytes);
    return status();
}

static mo_cu_result f_read(void *to, mo_cu_pointer from, size_t bytes)
{
    memcpy(to, at(from), bytes);
    return status();
}

static mo_cu_result f_copy(mo_cu_pointer to, mo_cu_pointer from, size_t bytes, mo_cu_stream stream)
{
    (void)stream;
    memcpy(at(to), at(from), bytes);
    return status();
}

static mo_cu_result f_fill(mo_cu_pointer to, unsigned char byte, size_t bytes, mo_cu_stream stream)
{
    (void)stream;
    memset(at(to), byte, bytes);
    return status();
}

static mo_cu_result f_load(mo_cu_module *module, const void *image)
{
    static char module_object;
    *module = (mo_cu_module)(void *)&module_object;
    return strcmp(image, fake_cuda_image()) == 0 ? 0 : 200;
}

static mo_cu_result f_unload(mo_cu_module module)
{
    (void)module;
    return 0;
}

static mo_cu_result f_function(mo_cu_function *function, mo_cu_module module, const char *name)
{
    (void)module;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        *function = &functions[i];
        if (strcmp(functions[i].name, name) == 0) return 0;
    }
    return NOT_FOUND;
}

static mo_cu_result f_function_get(int *value, unsigned attribute, mo_cu_function function)
{
    *value = attribute == MO_CU_FUNCTION_MAX_THREADS     ? 1024
             : attribute == MO_CU_FUNCTION_STATIC_SHARED ? function->shared
             : attribute == MO_CU_FUNCTION_REGISTERS     ? 32
                                                         : 0;
    return 0;
}

static mo_cu_result f_function_set(mo_cu_function function, unsigned attribute, int value)
{
    (void)function;
    (void)attribute;
    (void)value;
    return 0;
}

static mo_cu_result f_launch(mo_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                             unsigned by, unsigned bz, unsigned shared, mo_cu_stream stream, void **args,
                             void **extra)
{
    (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
    node n = {.function = function};
    n.args.in = *(float **)args[0];
    n.args.out = *(float **)args[1];
    if (strcmp(function->name, "scratch") == 0) n.args.scratch = *(float **)args[2];
    if (!state.capturing) {
        if (!state.lost) execute(&n);
        return 0;
    }
    struct CUgraph_st *g = state.graph;
    if (g->n == g->capacity) {
        g->capacity = g->capacity == 0 ? 64 : 2 * g->capacity;
        g->nodes = realloc(g->nodes, (size_t)g->capacity * sizeof *g->nodes);
        if (g->nodes == NULL) abort();
    }
    g->nodes[g->n++] = n;
    return 0;
}

static mo_cu_result f_stream(mo_cu_stream *stream, unsigned flags)
{
    static char stream_object;
    (void)flags;
    *stream = (mo_cu_stream)(void *)&stream_object;
    return 0;
}

static mo_cu_result f_stream_destroy(mo_cu_stream stream)
{
    (void)stream;
    return 0;
}

static mo_cu_result f_capture(mo_cu_stream stream, unsigned mode)
{
    (void)stream;
    (void)mode;
    state.capturing = true;
    state.graphs++;
    state.graph = calloc(1, sizeof *state.graph);
    return state.graph == NULL ? OUT_OF_MEMORY : 0;
}

static mo_cu_result f_end_capture(mo_cu_stream stream, mo_cu_graph *graph)
{
    (void)stream;
    state.capturing = false;
    *graph = state.graph;
    return 0;
}

/* The instance takes the nodes over. */
static mo_cu_result f_instantiate(mo_cu_graph_exec *exec, mo_cu_graph graph, unsigned long long flags)
{
    (void)flags;
    struct CUgraph_st *copy = malloc(sizeof *copy);
    if (copy == NULL) return OUT_OF_MEMORY;
    *copy = *graph;
    *graph = (struct CUgraph_st){0};
    *exec = (mo_cu_graph_exec)(void *)copy;
    return 0;
}

static mo_cu_result f_graph_destroy(mo_cu_graph graph)
{
    free(graph->nodes);
    free(graph);
    return 0;
}

static mo_cu_result f_exec_destroy(mo_cu_graph_exec exec)
{
    return f_graph_destroy((mo_cu_graph)(void *)exec);
}

static mo_cu_result f_graph_launch(mo_cu_graph_exec exec, mo_cu_stream stream)
{
    (void)stream;
    const struct CUgraph_st *graph = (const struct CUgraph_st *)(const void *)exec;
    for (int i = 0; i < graph->n; i++) execute(&graph->nodes[i]);
    return 0;
}

static mo_cu_result f_event(mo_cu_event *event, unsigned flags)
{
    (void)flags;
    double *time = calloc(1, sizeof *time);
    *event = (mo_cu_event)(void *)time;
    return time == NULL ? OUT_OF_MEMORY : 0;
}

static mo_cu_result f_event_destroy(mo_cu_event event)
{
    free(event);
    return 0;
}

static mo_cu_result f_event_record(mo_cu_event event, mo_cu_stream stream)
{
    (void)stream;
    *(double *)(void *)event = state.now_us;
    return 0;
}

static mo_cu_result f_elapsed(float *milliseconds, mo_cu_event from, mo_cu_event to)
{
    *milliseconds = (float)((*(double *)(void *)to - *(double *)(void *)from) / 1e3);
    return 0;
}

const char *fake_cuda_image(void)
{
    return "an image of the fake driver";
}

mo_status fake_cuda_load(mo_cuda *cuda, mo_error *error)
{
    (void)error;
    *cuda = (mo_cuda){.init = f_init,
                      .driver_version = f_version,
                      .error_name = f_error,
                      .error_string = f_error,
                      .device_get = f_device,
                      .device_count = f_count,
                      .device_name = f_name,
                      .device_attribute = f_attribute,
                      .device_memory = f_total,
                      .context_retain = f_retain,
                      .context_release = f_release,
                      .context_set = f_context_set,
                      .memory_info = f_info,
                      .alloc = f_alloc,
                      .free = f_free,
                      .copy_to_device = f_write,
                      .copy_to_host = f_read,
                      .copy_on_device = f_copy,
                      .fill = f_fill,
                      .module_load = f_load,
                      .module_unload = f_unload,
                      .module_function = f_function,
                      .function_get = f_function_get,
                      .function_set = f_function_set,
                      .launch = f_launch,
                      .stream_create = f_stream,
                      .stream_destroy = f_stream_destroy,
                      .stream_synchronize = f_synchronize,
                      .stream_capture = f_capture,
                      .stream_end_capture = f_end_capture,
                      .event_create = f_event,
                      .event_destroy = f_event_destroy,
                      .event_record = f_event_record,
                      .event_synchronize = f_event_synchronize,
                      .event_elapsed = f_elapsed,
                      .graph_instantiate = f_instantiate,
                      .graph_launch = f_graph_launch,
                      .graph_exec_destroy = f_exec_destroy,
                      .graph_destroy = f_graph_destroy};
    return MO_OK;
}

mo_status fake_cuda_absent(mo_cuda *cuda, mo_error *error)
{
    static const char *const names[] = {"libmissing-driver.so.1", NULL};
    return mo_cuda_load_from(cuda, names, error);
}
