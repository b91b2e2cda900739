/* The look-ups that are replayed: made up, read from a file, or drawn from the table. */

#ifndef PREFILTER_LOOKUPS_H
#define PREFILTER_LOOKUPS_H

#include "demo_table.h"
#include "sql_key.h"
#include "support.h"

struct lookups {
    struct sql_value *values;
    size_t n, capacity;
    struct arena arena;
};

static inline struct sql_value keep_value(struct arena *arena, const struct sql_value *value)
{
    struct sql_value kept = *value;
    if (value->type == SQLITE_TEXT || value->type == SQLITE_BLOB)
        kept.bytes = arena_copy(arena, value->bytes, value->len);
    return kept;
}

static inline void lookups_add(struct lookups *lookups, const struct sql_value *value)
{
    if (lookups->n == lookups->capacity) {
        lookups->capacity = lookups->capacity > 0 ? 2 * lookups->capacity : 1024;
        lookups->values = resize(lookups->values, lookups->capacity, sizeof *lookups->values);
    }
    lookups->values[lookups->n++] = keep_value(&lookups->arena, value);
}

static inline void lookups_free(struct lookups *lookups)
{
    free(lookups->values);
    arena_free(&lookups->arena);
}

/* Spreads misses evenly at random, and makes exactly as many as the rate asks for. */
struct miss_plan {
    uint64_t misses, lookups; /* left */
    uint64_t random;
};

static inline struct miss_plan miss_plan_new(uint64_t lookups, double miss_rate, uint64_t seed)
{
    uint64_t misses = (uint64_t)(miss_rate * (double)lookups + 0.5);
    return (struct miss_plan){.misses = misses > lookups ? lookups : misses, .lookups = lookups, .random = ~seed};
}

static inline bool next_is_miss(struct miss_plan *plan)
{
    bool is_miss = random_below(&plan->random, plan->lookups--) < plan->misses;
    plan->misses -= is_miss;
    return is_miss;
}

/* For a table of made-up keys: keys 0 to `rows` are in it, those from `rows` on are not. */
static inline void add_made_up_lookups(struct lookups *lookups, struct miss_plan plan, uint64_t rows, uint64_t seed)
{
    uint64_t absent = rows;
    while (plan.lookups > 0) {
        uint64_t i = next_is_miss(&plan) || rows == 0 ? absent++ : random_below(&plan.random, rows);
        char text[MADE_UP_KEY_LEN + 1];
        made_up_key(made_up_number(seed, i), text);
        lookups_add(lookups, &(struct sql_value){.type = SQLITE_TEXT, .bytes = text, .len = MADE_UP_KEY_LEN});
    }
}

/* The lines of a file in their order, `limit` at most. */
static inline void add_lookups_of_file(struct lookups *lookups, const char *path, uint64_t limit)
{
    struct key_file keys = key_file_open(path);
    struct sql_value key;
    while (lookups->n < limit && key_file_next(&keys, &key)) lookups_add(lookups, &key);
    key_file_close(&keys);
}

/* `n` keys of the table, each as likely as the other, or all if there are fewer: reservoir sampling. */
static inline void sample_keys(struct lookups *sample, sqlite3 *db, const struct key_column *column, uint64_t n,
                        uint64_t *random)
{
    sqlite3_stmt *keys = prepare_and_free(db, distinct_keys_sql(column, "key"));
    int status;
    for (uint64_t seen = 1; (status = sqlite3_step(keys)) == SQLITE_ROW; seen++) {
        struct sql_value key = value_of_column(keys, 0);
        if (sample->n < n) {
            lookups_add(sample, &key);
        } else {
            uint64_t i = random_below(random, seen);
            if (i < n) sample->values[i] = keep_value(&sample->arena, &key);
        }
    }
    check_sql(db, status, "cannot read the keys");
    sqlite3_finalize(keys);
}

/* A key near one of the table that may be absent from it: a number some way off, further with every attempt, or
 * eight more characters at the end. */
static inline struct sql_value neighbour(const struct sql_value *key, int attempt, uint64_t *random, struct buffer *bytes)
{
    struct sql_value changed = *key;
    int num_bits = attempt < 9 ? 8 + 6 * attempt : 62;
    uint64_t offset = (random_u64(random) >> (64 - num_bits)) - (UINT64_C(1) << (num_bits - 1));
    if (key->type == SQLITE_INTEGER) {
        changed.integer = (sqlite3_int64)((uint64_t)key->integer + offset);
    } else if (key->type == SQLITE_FLOAT) {
        changed.real = key->real + (double)(sqlite3_int64)offset / 256;
    } else {
        char suffix[9];
        snprintf(suffix, sizeof suffix, "%08x", (unsigned)(random_u64(random) >> 32));
        bytes->len = 0;
        buffer_append(bytes, key->bytes, key->len);
        buffer_append(bytes, suffix, 8);
        changed.bytes = bytes->bytes;
        changed.len = bytes->len;
    }
    return changed;
}

static inline bool is_in_table(sqlite3_stmt *lookup, const struct sql_value *key)
{
    bind_value(lookup, 1, key);
    int status = sqlite3_step(lookup);
    check_sql(sqlite3_db_handle(lookup), status, "cannot look a key up");
    sqlite3_reset(lookup);
    return status == SQLITE_ROW;
}

/* The table says whether a neighbour is absent. */
static inline void add_absent_key(struct lookups *lookups, const struct lookups *sample, sqlite3_stmt *lookup,
                           uint64_t *random, struct buffer *bytes)
{
    for (int attempt = 0; attempt < 1000; attempt++) {
        const struct sql_value *key = &sample->values[random_below(random, sample->n)];
        struct sql_value candidate = neighbour(key, attempt, random, bytes);
        if (is_in_table(lookup, &candidate)) continue;
        lookups_add(lookups, &candidate);
        return;
    }
    die("found no keys that are absent from the table: give some with --probe");
}

/* For a table that is not ours: keys of it, and neighbours of its keys that are not in it. */
static inline void add_lookups_of_table(struct lookups *lookups, struct miss_plan plan, sqlite3 *db,
                                 const struct key_column *column)
{
    const uint64_t max_sample = 1000000;
    struct lookups sample = {0};
    sample_keys(&sample, db, column, plan.lookups < max_sample ? plan.lookups : max_sample, &plan.random);
    if (sample.n == 0) lookups_add(&sample, &(struct sql_value){.type = SQLITE_TEXT, .bytes = "", .len = 0});
    sqlite3_stmt *lookup = prepare_and_free(db, lookup_sql(column, ""));
    struct buffer bytes = {0};
    struct progress progress = {.what = "drawing look-ups", .total = plan.lookups};
    while (plan.lookups > 0) {
        progress_step(&progress, progress.total - plan.lookups);
        if (next_is_miss(&plan)) {
            add_absent_key(lookups, &sample, lookup, &plan.random, &bytes);
        } else {
            lookups_add(lookups, &sample.values[random_below(&plan.random, sample.n)]);
        }
    }
    progress_end(&progress);
    sqlite3_finalize(lookup);
    free(bytes.bytes);
    lookups_free(&sample);
}

#endif
