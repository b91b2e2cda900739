/* What all fuzzers need: an input that is taken in from its start, and REQUIRE, which says what does not hold and ends
 * the process. A fuzzer is one function of some bytes, LLVMFuzzerTestOneInput: libFuzzer calls it, or a main of ours. */
#ifndef FUZZ_H
#define FUZZ_H

#include "sketchline.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is being called, for REQUIRE to say. */
static const char *doing = "";

#define REQUIRE(condition) ((condition) ? (void)0 : broken(#condition, __FILE__, __LINE__))

static inline void broken(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\nafter %s\n", file, line, condition, doing);
    abort();
}

/* Bytes that are left; zeros when there are none. */
struct input {
    const uint8_t *at;
    size_t left;
};

static inline unsigned byte(struct input *in)
{
    if (in->left == 0) {
        return 0;
    }
    in->left--;
    return *in->at++;
}

static inline uint64_t word(struct input *in)
{
    uint64_t value = 0;
    int i;
    for (i = 0; i < 8; i++) {
        value = value << 8 | byte(in);
    }
    return value;
}

/* Below n, which is at most 65536. */
static inline unsigned below(struct input *in, unsigned n)
{
    const unsigned value = n > 256 ? byte(in) << 8 | byte(in) : byte(in);
    return value % n;
}

/* True for one byte in n, and not for the zeros at the end. */
static inline bool one_in(struct input *in, unsigned n)
{
    return byte(in) % n == n - 1;
}

static inline uint64_t get_u64(const unsigned char *at)
{
    uint64_t value = 0;
    int i;
    for (i = 7; i >= 0; i--) {
        value = value << 8 | at[i];
    }
    return value;
}

static inline void put_u64(unsigned char *at, uint64_t value)
{
    int i;
    for (i = 0; i < 8; i++) {
        at[i] = (unsigned char)(value >> 8 * i);
    }
}

/* Makes the checksums of an image right, so that what lies behind them is reached. */
static inline void reseal(unsigned char *image, size_t len)
{
    uint64_t sum = 0;
    if (len >= 64) {
        image[6] |= 1;
        skl_hash_bytes(image + 64, len - 64, 0, &sum);
        put_u64(image + 48, sum);
        skl_hash_bytes(image, 56, 0, &sum);
        put_u64(image + 56, sum);
    }
}

/* Makes it an image in use. */
static inline void unseal(unsigned char *image, size_t len)
{
    if (len >= 64) {
        image[6] &= 0xfe;
        memset(image + 24, 0, 8);
        memset(image + 48, 0, 16);
    }
}

#endif
