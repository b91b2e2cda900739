/* hostile.c for the functions of top-k: every wrong argument, the documented status, and nothing written. */
#define _POSIX_C_SOURCE 200112L
#include "hostile.h"
#include "watch.h"

/* Three keys of at most five bytes: 75 bytes of entries, and zeros up to two lines. A sketch of one row. */
enum { K = 3, KEY = 5, BYTES = 64 * 3, HASHES = 64, COUNTS = HASHES + 8 * K, LENS = COUNTS + 8 * K, SKETCH = 64 * 3 };
enum { FRONTS = LENS + 4 * K, PADDING = FRONTS + KEY * K };

static struct world {
    skl_topk top, view, callers, other; /* fine ones: see make_world */
    skl_topk target;                    /* to be filled by a call */
    skl_cms sketch, seen, another;
    unsigned char image[BYTES], viewed[BYTES], callers_image[BYTES], other_image[BYTES], memory[BYTES + 64];
    unsigned char counters[SKETCH], seen_counters[SKETCH], other_counters[SKETCH];
    skl_topk_params params;
    skl_topk_info info;
    skl_topk_entry entry;
    uint64_t bytes, estimate;
    size_t len;
    const void *where;
} world;

static skl_topk_params shape(void)
{
    skl_topk_params params;
    CHECK_OK(skl_topk_params_for(K, KEY, &params));
    CHECK(params.image_bytes == BYTES);
    return params;
}

static void make_sketch(skl_cms *sketch, unsigned char *counters, uint64_t seed, uint32_t hash_id)
{
    skl_cms_params params;
    CHECK_OK(skl_cms_params_explicit(SKL_CMS_ROWS, 4, 32, 1, &params));
    params.seed = seed;
    params.hash_id = hash_id;
    CHECK_OK(skl_cms_init(sketch, counters, SKETCH, &params));
}

static void make_world(void)
{
    skl_topk_params params = shape();
    memset(&world, 0xa5, sizeof world);
    make_sketch(&world.sketch, world.counters, 0, SKL_HASH_XXH3);
    make_sketch(&world.another, world.other_counters, 0, SKL_HASH_XXH3);
    CHECK_OK(skl_topk_init(&world.top, world.image, BYTES, &params));
    CHECK_OK(skl_topk_add(&world.top, &world.sketch, "key", 3, 9, NULL));
    CHECK_OK(skl_topk_seal(&world.top));
    CHECK_OK(skl_cms_seal(&world.sketch));
    memcpy(world.viewed, world.image, BYTES);
    CHECK_OK(skl_topk_view(&world.view, world.viewed, BYTES, SKL_OPEN_STRICT));
    memcpy(world.seen_counters, world.counters, SKETCH);
    CHECK_OK(skl_cms_view(&world.seen, world.seen_counters, SKETCH, SKL_OPEN_STRICT));
    CHECK_OK(skl_topk_init(&world.other, world.other_image, BYTES, &params));
    CHECK_OK(skl_topk_seal(&world.other));
    params.hash_id = SKL_HASH_CALLER;
    CHECK_OK(skl_topk_init(&world.callers, world.callers_image, BYTES, &params));
    CHECK_OK(skl_topk_seal(&world.callers));
    world.info.struct_size = sizeof world.info;
    world.entry.struct_size = sizeof world.entry;
}

/* ---- handles ---- */

/* Every function that changes what a handle stands for. */
static void changes(int expected, skl_topk *handle)
{
    REFUSES(expected, skl_topk_add(handle, &world.sketch, "key", 3, 1, NULL));
    REFUSES(expected, skl_topk_add(handle, &world.sketch, "key", 3, 1, &world.estimate));
    REFUSES(expected, skl_topk_offer(handle, "key", 3, 1, 99));
    REFUSES(expected, skl_topk_refresh(handle, &world.seen));
    REFUSES(expected, skl_topk_merge(handle, &world.other, &world.seen));
    REFUSES(expected, skl_topk_sort(handle));
    REFUSES(expected, skl_topk_clear(handle));
    REFUSES(expected, skl_topk_seal(handle));
}

static void not_a_handle(int expected, skl_topk *handle)
{
    changes(expected, handle);
    REFUSES(expected, skl_topk_merge(&world.top, handle, &world.seen));
    REFUSES(expected, skl_topk_get(handle, 0, &world.entry));
    REFUSES(expected, skl_topk_image(handle, &world.where, &world.len));
    REFUSES(expected, skl_topk_get_info(handle, &world.info));
    REFUSES(0, (skl_topk_free(handle), 0));
}

/* The same of the sketch beside it. */
static void not_a_sketch(int expected, skl_cms *sketch)
{
    REFUSES(expected, skl_topk_add(&world.top, sketch, "key", 3, 1, NULL));
    REFUSES(expected, skl_topk_add(&world.top, sketch, "key", 3, 1, &world.estimate));
    REFUSES(expected, skl_topk_refresh(&world.top, sketch));
    REFUSES(expected, skl_topk_merge(&world.top, &world.other, sketch));
}

static void no_room_for_a_handle(int expected, skl_topk *handle)
{
    const skl_topk_params params = shape();
    REFUSES(expected, skl_topk_init(handle, world.memory, BYTES, &params));
    REFUSES(expected, skl_topk_new(handle, &params, NULL));
    REFUSES(expected, skl_topk_view(handle, world.viewed, BYTES, SKL_OPEN_STRICT));
    REFUSES(expected, skl_topk_open(handle, world.image, BYTES, SKL_OPEN_STRICT));
}

static void handles(void)
{
    static const int garbage[] = {0x00, 0xff, 0x5a, 0x01};
    const skl_topk_params params = shape();
    skl_cms *not_it = (skl_cms *)(void *)&world.target;
    size_t i;
    not_a_handle(SKL_ERR_NULL, NULL);
    not_a_handle(SKL_ERR_ALIGNMENT, off(&world.top));
    not_a_sketch(SKL_ERR_NULL, NULL);
    not_a_sketch(SKL_ERR_ALIGNMENT, off(&world.sketch));
    no_room_for_a_handle(SKL_ERR_NULL, NULL);
    no_room_for_a_handle(SKL_ERR_ALIGNMENT, off(&world.target));
    for (i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        memset(&world.target, garbage[i], sizeof world.target);
        not_a_handle(SKL_ERR_HANDLE, &world.target);
        not_a_sketch(SKL_ERR_HANDLE, not_it);
    }
    CHECK_OK(skl_topk_new(&world.target, &params, NULL));
    skl_topk_free(&world.target);
    not_a_handle(SKL_ERR_HANDLE, &world.target);
    CHECK_OK(skl_topk_init(&world.target, world.memory, BYTES, &params));
    not_a_sketch(SKL_ERR_HANDLE, not_it);
    skl_topk_free(&world.target);
    not_a_handle(SKL_ERR_HANDLE, &world.target);
    memcpy(&world.target, &world.sketch, sizeof world.target);
    not_a_handle(SKL_ERR_HANDLE, &world.target);
    changes(SKL_ERR_READ_ONLY, &world.view);
    REFUSES(SKL_ERR_READ_ONLY, skl_topk_add(&world.top, &world.seen, "key", 3, 1, NULL));
    REFUSES(SKL_ERR_READ_ONLY, skl_topk_add(&world.top, &world.seen, "key", 3, 1, &world.estimate));
    skl_topk_free(NULL);
}

/* ---- numbers ---- */

/* Every function that is given a shape is given world.params. */
static void takes_params(int expected)
{
    struct watch watch;
    const skl_allocator hooks = watched_by(&watch, 9);
    REFUSES(expected, skl_topk_required_bytes(&world.params, &world.bytes));
    REFUSES(expected, skl_topk_init(&world.target, world.memory, BYTES, &world.params));
    REFUSES(expected, skl_topk_new(&world.target, &world.params, &hooks));
    CHECK_EQUAL(0, watch.calls);
}

static void numbers_out_of_range(void)
{
    static const uint32_t no_k[] = {0, 65537, UINT32_MAX}, no_hash[] = {0, 3, 257, UINT32_MAX};
    static const size_t sizes[] = {0, 1, 8, SIZE_MAX};
    const skl_topk_params fine = shape();
    size_t i;
    for (i = 0; i < sizeof no_k / sizeof *no_k; i++) {
        REFUSES(SKL_ERR_ARGUMENT, skl_topk_params_for(no_k[i], KEY, &world.params));
        world.params = fine;
        world.params.k = no_k[i];
        takes_params(SKL_ERR_ARGUMENT);
        if (no_k[i] > 0) { /* no byte of a key may be kept */
            REFUSES(SKL_ERR_ARGUMENT, skl_topk_params_for(K, no_k[i], &world.params));
            world.params = fine;
            world.params.max_key_bytes = no_k[i];
            takes_params(SKL_ERR_ARGUMENT);
            world.params = fine;
            world.params.reserved = no_k[i];
            takes_params(SKL_ERR_ARGUMENT);
        }
    }
    for (i = 0; i < sizeof no_hash / sizeof *no_hash; i++) {
        world.params = fine;
        world.params.hash_id = no_hash[i];
        takes_params(SKL_ERR_HASH);
    }
    for (i = 0; i < 6; i++) {
        const size_t beside = i == 4 ? 1 : SIZE_MAX; /* one more, one less */
        world.info.struct_size = i < 4 ? sizes[i] : sizeof world.info + beside;
        REFUSES(SKL_ERR_ARGUMENT, skl_topk_get_info(&world.view, &world.info));
        world.entry.struct_size = i < 4 ? sizes[i] : sizeof world.entry + beside;
        REFUSES(SKL_ERR_ARGUMENT, skl_topk_get(&world.view, 0, &world.entry));
    }
    world.entry.struct_size = sizeof world.entry;
    REFUSES(SKL_ERR_ARGUMENT, skl_topk_get(&world.view, 1, &world.entry)); /* there is one key */
    REFUSES(SKL_ERR_ARGUMENT, skl_topk_get(&world.view, K, &world.entry));
    REFUSES(SKL_ERR_ARGUMENT, skl_topk_get(&world.view, SIZE_MAX, &world.entry));
    REFUSES(SKL_ERR_ARGUMENT, skl_topk_get(&world.view, SIZE_MAX / 8, &world.entry));
    REFUSES(SKL_ERR_ARGUMENT, skl_topk_get(&world.other, 0, &world.entry));
    /* Nothing is held of no count; a hash may be any number. */
    REFUSES(0, skl_topk_offer(&world.top, "none", 4, 5, 0));
    CHECK_EQUAL(1, skl_topk_offer(&world.top, "some", 4, UINT64_MAX, UINT64_MAX));
    CHECK_OK(skl_topk_params_for(65536, 65536, &world.params));
    CHECK(world.params.image_bytes == 64 + UINT64_C(65536) * (65536 + 20));
}

/* ---- pointers and lengths ---- */

/* Pointers that must not be NULL, each alone in the wrong: `bad` is how it becomes so. */
static void must_be_given(int expected, void *bad(void *))
{
    const skl_topk_params fine = shape();
    world.params = fine;
    REFUSES(expected, skl_topk_params_for(K, KEY, bad(&world.params)));
    REFUSES(expected, skl_topk_required_bytes(bad(&world.params), &world.bytes));
    REFUSES(expected, skl_topk_required_bytes(&fine, bad(&world.bytes)));
    REFUSES(expected, skl_topk_init(&world.target, world.memory, BYTES, bad(&world.params)));
    REFUSES(expected, skl_topk_new(&world.target, bad(&world.params), NULL));
    REFUSES(expected, skl_topk_get(&world.view, 0, bad(&world.entry)));
    REFUSES(expected, skl_topk_image(&world.view, bad(&world.where), &world.len));
    REFUSES(expected, skl_topk_image(&world.view, &world.where, bad(&world.len)));
    REFUSES(expected, skl_topk_get_info(&world.view, bad(&world.info)));
}

static void pointers_and_lengths(void)
{
    const skl_topk_params params = shape();
    skl_allocator hooks = {NULL, NULL, NULL};
    size_t len;
    must_be_given(SKL_ERR_NULL, null);
    must_be_given(SKL_ERR_ALIGNMENT, off);
    REFUSES(SKL_ERR_ALIGNMENT, skl_topk_add(&world.top, &world.sketch, "key", 3, 1, off(&world.estimate)));
    REFUSES(SKL_ERR_ALIGNMENT, skl_topk_new(&world.target, &params, off(&hooks)));
    REFUSES(SKL_ERR_NULL, skl_topk_new(&world.target, &params, &hooks));
    hooks.alloc = watched_alloc;
    REFUSES(SKL_ERR_NULL, skl_topk_new(&world.target, &params, &hooks));
    REFUSES(SKL_ERR_NULL, skl_topk_add(&world.top, &world.sketch, NULL, 5, 1, &world.estimate));
    REFUSES(SKL_ERR_NULL, skl_topk_offer(&world.top, NULL, 5, 1, 99));
    REFUSES(SKL_ERR_NULL, skl_topk_init(&world.target, NULL, BYTES, &params));
    REFUSES(SKL_ERR_NULL, skl_topk_view(&world.target, NULL, BYTES, 0));
    REFUSES(SKL_ERR_NULL, skl_topk_open(&world.target, NULL, BYTES, 0));
    REFUSES(SKL_ERR_LENGTH, skl_topk_add(&world.top, &world.sketch, "key", SIZE_MAX, 1, &world.estimate));
    REFUSES(SKL_ERR_LENGTH, skl_topk_offer(&world.top, "key", SIZE_MAX, 1, 99));
    for (len = 0; len <= BYTES + 64; len++) {
        if (len != BYTES) {
            void *memory = len == 0 ? NULL : world.memory;
            REFUSES(SKL_ERR_LENGTH, skl_topk_init(&world.target, memory, len, &params));
        }
        if (len < BYTES) { /* cut off */
            void *image = len == 0 ? NULL : world.viewed;
            REFUSES(SKL_ERR_LENGTH, skl_topk_view(&world.target, image, len, SKL_OPEN_STRICT));
            REFUSES(SKL_ERR_LENGTH, skl_topk_open(&world.target, image, len, SKL_OPEN_STRICT));
        }
    }
    for (len = SIZE_MAX; len >= SIZE_MAX - 63; len -= 63) {
        REFUSES(SKL_ERR_LENGTH, skl_topk_init(&world.target, world.memory, len, &params));
        REFUSES(SKL_ERR_LENGTH, skl_topk_view(&world.target, world.viewed, len, 0));
        REFUSES(SKL_ERR_LENGTH, skl_topk_open(&world.target, world.viewed, len, 0));
    }
    memcpy(world.memory, world.viewed, BYTES);
    memset(world.memory + BYTES, 0, 64);
    REFUSES(SKL_ERR_LENGTH, skl_topk_view(&world.target, world.memory, BYTES + 64, 0));
    REFUSES(SKL_ERR_LENGTH, skl_topk_open(&world.target, world.memory, BYTES + 64, 0));
    /* The empty key is a key. */
    CHECK_OK(skl_topk_add(&world.top, &world.sketch, NULL, 0, 2, &world.estimate));
    CHECK(world.estimate >= 2);
    CHECK_EQUAL(1, skl_topk_offer(&world.top, NULL, 0, 17, 99));
}

/* An allocator that has nothing, for a small top-k and for the greatest: 4 GiB, for which 32 bits do not ask. */
static void no_memory(void)
{
    struct watch watch;
    const skl_allocator hooks = watched_by(&watch, 0);
    world.params = shape();
    REFUSES(SKL_ERR_NO_MEMORY, skl_topk_new(&world.target, &world.params, &hooks));
    CHECK_OK(skl_topk_params_for(65536, 65536, &world.params));
    REFUSES(sizeof(size_t) < 8 ? SKL_ERR_TOO_LARGE : SKL_ERR_NO_MEMORY, skl_topk_new(&world.target, &world.params, &hooks));
    CHECK(watch.calls == 0 && watch.live == 0);
}

/* ---- a top-k and a sketch ---- */

static void incompatible(void)
{
    skl_topk_params params;
    int i;
    for (i = 0; i < 2; i++) { /* another seed, another hash */
        const uint32_t hash_id = i == 0 ? SKL_HASH_XXH3 : SKL_HASH_CALLER;
        make_sketch(&world.another, world.other_counters, i == 0, hash_id);
        not_a_sketch(SKL_ERR_INCOMPATIBLE, &world.another);
        params = shape();
        params.seed = i == 0;
        params.hash_id = hash_id;
        CHECK_OK(skl_topk_init(&world.other, world.other_image, BYTES, &params));
        CHECK_EQUAL(1, skl_topk_offer(&world.other, "other", 5, 1, 1));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_topk_merge(&world.top, &world.other, &world.sketch));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_topk_merge(&world.top, &world.other, &world.another));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_topk_merge(&world.other, &world.top, &world.another));
    }
    REFUSES(SKL_ERR_ARGUMENT, skl_topk_merge(&world.top, &world.top, &world.sketch));
    /* Keys cannot be hashed, hashes can be offered. */
    REFUSES(SKL_ERR_CALLER_HASH, skl_topk_add(&world.callers, &world.another, "key", 3, 1, &world.estimate));
    CHECK_EQUAL(1, skl_topk_offer(&world.callers, "key", 3, 1, 1));
}

/* ---- images ---- */

static void opens(int expected, uint32_t flags)
{
    REFUSES(expected, skl_topk_view(&world.target, world.memory, BYTES, flags));
    REFUSES(expected, skl_topk_open(&world.target, world.memory, BYTES, flags));
}

static void images(void)
{
    /* In an image of one entry: a key of three bytes, counted nine times. */
    static const struct fault faults[] = {
        {0, 's', SKL_ERR_MAGIC},          {4, 3, SKL_ERR_KIND},           {5, 2, SKL_ERR_VERSION},
        {6, 2, SKL_ERR_FLAG},             {6, 1, SKL_ERR_HEADER_CHECKSUM}, {7, 0, SKL_ERR_HASH},
        {16, 64, SKL_ERR_LENGTH},         {24, 1, SKL_ERR_PARAMETER},     {32, 0, SKL_ERR_PARAMETER},
        {32, 6, SKL_ERR_PARAMETER},       {34, 2, SKL_ERR_PARAMETER},     {36, 23, SKL_ERR_PARAMETER},
        {39, 1, SKL_ERR_PARAMETER},       {40, 1, SKL_ERR_FLAG},          {47, 1, SKL_ERR_FLAG},
        {63, 1, SKL_ERR_HEADER_CHECKSUM}, {COUNTS, 0, SKL_ERR_PAYLOAD},   {HASHES + 8, 1, SKL_ERR_PAYLOAD},
        {COUNTS + 16, 1, SKL_ERR_PAYLOAD}, {LENS, 2, SKL_ERR_PAYLOAD},    {LENS + 4, 1, SKL_ERR_PAYLOAD},
        {FRONTS + 3, 1, SKL_ERR_PAYLOAD}, {FRONTS + KEY, 1, SKL_ERR_PAYLOAD}, {PADDING, 1, SKL_ERR_PAYLOAD},
        {BYTES - 1, 1, SKL_ERR_PAYLOAD},
    };
    const skl_topk_params params = shape();
    size_t i;
    memcpy(world.memory, world.viewed, BYTES);
    for (i = 0; i < 8 * BYTES; i++) { /* a sealed image with one bit flipped, whichever */
        world.memory[i / 8] ^= (unsigned char)(1 << i % 8);
        snapshot();
        CHECK(skl_topk_view(&world.target, world.memory, BYTES, SKL_OPEN_STRICT) < 0);
        CHECK(skl_topk_open(&world.target, world.memory, BYTES, SKL_OPEN_ALLOW_UNSEALED) < 0);
        CHECK(memcmp(world_before, &world, sizeof world) == 0);
        world.memory[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    CHECK_OK(skl_topk_init(&world.target, world.memory, BYTES, &params));
    CHECK_EQUAL(1, skl_topk_offer(&world.target, "key", 3, 7, 9));
    opens(SKL_ERR_UNSEALED, SKL_OPEN_STRICT);
    opens(SKL_ERR_UNSEALED, SKL_OPEN_SKIP_PAYLOAD_CHECK);
    each_fault(world.memory, faults, sizeof faults / sizeof *faults, opens);
    opens(SKL_ERR_ARGUMENT, 4);
    opens(SKL_ERR_ARGUMENT, UINT32_MAX);
    CHECK_OK(skl_topk_view(&world.target, world.memory, BYTES, SKL_OPEN_ALLOW_UNSEALED));
    CHECK_EQUAL(SKL_ERR_KIND, skl_topk_view(&world.target, world.seen_counters, SKETCH, SKL_OPEN_STRICT));
}

static void all(void)
{
    static void (*const tests[])(void) = {handles,   numbers_out_of_range, pointers_and_lengths,
                                          no_memory, incompatible,         images};
    each_test(make_world, tests, sizeof tests / sizeof *tests);
}

int main(void)
{
    watch_world(&world, sizeof world);
    return each_level("hostile_topk", all);
}
