#include "cli/destinations.h"

#include "base/file.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

/* `path` without the ending of its last part; a leading dot is no ending. */
static const char *without_ending(mo_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *file = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(file, '.');
    if (dot == NULL || dot == file) return path;
    return mo_arena_strndup(arena, path, (size_t)(dot - path));
}

const char *mo_path_stem(mo_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    return without_ending(arena, slash == NULL ? path : slash + 1);
}

static mo_status name_products(mo_arena *arena, const mo_options *options, mo_destinations *plan,
                               mo_error *error)
{
    const char *out = options->output;
    bool several = (options->emit & (options->emit - 1)) != 0;
    if (out == NULL && strcmp(options->program, "-") == 0) out = "-";
    if (out != NULL && strcmp(out, "-") == 0 && several)
        return mo_fail(error, MO_ERR_USER, "several kinds of --emit need an --output file, not stdout");
    bool exact = out != NULL && !several;
    const char *stem = out == NULL ? mo_path_stem(arena, options->program) : without_ending(arena, out);
    if (options->emit & MO_EMIT_CU) plan->cu = out != NULL ? out : mo_arena_printf(arena, "%s.cu", stem);
    if (options->emit & MO_EMIT_MUGRAPH)
        plan->mugraph = exact ? out : mo_arena_printf(arena, "%s.mugraph.json", stem);
    plan->report = options->report;
    plan->save_temps = options->save_temps;
    plan->shown = plan->cu != NULL ? plan->cu : plan->mugraph;
    return MO_OK;
}

/* Do both names lead to the same file? Also true for equal names of a file that does not exist yet. */
static bool same_file(const char *a, const char *b)
{
    struct stat x, y;
    if (strcmp(a, b) == 0) return true;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && S_ISREG(x.st_mode) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

static mo_status check_destinations(const mo_options *options, const mo_destinations *plan, mo_error *error)
{
    const char *files[] = {plan->cu, plan->mugraph, plan->report};
    enum { COUNT = sizeof files / sizeof files[0] };
    for (int i = 0; i < COUNT; i++) {
        if (files[i] == NULL) continue;
        bool is_stdout = strcmp(files[i], "-") == 0;
        if (!is_stdout && same_file(files[i], options->program))
            return mo_fail(error, MO_ERR_USER, "%s would overwrite the program", files[i]);
        for (int j = 0; j < i; j++)
            if (files[j] != NULL && same_file(files[i], files[j]))
                return mo_fail(error, MO_ERR_USER, "two products cannot both go to %s",
                               is_stdout ? "stdout" : files[i]);
        mo_status status = mo_file_check_writable(files[i], error);
        if (status != MO_OK) return status;
    }
    return MO_OK;
}

mo_status mo_destinations_plan(mo_arena *arena, const mo_options *options, mo_destinations *plan,
                               mo_error *error)
{
    *plan = (mo_destinations){0};
    mo_status status = name_products(arena, options, plan, error);
    if (status == MO_OK) status = check_destinations(options, plan, error);
    if (status != MO_OK || plan->save_temps == NULL) return status;
    if (mkdir(plan->save_temps, 0777) != 0 && errno != EEXIST)
        return mo_fail(error, MO_ERR_USER, "cannot make %s: %s", plan->save_temps, strerror(errno));
    return mo_file_check_writable(mo_arena_printf(arena, "%s/candidate", plan->save_temps), error);
}
