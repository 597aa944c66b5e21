#include "base/file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static mo_error error;
static char folder[] = "/tmp/mo-test-file-XXXXXX";
static mo_arena *arena;

static void enter(void)
{
    arena = mo_arena_new();
    cr_assert(mkdtemp(folder) != NULL && chdir(folder) == 0);
}

static void leave(void)
{
    DIR *d = opendir(".");
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) remove(e->d_name);
    closedir(d);
    cr_assert(chdir("/") == 0 && rmdir(folder) == 0);
    mo_arena_free(arena);
}

static int entries(void)
{
    int count = -2; /* . and .. */
    DIR *d = opendir(".");
    while (readdir(d) != NULL) count++;
    closedir(d);
    return count;
}

static const char *content(const char *path)
{
    const char *text;
    size_t length;
    cr_assert_eq(mo_file_read(arena, path, &text, &length, &error), MO_OK, "%s", error.text);
    cr_assert_eq(strlen(text), length);
    return text;
}

TestSuite(file, .init = enter, .fini = leave);

Test(file, written_is_read)
{
    cr_assert_eq(mo_file_check_writable("a.txt", &error), MO_OK);
    cr_assert_eq(entries(), 0);
    cr_assert_eq(mo_file_write("a.txt", "one\n", 4, &error), MO_OK);
    cr_assert_str_eq(content("a.txt"), "one\n");
    cr_assert_eq(mo_file_check_writable("a.txt", &error), MO_OK);
    cr_assert_str_eq(content("a.txt"), "one\n");
    cr_assert_eq(mo_file_write("./a.txt", "", 0, &error), MO_OK);
    cr_assert_str_eq(content("a.txt"), "");
    cr_assert_eq(entries(), 1);
}

Test(file, keeps_mode_and_links)
{
    struct stat info;
    cr_assert_eq(mo_file_write("real", "x", 1, &error), MO_OK);
    cr_assert(chmod("real", 0662) == 0 && symlink("real", "link") == 0);
    cr_assert_eq(mo_file_check_writable("link", &error), MO_OK);
    cr_assert_eq(mo_file_write("link", "y", 1, &error), MO_OK);
    cr_assert(lstat("link", &info) == 0 && S_ISLNK(info.st_mode));
    cr_assert(stat("real", &info) == 0 && (info.st_mode & 0777) == 0662);
    cr_assert_str_eq(content("real"), "y");
}

Test(file, read_errors_are_told_apart)
{
    const char *text;
    size_t length;
    cr_assert_eq(mo_file_read(arena, "missing", &text, &length, &error), MO_ERR_USER);
    cr_assert_str_eq(error.text, "missing: error: cannot be read: there is no such file");
    cr_assert_eq(mo_file_read(arena, "..", &text, &length, &error), MO_ERR_USER);
    cr_assert_str_eq(error.text, "..: error: cannot be read: this is a directory, not a file");
    FILE *f = fopen("large", "w");
    cr_assert(f != NULL && ftruncate(fileno(f), (long)MO_FILE_LIMIT + 1) == 0 && fclose(f) == 0);
    cr_assert_eq(mo_file_read(arena, "large", &text, &length, &error), MO_ERR_USER);
    cr_assert_str_eq(error.text, "large: error: larger than 64 MiB");
}

Test(file, bad_destinations_are_found_before)
{
    static const char *const paths[] = {"", ".", "no/such/file", "file/below", "dangling", "new/"};
    cr_assert_eq(mo_file_write("file", "x", 1, &error), MO_OK);
    cr_assert_eq(symlink("nowhere", "dangling"), 0);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        cr_assert_eq(mo_file_check_writable(paths[i], &error), MO_ERR_USER, "'%s'", paths[i]);
        cr_assert(strstr(error.text, ": error: cannot be written: ") != NULL, "%s", error.text);
        cr_assert_eq(mo_file_write(paths[i], "y", 1, &error), MO_ERR_IO, "'%s'", paths[i]);
    }
    cr_assert_eq(entries(), 2);
    cr_assert_str_eq(content("file"), "x");
}

/* /dev/full takes an open and refuses every write. */
Test(file, a_failed_write_is_an_io_error)
{
    cr_assert_eq(mo_file_check_writable("/dev/full", &error), MO_OK);
    cr_assert_eq(mo_file_write("/dev/full", "x", 1, &error), MO_ERR_IO);
    cr_assert_str_eq(error.text, "/dev/full: error: cannot be written: no space is left");
}
