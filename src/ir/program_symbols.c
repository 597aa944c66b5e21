/* C identifiers for names. A name whose identifier is taken, or is a word that C++, CUDA or a header
 * keeps for itself, gets the first free number behind it. */
#include "ir/program.h"

#include "base/strmap.h"

#include <string.h>

static const char *const reserved[] = {
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
    "char", "char16_t", "char32_t", "char8_t", "class", "co_await", "co_return", "co_yield", "compl",
    "concept", "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype",
    "default", "delete", "do", "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern",
    "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
    "noexcept", "not", "not_eq", "nullptr", "operator", "or", "or_eq", "private", "protected", "public",
    "register", "reinterpret_cast", "requires", "restrict", "return", "short", "signed", "sizeof", "static",
    "static_assert", "static_cast", "struct", "switch", "template", "this", "thread_local", "throw", "true",
    "try", "typedef", "typeid", "typename", "typeof", "union", "unsigned", "using", "virtual", "void",
    "volatile", "wchar_t", "while", "xor", "xor_eq",
    /* compiler words, CUDA qualifiers and built-in variables */
    "__asm__", "__attribute__", "__cluster_dims__", "__constant__", "__device__", "__forceinline__",
    "__global__", "__grid_constant__", "__host__", "__launch_bounds__", "__managed__", "__noinline__",
    "__restrict__", "__shared__", "blockDim", "blockIdx", "gridDim", "threadIdx", "warpSize",
    /* macros that a compiler or a standard header defines */
    "EOF", "INFINITY", "NAN", "NULL", "assert", "errno", "linux", "stderr", "stdin", "stdout", "unix"};

static char *sanitize(mo_arena *arena, const char *name)
{
    bool digit = name[0] >= '0' && name[0] <= '9';
    char *symbol = mo_arena_printf(arena, "%s%s", digit ? "p_" : "", name);
    for (char *c = symbol; *c != '\0'; c++) {
        bool keep =
            (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '_';
        if (!keep) *c = '_';
    }
    return symbol;
}

/* `used` maps each identifier that is taken to the next number worth trying behind it. */
static const char *unique_symbol(mo_arena *arena, mo_strmap *used, const char *name)
{
    char *symbol = sanitize(arena, name);
    if (mo_strmap_find(used, symbol) != NULL) {
        const char *base = symbol;
        int number = *mo_strmap_find(used, base);
        do {
            symbol = mo_arena_printf(arena, "%s_%d", base, number++);
        } while (mo_strmap_find(used, symbol) != NULL);
        *mo_strmap_find(used, base) = number;
    }
    mo_strmap_put(used, symbol, 1);
    return symbol;
}

static mo_strmap reserved_words(mo_arena *arena, size_t more)
{
    size_t count = sizeof reserved / sizeof reserved[0];
    mo_strmap map = mo_strmap_new(arena, count + more);
    for (size_t i = 0; i < count; i++) mo_strmap_put(&map, reserved[i], 1);
    return map;
}

void mo_program_set_symbols(mo_program *program)
{
    mo_arena *arena = program->arena;
    mo_strmap used = reserved_words(arena, 1);
    program->symbol = unique_symbol(arena, &used, program->name);
    used = reserved_words(arena, (size_t)program->n_tensors);
    program->symbols = MO_NEW_ARRAY(arena, const char *, program->n_tensors);
    for (int t = 0; t < program->n_tensors; t++) {
        program->symbols[t] = unique_symbol(arena, &used, program->tensors[t].name);
    }
}
