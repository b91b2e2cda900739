/* hostile.c for the functions of Count-Min: every wrong argument, the documented status, and nothing written. */
#define _POSIX_C_SOURCE 200112L
#include "hostile.h"
#include "watch.h"
#include <limits.h>
#include <math.h>

/* Two rows of 20 counters of 4 bytes: two lines each, the second of which has padding. */
enum { WIDTH = 20, DEPTH = 2, ROW = 64 * 2, BYTES = 64 + DEPTH * ROW, OTHER = 64 + 6 * 64 };

static struct world {
    skl_cms sketch, view, callers, other; /* fine ones: see make_world */
    skl_cms target;                       /* to be filled by a call */
    unsigned char image[BYTES], viewed[BYTES], callers_image[BYTES], other_image[OTHER], memory[BYTES + 64];
    skl_cms_params params;
    skl_cms_info info;
    skl_cms_bounds bounds;
    skl_cms_window window;
    uint64_t bytes, estimate, estimates[KEYS + 1], product, halvings;
    size_t len;
    const void *where;
} world;

static uint64_t counts[KEYS + 1] = {5, 4, 3, 2, 1};

static skl_cms_params shape(void)
{
    skl_cms_params params;
    CHECK_OK(skl_cms_params_explicit(SKL_CMS_ROWS, 4, WIDTH, DEPTH, &params));
    CHECK(params.image_bytes == BYTES);
    return params;
}

static void make_world(void)
{
    skl_cms_params params = shape();
    memset(&world, 0xa5, sizeof world);
    CHECK_OK(skl_cms_init(&world.sketch, world.image, BYTES, &params));
    CHECK_OK(skl_cms_add_u64(&world.sketch, 1, 7, NULL));
    CHECK_OK(skl_cms_seal(&world.sketch));
    memcpy(world.viewed, world.image, BYTES);
    CHECK_OK(skl_cms_view(&world.view, world.viewed, BYTES, SKL_OPEN_STRICT));
    CHECK_OK(skl_cms_init(&world.other, world.other_image, BYTES, &params));
    CHECK_OK(skl_cms_seal(&world.other));
    params.hash_id = SKL_HASH_CALLER;
    CHECK_OK(skl_cms_init(&world.callers, world.callers_image, BYTES, &params));
    CHECK_OK(skl_cms_seal(&world.callers));
    world.info.struct_size = sizeof world.info;
    world.bounds.struct_size = sizeof world.bounds;
    world.window.period = 10;
    world.window.started = 0;
}

/* ---- handles ---- */

/* Every function that reads a handle. */
static void reads(int expected, const skl_cms *handle)
{
    REFUSES(expected, skl_cms_estimate(handle, "key", 3, &world.estimate));
    REFUSES(expected, skl_cms_estimate_u64(handle, 1, &world.estimate));
    REFUSES(expected, skl_cms_estimate_hash(handle, 1, &world.estimate));
    REFUSES(expected, skl_cms_estimate_batch(handle, &batch, world.estimates));
    REFUSES(expected, skl_cms_estimate_hashes(handle, numbers, KEYS, world.estimates));
    REFUSES(expected, skl_cms_get_bounds(handle, 1, &world.bounds));
    REFUSES(expected, skl_cms_merge(&world.sketch, handle));
    REFUSES(expected, skl_cms_inner_product(handle, &world.view, &world.product));
    REFUSES(expected, skl_cms_inner_product(&world.view, handle, &world.product));
    REFUSES(expected, skl_cms_image(handle, &world.where, &world.len));
    REFUSES(expected, skl_cms_get_info(handle, &world.info));
}

/* Every function that changes what a handle stands for. */
static void changes(int expected, skl_cms *handle)
{
    REFUSES(expected, skl_cms_add(handle, "key", 3, 1, NULL));
    REFUSES(expected, skl_cms_add(handle, "key", 3, 1, &world.estimate));
    REFUSES(expected, skl_cms_add_u64(handle, 1, 1, &world.estimate));
    REFUSES(expected, skl_cms_add_hash(handle, 1, 1, &world.estimate));
    REFUSES(expected, skl_cms_add_batch(handle, &batch, NULL));
    REFUSES(expected, skl_cms_add_batch(handle, &batch, counts));
    REFUSES(expected, skl_cms_add_hashes(handle, numbers, KEYS, NULL));
    REFUSES(expected, skl_cms_add_hashes(handle, numbers, KEYS, counts));
    REFUSES(expected, skl_cms_merge(handle, &world.other));
    REFUSES(expected, skl_cms_halve(handle, 0));
    REFUSES(expected, skl_cms_halve(handle, 1));
    REFUSES(expected, skl_cms_halve(handle, UINT32_MAX));
    REFUSES(expected, skl_cms_window_advance(&world.window, handle, 25, &world.halvings));
    REFUSES(expected, skl_cms_window_advance(&world.window, handle, 0, NULL));
    REFUSES(expected, skl_cms_clear(handle));
    REFUSES(expected, skl_cms_seal(handle));
}

static void not_a_handle(int expected, skl_cms *handle)
{
    reads(expected, handle);
    changes(expected, handle);
    REFUSES(expected, skl_cms_set_simd_level(handle, SKL_SIMD_PORTABLE));
    REFUSES(0, (skl_cms_free(handle), 0));
}

static void no_room_for_a_handle(int expected, skl_cms *handle)
{
    const skl_cms_params params = shape();
    REFUSES(expected, skl_cms_init(handle, world.memory, BYTES, &params));
    REFUSES(expected, skl_cms_new(handle, &params, NULL));
    REFUSES(expected, skl_cms_view(handle, world.viewed, BYTES, SKL_OPEN_STRICT));
    REFUSES(expected, skl_cms_open(handle, world.image, BYTES, SKL_OPEN_STRICT));
}

static void handles(void)
{
    static const int garbage[] = {0x00, 0xff, 0x5a, 0x01};
    const skl_cms_params params = shape();
    skl_bloom_params bloom_params;
    skl_hll_params hll_params;
    skl_bloom bloom;
    skl_hll hll;
    size_t i;
    not_a_handle(SKL_ERR_NULL, NULL);
    not_a_handle(SKL_ERR_ALIGNMENT, off(&world.sketch));
    no_room_for_a_handle(SKL_ERR_NULL, NULL);
    no_room_for_a_handle(SKL_ERR_ALIGNMENT, off(&world.target));
    for (i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        memset(&world.target, garbage[i], sizeof world.target);
        not_a_handle(SKL_ERR_HANDLE, &world.target);
    }
    CHECK_OK(skl_cms_new(&world.target, &params, NULL));
    skl_cms_free(&world.target);
    not_a_handle(SKL_ERR_HANDLE, &world.target);
    CHECK_OK(skl_cms_init(&world.target, world.memory, BYTES, &params));
    skl_cms_free(&world.target);
    not_a_handle(SKL_ERR_HANDLE, &world.target);
    /* Handles of other kinds, and the other way round. */
    CHECK_OK(skl_bloom_params_explicit(1, 8, &bloom_params));
    CHECK_OK(skl_bloom_init(&bloom, world.memory, 128, &bloom_params));
    memcpy(&world.target, &bloom, sizeof bloom);
    not_a_handle(SKL_ERR_HANDLE, &world.target);
    CHECK_OK(skl_hll_params_for(4, &hll_params));
    CHECK_OK(skl_hll_init(&hll, world.memory, 128, &hll_params));
    memcpy(&world.target, &hll, sizeof hll);
    not_a_handle(SKL_ERR_HANDLE, &world.target);
    memcpy(&bloom, &world.view, sizeof bloom);
    memcpy(&hll, &world.view, sizeof hll);
    CHECK_EQUAL(SKL_ERR_HANDLE, skl_bloom_contains_u64(&bloom, 1));
    CHECK_EQUAL(SKL_ERR_HANDLE, skl_hll_insert_u64(&hll, 1));
    changes(SKL_ERR_READ_ONLY, &world.view);
    skl_cms_free(NULL);
}

/* ---- numbers ---- */

/* Every function that is given a shape is given world.params. */
static void takes_params(int expected)
{
    struct watch watch;
    const skl_allocator hooks = watched_by(&watch, 9);
    REFUSES(expected, skl_cms_required_bytes(&world.params, &world.bytes));
    REFUSES(expected, skl_cms_init(&world.target, world.memory, BYTES, &world.params));
    REFUSES(expected, skl_cms_new(&world.target, &world.params, &hooks));
    CHECK_EQUAL(0, watch.calls);
}

static void shapes(void)
{
    static const uint32_t no_layout[] = {2, 256, UINT32_MAX}, no_counter[] = {0, 1, 2, 5, 16, 32, 260, UINT32_MAX};
    static const uint32_t no_depth[] = {0, 17, 256 + 4, UINT32_MAX}, no_flag[] = {2, 256, UINT32_MAX};
    static const uint32_t no_hash[] = {0, 3, 257, UINT32_MAX};
    static const double no_share[] = {0.0, -0.0, 1.0, -1.0, 1.5, NAN, INFINITY, -INFINITY};
    const uint64_t most = UINT32_MAX;
    const skl_cms_params fine = shape();
    skl_cms_params *params = &world.params;
    size_t i;
    for (i = 0; i < sizeof no_share / sizeof *no_share; i++) {
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_for_error(SKL_CMS_ROWS, 4, no_share[i], 0.1, params));
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_for_error(SKL_CMS_ROWS, 4, 0.1, no_share[i], params));
    }
    for (i = 0; i < sizeof no_layout / sizeof *no_layout; i++) {
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_for_error(no_layout[i], 4, 0.1, 0.2, params));
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_for_bytes(no_layout[i], 4, 4096, 4, params));
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_explicit(no_layout[i], 4, 16, 4, params));
        *params = fine;
        params->layout = no_layout[i];
        takes_params(SKL_ERR_ARGUMENT);
    }
    for (i = 0; i < sizeof no_counter / sizeof *no_counter; i++) {
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_for_error(SKL_CMS_ROWS, no_counter[i], 0.1, 0.2, params));
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_for_bytes(SKL_CMS_ROWS, no_counter[i], 4096, 4, params));
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_explicit(SKL_CMS_ROWS, no_counter[i], 16, 4, params));
        *params = fine;
        params->counter_bytes = no_counter[i];
        takes_params(SKL_ERR_ARGUMENT);
    }
    for (i = 0; i < sizeof no_depth / sizeof *no_depth; i++) {
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_for_bytes(SKL_CMS_ROWS, 4, 4096, no_depth[i], params));
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_for_bytes(SKL_CMS_TWO_LINE, 4, 4096, no_depth[i], params));
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_explicit(SKL_CMS_ROWS, 4, 16, no_depth[i], params));
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_explicit(SKL_CMS_TWO_LINE, 4, 16, no_depth[i], params));
        *params = fine;
        params->depth = no_depth[i];
        takes_params(SKL_ERR_ARGUMENT);
    }
    for (i = 0; i < sizeof no_flag / sizeof *no_flag; i++) {
        *params = fine;
        params->conservative = no_flag[i];
        takes_params(SKL_ERR_ARGUMENT);
        *params = fine;
        params->reserved = no_flag[i];
        takes_params(SKL_ERR_ARGUMENT);
    }
    for (i = 0; i < sizeof no_hash / sizeof *no_hash; i++) {
        *params = fine;
        params->hash_id = no_hash[i];
        takes_params(SKL_ERR_HASH);
    }
    *params = fine;
    params->width = 0;
    takes_params(SKL_ERR_ARGUMENT);
    params->width = most + 1;
    takes_params(SKL_ERR_TOO_LARGE);
    params->width = UINT64_MAX;
    takes_params(SKL_ERR_TOO_LARGE);
    params->layout = SKL_CMS_TWO_LINE;
    params->depth = 4;
    takes_params(SKL_ERR_TOO_LARGE);
    params->width = WIDTH; /* not a multiple of 8 */
    takes_params(SKL_ERR_ARGUMENT);
    params->width = 16;
    params->depth = 3;
    takes_params(SKL_ERR_ARGUMENT);
    REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_explicit(SKL_CMS_TWO_LINE, 4, 16, 3, params));
    REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_explicit(SKL_CMS_ROWS, 4, 0, 4, params));
    REFUSES(SKL_ERR_TOO_LARGE, skl_cms_params_explicit(SKL_CMS_ROWS, 4, most + 1, 4, params));
    REFUSES(SKL_ERR_TOO_LARGE, skl_cms_params_explicit(SKL_CMS_TWO_LINE, 8, UINT64_MAX, 4, params));
    REFUSES(SKL_ERR_UNREACHABLE, skl_cms_params_for_error(SKL_CMS_ROWS, 4, 0.1, 1e-8, params));
    REFUSES(SKL_ERR_UNREACHABLE, skl_cms_params_for_error(SKL_CMS_TWO_LINE, 4, 0.1, 0.1, params));
    REFUSES(SKL_ERR_TOO_LARGE, skl_cms_params_for_error(SKL_CMS_ROWS, 4, 1e-10, 0.1, params));
    REFUSES(SKL_ERR_TOO_LARGE, skl_cms_params_for_error(SKL_CMS_ROWS, 4, 1e-300, 0.1, params));
    REFUSES(SKL_ERR_TOO_LARGE, skl_cms_params_for_bytes(SKL_CMS_ROWS, 4, UINT64_MAX, 16, params));
    REFUSES(SKL_ERR_TOO_LARGE, skl_cms_params_for_bytes(SKL_CMS_TWO_LINE, 8, UINT64_MAX, 4, params));
    REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_for_bytes(SKL_CMS_ROWS, 4, 0, 1, params));
    REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_for_bytes(SKL_CMS_ROWS, 4, 4 * 64 - 1, 4, params));
    REFUSES(SKL_ERR_ARGUMENT, skl_cms_params_for_bytes(SKL_CMS_TWO_LINE, 4, 127, 4, params));
    /* Just inside the limits. */
    CHECK_OK(skl_cms_params_explicit(SKL_CMS_ROWS, 8, most, 16, params));
    CHECK_OK(skl_cms_required_bytes(params, &world.bytes));
    CHECK(world.bytes == 64 + UINT64_C(16) * 8 * (most + 1));
}

static void other_numbers(void)
{
    static const int no_level[] = {-1, 5, 99, 256, INT_MAX, INT_MIN};
    static const size_t sizes[] = {0, 1, 8, SIZE_MAX};
    size_t i;
    for (i = 0; i < sizeof no_level / sizeof *no_level; i++) {
        REFUSES(SKL_ERR_SIMD, skl_cms_set_simd_level(&world.sketch, no_level[i]));
    }
    for (i = 0; i < 6; i++) {
        const size_t beside = i == 4 ? 1 : SIZE_MAX; /* one more, one less */
        world.info.struct_size = i < 4 ? sizes[i] : sizeof world.info + beside;
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_get_info(&world.view, &world.info));
        world.bounds.struct_size = i < 4 ? sizes[i] : sizeof world.bounds + beside;
        REFUSES(SKL_ERR_ARGUMENT, skl_cms_get_bounds(&world.view, 1, &world.bounds));
    }
    world.window.period = 0;
    REFUSES(SKL_ERR_ARGUMENT, skl_cms_window_advance(&world.window, &world.sketch, 25, &world.halvings));
    /* Any time, any number of halvings. */
    world.window.period = 1;
    CHECK_OK(skl_cms_window_advance(&world.window, &world.sketch, UINT64_MAX, &world.halvings));
    CHECK(world.halvings == UINT64_MAX && world.window.started == UINT64_MAX && world.window.period == 1);
    CHECK_OK(skl_cms_window_advance(&world.window, &world.sketch, 0, &world.halvings));
    CHECK(world.halvings == 0 && world.window.started == UINT64_MAX);
    CHECK_OK(skl_cms_halve(&world.sketch, UINT32_MAX));
}

/* ---- pointers and lengths ---- */

/* Pointers that must not be NULL, each alone in the wrong: `bad` is how it becomes so. */
static void must_be_given(int expected, void *bad(void *))
{
    const skl_cms_params fine = shape();
    const skl_cms *view = &world.view;
    world.params = fine;
    REFUSES(expected, skl_cms_params_for_error(SKL_CMS_ROWS, 4, 0.1, 0.2, bad(&world.params)));
    REFUSES(expected, skl_cms_params_for_bytes(SKL_CMS_ROWS, 4, 4096, 4, bad(&world.params)));
    REFUSES(expected, skl_cms_params_explicit(SKL_CMS_ROWS, 4, 16, 4, bad(&world.params)));
    REFUSES(expected, skl_cms_required_bytes(bad(&world.params), &world.bytes));
    REFUSES(expected, skl_cms_required_bytes(&fine, bad(&world.bytes)));
    REFUSES(expected, skl_cms_init(&world.target, world.memory, BYTES, bad(&world.params)));
    REFUSES(expected, skl_cms_new(&world.target, bad(&world.params), NULL));
    REFUSES(expected, skl_cms_estimate(view, "key", 3, bad(&world.estimate)));
    REFUSES(expected, skl_cms_estimate_u64(view, 1, bad(&world.estimate)));
    REFUSES(expected, skl_cms_estimate_hash(view, 1, bad(&world.estimate)));
    REFUSES(expected, skl_cms_estimate_batch(view, &batch, bad(world.estimates)));
    REFUSES(expected, skl_cms_estimate_hashes(view, bad(numbers), KEYS, world.estimates));
    REFUSES(expected, skl_cms_estimate_hashes(view, numbers, KEYS, bad(world.estimates)));
    REFUSES(expected, skl_cms_add_hashes(&world.sketch, bad(numbers), KEYS, NULL));
    REFUSES(expected, skl_cms_add_hashes(&world.sketch, bad(numbers), KEYS, counts));
    REFUSES(expected, skl_cms_get_bounds(view, 1, bad(&world.bounds)));
    REFUSES(expected, skl_cms_inner_product(view, &world.other, bad(&world.product)));
    REFUSES(expected, skl_cms_window_advance(bad(&world.window), &world.sketch, 25, &world.halvings));
    REFUSES(expected, skl_cms_image(view, bad(&world.where), &world.len));
    REFUSES(expected, skl_cms_image(view, &world.where, bad(&world.len)));
    REFUSES(expected, skl_cms_get_info(view, bad(&world.info)));
}

static void pointers_and_lengths(void)
{
    const skl_cms_params params = shape();
    skl_allocator hooks = {NULL, NULL, NULL};
    skl_cms *sketch = &world.sketch;
    must_be_given(SKL_ERR_NULL, null);
    must_be_given(SKL_ERR_ALIGNMENT, off);
    /* These may be NULL, but not lie anywhere. */
    REFUSES(SKL_ERR_ALIGNMENT, skl_cms_add(sketch, "key", 3, 1, off(&world.estimate)));
    REFUSES(SKL_ERR_ALIGNMENT, skl_cms_add_u64(sketch, 1, 1, off(&world.estimate)));
    REFUSES(SKL_ERR_ALIGNMENT, skl_cms_add_hash(sketch, 1, 1, off(&world.estimate)));
    REFUSES(SKL_ERR_ALIGNMENT, skl_cms_add_batch(sketch, &batch, off(counts)));
    REFUSES(SKL_ERR_ALIGNMENT, skl_cms_add_hashes(sketch, numbers, KEYS, off(counts)));
    REFUSES(SKL_ERR_ALIGNMENT, skl_cms_window_advance(&world.window, sketch, 25, off(&world.halvings)));
    REFUSES(SKL_ERR_ALIGNMENT, skl_cms_new(&world.target, &params, off(&hooks)));
    REFUSES(SKL_ERR_NULL, skl_cms_new(&world.target, &params, &hooks));
    hooks.alloc = watched_alloc;
    REFUSES(SKL_ERR_NULL, skl_cms_new(&world.target, &params, &hooks));

    REFUSES(SKL_ERR_NULL, skl_cms_add(sketch, NULL, 5, 1, NULL));
    REFUSES(SKL_ERR_NULL, skl_cms_estimate(sketch, NULL, 5, &world.estimate));
    REFUSES(SKL_ERR_NULL, skl_cms_init(&world.target, NULL, BYTES, &params));
    REFUSES(SKL_ERR_NULL, skl_cms_view(&world.target, NULL, BYTES, 0));
    REFUSES(SKL_ERR_NULL, skl_cms_open(&world.target, NULL, BYTES, 0));
    REFUSES(SKL_ERR_LENGTH, skl_cms_add(sketch, "key", SIZE_MAX, 1, NULL));
    REFUSES(SKL_ERR_LENGTH, skl_cms_add(sketch, "key", SIZE_MAX, 1, &world.estimate));
    REFUSES(SKL_ERR_LENGTH, skl_cms_estimate(sketch, "key", SIZE_MAX, &world.estimate));
    REFUSES(SKL_ERR_LENGTH, skl_cms_add_hashes(sketch, numbers, SIZE_MAX, NULL));
    REFUSES(SKL_ERR_LENGTH, skl_cms_add_hashes(sketch, numbers, SIZE_MAX / 8, counts));
    REFUSES(SKL_ERR_LENGTH, skl_cms_estimate_hashes(sketch, numbers, SIZE_MAX, world.estimates));
    REFUSES(SKL_ERR_LENGTH, skl_cms_estimate_hashes(sketch, numbers, SIZE_MAX / 8, world.estimates));

    /* Nothing is all right, and changes nothing: the seal stays. */
    REFUSES(0, skl_cms_add_hashes(sketch, NULL, 0, NULL));
    REFUSES(0, skl_cms_add_hashes(sketch, NULL, 0, counts));
    REFUSES(0, skl_cms_estimate_hashes(sketch, NULL, 0, NULL));
    REFUSES(0, skl_cms_halve(sketch, 0));
    CHECK_OK(skl_cms_add(sketch, NULL, 0, 1, &world.estimate));
    CHECK_OK(skl_cms_estimate(sketch, "", 0, &world.estimate));
    CHECK(world.estimate == 1);
}

/* Lengths of images and memory that do not fit. */
static void wrong_lengths(void)
{
    const skl_cms_params params = shape();
    size_t len;
    for (len = 0; len <= BYTES + 64; len++) {
        if (len != BYTES) {
            REFUSES(SKL_ERR_LENGTH, skl_cms_init(&world.target, len == 0 ? NULL : world.memory, len, &params));
        }
        if (len < BYTES) { /* cut off */
            REFUSES(SKL_ERR_LENGTH, skl_cms_view(&world.target, len == 0 ? NULL : world.viewed, len, 1));
            REFUSES(SKL_ERR_LENGTH, skl_cms_open(&world.target, len == 0 ? NULL : world.viewed, len, 1));
        }
    }
    memcpy(world.memory, world.viewed, BYTES);
    for (len = BYTES + 1; len <= BYTES + 64; len += 63) {
        REFUSES(SKL_ERR_LENGTH, skl_cms_view(&world.target, world.memory, len, 0));
        REFUSES(SKL_ERR_LENGTH, skl_cms_open(&world.target, world.memory, len, 0));
    }
    for (len = SIZE_MAX; len >= SIZE_MAX - 63; len -= 63) { /* the second is a multiple of 64 */
        REFUSES(SKL_ERR_LENGTH, skl_cms_init(&world.target, world.memory, len, &params));
        REFUSES(SKL_ERR_LENGTH, skl_cms_view(&world.target, world.viewed, len, 0));
        REFUSES(SKL_ERR_LENGTH, skl_cms_open(&world.target, world.viewed, len, 0));
    }
}

/* An allocator that has nothing, for a small sketch and for the greatest: 512 GiB, for which 32 bits do not ask. */
static void no_memory(void)
{
    struct watch watch;
    const skl_allocator hooks = watched_by(&watch, 0);
    world.params = shape();
    REFUSES(SKL_ERR_NO_MEMORY, skl_cms_new(&world.target, &world.params, &hooks));
    CHECK_OK(skl_cms_params_explicit(SKL_CMS_ROWS, 8, UINT32_MAX, 16, &world.params));
    REFUSES(sizeof(size_t) < 8 ? SKL_ERR_TOO_LARGE : SKL_ERR_NO_MEMORY, skl_cms_new(&world.target, &world.params, &hooks));
    CHECK(watch.calls == 0 && watch.live == 0);
}

/* ---- batches ---- */

static void takes(int expected, const skl_keys *keys)
{
    REFUSES(expected, skl_cms_add_batch(&world.sketch, keys, NULL));
    REFUSES(expected, skl_cms_add_batch(&world.sketch, keys, counts));
    REFUSES(expected, skl_cms_estimate_batch(&world.view, keys, world.estimates));
}

/* A sketch of the caller's hashes takes no keys. */
static void batches(void)
{
    skl_cms *callers = &world.callers;
    skl_keys keys = batch;
    static const unsigned char validity[1] = {0x1f};
    bad_batches(takes);
    REFUSES(SKL_ERR_CALLER_HASH, skl_cms_add(callers, "key", 3, 1, &world.estimate));
    REFUSES(SKL_ERR_CALLER_HASH, skl_cms_add_u64(callers, 1, 1, &world.estimate));
    REFUSES(SKL_ERR_CALLER_HASH, skl_cms_estimate(callers, "key", 3, &world.estimate));
    REFUSES(SKL_ERR_CALLER_HASH, skl_cms_estimate_u64(callers, 1, &world.estimate));
    for (; keys.validity == NULL; keys.validity = validity) {
        REFUSES(SKL_ERR_CALLER_HASH, skl_cms_add_batch(callers, &keys, NULL));
        REFUSES(SKL_ERR_CALLER_HASH, skl_cms_add_batch(callers, &keys, counts));
        REFUSES(SKL_ERR_CALLER_HASH, skl_cms_estimate_batch(callers, &keys, world.estimates));
    }
    keys.kind = SKL_KEYS_HASHES;
    CHECK_OK(skl_cms_add_hash(callers, 1, 1, NULL));
    CHECK_OK(skl_cms_add_batch(callers, &keys, counts));
    CHECK_OK(skl_cms_estimate_hash(callers, 1, &world.estimate));
    CHECK(world.estimate >= 6);
    /* No keys at all need no arrays. */
    memset(&keys, 0, sizeof keys);
    CHECK_OK(skl_cms_add_batch(&world.sketch, &keys, NULL));
    CHECK_OK(skl_cms_estimate_batch(&world.sketch, &keys, NULL));
}

/* ---- two sketches ---- */

static void incompatible(void)
{
    skl_cms_params params;
    int i;
    for (i = 0; i < 7; i++) {
        params = shape();
        params.width += i == 0;
        params.depth += i == 1;
        params.counter_bytes = i == 2 ? 8 : 4;
        params.seed = i == 3;
        params.hash_id = i == 4 ? SKL_HASH_CALLER : SKL_HASH_XXH3;
        if (i == 5) {
            CHECK_OK(skl_cms_params_explicit(SKL_CMS_TWO_LINE, 4, 16, 4, &params));
        }
        params.conservative = i == 6;
        CHECK_OK(skl_cms_required_bytes(&params, &world.bytes));
        CHECK(world.bytes <= OTHER);
        CHECK_OK(skl_cms_init(&world.other, world.other_image, (size_t)world.bytes, &params));
        CHECK_OK(skl_cms_add_hash(&world.other, 77, 3, NULL));
        CHECK_OK(skl_cms_seal(&world.other));
        if (i < 6) { /* only the way of adding differs in the last */
            REFUSES(SKL_ERR_INCOMPATIBLE, skl_cms_merge(&world.sketch, &world.other));
            REFUSES(SKL_ERR_INCOMPATIBLE, skl_cms_merge(&world.other, &world.sketch));
        }
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_cms_inner_product(&world.view, &world.other, &world.product));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_cms_inner_product(&world.other, &world.view, &world.product));
    }
    /* With itself: no merge, but a product. */
    REFUSES(SKL_ERR_INCOMPATIBLE, skl_cms_inner_product(&world.other, &world.other, &world.product));
    REFUSES(SKL_ERR_ARGUMENT, skl_cms_merge(&world.sketch, &world.sketch));
    CHECK_OK(skl_cms_inner_product(&world.sketch, &world.sketch, &world.product));
    CHECK(world.product == 49);
}

/* ---- images ---- */

static void opens(int expected, uint32_t flags)
{
    REFUSES(expected, skl_cms_view(&world.target, world.memory, BYTES, flags));
    REFUSES(expected, skl_cms_open(&world.target, world.memory, BYTES, flags));
}

static void images(void)
{
    static const struct fault faults[] = {
        {0, 's', SKL_ERR_MAGIC},         {4, 1, SKL_ERR_KIND},       {4, 2, SKL_ERR_KIND},
        {4, 7, SKL_ERR_KIND},            {5, 0, SKL_ERR_VERSION},    {5, 2, SKL_ERR_VERSION},
        {6, 2, SKL_ERR_FLAG},            {6, 1, SKL_ERR_HEADER_CHECKSUM}, {7, 0, SKL_ERR_HASH},
        {16, 64, SKL_ERR_LENGTH},        {23, 1, SKL_ERR_LENGTH},    {24, 1, SKL_ERR_PARAMETER},
        {32, 0, SKL_ERR_PARAMETER},      {32, 33, SKL_ERR_PARAMETER}, {35, 1, SKL_ERR_PARAMETER},
        {36, 0, SKL_ERR_PARAMETER},      {36, DEPTH + 1, SKL_ERR_PARAMETER}, {36, 17, SKL_ERR_PARAMETER},
        {37, 1, SKL_ERR_PARAMETER},      {37, 2, SKL_ERR_PARAMETER}, {38, 0, SKL_ERR_PARAMETER},
        {38, 5, SKL_ERR_PARAMETER},      {38, 8, SKL_ERR_PARAMETER}, {39, 2, SKL_ERR_FLAG},
        {39, 255, SKL_ERR_FLAG},         {48, 1, SKL_ERR_HEADER_CHECKSUM}, {63, 1, SKL_ERR_HEADER_CHECKSUM},
        /* between the rows, and behind the last */
        {64 + 4 * WIDTH, 1, SKL_ERR_PAYLOAD}, {64 + ROW - 1, 1, SKL_ERR_PAYLOAD}, {BYTES - 1, 1, SKL_ERR_PAYLOAD},
    };
    const skl_cms_params params = shape();
    skl_topk top;
    uint32_t flags;
    size_t i;
    /* A sealed image with one bit flipped, whichever. */
    memcpy(world.memory, world.viewed, BYTES);
    for (i = 0; i < 8 * BYTES; i++) {
        world.memory[i / 8] ^= (unsigned char)(1 << i % 8);
        snapshot();
        for (flags = 0; flags < 4; flags++) {
            const int vouched = i >= 8 * 64 && (flags & SKL_OPEN_SKIP_PAYLOAD_CHECK) != 0;
            CHECK(vouched || skl_cms_view(&world.target, world.memory, BYTES, flags) < 0);
            CHECK(vouched || skl_cms_open(&world.target, world.memory, BYTES, flags) < 0);
        }
        CHECK(memcmp(world_before, &world, sizeof world) == 0);
        world.memory[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    /* An image that was never sealed, with one fault. */
    CHECK_OK(skl_cms_init(&world.target, world.memory, BYTES, &params));
    opens(SKL_ERR_UNSEALED, SKL_OPEN_STRICT);
    opens(SKL_ERR_UNSEALED, SKL_OPEN_SKIP_PAYLOAD_CHECK);
    each_fault(world.memory, faults, sizeof faults / sizeof *faults, opens);
    opens(SKL_ERR_ARGUMENT, 4);
    opens(SKL_ERR_ARGUMENT, UINT32_MAX);
    CHECK_OK(skl_cms_view(&world.target, world.memory, BYTES, SKL_OPEN_ALLOW_UNSEALED));
    CHECK_EQUAL(SKL_ERR_KIND, skl_topk_view(&top, world.viewed, BYTES, SKL_OPEN_STRICT));
}

static void all(void)
{
    static void (*const tests[])(void) = {handles,   shapes,  other_numbers, pointers_and_lengths, wrong_lengths,
                                          no_memory, batches, incompatible,  images};
    each_test(make_world, tests, sizeof tests / sizeof *tests);
}

int main(void)
{
    watch_world(&world, sizeof world);
    return each_level("hostile_cms", all);
}
