/* The kinds of sketches, as the fuzzers see them: one row of `kinds` each. A new kind is a member of both unions,
 * LIFE_CYCLE of its name and those macros below that fit, the functions that differ from kind to kind, and its row.
 * What only it can do are further calls, in the table of calls.c. */
#ifndef KINDS_H
#define KINDS_H

#include "fuzz.h"

union handle {
    uint64_t opaque[8];
    skl_bloom bloom;
    skl_hll hll;
    skl_cms cms;
    skl_topk topk;
};

union params {
    skl_bloom_params bloom;
    skl_hll_params hll;
    skl_cms_params cms;
    skl_topk_params topk;
};

/* What every kind says of itself. */
struct about {
    uint64_t seed;
    uint32_t hash_id;
    bool is_sealed;
    uint64_t total, cap; /* of kinds that count: of all counts; where a count stops */
};

/* Some of the hashes that went into a sketch, and at least how often, as far as it counts. Forgetting one is always
 * right. */
enum { REMEMBERED = 32 };
struct shadow {
    unsigned n;
    uint64_t hashes[REMEMBERED];
    uint64_t counts[REMEMBERED];
    uint64_t total, cap;
    bool foreign; /* began as bytes that no call of ours made */
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
    /* From here to set_simd_level NULL where there is no such call. */
    int (*insert)(void *handle, const void *key, size_t len);
    int (*insert_u64)(void *handle, uint64_t key);
    int (*insert_hash)(void *handle, uint64_t hash);
    int (*insert_batch)(void *handle, const skl_keys *, size_t *consumed);
    int (*merge)(void *target, const void *source);
    int (*set_simd_level)(void *handle, int level);
    int (*clear)(void *handle);
    int (*seal)(void *handle);
    int (*image)(const void *handle, const void **image, size_t *len);
    int (*about)(const void *handle, struct about *);
    /* A digest of all it answers; the same at every SIMD level, and after sealing and opening. */
    uint64_t (*answers)(const void *handle);
    /* Requires that what was inserted is in. */
    void (*verify)(const void *handle, const struct shadow *);
    /* Whatever else changes what was opened; may be NULL. `view` is of what it was. */
    void (*use)(void *handle, const void *view);
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
            about->total = kind##_total(&info);                                                                        \
            about->cap = kind##_cap(&info);                                                                            \
        }                                                                                                              \
        return status;                                                                                                 \
    }

/* Kinds that never have room behind their image. */
#define OPENS(kind)                                                                                                    \
    static int kind##_open(void *handle, void *memory, size_t len, size_t image_len, uint32_t flags)                   \
    {                                                                                                                  \
        (void)image_len;                                                                                               \
        return skl_##kind##_open(handle, memory, len, flags);                                                          \
    }

/* Kinds that choose among instruction sets. */
#define LEVELS(kind)                                                                                                   \
    static int kind##_set_simd_level(void *handle, int level)                                                          \
    {                                                                                                                  \
        return skl_##kind##_set_simd_level(handle, level);                                                             \
    }

/* Kinds without counts. */
#define UNCOUNTED(kind)                                                                                                \
    static uint64_t kind##_total(const skl_##kind##_info *info)                                                        \
    {                                                                                                                  \
        (void)info;                                                                                                    \
        return 0;                                                                                                      \
    }                                                                                                                  \
    static uint64_t kind##_cap(const skl_##kind##_info *info)                                                          \
    {                                                                                                                  \
        (void)info;                                                                                                    \
        return UINT64_MAX;                                                                                             \
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

/* The part of a row that each kind has, and that of kinds that take keys. */
#define LIFE_CYCLE_ROW(kind)                                                                                           \
    .name = #kind, .shape = kind##_shape, .make = kind##_new, .required_bytes = kind##_required_bytes,                 \
        .init = kind##_init, .free = kind##_free, .view = kind##_view, .open = kind##_open, .clear = kind##_clear,     \
        .seal = kind##_seal, .image = kind##_image, .about = kind##_about, .answers = kind##_answers,                  \
        .verify = kind##_verify
#define KEYS_ROW(kind)                                                                                                 \
    .insert = kind##_insert, .insert_u64 = kind##_insert_u64, .insert_hash = kind##_insert_hash,                       \
        .insert_batch = kind##_insert_batch, .merge = kind##_merge, .set_simd_level = kind##_set_simd_level

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

UNCOUNTED(bloom)
LIFE_CYCLE(bloom)
OPENS(bloom)
INSERTS(bloom)
LEVELS(bloom)

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

UNCOUNTED(hll)
LIFE_CYCLE(hll)
INSERTS(hll)
LEVELS(hll)

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

/* ---- shadows ---- */

static inline uint64_t capped(uint64_t a, uint64_t b, uint64_t cap)
{
    return a > cap || b > cap - a ? cap : a + b;
}

/* A sketch that is not known yet. */
static inline void start_shadow(struct shadow *shadow, const struct about *about)
{
    memset(shadow, 0, sizeof *shadow);
    shadow->total = about->total;
    shadow->cap = about->cap;
}

static inline void remember(struct shadow *shadow, uint64_t hash, uint64_t count)
{
    unsigned i;
    shadow->total = capped(shadow->total, count, UINT64_MAX);
    for (i = 0; i < shadow->n; i++) {
        if (shadow->hashes[i] == hash) {
            shadow->counts[i] = capped(shadow->counts[i], count, shadow->cap);
            return;
        }
    }
    i = shadow->n < REMEMBERED ? shadow->n++ : (unsigned)(hash % REMEMBERED);
    shadow->hashes[i] = hash;
    shadow->counts[i] = capped(0, count, shadow->cap);
}

static inline void remember_all(struct shadow *shadow, const struct shadow *source)
{
    const uint64_t total = capped(shadow->total, source->total, UINT64_MAX);
    unsigned i;
    for (i = 0; i < source->n; i++) {
        remember(shadow, source->hashes[i], source->counts[i]);
    }
    shadow->total = total;
    shadow->foreign |= source->foreign;
}

static inline void forget_all(struct shadow *shadow)
{
    shadow->n = 0;
    shadow->total = 0;
}

static inline void age(struct shadow *shadow, uint64_t times)
{
    unsigned i;
    for (i = 0; i < shadow->n; i++) {
        shadow->counts[i] = times < 64 ? shadow->counts[i] >> times : 0;
    }
    shadow->total = times < 64 ? shadow->total >> times : 0;
}

/* ---- Count-Min ---- */

static uint64_t cms_total(const skl_cms_info *info)
{
    return info->total;
}

static uint64_t cms_cap(const skl_cms_info *info)
{
    return info->counter_bytes == 4 ? UINT32_MAX : UINT64_MAX;
}

LIFE_CYCLE(cms)
OPENS(cms)
LEVELS(cms)

static void cms_shape(struct input *in, union params *params)
{
    static const struct {
        unsigned char layout, counter_bytes, width, depth;
    } shapes[] = {
        {SKL_CMS_ROWS, 4, 20, 4},     {SKL_CMS_ROWS, 4, 20, 4},     {SKL_CMS_ROWS, 4, 100, 4},
        {SKL_CMS_TWO_LINE, 4, 24, 4}, {SKL_CMS_TWO_LINE, 4, 24, 4}, {SKL_CMS_TWO_LINE, 8, 12, 4},
        {SKL_CMS_ROWS, 8, 9, 3},      {SKL_CMS_ROWS, 4, 1, 16},
    };
    const unsigned i = below(in, 8);
    REQUIRE(skl_cms_params_explicit(shapes[i].layout, shapes[i].counter_bytes, shapes[i].width, shapes[i].depth,
                                    &params->cms) == SKL_OK);
    params->cms.conservative = one_in(in, 3);
    params->cms.seed = seed_of(in);
    params->cms.hash_id = hash_id_of(in);
    if (one_in(in, 16)) {
        params->cms.width = word(in) >> below(in, 64);
    }
    if (one_in(in, 16)) {
        params->cms.depth = byte(in);
    }
    if (one_in(in, 64)) {
        params->cms.layout = byte(in);
    }
    if (one_in(in, 64)) {
        params->cms.conservative = byte(in);
    }
}

/* That a counter stopped is no error. */
static inline int unless_saturated(int status)
{
    return status == SKL_SATURATED ? SKL_OK : status;
}

static int cms_insert(void *handle, const void *key, size_t len)
{
    return unless_saturated(skl_cms_add(handle, key, len, 1, NULL));
}

static int cms_insert_u64(void *handle, uint64_t key)
{
    return unless_saturated(skl_cms_add_u64(handle, key, 1, NULL));
}

static int cms_insert_hash(void *handle, uint64_t hash)
{
    return unless_saturated(skl_cms_add_hash(handle, hash, 1, NULL));
}

static int cms_insert_batch(void *handle, const skl_keys *keys, size_t *consumed)
{
    const int status = unless_saturated(skl_cms_add_batch(handle, keys, NULL));
    if (status == SKL_OK) {
        *consumed = keys->n;
    }
    return status;
}

static int cms_merge(void *target, const void *source)
{
    return skl_cms_merge(target, source);
}

/* An estimate from a handle that is fine, with a status that fits it. */
static uint64_t cms_has(const void *handle, uint64_t hash, uint64_t cap)
{
    uint64_t estimate = 0;
    const int status = skl_cms_estimate_hash(handle, hash, &estimate);
    REQUIRE(status == (estimate == cap ? SKL_SATURATED : SKL_OK) && estimate <= cap);
    return estimate;
}

static uint64_t cms_answers(const void *handle)
{
    skl_cms_info info;
    skl_cms_bounds bounds;
    uint64_t sum = 0, cap, greatest = 0, product = 0, hashes[70], one[70], batch[70];
    int status;
    unsigned i;
    info.struct_size = sizeof info;
    bounds.struct_size = sizeof bounds;
    REQUIRE(skl_cms_get_info(handle, &info) == SKL_OK);
    cap = cms_cap(&info);
    REQUIRE(info.greatest_counter <= cap && (info.saturated_counters > 0) == (info.greatest_counter == cap));
    REQUIRE(info.zero_counters + info.saturated_counters <= info.width * info.depth);
    REQUIRE((info.zero_counters == info.width * info.depth) == (info.greatest_counter == 0));
    for (i = 0; i < 70; i++) {
        hashes[i] = skl_hash_mix(i);
        one[i] = cms_has(handle, hashes[i], cap);
        greatest = one[i] > greatest ? one[i] : greatest;
    }
    REQUIRE(greatest <= info.greatest_counter);
    status = skl_cms_estimate_hashes(handle, hashes, 70, batch);
    REQUIRE(status == (greatest == cap ? SKL_SATURATED : SKL_OK) && memcmp(one, batch, sizeof one) == 0);
    REQUIRE(skl_cms_get_bounds(handle, greatest, &bounds) == SKL_OK && bounds.estimate == greatest);
    REQUIRE(bounds.lower >= 0 && bounds.lower <= (double)greatest && bounds.is_saturated == (greatest == cap));
    REQUIRE(bounds.error == info.error && bounds.delta == info.delta);
    status = skl_cms_inner_product(handle, handle, &product);
    REQUIRE(status == (info.conservative ? SKL_ERR_INCOMPATIBLE : SKL_OK));
    sum = digest(digest(sum, &info.width, sizeof info.width), &info.depth, sizeof info.depth);
    sum = digest(digest(sum, &info.layout, sizeof info.layout), &info.total, sizeof info.total);
    sum = digest(digest(sum, &info.zero_counters, 8), &info.saturated_counters, 8);
    sum = digest(digest(sum, &info.greatest_counter, 8), &product, sizeof product);
    return digest(digest_number(digest_number(sum, info.error), bounds.lower), batch, sizeof batch);
}

/* No estimate is too low, the total is right, and what began empty counts nothing beyond it. */
static void cms_verify(const void *handle, const struct shadow *shadow)
{
    skl_cms_info info;
    uint64_t estimates[REMEMBERED];
    unsigned i;
    info.struct_size = sizeof info;
    REQUIRE(skl_cms_get_info(handle, &info) == SKL_OK);
    REQUIRE(info.total == shadow->total);
    REQUIRE(shadow->foreign || info.greatest_counter <= info.total);
    REQUIRE(skl_cms_estimate_hashes(handle, shadow->hashes, shadow->n, estimates) >= SKL_OK);
    for (i = 0; i < shadow->n; i++) {
        REQUIRE(estimates[i] >= shadow->counts[i] && estimates[i] <= info.greatest_counter);
        REQUIRE(estimates[i] == cms_has(handle, shadow->hashes[i], shadow->cap));
    }
}

static void cms_use(void *handle, const void *view)
{
    const uint64_t hashes[] = {1, 2, 1, UINT64_MAX}, counts[] = {7, 0, UINT64_MAX, UINT32_MAX};
    skl_cms_window window = {10, 5};
    uint64_t halvings = 0, product = 0, again = 1, before, cap;
    struct about about;
    int status;
    REQUIRE(cms_about(handle, &about) == SKL_OK);
    cap = about.cap;
    doing = "adding counts to what was opened";
    before = cms_has(handle, 3, cap);
    REQUIRE(skl_cms_add_hashes(handle, hashes, 4, counts) == SKL_SATURATED);
    REQUIRE(cms_has(handle, 1, cap) == cap && cms_has(handle, UINT64_MAX, cap) >= UINT32_MAX);
    REQUIRE(cms_has(handle, 3, cap) >= before);
    REQUIRE(skl_cms_add_hash(handle, 3, 9, &again) >= SKL_OK && again >= capped(before, 9, cap));
    doing = "the product of what was opened";
    status = skl_cms_inner_product(handle, view, &product);
    REQUIRE(status == skl_cms_inner_product(view, handle, &again));
    REQUIRE(status == SKL_OK ? product == again : status == SKL_ERR_INCOMPATIBLE);
    doing = "halving what was opened";
    before = cms_has(handle, 1, cap);
    REQUIRE(skl_cms_halve(handle, 1) == SKL_OK && cms_has(handle, 1, cap) == before >> 1);
    REQUIRE(skl_cms_window_advance(&window, handle, 27, &halvings) == SKL_OK);
    REQUIRE(halvings == 2 && window.started == 25 && cms_has(handle, 1, cap) == before >> 3);
}

/* ---- top-k ---- */

UNCOUNTED(topk)
LIFE_CYCLE(topk)
OPENS(topk)

static void topk_shape(struct input *in, union params *params)
{
    static const unsigned char ks[] = {1, 2, 3, 3, 3, 4, 8, 16}, bytes[] = {8, 8, 8, 8, 0, 1, 5, 40};
    const uint32_t k = one_in(in, 16) ? below(in, 400) : ks[below(in, 8)];
    const uint32_t max_key_bytes = one_in(in, 64) ? byte(in) * 1024 : bytes[below(in, 8)];
    if (skl_topk_params_for(k, max_key_bytes, &params->topk) != SKL_OK) {
        memset(params, 0, sizeof *params);
    }
    params->topk.seed = seed_of(in);
    params->topk.hash_id = hash_id_of(in);
    if (one_in(in, 64)) {
        params->topk.reserved = byte(in);
    }
}

static size_t topk_len(const void *handle, skl_topk_info *info)
{
    info->struct_size = sizeof *info;
    REQUIRE(skl_topk_get_info(handle, info) == SKL_OK && info->num_keys <= info->k);
    return info->num_keys;
}

/* Whatever the order. */
static uint64_t topk_answers(const void *handle)
{
    skl_topk_info info;
    skl_topk_entry entry;
    uint64_t sum = 0;
    size_t n = topk_len(handle, &info), i;
    entry.struct_size = sizeof entry;
    for (i = 0; i < n; i++) {
        REQUIRE(skl_topk_get(handle, i, &entry) == SKL_OK);
        REQUIRE(entry.kept_bytes <= entry.key_bytes && entry.kept_bytes <= info.max_key_bytes);
        sum += digest(digest(digest(entry.hash, entry.key, entry.kept_bytes), &entry.count, 8), &entry.key_bytes,
                      sizeof entry.key_bytes);
    }
    REQUIRE(skl_topk_get(handle, n, &entry) == SKL_ERR_ARGUMENT);
    REQUIRE(skl_topk_get(handle, SIZE_MAX, &entry) == SKL_ERR_ARGUMENT);
    return digest(digest(sum, &info.k, sizeof info.k), &info.max_key_bytes, sizeof info.max_key_bytes);
}

/* All count something, and in what began empty no key is there twice. */
static void topk_verify(const void *handle, const struct shadow *shadow)
{
    skl_topk_info info;
    skl_topk_entry one, two;
    size_t n = topk_len(handle, &info), i, j;
    one.struct_size = two.struct_size = sizeof one;
    for (i = 0; i < n; i++) {
        REQUIRE(skl_topk_get(handle, i, &one) == SKL_OK && one.count > 0);
        for (j = shadow->foreign || n > 100 ? i : 0; j < i; j++) {
            REQUIRE(skl_topk_get(handle, j, &two) == SKL_OK && one.hash != two.hash);
        }
    }
}

/* Descending counts, and ascending hashes of equal ones. */
static void topk_is_sorted(const void *handle)
{
    skl_topk_info info;
    skl_topk_entry one, two;
    size_t n = topk_len(handle, &info), i;
    one.struct_size = two.struct_size = sizeof one;
    for (i = 1; i < n; i++) {
        REQUIRE(skl_topk_get(handle, i - 1, &one) == SKL_OK && skl_topk_get(handle, i, &two) == SKL_OK);
        REQUIRE(one.count > two.count || (one.count == two.count && one.hash <= two.hash));
    }
}

static void topk_use(void *handle, const void *view)
{
    unsigned char memory[64 * 5];
    skl_cms_params params;
    skl_cms sketch;
    skl_topk_info info;
    uint64_t estimate = 0, answers;
    size_t n;
    int status;
    REQUIRE(skl_cms_params_explicit(SKL_CMS_ROWS, 4, 16, 4, &params) == SKL_OK);
    (void)topk_len(view, &info);
    params.seed = info.seed;
    params.hash_id = info.hash_id;
    REQUIRE(skl_cms_init(&sketch, memory, sizeof memory, &params) == SKL_OK);
    doing = "sorting what was opened";
    answers = topk_answers(handle);
    REQUIRE(skl_topk_sort(handle) == SKL_OK && topk_answers(handle) == answers);
    topk_is_sorted(handle);
    doing = "adding to what was opened";
    REQUIRE(skl_topk_offer(handle, NULL, 0, 7, 0) == 0 && skl_topk_offer(handle, "seven", 5, 7, UINT64_MAX) >= 0);
    status = skl_topk_add(handle, &sketch, "a key", 5, 1000, &estimate);
    REQUIRE(info.hash_id == SKL_HASH_XXH3 ? status == SKL_OK && estimate == 1000 : status == SKL_ERR_CALLER_HASH);
    doing = "merging what was opened";
    REQUIRE(skl_cms_add_hash(&sketch, 7, 3, NULL) == SKL_OK);
    REQUIRE(skl_topk_merge(handle, view, &sketch) == SKL_OK);
    doing = "refreshing what was opened";
    n = topk_len(handle, &info);
    REQUIRE(skl_topk_refresh(handle, &sketch) == SKL_OK && topk_len(handle, &info) == n);
    REQUIRE(skl_topk_sort(handle) == SKL_OK);
    topk_is_sorted(handle);
}

static const struct kind kinds[] = {
    {LIFE_CYCLE_ROW(bloom), KEYS_ROW(bloom), .merging_twice_is_harmless = true},
    {LIFE_CYCLE_ROW(hll), KEYS_ROW(hll), .merging_twice_is_harmless = true, .has_room = true},
    {LIFE_CYCLE_ROW(cms), KEYS_ROW(cms), .use = cms_use},
    {LIFE_CYCLE_ROW(topk), .use = topk_use},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* Answers, the same at every level of this machine. */
static inline uint64_t checked_answers(const struct kind *kind, const void *handle)
{
    union handle other;
    const uint64_t answers = kind->answers(handle);
    int level;
    memcpy(&other, handle, sizeof other);
    for (level = SKL_SIMD_PORTABLE; kind->set_simd_level != NULL && level <= skl_simd_detected(); level++) {
        if (kind->set_simd_level(&other, level) == SKL_OK) {
            REQUIRE(kind->answers(&other) == answers);
        }
    }
    return answers;
}

#endif
