/* Days that are over: what is remembered of each, and their sketches as files. */

#ifndef PIPELINE_DAYS_H
#define PIPELINE_DAYS_H

#include "domains.h"
#include "jobs.h"
#include "writer.h"

enum { PART_DOMAINS = 512 };

struct day {
    uint64_t day, events, domains;
    double users, pairs; /* distinct users; pairs of domain and user */
};

struct days {
    struct day *all;
    size_t n;
};

static inline struct day day_of(const struct domains *domains, const struct counters *counters)
{
    struct day day = {.day = counters->day, .events = counters->day_events, .users = domains_users(domains)};
    for (size_t i = 0; i < domains->n; i++) {
        double users = domain_users(domains->all[i]);
        day.domains += users > 0;
        day.pairs += users;
    }
    return day;
}

static inline void days_add(struct days *days, struct day day)
{
    days->all = resize(days->all, days->n + 1, sizeof *days->all);
    days->all[days->n++] = day;
}

/* Some domains in a file of groups, as groups_file.h has it: names are keys of sql_key.h. */
static inline void put_groups(struct buffer *out, struct domain **domains, size_t n)
{
    buffer_append(out, "SKLNGRP1", 8);
    for (size_t i = 0; i < n; i++) {
        size_t len;
        const void *image = domain_seal(domains[i], &len);
        put_le(out, domains[i]->name_len + 1, 4);
        buffer_append(out, "t", 1);
        buffer_append(out, domains[i]->name, domains[i]->name_len);
        put_part(out, image, len);
    }
    uint64_t checksum;
    check_skl(skl_hash_bytes(out->bytes, out->len, 0, &checksum), "cannot hash a file");
    put_le(out, checksum, 8);
}

/* The sketches of a day, some hundred domains to a file, so that there is never more than one file in memory. */
static inline void write_day(struct writer *writer, const char *directory, const struct domains *domains, uint64_t day)
{
    for (size_t from = 0; from < domains->n; from += PART_DOMAINS) {
        size_t to = from + PART_DOMAINS < domains->n ? from + PART_DOMAINS : domains->n, n;
        char date[DATE_TEXT_LEN + 1], name[DATE_TEXT_LEN + 32];
        struct domain **sorted = domains_sorted(domains, from, to, &n);
        date_text(day, date);
        snprintf(name, sizeof name, "%s.%03zu.groups", date, from / PART_DOMAINS);
        writer_wait(writer);
        writer_open(writer, directory, name);
        writer->piece.len = 0;
        put_groups(&writer->piece, sorted, n);
        writer_post(writer, true);
        free(sorted);
    }
    writer_wait(writer);
}

#endif
