/* Memory for sketches: slots of one size, the most that a sketch takes, in chunks that stay. Nothing is ever scattered: ten
 * thousand sketches take so much, and a run of any length no more. */

#ifndef PIPELINE_SLOTS_H
#define PIPELINE_SLOTS_H

#include "support.h"

struct slots {
    size_t slot_len;
    void **free;                /* a list through the slots themselves */
    void **chunks;              /* and one through the first lines of the chunks */
    char *next, *end;           /* of the last chunk, what was never taken */
    uint64_t bytes;             /* of all chunks */
};

enum { SLOT_CHUNK = 1 << 20, SLOT_ALIGN = 64 };

static inline bool slots_add_chunk(struct slots *slots)
{
    void *chunk;
    if (posix_memalign(&chunk, SLOT_ALIGN, SLOT_CHUNK) != 0) return false;
    *(void **)chunk = slots->chunks;
    slots->chunks = chunk;
    slots->next = (char *)chunk + SLOT_ALIGN;
    slots->end = (char *)chunk + SLOT_CHUNK;
    slots->bytes += SLOT_CHUNK;
    return true;
}

/* The hooks of a skl_allocator. */

static inline void *slots_take(void *context, size_t size, size_t align)
{
    struct slots *slots = context;
    if (size > slots->slot_len || align > SLOT_ALIGN) return NULL;
    void **slot = slots->free;
    if (slot != NULL) {
        slots->free = *slot;
        return slot;
    }
    if ((size_t)(slots->end - slots->next) < slots->slot_len && !slots_add_chunk(slots)) return NULL;
    slots->next += slots->slot_len;
    return slots->next - slots->slot_len;
}

static inline void slots_give(void *context, void *memory, size_t size, size_t align)
{
    struct slots *slots = context;
    (void)size, (void)align;
    *(void **)memory = slots->free;
    slots->free = memory;
}

static inline void slots_free(struct slots *slots)
{
    while (slots->chunks != NULL) {
        void **chunk = slots->chunks;
        slots->chunks = *chunk;
        free(chunk);
    }
}

#endif
