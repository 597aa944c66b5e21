#include "programs.h"

#include "parse/parse.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void add_inputs(mo_str *text, const char *inputs)
{
    const char *comma = "";
    for (const char *at = inputs; *at != '\0';) {
        char name[32], dtype[8], shape[64], strides[64];
        int used = 0;
        cr_assert_eq(sscanf(at, " %31[^:]:%7[a-z0-9]%63[^ /]%n", name, dtype, shape, &used), 3, "%s", at);
        at += used;
        mo_str_printf(text, "%s{\"name\":\"%s\",\"dtype\":\"%s\",\"shape\":%s", comma, name, dtype, shape);
        if (*at == '/') {
            cr_assert_eq(sscanf(at, "/%63[0-9,]%n", strides, &used), 1, "%s", at);
            mo_str_printf(text, ",\"strides\":[%s]", strides);
            at += used;
        }
        mo_str_add(text, "}");
        comma = ",";
        while (*at == ' ') at++;
    }
}

mo_program *make_program(mo_arena *arena, const char *inputs, const char *nodes, const char *outputs)
{
    mo_str text = {0};
    mo_str_add(&text, "{\"format\":\"mirage-opt/1\",\"inputs\":[");
    add_inputs(&text, inputs);
    mo_str_printf(&text, "],\"nodes\":[%s],\"outputs\":[\"", nodes);
    for (const char *c = outputs; *c != '\0'; c++) {
        if (*c == ' ')
            mo_str_add(&text, "\",\"");
        else
            mo_str_add_bytes(&text, c, 1);
    }
    mo_str_add(&text, "\"]}");
    for (size_t i = 0; i < text.length; i++)
        if (text.data[i] == '\'') text.data[i] = '"';
    mo_program *program = NULL;
    mo_error error;
    const char *copy = mo_arena_strdup(arena, text.data);
    mo_str_free(&text);
    mo_status status = mo_parse_program(arena, "test.json", copy, strlen(copy), &program, NULL, &error);
    cr_assert_eq(status, MO_OK, "%s", error.text);
    return program;
}

mo_lowered lower(mo_arena *arena, const mo_program *program)
{
    mo_lowered lowered;
    mo_error error;
    cr_assert_eq(mo_lower_program(arena, program, 1000, &lowered, &error), MO_OK, "%s", error.text);
    return lowered;
}

mo_prim *lower_whole(mo_arena *arena, const mo_program *program)
{
    mo_lowered lowered = lower(arena, program);
    cr_assert_eq(lowered.n_subprograms, 1);
    cr_assert_eq(lowered.subprograms[0].count, program->n_nodes);
    return lowered.subprograms[0].graph;
}

const char *text_of(mo_arena *arena, const mo_prim *graph)
{
    mo_str text = {0};
    mo_prim_print(&text, graph);
    const char *copy = mo_arena_strdup(arena, mo_str_text(&text));
    mo_str_free(&text);
    return copy;
}

int count_iterators(const mo_prim *graph, int tensor)
{
    int count = 0;
    for (int i = 0; i < graph->n_nodes; i++)
        count += graph->nodes[i].op == MO_OP_ITER && graph->nodes[i].access.tensor == tensor;
    return count;
}
