/* HyperLogLog: every way to put keys in makes the same image, sparse and dense, in memory of its own and of the
 * caller; merges are what inserting all keys would be; no call touches a byte beside what it was given.
 * Run from the root of the repository. */
#define _DEFAULT_SOURCE
#include "check.h"
#include "pages.h"
#include "watch.h"

enum { MOST_KEYS = 30000, MOST_BYTES = 64 + (1 << 18) / 4 * 3 };

/* Memory between unreadable pages. */
static struct {
    struct region handle, one, two, source, hashes, groups, pointers, out;
} guarded;

static uint64_t hashes[MOST_KEYS];

static skl_hll_params shape(uint32_t p, uint32_t form)
{
    skl_hll_params params;
    CHECK_OK(skl_hll_params_for(p, &params));
    params.form = form;
    return params;
}

static skl_hll_info info_of(const skl_hll *handle)
{
    skl_hll_info *info = in(&guarded.out, sizeof *info);
    info->struct_size = sizeof *info;
    CHECK_OK(skl_hll_get_info(handle, info));
    return *info;
}

static double estimate_of(const skl_hll *handle)
{
    double *estimate = in(&guarded.out, sizeof *estimate);
    CHECK_OK(skl_hll_estimate(handle, estimate));
    return *estimate;
}

/* A sketch of its own memory, one hash after the other, portable: what the others are compared with. */
static void make_reference(skl_hll *reference, uint32_t p, size_t first, size_t last)
{
    const skl_hll_params params = shape(p, SKL_HLL_SPARSE);
    CHECK_OK(skl_hll_new(reference, &params, NULL));
    CHECK_OK(skl_hll_set_simd_level(reference, SKL_SIMD_PORTABLE));
    for (; first < last; first++) {
        CHECK_OK(skl_hll_insert_hash(reference, hashes[first]));
    }
    CHECK_OK(skl_hll_seal(reference));
}

/* Whether a sketch, sealed, has the same image as another that is sealed. */
static int same(skl_hll *handle, const skl_hll *reference)
{
    const void *ours = NULL, *theirs = NULL;
    size_t our_len = 0, their_len = 0;
    CHECK_OK(skl_hll_seal(handle));
    CHECK_OK(skl_hll_image(handle, &ours, &our_len));
    CHECK_OK(skl_hll_image(reference, &theirs, &their_len));
    return our_len == their_len && memcmp(ours, theirs, our_len) == 0;
}

/* Moves a sketch in memory of the caller to the memory that it asks for, each time the other one of two. */
static void grow(skl_hll *handle, const skl_hll *source)
{
    static int turn;
    uint64_t *bytes = in(&guarded.out, sizeof *bytes);
    CHECK_OK(skl_hll_grown_bytes(handle, source, bytes));
    CHECK(*bytes >= 128 && *bytes <= MOST_BYTES);
    turn = !turn;
    CHECK_OK(skl_hll_move(handle, in(turn ? &guarded.one : &guarded.two, (size_t)*bytes), (size_t)*bytes));
}

/* An empty sketch in as little memory of the caller as it needs. */
static skl_hll *in_place(uint32_t p)
{
    const skl_hll_params params = shape(p, SKL_HLL_SPARSE);
    skl_hll *handle = in(&guarded.handle, sizeof *handle);
    uint64_t bytes = 0;
    CHECK_OK(skl_hll_required_bytes(&params, &bytes));
    CHECK(bytes == 128);
    CHECK_OK(skl_hll_init(handle, in(&guarded.source, (size_t)bytes), (size_t)bytes, &params));
    return handle;
}

/* Hashes in an array that ends, or begins, where memory does. */
static const uint64_t *placed(size_t first, size_t n)
{
    return memcpy(in(&guarded.hashes, 8 * n), hashes + first, 8 * n);
}

static void every_way_in(uint32_t p, size_t n)
{
    skl_hll reference, own, *handle;
    skl_hll *both[2];
    const skl_hll_params params = shape(p, SKL_HLL_SPARSE);
    const uint64_t *keys;
    uint32_t *groups;
    size_t i, steps, *consumed;
    int status;
    make_reference(&reference, p, 0, n);

    /* One by one, in memory of the caller. */
    handle = in_place(p);
    for (i = 0; i < n; i++) {
        status = skl_hll_insert_hash(handle, hashes[i]);
        if (status == SKL_ERR_NEED_SPACE) {
            grow(handle, NULL);
            status = skl_hll_insert_hash(handle, hashes[i]);
        }
        CHECK_EQUAL(SKL_OK, status);
    }
    CHECK(estimate_of(handle) == estimate_of(&reference));
    CHECK(same(handle, &reference));

    /* All at once, as hashes and as a batch with NULLs, with room asked for as it is needed. */
    handle = in_place(p);
    keys = placed(0, n);
    consumed = in(&guarded.groups, sizeof *consumed);
    *consumed = 0;
    for (steps = 0; (status = skl_hll_insert_hashes(handle, keys, n, consumed)) == SKL_ERR_NEED_SPACE && steps < 99;
         steps++) {
        CHECK(*consumed < n);
        grow(handle, NULL);
    }
    CHECK_EQUAL(SKL_OK, status);
    CHECK_EQUAL(n, *consumed);
    CHECK(same(handle, &reference));

    /* The same in memory of its own; a batch of which every key comes twice, half of them not valid. */
    CHECK_OK(skl_hll_new(&own, &params, NULL));
    {
        skl_keys *batch = in(&guarded.pointers, sizeof *batch);
        unsigned char *validity = in(&guarded.groups, (n + 3) / 4);
        size_t done = 0;
        memset(validity, 0x55, (n + 3) / 4); /* keys 0, 2, 4 and so on */
        memset(batch, 0, sizeof *batch);
        batch->kind = SKL_KEYS_HASHES;
        batch->n = 2 * n;
        batch->data = keys = in(&guarded.hashes, 16 * n);
        batch->validity = validity;
        for (i = 0; i < 2 * n; i++) {
            ((uint64_t *)(void *)(uintptr_t)keys)[i] = i % 2 == 0 ? hashes[i / 2] : number(i);
        }
        CHECK_OK(skl_hll_insert_batch(&own, batch, &done));
        CHECK_EQUAL(2 * n, done);
    }
    CHECK(same(&own, &reference));

    /* Grouped: even and odd ones to two sketches, which together are the whole. */
    handle = in_place(p);
    CHECK_OK(skl_hll_clear(&own));
    both[0] = handle;
    both[1] = &own;
    keys = placed(0, n);
    groups = in(&guarded.groups, 4 * n);
    for (i = 0; i < n; i++) {
        groups[i] = i % 2;
    }
    {
        size_t done = 0;
        while ((status = skl_hll_insert_grouped(both, 2, groups, keys, n, &done)) == SKL_ERR_NEED_SPACE) {
            CHECK(done < n && done % 2 == 0);
            grow(handle, NULL);
        }
        CHECK_EQUAL(SKL_OK, status);
        CHECK_EQUAL(n, done);
    }
    while ((status = skl_hll_merge(handle, &own)) == SKL_ERR_NEED_SPACE) {
        grow(handle, &own);
    }
    CHECK_EQUAL(SKL_OK, status);
    if (info_of(&own).form == info_of(&reference).form) { /* the form leaves no trace but in itself */
        CHECK(same(handle, &reference));
    }
    CHECK_OK(skl_hll_merge(&own, &reference));
    CHECK(same(&own, &reference));
    skl_hll_free(&own);
    skl_hll_free(&reference);
}

/* Keys are hashed as skl_hash_bytes does. */
static void keys(void)
{
    const skl_hll_params params = shape(10, SKL_HLL_DENSE);
    unsigned char *image = in(&guarded.one, (size_t)params.dense_bytes), *other = in(&guarded.two, (size_t)params.dense_bytes);
    skl_hll as_keys, as_hashes;
    uint64_t hash, i;
    CHECK_OK(skl_hll_init(&as_keys, image, (size_t)params.dense_bytes, &params));
    CHECK_OK(skl_hll_init(&as_hashes, other, (size_t)params.dense_bytes, &params));
    for (i = 0; i < 500; i++) {
        CHECK_OK(skl_hash_bytes(&i, 8, 0, &hash));
        CHECK_OK(skl_hll_insert_hash(&as_hashes, hash));
        CHECK_OK(skl_hll_insert_hash(&as_hashes, skl_hash_u64(i, 0)));
        CHECK_OK(skl_hll_insert(&as_keys, &i, 8));
        CHECK_OK(skl_hll_insert_u64(&as_keys, i));
    }
    CHECK(same(&as_keys, (CHECK_OK(skl_hll_seal(&as_hashes)), &as_hashes)));
}

/* Dense sketches at every precision, exactly in their memory, at every alignment to a line. */
static void merges(uint32_t p, size_t n)
{
    const skl_hll_params params = shape(p, SKL_HLL_DENSE);
    const size_t len = (size_t)params.dense_bytes;
    unsigned char *target_image = in(&guarded.one, len), *source_image = in(&guarded.two, len), *room;
    const skl_hll *sources[19];
    skl_hll target, source, whole, finer, view;
    size_t i, done = 0, shift;
    CHECK_OK(skl_hll_init(&whole, room = calloc(1, len + 64), len, &params));
    CHECK_OK(skl_hll_insert_hashes(&whole, hashes, n, &done));
    CHECK_OK(skl_hll_seal(&whole));

    done = 0;
    CHECK_OK(skl_hll_init(&target, target_image, len, &params));
    CHECK_OK(skl_hll_insert_hashes(&target, placed(0, n / 2), n / 2, &done));
    done = 0;
    CHECK_OK(skl_hll_init(&source, source_image, len, &params));
    CHECK_OK(skl_hll_insert_hashes(&source, placed(n / 3, n - n / 3), n - n / 3, &done));
    CHECK_OK(skl_hll_merge(&target, &target));
    CHECK_OK(skl_hll_merge(&target, &source));
    CHECK(estimate_of(&target) == estimate_of(&whole));
    CHECK(same(&target, &whole));
    CHECK(info_of(&target).min_register == info_of(&whole).min_register);
    CHECK(info_of(&target).zero_registers == info_of(&whole).zero_registers);

    done = 0;
    CHECK_OK(skl_hll_clear(&target));
    CHECK_OK(skl_hll_insert_hashes(&target, hashes, n / 2, &done));
    for (i = 0; i < 19; i++) {
        sources[i] = &source;
    }
    CHECK_OK(skl_hll_merge_many(&target, sources, 19));
    CHECK(same(&target, &whole));

    if (p < 18) { /* from a greater precision */
        make_reference(&finer, p + 1, 0, n);
        CHECK_OK(skl_hll_clear(&target));
        CHECK_EQUAL(SKL_ERR_INCOMPATIBLE, skl_hll_merge(&target, &finer));
        CHECK_OK(skl_hll_merge_folding(&target, &finer));
        CHECK(same(&target, &whole));
        skl_hll_free(&finer);
    }
    for (shift = 1; shift < 64; shift += p < 10 ? 1 : 21) { /* anywhere */
        unsigned char *moved = malloc(len + 64);
        if (moved == NULL) {
            abort();
        }
        memcpy(moved + shift, room, len);
        CHECK_OK(skl_hll_view(&view, moved + shift, len, SKL_OPEN_STRICT));
        CHECK(estimate_of(&view) == estimate_of(&whole));
        CHECK_OK(skl_hll_clear(&target));
        CHECK_OK(skl_hll_merge(&target, &view));
        CHECK(same(&target, &whole));
        CHECK_OK(skl_hll_open(&view, moved + shift, len, len, SKL_OPEN_STRICT));
        CHECK_OK(skl_hll_clear(&view));
        CHECK_OK(skl_hll_merge(&view, &source));
        CHECK_OK(skl_hll_merge_many(&view, sources, 9));
        free(moved);
    }
    free(room);
}

static void estimates(void)
{
    static const size_t counts[] = {0, 1, 10, 1000, MOST_KEYS};
    skl_hll sketch, other, scratch;
    skl_hll_params params = shape(14, SKL_HLL_SPARSE), dense = shape(14, SKL_HLL_DENSE);
    skl_hll_overlap overlap;
    double estimate, lower, upper;
    size_t i, done;
    CHECK(params.dense_bytes == 64 + 12288 && params.standard_error > 0.008 && params.standard_error < 0.0082);
    for (i = 0; i < sizeof counts / sizeof *counts; i++) {
        int sigmas, martingale;
        for (martingale = 0; martingale < 2; martingale++) {
            params.martingale = (uint32_t)martingale;
            done = 0;
            CHECK_OK(skl_hll_new(&sketch, &params, NULL));
            CHECK_OK(skl_hll_insert_hashes(&sketch, hashes, counts[i], &done));
            for (sigmas = 1; sigmas <= 3; sigmas++) {
                CHECK_OK(skl_hll_estimate_bounds(&sketch, (uint32_t)sigmas, &estimate, &lower, &upper));
                CHECK(lower <= estimate && estimate <= upper && estimate == estimate_of(&sketch));
            }
            CHECK(lower <= (double)counts[i] && (double)counts[i] <= upper);
            CHECK(estimate >= 0.96 * (double)counts[i] && estimate <= 1.04 * (double)counts[i]);
            CHECK(info_of(&sketch).martingale == (uint32_t)martingale);
            skl_hll_free(&sketch);
        }
    }
    params.martingale = 0;
    make_reference(&sketch, 14, 0, 20000);
    make_reference(&other, 14, 10000, 30000);
    CHECK_OK(skl_hll_new(&scratch, &dense, NULL));
    overlap.struct_size = sizeof overlap;
    CHECK_OK(skl_hll_get_overlap(&sketch, &other, &scratch, &overlap));
    CHECK(overlap.union_keys > 29000 && overlap.union_keys < 31000);
    CHECK(overlap.intersection > 9000 && overlap.intersection < 11000);
    CHECK(overlap.jaccard > 0.3 && overlap.jaccard < 0.37 && overlap.intersection_error > 0);
    CHECK(estimate_of(&scratch) == overlap.union_keys);
    skl_hll_free(&sketch);
    skl_hll_free(&other);
    skl_hll_free(&scratch);
}

/* Memory from hooks comes and goes as it should, and a sketch outlives an allocator that has no more. */
static void allocator(void)
{
    skl_hll_params params = shape(10, SKL_HLL_SPARSE);
    struct watch watch;
    skl_allocator hooks;
    skl_hll sketch, reference, pattern;
    int allowed, status;
    size_t done;
    make_reference(&reference, 10, 0, 2000);
    memset(&pattern, 0xa5, sizeof pattern);
    for (allowed = 0; allowed < 20; allowed++) {
        hooks = watched_by(&watch, allowed);
        memset(&sketch, 0xa5, sizeof sketch);
        status = skl_hll_new(&sketch, &params, &hooks);
        if (allowed == 0) {
            CHECK_EQUAL(SKL_ERR_NO_MEMORY, status);
            CHECK(memcmp(&sketch, &pattern, sizeof sketch) == 0);
            continue;
        }
        CHECK_EQUAL(SKL_OK, status);
        done = 0;
        status = skl_hll_insert_hashes(&sketch, hashes, 2000, &done);
        CHECK_EQUAL(1, watch.live);
        if (status == SKL_ERR_NO_MEMORY) {
            CHECK(done < 2000 && watch.calls == allowed);
            CHECK(estimate_of(&sketch) > 0.99 * (double)done && estimate_of(&sketch) < 1.01 * (double)done);
            CHECK_EQUAL(SKL_ERR_NO_MEMORY, skl_hll_insert_hash(&sketch, hashes[done]));
            CHECK_EQUAL(SKL_ERR_NO_MEMORY, skl_hll_merge(&sketch, &reference));
            watch.allowed = 100; /* there is memory again: go on where it stopped */
            status = skl_hll_insert_hashes(&sketch, hashes, 2000, &done);
        }
        CHECK_EQUAL(SKL_OK, status);
        CHECK_EQUAL(2000, done);
        CHECK(same(&sketch, &reference));
        CHECK_EQUAL(SKL_ERR_ARGUMENT, skl_hll_move(&sketch, in(&guarded.one, 128), 128));
        skl_hll_free(&sketch);
        CHECK_EQUAL(0, watch.live);
        skl_hll_free(&sketch);
        CHECK_EQUAL(SKL_ERR_HANDLE, skl_hll_insert_hash(&sketch, 1));
    }
    skl_hll_free(&reference);
}

/* Sealed, seen, opened with room behind, changed, sealed again. */
static void seals(void)
{
    skl_hll small, large, sketch;
    const void *image;
    size_t len, i;
    unsigned char *memory;
    make_reference(&small, 12, 0, 40);
    make_reference(&large, 12, 0, 60);
    CHECK_OK(skl_hll_image(&small, &image, &len));
    CHECK(len == 64 + 3 * 64 && info_of(&small).is_sealed == 1); /* 40 tokens of 4 bytes */
    CHECK_OK(skl_hll_view(&sketch, memcpy(in(&guarded.one, len), image, len), len, SKL_OPEN_STRICT));
    CHECK(estimate_of(&sketch) == estimate_of(&small));
    CHECK_EQUAL(SKL_ERR_READ_ONLY, skl_hll_insert_hash(&sketch, 1));
    memory = in(&guarded.two, len + 64);
    memset(memory, 0, len + 64);
    memcpy(memory, image, len);
    CHECK_OK(skl_hll_open(&sketch, memory, len + 64, len, SKL_OPEN_STRICT));
    for (i = 0; i < 60; i++) {
        CHECK_OK(skl_hll_insert_hash(&sketch, hashes[i]));
    }
    CHECK_EQUAL(0, info_of(&sketch).is_sealed);
    CHECK_EQUAL(SKL_ERR_UNSEALED, skl_hll_view(&small, memory, len + 64, SKL_OPEN_STRICT));
    CHECK(same(&sketch, &large));
    skl_hll_free(&large);
    /* What was not sealed, found again: a crashed writer. */
    CHECK_OK(skl_hll_clear(&sketch));
    CHECK_OK(skl_hll_insert_hash(&sketch, hashes[0]));
    CHECK_OK(skl_hll_view(&large, memory, len + 64, SKL_OPEN_ALLOW_UNSEALED));
    CHECK(estimate_of(&large) == estimate_of(&sketch));
    skl_hll_free(&small);
}

/* core/tests/data/hll/images.txt says what is in each. */
static void golden(void)
{
    static char list[4096];
    static unsigned char stored[8192];
    char *line = list, name[64], path[80], form[16];
    unsigned p;
    unsigned long long seed, keys, key;
    int images = 0;
    list[read_file("hll/images.txt", (unsigned char *)list, sizeof list - 1)] = 0;
    for (; line != NULL && *line != 0; line = strchr(line, '\n'), line += line != NULL) {
        skl_hll_params params;
        skl_hll sketch;
        const void *image = NULL;
        size_t len = 0;
        if (*line == '#' || *line == '\n') {
            continue;
        }
        CHECK_EQUAL(5, sscanf(line, "%63s %u %15s %llu %llu", name, &p, form, &seed, &keys));
        params = shape(p, SKL_HLL_SPARSE);
        params.seed = seed;
        CHECK_OK(skl_hll_new(&sketch, &params, NULL));
        for (key = 0; key < keys; key++) {
            CHECK_OK(skl_hll_insert_u64(&sketch, key));
        }
        CHECK(info_of(&sketch).form == (strcmp(form, "dense") == 0 ? SKL_HLL_DENSE : SKL_HLL_SPARSE));
        CHECK_OK(skl_hll_seal(&sketch));
        CHECK_OK(skl_hll_image(&sketch, &image, &len));
        snprintf(path, sizeof path, "hll/%s", name);
        CHECK_EQUAL(len, read_file(path, stored, sizeof stored));
        if (!CHECK(memcmp(image, stored, len) == 0)) {
            printf("  image %s\n", name);
        }
        skl_hll_free(&sketch);
        CHECK_OK(skl_hll_view(&sketch, stored, len, SKL_OPEN_STRICT));
        images++;
    }
    CHECK(images >= 6);
}

static void all(void)
{
    static const size_t numbers[] = {0, 1, 16, 17, 63, 64, 65, 1000, 5000};
    size_t i;
    uint32_t p;
    for (place = AT_END; place <= AT_START; place++) {
        for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            every_way_in(4, numbers[i]);
            every_way_in(9, numbers[i]);
            every_way_in(14, numbers[i]);
        }
        for (p = 4; p <= 18; p++) {
            merges(p, 300);
        }
        merges(12, MOST_KEYS);
        keys();
        seals();
    }
    estimates();
    allocator();
    golden();
}

int main(void)
{
    size_t i;
    for (i = 0; i < MOST_KEYS; i++) {
        hashes[i] = number(i + 1);
    }
    guarded.handle = make_region(sizeof(skl_hll));
    guarded.one = make_region(MOST_BYTES);
    guarded.two = make_region(MOST_BYTES);
    guarded.source = make_region(MOST_BYTES);
    guarded.hashes = make_region(8 * MOST_KEYS);
    guarded.groups = make_region(4 * MOST_KEYS);
    guarded.pointers = make_region(4096);
    guarded.out = make_region(4096);
    return each_level("hll", all);
}
