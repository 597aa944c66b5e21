/* Attention by chunks of keys, with a running maximum and sums that are rescaled: one after the other as a
 * loop does it, in pairs as warps and clusters do, and all at once as a second kernel does. */
#include "programs.h"
#include "verify/equiv.h"
#include "verify/proof.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>

enum { KEYS = 64, MOST_CHUNKS = 8 };

static const char *const inputs = "{\"name\":\"Q\",\"shape\":[4,8],\"dtype\":\"f16\"},"
                                  "{\"name\":\"K\",\"shape\":[64,8],\"dtype\":\"f16\"},"
                                  "{\"name\":\"V\",\"shape\":[64,8],\"dtype\":\"f16\"}";

#define LAST ",\"axes\":[-1],\"keepdims\":true"

/* What may be wrong. */
typedef enum { RIGHT, NO_RESCALE, OTHER_MAXIMUM, CHUNK_DROPPED, CHUNK_TWICE, SUM_NOT_RESCALED } fault;

typedef struct {
    mo_str text;
    fault fault;
    int next; /* number of the next name */
} writer;

__attribute__((format(printf, 2, 3))) static void node(writer *w, const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    mo_str_printf(&w->text, "%s{%s}", w->text.length > 0 ? "," : "", line);
}

static void binary(writer *w, const char *op, const char *a, int i, const char *b, int j, const char *out,
                   int k)
{
    node(w, "\"op\":\"%s\",\"inputs\":[\"%s%d\",\"%s%d\"],\"output\":\"%s%d\"", op, a, i, b, j, out, k);
}

static void unary(writer *w, const char *op, const char *a, int i, const char *out, int k,
                  const char *attributes)
{
    node(w, "\"op\":\"%s\",\"inputs\":[\"%s%d\"],\"output\":\"%s%d\"%s", op, a, i, out, k, attributes);
}

/* State number c: the maximum m, the sum l and the products o of keys first .. stop-1. */
static void chunk(writer *w, int c, int first, int stop)
{
    char range[64];
    snprintf(range, sizeof range, ",\"axis\":0,\"start\":%d,\"stop\":%d", first, stop);
    node(w, "\"op\":\"slice\",\"inputs\":[\"K\"],\"output\":\"k%d\"%s", c, range);
    node(w, "\"op\":\"slice\",\"inputs\":[\"V\"],\"output\":\"v%d\"%s", c, range);
    node(w, "\"op\":\"matmul\",\"inputs\":[\"Q\",\"k%d\"],\"output\":\"s%d\",\"transpose_b\":true", c, c);
    unary(w, "max", "s", c, "m", c, LAST);
    binary(w, "sub", "s", c, "m", c, "d", c);
    unary(w, "exp", "d", c, "e", c, "");
    unary(w, "sum", "e", c, "l", c, LAST);
    binary(w, "matmul", "e", c, "v", c, "o", c);
}

/* State number `to` from two others: both rescaled to the larger maximum. */
static void combine(writer *w, int a, int b, int to)
{
    binary(w, w->fault == OTHER_MAXIMUM && to == w->next ? "minimum" : "maximum", "m", a, "m", b, "m", to);
    for (int side = 0; side < 2; side++) {
        int from = side == 0 ? a : b, name = 100 + 2 * to + side;
        binary(w, "sub", "m", from, "m", w->fault == NO_RESCALE && side == 0 ? from : to, "f", name);
        unary(w, "exp", "f", name, "g", name, "");
        binary(w, "mul", "o", from, "g", name, "p", name);
        if (w->fault == SUM_NOT_RESCALED && side == 1)
            unary(w, "abs", "l", from, "r", name, "");
        else
            binary(w, "mul", "l", from, "g", name, "r", name);
    }
    binary(w, "add", "p", 100 + 2 * to, "p", 101 + 2 * to, "o", to);
    binary(w, "add", "r", 100 + 2 * to, "r", 101 + 2 * to, "l", to);
}

/* All states rescaled to the maximum of all and added up: x and y, numbered 99 + n. */
static void combine_all(writer *w, int n)
{
    int m = 0;
    for (int c = 1; c < n; c++) {
        binary(w, "maximum", "m", m, "m", c, "m", 50 + c);
        m = 50 + c;
    }
    for (int c = 0; c < n; c++) {
        binary(w, "sub", "m", c, "m", w->fault == NO_RESCALE && c == 0 ? c : m, "f", 100 + c);
        unary(w, "exp", "f", 100 + c, "g", 100 + c, "");
        binary(w, "mul", "o", c, "g", 100 + c, "p", 100 + c);
        binary(w, "mul", "l", c, "g", 100 + c, "r", 100 + c);
        if (c == 0) continue;
        binary(w, "add", c == 1 ? "p" : "x", 99 + c, "p", 100 + c, "x", 100 + c);
        binary(w, "add", c == 1 ? "r" : "y", 99 + c, "r", 100 + c, "y", 100 + c);
    }
}

typedef enum { SEQUENCE, TREE, AT_ONCE } order;

/* The whole program's nodes. The output is "out". */
static const char *online(mo_arena *arena, order how, int chunks, fault what)
{
    writer w = {.fault = what};
    int states[MOST_CHUNKS + 1], n = 0, last;
    for (int c = 0; c < chunks; c++) {
        if (what == CHUNK_DROPPED && c == chunks - 1) continue;
        int from = c * KEYS / chunks;
        chunk(&w, c, what == CHUNK_TWICE && c == chunks - 1 ? 0 : from, (c + 1) * KEYS / chunks);
        states[n++] = c;
    }
    int next = chunks;
    w.next = next;
    if (how == AT_ONCE && n > 1) {
        combine_all(&w, n);
        node(&w, "\"op\":\"div\",\"inputs\":[\"x%d\",\"y%d\"],\"output\":\"out\"", 99 + n, 99 + n);
    } else {
        while (n > 1) {
            combine(&w, states[0], states[1], next);
            int kept = 0;
            if (how == SEQUENCE) { /* the new state meets the next chunk */
                states[1] = next;
                for (int i = 1; i < n; i++) states[kept++] = states[i];
            } else { /* it goes to the end */
                for (int i = 2; i < n; i++) states[kept++] = states[i];
                states[kept++] = next;
            }
            n = kept;
            next++;
        }
        last = states[0];
        node(&w, "\"op\":\"div\",\"inputs\":[\"o%d\",\"l%d\"],\"output\":\"out\"", last, last);
    }
    const char *text = mo_arena_strdup(arena, mo_str_text(&w.text));
    mo_str_free(&w.text);
    return text;
}

static const char *const safe =
    "{\"op\":\"matmul\",\"inputs\":[\"Q\",\"K\"],\"output\":\"s\",\"transpose_b\":true},"
    "{\"op\":\"softmax\",\"inputs\":[\"s\"],\"output\":\"p\",\"axis\":-1},"
    "{\"op\":\"matmul\",\"inputs\":[\"p\",\"V\"],\"output\":\"out\"}";
static const char *const spelled_out =
    "{\"op\":\"matmul\",\"inputs\":[\"Q\",\"K\"],\"output\":\"s\",\"transpose_b\":true},"
    "{\"op\":\"exp\",\"inputs\":[\"s\"],\"output\":\"e\"},"
    "{\"op\":\"sum\",\"inputs\":[\"e\"],\"output\":\"l\",\"axes\":[-1],\"keepdims\":true},"
    "{\"op\":\"div\",\"inputs\":[\"e\",\"l\"],\"output\":\"p\"},"
    "{\"op\":\"matmul\",\"inputs\":[\"p\",\"V\"],\"output\":\"out\"}";

typedef struct {
    mo_equiv verdict;
    bool proved;
    const char *reason;
} answer;

static answer ask(const char *one, const char *other)
{
    mo_arena *arena = mo_arena_new();
    mo_program *a = test_program(arena, inputs, one, "\"out\""),
               *b = test_program(arena, inputs, other, "\"out\"");
    mo_verify_options options = {.delta = 1e-12, .seed = 5, .threads = 1};
    mo_verify_report report;
    answer result = {.verdict = mo_verify_programs(a, b, &options, &report)};
    mo_proof *proof = mo_prove_programs(a, b);
    result.proved = proof->proved;
    result.reason = proof->reason;
    mo_proof_free(proof);
    mo_arena_free(arena);
    return result;
}

static const char *const orders[] = {"in sequence", "as a tree", "at once"};

static void check_equal(order how)
{
    mo_arena *arena = mo_arena_new();
    for (int chunks = 2; chunks <= MOST_CHUNKS; chunks++)
        for (int reference = 0; reference < 2; reference++) {
            answer a = ask(reference == 0 ? safe : spelled_out, online(arena, how, chunks, RIGHT));
            cr_expect_eq(a.verdict, MO_EQUAL_TESTED, "%d chunks %s: verdict %d", chunks, orders[how],
                         (int)a.verdict);
            cr_expect(a.proved, "%d chunks %s: %s", chunks, orders[how], a.reason);
        }
    mo_arena_free(arena);
}

Test(online_softmax, in_sequence)
{
    check_equal(SEQUENCE);
}
Test(online_softmax, as_a_tree)
{
    check_equal(TREE);
}
Test(online_softmax, at_once)
{
    check_equal(AT_ONCE);
}

Test(online_softmax, faults_are_found)
{
    mo_arena *arena = mo_arena_new();
    for (int how = SEQUENCE; how <= AT_ONCE; how++)
        for (int what = NO_RESCALE; what <= SUM_NOT_RESCALED; what++) {
            if (how == AT_ONCE && (what == OTHER_MAXIMUM || what == SUM_NOT_RESCALED)) continue;
            answer a = ask(safe, online(arena, (order)how, 4, (fault)what));
            bool still_equal = what == OTHER_MAXIMUM; /* any number will do for a maximum, over the reals */
            cr_expect_eq(a.verdict, still_equal ? MO_EQUAL_TESTED : MO_DIFFERENT, "fault %d %s: verdict %d",
                         what, orders[how], (int)a.verdict);
            cr_expect_eq(a.proved, still_equal, "fault %d %s", what, orders[how]);
        }
    mo_arena_free(arena);
}
