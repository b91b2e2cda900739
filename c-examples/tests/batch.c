/* Batches answer as their keys one by one, and no call touches a byte beside what it was given: each array,
 * image and handle ends where an unreadable page begins, and then begins where one ends. */
#define _DEFAULT_SOURCE
#include "check.h"
#include "pages.h"

enum { MOST_KEYS = 1029, LONGEST_KEY = 24, LARGE_BLOCKS = 20000 };

/* Memory between unreadable pages, for each thing that a call is given. */
static struct {
    struct region data, offsets, pointers, validity, keys, handle, image, other, out, selected, candidates, count;
} guarded;

static void make_regions(void)
{
    guarded.data = make_region(MOST_KEYS * LONGEST_KEY);
    guarded.offsets = make_region(8 * (MOST_KEYS + 1));
    guarded.pointers = make_region(8 * MOST_KEYS);
    guarded.validity = make_region(MOST_KEYS / 8 + 1);
    guarded.keys = make_region(sizeof(skl_keys));
    guarded.handle = make_region(sizeof(skl_bloom));
    guarded.image = make_region(64 * (LARGE_BLOCKS + 1));
    guarded.other = make_region(64 * (LARGE_BLOCKS + 1));
    guarded.out = make_region(8 * MOST_KEYS); /* hashes, or a few bitmaps */
    guarded.selected = make_region(4 * MOST_KEYS);
    guarded.candidates = make_region(4 * MOST_KEYS);
    guarded.count = make_region(sizeof(skl_bloom_info));
}

/* ---- one batch, and its keys one by one ---- */

static const uint64_t seed = 7;

struct batch {
    skl_keys *keys;              /* between unreadable pages, with all its arrays */
    size_t n;
    uint64_t hashes[MOST_KEYS];  /* of each key */
    int valid[MOST_KEYS];
};
static struct batch batch;

/* Where key i is to be found for SKL_KEYS_POINTERS: its bytes, one key behind the other. */
static unsigned char texts[MOST_KEYS * LONGEST_KEY];

static void make_batch(uint32_t kind, size_t n, int with_validity)
{
    uint64_t numbers[MOST_KEYS];
    size_t starts[MOST_KEYS + 1], i, j;
    unsigned char *data, *validity;
    memset(texts, 0, sizeof texts);
    for (i = 0, starts[0] = 0; i < n; i++) {
        size_t len;
        numbers[i] = i % 7 == 3 ? numbers[i / 2] : number(i + n); /* some keys come twice */
        len = numbers[i] % LONGEST_KEY;
        for (j = 0; j < len; j++) {
            texts[starts[i] + j] = (unsigned char)(numbers[i] >> 8 * (j % 8));
        }
        starts[i + 1] = starts[i] + len;
    }
    batch.n = n;
    batch.keys = in(&guarded.keys, sizeof(skl_keys));
    batch.keys->kind = kind;
    batch.keys->reserved = 0;
    batch.keys->n = n;
    if (kind == SKL_KEYS_HASHES || kind == SKL_KEYS_U64) {
        batch.keys->data = memcpy(in(&guarded.data, 8 * n), numbers, 8 * n);
    } else {
        data = memcpy(in(&guarded.data, starts[n]), texts, starts[n]);
        batch.keys->data = data;
        batch.keys->data_len = starts[n];
        if (kind == SKL_KEYS_BYTES32) {
            uint32_t *offsets = in(&guarded.offsets, 4 * (n + 1));
            for (i = 0; i <= n; i++) {
                offsets[i] = (uint32_t)starts[i];
            }
            batch.keys->offsets = offsets;
        } else if (kind == SKL_KEYS_BYTES64) {
            int64_t *offsets = in(&guarded.offsets, 8 * (n + 1));
            for (i = 0; i <= n; i++) {
                offsets[i] = (int64_t)starts[i];
            }
            batch.keys->offsets = offsets;
        } else {
            const void **pointers = in(&guarded.pointers, sizeof(void *) * n);
            size_t *lens = in(&guarded.offsets, sizeof(size_t) * n);
            for (i = 0; i < n; i++) {
                pointers[i] = data + starts[i];
                lens[i] = starts[i + 1] - starts[i];
            }
            batch.keys->data = pointers;
            batch.keys->offsets = lens;
        }
    }
    batch.keys->validity = NULL;
    if (with_validity) {
        validity = in(&guarded.validity, (n + 7) / 8);
        for (i = 0; i < (n + 7) / 8; i++) {
            validity[i] = (unsigned char)number(1000 + i); /* bits behind the last key are junk */
        }
        batch.keys->validity = validity;
    }
    for (i = 0; i < n; i++) {
        batch.valid[i] = !with_validity || (batch.keys->validity[i / 8] >> i % 8 & 1) == 1;
        batch.hashes[i] = numbers[i];
        if (kind == SKL_KEYS_U64) {
            batch.hashes[i] = skl_hash_u64(numbers[i], seed);
        } else if (kind != SKL_KEYS_HASHES) {
            CHECK_OK(skl_hash_bytes(texts + starts[i], starts[i + 1] - starts[i], seed, &batch.hashes[i]));
        }
    }
}

/* The filter under test, at the default level, and a portable one that gets its keys one by one. */
static skl_bloom *filter, reference;
static unsigned char *image, reference_image[64 * (LARGE_BLOCKS + 1)];
static size_t image_len;

static void make_filters(uint64_t blocks, uint32_t probes)
{
    skl_bloom_params params;
    size_t i;
    CHECK_OK(skl_bloom_params_explicit(blocks, probes, &params));
    params.seed = seed;
    image_len = (size_t)params.image_bytes;
    image = in(&guarded.image, image_len);
    filter = in(&guarded.handle, sizeof *filter);
    CHECK_OK(skl_bloom_init(filter, image, image_len, &params));
    CHECK_OK(skl_bloom_init(&reference, reference_image, image_len, &params));
    CHECK_OK(skl_bloom_set_simd_level(&reference, SKL_SIMD_PORTABLE));
    /* Every third key, so that look-ups find some. */
    for (i = 0; i < batch.n; i += 3) {
        CHECK_OK(skl_bloom_insert_hash(filter, batch.hashes[i]));
        CHECK_OK(skl_bloom_insert_hash(&reference, batch.hashes[i]));
    }
}

static int same_bits(void)
{
    return memcmp(image + 64, reference_image + 64, image_len - 64) == 0;
}

static int same_count(void)
{
    skl_bloom_info ours, theirs;
    ours.struct_size = theirs.struct_size = sizeof ours;
    return skl_bloom_get_info(filter, &ours) == SKL_OK && skl_bloom_get_info(&reference, &theirs) == SKL_OK &&
           ours.num_inserted == theirs.num_inserted;
}

static int expected(size_t i)
{
    return batch.valid[i] && skl_bloom_contains_hash(&reference, batch.hashes[i]) == 1;
}

static int bit(const uint64_t *bitmap, size_t i)
{
    return (int)(bitmap[i / 64] >> i % 64 & 1);
}

/* Bit i is expected(i), and the rest of the last word is 0. */
static int is_expected(const uint64_t *bitmap)
{
    size_t i;
    for (i = 0; i < (batch.n + 63) / 64 * 64; i++) {
        if (bit(bitmap, i) != (i < batch.n ? expected(i) : 0)) {
            return 0;
        }
    }
    return 1;
}

static int is_bare_hashes(void)
{
    return batch.keys->kind == SKL_KEYS_HASHES && batch.keys->validity == NULL;
}

static void look_up(uint32_t probes)
{
    const size_t n = batch.n, words = (n + 63) / 64;
    uint64_t *bitmap = in(&guarded.out, 8 * words), *hashes;
    uint32_t *selected, *candidates;
    size_t *count = in(&guarded.count, sizeof *count), num_candidates = n - (n + 1) / 3, i, k, wanted = 0;
    const skl_bloom *three[3];

    CHECK_OK(skl_bloom_contains_batch(filter, batch.keys, bitmap));
    CHECK(is_expected(bitmap));
    for (i = 0; i < n; i++) {
        wanted += (size_t)expected(i);
    }
    CHECK_OK(skl_bloom_count_batch(filter, batch.keys, count));
    CHECK_EQUAL(wanted, *count);

    if (is_bare_hashes()) {
        bitmap = in(&guarded.out, 8 * words);
        CHECK_OK(skl_bloom_contains_hashes(filter, batch.keys->data, n, bitmap));
        CHECK(is_expected(bitmap));
        bitmap = in(&guarded.out, 8 * words);
        CHECK_OK(skl_bloom_payload_contains_hashes(image + 64, image_len - 64, probes, batch.keys->data, n, bitmap));
        CHECK(is_expected(bitmap));
    }

    /* All keys. */
    selected = in(&guarded.selected, 4 * n);
    CHECK_OK(skl_bloom_select_batch(filter, batch.keys, NULL, n, selected, count));
    CHECK_EQUAL(wanted, *count);
    for (i = 0, wanted = 0; i < n; i++) {
        if (expected(i)) {
            CHECK_EQUAL(i, selected[wanted]);
            wanted++;
        }
    }
    /* Some keys, the last ones first, to another array and in place. */
    candidates = in(&guarded.candidates, 4 * num_candidates);
    for (i = n, k = 0; i-- > 0;) {
        if (i % 3 != 1) {
            candidates[k++] = (uint32_t)i;
        }
    }
    selected = in(&guarded.selected, 4 * num_candidates);
    CHECK_OK(skl_bloom_select_batch(filter, batch.keys, candidates, num_candidates, selected, count));
    for (i = 0, wanted = 0; i < num_candidates; i++) {
        if (expected(candidates[i])) {
            CHECK_EQUAL(candidates[i], selected[wanted]);
            wanted++;
        }
    }
    CHECK_EQUAL(wanted, *count);
    CHECK_OK(skl_bloom_select_batch(filter, batch.keys, candidates, num_candidates, candidates, count));
    CHECK_EQUAL(wanted, *count);
    CHECK(memcmp(candidates, selected, 4 * wanted) == 0);

    /* Many filters: the second is another one. */
    three[0] = filter;
    three[1] = &reference;
    three[2] = filter;
    bitmap = in(&guarded.out, 3 * 8 * words);
    CHECK_OK(skl_bloom_contains_batch_in_each(three, 3, batch.keys, bitmap));
    CHECK(is_expected(bitmap) && is_expected(bitmap + words) && is_expected(bitmap + 2 * words));

    hashes = in(&guarded.out, 8 * n);
    CHECK_OK(skl_hash_batch(batch.keys, seed, hashes));
    for (i = 0; i < n; i++) {
        CHECK(!batch.valid[i] || hashes[i] == batch.hashes[i]);
    }
}

static void insert(uint32_t probes)
{
    const size_t n = batch.n, words = (n + 63) / 64;
    uint64_t *seen = in(&guarded.out, 8 * words);
    size_t i;
    CHECK(same_bits());
    CHECK_OK(skl_bloom_insert_batch(filter, batch.keys, seen));
    for (i = 0; i < 64 * words; i++) {
        CHECK_EQUAL(i < n && expected(i), bit(seen, i));
        if (i < n && batch.valid[i]) {
            CHECK_OK(skl_bloom_insert_hash(&reference, batch.hashes[i]));
        }
    }
    CHECK(same_bits() && same_count());

    CHECK_OK(skl_bloom_clear(filter));
    CHECK_OK(skl_bloom_clear(&reference));
    CHECK_OK(skl_bloom_insert_batch(filter, batch.keys, NULL));
    for (i = 0; i < n; i++) {
        if (batch.valid[i]) {
            CHECK_OK(skl_bloom_insert_hash(&reference, batch.hashes[i]));
        }
    }
    CHECK(same_bits() && same_count());
    if (is_bare_hashes()) {
        CHECK_OK(skl_bloom_clear(filter));
        CHECK_OK(skl_bloom_insert_hashes(filter, batch.keys->data, n));
        CHECK(same_bits() && same_count());
        CHECK_OK(skl_bloom_clear(filter));
        CHECK_OK(skl_bloom_payload_insert_hashes(image + 64, image_len - 64, probes, batch.keys->data, n));
        CHECK(same_bits());
    }
}

static void every_batch(void)
{
    static const size_t lengths[] = {0, 1, 2, 7, 8, 9, 63, 64, 65, 129, 511, 512, 513, MOST_KEYS};
    size_t length, round = 0;
    uint32_t kind;
    int with_validity, shape;
    for (length = 0; length < sizeof lengths / sizeof *lengths; length++) {
        const size_t n = lengths[length];
        for (kind = SKL_KEYS_HASHES; kind <= SKL_KEYS_POINTERS; kind++) {
            for (with_validity = 0; with_validity < 2; with_validity++) {
                const int in_large_ones = n == MOST_KEYS || (kind == SKL_KEYS_HASHES && !with_validity);
                make_batch(kind, n, with_validity);
                /* 8 probes, fewer, and more; in a filter that suits, in one block, and in one beyond the L2 cache. */
                for (shape = 0; shape < (in_large_ones ? 9 : 6); shape++, round++) {
                    const uint32_t probes = (uint32_t)(shape % 3 == 0 ? 8 : shape % 3 == 1 ? 1 + round % 7 : 9 + round % 8);
                    make_filters(shape < 3 ? 1 + n / 20 : shape < 6 ? 1 : LARGE_BLOCKS, probes);
                    look_up(probes);
                    insert(probes);
                }
            }
        }
    }
}

/* ---- single keys, whole filters ---- */

static void single_keys(void)
{
    unsigned char copy[1100];
    size_t len, i;
    make_batch(SKL_KEYS_HASHES, 0, 0);
    make_filters(50, 8);
    for (len = 0; len < sizeof copy; len += len < 300 ? 1 : 61) {
        unsigned char *key = in(&guarded.data, len);
        uint64_t *hash = in(&guarded.count, sizeof *hash), again;
        for (i = 0; i < len; i++) {
            copy[i] = key[i] = (unsigned char)number(i + len);
        }
        CHECK_OK(skl_hash_bytes(key, len, seed, hash));
        CHECK_OK(skl_hash_bytes(copy, len, seed, &again));
        CHECK(*hash == again);
        CHECK_OK(skl_bloom_insert(filter, key, len));
        CHECK_EQUAL(1, skl_bloom_contains(filter, copy, len));
        CHECK_EQUAL(1, skl_bloom_contains_hash(filter, *hash));
        CHECK_OK(skl_bloom_insert(&reference, copy, len));
        CHECK_EQUAL(1, skl_bloom_contains(&reference, key, len));
    }
    CHECK(same_bits() && same_count());
}

static void whole_filters(void)
{
    static const uint64_t blocks[] = {1, 2, 3, 63, 64, 65, 67};
    const skl_bloom *handle;
    skl_bloom other;
    skl_bloom_info *info;
    skl_bloom_estimate *estimate;
    skl_bloom_params *params;
    unsigned char *other_image;
    const void **where;
    size_t i, k;
    for (i = 0; i < sizeof blocks / sizeof *blocks; i++) {
        make_batch(SKL_KEYS_HASHES, MOST_KEYS, 0);
        make_filters(blocks[i], 8);
        params = in(&guarded.count, sizeof *params);
        CHECK_OK(skl_bloom_params_explicit(blocks[i], 8, params));
        params->seed = seed;
        other_image = in(&guarded.other, image_len);
        CHECK_OK(skl_bloom_init(&other, other_image, image_len, params));
        CHECK_OK(skl_bloom_insert_u64(&other, 1));
        CHECK_OK(skl_bloom_union(filter, &other));
        CHECK_OK(skl_bloom_insert_u64(&reference, 1));
        CHECK(same_bits());
        CHECK_OK(skl_bloom_intersect(&other, filter));
        CHECK_EQUAL(1, skl_bloom_contains_u64(&other, 1));
        info = in(&guarded.count, sizeof *info);
        info->struct_size = sizeof *info;
        CHECK_OK(skl_bloom_get_info(filter, info));
        estimate = in(&guarded.count, sizeof *estimate);
        estimate->struct_size = sizeof *estimate;
        CHECK_OK(skl_bloom_get_estimate(filter, estimate));
        where = in(&guarded.count, sizeof *where);
        CHECK_OK(skl_bloom_image(filter, where, in(&guarded.candidates, sizeof(size_t))));
        CHECK(*where == image);
        CHECK_OK(skl_bloom_seal(filter));
        handle = filter;
        CHECK_OK(skl_bloom_view(filter, image, image_len, SKL_OPEN_STRICT));
        CHECK_EQUAL(1, skl_bloom_contains_u64(handle, 1));

        /* Bytes that change under a view: any answer, but no access outside. */
        memset(image, 0xff, image_len);
        for (k = 0; k < 100; k++) {
            CHECK_EQUAL(1, skl_bloom_contains_hash(handle, number(k)));
        }
        estimate->struct_size = sizeof *estimate;
        CHECK_OK(skl_bloom_get_estimate(handle, estimate));
        CHECK(estimate->fill == 1.0);
    }
}

static void all(void)
{
    for (place = AT_END; place <= AT_START; place++) {
        every_batch();
        single_keys();
        whole_filters();
    }
}

int main(void)
{
    make_regions();
    return each_level("batch", all);
}
