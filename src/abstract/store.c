#include "abstract/store.h"

#include "base/status.h"

#include <string.h>

static void pool_init(mo_abs *abs, mo_abs_pool *pool)
{
    pool->capacity = 64;
    pool->mask = 127;
    pool->entries = MO_NEW_ARRAY(abs->arena, mo_abs_entry, pool->capacity);
    pool->slots = MO_NEW_ARRAY(abs->arena, uint32_t, pool->mask + 1);
}

void mo_abs_store_init(mo_abs *abs)
{
    pool_init(abs, &abs->symbols);
    pool_init(abs, &abs->bags);
    pool_init(abs, &abs->opaques);
    pool_init(abs, &abs->monos);
    pool_init(abs, &abs->polys);
    abs->memo_mask = 1023;
    abs->memo = MO_NEW_ARRAY(abs->arena, mo_abs_memo, abs->memo_mask + 1);

    mo_abs_mono one = {.sig = 1};
    MO_CHECK(mo_abs_intern(abs, &abs->bags, "", 0) == ABS_EMPTY_BAG);
    MO_CHECK(mo_abs_intern(abs, &abs->monos, &one, sizeof one) == ABS_ONE);
    MO_CHECK(mo_abs_intern(abs, &abs->polys, "", 0) == ABS_ABSENT);
    MO_CHECK(mo_abs_poly_of(abs, ABS_ONE) == ABS_UNIT);
}

static void pool_grow(mo_abs *abs, mo_abs_pool *pool)
{
    MO_CHECK(pool->capacity < ABS_LAST_ID / 4);
    mo_abs_entry *entries = MO_NEW_ARRAY(abs->arena, mo_abs_entry, pool->capacity * 2);
    memcpy(entries, pool->entries, sizeof *entries * pool->count);
    pool->entries = entries;
    pool->capacity *= 2;
    pool->mask = pool->capacity * 2 - 1;
    pool->slots = MO_NEW_ARRAY(abs->arena, uint32_t, pool->mask + 1);
    for (uint32_t id = 0; id < pool->count; id++) {
        uint32_t at = entries[id].hash & pool->mask;
        while (pool->slots[at]) at = (at + 1) & pool->mask;
        pool->slots[at] = id + 1;
    }
}

uint32_t mo_abs_intern(mo_abs *abs, mo_abs_pool *pool, const void *data, size_t length)
{
    uint32_t hash = (uint32_t)mo_hash64(data, length, 0);
    uint32_t at = hash & pool->mask;
    for (; pool->slots[at]; at = (at + 1) & pool->mask) {
        const mo_abs_entry *e = &pool->entries[pool->slots[at] - 1];
        if (e->hash == hash && e->length == length && memcmp(e->data, data, length) == 0)
            return pool->slots[at] - 1;
    }
    if (pool->count == pool->capacity) {
        pool_grow(abs, pool);
        for (at = hash & pool->mask; pool->slots[at];) at = (at + 1) & pool->mask;
    }
    void *copy = mo_arena_alloc(abs->arena, length ? length : 1);
    memcpy(copy, data, length);
    pool->entries[pool->count] = (mo_abs_entry){copy, (uint32_t)length, hash, 0, 0};
    pool->slots[at] = ++pool->count;
    return pool->count - 1;
}

static uint32_t memo_hash(uint32_t kind, uint32_t a, uint32_t b)
{
    uint64_t z = (((uint64_t)a << 32) | b) * 0x9e3779b97f4a7c15u + kind * 0xd1342543de82ef95u;
    z ^= z >> 29;
    z *= 0xbf58476d1ce4e5b9u;
    return (uint32_t)(z >> 32);
}

static mo_abs_memo *memo_slot(const mo_abs *abs, uint32_t kind, uint32_t a, uint32_t b)
{
    uint32_t at = memo_hash(kind, a, b) & abs->memo_mask;
    for (;; at = (at + 1) & abs->memo_mask) {
        mo_abs_memo *m = &abs->memo[at];
        if (m->kind == MEMO_NONE || (m->kind == kind && m->a == a && m->b == b)) return m;
    }
}

bool mo_abs_memo_find(const mo_abs *abs, mo_abs_memo_kind kind, uint32_t a, uint32_t b, uint32_t *value)
{
    const mo_abs_memo *m = memo_slot(abs, kind, a, b);
    *value = m->value;
    return m->kind != MEMO_NONE;
}

static void memo_grow(mo_abs *abs)
{
    mo_abs_memo *old = abs->memo;
    uint32_t old_size = abs->memo_mask + 1;
    MO_CHECK(old_size < UINT32_MAX / 4);
    abs->memo_mask = old_size * 2 - 1;
    abs->memo = MO_NEW_ARRAY(abs->arena, mo_abs_memo, old_size * 2);
    for (uint32_t i = 0; i < old_size; i++)
        if (old[i].kind != MEMO_NONE) *memo_slot(abs, old[i].kind, old[i].a, old[i].b) = old[i];
}

uint32_t mo_abs_memo_put(mo_abs *abs, mo_abs_memo_kind kind, uint32_t a, uint32_t b, uint32_t value)
{
    if (abs->memo_count > abs->memo_mask / 8 * 5) memo_grow(abs);
    mo_abs_memo *m = memo_slot(abs, kind, a, b);
    if (m->kind == MEMO_NONE) abs->memo_count++;
    *m = (mo_abs_memo){kind, a, b, value};
    return value;
}
