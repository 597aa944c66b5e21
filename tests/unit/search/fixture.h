/* Shared by the tests of the whole search: programs as text, lowered. */
#ifndef TEST_SEARCH_FIXTURE_H
#define TEST_SEARCH_FIXTURE_H

#include "ir/lowered.h"
#include "search/search.h"

/* A program in JSON without the "format" key and the outer braces, with ' for ". Fails the test if it does
 * not parse. */
mo_program *fixture_program(mo_arena *arena, const char *text);

/* The whole program as one graph; fails the test if it does not lower as a whole. */
mo_prim *fixture_graph(mo_arena *arena, const mo_program *program);

/* The search with default bounds for an H200. */
mo_search_result fixture_search(mo_arena *arena, const mo_program *program);

#define FIXTURE_INPUT(name, shape) "{'name':'" name "','shape':" shape ",'dtype':'f16'}"

#endif
