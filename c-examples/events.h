/* Events in batches, and where they come from: a generator, or lines of text. */

#ifndef PIPELINE_EVENTS_H
#define PIPELINE_EVENTS_H

#include <inttypes.h>

#include "calendar.h"
#include "pipeline_options.h"
#include "support.h"
#include "zipf.h"

enum { MAX_FIELD = 255, MAX_DOMAINS = 1 << 20 };

/* Users are hashed with a 't' before them and this seed: as distinct.c hashes text, so that its --merge reads the
 * sketches of our days. */
#define USER_SEED UINT64_C(0x53514b6579203100)

/* Texts one after the other, as skl_keys takes them. */
struct texts {
    struct buffer bytes;
    uint32_t offsets[MAX_BATCH + 1];
};

struct batch {
    size_t n;
    uint64_t first; /* the number of its first event */
    uint64_t times[MAX_BATCH];
    uint32_t campaigns[MAX_BATCH], domains[MAX_BATCH];
    struct texts users, addresses;
    uint64_t user_hashes[MAX_BATCH], address_hashes[MAX_BATCH];
};

static inline void batch_clear(struct batch *batch, uint64_t first)
{
    batch->n = 0;
    batch->first = first;
    batch->users.bytes.len = batch->addresses.bytes.len = 0;
}

static inline void batch_add(struct batch *batch, uint64_t time, const char *user, size_t user_len, uint32_t campaign,
                             uint32_t domain, const char *address, size_t address_len)
{
    size_t i = batch->n++;
    batch->times[i] = time;
    batch->campaigns[i] = campaign;
    batch->domains[i] = domain;
    buffer_append(&batch->users.bytes, "t", 1);
    buffer_append(&batch->users.bytes, user, user_len);
    buffer_append(&batch->addresses.bytes, address, address_len);
    batch->users.offsets[i + 1] = (uint32_t)batch->users.bytes.len;
    batch->addresses.offsets[i + 1] = (uint32_t)batch->addresses.bytes.len;
}

static inline const char *text_at(const struct texts *texts, size_t i, size_t *len)
{
    *len = texts->offsets[i + 1] - texts->offsets[i];
    return (const char *)texts->bytes.bytes + texts->offsets[i];
}

static inline void hash_texts(const struct texts *texts, size_t n, uint64_t seed, uint64_t *hashes)
{
    skl_keys keys = {.kind = SKL_KEYS_BYTES32, .n = n, .data = texts->bytes.bytes, .data_len = texts->bytes.len,
                     .offsets = texts->offsets};
    check_skl(skl_hash_batch(&keys, seed, hashes), "cannot hash the events");
}

/* Each text once: the filters and the sketches of distinct users take the same hash. */
static inline void batch_hash(struct batch *batch)
{
    hash_texts(&batch->users, batch->n, USER_SEED, batch->user_hashes);
    hash_texts(&batch->addresses, batch->n, 0, batch->address_hashes);
}

/* How far the events were read. Of a generator, `at` is the number of the event; of text, bytes and lines. */
struct position {
    uint64_t at, line, random;
};

struct generator {
    struct zipf users, domains, addresses;
    uint64_t events, per_day, campaigns;
    struct position *position;
};

#define GENERATED_START (UINT64_C(20454) * DAY_SECONDS) /* 2026-01-01 */

struct generated {
    uint64_t time, domain;
    uint32_t campaign;
    char user[24], address[24];
    int user_len, address_len;
};

static inline struct generator generator_new(const struct pipeline_options *o, struct position *position)
{
    return (struct generator){
        .users = zipf_new(o->users, o->user_zipf), .domains = zipf_new(o->domains, o->zipf),
        .addresses = zipf_new(o->addresses, o->zipf), .events = o->events, .per_day = o->per_day,
        .campaigns = o->campaigns, .position = position};
}

static inline int put_digits(char *out, uint64_t number)
{
    char digits[20];
    int len = 0;
    do digits[len++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    for (int i = 0; i < len; i++) out[i] = digits[len - 1 - i];
    return len;
}

static inline bool generate(struct generator *generator, struct generated *event)
{
    struct position *position = generator->position;
    if (position->at >= generator->events) return false;
    uint64_t i = position->at++, *random = &position->random;
    event->time = GENERATED_START + i / generator->per_day * DAY_SECONDS +
                  i % generator->per_day * DAY_SECONDS / generator->per_day;
    event->user[0] = 'u';
    event->user_len = 1 + put_digits(event->user + 1, zipf_next(&generator->users, random));
    event->domain = zipf_next(&generator->domains, random);
    uint64_t address = zipf_next(&generator->addresses, random);
    int len = 3;
    memcpy(event->address, "10.", 3);
    for (int shift = 16; shift >= 0; shift -= 8) {
        len += put_digits(event->address + len, address >> shift & 255);
        event->address[len++] = '.';
    }
    event->address_len = len - 1;
    event->campaign = (uint32_t)random_below(random, generator->campaigns);
    return true;
}

static inline int generated_domain(uint64_t domain, char text[32])
{
    return snprintf(text, 32, "site%05" PRIu64 ".example", domain);
}

#endif
