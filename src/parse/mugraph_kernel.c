/* A kernel: its name, axes with their placement, and schedule. */
#include "ir/mugraph_json.h"
#include "parse/mugraph_parts.h"

#include <string.h>

#define MOST_THREADS 1024
#define MOST_WARPS 32

static bool is_word(const char *text, size_t most)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_') return false;
    }
    return length > 0 && length <= most;
}

bool mo_mugraph_read_axis(const mo_mugraph_reader *m, const mo_prim *body, const mo_json *value, int *axis)
{
    const char *names[MO_MAX_AXES];
    if (!mo_reader_expect(&m->reader, value, MO_JSON_STRING)) return false;
    for (*axis = 0; *axis < body->n_axes; ++*axis) {
        names[*axis] = body->axes[*axis].name;
        if (strcmp(names[*axis], value->string) == 0) return true;
    }
    return mo_reader_fail(&m->reader, value,
                          mo_reader_guess(&m->reader, value->string, names, (size_t)body->n_axes),
                          "the kernel has no axis %s", mo_reader_quote(&m->reader, value->string));
}

static bool name_axis(const mo_mugraph_reader *m, mo_prim *body, const mo_json *value)
{
    mo_axis *axis = &body->axes[body->n_axes];
    if (!is_word(value->string, sizeof axis->name - 1)) {
        return mo_reader_fail(&m->reader, value, NULL, "an axis is named by 1 to %zu letters, digits and '_'",
                              sizeof axis->name - 1);
    }
    for (int a = 0; a < body->n_axes; a++)
        if (strcmp(body->axes[a].name, value->string) == 0)
            return mo_reader_fail(&m->reader, value, NULL, "two axes have this name");
    memcpy(axis->name, value->string, strlen(value->string) + 1);
    return true;
}

static bool read_place(const mo_mugraph_reader *m, const mo_json *value, mo_place *place)
{
    if (mo_place_find(value->string, place)) return true;
    return mo_reader_fail(&m->reader, value, "the places are grid, loop and whole", "unknown place %s",
                          mo_reader_quote(&m->reader, value->string));
}

static bool read_axis_entry(const mo_mugraph_reader *m, const mo_json *object, mo_kernel *kernel)
{
    static const char *const keys[] = {"name", "extent", "place", "tile"};
    const mo_reader *r = &m->reader;
    const mo_json *name, *extent, *place, *tile;
    mo_prim *body = kernel->body;
    int a = body->n_axes;
    if (!mo_reader_expect(r, object, MO_JSON_OBJECT)) return false;
    if (!mo_reader_check_keys(r, object, "an axis", keys, sizeof keys / sizeof keys[0])) return false;
    if (!mo_reader_member(r, object, "an axis", "name", MO_JSON_STRING, &name)) return false;
    if (!mo_reader_member(r, object, "an axis", "extent", MO_JSON_NUMBER, &extent)) return false;
    if (!mo_reader_member(r, object, "an axis", "place", MO_JSON_STRING, &place)) return false;
    if (!mo_reader_member(r, object, "an axis", "tile", MO_JSON_NUMBER, &tile)) return false;
    if (!name_axis(m, body, name) || !read_place(m, place, &kernel->schedule.place[a])) return false;
    if (!mo_reader_int(r, extent, &body->axes[a].extent)) return false;
    if (!mo_reader_int(r, tile, &kernel->schedule.tile[a])) return false;
    if (body->axes[a].extent < 1 || body->axes[a].extent >= MO_MAX_ELEMENTS)
        return mo_reader_fail(r, extent, NULL, "an extent is at least 1 and below 2^31");
    if (kernel->schedule.tile[a] < 1 || kernel->schedule.tile[a] > body->axes[a].extent)
        return mo_reader_fail(r, tile, NULL, "a tile is at least 1 and at most the extent");
    body->n_axes++;
    return true;
}

static bool read_axes(const mo_mugraph_reader *m, const mo_json *object, mo_kernel *kernel)
{
    const mo_json *axes;
    if (!mo_reader_member(&m->reader, object, "a kernel", "axes", MO_JSON_ARRAY, &axes)) return false;
    if (axes->count > MO_MAX_AXES)
        return mo_reader_fail(&m->reader, axes, NULL, "a kernel has at most %d axes", MO_MAX_AXES);
    for (int a = 0; a < axes->count; a++)
        if (!read_axis_entry(m, &axes->items[a], kernel)) return false;
    return true;
}

static bool read_count(const mo_reader *r, const mo_json *object, const char *key, int most, int *count)
{
    const mo_json *value;
    int64_t number;
    if (!mo_reader_member(r, object, "a schedule", key, MO_JSON_NUMBER, &value)) return false;
    if (!mo_reader_int(r, value, &number)) return false;
    if (number < 1 || number > most) return mo_reader_fail(r, value, NULL, "'%s' is 1 to %d", key, most);
    *count = (int)number;
    return true;
}

static bool read_bool(const mo_reader *r, const mo_json *object, const char *key, bool *flag)
{
    const mo_json *value;
    if (!mo_reader_member(r, object, "a schedule", key, MO_JSON_BOOL, &value)) return false;
    *flag = value->boolean;
    return true;
}

/* An axis of the schedule; null, where it may be left out, is -1. */
static bool read_role(const mo_mugraph_reader *m, const mo_json *object, const char *key, bool optional,
                      const mo_prim *body, int *axis)
{
    const mo_json *value = mo_json_get(object, key);
    if (value == NULL) return mo_reader_fail(&m->reader, object, NULL, "a schedule needs the key '%s'", key);
    *axis = -1;
    return (optional && value->kind == MO_JSON_NULL) || mo_mugraph_read_axis(m, body, value, axis);
}

static bool read_row(const mo_mugraph_reader *m, const mo_json *object, mo_kernel *kernel)
{
    static const char *const keys[] = {"kind",      "threads",  "row_axis", "lanes",
                                       "rows_fast", "resident", "vector"};
    const mo_reader *r = &m->reader;
    mo_schedule *s = &kernel->schedule;
    return mo_reader_check_keys(r, object, "a row schedule", keys, sizeof keys / sizeof keys[0]) &&
           read_role(m, object, "row_axis", false, kernel->body, &s->row_axis) &&
           read_count(r, object, "lanes", MOST_THREADS, &s->lanes) &&
           read_bool(r, object, "rows_fast", &s->rows_fast) &&
           read_bool(r, object, "resident", &s->resident) && read_count(r, object, "vector", 16, &s->vector);
}

static bool read_mechanism(const mo_reader *r, const mo_json *object, mo_copy *copy)
{
    const mo_json *value;
    if (!mo_reader_member(r, object, "a schedule", "copy", MO_JSON_STRING, &value)) return false;
    if (mo_copy_parse(value->string, copy)) return true;
    return mo_reader_fail(r, value, NULL, "'copy' is 'async', 'tensor' or 'direct'");
}

static bool read_stream(const mo_mugraph_reader *m, const mo_json *object, mo_kernel *kernel)
{
    static const char *const keys[] = {"kind",    "threads", "loop_axis", "cluster", "groups", "warps_p",
                                       "warps_q", "stages",  "p_axis",    "q_axis",  "copy"};
    const mo_reader *r = &m->reader;
    mo_schedule *s = &kernel->schedule;
    s->row_axis = -1;
    return mo_reader_check_keys(r, object, "a stream schedule", keys, sizeof keys / sizeof keys[0]) &&
           read_role(m, object, "loop_axis", false, kernel->body, &s->loop_axis) &&
           read_count(r, object, "cluster", 16, &s->cluster) &&
           read_count(r, object, "groups", MOST_WARPS, &s->groups) &&
           read_count(r, object, "warps_p", MOST_WARPS, &s->warps_p) &&
           read_count(r, object, "warps_q", MOST_WARPS, &s->warps_q) &&
           read_count(r, object, "stages", MOST_WARPS, &s->stages) &&
           read_role(m, object, "p_axis", true, kernel->body, &s->p_axis) &&
           read_role(m, object, "q_axis", true, kernel->body, &s->q_axis) &&
           read_mechanism(r, object, &s->copy);
}

static bool read_chain(const mo_mugraph_reader *m, const mo_json *object, mo_kernel *kernel)
{
    static const char *const keys[] = {"kind",    "threads", "loop_axis", "groups",
                                       "warps_p", "stages",  "p_axis",    "q_axis"};
    const mo_reader *r = &m->reader;
    mo_schedule *s = &kernel->schedule;
    s->row_axis = -1;
    return mo_reader_check_keys(r, object, "a chain schedule", keys, sizeof keys / sizeof keys[0]) &&
           read_role(m, object, "loop_axis", false, kernel->body, &s->loop_axis) &&
           read_count(r, object, "groups", MOST_WARPS, &s->groups) &&
           read_count(r, object, "warps_p", MOST_WARPS, &s->warps_p) &&
           read_count(r, object, "stages", MOST_WARPS, &s->stages) &&
           read_role(m, object, "p_axis", false, kernel->body, &s->p_axis) &&
           read_role(m, object, "q_axis", true, kernel->body, &s->q_axis);
}

static bool read_block(const mo_mugraph_reader *m, const mo_json *object, mo_kernel *kernel)
{
    static const char *const keys[] = {"kind", "threads", "loop_axis", "stages"};
    const mo_reader *r = &m->reader;
    kernel->schedule.row_axis = -1;
    return mo_reader_check_keys(r, object, "a block schedule", keys, sizeof keys / sizeof keys[0]) &&
           read_role(m, object, "loop_axis", true, kernel->body, &kernel->schedule.loop_axis) &&
           read_count(r, object, "stages", MOST_WARPS, &kernel->schedule.stages);
}

static bool read_copy(const mo_mugraph_reader *m, const mo_json *object, mo_kernel *kernel)
{
    static const char *const keys[] = {"kind", "threads"};
    (void)kernel;
    return mo_reader_check_keys(&m->reader, object, "a copy schedule", keys, 2);
}

/* What a copy writes and reads, by name. */
static bool read_moves(const mo_mugraph_reader *m, const mo_json *object, mo_kernel *kernel)
{
    const mo_reader *r = &m->reader;
    const mo_json *list = mo_json_get(object, "moves");
    if (list == NULL) return true;
    if (!mo_reader_expect(r, list, MO_JSON_ARRAY)) return false;
    int *moves = MO_NEW_ARRAY(r->arena, int, list->count + 1);
    for (int i = 0; i < list->count; i++) {
        if (!mo_reader_expect(r, &list->items[i], MO_JSON_STRING)) return false;
        const int *tensor = mo_strmap_find(&m->tensors, list->items[i].string);
        if (tensor == NULL)
            return mo_reader_fail(r, &list->items[i], NULL, "unknown tensor %s",
                                  mo_reader_quote(r, list->items[i].string));
        moves[i] = *tensor;
    }
    kernel->moves = moves;
    kernel->n_moves = list->count;
    return true;
}

/* Fields that a kind does not use are as the builders of schedules leave them. */
static bool read_schedule(const mo_mugraph_reader *m, const mo_json *kernel_object, mo_kernel *kernel)
{
    static const char *const plain_keys[] = {"kind", "threads"};
    const mo_reader *r = &m->reader;
    const mo_json *object, *kind;
    mo_schedule *s = &kernel->schedule;
    if (!mo_reader_member(r, kernel_object, "a kernel", "schedule", MO_JSON_OBJECT, &object)) return false;
    if (!mo_reader_member(r, object, "a schedule", "kind", MO_JSON_STRING, &kind)) return false;
    if (!mo_schedule_find(kind->string, &s->kind)) {
        return mo_reader_fail(r, kind, "the kinds are plain, row, stream, chain, copy and block",
                              "unknown kind %s", mo_reader_quote(r, kind->string));
    }
    if (!read_count(r, object, "threads", MOST_THREADS, &s->threads)) return false;
    s->loop_axis = s->p_axis = s->q_axis = -1;
    switch (s->kind) {
    case MO_SCHEDULE_PLAIN: return mo_reader_check_keys(r, object, "a plain schedule", plain_keys, 2);
    case MO_SCHEDULE_ROW: return read_row(m, object, kernel);
    case MO_SCHEDULE_STREAM: return read_stream(m, object, kernel);
    case MO_SCHEDULE_CHAIN: return read_chain(m, object, kernel);
    case MO_SCHEDULE_COPY: return read_copy(m, object, kernel);
    case MO_SCHEDULE_BLOCK: return read_block(m, object, kernel);
    }
    return false;
}

static bool read_kernel_name(mo_mugraph_reader *m, const mo_json *object, const char **name)
{
    const mo_json *value;
    if (!mo_reader_member(&m->reader, object, "a kernel", "name", MO_JSON_STRING, &value)) return false;
    *name = value->string;
    if (!is_word(*name, 4 * MO_NAME_LIMIT) || ((*name)[0] >= '0' && (*name)[0] <= '9'))
        return mo_reader_fail(&m->reader, value, NULL, "the name of a kernel is a C identifier");
    if (mo_strmap_find(&m->kernels, *name) != NULL)
        return mo_reader_fail(&m->reader, value, NULL, "two kernels have this name");
    mo_strmap_put(&m->kernels, *name, m->graph->n_kernels);
    return true;
}

static bool read_predefined(const mo_mugraph_reader *m, const mo_json *object, int *node)
{
    const mo_json *value = mo_json_get(object, "predefined");
    int64_t index = -1;
    if (value != NULL && !mo_reader_int(&m->reader, value, &index)) return false;
    if (value != NULL && (index < 0 || index >= m->program->n_nodes))
        return mo_reader_fail(&m->reader, value, NULL, "the program has %d nodes", m->program->n_nodes);
    *node = (int)index;
    return true;
}

bool mo_mugraph_read_kernel(mo_mugraph_reader *m, const mo_json *object)
{
    static const char *const keys[] = {"name",  "predefined",    "axes",   "schedule",
                                       "nodes", "thread_graphs", "savers", "moves"};
    const mo_reader *r = &m->reader;
    mo_kernel kernel = {.body = mo_prim_new(r->arena, m->program)};
    if (!mo_reader_expect(r, object, MO_JSON_OBJECT)) return false;
    if (!mo_reader_check_keys(r, object, "a kernel", keys, sizeof keys / sizeof keys[0])) return false;
    if (!read_kernel_name(m, object, &kernel.name)) return false;
    if (!read_predefined(m, object, &kernel.program_node)) return false;
    if (!read_axes(m, object, &kernel) || !read_schedule(m, object, &kernel)) return false;
    if (!read_moves(m, object, &kernel) || !mo_mugraph_read_body(m, object, &kernel)) return false;
    const char *wrong = mo_kernel_check(r->arena, &kernel);
    if (wrong != NULL) return mo_reader_fail(r, object, NULL, "%s", wrong);
    m->graph->kernels[m->graph->n_kernels++] = kernel;
    return true;
}
