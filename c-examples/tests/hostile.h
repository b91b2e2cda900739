/* What the hostile tests share: pointers made bad, batches that contradict themselves, images with faults. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include "check.h"

enum { KEYS = 5 };

static uint64_t numbers[KEYS + 1] = {1, 2, 3, 4, 5};
static const skl_keys batch = {SKL_KEYS_U64, 0, KEYS, numbers, 0, NULL, NULL};

/* The address one byte further: aligned for bytes only. */
static inline void *off(void *aligned)
{
    return (char *)aligned + 1;
}

static inline void *null(void *pointer)
{
    (void)pointer;
    return NULL;
}

/* Gives every kind of bad batch to `takes`, which gives it to each function that takes one. hostile.c has more of the
 * kind; all functions read batches in one way. */
static inline void bad_batches(void takes(int expected, const skl_keys *keys))
{
    static const uint32_t offsets[KEYS + 1] = {0, 1, 3, 3, 6, 10}, falling[KEYS + 1] = {0, 1, 3, 2, 6, 10};
    static const char *const missing[KEYS] = {"a", "bc", NULL, "def", "ghij"};
    static const size_t lengths[KEYS] = {1, 2, 1, 3, 4};
    skl_keys keys = batch;
    takes(SKL_ERR_NULL, NULL);
    takes(SKL_ERR_ALIGNMENT, off(&keys));
    keys.kind = 5;
    takes(SKL_ERR_ARGUMENT, &keys);
    keys.kind = UINT32_MAX;
    takes(SKL_ERR_ARGUMENT, &keys);
    keys = batch;
    keys.reserved = 1;
    takes(SKL_ERR_ARGUMENT, &keys);
    keys = batch;
    keys.n = SIZE_MAX;
    takes(SKL_ERR_LENGTH, &keys);
    keys.n = SIZE_MAX / 8;
    takes(SKL_ERR_LENGTH, &keys);
    keys = batch;
    keys.data = off(numbers);
    takes(SKL_ERR_ALIGNMENT, &keys);
    keys.data = NULL;
    takes(SKL_ERR_NULL, &keys);
    keys.kind = SKL_KEYS_BYTES32;
    keys.data = "abcdefghij";
    keys.data_len = 9;
    keys.offsets = offsets;
    takes(SKL_ERR_KEYS, &keys);
    keys.data_len = 10;
    keys.offsets = falling;
    takes(SKL_ERR_KEYS, &keys);
    keys.kind = SKL_KEYS_POINTERS;
    keys.data = missing;
    keys.offsets = lengths;
    takes(SKL_ERR_KEYS, &keys);
}

/* One byte of an image that was never sealed, what it is to be, and the status of opening it then. */
struct fault {
    size_t at;
    unsigned char value;
    int expected;
};

/* Makes one fault after the other; `opens` gives the image to each function that opens one. */
static inline void each_fault(unsigned char *image, const struct fault *faults, size_t n,
                              void opens(int expected, uint32_t flags))
{
    size_t i;
    for (i = 0; i < n; i++) {
        const unsigned char right = image[faults[i].at];
        image[faults[i].at] = faults[i].value;
        opens(faults[i].expected, SKL_OPEN_ALLOW_UNSEALED);
        opens(faults[i].expected, SKL_OPEN_ALLOW_UNSEALED | SKL_OPEN_SKIP_PAYLOAD_CHECK);
        image[faults[i].at] = right;
    }
}

/* Each test in a world of its own. */
static inline void each_test(void make_world(void), void (*const tests[])(void), size_t n)
{
    size_t i;
    for (i = 0; i < n; i++) {
        make_world();
        tests[i]();
    }
}

#endif
