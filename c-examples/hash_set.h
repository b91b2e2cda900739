/* Exact sets, to compare sketches with. */

#ifndef DISTINCT_HASH_SET_H
#define DISTINCT_HASH_SET_H

#include "support.h"

/* A set of 64-bit hashes, and so of the values: among a million of them, two share a hash once in 40 million times. */
struct hash_set {
    uint64_t *slots; /* 0 is free */
    size_t num_slots, num_used;
    bool has_zero;
};

static inline bool hash_set_put(uint64_t *slots, size_t num_slots, uint64_t hash)
{
    size_t i = hash & (num_slots - 1);
    while (slots[i] != 0 && slots[i] != hash) i = (i + 1) & (num_slots - 1);
    bool is_new = slots[i] == 0;
    slots[i] = hash;
    return is_new;
}

static inline void hash_set_grow(struct hash_set *set)
{
    size_t num_slots = set->num_slots > 0 ? 2 * set->num_slots : 16;
    uint64_t *slots = allocate(num_slots, sizeof *slots);
    for (size_t i = 0; i < num_slots; i++) slots[i] = 0;
    for (size_t i = 0; i < set->num_slots; i++)
        if (set->slots[i] != 0) hash_set_put(slots, num_slots, set->slots[i]);
    free(set->slots);
    set->slots = slots;
    set->num_slots = num_slots;
}

/* Whether it is new. */
static inline bool hash_set_add(struct hash_set *set, uint64_t hash)
{
    if (set->num_used + 1 > set->num_slots / 4 * 3) hash_set_grow(set);
    bool is_new = hash == 0 ? !set->has_zero : hash_set_put(set->slots, set->num_slots, hash);
    if (hash == 0) {
        set->has_zero = true;
    } else {
        set->num_used += is_new;
    }
    return is_new;
}

static inline uint64_t hash_set_count(const struct hash_set *set)
{
    return (uint64_t)set->num_used + set->has_zero;
}

#endif
