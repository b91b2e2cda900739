/* Publisher domains by their names, each with a sketch of the users of the present day. */

#ifndef PIPELINE_DOMAINS_H
#define PIPELINE_DOMAINS_H

#include "events.h"
#include "held.h"
#include "names.h"
#include "parts.h"
#include "slots.h"
#include "support.h"

struct domain {
    skl_hll sketch; /* of today; empty where nobody came */
    struct name name;
};

struct domains {
    skl_hll_params params;
    struct slots *memory;
    struct domain **all; /* in the order in which they came up */
    skl_hll **sketches;  /* theirs, as the library takes them */
    size_t n, capacity;
    struct names names;
    struct held *held;
    uint32_t *generated; /* what the generator's numbers are here, or NO_NAME */
};

static inline struct domains domains_new(uint32_t p, bool is_sparse, uint64_t num_generated)
{
    struct domains domains = {.memory = allocate(1, sizeof *domains.memory)};
    check_skl(skl_hll_params_for(p, &domains.params), "cannot make a sketch");
    domains.params.seed = USER_SEED;
    if (!is_sparse) domains.params.form = SKL_HLL_DENSE; /* a slot has room for it, and it is faster */
    *domains.memory = (struct slots){.slot_len = (size_t)domains.params.dense_bytes + SLOT_ALIGN};
    domains.held = allocate(1, sizeof *domains.held);
    domains.held->from = domains.held->to = domains.held->n = domains.held->num_released = 0;
    domains.generated = allocate(num_generated + 1, sizeof *domains.generated);
    for (uint64_t i = 0; i <= num_generated; i++) domains.generated[i] = NO_NAME;
    return domains;
}

static inline void domain_start(struct domains *domains, struct domain *domain)
{
    skl_allocator allocator = {slots_take, slots_give, domains->memory};
    check_skl(skl_hll_new(&domain->sketch, &domains->params, &allocator), "cannot make a sketch");
}

/* The number of the domain with this name, which is made where there is none. */
static inline uint32_t domains_find(struct domains *domains, const char *name, size_t len)
{
    uint32_t number = names_find(&domains->names, name, len);
    if (number < domains->n) return number;
    if (number == MAX_DOMAINS) die("there are more than %d domains", MAX_DOMAINS);
    if (domains->n == domains->capacity) {
        domains->capacity = domains->names.capacity;
        domains->all = resize(domains->all, domains->capacity, sizeof *domains->all);
        domains->sketches = resize(domains->sketches, domains->capacity, sizeof(skl_hll *));
    }
    struct domain *domain = allocate(1, sizeof *domain);
    *domain = (struct domain){.name = domains->names.all[number]};
    domain_start(domains, domain);
    domains->all[domains->n] = domain;
    domains->sketches[domains->n++] = &domain->sketch;
    return number;
}

static inline uint32_t domains_find_generated(struct domains *domains, uint64_t number)
{
    uint32_t *known = &domains->generated[number];
    if (*known == NO_NAME) {
        char name[32];
        *known = domains_find(domains, name, (size_t)generated_domain(number, name));
    }
    return *known;
}

static inline double domain_users(const struct domain *domain)
{
    double estimate;
    check_skl(skl_hll_estimate(&domain->sketch, &estimate), "cannot estimate");
    return estimate;
}

static inline const void *domain_seal(struct domain *domain, size_t *len)
{
    const void *image;
    check_skl(skl_hll_seal(&domain->sketch), "cannot seal a sketch");
    check_skl(skl_hll_image(&domain->sketch, &image, len), "cannot keep a sketch");
    return image;
}

/* Another day begins for it. */
static inline void domain_restart(struct domains *domains, struct domain *domain)
{
    skl_hll_free(&domain->sketch);
    domain_start(domains, domain);
}

/* Counts the users whose domains started the next day meanwhile. */
static inline void domains_release(struct domains *domains)
{
    struct held *held = domains->held;
    size_t consumed = 0;
    held_release(held);
    check_skl(skl_hll_insert_grouped(domains->sketches, domains->n, held->domains + held->n, held->hashes + held->n,
                                     held->num_released, &consumed), "cannot count the users");
}

static inline int compare_domains(const void *left, const void *right)
{
    const struct domain *const *a = left, *const *b = right;
    return compare_names(&(*a)->name, &(*b)->name);
}

/* Those that had users today, of numbers `from` to `to`, by their names. To be freed. */
static inline struct domain **domains_sorted(const struct domains *domains, size_t from, size_t to, size_t *n)
{
    struct domain **sorted = allocate(to - from, sizeof *sorted);
    *n = 0;
    for (size_t i = from; i < to; i++)
        if (domain_users(domains->all[i]) > 0) sorted[(*n)++] = domains->all[i];
    qsort(sorted, *n, sizeof *sorted, compare_domains);
    return sorted;
}

static inline void domains_free(struct domains *domains)
{
    for (size_t i = 0; i < domains->n; i++) {
        skl_hll_free(&domains->all[i]->sketch);
        free(domains->all[i]);
    }
    slots_free(domains->memory);
    free(domains->memory);
    free(domains->all);
    free(domains->sketches);
    free(domains->generated);
    free(domains->held);
    names_free(&domains->names);
}

#endif
