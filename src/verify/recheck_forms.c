/* Trees of forms: copies with new names for bound variables, and looks that leave the names out. */
#include "verify/recheck_parts.h"

#include "base/hash.h"

#include <string.h>

bool mo_recheck_fail(mo_recheck *r, const char *why)
{
    if (r->reason == NULL) r->reason = why;
    return false;
}

bool mo_recheck_step(mo_recheck *r)
{
    if (r->reason != NULL) return false;
    return r->work-- > 0 || mo_recheck_fail(r, "the check takes too many steps");
}

/* ---- variables ---- */

mo_var mo_recheck_var(mo_recheck *r, uint32_t extent)
{
    if (r->next_var == UINT32_MAX) mo_recheck_fail(r, "too many variables");
    return (mo_var){r->next_var++, extent};
}

bool mo_recheck_bind(mo_recheck *r, mo_recheck_map *map, mo_var var, const mo_affine *by)
{
    if (map->n == (int)(sizeof map->entry / sizeof *map->entry))
        return mo_recheck_fail(r, "sums nest too deeply");
    map->entry[map->n].var = var;
    map->entry[map->n++].by = *by;
    return true;
}

static bool map_index(mo_recheck *r, mo_affine *index, const mo_recheck_map *map)
{
    mo_affine old = *index;
    *index = mo_affine_constant(old.constant);
    for (int i = 0; i < old.n; i++) {
        mo_affine by = mo_affine_var(old.term[i].var);
        for (int m = map->n - 1; m >= 0; m--) {
            if (!mo_var_same(map->entry[m].var, old.term[i].var)) continue;
            by = map->entry[m].by;
            break;
        }
        if (!mo_recheck_shift(r, index, &by, old.term[i].factor)) return false;
    }
    return true;
}

/* New names for bound variables, in the map and in fresh[]. */
static bool rename_bound(mo_recheck *r, mo_recheck_map *map, int n, const mo_var *bound, mo_var *fresh)
{
    if (n > MO_RECHECK_VARS) return mo_recheck_fail(r, "a sum over too many variables");
    for (int i = 0; i < n; i++) {
        fresh[i] = mo_recheck_var(r, bound[i].extent);
        mo_affine by = mo_affine_var(fresh[i]);
        if (!mo_recheck_bind(r, map, bound[i], &by)) return false;
    }
    return true;
}

bool mo_recheck_occurs(const mo_atom *atom, mo_var var)
{
    if (mo_affine_factor(&atom->index, var) != 0) return true;
    for (int a = 0; a < atom->n_args; a++)
        for (int t = 0; t < atom->args[a]->n; t++)
            for (int f = 0; f < atom->args[a]->terms[t].n_factors; f++)
                if (mo_recheck_occurs(atom->args[a]->terms[t].factors[f].atom, var)) return true;
    return false;
}

/* ---- looks ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return mo_hash64(&value, sizeof value, hash);
}

static uint64_t mix_rational(uint64_t hash, mo_rational q)
{
    return mix(mix(hash, (uint64_t)q.num), (uint64_t)q.den);
}

static uint64_t look_at_form(const mo_normal *form, const mo_var *self)
{
    uint64_t hash = 3;
    for (int t = 0; t < form->n; t++) {
        const mo_term *term = &form->terms[t];
        uint64_t product = 5;
        for (int f = 0; f < term->n_factors; f++)
            product += mix_rational(mo_recheck_look(term->factors[f].atom, self), term->factors[f].power);
        for (int b = 0; b < term->n_bound; b++) product += mix(7, term->bound[b].extent);
        hash += mix_rational(product, term->coefficient);
    }
    return hash;
}

uint64_t mo_recheck_look(const mo_atom *atom, const mo_var *self)
{
    if (self == NULL) return atom->hash;
    uint64_t hash =
        mix(mix(mix((uint64_t)atom->kind, (uint64_t)atom->tensor), (uint64_t)atom->op), atom->tag);
    uint64_t index = 0, args = 0;
    for (int i = 0; i < atom->index.n; i++) {
        bool marked = mo_var_same(atom->index.term[i].var, *self);
        index +=
            mix(marked ? 1 : mix(2, atom->index.term[i].var.extent), (uint64_t)atom->index.term[i].factor);
    }
    for (int b = 0; b < atom->n_bound; b++) index += mix(11, atom->bound[b].extent);
    for (int a = 0; a < atom->n_args; a++) args += look_at_form(atom->args[a], self);
    return mix(mix(mix(hash, index), (uint64_t)atom->index.constant), args);
}

const mo_atom *mo_recheck_atom(mo_recheck *r, const mo_atom *wanted)
{
    static const mo_var nobody = {UINT32_MAX, 1};
    if (r->reason != NULL) return NULL;
    mo_atom *atom = MO_NEW(r->arena, mo_atom);
    *atom = *wanted;
    const mo_normal **args = MO_NEW_ARRAY(r->arena, const mo_normal *, atom->n_args + 1);
    for (int a = 0; a < atom->n_args; a++) args[a] = wanted->args[a];
    atom->args = args;
    atom->hash = mo_recheck_look(atom, &nobody);
    return atom;
}

/* ---- copies ---- */

/* The variables of a maximum are simplified like those of a sum: its argument stands in a product as a
 * function meanwhile. A variable that does not occur changes nothing but the coefficient. */
static const mo_atom *close_largest(mo_recheck *r, mo_atom *atom, int n, const mo_var *bound)
{
    mo_atom wrap = {.kind = MO_ATOM_FUNCTION, .op = MO_OP_MAX, .n_args = 1, .args = atom->args};
    mo_recheck_product p = {.coefficient = {1, 1}, .n_bound = n};
    mo_recheck_list list = {0};
    memcpy(p.bound, bound, sizeof *bound * (size_t)n);
    const mo_atom *wrapped = mo_recheck_atom(r, &wrap);
    if (!mo_recheck_times(r, &p, wrapped, mo_rational_integer(1)) || !mo_recheck_finish(r, &p, &list))
        return NULL;
    if (list.n != 1 || list.terms[0].n_factors != 1 || list.terms[0].n_bound == 0) {
        mo_recheck_fail(r, "a maximum over nothing");
        return NULL;
    }
    atom->args = list.terms[0].factors[0].atom->args;
    atom->n_bound = list.terms[0].n_bound;
    atom->bound = list.terms[0].bound;
    return mo_recheck_atom(r, atom);
}

const mo_atom *mo_recheck_copy_atom(mo_recheck *r, const mo_atom *from, mo_recheck_map *map)
{
    mo_atom atom = *from;
    mo_var bound[MO_RECHECK_VARS];
    int mark = map->n;
    if (!mo_recheck_step(r) || !map_index(r, &atom.index, map)) return NULL;
    if (!rename_bound(r, map, from->n_bound, from->bound, bound)) return NULL;
    const mo_normal **args = MO_NEW_ARRAY(r->arena, const mo_normal *, atom.n_args + 1);
    for (int a = 0; a < atom.n_args; a++) args[a] = mo_recheck_copy(r, from->args[a], map);
    map->n = mark;
    if (r->reason != NULL) return NULL;
    atom.args = args;
    atom.id = 0;
    atom.n_free = 0;
    atom.free = NULL;
    if (atom.kind == MO_ATOM_LARGEST) return close_largest(r, &atom, from->n_bound, bound);
    return mo_recheck_atom(r, &atom);
}

bool mo_recheck_times(mo_recheck *r, mo_recheck_product *p, const mo_atom *atom, mo_rational power)
{
    if (atom == NULL || r->reason != NULL) return false;
    if (p->n_factors == MO_RECHECK_FACTORS) return mo_recheck_fail(r, "a product has too many factors");
    p->factors[p->n_factors++] = (mo_factor){atom, power};
    return true;
}

bool mo_recheck_times_term(mo_recheck *r, mo_recheck_product *p, const mo_term *term, mo_recheck_map *map)
{
    mo_recheck_map empty = {.n = 0};
    if (map == NULL) map = &empty;
    int mark = map->n;
    if (!mo_rational_mul(p->coefficient, term->coefficient, &p->coefficient))
        return mo_recheck_fail(r, "a number is too long");
    if (p->n_bound + term->n_bound > MO_RECHECK_VARS)
        return mo_recheck_fail(r, "a sum over too many variables");
    if (!rename_bound(r, map, term->n_bound, term->bound, p->bound + p->n_bound)) return false;
    p->n_bound += term->n_bound;
    for (int f = 0; f < term->n_factors; f++) {
        const mo_atom *atom = mo_recheck_copy_atom(r, term->factors[f].atom, map);
        if (atom == NULL) return false;
        bool is_exp = atom->kind == MO_ATOM_EXP;
        if (is_exp && !mo_recheck_times_exp(r, p, atom->args[0], term->factors[f].power)) return false;
        if (!is_exp && !mo_recheck_times(r, p, atom, term->factors[f].power)) return false;
    }
    map->n = mark;
    return true;
}

const mo_normal *mo_recheck_copy(mo_recheck *r, const mo_normal *from, mo_recheck_map *map)
{
    mo_recheck_list list = {0};
    if (from == NULL) return NULL;
    for (int t = 0; t < from->n; t++) {
        mo_recheck_product p = {.coefficient = {1, 1}};
        if (!mo_recheck_times_term(r, &p, &from->terms[t], map)) return NULL;
        if (!mo_recheck_finish(r, &p, &list)) return NULL;
    }
    return mo_recheck_collect(r, &list);
}

/* ---- exponentials ---- */

static bool has_mask(const mo_term *t)
{
    for (int f = 0; f < t->n_factors; f++)
        if (t->factors[f].atom->kind == MO_ATOM_MASK) return true;
    return false;
}

/* exp(c * mask) for a c above 0 is 1 or 0. */
static bool times_indicator(mo_recheck *r, mo_recheck_product *p, const mo_term *t, mo_rational c)
{
    bool plain = t->n_factors == 1 && t->n_bound == 0 && mo_rational_is(t->factors[0].power, 1) && c.num > 0;
    if (!plain) return mo_recheck_fail(r, "a mask that is multiplied or summed");
    mo_atom atom = *t->factors[0].atom;
    atom.kind = MO_ATOM_INDICATOR;
    return mo_recheck_times(r, p, mo_recheck_atom(r, &atom), mo_rational_integer(1));
}

bool mo_recheck_times_exp(mo_recheck *r, mo_recheck_product *p, const mo_normal *form, mo_rational by)
{
    if (form == NULL) return false;
    for (int t = 0; t < form->n; t++) {
        mo_rational c;
        if (!mo_rational_mul(form->terms[t].coefficient, by, &c))
            return mo_recheck_fail(r, "a number is too long");
        if (has_mask(&form->terms[t])) {
            if (!times_indicator(r, p, &form->terms[t], c)) return false;
            continue;
        }
        mo_term *unit = MO_NEW(r->arena, mo_term);
        mo_normal *arg = MO_NEW(r->arena, mo_normal);
        *unit = form->terms[t];
        unit->coefficient = mo_rational_integer(1);
        *arg = (mo_normal){.n = 1, .terms = unit};
        const mo_normal *args = arg;
        mo_atom atom = {.kind = MO_ATOM_EXP, .n_args = 1, .args = &args};
        if (!mo_recheck_times(r, p, mo_recheck_atom(r, &atom), c)) return false;
    }
    return true;
}
