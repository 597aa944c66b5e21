/* Compiles kernels for every architecture that the tool emits for; errors and spills are failures.
 *
 * usage: test_compile SOURCE_DIR [FILE.cu...]
 * Without files: the device library as a whole (every function of kernels/ptx.cuh must be used by
 * tests/gpu/wrappers.cu) and the sample kernels. Files are taken as they are. Exits with 77 when there is no
 * NVRTC. */
#include "gpu/nvrtc.h"
#include "samples.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_REGISTERS = 168, MAX_ARCHS = 64 };

static const char *const archs[] = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"};

typedef struct {
    const mo_nvrtc *nvrtc;
    int supported[MAX_ARCHS], n_supported;
    int failures, compiled, skipped;
} test;

static bool is_supported(const test *t, const char *arch)
{
    for (int i = 0; i < t->n_supported; i++)
        if (t->supported[i] == atoi(arch + 3)) return true;
    return false;
}

static void check_usage(test *t, const char *name, const char *arch, const mo_kernel_usage *u)
{
    bool ok = u->spill_stores == 0 && u->spill_loads == 0 && u->registers <= MAX_REGISTERS;
    if (!ok) t->failures++;
    printf("%s %s %s %s: %d registers, %d bytes spilled, %d on the stack\n", ok ? "ok  " : "FAIL", name, arch,
           u->name, u->registers, u->spill_stores + u->spill_loads, u->stack);
}

static void compile(test *t, const char *name, const char *text, const char *arch)
{
    if (!is_supported(t, arch)) {
        printf("skip %s %s: this NVRTC does not compile for it\n", name, arch);
        t->skipped++;
        return;
    }
    mo_compile_request request = {.source = text, .name = name, .arch = arch};
    mo_compiled result;
    mo_nvrtc_compile(t->nvrtc, &request, &result);
    t->compiled++;
    if (!result.ok || result.n_usages == 0) {
        printf("FAIL %s %s: %s\n", name, arch, result.log);
        t->failures++;
    }
    for (int i = 0; i < result.n_usages; i++) check_usage(t, name, arch, &result.usages[i]);
    mo_compiled_free(&result);
}

static void compile_all(test *t, const char *name, const char *text)
{
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++) compile(t, name, text, archs[i]);
}

static void compile_with_library(test *t, const char *directory, const char *path)
{
    char *text = sample_text(directory, path, NULL, NULL);
    compile_all(t, strrchr(path, '/') + 1, text);
    free(text);
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 20);
    if (file == NULL || text == NULL) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    size_t n = fread(text, 1, (1 << 20) - 1, file);
    text[n] = 0;
    fclose(file);
    return text;
}

static bool occurs(const char *text, const char *name, size_t length)
{
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++) {
        bool starts = at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_');
        if (starts && !(isalnum((unsigned char)at[length]) || at[length] == '_')) return true;
    }
    return false;
}

/* Every function that ptx.cuh defines occurs in wrappers.cu. */
static void check_complete(test *t, const char *directory)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/kernels/ptx.cuh", directory);
    char *library = read_text(path);
    snprintf(path, sizeof path, "%s/tests/gpu/wrappers.cu", directory);
    char *used = read_text(path);
    int functions = 0;
    for (char *at = library; (at = strstr(at, "MO_DEV ")) != NULL; at++) {
        char *open = strchr(at, '('), *start = open;
        if (open == NULL || memchr(at, '\n', (size_t)(open - at)) != NULL) continue;
        while (isalnum((unsigned char)start[-1]) || start[-1] == '_') start--;
        char name[128] = "";
        snprintf(name, sizeof name, "%.*s", (int)(open - start), start);
        functions++;
        if (occurs(used, name, strlen(name))) continue;
        printf("FAIL ptx.cuh: %s is not used in tests/gpu/wrappers.cu\n", name);
        t->failures++;
    }
    if (functions < 40) t->failures++;
    printf("%d functions in ptx.cuh\n", functions);
    free(library);
    free(used);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: %s SOURCE_DIR [FILE.cu...]\n", argv[0]);
        return 2;
    }
    static mo_error error;
    mo_nvrtc *nvrtc = mo_nvrtc_open(&error);
    if (nvrtc == NULL) {
        printf("skipped: %s\n", error.text);
        return 77;
    }
    test t = {.nvrtc = nvrtc};
    t.n_supported = mo_nvrtc_archs(nvrtc, t.supported, MAX_ARCHS);
    for (int i = 2; i < argc; i++) {
        char *text = read_text(argv[i]);
        compile_all(&t, argv[i], text);
        free(text);
    }
    if (argc == 2) {
        check_complete(&t, argv[1]);
        compile_with_library(&t, argv[1], "tests/gpu/wrappers.cu");
        compile_with_library(&t, argv[1], "tests/emu/samples/ring_gemm.cu");
        compile_with_library(&t, argv[1], "tests/emu/samples/row_norm.cu");
        compile_with_library(&t, argv[1], "tests/emu/samples/split_sum.cu");
        char *text = sample_text(argv[1], "tests/emu/samples/tma_gemm.cu", NULL, NULL);
        for (size_t i = 3; i < sizeof archs / sizeof *archs; i++) compile(&t, "tma_gemm.cu", text, archs[i]);
        free(text);
    }
    mo_nvrtc_close(nvrtc);
    printf("%d compiles, %d skipped, %d failures\n", t.compiled, t.skipped, t.failures);
    return t.failures > 0 ? 1 : t.compiled == 0 ? 77 : 0;
}
