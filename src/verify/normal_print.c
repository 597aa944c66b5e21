/* Forms as text. */
#include "verify/normal_parts.h"

#include <string.h>

/* What a text is about, and the names in it. */
typedef struct {
    const mo_program *program;
    mo_var_names *names;
} printing;

static void print_form(mo_str *out, const printing *x, const mo_normal *a, bool inside);

/* Index of each dimension from a place in memory, where the strides tell; otherwise the place. */
static void print_element(mo_str *out, const printing *x, const mo_atom *atom)
{
    const mo_tensor *t = &x->program->tensors[atom->tensor];
    mo_affine index[MO_MAX_RANK], rest = atom->index;
    bool done[MO_MAX_RANK] = {false}, told = true;
    for (int count = 0; count < t->shape.rank && told; count++) {
        int next = -1;
        for (int d = 0; d < t->shape.rank; d++)
            if (!done[d] && (next < 0 || t->strides[d] > t->strides[next])) next = d;
        done[next] = true;
        index[next] = mo_affine_constant(0);
        mo_split_need need;
        mo_affine quotient, remainder;
        if (t->strides[next] == 0 || t->shape.dim[next] == 1) continue;
        told = mo_affine_divide(&rest, t->strides[next], &quotient, &remainder, &need);
        index[next] = quotient;
        rest = remainder;
    }
    told = told && rest.n == 0 && rest.constant == 0;
    mo_str_printf(out, "%s[", t->name);
    if (!told) mo_str_add(out, "@");
    if (!told) mo_affine_print(out, x->names, &atom->index);
    for (int d = 0; d < t->shape.rank && told; d++) {
        if (d > 0) mo_str_add(out, ",");
        mo_affine_print(out, x->names, &index[d]);
    }
    mo_str_add(out, "]");
}

static void print_bound(mo_str *out, const printing *x, const char *word, const mo_var *bound, int n)
{
    mo_str_add(out, word);
    for (int i = 0; i < n; i++) {
        mo_str_add(out, i == 0 ? "(" : ",");
        mo_var_print(out, x->names, bound[i]);
        mo_str_printf(out, "<%u", bound[i].extent);
    }
    mo_str_add(out, ": ");
}

static void print_atom(mo_str *out, const printing *x, const mo_atom *atom)
{
    switch (atom->kind) {
    case MO_ATOM_INPUT: print_element(out, x, atom); return;
    case MO_ATOM_PRIME: mo_str_printf(out, "%llu", (unsigned long long)atom->tag); return;
    case MO_ATOM_SUM: print_form(out, x, atom->args[0], true); return;
    case MO_ATOM_EXP: mo_str_add(out, "exp"); break;
    case MO_ATOM_MAX: mo_str_add(out, "max"); break;
    case MO_ATOM_LARGEST: print_bound(out, x, "max", atom->bound, atom->n_bound); break;
    case MO_ATOM_FUNCTION:
        mo_str_printf(out, "%s'%llx", mo_op_name(atom->op), (unsigned long long)atom->tag);
        break;
    case MO_ATOM_MASK:
    case MO_ATOM_INDICATOR:
        mo_str_add(out, atom->kind == MO_ATOM_MASK ? "mask(" : "[");
        mo_affine_print(out, x->names, &atom->index);
        mo_str_add(out, atom->kind == MO_ATOM_MASK ? " <= 0)" : " <= 0]");
        return;
    }
    if (atom->kind != MO_ATOM_LARGEST) mo_str_add(out, "(");
    if (atom->kind == MO_ATOM_MAX) mo_str_add(out, "0");
    for (int i = 0; i < atom->n_args; i++) {
        if (i > 0 || atom->kind == MO_ATOM_MAX) mo_str_add(out, ", ");
        print_form(out, x, atom->args[i], false);
    }
    mo_str_add(out, ")");
}

static void print_term(mo_str *out, const printing *x, const mo_term *t, bool first)
{
    mo_rational c = t->coefficient;
    char text[90];
    if (!first) mo_str_add(out, c.num < 0 ? " - " : " + ");
    if (first && c.num < 0) mo_str_add(out, "-");
    if (c.num < 0) c.num = -c.num;
    mo_rational_text(c, text, sizeof text);
    bool number = !mo_rational_is(c, 1) || (t->n_factors == 0);
    if (number) mo_str_add(out, text);
    if (t->n_bound > 0) print_bound(out, x, number ? "*sum" : "sum", t->bound, t->n_bound);
    for (int i = 0; i < t->n_factors; i++) {
        if (i > 0 || (number && t->n_bound == 0)) mo_str_add(out, "*");
        print_atom(out, x, t->factors[i].atom);
        if (mo_rational_is(t->factors[i].power, 1)) continue;
        mo_rational_text(t->factors[i].power, text, sizeof text);
        bool plain = t->factors[i].power.den == 1 && t->factors[i].power.num > 0;
        mo_str_printf(out, plain ? "^%s" : "^(%s)", text);
    }
    if (t->n_bound > 0) mo_str_add(out, ")");
}

static void print_form(mo_str *out, const printing *x, const mo_normal *a, bool inside)
{
    if (inside) mo_str_add(out, "(");
    if (a->n == 0) mo_str_add(out, "0");
    for (int i = 0; i < a->n; i++) print_term(out, x, &a->terms[i], i == 0);
    if (inside) mo_str_add(out, ")");
}

void mo_normal_print(mo_str *out, const mo_program *program, mo_var_names *names, const mo_normal *a)
{
    printing x = {program, names};
    print_form(out, &x, a, false);
}
