/* What all tests need: CHECK says what failed and where; each_level runs a test at every SIMD level of this
 * machine and gives main its exit status. REQUIRE_ISA=avx2 asks that the fastest level be that one. */
#ifndef CHECK_H
#define CHECK_H

#include "sketchline.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_REPORTED = 10 };
static long checks, failures;

#define CHECK(condition) check((condition) ? 1 : 0, #condition, __FILE__, __LINE__)
#define CHECK_EQUAL(expected, call) check_equal((long long)(expected), (long long)(call), #call, __FILE__, __LINE__)
#define CHECK_OK(call) CHECK_EQUAL(SKL_OK, call)

static inline int check(int holds, const char *text, const char *file, int line)
{
    checks++;
    if (!holds && failures++ < MOST_REPORTED) {
        printf("%s:%d: failed at %s: %s\n", file, line, skl_simd_name(skl_simd_level()), text);
    }
    return holds;
}

static inline int check_equal(long long expected, long long answer, const char *text, const char *file, int line)
{
    checks++;
    if (answer != expected && failures++ < MOST_REPORTED) {
        printf("%s:%d: failed at %s: %s is %lld, expected %lld\n", file, line, skl_simd_name(skl_simd_level()), text,
               answer, expected);
    }
    return answer == expected;
}

/* REFUSES: a call that must answer with this error, and leave every byte of the world as it was. */
static unsigned char *world_bytes, *world_before;
static size_t world_size;

/* The eight bytes that stand for an integer key, on every machine; until the next call. */
static inline const unsigned char *key_bytes(uint64_t key)
{
    static unsigned char bytes[8];
    int i;
    for (i = 0; i < 8; i++) {
        bytes[i] = (unsigned char)(key >> 8 * i);
    }
    return bytes;
}

static inline void watch_world(void *world, size_t size)
{
    world_bytes = world;
    world_size = size;
    world_before = malloc(size);
    if (world_before == NULL) {
        abort();
    }
}

static inline void snapshot(void)
{
    memcpy(world_before, world_bytes, world_size);
}

static inline void refused(int expected, int answer, const char *call, const char *file, int line)
{
    char wrote[300];
    check_equal(expected, answer, call, file, line);
    if (memcmp(world_before, world_bytes, world_size) != 0) {
        snprintf(wrote, sizeof wrote, "nothing written by %s", call);
        check(0, wrote, file, line);
        memcpy(world_bytes, world_before, world_size);
    }
}

#define REFUSES(expected, call) (snapshot(), refused((expected), (int)(call), #call, __FILE__, __LINE__))

/* Runs the test at every level; what main returns. */
static inline int each_level(const char *name, void (*test)(void))
{
    const char *required = getenv("REQUIRE_ISA"), *detected = skl_simd_name(skl_simd_detected());
    int level;
    char levels[64] = "";
    for (level = SKL_SIMD_PORTABLE; level <= skl_simd_detected(); level++) {
        if (skl_simd_set_level(level) == SKL_OK) { /* AArch64 has no AVX2 between its levels, nor x86-64 NEON */
            strcat(strcat(levels, " "), skl_simd_name(level));
            test();
        }
    }
    printf("%s at%s: %ld checks, %ld failed\n", name, levels, checks, failures);
    free(world_before);
    if (required != NULL && strcmp(required, detected) != 0) {
        printf("%s: the fastest level here is %s, required %s\n", name, detected, required);
        return EXIT_FAILURE;
    }
    return failures == 0 && checks > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* The i-th of a series of well mixed numbers. */
static inline uint64_t number(uint64_t i)
{
    return skl_hash_mix(i * UINT64_C(0x9e3779b97f4a7c15));
}

/* A whole file of the core's test data, of at most `most` bytes. */
static inline size_t read_file(const char *name, unsigned char *bytes, size_t most)
{
    char path[200];
    FILE *file;
    size_t len = 0;
    snprintf(path, sizeof path, "core/tests/data/%s", name);
    file = fopen(path, "rb");
    CHECK(file != NULL); /* run from the root of the repository */
    if (file != NULL) {
        len = fread(bytes, 1, most, file);
        CHECK(feof(file));
        fclose(file);
    }
    return len;
}

#endif
