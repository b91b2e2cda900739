/* hostile.c for the functions of HyperLogLog: every wrong argument, the documented status, and nothing written. */
#include "hostile.h"
#include <limits.h>

enum { P = 7, DENSE = 64 * 3, SPARSE = 64 * 2 }; /* 2^7 registers: 96 bytes, two lines; 16 tokens */

static struct world {
    skl_hll dense, view, callers, sparse, other; /* fine ones: see make_world */
    skl_hll target;                              /* to be filled by a call */
    unsigned char dense_image[DENSE], viewed[DENSE], callers_image[DENSE], sparse_image[SPARSE], other_image[1024];
    unsigned char memory[1024];
    skl_hll_params params;
    skl_hll_info info;
    skl_hll_overlap overlap;
    double estimate, lower, upper;
    uint64_t bytes;
    size_t consumed, len;
    const void *where;
} world;

static uint32_t offsets[KEYS + 2] = {0, 1, 3, 3, 6, 10};
static uint32_t groups[KEYS + 1] = {0, 1, 0, 1, 0};

static skl_hll_params shape(uint32_t p, uint32_t form)
{
    skl_hll_params params;
    CHECK_OK(skl_hll_params_for(p, &params));
    params.form = form;
    return params;
}

static void make_world(void)
{
    skl_hll_params params = shape(P, SKL_HLL_DENSE), sparse = shape(P, SKL_HLL_SPARSE);
    memset(&world, 0xa5, sizeof world);
    CHECK(params.dense_bytes == DENSE);
    CHECK_OK(skl_hll_init(&world.dense, world.dense_image, DENSE, &params));
    CHECK_OK(skl_hll_insert_u64(&world.dense, 1));
    CHECK_OK(skl_hll_seal(&world.dense));
    memcpy(world.viewed, world.dense_image, DENSE);
    CHECK_OK(skl_hll_view(&world.view, world.viewed, DENSE, SKL_OPEN_STRICT));
    CHECK_OK(skl_hll_init(&world.sparse, world.sparse_image, SPARSE, &sparse));
    CHECK_OK(skl_hll_insert_u64(&world.sparse, 1));
    CHECK_OK(skl_hll_seal(&world.sparse));
    CHECK_OK(skl_hll_init(&world.other, world.other_image, DENSE, &params));
    CHECK_OK(skl_hll_seal(&world.other));
    params.hash_id = SKL_HASH_CALLER;
    CHECK_OK(skl_hll_init(&world.callers, world.callers_image, DENSE, &params));
    CHECK_OK(skl_hll_seal(&world.callers));
    world.info.struct_size = sizeof world.info;
    world.overlap.struct_size = sizeof world.overlap;
    world.consumed = 0;
}

/* ---- handles ---- */

/* Every function that reads a handle. */
static void reads(int expected, const skl_hll *handle)
{
    const skl_hll *both[2];
    both[0] = &world.view;
    both[1] = handle;
    REFUSES(expected, skl_hll_grown_bytes(handle, NULL, &world.bytes));
    REFUSES(expected, skl_hll_estimate(handle, &world.estimate));
    REFUSES(expected, skl_hll_estimate_bounds(handle, 2, &world.estimate, &world.lower, &world.upper));
    REFUSES(expected, skl_hll_merge(&world.dense, handle));
    REFUSES(expected, skl_hll_merge_folding(&world.dense, handle));
    REFUSES(expected, skl_hll_merge_many(&world.dense, both, 2));
    REFUSES(expected, skl_hll_get_overlap(handle, &world.view, &world.dense, &world.overlap));
    REFUSES(expected, skl_hll_get_overlap(&world.view, handle, &world.dense, &world.overlap));
    REFUSES(expected, skl_hll_image(handle, &world.where, &world.len));
    REFUSES(expected, skl_hll_get_info(handle, &world.info));
}

/* Every function that changes what a handle stands for. */
static void changes(int expected, skl_hll *handle)
{
    const skl_hll *source = &world.other;
    skl_hll *handles[2];
    handles[0] = handles[1] = handle;
    REFUSES(expected, skl_hll_move(handle, world.memory, DENSE));
    REFUSES(expected, skl_hll_insert(handle, "key", 3));
    REFUSES(expected, skl_hll_insert_u64(handle, 1));
    REFUSES(expected, skl_hll_insert_hash(handle, 1));
    REFUSES(expected, skl_hll_insert_batch(handle, &batch, &world.consumed));
    REFUSES(expected, skl_hll_insert_hashes(handle, numbers, KEYS, &world.consumed));
    REFUSES(expected, skl_hll_insert_grouped(handles, 2, groups, numbers, KEYS, &world.consumed));
    REFUSES(expected, skl_hll_merge(handle, source));
    REFUSES(expected, skl_hll_merge(handle, handle));
    REFUSES(expected, skl_hll_merge_folding(handle, source));
    REFUSES(expected, skl_hll_merge_many(handle, &source, 1));
    REFUSES(expected, skl_hll_get_overlap(source, &world.sparse, handle, &world.overlap));
    REFUSES(expected, skl_hll_clear(handle));
    REFUSES(expected, skl_hll_seal(handle));
}

static void not_a_handle(int expected, skl_hll *handle)
{
    reads(expected, handle);
    changes(expected, handle);
    if (handle != NULL) { /* as a source, NULL is all right */
        REFUSES(expected, skl_hll_grown_bytes(&world.view, handle, &world.bytes));
    }
    REFUSES(expected, skl_hll_set_simd_level(handle, SKL_SIMD_PORTABLE));
    REFUSES(0, (skl_hll_free(handle), 0));
}

static void no_room_for_a_handle(int expected, skl_hll *handle)
{
    skl_hll_params params = shape(P, SKL_HLL_DENSE);
    REFUSES(expected, skl_hll_init(handle, world.memory, DENSE, &params));
    REFUSES(expected, skl_hll_new(handle, &params, NULL));
    REFUSES(expected, skl_hll_view(handle, world.viewed, DENSE, SKL_OPEN_STRICT));
    REFUSES(expected, skl_hll_open(handle, world.dense_image, DENSE, DENSE, SKL_OPEN_STRICT));
}

static void handles(void)
{
    static const int garbage[] = {0x00, 0xff, 0x5a, 0x01};
    size_t i;
    skl_hll_params params = shape(P, SKL_HLL_DENSE);
    skl_bloom_params bloom_params;
    skl_bloom bloom;
    not_a_handle(SKL_ERR_NULL, NULL);
    not_a_handle(SKL_ERR_ALIGNMENT, off(&world.dense));
    no_room_for_a_handle(SKL_ERR_NULL, NULL);
    no_room_for_a_handle(SKL_ERR_ALIGNMENT, off(&world.target));
    for (i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        memset(&world.target, garbage[i], sizeof world.target);
        not_a_handle(SKL_ERR_HANDLE, &world.target);
    }
    CHECK_OK(skl_hll_new(&world.target, &params, NULL));
    skl_hll_free(&world.target);
    not_a_handle(SKL_ERR_HANDLE, &world.target);
    /* A handle of a Bloom filter is none of a sketch, and the other way round. */
    memset(&bloom, 0, sizeof bloom);
    CHECK_OK(skl_bloom_params_explicit(1, 8, &bloom_params));
    CHECK_OK(skl_bloom_init(&bloom, world.memory, 128, &bloom_params));
    memcpy(&world.target, &bloom, sizeof bloom);
    not_a_handle(SKL_ERR_HANDLE, &world.target);
    memcpy(&bloom, &world.view, sizeof bloom);
    CHECK_EQUAL(SKL_ERR_HANDLE, skl_bloom_contains_u64(&bloom, 1));
    changes(SKL_ERR_READ_ONLY, &world.view);
}

/* One bad handle among those of a group or a merge. */
static void among_others(void)
{
    const skl_hll *sources[3];
    skl_hll *targets[2];
    sources[0] = &world.view;
    sources[1] = NULL;
    sources[2] = &world.view;
    REFUSES(SKL_ERR_NULL, skl_hll_merge_many(&world.dense, sources, 3));
    sources[1] = &world.callers;
    REFUSES(SKL_ERR_INCOMPATIBLE, skl_hll_merge_many(&world.dense, sources, 3));
    sources[1] = &world.dense;
    REFUSES(SKL_ERR_ARGUMENT, skl_hll_merge_many(&world.dense, sources, 3));
    targets[0] = &world.dense;
    targets[1] = NULL;
    REFUSES(SKL_ERR_NULL, skl_hll_insert_grouped(targets, 2, groups + 1, numbers, 1, &world.consumed));
    targets[1] = &world.view;
    REFUSES(SKL_ERR_READ_ONLY, skl_hll_insert_grouped(targets, 2, groups + 1, numbers, 1, &world.consumed));
}

/* ---- numbers ---- */

static void parameters(void)
{
    static const uint32_t no_p[] = {0, 3, 19, 256 + 14, UINT32_MAX}, no_hash[] = {0, 3, 257, UINT32_MAX};
    static const uint32_t no_flag[] = {2, 256, UINT32_MAX};
    static const uint32_t no_sigmas[] = {0, 4, UINT32_MAX};
    static const int no_level[] = {-1, 5, 99, INT_MAX, INT_MIN};
    size_t i;
    for (i = 0; i < sizeof no_p / sizeof *no_p; i++) {
        REFUSES(SKL_ERR_ARGUMENT, skl_hll_params_for(no_p[i], &world.params));
    }
    for (i = 0; i < 15; i++) {
        const int expected = i < 5 || i >= 9 ? SKL_ERR_ARGUMENT : SKL_ERR_HASH;
        world.params = shape(P, SKL_HLL_DENSE);
        if (i < 5) {
            world.params.p = no_p[i];
        } else if (i < 9) {
            world.params.hash_id = no_hash[i - 5];
        } else if (i < 12) {
            world.params.form = no_flag[i - 9];
        } else {
            world.params.martingale = no_flag[i - 12];
        }
        REFUSES(expected, skl_hll_required_bytes(&world.params, &world.bytes));
        REFUSES(expected, skl_hll_init(&world.target, world.memory, DENSE, &world.params));
        REFUSES(expected, skl_hll_new(&world.target, &world.params, NULL));
    }
    for (i = 0; i < sizeof no_sigmas / sizeof *no_sigmas; i++) {
        REFUSES(SKL_ERR_ARGUMENT,
                skl_hll_estimate_bounds(&world.view, no_sigmas[i], &world.estimate, &world.lower, &world.upper));
    }
    for (i = 0; i < sizeof no_level / sizeof *no_level; i++) {
        REFUSES(SKL_ERR_SIMD, skl_hll_set_simd_level(&world.dense, no_level[i]));
    }
    for (i = 0; i < 4; i++) {
        static const size_t sizes[] = {0, 1, SIZE_MAX, 8};
        world.info.struct_size = sizes[i];
        REFUSES(SKL_ERR_ARGUMENT, skl_hll_get_info(&world.view, &world.info));
        world.overlap.struct_size = sizes[i];
        REFUSES(SKL_ERR_ARGUMENT, skl_hll_get_overlap(&world.view, &world.other, &world.dense, &world.overlap));
    }
}

/* ---- pointers and lengths ---- */

static void out_parameters(int expected, void *bad(void *))
{
    const skl_hll_params fine = shape(P, SKL_HLL_DENSE);
    skl_hll *targets[3];
    const skl_hll *sources[3];
    targets[0] = targets[1] = targets[2] = &world.dense;
    sources[0] = sources[1] = sources[2] = &world.view;
    world.params = fine;
    world.info.struct_size = sizeof world.info;
    REFUSES(expected, skl_hll_params_for(P, bad(&world.params)));
    REFUSES(expected, skl_hll_required_bytes(bad(&world.params), &world.bytes));
    REFUSES(expected, skl_hll_required_bytes(&fine, bad(&world.bytes)));
    REFUSES(expected, skl_hll_init(&world.target, world.memory, DENSE, bad(&world.params)));
    REFUSES(expected, skl_hll_new(&world.target, bad(&world.params), NULL));
    REFUSES(expected, skl_hll_grown_bytes(&world.view, NULL, bad(&world.bytes)));
    REFUSES(expected, skl_hll_estimate(&world.view, bad(&world.estimate)));
    REFUSES(expected, skl_hll_estimate_bounds(&world.view, 1, bad(&world.estimate), &world.lower, &world.upper));
    REFUSES(expected, skl_hll_estimate_bounds(&world.view, 1, &world.estimate, bad(&world.lower), &world.upper));
    REFUSES(expected, skl_hll_estimate_bounds(&world.view, 1, &world.estimate, &world.lower, bad(&world.upper)));
    REFUSES(expected, skl_hll_get_overlap(&world.view, &world.other, &world.dense, bad(&world.overlap)));
    REFUSES(expected, skl_hll_image(&world.view, bad(&world.where), &world.len));
    REFUSES(expected, skl_hll_image(&world.view, &world.where, bad(&world.len)));
    REFUSES(expected, skl_hll_get_info(&world.view, bad(&world.info)));
    REFUSES(expected, skl_hll_insert_batch(&world.dense, &batch, bad(&world.consumed)));
    REFUSES(expected, skl_hll_insert_batch(&world.dense, bad((void *)&batch), &world.consumed));
    REFUSES(expected, skl_hll_insert_hashes(&world.dense, bad(numbers), KEYS, &world.consumed));
    REFUSES(expected, skl_hll_insert_hashes(&world.dense, numbers, KEYS, bad(&world.consumed)));
    REFUSES(expected, skl_hll_insert_grouped(bad(targets), 2, groups, numbers, KEYS, &world.consumed));
    REFUSES(expected, skl_hll_insert_grouped(targets, 2, bad(groups), numbers, KEYS, &world.consumed));
    REFUSES(expected, skl_hll_insert_grouped(targets, 2, groups, bad(numbers), KEYS, &world.consumed));
    REFUSES(expected, skl_hll_insert_grouped(targets, 2, groups, numbers, KEYS, bad(&world.consumed)));
    REFUSES(expected, skl_hll_merge_many(&world.dense, bad(sources), 2));
}

static void pointers_and_lengths(void)
{
    skl_allocator no_hooks = {NULL, NULL, NULL};
    skl_hll_params dense = shape(P, SKL_HLL_DENSE), sparse = shape(P, SKL_HLL_SPARSE);
    skl_hll *target = &world.dense;
    const skl_hll *source = &world.view;
    size_t len;
    out_parameters(SKL_ERR_NULL, null);
    out_parameters(SKL_ERR_ALIGNMENT, off);
    REFUSES(SKL_ERR_NULL, skl_hll_new(&world.target, &dense, &no_hooks));
    REFUSES(SKL_ERR_ALIGNMENT, skl_hll_new(&world.target, &dense, off(&no_hooks)));
    REFUSES(SKL_ERR_NULL, skl_hll_insert(target, NULL, 5));
    REFUSES(SKL_ERR_NULL, skl_hll_init(&world.target, NULL, DENSE, &dense));
    REFUSES(SKL_ERR_NULL, skl_hll_view(&world.target, NULL, DENSE, 0));
    REFUSES(SKL_ERR_NULL, skl_hll_open(&world.target, NULL, DENSE, DENSE, 0));
    REFUSES(SKL_ERR_NULL, skl_hll_move(target, NULL, DENSE));
    REFUSES(SKL_ERR_LENGTH, skl_hll_insert(target, "key", SIZE_MAX));
    REFUSES(SKL_ERR_LENGTH, skl_hll_insert_hashes(target, numbers, SIZE_MAX, &world.consumed));
    REFUSES(SKL_ERR_LENGTH, skl_hll_insert_grouped(&target, SIZE_MAX, groups, numbers, KEYS, &world.consumed));
    REFUSES(SKL_ERR_LENGTH, skl_hll_insert_grouped(&target, 1, groups, numbers, SIZE_MAX, &world.consumed));
    REFUSES(SKL_ERR_LENGTH, skl_hll_merge_many(target, &source, SIZE_MAX));
    REFUSES(SKL_ERR_KEYS, skl_hll_insert_grouped(&target, 1, groups, numbers, KEYS, &world.consumed));
    REFUSES(SKL_ERR_KEYS, skl_hll_insert_grouped(NULL, 0, groups, numbers, KEYS, &world.consumed));

    for (len = 0; len <= 2 * DENSE; len++) {
        void *memory = len == 0 ? NULL : world.memory;
        if (len != DENSE) {
            REFUSES(SKL_ERR_LENGTH, skl_hll_init(&world.target, memory, len, &dense));
            REFUSES(SKL_ERR_LENGTH, skl_hll_move(&world.dense, memory, len));
        }
        if (len != SPARSE && len != DENSE) { /* a sparse sketch may have more lines, but no more than a dense one */
            REFUSES(SKL_ERR_LENGTH, skl_hll_init(&world.target, memory, len, &sparse));
            REFUSES(SKL_ERR_LENGTH, skl_hll_move(&world.sparse, memory, len));
        }
        if (len < DENSE) {
            REFUSES(SKL_ERR_LENGTH, skl_hll_view(&world.target, len == 0 ? NULL : world.viewed, len, 0));
            REFUSES(SKL_ERR_LENGTH, skl_hll_open(&world.target, len == 0 ? NULL : world.viewed, len, len, 0));
            REFUSES(SKL_ERR_LENGTH, skl_hll_open(&world.target, world.viewed, DENSE, len, 0));
            REFUSES(SKL_ERR_LENGTH, skl_hll_open(&world.target, len == 0 ? NULL : world.viewed, len, DENSE, 0));
        }
    }
    for (len = SIZE_MAX; len >= SIZE_MAX - 63; len -= 63) {
        REFUSES(SKL_ERR_LENGTH, skl_hll_init(&world.target, world.memory, len, &dense));
        REFUSES(SKL_ERR_LENGTH, skl_hll_init(&world.target, world.memory, len, &sparse));
        REFUSES(SKL_ERR_LENGTH, skl_hll_view(&world.target, world.viewed, len, 0));
        REFUSES(SKL_ERR_LENGTH, skl_hll_open(&world.target, world.viewed, len, DENSE, 0));
        REFUSES(SKL_ERR_LENGTH, skl_hll_open(&world.target, world.viewed, DENSE, len, 0));
        REFUSES(SKL_ERR_LENGTH, skl_hll_move(&world.dense, world.memory, len));
    }
    /* Room behind a dense image, and room that is not of zeros. */
    memcpy(world.memory, world.viewed, DENSE);
    memset(world.memory + DENSE, 0, 64);
    REFUSES(SKL_ERR_LENGTH, skl_hll_open(&world.target, world.memory, DENSE + 64, DENSE, 0));
    memcpy(world.memory, world.sparse_image, SPARSE);
    memset(world.memory + SPARSE, 0xa5, 64);
    REFUSES(SKL_ERR_LENGTH, skl_hll_open(&world.target, world.memory, SPARSE + 64, SPARSE, 0));

    /* Nothing is all right. */
    CHECK_OK(skl_hll_insert_hashes(target, NULL, 0, &world.consumed));
    CHECK_EQUAL(0, world.consumed);
    CHECK_OK(skl_hll_insert_grouped(NULL, 0, NULL, NULL, 0, &world.consumed));
    CHECK_EQUAL(0, world.consumed);
    CHECK_OK(skl_hll_merge_many(target, NULL, 0));
    CHECK_OK(skl_hll_grown_bytes(target, NULL, &world.bytes));
    CHECK_OK(skl_hll_insert(target, NULL, 0));
    skl_hll_free(NULL);
}

/* ---- batches ---- */

static void takes(int expected, const skl_keys *keys)
{
    REFUSES(expected, skl_hll_insert_batch(&world.dense, keys, &world.consumed));
}

static void batches(void)
{
    skl_keys keys = {SKL_KEYS_BYTES32, 0, KEYS, "abcdefghij", 10, offsets, NULL};
    bad_batches(takes);
    REFUSES(SKL_ERR_CALLER_HASH, skl_hll_insert_batch(&world.callers, &keys, &world.consumed));
    REFUSES(SKL_ERR_CALLER_HASH, skl_hll_insert(&world.callers, "key", 3));
    REFUSES(SKL_ERR_CALLER_HASH, skl_hll_insert_u64(&world.callers, 1));
    CHECK_OK(skl_hll_insert_hashes(&world.callers, numbers, KEYS, &world.consumed));
    CHECK_EQUAL(KEYS, world.consumed);
    /* All consumed already, and more than there are. */
    CHECK_OK(skl_hll_insert_batch(&world.dense, &keys, &world.consumed));
    CHECK_EQUAL(KEYS, world.consumed);
    world.consumed = SIZE_MAX;
    CHECK(skl_hll_insert_batch(&world.dense, &keys, &world.consumed) <= 0);
    world.consumed = SIZE_MAX - 1;
    CHECK(skl_hll_insert_hashes(&world.dense, numbers, KEYS, &world.consumed) <= 0);
}

/* ---- two sketches ---- */

static void incompatible(void)
{
    skl_hll_params params;
    const skl_hll *source = &world.other;
    int i;
    for (i = 0; i < 3; i++) {
        params = shape(i == 0 ? P + 1 : P, SKL_HLL_DENSE);
        params.seed = i == 1;
        params.hash_id = i == 2 ? SKL_HASH_CALLER : SKL_HASH_XXH3;
        CHECK_OK(skl_hll_init(&world.other, world.other_image, (size_t)params.dense_bytes, &params));
        CHECK_OK(skl_hll_insert_hash(&world.other, 77));
        CHECK_OK(skl_hll_seal(&world.other));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_hll_merge(&world.dense, &world.other));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_hll_merge(&world.other, &world.dense));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_hll_merge_many(&world.dense, &source, 1));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_hll_merge_folding(&world.other, &world.dense)); /* also not to a greater p */
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_hll_get_overlap(&world.view, source, &world.dense, &world.overlap));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_hll_get_overlap(source, &world.view, &world.dense, &world.overlap));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_hll_get_overlap(&world.view, &world.view, &world.other, &world.overlap));
        if (i > 0) {
            REFUSES(SKL_ERR_INCOMPATIBLE, skl_hll_merge_folding(&world.dense, &world.other));
        }
    }
    REFUSES(SKL_ERR_ARGUMENT, skl_hll_get_overlap(&world.dense, &world.view, &world.dense, &world.overlap));
    REFUSES(SKL_ERR_ARGUMENT, skl_hll_get_overlap(&world.view, &world.dense, &world.dense, &world.overlap));
    CHECK_OK(skl_hll_merge(&world.dense, &world.dense));
}

/* ---- memory that is too small ---- */

static void need_space(void)
{
    skl_hll_params params = shape(P, SKL_HLL_SPARSE);
    uint64_t i;
    CHECK_OK(skl_hll_init(&world.target, world.memory, SPARSE, &params));
    for (i = 0; i < 16; i++) {
        CHECK_OK(skl_hll_insert_hash(&world.target, number(i + 1)));
    }
    REFUSES(SKL_ERR_NEED_SPACE, skl_hll_insert_hash(&world.target, number(99)));
    REFUSES(SKL_ERR_NEED_SPACE, skl_hll_insert(&world.target, "a key", 5));
    REFUSES(SKL_ERR_NEED_SPACE, skl_hll_insert_u64(&world.target, 99));
    REFUSES(SKL_ERR_NEED_SPACE, skl_hll_insert_hashes(&world.target, numbers, KEYS, &world.consumed));
    REFUSES(SKL_ERR_NEED_SPACE, skl_hll_insert_batch(&world.target, &batch, &world.consumed));
    REFUSES(SKL_ERR_NEED_SPACE, skl_hll_merge(&world.target, &world.view));
    REFUSES(SKL_ERR_NEED_SPACE, skl_hll_merge_folding(&world.target, &world.sparse));
    CHECK_OK(skl_hll_insert_hash(&world.target, number(1))); /* is in already */
    /* A scratch sketch that cannot hold the union. */
    REFUSES(SKL_ERR_NEED_SPACE, skl_hll_get_overlap(&world.dense, &world.view, &world.target, &world.overlap));
}

/* ---- images ---- */

static void opens(int expected, uint32_t flags)
{
    REFUSES(expected, skl_hll_view(&world.target, world.memory, DENSE, flags));
    REFUSES(expected, skl_hll_open(&world.target, world.memory, DENSE, DENSE, flags));
}

/* A sealed image with one bit flipped, whichever. */
static void flipped(const unsigned char *image, size_t len)
{
    size_t i;
    memcpy(world.memory, image, len);
    for (i = 0; i < 8 * len; i++) {
        world.memory[i / 8] ^= (unsigned char)(1 << i % 8);
        snapshot();
        CHECK(skl_hll_view(&world.target, world.memory, len, SKL_OPEN_STRICT) < 0);
        CHECK(skl_hll_open(&world.target, world.memory, len, len, SKL_OPEN_ALLOW_UNSEALED) < 0);
        CHECK(memcmp(world_before, &world, sizeof world) == 0);
        world.memory[i / 8] ^= (unsigned char)(1 << i % 8);
    }
}

static void images(void)
{
    static const struct fault faults[] = {
        {0, 's', SKL_ERR_MAGIC},      {4, 1, SKL_ERR_KIND},          {5, 2, SKL_ERR_VERSION},
        {6, 2, SKL_ERR_FLAG},         {7, 0, SKL_ERR_HASH},          {16, 64, SKL_ERR_LENGTH},
        {32, 3, SKL_ERR_PARAMETER},   {32, 19, SKL_ERR_PARAMETER},   {32, P + 1, SKL_ERR_PARAMETER},
        {33, 2, SKL_ERR_PARAMETER},   {34, 2, SKL_ERR_PARAMETER},    {35, 1, SKL_ERR_FLAG},
        {36, 1, SKL_ERR_PARAMETER},   {48, 1, SKL_ERR_HEADER_CHECKSUM}, {64, 0x3f, SKL_ERR_PAYLOAD},
        {DENSE - 1, 1, SKL_ERR_PAYLOAD},
    };
    skl_hll_params params = shape(P, SKL_HLL_DENSE);
    skl_bloom bloom;
    flipped(world.viewed, DENSE);
    flipped(world.sparse_image, SPARSE);
    CHECK_OK(skl_hll_init(&world.target, world.memory, DENSE, &params));
    opens(SKL_ERR_UNSEALED, SKL_OPEN_STRICT);
    each_fault(world.memory, faults, sizeof faults / sizeof *faults, opens);
    opens(SKL_ERR_ARGUMENT, 4);
    opens(SKL_ERR_ARGUMENT, UINT32_MAX);
    CHECK_OK(skl_hll_view(&world.target, world.memory, DENSE, SKL_OPEN_ALLOW_UNSEALED));
    /* Another kind of sketch. */
    CHECK_EQUAL(SKL_ERR_KIND, skl_bloom_view(&bloom, world.viewed, DENSE, SKL_OPEN_STRICT));
}

static void all(void)
{
    static void (*const tests[])(void) = {handles, among_others, parameters, pointers_and_lengths, batches,
                                          incompatible, need_space, images};
    each_test(make_world, tests, sizeof tests / sizeof *tests);
}

int main(void)
{
    watch_world(&world, sizeof world);
    return each_level("hostile_hll", all);
}
