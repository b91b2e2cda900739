/* Groups by their names, each with a sketch of its values and, where it is asked for, the exact set of them.
 *
 * Names and values are the canonical keys of sql_key.h, so that what SQL calls equal is one group and one value.
 * Two names that no value has stand beside them: 'n' alone for the group of NULL, and no bytes for all rows. */

#ifndef DISTINCT_GROUPS_H
#define DISTINCT_GROUPS_H

#include "hash_set.h"
#include "sql_key.h"
#include "support.h"

struct group {
    skl_hll sketch;
    struct hash_set exact;
    const unsigned char *name;
    size_t name_len;
    uint64_t name_hash;
};

#define NO_GROUP UINT32_MAX

enum { BATCH_VALUES = 4096 };

struct groups {
    skl_hll_params params;
    bool is_exact;
    struct group **all;  /* in the order in which they came up */
    skl_hll **sketches;  /* theirs, as the library takes them */
    size_t n, capacity;
    uint32_t *slots;     /* of a hash table: numbers of groups, or NO_GROUP */
    size_t num_slots;
    struct arena names;
    struct buffer batch; /* values one after the other, and the group of each */
    int64_t offsets[BATCH_VALUES + 1];
    uint32_t batch_groups[BATCH_VALUES];
    uint64_t hashes[BATCH_VALUES];
    size_t batch_n;
};

/* The form of the values is part of the seed: sketches of another form do not merge. */
static inline void groups_set_precision(struct groups *groups, uint32_t p)
{
    check_skl(skl_hll_params_for(p, &groups->params), "cannot make a sketch");
    groups->params.seed = key_seed(AFFINITY_NONE);
}

static inline uint32_t *groups_slot(const struct groups *groups, const void *name, size_t len, uint64_t hash)
{
    for (size_t i = hash & (groups->num_slots - 1);; i = (i + 1) & (groups->num_slots - 1)) {
        uint32_t *slot = &groups->slots[i];
        if (*slot == NO_GROUP) return slot;
        const struct group *group = groups->all[*slot];
        if (group->name_hash == hash && group->name_len == len && memcmp(group->name, name, len) == 0) return slot;
    }
}

static inline void groups_grow(struct groups *groups)
{
    groups->capacity = groups->capacity > 0 ? 2 * groups->capacity : 64;
    groups->all = resize(groups->all, groups->capacity, sizeof *groups->all);
    groups->sketches = resize(groups->sketches, groups->capacity, sizeof(skl_hll *));
    groups->num_slots = 2 * groups->capacity;
    groups->slots = resize(groups->slots, groups->num_slots, sizeof *groups->slots);
    for (size_t i = 0; i < groups->num_slots; i++) groups->slots[i] = NO_GROUP;
    for (uint32_t i = 0; i < groups->n; i++) {
        const struct group *group = groups->all[i];
        *groups_slot(groups, group->name, group->name_len, group->name_hash) = i;
    }
}

/* The number of the group with this name, which is made where there is none. */
static inline uint32_t groups_find(struct groups *groups, const void *name, size_t len)
{
    uint64_t hash;
    check_skl(skl_hash_bytes(name, len, 0, &hash), "cannot hash a name");
    if (groups->n == groups->capacity) groups_grow(groups);
    uint32_t *slot = groups_slot(groups, name, len, hash);
    if (*slot != NO_GROUP) return *slot;
    if (groups->n == NO_GROUP) die("too many groups");
    struct group *group = allocate(1, sizeof *group);
    *group = (struct group){.name = arena_copy(&groups->names, name, len), .name_len = len, .name_hash = hash};
    check_skl(skl_hll_new(&group->sketch, &groups->params, NULL), "cannot make a sketch");
    groups->all[groups->n] = group;
    groups->sketches[groups->n] = &group->sketch;
    return *slot = (uint32_t)groups->n++;
}

/* Hashes the values that wait, and gives them to the sketches of their groups. */
static inline void groups_flush(struct groups *groups)
{
    size_t n = groups->batch_n, consumed = 0;
    skl_keys keys = {.kind = SKL_KEYS_BYTES64, .n = n, .data = groups->batch.bytes, .data_len = groups->batch.len,
                     .offsets = groups->offsets};
    check_skl(skl_hash_batch(&keys, groups->params.seed, groups->hashes), "cannot hash the values");
    check_skl(skl_hll_insert_grouped(groups->sketches, groups->n, groups->batch_groups, groups->hashes, n, &consumed),
              "cannot count the values");
    for (size_t i = 0; i < n && groups->is_exact; i++)
        hash_set_add(&groups->all[groups->batch_groups[i]]->exact, groups->hashes[i]);
    groups->batch.len = groups->batch_n = 0;
}

/* Flush after the last one. */
static inline void groups_add(struct groups *groups, uint32_t group, const struct buffer *value)
{
    buffer_append(&groups->batch, value->bytes, value->len);
    groups->batch_groups[groups->batch_n] = group;
    groups->offsets[++groups->batch_n] = (int64_t)groups->batch.len;
    if (groups->batch_n == BATCH_VALUES) groups_flush(groups);
}

/* As memcmp, and the shorter of two that begin alike first. */
static inline int compare_names(const struct group *left, const struct group *right)
{
    size_t shorter = left->name_len < right->name_len ? left->name_len : right->name_len;
    int order = memcmp(left->name, right->name, shorter);
    return order != 0 ? order : (left->name_len > right->name_len) - (left->name_len < right->name_len);
}

static inline void groups_free(struct groups *groups)
{
    for (size_t i = 0; i < groups->n; i++) {
        skl_hll_free(&groups->all[i]->sketch);
        free(groups->all[i]->exact.slots);
        free(groups->all[i]);
    }
    free(groups->all);
    free(groups->sketches);
    free(groups->slots);
    arena_free(&groups->names);
    free(groups->batch.bytes);
    free(groups);
}

#endif
