/* The kinds of sketches, as the fuzzers see them: one row of `kinds` each. A new kind is a member of both unions,
 * LIFE_CYCLE of its name, the functions that differ from kind to kind, and its row. What only it can do are further
 * calls, in the table of calls.c. */
#ifndef KINDS_H
#define KINDS_H

#include "fuzz.h"

union handle {
    uint64_t opaque[8];
    skl_bloom bloom;
    skl_hll hll;
};

union params {
    skl_bloom_params bloom;
    skl_hll_params hll;
};

/* What every kind says of itself. */
struct about {
    uint64_t seed;
    uint32_t hash_id;
    bool is_sealed;
};

/* Some of the hashes that went into a sketch, and at least how often. Forgetting one is always right. */
enum { REMEMBERED = 32 };
struct shadow {
    unsigned n;
    uint64_t hashes[REMEMBERED];
    uint32_t counts[REMEMBERED];
};

struct kind {
    const char *name;
    /* A shape, most often a possible one; few are used, so that sketches can be merged. */
    void (*shape)(struct input *, union params *);
    int (*required_bytes)(const void *params, uint64_t *bytes);
    int (*init)(void *handle, void *memory, size_t len, const void *params);
    int (*make)(void *handle, const void *params, const skl_allocator *);
    void (*free)(void *handle);
    int (*view)(void *handle, const void *image, size_t len, uint32_t flags);
    int (*open)(void *handle, void *memory, size_t len, size_t image_len, uint32_t flags);
    int (*insert)(void *handle, const void *key, size_t len);
    int (*insert_u64)(void *handle, uint64_t key);
    int (*insert_hash)(void *handle, uint64_t hash);
    int (*insert_batch)(void *handle, const skl_keys *, size_t *consumed);
    int (*merge)(void *target, const void *source);
    int (*clear)(void *handle);
    int (*seal)(void *handle);
    int (*image)(const void *handle, const void **image, size_t *len);
    int (*set_simd_level)(void *handle, int level);
    int (*about)(const void *handle, struct about *);
    /* A digest of all it answers; the same at every SIMD level, and after sealing and opening. */
    uint64_t (*answers)(const void *handle);
    /* Requires that what was inserted is in. */
    void (*verify)(const void *handle, const struct shadow *);
    bool merging_twice_is_harmless;
    bool has_room; /* open takes more memory than the image */
};

#define LIFE_CYCLE(kind)                                                                                               \
    static int kind##_required_bytes(const void *params, uint64_t *bytes)                                              \
    {                                                                                                                  \
        return skl_##kind##_required_bytes(params, bytes);                                                             \
    }                                                                                                                  \
    static int kind##_init(void *handle, void *memory, size_t len, const void *params)                                 \
    {                                                                                                                  \
        return skl_##kind##_init(handle, memory, len, params);                                                         \
    }                                                                                                                  \
    static int kind##_new(void *handle, const void *params, const skl_allocator *allocator)                            \
    {                                                                                                                  \
        return skl_##kind##_new(handle, params, allocator);                                                            \
    }                                                                                                                  \
    static void kind##_free(void *handle)                                                                              \
    {                                                                                                                  \
        skl_##kind##_free(handle);                                                                                     \
    }                                                                                                                  \
    static int kind##_view(void *handle, const void *image, size_t len, uint32_t flags)                                \
    {                                                                                                                  \
        return skl_##kind##_view(handle, image, len, flags);                                                           \
    }                                                                                                                  \
    static int kind##_clear(void *handle)                                                                              \
    {                                                                                                                  \
        return skl_##kind##_clear(handle);                                                                             \
    }                                                                                                                  \
    static int kind##_seal(void *handle)                                                                               \
    {                                                                                                                  \
        return skl_##kind##_seal(handle);                                                                              \
    }                                                                                                                  \
    static int kind##_image(const void *handle, const void **image, size_t *len)                                       \
    {                                                                                                                  \
        return skl_##kind##_image(handle, image, len);                                                                 \
    }                                                                                                                  \
    static int kind##_set_simd_level(void *handle, int level)                                                          \
    {                                                                                                                  \
        return skl_##kind##_set_simd_level(handle, level);                                                             \
    }                                                                                                                  \
    static int kind##_about(const void *handle, struct about *about)                                                   \
    {                                                                                                                  \
        skl_##kind##_info info;                                                                                        \
        int status;                                                                                                    \
        info.struct_size = sizeof info;                                                                                \
        status = skl_##kind##_get_info(handle, &info);                                                                 \
        if (status == SKL_OK) {                                                                                        \
            about->seed = info.seed;                                                                                   \
            about->hash_id = info.hash_id;                                                                             \
            about->is_sealed = info.is_sealed != 0;                                                                    \
        }                                                                                                              \
        return status;                                                                                                 \
    }

/* Kinds that take a key and no number with it. */
#define INSERTS(kind)                                                                                                  \
    static int kind##_insert(void *handle, const void *key, size_t len)                                                \
    {                                                                                                                  \
        return skl_##kind##_insert(handle, key, len);                                                                  \
    }                                                                                                                  \
    static int kind##_insert_u64(void *handle, uint64_t key)                                                           \
    {                                                                                                                  \
        return skl_##kind##_insert_u64(handle, key);                                                                   \
    }                                                                                                                  \
    static int kind##_insert_hash(void *handle, uint64_t hash)                                                         \
    {                                                                                                                  \
        return skl_##kind##_insert_hash(handle, hash);                                                                 \
    }

/* The middle of a row: what the two macros defined. */
#define LIFE_CYCLE_ROW(kind)                                                                                           \
    kind##_required_bytes, kind##_init, kind##_new, kind##_free, kind##_view, kind##_open, kind##_insert,              \
        kind##_insert_u64, kind##_insert_hash, kind##_insert_batch, kind##_merge, kind##_clear, kind##_seal,           \
        kind##_image, kind##_set_simd_level, kind##_about, kind##_answers, kind##_verify

static inline uint64_t digest(uint64_t sum, const void *bytes, size_t len)
{
    uint64_t next = 0;
    REQUIRE(skl_hash_bytes(bytes, len, sum, &next) == SKL_OK);
    return next;
}

static inline uint64_t digest_number(uint64_t sum, double value)
{
    return digest(sum, &value, sizeof value);
}

/* A number that is possible, or any. */
static inline uint64_t seed_of(struct input *in)
{
    static const uint64_t seeds[] = {0, 0, 0, 1};
    return seeds[below(in, 4)];
}

static inline uint32_t hash_id_of(struct input *in)
{
    static const uint32_t ids[] = {SKL_HASH_XXH3, SKL_HASH_XXH3, SKL_HASH_XXH3, SKL_HASH_CALLER};
    return one_in(in, 64) ? byte(in) : ids[below(in, 4)];
}

/* ---- Bloom filter ---- */

LIFE_CYCLE(bloom)
INSERTS(bloom)

static void bloom_shape(struct input *in, union params *params)
{
    static const unsigned char blocks[] = {1, 2, 3, 3, 3, 4, 8, 16}, probes[] = {8, 8, 8, 8, 1, 3, 12, 16};
    REQUIRE(skl_bloom_params_explicit(blocks[below(in, 8)], probes[below(in, 8)], &params->bloom) == SKL_OK);
    params->bloom.capacity = one_in(in, 4) ? word(in) : byte(in);
    params->bloom.seed = seed_of(in);
    params->bloom.hash_id = hash_id_of(in);
    if (one_in(in, 16)) {
        params->bloom.num_blocks = word(in) >> below(in, 64);
    }
    if (one_in(in, 16)) {
        params->bloom.num_probes = byte(in);
    }
}

static int bloom_open(void *handle, void *memory, size_t len, size_t image_len, uint32_t flags)
{
    (void)image_len;
    return skl_bloom_open(handle, memory, len, flags);
}

static int bloom_insert_batch(void *handle, const skl_keys *keys, size_t *consumed)
{
    const int status = skl_bloom_insert_batch(handle, keys, NULL);
    if (status == SKL_OK) {
        *consumed = keys->n;
    }
    return status;
}

static int bloom_merge(void *target, const void *source)
{
    return skl_bloom_union(target, source);
}

static uint64_t bloom_answers(const void *handle)
{
    skl_bloom_info info;
    skl_bloom_estimate estimate;
    uint64_t sum = 0, bitmap[2] = {0, 0}, batch[2] = {0, 0}, hashes[70];
    unsigned i;
    info.struct_size = sizeof info;
    estimate.struct_size = sizeof estimate;
    REQUIRE(skl_bloom_get_info(handle, &info) == SKL_OK);
    REQUIRE(skl_bloom_get_estimate(handle, &estimate) == SKL_OK);
    REQUIRE(estimate.fill >= 0 && estimate.fill <= 1 && estimate.fpr >= 0 && estimate.fpr <= 1);
    REQUIRE(estimate.num_keys >= 0);
    sum = digest(sum, &info.num_blocks, sizeof info.num_blocks);
    sum = digest(sum, &info.num_probes, sizeof info.num_probes);
    sum = digest(sum, &info.capacity, sizeof info.capacity);
    sum = digest_number(digest_number(sum, estimate.fill), estimate.fpr);
    sum = digest_number(digest_number(sum, estimate.num_keys), estimate.over_capacity);
    for (i = 0; i < 70; i++) {
        hashes[i] = skl_hash_mix(i);
        bitmap[i / 64] |= (uint64_t)(skl_bloom_contains_hash(handle, hashes[i]) == 1) << i % 64;
    }
    REQUIRE(skl_bloom_contains_hashes(handle, hashes, 70, batch) == SKL_OK);
    REQUIRE(memcmp(bitmap, batch, sizeof batch) == 0);
    return digest(sum, bitmap, sizeof bitmap);
}

static void bloom_verify(const void *handle, const struct shadow *shadow)
{
    uint64_t bitmap = 0;
    unsigned i;
    for (i = 0; i < shadow->n; i++) {
        REQUIRE(skl_bloom_contains_hash(handle, shadow->hashes[i]) == 1);
    }
    REQUIRE(skl_bloom_contains_hashes(handle, shadow->hashes, shadow->n, &bitmap) == SKL_OK);
    REQUIRE(bitmap == (UINT64_C(1) << shadow->n) - 1);
}

/* ---- HyperLogLog ---- */

LIFE_CYCLE(hll)
INSERTS(hll)

static void hll_shape(struct input *in, union params *params)
{
    static const unsigned char precisions[] = {4, 5, 7, 7, 7, 8, 11, 12};
    REQUIRE(skl_hll_params_for(precisions[below(in, 8)], &params->hll) == SKL_OK);
    params->hll.form = byte(in) & 1;
    params->hll.martingale = byte(in) & 1;
    params->hll.seed = seed_of(in);
    params->hll.hash_id = hash_id_of(in);
    if (one_in(in, 16)) {
        params->hll.p = byte(in) & 31;
    }
    if (one_in(in, 64)) {
        params->hll.form = byte(in);
    }
    if (one_in(in, 64)) {
        params->hll.martingale = byte(in);
    }
}

static int hll_open(void *handle, void *memory, size_t len, size_t image_len, uint32_t flags)
{
    return skl_hll_open(handle, memory, len, image_len, flags);
}

static int hll_insert_batch(void *handle, const skl_keys *keys, size_t *consumed)
{
    return skl_hll_insert_batch(handle, keys, consumed);
}

static int hll_merge(void *target, const void *source)
{
    return skl_hll_merge(target, source);
}

static uint64_t hll_answers(const void *handle)
{
    skl_hll_info info;
    double estimate = -1, again, lower, upper;
    uint64_t sum = 0;
    unsigned sigmas;
    info.struct_size = sizeof info;
    REQUIRE(skl_hll_get_info(handle, &info) == SKL_OK);
    REQUIRE(skl_hll_estimate(handle, &estimate) == SKL_OK);
    /* The martingale estimate of an image is the image's word. */
    REQUIRE(estimate >= 0 && (info.martingale || estimate <= 18446744073709551616.0));
    sum = digest_number(digest(sum, &info.p, sizeof info.p), info.form);
    sum = digest_number(digest_number(sum, info.zero_registers), info.min_register);
    sum = digest_number(digest_number(sum, info.standard_error), estimate);
    for (sigmas = 1; sigmas <= 3; sigmas++) {
        REQUIRE(skl_hll_estimate_bounds(handle, sigmas, &again, &lower, &upper) == SKL_OK);
        REQUIRE(again == estimate && lower >= 0 && lower <= estimate && estimate <= upper);
        sum = digest_number(digest_number(sum, lower), upper);
    }
    return sum;
}

/* By docs/FORMAT.md: the register or the token of each hash is at least as great as it must be. */
static void hll_verify(const void *handle, const struct shadow *shadow)
{
    skl_hll_info info;
    const void *where = NULL;
    const unsigned char *image;
    size_t len = 0, at;
    unsigned i;
    info.struct_size = sizeof info;
    REQUIRE(skl_hll_get_info(handle, &info) == SKL_OK);
    REQUIRE(skl_hll_image(handle, &where, &len) == SKL_OK && len >= 128);
    image = where;
    for (i = 0; i < shadow->n; i++) {
        const unsigned p = info.form == SKL_HLL_DENSE ? info.p : 26;
        const uint64_t hash = shadow->hashes[i], index = hash & ((UINT64_C(1) << p) - 1);
        unsigned rank = 1, found = 0;
        while (rank < 65 - p && (hash >> p >> (rank - 1) & 1) == 0) {
            rank++;
        }
        if (info.form == SKL_HLL_DENSE) {
            const size_t bit = 512 + 6 * (size_t)index;
            const unsigned both = image[bit / 8] | (bit / 8 + 1 < len ? image[bit / 8 + 1] : 0u) << 8;
            found = both >> bit % 8 & 63;
        } else {
            for (at = 64; at + 4 <= len && found == 0; at += 4) {
                const uint64_t token = get_u64(image + at - 4) >> 32;
                found = token != 0 && token >> 6 == index ? (unsigned)token & 63 : 0;
            }
        }
        REQUIRE(found >= rank);
    }
}

static const struct kind kinds[] = {
    {"bloom", bloom_shape, LIFE_CYCLE_ROW(bloom), true, false},
    {"hll", hll_shape, LIFE_CYCLE_ROW(hll), true, true},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* Answers, the same at every level of this machine. */
static inline uint64_t checked_answers(const struct kind *kind, const void *handle)
{
    union handle other;
    const uint64_t answers = kind->answers(handle);
    int level;
    memcpy(&other, handle, sizeof other);
    for (level = SKL_SIMD_PORTABLE; level <= skl_simd_detected(); level++) {
        if (kind->set_simd_level(&other, level) == SKL_OK) {
            REQUIRE(kind->answers(&other) == answers);
        }
    }
    return answers;
}

static inline void remember(struct shadow *shadow, uint64_t hash, uint32_t count)
{
    unsigned i;
    for (i = 0; i < shadow->n; i++) {
        if (shadow->hashes[i] == hash) {
            shadow->counts[i] += count;
            return;
        }
    }
    i = shadow->n < REMEMBERED ? shadow->n++ : (unsigned)(hash % REMEMBERED);
    shadow->hashes[i] = hash;
    shadow->counts[i] = count;
}

#endif
