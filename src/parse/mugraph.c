/* The stages: JSON text, tensors and their names, kernels one by one, and the check of the whole. */
#include "parse/mugraph.h"

#include "ir/mugraph_json.h"
#include "parse/mugraph_parts.h"

#include <string.h>

static bool says_mugraph(const mo_json *root)
{
    const mo_json *format = mo_json_get(root, "format");
    return format != NULL && format->kind == MO_JSON_STRING && strcmp(format->string, MO_MUGRAPH_FORMAT) == 0;
}

bool mo_parse_is_mugraph(mo_arena *arena, const char *text, size_t length)
{
    const mo_json *root;
    mo_error ignored;
    mo_source source = {"", text, length};
    return mo_json_read(arena, &source, &root, &ignored) == MO_OK && says_mugraph(root);
}

static bool check_head(const mo_reader *r, const mo_json *root)
{
    static const char *const keys[] = {"format",        "name",    "inputs", "outputs",
                                       "intermediates", "windows", "kernels"};
    const mo_json *format;
    if (!mo_reader_expect(r, root, MO_JSON_OBJECT)) return false;
    if (!mo_reader_member(r, root, "a muGraph", "format", MO_JSON_STRING, &format)) return false;
    if (!says_mugraph(root)) {
        return mo_reader_fail(r, format, "\"format\": \"" MO_MUGRAPH_FORMAT "\"", "unknown format %s",
                              mo_reader_quote(r, format->string));
    }
    return mo_reader_check_keys(r, root, "a muGraph", keys, sizeof keys / sizeof keys[0]);
}

/* A graph with room for whatever the file may declare. */
static bool make_graph(mo_mugraph_reader *m, const mo_json *root)
{
    const mo_json *kernels, *intermediates;
    if (!mo_reader_member(&m->reader, root, "a muGraph", "kernels", MO_JSON_ARRAY, &kernels)) return false;
    if (!mo_reader_member(&m->reader, root, "a muGraph", "intermediates", MO_JSON_ARRAY, &intermediates))
        return false;
    int room = kernels->count > intermediates->count ? kernels->count : intermediates->count;
    m->graph = mo_mugraph_new(m->reader.arena, m->program, room);
    m->kernels = mo_strmap_new(m->reader.arena, (size_t)kernels->count);
    return true;
}

static bool read_graph(mo_mugraph_reader *m, const mo_json *root)
{
    const mo_json *name;
    if (!check_head(&m->reader, root)) return false;
    if (!mo_reader_member(&m->reader, root, "a muGraph", "name", MO_JSON_STRING, &name)) return false;
    if (!make_graph(m, root) || !mo_mugraph_read_tensors(m, root)) return false;
    const mo_json *kernels = mo_json_get(root, "kernels");
    for (int k = 0; k < kernels->count; k++)
        if (!mo_mugraph_read_kernel(m, &kernels->items[k])) return false;
    const char *wrong = mo_mugraph_check(m->reader.arena, m->graph);
    return wrong == NULL || mo_reader_fail(&m->reader, kernels, NULL, "%s", wrong);
}

mo_status mo_parse_mugraph_value(mo_arena *arena, const mo_program *program, const mo_source *source,
                                 const mo_json *value, mo_mugraph **graph, mo_error *error)
{
    mo_mugraph_reader m = {.reader = {arena, *source, error}, .program = program};
    if (!read_graph(&m, value)) return MO_ERR_USER;
    *graph = m.graph;
    return MO_OK;
}

mo_status mo_parse_mugraph(mo_arena *arena, const mo_program *program, const char *file_name,
                           const char *text, size_t length, mo_mugraph **graph, mo_error *error)
{
    mo_source source = {file_name, text, length};
    const mo_json *root;
    mo_status status = mo_json_read(arena, &source, &root, error);
    if (status != MO_OK) return status;
    return mo_parse_mugraph_value(arena, program, &source, root, graph, error);
}
