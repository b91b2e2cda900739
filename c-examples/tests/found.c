/* What the fuzzers of c-examples/fuzz found, a case each. */
#include "check.h"

enum { P = 12, FULL = 16 }; /* tokens in a line */

static void sparse(skl_hll *sketch, void *memory, size_t len, uint64_t keys)
{
    skl_hll_params params;
    uint64_t key;
    CHECK_OK(skl_hll_params_for(P, &params));
    CHECK_OK(skl_hll_init(sketch, memory, len, &params));
    for (key = 0; key < keys; key++) {
        CHECK_OK(skl_hll_insert_u64(sketch, key));
    }
}

/* An insert that needs space took the seal off. */
static void refused_insert_into_a_sealed_image(void)
{
    unsigned char memory[128], before[128];
    const uint64_t hash = number(1);
    size_t consumed = 0;
    skl_hll sketch, view;
    sparse(&sketch, memory, sizeof memory, FULL);
    CHECK_OK(skl_hll_seal(&sketch));
    memcpy(before, memory, sizeof before);
    CHECK_EQUAL(SKL_ERR_NEED_SPACE, skl_hll_insert_u64(&sketch, FULL));
    CHECK_EQUAL(SKL_ERR_NEED_SPACE, skl_hll_insert_hashes(&sketch, &hash, 1, &consumed));
    CHECK_EQUAL(0, consumed);
    CHECK(memcmp(before, memory, sizeof before) == 0);
    CHECK_OK(skl_hll_view(&view, memory, sizeof memory, SKL_OPEN_STRICT));
    CHECK_OK(skl_hll_insert_u64(&sketch, 0)); /* there already: takes no space */
}

/* An unsealed image that was opened with room had the wrong length in its header. */
static void room_behind_an_image_in_use(void)
{
    unsigned char memory[256];
    const void *image;
    size_t len = 0;
    skl_hll sketch, view;
    double estimate = 0;
    memset(memory, 0, sizeof memory);
    sparse(&sketch, memory, 128, FULL);
    CHECK_OK(skl_hll_open(&sketch, memory, sizeof memory, 128, SKL_OPEN_ALLOW_UNSEALED));
    CHECK_OK(skl_hll_image(&sketch, &image, &len));
    CHECK_OK(skl_hll_view(&view, image, len, SKL_OPEN_ALLOW_UNSEALED));
    CHECK_OK(skl_hll_insert_u64(&sketch, FULL));
    CHECK_OK(skl_hll_image(&sketch, &image, &len));
    CHECK_EQUAL(sizeof memory, len);
    CHECK_OK(skl_hll_view(&view, image, len, SKL_OPEN_ALLOW_UNSEALED));
    CHECK_OK(skl_hll_estimate(&view, &estimate));
    CHECK(estimate > FULL + 0.5 && estimate < FULL + 1.5);
}

static void put_u64(unsigned char *at, uint64_t value)
{
    int i;
    for (i = 0; i < 8; i++) {
        at[i] = (unsigned char)(value >> 8 * i);
    }
}

/* A sealed sparse image with a line of zeros too many was taken in. */
static void sealed_image_with_a_line_too_many(void)
{
    unsigned char memory[192];
    uint64_t sum = 0;
    skl_hll sketch;
    memset(memory, 0, sizeof memory);
    sparse(&sketch, memory, 128, FULL);
    CHECK_OK(skl_hll_seal(&sketch));
    CHECK_OK(skl_hll_view(&sketch, memory, 128, SKL_OPEN_STRICT));
    put_u64(memory + 16, 128);
    CHECK_OK(skl_hash_bytes(memory + 64, 128, 0, &sum));
    put_u64(memory + 48, sum);
    CHECK_OK(skl_hash_bytes(memory, 56, 0, &sum));
    put_u64(memory + 56, sum);
    CHECK_EQUAL(SKL_ERR_PARAMETER, skl_hll_view(&sketch, memory, 192, SKL_OPEN_STRICT));
}

/* An unsealed top-k with one hash twice was sealed to an image that nobody opens. */
static void repeated_hash_in_a_top_k(void)
{
    unsigned char memory[256];
    skl_topk_params params;
    skl_cms_params shape;
    skl_topk top;
    skl_cms sketch;
    const void *image;
    size_t len = 0;
    skl_topk_info info;
    info.struct_size = sizeof info;
    CHECK_OK(skl_topk_params_for(4, 8, &params));
    CHECK(params.image_bytes <= sizeof memory);
    CHECK_OK(skl_topk_init(&top, memory, (size_t)params.image_bytes, &params));
    CHECK_OK(skl_cms_params_explicit(SKL_CMS_ROWS, 4, 64, 4, &shape));
    CHECK_OK(skl_cms_new(&sketch, &shape, NULL));
    CHECK_OK(skl_topk_add(&top, &sketch, "a", 1, 9, NULL));
    CHECK_OK(skl_topk_add(&top, &sketch, "b", 1, 4, NULL));
    CHECK_OK(skl_topk_add(&top, &sketch, "c", 1, 2, NULL));
    memcpy(memory + 72, memory + 64, 8); /* the hash of the first in the second */
    CHECK_OK(skl_topk_open(&top, memory, (size_t)params.image_bytes, SKL_OPEN_ALLOW_UNSEALED));
    CHECK_OK(skl_topk_refresh(&top, &sketch));
    CHECK_OK(skl_topk_seal(&top));
    CHECK_OK(skl_topk_image(&top, &image, &len));
    CHECK_OK(skl_topk_view(&top, image, len, SKL_OPEN_STRICT));
    CHECK_OK(skl_topk_get_info(&top, &info));
    CHECK_EQUAL(2, info.num_keys);
    skl_cms_free(&sketch);
}

/* An unsealed sparse image of the header alone was taken in, and had no image any more once it was merged. */
static void sparse_image_without_a_line(void)
{
    unsigned char memory[128];
    skl_hll sketch, target;
    memset(memory, 0, sizeof memory);
    sparse(&sketch, memory, sizeof memory, 0);
    put_u64(memory + 16, 0); /* the length of the payload */
    CHECK_EQUAL(SKL_ERR_PARAMETER, skl_hll_view(&target, memory, 64, SKL_OPEN_ALLOW_UNSEALED));
    CHECK_EQUAL(SKL_ERR_PARAMETER, skl_hll_open(&target, memory, 64, 64, SKL_OPEN_ALLOW_UNSEALED));
}

static void test(void)
{
    sparse_image_without_a_line();
    repeated_hash_in_a_top_k();
    refused_insert_into_a_sealed_image();
    room_behind_an_image_in_use();
    sealed_image_with_a_line_too_many();
}

int main(void)
{
    return each_level("found", test);
}
