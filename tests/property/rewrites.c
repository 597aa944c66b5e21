/* Equal programs by true algebra: every rule in random surroundings. None may be called different, at most 2%
 * may be undecided, and at least 80% must be proved.
 *
 * usage: rewrites [SURROUNDINGS FOR EACH RULE [SEED]]. Ends with 1 when that does not hold, or when there are
 * fewer than 1,000. */
#include "corpus.h"

#include "verify/equiv.h"
#include "verify/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 1000 };

#define N(op, in, out) "{'op':'" op "','inputs':[" in "],'output':'" out "'},"
#define A(op, in, out, attrs) "{'op':'" op "','inputs':[" in "],'output':'" out "'," attrs "},"
#define LAST "'axes':[-1],'keepdims':true"

static const char *const inputs =
    "{'name':'X','shape':[6,32],'dtype':'f16'},{'name':'Y','shape':[6,32],'dtype':'f16'},"
    "{'name':'Z','shape':[6,32],'dtype':'f16'},{'name':'W','shape':[32,32],'dtype':'f16'},"
    "{'name':'V','shape':[32,32],'dtype':'f16'},{'name':'D','shape':[32,4],'dtype':'f16'},"
    "{'name':'E','shape':[4,32],'dtype':'f16'}";

/* Two ways to r, of shape [6,32], from a, b, c (any values of that shape) and p, q (positive ones). Names of
 * other values are free. */
typedef struct {
    const char *name, *one, *other;
} rule;

static const rule rules[] = {
    {"commuted sum", N("add", "'a','b'", "r"), N("add", "'b','a'", "r")},
    {"commuted product", N("mul", "'a','b'", "r"), N("mul", "'b','a'", "r")},
    {"associated sum", N("add", "'a','b'", "t") N("add", "'t','c'", "r"),
     N("add", "'b','c'", "t") N("add", "'a','t'", "r")},
    {"difference and negation", N("sub", "'a','b'", "r"), N("neg", "'b'", "t") N("add", "'a','t'", "r")},
    {"distributed", N("add", "'b','c'", "t") N("mul", "'a','t'", "r"),
     N("mul", "'a','b'", "t") N("mul", "'a','c'", "u") N("add", "'t','u'", "r")},
    {"difference of squares", N("square", "'a'", "t") N("square", "'b'", "u") N("sub", "'t','u'", "r"),
     N("add", "'a','b'", "t") N("sub", "'a','b'", "u") N("mul", "'t','u'", "r")},
    {"scale moved through a product", N("mul", "'a',0.125", "t") N("matmul", "'t','W'", "r"),
     N("matmul", "'a','W'", "t") N("mul", "'t',0.125", "r")},
    {"scale moved to the weight", N("mul", "'a',3", "t") N("matmul", "'t','W'", "r"),
     N("mul", "'W',3", "t") N("matmul", "'a','t'", "r")},
    {"associated matmuls", N("matmul", "'a','W'", "t") N("matmul", "'t','V'", "r"),
     N("matmul", "'W','V'", "t") N("matmul", "'a','t'", "r")},
    {"low rank", N("matmul", "'a','D'", "t") N("matmul", "'t','E'", "r"),
     N("matmul", "'D','E'", "t") N("matmul", "'a','t'", "r")},
    {"sum of products", N("matmul", "'a','W'", "t") N("matmul", "'b','W'", "u") N("add", "'t','u'", "r"),
     N("add", "'a','b'", "t") N("matmul", "'t','W'", "r")},
    {"products by concatenation",
     N("matmul", "'a','W'", "t") N("matmul", "'a','D'", "u") N("matmul", "'u','E'", "v")
         N("add", "'t','v'", "r"),
     N("matmul", "'a','D'", "u") A("concat", "'a','u'", "l", "'axis':1")
         A("concat", "'W','E'", "k", "'axis':0") N("matmul", "'l','k'", "r")},
    {"row factor moved through a product",
     A("sum", "'b'", "s", LAST) N("mul", "'a','s'", "t") N("matmul", "'t','W'", "r"),
     A("sum", "'b'", "s", LAST) N("matmul", "'a','W'", "t") N("mul", "'t','s'", "r")},
    {"row quotient moved through a product",
     A("sum", "'p'", "s", LAST) N("div", "'a','s'", "t") N("matmul", "'t','W'", "r"),
     A("sum", "'p'", "s", LAST) N("matmul", "'a','W'", "t") N("div", "'t','s'", "r")},
    {"row sum of a product", N("matmul", "'a','W'", "t") A("sum", "'t'", "s", LAST) N("mul", "'b','s'", "r"),
     A("sum", "'W'", "t", LAST) N("matmul", "'a','t'", "s") N("mul", "'b','s'", "r")},
    {"sum in halves", A("sum", "'a'", "s", LAST) N("add", "'b','s'", "r"),
     A("slice", "'a'", "l", "'axis':1,'start':0,'stop':16")
         A("slice", "'a'", "h", "'axis':1,'start':16,'stop':32") A("sum", "'l'", "t", LAST)
             A("sum", "'h'", "u", LAST) N("add", "'t','u'", "s") N("add", "'b','s'", "r")},
    {"sum by digits", A("sum", "'a'", "s", LAST) N("mul", "'b','s'", "r"),
     A("reshape", "'a'", "t", "'shape':[6,4,8]") A("sum", "'t'", "u", "'axes':[2]") A("sum", "'u'", "s", LAST)
         N("mul", "'b','s'", "r")},
    {"product in halves", N("matmul", "'a','W'", "r"),
     A("slice", "'a'", "l", "'axis':1,'start':0,'stop':12")
         A("slice", "'a'", "h", "'axis':1,'start':12,'stop':32")
             A("slice", "'W'", "k", "'axis':0,'start':0,'stop':12")
                 A("slice", "'W'", "v", "'axis':0,'start':12,'stop':32") N("matmul", "'l','k'", "t")
                     N("matmul", "'h','v'", "u") N("add", "'t','u'", "r")},
    {"mean and sum", A("mean", "'a'", "s", LAST) N("sub", "'b','s'", "r"),
     A("sum", "'a'", "t", LAST) N("div", "'t',32", "s") N("sub", "'b','s'", "r")},
    {"quotient of a quotient", N("div", "'a','p'", "t") N("div", "'t','q'", "r"),
     N("mul", "'p','q'", "t") N("div", "'a','t'", "r")},
    {"quotient by a quotient", N("div", "'p','q'", "t") N("div", "'a','t'", "r"),
     N("mul", "'a','q'", "t") N("div", "'t','p'", "r")},
    {"sum of quotients", N("div", "'a','p'", "t") N("div", "'b','q'", "u") N("add", "'t','u'", "r"),
     N("mul", "'a','q'", "t") N("mul", "'b','p'", "u") N("add", "'t','u'", "v") N("mul", "'p','q'", "w")
         N("div", "'v','w'", "r")},
    {"common denominator",
     N("add", "'p','q'", "d") N("div", "'p','d'", "t") N("div", "'q','d'", "u") N("add", "'t','u'", "v")
         N("mul", "'a','v'", "r"),
     N("mul", "'a',1", "r")},
    {"root squared", N("sqrt", "'p'", "t") N("mul", "'t','t'", "u") N("mul", "'a','u'", "r"),
     N("mul", "'a','p'", "r")},
    {"root of a product of squares",
     N("square", "'a'", "t") N("square", "'b'", "u") N("mul", "'t','u'", "v") N("sqrt", "'v'", "r"),
     N("mul", "'a','b'", "t") N("abs", "'t'", "r")},
    {"inverse root", N("rsqrt", "'p'", "t") N("mul", "'a','t'", "r"),
     N("sqrt", "'p'", "t") N("div", "'a','t'", "r")},
    {"power and products", N("pow", "'a',3", "r"), N("square", "'a'", "t") N("mul", "'t','a'", "r")},
    {"exponential of a sum",
     N("mul", "'a',0.1", "t") N("mul", "'b',0.1", "u") N("add", "'t','u'", "v") N("exp", "'v'", "r"),
     N("mul", "'a',0.1", "t") N("mul", "'b',0.1", "u") N("exp", "'t'", "v") N("exp", "'u'", "w")
         N("mul", "'v','w'", "r")},
    {"silu", N("silu", "'a'", "r"), N("sigmoid", "'a'", "t") N("mul", "'t','a'", "r")},
    {"sigmoid", N("sigmoid", "'a'", "r"),
     N("neg", "'a'", "t") N("exp", "'t'", "u") N("add", "1,'u'", "v") N("reciprocal", "'v'", "r")},
    {"sigmoid the other way", N("sigmoid", "'a'", "r"),
     N("exp", "'a'", "t") N("add", "'t',1", "u") N("div", "'t','u'", "r")},
    {"sigmoids of x and -x", N("neg", "'a'", "t") N("sigmoid", "'t'", "u") N("mul", "'b','u'", "r"),
     N("sigmoid", "'a'", "t") N("sub", "1,'t'", "u") N("mul", "'b','u'", "r")},
    {"tanh", N("tanh", "'a'", "r"),
     N("mul", "'a',2", "t") N("sigmoid", "'t'", "u") N("mul", "'u',2", "v") N("sub", "'v',1", "r")},
    {"gelu by tanh", A("gelu", "'a'", "r", "'approximate':'tanh'"),
     N("pow", "'a',3", "t") N("mul", "'t',0.044715", "u") N("add", "'u','a'", "v")
         N("mul", "'v',0.7978845608028654", "w") N("tanh", "'w'", "y") N("add", "'y',1", "z")
             N("mul", "'z','a'", "s") N("mul", "'s',0.5", "r")},
    {"softmax", A("softmax", "'a'", "r", "'axis':1"),
     N("exp", "'a'", "e") A("sum", "'e'", "s", LAST) N("div", "'e','s'", "r")},
    {"safe softmax", A("softmax", "'a'", "r", "'axis':-1"),
     A("max", "'a'", "m", LAST) N("sub", "'a','m'", "t") N("exp", "'t'", "e") A("sum", "'e'", "s", LAST)
         N("div", "'e','s'", "r")},
    {"shifted softmax", A("softmax", "'a'", "r", "'axis':-1"),
     A("sum", "'b'", "m", LAST) N("sub", "'a','m'", "t") A("softmax", "'t'", "r", "'axis':-1")},
    {"softmax times a matrix", A("softmax", "'a'", "t", "'axis':1") N("matmul", "'t','W'", "r"),
     N("exp", "'a'", "e") A("sum", "'e'", "s", LAST) N("matmul", "'e','W'", "t") N("div", "'t','s'", "r")},
    {"online softmax times a matrix", A("softmax", "'a'", "t", "'axis':1") N("matmul", "'t','W'", "r"),
     A("slice", "'a'", "l", "'axis':1,'start':0,'stop':16")
         A("slice", "'a'", "h", "'axis':1,'start':16,'stop':32")
             A("slice", "'W'", "k", "'axis':0,'start':0,'stop':16")
                 A("slice", "'W'", "v", "'axis':0,'start':16,'stop':32") A("max", "'l'", "m1", LAST)
                     A("max", "'h'", "m2", LAST) N("maximum", "'m1','m2'", "m") N("sub", "'l','m1'", "d1")
                         N("exp", "'d1'", "e1") A("sum", "'e1'", "s1", LAST) N("matmul", "'e1','k'", "o1")
                             N("sub", "'h','m'", "d2") N("exp", "'d2'", "e2") A("sum", "'e2'", "s2", LAST)
                                 N("matmul", "'e2','v'", "o2") N("sub", "'m1','m'", "f") N("exp", "'f'", "g")
                                     N("mul", "'s1','g'", "s3") N("add", "'s3','s2'", "s")
                                         N("mul", "'o1','g'", "o3") N("add", "'o3','o2'", "u")
                                             N("div", "'u','s'", "r")},
    {"rms norm", A("rms_norm", "'a'", "r", "'axes':[-1],'eps':1e-5"),
     N("square", "'a'", "t") A("mean", "'t'", "m", LAST) N("add", "'m',1e-5", "u") N("rsqrt", "'u'", "v")
         N("mul", "'a','v'", "r")},
    {"norm moved past a product",
     A("rms_norm", "'a'", "t", "'axes':[-1],'eps':1e-5") N("matmul", "'t','W'", "r"),
     N("matmul", "'a','W'", "t") N("square", "'a'", "s") A("mean", "'s'", "m", LAST) N("add", "'m',1e-5", "u")
         N("sqrt", "'u'", "v") N("div", "'t','v'", "r")},
    {"layer norm", A("layer_norm", "'a'", "r", "'axes':[-1],'eps':1e-3"),
     A("mean", "'a'", "m", LAST) N("sub", "'a','m'", "d") N("square", "'d'", "s") A("mean", "'s'", "v", LAST)
         N("add", "'v',1e-3", "u") N("sqrt", "'u'", "t") N("div", "'d','t'", "r")},
    {"layer norm in one pass", A("layer_norm", "'a'", "r", "'axes':[-1],'eps':1e-3"),
     A("mean", "'a'", "m", LAST) N("square", "'a'", "s") A("mean", "'s'", "v", LAST) N("square", "'m'", "n")
         N("sub", "'v','n'", "w") N("add", "'w',1e-3", "u") N("rsqrt", "'u'", "t") N("sub", "'a','m'", "d")
             N("mul", "'d','t'", "r")},
    {"l2 norm of a multiple", A("l2_norm", "'a'", "r", "'axes':[-1],'eps':0.0001"),
     N("mul", "'a',2", "t") A("l2_norm", "'t'", "r", "'axes':[-1],'eps':0.0004")},
    {"maxima in another order", N("maximum", "'a','b'", "t") N("maximum", "'t','c'", "r"),
     N("maximum", "'c','b'", "t") N("maximum", "'a','t'", "r")},
    {"maximum of sums", N("add", "'a','c'", "t") N("add", "'b','c'", "u") N("maximum", "'t','u'", "r"),
     N("maximum", "'a','b'", "t") N("add", "'t','c'", "r")},
    {"maximum and minimum",
     N("maximum", "'a','b'", "t") N("minimum", "'a','b'", "u") N("add", "'t','u'", "r"),
     N("add", "'a','b'", "r")},
    {"minimum by negation", N("minimum", "'a','b'", "r"),
     N("neg", "'a'", "t") N("neg", "'b'", "u") N("maximum", "'t','u'", "v") N("neg", "'v'", "r")},
    {"relu", N("relu", "'a'", "r"), N("maximum", "'a',0", "r")},
    {"relu by abs", N("relu", "'a'", "r"),
     N("abs", "'a'", "t") N("add", "'a','t'", "u") N("mul", "'u',0.5", "r")},
    {"abs", N("abs", "'a'", "r"), N("neg", "'a'", "t") N("maximum", "'t','a'", "r")},
    {"abs by relu", N("abs", "'a'", "r"),
     N("relu", "'a'", "t") N("neg", "'a'", "u") N("relu", "'u'", "v") N("add", "'t','v'", "r")},
    {"clamp", A("clamp", "'a'", "r", "'min':-0.5,'max':2"),
     N("minimum", "'a',2", "t") N("maximum", "'t',-0.5", "r")},
    {"row maximum of halves", A("max", "'a'", "m", LAST) N("sub", "'b','m'", "r"),
     A("slice", "'a'", "l", "'axis':1,'start':0,'stop':16")
         A("slice", "'a'", "h", "'axis':1,'start':16,'stop':32") A("max", "'l'", "t", LAST)
             A("max", "'h'", "u", LAST) N("maximum", "'t','u'", "m") N("sub", "'b','m'", "r")},
    {"row maximum by digits", A("max", "'a'", "m", LAST) N("sub", "'b','m'", "r"),
     A("reshape", "'a'", "t", "'shape':[6,8,4]") A("max", "'t'", "u", "'axes':[2]") A("max", "'u'", "m", LAST)
         N("sub", "'b','m'", "r")},
    {"transposes that cancel", N("add", "'a','b'", "r"),
     A("transpose", "'a'", "t", "'perm':[1,0]") A("transpose", "'b'", "u", "'perm':[1,0]")
         N("add", "'t','u'", "v") A("transpose", "'v'", "r", "'perm':[1,0]")},
    {"transposed product", N("matmul", "'a','W'", "r"),
     A("matmul", "'W','a'", "t", "'transpose_a':true,'transpose_b':true")
         A("transpose", "'t'", "r", "'perm':[1,0]")},
    {"reshapes that cancel", N("mul", "'a','b'", "r"),
     A("reshape", "'a'", "t", "'shape':[24,8]") A("reshape", "'b'", "u", "'shape':[24,8]")
         N("mul", "'t','u'", "v") A("reshape", "'v'", "r", "'shape':[6,32]")},
    {"parts put together again", N("exp", "'c'", "r"),
     A("slice", "'c'", "l", "'axis':1,'start':0,'stop':10")
         A("slice", "'c'", "h", "'axis':1,'start':10,'stop':32") N("exp", "'l'", "t") N("exp", "'h'", "u")
             A("concat", "'t','u'", "r", "'axis':1")},
    {"functions of equal arguments",
     N("add", "'a','b'", "t") N("abs", "'t'", "u") N("add", "'u',1", "v") N("log", "'v'", "r"),
     N("add", "'b','a'", "t") N("abs", "'t'", "u") N("add", "1,'u'", "v") N("log", "'v'", "r")},
    {"rounded sums stay where they are",
     N("add", "'a','b'", "t") A("cast", "'t'", "u", "'dtype':'bf16'") A("cast", "'u'", "r", "'dtype':'f32'"),
     N("add", "'b','a'", "t") A("cast", "'t'", "u", "'dtype':'bf16'") A("cast", "'u'", "r", "'dtype':'f32'")},
};
enum { RULES = sizeof rules / sizeof *rules };

/* ---- surroundings ---- */

static const char *const sources[] = {
    N("mul", "'X',1", "%s"),   N("add", "'Y','Z'", "%s"),
    N("mul", "'X','Z'", "%s"), N("matmul", "'Y','W'", "%s"),
    N("sub", "'Z',0.5", "%s"), A("softmax", "'Y'", "%s", "'axis':1"),
    N("silu", "'Z'", "%s"),    A("rms_norm", "'X'", "%s", "'axes':[-1],'eps':1e-5"),
    N("mul", "'Y',0.3", "%s"), N("relu", "'X'", "%s"),
};
static const char *const positives[] = {
    N("square", "'X'", "%s_") N("add", "'%s_',1", "%s"),
    N("sigmoid", "'Y'", "%s_") N("add", "'%s_',0.5", "%s"),
    N("mul", "'Z',0.2", "%s_") N("exp", "'%s_'", "%s"),
};
static const char *const uses[] = {
    N("mul", "'r',1", "o"),
    N("matmul", "'r','V'", "o"),
    N("add", "'r','X'", "o"),
    N("mul", "'r','Y'", "o"),
    A("sum", "'r'", "o", "'axes':[1]"),
    A("transpose", "'r'", "o", "'perm':[1,0]"),
    A("rms_norm", "'r'", "o", "'axes':[-1],'eps':0.01"),
    N("mul", "'r',0.1", "r1") N("tanh", "'r1'", "o"),
    A("max", "'r'", "o", "'axes':[0]"),
};

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* A text in which every %s is the name. */
static void add_named(mo_str *out, const char *text, const char *name)
{
    for (; *text != '\0'; text++) {
        if (text[0] == '%' && text[1] == 's') {
            mo_str_add(out, name);
            text++;
        } else {
            mo_str_add_bytes(out, text, 1);
        }
    }
}

static const char *program_text(mo_arena *arena, const char *nodes, mo_rng rng)
{
    static const char *const names[] = {"a", "b", "c", "p", "q"};
    mo_str text = {0};
    mo_str_printf(&text, "'inputs':[%s],'nodes':[", inputs);
    for (int i = 0; i < 5; i++) {
        const char *from = i < 3 ? sources[mo_rng_below(&rng, COUNT(sources))]
                                 : positives[mo_rng_below(&rng, COUNT(positives))];
        add_named(&text, from, names[i]);
    }
    mo_str_add(&text, nodes);
    mo_str_add(&text, uses[mo_rng_below(&rng, COUNT(uses))]);
    text.data[text.length - 1] = ']'; /* the last comma */
    mo_str_add(&text, ",'outputs':['o']");
    const char *kept = mo_arena_strdup(arena, mo_str_text(&text));
    mo_str_free(&text);
    return kept;
}

typedef struct {
    long pairs, proved, tested, undecided, different;
} counts;

static void try_pair(counts *c, const rule *r, uint64_t seed, uint64_t number)
{
    mo_arena *arena = mo_arena_new();
    mo_rng rng = mo_rng_seed(seed, number);
    const char *one = program_text(arena, r->one, rng), *other = program_text(arena, r->other, rng);
    const mo_program *a = corpus_program(arena, one), *b = corpus_program(arena, other);
    mo_verify_options options = {.delta = 1e-9, .seed = seed, .threads = 1};
    mo_verify_report report;
    mo_equiv verdict = mo_verify_programs(a, b, &options, &report);
    mo_proof *proof = mo_prove_programs(a, b);
    c->pairs++;
    c->proved += proof->proved;
    c->tested += verdict == MO_EQUAL_TESTED;
    c->undecided += verdict == MO_UNDECIDED && !proof->proved;
    c->different += verdict == MO_DIFFERENT;
    if (verdict == MO_DIFFERENT || (getenv("MO_TELL") != NULL && !proof->proved)) {
        mo_str text = {0};
        mo_proof_print(&text, a, NULL, b, proof);
        printf("%s: %s\n%s\n%s\n%s", r->name, verdict == MO_DIFFERENT ? "called different" : "not proved",
               one, other, mo_str_text(&text));
        mo_str_free(&text);
    }
    mo_proof_free(proof);
    mo_arena_free(arena);
}

int main(int argc, char **argv)
{
    long each = argc > 1 ? atol(argv[1]) : 20;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    counts all = {0};
    printf("%-38s %6s %6s %6s %9s %9s\n", "rule", "pairs", "proved", "tested", "undecided", "different");
    for (int i = 0; i < RULES; i++) {
        counts c = {0};
        for (long j = 0; j < each; j++) try_pair(&c, &rules[i], seed, (uint64_t)(i * each + j));
        printf("%-38s %6ld %6ld %6ld %9ld %9ld\n", rules[i].name, c.pairs, c.proved, c.tested, c.undecided,
               c.different);
        all.pairs += c.pairs;
        all.proved += c.proved;
        all.tested += c.tested;
        all.undecided += c.undecided;
        all.different += c.different;
    }
    printf("%-38s %6ld %6ld %6ld %9ld %9ld\n", "all", all.pairs, all.proved, all.tested, all.undecided,
           all.different);
    bool fine = all.different == 0 && all.undecided * 50 <= all.pairs && all.proved * 5 >= all.pairs * 4;
    return fine && all.pairs >= LEAST ? 0 : 1;
}
