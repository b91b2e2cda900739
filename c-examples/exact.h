/* The same three jobs by exact sets of 64-bit hashes, and how far off the sketches are. */

#ifndef PIPELINE_EXACT_H
#define PIPELINE_EXACT_H

#include "hash_set.h"
#include "jobs.h"

struct exact_address {
    uint64_t hash; /* 0 is free; the one address in 2^64 whose hash is 0 counts as another */
    uint32_t count;
    bool was_over, was_throttled;
};

/* Of the estimates of domains and days. */
struct errors {
    uint64_t n;
    double sum, sum_of_squares, max; /* of relative errors, as they are, squared, and without their sign */
};

struct exact {
    struct hash_set pairs, users; /* of campaign and user; of domain and user, today */
    uint64_t campaign_users[MAX_CAMPAIGNS];
    uint64_t *domain_users;
    size_t num_domains;
    struct exact_address *addresses;
    size_t num_addresses, addresses_len;
    uint64_t window_started, window_period, limit;

    uint64_t duplicates, false_duplicates, missed_duplicates;
    struct errors all, large; /* large: domains and days with 1,000 users and more */
    uint64_t over, missed_over, false_over;
    uint64_t most_user_slots;
};

enum { LARGE_DOMAIN = 1000 };

static inline struct exact *exact_new(const struct pipeline_options *o)
{
    struct exact *exact = allocate(1, sizeof *exact);
    *exact = (struct exact){.window_period = o->window, .limit = o->limit};
    return exact;
}

static inline struct exact_address *exact_find(struct exact_address *addresses, size_t len, uint64_t hash)
{
    size_t i = hash & (len - 1);
    while (addresses[i].hash != 0 && addresses[i].hash != hash) i = (i + 1) & (len - 1);
    return &addresses[i];
}

static inline struct exact_address *exact_address(struct exact *exact, uint64_t hash)
{
    if (exact->num_addresses + 1 > exact->addresses_len / 4 * 3) {
        size_t len = exact->addresses_len > 0 ? 2 * exact->addresses_len : 1024;
        struct exact_address *addresses = allocate(len, sizeof *addresses);
        memset(addresses, 0, len * sizeof *addresses);
        for (size_t i = 0; i < exact->addresses_len; i++)
            if (exact->addresses[i].hash != 0) *exact_find(addresses, len, exact->addresses[i].hash) = exact->addresses[i];
        free(exact->addresses);
        exact->addresses = addresses;
        exact->addresses_len = len;
    }
    struct exact_address *address = exact_find(exact->addresses, exact->addresses_len, hash += hash == 0);
    exact->num_addresses += address->hash == 0;
    address->hash = hash;
    return address;
}

/* What lies behind skl_cms_window_advance. */
static inline void exact_advance(struct exact *exact, uint64_t time)
{
    if (time < exact->window_started + exact->window_period) return;
    uint64_t halvings = (time - exact->window_started) / exact->window_period;
    exact->window_started += halvings * exact->window_period;
    for (size_t i = 0; i < exact->addresses_len; i++)
        exact->addresses[i].count = halvings < 32 ? exact->addresses[i].count >> halvings : 0;
}

static inline void exact_check_throttle(struct exact *exact, uint64_t hash, bool is_throttled)
{
    struct exact_address *address = exact_address(exact, hash);
    bool is_over = ++address->count > exact->limit;
    exact->over += is_over;
    exact->missed_over += is_over && !is_throttled;
    exact->false_over += is_throttled && !is_over;
    address->was_over |= is_over;
    address->was_throttled |= is_throttled;
}

static inline void exact_check_filter(struct exact *exact, uint64_t campaign, uint64_t user, bool is_duplicate)
{
    bool is_new = hash_set_add(&exact->pairs, mix64(user + campaign * UINT64_C(0x9e3779b97f4a7c15)));
    exact->campaign_users[campaign] += is_new;
    exact->duplicates += !is_new;
    exact->false_duplicates += is_new && is_duplicate;
    exact->missed_duplicates += !is_new && !is_duplicate;
}

static inline void exact_count_user(struct exact *exact, uint32_t domain, uint64_t user)
{
    while (domain >= exact->num_domains) {
        exact->domain_users = resize(exact->domain_users, exact->num_domains + 1024, sizeof *exact->domain_users);
        for (size_t i = 0; i < 1024; i++) exact->domain_users[exact->num_domains++] = 0;
    }
    exact->domain_users[domain] += hash_set_add(&exact->users, mix64(user + (domain + UINT64_C(1)) * UINT64_C(0xbf58476d1ce4e5b9)));
}

/* The events that the jobs just answered. */
static inline void exact_run(struct exact *exact, const struct batch *batch, size_t from, size_t to,
                             const struct jobs *jobs)
{
    for (size_t i = from; i < to; i++) {
        exact_check_filter(exact, batch->campaigns[i], batch->user_hashes[i], jobs->is_duplicate[i]);
        exact_count_user(exact, batch->domains[i], batch->user_hashes[i]);
        exact_advance(exact, batch->times[i]);
        exact_check_throttle(exact, batch->address_hashes[i], jobs->is_throttled[i]);
    }
}

static inline void errors_add(struct errors *errors, double error)
{
    errors->n++;
    errors->sum += error;
    errors->sum_of_squares += error * error;
    if (fabs(error) > errors->max) errors->max = fabs(error);
}

/* Before the sketches of the day are cleared. */
static inline void exact_end_day(struct exact *exact, const struct domains *domains)
{
    for (size_t i = 0; i < exact->num_domains; i++) {
        double users = (double)exact->domain_users[i];
        if (users == 0) continue;
        double error = domain_users(domains->all[i]) / users - 1;
        errors_add(&exact->all, error);
        if (users >= LARGE_DOMAIN) errors_add(&exact->large, error);
        exact->domain_users[i] = 0;
    }
    if (exact->users.num_slots > exact->most_user_slots) exact->most_user_slots = exact->users.num_slots;
    free(exact->users.slots);
    exact->users = (struct hash_set){0};
}

/* At the most, which is at the end of a day. */
static inline uint64_t exact_bytes(const struct exact *exact)
{
    uint64_t user_slots = exact->users.num_slots > exact->most_user_slots ? exact->users.num_slots
                                                                          : exact->most_user_slots;
    return (exact->pairs.num_slots + user_slots) * sizeof(uint64_t) + exact->addresses_len * sizeof *exact->addresses +
           exact->num_domains * sizeof *exact->domain_users;
}

/* How many false duplicates the filters should have had, filling up as they did: the integral of the rate over the
 * keys of each campaign, by Simpson's rule. */
static inline double exact_predicted_duplicates(const struct exact *exact, const struct jobs *jobs)
{
    enum { STEPS = 16 };
    double sum = 0;
    for (size_t c = 0; c < jobs->campaigns; c++) {
        double users = (double)exact->campaign_users[c];
        for (int i = 0; i <= STEPS; i++) {
            double rate;
            check_skl(skl_bloom_predict_fpr(&jobs->filter_params, (uint64_t)(users * i / STEPS), &rate), "cannot predict");
            sum += (i == 0 || i == STEPS ? 1 : i % 2 == 1 ? 4 : 2) * rate * users / STEPS / 3;
        }
    }
    return sum;
}

/* The false-positive rate now: `measured` by users that never were, `predicted` for the true numbers of users. */
static inline void exact_probe(const struct exact *exact, const struct jobs *jobs, double *measured, double *predicted)
{
    enum { PROBES = 100000 };
    uint64_t hits = 0, random = 0x70726f6265; /* hashes that nobody has, but for one in 2^40 */
    *predicted = 0;
    for (size_t c = 0; c < jobs->campaigns; c++) {
        double rate;
        check_skl(skl_bloom_predict_fpr(&jobs->filter_params, exact->campaign_users[c], &rate), "cannot predict");
        *predicted += rate / (double)jobs->campaigns;
        for (int i = 0; i < PROBES; i++) hits += skl_bloom_contains_hash(&jobs->filters[c], random_u64(&random)) == 1;
    }
    *measured = (double)hits / PROBES / (double)jobs->campaigns;
}

static inline int compare_counts_down(const void *left, const void *right)
{
    uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
    return (l < r) - (l > r);
}

/* Addresses that ever were over the limit, and those that were throttled and never over it. */
static inline void exact_count_addresses(const struct exact *exact, uint64_t *over, uint64_t *falsely)
{
    *over = *falsely = 0;
    for (size_t i = 0; i < exact->addresses_len; i++) {
        *over += exact->addresses[i].was_over;
        *falsely += exact->addresses[i].was_throttled && !exact->addresses[i].was_over;
    }
}

/* Of the most frequent addresses over the limit now, at most as many as the list has room for: how many there are, and
 * how many of them it has. Of those that tie for its last place, any will do. */
static inline void exact_check_offenders(const struct exact *exact, const struct jobs *jobs, uint64_t *n, uint64_t *found)
{
    uint32_t *counts = allocate(exact->num_addresses, sizeof *counts);
    size_t num_over = 0;
    for (size_t i = 0; i < exact->addresses_len; i++)
        if (exact->addresses[i].count > exact->limit) counts[num_over++] = exact->addresses[i].count;
    qsort(counts, num_over, sizeof *counts, compare_counts_down);
    *n = num_over < jobs->offenders_params.k ? num_over : jobs->offenders_params.k;
    *found = 0;
    uint32_t least = *n > 0 ? counts[*n - 1] : UINT32_MAX;
    struct skl_topk_entry entry = {.struct_size = sizeof entry};
    for (size_t i = 0; skl_topk_get(&jobs->offenders, i, &entry) == SKL_OK; i++)
        *found += exact_find(exact->addresses, exact->addresses_len, entry.hash)->count >= least;
    if (*found > *n) *found = *n;
    free(counts);
}

static inline void exact_free(struct exact *exact)
{
    if (exact == NULL) return;
    free(exact->pairs.slots);
    free(exact->users.slots);
    free(exact->domain_users);
    free(exact->addresses);
    free(exact);
}

#endif
