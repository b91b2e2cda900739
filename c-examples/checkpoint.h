/* Checkpoints: everything that is needed to go on after a crash, in one file that is replaced by rename.
 *
 * The events do not stop for it. Between batches, one part after another (a filter, the throttle, the sketches of 512
 * domains) is copied to a buffer, from which another thread writes. So the parts are of different moments: each is
 * marked with the number of the first event that it lacks. The file ends with what else is to be known, of the moment
 * when the last part was copied. Resuming loads all that, goes back in the input to where the first part was copied, and
 * gives each part the events from its own number on, without answering them again, until it is at the last moment:
 *
 *     events   ----|-------|---------|---------|---------|----->
 *     copied       filter  filter    throttle  domains   counters
 *     input from here                                    all parts are here, and answers go on
 *
 * This takes neither a second copy of the sketches nor a pause. A day that ends meanwhile ends the checkpoint; the next
 * one begins when the day's sketches are written. Little-endian:
 *
 *     8 bytes  "SKLNPIP1"
 *     parts    u32 kind ('F', 'T', 'D' or 'E'), u32 number, u64 first event that it lacks, u64 length; payload;
 *              u64 XXH3-64, seed 0, of the part from its kind to the end of its payload
 */

#ifndef PIPELINE_CHECKPOINT_H
#define PIPELINE_CHECKPOINT_H

#include "days.h"
#include "jobs.h"
#include "parts.h"
#include "source.h"
#include "writer.h"

#define CHECKPOINT_MAGIC "SKLNPIP1"
enum { CHECKPOINT_MAGIC_LEN = 8, PART_HEADER_LEN = 24 };

/* Options that must not change between a checkpoint and its resumption. */
struct fixed_option {
    const char *name;
    uint64_t value;
};

enum { NUM_FIXED_OPTIONS = 19 };

static inline uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static inline double number_of_bits(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static inline void list_fixed_options(const struct pipeline_options *o, struct fixed_option list[NUM_FIXED_OPTIONS])
{
    const struct fixed_option all[NUM_FIXED_OPTIONS] = {
        {"--clf", o->clf_path != NULL}, {"--tsv", o->tsv_path != NULL}, {"--users", o->users},
        {"--domains", o->domains}, {"--addresses", o->addresses}, {"--user-zipf", bits_of(o->user_zipf)},
        {"--zipf", bits_of(o->zipf)}, {"--per-day", o->per_day}, {"--seed", o->seed}, {"--campaigns", o->campaigns},
        {"--pairs", o->pairs}, {"--fpr", bits_of(o->fpr)}, {"--p", o->p}, {"--sparse", o->sparse},
        {"--epsilon", bits_of(o->epsilon)}, {"--window", o->window}, {"--limit", o->limit}, {"--top", o->top}, {"version", SKL_VERSION_MAJOR}};
    memcpy(list, all, sizeof all);
}

struct checkpoint {
    const struct pipeline_options *options;
    struct writer *writer;
    enum { CHECKPOINT_IDLE, CHECKPOINT_COPYING, CHECKPOINT_ENDING } state;
    uint64_t next_at, next_part;
    uint64_t first_event;       /* that the first part lacks */
    struct position first_position;
    uint64_t num_written;
};

/* What the checkpoint is of. */
struct moment {
    struct jobs *jobs;
    const struct source *source;
    const struct counters *counters;
    const struct days *days;
};

/* Writing. */

static inline void put_image(struct buffer *out, const void *image, size_t len)
{
    put_le(out, len, 8);
    buffer_append(out, image, len);
}

static inline void put_filter(struct buffer *out, skl_bloom *filter)
{
    const void *image;
    size_t len;
    check_skl(skl_bloom_seal(filter), "cannot seal a filter");
    check_skl(skl_bloom_image(filter, &image, &len), "cannot keep a filter");
    put_image(out, image, len);
}

/* The counts unsealed, since that takes long and the part has a checksum anyway. The offenders as they are: sealing
 * would sort them, and of two that tie the first must stay the first. */
static inline void put_throttle(struct buffer *out, struct jobs *jobs)
{
    const void *image;
    size_t len;
    put_le(out, jobs->window.started, 8);
    check_skl(skl_cms_image(&jobs->counts, &image, &len), "cannot keep the counts");
    put_image(out, image, len);
    check_skl(skl_topk_image(&jobs->offenders, &image, &len), "cannot keep the offenders");
    put_image(out, image, len);
    check_skl(skl_hll_seal(&jobs->throttled), "cannot seal a sketch");
    check_skl(skl_hll_image(&jobs->throttled, &image, &len), "cannot keep a sketch");
    put_image(out, image, len);
}

static inline void put_domains(struct buffer *out, const struct domains *domains, size_t from)
{
    size_t to = from + PART_DOMAINS < domains->n ? from + PART_DOMAINS : domains->n;
    for (size_t i = from; i < to; i++) {
        size_t len;
        const void *image = domain_seal(domains->all[i], &len);
        put_image(out, image, len);
    }
}

static inline void put_numbers(struct buffer *out, const void *numbers, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t number;
        memcpy(&number, (const char *)numbers + i * sizeof number, sizeof number);
        put_le(out, number, 8);
    }
}

static inline void put_end(struct buffer *out, const struct checkpoint *checkpoint, const struct moment *moment)
{
    struct fixed_option fixed[NUM_FIXED_OPTIONS];
    list_fixed_options(checkpoint->options, fixed);
    for (size_t i = 0; i < NUM_FIXED_OPTIONS; i++) put_le(out, fixed[i].value, 8);
    put_le(out, checkpoint->first_event, 8);
    put_numbers(out, &checkpoint->first_position, sizeof(struct position) / 8);
    put_numbers(out, moment->counters, sizeof(struct counters) / 8);
    put_le(out, moment->days->n, 8);
    put_numbers(out, moment->days->all, moment->days->n * sizeof(struct day) / 8);
    const struct domains *domains = &moment->jobs->domains;
    put_le(out, domains->n, 8);
    for (size_t i = 0; i < domains->n; i++) put_part(out, domains->all[i]->name.bytes, domains->all[i]->name.len);
}

static inline void post_part(struct checkpoint *checkpoint, const struct moment *moment, char kind, uint64_t number)
{
    struct buffer *out = &checkpoint->writer->piece;
    struct jobs *jobs = moment->jobs;
    out->len = 0;
    bool is_first = checkpoint->next_part++ == 0;
    if (is_first) buffer_append(out, CHECKPOINT_MAGIC, CHECKPOINT_MAGIC_LEN);
    size_t start = out->len;
    put_le(out, (unsigned char)kind, 4);
    put_le(out, number, 4);
    put_le(out, moment->counters->events, 8);
    put_le(out, 0, 8);
    size_t payload = out->len;
    if (kind == 'F') put_filter(out, &jobs->filters[number]);
    if (kind == 'T') put_throttle(out, jobs);
    if (kind == 'D') put_domains(out, &jobs->domains, (size_t)number * PART_DOMAINS);
    if (kind == 'E') put_end(out, checkpoint, moment);
    uint64_t len = out->len - payload;
    for (size_t i = 0; i < 8; i++) out->bytes[payload - 8 + i] = (unsigned char)(len >> 8 * i);
    writer_post(checkpoint->writer, start, kind == 'E' ? LAST_FILE : GOES_ON);
}

/* Filters first, since they are the same size always; domains last, since there may be more of them by then. */
static inline void post_next_part(struct checkpoint *checkpoint, const struct moment *moment)
{
    uint64_t next = checkpoint->next_part, campaigns = moment->jobs->campaigns;
    if (next < campaigns) {
        post_part(checkpoint, moment, 'F', next);
    } else if (next == campaigns) {
        post_part(checkpoint, moment, 'T', 0);
    } else if ((next - campaigns - 1) * PART_DOMAINS < moment->jobs->domains.n) {
        post_part(checkpoint, moment, 'D', next - campaigns - 1);
    } else {
        post_part(checkpoint, moment, 'E', 0);
        checkpoint->state = CHECKPOINT_ENDING;
    }
}

/* Between two batches: begins a checkpoint if it is time, or goes on with one. */
static inline void checkpoint_step(struct checkpoint *checkpoint, const struct moment *moment)
{
    if (checkpoint->writer == NULL || checkpoint->options->checkpoint_path == NULL) return;
    uint64_t events = moment->counters->events;
    if (checkpoint->state == CHECKPOINT_IDLE && events < checkpoint->next_at) return;
    if (!writer_is_idle(checkpoint->writer)) return;
    if (checkpoint->state == CHECKPOINT_ENDING) {
        checkpoint->state = CHECKPOINT_IDLE;
        checkpoint->num_written++;
        return;
    }
    if (checkpoint->state == CHECKPOINT_IDLE) {
        writer_open(checkpoint->writer, checkpoint->options->checkpoint_path, "checkpoint");
        checkpoint->state = CHECKPOINT_COPYING;
        checkpoint->next_part = 0;
        checkpoint->next_at = events + checkpoint->options->every;
        checkpoint->first_event = events;
        checkpoint->first_position = moment->source->position;
    }
    post_next_part(checkpoint, moment);
}

/* At the end of a day, after which the parts would not go together. One of which all is copied gets written. */
static inline void checkpoint_interrupt(struct checkpoint *checkpoint)
{
    if (checkpoint->state == CHECKPOINT_COPYING) checkpoint->next_at = 0;
    checkpoint->num_written += checkpoint->state == CHECKPOINT_ENDING;
    checkpoint->state = CHECKPOINT_IDLE;
}

static inline void make_directory(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST) die("cannot make the folder %s: %s", path, strerror(errno));
}

/* The buffer holds the largest part; buffer_append makes it larger if that is not enough. */
static inline struct checkpoint checkpoint_new(const struct pipeline_options *o, const struct jobs *jobs)
{
    struct checkpoint checkpoint = {.options = o, .next_at = o->every};
    if (o->days_path == NULL) return checkpoint;
    make_directory(o->days_path);
    uint64_t throttle = jobs->counts_params.image_bytes + jobs->offenders_params.image_bytes +
                        jobs->throttled_params.dense_bytes;
    uint64_t domains = PART_DOMAINS * (jobs->domains.params.dense_bytes + 32);
    uint64_t most = o->checkpoint_path == NULL || throttle < domains ? domains : throttle;
    if (o->checkpoint_path != NULL && most < jobs->filter_params.image_bytes) most = jobs->filter_params.image_bytes;
    checkpoint.writer = writer_new((size_t)most + 256);
    if (o->checkpoint_path != NULL) make_directory(o->checkpoint_path);
    return checkpoint;
}

#endif
