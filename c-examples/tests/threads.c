/* Two threads at a time on one const handle of each kind, and on views of one image, while nothing writes. For a
 * tool that watches for races; `threads race` makes one, to show that the tool would find it. `threads steady` leaves
 * the default SIMD level alone: it is atomic, which valgrind cannot tell. */
#include "check.h"
#include <pthread.h>

enum { KEYS = 2000, ROUNDS = 20 };

static skl_bloom shared;
static skl_hll shared_hll;
static skl_cms shared_cms;
static skl_topk shared_top;
static const void *image, *hll_image, *cms_image, *top_image;
static size_t len, hll_len, cms_len, top_len;
static int race, steady;

static skl_topk new_top(size_t *failed)
{
    skl_topk_params params;
    skl_topk top;
    *failed += skl_topk_params_for(16, 8, &params) != SKL_OK;
    *failed += skl_topk_new(&top, &params, NULL) != SKL_OK;
    return top;
}

/* Of the sketch that counts, and of its most frequent keys: all that takes a const handle. */
static void read_counts(const skl_keys *batch, size_t *failed)
{
    static const skl_cms *const cms = &shared_cms;
    uint64_t estimates[KEYS], estimate, i;
    const void *where;
    size_t n;
    skl_cms cms_view;
    skl_topk top_view, own_top = new_top(failed);
    skl_cms_info cms_info;
    skl_cms_bounds bounds;
    skl_topk_info top_info;
    skl_topk_entry entry;
    cms_info.struct_size = sizeof cms_info;
    bounds.struct_size = sizeof bounds;
    top_info.struct_size = sizeof top_info;
    entry.struct_size = sizeof entry;
    *failed += skl_cms_view(&cms_view, cms_image, cms_len, SKL_OPEN_STRICT) != SKL_OK;
    *failed += skl_topk_view(&top_view, top_image, top_len, SKL_OPEN_STRICT) != SKL_OK;
    for (i = 0; i < KEYS; i++) {
        *failed += skl_cms_estimate_u64(cms, i, &estimate) != SKL_OK;
        *failed += skl_cms_estimate(&cms_view, &i, 8, &estimate) != SKL_OK || estimate < i + 1;
    }
    *failed += skl_cms_estimate_hash(cms, 1, &estimate) != SKL_OK;
    *failed += skl_cms_estimate_batch(cms, batch, estimates) != SKL_OK || estimates[0] < 1;
    *failed += skl_cms_estimate_hashes(cms, batch->data, KEYS, estimates) != SKL_OK;
    *failed += skl_cms_get_bounds(cms, estimate, &bounds) != SKL_OK;
    *failed += skl_cms_inner_product(cms, &cms_view, &estimate) != SKL_OK || estimate == 0;
    *failed += skl_cms_get_info(cms, &cms_info) != SKL_OK;
    *failed += skl_cms_image(cms, &where, &n) != SKL_OK || where != cms_image;
    *failed += skl_topk_merge(&own_top, &shared_top, cms) != SKL_OK;
    *failed += skl_topk_merge(&own_top, &top_view, &cms_view) != SKL_OK;
    *failed += skl_topk_refresh(&own_top, cms) != SKL_OK;
    *failed += skl_topk_get_info(&shared_top, &top_info) != SKL_OK || top_info.num_keys != 16;
    *failed += skl_topk_get(&shared_top, 15, &entry) != SKL_OK || entry.kept_bytes != 8;
    *failed += skl_topk_image(&shared_top, &where, &n) != SKL_OK || where != top_image;
    skl_topk_free(&own_top);
}

/* What goes wrong in a thread is counted there, and told to main. */
static void *look_up(void *wrong)
{
    size_t *failed = wrong, count;
    uint64_t keys[KEYS], bitmap[(KEYS + 63) / 64], i;
    uint32_t selected[KEYS];
    skl_keys batch = {SKL_KEYS_U64, 0, KEYS, NULL, 0, NULL, NULL};
    skl_bloom view;
    skl_bloom_info info;
    skl_bloom_estimate estimate;
    const void *where;
    skl_hll own_hll, hll_view;
    skl_hll_info hll_info;
    skl_hll_params hll_params;
    double number_of_keys;
    int round;
    const skl_bloom *both[2];
    both[0] = &shared;
    both[1] = &view;
    batch.data = keys;
    info.struct_size = sizeof info;
    estimate.struct_size = sizeof estimate;
    for (i = 0; i < KEYS; i++) {
        keys[i] = i;
    }
    hll_info.struct_size = sizeof hll_info;
    *failed += skl_hll_params_for(12, &hll_params) != SKL_OK;
    *failed += skl_hll_new(&own_hll, &hll_params, NULL) != SKL_OK;
    for (round = 0; round < ROUNDS; round++) {
        *failed += skl_bloom_view(&view, image, len, SKL_OPEN_STRICT) != SKL_OK;
        *failed += !steady && skl_simd_set_level(skl_simd_level()) != SKL_OK; /* may run at any time */
        for (i = 0; i < KEYS; i++) {
            *failed += skl_bloom_contains_u64(&shared, i) != 1;
            *failed += skl_bloom_contains(&view, &keys[i], 8) < 0;
            *failed += skl_bloom_contains_hash(&shared, number(i)) < 0;
        }
        *failed += skl_bloom_contains_hashes(&shared, keys, KEYS / 2, bitmap) != SKL_OK;
        batch.n = 64;
        *failed += skl_bloom_contains_batch_in_each(both, 2, &batch, bitmap) != SKL_OK;
        batch.n = KEYS;
        *failed += skl_bloom_contains_batch(&shared, &batch, bitmap) != SKL_OK;
        *failed += skl_bloom_count_batch(&shared, &batch, &count) != SKL_OK || count != KEYS;
        *failed += skl_bloom_select_batch(&shared, &batch, NULL, KEYS, selected, &count) != SKL_OK || count != KEYS;
        *failed += skl_bloom_get_info(&shared, &info) != SKL_OK;
        *failed += skl_bloom_get_estimate(&shared, &estimate) != SKL_OK;
        *failed += skl_bloom_image(&shared, &where, &count) != SKL_OK || where != image;
        *failed += skl_hll_view(&hll_view, hll_image, hll_len, SKL_OPEN_STRICT) != SKL_OK;
        *failed += skl_hll_estimate(&shared_hll, &number_of_keys) != SKL_OK;
        *failed += skl_hll_get_info(&shared_hll, &hll_info) != SKL_OK;
        *failed += skl_hll_merge(&own_hll, &shared_hll) != SKL_OK;
        *failed += skl_hll_merge(&own_hll, &hll_view) != SKL_OK;
        *failed += skl_hll_image(&shared_hll, &where, &count) != SKL_OK || where != hll_image;
        read_counts(&batch, failed);
        if (race) {
            *failed += skl_bloom_insert_u64(&shared, KEYS + round) != SKL_OK;
        }
    }
    skl_hll_free(&own_hll);
    return NULL;
}

static void two_threads(void)
{
    skl_bloom_params params;
    skl_hll_params hll_params;
    skl_cms_params cms_params;
    pthread_t threads[2];
    size_t wrong[2] = {0, 0};
    uint64_t i;
    CHECK_OK(skl_bloom_params_for_fpr(KEYS, 0.01, &params));
    CHECK_OK(skl_bloom_new(&shared, &params, NULL));
    for (i = 0; i < KEYS; i++) {
        CHECK_OK(skl_bloom_insert_u64(&shared, i));
    }
    CHECK_OK(skl_bloom_seal(&shared));
    CHECK_OK(skl_hll_params_for(12, &hll_params));
    CHECK_OK(skl_hll_new(&shared_hll, &hll_params, NULL));
    for (i = 0; i < KEYS; i++) {
        CHECK_OK(skl_hll_insert_u64(&shared_hll, i));
    }
    CHECK_OK(skl_hll_seal(&shared_hll));
    CHECK_OK(skl_hll_image(&shared_hll, &hll_image, &hll_len));
    CHECK_OK(skl_bloom_image(&shared, &image, &len));
    CHECK_OK(skl_cms_params_explicit(SKL_CMS_ROWS, 4, KEYS, 4, &cms_params));
    CHECK_OK(skl_cms_new(&shared_cms, &cms_params, NULL));
    shared_top = new_top(&wrong[0]);
    for (i = 0; i < KEYS; i++) {
        CHECK_OK(skl_topk_add(&shared_top, &shared_cms, &i, 8, i + 1, NULL));
    }
    CHECK_OK(skl_cms_seal(&shared_cms));
    CHECK_OK(skl_topk_seal(&shared_top));
    CHECK_OK(skl_cms_image(&shared_cms, &cms_image, &cms_len));
    CHECK_OK(skl_topk_image(&shared_top, &top_image, &top_len));
    for (i = 0; i < 2; i++) {
        CHECK_EQUAL(0, pthread_create(&threads[i], NULL, look_up, &wrong[i]));
    }
    for (i = 0; i < 2; i++) {
        CHECK_EQUAL(0, pthread_join(threads[i], NULL));
        CHECK_EQUAL(0, wrong[i]);
    }
    skl_bloom_free(&shared);
    skl_hll_free(&shared_hll);
    skl_cms_free(&shared_cms);
    skl_topk_free(&shared_top);
}

int main(int argc, char **argv)
{
    race = argc > 1 && strstr(argv[1], "race") != NULL;
    steady = argc > 1 && strstr(argv[1], "steady") != NULL;
    return each_level("threads", two_threads);
}
