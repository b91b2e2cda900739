/* An allocator that watches: memory is aligned to what was asked and to no more, with a pattern on both sides that
 * must last, and comes back as it was given. */
#ifndef WATCH_H
#define WATCH_H

#include "check.h"

struct watch {
    int live;    /* allocations not given back */
    int calls;   /* of alloc */
    int allowed; /* alloc answers NULL from then on */
};

enum { FENCE = 16 };

/* At the start of the memory in front, which is as long as the alignment. */
struct allocation {
    size_t size, align;
};

static inline void *watched_alloc(void *ctx, size_t size, size_t align)
{
    struct watch *watch = ctx;
    unsigned char *whole;
    void *memory;
    CHECK(align >= 64 && (align & (align - 1)) == 0);
    if (watch->calls >= watch->allowed || posix_memalign(&memory, 2 * align, align + size + FENCE) != 0) {
        return NULL;
    }
    watch->calls++;
    watch->live++;
    whole = memset(memory, 0xa5, align + size + FENCE);
    ((struct allocation *)memory)->size = size;
    ((struct allocation *)memory)->align = align;
    return whole + align;
}

static inline void watched_free(void *ctx, void *memory, size_t size, size_t align)
{
    struct watch *watch = ctx;
    unsigned char *start = memory;
    struct allocation *allocation = (struct allocation *)(void *)(start - align);
    size_t i, spoiled = 0;
    CHECK(watch->live > 0 && size == allocation->size && align == allocation->align);
    for (i = 0; i < FENCE; i++) {
        spoiled += *(start - 1 - i) != 0xa5;
        spoiled += *(start + size + i) != 0xa5;
    }
    CHECK_EQUAL(0, spoiled);
    watch->live--;
    free(allocation);
}

static inline skl_allocator watched_by(struct watch *watch, int allowed)
{
    skl_allocator hooks;
    watch->live = watch->calls = 0;
    watch->allowed = allowed;
    hooks.alloc = watched_alloc;
    hooks.free = watched_free;
    hooks.ctx = watch;
    return hooks;
}

#endif
