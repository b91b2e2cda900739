/* Two threads at a time on one const handle of each kind, and on views of one image, while nothing writes. For a
 * tool that watches for races; `threads race` makes one, to show that the tool would find it. `threads steady` leaves
 * the default SIMD level alone: it is atomic, which valgrind cannot tell. */
#include "check.h"
#include <pthread.h>

enum { KEYS = 2000, ROUNDS = 20 };

static skl_bloom shared;
static skl_hll shared_hll;
static const void *image, *hll_image;
static size_t len, hll_len;
static int race, steady;

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
    for (i = 0; i < 2; i++) {
        CHECK_EQUAL(0, pthread_create(&threads[i], NULL, look_up, &wrong[i]));
    }
    for (i = 0; i < 2; i++) {
        CHECK_EQUAL(0, pthread_join(threads[i], NULL));
        CHECK_EQUAL(0, wrong[i]);
    }
    skl_bloom_free(&shared);
    skl_hll_free(&shared_hll);
}

int main(int argc, char **argv)
{
    race = argc > 1 && strstr(argv[1], "race") != NULL;
    steady = argc > 1 && strstr(argv[1], "steady") != NULL;
    return each_level("threads", two_threads);
}
