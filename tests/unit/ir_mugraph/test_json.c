/* The JSON form: what is written is read back as the same graph, and nothing else is accepted. */
#include "cost/device.h"
#include "ir/mugraph_json.h"
#include "lower/lower.h"
#include "parse/mugraph.h"
#include "parse/parse.h"
#include "search/search.h"
#include "unit/lowerable.h"
#include "verify/equiv.h"

#include <criterion/criterion.h>
#include <string.h>

static mo_error error;

static const char *json_of(mo_arena *arena, const mo_mugraph *graph)
{
    mo_str text = {0};
    mo_json_writer w = mo_json_writer_make(&text);
    mo_mugraph_write_json(&w, NULL, graph);
    const char *copy = mo_arena_strdup(arena, mo_str_text(&text));
    mo_str_free(&text);
    return copy;
}

static const char *dump_of(mo_arena *arena, const mo_mugraph *graph)
{
    mo_str text = {0};
    mo_mugraph_print(&text, graph);
    const char *copy = mo_arena_strdup(arena, mo_str_text(&text));
    mo_str_free(&text);
    return copy;
}

static void expect_round_trip(mo_arena *arena, const mo_mugraph *graph)
{
    const char *wrong = mo_mugraph_check(arena, graph), *first = json_of(arena, graph);
    cr_assert_null(wrong, "%s\n%s", wrong, first);
    mo_mugraph *again;
    mo_status status =
        mo_parse_mugraph(arena, graph->program, "m.json", first, strlen(first), &again, &error);
    cr_assert_eq(status, MO_OK, "%s\n%s", error.text, first);
    cr_assert_str_eq(json_of(arena, again), first);
    cr_assert_str_eq(dump_of(arena, again), dump_of(arena, graph));
    cr_assert(mo_hash_equal(mo_mugraph_hash(graph), mo_mugraph_hash(again)), "%s", first);
    for (int t = 0; t < graph->n_tensors; t++) {
        cr_assert_str_eq(again->tensors[t].symbol, graph->tensors[t].symbol);
        cr_assert_eq(again->tensors[t].output, graph->tensors[t].output);
        cr_assert_eq(again->tensors[t].compute, graph->tensors[t].compute);
    }
}

/* One kernel for each run of nodes, or for each node. */
static mo_mugraph *plain_graph(mo_arena *arena, const mo_program *program, bool fused, bool merged)
{
    mo_lowered lowered;
    cr_assert_eq(mo_lower_program(arena, program, 1000, &lowered, &error), MO_OK, "%s", error.text);
    mo_mugraph *graph = mo_mugraph_new(arena, program, program->n_nodes);
    int n = fused ? lowered.n_subprograms : program->n_nodes;
    for (int i = 0; i < n; i++) {
        mo_prim *body = mo_prim_copy(arena, fused ? lowered.subprograms[i].graph : lowered.nodes[i]);
        if (merged) mo_prim_merge_axes(body);
        mo_schedule schedule = mo_schedule_plain(body);
        mo_mugraph_add_kernel(graph, "part", fused ? -1 : i, body, &schedule);
    }
    mo_mugraph_add_copies(graph);
    return graph;
}

Test(json, random_programs)
{
    int copies = 0, several = 0;
    for (uint64_t seed = 0; seed < 500; seed++) {
        mo_arena *arena = mo_arena_new();
        mo_rng rng = mo_rng_seed(seed, 7);
        mo_program *program = lowerable_program(arena, &rng, 1 + (int)(seed % 9));
        for (int variant = 0; variant < 4; variant++) {
            mo_mugraph *graph = plain_graph(arena, program, variant / 2 == 0, variant % 2 == 0);
            expect_round_trip(arena, graph);
            copies += graph->n_tensors > program->n_tensors;
            several += graph->n_kernels > 1;
        }
        mo_arena_free(arena);
    }
    cr_expect(copies > 100 && several > 100);
}

static mo_program *parse(mo_arena *arena, const char *text)
{
    char *copy = mo_arena_strdup(arena, text);
    for (char *c = copy; *c != '\0'; c++)
        if (*c == '\'') *c = '"';
    mo_program *program = NULL;
    mo_status status = mo_parse_program(arena, "p.json", copy, strlen(copy), &program, NULL, &error);
    cr_assert_eq(status, MO_OK, "%s", error.text);
    return program;
}

#define HEAD "{'format':'mirage-opt/1','name':'p','inputs':["
#define INPUT(name, shape) "{'name':'" name "','shape':" shape ",'dtype':'f16'}"

static const char *const searched[] = {
    HEAD INPUT("X", "[16,512]") "," INPUT(
        "W", "[512,768]") "],"
                          "'nodes':[{'op':'rms_norm','inputs':['X'],'output':'N','axes':[-1],'eps':1e-5},"
                          "{'op':'matmul','inputs':['N','W'],'output':'Y'}],'outputs':['Y','X','Y']}",
    HEAD INPUT("mid0", "[2,64,64]") "," INPUT("K-1", "[2,256,64]") "," INPUT(
        "V \\\"",
        "[2,256,64]") "],"
                      "'nodes':[{'op':'matmul','inputs':['mid0','K-1'],'output':'S','transpose_b':true},"
                      "{'op':'softmax','inputs':['S'],'output':'P','axis':-1},"
                      "{'op':'matmul','inputs':['P','V \\\"'],'output':'O'}],'outputs':['O']}",
    HEAD INPUT("X", "[8,512]") "," INPUT("A", "[512,16]") "," INPUT(
        "B", "[16,256]") "],"
                         "'nodes':[{'op':'matmul','inputs':['X','A'],'output':'T'},{'op':'matmul','inputs':['"
                         "T','B'],'output':'U'},"
                         "{'op':'gelu','inputs':['U'],'output':'V','approximate':'tanh'},"
                         "{'op':'clamp','inputs':['V'],'output':'Y','min':-0.1,'max':1e30}],'outputs':['Y']}",
    HEAD INPUT("X", "[16,8192]") "," INPUT(
        "W", "[8192,128]") "],"
                           "'nodes':[{'op':'matmul','inputs':['X','W'],'output':'Y'}],'outputs':['Y']}",
    HEAD INPUT("X", "[20,32]") "," INPUT("W", "[32,64]") "," INPUT(
        "Z",
        "[20,8]") "],'nodes':[{'op':'matmul','inputs':['X','W'],'output':'P'},"
                  "{'op':'split','inputs':['P'],'axis':1,'sections':2,'outputs':['A','B']},"
                  "{'op':'reshape','inputs':['A'],'output':'A3','shape':[20,2,16]},"
                  "{'op':'transpose','inputs':['A3'],'output':'At','perm':[1,0,2]},"
                  "{'op':'exp','inputs':['At'],'output':'E'},"
                  "{'op':'concat','inputs':['B','Z'],'output':'C','axis':1},"
                  "{'op':'causal_mask','inputs':['C'],'output':'M','offset':1}],'outputs':['E','M','A3']}",
};

typedef struct {
    int plain, row, stream, shared, intermediates, wide;
} kinds;

static void count_kinds(const mo_mugraph *graph, kinds *seen)
{
    const mo_program *program = graph->program;
    for (int k = 0; k < graph->n_kernels; k++) {
        const mo_schedule *s = &graph->kernels[k].schedule;
        seen->plain += s->kind == MO_SCHEDULE_PLAIN;
        seen->row += s->kind == MO_SCHEDULE_ROW;
        seen->stream += s->kind == MO_SCHEDULE_STREAM;
        seen->shared += s->kind == MO_SCHEDULE_STREAM && (s->cluster > 1 || s->parts > 1);
    }
    for (int t = program->n_inputs; t < graph->n_tensors; t++) {
        seen->intermediates += t >= program->n_tensors && graph->tensors[t].output < 0;
        seen->wide += t < program->n_tensors && graph->tensors[t].dtype != program->tensors[t].dtype;
    }
}

Test(json, what_the_search_finds, .timeout = 300)
{
    kinds seen = {0};
    for (size_t i = 0; i < sizeof searched / sizeof searched[0]; i++) {
        mo_arena *arena = mo_arena_new();
        mo_program *program = parse(arena, searched[i]);
        mo_lowered lowered;
        mo_search_result result;
        mo_search_options options = {.device = mo_device_for_arch(90),
                                     .max_states = 300,
                                     .max_kernel_ops = 3,
                                     .prune = true,
                                     .top_k = 40,
                                     .threads = 1,
                                     .verify_delta = 1e-6};
        cr_assert_eq(mo_lower_program(arena, program, 100, &lowered, &error), MO_OK, "%s", error.text);
        cr_assert_eq(mo_search_run(arena, program, &lowered, &options, &result, &error), MO_OK, "%s",
                     error.text);
        cr_assert_gt(result.n_candidates, 5);
        for (int c = 0; c < result.n_candidates; c++) {
            expect_round_trip(arena, result.candidates[c]);
            count_kinds(result.candidates[c], &seen);
        }
        mo_arena_free(arena);
    }
    cr_expect(seen.plain > 0 && seen.row > 0 && seen.stream > 0, "%d %d %d", seen.plain, seen.row,
              seen.stream);
    cr_expect(seen.intermediates > 0 && seen.shared > 0 && seen.wide > 0, "%d %d %d", seen.intermediates,
              seen.shared, seen.wide);
}

/* ---- a graph for another program ---- */

#define TWO(s, y)                                                                 \
    HEAD INPUT("X", "[8,8]") "," INPUT(                                           \
        "W", "[8,8]") "],'nodes':[{'op':'matmul','inputs':['X','W'],'output':'" s \
                      "'},{'op':'exp','inputs':['" s "'],'output':'" y "'}],'outputs':['" y "'"

Test(json, names_of_the_other_program_need_not_agree)
{
    mo_arena *arena = mo_arena_new();
    mo_verify_options options = {.delta = 1e-9, .threads = 1};
    static const char *const others[] = {TWO("S", "Y") "]}", TWO("Y", "S") "]}", TWO("T", "U") "]}"};
    mo_mugraph *graph = plain_graph(arena, parse(arena, others[0]), false, false), *again;
    const char *text = json_of(arena, graph);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        mo_program *other = parse(arena, others[i]);
        mo_verify_report report;
        cr_assert_eq(mo_parse_mugraph(arena, other, "m", text, strlen(text), &again, &error), MO_OK, "%s",
                     error.text);
        cr_expect_eq(mo_verify_mugraph(other, again, &options, &report), MO_EQUAL_TESTED, "%s",
                     report.reason);
    }
    mo_arena_free(arena);
}

/* Outputs that one program repeats and the other computes twice. */
Test(json, outputs_correspond_by_position)
{
    static const char *const twice =
        HEAD INPUT("X", "[8]") "],'nodes':[{'op':'exp','inputs':['X'],'output':'A'},"
                               "{'op':'exp','inputs':['X'],'output':'B'}],'outputs':['A','B']}";
    static const char *const repeated =
        HEAD INPUT("X", "[8]") "],'nodes':[{'op':'exp','inputs':['X'],'output':'B'}],'outputs':['B','B']}";
    static const char *const input = HEAD INPUT("X", "[8]") "],'nodes':[],'outputs':['X']}";
    static const char *const computed = HEAD INPUT(
        "X", "[8]") "],'nodes':[{'op':'add','inputs':['X',0],'output':'X_out0'}],'outputs':['X_out0']}";
    static const char *const pairs[][2] = {
        {twice, repeated}, {repeated, twice}, {input, computed}, {computed, input}};
    mo_verify_options options = {.delta = 1e-9, .threads = 1};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        mo_arena *arena = mo_arena_new();
        mo_program *program = parse(arena, pairs[i][1]);
        mo_mugraph *graph = plain_graph(arena, parse(arena, pairs[i][0]), true, true), *again;
        const char *text = json_of(arena, graph);
        mo_verify_report report;
        cr_assert_eq(mo_parse_mugraph(arena, program, "m", text, strlen(text), &again, &error), MO_OK,
                     "%s\n%s", error.text, text);
        cr_expect_eq(mo_verify_mugraph(program, again, &options, &report), MO_EQUAL_TESTED, "%d: %s", (int)i,
                     report.reason);
        mo_arena_free(arena);
    }
}

/* ---- what is refused ---- */

#define SMALL       \
    HEAD INPUT("X", \
               "[4,6]") "],'nodes':[{'op':'sum','inputs':['X'],'output':'Y','axes':[1]}],'outputs':['Y']}"

static const char *small_text(mo_arena *arena, mo_program **program)
{
    *program = parse(arena, SMALL);
    return json_of(arena, plain_graph(arena, *program, true, false));
}

/* The text with the first `from` replaced. */
static const char *edited(mo_arena *arena, const char *text, const char *from, const char *to)
{
    const char *at = strstr(text, from);
    cr_assert_not_null(at, "'%s' is not in %s", from, text);
    return mo_arena_printf(arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

typedef struct {
    const char *from, *to, *message;
} refusal;

static const refusal refusals[] = {
    {"mugraph/1", "mugraph/2", "m.json:2:13: error: at /format: unknown format 'mirage-opt-mugraph/2'"},
    {"\"kernels\"", "\"kernel\"", "did you mean 'kernels'?"},
    {"\"intermediates\": [],", "", "a muGraph needs the key 'intermediates'"},
    {"\"name\": \"X\"", "\"name\": \"Z\"", "the program has no input 'Z'"},
    {"[4, 6]", "[4, 7]", "input 'X' is [4,7] here and [4,6] in the program"},
    {"\"dtype\": \"f16\"", "\"dtype\": \"f32\"", "input 'X' is f32 here and f16 in the program"},
    {"\"dtype\": \"f16\"}", "\"dtype\": \"f16\", \"strides\": [1, 4]}",
     "the strides of input 'X' are not the program's"},
    {"\"shape\": [4], \"dtype\": \"f16\"", "\"shape\": [5], \"dtype\": \"f16\"",
     "output 'Y' is [5] here and [4] in the program"},
    {"\"outputs\": [", "\"outputs\": [{\"name\": \"Q\", \"shape\": [], \"dtype\": \"f16\"},",
     "2 outputs here and 1 in the program"},
    {"{\"name\": \"Y\"", "{\"name\": \"X\"", "'X' is taken, so output 0 needs a tensor of its own"},
    {"\"intermediates\": []",
     "\"intermediates\": [{\"name\": \"Q\", \"shape\": [4], \"dtype\": \"f16\", \"compute\": \"f16\", "
     "\"output\": 1}]",
     "the outputs are 0 to 0"},
    {"\"intermediates\": []",
     "\"intermediates\": [{\"name\": \"X\", \"shape\": [4], \"dtype\": \"f16\", \"compute\": \"f16\"}]",
     "the name 'X' stands twice"},
    {"\"name\": \"p_part_0\"", "\"name\": \"1x\"", "the name of a kernel is a C identifier"},
    {"\"axes\": [", "\"predefined\": 1, \"axes\": [", "the program has 1 nodes"},
    {"\"name\": \"k\"", "\"name\": \"\"", "an axis is named by 1 to 15 letters"},
    {"\"name\": \"k\"", "\"name\": \"n\"", "two axes have this name"},
    {"\"extent\": 6", "\"extent\": 0", "an extent is at least 1"},
    {"\"extent\": 6", "\"extent\": 2147483648", "an extent is at least 1 and below 2^31"},
    {"\"extent\": 6", "\"extent\": 5", "the axis has extent 5 and the dimension 6"},
    {"\"tile\": 1", "\"tile\": 9", "a tile is at least 1 and at most the extent"},
    {"\"tile\": 1", "\"tile\": 1.0", "expected an integer"},
    {"\"place\": \"grid\"", "\"place\": \"grit\"", "unknown place 'grit'"},
    {"\"kind\": \"plain\"", "\"kind\": \"plane\"", "unknown kind 'plane'"},
    {"\"kind\": \"plain\"", "\"kind\": \"row\"", "a schedule needs the key 'row_axis'"},
    {"\"threads\": 256", "\"threads\": 2048", "'threads' is 1 to 1024"},
    {"\"threads\": 256", "\"threads\": 256, \"lanes\": 2", "a plain schedule has no key 'lanes'"},
    {"\"id\": 1", "\"id\": 2", "ids count from 0 in the order of the nodes"},
    {"\"op\": \"sum\"", "\"op\": \"mean\"", "block graphs have no operator 'mean'"},
    {"\"op\": \"sum\"", "\"op\": \"exp\"", "exp has no key 'over'"},
    {"\"inputs\": [0]", "\"inputs\": [1]", "an operand comes before its user"},
    {"\"inputs\": [0]", "\"inputs\": [0, 0]", "sum has 1 operands, not 2"},
    {"\"over\": [\"k\"]", "\"over\": []", "'over' names axes of the operands, at least one"},
    {"\"over\": [\"k\"]", "\"over\": [\"k\", \"k\"]", "the axis stands twice"},
    {"\"over\": [\"k\"]", "\"over\": [\"kk\"]", "the kernel has no axis 'kk'"},
    {"\"axes\": [\"n\"]", "\"axes\": []", "'axes' does not follow from the rest: it should be [n]"},
    {"\"imap\": [\"n\", \"k\"]", "\"imap\": [\"n\"]",
     "'imap' does not follow from the rest: it should be [n, k]"},
    {"\"fmap\": [], ", "", "the key 'fmap' is missing"},
    {"\"dims\": [\"n\", \"k\"]", "\"dims\": [\"n\"]", "1 dimensions for a tensor of rank 2"},
    {"\"dims\": [\"n\", \"k\"]", "\"dims\": [\"n\", null]", "the strides are not those of 'dims'"},
    {"\"strides\": {\"n\": 6, \"k\": 1}", "\"strides\": {\"n\": 6, \"k\": -1}", "a stride is at least 0"},
    {"\"strides\": {\"n\": 6, \"k\": 1}", "\"strides\": {\"n\": 6, \"k\": 2}",
     "the access reaches beyond the end of the tensor"},
    {"\"strides\": {\"n\": 6, \"k\": 1}", "\"strides\": {\"n\": 6, \"q\": 1}", "the kernel has no axis 'q'"},
    {"\"tensor\": \"X\"", "\"tensor\": \"Z\"", "no tensor is called 'Z'"},
    {"\"tensor\": \"X\"", "\"tensor\": \"Y\"", "the access reaches beyond the end of the tensor"},
    {"\"node\": 1", "\"node\": 2", "there is no such node"},
    {"\"tensor\": \"Y\"", "\"tensor\": \"X\"", "error: at /kernels/0/savers/0"},
    {"\"omap\": [\"n\"]", "\"omap\": []", "'omap' does not follow from the rest"},
    {"\"compute\": \"f16\"", "\"compute\": \"f64\"", "unknown dtype 'f64'"},
};

Test(json, refuses_what_does_not_fit)
{
    mo_arena *arena = mo_arena_new();
    mo_program *program;
    const char *text = small_text(arena, &program);
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        const refusal *r = &refusals[i];
        const char *wrong = edited(arena, text, r->from, r->to);
        mo_mugraph *graph;
        mo_status status = mo_parse_mugraph(arena, program, "m.json", wrong, strlen(wrong), &graph, &error);
        cr_expect_eq(status, MO_ERR_USER, "accepted: %s -> %s", r->from, r->to);
        if (status != MO_OK)
            cr_expect(strstr(error.text, r->message) != NULL, "'%s' is not in: %s", r->message, error.text);
    }
    mo_arena_free(arena);
}

/* Damaged texts are refused or read as a valid graph, but never crash. */
Test(json, survives_damage)
{
    mo_arena *arena = mo_arena_new();
    mo_program *program;
    const char *text = small_text(arena, &program);
    size_t length = strlen(text);
    mo_rng rng = mo_rng_seed(5, 0);
    for (int i = 0; i < 3000; i++) {
        mo_arena_mark mark = mo_arena_get_mark(arena);
        char *damaged = mo_arena_strdup(arena, text);
        for (int n = 1 + lowerable_pick(&rng, 3); n > 0; n--)
            damaged[lowerable_pick(&rng, (int)length)] =
                "0123456789[]{}\",:-nkXYgl"[lowerable_pick(&rng, 24)];
        mo_mugraph *graph;
        if (mo_parse_mugraph(arena, program, "m.json", damaged, length, &graph, &error) == MO_OK)
            cr_expect_null(mo_mugraph_check(arena, graph));
        mo_arena_reset(arena, mark);
    }
    mo_arena_free(arena);
}

/* ---- axes that are parts of a dimension ---- */

/* Row sums of X [4,8], with the second dimension as two axes. */
#define SPLIT_HEAD                                                                                           \
    "{'format':'mirage-opt-mugraph/1','name':'p','inputs':[{'name':'X','shape':[4,8],'dtype':'f16'}],"       \
    "'outputs':[{'name':'Y','shape':[4],'dtype':'f16'}],'intermediates':[],'kernels':[{'name':'k0',"         \
    "'axes':[{'name':'m','extent':4,'place':'grid','tile':1},{'name':'a','extent':2,'place':'whole','tile':" \
    "2},"                                                                                                    \
    "{'name':'b','extent':4,'place':'whole','tile':4}],'schedule':{'kind':'plain','threads':32},'nodes':["
#define SPLIT_READ(last)                                                                       \
    "{'id':0,'op':'iter','tensor':'X','imap':['m'],'fmap':[],'strides':{'m':8,'a':4,'b':" last \
    "},'dtype':'f16','compute':'f16'},"
#define SPLIT_TAIL                                                                                   \
    "{'id':1,'op':'sum','inputs':[0],'over':['a','b'],'axes':['m'],'dtype':'f16','compute':'f16'}]," \
    "'savers':[{'node':1,'tensor':'Y','omap':['m'],'strides':{'m':1}}]}]}"

static mo_equiv verify_split(mo_arena *arena, const char *quoted, mo_verify_report *report)
{
    mo_program *program = parse(arena, HEAD INPUT("X", "[4,8]") "],'nodes':[{'op':'sum','inputs':['X'],"
                                                                "'output':'Y','axes':[1]}],'outputs':['Y']}");
    char *text = mo_arena_strdup(arena, quoted);
    for (char *c = text; *c != '\0'; c++)
        if (*c == '\'') *c = '"';
    mo_mugraph *graph;
    mo_status status = mo_parse_mugraph(arena, program, "m.json", text, strlen(text), &graph, &error);
    cr_assert_eq(status, MO_OK, "%s", error.text);
    return mo_verify_mugraph(program, graph, &(mo_verify_options){.delta = 1e-12, .threads = 1}, report);
}

Test(json, axes_that_are_parts_of_a_dimension)
{
    mo_arena *arena = mo_arena_new();
    mo_verify_report report;
    cr_expect_eq(verify_split(arena, SPLIT_HEAD SPLIT_READ("1") SPLIT_TAIL, &report), MO_EQUAL_TESTED);
    cr_expect(report.delta >= 0.0 && report.delta <= 1e-12, "the parts have small extents of their own");
    cr_expect_eq(report.full_checked, report.full_elements);
    cr_expect_eq(verify_split(arena, SPLIT_HEAD SPLIT_READ("0") SPLIT_TAIL, &report), MO_DIFFERENT);
    cr_expect(report.witness);
    cr_expect_neq(report.program_value, report.other_value);
    mo_arena_free(arena);
}
