#include "questions.h"

/* Largest number of monomials in any part of a target, and of a candidate. */
enum { TARGET_MONOMIALS = 48, CANDIDATE_MONOMIALS = 96 };

static uint32_t draw(questioner *q, uint32_t n)
{
    return (uint32_t)mo_rng_below(&q->rng, n);
}

/* ---- targets --------------------------------------------------------------------------------------------
 */
static const uint32_t lengths[] = {2, 3, 4, 6, 8, 16, 64, 4096};
enum { N_LENGTHS = sizeof lengths / sizeof lengths[0], N_VARIABLES = 5 };

static uint32_t some_length(questioner *q)
{
    return lengths[draw(q, draw(q, 2) ? 4 : N_LENGTHS)];
}

/* Usually the variable that is asked for: now and then two inputs of a program are the same tensor. */
static uint32_t input(questioner *q, uint32_t variable)
{
    return term_leaf(q->table, draw(q, 6) ? variable : draw(q, N_VARIABLES));
}

static uint32_t op2(questioner *q, term_op op, uint32_t a, uint32_t b)
{
    return draw(q, 2) && op != T_DIV ? term_binary(q->table, op, b, a) : term_binary(q->table, op, a, b);
}

static uint32_t product_sum(questioner *q, uint32_t length, uint32_t a, uint32_t b)
{
    return term_sum(q->table, length, op2(q, T_MUL, a, b));
}

static uint32_t number(questioner *q, term_op op)
{
    return term_make(q->table, op, 0, 0, 0);
}

/* a / root: with numbers also a * (1 / root). */
static uint32_t over_root(questioner *q, uint32_t a, uint32_t radicand)
{
    uint32_t root = term_unary(q->table, T_SQRT, radicand);
    if (!q->numbers || draw(q, 2)) return op2(q, T_DIV, a, root);
    return op2(q, T_MUL, a, op2(q, T_DIV, number(q, T_ONE), root));
}

static uint32_t difference(questioner *q, uint32_t a, uint32_t b)
{
    uint32_t sign = q->numbers ? number(q, T_MINUS) : input(q, 4);
    return op2(q, T_ADD, a, op2(q, T_MUL, sign, b));
}

static uint32_t rms_norm(questioner *q, uint32_t x, uint32_t h)
{
    uint32_t squares = product_sum(q, h, x, x);
    if (draw(q, 2)) squares = op2(q, T_DIV, squares, input(q, 3));
    return over_root(q, x, squares);
}

static uint32_t rms_norm_linear(questioner *q)
{
    uint32_t h = some_length(q), x = input(q, 0), y = rms_norm(q, x, h);
    if (draw(q, 2)) y = op2(q, T_MUL, y, input(q, 2));
    return product_sum(q, h, y, input(q, 1));
}

static uint32_t attention(questioner *q)
{
    uint32_t d = some_length(q), s = some_length(q), key = input(q, 1), query = input(q, 0);
    if (!draw(q, 3)) query = rms_norm(q, query, d);
    uint32_t score = product_sum(q, d, query, key);
    if (draw(q, 2)) score = op2(q, T_DIV, score, input(q, 3));
    if (q->numbers && draw(q, 2))
        score = difference(q, score, term_make(q->table, T_CALL, 1 + s, score, 0)); /* the maximum */
    uint32_t e = term_unary(q->table, T_EXP, score), all = term_sum(q->table, s, e);
    if (draw(q, 2)) return op2(q, T_DIV, product_sum(q, s, e, input(q, 2)), all);
    return product_sum(q, s, op2(q, T_DIV, e, all), input(q, 2));
}

static uint32_t gated_mlp(questioner *q)
{
    uint32_t h = some_length(q), x = input(q, 0);
    uint32_t gate = term_unary(q->table, T_CALL, product_sum(q, h, x, input(q, 1)));
    uint32_t y = op2(q, T_MUL, gate, product_sum(q, h, x, input(q, 2)));
    return draw(q, 2) ? y : product_sum(q, some_length(q), y, input(q, 3));
}

static uint32_t lora(questioner *q)
{
    uint32_t h = some_length(q), x = input(q, 0), down = product_sum(q, h, x, input(q, 2));
    return op2(q, T_ADD, product_sum(q, h, x, input(q, 1)),
               product_sum(q, some_length(q), down, input(q, 3)));
}

static uint32_t layer_norm(questioner *q)
{
    uint32_t h = some_length(q), x = input(q, 0), n = input(q, 3);
    uint32_t centred = difference(q, x, op2(q, T_DIV, term_sum(q->table, h, x), n));
    uint32_t variance = op2(q, T_DIV, product_sum(q, h, centred, centred), n);
    uint32_t y = over_root(q, centred, variance);
    return draw(q, 2) ? y : product_sum(q, h, y, input(q, 1));
}

static uint32_t sum_of_products(questioner *q)
{
    uint32_t sum = 0, n = 2 + draw(q, 3);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t product = input(q, draw(q, 3));
        for (uint32_t k = draw(q, 3); k > 0; k--) product = op2(q, T_MUL, product, input(q, draw(q, 3)));
        if (draw(q, 3) == 0) product = term_sum(q->table, some_length(q), product);
        sum = i ? op2(q, T_ADD, sum, product) : product;
    }
    return sum;
}

/* Products of sums where a quotient is asked for: a denominator, a radicand or both. */
static uint32_t factored(questioner *q)
{
    uint32_t product = 0, n = 2 + draw(q, 2);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t a = input(q, draw(q, 2)), b = input(q, draw(q, 3));
        if (draw(q, 2)) {
            a = op2(q, T_MUL, a, a);
            b = op2(q, T_MUL, b, b);
        }
        uint32_t factor = op2(q, T_ADD, a, b);
        if (draw(q, 4) == 0) factor = term_sum(q->table, some_length(q), factor);
        product = i ? op2(q, T_MUL, product, factor) : factor;
    }
    if (draw(q, 2)) product = term_unary(q->table, T_SQRT, product);
    return draw(q, 3) ? op2(q, T_DIV, input(q, 3), product) : product;
}

static uint32_t random_term(questioner *q, uint32_t n, uint32_t variables)
{
    static const term_op binary[] = {T_ADD, T_MUL, T_DIV, T_ADD, T_MUL, T_DIV, T_CALL2};
    static const term_op unary[] = {T_SUM, T_EXP, T_SQRT, T_CALL, T_SUM};
    if (n == 1) {
        if (q->numbers && draw(q, 5) == 0) return number(q, draw(q, 2) ? T_ONE : T_MINUS);
        return term_leaf(q->table, draw(q, variables));
    }
    if (n == 2 || draw(q, 3) == 0) {
        term_op op = unary[draw(q, 5)];
        uint32_t length = op == T_SUM ? some_length(q) : 0;
        return term_make(q->table, op, length, random_term(q, n - 1, variables), 0);
    }
    uint32_t n_left = 1 + draw(q, n - 2), a = random_term(q, n_left, variables);
    return term_binary(q->table, binary[draw(q, 7)], a, random_term(q, n - 1 - n_left, variables));
}

static uint32_t shape(questioner *q)
{
    switch (draw(q, 9)) {
    case 0: return rms_norm_linear(q);
    case 1: return attention(q);
    case 2: return gated_mlp(q);
    case 3: return lora(q);
    case 4: return layer_norm(q);
    case 5: return sum_of_products(q);
    case 6: return factored(q);
    default: return random_term(q, 4 + draw(q, 8), 1 + draw(q, 3));
    }
}

uint32_t question_target(questioner *q)
{
    for (;;) {
        term_table_clear(q->table);
        uint32_t t = shape(q);
        if (draw(q, 4) == 0) t = op2(q, draw(q, 2) ? T_ADD : T_MUL, t, draw(q, 2) ? input(q, 0) : shape(q));
        if (term_monomials(q->table, t) <= TARGET_MONOMIALS) return t;
    }
}

/* ---- candidates --------------------------------------------------------------------------------------- */
static uint32_t some_part(questioner *q, uint32_t t)
{
    return term_at(q->table, t, draw(q, q->table->node[t].size));
}

/* Rewrites t by up to `steps` axioms at random places; terms do not grow beyond twice the size. */
static uint32_t rewrite(questioner *q, uint32_t t, uint32_t steps)
{
    uint32_t most = q->table->node[t].size * 2 + 4;
    while (steps-- > 0) {
        uint32_t at = draw(q, q->table->node[t].size);
        q->rewritings.n = 0;
        axioms_at_root(q->table, term_at(q->table, t, at), q->numbers, &q->rewritings);
        if (q->rewritings.n == 0) continue;
        uint32_t next = term_replace(q->table, t, at, q->rewritings.out[draw(q, q->rewritings.n)]);
        if (q->table->node[next].size <= most) t = next;
    }
    return t;
}

/* Another term in the place of one subterm: a leaf, a length, an operator, a lost or a new operand. */
static uint32_t mutate(questioner *q, uint32_t t, uint32_t target)
{
    static const term_op binary[] = {T_ADD, T_MUL, T_DIV, T_CALL2}, unary[] = {T_EXP, T_SQRT, T_CALL};
    uint32_t at = draw(q, q->table->node[t].size), old = term_at(q->table, t, at), made;
    term_node n = q->table->node[old];
    uint32_t change = draw(q, 4);
    if (change == 0 && term_arity(n.op) > 0)
        made = term_arity(n.op) > 1 && draw(q, 2) ? n.b : n.a;
    else if (change == 1)
        made = op2(q, binary[draw(q, 3)], old, some_part(q, target));
    else if (n.op == T_SUM)
        made = term_sum(q->table, some_length(q), n.a);
    else if (term_arity(n.op) == 2)
        made = term_binary(q->table, binary[draw(q, 4)], n.a, n.b);
    else if (term_arity(n.op) == 1)
        made = term_unary(q->table, unary[draw(q, 3)], n.a);
    else
        made = term_leaf(q->table, draw(q, N_VARIABLES));
    return term_replace(q->table, t, at, made);
}

static uint32_t candidate(questioner *q, uint32_t target, question_kind kind)
{
    static const term_op binary[] = {T_ADD, T_MUL, T_DIV};
    uint32_t part = some_part(q, kind == ASK_PART ? target : rewrite(q, target, 2 + draw(q, 6)));
    switch (kind) {
    case ASK_REWRITTEN: return rewrite(q, part, draw(q, 6));
    case ASK_MUTANT: return mutate(q, part, target);
    case ASK_JOINED: return op2(q, binary[draw(q, 3)], part, some_part(q, target));
    case ASK_SMALL: return random_term(q, 1 + draw(q, 7), N_VARIABLES);
    case ASK_PART:
    case ASK_COUNT: break;
    }
    return part;
}

uint32_t question_candidate(questioner *q, uint32_t target, question_kind *kind)
{
    static const question_kind kinds[] = {ASK_PART,   ASK_REWRITTEN, ASK_REWRITTEN, ASK_MUTANT,
                                          ASK_MUTANT, ASK_MUTANT,    ASK_JOINED,    ASK_SMALL};
    for (;;) {
        *kind = kinds[draw(q, 8)];
        uint32_t x = candidate(q, target, *kind);
        if (term_monomials(q->table, x) <= CANDIDATE_MONOMIALS) return x;
    }
}
