/* Reads what checkpoint.h writes. Parts are read one at a time, into a buffer that goes afterwards. */

#ifndef PIPELINE_RESUME_H
#define PIPELINE_RESUME_H

#include "checkpoint.h"

struct reader {
    const char *path;
    int file;
    uint64_t at, len;
    struct buffer part; /* header and payload */
};

struct part_header {
    char kind;
    uint64_t number, event;
};

static inline void read_fully(const struct reader *reader, unsigned char *bytes, size_t len, uint64_t at)
{
    while (len > 0) {
        ssize_t n = pread(reader->file, bytes, len, (off_t)at);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) die("cannot read %s: %s", reader->path, n < 0 ? strerror(errno) : "it is cut short");
        bytes += n;
        len -= (size_t)n;
        at += (uint64_t)n;
    }
}

/* False where there is no checkpoint. */
static inline bool reader_open(struct reader *reader, const char *path)
{
    unsigned char magic[CHECKPOINT_MAGIC_LEN];
    struct stat status;
    *reader = (struct reader){.path = path, .file = open(path, O_RDONLY)};
    if (reader->file < 0 && errno == ENOENT) return false;
    if (reader->file < 0 || fstat(reader->file, &status) != 0) die("cannot read %s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode)) die("%s: not a regular file", path);
    reader->len = (uint64_t)status.st_size;
    if (reader->len < sizeof magic) die("%s: not a checkpoint", path);
    read_fully(reader, magic, sizeof magic, 0);
    if (memcmp(magic, CHECKPOINT_MAGIC, sizeof magic) != 0) die("%s: not a checkpoint", path);
    reader->at = sizeof magic;
    return true;
}

/* Reads the next part, or with `is_end` only if it is that which ends the file. False after that. */
static inline bool reader_next(struct reader *reader, struct part_header *header, bool is_end)
{
    unsigned char bytes[PART_HEADER_LEN];
    if (reader->at == reader->len) return false;
    uint64_t left = reader->len - reader->at, checksum;
    if (left < PART_HEADER_LEN + CHECKSUM_LEN) die("%s: damaged: it is cut short", reader->path);
    read_fully(reader, bytes, sizeof bytes, reader->at);
    *header = (struct part_header){(char)bytes[0], get_le(bytes + 4, 4), get_le(bytes + 8, 8)};
    uint64_t len = get_le(bytes + 16, 8);
    if (len > left - PART_HEADER_LEN - CHECKSUM_LEN)
        die("%s: damaged: a part is longer than the file", reader->path);
    size_t all = PART_HEADER_LEN + (size_t)len + CHECKSUM_LEN;
    uint64_t at = reader->at;
    reader->at += all;
    if (is_end && header->kind != 'E') return true;
    if (all > reader->part.capacity)
        reader->part = (struct buffer){resize(reader->part.bytes, all, 1), 0, all};
    read_fully(reader, reader->part.bytes, all, at);
    reader->part.len = all - CHECKSUM_LEN;
    check_skl(skl_hash_bytes(reader->part.bytes, reader->part.len, 0, &checksum), reader->path);
    if (checksum != get_le(reader->part.bytes + reader->part.len, CHECKSUM_LEN))
        die("%s: damaged: a part does not match its checksum", reader->path);
    return true;
}

static inline struct parts payload_of(const struct reader *reader)
{
    return (struct parts){.path = reader->path, .at = reader->part.bytes + PART_HEADER_LEN,
                          .len = reader->part.len - PART_HEADER_LEN};
}

static inline uint64_t take_number(struct parts *parts)
{
    return get_le(take_bytes(parts, 8), 8);
}

static inline void take_numbers(struct parts *parts, void *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t number = take_number(parts);
        memcpy((char *)numbers + i * sizeof number, &number, sizeof number);
    }
}

static inline const void *take_image(struct parts *parts, size_t *len)
{
    *len = (size_t)take_number(parts);
    return take_bytes(parts, *len);
}

/* An image that is as long as `memory`. */
static inline void copy_image(struct parts *parts, void *memory, size_t memory_len)
{
    size_t len;
    const void *image = take_image(parts, &len);
    if (len != memory_len) die("%s: damaged: an image of another length", parts->path);
    memcpy(memory, image, len);
}

static inline void load_sketch(struct parts *parts, skl_hll *sketch)
{
    skl_hll view;
    size_t len;
    const void *image = take_image(parts, &len);
    check_skl(skl_hll_view(&view, image, len, SKL_OPEN_STRICT), parts->path);
    check_skl(skl_hll_merge(sketch, &view), parts->path);
}

static inline void load_filter(struct parts *parts, struct jobs *jobs, uint64_t number)
{
    size_t len = jobs->filter_params.image_bytes;
    copy_image(parts, jobs->filter_memory[number], len);
    check_skl(skl_bloom_open(&jobs->filters[number], jobs->filter_memory[number], len, SKL_OPEN_STRICT), parts->path);
}

static inline void load_throttle(struct parts *parts, struct jobs *jobs)
{
    jobs->window.started = take_number(parts);
    copy_image(parts, jobs->counts_memory, jobs->counts_params.image_bytes);
    check_skl(skl_cms_open(&jobs->counts, jobs->counts_memory, jobs->counts_params.image_bytes,
                           SKL_OPEN_ALLOW_UNSEALED), parts->path);
    copy_image(parts, jobs->offenders_memory, jobs->offenders_params.image_bytes);
    check_skl(skl_topk_open(&jobs->offenders, jobs->offenders_memory, jobs->offenders_params.image_bytes,
                            SKL_OPEN_ALLOW_UNSEALED), parts->path);
    load_sketch(parts, &jobs->throttled);
}

static inline void load_domains(struct parts *parts, struct jobs *jobs, uint64_t number, uint64_t event)
{
    size_t i = (size_t)number * PART_DOMAINS, end = i + PART_DOMAINS;
    for (; i < jobs->domains.n && i < end; i++) {
        jobs->domains_from[i] = event;
        if (parts->len > 0) load_sketch(parts, jobs->domains.sketches[i]);
    }
}

/* What is known after loading, besides the sketches. */
struct resumption {
    uint64_t first_event;
    struct position first_position;
    struct counters counters;
};

static inline void load_end(struct parts *parts, const struct pipeline_options *o, struct jobs *jobs,
                            struct days *days, struct resumption *resumption)
{
    struct fixed_option fixed[NUM_FIXED_OPTIONS];
    list_fixed_options(o, fixed);
    for (size_t i = 0; i < NUM_FIXED_OPTIONS; i++)
        if (take_number(parts) != fixed[i].value) die("%s: made with another %s", parts->path, fixed[i].name);
    resumption->first_event = take_number(parts);
    take_numbers(parts, &resumption->first_position, sizeof(struct position) / 8);
    take_numbers(parts, &resumption->counters, sizeof(struct counters) / 8);
    for (uint64_t i = take_number(parts); i > 0; i--) {
        struct day day;
        take_numbers(parts, &day, sizeof day / 8);
        days_add(days, day);
    }
    for (uint64_t i = take_number(parts); i > 0; i--) {
        size_t len;
        const unsigned char *name = take_part(parts, &len);
        domains_find(&jobs->domains, (const char *)name, len);
    }
    jobs->domains_from = allocate(jobs->domains.n, sizeof *jobs->domains_from);
    for (size_t i = 0; i < jobs->domains.n; i++) jobs->domains_from[i] = resumption->first_event;
}

/* Part `i` of all, in the order of post_next_part. */
static inline bool is_part(const struct part_header *header, uint64_t i, const struct jobs *jobs)
{
    uint64_t campaigns = jobs->campaigns, domain_parts = (jobs->domains.n + PART_DOMAINS - 1) / PART_DOMAINS;
    if (i < campaigns) return header->kind == 'F' && header->number == i;
    if (i == campaigns) return header->kind == 'T' && header->number == 0;
    if (i <= campaigns + domain_parts) return header->kind == 'D' && header->number == i - campaigns - 1;
    return header->kind == 'E' && i == campaigns + domain_parts + 1;
}

static inline void load_part(const struct reader *reader, const struct part_header *header, struct jobs *jobs)
{
    struct parts parts = payload_of(reader);
    if (header->kind == 'F') {
        load_filter(&parts, jobs, header->number);
        jobs->filter_from[header->number] = header->event;
    } else if (header->kind == 'T') {
        load_throttle(&parts, jobs);
        jobs->throttle_from = header->event;
    } else if (header->kind == 'D') {
        load_domains(&parts, jobs, header->number, header->event);
    }
}

/* False, and nothing done, where there is no checkpoint. */
static inline bool load_checkpoint(const struct pipeline_options *o, struct jobs *jobs, struct days *days,
                                   struct resumption *resumption)
{
    struct buffer path = {0};
    struct reader reader;
    struct part_header header = {0};
    set_path(&path, o->checkpoint_path, "checkpoint", "");
    if (!reader_open(&reader, (const char *)path.bytes)) {
        free(path.bytes);
        return false;
    }
    while (reader_next(&reader, &header, true)) /* to the end, which has the names of the domains */
        ;
    if (header.kind != 'E') die("%s: damaged: it is cut short", reader.path);
    struct parts end = payload_of(&reader);
    load_end(&end, o, jobs, days, resumption);
    reader.at = CHECKPOINT_MAGIC_LEN;
    for (uint64_t i = 0; reader_next(&reader, &header, false); i++) {
        if (!is_part(&header, i, jobs)) die("%s: damaged: a part is missing", reader.path);
        load_part(&reader, &header, jobs);
    }
    close(reader.file);
    free(reader.part.bytes);
    free(path.bytes);
    return true;
}

/* The first event after `event` from which on another part takes events, or at which all is as it was. */
static inline uint64_t next_change(const struct jobs *jobs, const struct resumption *resumption, uint64_t event)
{
    uint64_t next = resumption->counters.events;
    for (size_t i = 0; i < jobs->campaigns; i++)
        if (jobs->filter_from[i] > event && jobs->filter_from[i] < next) next = jobs->filter_from[i];
    if (jobs->throttle_from > event && jobs->throttle_from < next) next = jobs->throttle_from;
    for (size_t i = 0; i < jobs->domains.n; i += PART_DOMAINS)
        if (jobs->domains_from[i] > event && jobs->domains_from[i] < next) next = jobs->domains_from[i];
    return next;
}

#endif
