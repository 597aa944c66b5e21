/* Both decision procedures on random questions about realistic targets: the one under test and the plain
 * reference, which itself agrees with the stored answers (test_verdicts.c). */
#include "questions.h"
#include "reference.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { QUESTIONS = 100, MAX_TERMS = 1 << 15 };

typedef struct {
    questioner q;
    ref_context reference;
    mo_arena_mark start;
    uint64_t asked, yes, undecided, wrong, rejected;
} comparison;

static comparison *begin(bool numbers, ref_flaw flaw, uint64_t stream)
{
    comparison *c = calloc(1, sizeof *c);
    cr_assert(c);
    c->q.table = term_table_new(MAX_TERMS);
    c->q.rng = mo_rng_seed(2026, stream);
    c->q.numbers = numbers;
    c->reference = (ref_context){mo_arena_new(), numbers, flaw};
    c->start = mo_arena_get_mark(c->reference.arena);
    return c;
}

static void end(comparison *c)
{
    mo_arena_free(c->reference.arena);
    term_table_free(c->q.table);
    free(c);
}

static void report(const comparison *c, uint32_t x, uint32_t target, const char *what)
{
    mo_str text = {0};
    term_print(&text, c->q.table, x);
    mo_str_add(&text, "  in  ");
    term_print(&text, c->q.table, target);
    cr_log_error("%s: %s", what, mo_str_text(&text));
    mo_str_free(&text);
}

/* Where quotients by a part of x are not unique only "yes" of the reference binds. */
static void ask(comparison *c, mo_abs *abs, uint32_t target, mo_abs_expr t, const ref_target *parts)
{
    question_kind kind;
    uint32_t x = question_candidate(&c->q, target, &kind);
    const ref_poly *nx = ref_normal(&c->reference, c->q.table, x);
    bool expected = ref_subexpr(&c->reference, nx, parts);
    bool answer = mo_abs_subexpr(abs, term_build(c->q.table, abs, x), t);
    bool open = c->q.numbers && !expected && ref_has_ambiguous_part(&c->reference, nx);
    bool entailed = kind == ASK_PART || kind == ASK_REWRITTEN;
    c->asked++;
    c->yes += expected;
    c->undecided += open;
    if (entailed && !answer && c->rejected++ < 10) report(c, x, target, "entailed, but rejected");
    if (answer == expected || open) return;
    if (c->wrong++ < 10 && c->reference.flaw == FLAW_NONE)
        report(c, x, target, expected ? "the reference says yes" : "the reference says no");
}

/* `aimed`: the target is made known first, as the search does, so that hopeless terms are not built. */
static void compare(comparison *c, int targets, bool aimed)
{
    for (int i = 0; i < targets; i++) {
        mo_arena_reset(c->reference.arena, c->start);
        mo_abs *abs = mo_abs_new(c->q.numbers);
        uint32_t target = question_target(&c->q);
        mo_abs_expr t = term_build(c->q.table, abs, target);
        while (mo_abs_too_big(t)) { /* lengths of more than 64 bits */
            target = question_target(&c->q);
            t = term_build(c->q.table, abs, target);
        }
        if (aimed) mo_abs_set_targets(abs, &t, 1);
        ref_target parts = ref_target_of(&c->reference, ref_normal(&c->reference, c->q.table, target));
        mo_arena_mark mark = mo_arena_get_mark(c->reference.arena);
        for (int j = 0; j < QUESTIONS; j++) {
            ask(c, abs, target, t, &parts);
            mo_arena_reset(c->reference.arena, mark);
        }
        cr_assert_not(c->q.table->full);
        mo_abs_free(abs);
    }
}

static void run(bool numbers, bool aimed, uint64_t stream, int targets)
{
    comparison *c = begin(numbers, FLAW_NONE, stream);
    compare(c, targets, aimed);
    cr_log_info("%llu questions, %.1f%% yes, %llu without a unique quotient", (unsigned long long)c->asked,
                100.0 * (double)c->yes / (double)c->asked, (unsigned long long)c->undecided);
    cr_expect_eq(c->wrong, 0, "%llu answers differ", (unsigned long long)c->wrong);
    cr_expect_eq(c->rejected, 0, "%llu entailed ones are rejected", (unsigned long long)c->rejected);
    cr_expect(c->yes * 5 >= c->asked && c->yes * 5 <= c->asked * 4, "the questions are lopsided");
    cr_expect(c->undecided * 100 <= c->asked, "too many questions without a unique quotient");
    end(c);
}

Test(abstract_reference, axioms)
{
    run(false, false, 1, 8000);
}
Test(abstract_reference, axioms_with_the_target_set)
{
    run(false, true, 2, 4000);
}
Test(abstract_reference, numbers)
{
    run(true, false, 3, 3000);
}
Test(abstract_reference, numbers_with_the_target_set)
{
    run(true, true, 4, 1000);
}

/* The comparison can fail: a reference with one clause bent differs from the procedure under test. */
Test(abstract_reference, every_clause_is_noticed)
{
    static const char *const names[FLAW_COUNT] = {
        [FLAW_NONE] = "nothing",
        [FLAW_DENOMINATORS_NOT_ENTERED] = "denominators are entered",
        [FLAW_EMPTY_NUMERATOR] = "quotients have numerators",
        [FLAW_MULTIPLICITY] = "containment counts multiplicities",
        [FLAW_WHOLE_EXP] = "exponents are subtracted",
        [FLAW_WHOLE_SQRT] = "radicands are divided",
        [FLAW_WHOLE_DEN] = "denominators are divided",
        [FLAW_FIRST_MONOMIAL] = "every monomial of the target is tried",
        [FLAW_WHOLE_SUMS] = "x may be part of a sum",
        [FLAW_NO_BACKTRACKING] = "division tries again after a dead end",
        [FLAW_SUMS_ANY_LENGTH] = "lengths of sums divide",
        [FLAW_ARGUMENTS_HIDDEN] = "arguments of functions are entered",
    };
    for (ref_flaw flaw = FLAW_NONE; flaw < FLAW_COUNT; flaw++) {
        comparison *c = begin(false, flaw, 5);
        compare(c, 1000, false);
        cr_log_info("without \"%s\": %llu of %llu answers differ", names[flaw], (unsigned long long)c->wrong,
                    (unsigned long long)c->asked);
        cr_expect_eq(c->wrong == 0, flaw == FLAW_NONE, "%s", names[flaw]);
        end(c);
    }
}
