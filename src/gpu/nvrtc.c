/* Locating, loading and calling NVRTC; no declaration of its header is needed at build time. */
#include "gpu/nvrtc.h"

#include "base/str.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct _nvrtcProgram *program;
typedef unsigned code;

typedef struct {
    code (*version)(int *, int *);
    const char *(*error_string)(code);
    code (*create)(program *, const char *, const char *, int, const char *const *, const char *const *);
    code (*destroy)(program *);
    code (*compile)(program, int, const char *const *);
    code (*cubin_size)(program, size_t *);
    code (*cubin)(program, char *);
    code (*ptx_size)(program, size_t *);
    code (*ptx)(program, char *);
    code (*log_size)(program, size_t *);
    code (*log)(program, char *);
    code (*n_archs)(int *);
    code (*archs)(int *);
} functions;

struct mo_nvrtc {
    functions f;
    char version[24];
};

static const struct {
    const char *symbol;
    size_t offset;
} table[] = {
    {"nvrtcVersion", offsetof(functions, version)},
    {"nvrtcGetErrorString", offsetof(functions, error_string)},
    {"nvrtcCreateProgram", offsetof(functions, create)},
    {"nvrtcDestroyProgram", offsetof(functions, destroy)},
    {"nvrtcCompileProgram", offsetof(functions, compile)},
    {"nvrtcGetCUBINSize", offsetof(functions, cubin_size)},
    {"nvrtcGetCUBIN", offsetof(functions, cubin)},
    {"nvrtcGetPTXSize", offsetof(functions, ptx_size)},
    {"nvrtcGetPTX", offsetof(functions, ptx)},
    {"nvrtcGetProgramLogSize", offsetof(functions, log_size)},
    {"nvrtcGetProgramLog", offsetof(functions, log)},
    {"nvrtcGetNumSupportedArchs", offsetof(functions, n_archs)},
    {"nvrtcGetSupportedArchs", offsetof(functions, archs)},
};

static bool open_one(functions *f, const char *path, mo_str *tried)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        mo_str_printf(tried, "\n  %s", dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        void *address = dlsym(library, table[i].symbol);
        if (address == NULL) {
            mo_str_printf(tried, "\n  %s: lacks %s", path, table[i].symbol);
            dlclose(library);
            return false;
        }
        memcpy((char *)f + table[i].offset, &address, sizeof address);
    }
    return true;
}

/* Newest first: glob sorts ascending, and the names of releases sort like their numbers. */
static bool open_folder(functions *f, const char *pattern, mo_str *tried)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) {
        mo_str_printf(tried, "\n  %s: no such file", pattern);
        return false;
    }
    bool ok = false;
    for (size_t i = found.gl_pathc; i > 0 && !ok; i--) ok = open_one(f, found.gl_pathv[i - 1], tried);
    globfree(&found);
    return ok;
}

static bool open_toolkit(functions *f, const char *root, mo_str *tried)
{
    static const char *const folders[] = {"lib64", "lib"};
    bool ok = false;
    for (size_t i = 0; i < 2 && !ok; i++) {
        mo_str pattern = {0};
        mo_str_printf(&pattern, "%s/%s/libnvrtc.so*", root, folders[i]);
        ok = open_folder(f, mo_str_text(&pattern), tried);
        mo_str_free(&pattern);
    }
    return ok;
}

static bool open_any(functions *f, mo_str *tried)
{
    static const char *const names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                        "libnvrtc.so"};
    static const char *const variables[] = {"CUDA_PATH", "CUDA_HOME"};
    const char *own = getenv("MIRAGE_OPT_NVRTC");
    if (own != NULL && *own != '\0') return open_one(f, own, tried); /* an explicit choice is binding */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (open_one(f, names[i], tried)) return true;
    }
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *root = getenv(variables[i]);
        if (root != NULL && *root != '\0' && open_toolkit(f, root, tried)) return true;
    }
    return open_toolkit(f, "/usr/local/cuda", tried) || open_toolkit(f, "/usr/local/cuda-*", tried);
}

mo_nvrtc *mo_nvrtc_open(mo_error *error)
{
    mo_nvrtc *nvrtc = calloc(1, sizeof *nvrtc);
    if (nvrtc == NULL) MO_BUG("out of memory");
    mo_str tried = {0};
    int major = 0, minor = 0;
    if (!open_any(&nvrtc->f, &tried)) {
        mo_fail(error, MO_ERR_ENV,
                "NVRTC, the CUDA run-time compiler, was not found; tried:%s\n"
                "hint: install the CUDA toolkit (or its NVRTC package), or set MIRAGE_OPT_NVRTC to the "
                "path of libnvrtc.so",
                mo_str_text(&tried));
        free(nvrtc);
        nvrtc = NULL;
    } else if (nvrtc->f.version(&major, &minor) == 0) {
        snprintf(nvrtc->version, sizeof nvrtc->version, "%d.%d", major, minor);
    }
    mo_str_free(&tried);
    return nvrtc;
}

void mo_nvrtc_close(mo_nvrtc *nvrtc)
{
    free(nvrtc);
}

const char *mo_nvrtc_version(const mo_nvrtc *nvrtc)
{
    return nvrtc->version;
}

int mo_nvrtc_archs(const mo_nvrtc *nvrtc, int *archs, int capacity)
{
    int count = 0;
    if (nvrtc->f.n_archs(&count) != 0 || count <= 0) return 0;
    int *all = calloc((size_t)count, sizeof *all);
    if (all == NULL) MO_BUG("out of memory");
    if (nvrtc->f.archs(all) != 0) count = 0;
    if (count > capacity) count = capacity;
    for (int i = 0; i < count; i++) archs[i] = all[i];
    free(all);
    return count;
}

/* Size and content of one of the program's texts: malloc memory with a NUL behind it, or NULL. */
static char *fetch(program p, code (*size_of)(program, size_t *), code (*get)(program, char *), size_t *size)
{
    *size = 0;
    if (size_of(p, size) != 0 || *size == 0) return NULL;
    char *data = malloc(*size + 1);
    if (data == NULL) MO_BUG("out of memory");
    data[*size] = '\0';
    if (get(p, data) == 0) return data;
    free(data);
    *size = 0;
    return NULL;
}

static char *copy_text(const char *text)
{
    char *copy = strdup(text);
    if (copy == NULL) MO_BUG("out of memory");
    return copy;
}

static void collect(const functions *f, program p, const mo_compile_request *request, mo_compiled *out)
{
    size_t size = 0;
    char *cubin = fetch(p, f->cubin_size, f->cubin, &out->cubin_bytes);
    out->cubin = (unsigned char *)cubin;
    if (request->want_ptx) out->ptx = fetch(p, f->ptx_size, f->ptx, &size);
    out->ok = cubin != NULL && (out->ptx != NULL || !request->want_ptx);
    out->n_usages = mo_ptxas_parse(out->log, NULL, 0);
    if (out->n_usages == 0) return;
    out->usages = calloc((size_t)out->n_usages, sizeof *out->usages);
    if (out->usages == NULL) MO_BUG("out of memory");
    mo_ptxas_parse(out->log, out->usages, out->n_usages);
}

enum { MAX_OPTIONS = 32 };

void mo_nvrtc_compile(const mo_nvrtc *nvrtc, const mo_compile_request *request, mo_compiled *out)
{
    const functions *f = &nvrtc->f;
    char arch[64];
    const char *options[MAX_OPTIONS];
    int n = 0;
    memset(out, 0, sizeof *out);
    snprintf(arch, sizeof arch, "--gpu-architecture=%s", request->arch);
    options[n++] = arch;
    options[n++] = "-std=c++17";
    options[n++] = "--ptxas-options=-v";
    for (const char *const *o = request->options; o != NULL && *o != NULL && n < MAX_OPTIONS; o++) {
        options[n++] = *o;
    }
    program p = NULL;
    code r = f->create(&p, request->source, request->name, 0, NULL, NULL);
    if (r != 0) {
        out->log = copy_text(f->error_string(r));
        return;
    }
    size_t size = 0;
    r = f->compile(p, n, options);
    out->log = fetch(p, f->log_size, f->log, &size);
    if (out->log == NULL) out->log = copy_text(r == 0 ? "" : f->error_string(r));
    if (r == 0) collect(f, p, request, out);
    f->destroy(&p);
}

void mo_compiled_free(mo_compiled *result)
{
    free(result->cubin);
    free(result->ptx);
    free(result->log);
    free(result->usages);
    memset(result, 0, sizeof *result);
}
