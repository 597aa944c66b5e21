/* Topological order by depth-first search with an explicit stack: a file may hold a chain of many
 * thousand nodes. A node that is entered while it is still on the stack closes a cycle. */
#include "parse/draft.h"

#define MOST_NAMES 8 /* of a cycle in the message */

enum { UNSEEN, OPEN, DONE };

typedef struct {
    const mo_draft *draft;
    char *state;
    int *stack, depth;
    int *next_input; /* of each open node */
} search;

/* The node that produces operand `i`, or -1. */
static int source_node(const search *s, const mo_node *node, int i)
{
    int tensor = node->inputs[i].tensor;
    return tensor < 0 ? -1 : s->draft->tensors[tensor].producer;
}

/* The stack, from the closing node on, goes against the flow of data; the message goes with it. */
static bool report_cycle(const search *s, int closing)
{
    const mo_draft *d = s->draft;
    const mo_reader *r = &d->reader;
    int first = s->depth - 1;
    while (s->stack[first] != closing) first--;
    const mo_node *top = &d->nodes[s->stack[s->depth - 1]];
    int tensor = top->inputs[s->next_input[s->stack[s->depth - 1]] - 1].tensor;
    mo_str names = {0};
    mo_diag_quote(&names, d->tensors[tensor].name);
    for (int i = s->depth - 1; i > first; i--) {
        if (s->depth - i > MOST_NAMES) {
            mo_str_add(&names, " -> ...");
            break;
        }
        /* The operand of the node below that led to this one. */
        const mo_node *user = &d->nodes[s->stack[i - 1]];
        mo_str_add(&names, " -> ");
        mo_diag_quote(&names, d->tensors[user->inputs[s->next_input[s->stack[i - 1]] - 1].tensor].name);
    }
    mo_str_add(&names, " -> ");
    mo_diag_quote(&names, d->tensors[tensor].name);
    mo_reader_fail(r, d->objects[closing], NULL, "a cycle: %s", mo_str_text(&names));
    mo_str_free(&names);
    return false;
}

static void open_node(search *s, int node)
{
    s->state[node] = OPEN;
    s->stack[s->depth++] = node;
}

static bool visit(search *s, int root, int *order, int *count)
{
    if (s->state[root] == DONE) return true;
    open_node(s, root);
    while (s->depth > 0) {
        int index = s->stack[s->depth - 1];
        const mo_node *node = &s->draft->nodes[index];
        if (s->next_input[index] == node->n_inputs) {
            s->state[index] = DONE;
            order[(*count)++] = index;
            s->depth--;
            continue;
        }
        int source = source_node(s, node, s->next_input[index]++);
        if (source < 0 || s->state[source] == DONE) continue;
        if (s->state[source] == OPEN) return report_cycle(s, source);
        open_node(s, source);
    }
    return true;
}

bool mo_draft_order(const mo_draft *d, int *order)
{
    mo_arena *arena = d->reader.arena;
    search s = {.draft = d,
                .state = MO_NEW_ARRAY(arena, char, d->n_nodes),
                .stack = MO_NEW_ARRAY(arena, int, d->n_nodes),
                .next_input = MO_NEW_ARRAY(arena, int, d->n_nodes)};
    int count = 0;
    for (int i = 0; i < d->n_nodes; i++) {
        if (!visit(&s, i, order, &count)) return false;
    }
    MO_CHECK(count == d->n_nodes);
    return true;
}
