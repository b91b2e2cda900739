/* The life of a filter: in memory of the caller or of its own, sealed, viewed, opened, changed, combined, freed;
 * and the golden images. Run from the root of the repository. */
#define _POSIX_C_SOURCE 200112L
#include "check.h"
#include "watch.h"

enum { KEYS = 1000 };

/* ---- filters in memory of their own ---- */

static void allocator(void)
{
    static const uint64_t blocks[] = {1, 2, 1000, 65536, 70001}; /* the last ones get huge pages */
    static const uint64_t images[] = {128, UINT64_C(0x7fffff80), UINT64_C(0x7fffffc0), UINT64_C(0x80000000),
                                      UINT64_C(0xffffffc0), UINT64_C(0x100000000), UINT64_C(0x100000080),
                                      UINT64_C(0x4000000000)};
    struct watch watch;
    skl_allocator hooks;
    skl_bloom handle, pattern;
    skl_bloom_params params;
    const void *image;
    size_t i, len;
    for (i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        hooks = watched_by(&watch, 1);
        CHECK_OK(skl_bloom_params_explicit(blocks[i], 8, &params));
        CHECK_OK(skl_bloom_new(&handle, &params, &hooks));
        CHECK(watch.calls == 1 && watch.live == 1);
        CHECK_OK(skl_bloom_image(&handle, &image, &len));
        CHECK(len == params.image_bytes && (uintptr_t)image % 64 == 0);
        CHECK_EQUAL(0, skl_bloom_contains_u64(&handle, 1));
        CHECK_OK(skl_bloom_insert_u64(&handle, 1));
        CHECK_EQUAL(1, skl_bloom_contains_u64(&handle, 1));
        CHECK_OK(skl_bloom_seal(&handle));
        CHECK_EQUAL(1, watch.calls);
        skl_bloom_free(&handle);
        CHECK_EQUAL(0, watch.live);
        skl_bloom_free(&handle); /* again: nothing left to free */
        CHECK_EQUAL(SKL_ERR_HANDLE, skl_bloom_contains_u64(&handle, 1));
    }
    /* An allocator that has nothing, which is not asked for more than an object can be: half of the addresses, less
     * the line in front. 256 GiB are the most that the format allows. */
    hooks = watched_by(&watch, 0);
    memset(&pattern, 0xa5, sizeof pattern);
    for (i = 0; i < sizeof images / sizeof *images; i++) {
        memset(&handle, 0xa5, sizeof handle);
        CHECK_OK(skl_bloom_params_explicit(images[i] / 64 - 1, 8, &params));
        CHECK(params.image_bytes == images[i]);
        CHECK_EQUAL(images[i] > SIZE_MAX / 2 - 64 ? SKL_ERR_TOO_LARGE : SKL_ERR_NO_MEMORY,
                    skl_bloom_new(&handle, &params, &hooks));
        CHECK(memcmp(&handle, &pattern, sizeof handle) == 0);
    }
    CHECK_EQUAL(0, watch.live);
    /* The C library's allocator. */
    CHECK_OK(skl_bloom_params_explicit(100000, 8, &params));
    CHECK_OK(skl_bloom_new(&handle, &params, NULL));
    CHECK_OK(skl_bloom_insert(&handle, "key", 3));
    CHECK_EQUAL(1, skl_bloom_contains(&handle, "key", 3));
    skl_bloom_free(&handle);
    skl_bloom_free(&handle);
    skl_bloom_free(NULL);
}

/* ---- filters in memory of the caller ---- */

struct filter {
    skl_bloom handle;
    unsigned char *image;
    size_t len;
};

static skl_bloom_params sized(void)
{
    skl_bloom_params params;
    CHECK_OK(skl_bloom_params_for_fpr(KEYS, 0.01, &params));
    CHECK(params.predicted_fpr > 0.009 && params.predicted_fpr <= 0.01);
    CHECK(params.capacity == KEYS && params.seed == 0 && params.hash_id == SKL_HASH_XXH3);
    CHECK(params.payload_bytes == 64 * params.num_blocks && params.image_bytes == params.payload_bytes + 64);
    params.seed = 7;
    return params;
}

/* A filter with the keys first, first + 1, ... */
static struct filter filled(uint64_t first, uint64_t keys)
{
    const skl_bloom_params params = sized();
    struct filter filter;
    uint64_t bytes = 0, i;
    CHECK_OK(skl_bloom_required_bytes(&params, &bytes));
    CHECK(bytes == params.image_bytes);
    filter.len = (size_t)bytes;
    filter.image = malloc(filter.len);
    if (filter.image == NULL) {
        abort();
    }
    memset(filter.image, 0xa5, filter.len);
    CHECK_OK(skl_bloom_init(&filter.handle, filter.image, filter.len, &params));
    for (i = first; i < first + keys; i++) {
        CHECK_OK(skl_bloom_insert_u64(&filter.handle, i));
    }
    return filter;
}

static void let_go(struct filter *filter)
{
    skl_bloom_free(&filter->handle); /* not the memory: that is the caller's */
    free(filter->image);
}

static skl_bloom_info info_of(const skl_bloom *handle)
{
    skl_bloom_info info;
    info.struct_size = sizeof info;
    CHECK_OK(skl_bloom_get_info(handle, &info));
    return info;
}

static size_t contained(const skl_bloom *handle, uint64_t first, uint64_t keys)
{
    size_t count = 0;
    uint64_t i;
    for (i = first; i < first + keys; i++) {
        count += skl_bloom_contains_u64(handle, i) == 1;
    }
    return count;
}

static void one_life(void)
{
    const skl_bloom_params params = sized();
    struct filter filter = filled(0, KEYS), direct = filled(0, KEYS + 1);
    unsigned char *copy = malloc(filter.len);
    skl_bloom handle;
    skl_bloom_info info = info_of(&filter.handle);
    skl_bloom_estimate estimate;
    const void *image = NULL;
    size_t len = 0, false_positives;
    if (copy == NULL) {
        abort();
    }
    CHECK(info.struct_size == sizeof info && info.num_blocks == params.num_blocks && info.capacity == KEYS);
    CHECK(info.num_inserted == KEYS && info.seed == 7 && info.hash_id == SKL_HASH_XXH3);
    CHECK(info.num_probes == params.num_probes && (int)info.simd_level == skl_simd_level() && info.is_sealed == 0);
    CHECK(info.image_bytes == filter.len && info.predicted_fpr > 0.009 && info.predicted_fpr <= 0.01);
    CHECK_EQUAL(KEYS, contained(&filter.handle, 0, KEYS));
    false_positives = contained(&filter.handle, 1000000, 10000);
    CHECK(false_positives > 60 && false_positives < 140);
    estimate.struct_size = sizeof estimate;
    CHECK_OK(skl_bloom_get_estimate(&filter.handle, &estimate));
    CHECK(estimate.num_keys > 0.95 * KEYS && estimate.num_keys < 1.05 * KEYS);
    CHECK(estimate.fpr > 0.008 && estimate.fpr < 0.012 && estimate.fill > 0.3 && estimate.fill < 0.7);
    CHECK(estimate.over_capacity == 0 && estimate.reserved == 0);

    /* Not sealed yet: opened only by who says so. */
    CHECK_EQUAL(SKL_ERR_UNSEALED, skl_bloom_view(&handle, filter.image, filter.len, SKL_OPEN_STRICT));
    CHECK_OK(skl_bloom_view(&handle, filter.image, filter.len, SKL_OPEN_ALLOW_UNSEALED));
    CHECK_EQUAL(KEYS, contained(&handle, 0, KEYS));

    CHECK_OK(skl_bloom_seal(&filter.handle));
    CHECK_EQUAL(1, info_of(&filter.handle).is_sealed);
    CHECK_OK(skl_bloom_image(&filter.handle, &image, &len));
    CHECK(image == filter.image && len == filter.len);
    memcpy(copy, filter.image, len);
    CHECK_OK(skl_bloom_seal(&filter.handle));
    CHECK(memcmp(copy, filter.image, len) == 0);

    CHECK_OK(skl_bloom_view(&handle, copy, len, SKL_OPEN_STRICT));
    CHECK_EQUAL(KEYS, contained(&handle, 0, KEYS));
    CHECK_EQUAL(false_positives, contained(&handle, 1000000, 10000));
    CHECK(info_of(&handle).num_inserted == KEYS && info_of(&handle).is_sealed == 1);
    CHECK_EQUAL(SKL_ERR_READ_ONLY, skl_bloom_insert_u64(&handle, KEYS));
    CHECK(memcmp(copy, filter.image, len) == 0);
    skl_bloom_free(&handle);

    /* Opened to be changed: a change takes the seal off, the next seal makes the image of all keys. */
    CHECK_OK(skl_bloom_open(&handle, copy, len, SKL_OPEN_STRICT));
    CHECK(memcmp(copy, filter.image, len) == 0);
    CHECK_OK(skl_bloom_insert_u64(&handle, KEYS));
    CHECK(info_of(&handle).is_sealed == 0 && info_of(&handle).num_inserted == KEYS + 1);
    CHECK_EQUAL(SKL_ERR_UNSEALED, skl_bloom_view(&filter.handle, copy, len, SKL_OPEN_STRICT));
    CHECK_OK(skl_bloom_seal(&handle));
    CHECK_OK(skl_bloom_seal(&direct.handle));
    CHECK(memcmp(copy, direct.image, len) == 0);
    skl_bloom_free(&handle);

    /* Empty again. */
    CHECK_OK(skl_bloom_clear(&direct.handle));
    CHECK(contained(&direct.handle, 0, KEYS) == 0 && info_of(&direct.handle).num_inserted == 0);
    CHECK_OK(skl_bloom_get_estimate(&direct.handle, &estimate));
    CHECK(estimate.fill == 0.0 && estimate.fpr == 0.0);
    CHECK_OK(skl_bloom_seal(&direct.handle));
    let_go(&filter);
    filter = filled(0, 0);
    CHECK_OK(skl_bloom_seal(&filter.handle));
    CHECK(memcmp(filter.image, direct.image, len) == 0);
    let_go(&filter);
    let_go(&direct);
    free(copy);
}

static void over_capacity(void)
{
    struct filter filter = filled(0, 2 * KEYS);
    skl_bloom_estimate estimate;
    estimate.struct_size = sizeof estimate;
    CHECK_OK(skl_bloom_get_estimate(&filter.handle, &estimate));
    CHECK_EQUAL(1, estimate.over_capacity);
    let_go(&filter);
}

/* Every kind of change takes the seal off. */
static void unsealing(void)
{
    static const uint64_t hashes[] = {1, 2, 3};
    struct filter filter = filled(0, 10), other = filled(5, 10);
    skl_bloom view;
    skl_keys keys = {SKL_KEYS_U64, 0, 3, NULL, 0, NULL, NULL};
    uint64_t seen;
    int change;
    keys.data = hashes;
    for (change = 0; change < 9; change++) {
        skl_bloom *handle = &filter.handle;
        CHECK_OK(skl_bloom_seal(handle));
        CHECK_OK(skl_bloom_view(&view, filter.image, filter.len, SKL_OPEN_STRICT));
        CHECK_OK(change == 0   ? skl_bloom_insert(handle, "key", 3)
                 : change == 1 ? skl_bloom_insert_u64(handle, 1)
                 : change == 2 ? skl_bloom_insert_hash(handle, 1)
                 : change == 3 ? skl_bloom_insert_hashes(handle, hashes, 3)
                 : change == 4 ? skl_bloom_insert_batch(handle, &keys, NULL)
                 : change == 5 ? skl_bloom_insert_batch(handle, &keys, &seen)
                 : change == 6 ? skl_bloom_union(handle, &other.handle)
                 : change == 7 ? skl_bloom_intersect(handle, &other.handle)
                               : skl_bloom_clear(handle));
        CHECK_EQUAL(0, info_of(handle).is_sealed);
        CHECK_EQUAL(SKL_ERR_UNSEALED, skl_bloom_view(&view, filter.image, filter.len, SKL_OPEN_STRICT));
    }
    let_go(&filter);
    let_go(&other);
}

static void set_algebra(void)
{
    struct filter left = filled(0, 600), right = filled(400, 600), both = filled(0, KEYS), left_too = filled(0, 600);
    size_t i;
    CHECK_OK(skl_bloom_intersect(&left_too.handle, &right.handle));
    for (i = 64; i < left.len; i++) {
        CHECK(left_too.image[i] == (left.image[i] & right.image[i]));
    }
    CHECK_EQUAL(200, contained(&left_too.handle, 400, 200));
    CHECK(info_of(&left_too.handle).num_inserted == UINT64_MAX);

    CHECK_OK(skl_bloom_union(&left.handle, &right.handle));
    CHECK(memcmp(left.image + 64, both.image + 64, left.len - 64) == 0);
    CHECK(info_of(&left.handle).num_inserted == UINT64_MAX);

    /* With itself: as it was, seal included. */
    CHECK_OK(skl_bloom_seal(&both.handle));
    memcpy(left.image, both.image, both.len);
    CHECK_OK(skl_bloom_union(&both.handle, &both.handle));
    CHECK_OK(skl_bloom_intersect(&both.handle, &both.handle));
    CHECK(info_of(&both.handle).num_inserted == KEYS);
    CHECK_OK(skl_bloom_seal(&both.handle));
    CHECK(memcmp(left.image, both.image, both.len) == 0);
    let_go(&left);
    let_go(&right);
    let_go(&both);
    let_go(&left_too);
}

/* An image may lie at any address, to be read or to be changed. */
static void any_alignment(void)
{
    struct filter filter = filled(0, KEYS), more = filled(0, 2 * KEYS);
    unsigned char *room = malloc(filter.len + 128);
    size_t shift, expected = contained(&filter.handle, KEYS, KEYS);
    uint64_t i;
    skl_bloom handle;
    if (room == NULL) {
        abort();
    }
    CHECK_OK(skl_bloom_seal(&filter.handle));
    CHECK_OK(skl_bloom_seal(&more.handle));
    for (shift = 0; shift < 64; shift++) {
        unsigned char *image = room + 1 + shift;
        memset(room, 0xa5, filter.len + 128);
        memcpy(image, filter.image, filter.len);
        CHECK_OK(skl_bloom_view(&handle, image, filter.len, SKL_OPEN_STRICT));
        CHECK_EQUAL(KEYS, contained(&handle, 0, KEYS));
        CHECK_EQUAL(expected, contained(&handle, KEYS, KEYS));
        CHECK(memcmp(image, filter.image, filter.len) == 0);
        CHECK_OK(skl_bloom_open(&handle, image, filter.len, SKL_OPEN_STRICT));
        for (i = KEYS; i < 2 * KEYS; i++) {
            CHECK_OK(skl_bloom_insert_u64(&handle, i));
        }
        CHECK_OK(skl_bloom_union(&handle, &filter.handle));
        CHECK(memcmp(image + 64, more.image + 64, more.len - 64) == 0);
        CHECK_OK(skl_bloom_intersect(&handle, &filter.handle));
        CHECK(memcmp(image + 64, filter.image + 64, filter.len - 64) == 0);
        CHECK(image[-1] == 0xa5 && image[filter.len] == 0xa5);
    }
    free(room);
    let_go(&filter);
    let_go(&more);
}

/* Blocks without a header are the blocks of an image. */
static void bare_payload(void)
{
    const skl_bloom_params params = sized();
    struct filter filter = filled(0, 0);
    const size_t len = filter.len - 64;
    unsigned char *payload = calloc(1, len + 1);
    uint64_t i, hashes[200], ours[4], theirs[4];
    if (payload == NULL) {
        abort();
    }
    payload++; /* at an odd address */
    for (i = 0; i < 200; i++) {
        hashes[i] = number(i);
        if (i < 50) {
            CHECK_OK(skl_bloom_insert_hash(&filter.handle, hashes[i]));
            CHECK_OK(skl_bloom_payload_insert_hash(payload, len, params.num_probes, hashes[i]));
        }
    }
    CHECK_OK(skl_bloom_insert_hashes(&filter.handle, hashes + 50, 50));
    CHECK_OK(skl_bloom_payload_insert_hashes(payload, len, params.num_probes, hashes + 50, 50));
    CHECK(memcmp(payload, filter.image + 64, len) == 0);
    for (i = 0; i < 200; i++) {
        CHECK_EQUAL(skl_bloom_contains_hash(&filter.handle, hashes[i]),
                    skl_bloom_payload_contains_hash(payload, len, params.num_probes, hashes[i]));
    }
    CHECK_OK(skl_bloom_contains_hashes(&filter.handle, hashes, 200, ours));
    CHECK_OK(skl_bloom_payload_contains_hashes(payload, len, params.num_probes, hashes, 200, theirs));
    CHECK(memcmp(ours, theirs, sizeof ours) == 0);
    free(payload - 1);
    let_go(&filter);
}

/* A handle is 64 bytes of data: it may move, and so may the image behind a new handle. */
static void moving(void)
{
    struct filter filter = filled(0, KEYS);
    skl_bloom moved = filter.handle;
    memset(&filter.handle, 0, sizeof filter.handle);
    CHECK_EQUAL(KEYS, contained(&moved, 0, KEYS));
    CHECK_OK(skl_bloom_insert_u64(&moved, KEYS));
    CHECK_EQUAL(1, skl_bloom_contains_u64(&moved, KEYS));
    let_go(&filter);
}

/* ---- the golden images of the core's tests ---- */

/* core/tests/data/images.txt says what is in each; here the same keys make the same bytes. */
static void golden(void)
{
    static char list[8192];
    static unsigned char stored[4096], built[4096], key[4096];
    char *line = list, name[64], hash[16], form[16];
    unsigned long long blocks, seed, capacity, first;
    unsigned probes;
    int images = 0, used;
    size_t i;
    for (i = 0; i < sizeof key; i++) {
        key[i] = (unsigned char)i;
    }
    list[read_file("images.txt", (unsigned char *)list, sizeof list - 1)] = 0;
    for (; line != NULL && *line != 0; line = strchr(line, '\n'), line += line != NULL) {
        skl_bloom_params params;
        skl_bloom handle;
        size_t len;
        const char *numbers = line;
        if (*line == '#' || *line == '\n') {
            continue;
        }
        CHECK_EQUAL(7, sscanf(line, "%63s %llu %u %15s %llu %llu %15s%n", name, &blocks, &probes, hash, &seed, &capacity,
                              form, &used));
        CHECK_OK(skl_bloom_params_explicit(blocks, probes, &params));
        params.seed = seed;
        params.capacity = capacity;
        params.hash_id = strcmp(hash, "xxh3") == 0 ? SKL_HASH_XXH3 : SKL_HASH_CALLER;
        len = (size_t)params.image_bytes;
        CHECK(len <= sizeof built);
        CHECK_OK(skl_bloom_init(&handle, built, len, &params));
        numbers += used;
        while (*numbers != '\n' && sscanf(numbers, "%llu%n", &first, &used) == 1) {
            numbers += used;
            if (strcmp(form, "prefixes") == 0) {
                CHECK_OK(skl_bloom_insert(&handle, key, (size_t)first));
            } else {
                for (i = 0; i < first; i++) {
                    CHECK_OK(strcmp(form, "numbers") == 0 ? skl_bloom_insert_u64(&handle, i)
                                                          : skl_bloom_insert_hash(&handle, number(i + 1)));
                }
            }
        }
        CHECK_OK(skl_bloom_seal(&handle));
        CHECK_EQUAL(len, read_file(name, stored, sizeof stored));
        if (!CHECK(memcmp(built, stored, len) == 0)) {
            printf("  image %s\n", name);
        }
        CHECK_OK(skl_bloom_view(&handle, stored, len, SKL_OPEN_STRICT));
        images++;
    }
    CHECK(images >= 6);
}

static void all(void)
{
    allocator();
    one_life();
    over_capacity();
    unsealing();
    set_algebra();
    any_alignment();
    bare_payload();
    moving();
    golden();
}

int main(void)
{
    return each_level("lifecycle", all);
}
