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

static inline void days_add(struct days *days, struct day day)
{
    days->all = resize(days->all, days->n + 1, sizeof *days->all);
    days->all[days->n++] = day;
}

/* The end of a day. Between batches, some domains at a time are summed up and copied for the writer, and start the next
 * day. Users of the next day who come to a domain before that are held for a few milliseconds (held.h). There are some
 * hundred domains to a file, so that there is never more than one file in memory. */
struct closing {
    bool is_active, is_last; /* after the last day, sketches stay as they are */
    struct day day;
    skl_hll all; /* the union of the day's sketches */
    struct domain *sorted[PART_DOMAINS]; /* those of the present file that had users */
    size_t num_sorted, at, first, end;   /* `first` and `end`: numbers of the domains of the present file */
};

enum { CLOSING_STEP = 64 };

/* The domains of the next file, by their names. */
static inline void closing_begin_file(struct closing *closing, const struct domains *domains)
{
    closing->first = closing->end;
    closing->end += PART_DOMAINS;
    if (closing->end > domains->held->to) closing->end = domains->held->to;
    closing->at = closing->num_sorted = 0;
    for (size_t i = closing->first; i < closing->end; i++)
        if (domain_users(domains->all[i]) > 0) closing->sorted[closing->num_sorted++] = domains->all[i];
    qsort(closing->sorted, closing->num_sorted, sizeof *closing->sorted, compare_domains);
}

static inline void closing_begin(struct closing *closing, struct domains *domains, const struct counters *counters,
                                 bool is_last)
{
    *closing = (struct closing){.is_active = true, .is_last = is_last,
                                .day = {.day = counters->day, .events = counters->day_events}};
    check_skl(skl_hll_new(&closing->all, &domains->params, NULL), "cannot make a sketch");
    domains->held->from = 0;
    domains->held->to = domains->n;
    closing_begin_file(closing, domains);
}

/* As groups_file.h has it: names are keys of sql_key.h. */
static inline void put_group(struct buffer *out, struct domain *domain)
{
    size_t len;
    const void *image = domain_seal(domain, &len);
    put_le(out, domain->name.len + 1, 4);
    buffer_append(out, "t", 1);
    buffer_append(out, domain->name.bytes, domain->name.len);
    put_part(out, image, len);
}

static inline void closing_open_file(const struct closing *closing, struct writer *writer, const char *directory)
{
    char date[DATE_TEXT_LEN + 1], name[DATE_TEXT_LEN + 32];
    date_text(closing->day.day, date);
    snprintf(name, sizeof name, "%s.%03zu.groups", date, closing->first / PART_DOMAINS);
    writer_open(writer, directory, name);
    writer->piece.len = 0;
    buffer_append(&writer->piece, "SKLNGRP1", 8);
}

static inline void closing_end(struct closing *closing, struct days *days)
{
    check_skl(skl_hll_estimate(&closing->all, &closing->day.users), "cannot estimate");
    skl_hll_free(&closing->all);
    days_add(days, closing->day);
    closing->is_active = false;
}

static inline void closing_end_file(struct closing *closing, struct domains *domains, struct days *days)
{
    domains->held->from = closing->end;
    domains_release(domains);
    if (closing->end < domains->held->to) {
        closing_begin_file(closing, domains);
    } else {
        closing_end(closing, days);
    }
}

/* Takes some more domains; nothing while the writer, if there is one, is busy. */
static inline void closing_step(struct closing *closing, struct domains *domains, struct days *days,
                                struct writer *writer, const char *directory)
{
    if (directory != NULL && !writer_is_idle(writer)) return;
    if (directory != NULL && closing->at == 0) closing_open_file(closing, writer, directory);
    for (size_t i = 0; i < CLOSING_STEP && closing->at < closing->num_sorted; i++, closing->at++) {
        struct domain *domain = closing->sorted[closing->at];
        closing->day.domains++;
        closing->day.pairs += domain_users(domain);
        check_skl(skl_hll_merge(&closing->all, &domain->sketch), "cannot unite sketches");
        if (directory != NULL) put_group(&writer->piece, domain);
        if (!closing->is_last) domain_restart(domains, domain);
    }
    if (closing->at < closing->num_sorted) return;
    if (directory != NULL) writer_post(writer, 0, closing->end < domains->held->to ? MORE_FILES : LAST_FILE);
    closing_end_file(closing, domains, days);
}

#endif
