/* SELECT shop, count(DISTINCT customer) GROUP BY shop, over partitions: each keeps a sketch per shop, and sends the images
 * to the one that answers. Uses the installed library only; hll.txt is what it prints. */
#include <sketchline.h>

#include <stdio.h>
#include <stdlib.h>

enum { PARTITIONS = 3, SHOPS = 4, ROWS = 60000 };

static void check(skl_status status, const char *what)
{
    if (status == SKL_OK) return;
    fprintf(stderr, "%s: %s\n", what, skl_status_string(status));
    exit(1);
}

/* Customers of shop s are numbers below 10, 100, 1000, 10000 for s = 0, 1, 2, 3. */
static uint64_t customers(uint32_t shop)
{
    uint64_t all = 10;
    while (shop-- > 0) all *= 10;
    return all;
}

/* One partition: rows in batches, each row's hash to the sketch of its group. */
static void aggregate(uint64_t partition, skl_hll sketches[SHOPS])
{
    skl_hll *handles[SHOPS];
    uint32_t *groups = malloc(ROWS * sizeof *groups);
    uint64_t *hashes = malloc(ROWS * sizeof *hashes);
    if (groups == NULL || hashes == NULL) exit(1);
    for (uint64_t row = 0; row < ROWS; row++) {
        groups[row] = (uint32_t)(row % SHOPS);
        hashes[row] = skl_hash_u64((row / SHOPS + partition * (ROWS / SHOPS)) % customers(groups[row]), 0);
    }
    for (int shop = 0; shop < SHOPS; shop++) handles[shop] = &sketches[shop];
    size_t consumed = 0;
    check(skl_hll_insert_grouped(handles, SHOPS, groups, hashes, ROWS, &consumed), "insert");
    if (consumed != ROWS) exit(1);
    free(groups);
    free(hashes);
}

int main(void)
{
    skl_hll_params params;
    check(skl_hll_params_for(12, &params), "params");
    printf("standard error: %.2f %%\n", 100 * params.standard_error);

    skl_hll total[SHOPS];
    for (int shop = 0; shop < SHOPS; shop++) check(skl_hll_new(&total[shop], &params, NULL), "new");

    for (uint64_t partition = 0; partition < PARTITIONS; partition++) {
        skl_hll part[SHOPS];
        for (int shop = 0; shop < SHOPS; shop++) check(skl_hll_new(&part[shop], &params, NULL), "new");
        aggregate(partition, part);
        for (int shop = 0; shop < SHOPS; shop++) {
            const void *bytes;
            size_t len;
            skl_hll received;
            check(skl_hll_seal(&part[shop]), "seal");
            check(skl_hll_image(&part[shop], &bytes, &len), "image"); /* and over the network */
            check(skl_hll_view(&received, bytes, len, SKL_OPEN_STRICT), "view");
            check(skl_hll_merge(&total[shop], &received), "merge");
            skl_hll_free(&part[shop]);
        }
    }

    for (uint32_t shop = 0; shop < SHOPS; shop++) {
        double estimate, lower, upper;
        const double exact = (double)customers(shop);
        check(skl_hll_estimate_bounds(&total[shop], 3, &estimate, &lower, &upper), "estimate");
        printf("shop %u: about %.0f of %.0f customers: %s\n", shop, estimate, exact,
               lower <= exact && exact <= upper ? "within the bounds" : "outside of the bounds");
        skl_hll_free(&total[shop]);
    }

    /* A mistake is a status, not a crash. */
    printf("a freed sketch: %s\n", skl_status_string(skl_hll_insert_u64(&total[0], 1)));
    return 0;
}
