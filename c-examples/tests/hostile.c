/* Every function but those of the sketches in files of their own (hostile_*.c) with every wrong argument: the
 * documented status, and nothing written.
 *
 * All that a call could write to lies in one structure, the world. REFUSES compares it byte by byte with what
 * it was before the call. One fault per call, since the order of the checks is not documented. */
#include "hostile.h"
#include <limits.h>
#include <math.h>

enum { BLOCKS = 4, BYTES = 64 * (BLOCKS + 1) };

static struct world {
    skl_bloom filter, view, callers, other; /* fine ones: see make_world */
    skl_bloom target;                       /* to be filled by a call */
    unsigned char image[BYTES], viewed[BYTES], callers_image[BYTES], other_image[BYTES], memory[BYTES + 64];
    unsigned char payload[64 * BLOCKS + 1];
    skl_bloom_params params;
    skl_bloom_info info;
    skl_bloom_estimate estimate;
    double fpr;
    uint64_t bytes, hash, bitmap[4], hashes[KEYS + 1];
    uint32_t selected[KEYS + 1];
    size_t count, len;
    const void *where;
} world;

/* One batch of five keys in each kind. */
static uint32_t offsets32[KEYS + 2] = {0, 1, 3, 3, 6, 10};
static int64_t offsets64[KEYS + 2] = {0, 1, 3, 3, 6, 10};
static const char *pointers[KEYS + 1] = {"a", "bc", "", "def", "ghij"};
static size_t lengths[KEYS + 1] = {1, 2, 0, 3, 4};
static unsigned char validity[1] = {0x1f};
static uint32_t candidates[KEYS + 1] = {4, 3, 2, 1, 0};
/* Other candidates, to be narrowed in place: a copy of the ones above would show. */
static const uint32_t selection[KEYS + 1] = {1, 0, 1, 0, 1};

static const skl_keys batches[5] = {
    {SKL_KEYS_HASHES, 0, KEYS, numbers, 0, NULL, NULL},
    {SKL_KEYS_U64, 0, KEYS, numbers, 0, NULL, NULL},
    {SKL_KEYS_BYTES32, 0, KEYS, "abcdefghij", 10, offsets32, NULL},
    {SKL_KEYS_BYTES64, 0, KEYS, "abcdefghij", 10, offsets64, NULL},
    {SKL_KEYS_POINTERS, 0, KEYS, pointers, 0, lengths, NULL},
};

static void make_world(void)
{
    skl_bloom_params params;
    memset(&world, 0xa5, sizeof world);
    CHECK_OK(skl_bloom_params_explicit(BLOCKS, 6, &params));
    CHECK_OK(skl_bloom_init(&world.filter, world.image, BYTES, &params));
    CHECK_OK(skl_bloom_insert_u64(&world.filter, 1));
    CHECK_OK(skl_bloom_seal(&world.filter));
    memcpy(world.viewed, world.image, BYTES);
    CHECK_OK(skl_bloom_view(&world.view, world.viewed, BYTES, SKL_OPEN_STRICT));
    params.hash_id = SKL_HASH_CALLER;
    CHECK_OK(skl_bloom_init(&world.callers, world.callers_image, BYTES, &params));
    CHECK_OK(skl_bloom_seal(&world.callers));
    params.hash_id = SKL_HASH_XXH3;
    CHECK_OK(skl_bloom_init(&world.other, world.other_image, BYTES, &params));
    CHECK_OK(skl_bloom_seal(&world.other));
    memset(world.payload, 0, sizeof world.payload);
    world.info.struct_size = sizeof world.info;
    world.estimate.struct_size = sizeof world.estimate;
    memcpy(world.selected, selection, sizeof selection);
}

/* ---- handles ---- */

/* Every function that reads a handle. */
static void reads(int expected, const skl_bloom *handle)
{
    const skl_bloom *both[2];
    both[0] = &world.view;
    both[1] = handle;
    REFUSES(expected, skl_bloom_contains(handle, "key", 3));
    REFUSES(expected, skl_bloom_contains_u64(handle, 1));
    REFUSES(expected, skl_bloom_contains_hash(handle, 1));
    REFUSES(expected, skl_bloom_union(&world.filter, handle));
    REFUSES(expected, skl_bloom_intersect(&world.filter, handle));
    REFUSES(expected, skl_bloom_image(handle, &world.where, &world.len));
    REFUSES(expected, skl_bloom_get_info(handle, &world.info));
    REFUSES(expected, skl_bloom_get_estimate(handle, &world.estimate));
    REFUSES(expected, skl_bloom_contains_hashes(handle, numbers, KEYS, world.bitmap));
    REFUSES(expected, skl_bloom_contains_batch(handle, &batches[1], world.bitmap));
    REFUSES(expected, skl_bloom_count_batch(handle, &batches[1], &world.count));
    REFUSES(expected, skl_bloom_select_batch(handle, &batches[1], NULL, KEYS, world.selected, &world.count));
    REFUSES(expected, skl_bloom_select_batch(handle, &batches[1], candidates, KEYS, world.selected, &world.count));
    REFUSES(expected, skl_bloom_contains_batch_in_each(both, 2, &batches[1], world.bitmap));
}

/* Every function that changes what a handle stands for. */
static void changes(int expected, skl_bloom *handle)
{
    REFUSES(expected, skl_bloom_insert(handle, "key", 3));
    REFUSES(expected, skl_bloom_insert_u64(handle, 1));
    REFUSES(expected, skl_bloom_insert_hash(handle, 1));
    REFUSES(expected, skl_bloom_union(handle, &world.view));
    REFUSES(expected, skl_bloom_intersect(handle, &world.view));
    REFUSES(expected, skl_bloom_union(handle, handle));
    REFUSES(expected, skl_bloom_clear(handle));
    REFUSES(expected, skl_bloom_seal(handle));
    REFUSES(expected, skl_bloom_insert_hashes(handle, numbers, KEYS));
    REFUSES(expected, skl_bloom_insert_batch(handle, &batches[1], NULL));
    REFUSES(expected, skl_bloom_insert_batch(handle, &batches[1], world.bitmap));
}

static void not_a_handle(int expected, skl_bloom *handle)
{
    reads(expected, handle);
    changes(expected, handle);
    REFUSES(expected, skl_bloom_set_simd_level(handle, SKL_SIMD_PORTABLE));
    REFUSES(0, (skl_bloom_free(handle), 0));
}

/* A place for a handle that cannot hold one. */
static void no_room_for_a_handle(int expected, skl_bloom *handle)
{
    skl_bloom_params params;
    CHECK_OK(skl_bloom_params_explicit(BLOCKS, 6, &params));
    REFUSES(expected, skl_bloom_init(handle, world.memory, BYTES, &params));
    REFUSES(expected, skl_bloom_new(handle, &params, NULL));
    REFUSES(expected, skl_bloom_view(handle, world.image, BYTES, SKL_OPEN_STRICT));
    REFUSES(expected, skl_bloom_open(handle, world.image, BYTES, SKL_OPEN_STRICT));
}

static void handles(void)
{
    static const int garbage[] = {0x00, 0xff, 0x5a, 0x01};
    size_t i;
    skl_bloom_params params;
    not_a_handle(SKL_ERR_NULL, NULL);
    not_a_handle(SKL_ERR_ALIGNMENT, off(&world.filter));
    no_room_for_a_handle(SKL_ERR_NULL, NULL);
    no_room_for_a_handle(SKL_ERR_ALIGNMENT, off(&world.target));
    for (i = 0; i < sizeof garbage / sizeof *garbage; i++) {
        memset(&world.target, garbage[i], sizeof world.target);
        not_a_handle(SKL_ERR_HANDLE, &world.target);
    }
    CHECK_OK(skl_bloom_params_explicit(BLOCKS, 6, &params));
    CHECK_OK(skl_bloom_new(&world.target, &params, NULL));
    skl_bloom_free(&world.target);
    not_a_handle(SKL_ERR_HANDLE, &world.target);
    CHECK_OK(skl_bloom_init(&world.target, world.memory, BYTES, &params));
    skl_bloom_free(&world.target);
    not_a_handle(SKL_ERR_HANDLE, &world.target);
    changes(SKL_ERR_READ_ONLY, &world.view);
}

/* ---- numbers ---- */

static void parameters(void)
{
    static const double no_fpr[] = {0.0, -0.0, 1.0, -1.0, 1.5, NAN, INFINITY, -INFINITY};
    static const double no_bits[] = {0.0, -0.0, -1.0, NAN, -INFINITY};
    static const uint32_t no_probes[] = {0, 17, 256, UINT32_MAX};
    static const uint32_t no_hash[] = {0, 3, 257, UINT32_MAX};
    const uint64_t most = UINT32_MAX;
    size_t i;
    skl_bloom_params *params = &world.params, fine;
    for (i = 0; i < sizeof no_fpr / sizeof *no_fpr; i++) {
        REFUSES(SKL_ERR_ARGUMENT, skl_bloom_params_for_fpr(1000, no_fpr[i], params));
    }
    for (i = 0; i < sizeof no_bits / sizeof *no_bits; i++) {
        REFUSES(SKL_ERR_ARGUMENT, skl_bloom_params_for_bits_per_key(1000, no_bits[i], params));
    }
    REFUSES(SKL_ERR_UNREACHABLE, skl_bloom_params_for_fpr(1000, 1e-300, params));
    REFUSES(SKL_ERR_UNREACHABLE, skl_bloom_params_for_bits_per_key(1000, 64.5, params));
    REFUSES(SKL_ERR_UNREACHABLE, skl_bloom_params_for_bits_per_key(1000, INFINITY, params));
    REFUSES(SKL_ERR_TOO_LARGE, skl_bloom_params_for_fpr(UINT64_MAX, 0.01, params));
    REFUSES(SKL_ERR_TOO_LARGE, skl_bloom_params_for_bits_per_key(UINT64_MAX, 10, params));
    REFUSES(SKL_ERR_TOO_LARGE, skl_bloom_params_for_bytes(UINT64_MAX, 64, params));
    REFUSES(SKL_ERR_TOO_LARGE, skl_bloom_params_for_bytes(1000, UINT64_MAX, params));
    REFUSES(SKL_ERR_TOO_LARGE, skl_bloom_params_for_bytes(1000, (most + 1) * 64, params));
    REFUSES(SKL_ERR_NO_SPACE, skl_bloom_params_for_bytes(1000, 0, params));
    REFUSES(SKL_ERR_NO_SPACE, skl_bloom_params_for_bytes(1000, 63, params));
    REFUSES(SKL_ERR_ARGUMENT, skl_bloom_params_explicit(0, 8, params));
    REFUSES(SKL_ERR_TOO_LARGE, skl_bloom_params_explicit(most + 1, 8, params));
    REFUSES(SKL_ERR_TOO_LARGE, skl_bloom_params_explicit(UINT64_MAX, 8, params));
    for (i = 0; i < sizeof no_probes / sizeof *no_probes; i++) {
        REFUSES(SKL_ERR_ARGUMENT, skl_bloom_params_explicit(1, no_probes[i], params));
        REFUSES(SKL_ERR_ARGUMENT, skl_bloom_payload_insert_hash(world.payload, 64, no_probes[i], 1));
        REFUSES(SKL_ERR_ARGUMENT, skl_bloom_payload_contains_hash(world.payload, 64, no_probes[i], 1));
        REFUSES(SKL_ERR_ARGUMENT, skl_bloom_payload_insert_hashes(world.payload, 64, no_probes[i], numbers, KEYS));
        REFUSES(SKL_ERR_ARGUMENT,
                skl_bloom_payload_contains_hashes(world.payload, 64, no_probes[i], numbers, KEYS, world.bitmap));
    }
    CHECK_OK(skl_bloom_params_explicit(BLOCKS, 6, &fine));
    for (i = 0; i < 10; i++) {
        const int expected = i < 4 ? SKL_ERR_ARGUMENT : i < 8 ? SKL_ERR_HASH : i < 9 ? SKL_ERR_ARGUMENT : SKL_ERR_TOO_LARGE;
        *params = fine;
        if (i < 4) {
            params->num_probes = no_probes[i];
        } else if (i < 8) {
            params->hash_id = no_hash[i - 4];
        } else {
            params->num_blocks = i == 8 ? 0 : most + 1;
        }
        REFUSES(expected, skl_bloom_required_bytes(params, &world.bytes));
        REFUSES(expected, skl_bloom_predict_fpr(params, 1000, &world.fpr));
        REFUSES(expected, skl_bloom_init(&world.target, world.memory, BYTES, params));
        REFUSES(expected, skl_bloom_new(&world.target, params, NULL));
    }
    /* And what is just inside the limits. */
    CHECK_OK(skl_bloom_params_for_fpr(0, 0.01, params));
    CHECK_EQUAL(0, params->capacity);
    CHECK_OK(skl_bloom_params_for_bits_per_key(0, 64.0, params));
    CHECK_OK(skl_bloom_params_for_bytes(0, 64, params));
    CHECK_EQUAL(1, params->num_blocks);
    CHECK_OK(skl_bloom_params_explicit(most, 16, params));
    CHECK_OK(skl_bloom_required_bytes(params, &world.bytes));
    CHECK(world.bytes == (most + 1) * 64);
    CHECK_OK(skl_bloom_predict_fpr(params, 0, &world.fpr));
    CHECK(world.fpr == 0.0);
    CHECK_OK(skl_bloom_predict_fpr(params, UINT64_MAX, &world.fpr));
    CHECK(world.fpr <= 1.0);
}

static void levels(void)
{
    static const int no_level[] = {-1, 5, 99, 256, INT_MAX, INT_MIN};
    const int level = skl_simd_level();
    size_t i;
    for (i = 0; i < sizeof no_level / sizeof *no_level; i++) {
        REFUSES(SKL_ERR_SIMD, skl_simd_set_level(no_level[i]));
        REFUSES(SKL_ERR_SIMD, skl_bloom_set_simd_level(&world.filter, no_level[i]));
        CHECK(strcmp(skl_simd_name(no_level[i]), "unknown") == 0);
    }
    /* No machine has both. */
    CHECK(skl_simd_set_level(SKL_SIMD_NEON) == SKL_ERR_SIMD || skl_simd_set_level(SKL_SIMD_AVX2) == SKL_ERR_SIMD);
    CHECK_OK(skl_simd_set_level(level));
    CHECK(strcmp(skl_status_string(INT_MIN), skl_status_string(INT_MAX)) == 0);
}

static void structure_sizes(void)
{
    static const size_t info[] = {0, 1, sizeof(skl_bloom_info) - 1, sizeof(skl_bloom_info) + 8, SIZE_MAX};
    static const size_t estimate[] = {0, 1, sizeof(skl_bloom_estimate) - 1, sizeof(skl_bloom_estimate) + 8, SIZE_MAX};
    size_t i;
    for (i = 0; i < sizeof info / sizeof *info; i++) {
        world.info.struct_size = info[i];
        REFUSES(SKL_ERR_ARGUMENT, skl_bloom_get_info(&world.view, &world.info));
        world.estimate.struct_size = estimate[i];
        REFUSES(SKL_ERR_ARGUMENT, skl_bloom_get_estimate(&world.view, &world.estimate));
    }
    world.info.struct_size = sizeof world.info;
    world.estimate.struct_size = sizeof world.estimate;
}

/* ---- pointers and lengths ---- */

/* Out-parameters and structures, each alone in the wrong: `bad` is how a pointer becomes so. */
static void out_parameters(int expected, void *bad(void *))
{
    const skl_bloom_params fine = world.params;
    REFUSES(expected, skl_bloom_params_for_fpr(1000, 0.01, bad(&world.params)));
    REFUSES(expected, skl_bloom_params_for_bits_per_key(1000, 10, bad(&world.params)));
    REFUSES(expected, skl_bloom_params_for_bytes(1000, 6400, bad(&world.params)));
    REFUSES(expected, skl_bloom_params_explicit(1, 8, bad(&world.params)));
    REFUSES(expected, skl_bloom_required_bytes(&fine, bad(&world.bytes)));
    REFUSES(expected, skl_bloom_required_bytes(bad(&world.params), &world.bytes));
    REFUSES(expected, skl_bloom_predict_fpr(bad(&world.params), 1000, &world.fpr));
    REFUSES(expected, skl_bloom_predict_fpr(&fine, 1000, bad(&world.fpr)));
    REFUSES(expected, skl_bloom_init(&world.target, world.memory, BYTES, bad(&world.params)));
    REFUSES(expected, skl_bloom_new(&world.target, bad(&world.params), NULL));
    REFUSES(expected, skl_bloom_image(&world.view, bad(&world.where), &world.len));
    REFUSES(expected, skl_bloom_image(&world.view, &world.where, bad(&world.len)));
    REFUSES(expected, skl_bloom_get_info(&world.view, bad(&world.info)));
    REFUSES(expected, skl_bloom_get_estimate(&world.view, bad(&world.estimate)));
    REFUSES(expected, skl_hash_bytes("key", 3, 0, bad(&world.hash)));
    REFUSES(expected, skl_bloom_count_batch(&world.view, &batches[1], bad(&world.count)));
    REFUSES(expected,
            skl_bloom_select_batch(&world.view, &batches[1], NULL, KEYS, world.selected, bad(&world.count)));
}

/* Arrays of numbers. */
static void arrays(int expected, void *bad(void *))
{
    const skl_bloom *both[3];
    both[0] = both[1] = both[2] = &world.view;
    REFUSES(expected, skl_bloom_insert_hashes(&world.filter, bad(numbers), KEYS));
    REFUSES(expected, skl_bloom_contains_hashes(&world.view, bad(numbers), KEYS, world.bitmap));
    REFUSES(expected, skl_bloom_contains_hashes(&world.view, numbers, KEYS, bad(world.bitmap)));
    REFUSES(expected, skl_bloom_contains_batch(&world.view, &batches[1], bad(world.bitmap)));
    REFUSES(expected, skl_bloom_select_batch(&world.view, &batches[1], NULL, KEYS, bad(world.selected), &world.count));
    REFUSES(expected,
            skl_bloom_select_batch(&world.view, &batches[1], candidates, KEYS, bad(world.selected), &world.count));
    REFUSES(expected, skl_bloom_contains_batch_in_each(bad(both), 2, &batches[1], world.bitmap));
    REFUSES(expected, skl_bloom_contains_batch_in_each(both, 2, &batches[1], bad(world.bitmap)));
    REFUSES(expected, skl_hash_batch(&batches[1], 0, bad(world.hashes)));
    REFUSES(expected, skl_bloom_payload_insert_hashes(world.payload, 64, 8, bad(numbers), KEYS));
    REFUSES(expected, skl_bloom_payload_contains_hashes(world.payload, 64, 8, bad(numbers), KEYS, world.bitmap));
    REFUSES(expected, skl_bloom_payload_contains_hashes(world.payload, 64, 8, numbers, KEYS, bad(world.bitmap)));
}

static void pointers_and_lengths(void)
{
    skl_allocator no_hooks = {NULL, NULL, NULL};
    const skl_bloom *handle = &world.view;
    CHECK_OK(skl_bloom_params_explicit(BLOCKS, 6, &world.params));
    out_parameters(SKL_ERR_NULL, null);
    out_parameters(SKL_ERR_ALIGNMENT, off);
    arrays(SKL_ERR_NULL, null);
    arrays(SKL_ERR_ALIGNMENT, off);
    REFUSES(SKL_ERR_ALIGNMENT,
            skl_bloom_select_batch(handle, &batches[1], off(candidates), KEYS, world.selected, &world.count));
    REFUSES(SKL_ERR_ALIGNMENT, skl_bloom_insert_batch(&world.filter, &batches[1], off(world.bitmap)));
    REFUSES(SKL_ERR_NULL, skl_bloom_new(&world.target, &world.params, &no_hooks));
    REFUSES(SKL_ERR_ALIGNMENT, skl_bloom_new(&world.target, &world.params, off(&no_hooks)));

    /* Bytes: NULL with a length, and lengths that no object has. */
    REFUSES(SKL_ERR_NULL, skl_bloom_insert(&world.filter, NULL, 5));
    REFUSES(SKL_ERR_NULL, skl_bloom_contains(handle, NULL, 5));
    REFUSES(SKL_ERR_NULL, skl_hash_bytes(NULL, 5, 0, &world.hash));
    REFUSES(SKL_ERR_NULL, skl_bloom_init(&world.target, NULL, BYTES, &world.params));
    REFUSES(SKL_ERR_NULL, skl_bloom_view(&world.target, NULL, BYTES, 0));
    REFUSES(SKL_ERR_NULL, skl_bloom_open(&world.target, NULL, BYTES, 0));
    REFUSES(SKL_ERR_NULL, skl_bloom_payload_insert_hash(NULL, 64, 8, 1));
    REFUSES(SKL_ERR_NULL, skl_bloom_payload_contains_hash(NULL, 64, 8, 1));
    REFUSES(SKL_ERR_NULL, skl_bloom_payload_insert_hashes(NULL, 64, 8, numbers, KEYS));
    REFUSES(SKL_ERR_NULL, skl_bloom_payload_contains_hashes(NULL, 64, 8, numbers, KEYS, world.bitmap));
    REFUSES(SKL_ERR_LENGTH, skl_bloom_insert(&world.filter, "key", SIZE_MAX));
    REFUSES(SKL_ERR_LENGTH, skl_bloom_contains(handle, "key", SIZE_MAX));
    REFUSES(SKL_ERR_LENGTH, skl_hash_bytes("key", SIZE_MAX, 0, &world.hash));
    REFUSES(SKL_ERR_LENGTH, skl_bloom_insert_hashes(&world.filter, numbers, SIZE_MAX));
    REFUSES(SKL_ERR_LENGTH, skl_bloom_insert_hashes(&world.filter, numbers, SIZE_MAX / 8));
    REFUSES(SKL_ERR_LENGTH, skl_bloom_contains_hashes(handle, numbers, SIZE_MAX, world.bitmap));
    REFUSES(SKL_ERR_LENGTH, skl_bloom_contains_hashes(handle, numbers, SIZE_MAX / 8, world.bitmap));
    REFUSES(SKL_ERR_LENGTH,
            skl_bloom_select_batch(handle, &batches[1], candidates, SIZE_MAX, world.selected, &world.count));
    REFUSES(SKL_ERR_LENGTH, skl_bloom_contains_batch_in_each(&handle, SIZE_MAX, &batches[1], world.bitmap));
    REFUSES(SKL_ERR_ARGUMENT, skl_bloom_select_batch(handle, &batches[1], NULL, KEYS - 1, world.selected, &world.count));
    REFUSES(SKL_ERR_ARGUMENT, skl_bloom_select_batch(handle, &batches[1], NULL, SIZE_MAX, world.selected, &world.count));

    /* NULL with length 0 is nothing, and all right. */
    CHECK_OK(skl_bloom_insert_hashes(&world.filter, NULL, 0));
    CHECK_OK(skl_bloom_contains_hashes(handle, NULL, 0, NULL));
    CHECK_OK(skl_bloom_select_batch(handle, &batches[1], candidates, 0, NULL, &world.count));
    CHECK_EQUAL(0, world.count);
    CHECK_OK(skl_bloom_contains_batch_in_each(NULL, 0, &batches[1], NULL));
    CHECK_OK(skl_bloom_payload_insert_hashes(world.payload, 64, 8, NULL, 0));
    CHECK_OK(skl_bloom_payload_contains_hashes(world.payload, 64, 8, NULL, 0, NULL));
    CHECK_OK(skl_hash_bytes(NULL, 0, 0, &world.hash));
    CHECK_OK(skl_bloom_insert(&world.filter, NULL, 0));
    CHECK_EQUAL(1, skl_bloom_contains(&world.filter, NULL, 0));
    CHECK_EQUAL(1, skl_bloom_contains(&world.filter, "", 0));
}

/* Lengths of images, payloads and memory that do not fit. */
static void wrong_lengths(void)
{
    size_t len;
    CHECK_OK(skl_bloom_params_explicit(BLOCKS, 6, &world.params));
    for (len = 0; len <= BYTES + 64; len++) {
        if (len != BYTES) {
            REFUSES(SKL_ERR_LENGTH, skl_bloom_init(&world.target, len == 0 ? NULL : world.memory, len, &world.params));
        }
        if (len < BYTES) {
            REFUSES(SKL_ERR_LENGTH, skl_bloom_view(&world.target, len == 0 ? NULL : world.viewed, len, 1));
            REFUSES(SKL_ERR_LENGTH, skl_bloom_open(&world.target, len == 0 ? NULL : world.viewed, len, 1));
        }
        if (len % 64 != 0 || len == 0) {
            void *payload = len == 0 ? NULL : world.memory;
            REFUSES(SKL_ERR_LENGTH, skl_bloom_payload_insert_hash(payload, len, 8, 1));
            REFUSES(SKL_ERR_LENGTH, skl_bloom_payload_contains_hash(payload, len, 8, 1));
            REFUSES(SKL_ERR_LENGTH, skl_bloom_payload_insert_hashes(payload, len, 8, numbers, KEYS));
            REFUSES(SKL_ERR_LENGTH, skl_bloom_payload_contains_hashes(payload, len, 8, numbers, KEYS, world.bitmap));
        }
    }
    memcpy(world.memory, world.viewed, BYTES);
    REFUSES(SKL_ERR_LENGTH, skl_bloom_view(&world.target, world.memory, BYTES + 64, 0));
    REFUSES(SKL_ERR_LENGTH, skl_bloom_open(&world.target, world.memory, BYTES + 64, 0));
    /* The right length but for 4 GiB, which a size_t of 32 bits does not show. */
    world.params.num_blocks += 1 << 26;
    REFUSES(SKL_ERR_LENGTH, skl_bloom_init(&world.target, world.memory, BYTES, &world.params));
    world.params.num_blocks -= 1 << 26;
    for (len = SIZE_MAX; len >= SIZE_MAX - 63; len -= 63) { /* the second is a multiple of 64 */
        REFUSES(SKL_ERR_LENGTH, skl_bloom_init(&world.target, world.memory, len, &world.params));
        REFUSES(SKL_ERR_LENGTH, skl_bloom_view(&world.target, world.viewed, len, 0));
        REFUSES(SKL_ERR_LENGTH, skl_bloom_open(&world.target, world.viewed, len, 0));
        REFUSES(SKL_ERR_LENGTH, skl_bloom_payload_insert_hash(world.payload, len, 8, 1));
        REFUSES(SKL_ERR_LENGTH, skl_bloom_payload_contains_hash(world.payload, len, 8, 1));
        REFUSES(SKL_ERR_LENGTH, skl_bloom_payload_insert_hashes(world.payload, len, 8, numbers, KEYS));
        REFUSES(SKL_ERR_LENGTH, skl_bloom_payload_contains_hashes(world.payload, len, 8, numbers, KEYS, world.bitmap));
    }
}

/* ---- batches ---- */

/* Every function that takes a batch. */
static void takes_keys(int expected, const skl_keys *keys, size_t n)
{
    const skl_bloom *handle = &world.view;
    REFUSES(expected, skl_bloom_insert_batch(&world.filter, keys, NULL));
    REFUSES(expected, skl_bloom_insert_batch(&world.filter, keys, world.bitmap));
    REFUSES(expected, skl_bloom_contains_batch(handle, keys, world.bitmap));
    REFUSES(expected, skl_bloom_count_batch(handle, keys, &world.count));
    REFUSES(expected, skl_bloom_select_batch(handle, keys, NULL, n, world.selected, &world.count));
    REFUSES(expected, skl_bloom_select_batch(handle, keys, candidates, KEYS, world.selected, &world.count));
    REFUSES(expected, skl_bloom_select_batch(handle, keys, world.selected, KEYS, world.selected, &world.count));
    REFUSES(expected, skl_bloom_contains_batch_in_each(&handle, 1, keys, world.bitmap));
    REFUSES(expected, skl_hash_batch(keys, 0, world.hashes));
}

static void batches_of_keys(void)
{
    static const uint32_t no_kind[] = {5, 6, 256, UINT32_MAX};
    skl_keys keys;
    size_t i;
    takes_keys(SKL_ERR_NULL, NULL, KEYS);
    keys = batches[0];
    takes_keys(SKL_ERR_ALIGNMENT, off(&keys), KEYS);
    for (i = 0; i < sizeof no_kind / sizeof *no_kind; i++) {
        keys = batches[0];
        keys.kind = no_kind[i];
        takes_keys(SKL_ERR_ARGUMENT, &keys, KEYS);
    }
    for (i = 0; i < 5; i++) {
        keys = batches[i];
        keys.reserved = 1;
        takes_keys(SKL_ERR_ARGUMENT, &keys, KEYS);

        keys = batches[i];
        keys.data = NULL;
        takes_keys(SKL_ERR_NULL, &keys, KEYS);
        keys = batches[i];
        keys.n = SIZE_MAX;
        takes_keys(SKL_ERR_LENGTH, &keys, SIZE_MAX);
        keys.validity = validity;
        takes_keys(SKL_ERR_LENGTH, &keys, SIZE_MAX);

        keys = batches[i];
        if (keys.kind != SKL_KEYS_BYTES32 && keys.kind != SKL_KEYS_BYTES64) {
            keys.data = (const char *)keys.data + 1;
            takes_keys(SKL_ERR_ALIGNMENT, &keys, KEYS);
        }
        if (batches[i].offsets != NULL) {
            keys = batches[i];
            keys.offsets = NULL;
            takes_keys(SKL_ERR_NULL, &keys, KEYS);
            keys.offsets = (const char *)batches[i].offsets + 1;
            takes_keys(SKL_ERR_ALIGNMENT, &keys, KEYS);
        }

        /* No keys at all: whatever kind, no array is needed. */
        memset(&keys, 0, sizeof keys);
        keys.kind = batches[i].kind;
        CHECK_OK(skl_bloom_insert_batch(&world.filter, &keys, NULL));
        CHECK_OK(skl_bloom_contains_batch(&world.view, &keys, NULL));
        CHECK_OK(skl_bloom_count_batch(&world.view, &keys, &world.count));
        CHECK_EQUAL(0, world.count);
        CHECK_OK(skl_bloom_select_batch(&world.view, &keys, NULL, 0, NULL, &world.count));
        CHECK_EQUAL(0, world.count);
        CHECK_OK(skl_hash_batch(&keys, 0, NULL));
    }
    /* Number 5 of five keys. */
    candidates[2] = world.selected[2] = KEYS;
    REFUSES(SKL_ERR_KEYS,
            skl_bloom_select_batch(&world.view, &batches[1], candidates, KEYS, world.selected, &world.count));
    REFUSES(SKL_ERR_KEYS,
            skl_bloom_select_batch(&world.view, &batches[1], world.selected, KEYS, world.selected, &world.count));
    candidates[2] = 0;
}

/* Offsets and pointers that contradict themselves. */
static void contradictions(void)
{
    static const uint32_t wrong32[][3] = {{0, 1, 11}, {0, 5, 4}, {11, 11, 11}, {0, UINT32_MAX, 10}, {3, 2, 1}};
    static const int64_t wrong64[][3] = {{0, 1, 11},         {0, 5, 4},         {11, 11, 11}, {0, INT64_MAX, 10},
                                         {0, INT64_MIN, 10}, {-1, 0, 10},       {-2, -1, -1}, {INT64_MIN, 0, 10},
                                         {0, 10, -1},        {0, 0, INT64_MAX}, {3, 2, 1}};
    skl_keys keys = {0, 0, 2, "abcdefghij", 10, NULL, NULL};
    size_t i;
    /* Only keys 0 and 1 exist: the candidates must be numbers of these. */
    memset(candidates, 0, sizeof candidates);
    keys.kind = SKL_KEYS_BYTES32;
    for (i = 0; i < sizeof wrong32 / sizeof *wrong32; i++) {
        keys.offsets = wrong32[i];
        takes_keys(SKL_ERR_KEYS, &keys, 2);
    }
    keys.kind = SKL_KEYS_BYTES64;
    for (i = 0; i < sizeof wrong64 / sizeof *wrong64; i++) {
        keys.offsets = wrong64[i];
        takes_keys(SKL_ERR_KEYS, &keys, 2);
    }
    keys.kind = SKL_KEYS_POINTERS;
    keys.data = pointers;
    keys.offsets = lengths;
    pointers[1] = NULL;
    takes_keys(SKL_ERR_KEYS, &keys, 2);
    pointers[1] = "bc";
    lengths[1] = SIZE_MAX;
    takes_keys(SKL_ERR_KEYS, &keys, 2);
    pointers[1] = NULL;
    lengths[1] = 0;
    CHECK_OK(skl_bloom_count_batch(&world.view, &keys, &world.count)); /* (NULL, 0) is the empty key */
    pointers[1] = "bc";
    lengths[1] = 2;
    for (i = 0; i < KEYS; i++) {
        candidates[i] = (uint32_t)(KEYS - 1 - i);
    }
}

/* A filter of the caller's hashes takes no keys. */
static void callers_hashes(void)
{
    skl_bloom *filter = &world.callers;
    const skl_bloom *handle = filter;
    skl_keys keys;
    size_t i;
    REFUSES(SKL_ERR_CALLER_HASH, skl_bloom_insert(filter, "key", 3));
    REFUSES(SKL_ERR_CALLER_HASH, skl_bloom_insert_u64(filter, 1));
    REFUSES(SKL_ERR_CALLER_HASH, skl_bloom_contains(filter, "key", 3));
    REFUSES(SKL_ERR_CALLER_HASH, skl_bloom_contains_u64(filter, 1));
    for (i = 1; i < 10; i++) {
        keys = batches[i % 5];
        keys.validity = i < 5 ? NULL : validity;
        if (keys.kind != SKL_KEYS_HASHES) {
            REFUSES(SKL_ERR_CALLER_HASH, skl_bloom_insert_batch(filter, &keys, NULL));
            REFUSES(SKL_ERR_CALLER_HASH, skl_bloom_insert_batch(filter, &keys, world.bitmap));
            REFUSES(SKL_ERR_CALLER_HASH, skl_bloom_contains_batch(filter, &keys, world.bitmap));
            REFUSES(SKL_ERR_CALLER_HASH, skl_bloom_count_batch(filter, &keys, &world.count));
            REFUSES(SKL_ERR_CALLER_HASH,
                    skl_bloom_select_batch(filter, &keys, NULL, KEYS, world.selected, &world.count));
            REFUSES(SKL_ERR_CALLER_HASH,
                    skl_bloom_select_batch(filter, &keys, candidates, KEYS, world.selected, &world.count));
            REFUSES(SKL_ERR_CALLER_HASH,
                    skl_bloom_select_batch(filter, &keys, world.selected, KEYS, world.selected, &world.count));
            REFUSES(SKL_ERR_CALLER_HASH, skl_bloom_contains_batch_in_each(&handle, 1, &keys, world.bitmap));
        }
    }
    CHECK_OK(skl_bloom_insert_hash(filter, 1));
    CHECK_EQUAL(1, skl_bloom_contains_hash(filter, 1));
    CHECK_OK(skl_bloom_insert_batch(filter, &batches[0], NULL));
    CHECK_OK(skl_bloom_count_batch(filter, &batches[0], &world.count));
    CHECK_EQUAL(KEYS, world.count);
}

/* ---- two filters ---- */

static void incompatible(void)
{
    skl_bloom_params params;
    const skl_bloom *both[2];
    int i;
    both[0] = &world.filter;
    both[1] = &world.other;
    for (i = 0; i < 4; i++) {
        CHECK_OK(skl_bloom_params_explicit(BLOCKS - (i == 0), 6 + (i == 1), &params));
        params.seed = i == 2;
        params.hash_id = i == 3 ? SKL_HASH_CALLER : SKL_HASH_XXH3;
        CHECK_OK(skl_bloom_init(&world.other, world.other_image, i == 0 ? BYTES - 64 : BYTES, &params));
        CHECK_OK(skl_bloom_seal(&world.other));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_bloom_union(&world.filter, &world.other));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_bloom_union(&world.other, &world.filter));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_bloom_intersect(&world.filter, &world.other));
        REFUSES(SKL_ERR_INCOMPATIBLE, skl_bloom_intersect(&world.other, &world.filter));
        if (i >= 2) { /* the keys would need two hashes */
            REFUSES(SKL_ERR_INCOMPATIBLE, skl_bloom_contains_batch_in_each(both, 2, &batches[0], world.bitmap));
        }
    }
}

/* ---- images ---- */

static void opens(int expected, uint32_t flags)
{
    REFUSES(expected, skl_bloom_view(&world.target, world.memory, BYTES, flags));
    REFUSES(expected, skl_bloom_open(&world.target, world.memory, BYTES, flags));
}

static void images(void)
{
    static const struct fault faults[] = {
        {0, 's', SKL_ERR_MAGIC},       {3, 0, SKL_ERR_MAGIC},          {4, 2, SKL_ERR_KIND},
        {4, 0, SKL_ERR_KIND},          {5, 0, SKL_ERR_VERSION},        {5, 2, SKL_ERR_VERSION},
        {6, 2, SKL_ERR_FLAG},          {6, 0x80, SKL_ERR_FLAG},        {6, 1, SKL_ERR_HEADER_CHECKSUM},
        {7, 0, SKL_ERR_HASH},          {7, 6, SKL_ERR_HASH},           {16, 64, SKL_ERR_LENGTH},
        {23, 1, SKL_ERR_LENGTH},       {32, 0, SKL_ERR_PARAMETER},     {32, BLOCKS + 1, SKL_ERR_PARAMETER},
        {36, 0, SKL_ERR_PARAMETER},    {36, 17, SKL_ERR_PARAMETER},    {37, 1, SKL_ERR_FLAG},
        {48, 1, SKL_ERR_HEADER_CHECKSUM}, {63, 1, SKL_ERR_HEADER_CHECKSUM},
    };
    const uint32_t unsealed_too = SKL_OPEN_ALLOW_UNSEALED;
    skl_bloom_params params;
    uint32_t flags;
    size_t i;

    /* A sealed image with one bit flipped, whichever. */
    memcpy(world.memory, world.viewed, BYTES);
    for (i = 0; i < 8 * BYTES; i++) {
        world.memory[i / 8] ^= (unsigned char)(1 << i % 8);
        snapshot();
        for (flags = 0; flags < 4; flags++) {
            const int vouched = i >= 8 * 64 && (flags & SKL_OPEN_SKIP_PAYLOAD_CHECK) != 0;
            CHECK(vouched || skl_bloom_view(&world.target, world.memory, BYTES, flags) < 0);
            CHECK(vouched || skl_bloom_open(&world.target, world.memory, BYTES, flags) < 0);
        }
        CHECK(memcmp(world_before, &world, sizeof world) == 0);
        world.memory[i / 8] ^= (unsigned char)(1 << i % 8);
    }

    /* An image that was never sealed, with one fault. */
    CHECK_OK(skl_bloom_params_explicit(BLOCKS, 6, &params));
    CHECK_OK(skl_bloom_init(&world.target, world.memory, BYTES, &params));
    opens(SKL_ERR_UNSEALED, SKL_OPEN_STRICT);
    opens(SKL_ERR_UNSEALED, SKL_OPEN_SKIP_PAYLOAD_CHECK);
    each_fault(world.memory, faults, sizeof faults / sizeof *faults, opens);
    opens(SKL_ERR_ARGUMENT, 4);
    opens(SKL_ERR_ARGUMENT, 0x80000000);
    opens(SKL_ERR_ARGUMENT, UINT32_MAX);
    CHECK_OK(skl_bloom_view(&world.target, world.memory, BYTES, unsealed_too));
    CHECK_OK(skl_bloom_open(&world.target, world.memory, BYTES, unsealed_too | SKL_OPEN_SKIP_PAYLOAD_CHECK));
}

/* What takes plain numbers takes any. */
static void anything_goes(void)
{
    CHECK(skl_hash_u64(0, 0) != skl_hash_u64(UINT64_MAX, UINT64_MAX));
    CHECK(skl_hash_f64(NAN, 0) == skl_hash_f64(-NAN, 0));
    CHECK(skl_hash_f64(INFINITY, 0) != skl_hash_f64(-INFINITY, 0));
    CHECK(skl_hash_mix(UINT64_MAX) != UINT64_MAX);
    CHECK(skl_version_number() > 0 && skl_version_string()[0] != 0);
    CHECK(skl_simd_level() <= skl_simd_detected());
    CHECK_OK(skl_bloom_insert_hash(&world.filter, 0));
    CHECK_OK(skl_bloom_insert_hash(&world.filter, UINT64_MAX));
    CHECK_EQUAL(1, skl_bloom_contains_hash(&world.filter, UINT64_MAX));
    CHECK_OK(skl_bloom_payload_insert_hash(world.payload, 64 * BLOCKS, 16, UINT64_MAX));
    CHECK_EQUAL(1, skl_bloom_payload_contains_hash(world.payload, 64 * BLOCKS, 16, UINT64_MAX));
    skl_bloom_free(NULL);
}

static void all(void)
{
    static void (*const tests[])(void) = {handles,       parameters,      levels,         structure_sizes,
                                          pointers_and_lengths, wrong_lengths, batches_of_keys, contradictions,
                                          callers_hashes, incompatible,    images,         anything_goes};
    each_test(make_world, tests, sizeof tests / sizeof *tests);
}

int main(void)
{
    watch_world(&world, sizeof world);
    return each_level("hostile", all);
}
