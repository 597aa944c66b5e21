/* From a kernel text to a loaded library, and the buffers it may use. */
#include "emu_internal.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const mo_emu_place *running_place(mo_emu *emu)
{
    return &emu->running->place;
}

static unsigned shared_offset(mo_emu *emu, const void *pc, const void *shared)
{
    return (unsigned)mo_emu_locate(emu, emu->running, pc, "address conversion", shared, 1, 1, MO_EMU_SHARED)
        .offset;
}

static unsigned cluster_rank(mo_emu *emu)
{
    return emu->blocks[emu->running->block].rank;
}

static void *cluster_map(mo_emu *emu, const void *pc, void *shared, unsigned rank)
{
    thread *t = emu->running;
    location where = mo_emu_locate(emu, t, pc, "mapa", shared, 1, 1, MO_EMU_SHARED);
    if (rank >= emu->cluster_size)
        mo_emu_fail(emu, t, pc, "mapa: rank %u of a cluster of %u", rank, emu->cluster_size);
    return mo_emu_shared_bytes(emu, t->block - emu->blocks[t->block].rank + rank, where.offset);
}

static const mo_emu_api callbacks = {
    .place = running_place,
    .access = mo_emu_access,
    .load = mo_emu_load,
    .store = mo_emu_store,
    .load_relaxed = mo_emu_load_relaxed,
    .store_relaxed = mo_emu_store_relaxed,
    .atomic_add = mo_emu_atomic_add,
    .add_f32 = mo_emu_add_f32,
    .shared_offset = shared_offset,
    .sync_threads = mo_emu_sync_threads,
    .sync_warp = mo_emu_sync_warp,
    .barrier = mo_emu_barrier,
    .shuffle = mo_emu_shuffle,
    .ballot = mo_emu_ballot,
    .ldmatrix = mo_emu_ldmatrix,
    .mma = mo_emu_mma,
    .wgmma = mo_emu_wgmma,
    .cp_async = mo_emu_cp_async,
    .cp_commit = mo_emu_cp_commit,
    .cp_wait = mo_emu_cp_wait,
    .mbar_init = mo_emu_mbar_init,
    .mbar_arrive = mo_emu_mbar_arrive,
    .mbar_try_wait = mo_emu_mbar_try_wait,
    .tma_load = mo_emu_tma_load,
    .bulk_load = mo_emu_bulk_load,
    .cluster_rank = cluster_rank,
    .cluster_arrive = mo_emu_cluster_arrive,
    .cluster_wait = mo_emu_cluster_wait,
    .cluster_map = cluster_map,
};

const mo_emu_api *mo_emu_callbacks(void)
{
    return &callbacks;
}

/* ---- compiling ---- */

/* Writes the text with "extern __shared__" (the dynamic shared memory) as "extern": what is left of
 * __shared__ makes static arrays. */
static bool write_source(const mo_emu *emu, const char *source)
{
    static const char dynamic[] = "extern __shared__";
    char path[192];
    snprintf(path, sizeof path, "%s/%s", emu->dir, emu->name);
    FILE *file = fopen(path, "w");
    if (file == NULL) return false;
    for (const char *next; (next = strstr(source, dynamic)) != NULL; source = next + sizeof dynamic - 1)
        fprintf(file, "%.*sextern", (int)(next - source), source);
    bool ok = fputs(source, file) >= 0;
    return fclose(file) == 0 && ok;
}

/* Runs a command; its output, at most `size` bytes, becomes the error text when it fails. */
static bool run_command(const char *command, char *error, size_t size)
{
    FILE *pipe = popen(command, "r");
    if (pipe == NULL) {
        snprintf(error, size, "popen: %s", strerror(errno));
        return false;
    }
    size_t n = fread(error, 1, size - 1, pipe);
    error[n] = 0;
    char rest[256];
    while (fread(rest, 1, sizeof rest, pipe) > 0) continue;
    return pclose(pipe) == 0;
}

/* Instrumented when compiled, but linked without the sanitizer's library: emu_cuda.h has the hooks. */
static bool compile(const mo_emu *emu, const char *include_dir, char *error, size_t size)
{
    const char *cxx = getenv("CXX");
    if (cxx == NULL || cxx[0] == 0) cxx = "c++";
    char command[2048];
    snprintf(command, sizeof command,
             "%s -std=c++17 -O1 -g1 -fPIC -w -DMO_EMU -fsanitize=thread -I'%s' -include emu_cuda.h -x c++ -c "
             "'%s/%s' -o %s/kernel.o 2>&1 && %s -shared %s/kernel.o -o %s/kernel.so -lm 2>&1",
             cxx, include_dir, emu->dir, emu->name, emu->dir, cxx, emu->dir, emu->dir);
    return run_command(command, error, size);
}

/* ---- loading ---- */

static int find_image(struct dl_phdr_info *info, size_t size, void *argument)
{
    mo_emu *emu = argument;
    (void)size;
    size_t end = 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_LOAD && h->p_vaddr + h->p_memsz > end) end = h->p_vaddr + h->p_memsz;
    }
    const unsigned char *base = (const unsigned char *)(uintptr_t)info->dlpi_addr;
    if (emu->home < base || emu->home >= base + end) return 0;
    emu->image = base;
    emu->image_size = end;
    return 1;
}

static void *symbol(const mo_emu *emu, const char *name)
{
    return dlsym(emu->library, name);
}

static bool load(mo_emu *emu, char *error, size_t size)
{
    char path[192];
    snprintf(path, sizeof path, "%s/kernel.so", emu->dir);
    emu->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (emu->library == NULL) {
        snprintf(error, size, "%s", dlerror());
        return false;
    }
    emu->home = symbol(emu, "mo_smem");
    *(void **)&emu->attach = symbol(emu, "mo_emu_attach");
    if (emu->home == NULL || emu->attach == NULL || dl_iterate_phdr(find_image, emu) == 0) {
        snprintf(error, size, "%s: not compiled with emu_cuda.h", emu->name);
        return false;
    }
    unsigned char *(*statics)(size_t *);
    *(void **)&statics = symbol(emu, "mo_emu_static_shared");
    emu->statics = statics(&emu->statics_size);
    return true;
}

void (*mo_emu_find_kernel(mo_emu *emu, const char *name))(void)
{
    void (*entry)(void);
    *(void **)&entry = symbol(emu, name);
    if (entry == NULL)
        snprintf(emu->error, sizeof emu->error, "there is no kernel %s in %s", name, emu->name);
    return entry;
}

mo_emu *mo_emu_load_source(const char *source, const char *name, const char *include_dir, char *error,
                           size_t error_size)
{
    mo_emu *emu = calloc(1, sizeof *emu);
    if (emu == NULL) abort();
    emu->name = name;
    const char *tmp = getenv("TMPDIR");
    if (tmp == NULL || strlen(tmp) > 32) tmp = "/tmp";
    snprintf(emu->dir, sizeof emu->dir, "%s/mo_emu_XXXXXX", tmp);
    if (mkdtemp(emu->dir) == NULL || !write_source(emu, source)) {
        snprintf(error, error_size, "%s: %s", emu->dir, strerror(errno));
    } else if (compile(emu, include_dir, error, error_size) && load(emu, error, error_size)) {
        return emu;
    }
    mo_emu_free(emu);
    return NULL;
}

static void remove_files(const mo_emu *emu)
{
    const char *const names[] = {emu->name, "kernel.o", "kernel.so"};
    char path[192];
    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", emu->dir, names[i]);
        unlink(path);
    }
    rmdir(emu->dir);
}

void mo_emu_free(mo_emu *emu)
{
    if (emu == NULL) return;
    if (emu->library != NULL) dlclose(emu->library);
    remove_files(emu);
    mo_stacks_close(&emu->stacks);
    free(emu->buffers);
    free(emu);
}

void mo_emu_add_buffer(mo_emu *emu, const char *name, void *bytes, size_t size, bool writable)
{
    emu->buffers = realloc(emu->buffers, (emu->n_buffers + 1) * sizeof *emu->buffers);
    if (emu->buffers == NULL) abort();
    emu->buffers[emu->n_buffers++] =
        (buffer){.name = name, .bytes = bytes, .size = size, .writable = writable};
}

void mo_emu_forget_buffers(mo_emu *emu)
{
    emu->n_buffers = 0;
    emu->last_buffer = 0;
}
