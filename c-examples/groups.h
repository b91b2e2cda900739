/* Groups by their names, each with a sketch of its values and, where it is asked for, the exact set of them.
 *
 * Names and values are the canonical keys of sql_key.h, so that what SQL calls equal is one group and one value.
 * Two names that no value has stand beside them: 'n' alone for the group of NULL, and no bytes for all rows. */

#ifndef DISTINCT_GROUPS_H
#define DISTINCT_GROUPS_H

#include "hash_set.h"
#include "names.h"
#include "sql_key.h"
#include "support.h"

struct group {
    skl_hll sketch;
    struct hash_set exact;
    struct name name;
};

enum { BATCH_VALUES = 4096 };

struct groups {
    skl_hll_params params;
    bool is_exact;
    struct group **all;  /* in the order in which they came up */
    skl_hll **sketches;  /* theirs, as the library takes them */
    size_t n, capacity;
    struct names names;
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

/* The number of the group with this name, which is made where there is none. */
static inline uint32_t groups_find(struct groups *groups, const void *name, size_t len)
{
    uint32_t number = names_find(&groups->names, name, len);
    if (number < groups->n) return number;
    if (groups->n == groups->capacity) {
        groups->capacity = groups->names.capacity;
        groups->all = resize(groups->all, groups->capacity, sizeof *groups->all);
        groups->sketches = resize(groups->sketches, groups->capacity, sizeof(skl_hll *));
    }
    struct group *group = allocate(1, sizeof *group);
    *group = (struct group){.name = groups->names.all[number]};
    check_skl(skl_hll_new(&group->sketch, &groups->params, NULL), "cannot make a sketch");
    groups->all[groups->n] = group;
    groups->sketches[groups->n++] = &group->sketch;
    return number;
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

static inline void groups_free(struct groups *groups)
{
    for (size_t i = 0; i < groups->n; i++) {
        skl_hll_free(&groups->all[i]->sketch);
        free(groups->all[i]->exact.slots);
        free(groups->all[i]);
    }
    free(groups->all);
    free(groups->sketches);
    names_free(&groups->names);
    free(groups->batch.bytes);
    free(groups);
}

#endif
