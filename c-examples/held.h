/* Users that have to wait: for a few milliseconds after a day has ended, the sketch of their domain is still that of
 * the day before, which is being copied. */

#ifndef PIPELINE_HELD_H
#define PIPELINE_HELD_H

#include "pipeline_options.h"
#include "support.h"

enum { MAX_HELD = 1 << 16 };

struct held {
    size_t from, to; /* the domains whose users wait */
    size_t n, num_released;
    uint32_t domains[MAX_HELD];
    uint64_t hashes[MAX_HELD], events[MAX_HELD]; /* the latter are the numbers of the events */
};

static inline bool held_has_room(const struct held *held)
{
    return held->n + MAX_BATCH <= MAX_HELD;
}

static inline bool held_waits(const struct held *held, uint32_t domain)
{
    return domain >= held->from && domain < held->to;
}

static inline void held_add(struct held *held, uint32_t domain, uint64_t hash, uint64_t event)
{
    size_t i = held->n++;
    held->domains[i] = domain;
    held->hashes[i] = hash;
    held->events[i] = event;
}

static inline void held_swap(struct held *held, size_t i, size_t j)
{
    uint32_t domain = held->domains[i];
    uint64_t hash = held->hashes[i], event = held->events[i];
    held->domains[i] = held->domains[j], held->hashes[i] = held->hashes[j], held->events[i] = held->events[j];
    held->domains[j] = domain, held->hashes[j] = hash, held->events[j] = event;
}

/* Those that need not wait any more: `num_released` of them from `n` on, until the next is added. */
static inline void held_release(struct held *held)
{
    size_t all = held->n;
    for (size_t i = 0; i < held->n;) {
        if (held_waits(held, held->domains[i])) {
            i++;
        } else {
            held_swap(held, i, --held->n);
        }
    }
    held->num_released = all - held->n;
}

#endif
