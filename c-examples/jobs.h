/* The three jobs: a filter per campaign, a sketch per domain and day, a throttle per address. What they answer and
 * what they keep does not depend on how the events are cut into batches. */

#ifndef PIPELINE_JOBS_H
#define PIPELINE_JOBS_H

#include "domains.h"
#include "events.h"
#include "support.h"

/* What the report is made of, besides the sketches. All of it is in checkpoints, as 64-bit numbers. */
struct counters {
    uint64_t events, duplicates, throttled, late;
    uint64_t bad_lines, first_bad_line, first_fault;
    uint64_t day, day_events; /* the present day, since 1970 */
};

struct jobs {
    uint64_t campaigns, limit;
    skl_bloom filters[MAX_CAMPAIGNS];
    void *filter_memory[MAX_CAMPAIGNS];
    skl_bloom_params filter_params;
    struct domains domains;
    skl_cms counts;
    void *counts_memory;
    skl_cms_params counts_params;
    skl_cms_window window;
    skl_topk offenders; /* of the addresses that were over the limit, those of the greatest counts now */
    void *offenders_memory;
    skl_topk_params offenders_params;
    skl_hll throttled;  /* the addresses that ever were over the limit */
    skl_hll_params throttled_params;

    /* After a resume, a part takes events from the one on that its image lacks; see checkpoint.h. */
    bool is_catching_up;
    uint64_t filter_from[MAX_CAMPAIGNS], throttle_from, *domains_from;

    /* The answers about the last batch. */
    bool is_duplicate[MAX_BATCH], is_throttled[MAX_BATCH], is_held[MAX_BATCH];
};

static inline void *allocate_lines(uint64_t len)
{
    void *memory;
    if (len > SIZE_MAX / 2 || posix_memalign(&memory, 64, (size_t)len) != 0) die("out of memory");
    return memory;
}

static inline void jobs_size(struct jobs *jobs, const struct pipeline_options *o)
{
    jobs->campaigns = o->campaigns;
    jobs->limit = o->limit;
    uint64_t pairs = (o->pairs + o->campaigns - 1) / o->campaigns;
    skl_status status = skl_bloom_params_for_fpr(pairs, o->fpr, &jobs->filter_params);
    if (status != SKL_OK) die("--fpr %g: %s", o->fpr, skl_status_string(status));
    jobs->filter_params.seed = USER_SEED;
    status = skl_cms_params_for_error(SKL_CMS_ROWS, 4, o->epsilon, 0.02, &jobs->counts_params); /* e^-4: four rows */
    if (status != SKL_OK) die("--epsilon %g: %s", o->epsilon, skl_status_string(status));
    check_skl(skl_topk_params_for((uint32_t)o->top, 64, &jobs->offenders_params), "--top");
    check_skl(skl_hll_params_for(12, &jobs->throttled_params), "cannot make a sketch");
    jobs->window = (skl_cms_window){.period = o->window};
}

static inline struct jobs *jobs_new(const struct pipeline_options *o)
{
    struct jobs *jobs = allocate(1, sizeof *jobs);
    *jobs = (struct jobs){0};
    jobs_size(jobs, o);
    for (size_t i = 0; i < jobs->campaigns; i++) {
        jobs->filter_memory[i] = allocate_lines(jobs->filter_params.image_bytes);
        check_skl(skl_bloom_init(&jobs->filters[i], jobs->filter_memory[i], jobs->filter_params.image_bytes,
                                 &jobs->filter_params), "cannot make a filter");
    }
    jobs->domains = domains_new((uint32_t)o->p, o->sparse, o->domains);
    jobs->counts_memory = allocate_lines(jobs->counts_params.image_bytes);
    check_skl(skl_cms_init(&jobs->counts, jobs->counts_memory, jobs->counts_params.image_bytes, &jobs->counts_params),
              "cannot make the counts");
    jobs->offenders_memory = allocate_lines(jobs->offenders_params.image_bytes);
    check_skl(skl_topk_init(&jobs->offenders, jobs->offenders_memory, jobs->offenders_params.image_bytes,
                            &jobs->offenders_params), "cannot make the list of offenders");
    check_skl(skl_hll_new(&jobs->throttled, &jobs->throttled_params, NULL), "cannot make a sketch");
    return jobs;
}

static inline uint64_t jobs_bytes(const struct jobs *jobs)
{
    return jobs->campaigns * jobs->filter_params.image_bytes + jobs->domains.memory->bytes +
           jobs->counts_params.image_bytes + jobs->offenders_params.image_bytes + jobs->throttled_params.dense_bytes +
           jobs->domains.n * sizeof(struct domain);
}

/* "Seen before?" Users by campaign, and then every filter's at once. */
static inline void jobs_filter(struct jobs *jobs, const struct batch *batch, size_t from, size_t to)
{
    uint64_t hashes[MAX_BATCH], seen[MAX_BATCH / 64 + 1];
    uint32_t order[MAX_BATCH], ends[MAX_CAMPAIGNS + 1] = {0};
    for (size_t i = from; i < to; i++) ends[batch->campaigns[i] + 1]++;
    for (size_t c = 0; c < jobs->campaigns; c++) ends[c + 1] += ends[c];
    for (size_t i = from; i < to; i++) {
        uint32_t at = ends[batch->campaigns[i]]++;
        hashes[at] = batch->user_hashes[i];
        order[at] = (uint32_t)i;
    }
    for (size_t c = 0, start = 0; c < jobs->campaigns; start = ends[c++]) {
        if (batch->first < jobs->filter_from[c]) continue;
        skl_keys keys = {.kind = SKL_KEYS_HASHES, .n = ends[c] - start, .data = hashes + start};
        check_skl(skl_bloom_insert_batch(&jobs->filters[c], &keys, seen), "cannot use a filter");
        for (size_t i = 0; i < keys.n; i++) jobs->is_duplicate[order[start + i]] = seen[i / 64] >> i % 64 & 1;
    }
}

/* Whether the user counts now: the image of the domain may have it already, or its sketch may be of the day before. */
static inline bool jobs_takes_user(struct jobs *jobs, const struct batch *batch, size_t i)
{
    uint32_t domain = batch->domains[i];
    if (jobs->is_catching_up) return batch->first >= jobs->domains_from[domain];
    jobs->is_held[i] = held_waits(jobs->domains.held, domain);
    if (jobs->is_held[i]) held_add(jobs->domains.held, domain, batch->user_hashes[i], batch->first + i);
    return !jobs->is_held[i];
}

/* "How many distinct per domain?" */
static inline void jobs_count_users(struct jobs *jobs, const struct batch *batch, size_t from, size_t to)
{
    const struct held *held = jobs->domains.held;
    const uint32_t *groups = batch->domains + from;
    const uint64_t *hashes = batch->user_hashes + from;
    uint32_t some_groups[MAX_BATCH];
    uint64_t some_hashes[MAX_BATCH];
    size_t n = to - from, consumed = 0;
    memset(jobs->is_held + from, 0, n);
    if (jobs->is_catching_up || held->from < held->to) {
        n = 0;
        for (size_t i = from; i < to; i++) {
            if (!jobs_takes_user(jobs, batch, i)) continue;
            some_groups[n] = batch->domains[i];
            some_hashes[n++] = batch->user_hashes[i];
        }
        groups = some_groups;
        hashes = some_hashes;
    }
    check_skl(skl_hll_insert_grouped(jobs->domains.sketches, jobs->domains.n, groups, hashes, n, &consumed),
              "cannot count the users");
}

/* The time of an event may end a window. */
static inline void jobs_advance(struct jobs *jobs, uint64_t time)
{
    uint64_t halvings = 0;
    check_skl(skl_cms_window_advance(&jobs->window, &jobs->counts, time, &halvings), "cannot move the window");
    if (halvings > 0) check_skl(skl_topk_refresh(&jobs->offenders, &jobs->counts), "cannot age the offenders");
}

/* "Is this address too frequent?" */
static inline void jobs_throttle(struct jobs *jobs, const struct batch *batch, size_t from, size_t to)
{
    if (batch->first < jobs->throttle_from) return;
    for (size_t i = from; i < to; i++) {
        uint64_t hash = batch->address_hashes[i], estimate = 0;
        if (batch->times[i] - jobs->window.started >= jobs->window.period && batch->times[i] >= jobs->window.started)
            jobs_advance(jobs, batch->times[i]);
        if (skl_cms_add_hash(&jobs->counts, hash, 1, &estimate) < 0) die("cannot count an address");
        jobs->is_throttled[i] = estimate > jobs->limit;
        if (!jobs->is_throttled[i]) continue;
        size_t len;
        const char *address = text_at(&batch->addresses, i, &len);
        if (skl_topk_offer(&jobs->offenders, address, len, hash, estimate) < 0) die("cannot keep an offender");
        check_skl(skl_hll_insert_hash(&jobs->throttled, hash), "cannot count an offender");
    }
}

/* Events `from` to `to` of a batch, all of one day. */
static inline void jobs_run(struct jobs *jobs, const struct batch *batch, size_t from, size_t to,
                            struct counters *counters)
{
    jobs_filter(jobs, batch, from, to);
    jobs_count_users(jobs, batch, from, to);
    jobs_throttle(jobs, batch, from, to);
    counters->events += to - from;
    counters->day_events += to - from;
    for (size_t i = from; i < to; i++) {
        counters->duplicates += jobs->is_duplicate[i];
        counters->throttled += jobs->is_throttled[i];
    }
}

static inline void jobs_free(struct jobs *jobs)
{
    for (size_t i = 0; i < jobs->campaigns; i++) free(jobs->filter_memory[i]);
    domains_free(&jobs->domains);
    free(jobs->counts_memory);
    free(jobs->offenders_memory);
    skl_hll_free(&jobs->throttled);
    free(jobs->domains_from);
    free(jobs);
}

#endif
