#include <inttypes.h>
#include <stdio.h>

#include "sketchline.h"

int main(void)
{
    skl_bloom_params params;
    skl_status status = skl_bloom_params_for_fpr(1000000, 0.01, &params);
    skl_bloom filter = {0};
    if (status == SKL_OK) status = skl_bloom_new(&filter, &params, NULL);
    if (status == SKL_OK) status = skl_bloom_insert(&filter, "alice", 5);
    if (status != SKL_OK) {
        fprintf(stderr, "%s\n", skl_status_string(status));
        return 1;
    }
    printf("%" PRIu64 " bytes, at most %.2f %% false positives\n", params.image_bytes, 100 * params.predicted_fpr);
    printf("alice: %s\n", skl_bloom_contains(&filter, "alice", 5) ? "maybe" : "no");
    printf("bob:   %s\n", skl_bloom_contains(&filter, "bob", 3) ? "maybe" : "no");
    skl_bloom_free(&filter);
    return 0;
}
