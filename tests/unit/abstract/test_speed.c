/* Questions per second in the pattern of the search: every operator on every pair of values accepted so far,
 * each once, what is accepted becomes a value. Prints the rates (--verbose); fails only if they are far off.
 */
#include "abstract/abstract.h"
#include "base/clock.h"

#include <criterion/criterion.h>

enum { MAX_VALUES = 400, LENGTH = 4096 };

typedef struct {
    mo_abs *abs;
    mo_abs_expr target, value[MAX_VALUES];
    int n;
    uint64_t questions;
} search;

static mo_abs_expr product(mo_abs *abs, mo_abs_expr a, mo_abs_expr b)
{
    return mo_abs_sum(abs, LENGTH, mo_abs_mul(abs, a, b));
}

static mo_abs_expr rms_norm_linear(mo_abs *abs, const mo_abs_expr *in)
{
    mo_abs_expr root = mo_abs_sqrt(abs, mo_abs_div(abs, product(abs, in[0], in[0]), in[3]));
    return product(abs, mo_abs_mul(abs, mo_abs_div(abs, in[0], root), in[1]), in[2]);
}

static mo_abs_expr attention(mo_abs *abs, const mo_abs_expr *in)
{
    mo_abs_expr e = mo_abs_exp(abs, product(abs, in[0], in[1]));
    return product(abs, mo_abs_div(abs, e, mo_abs_sum(abs, LENGTH, e)), in[2]);
}

static mo_abs_expr gated_mlp(mo_abs *abs, const mo_abs_expr *in)
{
    mo_abs_expr gate = mo_abs_opaque(abs, "silu", 4, product(abs, in[0], in[1]), (mo_abs_expr){0});
    return mo_abs_mul(abs, gate, product(abs, in[0], in[2]));
}

static mo_abs_expr lora(mo_abs *abs, const mo_abs_expr *in)
{
    mo_abs_expr down = product(abs, in[0], in[2]);
    return mo_abs_add(abs, product(abs, in[0], in[1]), product(abs, down, in[3]));
}

static mo_abs_expr layer_norm_linear(mo_abs *abs, const mo_abs_expr *in)
{
    mo_abs_expr mean = mo_abs_div(abs, mo_abs_sum(abs, LENGTH, in[0]), in[3]);
    mo_abs_expr centred = mo_abs_add(abs, in[0], mo_abs_mul(abs, in[2], mean));
    mo_abs_expr variance = mo_abs_div(abs, product(abs, centred, centred), in[3]);
    return product(abs, mo_abs_div(abs, centred, mo_abs_sqrt(abs, variance)), in[1]);
}

static void offer(search *s, mo_abs_expr x)
{
    s->questions++;
    if (!mo_abs_subexpr(s->abs, x, s->target) || s->n == MAX_VALUES) return;
    for (int i = 0; i < s->n; i++)
        if (s->value[i].id == x.id) return;
    s->value[s->n++] = x;
}

static void offer_all(search *s)
{
    for (int i = 0; i < s->n; i++) {
        mo_abs_expr x = s->value[i];
        offer(s, mo_abs_sum(s->abs, LENGTH, x));
        offer(s, mo_abs_exp(s->abs, x));
        offer(s, mo_abs_sqrt(s->abs, x));
        offer(s, mo_abs_opaque(s->abs, "silu", 4, x, (mo_abs_expr){0}));
        for (int j = 0; j <= i; j++) {
            mo_abs_expr y = s->value[j];
            offer(s, mo_abs_add(s->abs, x, y));
            offer(s, mo_abs_mul(s->abs, x, y));
            offer(s, product(s->abs, x, y));
            offer(s, mo_abs_div(s->abs, x, y));
            offer(s, mo_abs_div(s->abs, y, x));
        }
    }
}

Test(abstract_speed, questions_per_second)
{
    static const struct {
        const char *name;
        mo_abs_expr (*build)(mo_abs *, const mo_abs_expr *);
    } programs[] = {{"rms norm + linear", rms_norm_linear},
                    {"attention", attention},
                    {"gated MLP", gated_mlp},
                    {"LoRA", lora},
                    {"layer norm + linear", layer_norm_linear}};
    for (size_t p = 0; p < sizeof programs / sizeof programs[0]; p++) {
        double start = mo_clock_seconds();
        search s = {.questions = 0};
        for (int round = 0; round < 3; round++) { /* a fresh context each time: nothing is remembered */
            s.abs = mo_abs_new(false);
            for (s.n = 0; s.n < 4; s.n++) s.value[s.n] = mo_abs_leaf(s.abs, (uint64_t)s.n);
            s.target = programs[p].build(s.abs, s.value);
            mo_abs_set_targets(s.abs, &s.target, 1);
            offer_all(&s);
            mo_abs_free(s.abs);
        }
        double rate = (double)s.questions / (mo_clock_seconds() - start);
        cr_log_info("%s: %d values, %.2f million questions per second", programs[p].name, s.n, rate / 1e6);
        cr_expect(rate > 2e4, "%s: %.0f questions per second", programs[p].name, rate);
    }
}
