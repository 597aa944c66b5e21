#include "small.h"

#include "base/str.h"
#include "programs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const small_program small_programs[] = {
    {"quotient and sum", "X[3,4] Y[3,4] Z[3,4]", "P = mul X Y; Q = div P Z; R = sum Q axes:[1]", "R", 3, 2, 3,
     2},
    {"scaled rows", "X[3,4] S[3,1] W[4,5]", "P = mul X S; Y = matmul P W", "Y", 3, 2, 2, 2},
    {"divided rows", "X[3,4] S[3,1] W[4,5]", "P = div X S; Y = matmul P W", "Y", 3, 2, 2, 2},
    {"norm of rows", "X[3,4] W[4]",
     "S = mul X X; N = sum S axes:[1] keepdims:true; R = sqrt N; P = mul X W; Y = div P R", "Y", 5, 2, 0, 2},
    {"exponentials by their sum", "X[3,4]", "E = exp X; Z = sum E axes:[1] keepdims:true; Y = div E Z", "Y",
     4, 3, 3, 2},
    {"sum and product", "X[3,4] Y[3,4] W[3,4]", "P = add X Y; Q = mul P W", "Q", 3, 3, 3, 2},
    {"matmul and residual", "X[3,4] W[4,5] R[3,5]", "P = matmul X W; Y = add P R", "Y", 3, 2, 2, 2},
    {"two outputs", "X[3,4] B[4]", "Y = mul X B; Z = sum Y axes:[1]", "Y Z", 3, 2, 3, 2},
    {"X times X transposed", "X[4,4]", "Y = matmul X X transpose_b:true", "Y", 2, 2, 2, 2},
    {"two matmuls", "A[2,3] B[3,4] C[4,5]", "P = matmul A B; Y = matmul P C", "Y", 2, 2, 2, 2},
    {"sum of a matmul", "X[3,4] W[4,5]", "P = matmul X W; Y = sum P axes:[1]", "Y", 2, 2, 2, 3},
    {"common factor", "A[3] B[3] C[3]", "P = mul A C; Q = mul B C; Y = add P Q", "Y", 3, 3, 3, 2},
    {"half a difference", "A[3] B[3]", "P = sub A B; Y = mul P 0.5", "Y", 3, 3, 2, 2},
    {"two sums of one product", "A[3,4] B[3,4]", "P = mul A B; Y = sum P axes:[0]; Z = sum P axes:[1]", "Y Z",
     3, 3, 3, 2},
    {"exponentials under their maximum", "A[3,4]", "M = max A axes:[1] keepdims:true; D = sub A M; Y = exp D",
     "Y", 3, 3, 3, 2},
    {"factor that cancels", "X[3,4] Y[3,4]", "P = mul X Y; Q = div P Y; R = exp Q", "R", 3, 3, 3, 2},
    {"summand that cancels", "X[3,4] Y[3,4]", "P = add X Y; Q = sub P Y; R = exp Q", "R", 3, 3, 3, 2},
    {"difference of a value and itself", "X[3] Y[3]", "P = exp X; D = sub P X; Q = add D X; R = mul Q Y", "R",
     4, 2, 3, 2},
    {"softmax and residual", "X[3,4] R[3,4]",
     "M = max X axes:[1] keepdims:true; D = sub X M; E = exp D; Z = sum E axes:[1] keepdims:true; P = div E "
     "Z; "
     "Y = add P R",
     "Y", 6, 2, 0, 2},
    {"product of exponentials", "A[3,4] B[3,4]", "P = exp A; Q = exp B; Y = mul P Q", "Y", 3, 3, 3, 2},
    {"product of roots", "A[3] B[3]", "P = sqrt A; Q = sqrt B; Y = mul P Q", "Y", 3, 3, 3, 3},
    {"sum of sums", "A[3,4] B[3,4]", "P = sum A axes:[1]; Q = sum B axes:[1]; Y = add P Q", "Y", 3, 3, 3, 3},
    {"sum of a sum", "A[2,3,4]", "P = sum A axes:[2]; Y = sum P axes:[1]", "Y", 3, 2, 3, 3},
    {"reciprocal root", "A[3] B[3]", "R = rsqrt A; Y = mul B R", "Y", 3, 3, 3, 3},
    {"maximum of a sum", "A[3,4] B[4]", "P = add A B; Q = maximum P A; Y = max Q axes:[1]", "Y", 3, 2, 3, 2},
    {"power", "A[3] B[3]", "P = mul A B; Y = pow P 3", "Y", 2, 2, 2, 2},
    {"logarithm", "A[3] B[3]", "P = log A; Q = mul P B; Y = add Q B", "Y", 3, 2, 3, 2},
    {"numbers", "A[3] B[3]", "P = mul A 2; Q = add P 3; Y = mul Q B", "Y", 3, 2, 2, 1},
    {"value used twice", "A[3] B[3]", "E = exp A; P = mul E B; Y = add P E", "Y", 3, 3, 3, 3},
    {"mean", "A[3,4] B[3]", "P = mean A axes:[1]; Y = mul P B", "Y", 3, 2, 2, 2},
};
const int n_small_programs = sizeof small_programs / sizeof *small_programs;

/* Splits at any of `separators`; what was cut off, or NULL at the end. */
static char *next_part(char **rest, const char *separators)
{
    *rest += strspn(*rest, separators);
    if (**rest == '\0') return NULL;
    char *part = *rest;
    *rest += strcspn(*rest, separators);
    if (**rest != '\0') *(*rest)++ = '\0';
    return part;
}

static void add_inputs(mo_arena *arena, mo_str *json, const char *inputs)
{
    char *rest = mo_arena_strdup(arena, inputs), *input;
    for (int n = 0; (input = next_part(&rest, " ")) != NULL; n++) {
        char *shape = strchr(input, '[');
        mo_str_printf(json, "%s{'name':'%.*s','shape':%s,'dtype':'f32'}", n > 0 ? "," : "",
                      (int)(shape - input), input, shape);
    }
}

static void add_node(mo_str *json, char *text)
{
    char *output = next_part(&text, " ="), *op = next_part(&text, " ="), *word;
    mo_str attributes = {0};
    mo_str_printf(json, "{'op':'%s','output':'%s','inputs':[", op, output);
    for (int n = 0; (word = next_part(&text, " ")) != NULL; n++) {
        char *colon = strchr(word, ':');
        if (colon != NULL)
            mo_str_printf(&attributes, ",'%.*s':%s", (int)(colon - word), word, colon + 1);
        else if (isdigit((unsigned char)*word))
            mo_str_printf(json, "%s%s", n > 0 ? "," : "", word);
        else
            mo_str_printf(json, "%s'%s'", n > 0 ? "," : "", word);
    }
    mo_str_printf(json, "]%s}", mo_str_text(&attributes));
    mo_str_free(&attributes);
}

mo_prim *lower_small(mo_arena *arena, const small_program *program)
{
    mo_str json = {0};
    char *nodes = mo_arena_strdup(arena, program->nodes), *node;
    char *outputs = mo_arena_strdup(arena, program->outputs), *output;
    mo_str_add(&json, "'inputs':[");
    add_inputs(arena, &json, program->inputs);
    mo_str_add(&json, "],'nodes':[");
    for (int n = 0; (node = next_part(&nodes, ";")) != NULL; n++) {
        if (n > 0) mo_str_add(&json, ",");
        add_node(&json, node);
    }
    mo_str_add(&json, "],'outputs':[");
    for (int n = 0; (output = next_part(&outputs, " ")) != NULL; n++)
        mo_str_printf(&json, "%s'%s'", n > 0 ? "," : "", output);
    mo_str_add(&json, "]");
    mo_prim *graph = lower_text(arena, mo_arena_strdup(arena, mo_str_text(&json)));
    mo_str_free(&json);
    mo_prim_clean(graph);
    return graph;
}
