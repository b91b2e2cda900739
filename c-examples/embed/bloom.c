/* A table of an engine, in runs on disk: each run keeps a filter of its keys beside it, and a look-up reads only the runs
 * whose filter says "maybe". Uses the installed library only; bloom.txt is what it prints. */
#include <sketchline.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 4, KEYS = 20000, LOOKUPS = 50000 };

static void check(skl_status status, const char *what)
{
    if (status == SKL_OK) return;
    fprintf(stderr, "%s: %s\n", what, skl_status_string(status));
    exit(1);
}

/* What a run keeps on disk. */
typedef struct {
    void *bytes;
    size_t len;
} image;

/* Keys run, run + 4, run + 8, ... hashed once, inserted as a batch; sealed; written. */
static image build(uint64_t run, const skl_bloom_params *params)
{
    skl_bloom filter = {{0}};
    check(skl_bloom_new(&filter, params, NULL), "new");
    uint64_t *hashes = malloc(KEYS * sizeof *hashes);
    if (hashes == NULL) exit(1);
    for (uint64_t i = 0; i < KEYS; i++) hashes[i] = skl_hash_u64(run + RUNS * i, params->seed);
    check(skl_bloom_insert_hashes(&filter, hashes, KEYS), "insert");
    free(hashes);
    check(skl_bloom_seal(&filter), "seal");

    const void *bytes;
    image written;
    check(skl_bloom_image(&filter, &bytes, &written.len), "image");
    written.bytes = malloc(written.len);
    if (written.bytes == NULL) exit(1);
    memcpy(written.bytes, bytes, written.len);
    skl_bloom_free(&filter);
    return written;
}

int main(void)
{
    if (skl_version_number() / 1000000 != SKL_VERSION_MAJOR) {
        fprintf(stderr, "built for another library\n");
        return 1;
    }
    skl_bloom_params params;
    check(skl_bloom_params_for_fpr(KEYS, 0.01, &params), "params");
    printf("%.2f bits per key\n", 8.0 * (double)params.payload_bytes / KEYS);

    image images[RUNS];
    skl_bloom runs[RUNS];
    for (int run = 0; run < RUNS; run++) {
        images[run] = build((uint64_t)run, &params);
        check(skl_bloom_view(&runs[run], images[run].bytes, images[run].len, SKL_OPEN_STRICT), "view");
    }

    /* Half of the keys are in one run, the other half in none. */
    long lost = 0, read = 0, in_vain = 0;
    for (uint64_t i = 0; i < LOOKUPS; i++) {
        const uint64_t key = i < LOOKUPS / 2 ? i : i + RUNS * KEYS;
        const uint64_t hash = skl_hash_u64(key, params.seed);
        for (uint64_t run = 0; run < RUNS; run++) {
            const int maybe = skl_bloom_contains_hash(&runs[run], hash);
            const int is_there = key < RUNS * KEYS && key % RUNS == run;
            if (maybe < 0) check(maybe, "contains");
            read += maybe;
            in_vain += maybe && !is_there;
            lost += !maybe && is_there;
        }
    }
    printf("runs read: %ld of %ld, lost keys: %ld\n", read, (long)LOOKUPS * RUNS, lost);
    const double rate = (double)in_vain / ((double)LOOKUPS * RUNS - LOOKUPS / 2.0);
    printf("false positives: %s\n", rate < 1.1 * params.predicted_fpr ? "as promised" : "too many");

    /* A byte that went bad on disk is found before it can hide a key. */
    skl_bloom damaged;
    ((unsigned char *)images[0].bytes)[images[0].len / 2] ^= 1;
    printf("a flipped bit: %s\n",
           skl_status_string(skl_bloom_view(&damaged, images[0].bytes, images[0].len, SKL_OPEN_STRICT)));
    for (int run = 0; run < RUNS; run++) free(images[run].bytes);
    return 0;
}
