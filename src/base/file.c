/* Reading and atomic writing. The writability check does what the write will do, up to creating the
 * temporary file, because permissions alone do not tell (read-only mounts, quotas, a privileged user). */
#include "base/file.h"

#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_CHUNK 65536
#define TEMPORARY_TRIES 100

static bool is_standard(const char *path)
{
    return strcmp(path, "-") == 0;
}

/* Reasons in words of our own where they are likely: those of the C library vary. */
static const char *reason_of(int code)
{
    switch (code) {
    case ENOENT: return "there is no such file";
    case EISDIR: return "this is a directory, not a file";
    case ENOTDIR: return "a part of the path is not a directory";
    case ENAMETOOLONG: return "the file name is too long";
    case EACCES:
    case EPERM: return "permission denied";
    case EROFS: return "the file system is read-only";
    case ENOSPC: return "no space is left";
    default: return strerror(code);
    }
}

/* Reads to the end, but never more than one byte above the limit. Returns 0 or an errno. */
static int read_all(int fd, mo_str *text)
{
    char chunk[READ_CHUNK];
    for (;;) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        if (n == 0) return 0;
        mo_str_add_bytes(text, chunk, (size_t)n);
        if (text->length > MO_FILE_LIMIT) return EFBIG;
    }
}

static mo_status read_failed(const char *name, int code, mo_error *error)
{
    if (code == EFBIG) {
        return mo_fail(error, MO_ERR_USER, "%s: error: larger than %u MiB", name, MO_FILE_LIMIT >> 20);
    }
    return mo_fail(error, MO_ERR_USER, "%s: error: cannot be read: %s", name, reason_of(code));
}

mo_status mo_file_read(mo_arena *arena, const char *path, const char **text, size_t *length, mo_error *error)
{
    const char *name = is_standard(path) ? "<stdin>" : path;
    int fd = is_standard(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return read_failed(name, errno, error);
    mo_str bytes = {0};
    int code = read_all(fd, &bytes);
    if (fd != STDIN_FILENO) close(fd);
    if (code == 0) {
        *text = mo_arena_strndup(arena, mo_str_text(&bytes), bytes.length);
        *length = bytes.length;
    }
    mo_str_free(&bytes);
    return code == 0 ? MO_OK : read_failed(name, code, error);
}

/* Where and how a path is written. */
typedef struct {
    bool direct;           /* an existing device or pipe: no temporary file */
    bool exists;           /* its permissions are kept */
    mode_t mode;           /* of the file to be created */
    char target[PATH_MAX]; /* with symbolic links resolved */
    char temporary[PATH_MAX + 64];
} destination;

/* Length of the directory part of a path, with its slash; 0 when there is none. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

static bool refuse(char reason[PATH_MAX + 128], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static bool refuse(char reason[PATH_MAX + 128], const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reason, PATH_MAX + 128, format, args);
    va_end(args);
    return false;
}

/* Finds out how `path` is to be written; false with the reason. */
static bool resolve(const char *path, destination *d, char reason[PATH_MAX + 128])
{
    struct stat info;
    if (path[0] == '\0') return refuse(reason, "the file name is empty");
    if (strlen(path) >= PATH_MAX) return refuse(reason, "%s", reason_of(ENAMETOOLONG));
    strcpy(d->target, path);
    d->direct = d->exists = false;
    d->mode = 0666;
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) return refuse(reason, "%s", reason_of(EISDIR));
        if (access(path, W_OK) != 0) return refuse(reason, "%s", reason_of(errno));
        d->direct = !S_ISREG(info.st_mode);
        d->exists = true;
        d->mode = info.st_mode & 0777;
        if (!d->direct && realpath(path, d->target) == NULL) return refuse(reason, "%s", reason_of(errno));
        return true;
    }
    if (errno != ENOENT) return refuse(reason, "%s", reason_of(errno));
    if (lstat(path, &info) == 0) return refuse(reason, "the symbolic link points to nothing");
    size_t length = directory_length(path);
    char directory[PATH_MAX] = ".";
    if (length > 0) memcpy(directory, path, length);
    if (length > 1) directory[length - 1] = '\0'; /* without the slash, but "/" stays */
    if (stat(directory, &info) != 0) return refuse(reason, "the directory '%s' does not exist", directory);
    if (path[length] == '\0') return refuse(reason, "%s", reason_of(EISDIR));
    return true;
}

/* Creates the temporary file beside the target. Returns its descriptor or -1 with errno. */
static int open_temporary(destination *d)
{
    size_t length = directory_length(d->target);
    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        snprintf(d->temporary, sizeof d->temporary, "%.*s.mirage-opt-%ld-%d.tmp", (int)length, d->target,
                 (long)getpid(), i);
        int fd = open(d->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, d->mode);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return errno;
        bytes += n;
        length -= (size_t)n;
    }
    return 0;
}

static int write_direct(const char *path, const void *bytes, size_t length)
{
    int fd = is_standard(path) ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno;
    int code = write_all(fd, bytes, length);
    if (fd != STDOUT_FILENO && close(fd) != 0 && code == 0) code = errno;
    return code;
}

static int write_renamed(destination *d, const void *bytes, size_t length)
{
    int fd = open_temporary(d);
    if (fd < 0) return errno;
    int code = write_all(fd, bytes, length);
    if (code == 0 && d->exists && fchmod(fd, d->mode) != 0) code = errno; /* whatever the umask took */
    if (close(fd) != 0 && code == 0) code = errno;
    if (code == 0 && rename(d->temporary, d->target) != 0) code = errno;
    if (code != 0) unlink(d->temporary);
    return code;
}

mo_status mo_file_write(const char *path, const void *bytes, size_t length, mo_error *error)
{
    destination d;
    char reason[PATH_MAX + 128];
    int code;
    if (is_standard(path)) {
        code = write_direct(path, bytes, length);
    } else {
        if (!resolve(path, &d, reason))
            return mo_fail(error, MO_ERR_IO, "%s: error: cannot be written: %s", path, reason);
        code = d.direct ? write_direct(d.target, bytes, length) : write_renamed(&d, bytes, length);
    }
    if (code == 0) return MO_OK;
    const char *name = is_standard(path) ? "<stdout>" : path;
    return mo_fail(error, MO_ERR_IO, "%s: error: cannot be written: %s", name, reason_of(code));
}

mo_status mo_file_check_writable(const char *path, mo_error *error)
{
    destination d;
    char reason[PATH_MAX + 128];
    if (is_standard(path)) return MO_OK;
    bool ok = resolve(path, &d, reason);
    if (ok && !d.direct) {
        int fd = open_temporary(&d);
        if (fd < 0)
            ok = refuse(reason, "%s", reason_of(errno));
        else {
            close(fd);
            unlink(d.temporary);
        }
    }
    return ok ? MO_OK : mo_fail(error, MO_ERR_USER, "%s: error: cannot be written: %s", path, reason);
}
