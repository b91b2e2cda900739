/* The header speaks of the library that is linked, and the texts are texts. */
#include "check.h"

static void version(void)
{
    char text[64];
    snprintf(text, sizeof text, "%d.%d.%d", SKL_VERSION_MAJOR, SKL_VERSION_MINOR, SKL_VERSION_PATCH);
    CHECK(strcmp(skl_version_string(), text) == 0);
    CHECK_EQUAL(SKL_VERSION_NUMBER, skl_version_number());
    CHECK_EQUAL(SKL_VERSION_MAJOR * 1000000 + SKL_VERSION_MINOR * 1000 + SKL_VERSION_PATCH, skl_version_number());
}

static void texts(void)
{
    int status, level;
    for (status = SKL_SATURATED; status >= SKL_ERR_NEED_SPACE; status--) {
        const char *text = skl_status_string(status);
        CHECK(text != NULL && text[0] != 0 && strcmp(text, "unknown status") != 0);
    }
    CHECK(strcmp(skl_status_string(2), "unknown status") == 0);
    CHECK(strcmp(skl_status_string(-1000), "unknown status") == 0);
    CHECK(strcmp(skl_simd_name(SKL_SIMD_PORTABLE), "portable") == 0);
    CHECK(strcmp(skl_simd_name(SKL_SIMD_NEON), "neon") == 0);
    CHECK(strcmp(skl_simd_name(SKL_SIMD_AVX2), "avx2") == 0);
    CHECK(strcmp(skl_simd_name(SKL_SIMD_AVX512), "avx512") == 0);
    CHECK(strcmp(skl_simd_name(SKL_SIMD_AVX512VBMI), "avx512vbmi") == 0);
    for (level = -2; level < 9; level++) {
        CHECK((strcmp(skl_simd_name(level), "unknown") == 0) == (level < SKL_SIMD_PORTABLE || level > SKL_SIMD_AVX512VBMI));
    }
}

/* Handles are 64 bytes, and the structures are laid out as the other language sees them: no padding. */
static void layout(void)
{
    CHECK(sizeof(skl_bloom) == 64);
    CHECK(sizeof(skl_bloom_params) == 3 * 8 + 2 * 4 + 3 * 8);
    CHECK(sizeof(skl_bloom_info) == sizeof(size_t) + 4 * 8 + 6 * 4 + 2 * 8);
    CHECK(sizeof(skl_bloom_estimate) == sizeof(size_t) + 3 * 8 + 2 * 4);
    CHECK(sizeof(skl_keys) == 2 * 4 + 5 * sizeof(size_t));
    CHECK(sizeof(skl_hll) == 64);
    CHECK(sizeof(skl_hll_params) == 4 * 4 + 3 * 8);
    CHECK(sizeof(skl_hll_info) == sizeof(size_t) + 2 * 8 + 8 * 4 + 8);
    CHECK(sizeof(skl_hll_overlap) == sizeof(size_t) + 4 * 8);
    CHECK(sizeof(skl_cms) == 64);
    CHECK(sizeof(skl_cms_params) == 8 + 4 * 4 + 8 + 2 * 4 + 3 * 8);
    CHECK(sizeof(skl_cms_info) == sizeof(size_t) + 10 * 8 + 8 * 4);
    CHECK(sizeof(skl_cms_bounds) == sizeof(size_t) + 4 * 8 + 2 * 4);
    CHECK(sizeof(skl_cms_window) == 2 * 8);
    CHECK(sizeof(skl_topk) == 64);
    CHECK(sizeof(skl_topk_params) == 2 * 4 + 8 + 2 * 4 + 8);
    CHECK(sizeof(skl_topk_info) == 2 * sizeof(size_t) + 2 * 8 + 4 * 4);
    CHECK(sizeof(skl_topk_entry) == sizeof(size_t) + sizeof(void *) + 2 * sizeof(size_t) + 2 * 8);
    CHECK(sizeof(skl_status) == 4);
}

/* The level can be lowered and raised back, and a new handle gets it. */
static void levels(void)
{
    skl_bloom handle;
    skl_bloom_params params;
    skl_bloom_info info;
    unsigned char image[128];
    int level = skl_simd_level();
    CHECK(skl_simd_detected() >= level);
    CHECK_OK(skl_bloom_params_explicit(1, 8, &params));
    CHECK_OK(skl_simd_set_level(SKL_SIMD_PORTABLE));
    CHECK_EQUAL(SKL_SIMD_PORTABLE, skl_simd_level());
    CHECK_OK(skl_simd_set_level(level));
    CHECK_EQUAL(level, skl_simd_level());
    CHECK_OK(skl_bloom_init(&handle, image, sizeof image, &params));
    info.struct_size = sizeof info;
    CHECK_OK(skl_bloom_get_info(&handle, &info));
    CHECK_EQUAL(level, info.simd_level);
    CHECK_OK(skl_bloom_set_simd_level(&handle, SKL_SIMD_PORTABLE));
    CHECK_OK(skl_bloom_get_info(&handle, &info));
    CHECK_EQUAL(SKL_SIMD_PORTABLE, info.simd_level);
    CHECK_EQUAL(level, skl_simd_level());
}

/* One known answer: XXH3-64 of "" with seed 0, from the documents of xxHash. */
static void hashes(void)
{
    uint64_t hash = 0, again = 1;
    unsigned char bytes[8] = {8, 7, 6, 5, 4, 3, 2, 1};
    CHECK_OK(skl_hash_bytes(NULL, 0, 0, &hash));
    CHECK(hash == UINT64_C(0x2d06800538d394c2));
    CHECK_OK(skl_hash_bytes("", 0, 0, &again));
    CHECK(hash == again);
    CHECK_OK(skl_hash_bytes(bytes, 8, 7, &hash));
    CHECK(hash == skl_hash_u64(UINT64_C(0x0102030405060708), 7));
    CHECK(skl_hash_f64(0.0, 7) == skl_hash_f64(-0.0, 7));
    CHECK(skl_hash_f64(0.0, 7) == skl_hash_u64(0, 7));
    CHECK(skl_hash_f64(1.0, 7) == skl_hash_u64(UINT64_C(0x3ff0000000000000), 7));
    CHECK(skl_hash_mix(0) == 0 && skl_hash_mix(1) != skl_hash_mix(2));
}

static void all(void)
{
    version();
    texts();
    layout();
    levels();
    hashes();
}

int main(void)
{
    return each_level("version", all);
}
