/* Count-Min and top-k: every way to count makes the same image, in memory of its own and of the caller; estimates are
 * never too low, and say where a counter has stopped; no call touches a byte beside what it was given.
 * Run from the root of the repository. */
#define _DEFAULT_SOURCE
#include "check.h"
#include "pages.h"
#include "watch.h"

enum { N = 300, WIDTH = 1000, DEPTH = 4, MOST_BYTES = 64 + 8 * 1024 * DEPTH, TOP = 10, KEY = 6 };

/* Memory between unreadable pages. */
static struct {
    struct region handle, one, two, keys, counts, validity, out;
} guarded;

/* 1000 counters in each of four rows. */
static skl_cms_params shape(uint32_t layout, uint32_t counter_bytes)
{
    skl_cms_params params;
    CHECK_OK(skl_cms_params_explicit(layout, counter_bytes, WIDTH, DEPTH, &params));
    CHECK(params.width == WIDTH && params.depth == DEPTH && params.layout == layout);
    CHECK(params.counter_bytes == counter_bytes && params.conservative == 0 && params.reserved == 0);
    CHECK(params.seed == 0 && params.hash_id == SKL_HASH_XXH3 && params.image_bytes <= MOST_BYTES);
    return params;
}

static uint64_t count_of(uint64_t key)
{
    return key % 7 + 1;
}

static uint64_t estimate_of(const skl_cms *handle, uint64_t key)
{
    uint64_t *estimate = in(&guarded.out, sizeof *estimate);
    CHECK_OK(skl_cms_estimate_u64(handle, key, estimate));
    return *estimate;
}

static skl_cms_info info_of(const skl_cms *handle)
{
    skl_cms_info *info = in(&guarded.out, sizeof *info);
    info->struct_size = sizeof *info;
    CHECK_OK(skl_cms_get_info(handle, info));
    return *info;
}

static skl_cms_bounds bounds_of(const skl_cms *handle, uint64_t estimate)
{
    skl_cms_bounds *bounds = in(&guarded.out, sizeof *bounds);
    bounds->struct_size = sizeof *bounds;
    CHECK_OK(skl_cms_get_bounds(handle, estimate, bounds));
    return *bounds;
}

/* A sketch in memory of the caller, exactly as long as it must be. */
static skl_cms *in_place(const skl_cms_params *params)
{
    skl_cms *handle = in(&guarded.handle, sizeof *handle);
    uint64_t bytes = 0;
    CHECK_OK(skl_cms_required_bytes(params, &bytes));
    CHECK(bytes == params->image_bytes);
    CHECK_OK(skl_cms_init(handle, in(&guarded.one, (size_t)bytes), (size_t)bytes, params));
    return handle;
}

/* Whether two sketches, the first of which is sealed now, have one image. */
static int same(skl_cms *handle, const skl_cms *sealed)
{
    const void *ours = NULL, *theirs = NULL;
    size_t our_len = 0, their_len = 0;
    CHECK_OK(skl_cms_seal(handle));
    CHECK_OK(skl_cms_image(handle, &ours, &our_len));
    CHECK_OK(skl_cms_image(sealed, &theirs, &their_len));
    return our_len == their_len && memcmp(ours, theirs, our_len) == 0;
}

/* One hash after the other, portable, in memory of its own: what the others are compared with. */
static skl_cms reference(const skl_cms_params *params, uint64_t first, uint64_t last)
{
    skl_cms sketch;
    CHECK_OK(skl_cms_new(&sketch, params, NULL));
    CHECK_OK(skl_cms_set_simd_level(&sketch, SKL_SIMD_PORTABLE));
    for (; first < last; first++) {
        CHECK_OK(skl_cms_add_hash(&sketch, skl_hash_u64(first, params->seed), count_of(first), NULL));
    }
    CHECK_OK(skl_cms_seal(&sketch));
    return sketch;
}

/* ---- counting ---- */

static uint64_t *placed_counts(uint64_t n)
{
    uint64_t *counts = in(&guarded.counts, 8 * (size_t)n), i;
    for (i = 0; i < n; i++) {
        counts[i] = count_of(i);
    }
    return counts;
}

/* The keys 0, 1, ... as they are, or their hashes. */
static uint64_t *placed_keys(uint64_t n, int hashed, uint64_t seed)
{
    uint64_t *keys = in(&guarded.keys, 8 * (size_t)n), i;
    for (i = 0; i < n; i++) {
        keys[i] = hashed ? skl_hash_u64(i, seed) : i;
    }
    return keys;
}

static void every_way_in(const skl_cms_params *params, uint64_t n)
{
    skl_cms whole = reference(params, 0, n), *handle = in_place(params);
    skl_keys batch = {SKL_KEYS_U64, 0, 0, NULL, 0, NULL, NULL};
    uint64_t i, *after = in(&guarded.out, sizeof *after), *keys, *counts;
    unsigned char *validity;
    batch.n = (size_t)n;
    for (i = 0; i < n; i++) {
        CHECK_OK(i % 2 == 0 ? skl_cms_add_u64(handle, i, count_of(i), after)
                            : skl_cms_add(handle, key_bytes(i), 8, count_of(i), after));
        CHECK(*after >= count_of(i));
    }
    CHECK(same(handle, &whole));

    handle = in_place(params);
    batch.data = placed_keys(n, 0, 0);
    CHECK_OK(skl_cms_add_batch(handle, &batch, placed_counts(n)));
    CHECK(same(handle, &whole));

    handle = in_place(params);
    CHECK_OK(skl_cms_add_hashes(handle, placed_keys(n, 1, params->seed), (size_t)n, placed_counts(n)));
    CHECK(same(handle, &whole));

    /* Every other key is not valid, and is not counted, though its count would stop a counter. */
    handle = in_place(params);
    keys = in(&guarded.keys, 16 * (size_t)n);
    counts = in(&guarded.counts, 16 * (size_t)n);
    validity = in(&guarded.validity, (size_t)(2 * n + 7) / 8);
    memset(validity, 0x55, (size_t)(2 * n + 7) / 8);
    for (i = 0; i < 2 * n; i++) {
        keys[i] = i / 2;
        counts[i] = i % 2 == 0 ? count_of(i / 2) : UINT64_MAX;
    }
    batch.data = keys;
    batch.n = (size_t)(2 * n);
    batch.validity = validity;
    CHECK_OK(skl_cms_add_batch(handle, &batch, counts));
    CHECK(same(handle, &whole));
    counts = in(&guarded.counts, 16 * (size_t)n);
    CHECK_OK(skl_cms_estimate_batch(handle, &batch, counts));
    for (i = 0; i < 2 * n; i++) {
        CHECK(counts[i] == (i % 2 == 0 ? estimate_of(&whole, i / 2) : 0));
    }
    counts = in(&guarded.counts, 8 * (size_t)n);
    CHECK_OK(skl_cms_estimate_hashes(handle, placed_keys(n, 1, params->seed), (size_t)n, counts));
    for (i = 0; i < n; i++) {
        uint64_t one = 0;
        CHECK_OK(skl_cms_estimate_hash(handle, skl_hash_u64(i, params->seed), &one));
        CHECK(one == counts[i] && one == estimate_of(&whole, i) && one >= count_of(i));
        CHECK_OK(skl_cms_estimate(handle, key_bytes(i), 8, &one));
        CHECK(one == counts[i]);
    }
    skl_cms_free(&whole);

    /* No counts: each by one. */
    handle = in_place(params);
    CHECK_OK(skl_cms_new(&whole, params, NULL));
    for (i = 0; i < n; i++) {
        CHECK_OK(skl_cms_add_u64(&whole, i, 1, NULL));
    }
    CHECK_OK(skl_cms_seal(&whole));
    CHECK_OK(skl_cms_add_hashes(handle, placed_keys(n, 1, params->seed), (size_t)n, NULL));
    CHECK(same(handle, &whole) && info_of(handle).total == n);
    CHECK_OK(skl_cms_clear(handle));
    batch.data = placed_keys(n, 0, 0);
    batch.n = (size_t)n;
    batch.validity = NULL;
    CHECK_OK(skl_cms_add_batch(handle, &batch, NULL));
    CHECK(same(handle, &whole));
    skl_cms_free(&whole);
}

/* A counter stops at its greatest value, and every answer that stands there says so; not one below. */
static void saturation(uint32_t layout, uint32_t counter_bytes)
{
    const skl_cms_params params = shape(layout, counter_bytes);
    const uint64_t cap = counter_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    skl_cms *handle = in_place(&params), other = reference(&params, 0, 0);
    uint64_t estimate = 0, keys[2] = {1, 2}, counts[2] = {1, 1}, estimates[2];
    skl_keys batch = {SKL_KEYS_U64, 0, 2, NULL, 0, NULL, NULL};
    batch.data = keys;
    CHECK_OK(skl_cms_add_u64(handle, 1, cap - 1, &estimate));
    CHECK(estimate == cap - 1);
    CHECK_OK(skl_cms_estimate_u64(handle, 1, &estimate));
    CHECK(estimate == cap - 1 && bounds_of(handle, estimate).is_saturated == 0);
    CHECK_OK(skl_cms_estimate_batch(handle, &batch, estimates));
    CHECK(info_of(handle).saturated_counters == 0 && info_of(handle).greatest_counter == cap - 1);
    CHECK_OK(skl_cms_merge(&other, handle));

    CHECK_EQUAL(SKL_SATURATED, skl_cms_add_u64(handle, 1, 1, &estimate));
    CHECK(estimate == cap);
    CHECK_EQUAL(SKL_SATURATED, skl_cms_add_u64(handle, 1, 1, &estimate));
    CHECK(estimate == cap);
    CHECK_EQUAL(SKL_SATURATED, skl_cms_add_u64(handle, 1, UINT64_MAX, NULL));
    CHECK_EQUAL(SKL_SATURATED, skl_cms_add(handle, key_bytes(keys[0]), 8, 0, NULL));
    CHECK_EQUAL(SKL_SATURATED, skl_cms_add_hash(handle, skl_hash_u64(1, 0), 1, NULL));
    CHECK_EQUAL(SKL_SATURATED, skl_cms_add_batch(handle, &batch, counts));
    CHECK_EQUAL(SKL_SATURATED, skl_cms_estimate_u64(handle, 1, &estimate));
    CHECK(estimate == cap && bounds_of(handle, estimate).is_saturated == 1);
    CHECK_EQUAL(SKL_SATURATED, skl_cms_estimate(handle, key_bytes(keys[0]), 8, &estimate));
    CHECK_EQUAL(SKL_SATURATED, skl_cms_estimate_hash(handle, skl_hash_u64(1, 0), &estimate));
    CHECK_EQUAL(SKL_SATURATED, skl_cms_estimate_batch(handle, &batch, estimates));
    CHECK(estimates[0] == cap && estimates[1] == 1);
    CHECK(info_of(handle).saturated_counters == DEPTH && info_of(handle).greatest_counter == cap);
    CHECK(info_of(handle).total == UINT64_MAX);
    /* Another key is as it was. */
    CHECK_OK(skl_cms_add_u64(handle, 2, 1, &estimate));
    CHECK(estimate == 2);
    batch.data = keys + 1;
    batch.n = 1;
    CHECK_OK(skl_cms_add_batch(handle, &batch, NULL));
    CHECK_OK(skl_cms_estimate_batch(handle, &batch, estimates));
    CHECK(estimates[0] == 3);

    /* A batch may take it there, and so may a merge. */
    batch.data = keys;
    counts[0] = 0;
    CHECK_OK(skl_cms_add_batch(&other, &batch, counts));
    CHECK_EQUAL(SKL_SATURATED, skl_cms_add_batch(&other, &batch, NULL));
    keys[0] = skl_hash_u64(1, 0);
    CHECK_EQUAL(SKL_SATURATED, skl_cms_add_hashes(&other, keys, 1, NULL));
    CHECK_OK(skl_cms_merge(&other, handle));
    CHECK_EQUAL(SKL_SATURATED, skl_cms_estimate_u64(&other, 1, &estimate));
    CHECK(estimate == cap && estimate_of(&other, 2) == 3);
    /* A product of what is as great as can be stops, too. */
    CHECK_OK(skl_cms_inner_product(&other, handle, &estimate));
    CHECK(counter_bytes == 4 ? estimate >= cap * cap : estimate == UINT64_MAX);
    skl_cms_free(&other);
}

/* ---- two sketches, and old counts ---- */

static void merges(const skl_cms_params *params)
{
    skl_cms left = reference(params, 0, 200), right = reference(params, 100, N), whole = reference(params, 0, 200);
    uint64_t i, product = 0, expected = 0;
    for (i = 100; i < N; i++) {
        CHECK_OK(skl_cms_add_u64(&whole, i, count_of(i), NULL));
    }
    CHECK_OK(skl_cms_seal(&whole));
    for (i = 100; i < 200; i++) {
        expected += count_of(i) * count_of(i);
    }
    if (params->conservative == 0) {
        CHECK_OK(skl_cms_inner_product(&left, &right, &product));
        CHECK(product >= expected && (double)product <= (double)expected + 4 * params->epsilon * 800.0 * 800.0);
    } else {
        CHECK_EQUAL(SKL_ERR_INCOMPATIBLE, skl_cms_inner_product(&left, &right, &product));
    }
    CHECK_OK(skl_cms_merge(&left, &right));
    CHECK(info_of(&left).total == info_of(&whole).total);
    for (i = 0; i < N; i++) {
        CHECK(estimate_of(&left, i) >= count_of(i) * (1 + (i >= 100 && i < 200)));
    }
    if (params->conservative == 0) { /* as if all keys had come to one sketch */
        CHECK(same(&left, &whole));
    }
    skl_cms_free(&left);
    skl_cms_free(&right);
    skl_cms_free(&whole);
}

static void aging(void)
{
    const skl_cms_params params = shape(SKL_CMS_ROWS, 4);
    skl_cms *handle = in_place(&params);
    skl_cms_window *window = in(&guarded.two, sizeof *window);
    uint64_t *halvings = in(&guarded.validity, sizeof *halvings);
    double error;
    CHECK_OK(skl_cms_add_u64(handle, 1, 1001, NULL));
    CHECK_OK(skl_cms_add_u64(handle, 2, 2, NULL));
    CHECK_OK(skl_cms_add_u64(handle, 3, 1, NULL));
    error = bounds_of(handle, 1001).error;
    CHECK(error > 0.99 * 1004 * params.epsilon && error < 1.01 * 1004 * params.epsilon);
    CHECK(bounds_of(handle, 1001).lower > 998 && bounds_of(handle, 1).lower == 0.0);
    CHECK(bounds_of(handle, 7).estimate == 7 && bounds_of(handle, 7).delta == params.delta);
    CHECK(bounds_of(handle, 7).reserved == 0);
    CHECK_OK(skl_cms_halve(handle, 1));
    CHECK(estimate_of(handle, 1) == 500 && estimate_of(handle, 2) == 1 && estimate_of(handle, 3) == 0);
    CHECK(info_of(handle).total == 502 && info_of(handle).error == error / 2);
    CHECK(bounds_of(handle, 1).error == error / 2);
    CHECK_OK(skl_cms_halve(handle, 2));
    CHECK(estimate_of(handle, 1) == 125 && info_of(handle).total == 125);
    CHECK_OK(skl_cms_halve(handle, 64));
    CHECK(info_of(handle).total == 0 && info_of(handle).zero_counters == WIDTH * DEPTH);

    window->period = 60;
    window->started = 1000;
    CHECK_OK(skl_cms_add_u64(handle, 1, 80, NULL));
    CHECK_OK(skl_cms_window_advance(window, handle, 1059, halvings));
    CHECK(*halvings == 0 && window->started == 1000 && estimate_of(handle, 1) == 80);
    CHECK_OK(skl_cms_window_advance(window, handle, 1060, halvings));
    CHECK(*halvings == 1 && window->started == 1060 && window->period == 60 && estimate_of(handle, 1) == 40);
    CHECK_OK(skl_cms_window_advance(window, handle, 1000, halvings)); /* late: of the present period */
    CHECK(*halvings == 0 && window->started == 1060);
    CHECK_OK(skl_cms_window_advance(window, handle, 1060 + 3 * 60 + 59, NULL));
    CHECK(window->started == 1240 && estimate_of(handle, 1) == 5 && info_of(handle).total == 10 - 5);
}

/* ---- the life of a sketch ---- */

static void parameters(void)
{
    skl_cms_params params;
    CHECK_OK(skl_cms_params_for_error(SKL_CMS_ROWS, 4, 0.001, 0.02, &params));
    CHECK(params.width == 2719 && params.depth == 4 && params.image_bytes == 64 + 4 * 170 * 64);
    CHECK(params.epsilon <= 0.001 && params.epsilon > 0.0009 && params.delta <= 0.02 && params.delta > 0.018);
    CHECK_OK(skl_cms_params_for_error(SKL_CMS_TWO_LINE, 8, 0.001, 0.136, &params));
    CHECK(params.width == 2720 && params.depth == 4 && params.delta <= 0.136 && params.layout == SKL_CMS_TWO_LINE);
    CHECK_OK(skl_cms_params_for_bytes(SKL_CMS_ROWS, 8, 4096, 4, &params));
    CHECK(params.width == 128 && params.image_bytes == 4096 + 64 && params.counter_bytes == 8);
    CHECK_OK(skl_cms_params_explicit(SKL_CMS_TWO_LINE, 4, 17, 4, &params));
    CHECK(params.width == 24 && params.image_bytes == 64 + 2 * 3 * 64);
}

static void allocator(void)
{
    static const uint64_t widths[] = {1, WIDTH, 400000}; /* the last one gets huge pages */
    skl_cms_params params;
    struct watch watch;
    skl_allocator hooks;
    skl_cms sketch;
    skl_topk top;
    skl_topk_params top_params;
    const void *image = NULL;
    size_t i, len = 0;
    for (i = 0; i < sizeof widths / sizeof *widths; i++) {
        hooks = watched_by(&watch, 1);
        CHECK_OK(skl_cms_params_explicit(SKL_CMS_ROWS, 4, widths[i], DEPTH, &params));
        CHECK_OK(skl_cms_new(&sketch, &params, &hooks));
        CHECK_OK(skl_cms_image(&sketch, &image, &len));
        CHECK(len == params.image_bytes && (uintptr_t)image % 64 == 0);
        CHECK(estimate_of(&sketch, 1) == 0 && info_of(&sketch).zero_counters == widths[i] * DEPTH);
        CHECK_OK(skl_cms_add_u64(&sketch, 1, 5, NULL));
        CHECK_OK(skl_cms_halve(&sketch, 1));
        CHECK_OK(skl_cms_seal(&sketch));
        CHECK(watch.calls == 1 && watch.live == 1);
        skl_cms_free(&sketch);
        CHECK_EQUAL(0, watch.live);
        skl_cms_free(&sketch);
        CHECK(watch.calls == 1 && watch.live == 0);
    }
    hooks = watched_by(&watch, 1);
    CHECK_OK(skl_cms_new(&sketch, &params, NULL));
    CHECK_OK(skl_topk_params_for(TOP, KEY, &top_params));
    CHECK_OK(skl_topk_new(&top, &top_params, &hooks));
    CHECK_OK(skl_topk_image(&top, &image, &len));
    CHECK(len == top_params.image_bytes && (uintptr_t)image % 64 == 0);
    for (i = 0; i < N; i++) {
        CHECK_OK(skl_topk_add(&top, &sketch, &i, sizeof i, i + 1, NULL));
    }
    CHECK_OK(skl_topk_seal(&top));
    CHECK(watch.calls == 1 && watch.live == 1);
    skl_topk_free(&top);
    skl_topk_free(&top);
    CHECK(watch.calls == 1 && watch.live == 0);
    skl_cms_free(&sketch);
}

static void info(const skl_cms_params *params)
{
    const double error = 11 * params->epsilon; /* rounded here, where the machine computes in more bits */
    skl_cms *handle = in_place(params);
    skl_cms_info found;
    CHECK_OK(skl_cms_add_u64(handle, 1, 9, NULL));
    CHECK_OK(skl_cms_add_u64(handle, 1, 2, NULL));
    found = info_of(handle);
    CHECK(found.struct_size == sizeof found && found.image_bytes == params->image_bytes);
    CHECK(found.width == params->width && found.seed == params->seed && found.total == 11);
    CHECK(found.zero_counters == DEPTH * (WIDTH - 1));
    CHECK(found.saturated_counters == 0 && found.greatest_counter == 11 && found.epsilon == params->epsilon);
    CHECK(found.delta == params->delta && found.error == error && found.depth == params->depth);
    CHECK(found.layout == params->layout && found.counter_bytes == params->counter_bytes);
    CHECK(found.conservative == params->conservative && found.hash_id == params->hash_id);
    CHECK((int)found.simd_level == skl_simd_level() && found.is_sealed == 0 && found.reserved == 0);
    CHECK_OK(skl_cms_set_simd_level(handle, SKL_SIMD_PORTABLE));
    CHECK_OK(skl_cms_seal(handle));
    CHECK(info_of(handle).simd_level == SKL_SIMD_PORTABLE && info_of(handle).is_sealed == 1);
}

/* An image may lie at any address, to be read or to be changed. */
static void any_address(const skl_cms_params *params)
{
    skl_cms half = reference(params, 0, 150), rest = reference(params, 150, N), whole = reference(params, 0, N), handle;
    unsigned char *room = malloc((size_t)params->image_bytes + 129);
    const void *bytes = NULL, *where = NULL;
    size_t len = 0, where_len = 0, shift;
    uint64_t i;
    if (room == NULL) {
        abort();
    }
    CHECK_OK(skl_cms_image(&half, &bytes, &len));
    for (shift = 0; shift < 64; shift += 7) {
        unsigned char *image = room + 1 + shift;
        memset(room, 0xa5, len + 129);
        memcpy(image, bytes, len);
        CHECK_OK(skl_cms_view(&handle, image, len, SKL_OPEN_STRICT));
        for (i = 0; i < N; i++) {
            CHECK(estimate_of(&handle, i) == estimate_of(&half, i));
        }
        CHECK_EQUAL(SKL_ERR_READ_ONLY, skl_cms_add_u64(&handle, 1, 1, NULL));
        CHECK_OK(skl_cms_open(&handle, image, len, SKL_OPEN_STRICT));
        CHECK_OK(skl_cms_image(&handle, &where, &where_len));
        CHECK(where == image && where_len == len && info_of(&handle).is_sealed == 1);
        CHECK(memcmp(image, bytes, len) == 0);
        for (i = 150; i < N; i++) {
            CHECK_OK(skl_cms_add_u64(&handle, i, count_of(i), NULL));
        }
        CHECK(same(&handle, &whole));
        CHECK_OK(skl_cms_clear(&handle));
        CHECK_OK(skl_cms_merge(&handle, &rest));
        CHECK(same(&handle, &rest));
        CHECK(image[-1] == 0xa5 && image[len] == 0xa5);
        skl_cms_free(&handle);
        CHECK_EQUAL(SKL_ERR_HANDLE, skl_cms_add_u64(&handle, 1, 1, NULL));
    }
    free(room);
    skl_cms_free(&half);
    skl_cms_free(&rest);
    skl_cms_free(&whole);
}

/* Every kind of change takes the seal off. */
static void unsealing(void)
{
    const skl_cms_params params = shape(SKL_CMS_ROWS, 4);
    skl_cms *handle = in_place(&params), other = reference(&params, 0, 9), view;
    uint64_t keys[2] = {1, 2};
    skl_keys batch = {SKL_KEYS_U64, 0, 2, NULL, 0, NULL, NULL};
    skl_cms_window window = {1, 0};
    const void *image = NULL;
    size_t len = 0;
    int change;
    batch.data = keys;
    CHECK_OK(skl_cms_image(handle, &image, &len));
    for (change = 0; change < 10; change++) {
        CHECK_OK(skl_cms_seal(handle));
        CHECK_OK(skl_cms_view(&view, image, len, SKL_OPEN_STRICT));
        CHECK_OK(change == 0   ? skl_cms_add(handle, "key", 3, 1, NULL)
                 : change == 1 ? skl_cms_add_u64(handle, 1, 1, NULL)
                 : change == 2 ? skl_cms_add_hash(handle, 1, 1, NULL)
                 : change == 3 ? skl_cms_add_batch(handle, &batch, NULL)
                 : change == 4 ? skl_cms_add_batch(handle, &batch, keys)
                 : change == 5 ? skl_cms_add_hashes(handle, keys, 2, NULL)
                 : change == 6 ? skl_cms_merge(handle, &other)
                 : change == 7 ? skl_cms_halve(handle, 1)
                 : change == 8 ? skl_cms_window_advance(&window, handle, 2, NULL)
                               : skl_cms_clear(handle));
        CHECK_EQUAL(0, info_of(handle).is_sealed);
        CHECK_EQUAL(SKL_ERR_UNSEALED, skl_cms_view(&view, image, len, SKL_OPEN_STRICT));
        CHECK_OK(skl_cms_view(&view, image, len, SKL_OPEN_ALLOW_UNSEALED)); /* the total is right at any time */
        CHECK(info_of(&view).total == info_of(handle).total);
    }
    skl_cms_free(&other);
}

/* ---- top-k ---- */

static skl_topk_entry entry_of(const skl_topk *top, size_t i)
{
    skl_topk_entry *entry = in(&guarded.out, sizeof *entry);
    entry->struct_size = sizeof *entry;
    CHECK_OK(skl_topk_get(top, i, entry));
    return *entry;
}

static skl_topk_info top_info_of(const skl_topk *top)
{
    skl_topk_info *info = in(&guarded.out, sizeof *info);
    info->struct_size = sizeof *info;
    CHECK_OK(skl_topk_get_info(top, info));
    return *info;
}

/* Keys "k0" to "k99": number i came `times` * (i + 1) times. The last ones are the most frequent. */
static void add_keys(skl_topk *top, skl_cms *sketch, int first, int last, uint64_t times)
{
    char key[8];
    for (; first < last; first++) {
        snprintf(key, sizeof key, "k%d", first);
        CHECK_OK(skl_topk_add(top, sketch, key, strlen(key), times * (uint64_t)(first + 1), NULL));
    }
}

/* Whether key number i is "k" and this number, counted so often. */
static int stands(const skl_topk *top, size_t i, int number, uint64_t count)
{
    const skl_topk_entry entry = entry_of(top, i);
    char key[8];
    uint64_t hash = 0;
    snprintf(key, sizeof key, "k%d", number);
    CHECK_OK(skl_hash_bytes(key, strlen(key), 0, &hash));
    return entry.struct_size == sizeof entry && entry.kept_bytes == strlen(key) && entry.key_bytes == strlen(key) &&
           memcmp(entry.key, key, strlen(key)) == 0 && entry.hash == hash && entry.count == count;
}

static void most_frequent(void)
{
    const skl_cms_params params = shape(SKL_CMS_ROWS, 4);
    skl_topk_params top_params;
    skl_cms *sketch = in_place(&params), others = reference(&params, 0, 0);
    skl_topk top, other, view;
    unsigned char *memory;
    const void *image = NULL;
    uint64_t bytes = 0, estimate = 0;
    size_t len = 0, i;
    CHECK_OK(skl_topk_params_for(TOP, KEY, &top_params));
    CHECK(top_params.k == TOP && top_params.max_key_bytes == KEY && top_params.seed == 0);
    CHECK(top_params.hash_id == SKL_HASH_XXH3 && top_params.reserved == 0);
    CHECK_OK(skl_topk_required_bytes(&top_params, &bytes));
    CHECK(bytes == top_params.image_bytes && bytes == 64 + 5 * 64); /* 26 bytes a key */
    memory = in(&guarded.two, (size_t)bytes);
    CHECK_OK(skl_topk_init(&top, memory, (size_t)bytes, &top_params));
    CHECK(top_info_of(&top).num_keys == 0);
    add_keys(&top, sketch, 0, 100, 3);
    CHECK_OK(skl_topk_sort(&top));
    CHECK(top_info_of(&top).num_keys == TOP && top_info_of(&top).is_sealed == 0);
    for (i = 0; i < TOP; i++) {
        CHECK(stands(&top, i, 99 - (int)i, 3 * (100 - i)));
    }
    /* One of the last comes to the front. */
    CHECK_OK(skl_topk_add(&top, sketch, "k5", 2, 1000, &estimate));
    CHECK(estimate == 1018);
    CHECK_OK(skl_topk_seal(&top));
    CHECK(stands(&top, 0, 5, 1018) && stands(&top, 1, 99, 300) && stands(&top, 9, 91, 276));

    /* The image: seen, opened, changed. */
    CHECK_OK(skl_topk_image(&top, &image, &len));
    CHECK(image == memory && len == bytes && top_info_of(&top).is_sealed == 1);
    CHECK_OK(skl_topk_view(&view, image, len, SKL_OPEN_STRICT));
    CHECK(stands(&view, 0, 5, 1018) && stands(&view, 9, 91, 276));
    CHECK(top_info_of(&view).k == TOP && top_info_of(&view).max_key_bytes == KEY && top_info_of(&view).seed == 0);
    CHECK(top_info_of(&view).image_bytes == len && top_info_of(&view).hash_id == SKL_HASH_XXH3);
    CHECK_OK(skl_topk_open(&top, memory, len, SKL_OPEN_STRICT));
    CHECK_EQUAL(0, skl_topk_offer(&top, "k0", 2, 1, 276)); /* no more than the least */
    CHECK_EQUAL(1, top_info_of(&top).is_sealed);
    CHECK_EQUAL(1, skl_topk_offer(&top, "front of it", 11, 12345, 5000));
    CHECK_EQUAL(SKL_ERR_UNSEALED, skl_topk_view(&view, image, len, SKL_OPEN_STRICT));
    CHECK_OK(skl_topk_sort(&top));
    CHECK(entry_of(&top, 0).kept_bytes == KEY && entry_of(&top, 0).key_bytes == 11 && entry_of(&top, 0).hash == 12345);
    CHECK(memcmp(entry_of(&top, 0).key, "front ", KEY) == 0 && entry_of(&top, 0).count == 5000);

    /* The sketch knows nothing of what was only offered; halved, it counts half. */
    CHECK_OK(skl_cms_halve(sketch, 1));
    CHECK_OK(skl_topk_refresh(&top, sketch));
    CHECK_OK(skl_topk_sort(&top));
    CHECK(top_info_of(&top).num_keys == TOP - 1 && stands(&top, 0, 5, 509) && stands(&top, 1, 99, 150));

    /* Another stream: the same keys up to 49, a hundred times as often. */
    CHECK_OK(skl_topk_new(&other, &top_params, NULL));
    add_keys(&other, &others, 0, 50, 100);
    CHECK_OK(skl_cms_merge(sketch, &others));
    CHECK_OK(skl_topk_merge(&top, &other, sketch));
    CHECK_OK(skl_topk_seal(&top));
    for (i = 0; i < TOP; i++) {
        CHECK(stands(&top, i, 49 - (int)i, 100 * (50 - i) + 3 * (50 - i) / 2));
    }
    CHECK_OK(skl_topk_view(&view, memory, len, SKL_OPEN_STRICT));
    CHECK_OK(skl_topk_clear(&top));
    CHECK(top_info_of(&top).num_keys == 0 && top_info_of(&top).is_sealed == 0);

    /* A count that has stopped is told of here, too. */
    CHECK_OK(skl_topk_add(&top, sketch, "new", 3, UINT32_MAX - 1, &estimate));
    CHECK(estimate == UINT32_MAX - 1);
    CHECK_EQUAL(SKL_SATURATED, skl_topk_add(&top, sketch, "new", 3, 1, &estimate));
    CHECK(estimate == UINT32_MAX);
    CHECK_EQUAL(SKL_SATURATED, skl_topk_add(&top, sketch, "new", 3, 1, NULL));
    skl_topk_free(&top);
    skl_topk_free(&other);
    skl_cms_free(&others);
}

static void all(void)
{
    static const uint64_t numbers[] = {0, 1, 7, 63, 64, 65, N};
    size_t i;
    int kind;
    for (place = AT_END; place <= AT_START; place++) {
        for (kind = 0; kind < 8; kind++) {
            skl_cms_params params = shape(kind % 2 == 0 ? SKL_CMS_ROWS : SKL_CMS_TWO_LINE, kind / 2 % 2 == 0 ? 4 : 8);
            params.conservative = kind >= 4;
            params.seed = kind == 3 ? 77 : 0;
            for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
                every_way_in(&params, numbers[i]);
            }
            merges(&params);
            info(&params);
            any_address(&params);
            if (kind < 4) {
                saturation(params.layout, params.counter_bytes);
            }
        }
        aging();
        unsealing();
        most_frequent();
    }
    parameters();
    allocator();
}

int main(void)
{
    guarded.handle = make_region(sizeof(skl_cms));
    guarded.one = make_region(MOST_BYTES);
    guarded.two = make_region(MOST_BYTES);
    guarded.keys = make_region(16 * N);
    guarded.counts = make_region(16 * N);
    guarded.validity = make_region(4096);
    guarded.out = make_region(4096);
    return each_level("cms", all);
}
