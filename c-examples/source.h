/* Where batches come from: the generator or lines of text. */

#ifndef PIPELINE_SOURCE_H
#define PIPELINE_SOURCE_H

#include "domains.h"
#include "event_text.h"
#include "events.h"
#include "jobs.h"
#include "lines.h"

struct source {
    struct position position; /* behind the last batch */
    struct generator generator;
    struct lines *lines; /* or NULL: made-up events */
    struct tsv tsv;
    bool is_tsv;
    uint64_t campaigns;
    const volatile sig_atomic_t *is_ended;
};

static inline struct source *source_open(const struct pipeline_options *o, const volatile sig_atomic_t *is_ended)
{
    struct source *source = allocate(1, sizeof *source);
    *source = (struct source){.position = {.random = o->seed}, .is_tsv = o->tsv_path != NULL,
                              .campaigns = o->campaigns, .is_ended = is_ended};
    source->generator = generator_new(o, &source->position);
    if (o->clf_path != NULL || source->is_tsv) source->lines = lines_open(source->is_tsv ? o->tsv_path : o->clf_path);
    if (source->is_tsv) source->tsv = tsv_open(source->lines, o->columns);
    return source;
}

static inline void source_go_to(struct source *source, struct position position)
{
    source->position = position;
    if (source->lines != NULL) lines_skip(source->lines, position.at, position.line);
}

static inline void source_generate(struct source *source, struct batch *batch, size_t max, struct domains *domains)
{
    struct generated event;
    while (batch->n < max && generate(&source->generator, &event))
        batch_add(batch, event.time, event.user, (size_t)event.user_len, event.campaign,
                  domains_find_generated(domains, event.domain), event.address, (size_t)event.address_len);
}

static inline void count_fault(struct counters *counters, enum fault fault, uint64_t line)
{
    if (counters->bad_lines++ > 0) return;
    counters->first_bad_line = line;
    counters->first_fault = fault;
}

static inline enum fault parse_line(const struct source *source, const struct line *line, struct text_event *event)
{
    struct span text = {line->bytes, line->len};
    if (line->is_too_long) return FAULT_TOO_LONG;
    enum fault fault = source->is_tsv ? parse_tsv(&source->tsv, text, event) : parse_clf(text, event);
    return fault != FAULT_NONE ? fault : check_text_event(event, source->campaigns);
}

/* What already came is not kept waiting for what did not. */
static inline void source_read(struct source *source, struct batch *batch, size_t max, struct domains *domains,
                               struct counters *counters)
{
    struct lines *lines = source->lines;
    struct line line;
    while (batch->n < max && (batch->n == 0 || lines_has_next(lines)) && lines_next(lines, &line, source->is_ended)) {
        struct text_event e;
        enum fault fault = parse_line(source, &line, &e);
        if (fault != FAULT_NONE) {
            count_fault(counters, fault, lines->line);
            continue;
        }
        uint32_t domain = domains_find(domains, e.domain.bytes, e.domain.len);
        batch_add(batch, e.seconds, e.user.bytes, e.user.len, (uint32_t)e.campaign_number, domain, e.address.bytes,
                  e.address.len);
    }
    source->position.at = lines->at;
    source->position.line = lines->line;
}

/* Up to `max` events; none at the end. */
static inline void source_fill(struct source *source, struct batch *batch, size_t max, struct domains *domains,
                               struct counters *counters)
{
    if (source->lines == NULL) {
        source_generate(source, batch, max, domains);
    } else {
        source_read(source, batch, max, domains, counters);
    }
}

static inline void source_close(struct source *source)
{
    free(source->lines);
    free(source);
}

#endif
