/* Names, and the number of each: 0 for the first that came up, and so on. */

#ifndef EXAMPLES_NAMES_H
#define EXAMPLES_NAMES_H

#include "sketchline.h"
#include "support.h"

struct name {
    const unsigned char *bytes;
    size_t len;
    uint64_t hash;
};

struct names {
    struct name *all;
    size_t n, capacity;
    uint32_t *slots; /* of a hash table: numbers, or NO_NAME */
    size_t num_slots;
    struct arena arena;
};

#define NO_NAME UINT32_MAX

static inline uint32_t *names_slot(const struct names *names, const void *bytes, size_t len, uint64_t hash)
{
    for (size_t i = hash & (names->num_slots - 1);; i = (i + 1) & (names->num_slots - 1)) {
        uint32_t *slot = &names->slots[i];
        if (*slot == NO_NAME) return slot;
        const struct name *name = &names->all[*slot];
        if (name->hash == hash && name->len == len && memcmp(name->bytes, bytes, len) == 0) return slot;
    }
}

static inline void names_grow(struct names *names)
{
    names->capacity = names->capacity > 0 ? 2 * names->capacity : 64;
    names->all = resize(names->all, names->capacity, sizeof *names->all);
    names->num_slots = 2 * names->capacity;
    names->slots = resize(names->slots, names->num_slots, sizeof *names->slots);
    for (size_t i = 0; i < names->num_slots; i++) names->slots[i] = NO_NAME;
    for (uint32_t i = 0; i < names->n; i++) {
        const struct name *name = &names->all[i];
        *names_slot(names, name->bytes, name->len, name->hash) = i;
    }
}

/* The number of this name: names->n as it was before if it is new. */
static inline uint32_t names_find(struct names *names, const void *bytes, size_t len)
{
    uint64_t hash;
    check_skl(skl_hash_bytes(bytes, len, 0, &hash), "cannot hash a name");
    if (names->n == names->capacity) names_grow(names);
    uint32_t *slot = names_slot(names, bytes, len, hash);
    if (*slot != NO_NAME) return *slot;
    if (names->n == NO_NAME) die("too many names");
    names->all[names->n] = (struct name){arena_copy(&names->arena, bytes, len), len, hash};
    return *slot = (uint32_t)names->n++;
}

/* Below 0, 0 or above, in the order of the bytes. */
static inline int compare_names(const struct name *left, const struct name *right)
{
    int order = memcmp(left->bytes, right->bytes, left->len < right->len ? left->len : right->len);
    return order != 0 ? order : (left->len > right->len) - (left->len < right->len);
}

static inline void names_free(struct names *names)
{
    arena_free(&names->arena);
    free(names->all);
    free(names->slots);
}

#endif
