/* Programs that must come out as one fused kernel, or as one and its combination: what is found, and what of
 * it has a form in the generator. */
#include "fixture.h"

#include "codegen/emit.h"
#include "verify/equiv.h"

#include <criterion/criterion.h>

#define X_16x1024 FIXTURE_INPUT("X", "[16,1024]")

typedef struct {
    const char *name, *text;
    int found;   /* kernels of the best graph */
    int emitted; /* kernels of the best emittable one */
} wanted;

static const wanted programs[] = {
    {"four inputs",
     "'inputs':[" X_16x1024
     "," FIXTURE_INPUT("W", "[1024,2048]") "," FIXTURE_INPUT("A", "[1024,16]") "," FIXTURE_INPUT(
         "B", "[16,2048]") "],'nodes':[{'op':'matmul','inputs':['X','W'],'output':'P'},{'op':'matmul','"
                           "inputs':['X','A'],"
                           "'output':'Q'},{'op':'matmul','inputs':['Q','B'],'output':'R'},{'op':'add','"
                           "inputs':['P',"
                           "'R'],'output':'Y'}],'outputs':['Y']",
     1, 1},
    {"five inputs",
     "'inputs':[" X_16x1024
     "," FIXTURE_INPUT("W", "[1024,2048]") "," FIXTURE_INPUT("A", "[1024,16]") "," FIXTURE_INPUT(
         "B", "[16,2048]") "," FIXTURE_INPUT("C", "[2048]") "],'nodes':[{'op':'matmul','inputs':['X','W'],'"
                                                            "output':'P'},"
                                                            "{'op':'matmul','inputs':['X','A'],'output':'Q'},"
                                                            "{'op':'matmul','inputs':['Q','B'],'output':'R'},"
                                                            "{'op':'add','inputs':['P','R'],'output':'S'},"
                                                            "{'op':'add','inputs':['S','C'],'output':'Y'}],"
                                                            "'outputs':['Y']",
     1, 1},
    {"shared weights, broadcast over a batch",
     "'inputs':[" FIXTURE_INPUT("X", "[4,16,1024]") "," FIXTURE_INPUT(
         "W", "[1024,512]") "],'nodes':[{'op':'rms_norm','inputs':['X'],'output':'N','axes':[-1],'eps':1e-5},"
                            "{'op':'matmul','inputs':['N','W'],'output':'Y'}],'outputs':['Y']",
     1, 1},
    {"two outputs",
     "'inputs':[" X_16x1024 "," FIXTURE_INPUT("W", "[1024,2048]") "," FIXTURE_INPUT(
         "V", "[1024,2048]") "],'nodes':[{'op':'matmul','inputs':['X','W'],'output':'P'},{'op':'matmul','"
                             "inputs':['X',"
                             "'V'],'output':'Q'},{'op':'silu','inputs':['P'],'output':'S'},{'op':'mul','"
                             "inputs':['S',"
                             "'Q'],'output':'Y'}],'outputs':['Y','P']",
     1, 1},
    {"odd sizes",
     "'inputs':[" FIXTURE_INPUT("X", "[17,1000]") "," FIXTURE_INPUT(
         "W", "[1000,513]") "],'nodes':[{'op':'rms_norm','inputs':['X'],'output':'N','axes':[-1],'eps':1e-5},"
                            "{'op':'matmul','inputs':['N','W'],'output':'Y'}],'outputs':['Y']",
     1, 1},
    {"one input, a norm spelled out",
     "'inputs':[" FIXTURE_INPUT("X", "[64,4096]") "],'nodes':[{'op':'square','inputs':['X'],'output':'S'},{'"
                                                  "op':'mean','inputs':['S'],'output':"
                                                  "'M','axes':[-1],'keepdims':true},{'op':'rsqrt','inputs':['"
                                                  "M'],'output':'R'},{'op':'mul',"
                                                  "'inputs':['X','R'],'output':'Y'}],'outputs':['Y']",
     1, 1},
    {"a matrix by its transpose",
     "'inputs':[" FIXTURE_INPUT("X", "[64,2048]") "],'nodes':[{'op':'matmul','inputs':['X','X'],'output':'Y',"
                                                  "'transpose_b':true}],'outputs':['Y']",
     1, 1},
    {"attention plus residual",
     "'inputs':[" FIXTURE_INPUT("Q", "[8,64,64]") "," FIXTURE_INPUT("K", "[8,1024,64]") "," FIXTURE_INPUT(
         "V",
         "[8,1024,64]") "," FIXTURE_INPUT("R",
                                          "[8,64,64]") "],'nodes':[{'op':'matmul','inputs':['Q','K'],'output'"
                                                       ":"
                                                       "'S','transpose_b':true},{'op':'mul','inputs':['S',"
                                                       "0.125],'output':'T'},{'op':'softmax','inputs':['T'],"
                                                       "'output':'P','axis':-1},{'op':'matmul','inputs':['P',"
                                                       "'V'],'output':'O'},{'op':'add','inputs':['O','R'],"
                                                       "'output':'Y'}],'outputs':['Y']",
     1, 1},
    {"layer norm and linear",
     "'inputs':[" X_16x1024
     "," FIXTURE_INPUT("G", "[1024]") "," FIXTURE_INPUT("B", "[1024]") "," FIXTURE_INPUT(
         "W", "[1024,1536]") "],'nodes':[{'op':'layer_norm','inputs':['X','G','B'],'output':'N','axes':[-1],'"
                             "eps':1e-5},"
                             "{'op':'matmul','inputs':['N','W'],'output':'Y'}],'outputs':['Y']",
     1, 0},
    {"decoding attention over many keys",
     "'inputs':[" FIXTURE_INPUT("Q", "[2,128,64]") "," FIXTURE_INPUT("K", "[2,4096,64]") "," FIXTURE_INPUT(
         "V",
         "[2,4096,64]") "],'nodes':[{'op':'matmul','inputs':['Q','K'],'output':'S','transpose_b':true},{'op':"
                        "'softmax','inputs':['S'],'output':'P','axis':-1},{'op':'matmul','inputs':['P','V'],"
                        "'output':'Y'}],'outputs':['Y']",
     2, 2},
};

static bool is_emittable(mo_arena *arena, const mo_mugraph *graph)
{
    mo_emit_header header = {.options = "", .version = "test"};
    mo_emitted emitted;
    const char *reason;
    return mo_emit(arena, graph, 90, &header, &emitted, &reason);
}

Test(fusion, programs, .timeout = 300)
{
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const wanted *w = &programs[i];
        mo_arena *arena = mo_arena_new();
        mo_program *program = fixture_program(arena, w->text);
        mo_search_result result = fixture_search(arena, program);
        int best = -1, emittable = -1;
        for (int c = 0; c < result.n_candidates; c++) {
            const mo_mugraph *graph = result.candidates[c];
            cr_expect_null(mo_mugraph_check(arena, graph));
            cr_expect(result.equivalence[c].proved || result.equivalence[c].full_checked > 0,
                      "%s: candidate %d is not verified", w->name, c);
            if (best < 0 || graph->cost_ns < result.candidates[best]->cost_ns) best = c;
            bool better = emittable < 0 || graph->cost_ns < result.candidates[emittable]->cost_ns;
            if (better && is_emittable(arena, graph)) emittable = c;
        }
        mo_verify_options options = {.delta = 1e-12, .threads = 2}; /* whatever the search went by */
        mo_verify_report report;
        cr_expect_eq(mo_verify_mugraph(program, result.candidates[best], &options, &report), MO_EQUAL_TESTED,
                     "%s: the best graph is not equal", w->name);
        cr_expect_eq(result.candidates[best]->n_kernels, w->found, "%s: the best graph has %d kernels",
                     w->name, result.candidates[best]->n_kernels);
        if (w->emitted > 0)
            cr_expect_eq(result.candidates[emittable]->n_kernels, w->emitted, "%s: %d kernels are emitted",
                         w->name, result.candidates[emittable]->n_kernels);
        mo_arena_free(arena);
    }
}
