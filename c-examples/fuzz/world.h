/* The memory of calls.c: handles and their images, arguments and results, all in one structure with fences between.
 * What a call may change is said before it; afterwards everything else is compared with what it was. Under
 * AddressSanitizer everything that a call may not even read is poisoned while it runs. */
#ifndef WORLD_H
#define WORLD_H

#include "kinds.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#define POISON(start, len) ASAN_POISON_MEMORY_REGION(start, len)
#define UNPOISON(start, len) ASAN_UNPOISON_MEMORY_REGION(start, len)
#endif
#endif
#ifndef POISON
#define POISON(start, len) ((void)(start), (void)(len))
#define UNPOISON(start, len) ((void)(start), (void)(len))
#endif

enum {
    SLOTS = 8,
    ROOM = 2048, /* for an image in memory of the caller */
    FENCE = 64,
    SCRATCH = 16384,
    MOST_OWNED = 16384, /* where the allocator stops */
    MOST_CHANGES = 16,
    MOST_GIVEN = 64
};

static struct world {
    struct {
        union handle handle;
        unsigned char fence[FENCE];
    } handles[SLOTS];
    unsigned char memory[SLOTS][2][ROOM + FENCE];
    unsigned char scratch[SCRATCH];
} world, before;

static const unsigned char *const world_start = (const unsigned char *)&world;

/* A handle, and what is known of it. */
static struct slot {
    const struct kind *kind; /* NULL: empty */
    bool writable, owned;
    bool spoiled;   /* its bytes were changed behind its back */
    bool unchecked; /* opened without a look at the payload */
    int half; /* which half of its memory holds the image */
    unsigned char *image;
    size_t len;
    struct about about;
    struct shadow shadow;
} slots[SLOTS];

/* Memory of an allocator: a slot has one piece, and two while it grows. */
static struct pool {
    unsigned char *memory[2];
    size_t sizes[2];
    bool deny;
    unsigned char before[MOST_OWNED];
    unsigned char *memory_before;
} pools[SLOTS];

static struct region {
    void *start;
    size_t len;
} changes[MOST_CHANGES], given[MOST_GIVEN], reads;
static unsigned num_changes, num_given;
static size_t scratch_used;

static inline void *allocate(void *ctx, size_t size, size_t align)
{
    struct pool *pool = ctx;
    const int i = pool->memory[0] == NULL ? 0 : 1;
    void *memory = NULL;
    REQUIRE(align >= 64 && (align & (align - 1)) == 0 && pool->memory[i] == NULL);
    if (pool->deny || size > MOST_OWNED || posix_memalign(&memory, align, size + FENCE) != 0) {
        return NULL;
    }
    memset(memory, 0xa5, size + FENCE);
    pool->memory[i] = memory;
    pool->sizes[i] = size;
    POISON((unsigned char *)memory + size, FENCE);
    return memory;
}

static inline bool is_fence(const unsigned char *fence, size_t len)
{
    size_t i = 0;
    while (i < len && fence[i] == 0xa5) {
        i++;
    }
    return i == len;
}

static inline void release(void *ctx, void *memory, size_t size, size_t align)
{
    struct pool *pool = ctx;
    const int i = pool->memory[0] == memory ? 0 : 1;
    REQUIRE(memory != NULL && pool->memory[i] == memory && pool->sizes[i] == size && align >= 64);
    UNPOISON((unsigned char *)memory + size, FENCE);
    REQUIRE(is_fence(pool->memory[i] + size, FENCE));
    free(memory);
    pool->memory[i] = i == 0 ? pool->memory[1] : NULL;
    pool->sizes[i] = i == 0 ? pool->sizes[1] : 0;
    pool->memory[1] = NULL;
}

static inline void make_world(void)
{
    static bool made;
    unsigned i;
    memset(&world, 0xa5, sizeof world);
    if (!made) {
        memset(&before, 0xa5, sizeof before);
        made = true;
    }
    memset(slots, 0, sizeof slots);
    for (i = 0; i < SLOTS; i++) {
        memset(&world.handles[i].handle, 0, sizeof world.handles[i].handle);
    }
    scratch_used = 0;
    num_changes = num_given = 0;
}

/* Forgets the arguments of the last call. */
static inline void new_turn(void)
{
    memset(world.scratch, 0xa5, scratch_used);
    memset(before.scratch, 0xa5, scratch_used);
    scratch_used = 0;
    num_changes = num_given = 0;
    reads.len = 0;
}

/* Bytes for an argument: after some more than `align` asks for, so that they are aligned to nothing greater. */
static inline void *give(size_t len, size_t align)
{
    const size_t at = (scratch_used + FENCE / 4 + 15) / 16 * 16 + align % 16;
    REQUIRE(at + len + FENCE <= SCRATCH);
    scratch_used = at + len + FENCE / 4;
    REQUIRE(num_given < MOST_GIVEN);
    given[num_given].start = world.scratch + at;
    given[num_given++].len = len;
    return world.scratch + at;
}

/* The call may read there, though no sketch does yet. */
static inline void reading(void *start, size_t len)
{
    reads.start = start;
    reads.len = len;
}

/* The call may write there. */
static inline void *changing(void *start, size_t len)
{
    REQUIRE(num_changes < MOST_CHANGES);
    changes[num_changes].start = start;
    changes[num_changes++].len = len;
    return start;
}

/* Bytes for a result. */
static inline void *result(size_t len, size_t align)
{
    return changing(give(len, align), len);
}

static inline void before_call(void)
{
    unsigned i;
    memcpy(before.handles, world.handles, sizeof world.handles);
    memcpy(before.memory, world.memory, sizeof world.memory);
    memcpy(before.scratch, world.scratch, scratch_used);
    for (i = 0; i < SLOTS; i++) {
        struct pool *pool = &pools[i];
        pool->memory_before = pool->memory[0];
        if (pool->memory[0] != NULL) {
            memcpy(pool->before, pool->memory[0], pool->sizes[0]);
        }
    }
}

/* Everything but the arguments and the images in use is out of bounds. */
static inline void forbid(void)
{
    unsigned i;
    for (i = 0; i < SLOTS; i++) {
        POISON(world.handles[i].fence, FENCE);
        POISON(world.memory[i], sizeof world.memory[i]);
        if (slots[i].kind != NULL && slots[i].image != NULL) {
            UNPOISON(slots[i].image, slots[i].len);
        }
    }
    POISON(world.scratch, SCRATCH);
    for (i = 0; i < num_given; i++) {
        UNPOISON(given[i].start, given[i].len);
    }
    for (i = 0; i < num_changes; i++) {
        UNPOISON(changes[i].start, changes[i].len);
    }
    if (reads.len > 0) {
        UNPOISON(reads.start, reads.len);
    }
}

static inline void allow(void)
{
    UNPOISON(&world, sizeof world);
}

/* Requires that nothing changed but what was allowed to, or nothing at all; of the slots in `owners` the memory of the
 * allocator may have. */
static inline void after_call(bool nothing, unsigned owners)
{
    unsigned i;
    if (!nothing) {
        for (i = 0; i < num_changes; i++) {
            const size_t at = (size_t)((const unsigned char *)changes[i].start - world_start);
            memcpy((unsigned char *)&before + at, changes[i].start, changes[i].len);
        }
    }
    REQUIRE(memcmp(before.handles, world.handles, sizeof world.handles) == 0);
    REQUIRE(memcmp(before.memory, world.memory, sizeof world.memory) == 0);
    REQUIRE(memcmp(before.scratch, world.scratch, scratch_used + FENCE) == 0);
    for (i = 0; i < SLOTS; i++) {
        const struct pool *pool = &pools[i];
        REQUIRE(pool->memory[1] == NULL);
        if (nothing || (owners >> i & 1) == 0) {
            REQUIRE(pool->memory[0] == pool->memory_before);
            REQUIRE(pool->memory[0] == NULL || memcmp(pool->memory[0], pool->before, pool->sizes[0]) == 0);
        }
    }
}

#endif
