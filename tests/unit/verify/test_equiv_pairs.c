/* Pairs of programs that are equal by algebra, and mutants that are not. */
#include "programs.h"
#include "verify/equiv.h"
#include "verify/proof.h"

#include <criterion/criterion.h>

#define X "{\"name\":\"X\",\"shape\":[6,64],\"dtype\":\"f16\"}"
#define Y "{\"name\":\"Y\",\"shape\":[6,64],\"dtype\":\"f16\"}"
#define Z "{\"name\":\"Z\",\"shape\":[6,64],\"dtype\":\"f16\"}"
#define XYZ X "," Y "," Z
#define W "{\"name\":\"W\",\"shape\":[64,64],\"dtype\":\"f16\"}"
#define V "{\"name\":\"V\",\"shape\":[64,64],\"dtype\":\"f16\"}"
#define VEC "{\"name\":\"w\",\"shape\":[64],\"dtype\":\"f16\"}"
#define XW X "," W
#define XWV XW "," V
#define QKV                                                                                                \
    "{\"name\":\"Q\",\"shape\":[2,8,64],\"dtype\":\"f16\"},{\"name\":\"K\",\"shape\":[2,32,64],\"dtype\":" \
    "\"f16\"},"                                                                                            \
    "{\"name\":\"V\",\"shape\":[2,32,64],\"dtype\":\"f16\"}"
#define N(op, in, out) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"}"
#define NA(op, in, out, attrs) "{\"op\":\"" op "\",\"inputs\":[" in "],\"output\":\"" out "\"," attrs "}"
#define LAST "\"axes\":[-1],\"keepdims\":true"

typedef struct {
    const char *what, *inputs, *a, *b;
} pair;

static const pair equal_pairs[] = {
    {"commuted sum", XYZ, N("add", "\"X\",\"Y\"", "o"), N("add", "\"Y\",\"X\"", "o")},
    {"distributed product", XYZ, N("add", "\"Y\",\"Z\"", "s") "," N("mul", "\"X\",\"s\"", "o"),
     N("mul", "\"X\",\"Y\"", "a") "," N("mul", "\"X\",\"Z\"", "b") "," N("add", "\"a\",\"b\"", "o")},
    {"quotient of a quotient", XYZ, N("div", "\"X\",\"Y\"", "s") "," N("div", "\"s\",\"Z\"", "o"),
     N("mul", "\"Y\",\"Z\"", "s") "," N("div", "\"X\",\"s\"", "o")},
    {"associated matmuls", XWV, N("matmul", "\"X\",\"W\"", "s") "," N("matmul", "\"s\",\"V\"", "o"),
     N("matmul", "\"W\",\"V\"", "s") "," N("matmul", "\"X\",\"s\"", "o")},
    {"row sum of a product", XW, N("matmul", "\"X\",\"W\"", "s") "," NA("sum", "\"s\"", "o", "\"axes\":[1]"),
     NA("sum", "\"W\"", "s", LAST) "," N("matmul", "\"X\",\"s\"", "t") "," NA("reshape", "\"t\"", "o",
                                                                              "\"shape\":[6]")},
    {"norm moved past the product", XW,
     NA("rms_norm", "\"X\"", "s", "\"axes\":[-1],\"eps\":1e-5") "," N("matmul", "\"s\",\"W\"", "o"),
     N("square", "\"X\"", "q") "," NA("mean", "\"q\"", "m", LAST) "," N("add", "\"m\",1e-5", "e") "," N(
         "rsqrt", "\"e\"", "r") "," N("matmul", "\"X\",\"W\"", "p") "," N("mul", "\"p\",\"r\"", "o")},
    {"softmax spelled out", XYZ, NA("softmax", "\"X\"", "o", "\"axis\":1"),
     N("exp", "\"X\"", "e") "," NA("sum", "\"e\"", "s", LAST) "," N("div", "\"e\",\"s\"", "o")},
    {"softmax with its maximum", XYZ, NA("softmax", "\"X\"", "o", "\"axis\":-1"),
     NA("max", "\"X\"", "m", LAST) "," N("sub", "\"X\",\"m\"", "d") "," N("exp", "\"d\"", "e") "," NA(
         "sum", "\"e\"", "s", LAST) "," N("div", "\"e\",\"s\"", "o")},
    {"softmax shifted by a constant", XYZ, NA("softmax", "\"X\"", "o", "\"axis\":-1"),
     N("add", "\"X\",3", "d") "," NA("softmax", "\"d\"", "o", "\"axis\":-1")},
    {"attention, division last", QKV,
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," N("mul", "\"s\",0.125", "t") "," NA(
         "softmax", "\"t\"", "p", "\"axis\":-1") "," N("matmul", "\"p\",\"V\"", "o"),
     N("mul", "\"Q\",0.125", "q") "," NA("matmul", "\"q\",\"K\"", "t", "\"transpose_b\":true") "," N(
         "exp", "\"t\"", "e") "," NA("sum", "\"e\"", "s", LAST) "," N("matmul", "\"e\",\"V\"",
                                                                      "n") "," N("div", "\"n\",\"s\"", "o")},
    {"silu spelled out", XYZ, N("silu", "\"X\"", "o"),
     N("sigmoid", "\"X\"", "s") "," N("mul", "\"X\",\"s\"", "o")},
    {"sigmoid by exponentials", XYZ, N("sigmoid", "\"X\"", "o"),
     N("exp", "\"X\"", "e") "," N("add", "1,\"e\"", "d") "," N("div", "\"e\",\"d\"", "o")},
    {"tanh by sigmoid", XYZ, N("tanh", "\"X\"", "o"),
     N("mul", "\"X\",2", "t") "," N("sigmoid", "\"t\"", "s") "," N("mul", "\"s\",2",
                                                                   "d") "," N("sub", "\"d\",1", "o")},
    {"relu by maximum", XYZ, N("relu", "\"X\"", "o"), N("maximum", "\"X\",0", "o")},
    {"relu by abs", XYZ, N("relu", "\"X\"", "o"),
     N("abs", "\"X\"", "a") "," N("add", "\"X\",\"a\"", "s") "," N("mul", "\"s\",0.5", "o")},
    {"clamp by maximum and minimum", XYZ, NA("clamp", "\"X\"", "o", "\"min\":-1,\"max\":6"),
     N("minimum", "\"X\",6", "s") "," N("maximum", "\"s\",-1", "o")},
    {"root of a product", XYZ,
     N("square", "\"X\"", "a") "," N("square", "\"Y\"", "b") "," N("mul", "\"a\",\"b\"",
                                                                   "c") "," N("sqrt", "\"c\"", "o"),
     N("mul", "\"X\",\"Y\"", "a") "," N("abs", "\"a\"", "o")},
    {"norm of a multiple", X,
     N("mul", "\"X\",2", "t") "," N("square", "\"t\"", "q") "," NA("sum", "\"q\"", "s", LAST) "," N(
         "sqrt", "\"s\"", "r") "," N("div", "\"t\",\"r\"", "o"),
     N("square", "\"X\"", "q") "," NA("sum", "\"q\"", "s", LAST) "," N("sqrt", "\"s\"",
                                                                       "r") "," N("div", "\"X\",\"r\"", "o")},
    {"root squared", XYZ,
     NA("l2_norm", "\"X\"", "n", "\"axes\":[-1],\"eps\":1e-6") "," N("square", "\"n\"", "o"),
     N("square", "\"X\"", "q") "," NA("sum", "\"q\"", "s", LAST) "," N("add", "\"s\",1e-6",
                                                                       "e") "," N("div", "\"q\",\"e\"", "o")},
    {"mean and sum", XYZ, NA("mean", "\"X\"", "o", LAST),
     NA("sum", "\"X\"", "s", LAST) "," N("div", "\"s\",64", "o")},
    {"sum of exponents", XYZ, N("add", "\"X\",\"Y\"", "s") "," N("exp", "\"s\"", "o"),
     N("exp", "\"X\"", "a") "," N("exp", "\"Y\"", "b") "," N("mul", "\"a\",\"b\"", "o")},
    {"power and products", XYZ, N("pow", "\"X\",3", "o"),
     N("square", "\"X\"", "s") "," N("mul", "\"s\",\"X\"", "o")},
    {"inverse root", X "," Y,
     N("square", "\"X\"", "q") "," N("add", "\"q\",1", "s") "," N("pow", "\"s\",-0.5", "o"),
     N("square", "\"X\"", "q") "," N("add", "1,\"q\"", "s") "," N("sqrt", "\"s\"", "r") "," N("reciprocal",
                                                                                              "\"r\"", "o")},
    {"layer norm spelled out", X "," VEC, NA("layer_norm", "\"X\",\"w\"", "o", "\"axes\":[-1],\"eps\":1e-5"),
     NA("mean", "\"X\"", "m", LAST) "," N("sub", "\"X\",\"m\"", "d") "," N("square", "\"d\"", "q") "," NA(
         "mean", "\"q\"", "v", LAST) "," N("add", "\"v\",1e-5",
                                           "e") "," N("rsqrt", "\"e\"",
                                                      "r") "," N("mul", "\"d\",\"r\"",
                                                                 "y") "," N("mul", "\"w\",\"y\"", "o")},
    {"layer norm in one pass", X, NA("layer_norm", "\"X\"", "o", "\"axes\":[-1],\"eps\":1e-5"),
     NA("mean", "\"X\"", "m", LAST) "," N("square", "\"X\"", "q") "," NA("mean", "\"q\"", "p", LAST) "," N(
         "square", "\"m\"",
         "n") "," N("sub", "\"p\",\"n\"",
                    "v") "," N("add", "\"v\",1e-5",
                               "e") "," N("sqrt", "\"e\"", "r") "," N("sub", "\"X\",\"m\"",
                                                                      "d") "," N("div", "\"d\",\"r\"", "o")},
    {"concatenated weights", XWV,
     NA("concat", "\"W\",\"V\"", "c", "\"axis\":1") "," N("matmul", "\"X\",\"c\"", "p") "," NA(
         "slice", "\"p\"", "o", "\"axis\":1,\"start\":64,\"stop\":128"),
     N("matmul", "\"X\",\"V\"", "o")},
    {"transposed product", XW, N("matmul", "\"X\",\"W\"", "o"),
     NA("transpose", "\"W\"", "t", "\"perm\":[1,0]") "," NA("matmul", "\"X\",\"t\"", "o",
                                                            "\"transpose_b\":true")},
    {"heads by reshape", X,
     NA("reshape", "\"X\"", "h", "\"shape\":[6,4,16]") "," NA("sum", "\"h\"", "s", LAST) "," NA(
         "broadcast_to", "\"s\"", "b", "\"shape\":[6,4,16]") "," NA("reshape", "\"b\"", "o",
                                                                    "\"shape\":[6,64]"),
     NA("reshape", "\"X\"", "h", "\"shape\":[6,4,16]") "," NA("sum", "\"h\"", "s", LAST) "," NA(
         "reshape", "\"X\"", "g", "\"shape\":[6,4,16]") "," N("sub", "\"g\",\"g\"",
                                                              "z") "," N("add", "\"z\",\"s\"",
                                                                         "b") "," NA("reshape", "\"b\"", "o",
                                                                                     "\"shape\":[6,64]")},
    {"rounded sums stay where they are", XYZ,
     N("add", "\"X\",\"Y\"", "s") "," NA("cast", "\"s\"", "c", "\"dtype\":\"bf16\"") "," N("mul", "\"c\",2",
                                                                                           "o"),
     N("add", "\"Y\",\"X\"", "s") "," NA("cast", "\"s\"", "c",
                                         "\"dtype\":\"bf16\"") "," N("add", "\"c\",\"c\"", "o")},
    {"masked attention", QKV,
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA(
         "causal_mask", "\"s\"", "t",
         "\"offset\":24") "," NA("softmax", "\"t\"", "p", "\"axis\":-1") "," N("matmul", "\"p\",\"V\"", "o"),
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA(
         "causal_mask", "\"s\"", "t",
         "\"offset\":24") "," N("exp", "\"t\"", "e") "," NA("sum", "\"e\"", "d",
                                                            LAST) "," N("matmul", "\"e\",\"V\"",
                                                                        "n") "," N("div", "\"n\",\"d\"",
                                                                                   "o")},
    {"rows that are masked as a whole", QKV,
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA(
         "causal_mask", "\"s\"", "t",
         "\"offset\":-3") "," NA("softmax", "\"t\"", "p", "\"axis\":-1") "," N("matmul", "\"p\",\"V\"", "o"),
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA(
         "causal_mask", "\"s\"", "t",
         "\"offset\":-3") "," N("exp", "\"t\"", "e") "," NA("sum", "\"e\"", "d",
                                                            LAST) "," N("matmul", "\"e\",\"V\"",
                                                                        "n") "," N("div", "\"n\",\"d\"",
                                                                                   "o")},
    {"softmax down masked columns", W,
     NA("causal_mask", "\"W\"", "t", "\"offset\":1") "," NA("softmax", "\"t\"", "o", "\"axis\":0"),
     NA("causal_mask", "\"W\"", "t", "\"offset\":1") "," N("exp", "\"t\"", "e") "," NA(
         "sum", "\"e\"", "s", "\"axes\":[0],\"keepdims\":true") "," N("div", "\"e\",\"s\"", "o")},
    {"exponential of a sigmoid", XYZ,
     N("sigmoid", "\"X\"", "g") "," N("exp", "\"g\"", "a") "," N("exp", "\"Y\"",
                                                                 "b") "," N("mul", "\"a\",\"b\"", "o"),
     N("sigmoid", "\"X\"", "g") "," N("add", "\"Y\",\"g\"", "s") "," N("exp", "\"s\"", "o")},
};

static const pair mutants[] = {
    {"attention whose summed, normalised queries meet one row of keys", QKV,
     NA("rms_norm", "\"Q\"", "q", "\"axes\":[-1],\"eps\":1e-5") "," NA(
         "matmul", "\"q\",\"K\"", "s",
         "\"transpose_b\":true") "," NA("softmax", "\"s\"", "p", "\"axis\":-1") "," N("matmul", "\"p\",\"V\"",
                                                                                      "o"),
     NA("rms_norm", "\"Q\"", "q", "\"axes\":[-1],\"eps\":1e-5") "," NA("sum", "\"q\"", "t", LAST) "," NA(
         "slice", "\"K\"", "k",
         "\"axis\":2,\"start\":0,\"stop\":1") "," NA("matmul", "\"t\",\"k\"", "s",
                                                     "\"transpose_b\":true") "," NA("softmax", "\"s\"", "p",
                                                                                    "\"axis\":-1") "," N("mat"
                                                                                                         "mu"
                                                                                                         "l",
                                                                                                         "\"p"
                                                                                                         "\","
                                                                                                         "\"V"
                                                                                                         "\"",
                                                                                                         "o")},
    {"division by a tensor against by its transpose", W "," V, N("div", "\"W\",\"V\"", "o"),
     NA("transpose", "\"V\"", "t", "\"perm\":[1,0]") "," N("div", "\"W\",\"t\"", "o")},
    {"rows of the result in another order", XW, N("matmul", "\"X\",\"W\"", "o"),
     NA("slice", "\"X\"", "a", "\"axis\":0,\"start\":0,\"stop\":3") "," NA(
         "slice", "\"X\"", "b",
         "\"axis\":0,\"start\":3,\"stop\":6") "," NA("concat", "\"b\",\"a\"", "c",
                                                     "\"axis\":0") "," N("matmul", "\"c\",\"W\"", "o")},
    {"gelu against silu times exp", XYZ, NA("gelu", "\"X\"", "o", "\"approximate\":\"tanh\""),
     N("silu", "\"X\"", "s") "," N("exp", "\"X\"", "e") "," N("mul", "\"s\",\"e\"", "o")},
    {"two clamps", XYZ, NA("clamp", "\"X\"", "o", "\"min\":0,\"max\":1"),
     NA("clamp", "\"X\"", "o", "\"min\":-1,\"max\":6")},
    {"another eps", X, NA("rms_norm", "\"X\"", "o", "\"axes\":[-1],\"eps\":1e-5"),
     NA("rms_norm", "\"X\"", "o", "\"axes\":[-1],\"eps\":1e-6")},
    {"a tiny eps left out", X, NA("l2_norm", "\"X\"", "o", "\"axes\":[-1],\"eps\":1e-12"),
     NA("l2_norm", "\"X\"", "o", "\"axes\":[-1],\"eps\":0")},
    {"exponential of an exponential against a constant", XYZ,
     N("exp", "\"X\"", "e") "," N("exp", "\"e\"", "o"),
     N("sub", "\"X\",\"X\"", "z") "," N("exp", "\"z\"", "a") "," N("exp", "\"a\"", "o")},
    {"exponential of exponentials of another input", XYZ, N("exp", "\"X\"", "e") "," N("exp", "\"e\"", "o"),
     N("exp", "\"Y\"", "e") "," N("exp", "\"e\"", "o")},
    {"x silu(x) against silu(x) squared", XYZ, N("silu", "\"X\"", "s") "," N("mul", "\"X\",\"s\"", "o"),
     N("silu", "\"X\"", "s") "," N("square", "\"s\"", "o")},
    {"(A+B)A against (A+B)B", XYZ, N("add", "\"X\",\"Y\"", "s") "," N("mul", "\"s\",\"X\"", "o"),
     N("add", "\"X\",\"Y\"", "s") "," N("mul", "\"s\",\"Y\"", "o")},
    {"silu against x exp(x)", XYZ, N("silu", "\"X\"", "o"),
     N("exp", "\"X\"", "e") "," N("mul", "\"X\",\"e\"", "o")},
    {"quotient the wrong way", XYZ, N("div", "\"X\",\"Y\"", "s") "," N("div", "\"s\",\"Z\"", "o"),
     N("div", "\"Y\",\"Z\"", "s") "," N("div", "\"X\",\"s\"", "o")},
    {"transposed weights", XW, N("matmul", "\"X\",\"W\"", "o"),
     NA("matmul", "\"X\",\"W\"", "o", "\"transpose_b\":true")},
    {"matmuls in the wrong order", XWV, N("matmul", "\"W\",\"V\"", "s") "," N("matmul", "\"X\",\"s\"", "o"),
     N("matmul", "\"V\",\"W\"", "s") "," N("matmul", "\"X\",\"s\"", "o")},
    {"softmax over the wrong axis", XYZ, NA("softmax", "\"X\"", "o", "\"axis\":1"),
     NA("softmax", "\"X\"", "o", "\"axis\":0")},
    {"softmax without division", XYZ, NA("softmax", "\"X\"", "o", "\"axis\":1"), N("exp", "\"X\"", "o")},
    {"softmax with the maximum in one place only", XYZ, NA("softmax", "\"X\"", "o", "\"axis\":-1"),
     NA("max", "\"X\"", "m", LAST) "," N("sub", "\"X\",\"m\"", "d") "," N("exp", "\"d\"", "e") "," N(
         "exp", "\"X\"", "f") "," NA("sum", "\"f\"", "s", LAST) "," N("div", "\"e\",\"s\"", "o")},
    {"softmax scaled twice", XYZ, NA("softmax", "\"X\"", "o", "\"axis\":-1"),
     N("mul", "\"X\",2", "d") "," NA("softmax", "\"d\"", "o", "\"axis\":-1")},
    {"root of a square", XYZ, N("square", "\"X\"", "a") "," N("sqrt", "\"a\"", "o"),
     N("mul", "\"X\",1", "o")},
    {"root of a sum", XYZ,
     N("square", "\"X\"", "a") "," N("square", "\"Y\"", "b") "," N("add", "\"a\",\"b\"",
                                                                   "c") "," N("sqrt", "\"c\"", "o"),
     N("abs", "\"X\"", "a") "," N("abs", "\"Y\"", "b") "," N("add", "\"a\",\"b\"", "o")},
    {"sum against mean", XYZ, NA("sum", "\"X\"", "o", LAST), NA("mean", "\"X\"", "o", LAST)},
    {"variance without the mean", X, NA("layer_norm", "\"X\"", "o", "\"axes\":[-1],\"eps\":1e-5"),
     NA("rms_norm", "\"X\"", "o", "\"axes\":[-1],\"eps\":1e-5")},
    {"weight before the norm", X "," VEC, NA("rms_norm", "\"X\",\"w\"", "o", "\"axes\":[-1],\"eps\":1e-5"),
     N("mul", "\"X\",\"w\"", "s") "," NA("rms_norm", "\"s\"", "o", "\"axes\":[-1],\"eps\":1e-5")},
    {"max against min", XYZ, NA("max", "\"X\"", "o", LAST), NA("min", "\"X\"", "o", LAST)},
    {"max against sum", XYZ, N("maximum", "\"X\",\"Y\"", "o"), N("add", "\"X\",\"Y\"", "o")},
    {"relu against abs", XYZ, N("relu", "\"X\"", "o"), N("abs", "\"X\"", "o")},
    {"relu forgotten", XYZ, N("relu", "\"X\"", "s") "," N("mul", "\"s\",\"Y\"", "o"),
     N("mul", "\"X\",\"Y\"", "o")},
    {"another power", XYZ, N("pow", "\"X\",3", "o"), N("pow", "\"X\",2", "o")},
    {"another scale", XYZ, N("mul", "\"X\",0.125", "o"), N("mul", "\"X\",0.12500001", "o")},
    {"logarithm of a product", XYZ, N("abs", "\"X\"", "a") "," N("log", "\"a\"", "o"),
     N("abs", "\"X\"", "o")},
    {"gelu in its two forms", XYZ, NA("gelu", "\"X\"", "o", "\"approximate\":\"tanh\""),
     NA("gelu", "\"X\"", "o", "\"approximate\":\"none\"")},
    {"rounding forgotten", XYZ,
     N("add", "\"X\",\"Y\"", "s") "," NA("cast", "\"s\"", "c", "\"dtype\":\"bf16\"") "," NA(
         "cast", "\"c\"", "o", "\"dtype\":\"f16\""),
     N("add", "\"X\",\"Y\"", "o")},
    {"another slice", XWV,
     NA("concat", "\"W\",\"V\"", "c", "\"axis\":1") "," N("matmul", "\"X\",\"c\"", "p") "," NA(
         "slice", "\"p\"", "o", "\"axis\":1,\"start\":32,\"stop\":96"),
     N("matmul", "\"X\",\"V\"", "o")},
    {"halves swapped", X, NA("slice", "\"X\"", "o", "\"axis\":1,\"start\":0,\"stop\":32"),
     NA("slice", "\"X\"", "o", "\"axis\":1,\"start\":32,\"stop\":64")},
    {"heads merged in the wrong order", X, NA("reshape", "\"X\"", "o", "\"shape\":[6,4,16]"),
     NA("reshape", "\"X\"", "h", "\"shape\":[6,16,4]") "," NA("transpose", "\"h\"", "o", "\"perm\":[0,2,1]")},
    {"another mask", QKV,
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA(
         "causal_mask", "\"s\"", "t", "\"offset\":24") "," NA("softmax", "\"t\"", "o", "\"axis\":-1"),
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA("softmax", "\"s\"", "o", "\"axis\":-1")},
    {"a mask that is off by one", W,
     NA("causal_mask", "\"W\"", "t", "\"offset\":2") "," N("exp", "\"t\"", "o"),
     NA("causal_mask", "\"W\"", "t", "\"offset\":1") "," N("exp", "\"t\"", "o")},
    {"a column whose mask is forgotten", "{\"name\":\"X\",\"shape\":[40,1],\"dtype\":\"f16\"}",
     NA("causal_mask", "\"X\"", "t", "\"offset\":-2") "," N("exp", "\"t\"", "o"), N("exp", "\"X\"", "o")},
    {"keys for values", QKV,
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA(
         "softmax", "\"s\"", "p", "\"axis\":-1") "," N("matmul", "\"p\",\"V\"", "o"),
     NA("matmul", "\"Q\",\"K\"", "s", "\"transpose_b\":true") "," NA(
         "softmax", "\"s\"", "p", "\"axis\":-1") "," N("matmul", "\"p\",\"K\"", "o")},
    {"norm after the product", XW,
     NA("rms_norm", "\"X\"", "s", "\"axes\":[-1],\"eps\":1e-5") "," N("matmul", "\"s\",\"W\"", "o"),
     N("matmul", "\"X\",\"W\"", "s") "," NA("rms_norm", "\"s\"", "o", "\"axes\":[-1],\"eps\":1e-5")},
};

static mo_equiv verify(const pair *p, mo_verify_report *report)
{
    mo_arena *arena = mo_arena_new();
    mo_program *a = test_program(arena, p->inputs, p->a, "\"o\"");
    mo_program *b = test_program(arena, p->inputs, p->b, "\"o\"");
    mo_verify_options options = {.delta = 1e-12, .seed = 7, .threads = 1};
    mo_equiv verdict = mo_verify_programs(a, b, &options, report);
    mo_arena_free(arena);
    return verdict;
}

static bool is_proved(const pair *p, mo_str *why)
{
    mo_arena *arena = mo_arena_new();
    mo_program *a = test_program(arena, p->inputs, p->a, "\"o\"");
    mo_program *b = test_program(arena, p->inputs, p->b, "\"o\"");
    mo_proof *proof = mo_prove_programs(a, b);
    bool proved = proof->proved;
    mo_str_clear(why);
    mo_proof_print(why, a, NULL, b, proof);
    mo_proof_free(proof);
    mo_arena_free(arena);
    return proved;
}

Test(equiv, equal_pairs_are_proved)
{
    mo_str why = {0};
    for (size_t i = 0; i < sizeof equal_pairs / sizeof *equal_pairs; i++)
        cr_expect(is_proved(&equal_pairs[i], &why), "%s: %s", equal_pairs[i].what, mo_str_text(&why));
    mo_str_free(&why);
}

Test(equiv, mutants_are_not_proved)
{
    mo_str why = {0};
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++)
        cr_expect_not(is_proved(&mutants[i], &why), "%s: %s", mutants[i].what, mo_str_text(&why));
    mo_str_free(&why);
}

Test(equiv, equal_pairs_are_equal)
{
    for (size_t i = 0; i < sizeof equal_pairs / sizeof *equal_pairs; i++) {
        mo_verify_report report;
        mo_equiv verdict = verify(&equal_pairs[i], &report);
        cr_expect_eq(verdict, MO_EQUAL_TESTED, "%s: verdict %d (%s)", equal_pairs[i].what, (int)verdict,
                     report.reason == NULL ? "" : report.reason);
        cr_expect(report.rounds > 0 && report.full_checked > 0, "%s: nothing was compared",
                  equal_pairs[i].what);
    }
}

Test(equiv, mutants_are_different)
{
    for (size_t i = 0; i < sizeof mutants / sizeof *mutants; i++) {
        mo_verify_report report;
        mo_equiv verdict = verify(&mutants[i], &report);
        cr_expect_eq(verdict, MO_DIFFERENT, "%s: verdict %d (%s)", mutants[i].what, (int)verdict,
                     report.reason == NULL ? "" : report.reason);
        cr_expect(!report.witness || report.program_value != report.other_value, "%s: no witness",
                  mutants[i].what);
    }
}

/* On the small instance every mask keeps less than all: the program's own shape settles it. */
Test(equiv, a_mask_that_keeps_everything_is_none)
{
    static const pair keeps_all = {
        "all kept", X, NA("causal_mask", "\"X\"", "t", "\"offset\":63") "," N("exp", "\"t\"", "o"),
        N("exp", "\"X\"", "o")};
    mo_verify_report report;
    cr_expect_eq(verify(&keeps_all, &report), MO_EQUAL_TESTED);
    cr_expect_eq(report.full_checked, report.full_elements);
}

/* Those elements have no value on either side. They count as not compared. */
Test(equiv, rows_that_are_masked_as_a_whole_are_left_out)
{
    static const pair masked = {
        "three rows", W,
        NA("causal_mask", "\"W\"", "t", "\"offset\":-3") "," NA("softmax", "\"t\"", "o", "\"axis\":-1"),
        NA("causal_mask", "\"W\"", "t", "\"offset\":-3") "," N("exp", "\"t\"", "e") "," NA(
            "sum", "\"e\"", "s", LAST) "," N("div", "\"e\",\"s\"", "o")};
    mo_verify_report report;
    cr_expect_eq(verify(&masked, &report), MO_EQUAL_TESTED);
    cr_expect_eq(report.full_elements, 64 * 64);
    cr_expect_eq(report.full_checked, 61 * 64);
}
