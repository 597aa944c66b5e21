/* The child has a pool of threads and sends each result as it comes; the sources reach it by the fork. */
#include "profile/compile.h"

#include "base/pool.h"
#include "profile/child.h"
#include "profile/protocol.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static void with_nvrtc(void *context, const mo_compile_request *request, mo_compiled *result)
{
    mo_nvrtc_compile(context, request, result);
}

mo_compiler mo_compiler_nvrtc(mo_nvrtc *nvrtc)
{
    return (mo_compiler){.compile = with_nvrtc, .context = nvrtc};
}

typedef struct {
    const mo_compiler *compiler;
    const mo_compile_request *requests;
    mo_compiled *results;
    const int *todo; /* the requests that this child is for */
    int n, threads, socket;
    pthread_mutex_t lock; /* of the socket */
} batch;

/* ---- the child ---- */

static void put_optional(mo_str *out, const char *text)
{
    mo_put_u32(out, text != NULL);
    if (text != NULL) mo_put_text(out, text);
}

static void put_result(mo_str *out, int index, const mo_compiled *c)
{
    mo_put_u32(out, (uint32_t)index);
    mo_put_u32(out, c->ok);
    mo_put_bytes(out, c->cubin, c->cubin == NULL ? 0 : c->cubin_bytes);
    mo_put_text(out, c->log == NULL ? "" : c->log);
    put_optional(out, c->ptx);
    mo_put_bytes(out, c->usages, (size_t)c->n_usages * sizeof *c->usages);
}

static void compile_one(void *context, int worker, int64_t at)
{
    (void)worker;
    batch *b = context;
    mo_compiled result;
    mo_str message = {0};
    int index = b->todo[at];
    b->compiler->compile(b->compiler->context, &b->requests[index], &result);
    put_result(&message, index, &result);
    mo_compiled_free(&result);
    pthread_mutex_lock(&b->lock);
    mo_message_send(b->socket, message.data, message.length, 0);
    pthread_mutex_unlock(&b->lock);
    mo_str_free(&message);
}

/* NVRTC asks the driver, where there is one, for its cache of compiled texts; without devices it has none,
 * and starts at once. */
static void compile_in_child(void *context, int socket)
{
    batch *b = context;
    b->socket = socket;
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    mo_pool *pool = mo_pool_new(b->threads);
    mo_pool_run(pool, b->n, compile_one, b);
}

/* ---- the parent ---- */

static void *copy_bytes(const void *bytes, size_t length)
{
    char *copy = malloc(length + 1);
    if (copy == NULL) MO_BUG("out of memory");
    if (length > 0) memcpy(copy, bytes, length);
    copy[length] = '\0';
    return copy;
}

static char *copy_text(const char *text)
{
    return copy_bytes(text, strlen(text));
}

static void take_result(const batch *b, const mo_str *message)
{
    mo_message in = {.at = (const unsigned char *)message->data, .left = message->length};
    size_t length;
    mo_compiled c = {0};
    uint32_t index = mo_get_u32(&in);
    c.ok = mo_get_u32(&in) != 0;
    const unsigned char *cubin = mo_get_bytes(&in, &c.cubin_bytes);
    if (c.cubin_bytes > 0) c.cubin = copy_bytes(cubin, c.cubin_bytes);
    c.log = copy_text(mo_get_text(&in));
    if (mo_get_u32(&in) != 0) c.ptx = copy_text(mo_get_text(&in));
    const unsigned char *usages = mo_get_bytes(&in, &length);
    c.n_usages = (int)(length / sizeof *c.usages);
    if (length > 0) c.usages = copy_bytes(usages, length);
    MO_CHECK(!in.bad && b->results[index].log == NULL);
    b->results[index] = c;
}

typedef enum { RECEIVED, ENDED, LATE } arrival;

/* Looks at the deadline while nothing comes. */
static arrival receive(int socket, const mo_deadline *deadline, mo_str *message)
{
    enum { LOOK_MILLISECONDS = 50 };
    struct pollfd wanted = {.fd = socket, .events = POLLIN};
    while (poll(&wanted, 1, LOOK_MILLISECONDS) <= 0) {
        if (mo_deadline_passed(deadline)) return LATE;
    }
    return mo_message_receive(socket, message, 0) == MO_IO_OK ? RECEIVED : ENDED;
}

/* One child for everything that has no result yet. *why is what became of a child that left some. */
static arrival run_child(batch *b, const mo_deadline *deadline, mo_error *why)
{
    mo_child child;
    mo_str message = {0};
    if (mo_child_start(&child, compile_in_child, b, why) != MO_OK) return ENDED;
    arrival last = RECEIVED;
    for (int received = 0; received < b->n && last == RECEIVED; received++) {
        last = receive(child.socket, deadline, &message);
        if (last == RECEIVED) take_result(b, &message);
    }
    int status = mo_child_stop(&child, last == ENDED);
    if (last == ENDED) {
        mo_fail(why, MO_ERR_ENV, "the compiler ended early: %s",
                WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "no reason is known");
    }
    mo_str_free(&message);
    return last;
}

static int find_missing(int n, const mo_compiled *results, int *todo)
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (results[i].log == NULL) todo[count++] = i;
    }
    return count;
}

/* After a crash one thread does what is left, so that the first source without a result is the culprit. */
void mo_compile_all(const mo_compiler *compiler, int threads, const mo_deadline *deadline, int n,
                    const mo_compile_request *requests, mo_compiled *results)
{
    int *todo = calloc((size_t)n + 1, sizeof *todo);
    if (todo == NULL) MO_BUG("out of memory");
    memset(results, 0, (size_t)n * sizeof *results);
    if (threads <= 0) threads = mo_core_count();
    batch b = {compiler, requests, results, todo, 0, 0, -1, PTHREAD_MUTEX_INITIALIZER};
    arrival last = RECEIVED;
    while (last != LATE && (b.n = find_missing(n, results, todo)) > 0) {
        mo_error why = {0};
        b.threads = threads < b.n ? threads : b.n;
        last = run_child(&b, deadline, &why);
        if (last == ENDED && threads == 1) {
            find_missing(n, results, todo);
            results[todo[0]].log = copy_text(why.text);
        }
        if (last == ENDED) threads = 1;
    }
    free(todo);
}
