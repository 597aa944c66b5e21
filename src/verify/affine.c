#include "verify/affine.h"

int mo_var_compare(mo_var a, mo_var b)
{
    if (a.number != b.number) return a.number < b.number ? -1 : 1;
    return (a.extent > b.extent) - (a.extent < b.extent);
}

mo_affine mo_affine_constant(int64_t value)
{
    return (mo_affine){.constant = value};
}

mo_affine mo_affine_var(mo_var var)
{
    mo_affine a = {.n = 0};
    if (var.extent < 2) return a; /* a single value: 0 */
    a.n = 1;
    a.term[0].var = var;
    a.term[0].factor = 1;
    return a;
}

static void remove_term(mo_affine *a, int at)
{
    for (int i = at; i + 1 < a->n; i++) a->term[i] = a->term[i + 1];
    a->n--;
}

static bool add_term(mo_affine *a, mo_var var, int64_t factor)
{
    int at = 0;
    while (at < a->n && mo_var_compare(a->term[at].var, var) < 0) at++;
    if (at < a->n && mo_var_same(a->term[at].var, var)) {
        if (__builtin_add_overflow(a->term[at].factor, factor, &a->term[at].factor)) return false;
        if (a->term[at].factor == 0) remove_term(a, at);
        return true;
    }
    if (factor == 0) return true;
    if (a->n == MO_AFFINE_TERMS) return false;
    for (int i = a->n; i > at; i--) a->term[i] = a->term[i - 1];
    a->term[at].var = var;
    a->term[at].factor = factor;
    a->n++;
    return true;
}

bool mo_affine_add(mo_affine *a, const mo_affine *b, int64_t factor)
{
    int64_t product;
    if (__builtin_mul_overflow(b->constant, factor, &product)) return false;
    if (__builtin_add_overflow(a->constant, product, &a->constant)) return false;
    for (int i = 0; i < b->n; i++) {
        if (__builtin_mul_overflow(b->term[i].factor, factor, &product)) return false;
        if (!add_term(a, b->term[i].var, product)) return false;
    }
    return true;
}

bool mo_affine_equal(const mo_affine *a, const mo_affine *b)
{
    if (a->constant != b->constant || a->n != b->n) return false;
    for (int i = 0; i < a->n; i++)
        if (!mo_var_same(a->term[i].var, b->term[i].var) || a->term[i].factor != b->term[i].factor)
            return false;
    return true;
}

int64_t mo_affine_factor(const mo_affine *a, mo_var var)
{
    for (int i = 0; i < a->n; i++)
        if (mo_var_same(a->term[i].var, var)) return a->term[i].factor;
    return 0;
}

bool mo_affine_substitute(mo_affine *a, mo_var var, const mo_affine *by)
{
    for (int i = 0; i < a->n; i++) {
        if (!mo_var_same(a->term[i].var, var)) continue;
        int64_t factor = a->term[i].factor;
        remove_term(a, i);
        return mo_affine_add(a, by, factor);
    }
    return true;
}

void mo_affine_range(const mo_affine *a, int64_t *least, int64_t *most)
{
    *least = *most = a->constant;
    for (int i = 0; i < a->n; i++) {
        int64_t reach = a->term[i].factor * ((int64_t)a->term[i].var.extent - 1);
        *(reach < 0 ? least : most) += reach;
    }
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

/* How a remainder that reaches the divisor can be made smaller. */
static mo_split_need need_for_remainder(const mo_affine *r, int64_t divisor)
{
    for (int i = 0; i < r->n; i++) {
        int64_t factor = r->term[i].factor, extent = r->term[i].var.extent;
        if (factor <= 0 || divisor % factor != 0) continue;
        int64_t low = divisor / factor;
        if (extent > low && extent % low == 0) return (mo_split_need){MO_SPLIT_DIGITS, r->term[i].var, low};
        if (extent > low) return (mo_split_need){MO_SPLIT_RANGE, r->term[i].var, extent / low * low};
    }
    mo_split_need need;
    mo_affine_below(r, divisor, &need);
    return need;
}

bool mo_affine_divide(const mo_affine *a, int64_t divisor, mo_affine *quotient, mo_affine *remainder,
                      mo_split_need *need)
{
    *need = (mo_split_need){0};
    *quotient = *remainder = mo_affine_constant(0);
    quotient->constant = floor_quotient(a->constant, divisor);
    remainder->constant = a->constant - quotient->constant * divisor;
    for (int i = 0; i < a->n; i++) {
        int64_t whole = floor_quotient(a->term[i].factor, divisor);
        if (!add_term(quotient, a->term[i].var, whole)) return false;
        if (!add_term(remainder, a->term[i].var, a->term[i].factor - whole * divisor)) return false;
    }
    int64_t least, most;
    mo_affine_range(remainder, &least, &most);
    if (most < divisor) return true;
    *need = need_for_remainder(remainder, divisor);
    return false;
}

int mo_affine_below(const mo_affine *a, int64_t bound, mo_split_need *need)
{
    int64_t least, most, largest = 0;
    *need = (mo_split_need){0};
    mo_affine_range(a, &least, &most);
    if (most < bound) return 1;
    if (least >= bound) return 0;
    int at = -1;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].factor > largest) largest = a->term[at = i].factor;
    if (at < 0) return -1;
    /* The values of the slowest variable at which nothing reaches the bound, then the next one apart. */
    int64_t reach = largest * ((int64_t)a->term[at].var.extent - 1), others = most - reach;
    int64_t below = floor_quotient(bound - 1 - others, largest) + 1;
    if (below <= 0) below = 1;
    if (below >= a->term[at].var.extent) return -1;
    *need = (mo_split_need){MO_SPLIT_RANGE, a->term[at].var, below};
    return -1;
}

#define SMALL_NUMBERS 64

void mo_var_print(mo_str *out, mo_var_names *names, mo_var var)
{
    int at = 0;
    if (var.number < SMALL_NUMBERS) {
        mo_str_printf(out, "i%u", var.number);
        return;
    }
    while (at < names->n && !mo_var_same(names->var[at], var)) at++;
    if (at == names->n && names->n < MO_NAMED_VARS) names->var[names->n++] = var;
    if (at < names->n)
        mo_str_printf(out, "k%d", at);
    else
        mo_str_printf(out, "i%u", var.number);
}

void mo_affine_print(mo_str *out, mo_var_names *names, const mo_affine *a)
{
    bool first = true;
    for (int i = 0; i < a->n; i++) {
        int64_t factor = a->term[i].factor;
        if (!first) mo_str_add(out, factor < 0 ? "-" : "+");
        if (first && factor < 0) mo_str_add(out, "-");
        int64_t size = factor < 0 ? -factor : factor;
        if (size != 1) mo_str_printf(out, "%lld*", (long long)size);
        mo_var_print(out, names, a->term[i].var);
        first = false;
    }
    if (first)
        mo_str_printf(out, "%lld", (long long)a->constant);
    else if (a->constant != 0)
        mo_str_printf(out, "%+lld", (long long)a->constant);
}
